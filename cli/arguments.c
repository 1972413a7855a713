/* arguments.c: parses --name value, --name=value, flags, -h, and -- before operands that look like options. */
#include "arguments.h"

#include <string.h>

#include "base/memory.h"
#include "cli.h"

typedef struct words {
    char **words;
    int count, next;
} words;

static parley_status add_operand(arguments *arguments, const char *word, parley_error *error) {
    const command *command = arguments->command;
    if (arguments->count == command->most)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s is one argument too many; usage: parley %s %s", word, command->name,
                       command->operands);
    arguments->operands[arguments->count++] = word;
    return PARLEY_OK;
}

/* Whether the next word is one of the choices of an option. */
static bool is_choice(const pl_setting *row, const words *words) {
    const char *word = words->next < words->count ? words->words[words->next] : "", *choice = row->choices;
    for (; *word; choice += strspn(choice, "|")) {
        size_t length = strcspn(choice, "|");
        if (length == 0)
            break;
        if (strlen(word) == length && memcmp(choice, word, length) == 0)
            return true;
        choice += length;
    }
    return false;
}

/* The flag that an option without a value stands for in this command; NULL: it has a value or needs one. */
static const pl_setting *bare_flag(const pl_setting *row, const command *command, const char *equals,
                                   const words *words) {
    const pl_setting *flag = row && row->bare && !equals ? pl_setting_find(row->bare) : NULL;
    return flag && (flag->commands & command->options) && !is_choice(row, words) ? flag : NULL;
}

/* Takes the value from "name=value" or from the next word. */
static parley_status find_value(const pl_setting *row, const char *equals, words *words, const char **value,
                                parley_error *error) {
    char flag[64];
    pl_setting_flag(row, flag, sizeof flag);
    if (equals)
        *value = equals + 1;
    else if (row->kind == PL_FLAG)
        *value = "true";
    else if (words->next < words->count && strncmp(words->words[words->next], "--", 2) != 0)
        *value = words->words[words->next++];
    else
        return pl_fail(error, PARLEY_BAD_USAGE, "%s needs a value: %s %s", flag, flag, row->value_name);
    return PARLEY_OK;
}

/* Fails for an option that exists in another command, and names that command. */
static parley_status other_command(const pl_setting *row, const command *command, const char *name,
                                   parley_error *error) {
    unsigned i = 0;
    while (!(commands[i].options & row->commands))
        i++;
    if (strcmp(row->name, "json") == 0 && command->json)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s has no option --json; %s", command->name, command->json);
    return pl_fail(error, PARLEY_BAD_USAGE, "--%s is an option of parley %s, not of parley %s", name, commands[i].name,
                   command->name);
}

static parley_status set_option(arguments *arguments, const char *word, words *words, parley_error *error) {
    const command *command = arguments->command;
    const char *equals = strchr(word, '='), *value = "";
    char name[64];
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
    const pl_setting *row = pl_setting_option(command->options, name), *flag = bare_flag(row, command, equals, words);
    if (flag) {
        row = flag;
        snprintf(name, sizeof name, "%s", flag->name);
    }
    if (row && (row->commands & command->options)) {
        if (pl_setting_given(&arguments->settings, row->name))
            return pl_fail(error, PARLEY_BAD_USAGE, "--%s is given twice", name);
        parley_status status = find_value(row, equals, words, &value, error);
        if (status != PARLEY_OK)
            return status;
        if (row->kind == PL_WORD && !*value)
            return pl_fail(error, PARLEY_BAD_USAGE, "--%s needs a value: --%s %s", name, name, row->value_name);
    }
    if (row && !(row->commands & command->options) && command_reads(row))
        return other_command(row, command, name, error);
    return pl_setting_set(&arguments->settings, command->options, name, value, error);
}

/* Finds the option of this command with this letter. Returns NULL if there is none. */
static const pl_setting *find_letter(const command *command, const char *word) {
    for (unsigned i = 0; i < pl_settings_count() && word[0] && !word[1]; i++)
        if (pl_setting_at(i)->letter == word[0] && pl_setting_at(i)->commands & command->options)
            return pl_setting_at(i);
    return NULL;
}

/* Leaves the remaining words to another command. */
static parley_status leave_rest(arguments *arguments, words *words) {
    arguments->rest = words->words + words->next;
    arguments->rest_count = (unsigned)(words->count - words->next);
    arguments->count = arguments->rest_count ? 1 : 0;
    words->next = words->count;
    return PARLEY_OK;
}

static parley_status take_word(arguments *arguments, words *words, bool *operands_only, parley_error *error) {
    const char *word = words->words[words->next++];
    const pl_setting *row;
    if ((arguments->command->options & PL_FOR_LAUNCH) && (word[0] != '-' || strcmp(word, "--") == 0)) {
        words->next -= word[0] != '-';
        return leave_rest(arguments, words);
    }
    if (*operands_only || word[0] != '-' || !word[1])
        return add_operand(arguments, word, error);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        arguments->help = true;
    else if (strcmp(word, "--") == 0)
        *operands_only = true;
    else if (word[1] == '-')
        return set_option(arguments, word + 2, words, error);
    else if ((row = find_letter(arguments->command, word + 1)))
        return set_option(arguments, row->name, words, error);
    else
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no option %s; options start with --", word);
    return PARLEY_OK;
}

parley_status arguments_parse(arguments *arguments, const command *command, char **list, int count,
                              parley_error *error) {
    words words = {list, count, 0};
    bool operands_only = false;
    parley_status status = PARLEY_OK;
    memset(arguments, 0, sizeof *arguments);
    arguments->command = command;
    pl_settings_defaults(&arguments->settings);
    if (command->problem)
        arguments->settings.problem = command->problem;
    status = pl_take(&arguments->operands, (uint64_t)count + 1, sizeof *arguments->operands, "arguments", error);
    while (words.next < words.count && status == PARLEY_OK && !arguments->help)
        status = take_word(arguments, &words, &operands_only, error);
    if (status == PARLEY_OK && !arguments->help && arguments->count < command->least)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s missing; usage: parley %s %s",
                       arguments->count + 1 < command->least ? "arguments are" : "an argument is", command->name,
                       command->operands);
    return status;
}

void arguments_close(arguments *arguments) {
    pl_free(arguments->operands);
    arguments->operands = NULL;
    pl_settings_clear(&arguments->settings);
}
