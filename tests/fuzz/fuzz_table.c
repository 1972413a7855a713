/* fuzz_table.c: any description of a training table, and any CSV text that is read for a model with this table. An
 * input is two bytes of options, the description, a NUL and the text. Without a model, the description is that of
 * interactions
 * (--interactions). What is accepted must be the same for any blocks, and a description that is read is written and
 * read again in the same way. */
#include "data/csv/csv_table.h"
#include "fuzz_format.h"

#define MODEL 1
#define HASHED 2
#define UNLABELLED 4
#define CLASSES 8
#define BATCHES 16
#define BITS 3 /* of hashed columns */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const char *const columns[] = {"a", "b", "day", "c=x", "c=y", "a=missing", "a:b", "c:a=x", "c:d=x:u", "d=u", ""};
enum { COLUMNS = sizeof columns / sizeof *columns };
static const char *const labels[] = {"no", "yes"};

static void name_all(const char *const *words, unsigned count, pl_names *out) {
    uint64_t bytes = 0;
    parley_error error;
    for (unsigned i = 0; i < count; i++)
        bytes += strlen(words[i]);
    check(pl_names_make(count, bytes, out, &error) == PARLEY_OK);
    uint64_t *start = (uint64_t *)(uintptr_t)out->start;
    start[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        memcpy((char *)(uintptr_t)out->text + start[i], words[i], strlen(words[i]));
        start[i + 1] = start[i] + strlen(words[i]);
    }
}

static int same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static void check_same_tables(const pl_table *a, const pl_table *b) {
    check(a->count == b->count && a->separator == b->separator && a->indicated == b->indicated);
    check(same_text(a->missing_words, b->missing_words) && same_text(a->interactions, b->interactions));
    for (unsigned i = 0; i < a->count; i++) {
        const pl_treatment *left = &a->columns[i], *right = &b->columns[i];
        check(strcmp(left->name, right->name) == 0 && left->role == right->role && left->order == right->order &&
              left->decimals == right->decimals);
        check(left->filled == right->filled && (!left->filled || left->fill == right->fill));
    }
}

static void try_table(const char *text) {
    pl_table table, again;
    char *written;
    parley_error error = {0};
    if (pl_table_read(text, "fuzz", &table, &error) != PARLEY_OK) {
        check(strncmp(error.sentence, "fuzz:", 5) == 0 && !table.columns && table.count == 0);
        return;
    }
    check(pl_table_write(&table, &written, &error) == PARLEY_OK);
    check(pl_table_read(written, "fuzz", &again, &error) == PARLEY_OK);
    check_same_tables(&table, &again);
    pl_free(written);
    pl_table_free(&table);
    pl_table_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static pl_names names, classes;
    if (!names.count) {
        name_all(columns, COLUMNS, &names);
        name_all(labels, 2, &classes);
    }
    const uint8_t *end = count > 2 ? memchr(bytes + 2, '\0', count - 2) : NULL;
    if (!end)
        return 0;
    const char *description = (const char *)bytes + 2;
    unsigned options = bytes[0];
    bool model = options & MODEL, hashed = options & HASHED;
    pl_reading reading = {.format = &pl_format_csv,
                          .missing = (pl_missing)(bytes[1] % (PL_MISSING_REFUSED + 1)),
                          .unlabelled = options & UNLABELLED,
                          .in_batches = !model && options & BATCHES};
    if (model) {
        try_table(description);
        reading.model_columns = COLUMNS + (hashed ? 1 << BITS : 0);
        reading.model_bits = hashed ? BITS : 0;
        reading.names = &names;
        reading.classes = options & CLASSES ? &classes : NULL;
        reading.table = description;
    } else {
        reading.hashed = hashed;
        reading.hash_bits = BITS;
        reading.interactions = description;
    }
    try_format(end + 1, count - (size_t)(end + 1 - bytes), &reading);
    return 0;
}
