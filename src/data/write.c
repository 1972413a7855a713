/* write.c: data as LIBSVM text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/file.h"
#include "data/numeral.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define ENTRY_BYTES 64         /* more than any label or entry takes */
#define EXACT_FLOAT 16777216.0 /* whole numbers up to here are floats */
#define EXACT_DOUBLE 1e15      /* and whole labels up to here are written as such */
#define MOST_DECIMALS 7
#define SMALLEST_DECIMAL 1e-4F /* below it, a power of ten is shorter */

typedef struct writer {
    pl_file *file;
    char *text;
    size_t used;
} writer;

static char *put_whole(char *p, uint64_t number) {
    char digits[20];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count > 0)
        *p++ = digits[--count];
    return p;
}

/* Writes whole / 10^decimals. */
static char *put_decimal(char *p, uint32_t whole, unsigned decimals) {
    static const uint32_t ten_to[MOST_DECIMALS + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    p = put_whole(p, whole / ten_to[decimals]);
    if (decimals == 0)
        return p;
    *p++ = '.';
    uint32_t fraction = whole % ten_to[decimals];
    for (unsigned i = decimals; i-- > 0; fraction /= 10)
        p[i] = (char)('0' + fraction % 10);
    return p + decimals;
}

/* Drops what exponents need not have: e+05 becomes e5. */
static char *shorten_exponent(char *p) {
    char *e = strchr(p, 'e');
    if (!e)
        return p + strlen(p);
    char *to = e + 1, *from = e + 1;
    if (*from == '-')
        *to++ = *from;
    for (from++; *from == '0'; from++)
        ;
    while (*from)
        *to++ = *from++;
    *to = '\0';
    return to;
}

/* Writes the fewest digits that read back as `value`; the locale is plain. */
static char *put_float(char *p, float value) {
    static const float ten_to[MOST_DECIMALS + 1] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F};
    float size = fabsf(value);
    if (size == 0 || (size >= SMALLEST_DECIMAL && size < EXACT_FLOAT)) {
        for (unsigned decimals = 0; decimals <= MOST_DECIMALS; decimals++) {
            double whole = floor((double)size * (double)ten_to[decimals] + 0.5);
            if (whole > EXACT_FLOAT)
                break;
            if ((float)whole / ten_to[decimals] != size)
                continue;
            if (signbit(value))
                *p++ = '-';
            return put_decimal(p, (uint32_t)whole, decimals);
        }
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(p, ENTRY_BYTES, "%.*g", digits, (double)value);
        if (strtof(p, NULL) == value)
            break;
    }
    return shorten_exponent(p);
}

static char *put_label(char *p, double label) {
    if (label != floor(label) || fabs(label) > EXACT_DOUBLE) {
        pl_number_text(label, p, ENTRY_BYTES);
        return shorten_exponent(p);
    }
    if (signbit(label))
        *p++ = '-';
    return put_whole(p, (uint64_t)fabs(label));
}

static parley_status flush(writer *to, parley_error *error) {
    parley_status status = pl_file_write(to->file, to->text, to->used, error);
    to->used = 0;
    return status;
}

static parley_status write_row(writer *to, const parley_data *data, uint64_t row, parley_error *error) {
    const pl_matrix *x = &data->x;
    parley_status status = PARLEY_OK;
    char *p = put_label(to->text + to->used, data->label[row]);
    for (uint64_t i = x->start[row]; i < x->start[row + 1] && status == PARLEY_OK; i++) {
        *p++ = ' ';
        p = put_whole(p, (uint64_t)x->index[i] + 1);
        *p++ = ':';
        p = x->value ? put_float(p, x->value[i]) : put_whole(p, 1);
        to->used = (size_t)(p - to->text);
        if (to->used + 3 * ENTRY_BYTES > BUFFER_BYTES) {
            status = flush(to, error);
            p = to->text;
        }
    }
    *p++ = '\n';
    to->used = (size_t)(p - to->text);
    if (status == PARLEY_OK && to->used + 3 * ENTRY_BYTES > BUFFER_BYTES)
        status = flush(to, error);
    return status;
}

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcmp(path + length - wanted, ending) == 0;
}

static parley_status write_rows(writer *to, const parley_data *data, parley_error *error) {
    parley_status status = PARLEY_OK;
    pl_locale locale = pl_locale_plain();
    for (uint64_t row = 0; row < data->x.rows && status == PARLEY_OK; row++)
        status = write_row(to, data, row, error);
    pl_locale_back(locale);
    return status == PARLEY_OK ? flush(to, error) : status;
}

parley_status pl_data_write_libsvm(const parley_data *data, const char *path, parley_error *error) {
    if (data->weight)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s: LIBSVM text has no place for weights; write a cache", path);
    writer to = {0};
    pl_compression compression = ends_in(path, ".gz")    ? PL_TO_GZIP
                                 : ends_in(path, ".zst") ? PL_TO_ZSTD
                                                         : PL_NOT_COMPRESSED;
    parley_status status = pl_take(&to.text, BUFFER_BYTES, 1, "writing", error);
    if (status == PARLEY_OK)
        status = pl_file_open(path, compression, &to.file, error);
    if (status == PARLEY_OK)
        status = write_rows(&to, data, error);
    status = pl_file_close(to.file, status, error);
    pl_free(to.text);
    return status;
}
