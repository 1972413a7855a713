/* idx.c: IDX, the format of MNIST: two zero bytes, a type, the number of dimensions, their sizes, then values, all
 * big-endian. The first dimension counts rows; the product of the others is the number of columns, in file order.
 * Values are not scaled (pixels are 0 to 255), and zeros are left out. Labels are in a separate file with one
 * dimension. */
#define _POSIX_C_SOURCE 200809L /* access */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "data/parser.h"

#define LARGEST_HEADER (4 + 4 * 255)
#define LABEL_WAVE ((uint64_t)1 << 20)
#define LARGEST_RECORD ((uint64_t)1 << 31)

#define SAY_CUT_OFF "%.0sa row that is cut off; the file is shorter than its header says"
#define SAY_LONGER "%.0smore rows than the header says"
#define SAY_FINITE "%.0sthe value of column %u is not a finite 32-bit float"

typedef struct shape {
    unsigned type, bytes; /* of a value */
    uint64_t rows, values, header;
} shape;

typedef struct state {
    shape shape;
    bool parted;    /* other ranks read rows too */
    uint64_t found; /* rows of all ranks */
    const double *label;
    pl_span labels;
} state;

static uint32_t load_four(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned type_bytes(unsigned type) {
    switch (type) {
    case 0x08:
    case 0x09: return 1;
    case 0x0B: return 2;
    case 0x0C:
    case 0x0D: return 4;
    case 0x0E: return 8;
    default: return 0;
    }
}

/* Loads a value of any type. Signed integers do not rely on implementation-defined conversions. */
static double load(const unsigned char *p, unsigned type) {
    uint32_t high = type_bytes(type) >= 4 ? load_four(p) : 0;
    switch (type) {
    case 0x08: return p[0];
    case 0x09: return p[0] < 128 ? p[0] : p[0] - 256;
    case 0x0B: return (p[0] < 128 ? p[0] : p[0] - 256) * 256 + p[1];
    case 0x0C: return high < 0x80000000u ? (double)high : (double)high - 4294967296.0;
    case 0x0D: {
        float value;
        memcpy(&value, &high, sizeof value);
        return (double)value;
    }
    default: {
        uint64_t bits = (uint64_t)high << 32 | load_four(p + 4);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    }
}

static parley_status read_shape(const char *text, uint64_t bytes, const char *path, shape *shape, parley_error *error) {
    const unsigned char *p = (const unsigned char *)text;
    unsigned dims = bytes >= 4 ? p[3] : 0;
    *shape = (struct shape){.type = bytes >= 4 ? p[2] : 0, .values = 1, .header = 4 + 4 * (uint64_t)dims};
    shape->bytes = type_bytes(shape->type);
    if (bytes < 4 || p[0] != 0 || p[1] != 0 || shape->bytes == 0 || dims == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not IDX: it does not begin with 0 0 type dimensions", path);
    if (bytes < shape->header)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not valid IDX: its header is cut off", path);
    shape->rows = load_four(p + 4);
    for (unsigned i = 1; i < dims; i++) {
        uint64_t size = load_four(p + 4 + 4 * i);
        shape->values = size == 0 || shape->values > LARGEST_RECORD / size ? 0 : shape->values * size;
        if (shape->values == 0 || shape->values * shape->bytes > LARGEST_RECORD)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: not valid IDX: its rows are empty or larger than %llu bytes",
                           path, (unsigned long long)LARGEST_RECORD);
    }
    return PARLEY_OK;
}

static bool emit(pl_block *block, uint32_t column, double value) {
    float rounded = (float)value;
    if (!isfinite(rounded)) {
        block->fault = (pl_fault){.format = SAY_FINITE, .word = "", .stop = "", .column = column + 1};
        return false;
    }
    block->index[block->entries] = column;
    block->values.narrow[block->entries++] = rounded;
    block->ones &= rounded == 1.0F;
    return true;
}

static bool read_row(pl_block *block, const unsigned char *p) {
    const shape *shape = &((const state *)block->state)->shape;
    uint32_t values = (uint32_t)shape->values;
    if (shape->type != 0x08) {
        for (uint32_t j = 0; j < values; j++) {
            double value = load(p + (uint64_t)j * shape->bytes, shape->type);
            if (value != 0 && !emit(block, j, value))
                return false;
        }
        return true;
    }
    for (uint32_t j = 0; j < values; j++) {
        if (p[j] != 0)
            emit(block, j, p[j]);
    }
    return true;
}

static void parse(pl_block *block) {
    const state *state = block->state;
    uint64_t record = state->shape.values * state->shape.bytes;
    block->rows = block->entries = block->lines = 0;
    block->columns = (uint32_t)state->shape.values;
    for (const char *p = block->text; p < block->end; p += record) {
        uint64_t row = block->first_row + block->rows;
        block->lines++;
        if (row >= state->shape.rows || (uint64_t)(block->end - p) < record) {
            block->fault =
                (pl_fault){.format = row >= state->shape.rows ? SAY_LONGER : SAY_CUT_OFF, .word = "", .stop = ""};
            return;
        }
        if (!read_row(block, (const unsigned char *)p))
            return;
        block->label[block->rows] = state->label ? state->label[row] : 0;
        block->row_end[block->rows++] = block->first + block->entries;
    }
}

static void bound(pl_block *block) {
    const shape *shape = &((const state *)block->state)->shape;
    uint64_t record = shape->values * shape->bytes;
    block->rows = ((uint64_t)(block->end - block->text) + record - 1) / record;
    block->entries = (uint64_t)(block->end - block->text) / shape->bytes; /* a row that is cut off has no entry */
}

static bool sniff(const char *text, uint64_t bytes) {
    return bytes >= 4 && text[0] == 0 && text[1] == 0 && type_bytes((unsigned char)text[2]) > 0 && text[3] > 0 &&
           text[3] <= 8;
}

/* Reads all bytes of a source. */
static parley_status read_all(pl_source *source, pl_span *span, uint64_t *held, parley_error *error) {
    const char *text;
    uint64_t bytes = 1;
    *held = 0;
    while (bytes > 0) {
        parley_status status = pl_source_next(source, &text, &bytes, error);
        if (status != PARLEY_OK)
            return status;
        if (!pl_span_reserve(span, *held + bytes + 1))
            return pl_fail_memory(error, "labels", *held + bytes);
        if (bytes > 0)
            memcpy((char *)span->data + *held, text, bytes);
        *held += bytes;
    }
    return PARLEY_OK;
}

static parley_status take_labels(state *state, const char *path, const char *bytes, uint64_t held,
                                 parley_error *error) {
    shape shape;
    parley_status status = read_shape(bytes, held, path, &shape, error);
    if (status != PARLEY_OK)
        return status;
    if (shape.values != 1 || shape.rows != state->shape.rows)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu rows of %llu labels for %llu rows; each row needs one label",
                       path, (unsigned long long)shape.rows, (unsigned long long)shape.values,
                       (unsigned long long)state->shape.rows);
    if (held - shape.header != shape.rows * shape.bytes)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not valid IDX: its size does not match its header", path);
    if (!pl_span_reserve(&state->labels, shape.rows * sizeof(double) + 1))
        return pl_fail_memory(error, "labels", shape.rows * sizeof(double));
    double *label = state->labels.data;
    for (uint64_t i = 0; i < shape.rows; i++) {
        label[i] = load((const unsigned char *)bytes + shape.header + i * shape.bytes, shape.type);
        if (!isfinite(label[i]))
            return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: the label is not finite", path,
                           (unsigned long long)i + 1);
    }
    state->label = label;
    return PARLEY_OK;
}

static parley_status read_labels(state *state, const char *path, parley_error *error) {
    pl_source *source;
    pl_span span = {0};
    uint64_t held = 0;
    parley_status status = pl_source_open(path, LABEL_WAVE, &source, error);
    if (status != PARLEY_OK)
        return status;
    pl_source_cut(source, (pl_cut){.record = 1});
    if (pl_source_content(source) == PL_CACHE)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: not IDX: it is a cache", path);
    else
        status = read_all(source, &span, &held, error);
    if (status == PARLEY_OK)
        status = take_labels(state, path, span.data, held, error);
    pl_source_close(source);
    pl_span_free(&span);
    return status;
}

/* Turns train-images-idx3-ubyte into train-labels-idx1-ubyte in the last part of the path. Returns false if it has no
 * `images`. */
static bool name_labels(const char *path, char *labels, size_t size) {
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *images = strstr(file, "images");
    if (!images || strlen(path) >= size)
        return false;
    memcpy(labels, path, strlen(path) + 1);
    memcpy(labels + (images - path), "labels", 6);
    char *dims = strstr(labels + (images - path), "idx3");
    if (dims)
        dims[3] = '1';
    return true;
}

static parley_status find_labels(state *state, const pl_reading *reading, const char *path, parley_error *error) {
    char name[PL_TEXT];
    if (reading->labels && *reading->labels)
        return read_labels(state, reading->labels, error);
    bool named = name_labels(path, name, sizeof name);
    if (named && access(name, F_OK) == 0)
        return read_labels(state, name, error);
    if (reading->unlabelled)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: no labels: %s%.200s; name their file with --labels", path,
                   named ? "there is no file " : "its name has no `images` to replace by `labels`", named ? name : "");
}

static void close_state(void *closed) {
    state *state = closed;
    if (state)
        pl_span_free(&state->labels);
    pl_free(state);
}

static parley_status open(pl_parser *parser, const pl_reading *reading, parley_error *error) {
    const char *path = pl_source_name(parser->source), *text;
    uint64_t bytes;
    bool whole = false;
    state *state;
    parley_status status = pl_take(&state, 1, sizeof *state, "reading", error);
    if (status != PARLEY_OK)
        return status;
    parser->state = state;
    for (int turn = 0; turn < 2 && status == PARLEY_OK; turn++) /* a failure is reported by the second call */
        status = pl_source_head(parser->source, LARGEST_HEADER, &text, &bytes, &whole, error);
    if (status == PARLEY_OK)
        status = read_shape(text, bytes, path, &state->shape, error);
    if (status != PARLEY_OK)
        return status;
    if (text[3] == 1)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: this IDX file has one dimension, so it holds labels; give the file of images", path);
    parser->cut = (pl_cut){.skip = state->shape.header, .record = state->shape.values * state->shape.bytes};
    parser->columns = state->shape.values;
    if (reading->model_columns > state->shape.values)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s: its images have %llu values, but the model was trained on %llu columns; give images of the "
                       "same size",
                       path, (unsigned long long)state->shape.values, (unsigned long long)reading->model_columns);
    return find_labels(state, reading, path, error);
}

/* Only all ranks together can tell whether the file is complete. */
static parley_status pack(pl_parser *parser, pl_span *out, uint64_t *bytes, parley_error *error) {
    ((state *)parser->state)->parted = true;
    *bytes = sizeof parser->rows;
    if (!pl_span_reserve(out, *bytes))
        return pl_fail_memory(error, "reading", *bytes);
    memcpy(out->data, &parser->rows, sizeof parser->rows);
    return PARLEY_OK;
}

static parley_status unpack(pl_parser *parser, const char *packed, uint64_t bytes, parley_error *error) {
    uint64_t rows;
    (void)bytes, (void)error;
    memcpy(&rows, packed, sizeof rows);
    ((state *)parser->state)->found += rows;
    return PARLEY_OK;
}

static parley_status finish(pl_parser *parser, parley_data *data, parley_error *error) {
    const state *state = parser->state;
    uint64_t rows = state->parted ? state->found : parser->passed + parser->rows;
    if (rows < state->shape.rows)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %llu rows, but its header says %llu; the file is cut off",
                       data ? data->path : pl_source_name(parser->source), (unsigned long long)rows,
                       (unsigned long long)state->shape.rows);
    return PARLEY_OK;
}

static const char *const settings[] = {"labels", NULL};

const pl_format pl_format_idx = {
    .name = "idx",
    .title = "IDX",
    .help = "the format of MNIST: images in one file, labels in another",
    .endings = "",
    .no_rows = "its header says 0 rows",
    .settings = settings,
    .sniff = sniff,
    .open = open,
    .count = bound,
    .bound = bound,
    .parse = parse,
    .pack = pack,
    .unpack = unpack,
    .finish = finish,
    .close = close_state,
};
