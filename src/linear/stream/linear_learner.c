/* linear_learner.c: learning batch by batch, for programs that receive rows over time. It is a stream (linear_stream.h)
 * to which the caller passes the batches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linear/stream/linear_stream.h"
#include "train/presets.h"

#define FORMAT "parley-learner-1"
#define MOST_PAIRS (PL_MOST_SETTINGS + 2)

struct parley_learner {
    parley_settings *asked;    /* as given */
    parley_settings *settings; /* resolved */
    pl_method method;
    pl_online *online;
    bool begun;       /* a batch has been learnt */
    uint64_t columns; /* of the first batch */
};

static parley_status resolve(parley_learner *learner, parley_error *error) {
    if (!pl_setting_given(learner->asked, "preset"))
        learner->asked->preset = "online";
    parley_status status = pl_settings_assign(learner->settings, learner->asked, error);
    if (status == PARLEY_OK)
        status = pl_method_resolve(learner->settings, NULL, &learner->method, error);
    if (status == PARLEY_OK && !pl_stream_of(learner->settings))
        status = pl_fail(error, PARLEY_BAD_USAGE, "a learner always uses preset online; leave out preset %s",
                         learner->settings->preset);
    if (status == PARLEY_OK && pl_setting_given(learner->settings, "passes"))
        status = pl_fail(error, PARLEY_BAD_USAGE, "a learner always makes one pass over each batch; leave out passes");
    return status == PARLEY_OK ? pl_online_open(learner->settings, &learner->online, error) : status;
}

static parley_status tell_labels(parley_learner *learner, const double *labels, parley_error *error) {
    const pl_loss *loss = pl_loss_find(pl_linear_settings_of(learner->settings)->loss);
    if (!labels)
        return PARLEY_OK;
    if (*pl_linear_settings_of(learner->settings)->positive)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "the labels are given in advance, and the second one is positive; leave out positive");
    if (!loss || loss->labels != PL_LABELS_BINARY)
        return pl_fail(error, PARLEY_BAD_USAGE, "two labels need a loss of two classes, but loss is %s",
                       pl_linear_settings_of(learner->settings)->loss);
    if (!(labels[0] < labels[1]) || !isfinite(labels[0]) || !isfinite(labels[1]))
        return pl_fail(error, PARLEY_BAD_USAGE, "the labels %g and %g must be in increasing order", labels[0],
                       labels[1]);
    pl_online_tell(learner->online, labels[0], labels[1]);
    return PARLEY_OK;
}

/* Opens a learner without known labels, and copies the settings. */
static parley_status open(const parley_settings *settings, parley_learner **out, parley_error *error) {
    parley_learner *learner;
    *out = NULL;
    parley_status status = pl_take(&learner, 1, sizeof *learner, "a learner", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_settings_copy(settings, &learner->asked, error);
    if (status == PARLEY_OK)
        status = pl_settings_copy(settings, &learner->settings, error);
    if (status == PARLEY_OK)
        status = resolve(learner, error);
    if (status == PARLEY_OK)
        *out = learner;
    else
        parley_learner_free(learner);
    return status;
}

parley_status parley_learner_new(const parley_settings *settings, const double *labels, parley_learner **out,
                                 parley_error *error) {
    parley_status status = open(settings, out, error);
    if (status == PARLEY_OK)
        status = tell_labels(*out, labels, error);
    if (status != PARLEY_OK) {
        parley_learner_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status parley_learner_learn(parley_learner *learner, const parley_data *batch, parley_error *error) {
    parley_status status = pl_data_teaches(batch, true, error);
    if (status == PARLEY_OK && learner->begun && batch->x.columns != learner->columns)
        status = pl_fail(error, PARLEY_BAD_INPUT, "the batch has %llu columns, but the first one had %llu",
                         (unsigned long long)batch->x.columns, (unsigned long long)learner->columns);
    if (status == PARLEY_OK)
        status = pl_online_admit(learner->online, batch, error);
    if (status == PARLEY_OK)
        status = pl_online_learn(learner->online, batch, 0, batch->x.rows, error);
    if (status == PARLEY_OK) {
        learner->begun = true;
        learner->columns = batch->x.columns;
    }
    return status;
}

parley_status parley_learner_model(const parley_learner *learner, parley_model **out, parley_error *error) {
    parley_settings *record;
    *out = NULL;
    if (!learner->begun)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no model yet; learn a batch first");
    parley_status status = pl_settings_copy(learner->settings, &record, error);
    if (status != PARLEY_OK)
        return status;
    pl_stream_record(record, &learner->method, learner->online);
    status = pl_online_model(learner->online, out, error);
    if (status == PARLEY_OK)
        status = pl_stream_describe(record, learner->online, *out, error);
    parley_settings_free(record);
    if (status != PARLEY_OK) {
        parley_model_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status parley_learner_to_bytes(const parley_learner *learner, void **bytes, uint64_t *count,
                                      parley_error *error) {
    const pl_online_state *state = pl_online_look(learner->online);
    pl_pair pairs[MOST_PAIRS] = {{"format", FORMAT}, {"learns", state->learns ? state->learns->name : ""}};
    unsigned pair_count = 2;
    char(*text)[PL_TEXT];
    *bytes = NULL;
    *count = 0;
    parley_status status = pl_take(&text, pl_settings_count(), sizeof *text, "settings", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned i = 0; i < pl_settings_count(); i++)
        if (learner->asked->given[i]) {
            pl_setting_text(learner->asked, pl_setting_at(i), text[i], sizeof *text);
            pairs[pair_count++] = (pl_pair){pl_setting_at(i)->name, text[i]};
        }
    status = pl_online_pack(learner->online, pairs, pair_count, bytes, count, error);
    pl_free(text);
    return status;
}

static parley_status read_settings(const pl_container *container, parley_settings *settings, parley_error *error) {
    const pl_pair *pairs;
    unsigned count = pl_container_metas(container, &pairs);
    const char *format = pl_container_meta(container, "format");
    parley_status status = PARLEY_OK;
    if (!format || strcmp(format, FORMAT) != 0 || !pl_container_meta(container, "learns"))
        return pl_fail(error, PARLEY_BAD_INPUT, "these are not the bytes of a learner");
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        if (strcmp(pairs[i].key, "format") != 0 && strcmp(pairs[i].key, "learns") != 0)
            status = parley_settings_set(settings, pairs[i].key, pairs[i].value, error);
    return status;
}

static parley_status unpack(const pl_container *container, parley_learner **out, parley_error *error) {
    parley_settings *settings;
    parley_status status = parley_settings_new(&settings, error);
    if (status == PARLEY_OK)
        status = read_settings(container, settings, error);
    if (status == PARLEY_OK)
        status = open(settings, out, error);
    if (status == PARLEY_OK)
        status = pl_online_unpack((*out)->online, container, pl_container_meta(container, "learns"), error);
    parley_settings_free(settings);
    if (status != PARLEY_OK) {
        parley_learner_free(*out);
        *out = NULL;
        return status;
    }
    const pl_online_state *state = pl_online_look((*out)->online);
    (*out)->begun = state->rows > 0;
    (*out)->columns = state->columns;
    return PARLEY_OK;
}

parley_status parley_learner_from_bytes(const void *bytes, uint64_t count, parley_learner **out, parley_error *error) {
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_parse(bytes, count, "bytes of a learner", &container, error);
    if (status == PARLEY_OK) {
        status = unpack(container, out, error);
        pl_container_close(container);
    }
    return status;
}

void parley_learner_free(parley_learner *learner) {
    if (!learner)
        return;
    pl_online_close(learner->online);
    parley_settings_free(learner->settings);
    parley_settings_free(learner->asked);
    pl_free(learner);
}
