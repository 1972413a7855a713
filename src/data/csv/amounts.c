/* amounts.c: reads [bound] [(] [sign] [currency] number [+] [unit] [)]. The number has digits, perhaps with a mark
 * between groups of three, a decimal point or comma, and an exponent. It is copied without the marks and read as a
 * plain numeral. */
#include "data/csv/amounts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MOST_WORDS 3 /* of a unit */
#define LONGEST_MISSING 14

typedef struct cursor {
    const char *p, *end;
} cursor;

static bool is_digit(const cursor *cursor, uint64_t at) {
    return cursor->p + at < cursor->end && cursor->p[at] >= '0' && cursor->p[at] <= '9';
}

static bool is_letter(char c) { return isalpha((unsigned char)c) != 0 || (unsigned char)c >= 0x80; }

static bool starts(const cursor *cursor, const char *text) {
    size_t length = strlen(text);
    return (size_t)(cursor->end - cursor->p) >= length && memcmp(cursor->p, text, length) == 0;
}

static bool take(cursor *cursor, const char *text) {
    if (!starts(cursor, text))
        return false;
    cursor->p += strlen(text);
    return true;
}

/* The bytes of a blank at the cursor, which may be one that does not break a line; 0: there is none. */
static unsigned blank_here(const cursor *cursor) {
    static const char *const blanks[] = {" ", "\t", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x87"};
    for (unsigned i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (starts(cursor, blanks[i]))
            return (unsigned)strlen(blanks[i]);
    return 0;
}

static void skip_blanks(cursor *cursor) {
    for (unsigned bytes; (bytes = blank_here(cursor)) > 0;)
        cursor->p += bytes;
}

/* The bytes of a mark between thousands; 0: there is none. Blanks and apostrophes are never anything else. */
static unsigned mark_here(const cursor *cursor, pl_decimals decimals) {
    unsigned blank = blank_here(cursor);
    if (blank > 0)
        return blank;
    if (starts(cursor, "\xe2\x80\x99"))
        return 3;
    return starts(cursor, "'") || starts(cursor, decimals == PL_DECIMAL_COMMA ? "." : "\x01") ||
           starts(cursor, decimals == PL_GROUPED ? "," : "\x01");
}

static bool group_follows(const cursor *cursor, unsigned mark) {
    return is_digit(cursor, mark) && is_digit(cursor, mark + 1) && is_digit(cursor, mark + 2) &&
           !is_digit(cursor, mark + 3);
}

typedef struct copying {
    char *to, *last; /* `last` is the last position, which is for the NUL */
} copying;

static bool put(copying *copying, char c) {
    if (copying->to == copying->last)
        return false;
    *copying->to++ = c;
    return true;
}

static bool copy_digits(cursor *cursor, copying *copying) {
    for (; is_digit(cursor, 0); cursor->p++)
        if (!put(copying, *cursor->p))
            return false;
    return true;
}

/* Copies the whole part. All marks between its groups must be the same. */
static bool copy_whole(cursor *cursor, pl_decimals decimals, copying *copying) {
    const char *first = cursor->p, *mark_text = NULL;
    unsigned mark_bytes = 0;
    if (!copy_digits(cursor, copying))
        return false;
    bool groupable = cursor->p > first && cursor->p - first <= 3 && *first != '0';
    for (unsigned mark; groupable && (mark = mark_here(cursor, decimals)) > 0 && group_follows(cursor, mark);) {
        if (mark_text && (mark != mark_bytes || memcmp(mark_text, cursor->p, mark) != 0))
            return false;
        mark_text = cursor->p;
        mark_bytes = mark;
        cursor->p += mark;
        if (!copy_digits(cursor, copying))
            return false;
    }
    return true;
}

/* Copies the number as a plain numeral. Returns false if there is none. */
static bool copy_number(cursor *cursor, pl_decimals decimals, copying *copying) {
    const char *first = cursor->p;
    char point = decimals == PL_DECIMAL_COMMA ? ',' : '.';
    if (!copy_whole(cursor, decimals, copying))
        return false;
    if (cursor->p < cursor->end && *cursor->p == point && is_digit(cursor, 1)) {
        cursor->p++;
        if (!put(copying, '.') || !copy_digits(cursor, copying))
            return false;
    }
    if (cursor->p == first)
        return false;
    if (starts(cursor, "e") || starts(cursor, "E")) {
        unsigned sign = cursor->end - cursor->p > 1 && (cursor->p[1] == '-' || cursor->p[1] == '+');
        if (is_digit(cursor, 1 + sign)) {
            for (unsigned i = 0; i <= sign; i++)
                if (!put(copying, *cursor->p++))
                    return false;
            return copy_digits(cursor, copying);
        }
    }
    return true;
}

/* The bytes of a sign of a currency outside of ASCII; 0: there is none. Most are in the block from U+20A0 to U+20CF. */
static unsigned currency_sign(const cursor *cursor) {
    static const char *const signs[] = {"\xc2\xa2", "\xc2\xa3", "\xc2\xa4", "\xc2\xa5", "\xe0\xb8\xbf"};
    for (unsigned i = 0; i < sizeof signs / sizeof *signs; i++)
        if (starts(cursor, signs[i]))
            return (unsigned)strlen(signs[i]);
    bool block = starts(cursor, "\xe2\x82") || starts(cursor, "\xe2\x83");
    if (!block || cursor->end - cursor->p < 3)
        return 0;
    unsigned char second = (unsigned char)cursor->p[1], third = (unsigned char)cursor->p[2];
    return (second == 0x82 && third >= 0xa0) || (second == 0x83 && third <= 0x8f) ? 3 : 0;
}

/* Is this one of the codes and abbreviations of currencies that stand before an amount? */
static bool is_currency_code(const char *text, size_t bytes) {
    static const char codes[] = " USD EUR GBP JPY CNY CHF AUD CAD NZD INR BRL RUB KRW MXN SEK NOK DKK PLN CZK HUF RON "
                                "BGN TRY ZAR SGD HKD TWD THB IDR MYR PHP VND ILS AED SAR EGP NGN KES ARS CLP COP PEN "
                                "UAH PKR BDT LKR ISK RMB Rs Rs. kr kr. Fr Fr. ";
    char word[8];
    if (bytes < 2 || bytes > 4)
        return false;
    word[0] = ' ';
    memcpy(word + 1, text, bytes);
    word[bytes + 1] = ' ';
    word[bytes + 2] = '\0';
    return strstr(codes, word) != NULL;
}

/* Takes a currency before the number: $, US$, €, EUR or Rs. Returns its bytes. */
static unsigned take_currency(cursor *cursor) {
    unsigned bytes = currency_sign(cursor), letters = 0;
    while (cursor->p + letters < cursor->end &&
           (isalpha((unsigned char)cursor->p[letters]) || cursor->p[letters] == '.'))
        letters++;
    bool dollar = cursor->p + letters < cursor->end && cursor->p[letters] == '$';
    if (bytes == 0 && dollar && letters <= 3)
        bytes = letters + 1;
    else if (bytes == 0 && is_currency_code(cursor->p, letters))
        bytes = letters;
    cursor->p += bytes;
    return bytes;
}

/* Takes signs before the number. Returns false if there are two. */
static bool take_signs(cursor *cursor, bool *given, bool *negative) {
    bool minus = take(cursor, "-") || take(cursor, "\xe2\x88\x92"), sign = minus || take(cursor, "+");
    if (sign && *given)
        return false;
    *given |= sign;
    *negative |= minus;
    skip_blanks(cursor);
    return true;
}

static bool take_bound(cursor *cursor) {
    static const char *const bounds[] = {"<=", ">=", "<", ">", "\xe2\x89\xa4", "\xe2\x89\xa5"};
    for (unsigned i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (take(cursor, bounds[i])) {
            skip_blanks(cursor);
            return true;
        }
    return false;
}

/* Can the character at `p` stand in a unit? Digits are powers, as in m2 and cm3. */
static bool fits_unit(const char *first, const char *p, const char *stop) {
    if (is_letter(*p) || *p == '%' || *p == '$')
        return true;
    if (p == first)
        return *p == '"' && stop == p + 1;
    if (*p == '2' || *p == '3')
        return is_letter(p[-1]) && (p + 1 == stop || !isalnum((unsigned char)p[1]));
    return *p == ' ' || *p == '/' || *p == '.' || *p == '-' || *p == '^' || *p == '*';
}

/* Takes the rest up to a bracket as a unit. Returns false if it is none. */
static bool take_unit(cursor *cursor, const char **unit, unsigned *bytes) {
    const char *first = cursor->p, *stop = first;
    unsigned words = 1;
    while (stop < cursor->end && *stop != ')')
        stop++;
    cursor->p = stop;
    while (stop > first && (stop[-1] == ' ' || stop[-1] == '.'))
        stop--;
    for (const char *p = first; p < stop; p++) {
        words += *p == ' ';
        if (!fits_unit(first, p, stop))
            return false;
    }
    *unit = first;
    *bytes = (unsigned)(stop - first < PL_UNIT_BYTES ? stop - first : PL_UNIT_BYTES);
    return words <= MOST_WORDS && (stop == first || stop[-1] != '-');
}

/* Is the unit a half of the day? The number is then a time (dates.h). */
static bool is_half_day(const char *unit, unsigned bytes) {
    static const char *const halves[] = {"am", "pm", "a.m", "p.m"};
    for (unsigned i = 0; i < sizeof halves / sizeof *halves; i++)
        if (strlen(halves[i]) == bytes && strncasecmp(unit, halves[i], bytes) == 0)
            return true;
    return false;
}

/* Spellings of the same unit. */
static const struct {
    const char *from, *to;
} spellings[] = {{"usd", "$"},
                 {"us$", "$"},
                 {"eur", "\xe2\x82\xac"},
                 {"euro", "\xe2\x82\xac"},
                 {"gbp", "\xc2\xa3"},
                 {"pct", "%"},
                 {"percent", "%"},
                 {"KG", "kg"},
                 {"Kg", "kg"},
                 {"KM", "km"},
                 {"Km", "km"},
                 {"CM", "cm"},
                 {"Cm", "cm"},
                 {"LB", "lb"},
                 {"Lb", "lb"},
                 {"lbs", "lb"},
                 {"OZ", "oz"},
                 {"Oz", "oz"}};

/* Appends a unit in one spelling: words of three and more letters in lower case and without a plural s. */
static bool append(char *unit, const char *text, unsigned bytes) {
    char word[PL_UNIT_BYTES + 1];
    size_t used = strlen(unit);
    while (bytes > 0 && text[bytes - 1] == '.')
        bytes--;
    bool letters = bytes >= 3;
    if (bytes >= PL_UNIT_BYTES)
        return false;
    for (unsigned i = 0; i < bytes; i++)
        letters &= (unsigned char)text[i] < 0x80;
    for (unsigned i = 0; i < bytes; i++)
        word[i] = letters ? (char)tolower((unsigned char)text[i]) : text[i];
    bool plural = letters && bytes > 3 && word[bytes - 1] == 's' && word[bytes - 2] != 's';
    word[bytes - plural] = '\0';
    const char *spelling = word;
    for (unsigned i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcmp(word, spellings[i].from) == 0)
            spelling = spellings[i].to;
    size_t length = strlen(spelling);
    if (used + length + 2 > PL_UNIT_BYTES)
        return false;
    if (used > 0 && length > 0)
        unit[used++] = ' ';
    memcpy(unit + used, spelling, length + 1);
    return true;
}

/* Can an amount begin so? Rejects most words at their first bytes. */
static bool may_begin(const char *text, uint64_t bytes) {
    if (bytes == 0 || !isalpha((unsigned char)*text))
        return bytes > 0 &&
               ((*text >= '0' && *text <= '9') || (unsigned char)*text >= 0x80 || strchr("+-.(<>$ \t", *text) != NULL);
    cursor cursor = {text, text + bytes};
    return take_currency(&cursor) > 0;
}

bool pl_amount_read(const char *text, uint64_t bytes, pl_decimals decimals, pl_amount *amount) {
    if (!may_begin(text, bytes))
        return false;
    cursor cursor = {text, text + bytes};
    copying copying = {amount->copy + 1, amount->copy + PL_AMOUNT_BYTES - 1};
    const char *prefix, *unit = text;
    unsigned prefix_bytes, unit_bytes = 0;
    bool given = false, negative = false;
    skip_blanks(&cursor);
    amount->bound = take_bound(&cursor);
    bool bracket = take(&cursor, "(");
    if (!take_signs(&cursor, &given, &negative))
        return false;
    prefix = cursor.p;
    prefix_bytes = take_currency(&cursor);
    skip_blanks(&cursor);
    bracket = bracket || (prefix_bytes > 0 && take(&cursor, "("));
    if (!take_signs(&cursor, &given, &negative) || !copy_number(&cursor, decimals, &copying) || (bracket && given))
        return false;
    if (!bracket && take(&cursor, "+")) {
        if (amount->bound)
            return false;
        amount->bound = true;
    } else if (!given && !bracket && cursor.end - cursor.p == 1 && take(&cursor, "-"))
        negative = true;
    skip_blanks(&cursor);
    if (!take_unit(&cursor, &unit, &unit_bytes) || bracket != take(&cursor, ")") || is_half_day(unit, unit_bytes))
        return false;
    skip_blanks(&cursor);
    if (unit_bytes == 0 && bracket && !take_unit(&cursor, &unit, &unit_bytes))
        return false;
    amount->unit[0] = '\0';
    if (cursor.p != cursor.end || !append(amount->unit, prefix, prefix_bytes) ||
        !append(amount->unit, unit, unit_bytes))
        return false;
    *copying.to = '\0';
    amount->copy[0] = negative || bracket ? '-' : '+';
    return pl_numeral_scan(amount->copy, &amount->numeral) && amount->numeral.end == copying.to;
}

bool pl_amount_known(const char *unit) {
    static const char known[] = " kr Rs kg g mg lb oz km cm mm mi ft in h min s ms kW W kWh hp mph km/h cc ml l L "
                                "GB MB KB TB Hz mhz ghz year month week day hour minute second sq ft sqft ";
    const cursor cursor = {unit, unit + strlen(unit)};
    char word[PL_UNIT_BYTES + 2];
    if (!*unit || strlen(unit) >= PL_UNIT_BYTES)
        return false;
    if (strchr(unit, '$') || currency_sign(&cursor) > 0 || (unsigned char)*unit >= 0x80)
        return true;
    size_t length = strlen(unit);
    word[0] = ' ';
    memcpy(word + 1, unit, length);
    memcpy(word + length + 1, " ", 2);
    if (strstr(known, word))
        return true;
    for (size_t i = 0; i < length; i++)
        word[i] = (char)toupper((unsigned char)unit[i]);
    return is_currency_code(word, length);
}

/* Is the word a factor? Those of one or two letters differ by their case, as m and M do. */
static bool is_factor(const char *word, size_t bytes) {
    static const char *const factors[] = {"%",   "\xe2\x80\xb0", "k",          "K",       "m",        "M",    "b",
                                          "B",   "bn",           "Bn",         "BN",      "mn",       "Mn",   "MM",
                                          "mio", "mrd",          "mill",       "cr",      "Cr",       "T",    "tsd",
                                          "mld", "thousand",     "million",    "billion", "trillion", "lakh", "crore",
                                          "lac", "millionen",    "milliarden", "mln",     "mil"};
    while (bytes > 0 && word[bytes - 1] == '.')
        bytes--;
    for (unsigned i = 0; i < sizeof factors / sizeof *factors; i++)
        if (strlen(factors[i]) == bytes &&
            (bytes < 3 ? memcmp(word, factors[i], bytes) : strncasecmp(word, factors[i], bytes)) == 0)
            return true;
    return false;
}

/* Is the text all of a currency? */
static bool is_currency(const char *text, size_t bytes) {
    char code[4];
    const cursor cursor = {text, text + bytes};
    if (bytes == 0 || (bytes == 1 && *text == '$') || currency_sign(&cursor) == bytes)
        return bytes > 0;
    for (size_t i = 0; i < bytes && bytes == 3; i++)
        code[i] = (char)toupper((unsigned char)text[i]);
    return bytes == 3 ? is_currency_code(code, bytes) : bytes == 2 && is_currency_code(text, bytes);
}

/* Is the word a factor that is joined to a currency, such as k$, €M or keur? There t is a thousand and mm a million. */
static bool is_factor_of_currency(const char *word, size_t bytes) {
    static const char *const only_here[] = {"t", "mm"};
    for (size_t at = 1; at < bytes; at++) {
        bool behind = is_currency(word + at, bytes - at), before = is_currency(word, at);
        const char *factor = before ? word + at : word;
        size_t length = before ? bytes - at : at;
        if ((before || behind) && is_factor(factor, length))
            return true;
        for (unsigned i = 0; i < 2 && (before || behind); i++)
            if (strlen(only_here[i]) == length && memcmp(factor, only_here[i], length) == 0)
                return true;
    }
    return false;
}

bool pl_amount_strict(const char *unit) {
    for (const char *word = unit; *word;) {
        size_t bytes = strcspn(word, " ");
        if (is_factor(word, bytes) || is_factor_of_currency(word, bytes))
            return true;
        word += bytes + strspn(word + bytes, " ");
    }
    return false;
}

bool pl_looks_missing(const char *text, uint64_t bytes) {
    static const char *const words[] = {"-",
                                        "--",
                                        "---",
                                        ".",
                                        "..",
                                        "...",
                                        "*",
                                        "missing",
                                        "nil",
                                        "empty",
                                        "blank",
                                        "(blank)",
                                        "(missing)",
                                        "(empty)",
                                        "undefined",
                                        "unspecified",
                                        "undisclosed",
                                        "unavailable",
                                        "not available",
                                        "not applicable",
                                        "not known",
                                        "not reported",
                                        "not recorded",
                                        "not specified",
                                        "no data",
                                        "nodata",
                                        "no value",
                                        "n.a.",
                                        "n.a",
                                        "n.d.",
                                        "nd",
                                        "n/d",
                                        "na.",
                                        "#n/a",
                                        "#n/a n/a",
                                        "#na",
                                        "#null!",
                                        "#value!",
                                        "#ref!",
                                        "#div/0!",
                                        "#num!",
                                        "#name?",
                                        "<na>",
                                        "nat",
                                        "tbd",
                                        "tba",
                                        "tbc",
                                        "\\n",
                                        "-nan",
                                        "??",
                                        "???",
                                        "\xe2\x80\x93",
                                        "\xe2\x80\x94",
                                        "\xe2\x88\x92"};
    if (bytes == 0)
        return true;
    char first = (char)tolower((unsigned char)*text);
    for (unsigned i = 0; i < sizeof words / sizeof *words && bytes <= LONGEST_MISSING; i++)
        if (words[i][0] == first && strlen(words[i]) == bytes && strncasecmp(words[i], text, (size_t)bytes) == 0)
            return true;
    return false;
}
