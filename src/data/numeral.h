/* numeral.h: converts decimal text to numbers, correctly rounded and independent of the locale. A numeral is [+-]
 * digits [. digits] [e [+-] digits] with at least one digit before or after the point. Hexadecimal, nan and inf are not
 * numerals. */
#ifndef PL_NUMERAL_H
#define PL_NUMERAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pl_numeral {
    const char *begin, *end; /* `end` is the first byte after the numeral */
    uint64_t digits;         /* the value is digits x 10^power, unless `many` */
    int power;
    bool negative, many; /* many: there are more digits than fit */
} pl_numeral;

/* `text` must be followed by a byte that cannot be part of a numeral, such as a newline or NUL. Returns false if there
 * is no numeral. */
bool pl_numeral_scan(const char *text, pl_numeral *numeral);
/* Like strtod and strtof in the C locale. Infinite if the number is too large. */
double pl_numeral_double(const pl_numeral *numeral);
float pl_numeral_float(const pl_numeral *numeral);
/* The number as a float, or as a double if `wide`. Returns false if it is beyond that type: too large or, for a float,
 * so small that it loses digits. Sets `*cut` if the number has more digits than its float. */
bool pl_numeral_value(const pl_numeral *numeral, bool wide, double *value, bool *cut);

/* Switches this thread to the C locale for reading and printing numbers, until pl_locale_back. */
typedef struct pl_locale {
    void *plain, *before;
} pl_locale;
pl_locale pl_locale_plain(void);
void pl_locale_back(pl_locale locale);

#endif
