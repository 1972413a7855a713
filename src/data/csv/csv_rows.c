/* csv_rows.c: rows that may be left out: those without a label, and bad rows, which have too few or too many fields, or
 * no label and at most one value, as sums below a table have. A row is looked at before it is read, because what is
 * read of it, such as new categories, could not be taken back. */
#include <stdio.h>
#include <string.h>

#include "data/csv/csv.h"

#define LEAST_COLUMNS 3 /* of a table in which a single value in a row is odd */

static pl_csv_fate judge(const pl_csv *csv, unsigned fields, unsigned filled, bool extra, bool labelled) {
    if (csv->skips_bad && fields < csv->count)
        return PL_ROW_SHORT;
    if (csv->skips_bad && (extra || fields > csv->count + csv->tail))
        return PL_ROW_LONG;
    if (csv->skips_bad && !labelled && filled <= 1 && csv->count >= LEAST_COLUMNS)
        return PL_ROW_BARE;
    return csv->skips_unlabelled && !labelled && fields >= csv->count ? PL_ROW_UNLABELLED : PL_ROW_KEPT;
}

pl_csv_fate pl_csv_judge(pl_block *block, const char *p, const char **end) {
    const pl_csv *csv = block->state;
    uint64_t lines = block->lines;
    unsigned fields = 0, filled = 0;
    bool extra = false, labelled = csv->unlabelled || csv->label >= csv->count;
    for (;; p++) {
        pl_field field;
        p = pl_csv_field(block, p, &field);
        if (!p) { /* the fault is found again when the row is read */
            block->fault = (pl_fault){0};
            block->lines = lines;
            return PL_ROW_KEPT;
        }
        bool there = field.bytes > 0;
        filled += there;
        extra |= there && fields >= csv->count;
        if (fields == csv->label && !pl_csv_missing(csv, &field))
            labelled = true;
        fields++;
        if (p == block->end || *p == '\n')
            break;
    }
    *end = p;
    pl_csv_fate fate = judge(csv, fields, filled, extra, labelled);
    if (fate == PL_ROW_KEPT)
        block->lines = lines;
    return fate;
}

bool pl_csv_row(void *state, const char *line, const char *end, pl_name *label) {
    const pl_csv *csv = state;
    pl_block block = {.text = line, .end = end, .state = state};
    const char *p = line;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    if (p == end || (csv->comment && *line == csv->comment))
        return false;
    p = line;
    for (unsigned j = 0; p && j <= csv->label && csv->label < csv->count; j++, p++) {
        pl_field field;
        p = pl_csv_field(&block, p, &field);
        if (p && j == csv->label && !pl_csv_missing(csv, &field))
            *label = (pl_name){field.text, field.bytes};
        if (!p || p == end || *p == '\n')
            break;
    }
    return true;
}

void pl_csv_skip(pl_block *block, pl_csv_fate fate) {
    ((pl_csv *)block->state)->scratch[block->number].skipped[fate]++;
}

void pl_csv_merge_skipped(pl_csv *csv, const pl_block *block) {
    uint64_t *skipped = csv->scratch[block->number].skipped;
    for (unsigned i = 0; i < PL_ROW_FATES; i++) {
        csv->skipped[i] += skipped[i];
        skipped[i] = 0;
    }
}

void pl_csv_tell_skipped(const pl_csv *csv, const char *path) {
    static const char *const reasons[PL_ROW_FATES] = {[PL_ROW_SHORT] = "with too few fields",
                                                      [PL_ROW_LONG] = "with too many fields",
                                                      [PL_ROW_BARE] = "with at most one value",
                                                      [PL_ROW_UNLABELLED] = "without a label"};
    char sentence[512], parts[256] = "";
    uint64_t sum = 0;
    for (unsigned i = 0; i < PL_ROW_FATES; i++) {
        size_t used = strlen(parts);
        sum += csv->skipped[i];
        if (csv->skipped[i] > 0)
            snprintf(parts + used, sizeof parts - used, "%s%llu %s", used ? ", " : "",
                     (unsigned long long)csv->skipped[i], reasons[i]);
    }
    pl_tell tell = csv->tell ? csv->tell : csv->warn;
    if (sum == 0 || !tell)
        return;
    snprintf(sentence, sizeof sentence, "reading %.200s: %llu row%s left out: %s", path, (unsigned long long)sum,
             sum == 1 ? "" : "s", parts);
    tell(csv->user, sentence);
}
