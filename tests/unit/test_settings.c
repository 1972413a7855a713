/* test_settings.c: the settings table, and its errors for wrong names and values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/settings.h"
#include "support.h"

static void names_are_unique_and_spelt_alike(void **state) {
    (void)state;
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        const pl_setting *row = pl_setting_at(i);
        assert_ptr_equal(pl_setting_find(row->name), row);
        assert_int_equal(strspn(row->name, "Cabcdefghijklmnopqrstuvwxyz0123456789_"), strlen(row->name));
        assert_true(row->help && *row->help && row->help[strlen(row->help) - 1] != '.');
        assert_true(row->commands != 0 || strcmp(row->name, "problem") == 0); /* set by the command */
        assert_true((row->kind == PL_FLAG) == (row->value_name == NULL));
        assert_true((row->kind == PL_CHOICE) == (row->choices != NULL));
    }
    assert_true(pl_settings_count() <= PL_MOST_SETTINGS); /* the size of parley_settings.given */
    assert_non_null(pl_setting_at(0)->heading);
}

static void fields_do_not_overlap(void **state) {
    (void)state;
    for (unsigned i = 0; i < pl_settings_count(); i++)
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(pl_setting_at(i)->name, pl_setting_at(j)->name);
}

static void both_spellings_are_found(void **state) {
    (void)state;
    assert_ptr_equal(pl_setting_find("batch-fraction"), pl_setting_find("batch_fraction"));
    assert_non_null(pl_setting_find("batch-fraction"));
    assert_null(pl_setting_find("batch_"));
    assert_null(pl_setting_find("batch_fraction_"));
    assert_null(pl_setting_find(""));
}

static void defaults_are_as_the_table_says_and_count_as_not_given(void **state) {
    (void)state;
    parley_settings settings;
    memset(&settings, 0xff, sizeof settings);
    pl_settings_defaults(&settings);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        char text[PL_TEXT];
        pl_setting_text(&settings, pl_setting_at(i), text, sizeof text);
        if (pl_setting_at(i)->kind == PL_REAL && strcmp(pl_setting_at(i)->initial, "auto") != 0)
            assert_true(strtod(text, NULL) == strtod(pl_setting_at(i)->initial, NULL));
        else
            assert_string_equal(text, pl_setting_at(i)->initial);
        assert_false(pl_setting_given(&settings, pl_setting_at(i)->name));
    }
    assert_true(isnan(pl_setting_real(&settings, "lambda")));
    assert_int_equal(settings.workers, 0);
    assert_true(settings.seconds == INFINITY);
}

static void values_are_set_and_read_back(void **state) {
    (void)state;
    const struct {
        const char *name, *value, *text;
    } cases[] = {
        {"lambda", "1e-4", "0.0001"},
        {"lambda", "0", "0"},
        {"lambda", "auto", "auto"},
        {"workers", "16", "16"},
        {"workers", "1e3", "1000"},
        {"workers", "auto", "auto"},
        {"seed", "999999999999999999", "999999999999999999"},
        {"seed", "123456789012345677", "123456789012345677"},
        {"intercept", "none", "none"},
        {"intercept", "penalised", "penalised"},
        {"schedule", "inverse-sqrt", "inverse-sqrt"},
        {"seconds", "inf", "inf"},
        {"json", "true", "true"},
        {"model", "a b/ü.safetensors", "a b/ü.safetensors"},
        {"model", "", ""},
        {"rate", "0.1", "0.1"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        parley_settings settings;
        parley_error error = {0};
        char text[PL_TEXT];
        pl_settings_defaults(&settings);
        assert_done(pl_setting_set(&settings, 0, cases[i].name, cases[i].value, &error), &error);
        assert_true(pl_setting_given(&settings, cases[i].name));
        pl_setting_text(&settings, pl_setting_find(cases[i].name), text, sizeof text);
        assert_string_equal(text, cases[i].text);
        pl_settings_clear(&settings);
    }
}

static void every_wrong_value_has_its_sentence_and_changes_nothing(void **state) {
    (void)state;
    const struct {
        const char *name, *value, *sentence;
    } cases[] = {
        {"lambda", "abc", "--lambda abc: not a number"},
        {"lambda", "", "--lambda : not a number"},
        {"lambda", "1 ", "--lambda 1 : not a number"},
        {"lambda", " 1", "--lambda  1: not a number"},
        {"lambda", "0x1", "--lambda 0x1: not a number"},
        {"lambda", "nan", "--lambda nan: not a number"},
        {"lambda", "-1", "--lambda -1: must be between 0 and 1e+300"},
        {"lambda", "inf", "--lambda inf: must be between 0 and 1e+300"},
        {"l1_ratio", "1.5", "--l1-ratio 1.5: must be between 0 and 1"},
        {"l1_ratio", "auto", "--l1-ratio auto: not a number"},
        {"workers", "0", "--workers 0: must be between 1 and 65536"},
        {"workers", "1.5", "--workers 1.5: not a whole number"},
        {"workers", "65537", "--workers 65537: must be between 1 and 65536"},
        {"batch_fraction", "0", "--batch-fraction 0: must be between 1e-09 and 1"},
        {"gap", "2", "--gap 2: must be between 0 and 1"},
        {"seed", "-1", "--seed -1: must be between 0 and 1e+18"},
        {"intercept", "some", "--intercept some: must be one of free|penalised|none"},
        {"intercept", "fre", "--intercept fre: must be one of free|penalised|none"},
        {"intercept", "", "--intercept : must be one of free|penalised|none"},
        {"json", "yes", "--json takes no value"},
        {"lamda", "1", "there is no option --lamda; did you mean --lambda?"},
        {"worker", "1", "there is no option --worker; did you mean --workers?"},
        {"zzzzzzzz", "1", "there is no option --zzzzzzzz"},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        parley_settings settings, before;
        parley_error error = {0};
        memset(&before, 0, sizeof before);
        pl_settings_defaults(&settings);
        memcpy(&before, &settings, sizeof before);
        assert_int_equal(pl_setting_set(&settings, 0, cases[i].name, cases[i].value, &error), PARLEY_BAD_USAGE);
        assert_int_equal(error.status, PARLEY_BAD_USAGE);
        assert_string_equal(error.sentence, cases[i].sentence);
        assert_memory_equal(&settings, &before, sizeof before);
    }
}

static void a_value_that_is_too_long_is_refused(void **state) {
    (void)state;
    static char value[PL_TEXT + 1];
    parley_settings settings;
    parley_error error = {0};
    pl_settings_defaults(&settings);
    memset(value, 'a', PL_TEXT - 1);
    assert_done(pl_setting_set(&settings, 0, "model", value, &error), &error);
    assert_string_equal(settings.model, value);
    value[PL_TEXT - 1] = 'a';
    assert_int_equal(pl_setting_set(&settings, 0, "model", value, &error), PARLEY_BAD_USAGE);
    assert_string_equal(error.sentence, "--model: the value is too long");
    pl_settings_clear(&settings);
}

static void options_of_other_commands_are_unknown(void **state) {
    (void)state;
    parley_settings settings;
    parley_error error = {0};
    pl_settings_defaults(&settings);
    assert_int_equal(pl_setting_set(&settings, PL_FOR_PREDICT, "lambda", "1", &error), PARLEY_BAD_USAGE);
    assert_string_equal(error.sentence, "there is no option --lambda");
    assert_done(pl_setting_set(&settings, PL_FOR_LINEAR_ONE, "lambda", "1", &error), &error);
}

static void a_very_long_unknown_name_is_refused(void **state) {
    (void)state;
    static char name[3000];
    parley_settings settings;
    parley_error error = {0};
    pl_settings_defaults(&settings);
    memset(name, 'w', sizeof name - 1);
    assert_int_equal(pl_setting_set(&settings, 0, name, "1", &error), PARLEY_BAD_USAGE);
    assert_int_equal(strncmp(error.sentence, "there is no option --ww", 23), 0);
}

static void flags_have_dashes(void **state) {
    (void)state;
    char flag[64];
    pl_setting_flag(pl_setting_find("evaluate_every"), flag, sizeof flag);
    assert_string_equal(flag, "--evaluate-every");
}

static void the_nearest_word_is_suggested_or_none(void **state) {
    (void)state;
    const char *const words[] = {"logistic", "squared", "hinge", "squared-hinge"};
    assert_string_equal(pl_nearest("logistc", words, 4), "logistic");
    assert_string_equal(pl_nearest("hnige", words, 4), "hinge"); /* a swap is one edit */
    assert_string_equal(pl_nearest("square", words, 4), "squared");
    assert_null(pl_nearest("poisson", words, 4));
    assert_null(pl_nearest("", words, 4));
    assert_null(pl_nearest("hinge", words, 0));
    assert_null(pl_nearest("a word of more than forty letters is never near", words, 4));
}

static void number_texts_read_back_the_same(void **state) {
    (void)state;
    const double fixed[] = {0.0, 1.0, -1.0, 0.1, 1e-4, 1e300, 5e-324, 2.2250738585072014e-308, 1.0 / 3.0, INFINITY};
    char text[40];
    pl_stream stream = pl_stream_make(1, 2, 3);
    for (unsigned i = 0; i < COUNT(fixed); i++) {
        pl_number_text(fixed[i], text, sizeof text);
        assert_true(strtod(text, NULL) == fixed[i]);
    }
    for (unsigned i = 0; i < 20000; i++) {
        double value;
        uint64_t bits = pl_random(&stream);
        memcpy(&value, &bits, sizeof value);
        if (isnan(value))
            continue;
        pl_number_text(value, text, sizeof text);
        assert_true(strtod(text, NULL) == value);
    }
    pl_number_text(0.1, text, sizeof text);
    assert_string_equal(text, "0.1");
    pl_number_text(5e-324, text, sizeof text);
    assert_string_equal(text, "5e-324");
}

static void public_settings_work_as_the_table(void **state) {
    (void)state;
    parley_settings *settings;
    parley_error error = {0};
    assert_done(parley_settings_new(&settings, &error), &error);
    assert_done(parley_settings_set(settings, "lambda", "0.5", &error), &error);
    assert_true(pl_setting_real(settings, "lambda") == 0.5);
    assert_int_equal(parley_settings_set(settings, "lambda", "x", NULL), PARLEY_BAD_USAGE);
    parley_settings_free(settings);
    parley_settings_free(NULL);
    pl_memory_fail_after(0);
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_NO_MEMORY);
    pl_memory_fail_after(-1);
    assert_null(settings);
}

/* No two rows are for the same bytes, and all are inside the settings or the room of their wing. */
static void every_row_has_a_field_of_its_own(void **state) {
    (void)state;
    for (const pl_settings_table *const *table = pl_settings_tables; *table; table++) {
        size_t size = (*table)->wing ? (*table)->wing->size : offsetof(parley_settings, given);
        char *covered = test_calloc(1, sizeof(parley_settings));
        for (unsigned i = 0; i < (*table)->count; i++) {
            const pl_setting *row = &(*table)->rows[i];
            size_t bytes = row->kind == PL_FLAG ? sizeof(bool) : sizeof(double);
            assert_true(row->offset + bytes <= size);
            for (size_t at = row->offset; at < row->offset + bytes; at++)
                assert_int_equal(covered[at]++, 0);
        }
        test_free(covered);
    }
}

static void the_settings_of_all_wings_have_room(void **state) {
    (void)state;
    parley_settings settings;
    size_t room = sizeof settings.wings;
    for (const pl_settings_wing *const *wing = pl_settings_wings; *wing; wing++) {
        char *own = pl_settings_room(&settings, *wing);
        assert_true(own >= (char *)settings.wings && own + (*wing)->size <= (char *)settings.wings + room);
    }
    assert_true(sizeof settings < 8192); /* a fit copies them */
}

static void texts_live_until_the_settings_are_cleared(void **state) {
    (void)state;
    parley_settings settings, other;
    parley_error error = {0};
    pl_settings_defaults(&settings);
    pl_settings_defaults(&other);
    char value[] = "a";
    for (unsigned i = 0; i < 20; i++, value[0]++)
        assert_done(pl_setting_set(&settings, 0, i % 2 ? "log" : "model", value, &error), &error);
    assert_done(pl_settings_assign(&other, &settings, &error), &error);
    assert_done(pl_settings_assign(&other, &other, &error), &error);
    pl_settings_clear(&settings);
    assert_string_equal(other.log, "t");
    assert_string_equal(other.model, "s");
    pl_settings_clear(&other);
}

static void copies_have_the_same_values(void **state) {
    (void)state;
    parley_settings *settings, *copy;
    parley_error error;
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "lambda", "0.25", &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "log", "a longer text", &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "standardise", "true", &error), PARLEY_OK);
    assert_int_equal(pl_settings_copy(settings, &copy, &error), PARLEY_OK);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        char mine[PL_TEXT], other[PL_TEXT];
        pl_setting_text(settings, pl_setting_at(i), mine, sizeof mine);
        pl_setting_text(copy, pl_setting_at(i), other, sizeof other);
        assert_string_equal(mine, other);
        assert_int_equal(settings->given[i], copy->given[i]);
    }
    parley_settings_free(copy);
    parley_settings_free(settings);
}

static void statuses_have_texts(void **state) {
    (void)state;
    assert_string_equal(parley_status_text(PARLEY_OK), "done");
    assert_string_equal(parley_status_text(PARLEY_BROKEN), "internal error");
    assert_string_equal(parley_status_text((parley_status)99), "unknown status");
    assert_string_equal(parley_stop_text(PARLEY_CONVERGED), "converged");
    assert_string_equal(parley_stop_text(PARLEY_INTERRUPTED), "interrupted");
    assert_string_equal(parley_stop_text((parley_stop)99), "unknown stop");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_spelt_alike),
        cmocka_unit_test(fields_do_not_overlap),
        cmocka_unit_test(both_spellings_are_found),
        cmocka_unit_test(defaults_are_as_the_table_says_and_count_as_not_given),
        cmocka_unit_test(values_are_set_and_read_back),
        cmocka_unit_test(every_wrong_value_has_its_sentence_and_changes_nothing),
        cmocka_unit_test(a_value_that_is_too_long_is_refused),
        cmocka_unit_test(options_of_other_commands_are_unknown),
        cmocka_unit_test(a_very_long_unknown_name_is_refused),
        cmocka_unit_test(flags_have_dashes),
        cmocka_unit_test(the_nearest_word_is_suggested_or_none),
        cmocka_unit_test(number_texts_read_back_the_same),
        cmocka_unit_test(public_settings_work_as_the_table),
        cmocka_unit_test(every_row_has_a_field_of_its_own),
        cmocka_unit_test(the_settings_of_all_wings_have_room),
        cmocka_unit_test(texts_live_until_the_settings_are_cleared),
        cmocka_unit_test(copies_have_the_same_values),
        cmocka_unit_test(statuses_have_texts),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
