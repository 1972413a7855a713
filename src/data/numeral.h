/* numeral.h: decimal text to numbers, correctly rounded and whatever the locale. A numeral is [+-] digits [. digits]
 * [e [+-] digits] with a digit before or after the point; no hexadecimal, no nan, no inf. */
#ifndef PL_NUMERAL_H
#define PL_NUMERAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pl_numeral {
    const char *begin, *end; /* `end` is the first byte that does not belong to it */
    uint64_t digits;         /* the value is digits x 10^power, unless `many` */
    int power;
    bool negative, many; /* many: more digits than fit */
} pl_numeral;

/* `text` must end in some byte that is not part of a numeral, such as a newline or a NUL. False: not a numeral. */
bool pl_numeral_scan(const char *text, pl_numeral *numeral);
/* As strtod and strtof in the C locale; infinite when too large. */
double pl_numeral_double(const pl_numeral *numeral);
float pl_numeral_float(const pl_numeral *numeral);

/* Makes this thread read and print numbers as in the C locale, until pl_locale_back. */
typedef struct pl_locale {
    void *plain, *before;
} pl_locale;
pl_locale pl_locale_plain(void);
void pl_locale_back(pl_locale locale);

#endif
