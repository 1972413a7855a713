/* writer.c: buffered output, and numbers in their shortest form. */
#include "data/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/file.h"
#include "data/numeral.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define ENTRY_BYTES 64         /* no label or entry takes as many */
#define EXACT_FLOAT 16777216.0 /* integers up to this are exact as floats */
#define EXACT_DOUBLE 1e15      /* integer labels up to this are written without a decimal point */
#define USUAL_DIGITS 7
#define MOST_DIGITS 9 /* of a float */
#define MOST_DECIMALS 7
#define WATCHED_ROWS 1024      /* rows between two calls of who watches */
#define SMALLEST_DECIMAL 1e-4F /* smaller values are shorter with an exponent */

struct pl_writer {
    pl_file *file;
    const char *path;
    char *text;
    size_t used;
    parley_status status; /* the first failure */
    parley_error *error;
};

char *pl_put_whole(char *p, uint64_t number) {
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
    p = pl_put_whole(p, whole / ten_to[decimals]);
    if (decimals == 0)
        return p;
    *p++ = '.';
    uint32_t fraction = whole % ten_to[decimals];
    for (unsigned i = decimals; i-- > 0; fraction /= 10)
        p[i] = (char)('0' + fraction % 10);
    return p + decimals;
}

/* Shortens an exponent: e+05 becomes e5. */
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

/* Writes so many digits of `value`, and returns whether they read back as it. */
static bool reads_back(char *p, float value, int digits) {
    snprintf(p, ENTRY_BYTES, "%.*g", digits, (double)value);
    return digits >= MOST_DIGITS || strtof(p, NULL) == value;
}

/* If some digits read back as `value`, so do more of them. Most floats need seven to nine. */
static void put_shortest(char *p, float value) {
    int digits = USUAL_DIGITS;
    if (!reads_back(p, value, digits))
        while (!reads_back(p, value, ++digits))
            ;
    else {
        while (digits > 1 && reads_back(p, value, digits - 1))
            digits--;
        reads_back(p, value, digits);
    }
}

/* Writes the fewest digits that read back as `value`, in the C locale. */
char *pl_put_float(char *p, float value) {
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
    put_shortest(p, value);
    return shorten_exponent(p);
}

char *pl_put_label(char *p, double label) {
    if (label != floor(label) || fabs(label) > EXACT_DOUBLE) {
        pl_number_text(label, p, ENTRY_BYTES);
        return shorten_exponent(p);
    }
    if (signbit(label))
        *p++ = '-';
    return pl_put_whole(p, (uint64_t)fabs(label));
}

char *pl_put_value(char *p, pl_values values, uint64_t e) {
    return values.narrow ? pl_put_float(p, values.narrow[e])
           : values.wide ? pl_put_label(p, values.wide[e])
                         : pl_put_whole(p, 1);
}

static void flush(pl_writer *to) {
    if (to->status == PARLEY_OK)
        to->status = pl_file_write(to->file, to->text, to->used, to->error);
    to->used = 0;
}

char *pl_writer_room(pl_writer *to) {
    if (to->used + PL_ROOM_BYTES > BUFFER_BYTES)
        flush(to);
    return to->text + to->used;
}

void pl_writer_used(pl_writer *to, char *end) { to->used = (size_t)(end - to->text); }

void pl_writer_text(pl_writer *to, const char *text, uint64_t bytes) {
    while (bytes > 0) {
        if (to->used == BUFFER_BYTES)
            flush(to);
        uint64_t room = BUFFER_BYTES - to->used, now = bytes < room ? bytes : room;
        memcpy(to->text + to->used, text, now);
        to->used += now;
        text += now;
        bytes -= now;
    }
}

const char *pl_writer_path(const pl_writer *to) { return to->path; }

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcmp(path + length - wanted, ending) == 0;
}

parley_status pl_write_rows(const parley_data *data, const char *path,
                            void (*head)(pl_writer *to, const parley_data *data),
                            void (*row)(pl_writer *to, const parley_data *data, uint64_t row),
                            const pl_watching *watching, parley_error *error) {
    pl_writer to = {.path = path, .error = error};
    pl_compression compression = ends_in(path, ".gz")    ? PL_TO_GZIP
                                 : ends_in(path, ".zst") ? PL_TO_ZSTD
                                                         : PL_NOT_COMPRESSED;
    to.status = pl_take(&to.text, BUFFER_BYTES, 1, "writing", error);
    if (to.status == PARLEY_OK)
        to.status = pl_file_open(path, compression, &to.file, error);
    pl_locale locale = pl_locale_plain();
    if (head && to.status == PARLEY_OK)
        head(&to, data);
    for (uint64_t i = 0; i < data->x.rows && to.status == PARLEY_OK; i++) {
        row(&to, data, i);
        if (watching && watching->see && i % WATCHED_ROWS == 0)
            watching->see(watching->user, i, data->x.rows);
    }
    pl_locale_back(locale);
    if (to.status == PARLEY_OK)
        flush(&to);
    parley_status status = pl_file_close(to.file, to.status, error);
    pl_free(to.text);
    return status;
}
