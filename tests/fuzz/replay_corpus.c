/* replay_corpus.c: runs a fuzzer's function over all files in the folders given, where there is no libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Runs one file; false: it cannot be read. */
static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return 0;
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    int read = bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (read)
        LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    return read;
}

int main(int count, char **folders) {
    unsigned inputs = 0;
    for (int i = 1; i < count; i++) {
        DIR *listing = opendir(folders[i]);
        if (!listing) {
            perror(folders[i]);
            return 1;
        }
        for (const struct dirent *entry; (entry = readdir(listing));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", folders[i], entry->d_name);
            if (!replay(path)) {
                perror(path);
                return 1;
            }
            inputs++;
        }
        closedir(listing);
    }
    printf("%u inputs\n", inputs);
    return inputs == 0;
}
