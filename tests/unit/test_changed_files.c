/* test_changed_files.c: files that are cut off or rewritten while they are read give a sentence, not a crash. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapped_file.h"
#include "data/cache.h"
#include "data/container.h"
#include "data/parser.h"
#include "data_helpers.h"
#include "method/model.h"

#define ROWS 20000
#define CHANGED "%s changed while it was read; read it again when it is complete"

/* Makes the file look old, because two changes in one tick of the clock have the same time. */
static void make_old(const char *path) {
    const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void overwrite(const char *path, long at, const char *bytes) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    assert_int_equal(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
    fclose(file);
}

static void write_rows(const char *path) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "%d %d:0.5 %d:1.25\n", i % 2, i % 7 + 1, i % 50 + 10);
    fclose(file);
    make_old(path);
}

static void assert_changed(parley_status status, const parley_error *error, const char *path) {
    char expected[512];
    snprintf(expected, sizeof expected, CHANGED, path);
    assert_int_equal(status, PARLEY_BAD_INPUT);
    assert_string_equal(error->sentence, expected);
}

/* Reads batches and changes the file after the first one. */
static parley_status read_while(const char *path, unsigned threads, void (*change)(const char *path),
                                parley_error *error) {
    pl_pool *pool;
    pl_reader *reader;
    const parley_data *batch;
    assert_int_equal(pl_pool_open(&pool, threads, error), PARLEY_OK);
    assert_int_equal(pl_reader_open_blocks(path, pool, 4096, &reader, error), PARLEY_OK);
    parley_status status = pl_reader_next(reader, &batch, error);
    assert_int_equal(status, PARLEY_OK);
    assert_non_null(batch);
    change(path);
    while (status == PARLEY_OK && batch)
        status = pl_reader_next(reader, &batch, error);
    pl_reader_close(reader);
    pl_pool_close(pool);
    return status;
}

static void cut_off(const char *path) { assert_int_equal(truncate(path, 100000), 0); }
static void rewrite_a_value(const char *path) { overwrite(path, 300000, "7"); }
static void append(const char *path) {
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    overwrite(path, facts.st_size, "1 1:1\n");
}

static void text_that_changes_is_named(void **state) {
    (void)state;
    static void (*const changes[])(const char *path) = {cut_off, rewrite_a_value, append};
    const char *path = in_folder("rows.svm");
    parley_error error;
    for (unsigned threads = 1; threads <= 2; threads++)
        for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
            write_rows(path);
            assert_changed(read_while(path, threads, changes[i], &error), &error, path);
        }
}

static parley_data *large_data(void) {
    enum { ENTRIES = 3000000 };
    static uint64_t start[2] = {0, ENTRIES};
    static double label[1] = {1};
    static uint32_t index[ENTRIES];
    static float value[ENTRIES];
    static parley_data data = {.x = {1, ENTRIES, ENTRIES, start, index, {.narrow = value}}, .label = label};
    for (uint32_t i = 0; i < ENTRIES; i++) {
        index[i] = i;
        value[i] = 2.0F;
    }
    return &data;
}

static void a_mapped_cache_that_is_cut_off_is_named(void **state) {
    (void)state;
    const char *path = in_folder("large.parley");
    pl_pool *pool;
    parley_error error;
    parley_data *data;
    assert_int_equal(pl_pool_open(&pool, 2, &error), PARLEY_OK);
    assert_int_equal(pl_data_write_cache(large_data(), path, &error), PARLEY_OK);
    make_old(path);
    assert_int_equal(pl_cache_open(path, pool, &data, &error), PARLEY_OK);
    assert_int_equal(pl_data_unchanged(data, &error), PARLEY_OK);
    assert_int_equal(truncate(path, 4096), 0);
    double sum = 0;
    for (uint64_t i = 0; i < data->x.nonzeros; i++)
        sum += data->x.values.narrow[i];
    assert_true(sum == 0); /* the missing pages read as zeros */
    assert_changed(pl_data_unchanged(data, &error), &error, path);
    parley_data_free(data);
    pl_pool_close(pool);
}

static void a_small_cache_is_not_affected(void **state) {
    (void)state;
    const char *text = in_folder("rows.svm");
    pl_pool *pool;
    parley_error error;
    parley_data *data, *cached;
    write_rows(text);
    assert_int_equal(pl_pool_open(&pool, 2, &error), PARLEY_OK);
    assert_int_equal(pl_data_read(text, pool, NULL, NULL, &data, &error), PARLEY_OK);
    const char *path = in_folder("small.parley");
    assert_int_equal(pl_data_write_cache(data, path, &error), PARLEY_OK);
    assert_int_equal(pl_cache_open(path, pool, &cached, &error), PARLEY_OK);
    assert_int_equal(truncate(path, 5000), 0);
    overwrite(path, 0, "these bytes are not those of a cache any more");
    assert_memory_equal(cached->x.start, data->x.start, (ROWS + 1) * sizeof *data->x.start);
    assert_memory_equal(cached->x.index, data->x.index, data->x.nonzeros * sizeof *data->x.index);
    assert_memory_equal(cached->x.values.narrow, data->x.values.narrow,
                        data->x.nonzeros * sizeof *data->x.values.narrow);
    assert_int_equal(pl_data_unchanged(cached, &error), PARLEY_OK);
    parley_data_free(cached);
    parley_data_free(data);
    pl_pool_close(pool);
}

static void a_container_that_is_cut_off_is_named(void **state) {
    (void)state;
    const char *path = in_folder("model.safetensors");
    static double weights[20000];
    const pl_tensor tensor = {"w", PL_F64, 1, {20000}, weights};
    pl_container *container;
    parley_error error;
    assert_int_equal(pl_container_write(path, &tensor, 1, NULL, 0, &error), PARLEY_OK);
    make_old(path);
    assert_int_equal(pl_container_open(path, &container, &error), PARLEY_OK);
    assert_int_equal(truncate(path, 10000), 0);
    assert_changed(pl_container_keep(container, path, &error), &error, path);
    pl_container_close(container);
}

static sigjmp_buf jump;
static void leave(int number) {
    (void)number;
    siglongjmp(jump, 1);
}

/* A page of a file that Parley did not map, which the file no longer has. */
static void read_missing_page(const char *path) {
    int file = open(path, O_RDWR);
    volatile char *map = mmap(NULL, 20000, PROT_READ, MAP_PRIVATE, file, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(ftruncate(file, 0), 0);
    bool missed = true;
    if (sigsetjmp(jump, 1) == 0)
        missed = map[12000] == 1;
    assert_true(missed);
    munmap((void *)map, 20000);
    close(file);
}

static void other_handlers_of_bus_errors_still_work(void **state) {
    (void)state;
    struct sigaction own = {.sa_handler = leave}, now;
    const char *path = in_folder("other");
    static char bytes[20000];
    pl_container *container;
    parley_error error;
    const pl_tensor tensor = {"w", PL_F64, 1, {2500}, bytes};
    char kept[300];
    snprintf(kept, sizeof kept, "%s.safetensors", path);
    assert_int_equal(pl_container_write(kept, &tensor, 1, NULL, 0, &error), PARLEY_OK);
    assert_int_equal(sigaction(SIGBUS, &own, NULL), 0);
    assert_int_equal(pl_container_open(kept, &container, &error), PARLEY_OK);
    write_bytes(path, bytes, sizeof bytes);
    read_missing_page(path);
    pl_container_close(container);
    assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
    assert_true(now.sa_handler == leave);
    signal(SIGBUS, SIG_DFL);
}

static void sealed_memory_files_are_not_copied(void **state) {
    (void)state;
    static const char text[] = "what nobody can change";
    for (int seals = 0; seals <= 1; seals++) {
        char path[64];
        int file = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        parley_error error = {0};
        pl_mapped_file map;
        assert_true(file >= 0);
        assert_int_equal(write(file, text, sizeof text), sizeof text);
        if (seals)
            assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        assert_int_equal(pl_mapped_open(&map, path, &error), PARLEY_OK);
        assert_int_equal(pl_mapped_keep(&map, path, &error), PARLEY_OK);
        assert_int_equal(map.file >= 0, seals);
        assert_memory_equal(map.data, text, sizeof text);
        assert_int_equal(pl_mapped_check(&map, path, &error), PARLEY_OK);
        pl_mapped_close(&map);
        close(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_changes_is_named),
        cmocka_unit_test(a_mapped_cache_that_is_cut_off_is_named),
        cmocka_unit_test(a_small_cache_is_not_affected),
        cmocka_unit_test(a_container_that_is_cut_off_is_named),
        cmocka_unit_test(other_handlers_of_bus_errors_still_work),
        cmocka_unit_test(sealed_memory_files_are_not_copied),
    };
    return cmocka_run_group_tests_name("changed_files", tests, make_folder, remove_folder);
}
