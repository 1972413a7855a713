/* write_libsvm.c: writes data as LIBSVM text. */
#include "data/label_sets.h"
#include "data/writer.h"

static void write_entries(pl_writer *to, const parley_data *data, uint64_t row) {
    const pl_matrix *x = &data->x;
    char *p = pl_writer_room(to);
    for (uint64_t i = x->start[row]; i < x->start[row + 1]; i++) {
        *p++ = ' ';
        p = pl_put_whole(p, (uint64_t)x->index[i] + 1);
        *p++ = ':';
        p = pl_put_value(p, x->values, i);
        pl_writer_used(to, p);
        p = pl_writer_room(to);
    }
    *p++ = '\n';
    pl_writer_used(to, p);
}

static void write_row(pl_writer *to, const parley_data *data, uint64_t row) {
    pl_writer_used(to, pl_put_label(pl_writer_room(to), data->label[row]));
    write_entries(to, data, row);
}

/* The labels of a set are the name of its class, without the braces. */
static void write_set_row(pl_writer *to, const parley_data *data, uint64_t row) {
    pl_name name = pl_names_at(&data->classes, (uint64_t)data->label[row]);
    pl_writer_text(to, name.text + 1, name.bytes - 2);
    write_entries(to, data, row);
}

parley_status pl_data_write_libsvm(const parley_data *data, const char *path, const pl_watching *watching,
                                   parley_error *error) {
    if (data->weight)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s: LIBSVM text cannot hold weights; write a cache, CSV or VW text",
                       path);
    return pl_write_rows(data, path, NULL, pl_has_label_sets(data) ? write_set_row : write_row, watching, error);
}
