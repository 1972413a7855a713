/* dates.c: reads dates of the Gregorian calendar. */
#include "data/csv/dates.h"

#define DAYS_PER_YEAR 365.2425
#define MOST_YEARS 9999

typedef struct cursor {
    const char *p, *end;
} cursor;

static bool take(cursor *cursor, char c) {
    if (cursor->p == cursor->end || *cursor->p != c)
        return false;
    cursor->p++;
    return true;
}

/* Reads a number of `least` to `most` digits. */
static bool digits(cursor *cursor, unsigned least, unsigned most, unsigned *number) {
    unsigned count = 0;
    for (*number = 0; count < most && cursor->p < cursor->end && *cursor->p >= '0' && *cursor->p <= '9'; count++)
        *number = *number * 10 + (unsigned)(*cursor->p++ - '0');
    return count >= least;
}

/* Days from the start of 2000, by the count of days before a year that begins in March, so that leap days are last. */
static double days_since_2000(unsigned year, unsigned month, unsigned day) {
    int shifted = (int)year - (month <= 2), from_march = (int)(month + 9) % 12;
    int leap_days = shifted / 4 - shifted / 100 + shifted / 400;
    return 365.0 * shifted + leap_days + (153 * from_march + 2) / 5 + (int)day - 1 - 730425;
}

static bool is_day(unsigned year, unsigned month, unsigned day) {
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return year >= 1 && year <= MOST_YEARS && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (leap && month == 2 ? 1u : 0u);
}

static bool read_day(cursor *cursor, pl_date_order order, double *days) {
    unsigned part[3];
    bool first = order == PL_YEAR_FIRST;
    if (!digits(cursor, first ? 4 : 1, first ? 4 : 2, &part[0]))
        return false;
    char separator = cursor->p < cursor->end ? *cursor->p : '\0';
    if (separator != '-' && separator != '/' && separator != '.')
        return false;
    if (!take(cursor, separator) || !digits(cursor, 1, 2, &part[1]) || !take(cursor, separator) ||
        !digits(cursor, first ? 1 : 4, first ? 2 : 4, &part[2]))
        return false;
    unsigned year = first ? part[0] : part[2], month = order == PL_DAY_FIRST || first ? part[1] : part[0];
    unsigned day = first ? part[2] : order == PL_DAY_FIRST ? part[0] : part[1];
    *days = days_since_2000(year, month, day);
    return is_day(year, month, day);
}

/* Reads a time of the day and its distance from UTC, both as a share of a day. */
static bool read_time(cursor *cursor, double *days) {
    unsigned hour, minute, second = 0, ignored;
    if (!digits(cursor, 1, 2, &hour) || !take(cursor, ':') || !digits(cursor, 2, 2, &minute))
        return false;
    double seconds = 0, scale = 0.1;
    if (take(cursor, ':')) {
        if (!digits(cursor, 2, 2, &second))
            return false;
        if (take(cursor, '.') || take(cursor, ','))
            for (; digits(cursor, 1, 1, &ignored); scale /= 10)
                seconds += ignored * scale;
    }
    if (hour > 24 || minute > 59 || second > 60)
        return false;
    *days += (hour * 3600 + minute * 60 + second + seconds) / 86400;
    if (take(cursor, 'Z') || cursor->p == cursor->end)
        return true;
    bool east = *cursor->p == '+';
    if (!east && *cursor->p != '-')
        return false;
    cursor->p++;
    if (!digits(cursor, 2, 2, &hour))
        return false;
    take(cursor, ':');
    minute = 0;
    if (cursor->p < cursor->end && !digits(cursor, 2, 2, &minute))
        return false;
    *days -= (east ? 1 : -1) * (hour * 60.0 + minute) / 1440;
    return hour < 24 && minute < 60;
}

bool pl_date_read(const char *text, uint64_t bytes, pl_date_order order, double *years) {
    cursor cursor = {text, text + bytes};
    double days;
    if (!read_day(&cursor, order, &days))
        return false;
    if ((take(&cursor, 'T') || take(&cursor, ' ')) && !read_time(&cursor, &days))
        return false;
    *years = days / DAYS_PER_YEAR;
    return cursor.p == cursor.end;
}
