/* train_file.c: train on a file, print how good the model is.
 *
 *     cc file.c $(pkg-config --cflags --libs parley) -o file && ./file data.svm */
#include <parley.h>
#include <stdio.h>

int main(int count, char **arguments) {
    parley_settings *settings = NULL;
    parley_data *data = NULL;
    parley_model *model = NULL;
    parley_summary summary;
    parley_error error;
    if (count != 2)
        return 2;
    parley_status status = parley_settings_new(&settings, &error);
    if (status == PARLEY_OK)
        status = parley_settings_set(settings, "loss", "logistic", &error);
    if (status == PARLEY_OK)
        status = parley_data_read(arguments[1], 0, &data, &error);
    if (status == PARLEY_OK)
        status = parley_train(data, settings, NULL, NULL, &model, &summary, &error);
    if (status == PARLEY_OK)
        printf("%s at relative gap %g\n", parley_stop_text(summary.stop), summary.relative_gap);
    else
        fprintf(stderr, "%s\n", error.sentence);
    parley_model_free(model);
    parley_data_free(data);
    parley_settings_free(settings);
    return status;
}
