/* split_rows.c: divides the rows of a text among two files in two passes, in little memory. The first pass counts rows,
 * by label if the split is stratified. The second draws: of n rows that are left, of which m are still to go to the
 * second file, the next one goes there with probability m / n, so that every choice of rows is equally likely (Knuth,
 * The Art of Computer Programming, volume 2, algorithm 3.4.2 S). */
#include "data/split_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/stop.h"
#include "data/file.h"
#include "data/numeral.h"
#include "data/parser.h"

#define MOST_LABELS 1024
#define BUFFER_BYTES ((uint64_t)256 << 10)
#define LABEL_BYTES 48 /* of a number */

/* Rows of one label, or all rows. */
typedef struct group {
    uint64_t rows, wanted; /* in the file; of them, for the second file */
    uint64_t left, due;    /* the same for rows that are still to come */
} group;

typedef struct output {
    pl_file *file;
    char *text;
    uint64_t used;
} output;

typedef struct splitting {
    pl_split *split;
    const char *path;
    pl_pool *pool;
    const pl_reading *reading;
    pl_dictionary labels;
    group groups[MOST_LABELS];
    unsigned count;
    pl_stream random;
    output out[2];
} splitting;

static parley_status write_bytes(output *out, const char *text, uint64_t bytes, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (out->used + bytes > BUFFER_BYTES) {
        status = pl_file_write(out->file, out->text, out->used, error);
        out->used = 0;
    }
    if (status == PARLEY_OK && bytes > BUFFER_BYTES)
        return pl_file_write(out->file, text, bytes, error);
    if (status == PARLEY_OK)
        memcpy(out->text + out->used, text, (size_t)bytes);
    out->used += bytes;
    return status;
}

/* Gives equal numbers one form, as in +1 and 1.0. */
static pl_name usual_form(pl_name label, char text[LABEL_BYTES]) {
    pl_numeral numeral;
    if (label.bytes == 0 || label.bytes >= LABEL_BYTES)
        return label;
    memcpy(text, label.text, label.bytes);
    text[label.bytes] = '\0';
    if (!pl_numeral_scan(text, &numeral) || numeral.end != text + label.bytes)
        return label;
    pl_number_text(pl_numeral_double(&numeral) + 0.0, text, LABEL_BYTES); /* -0 becomes 0 */
    return (pl_name){text, strlen(text)};
}

/* Finds the group of a row. */
static parley_status find_group(splitting *self, pl_name label, unsigned *group, parley_error *error) {
    char text[LABEL_BYTES];
    uint32_t number = 0;
    label = usual_form(label, text);
    if (self->split->stratified && !pl_dictionary_add(&self->labels, 0, label.text, label.bytes, &number))
        return pl_fail_memory(error, "labels", label.bytes);
    if (number >= MOST_LABELS)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: --stratify: more than %d different labels; choose another column with --label-column, or "
                       "leave out --stratify",
                       self->path, MOST_LABELS);
    self->count = number >= self->count ? number + 1 : self->count;
    *group = number;
    return PARLEY_OK;
}

typedef parley_status (*take_row)(splitting *self, unsigned group, const char *row, uint64_t bytes,
                                  parley_error *error);

static parley_status count_row(splitting *self, unsigned group, const char *row, uint64_t bytes, parley_error *error) {
    (void)row, (void)bytes, (void)error;
    self->groups[group].rows++;
    return PARLEY_OK;
}

static parley_status write_row(splitting *self, unsigned number, const char *row, uint64_t bytes, parley_error *error) {
    group *group = &self->groups[number];
    if (group->left == 0)
        return pl_fail_changed(error, self->path);
    bool drawn = pl_random_below(&self->random, group->left--) < group->due;
    group->due -= drawn;
    return write_bytes(&self->out[drawn], row, bytes, error);
}

/* Calls `take` for the rows of a window. */
static parley_status walk_window(splitting *self, const pl_parser *parser, const char *text, uint64_t bytes,
                                 take_row take, parley_error *error) {
    const char *end = text + bytes;
    parley_status status = PARLEY_OK;
    for (const char *p = text, *next; p < end && status == PARLEY_OK; p = next) {
        pl_name label = {"", 0};
        unsigned group = 0;
        next = pl_cut_after(parser->cut, p, p, end);
        next = next ? next : end;
        if (!parser->format->row(parser->state, p, next, &label))
            continue;
        status = find_group(self, label, &group, error);
        if (status == PARLEY_OK)
            status = take(self, group, p, (uint64_t)(next - p), error);
    }
    return status;
}

/* Copies what is above the first row to both files. */
static parley_status copy_head(splitting *self, const pl_parser *parser, parley_error *error) {
    const char *text;
    uint64_t bytes;
    bool whole;
    parley_status status = pl_source_head(parser->source, parser->cut.skip, &text, &bytes, &whole, error);
    for (unsigned i = 0; i < 2 && status == PARLEY_OK; i++)
        status = write_bytes(&self->out[i], text, bytes, error);
    return status;
}

static parley_status check_format(const pl_parser *parser, const pl_split *split, const char *path,
                                  parley_error *error) {
    if (parser->format == &pl_format_multilabel && split->stratified)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: --stratify takes one label per row, and these rows have several; leave it out", path);
    if (parser->format && parser->format->row)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s is %s; only CSV, LIBSVM, VW and plain text can be split, because their rows are lines", path,
                   parser->format ? parser->format->title : "a cache");
}

/* Calls `take` for all rows. */
static parley_status walk(splitting *self, take_row take, parley_error *error) {
    pl_parser parser = {0};
    const char *text;
    uint64_t bytes = 1;
    parley_status status = pl_parser_open(self->path, self->reading, self->pool, 0, &parser, error);
    if (status == PARLEY_OK)
        status = check_format(&parser, self->split, self->path, error);
    if (status == PARLEY_OK && take == write_row)
        status = copy_head(self, &parser, error);
    while (status == PARLEY_OK && bytes > 0) {
        status = pl_stop_asked() ? pl_fail_stopped(error) : pl_source_next(parser.source, &text, &bytes, error);
        if (status == PARLEY_OK && self->split->watching.see)
            self->split->watching.see(self->split->watching.user, pl_source_used(parser.source),
                                      pl_source_size(parser.source));
        if (status == PARLEY_OK && bytes > 0)
            status = walk_window(self, &parser, text, bytes, take, error);
    }
    pl_parser_close(&parser);
    return status;
}

/* The part of a group's share that rounding down loses. */
static double lost_by(const splitting *self, unsigned i) {
    double due = self->split->share * (double)self->groups[i].rows;
    return self->groups[i].wanted < self->groups[i].rows ? due - floor(due) : -1;
}

/* Divides the rows of the second file among the groups, by the largest remainders. */
static parley_status plan(splitting *self, parley_error *error) {
    uint64_t rows = 0, given = 0;
    for (unsigned i = 0; i < self->count; i++) {
        group *group = &self->groups[i];
        rows += group->rows;
        group->wanted = (uint64_t)(self->split->share * (double)group->rows);
        given += group->wanted;
    }
    uint64_t wanted = (uint64_t)floor(self->split->share * (double)rows + 0.5);
    if (wanted == 0 || wanted == rows)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--test %g: of the %llu row%s of %s, that leaves none in one of the parts", self->split->share,
                       (unsigned long long)rows, rows == 1 ? "" : "s", self->path);
    bool taken[MOST_LABELS] = {false};
    for (; given < wanted; given++) {
        unsigned most = self->count;
        for (unsigned i = 0; i < self->count; i++)
            if (!taken[i] && (most == self->count || lost_by(self, i) > lost_by(self, most)))
                most = i;
        if (most == self->count)
            break;
        taken[most] = true;
        self->groups[most].wanted++;
    }
    for (unsigned i = 0; i < self->count; i++) {
        self->groups[i].left = self->groups[i].rows;
        self->groups[i].due = self->groups[i].wanted;
    }
    self->split->rows[0] = rows - wanted;
    self->split->rows[1] = wanted;
    self->split->labels = self->count;
    return PARLEY_OK;
}

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcmp(path + length - wanted, ending) == 0;
}

static parley_status open_output(output *out, const char *path, parley_error *error) {
    pl_compression compression = ends_in(path, ".gz")    ? PL_TO_GZIP
                                 : ends_in(path, ".zst") ? PL_TO_ZSTD
                                                         : PL_NOT_COMPRESSED;
    parley_status status = pl_take(&out->text, BUFFER_BYTES, 1, "writing", error);
    return status == PARLEY_OK ? pl_file_open(path, compression, &out->file, error) : status;
}

static parley_status write_all(splitting *self, const char *const out[2], parley_error *error) {
    parley_status status = PARLEY_OK;
    self->random = pl_stream_make(self->split->seed, 0, 0);
    for (unsigned i = 0; i < 2 && status == PARLEY_OK; i++)
        status = open_output(&self->out[i], out[i], error);
    if (status == PARLEY_OK)
        status = walk(self, write_row, error);
    for (unsigned i = 0; i < self->count && status == PARLEY_OK; i++)
        if (self->groups[i].left > 0)
            status = pl_fail_changed(error, self->path);
    for (unsigned i = 0; i < 2 && status == PARLEY_OK; i++)
        status = pl_file_write(self->out[i].file, self->out[i].text, self->out[i].used, error);
    for (unsigned i = 0; i < 2; i++) {
        status = pl_file_close(self->out[i].file, status, error);
        pl_free(self->out[i].text);
    }
    return status;
}

parley_status pl_split_rows(const char *path, const pl_reading *reading, const char *const out[2], pl_split *split,
                            parley_error *error) {
    splitting *self;
    pl_reading as = *reading;
    parley_status status = pl_take(&self, 1, sizeof *self, "the rows of each label", error);
    if (status != PARLEY_OK)
        return status;
    as.unlabelled = !split->stratified;
    as.documents = as.unlabelled && !pl_format_ends(&pl_format_csv, path);
    as.needs_labels = split->stratified;
    self->split = split;
    self->path = path;
    self->reading = &as;
    status = pl_pool_open(&self->pool, 1, error);
    if (status == PARLEY_OK)
        status = walk(self, count_row, error);
    if (status == PARLEY_OK && self->count == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: no rows", path);
    if (status == PARLEY_OK)
        status = plan(self, error);
    if (status == PARLEY_OK)
        status = write_all(self, out, error);
    pl_dictionary_free(&self->labels);
    pl_pool_close(self->pool);
    pl_free(self);
    return status;
}
