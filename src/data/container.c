/* container.c: reading and writing safetensors. The header is
 * {"__metadata__": {key: text, ...}, name: {"dtype": T, "shape": [...], "data_offsets": [begin, end]}, ...}
 * and the tensors together cover the rest of the file, each byte once. */
#include "data/container.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/json_memory.h"
#include "base/mapped_file.h"
#include "base/memory.h"
#include "data/file.h"

#define LENGTH_BYTES 8
#define LONGEST_HEADER                                                                                                 \
    ((uint64_t)8 << 20)                 /* names of columns and classes are tensors, so that real ones have kilobytes */
#define MOST_VALUES ((uint64_t)1 << 16) /* in a header; memory is some 300 bytes for each */
#define ALIGNMENT 64                    /* of the first tensor in the file */
#define METADATA "__metadata__"

static const struct {
    const char *name;
    unsigned bytes;
} types[] = {
    [PL_F64] = {"F64", 8}, [PL_U64] = {"U64", 8}, [PL_F32] = {"F32", 4}, [PL_U32] = {"U32", 4}, [PL_U8] = {"U8", 1}};

struct pl_container {
    const char *path; /* for messages, while the file is opened */
    const unsigned char *bytes;
    uint64_t size, first; /* of the file; where the tensors begin */
    pl_mapped_file map;   /* without data: bytes in memory */
    void *moved;          /* an aligned copy of bytes in memory, if they were not aligned */
    json_t *header;       /* owns the names and texts */
    pl_tensor *tensors;
    unsigned tensor_count;
    pl_pair *metas;
    unsigned meta_count;
};

static parley_status bad(const pl_container *container, const char *what, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a valid safetensors file: %s", container->path, what);
}

static parley_status bad_tensor(const pl_container *container, const char *name, const char *what,
                                parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a valid safetensors file: tensor \"%.60s\" %s", container->path,
                   name, what);
}

static parley_status read_header(pl_container *container, parley_error *error) {
    uint64_t length = 0;
    if (container->size < LENGTH_BYTES)
        return bad(container, "it is too short", error);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | container->bytes[i];
    if (length > container->size - LENGTH_BYTES) {
        bool begins = container->size == LENGTH_BYTES || container->bytes[LENGTH_BYTES] == '{';
        return bad(container, begins ? "its header is longer than the file" : "it is a file of another kind", error);
    }
    if (length > LONGEST_HEADER)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: its header has %llu bytes, but Parley reads headers of at most %llu; it is no file of Parley",
            container->path, (unsigned long long)length, (unsigned long long)LONGEST_HEADER);
    parley_error why = {0};
    parley_status status = pl_json_parse((const char *)container->bytes + LENGTH_BYTES, length, MOST_VALUES,
                                         JSON_REJECT_DUPLICATES, &container->header, &why);
    if (status == PARLEY_NO_MEMORY)
        return pl_fail_memory(error, "a header", length);
    if (status != PARLEY_OK)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a valid safetensors file: its header is not JSON: %s",
                       container->path, why.sentence);
    if (!json_is_object(container->header))
        return bad(container, "its header is not a JSON object", error);
    container->first = LENGTH_BYTES + length;
    return PARLEY_OK;
}

static parley_status read_metadata(pl_container *container, parley_error *error) {
    json_t *metadata = json_object_get(container->header, METADATA), *text;
    const char *key;
    if (!metadata)
        return PARLEY_OK;
    if (!json_is_object(metadata))
        return bad(container, "its metadata are not an object", error);
    parley_status status =
        pl_take(&container->metas, json_object_size(metadata), sizeof *container->metas, "a header", error);
    if (status != PARLEY_OK)
        return status;
    json_object_foreach(metadata, key, text) {
        if (!json_is_string(text))
            return bad(container, "its metadata are not all strings", error);
        container->metas[container->meta_count++] = (pl_pair){key, json_string_value(text)};
    }
    return PARLEY_OK;
}

/* Reads a non-negative integer from the header. */
static bool read_count(const json_t *value, uint64_t *count) {
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *count = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_type(const json_t *text, pl_dtype *type) {
    for (unsigned i = 0; json_is_string(text) && i < sizeof types / sizeof *types; i++)
        if (strcmp(json_string_value(text), types[i].name) == 0) {
            *type = (pl_dtype)i;
            return true;
        }
    return false;
}

static bool read_shape(const json_t *shape, pl_tensor *tensor) {
    tensor->dims = (unsigned)json_array_size(shape);
    tensor->shape[1] = 1;
    return (json_array_size(shape) == 1 || json_array_size(shape) == 2) &&
           read_count(json_array_get(shape, 0), &tensor->shape[0]) &&
           (tensor->dims == 1 || read_count(json_array_get(shape, 1), &tensor->shape[1]));
}

/* Computes the size from the shape. Returns false if it exceeds `most`. */
static bool shape_bytes(const pl_tensor *tensor, uint64_t most, uint64_t *bytes) {
    uint64_t a = tensor->shape[0], b = tensor->shape[1], size = types[tensor->type].bytes;
    if (a == 0 || b == 0) {
        *bytes = 0;
        return true;
    }
    if (a > most / size || b > most / size / a)
        return false;
    *bytes = a * b * size;
    return true;
}

static parley_status read_tensor(const pl_container *container, const char *name, const json_t *facts,
                                 pl_tensor *tensor, parley_error *error) {
    const json_t *offsets = json_object_get(facts, "data_offsets");
    uint64_t begin, end, bytes, data = container->size - container->first;
    tensor->name = name;
    if (!json_is_object(facts) || json_object_size(facts) != 3)
        return bad_tensor(container, name, "must have dtype, shape and data_offsets", error);
    if (!read_type(json_object_get(facts, "dtype"), &tensor->type))
        return bad_tensor(container, name, "has a type other than F64, U64, F32, U32 and U8", error);
    if (!read_shape(json_object_get(facts, "shape"), tensor))
        return bad_tensor(container, name, "has a shape other than [n] and [n, m]", error);
    if (json_array_size(offsets) != 2 || !read_count(json_array_get(offsets, 0), &begin) ||
        !read_count(json_array_get(offsets, 1), &end) || begin > end || end > data)
        return bad_tensor(container, name, "lies outside the file", error);
    if (!shape_bytes(tensor, data, &bytes) || bytes != end - begin)
        return bad_tensor(container, name, "has a shape that does not fit its size", error);
    tensor->data = container->bytes + container->first + begin;
    if ((uintptr_t)tensor->data % types[tensor->type].bytes != 0)
        return bad_tensor(container, name, "is not aligned to its type", error);
    return PARLEY_OK;
}

/* By position; empty tensors come before a tensor at the same position. */
static int compare_places(const void *left, const void *right) {
    const pl_tensor *a = left, *b = right;
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    bool empty_a = a->shape[0] == 0 || a->shape[1] == 0, empty_b = b->shape[0] == 0 || b->shape[1] == 0;
    return x != y ? (x > y) - (x < y) : empty_b - empty_a;
}

/* Sorts the tensors by position and checks that they follow one another to the end of the file. */
static parley_status check_cover(pl_container *container, parley_error *error) {
    const unsigned char *expected = container->bytes + container->first;
    qsort(container->tensors, container->tensor_count, sizeof *container->tensors, compare_places);
    for (unsigned i = 0; i < container->tensor_count; i++) {
        const pl_tensor *tensor = &container->tensors[i];
        uint64_t bytes = 0;
        shape_bytes(tensor, container->size, &bytes);
        if ((const unsigned char *)tensor->data != expected)
            return bad_tensor(container, tensor->name, "overlaps another tensor or follows a gap", error);
        expected += bytes;
    }
    if (expected != container->bytes + container->size)
        return bad(container, "there are bytes after its last tensor", error);
    return PARLEY_OK;
}

static parley_status read_tensors(pl_container *container, parley_error *error) {
    const char *name;
    json_t *facts;
    parley_status status = pl_take(&container->tensors, json_object_size(container->header) + 1,
                                   sizeof *container->tensors, "a header", error);
    json_object_foreach(container->header, name, facts) {
        if (status != PARLEY_OK)
            break;
        if (strcmp(name, METADATA) != 0)
            status = read_tensor(container, name, facts, &container->tensors[container->tensor_count++], error);
    }
    return status == PARLEY_OK ? check_cover(container, error) : status;
}

static parley_status interpret(pl_container *container, parley_error *error) {
    parley_status status = read_header(container, error);
    if (status == PARLEY_OK)
        status = read_metadata(container, error);
    if (status == PARLEY_OK)
        status = read_tensors(container, error);
    container->path = NULL;
    return status;
}

static parley_status map(pl_container *container, parley_error *error) {
    parley_status status = pl_mapped_open(&container->map, container->path, error);
    container->bytes = (const unsigned char *)container->map.data;
    container->size = container->map.bytes;
    return status == PARLEY_OK && !container->bytes ? bad(container, "it is empty", error) : status;
}

static parley_status move(pl_container *container, parley_error *error) {
    parley_status status = pl_take(&container->moved, container->size, 1, "a copy of the bytes", error);
    if (status == PARLEY_OK && container->size > 0)
        memcpy(container->moved, container->bytes, container->size);
    container->bytes = container->moved;
    return status;
}

/* Opens `path`, or `bytes` if they are given. */
static parley_status open_container(const char *path, const void *bytes, uint64_t size, pl_container **out,
                                    parley_error *error) {
    *out = NULL;
    pl_container *container;
    parley_status status = pl_take(&container, 1, sizeof *container, "a file", error);
    if (status != PARLEY_OK)
        return status;
    container->path = path;
    container->bytes = bytes;
    container->map.file = -1;
    container->size = size;
    if (!bytes)
        status = map(container, error);
    else if ((uintptr_t)bytes % sizeof(uint64_t) != 0)
        status = move(container, error);
    if (status == PARLEY_OK)
        status = interpret(container, error);
    if (status == PARLEY_BAD_INPUT) /* a file that is being written is not a faulty one */
        pl_container_unchanged(container, path, error);
    if (status == PARLEY_OK)
        *out = container;
    else
        pl_container_close(container);
    return status;
}

parley_status pl_container_open(const char *path, pl_container **out, parley_error *error) {
    return open_container(path, NULL, 0, out, error);
}

parley_status pl_container_parse(const void *bytes, uint64_t size, const char *path, pl_container **out,
                                 parley_error *error) {
    return open_container(path, bytes ? bytes : "", bytes ? size : 0, out, error);
}

parley_status pl_container_keep(pl_container *container, const char *path, parley_error *error) {
    return container->map.data ? pl_mapped_keep(&container->map, path, error) : PARLEY_OK;
}

parley_status pl_container_unchanged(const pl_container *container, const char *path, parley_error *error) {
    return container->map.data ? pl_mapped_check(&container->map, path, error) : PARLEY_OK;
}

const pl_tensor *pl_container_tensor(const pl_container *container, const char *name) {
    for (unsigned i = 0; i < container->tensor_count; i++)
        if (strcmp(container->tensors[i].name, name) == 0)
            return &container->tensors[i];
    return NULL;
}

unsigned pl_container_tensors(const pl_container *container, const pl_tensor **first) {
    *first = container->tensors;
    return container->tensor_count;
}

const char *pl_container_meta(const pl_container *container, const char *key) {
    for (unsigned i = 0; i < container->meta_count; i++)
        if (strcmp(container->metas[i].key, key) == 0)
            return container->metas[i].value;
    return NULL;
}

unsigned pl_container_metas(const pl_container *container, const pl_pair **first) {
    *first = container->metas;
    return container->meta_count;
}

void pl_container_close(pl_container *container) {
    if (!container)
        return;
    json_decref(container->header);
    pl_mapped_close(&container->map);
    pl_free(container->moved);
    pl_free(container->tensors);
    pl_free(container->metas);
    pl_free(container);
}

static uint64_t tensor_bytes(const pl_tensor *tensor) {
    return tensor->shape[0] * (tensor->dims == 2 ? tensor->shape[1] : 1) * types[tensor->type].bytes;
}

/* Makes the JSON header. Returns NULL if memory runs out or a text is not UTF-8. */
static json_t *describe(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count) {
    json_t *header = json_object(), *metadata = json_object();
    int failed = json_object_set_new(header, METADATA, metadata);
    for (unsigned i = 0; i < meta_count; i++)
        failed |= json_object_set_new(metadata, metas[i].key, json_string(metas[i].value));
    uint64_t begin = 0;
    for (unsigned i = 0; i < count; i++) {
        const pl_tensor *tensor = &tensors[i];
        uint64_t end = begin + tensor_bytes(tensor);
        json_t *shape = json_pack("[I]", (json_int_t)tensor->shape[0]);
        if (tensor->dims == 2)
            failed |= json_array_append_new(shape, json_integer((json_int_t)tensor->shape[1]));
        failed |= json_object_set_new(header, tensor->name,
                                      json_pack("{s:s, s:o, s:[I, I]}", "dtype", types[tensor->type].name, "shape",
                                                shape, "data_offsets", (json_int_t)begin, (json_int_t)end));
        begin = end;
    }
    if (failed) {
        json_decref(header);
        return NULL;
    }
    return header;
}

/* Makes the length, the JSON and the padding that aligns the tensors. Returns NULL if memory runs out or a text is not
 * UTF-8. */
static char *make_header(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count,
                         uint64_t *bytes, parley_status *status) {
    pl_json_watch();
    json_t *header = describe(tensors, count, metas, meta_count);
    char *text = header ? json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(header);
    *status = pl_json_lost() ? PARLEY_NO_MEMORY : PARLEY_BAD_INPUT;
    if (!text || pl_json_lost()) {
        pl_json_free(text);
        return NULL;
    }
    uint64_t length = strlen(text), padded = length;
    while ((LENGTH_BYTES + padded) % ALIGNMENT != 0)
        padded++;
    char *made = pl_alloc(LENGTH_BYTES + padded, 1);
    *status = made ? PARLEY_OK : PARLEY_NO_MEMORY;
    *bytes = LENGTH_BYTES + padded;
    for (int i = 0; made && i < LENGTH_BYTES; i++)
        made[i] = (char)(unsigned char)(padded >> 8 * i);
    if (made) {
        memcpy(made + LENGTH_BYTES, text, length);
        memset(made + LENGTH_BYTES + length, ' ', padded - length);
    }
    pl_json_free(text);
    return made;
}

static parley_status fail_header(parley_status status, const char *path, parley_error *error) {
    if (status == PARLEY_NO_MEMORY)
        return pl_fail_memory(error, "a file's header", 0);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: cannot write: names and metadata must be UTF-8", path);
}

/* Writes a tensor by its rows. */
static parley_status write_rows(pl_file *file, const pl_tensor *tensor, pl_tensor_row row, const void *context,
                                parley_error *error) {
    uint64_t rows = tensor->shape[0], bytes = rows ? tensor_bytes(tensor) / rows : 0;
    void *room;
    parley_status status = pl_take(&room, bytes, 1, "a row of a file", error);
    for (uint64_t i = 0; i < rows && status == PARLEY_OK; i++) {
        row(context, i, room);
        status = pl_file_write(file, room, bytes, error);
    }
    pl_free(room);
    return status;
}

parley_status pl_container_write(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                                 unsigned meta_count, parley_error *error) {
    return pl_container_write_rows(path, tensors, count, metas, meta_count, NULL, NULL, error);
}

parley_status pl_container_write_rows(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                                      unsigned meta_count, pl_tensor_row row, const void *context,
                                      parley_error *error) {
    uint64_t bytes;
    parley_status status;
    char *header = make_header(tensors, count, metas, meta_count, &bytes, &status);
    if (!header)
        return fail_header(status, path, error);
    pl_file *file = NULL;
    status = pl_file_open(path, PL_NOT_COMPRESSED, &file, error);
    if (status == PARLEY_OK)
        status = pl_file_write(file, header, bytes, error);
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = row && i == 0 ? write_rows(file, &tensors[i], row, context, error)
                               : pl_file_write(file, tensors[i].data, tensor_bytes(&tensors[i]), error);
    pl_free(header);
    return pl_file_close(file, status, error);
}

parley_status pl_container_pack(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count,
                                void **out, uint64_t *size, parley_error *error) {
    uint64_t bytes;
    parley_status status;
    char *header = make_header(tensors, count, metas, meta_count, &bytes, &status);
    *out = NULL;
    *size = 0;
    if (!header)
        return fail_header(status, "memory", error);
    uint64_t all = bytes;
    for (unsigned i = 0; i < count; i++)
        all += tensor_bytes(&tensors[i]);
    char *packed = pl_realloc(header, all, 1);
    if (!packed) {
        pl_free(header);
        return pl_fail_memory(error, "the bytes of a file", all);
    }
    for (unsigned i = 0; i < count; bytes += tensor_bytes(&tensors[i]), i++)
        if (tensor_bytes(&tensors[i]) > 0)
            memcpy(packed + bytes, tensors[i].data, tensor_bytes(&tensors[i]));
    *out = packed;
    *size = all;
    return PARLEY_OK;
}

void pl_names_put_starts(const pl_names *names, const pl_names *classes, pl_tensor *tensors, unsigned *count) {
    if (names->count > 0)
        tensors[(*count)++] = (pl_tensor){"name_start", PL_U64, 1, {names->count + 1}, names->start};
    if (classes->count > 0)
        tensors[(*count)++] = (pl_tensor){"class_start", PL_U64, 1, {classes->count + 1}, classes->start};
}

void pl_names_put_texts(const pl_names *names, const pl_names *classes, pl_tensor *tensors, unsigned *count) {
    if (names->count > 0)
        tensors[(*count)++] = (pl_tensor){"name", PL_U8, 1, {names->start[names->count]}, names->text};
    if (classes->count > 0)
        tensors[(*count)++] = (pl_tensor){"class", PL_U8, 1, {classes->start[classes->count]}, classes->text};
}

bool pl_names_get(const pl_container *container, const char *name, uint64_t most, pl_names *out) {
    char start_name[32];
    snprintf(start_name, sizeof start_name, "%s_start", name);
    const pl_tensor *start = pl_container_tensor(container, start_name), *text = pl_container_tensor(container, name);
    *out = (pl_names){0};
    if (!start && !text)
        return true;
    if (!start || !text || start->type != PL_U64 || start->dims != 1 || text->type != PL_U8 || text->dims != 1 ||
        start->shape[0] < 2 || start->shape[0] - 1 > most)
        return false;
    if (!pl_names_valid(start->data, start->shape[0] - 1, text->shape[0]))
        return false;
    *out = (pl_names){start->shape[0] - 1, start->data, text->data, NULL};
    return true;
}
