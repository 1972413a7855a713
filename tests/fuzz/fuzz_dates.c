/* fuzz_dates.c: any bytes as a date, after a byte that gives the order of day, month and year. An accepted date is the
 * day that its digits say: counting the days of all years and months before it gives the same number. Dates with names
 * and times alone are in range. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/csv/dates.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int is_leap(unsigned year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/* Days from the start of the year 1 to that of another. */
static long days_before(unsigned year) {
    static long days[10001];
    if (days[2] == 0)
        for (unsigned y = 1; y < 10000; y++)
            days[y + 1] = days[y] + 365 + is_leap(y);
    return days[year];
}

static long day_number(unsigned year, unsigned month, unsigned day) {
    long days = days_before(year) - days_before(2000) + (long)day - 1;
    for (unsigned m = 1; m < month; m++)
        days += m == 2 ? 28 + is_leap(year) : m == 4 || m == 6 || m == 9 || m == 11 ? 30 : 31;
    return days;
}

/* Is the text a date of three numbers with a year of four digits, which has one meaning, up to its time? */
static bool is_plain(const uint8_t *bytes, size_t count, pl_date_order order) {
    size_t i = 1, digits[3] = {0};
    for (unsigned part = 0; part < 3; part++) {
        for (; i < count && bytes[i] >= '0' && bytes[i] <= '9'; i++)
            digits[part]++;
        if (digits[part] == 0 || (part < 2 && (i == count || !strchr("-/.", bytes[i]))))
            return false;
        i += part < 2;
    }
    return digits[order == PL_YEAR_FIRST ? 0 : 2] == 4 && (i == count || bytes[i] == ' ' || bytes[i] == 'T');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    double years = NAN;
    unsigned part[3] = {0}, parts = 0;
    size_t i = 1;
    if (count == 0)
        return 0;
    pl_date_order order = (pl_date_order)(bytes[0] % PL_DATE_ORDERS);
    char *text = malloc(count); /* so that a read behind the end is seen */
    check(text != NULL);
    for (size_t k = 1; k < count; k++)
        text[k - 1] = (char)bytes[k];
    int good = pl_date_read(text, count - 1, order, &years);
    free(text);
    if (!good)
        return 0;
    if (order == PL_CLOCK || !is_plain(bytes, count, order)) {
        check(order == PL_CLOCK ? fabs(years) < 24.0 * 1000000 + 10001 : years > -2001 && years < 8001);
        return 0;
    }
    for (; parts < 3; parts++, i++)
        for (; i < count && bytes[i] >= '0' && bytes[i] <= '9'; i++)
            part[parts] = 10 * part[parts] + bytes[i] - '0';
    unsigned year = order == PL_YEAR_FIRST ? part[0] : part[2], month = part[order == PL_MONTH_FIRST ? 0 : 1];
    unsigned day = part[order == PL_YEAR_FIRST ? 2 : order == PL_MONTH_FIRST ? 1 : 0];
    check(year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31);
    double days = (double)day_number(year, month, day), difference = years * 365.2425 - days;
    check(i > count ? fabs(difference) < 1e-6 : difference > -1.001 && difference < 2.05); /* the rest is a time */
    return 0;
}
