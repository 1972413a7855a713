/* registry.c: every member of every kind, in the order in which `parley list` shows them. A new member is a file of its
 * own, its declaration in the header of its kind, and its row here. */
#include <string.h>

#include "data/format.h"
#include "model/linear_model.h"
#include "train/presets.h"

const pl_format *const pl_formats[] = {&pl_format_libsvm, &pl_format_csv, &pl_format_vw, &pl_format_idx};
const unsigned pl_formats_count = sizeof pl_formats / sizeof *pl_formats;

const pl_loss *const pl_losses[] = {&pl_loss_squared,         &pl_loss_logistic, &pl_loss_hinge,
                                    &pl_loss_squared_hinge,   &pl_loss_huber,    &pl_loss_epsilon_insensitive,
                                    &pl_loss_squared_epsilon, &pl_loss_poisson,  &pl_loss_softmax};
const unsigned pl_losses_count = sizeof pl_losses / sizeof *pl_losses;

const pl_model_type *const pl_model_types[] = {&pl_model_linear};
const unsigned pl_model_types_count = sizeof pl_model_types / sizeof *pl_model_types;

const pl_engine_type *const pl_engines[] = {&pl_engine_threads, &pl_engine_mpi};
const unsigned pl_engines_count = sizeof pl_engines / sizeof *pl_engines;

const pl_local_type *const pl_locals[] = {&pl_local_sdca, &pl_local_scd, &pl_local_gradient, &pl_local_sgd,
                                          &pl_local_online};
const unsigned pl_locals_count = sizeof pl_locals / sizeof *pl_locals;

const pl_combine_type *const pl_combines[] = {&pl_combine_add,    &pl_combine_average,   &pl_combine_step,
                                              &pl_combine_newton, &pl_combine_truncated, &pl_combine_lbfgs};
const unsigned pl_combines_count = sizeof pl_combines / sizeof *pl_combines;

const pl_exchange_type *const pl_exchanges[] = {&pl_exchange_allreduce, &pl_exchange_driver, &pl_exchange_shared};
const unsigned pl_exchanges_count = sizeof pl_exchanges / sizeof *pl_exchanges;

const pl_preset pl_presets[] = {
    {.name = "auto", .help = "the method for the data's shape and the loss"},
    {"cocoa",
     "coordinate steps on shards of rows or columns, averaged",
     &pl_local_sdca,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{0}}},
    {"cocoa+",
     "coordinate steps on shards of rows or columns, added as far as is safe",
     &pl_local_sdca,
     &pl_combine_add,
     &pl_exchange_allreduce,
     {{0}}},
    {"cocoa-newton",
     "cocoa+, and where that is slow newton from there on",
     &pl_local_sdca,
     &pl_combine_add,
     &pl_exchange_allreduce,
     {{0}}},
    {"minibatch-cd",
     "coordinate steps that do not see each other, added as far as is safe",
     &pl_local_sdca,
     &pl_combine_add,
     &pl_exchange_allreduce,
     {{"updates", "delayed"}}},
    {"gd", "gradient descent", &pl_local_gradient, &pl_combine_step, &pl_exchange_allreduce, {{0}}},
    {"newton",
     "Newton's method: by Cholesky for few columns, else truncated",
     &pl_local_gradient,
     &pl_combine_newton,
     &pl_exchange_allreduce,
     {{0}}},
    {"lbfgs",
     "L-BFGS; with an L1 penalty OWL-QN",
     &pl_local_gradient,
     &pl_combine_lbfgs,
     &pl_exchange_allreduce,
     {{0}}},
    {"spark-ml",
     "the same through a driver, as Spark's ml does",
     &pl_local_gradient,
     &pl_combine_lbfgs,
     &pl_exchange_driver,
     {{0}}},
    {"minibatch-sgd",
     "gradients of a tenth of the rows, allreduce",
     &pl_local_gradient,
     &pl_combine_step,
     &pl_exchange_allreduce,
     {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {"mllib-sgd",
     "the same through a driver, as Spark's MLlib does",
     &pl_local_gradient,
     &pl_combine_step,
     &pl_exchange_driver,
     {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {"hybrid", "one epoch of ma-sgd, then lbfgs", &pl_local_sgd, &pl_combine_average, &pl_exchange_allreduce, {{0}}},
    {"ma-sgd",
     "sgd on shards, averaged after each epoch",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{0}}},
    {"mllib-ma", "the same through a driver", &pl_local_sgd, &pl_combine_average, &pl_exchange_driver, {{0}}},
    {"splash",
     "the same with rows that count as often as there are workers",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"reweight", "true"}}},
    {"oneshot",
     "sgd on shards, averaged once at the end",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"rounds", "1"}, {"local_epochs", "20"}, {"gap", "0"}}},
    {"replicas",
     "ma-sgd with a worker for each core",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"worker_per", "core"}}},
    {"online",
     "one pass over a stream, a step for each row, as Vowpal Wabbit does",
     &pl_local_online,
     &pl_combine_average,
     &pl_exchange_allreduce,
     {{"gap", "0"}}},
    {"hogwild",
     "sgd of all workers on one model in memory, without locks",
     &pl_local_sgd,
     &pl_combine_average,
     &pl_exchange_shared,
     {{0}}},
};
const unsigned pl_presets_count = sizeof pl_presets / sizeof *pl_presets;

const char *const pl_list_kinds[] = {"losses",  "solvers", "combines", "exchanges", "engines",
                                     "presets", "formats", "metrics",  NULL};

/* Types may share names of metrics, which are listed once. */
static unsigned list_metrics(pl_entry *entries) {
    unsigned count = 0;
    for (unsigned i = 0; i < pl_model_types_count; i++)
        for (const pl_model_metric *metric = pl_model_types[i]->metrics; metric->name && count < PL_ENTRIES; metric++) {
            unsigned at = 0;
            while (at < count && strcmp(entries[at].name, metric->name) != 0)
                at++;
            if (at == count)
                entries[count++] = (pl_entry){metric->name, metric->help};
        }
    return count;
}

unsigned pl_list(const char *kind, pl_entry *entries) {
    unsigned i = 0;
    if (strcmp(kind, "losses") == 0)
        for (; i < pl_losses_count; i++)
            entries[i] = (pl_entry){pl_losses[i]->name, pl_losses[i]->help};
    else if (strcmp(kind, "solvers") == 0)
        for (; i < pl_locals_count; i++)
            entries[i] = (pl_entry){pl_locals[i]->name, pl_locals[i]->help};
    else if (strcmp(kind, "combines") == 0)
        for (; i < pl_combines_count; i++)
            entries[i] = (pl_entry){pl_combines[i]->name, pl_combines[i]->help};
    else if (strcmp(kind, "exchanges") == 0)
        for (; i < pl_exchanges_count; i++)
            entries[i] = (pl_entry){pl_exchanges[i]->name, pl_exchanges[i]->help};
    else if (strcmp(kind, "engines") == 0)
        for (; i < pl_engines_count; i++)
            entries[i] = (pl_entry){pl_engines[i]->name, pl_engines[i]->help};
    else if (strcmp(kind, "presets") == 0)
        for (; i < pl_presets_count; i++)
            entries[i] = (pl_entry){pl_presets[i].name, pl_presets[i].help};
    else if (strcmp(kind, "formats") == 0)
        for (; i < pl_formats_count; i++)
            entries[i] = (pl_entry){pl_formats[i]->name, pl_formats[i]->help};
    else if (strcmp(kind, "metrics") == 0)
        i = list_metrics(entries);
    return i;
}

const char *parley_list_at(const char *kind, unsigned number, const char **help) {
    pl_entry entries[PL_ENTRIES];
    bool is_one = number < pl_list(kind, entries);
    if (help)
        *help = is_one ? entries[number].help : NULL;
    return is_one ? entries[number].name : NULL;
}
