/* prediction_lines.c: writes predictions as text, CSV or JSON. A line is a list of fields, whose surrounding text is
 * prepared once, so that a row only copies it and formats its numbers. */
#include "prediction_lines.h"

#include <math.h>
#include <string.h>

#define NUMBER 32 /* most bytes of a number */

size_t lines_room(uint64_t bytes) { return (size_t)bytes * 6 + 2; } /* \u00xx, and quotes */

static size_t put_number(char *to, double value, bool json) {
    if (json && !isfinite(value))
        return (size_t)snprintf(to, NUMBER, "null");
    pl_number_text(value, to, NUMBER);
    return strlen(to);
}

/* The length of the UTF-8 character at `text`, or 0 if it is not valid. */
static uint64_t character(const unsigned char *text, uint64_t bytes) {
    uint64_t length = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 : *text >> 3 == 30 ? 4 : 0;
    bool valid = length > 0 && length <= bytes;
    for (uint64_t i = 1; i < length && valid; i++)
        valid = text[i] >> 6 == 2;
    if (valid && length == 3)
        valid = !(text[0] == 0xe0 && text[1] < 0xa0) && !(text[0] == 0xed && text[1] > 0x9f);
    if (valid && length == 4)
        valid = !(text[0] == 0xf0 && text[1] < 0x90) && text[0] < 0xf5 && !(text[0] == 0xf4 && text[1] > 0x8f);
    return valid && !(length == 2 && text[0] < 0xc2) ? length : 0;
}

static size_t put_json(char *to, pl_name text) {
    char *p = to;
    *p++ = '"';
    for (uint64_t i = 0; i < text.bytes;) {
        unsigned char byte = (unsigned char)text.text[i];
        uint64_t length = character((const unsigned char *)text.text + i, text.bytes - i);
        if (byte == '"' || byte == '\\')
            *p++ = '\\';
        if (byte < 0x20 || length == 0)
            p += sprintf(p, "\\u%04x", length == 0 ? 0xfffd : byte); /* U+FFFD stands for invalid bytes */
        else {
            memcpy(p, text.text + i, length);
            p += length;
        }
        i += length ? length : 1;
    }
    *p++ = '"';
    return (size_t)(p - to);
}

static size_t put_csv(char *to, pl_name text) {
    bool plain = text.bytes > 0 && text.text[0] != ' ' && text.text[text.bytes - 1] != ' ';
    char *p = to;
    for (uint64_t i = 0; i < text.bytes && plain; i++)
        plain = !strchr(",;\"\t\r\n", text.text[i]);
    if (!plain)
        *p++ = '"';
    for (uint64_t i = 0; i < text.bytes; i++) {
        *p++ = text.text[i];
        if (text.text[i] == '"')
            *p++ = '"';
    }
    if (!plain)
        *p++ = '"';
    return (size_t)(p - to);
}

static size_t put_text(pl_as as, char *to, pl_name text) {
    if (as == PL_AS_JSON)
        return put_json(to, text);
    if (as == PL_AS_CSV)
        return put_csv(to, text);
    memcpy(to, text.text, text.bytes);
    return text.bytes;
}

static pl_name name_of(const char *text) { return (pl_name){text, strlen(text)}; }

/* Writes each label once, since many rows share them. Words are quoted in JSON, and numbers are not. */
static parley_status write_labels(prediction_lines *lines, parley_error *error) {
    const parley_model *model = lines->model;
    uint64_t labels = pl_model_labels(model);
    parley_status status = pl_take(&lines->labels, labels, sizeof *lines->labels, "the labels", error);
    if (status == PARLEY_OK)
        status = pl_take(&lines->words, labels, sizeof *lines->words, "the labels", error);
    for (; lines->label_count < labels && status == PARLEY_OK; lines->label_count++) {
        uint64_t i = lines->label_count;
        char number[NUMBER];
        model->type->label(model, i, &lines->labels[i]);
        pl_name name = pl_model_label(model, lines->labels[i], number, sizeof number);
        bool word = name.text != number;
        status = pl_take(&lines->words[i].text, lines_room(name.bytes), 1, "the labels", error);
        if (status == PARLEY_OK)
            lines->words[i].bytes = put_text(word ? lines->as : PL_AS_TEXT, lines->words[i].text, name);
    }
    return status;
}

/* The text of a label's class, as in names of columns and keys. */
static parley_status class_text(const prediction_lines *lines, uint64_t number, const char *prefix, char **out,
                                parley_error *error) {
    char digits[NUMBER];
    pl_name name = pl_model_label(lines->model, lines->labels[number], digits, sizeof digits);
    size_t used = strlen(prefix);
    parley_status status = pl_take(out, used + name.bytes + 1, 1, "the names of columns", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(*out, prefix, used);
    memcpy(*out + used, name.text, name.bytes);
    return PARLEY_OK;
}

/* Whether a field is one of several of its kind, which JSON holds in one object. */
static bool is_one_of_several(const prediction_lines *lines, field_kind kind) {
    return kind == FIELD_PROBABILITY || (kind == FIELD_DECISION && lines->model->outputs > 1);
}

static parley_status add_field(prediction_lines *lines, field_kind kind, uint64_t number, parley_error *error) {
    static const char *const prefixes[] = {[FIELD_DECISION] = "decision_", [FIELD_PROBABILITY] = "probability_"};
    line_field *field = &lines->fields[lines->count++];
    field->kind = kind;
    field->number = number;
    lines->weighs |= kind == FIELD_PROBABILITY;
    if (is_one_of_several(lines, kind))
        return class_text(lines, number, prefixes[kind], &field->name, error);
    const char *name = kind == FIELD_ID         ? "id"
                       : kind == FIELD_DECISION ? "decision"
                       : lines->label_count > 0 ? "label"
                                                : "prediction";
    field->name = pl_strdup(name);
    return field->name ? PARLEY_OK : pl_fail_memory(error, "the names of columns", strlen(name));
}

static parley_status choose_fields(prediction_lines *lines, const parley_settings *settings, parley_error *error) {
    uint64_t outputs = lines->model->outputs, classes = lines->label_count;
    bool all = lines->output == PL_ALL_OUTPUTS;
    bool weighs = lines->output == PL_PROBABILITY || (all && lines->of_probability);
    bool upper_only = classes == 2 && outputs == 1 && lines->as == PL_AS_TEXT && !all;
    parley_status status = pl_take(&lines->fields, 2 + outputs + classes, sizeof *lines->fields, "the columns", error);
    if (status == PARLEY_OK && *settings->id)
        status = add_field(lines, FIELD_ID, 0, error);
    if (status == PARLEY_OK && (all || lines->output == PL_LABEL))
        status = add_field(lines, FIELD_LABEL, 0, error);
    for (uint64_t i = 0; i < outputs && status == PARLEY_OK && (all || lines->output == PL_DECISION); i++)
        status = add_field(lines, FIELD_DECISION, i, error);
    for (uint64_t i = upper_only; i < classes && status == PARLEY_OK && weighs; i++)
        status = add_field(lines, FIELD_PROBABILITY, i, error);
    return status;
}

/* Prepares the text before and after a field of a JSON object. Classes are the keys of an inner object. */
static parley_status frame_json(prediction_lines *lines, unsigned i, parley_error *error) {
    static const char *const keys[] = {[FIELD_DECISION] = "decision", [FIELD_PROBABILITY] = "probability"};
    line_field *field = &lines->fields[i];
    bool several = is_one_of_several(lines, field->kind);
    bool opens = several && (i == 0 || lines->fields[i - 1].kind != field->kind);
    bool closes = several && (i + 1 == lines->count || lines->fields[i + 1].kind != field->kind);
    bool last = i + 1 == lines->count;
    const char *key = several ? strchr(field->name, '_') + 1 : field->name;
    parley_status status = pl_take(&field->before, lines_room(strlen(key)) + 40, 1, "the columns", error);
    if (status == PARLEY_OK)
        status = pl_take(&field->after, 4, 1, "the columns", error);
    if (status != PARLEY_OK)
        return status;
    char *p = field->before + sprintf(field->before, "%s", i == 0 ? "{" : ", ");
    if (opens)
        p += sprintf(p, "\"%s\": {", keys[field->kind]);
    p += put_json(p, name_of(key));
    memcpy(p, ": ", 3);
    snprintf(field->after, 4, "%s%s", closes ? "}" : "", last ? "}\n" : "");
    return PARLEY_OK;
}

static parley_status frame_fields(prediction_lines *lines, parley_error *error) {
    parley_status status = PARLEY_OK;
    size_t label = NUMBER;
    for (uint64_t i = 0; i < lines->label_count; i++)
        if (lines->model->label_sets)
            label += lines->words[i].bytes + 2;
        else
            label = lines->words[i].bytes > label ? lines->words[i].bytes : label;
    for (unsigned i = 0; i < lines->count && status == PARLEY_OK; i++) {
        line_field *field = &lines->fields[i];
        if (lines->as == PL_AS_JSON)
            status = frame_json(lines, i, error);
        else {
            field->before = pl_strdup(i == 0 ? "" : lines->as == PL_AS_CSV ? "," : " ");
            field->after = pl_strdup(i + 1 == lines->count ? "\n" : "");
            if (!field->before || !field->after)
                status = pl_fail_memory(error, "the columns", 2);
        }
        if (status == PARLEY_OK)
            lines->width +=
                strlen(field->before) + strlen(field->after) + (field->kind == FIELD_LABEL ? label : NUMBER);
    }
    return status;
}

static parley_status set_threshold(prediction_lines *lines, const parley_settings *settings, const char *path,
                                   parley_error *error) {
    lines->threshold = settings->threshold;
    lines->decides = !isnan(settings->threshold);
    if (!lines->decides)
        return PARLEY_OK;
    if (lines->label_count != 2 || lines->model->label_sets)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--threshold decides between two classes, but the model in %s has %s; leave it out", path,
                       lines->label_count ? "more" : "none");
    if (lines->output == PL_DECISION || lines->output == PL_PROBABILITY)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--threshold has no effect on decisions and probabilities; print labels with --output label or "
                       "--output all");
    if (lines->of_probability && !(lines->threshold >= 0 && lines->threshold <= 1))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--threshold %g: the model gives probabilities, so the threshold must be between 0 and 1",
                       lines->threshold);
    return PARLEY_OK;
}

/* Finds the format and checks that the options agree. */
static parley_status choose_format(prediction_lines *lines, const parley_settings *settings, parley_error *error) {
    bool json = strcmp(settings->format, "json") == 0;
    bool columns = lines->output == PL_ALL_OUTPUTS || *settings->id || settings->header_line;
    lines->as = settings->as ? (pl_as)settings->as : json ? PL_AS_JSON : columns ? PL_AS_CSV : PL_AS_TEXT;
    lines->headed = settings->header_line;
    if (json && lines->as != PL_AS_JSON)
        return pl_fail(error, PARLEY_BAD_USAGE, "--format json and --as name two formats of predictions; give one");
    if (lines->as == PL_AS_JSON && settings->header_line)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "a header line has no effect with JSON, whose objects have keys; leave it out");
    return PARLEY_OK;
}

parley_status lines_open(prediction_lines *lines, const parley_settings *settings, const char *path,
                         const parley_model *model, parley_error *error) {
    parley_error reason;
    *lines = (prediction_lines){.model = model};
    lines->output = pl_setting_given(settings, "output") ? (pl_output)settings->output : model->type->output;
    lines->of_probability = model->type->finish(model, PL_PROBABILITY, NULL, &reason) == PARLEY_OK;
    if (lines->output == PL_PROBABILITY && !lines->of_probability)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: %s", path, reason.sentence);
    parley_status status = choose_format(lines, settings, error);
    if (status == PARLEY_OK)
        status = write_labels(lines, error);
    if (status == PARLEY_OK)
        status = set_threshold(lines, settings, path, error);
    if (status == PARLEY_OK)
        status = choose_fields(lines, settings, error);
    if (status == PARLEY_OK)
        status = frame_fields(lines, error);
    return status;
}

void lines_close(prediction_lines *lines) {
    for (unsigned i = 0; i < lines->count; i++) {
        pl_free(lines->fields[i].name);
        pl_free(lines->fields[i].before);
        pl_free(lines->fields[i].after);
    }
    for (uint64_t i = 0; i < lines->label_count; i++)
        pl_free(lines->words[i].text);
    pl_free(lines->fields);
    pl_free(lines->labels);
    pl_free(lines->words);
    *lines = (prediction_lines){0};
}

parley_status lines_head(const prediction_lines *lines, const char *id_name, FILE *file, parley_error *error) {
    for (unsigned i = 0; i < lines->count && lines->headed; i++) {
        const line_field *field = &lines->fields[i];
        pl_name name = name_of(field->kind == FIELD_ID && id_name ? id_name : field->name);
        char *text;
        parley_status status = pl_take(&text, lines_room(name.bytes) + 1, 1, "the names of columns", error);
        if (status != PARLEY_OK)
            return status;
        put_text(lines->as, text, name);
        fprintf(file, "%s%s%s", field->before, text, field->after);
        pl_free(text);
    }
    return PARLEY_OK;
}

/* Writes the labels of a row that may have several: 1,3 or, in JSON, [1, 3]. */
static size_t put_set(const prediction_lines *lines, const double *values, char *to) {
    bool json = lines->as == PL_AS_JSON, first = true, quoted = lines->as == PL_AS_CSV;
    uint64_t count = 0;
    char *p = to;
    for (uint64_t c = 0; c < lines->label_count; c++)
        count += values[c] > 0;
    quoted &= count != 1;
    p += sprintf(p, "%s", json ? "[" : quoted ? "\"" : "");
    for (uint64_t c = 0; c < lines->label_count; c++) {
        if (!(values[c] > 0))
            continue;
        p += sprintf(p, "%s", first ? "" : json ? ", " : ",");
        memcpy(p, lines->words[c].text, lines->words[c].bytes);
        p += lines->words[c].bytes;
        first = false;
    }
    p += sprintf(p, "%s", json ? "]" : quoted ? "\"" : "");
    return (size_t)(p - to);
}

static size_t put_label(const prediction_lines *lines, const double *values, const double *probability, char *to) {
    const parley_model *model = lines->model;
    uint64_t low = 0, high = lines->label_count;
    double label;
    if (model->label_sets)
        return put_set(lines, values, to);
    if (lines->decides)
        label = lines->labels[(lines->of_probability ? probability[1] : values[model->outputs - 1]) > lines->threshold];
    else
        label = model->type->predict(model, values);
    if (high == 2) /* the positive one comes second, even if it is the smaller */
        low = high = label == lines->labels[1];
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (lines->labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == lines->label_count)
        return put_number(to, label, lines->as == PL_AS_JSON);
    memcpy(to, lines->words[low].text, lines->words[low].bytes);
    return lines->words[low].bytes;
}

/* Computes the probability of each class. The lower of two classes has that of the negated decision value, which keeps
 * the digits of a small probability. */
static void weigh(const prediction_lines *lines, const double *values, double *probability) {
    const parley_model *model = lines->model;
    if (model->outputs == 1) {
        probability[0] = -values[0];
        probability[1] = values[0];
        model->type->finish(model, PL_PROBABILITY, &probability[0], NULL);
        model->type->finish(model, PL_PROBABILITY, &probability[1], NULL);
        return;
    }
    memcpy(probability, values, model->outputs * sizeof *values);
    model->type->finish(model, PL_PROBABILITY, probability, NULL);
}

size_t lines_put(const prediction_lines *lines, pl_name id, const double *values, double *scratch, char *line) {
    char *to = line;
    bool json = lines->as == PL_AS_JSON;
    if (lines->weighs || (lines->decides && lines->of_probability))
        weigh(lines, values, scratch);
    for (unsigned i = 0; i < lines->count; i++) {
        const line_field *field = &lines->fields[i];
        for (const char *p = field->before; *p; p++)
            *to++ = *p;
        switch (field->kind) {
        case FIELD_ID: to += put_text(lines->as, to, id); break;
        case FIELD_LABEL: to += put_label(lines, values, scratch, to); break;
        case FIELD_DECISION: to += put_number(to, values[field->number], json); break;
        case FIELD_PROBABILITY: to += put_number(to, scratch[field->number], json); break;
        }
        for (const char *p = field->after; *p; p++)
            *to++ = *p;
    }
    return (size_t)(to - line);
}
