/* pmi_protocol.c: the protocol has lines of key=value words. A process puts what others need to reach it, waits at a
 * barrier until all have done so, and gets what the others put. Lines, values, keys and unsent answers are bounded. */
#include "pmi_protocol.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define MOST_KEYS 1024 /* of one rank; MPICH puts a few */

/* Returns the value of `key` in a line of words, or NULL. `value` has room for a line. */
static const char *word_of(const char *line, const char *key, char value[PMI_LINE]) {
    size_t length = strlen(key);
    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            at += length + 1;
            snprintf(value, PMI_LINE, "%.*s", (int)strcspn(at, strcmp(key, "value") == 0 ? "" : " "), at);
            return value;
        }
    }
    return NULL;
}

/* There is room for an answer when a line is read, and for the end of a barrier. */
static void answer(pmi_client *client, const char *text) {
    size_t length = strlen(text);
    if (client->unsent + length > PMI_OUT)
        return;
    memcpy(client->out + client->unsent, text, length);
    client->unsent += (unsigned)length;
}

static pmi_pair **bucket(pmi_space *space, const char *key) {
    unsigned hash = 5381;
    for (; *key; key++)
        hash = 33 * hash + (unsigned char)*key;
    return &space->buckets[hash % PMI_BUCKETS];
}

static const char *get(pmi_space *space, const char *key) {
    for (const pmi_pair *pair = *bucket(space, key); pair; pair = pair->next)
        if (strcmp(pair->key, key) == 0)
            return pair->value;
    return NULL;
}

bool pmi_space_put(pmi_space *space, const char *key, const char *value) {
    if (strlen(key) > PMI_KEY || strlen(value) > PMI_VALUE || get(space, key))
        return false;
    pmi_pair *new = pl_alloc(1, sizeof *new), **at = bucket(space, key);
    space->full = space->full || !new;
    if (!new)
        return false;
    *new = (pmi_pair){*at, space->last, pl_strdup(key), pl_strdup(value)};
    if (!new->key || !new->value) {
        space->full = true;
        pl_free(new->key);
        pl_free(new->value);
        pl_free(new);
        return false;
    }
    *at = space->last = new;
    return true;
}

static bool put_of(pmi_space *space, pmi_client *client, const char *key, const char *value) {
    if (client->keys == MOST_KEYS || !pmi_space_put(space, key, value))
        return false;
    client->keys++;
    return true;
}

static void enter_barrier(pmi_space *space, pmi_client *client) {
    unsigned waiting = 0;
    client->waits = true;
    for (unsigned i = 0; i < space->ranks; i++)
        waiting += space->client[i].waits;
    if (waiting < space->ranks)
        return;
    for (unsigned i = 0; i < space->ranks; i++) {
        space->client[i].waits = false;
        answer(&space->client[i], "cmd=barrier_out rc=0\n");
    }
}

static void obey(pmi_space *space, pmi_client *client, const char *line) {
    char command[PMI_LINE], key[PMI_LINE], value[PMI_LINE], text[PMI_ANSWER];
    if (!word_of(line, "cmd", command))
        return;
    if (strcmp(command, "init") == 0)
        answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    else if (strcmp(command, "get_maxes") == 0) {
        snprintf(text, sizeof text, "cmd=maxes kvsname_max=64 keylen_max=%d vallen_max=%d rc=0\n", PMI_KEY, PMI_VALUE);
        answer(client, text);
    } else if (strcmp(command, "get_appnum") == 0)
        answer(client, "cmd=appnum appnum=0 rc=0\n");
    else if (strcmp(command, "get_my_kvsname") == 0)
        answer(client, "cmd=my_kvsname kvsname=parley rc=0\n");
    else if (strcmp(command, "get_universe_size") == 0) {
        snprintf(text, sizeof text, "cmd=universe_size size=%u rc=0\n", space->ranks);
        answer(client, text);
    } else if (strcmp(command, "put") == 0) {
        bool done = word_of(line, "key", key) && word_of(line, "value", value) && put_of(space, client, key, value);
        if (!space->full) /* otherwise the rank is ended before it could complain too */
            answer(client, done ? "cmd=put_result rc=0 msg=success\n" : "cmd=put_result rc=-1 msg=failure\n");
    } else if (strcmp(command, "get") == 0) {
        const char *found = word_of(line, "key", key) ? get(space, key) : NULL;
        snprintf(text, sizeof text,
                 found ? "cmd=get_result rc=0 msg=success value=%s\n" : "cmd=get_result rc=-1 msg=not_found value=%s\n",
                 found ? found : "unknown");
        answer(client, text);
    } else if (strcmp(command, "barrier_in") == 0)
        enter_barrier(space, client);
    else if (strcmp(command, "finalize") == 0)
        answer(client, "cmd=finalize_ack rc=0\n");
    else if (strcmp(command, "abort") == 0)
        client->aborts = true; /* MPICH waits for its launcher to end it */
}

void pmi_space_obey(pmi_space *space, pmi_client *client) {
    for (char *end; client->unsent + PMI_ANSWER + 64 <= PMI_OUT && (end = memchr(client->line, '\n', client->got));) {
        unsigned length = (unsigned)(end + 1 - client->line);
        *end = '\0';
        if (!client->skips)
            obey(space, client, client->line);
        client->skips = false;
        client->got -= length;
        memmove(client->line, end + 1, client->got);
    }
    if (client->got == PMI_LINE && !memchr(client->line, '\n', PMI_LINE)) {
        client->skips = true; /* no valid line is this long */
        client->got = 0;
    }
}

void pmi_space_clear(pmi_space *space) {
    for (pmi_pair *before, *pair = space->last; pair; pair = before) {
        before = pair->before;
        *bucket(space, pair->key) = NULL;
        pl_free(pair->key);
        pl_free(pair->value);
        pl_free(pair);
    }
    space->last = NULL;
}
