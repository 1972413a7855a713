/* test_packet.c: chunks of tables, dense and sparse: reading or adding what was written gives the same bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "engine/packet.h"
#include "support.h"

#define MOST 5000

static double values[MOST], room[MOST], start[MOST], sum[MOST];

/* About `percent` of the entries are not 0, and some of those are -0. */
static void fill(double *table, uint64_t count, double percent, uint64_t seed) {
    pl_stream stream = pl_stream_make(seed, 3, 0);
    for (uint64_t i = 0; i < count; i++) {
        bool filled = pl_random_unit(&stream) * 100.0 < percent;
        table[i] = !filled ? 0.0 : pl_random_below(&stream, 5) == 0 ? -0.0 : pl_random_normal(&stream);
    }
}

static uint64_t filled_of(const double *table, uint64_t count) {
    uint64_t filled = 0;
    for (uint64_t i = 0; i < count; i++)
        filled += table[i] != 0 || signbit(table[i]);
    return filled;
}

static pl_packet packet_of(uint64_t count) {
    uint64_t bytes;
    pl_packet packet;
    const void *data = pl_packet_write(&(pl_addend){.values = values}, 0, count, room, &bytes);
    assert_int_equal(bytes, pl_packet_bytes(count, filled_of(values, count)));
    assert_true(pl_packet_read(data, bytes, count, &packet));
    return packet;
}

static const double percents[] = {0, 0.1, 5, 20, 30, 100};
static const uint64_t lengths[] = {1, 3, 64, 1025, MOST};

static void a_packet_has_the_bits_of_its_chunk(void **state) {
    (void)state;
    for (unsigned p = 0; p < sizeof percents / sizeof *percents; p++)
        for (unsigned c = 0; c < sizeof lengths / sizeof *lengths; c++) {
            bool plain;
            fill(values, lengths[c], percents[p], p);
            pl_packet packet = packet_of(lengths[c]);
            memset(sum, 0x55, sizeof sum);
            pl_packet_put(&packet, sum, &plain);
            assert_memory_equal(sum, values, lengths[c] * sizeof *sum);
        }
}

static void adding_a_packet_is_adding_its_chunk(void **state) {
    (void)state;
    for (unsigned p = 0; p < sizeof percents / sizeof *percents; p++)
        for (unsigned before = 0; before < sizeof percents / sizeof *percents; before++)
            for (unsigned c = 0; c < sizeof lengths / sizeof *lengths; c++) {
                bool plain;
                uint64_t count = lengths[c];
                fill(values, count, percents[before], 50 + before);
                pl_packet first = packet_of(count);
                pl_packet_put(&first, sum, &plain);
                memcpy(start, values, count * sizeof *start);
                fill(values, count, percents[p], 90 + p);
                pl_packet second = packet_of(count);
                pl_packet_add(&second, sum, &plain);
                for (uint64_t i = 0; i < count; i++)
                    start[i] += values[i];
                assert_memory_equal(sum, start, count * sizeof *sum);
            }
}

static void sparse_addends_are_written_like_whole_ones(void **state) {
    (void)state;
    static uint32_t index[MOST];
    static double value[MOST], other[MOST];
    for (unsigned p = 0; p < sizeof percents / sizeof *percents; p++) {
        pl_addend sparse = {.index = index, .value = value, .share = 0.3};
        fill(values, MOST, percents[p], 7);
        for (uint32_t i = 0; i < MOST; i++)
            if (values[i] != 0 || signbit(values[i])) {
                index[sparse.count] = i;
                value[sparse.count++] = values[i];
                values[i] *= 0.3;
            }
        for (uint64_t begin = 0; begin < MOST; begin += 1700) {
            uint64_t count = begin + 1700 < MOST ? 1700 : MOST - begin, bytes, whole;
            const void *data = pl_packet_write(&sparse, begin, count, room, &bytes);
            const void *same = pl_packet_write(&(pl_addend){.values = values}, begin, count, other, &whole);
            assert_int_equal(bytes, whole);
            assert_memory_equal(data, same, bytes);
        }
    }
}

static void chunks_that_are_mostly_zero_are_small(void **state) {
    (void)state;
    assert_int_equal(pl_packet_bytes(1000, 0), 0);
    assert_int_equal(pl_packet_bytes(1000, 250), 2500);
    assert_int_equal(pl_packet_bytes(1000, 251), 8000);
    assert_int_equal(pl_packet_bytes(1, 1), 8);
}

static void packets_that_make_no_sense_are_refused(void **state) {
    (void)state;
    pl_packet packet;
    uint16_t *place = (uint16_t *)(room + 2);
    place[0] = 3;
    place[1] = 99;
    assert_true(pl_packet_read(room, 20, 100, &packet));
    assert_false(pl_packet_read(room, 20, 99, &packet)); /* a position after the end */
    place[0] = 99;
    assert_false(pl_packet_read(room, 20, 100, &packet)); /* the same position twice */
    assert_false(pl_packet_read(room, 21, 100, &packet));
    assert_false(pl_packet_read(room, 260, 100, &packet)); /* too many for a sparse packet */
}

static void cursors_meet_every_entry_of_a_slice_once(void **state) {
    (void)state;
    const uint64_t bounds[] = {0, 0, 40000, 70000, 70000};
    for (uint64_t width = 1; width <= 3; width++)
        for (unsigned r = 0; r < 4; r++) {
            pl_cursor cursor = {.region = pl_region_of(70000, width, bounds, r)};
            uint64_t begin, count, met = 0;
            while (pl_cursor_next(&cursor, &begin, &count)) {
                assert_true(count > 0 && count <= PL_CHUNK);
                assert_true(begin % 70000 >= bounds[r] && begin % 70000 + count <= bounds[r + 1]);
                met += count;
            }
            assert_int_equal(met, width * (bounds[r + 1] - bounds[r]));
        }
    pl_region all = pl_region_of(10, 4, (const uint64_t[]){0, 10}, 0); /* whole columns are one stretch */
    assert_true(all.length == 40 && all.stretches == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_has_the_bits_of_its_chunk),
        cmocka_unit_test(adding_a_packet_is_adding_its_chunk),
        cmocka_unit_test(sparse_addends_are_written_like_whole_ones),
        cmocka_unit_test(chunks_that_are_mostly_zero_are_small),
        cmocka_unit_test(packets_that_make_no_sense_are_refused),
        cmocka_unit_test(cursors_meet_every_entry_of_a_slice_once),
    };
    return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
