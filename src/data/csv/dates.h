/* dates.h: dates and times in text, as numbers. */
#ifndef PL_DATES_H
#define PL_DATES_H

#include <stdbool.h>
#include <stdint.h>

/* The order of day, month and year: 2024-03-31 or 2024/03/31, 03/31/2024, and 31/03/2024 or 31.03.2024. Dates with the
 * name of a month are of every order: 1 Mar 2023, Mar 1, 2023. PL_CLOCK: a time of the day or a duration alone. */
typedef enum pl_date_order { PL_YEAR_FIRST, PL_MONTH_FIRST, PL_DAY_FIRST, PL_CLOCK, PL_DATE_ORDERS } pl_date_order;

/* Reads a date, perhaps followed by a time: a blank or T, then 23:59, 23:59:59.999 or 11:59 PM, then perhaps Z or
 * +01:00. Sets `*number` to the years of 365.2425 days since the start of 2000 in UTC. A clock is 23:59, 125:30:59.5,
 * 11:59 PM or 2 days 03:04:05, and gives hours. Returns false if the text is no such date. */
bool pl_date_read(const char *text, uint64_t bytes, pl_date_order order, double *number);

#endif
