/* csv_text.c: the encoding of fields. Names and categories are stored as UTF-8. */
#include <string.h>

#include "data/csv/csv.h"

bool pl_csv_is_utf8(const char *text, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes;) {
        unsigned char c = (unsigned char)text[i++], next = i < bytes ? (unsigned char)text[i] : 0;
        unsigned more = c < 0x80 ? 0 : c < 0xc2 ? 4 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 4;
        bool overlong = (c == 0xe0 && next < 0xa0) || (c == 0xf0 && next < 0x90);
        if (more > 3 || overlong || (c == 0xed && next >= 0xa0) || (c == 0xf4 && next >= 0x90))
            return false; /* surrogates and what is beyond Unicode */
        for (; more > 0; more--, i++)
            if (i >= bytes || ((unsigned char)text[i] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

bool pl_csv_from_latin1(pl_block *block, pl_field *field) {
    pl_csv_scratch *scratch = &((pl_csv *)block->state)->scratch[block->number];
    bool inside = field->text == scratch->text; /* the text has been unquoted */
    if (!pl_csv_room(block, 3 * field->bytes))
        return false;
    const char *from = inside ? scratch->text : field->text;
    char *text = scratch->text + (inside ? field->bytes : 0), *to = text;
    for (uint64_t i = 0; i < field->bytes; i++) {
        unsigned char c = (unsigned char)from[i];
        if (c >= 0x80)
            *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
    }
    field->text = text;
    field->bytes = (uint64_t)(to - text);
    return true;
}
