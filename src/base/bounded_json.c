/* bounded_json.c: see bounded_json.h. */
#include "base/bounded_json.h"

#include <stdio.h>

#include "base/json_memory.h"
#include "base/memory.h"

/* At least the number of values and keys: every one but the first follows a bracket, a comma or a colon. */
static uint64_t count_values(const char *text, uint64_t bytes) {
    uint64_t count = 1;
    bool quoted = false;
    for (uint64_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            i += c == '\\';
        else
            count += c == ',' || c == ':' || c == '{' || c == '[';
    }
    return count;
}

parley_status pl_json_parse(const char *text, uint64_t bytes, uint64_t most, size_t flags, json_t **out,
                            parley_error *why) {
    json_error_t fault;
    *out = NULL;
    if (count_values(text, bytes) > most)
        return pl_fail(why, PARLEY_BAD_INPUT, "it has more than %llu values", (unsigned long long)most);
    pl_json_watch();
    *out = json_loadb(text, (size_t)bytes, flags, &fault);
    if (pl_json_lost()) {
        json_decref(*out);
        *out = NULL;
        return pl_fail_memory(why, "JSON", bytes);
    }
    if (*out)
        return PARLEY_OK;
    return pl_fail(why, PARLEY_BAD_INPUT, "%s", fault.text);
}

parley_status pl_json_read(const char *path, uint64_t most_bytes, uint64_t most, json_t **out, bool *opened,
                           parley_error *why) {
    FILE *file = fopen(path, "r");
    *out = NULL;
    *opened = file;
    if (!file)
        return pl_fail_file(why, path, "open");
    char *text = pl_alloc(most_bytes, 1);
    size_t bytes = text ? fread(text, 1, most_bytes, file) : 0;
    fclose(file);
    parley_status status =
        text ? pl_json_parse(text, bytes, most, 0, out, why) : pl_fail_memory(why, "a file", most_bytes);
    pl_free(text);
    return status;
}
