/* write_vw.c: writes data as Vowpal Wabbit's text. A column without a name is written as its number, from 0. Because a
 * name of digits is its own hash, it is read back as the same column. */
#include <string.h>

#include "data/hash.h"
#include "data/label_sets.h"
#include "data/writer.h"

typedef struct feature {
    pl_name space, name;
} feature;

/* Splits space^name if hashing both gives this column again; otherwise the column has no name. */
static feature hashed_name(const parley_data *data, uint32_t column, pl_name whole) {
    feature feature = {{"", 0}, {"", 0}};
    const char *joint = whole.bytes ? memchr(whole.text, '^', whole.bytes) : NULL;
    pl_name space = {whole.text, joint ? (uint64_t)(joint - whole.text) : 0};
    pl_name name = {joint ? joint + 1 : whole.text, whole.bytes - space.bytes - (joint != NULL)};
    uint64_t seed = space.bytes ? pl_hash_name(space.text, space.bytes, 0) : 0;
    uint64_t mask = ((uint64_t)1 << data->hash_bits) - 1;
    if (name.bytes && (pl_hash_name(name.text, name.bytes, seed) & mask) == column)
        feature = (struct feature){space, name};
    return feature;
}

/* Writes blanks, bars and colons, which have a meaning in the format, as _. */
static void write_name(pl_writer *to, pl_name name) {
    for (uint64_t i = 0; i < name.bytes; i++) {
        char c = name.text[i];
        pl_writer_text(to, (unsigned char)c <= ' ' || c == '|' || c == ':' ? "_" : &c, 1);
    }
}

static void write_entry(pl_writer *to, const parley_data *data, uint64_t i, pl_name *space) {
    const pl_matrix *x = &data->x;
    uint32_t column = x->index[i];
    pl_name whole = pl_names_at(&data->names, column);
    bool hashed = data->hash_bits > 0 && x->columns == (uint64_t)1 << data->hash_bits;
    feature feature = hashed ? hashed_name(data, column, whole) : (struct feature){{"", 0}, whole};
    if (feature.space.bytes != space->bytes || memcmp(feature.space.text, space->text, space->bytes) != 0) {
        pl_writer_text(to, " |", 2);
        pl_writer_text(to, feature.space.text, feature.space.bytes);
        *space = feature.space;
    }
    pl_writer_text(to, " ", 1);
    write_name(to, feature.name);
    char *p = pl_writer_room(to);
    if (feature.name.bytes == 0)
        p = pl_put_whole(p, column);
    if (pl_value_at(x->values, i) != 1.0) {
        *p++ = ':';
        p = pl_put_value(p, x->values, i);
    }
    pl_writer_used(to, p);
}

static void write_row(pl_writer *to, const parley_data *data, uint64_t row) {
    pl_name space = {"", 0};
    char *p = pl_put_label(pl_writer_room(to), data->label[row]);
    if (data->weight) {
        *p++ = ' ';
        p = pl_put_label(p, data->weight[row]);
    }
    *p++ = ' ';
    *p++ = '|';
    pl_writer_used(to, p);
    for (uint64_t i = data->x.start[row]; i < data->x.start[row + 1]; i++)
        write_entry(to, data, i, &space);
    pl_writer_text(to, "\n", 1);
}

parley_status pl_data_write_vw(const parley_data *data, const char *path, const pl_watching *watching,
                               parley_error *error) {
    if (pl_has_label_sets(data))
        return pl_fail_label_sets(data, error);
    return pl_write_rows(data, path, NULL, write_row, watching, error);
}
