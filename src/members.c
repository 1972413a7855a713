/* members.c: all members of all kinds, in the order in which `parley list` shows them. A new member is a file of its
 * own and a row here. The row declares a loss; other members are declared in the header of their kind. */
#include "data/format.h"
#include "linear/linear_settings.h"
#include "linear/stream/linear_stream.h"
#include "train/presets.h"

/* A build without a wing (cmake -DPARLEY_WITHOUT=topics) leaves out its members. */
#ifdef PARLEY_WITHOUT_TOPICS
#define WITH_TOPICS(...)
#else
#define WITH_TOPICS(...) __VA_ARGS__
#include "topics/lda.h"
#include "topics/topic_settings.h"
#endif
#ifdef PARLEY_WITHOUT_NETWORK
#define WITH_NETWORK(...)
#else
#define WITH_NETWORK(...) __VA_ARGS__
#include "network/net.h"
#include "network/net_settings.h"
#endif

/* Tests add members of their own with a header that defines the following four. */
#ifdef PL_EXTRA_MEMBERS
#include PL_EXTRA_MEMBERS
#else
#define PL_EXTRA_PROBLEMS
#define PL_EXTRA_LOCALS
#define PL_EXTRA_COMBINES
#define PL_EXTRA_PRESETS
#endif

const pl_format *const pl_formats[] = {&pl_format_libsvm, &pl_format_csv,     &pl_format_vw,
                                       &pl_format_idx,    &pl_format_docword, &pl_format_ldac,
                                       &pl_format_mm,     &pl_format_text,    &pl_format_multilabel};
const unsigned pl_formats_count = sizeof pl_formats / sizeof *pl_formats;

/* `auto` takes the first loss of each kind of labels. Losses of all classes together come last. */
#define LOSSES(ROW)                                                                                                    \
    ROW(pl_loss_squared)                                                                                               \
    ROW(pl_loss_logistic)                                                                                              \
    ROW(pl_loss_hinge)                                                                                                 \
    ROW(pl_loss_squared_hinge)                                                                                         \
    ROW(pl_loss_huber)                                                                                                 \
    ROW(pl_loss_epsilon_insensitive)                                                                                   \
    ROW(pl_loss_squared_epsilon)                                                                                       \
    ROW(pl_loss_quantile)                                                                                              \
    ROW(pl_loss_poisson)                                                                                               \
    ROW(pl_loss_gamma)                                                                                                 \
    ROW(pl_loss_tweedie)                                                                                               \
    ROW(pl_loss_softmax)
#define DECLARATION(loss) extern const pl_loss loss;
#define ADDRESS(loss) &(loss),
LOSSES(DECLARATION)
const pl_loss *const pl_losses[] = {LOSSES(ADDRESS)};
const unsigned pl_losses_count = sizeof pl_losses / sizeof *pl_losses;

const pl_own_list pl_own_lists[] = {{"losses", pl_loss_at}, {NULL, NULL}};

/* In the order in which help shows them. */
const pl_settings_table *const pl_settings_tables[] = {
    &pl_linear_settings_problem,
    &pl_settings_data_and_method,
    &pl_linear_settings_method,
    &pl_linear_settings_path,
    &pl_settings_plan,
    WITH_TOPICS(&pl_topic_settings_all, ) WITH_NETWORK(&pl_net_settings_all, ) & pl_settings_run,
    NULL};
const pl_settings_wing *const pl_settings_wings[] = {&pl_linear_wing,
                                                     WITH_TOPICS(&pl_topic_wing, ) WITH_NETWORK(&pl_net_wing, ) NULL};

const pl_engine_type *const pl_engines[] = {&pl_engine_threads, &pl_engine_mpi, &pl_engine_sim};
const unsigned pl_engines_count = sizeof pl_engines / sizeof *pl_engines;

const pl_problem_type *const pl_problems[] = {
    &pl_problem_linear, WITH_TOPICS(&pl_problem_lda, ) WITH_NETWORK(&pl_problem_network, ) PL_EXTRA_PROBLEMS};
const unsigned pl_problems_count = sizeof pl_problems / sizeof *pl_problems;

const pl_local_type *const pl_locals[] = {
    &pl_local_sdca,     &pl_local_scd,
    &pl_local_gradient, &pl_local_products,
    &pl_local_sgd,      WITH_TOPICS(&pl_local_svi, &pl_local_gibbs, ) WITH_NETWORK(&pl_local_mlp, ) PL_EXTRA_LOCALS};
const unsigned pl_locals_count = sizeof pl_locals / sizeof *pl_locals;

const pl_combine_type *const pl_combines[] = {
    &pl_combine_add,       &pl_combine_average,
    &pl_combine_step,      &pl_combine_newton,
    &pl_combine_truncated, &pl_combine_proximal,
    &pl_combine_lbfgs,     &pl_combine_exact,
    &pl_combine_sum,       WITH_NETWORK(&pl_combine_step_optimiser, ) PL_EXTRA_COMBINES};
const unsigned pl_combines_count = sizeof pl_combines / sizeof *pl_combines;

const pl_exchange_type *const pl_exchanges[] = {&pl_exchange_allreduce, &pl_exchange_driver, &pl_exchange_shared,
                                                &pl_exchange_server, &pl_exchange_peer};
const unsigned pl_exchanges_count = sizeof pl_exchanges / sizeof *pl_exchanges;

#define LINEAR(solver, combination, way)                                                                               \
    .problem = &pl_problem_linear, .local = &pl_local_##solver, .combine = &pl_combine_##combination,                  \
    .exchange = &pl_exchange_##way

#define TOPICS(solver, combination, way)                                                                               \
    .problem = &pl_problem_lda, .local = &pl_local_##solver, .combine = &pl_combine_##combination,                     \
    .exchange = &pl_exchange_##way

#define NETWORK(combination, way)                                                                                      \
    .problem = &pl_problem_network, .local = &pl_local_mlp, .combine = &pl_combine_##combination,                      \
    .exchange = &pl_exchange_##way

const pl_preset pl_presets[] = {
    {.name = "auto",
     .help = "chosen by the shape of the data and the problem",
     .exchange = &pl_exchange_allreduce}, /* that of every preset which it stands for */
    {.name = "cocoa",
     .help = "coordinate steps on shards of rows or columns, averaged",
     LINEAR(sdca, average, allreduce),
     .by_columns = &pl_local_scd},
    {.name = "cocoa+",
     .help = "coordinate steps on shards of rows or columns, added as far as it is safe",
     LINEAR(sdca, add, allreduce),
     .by_columns = &pl_local_scd},
    {.name = "cocoa-newton",
     .help = "cocoa+, which continues as newton if it is slow",
     LINEAR(sdca, add, allreduce),
     .by_columns = &pl_local_scd,
     .sequel = {"newton", 12.0, true}},
    {.name = "cocoa-lbfgs",
     .help = "cocoa+, which continues as lbfgs if it is slow",
     LINEAR(sdca, add, allreduce),
     .by_columns = &pl_local_scd,
     .sequel = {"lbfgs", 12.0, true}},
    {.name = "minibatch-cd",
     .help = "coordinate steps independent of each other, added as far as it is safe",
     LINEAR(sdca, add, allreduce),
     .defaults = {{"updates", "delayed"}},
     .by_columns = &pl_local_scd},
    {.name = "gd", .help = "gradient descent", LINEAR(gradient, step, allreduce)},
    {.name = "newton",
     .help = "Newton's method: by Cholesky for few columns, otherwise truncated",
     LINEAR(gradient, newton, allreduce)},
    {.name = "exact",
     .help = "squared loss with few columns, solved from the products of columns in one pass",
     LINEAR(products, exact, allreduce)},
    {.name = "lbfgs", .help = "L-BFGS, or OWL-QN with an L1 penalty", LINEAR(gradient, lbfgs, allreduce)},
    {.name = "spark-ml", .help = "lbfgs through a driver, as in Spark's ml", LINEAR(gradient, lbfgs, driver)},
    {.name = "minibatch-sgd",
     .help = "gradient steps on a tenth of the rows, by allreduce",
     LINEAR(gradient, step, allreduce),
     .defaults = {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {.name = "mllib-sgd",
     .help = "sampled gradient steps through a driver, as in Spark's MLlib",
     LINEAR(gradient, step, driver),
     .defaults = {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {.name = "hybrid",
     .help = "one epoch of ma-sgd, then lbfgs",
     LINEAR(sgd, average, allreduce),
     .sequel = {"lbfgs", 1.0, false}},
    {.name = "ma-sgd", .help = "sgd on shards, averaged after each epoch", LINEAR(sgd, average, allreduce)},
    {.name = "mllib-ma", .help = "ma-sgd through a driver", LINEAR(sgd, average, driver)},
    {.name = "splash",
     .help = "ma-sgd with each row counted as often as there are workers",
     LINEAR(sgd, average, allreduce),
     .defaults = {{"reweight", "true"}}},
    {.name = "oneshot",
     .help = "sgd on shards, averaged once at the end",
     LINEAR(sgd, average, allreduce),
     .defaults = {{"rounds", "1"}, {"local_epochs", "20"}, {"gap", "0"}}},
    {.name = "replicas",
     .help = "ma-sgd with one worker per core",
     LINEAR(sgd, average, allreduce),
     .defaults = {{"worker_per", "core"}}},
    {.name = "online",
     .help = "one pass over a stream, one step per row, as in Vowpal Wabbit",
     .problem = &pl_problem_linear,
     .stream = &pl_stream_online,
     .defaults = {{"gap", "0"}}},
    {.name = "petuum",
     .help = "sgd on parameter servers, changes added, at most 3 clocks apart, as in Petuum",
     LINEAR(sgd, sum, server),
     .defaults = {{"local_epochs", "0.1"}, {"staleness", "3"}}},
    {.name = "petuum*",
     .help = "petuum with averages instead of sums",
     LINEAR(sgd, average, server),
     .defaults = {{"local_epochs", "0.1"}, {"staleness", "3"}}},
    {.name = "angel",
     .help = "sgd on parameter servers, averaged after each epoch, as in Angel",
     LINEAR(sgd, average, server)},
    {.name = "ps-sync",
     .help = "minibatch-sgd on parameter servers",
     LINEAR(gradient, step, server),
     .defaults = {{"batch_fraction", "0.1"}, {"schedule", "inverse-sqrt"}}},
    {.name = "ps-async",
     .help = "ps-sync in which no worker waits for another",
     LINEAR(gradient, step, server),
     .defaults = {{"batch_fraction", "0.1"}, {"schedule", "constant"}, {"staleness", "async"}}},
    {.name = "ps-backup",
     .help = "ps-sync that goes on without the slowest worker of each clock",
     LINEAR(gradient, step, server),
     .defaults = {{"batch_fraction", "0.1"}, {"schedule", "constant"}, {"backups", "1"}}},
    {.name = "hogwild-peer",
     .help = "sgd of workers that send their changes to all others, without waiting",
     LINEAR(sgd, sum, peer),
     .defaults = {{"local_epochs", "0.1"}}},
    {.name = "hogwild", .help = "sgd of all workers on one shared model, without locks", LINEAR(sgd, average, shared)},
#ifndef PARLEY_WITHOUT_TOPICS
    {.name = "ma-lda", .help = "svi on shards, topics averaged after each pass", TOPICS(svi, average, allreduce)},
    {.name = "mllib-ma-lda", .help = "ma-lda through a driver", TOPICS(svi, average, driver)},
    {.name = "angel-svi", .help = "svi on common batches, statistics by allreduce", TOPICS(svi, sum, allreduce)},
    {.name = "mllib-lda", .help = "svi on common batches, statistics through a driver", TOPICS(svi, sum, driver)},
    {.name = "angel-lda", .help = "collapsed sampling, counts on parameter servers", TOPICS(gibbs, sum, server)},
#endif
#ifndef PARLEY_WITHOUT_NETWORK
    {.name = "minibatch-sgd", .help = "gradient steps on batches, by allreduce", NETWORK(step_optimiser, allreduce)},
    {.name = "mllib-sgd",
     .help = "gradient steps on all rows through a driver, as in Spark's MLlib",
     NETWORK(step_optimiser, driver),
     .defaults = {{"batch", "all"}, {"passes", "100"}}},
    {.name = "ma-sgd",
     .help = "steps on batches of each shard, averaged after each epoch",
     NETWORK(average, allreduce)},
    {.name = "ps-sync", .help = "minibatch-sgd on parameter servers", NETWORK(step_optimiser, server)},
    {.name = "ps-async",
     .help = "ps-sync in which no worker waits for another",
     NETWORK(step_optimiser, server),
     .defaults = {{"staleness", "async"}}},
    {.name = "ps-backup",
     .help = "ps-sync that goes on without the slowest worker of each clock",
     NETWORK(step_optimiser, server),
     .defaults = {{"backups", "1"}}},
#endif
    PL_EXTRA_PRESETS};
const unsigned pl_presets_count = sizeof pl_presets / sizeof *pl_presets;

const char *const pl_list_kinds[] = {"problems", "losses",  "solvers", "combines", "exchanges",
                                     "engines",  "presets", "formats", "metrics",  NULL};
