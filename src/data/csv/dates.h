/* dates.h: dates and times in text, as numbers. */
#ifndef PL_DATES_H
#define PL_DATES_H

#include <stdbool.h>
#include <stdint.h>

/* The order of day, month and year: 2024-03-31 or 2024/03/31, 03/31/2024, and 31/03/2024 or 31.03.2024. */
typedef enum pl_date_order { PL_YEAR_FIRST, PL_MONTH_FIRST, PL_DAY_FIRST, PL_DATE_ORDERS } pl_date_order;

/* Reads a date, perhaps followed by a time: a blank or T, then 23:59 or 23:59:59.999, then perhaps Z or +01:00. Sets
 * `*years` to the years of 365.2425 days since the start of 2000 in UTC. Returns false if the text is no such date. */
bool pl_date_read(const char *text, uint64_t bytes, pl_date_order order, double *years);

#endif
