/* numeral.c: exact cases take one multiplication or division (Clinger), the rest use strtod and strtof. */
#define _POSIX_C_SOURCE 200809L /* uselocale */
#include "data/numeral.h"

#include <assert.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static_assert(FLT_EVAL_METHOD == 0, "numbers must be rounded to their own type");

#define MOST_DIGITS 19                    /* digits that fit in 64 bits */
#define MOST_OF_FLOAT ((uint64_t)1 << 24) /* up to here numbers of digits are exact as floats */
#define FAR_POWER 1000000000              /* larger exponents are set to this */
#define EXACT_POWER 22                    /* 10^22 is exact as a double */

static const double powers_of_ten[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static unsigned digit(char c) { return (unsigned)(unsigned char)c - '0'; }

/* Reads an exponent; `p` points at the e. Returns NULL if no digit follows. */
static const char *scan_exponent(const char *p, int *power) {
    bool negative = *++p == '-';
    p += *p == '-' || *p == '+';
    if (digit(*p) > 9)
        return NULL;
    int value = 0;
    for (; digit(*p) <= 9; p++)
        value = value < FAR_POWER / 10 ? value * 10 + (int)digit(*p) : FAR_POWER;
    *power += negative ? -value : value;
    return p;
}

bool pl_numeral_scan(const char *text, pl_numeral *numeral) {
    const char *p = text;
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    const char *first = p, *point = NULL;
    uint64_t digits = 0;
    for (;; p++) {
        if (digit(*p) <= 9)
            digits = digits * 10 + digit(*p); /* wraps if there are many digits, and is then not used */
        else if (*p == '.' && !point)
            point = p;
        else
            break;
    }
    int64_t length = p - first - (point != NULL);
    if (length == 0)
        return false;
    int64_t decimals = point ? p - point - 1 : 0;
    int power = (int)-(decimals < FAR_POWER ? decimals : FAR_POWER);
    if ((*p == 'e' || *p == 'E') && !(p = scan_exponent(p, &power)))
        return false;
    *numeral = (pl_numeral){text, p, digits, power, negative, length > MOST_DIGITS};
    return true;
}

/* digits x 10^power, if both factors are exact doubles, so that the single operation rounds correctly. */
static bool exact_double(const pl_numeral *numeral, double *value) {
    if (numeral->many || numeral->digits > (uint64_t)1 << 53 || abs(numeral->power) > EXACT_POWER)
        return false;
    double digits = (double)numeral->digits;
    digits = numeral->power < 0 ? digits / powers_of_ten[-numeral->power] : digits * powers_of_ten[numeral->power];
    *value = numeral->negative ? -digits : digits;
    return true;
}

/* Is the value halfway between two floats, or below the normal floats, which are spaced differently? */
static bool rounds_twice(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x1fffffff) == 0x10000000 || (fabs(value) < FLT_MIN && value != 0);
}

pl_locale pl_locale_plain(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (pl_locale){plain, plain ? uselocale(plain) : (locale_t)0};
}

void pl_locale_back(pl_locale locale) {
    if (!locale.plain)
        return;
    uselocale(locale.before);
    freelocale(locale.plain);
}

double pl_numeral_double(const pl_numeral *numeral) {
    double value;
    if (exact_double(numeral, &value))
        return value;
    pl_locale locale = pl_locale_plain();
    value = strtod(numeral->begin, NULL);
    pl_locale_back(locale);
    return value;
}

float pl_numeral_float(const pl_numeral *numeral) {
    double exact;
    if (exact_double(numeral, &exact) && !rounds_twice(exact) && fabs(exact) <= (double)FLT_MAX)
        return (float)exact;
    pl_locale locale = pl_locale_plain();
    float value = strtof(numeral->begin, NULL);
    pl_locale_back(locale);
    return value;
}

bool pl_numeral_value(const pl_numeral *numeral, bool wide, double *value, bool *cut) {
    if (wide) {
        *value = pl_numeral_double(numeral);
        return !isinf(*value);
    }
    float narrow = pl_numeral_float(numeral);
    *value = (double)narrow;
    *cut |= (numeral->many || numeral->digits > MOST_OF_FLOAT) && *value != pl_numeral_double(numeral);
    return !isinf(narrow) && (fabsf(narrow) >= FLT_MIN || pl_numeral_double(numeral) == 0);
}
