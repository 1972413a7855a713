/* predict_file.c: apply a model to the rows of a file, and print the label of each.
 *
 *     cc predict_file.c $(pkg-config --cflags --libs parley) -o predict_file
 *     ./predict_file model.safetensors data.svm */
#include <parley.h>
#include <stdio.h>
#include <stdlib.h>

static double label_of(const parley_model *model, const double *decisions, uint64_t outputs) {
    const double *labels = parley_model_labels(model);
    double two[2];
    uint64_t best = 0;
    if (parley_model_two_labels(model, two))
        return two[*decisions > 0];
    for (uint64_t output = 1; output < outputs; output++)
        best = decisions[output] > decisions[best] ? output : best;
    return labels ? labels[best] : *decisions;
}

static void print_label(const parley_model *model, double label) {
    uint64_t bytes = 0;
    const char *word = label >= 0 ? parley_model_class_name(model, (uint64_t)label, &bytes) : "";
    if (bytes > 0)
        printf("%.*s\n", (int)bytes, word);
    else
        printf("%g\n", label);
}

static void warn(void *user, const char *sentence) {
    (void)user;
    fprintf(stderr, "%s\n", sentence);
}

static parley_status predict(const parley_model *model, const parley_data *data, parley_error *error) {
    uint64_t rows, outputs;
    parley_data_shape(data, &rows, NULL, NULL);
    parley_model_shape(model, &outputs, NULL);
    double *decisions = (double *)malloc(rows * outputs * sizeof *decisions);
    if (!decisions)
        return PARLEY_NO_MEMORY;
    parley_status status = parley_decide(model, data, decisions, error);
    for (uint64_t row = 0; row < rows && status == PARLEY_OK; row++)
        print_label(model, label_of(model, decisions + row * outputs, outputs));
    free(decisions);
    return status;
}

int main(int count, char **arguments) {
    parley_settings *settings = NULL;
    parley_model *model = NULL;
    parley_data *data = NULL;
    parley_error error = {PARLEY_NO_MEMORY, "out of memory"};
    if (count != 3)
        return 2;
    parley_status status = parley_settings_new(&settings, &error);
    if (status == PARLEY_OK)
        status = parley_model_load(arguments[1], &model, &error);
    if (status == PARLEY_OK)
        status = parley_data_read_for(model, arguments[2], settings, warn, NULL, &data, &error);
    if (status == PARLEY_OK)
        status = predict(model, data, &error);
    if (status != PARLEY_OK)
        fprintf(stderr, "%s\n", error.sentence);
    parley_data_free(data);
    parley_model_free(model);
    parley_settings_free(settings);
    return status;
}
