/* documents.c: `parley document`: the man page, the page of settings and the shells' completions, all from the tables.
 */
#include <string.h>

#include "cli.h"
#include "train/train.h"

static bool belongs(const pl_setting *row, const command *command) { return (row->commands & command->options) != 0; }

/* roff: hyphens must stay hyphens, and a line may not begin with a point or a quote. */
static void put_roff(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++)
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text != '`')
            putchar(*text);
}

static void man_options(const command *command) {
    for (unsigned i = 0; i < pl_settings_count; i++) {
        const pl_setting *row = &pl_settings[i];
        char flag[64], notes[NOTES];
        if (!belongs(row, command))
            continue;
        pl_setting_flag(row, flag, sizeof flag);
        help_notes(row, notes, sizeof notes);
        fputs(".TP\n\\fB", stdout);
        put_roff(flag);
        printf("\\fR%s%s%s\n", row->value_name ? " \\fI" : "", row->value_name ? row->value_name : "",
               row->value_name ? "\\fR" : "");
        put_roff(row->help);
        if (*notes) {
            fputs("\n[", stdout);
            put_roff(notes);
            putchar(']');
        }
        putchar('\n');
    }
}

static void man_commands(void) {
    for (unsigned i = 0; i < commands_count; i++) {
        const command *command = &commands[i];
        if (command->hidden)
            continue;
        printf(".SS parley %s %s\n", command->name, command->operands);
        put_roff(command->details);
        putchar('\n');
        if (command->run == generate_run)
            for (unsigned j = 0; j < pl_generators_count; j++) {
                printf(".TP\n\\fB%s\\fR\n", pl_generators[j].name);
                put_roff(pl_generators[j].help);
                putchar('\n');
            }
        man_options(command);
    }
}

static void document_man(void) {
    printf(".TH PARLEY 1 \"\" \"parley %s\" \"Parley\"\n", parley_version());
    fputs(".SH NAME\nparley \\- train linear models and certify them\n"
          ".SH SYNOPSIS\n.B parley\n\\fICOMMAND\\fR ...\n.br\n.B parley\n\\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n"
          ".SH DESCRIPTION\nParley trains linear models (logistic and linear regression, support vector machines) and "
          "certifies how far from the optimum they are.\n.SH COMMANDS\n",
          stdout);
    man_commands();
    fputs(".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\ncould not; a sentence on standard error says why\n"
          ".TP\n2\nbad usage\n.TP\n3\nstopped before the target; the model is written\n"
          ".TP\n130\ninterrupted; the best model so far is written\n"
          ".SH EXAMPLES\n.nf\nparley train data.svm\n"
          "parley train data.svm.zst \\-\\-loss hinge \\-\\-lambda 1e\\-4 \\-\\-gap 1e\\-6 \\-\\-model m.safetensors\n"
          "parley predict m.safetensors new.svm\nparley eval m.safetensors test.svm \\-\\-json\n.fi\n",
          stdout);
}

static void put_commands(const pl_setting *row) {
    const char *separator = "";
    for (unsigned i = 0; i < commands_count; i++)
        if (belongs(row, &commands[i])) {
            printf("%s%s", separator, commands[i].name);
            separator = ", ";
        }
}

/* A bar would end the cell of the table. */
static void put_cell(const char *text) {
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void document_settings(void) {
    fputs("# Settings\n\nEvery setting of Parley, made by `parley document settings` from the table in "
          "`src/base/settings.c`. The name is\nthe key in JSON and in a model's metadata; the flag has `-` for `_`.\n",
          stdout);
    for (unsigned i = 0; i < pl_settings_count; i++) {
        const pl_setting *row = &pl_settings[i];
        char flag[64], notes[NOTES];
        if (!command_reads(row))
            continue;
        pl_setting_flag(row, flag, sizeof flag);
        help_notes(row, notes, sizeof notes);
        if (row->heading)
            printf("\n## %s\n\n| flag | commands | meaning | values |\n|---|---|---|---|\n", row->heading);
        printf("| `%s%s%s` | ", flag, row->value_name ? " " : "", row->value_name ? row->value_name : "");
        put_commands(row);
        fputs(" | ", stdout);
        put_cell(row->help);
        fputs(" | ", stdout);
        put_cell(notes);
        fputs(" |\n", stdout);
    }
}

/* The words that may follow a command other than options and files. */
static void put_operands(const command *command) {
    if (command->run == generate_run)
        for (unsigned i = 0; i < pl_generators_count; i++)
            printf("%s ", pl_generators[i].name);
    if (command->run == list_run) {
        for (unsigned i = 0; pl_list_kinds[i]; i++)
            printf("%s ", pl_list_kinds[i]);
        fputs("settings ", stdout);
    }
    if (command->run == help_run)
        for (unsigned i = 0; i < commands_count; i++)
            printf("%s ", commands[i].hidden ? "" : commands[i].name);
}

static void bash_values(void) {
    for (unsigned i = 0; i < pl_settings_count; i++) {
        char flag[64], values[NOTES];
        pl_setting_flag(&pl_settings[i], flag, sizeof flag);
        help_values(&pl_settings[i], " ", values, sizeof values);
        if (pl_settings[i].kind != PL_FLAG)
            printf("        %s) COMPREPLY=($(compgen -W \"%s\" -- \"$current\")); return ;;\n", flag, values);
    }
}

static void document_bash(void) {
    fputs("# bash completion for parley, made by `parley document bash`\n_parley() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
          "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    for (unsigned i = 0; i < commands_count; i++)
        printf("%s ", commands[i].hidden ? "" : commands[i].name);
    fputs("--help --version\" -- \"$current\"))\n        return\n    fi\n    case $previous in\n", stdout);
    bash_values();
    fputs("    esac\n    case ${COMP_WORDS[1]} in\n", stdout);
    for (unsigned i = 0; i < commands_count; i++) {
        const command *command = &commands[i];
        if (command->hidden)
            continue;
        printf("        %s) words=\"", command->name);
        put_operands(command);
        for (unsigned j = 0; j < pl_settings_count; j++) {
            char flag[64];
            pl_setting_flag(&pl_settings[j], flag, sizeof flag);
            if (belongs(&pl_settings[j], command))
                printf("%s ", flag);
        }
        fputs("--help\" ;;\n", stdout);
    }
    fputs("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -o default -F _parley "
          "parley\n",
          stdout);
}

/* Inside '...[...]' of _arguments brackets and colons are special and a quote ends the word. */
static void put_zsh(const char *text) {
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else {
            if (strchr("[]:\\", *text))
                putchar('\\');
            putchar(*text);
        }
}

static void zsh_option(const pl_setting *row) {
    char flag[64], values[NOTES];
    pl_setting_flag(row, flag, sizeof flag);
    help_values(row, " ", values, sizeof values);
    printf(" \\\n                '%s%s[", flag, row->kind == PL_FLAG ? "" : "=");
    put_zsh(row->help);
    putchar(']');
    if (*values)
        printf(":%s:(%s)", row->value_name, values);
    else if (row->value_name && strcmp(row->value_name, "FILE") == 0)
        fputs(":FILE:_files", stdout);
    else if (row->kind != PL_FLAG)
        printf(":%s:", row->value_name);
    putchar('\'');
}

static void document_zsh(void) {
    fputs("#compdef parley\n# zsh completion for parley, made by `parley document zsh`\n_parley() {\n"
          "    local -a commands=(\n",
          stdout);
    for (unsigned i = 0; i < commands_count; i++)
        if (!commands[i].hidden)
            printf("        '%s:%s'\n", commands[i].name, commands[i].summary);
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n"
          "        _arguments '--help[explain]' '--version[print the version]'\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n",
          stdout);
    for (unsigned i = 0; i < commands_count; i++) {
        const command *command = &commands[i];
        if (command->hidden)
            continue;
        printf("        %s)\n            _arguments '--help[explain]'", command->name);
        for (unsigned j = 0; j < pl_settings_count; j++)
            if (belongs(&pl_settings[j], command))
                zsh_option(&pl_settings[j]);
        if (command->run == generate_run || command->run == list_run || command->run == help_run) {
            fputs(" \\\n                '1:kind:(", stdout);
            put_operands(command);
            fputs(")'", stdout);
        }
        fputs(" \\\n                '*:file:_files' ;;\n", stdout);
    }
    fputs("    esac\n}\n_parley \"$@\"\n", stdout);
}

static const struct form {
    const char *name;
    void (*print)(void);
} forms[] = {{"man", document_man}, {"settings", document_settings}, {"bash", document_bash}, {"zsh", document_zsh}};

int document_run(const arguments *arguments) {
    parley_error error;
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, arguments->operands[0]) == 0) {
            forms[i].print();
            return EXIT_DONE;
        }
    pl_fail(&error, PARLEY_BAD_USAGE, "there is no document %s; there are man, settings, bash and zsh",
            arguments->operands[0]);
    return fail(arguments->command, &error);
}
