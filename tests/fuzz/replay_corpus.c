/* replay_corpus.c: all fuzzers in one program, where there is no libFuzzer: `replay csv FOLDER` runs the function of
 * fuzz_csv.c over all files in the folder. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZER(name) int fuzz_##name(const uint8_t *bytes, size_t count);
#include "fuzzers.h"
#undef FUZZER

typedef int one_input(const uint8_t *bytes, size_t count);

static const struct {
    const char *name;
    one_input *run;
} fuzzers[] = {
#define FUZZER(name) {#name, fuzz_##name},
#include "fuzzers.h"
};

/* Runs one file; false: it cannot be read. */
static int replay(one_input *run, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return 0;
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    int read = bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (read)
        run(bytes, (size_t)size);
    free(bytes);
    return read;
}

/* Runs all files of a folder; returns their number, or -1 if one cannot be read. */
static int replay_all(one_input *run, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) {
        perror(folder);
        return -1;
    }
    int inputs = 0;
    for (const struct dirent *entry; inputs >= 0 && (entry = readdir(listing));) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        inputs++;
        if (!replay(run, path)) {
            perror(path);
            inputs = -1;
        }
    }
    closedir(listing);
    return inputs;
}

int main(int count, char **words) {
    for (size_t i = 0; count == 3 && i < sizeof fuzzers / sizeof *fuzzers; i++)
        if (strcmp(fuzzers[i].name, words[1]) == 0) {
            int inputs = replay_all(fuzzers[i].run, words[2]);
            printf("%d inputs\n", inputs);
            return inputs <= 0;
        }
    fprintf(stderr, "usage: %s FUZZER FOLDER\n", words[0]);
    return 2;
}
