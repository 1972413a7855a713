#!/usr/bin/env python3
"""Writes src/data/unicode_tables.h: which characters belong to words, and their lower case, by Python's unicodedata."""

import pathlib
import sys
import unicodedata

PATH = pathlib.Path(__file__).resolve().parent.parent / "src" / "data" / "unicode_tables.h"
POINTS = range(0x80, sys.maxunicode + 1)


def word_ranges():
    """Ranges of letters, marks and numbers."""
    ranges = []
    for point in POINTS:
        if unicodedata.category(chr(point))[0] in "LMN":
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    return ranges


def lower_runs():
    """Runs of characters with the same distance to their lower case, every one or every other."""
    runs = []
    for point in POINTS:
        lower = chr(point).lower()
        if len(lower) != 1 or ord(lower) == point:
            continue
        distance = ord(lower) - point
        if runs and runs[-1][2] == distance and point - runs[-1][1] in (1, 2):
            step = point - runs[-1][1]
            if runs[-1][3] in (0, step):
                runs[-1][1], runs[-1][3] = point, step
                continue
        runs.append([point, point, distance, 0])
    return runs


def lines(rows):
    text, line = [], "   "
    for row in rows:
        cell = " {" + ", ".join(str(value) for value in row) + "},"
        if len(line) + len(cell) > 118:
            text.append(line)
            line = "   "
        line += cell
    return "\n".join([*text, line])


words = [(hex(first), hex(last)) for first, last in word_ranges()]
lower = [(hex(first), hex(last), distance, max(step, 1)) for first, last, distance, step in lower_runs()]
PATH.write_text(
    f"/* unicode_tables.h: characters above U+007F, by Unicode {unicodedata.unidata_version}. Made by\n"
    " * tools/unicode_tables.py. */\n"
    "#ifndef PL_UNICODE_TABLES_H\n#define PL_UNICODE_TABLES_H\n\n#include <stdint.h>\n\n"
    "/* Letters, marks and numbers: first and last. */\n"
    "/* clang-format off */\n"
    f"static const uint32_t pl_word_ranges[][2] = {{\n{lines(words)}\n}};\n\n"
    "/* Capital letters: first and last, the distance to the lower case, and the step from one to the next. */\n"
    f"static const int32_t pl_lower_runs[][4] = {{\n{lines(lower)}\n}};\n"
    "/* clang-format on */\n\n#endif\n"
)
