/* write_csv.c: writes data as CSV, with a header and every column of every row. */
#include <string.h>

#include "data/format.h"
#include "data/label_sets.h"
#include "data/writer.h"

#define MOST_COLUMNS 20000

static char separator_of(const pl_writer *to) { return strstr(pl_writer_path(to), ".tsv") ? '\t' : ','; }

/* Writes a field, in quotes if it could be misread without them. */
static void write_field(pl_writer *to, const char *text, uint64_t bytes) {
    bool plain = bytes > 0 && text[0] != ' ' && text[bytes - 1] != ' ';
    for (uint64_t i = 0; i < bytes; i++)
        plain &= !strchr(",;\"\t\r\n", text[i]);
    if (plain) {
        pl_writer_text(to, text, bytes);
        return;
    }
    pl_writer_text(to, "\"", 1);
    for (uint64_t i = 0; i < bytes; i++) {
        pl_writer_text(to, text + i, 1);
        if (text[i] == '"')
            pl_writer_text(to, "\"", 1);
    }
    pl_writer_text(to, "\"", 1);
}

/* Returns the first of the given names that no column has. */
static const char *free_name(const parley_data *data, const char *const *names) {
    for (; names[1]; names++) {
        bool taken = false;
        for (uint64_t i = 0; i < data->names.count && !taken; i++) {
            pl_name name = pl_names_at(&data->names, i);
            taken = name.bytes == strlen(*names) && memcmp(name.text, *names, name.bytes) == 0;
        }
        if (!taken)
            break;
    }
    return *names;
}

static void write_head(pl_writer *to, const parley_data *data) {
    static const char *const labels[] = {"label", "target", "y", "class", NULL};
    static const char *const weights[] = {"weight", "row_weight", "parley_weight", NULL};
    char separator = separator_of(to);
    const char *label = free_name(data, labels), *weight = free_name(data, weights);
    pl_writer_text(to, label, strlen(label));
    if (data->weight) {
        pl_writer_text(to, &separator, 1);
        pl_writer_text(to, weight, strlen(weight));
    }
    for (uint64_t i = 0; i < data->x.columns; i++) {
        pl_name name = pl_names_at(&data->names, i);
        pl_writer_text(to, &separator, 1);
        if (name.bytes > 0)
            write_field(to, name.text, name.bytes);
        else {
            char *p = pl_writer_room(to);
            *p++ = 'c';
            pl_writer_used(to, pl_put_whole(p, i + 1));
        }
    }
    pl_writer_text(to, "\n", 1);
}

static void write_label(pl_writer *to, const parley_data *data, uint64_t row) {
    double label = data->label[row];
    if (data->classes.count > 0 && label >= 0 && label < (double)data->classes.count) {
        pl_name name = pl_names_at(&data->classes, (uint64_t)label);
        write_field(to, name.text, name.bytes);
    } else
        pl_writer_used(to, pl_put_label(pl_writer_room(to), label));
}

static void write_row(pl_writer *to, const parley_data *data, uint64_t row) {
    const pl_matrix *x = &data->x;
    uint64_t i = x->start[row], end = x->start[row + 1];
    char separator = separator_of(to);
    write_label(to, data, row);
    if (data->weight) {
        char *p = pl_writer_room(to);
        *p++ = separator;
        pl_writer_used(to, pl_put_label(p, data->weight[row]));
    }
    for (uint64_t column = 0; column < x->columns; column++) {
        char *p = pl_writer_room(to);
        *p++ = separator;
        if (i < end && x->index[i] == column) {
            p = pl_put_value(p, x->values, i);
            i++;
        } else
            *p++ = '0';
        pl_writer_used(to, p);
    }
    pl_writer_text(to, "\n", 1);
}

parley_status pl_data_write_csv(const parley_data *data, const char *path, const pl_watching *watching,
                                parley_error *error) {
    if (pl_has_label_sets(data))
        return pl_fail_label_sets(data, error);
    if (data->x.columns > MOST_COLUMNS)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "%s: %llu columns are too many for CSV, which writes every column of every row; the maximum is "
                       "%d; write LIBSVM text or a cache",
                       path, (unsigned long long)data->x.columns, MOST_COLUMNS);
    return pl_write_rows(data, path, write_head, write_row, watching, error);
}
