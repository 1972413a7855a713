/* dense_body.h: the conversion of dense.c to values of type CELL, with names by BODY. GIVEN are the caller's values of
 * that type, OWN is where values go, or NULL if the caller's are used, and SCAN looks for values that are not finite.
 * Included once for each type. */

/* Some rows and columns of the table. Row i begins at cells + i x columns. */
typedef struct BODY(tile) {
    uint64_t row, rows, column, columns;
    const CELL *cells; /* points to the caller's memory if the layout allows it */
    CELL own[TILE];
} BODY(tile);

/* Copies `count` cells, `stride` apart from `from` on, to to[0], to[to_stride], ... Returns whether floats would lose
 * digits of a double. */
static bool BODY(load_line)(const dense *dense, int64_t from, int64_t stride, uint64_t count, CELL *to,
                            uint64_t to_stride) {
    const float *narrow = dense->narrow ? dense->narrow + from : NULL;
    const double *wide = dense->wide ? dense->wide + from : NULL;
    uint32_t lost = 0;
    if (wide && stride == 1 && to_stride == 1)
        for (uint64_t k = 0; k < count; k++) {
            to[k] = (CELL)wide[k];
            lost |= (double)to[k] != wide[k];
        }
    else if (narrow)
        for (uint64_t k = 0; k < count; k++)
            to[k * to_stride] = (CELL)narrow[(int64_t)k * stride];
    else
        for (uint64_t k = 0; k < count; k++) {
            to[k * to_stride] = (CELL)wide[(int64_t)k * stride];
            lost |= (double)to[k * to_stride] != wide[(int64_t)k * stride];
        }
    return lost;
}

/* Loads the tile that begins at (row, column) and ends before row `end`. */
static void BODY(load)(dense *dense, uint64_t row, uint64_t end, uint64_t column, BODY(tile) * tile) {
    bool turned = by_columns(dense), lost = false;
    uint64_t most = turned ? TILE / TURNED_ROWS : TILE, rows = turned ? TURNED_ROWS : 1;
    tile->row = row;
    tile->column = column;
    tile->rows = end - row < rows ? end - row : rows;
    tile->columns = dense->columns - column < most ? dense->columns - column : most;
    int64_t from = (int64_t)row * dense->row_stride + (int64_t)column * dense->column_stride;
    tile->cells = tile->own;
    if (!turned && GIVEN && dense->column_stride == 1)
        tile->cells = GIVEN + from;
    else if (!turned)
        lost = BODY(load_line)(dense, from, dense->column_stride, tile->columns, tile->own, 1);
    for (uint64_t j = 0; turned && j < tile->columns; j++)
        lost |= BODY(load_line)(dense, from + (int64_t)j * dense->column_stride, dense->row_stride, tile->rows,
                                tile->own + j, tile->columns);
    if (lost)
        dense->lost = true;
}

static uint32_t BODY(count_line)(const CELL *line, uint64_t count) {
    uint32_t found = 0;
    for (uint64_t k = 0; k < count; k++)
        found += line[k] != 0;
    return found;
}

static void BODY(count_tile)(dense *dense, const BODY(tile) * tile) {
    for (uint64_t i = 0; i < tile->rows; i++)
        dense->start[tile->row + i + 1] += BODY(count_line)(tile->cells + i * tile->columns, tile->columns);
    if (!SCAN(tile->cells, tile->rows * tile->columns))
        dense->wrong = true;
}

/* Appends the cells of a row that are not 0. Every cell is stored, but the position advances only if the cell is not 0.
 */
static void BODY(put_line)(const dense *dense, const CELL *line, uint64_t count, uint64_t column, uint64_t *at) {
    uint32_t index[TILE], found = 0;
    CELL value[TILE];
    for (uint64_t k = 0; k < count; k++) {
        index[found] = (uint32_t)(column + k);
        value[found] = line[k];
        found += line[k] != 0;
    }
    memcpy(dense->index + *at, index, found * sizeof *index);
    if (OWN)
        memcpy(OWN + *at, value, found * sizeof *value);
    *at += found;
}

/* The same for a row without zeros. */
static void BODY(put_full_line)(const dense *dense, const CELL *line, uint64_t count, uint64_t column, uint64_t *at) {
    uint32_t *index = dense->index + *at;
    for (uint64_t k = 0; k < count; k++)
        index[k] = (uint32_t)(column + k);
    if (OWN)
        memcpy(OWN + *at, line, count * sizeof *line);
    *at += count;
}

static void BODY(put_tile)(const dense *dense, const BODY(tile) * tile, uint64_t *at) {
    for (uint64_t i = 0; i < tile->rows; i++) {
        const CELL *line = tile->cells + i * tile->columns;
        if (BODY(count_line)(line, tile->columns) == tile->columns)
            BODY(put_full_line)(dense, line, tile->columns, tile->column, &at[i]);
        else
            BODY(put_line)(dense, line, tile->columns, tile->column, &at[i]);
    }
}

/* Writes a tile without zeros. Returns false if it has one. */
static bool BODY(put_full_tile)(dense *dense, const BODY(tile) * tile) {
    uint64_t cells = tile->rows * tile->columns;
    if (!SCAN(tile->cells, cells))
        dense->wrong = true;
    if (BODY(count_line)(tile->cells, cells) < cells)
        return false;
    for (uint64_t i = 0; i < tile->rows; i++) {
        uint64_t at = (tile->row + i) * dense->columns + tile->column;
        BODY(put_full_line)(dense, tile->cells + i * tile->columns, tile->columns, tile->column, &at);
    }
    return true;
}

static void BODY(full_task)(void *context, unsigned task) {
    dense *dense = context;
    uint64_t begin = task * dense->block;
    uint64_t end = begin + dense->block < dense->rows ? begin + dense->block : dense->rows;
    BODY(tile) tile = {.rows = 0};
    for (uint64_t row = begin; row < end && !dense->gaps && !dense->lost; row += tile.rows)
        for (uint64_t column = 0; column < dense->columns; column += tile.columns) {
            BODY(load)(dense, row, end, column, &tile);
            if (!BODY(put_full_tile)(dense, &tile))
                dense->gaps = true;
        }
}

/* Goes through the tiles of a block. If `fill` is false, only counts. */
static void BODY(walk)(dense *dense, unsigned task, bool fill) {
    uint64_t begin = task * dense->block, at[BLOCK_ROWS];
    uint64_t end = begin + dense->block < dense->rows ? begin + dense->block : dense->rows;
    for (uint64_t i = begin; i < end && fill; i++)
        at[i - begin] = dense->start[i];
    BODY(tile) tile = {.rows = 0};
    for (uint64_t row = begin; row < end && !dense->lost; row += tile.rows)
        for (uint64_t column = 0; column < dense->columns; column += tile.columns) {
            BODY(load)(dense, row, end, column, &tile);
            if (fill)
                BODY(put_tile)(dense, &tile, at + (row - begin));
            else
                BODY(count_tile)(dense, &tile);
        }
}

static void BODY(count_task)(void *context, unsigned task) { BODY(walk)(context, task, false); }
static void BODY(fill_task)(void *context, unsigned task) { BODY(walk)(context, task, true); }

#undef CELL
#undef BODY
#undef GIVEN
#undef OWN
#undef SCAN
