/* amounts.h: numbers as people write them: $1,443.75, 269 €, 12.8 kg, 94%, (1765), 1 764, 1'764, <5, 10+. */
#ifndef PL_AMOUNTS_H
#define PL_AMOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/numeral.h"

#define PL_UNIT_BYTES 24
#define PL_AMOUNT_BYTES 64 /* a numeral with its sign and a NUL */

/* How numbers are written: 1234.5, 1234,5 (or 1.234,5), or 1,234.5. */
typedef enum pl_decimals { PL_DECIMAL_POINT, PL_DECIMAL_COMMA, PL_GROUPED, PL_DECIMALS_COUNT } pl_decimals;

typedef struct pl_amount {
    char copy[PL_AMOUNT_BYTES]; /* the plain number */
    pl_numeral numeral;         /* points into `copy` */
    char unit[PL_UNIT_BYTES];   /* in one spelling: kg for Kg, year for Years, $ for USD; empty: none */
    bool bound;                 /* <5, >10 or 10+: the number is a bound of the value */
} pl_amount;

/* Reads a number with a unit or currency, a percent sign, marks between thousands, brackets for a negative number or a
 * bound. Returns false if the text is anything else. `amount` may not be copied, because `numeral` points into it. */
bool pl_amount_read(const char *text, uint64_t bytes, pl_decimals decimals, pl_amount *amount);
/* Is the unit a currency, a percentage or a common measure, which may also stand with some numbers of a column only? */
bool pl_amount_known(const char *unit);
/* May the unit be a factor, such as %, K or million? Numbers without it are then other numbers. */
bool pl_amount_strict(const char *unit);
/* Is the text one that stands for a missing value in columns of numbers, such as - or missing? */
bool pl_looks_missing(const char *text, uint64_t bytes);

#endif
