/* parallel_read_text.c: reads text on several ranks. Of an uncompressed file, each rank reads the lines that begin in
 * its share of the bytes. A compressed file can only be read from its beginning: rank f mod R reads file f, and if
 * there are fewer such files than ranks, it sends blocks of lines to all ranks in turn. Every share and block is a
 * chunk. The order of the chunks gives the order of rows over all ranks, and lets a rank that knows only the line
 * within its chunk report the line within the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/available_memory.h"
#include "base/stop.h"
#include "data/format.h"
#include "data/parser.h"
#include "data/read.h"
#include "engine/agree.h"
#include "engine/neighbours.h"
#include "shard/distributed.h"
#include "shard/parallel_read.h"
#include "shard/rank_precision.h"

#define BLOCK_BYTES ((uint64_t)4 << 20) /* in a block, which also ends at a line end */
#define AHEAD 2                         /* blocks that a rank may have in flight */

/* Consecutive lines of one input that one rank parsed. */
typedef struct chunk {
    double input, number; /* the number orders the chunks of an input */
    double rows, lines;
    double failed; /* an error in line `lines` */
} chunk;
#define CHUNK_VALUES (sizeof(chunk) / sizeof(double))

/* This rank's share of an uncompressed file: the lines that begin in [begin, end). */
typedef struct share {
    uint64_t begin, end; /* both 0: no share */
    pl_spot spots[2];    /* what `begin` and `end` are, if the format has quotes */
} share;

typedef struct parsing {
    pl_engine *engine;
    const pl_inputs *inputs;
    pl_parser parser;
    pl_cut first_cut; /* of the first input, which defines the columns */
    uint64_t first_lines;
    chunk *chunks;
    uint64_t count, room;
    parley_status status; /* of the first failure on this rank; another rank may fail on an earlier line */
    parley_error error;
    bool unjudged; /* as in pl_reading */
    bool stopped;  /* this rank ignores all further text */
    bool faulty;   /* a line was invalid */
    char fault[sizeof((parley_error *)0)->sentence];
    uint64_t wanted, done; /* bytes that this rank will read (0 if unknown) and has read */
} parsing;

static void stop(parsing *self, parley_status status) {
    self->status = status;
    self->stopped = true;
}

/* Returns the last chunk if it is this one, else adds a chunk. */
static chunk *chunk_of(parsing *self, unsigned input, uint64_t number) {
    chunk *last = self->count ? &self->chunks[self->count - 1] : NULL;
    if (last && last->input == input && last->number == (double)number)
        return last;
    if (self->count == self->room) {
        uint64_t room = self->room * 2 + 16;
        chunk *chunks = pl_realloc(self->chunks, room, sizeof *chunks);
        if (!chunks) {
            stop(self, pl_fail_memory(&self->error, "reading", room * sizeof *chunks));
            return NULL;
        }
        self->chunks = chunks;
        self->room = room;
    }
    self->chunks[self->count] = (chunk){.input = input, .number = (double)number};
    return &self->chunks[self->count++];
}

/* Adds the chunk with the first rows of its input, which follow `lines` lines. */
static void begin_chunk(parsing *self, unsigned input, uint64_t number, uint64_t lines) {
    chunk *chunk = chunk_of(self, input, number);
    if (chunk)
        chunk->lines = (double)lines;
}

/* Estimates the final number of rows and entries from the part read so far. */
static void expect(parsing *self, uint64_t bytes) {
    self->done += bytes;
    if (self->wanted > self->done) {
        double times = (double)self->wanted / (double)self->done * 1.02;
        self->parser.expected_rows = (uint64_t)((double)self->parser.rows * times) + 1;
        self->parser.expected_entries = (uint64_t)((double)self->parser.entries * times) + 1;
    }
}

/* Fails if the ranks of this machine will not have room for their shares. */
static parley_status check_room(parsing *self, bool first) {
    const pl_parser *parser = &self->parser;
    uint64_t bytes = parser->expected_rows * 16 + parser->expected_entries * pl_parser_entry_bytes(parser);
    return first ? pl_memory_check(bytes * pl_ranks_of_machine(self->engine), self->inputs->title, PL_LESS_DATA,
                                   &self->error)
                 : PARLEY_OK;
}

/* Keeps the error message without the line number, which is not known yet. */
static void keep_message(parsing *self) {
    parley_error numbered;
    const pl_fault *fault = &self->parser.fault;
    self->faulty = fault->format || fault->memory;
    if (!self->faulty)
        return;
    pl_fault_fail(fault, "", 0, &numbered);
    snprintf(self->fault, sizeof self->fault, "%s", numbered.sentence + strlen(":0: "));
}

/* Parses lines of an input. An error is kept until all ranks are done. */
static void parse(parsing *self, unsigned input, uint64_t number, const char *text, uint64_t bytes) {
    chunk *chunk = self->stopped ? NULL : chunk_of(self, input, number);
    if (!chunk)
        return;
    uint64_t rows = self->parser.rows;
    self->parser.lines = (uint64_t)chunk->lines;
    parley_status status = pl_parser_add(&self->parser, self->inputs->list[input].path, text, bytes, &self->error);
    chunk->rows += (double)(self->parser.rows - rows);
    chunk->lines = (double)self->parser.lines;
    bool first = self->done == 0;
    if (status == PARLEY_OK) {
        expect(self, bytes);
        status = check_room(self, first);
    }
    chunk->failed = status != PARLEY_OK;
    if (status != PARLEY_OK) {
        keep_message(self);
        stop(self, status);
    }
}

/* Records that an input could not be opened or read. */
static void fail_chunk(parsing *self, unsigned input, uint64_t number, parley_status status) {
    chunk *chunk = self->stopped ? NULL : chunk_of(self, input, number);
    if (chunk)
        chunk->failed = 1;
    if (!self->stopped)
        stop(self, status);
}

/* Parses everything that an open source holds. */
static void parse_source(parsing *self, unsigned input, uint64_t number, pl_source *source) {
    const char *text;
    uint64_t bytes = 1;
    while (bytes > 0 && !self->stopped) {
        parley_status status =
            pl_stop_asked() ? pl_fail_stopped(&self->error) : pl_source_next(source, &text, &bytes, &self->error);
        if (status != PARLEY_OK)
            fail_chunk(self, input, number, status);
        else if (bytes > 0)
            parse(self, input, number, text, bytes);
        else
            chunk_of(self, input, number);
    }
}

/* Opens an input at its first row, which follows `*lines` lines. */
static parley_status open_input(parsing *self, unsigned input, uint64_t window_bytes, pl_source **source,
                                uint64_t *lines, parley_error *error) {
    pl_parser *parser = &self->parser;
    const char *text;
    uint64_t bytes;
    bool whole;
    parley_status status = pl_source_open(self->inputs->list[input].path, window_bytes, source, error);
    if (status != PARLEY_OK)
        return status;
    if (pl_source_size(*source) != self->inputs->list[input].bytes) /* by which the ranks have shared it */
        return pl_fail_changed(error, self->inputs->list[input].path);
    pl_source_share(*source, parser->pool);
    parser->source = *source;
    parser->lines = self->first_lines;
    parser->cut = self->first_cut;
    if (parser->format->next && input > 0) {
        parser->lines = 0;
        status = parser->format->next(parser, error);
    } else if (parser->cut.skip > 0)
        status = pl_source_head(*source, parser->cut.skip, &text, &bytes, &whole, error);
    pl_source_cut(*source, parser->cut);
    *lines = parser->lines;
    parser->source = NULL;
    return status;
}

/* Parses a share of an uncompressed file or, if `share` is NULL, a whole input. */
static void parse_input(parsing *self, unsigned input, const share *share, uint64_t number) {
    pl_source *source = NULL;
    uint64_t lines;
    if (self->stopped)
        return;
    parley_status status = open_input(self, input, self->parser.window_bytes, &source, &lines, &self->error);
    if (status == PARLEY_OK && share)
        status = pl_source_limit(source, share->begin, share->end, share->spots, &self->error);
    if (status != PARLEY_OK)
        fail_chunk(self, input, number, status);
    else {
        if (self->parser.cut.record > 0) /* such records are numbered by their position */
            self->parser.passed = (pl_source_used(source) - self->parser.cut.skip) / self->parser.cut.record;
        if (!share || share->begin == 0)
            begin_chunk(self, input, number, lines);
        parse_source(self, input, number, source);
    }
    pl_source_close(source);
}

/* Runs on the rank that reads the file: sends blocks of lines to the ranks in turn, then an empty block. */
static parley_status send_lines(parsing *self, unsigned input, parley_error *error) {
    pl_engine *engine = self->engine;
    const pl_engine_type *type = engine->type;
    pl_source *source = NULL;
    const char *text;
    uint64_t bytes = 1, number = 0, lines, *waiting;
    char ready;
    parley_status lost = pl_take(&waiting, engine->ranks, sizeof *waiting, "reading", error);
    parley_status status =
        lost == PARLEY_OK ? open_input(self, input, BLOCK_BYTES, &source, &lines, &self->error) : lost;
    if (status == PARLEY_OK && !self->stopped)
        begin_chunk(self, input, 0, lines);
    while (status == PARLEY_OK && lost == PARLEY_OK && !self->stopped) {
        unsigned to = (unsigned)((input + number) % engine->ranks);
        status = pl_source_next(source, &text, &bytes, &self->error);
        if (status != PARLEY_OK || bytes == 0)
            break;
        if (to == engine->rank)
            parse(self, input, number, text, bytes);
        else {
            if (waiting[to] == AHEAD)
                lost = type->take(engine, to, PL_CHANNEL_READY, &ready, 1, error);
            else
                waiting[to]++;
            if (lost == PARLEY_OK)
                lost = type->post(engine, to, PL_CHANNEL_TEXT, &bytes, sizeof bytes, error);
            if (lost == PARLEY_OK)
                lost = type->post(engine, to, PL_CHANNEL_TEXT, text, bytes, error);
        }
        number++;
    }
    if (status != PARLEY_OK)
        fail_chunk(self, input, number, status);
    pl_source_close(source);
    bytes = 0;
    for (unsigned r = 0; r < engine->ranks && lost == PARLEY_OK; r++) {
        for (; lost == PARLEY_OK && waiting[r] > 0; waiting[r]--)
            lost = type->take(engine, r, PL_CHANNEL_READY, &ready, 1, error);
        if (lost == PARLEY_OK && r != engine->rank)
            lost = type->post(engine, r, PL_CHANNEL_TEXT, &bytes, sizeof bytes, error);
    }
    pl_free(waiting);
    return lost;
}

static parley_status receive_lines(parsing *self, unsigned input, unsigned reader, parley_error *error) {
    pl_engine *engine = self->engine;
    unsigned ranks = engine->ranks;
    pl_span room = {0};
    uint64_t bytes = 1, number = (engine->rank + ranks - input % ranks) % ranks;
    parley_status status = PARLEY_OK;
    for (; status == PARLEY_OK; number += ranks) {
        status = engine->type->take(engine, reader, PL_CHANNEL_TEXT, &bytes, sizeof bytes, error);
        if (status != PARLEY_OK || bytes == 0)
            break;
        if (!pl_span_reserve(&room, bytes + PL_TEXT_MARGIN))
            status = pl_fail_memory(error, "a block of lines", bytes);
        if (status == PARLEY_OK)
            status = engine->type->take(engine, reader, PL_CHANNEL_TEXT, room.data, bytes, error);
        if (status != PARLEY_OK)
            break;
        memset((char *)room.data + bytes, 0, PL_TEXT_MARGIN);
        parse(self, input, number, room.data, bytes);
        status = engine->type->post(engine, reader, PL_CHANNEL_READY, "", 1, error);
    }
    pl_span_free(&room);
    return status;
}

/* Divides the bytes of all uncompressed files, taken as one text, among the ranks. */
static void share_bytes(const parsing *self, const bool *mapped, share *shares) {
    uint64_t total = 0, before = 0, bounds[2];
    unsigned rank = self->engine->rank, ranks = self->engine->ranks;
    for (unsigned i = 0; i < self->inputs->count; i++)
        total += mapped[i] ? self->inputs->list[i].bytes : 0;
    for (unsigned b = 0; b < 2; b++)
        bounds[b] = rank + b == ranks ? total : (uint64_t)((double)total * (double)(rank + b) / (double)ranks);
    for (unsigned i = 0; i < self->inputs->count; i++) {
        uint64_t bytes = mapped[i] ? self->inputs->list[i].bytes : 0, end = before + bytes;
        uint64_t from = bounds[0] > before ? bounds[0] : before, to = bounds[1] < end ? bounds[1] : end;
        shares[i].begin = from < to ? from - before : 0;
        shares[i].end = from < to ? to - before : 0;
        before = end;
    }
}

/* Finds what the end of this rank's share of an input is, for each spot that its beginning may be, as one number. */
static double walk_share(parsing *self, unsigned input, const share *share) {
    pl_source *source = NULL;
    pl_spot to[PL_SPOTS] = {PL_AT_LINE, PL_IN_LINE, PL_IN_QUOTES, PL_IN_COMMENT};
    uint64_t lines;
    double walked = 0;
    if (share->end > 0 && !self->stopped) {
        parley_status status = open_input(self, input, self->parser.window_bytes, &source, &lines, &self->error);
        uint64_t skip = self->parser.cut.skip, begin = share->begin > skip ? share->begin : skip;
        if (status == PARLEY_OK)
            status = pl_source_walk(source, begin, share->end, to, &self->error);
        if (status != PARLEY_OK)
            fail_chunk(self, input, self->engine->rank, status);
        pl_source_close(source);
    }
    for (unsigned i = PL_SPOTS; i-- > 0;)
        walked = walked * PL_SPOTS + (double)to[i];
    return walked;
}

static pl_spot walked_to(double walked, pl_spot from) {
    uint64_t all = (uint64_t)walked;
    for (unsigned i = 0; i < (unsigned)from; i++)
        all /= PL_SPOTS;
    return (pl_spot)(all % PL_SPOTS);
}

/* Finds out whether each share begins and ends between quotes or in a comment. Each rank looks at its own shares. */
static parley_status find_spots(parsing *self, share *shares, parley_error *error) {
    unsigned count = self->inputs->count, ranks = self->engine->ranks;
    double *walked, *all = NULL;
    uint64_t *bounds = NULL;
    parley_status status = pl_take(&walked, count, sizeof *walked, "inputs", error);
    if (status == PARLEY_OK)
        status = pl_take(&bounds, (uint64_t)ranks + 1, sizeof *bounds, "gathered lists", error);
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        walked[i] = walk_share(self, i, &shares[i]);
    if (status == PARLEY_OK)
        status = pl_gather_lists(self->engine, walked, count, &all, bounds, error);
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        for (unsigned r = 0; r <= self->engine->rank; r++) {
            shares[i].spots[0] = shares[i].spots[1];
            shares[i].spots[1] = walked_to(all[bounds[r] + i], shares[i].spots[1]);
        }
    pl_free(walked);
    pl_free(bounds);
    pl_free(all);
    return status;
}

static parley_status parse_all(parsing *self, const bool *mapped, parley_error *error) {
    const pl_inputs *inputs = self->inputs;
    unsigned rank = self->engine->rank, ranks = self->engine->ranks, streams = 0;
    share *shares;
    parley_status status = pl_take(&shares, inputs->count, sizeof *shares, "inputs", error);
    if (status != PARLEY_OK)
        return status;
    share_bytes(self, mapped, shares);
    if (self->parser.cut.quotes)
        status = find_spots(self, shares, error);
    for (unsigned i = 0; i < inputs->count; i++) {
        streams += !mapped[i] && inputs->list[i].bytes > 0;
        self->wanted += shares[i].end - shares[i].begin;
    }
    bool sends_blocks = streams < ranks;
    self->wanted = streams > 0 ? 0 : self->wanted; /* the amount of compressed text is not known */
    for (unsigned i = 0; i < inputs->count && status == PARLEY_OK; i++) {
        unsigned reader = i % ranks;
        if (shares[i].end > 0)
            parse_input(self, i, &shares[i], rank);
        else if (mapped[i] || inputs->list[i].bytes == 0)
            continue;
        else if (!sends_blocks && reader == rank)
            parse_input(self, i, NULL, 0);
        else if (sends_blocks)
            status = reader == rank ? send_lines(self, i, error) : receive_lines(self, i, reader, error);
    }
    pl_free(shares);
    return status;
}

/* A chunk and the rank that holds its rows. */
typedef struct ranked_chunk {
    chunk chunk;
    unsigned rank;
} ranked_chunk;

static int by_order(const void *a, const void *b) {
    const ranked_chunk *left = a, *right = b;
    double before = left->chunk.input - right->chunk.input, number = left->chunk.number - right->chunk.number;
    return before != 0 ? (before > 0) - (before < 0) : (number > 0) - (number < 0);
}

/* Gathers the chunks of all ranks in order, and the largest number of columns. */
static parley_status gather_chunks(parsing *self, ranked_chunk **out, uint64_t *count, parley_error *error) {
    unsigned ranks = self->engine->ranks;
    double *mine, *all = NULL;
    uint64_t *bounds = NULL, values = 1 + self->count * CHUNK_VALUES;
    *out = NULL;
    *count = 0;
    parley_status status = pl_take(&mine, values, sizeof *mine, "gathered lists", error);
    if (status == PARLEY_OK)
        status = pl_take(&bounds, (uint64_t)ranks + 1, sizeof *bounds, "gathered lists", error);
    if (status == PARLEY_OK) {
        mine[0] = (double)self->parser.columns;
        if (self->count > 0)
            memcpy(mine + 1, self->chunks, self->count * sizeof *self->chunks);
        status = pl_gather_lists(self->engine, mine, values, &all, bounds, error);
    }
    if (status == PARLEY_OK)
        status = pl_take(out, bounds[ranks] / CHUNK_VALUES + 1, sizeof **out, "gathered lists", error);
    for (unsigned r = 0; r < ranks && status == PARLEY_OK; r++) {
        uint64_t columns = (uint64_t)all[bounds[r]];
        self->parser.columns = columns > self->parser.columns ? columns : self->parser.columns;
        for (uint64_t at = bounds[r] + 1; at < bounds[r + 1]; at += CHUNK_VALUES) {
            ranked_chunk *next = &(*out)[(*count)++];
            memcpy(&next->chunk, all + at, sizeof next->chunk);
            next->rank = r;
        }
    }
    if (status == PARLEY_OK && *count > 0)
        qsort(*out, *count, sizeof **out, by_order);
    pl_free(mine);
    pl_free(bounds);
    pl_free(all);
    return status;
}

/* Makes all ranks report the first error in the order of the text, with its line number in the file. */
static parley_status agree(parsing *self, const ranked_chunk *chunks, uint64_t count, parley_error *error) {
    uint64_t first = 0, line = 0;
    while (first < count && !chunks[first].chunk.failed)
        first++;
    for (uint64_t c = 0; c <= first && first < count; c++)
        if (chunks[c].chunk.input == chunks[first].chunk.input)
            line += (uint64_t)chunks[c].chunk.lines;
    bool mine = first < count && chunks[first].rank == self->engine->rank;
    if (mine && self->faulty)
        pl_fail(&self->error, self->error.status, "%s:%llu: %s", self->parser.name, (unsigned long long)line,
                self->fault);
    parley_status status = mine ? self->error.status : PARLEY_OK;
    if (first == count)
        status = self->status; /* failures without a chunk have no position in the text */
    if (status != PARLEY_OK)
        *error = self->error;
    return pl_agree_status(self->engine, status, self->engine->rank, NULL, error);
}

static parley_status place_chunks(const parsing *self, const ranked_chunk *chunks, uint64_t count, parley_data *data,
                                  parley_error *error) {
    uint64_t *held, row = 0;
    pl_spread *spread;
    parley_status status = pl_take(&data->spread, 1, sizeof *data->spread, "the table of distributed rows", error);
    if (status != PARLEY_OK)
        return status;
    spread = data->spread;
    spread->rank = self->engine->rank;
    status = pl_take(&spread->pieces, count, sizeof *spread->pieces, "the table of distributed rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&held, self->engine->ranks, sizeof *held, "the table of distributed rows", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t c = 0; c < count; c++) {
        uint64_t rows = (uint64_t)chunks[c].chunk.rows;
        unsigned rank = chunks[c].rank;
        if (rows == 0)
            continue;
        spread->pieces[spread->count++] = (pl_piece){row, row + rows, held[rank], 0, rank};
        held[rank] += rows;
        row += rows;
    }
    pl_free(held);
    return PARLEY_OK;
}

static parley_status check_rows(const parsing *self, const ranked_chunk *chunks, uint64_t count, parley_error *error) {
    double rows = 0;
    for (uint64_t c = 0; c < count; c++)
        rows += chunks[c].chunk.rows;
    return rows > 0 ? PARLEY_OK : pl_parser_no_rows(&self->parser, self->inputs->title, error);
}

/* Exchanges the words that each rank found, such as categories. */
static parley_status exchange_words(parsing *self, parley_error *error) {
    pl_engine *engine = self->engine;
    const pl_format *format = self->parser.format;
    pl_span mine = {0}, room = {0};
    uint64_t bytes = 0;
    if (!format->pack)
        return PARLEY_OK;
    parley_status status = format->pack(&self->parser, &mine, &bytes, error);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++) {
        uint64_t count = bytes;
        const pl_span *words = r == engine->rank ? &mine : &room;
        status = pl_broadcast(engine, r, &count, sizeof count, error);
        if (status == PARLEY_OK && words == &room && !pl_span_reserve(&room, count))
            status = pl_fail_memory(error, "names of columns", count);
        if (status == PARLEY_OK)
            status = pl_broadcast(engine, r, words->data, count, error);
        if (status == PARLEY_OK)
            status = format->unpack(&self->parser, words->data, count, error);
    }
    pl_span_free(&mine);
    pl_span_free(&room);
    return status;
}

/* Has some rank met a value that doubles hold and floats do not? */
static parley_status ask_again(const parsing *self, bool *again, parley_error *error) {
    double ranks = self->status != PARLEY_OK && self->parser.fault.wide;
    parley_status status = pl_sum_ranks(self->engine, &ranks, 1, error);
    *again = ranks > 0;
    return status;
}

static parley_status finish(parsing *self, bool *again, parley_data **out, parley_error *error) {
    ranked_chunk *chunks = NULL;
    uint64_t count;
    parley_status status = ask_again(self, again, error);
    if (status == PARLEY_OK)
        status = gather_chunks(self, &chunks, &count, error);
    if (status == PARLEY_OK)
        status = agree(self, chunks, count, error);
    if (status == PARLEY_OK)
        status = check_rows(self, chunks, count, error);
    if (status == PARLEY_OK)
        status = exchange_words(self, error);
    if (status == PARLEY_OK)
        status = pl_data_take(&self->parser, self->inputs->title, out, error);
    if (status == PARLEY_OK)
        status = place_chunks(self, chunks, count, *out, error);
    if (status == PARLEY_OK && self->parser.format->wide && !self->unjudged)
        status = pl_precision_of_ranks(self->engine, *out, again, error);
    for (unsigned i = 0; i < self->inputs->count && status == PARLEY_OK; i++)
        (*out)->file_bytes += self->inputs->list[i].bytes;
    pl_free(chunks);
    return status;
}

/* Lets the format inspect the head of the first input, on every rank. */
static parley_status open_format(parsing *self, const pl_reading *reading, parley_error *error) {
    pl_parser *parser = &self->parser;
    parser->wide = reading->wide && parser->format->wide;
    if (!parser->format->open)
        return PARLEY_OK;
    parley_status status = pl_source_open(self->inputs->list->path, parser->window_bytes, &parser->source, error);
    if (status == PARLEY_OK)
        status = parser->format->open(parser, reading, error);
    pl_source_close(parser->source);
    parser->source = NULL;
    self->first_cut = parser->cut;
    self->first_lines = parser->lines;
    return status;
}

/* Reads once. `*again`: the text must be read again as doubles. */
static parley_status read_once(pl_engine *engine, const pl_inputs *inputs, const bool *mapped,
                               const pl_reading *reading, pl_pool *pool, bool *again, parley_data **out,
                               parley_error *error) {
    parsing self = {.engine = engine, .inputs = inputs, .unjudged = reading->unjudged};
    parley_status status = pl_parser_open_empty(reading->format, pool, &self.parser, error);
    self.parser.wide = status == PARLEY_OK && reading->wide && reading->format->wide;
    if (status == PARLEY_OK)
        status = open_format(&self, reading, error);
    if (status == PARLEY_OK)
        status = parse_all(&self, mapped, error);
    if (status == PARLEY_OK)
        status = finish(&self, again, out, error);
    pl_parser_close(&self.parser);
    pl_free(self.chunks);
    return status;
}

parley_status pl_ranks_text(pl_engine *engine, const pl_inputs *inputs, const bool *mapped, const pl_reading *reading,
                            pl_pool *pool, parley_data **out, parley_error *error) {
    pl_reading as = *reading;
    bool again = false;
    parley_status status = read_once(engine, inputs, mapped, &as, pool, &again, out, error);
    if (!again)
        return status;
    parley_data_free(*out);
    *out = NULL;
    pl_read_wide(&as);
    return read_once(engine, inputs, mapped, &as, pool, &again, out, error);
}
