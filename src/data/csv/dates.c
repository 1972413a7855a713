/* dates.c: reads dates of the Gregorian calendar. */
#include "data/csv/dates.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* Years of two digits are those from 1969 to 2068, as in POSIX. */
static bool read_year(cursor *cursor, unsigned *year) {
    const char *first = cursor->p;
    if (!digits(cursor, 2, 4, year) || cursor->p - first == 3)
        return false;
    if (cursor->p - first == 2)
        *year += *year < 69 ? 2000 : 1900;
    return true;
}

/* Takes letters if they begin `word` and are at least three of them, in any case. */
static bool take_name(cursor *cursor, const char *word) {
    unsigned length = 0;
    while (cursor->p + length < cursor->end && isalpha((unsigned char)cursor->p[length]))
        length++;
    if (length < 3 || (cursor->p[0] | 0x20) != word[0] || length > strlen(word) ||
        strncasecmp(cursor->p, word, length) != 0)
        return false;
    cursor->p += length;
    return true;
}

/* Takes what may stand between the parts of a date with a name. */
static void skip_gap(cursor *cursor) {
    while (cursor->p < cursor->end && strchr(" -/.,", *cursor->p) && *cursor->p)
        cursor->p++;
}

static bool read_month(cursor *cursor, unsigned *month) {
    static const char *const months[] = {"january", "february", "march",     "april",   "may",      "june",
                                         "july",    "august",   "september", "october", "november", "december"};
    for (*month = 1; *month <= 12; ++*month)
        if (take_name(cursor, months[*month - 1]))
            return true;
    return false;
}

static void skip_weekday(cursor *cursor) {
    static const char *const days[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
    for (unsigned i = 0; i < 7; i++)
        if (take_name(cursor, days[i])) {
            skip_gap(cursor);
            return;
        }
}

/* Reads the day of a month: 1, 01 or 1st. */
static bool read_day_number(cursor *cursor, unsigned *day) {
    static const char *const endings[] = {"st", "nd", "rd", "th"};
    if (!digits(cursor, 1, 2, day))
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (cursor->end - cursor->p >= 2 && strncasecmp(cursor->p, endings[i], 2) == 0) {
            cursor->p += 2;
            break;
        }
    return true;
}

/* Reads 1 Mar 2023, 01-MAR-23, Mar 1, 2023, March 2023 or 2023 Mar 1, perhaps behind the name of the day. */
static bool read_named_day(cursor *cursor, unsigned *year, unsigned *month, unsigned *day) {
    skip_weekday(cursor);
    struct cursor start = *cursor;
    *day = 1;
    if (digits(cursor, 4, 4, year)) {
        skip_gap(cursor);
        if (!read_month(cursor, month))
            return false;
        skip_gap(cursor);
        return read_day_number(cursor, day);
    }
    *cursor = start;
    if (read_month(cursor, month)) {
        skip_gap(cursor);
        start = *cursor;
        if (digits(cursor, 4, 4, year))
            return true;
        *cursor = start;
        if (!read_day_number(cursor, day))
            return false;
    } else {
        if (!read_day_number(cursor, day))
            return false;
        skip_gap(cursor);
        if (!read_month(cursor, month))
            return false;
    }
    const char *gap = cursor->p;
    skip_gap(cursor);
    return cursor->p > gap || isalpha((unsigned char)gap[-1]) ? read_year(cursor, year) : false;
}

/* Reads 2023-Q1, 2023Q1 or Q1 2023. */
static bool read_quarter(cursor *cursor, unsigned *year, unsigned *month) {
    unsigned quarter;
    bool before = digits(cursor, 4, 4, year);
    if (before)
        skip_gap(cursor);
    if (!(take(cursor, 'Q') || take(cursor, 'q')) || !digits(cursor, 1, 1, &quarter) || quarter < 1 || quarter > 4)
        return false;
    *month = 3 * quarter - 2;
    if (before)
        return true;
    skip_gap(cursor);
    return digits(cursor, 4, 4, year);
}

/* Reads a date of three numbers, or of a year and a month. */
static bool read_numbers(cursor *cursor, pl_date_order order, unsigned *year, unsigned *month, unsigned *day) {
    unsigned *parts[3] = {month, day, year};
    if (order == PL_DAY_FIRST)
        parts[0] = day, parts[1] = month;
    if (order == PL_YEAR_FIRST)
        parts[0] = year, parts[1] = month, parts[2] = day;
    bool first = order == PL_YEAR_FIRST;
    const char *begin = cursor->p;
    if (!digits(cursor, first ? 4 : 1, first ? 4 : 2, parts[0]))
        return false;
    char separator = cursor->p < cursor->end ? *cursor->p : '\0';
    if (separator != '-' && separator != '/' && (separator != '.' || order == PL_MONTH_FIRST))
        return false;
    take(cursor, separator);
    const char *second = cursor->p;
    if (!digits(cursor, 1, 2, parts[1]))
        return false;
    if (first && cursor->p == cursor->end && cursor->p - second == 2 && separator != '.') {
        *day = 1;
        return true;
    }
    bool full = second - begin == 3 && cursor->p - second == 2; /* else 1.2.10 may be the number of a version */
    if (!take(cursor, separator))
        return false;
    const char *third = cursor->p;
    if (first)
        return digits(cursor, 1, 2, day);
    return read_year(cursor, year) && (cursor->p - third == 4 || full || separator == '/');
}

static bool read_day(cursor *cursor, pl_date_order order, double *days) {
    unsigned year = 0, month = 0, day = 1;
    const struct cursor start = *cursor;
    if (!read_numbers(cursor, order, &year, &month, &day)) {
        *cursor = start;
        if (!read_named_day(cursor, &year, &month, &day)) {
            *cursor = start;
            day = 1;
            if (!read_quarter(cursor, &year, &month))
                return false;
        }
    }
    *days = days_since_2000(year, month, day);
    return is_day(year, month, day);
}

/* Reads AM, PM, a.m. or p.m. behind an hour, which is then from 1 to 12. Returns false if it is not. */
static bool read_half(cursor *cursor, unsigned *hour, bool *given) {
    const struct cursor start = *cursor;
    take(cursor, ' ');
    char half = cursor->p < cursor->end ? (char)(*cursor->p++ | 0x20) : '\0';
    bool point = take(cursor, '.');
    *given = (half == 'a' || half == 'p') && (take(cursor, 'm') || take(cursor, 'M'));
    if (!*given) {
        *cursor = start;
        return true;
    }
    bool afternoon = half == 'p';
    if (point)
        take(cursor, '.');
    bool right = *hour >= 1 && *hour <= 12;
    *hour = *hour % 12 + (afternoon ? 12 : 0);
    return right;
}

/* Reads the seconds behind hours and minutes, if there are any. */
static bool read_seconds(cursor *cursor, double *seconds) {
    unsigned second, ignored;
    double scale = 0.1;
    *seconds = 0;
    if (!take(cursor, ':'))
        return true;
    if (!digits(cursor, 2, 2, &second) || second > 60)
        return false;
    *seconds = second;
    double part = 0;
    if (take(cursor, '.') || take(cursor, ','))
        for (; digits(cursor, 1, 1, &ignored); scale /= 10)
            part += ignored * scale;
    *seconds += part;
    return true;
}

/* Reads a time of the day and its distance from UTC, both as a share of a day. */
static bool read_time(cursor *cursor, double *days) {
    unsigned hour, minute;
    double seconds;
    bool half;
    if (!digits(cursor, 1, 2, &hour) || !take(cursor, ':') || !digits(cursor, 2, 2, &minute) ||
        !read_seconds(cursor, &seconds) || !read_half(cursor, &hour, &half) || hour > 24 || minute > 59)
        return false;
    *days += (hour * 3600 + minute * 60 + seconds) / 86400;
    if (take(cursor, 'Z') || cursor->p == cursor->end)
        return true;
    const struct cursor start = *cursor;
    take(cursor, ' ');
    if (take_name(cursor, "utc") || take_name(cursor, "gmt"))
        return true;
    *cursor = start;
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

/* Reads the days of a duration: "2 days ", "1 day, ". */
static bool read_days(cursor *cursor, double *days) {
    const struct cursor start = *cursor;
    unsigned count;
    *days = 0;
    if (digits(cursor, 1, 6, &count) && take(cursor, ' ') && take_name(cursor, "days")) {
        *days = count;
        take(cursor, ',');
        return take(cursor, ' ') || cursor->p == cursor->end;
    }
    *cursor = start;
    return true;
}

static bool read_clock(cursor *cursor, double *hours) {
    unsigned hour, minute = 0;
    double days, seconds = 0;
    bool negative = take(cursor, '-'), half = false;
    if (!read_days(cursor, &days))
        return false;
    *hours = 24 * days;
    if (days == 0 || cursor->p < cursor->end) {
        if (!digits(cursor, 1, 4, &hour))
            return false;
        bool minutes = take(cursor, ':');
        if (minutes && (!digits(cursor, 2, 2, &minute) || minute > 59 || !read_seconds(cursor, &seconds)))
            return false;
        if (!read_half(cursor, &hour, &half) || (!minutes && !half))
            return false;
        *hours += (hour * 3600 + minute * 60 + seconds) / 3600;
    }
    *hours = negative ? -*hours : *hours;
    return true;
}

bool pl_date_read(const char *text, uint64_t bytes, pl_date_order order, double *number) {
    cursor cursor = {text, text + bytes};
    double days;
    unsigned letters = 0;
    while (letters < 3 && letters < bytes && isalpha((unsigned char)text[letters]))
        letters++;
    if (bytes == 0 || (letters > 0 && letters < 3 && (*text | 0x20) != 'q'))
        return false; /* most words with digits are rejected here */
    if (order == PL_CLOCK)
        return read_clock(&cursor, number) && cursor.p == cursor.end;
    if (!read_day(&cursor, order, &days))
        return false;
    take(&cursor, ',');
    if ((take(&cursor, 'T') || take(&cursor, ' ')) && !read_time(&cursor, &days))
        return false;
    *number = days / DAYS_PER_YEAR;
    return cursor.p == cursor.end;
}
