/* cut.c: where text may be split into lines or records. Newlines between quotes do not end a row, and quotes in a
 * comment line mean nothing, so what a byte means depends on the text before it. */
#include "data/cut.h"

#include <string.h>

static bool odd_quotes(const char *p, const char *end) {
    unsigned odd = 0;
    for (; p < end; p++)
        odd ^= *p == '"';
    return odd;
}

/* Follows text with comments from one place to another. */
static pl_spot walk_commented(char comment, pl_spot spot, const char *p, const char *end) {
    while (p < end) {
        if (spot == PL_AT_LINE) {
            spot = *p == comment ? PL_IN_COMMENT : PL_IN_LINE;
            continue;
        }
        const char *newline = spot == PL_IN_QUOTES ? NULL : memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end, *quote = NULL;
        if (spot != PL_IN_COMMENT)
            quote = memchr(p, '"', (size_t)(stop - p));
        if (quote)
            spot = spot == PL_IN_QUOTES ? PL_IN_LINE : PL_IN_QUOTES;
        else if (newline)
            spot = PL_AT_LINE;
        p = quote ? quote + 1 : newline ? newline + 1 : end;
    }
    return spot;
}

pl_spot pl_cut_walk(pl_cut cut, pl_spot spot, const char *p, const char *end) {
    if (p == end)
        return spot;
    if (cut.comment)
        return walk_commented(cut.comment, spot, p, end);
    bool quoted = (spot == PL_IN_QUOTES) ^ odd_quotes(p, end);
    return quoted ? PL_IN_QUOTES : end[-1] == '\n' ? PL_AT_LINE : PL_IN_LINE;
}

/* The first word of the line at `p`, without leading zeros; `*whole` says whether it ends before `end`. */
static uint64_t key_of(const char **p, const char *end, bool *whole) {
    while (*p < end && (**p == ' ' || **p == '\t'))
        ++*p;
    while (*p + 1 < end && **p == '0' && (*p)[1] >= '0' && (*p)[1] <= '9')
        ++*p;
    const char *stop = *p;
    while (stop < end && *stop != ' ' && *stop != '\t' && *stop != '\r' && *stop != '\n')
        stop++;
    *whole = stop < end;
    return (uint64_t)(stop - *p);
}

bool pl_cut_turns(const char *text, const char *p, const char *end) {
    const char *before = p - 1, *next = p;
    bool whole, ignored;
    while (before > text && before[-1] != '\n')
        before--;
    uint64_t bytes = key_of(&next, end, &whole), last = key_of(&before, p, &ignored);
    return whole && bytes > 0 && last > 0 && (bytes != last || memcmp(before, next, (size_t)bytes) != 0);
}

const char *pl_cut_line(pl_cut cut, pl_spot spot, const char *p, const char *end) {
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline)
            return NULL;
        spot = pl_cut_walk(cut, spot, p, newline + 1);
        if (spot == PL_AT_LINE)
            return newline + 1;
        p = newline + 1;
    }
    return NULL;
}

const char *pl_cut_after(pl_cut cut, const char *text, const char *from, const char *end) {
    if (cut.record > 0) {
        uint64_t records = ((uint64_t)(from - text) + cut.record - 1) / cut.record;
        return (uint64_t)(end - text) / cut.record >= records ? text + records * cut.record : NULL;
    }
    if (cut.quotes)
        return pl_cut_line(cut, pl_cut_walk(cut, PL_AT_LINE, text, from), from, end);
    for (const char *p = from; p < end; p++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline || !cut.keyed || pl_cut_turns(text, newline + 1, end))
            return newline ? newline + 1 : NULL;
        p = newline;
    }
    return NULL;
}

/* The same as pl_cut_whole for text with comments, which can only be followed forwards. */
static uint64_t whole_commented(pl_cut cut, const char *text, uint64_t from, uint64_t bytes, pl_spot *spot) {
    uint64_t whole = 0;
    const char *p = text + from, *next;
    while ((next = pl_cut_line(cut, *spot, p, text + bytes))) {
        whole = (uint64_t)(next - text);
        *spot = PL_AT_LINE;
        p = next;
    }
    *spot = pl_cut_walk(cut, *spot, p, text + bytes);
    return whole;
}

uint64_t pl_cut_whole(pl_cut cut, const char *text, uint64_t from, uint64_t bytes, pl_spot *spot) {
    if (cut.record > 0)
        return bytes - bytes % cut.record;
    for (const char *p = text + bytes; cut.keyed && p > text; p--)
        if (p[-1] == '\n' && pl_cut_turns(text, p, text + bytes))
            return (uint64_t)(p - text);
    if (cut.keyed)
        return 0;
    if (cut.comment)
        return whole_commented(cut, text, from, bytes, spot);
    if (cut.quotes)
        *spot = pl_cut_walk(cut, *spot, text + from, text + bytes);
    for (bool within = *spot == PL_IN_QUOTES; bytes > from; bytes--) {
        if (text[bytes - 1] == '\n' && !within)
            return bytes;
        within ^= cut.quotes && text[bytes - 1] == '"';
    }
    return 0;
}
