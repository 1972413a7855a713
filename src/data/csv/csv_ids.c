/* csv_ids.c: keeps the text of one column, so that predictions can be printed next to it. Blocks keep the texts of
 * their own rows; after each window they are appended to those of the parser in the order of rows. */
#include <string.h>

#include "data/csv/csv.h"

/* Grows a span at least twofold, so that texts are seldom moved. */
static bool reserve(pl_span *span, uint64_t bytes) {
    return bytes <= span->bytes || pl_span_reserve(span, bytes > 2 * span->bytes ? bytes : 2 * span->bytes);
}

bool pl_csv_id_keep(pl_block *block, const pl_field *field) {
    pl_csv_scratch *scratch = &((pl_csv *)block->state)->scratch[block->number];
    const uint64_t *before = scratch->id_end.data;
    uint64_t begin = block->rows > 0 ? before[block->rows - 1] : 0, end = begin + field->bytes;
    if (!reserve(&scratch->id_end, (block->rows + 1) * sizeof *before) || !reserve(&scratch->id_text, end + 1))
        return pl_csv_no_memory(block);
    memcpy((char *)scratch->id_text.data + begin, field->text, field->bytes);
    ((uint64_t *)scratch->id_end.data)[block->rows] = end;
    return true;
}

parley_status pl_csv_merge_ids(pl_csv *csv, pl_parser *parser, const pl_block *block, parley_error *error) {
    const pl_csv_scratch *scratch = &csv->scratch[block->number];
    const uint64_t *end = scratch->id_end.data;
    unsigned column = 0;
    while (column < csv->count && !csv->columns[column].identifies)
        column++;
    if (column == csv->count)
        return PARLEY_OK;
    uint64_t rows = parser->rows, bytes = block->rows > 0 ? end[block->rows - 1] : 0;
    uint64_t used = rows > 0 ? ((uint64_t *)csv->id_start.data)[rows] : 0;
    if (!reserve(&csv->id_start, (rows + block->rows + 1) * sizeof used) || !reserve(&csv->id_text, used + bytes + 1))
        return pl_fail_memory(error, "the identifying column", used + bytes);
    uint64_t *start = csv->id_start.data;
    start[rows] = used;
    for (uint64_t i = 0; i < block->rows; i++)
        start[rows + i + 1] = used + end[i];
    if (bytes > 0)
        memcpy((char *)csv->id_text.data + used, scratch->id_text.data, bytes);
    parser->ids = (pl_names){rows + block->rows, start, csv->id_text.data, NULL};
    parser->id_name = csv->columns[column].name;
    return PARLEY_OK;
}
