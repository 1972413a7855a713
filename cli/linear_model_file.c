/* linear_model_file.c: loads the model that a command is given, which may be one of a path. */
#include "cli.h"

/* Asks for --at, with the lambdas that there are. */
static parley_status ask_for_point(const char *file, parley_error *error) {
    parley_path_result *path;
    uint64_t count;
    parley_status status = parley_path_load(file, &path, error);
    if (status != PARLEY_OK)
        return status;
    const parley_point *points = parley_path_points(path, &count);
    pl_fail(error, PARLEY_BAD_USAGE,
            "%s is a path of %llu models; choose one with --at LAMBDA, from %.10g down to %.10g, or with --at first or "
            "--at last",
            file, (unsigned long long)count, points[0].lambda, points[count - 1].lambda);
    parley_path_free(path);
    return PARLEY_BAD_USAGE;
}

static void tell_lambda(void *user, const char *sentence) {
    fprintf(stderr, "--at %s: %s\n", (const char *)user, sentence);
}

static parley_status load_point(const char *file, const char *at, parley_model **out, parley_error *error) {
    parley_path_result *path;
    parley_error reason;
    parley_status status = parley_path_load(file, &path, error);
    if (status == PARLEY_BAD_INPUT && !parley_is_path(file))
        return pl_fail(error, PARLEY_BAD_USAGE, "--at has no effect: %s is not a path of models; leave it out", file);
    if (status != PARLEY_OK)
        return status;
    status = parley_path_at(path, at, tell_lambda, (void *)at, out, &reason);
    if (status != PARLEY_OK)
        pl_fail(error, status, "--at %.60s: %s", at, reason.sentence);
    parley_path_free(path);
    return status;
}

/* Whether the operands after the first begin with a model: then they were given in the wrong order. */
static bool comes_later(const arguments *arguments) {
    parley_model *model = NULL;
    bool later = arguments->count > 1 && parley_model_load(arguments->operands[1], &model, NULL) == PARLEY_OK;
    parley_model_free(model);
    return later;
}

parley_status load_model(const arguments *arguments, parley_model **out, parley_error *error) {
    const char *file = arguments->operands[0], *at = arguments->settings.at;
    *out = NULL;
    if (*at)
        return load_point(file, at, out, error);
    parley_status status = parley_model_load(file, out, error);
    if (status == PARLEY_BAD_INPUT && parley_is_path(file))
        return ask_for_point(file, error);
    if (status == PARLEY_BAD_INPUT && comes_later(arguments))
        return pl_fail(error, status, "%s: this is not a model, but %s is: give the model first, then the data", file,
                       arguments->operands[1]);
    return status;
}
