/* settings.c: the settings table and what is made from it. */
#include "base/settings.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define AT(field) .offset = offsetof(struct parley_settings, field)
#define MANY 1e18
#define FOR_COLUMNS (PL_FOR_TRAIN | PL_FOR_CONVERT | PL_FOR_INFO) /* elsewhere the model knows its columns */
#define FOR_WORDS (PL_FOR_TOPICS | PL_FOR_CONVERT | PL_FOR_INFO)
#define FOR_READING (PL_FOR_TRAIN | PL_FOR_PREDICT | PL_FOR_EVAL | PL_FOR_CONVERT | PL_FOR_INFO)

const pl_setting pl_settings[] = {
    {"loss", PL_WORD, PL_FOR_LINEAR, "auto", .list = "losses", .value_name = "NAME", .may_be_auto = true,
     .in_model = true, .heading = "The problem",
     .help = "loss function; auto: logistic for two labels, softmax for 3 to 64 whole-number labels that "
             "repeat, otherwise squared",
     AT(loss)},
    {"huber_width", PL_REAL, PL_FOR_LINEAR, "1.35", 1e-100, 1e100, .value_name = "X", .optional = true,
     .in_model = true,
     .help = "loss huber: absolute error, in units of the label, up to which the loss is quadratic; beyond it, linear",
     AT(huber_width)},
    {"epsilon", PL_REAL, PL_FOR_LINEAR, "0.1", 0, 1e100, .value_name = "X", .optional = true, .in_model = true,
     .help = "losses epsilon-insensitive and squared-epsilon-insensitive: absolute error that costs nothing, in units "
             "of the label",
     AT(epsilon)},
    {"quantile", PL_REAL, PL_FOR_LINEAR, "0.5", 1e-6, 1 - 1e-6, .value_name = "X", .optional = true, .in_model = true,
     .help = "loss quantile: share of the labels that should lie below the prediction; 0.5: the median", AT(quantile)},
    {"power", PL_REAL, PL_FOR_LINEAR, "1.5", 1.001, 1.999, .value_name = "X", .optional = true, .in_model = true,
     .help = "loss tweedie: the variance of labels is proportional to this power of their mean; 1 is --loss poisson, 2 "
             "is --loss gamma",
     AT(power)},
    {"lambda", PL_REAL, PL_FOR_LINEAR_ONE, "auto", 0, 1e300, .value_name = "X", .may_be_auto = true, .in_model = true,
     .help =
         "strength of the penalty, relative to the mean loss; auto: 1 / sum of weights, which is C = 1 in LIBLINEAR",
     AT(lambda)},
    {"C", PL_REAL, PL_FOR_LINEAR_ONE, "auto", 1e-300, 1e300, .value_name = "X", .may_be_auto = true,
     .help = "the strength as in LIBLINEAR and scikit-learn's classifiers: lambda = 1 / (C x sum of weights)", AT(c)},
    {"alpha", PL_REAL, PL_FOR_LINEAR_ONE, "auto", 0, 1e300, .value_name = "X", .may_be_auto = true,
     .help = "the strength as in scikit-learn's regressions: lambda = alpha, or alpha / sum of weights for squared "
             "loss without L1, as in Ridge",
     AT(alpha)},
    {"l1_ratio", PL_REAL, PL_FOR_LINEAR, "0", 0, 1, .value_name = "X", .in_model = true,
     .help = "share of the penalty that is L1: 0 is ridge, 1 is lasso, between them is elastic net", AT(l1_ratio)},
    {"intercept", PL_CHOICE, PL_FOR_LINEAR, "free", .choices = "free|penalised|none", .value_name = "KIND",
     .in_model = true, .help = "free: not penalised; penalised: treated as a column of ones; none: no intercept",
     AT(intercept)},
    {"standardise", PL_FLAG, PL_FOR_LINEAR | PL_FOR_NETWORK, "false", .in_model = true,
     .help = "linear models: penalise as if every column had variance 1; networks: train on columns, and on targets of "
             "squared loss, of mean 0 and variance 1; the model still applies to the original columns",
     AT(standardise)},
    {"penalty_factors", PL_WORD, PL_FOR_LINEAR, "", .value_name = "WORD", .in_model = true,
     .help =
         "NAME=F,NAME=F: factors of the penalty by column (0: no penalty), where NAME is a column's name or number; "
         "or a file with one factor per column",
     AT(penalty_factors)},
    {"non_negative", PL_FLAG, PL_FOR_LINEAR, "false", .in_model = true,
     .help = "keep the coefficients of columns at 0 or more", AT(non_negative)},
    {"inference", PL_FLAG, PL_FOR_LINEAR_ONE | PL_FOR_INFO, "false",
     .help = "train: store standard errors of coefficients, for losses squared, logistic and poisson without L1 "
             "penalty; info: show them with z, p and 95 % intervals",
     AT(inference)},
    {"weights", PL_WORD, PL_FOR_TRAIN | PL_FOR_CONVERT | PL_FOR_EVAL, "", .value_name = "FILE",
     .help = "file with one non-negative weight per row of the data", AT(weights)},
    {"class_weights", PL_WORD, PL_FOR_LINEAR, "", .value_name = "WORD", .in_model = true,
     .help =
         "balanced: all classes have the same total weight; LABEL=W,LABEL=W: factors for the weights of rows, by label",
     AT(class_weights)},
    {"problem", PL_WORD, 0, "linear", .list = "problems", .value_name = "NAME",
     .help = "type of problem; it follows from the command: `parley train` solves linear", AT(problem)},
    {"format", PL_WORD, FOR_READING, "auto", .list = "formats", .value_name = "NAME", .may_be_auto = true,
     .heading = "Reading", .help = "format of the data; auto: recognised by content", AT(format)},
    {"header", PL_CHOICE, FOR_READING, "auto", .choices = "auto|yes|no", .value_name = "KIND", .bare = "header_line",
     .help = "CSV: whether the first line holds names; auto: it does if none of its fields is a number or empty",
     AT(header)},
    {"separator", PL_CHOICE, FOR_READING, "auto", .choices = "auto|comma|tab|semicolon", .value_name = "KIND",
     .help = "CSV: separator of fields; auto: the one that splits the first lines into equally many fields",
     AT(separator)},
    {"label_column", PL_WORD, FOR_READING, "", .value_name = "COLUMN",
     .help = "CSV: name or number (from 1) of the label column; default: the model's, the column named label, target, "
             "y or class, or the last one of a file without names",
     AT(label_column)},
    {"weight_column", PL_WORD, FOR_READING, "", .value_name = "COLUMN",
     .help = "CSV: name or number of a column with one non-negative weight per row", AT(weight_column)},
    {"categorical", PL_WORD, FOR_COLUMNS, "", .value_name = "COLUMNS",
     .help = "CSV: categorical columns, as names or numbers separated by commas; columns of words always are",
     AT(categorical)},
    {"columns", PL_WORD, FOR_COLUMNS | PL_FOR_GENERATE, "", .value_name = "COLUMNS",
     .help = "CSV: use only these columns, besides labels and weights, as names or numbers separated by commas; "
             "generate: number of columns, 1000 if not given",
     AT(columns)},
    {"ignore", PL_WORD, FOR_COLUMNS, "", .value_name = "COLUMNS",
     .help = "CSV: leave out these columns, as names or numbers separated by commas", AT(ignore)},
    {"interactions", PL_WORD, FOR_COLUMNS, "", .value_name = "A:B,...",
     .help = "CSV: add the products of pairs of columns; VW: of pairs of namespaces, by their first letters",
     AT(interactions)},
    {"categories", PL_CHOICE, FOR_COLUMNS, "enumerate", .choices = "enumerate|hash", .value_name = "KIND",
     .help = "CSV: enumerate gives each category a column of its own; hash chooses its column by a hash",
     AT(categories)},
    {"hash_bits", PL_WHOLE, FOR_COLUMNS, "18", 1, 30, .value_name = "B",
     .help = "VW, and CSV with --categories hash: hash into 2^B columns; online: also fold other columns into 2^B",
     AT(hash_bits)},
    {"missing", PL_CHOICE, FOR_READING, "auto", .choices = "auto|zero|mean|median|indicator|error",
     .value_name = "KIND",
     .help = "CSV: replace missing numbers by 0, or by the column's mean or median; indicator: by the mean, with a "
             "category for missing values; error: reject them; auto: the model's, or the mean, but 0 in columns where "
             "most are missing",
     AT(missing)},
    {"missing_words", PL_WORD, FOR_READING, "", .value_name = "WORD,...",
     .help = "CSV: words for missing values, besides an empty field, ?, NA, N/A, NaN, null, none and unknown",
     AT(missing_words)},
    {"keep_names", PL_FLAG, PL_FOR_TRAIN | PL_FOR_CONVERT, "false",
     .help = "keep the first name of each hashed column, which takes memory", AT(keep_names)},
    {"stop_words", PL_WORD, FOR_WORDS, "", .value_name = "FILE",
     .help = "text: file with words to leave out, one per line", AT(stop_words)},
    {"min_documents", PL_REAL, FOR_WORDS, "1", 0, MANY, .value_name = "X",
     .help = "text: leave out words that are in fewer documents; below 1: a share of them", AT(min_documents)},
    {"max_documents", PL_REAL, FOR_WORDS, "1", 0, MANY, .value_name = "X",
     .help = "text: leave out words that are in more documents; up to 1: a share of them", AT(max_documents)},
    {"words", PL_WHOLE, FOR_WORDS, "auto", 1, MANY, .value_name = "N", .may_be_auto = true,
     .help = "text: keep only the N most frequent words", AT(words)},
    {"labels", PL_WORD, FOR_READING, "", .value_name = "FILE",
     .help = "IDX: file of labels; default: the name of DATA with `labels` for `images` and `idx1` for `idx3`",
     AT(labels)},
    {"to", PL_WORD, PL_FOR_CONVERT, "", .value_name = "NAME",
     .help = "format to write: libsvm, csv, vw or cache; default: by the extension of OUT", AT(to)},
    {"ranks", PL_WHOLE, PL_FOR_LAUNCH, "auto", 1, 65536, .value_name = "N", .may_be_auto = true, .letter = 'n',
     .heading = "Launching", .help = "processes to start; auto: one per slot in --hosts, otherwise one", AT(ranks)},
    {"hosts", PL_WORD, PL_FOR_LAUNCH | PL_FOR_TRAIN, "", .value_name = "FILE|N",
     .help = "launch: file with one machine per line: name, name:4 or name slots=4; default: all processes run on this "
             "machine; with --engine sim: number of hosts to simulate",
     AT(hosts)},
    {"restarts", PL_WHOLE, PL_FOR_LAUNCH, "0", 0, MANY, .value_name = "N",
     .help = "how many times to restart after a rank is lost", AT(restarts)},
    {"shell", PL_WORD, PL_FOR_LAUNCH, "ssh", .value_name = "PROGRAM",
     .help = "program that runs a command on another machine; its arguments are the machine's name and the command",
     AT(shell)},
    {"address", PL_WORD, PL_FOR_LAUNCH, "", .value_name = "ADDRESS",
     .help = "address at which other machines reach this one; default: detected", AT(address)},
    {"preset", PL_WORD, PL_FOR_TRAIN, "auto", .list = "presets", .value_name = "NAME", .in_model = true,
     .heading = "The method", .help = "method by name; auto: chosen by the shape of the data and the problem",
     AT(preset)},
    {"local", PL_WORD, PL_FOR_TRAIN, "auto", .list = "solvers", .value_name = "NAME", .may_be_auto = true,
     .in_model = true, .help = "local solver, instead of the preset's", AT(local)},
    {"combine", PL_WORD, PL_FOR_TRAIN, "auto", .list = "combines", .value_name = "NAME", .may_be_auto = true,
     .in_model = true, .help = "combine, instead of the preset's", AT(combine)},
    {"exchange", PL_WORD, PL_FOR_TRAIN, "auto", .list = "exchanges", .value_name = "NAME", .may_be_auto = true,
     .in_model = true, .help = "exchange, instead of the preset's", AT(exchange)},
    {"engine", PL_WORD, PL_FOR_TRAIN, "auto", .list = "engines", .value_name = "NAME", .may_be_auto = true,
     .help = "engine that runs the workers and carries their messages; auto: mpi in processes started by MPI, "
             "otherwise threads",
     AT(engine)},
    {"deadline", PL_REAL, PL_FOR_TRAIN | PL_FOR_PROBE, "60", 0.1, 1e9, .value_name = "SECONDS",
     .help = "how long a rank waits for another one before the run ends with an error", AT(deadline)},
    {"between_ranks", PL_CHOICE, PL_FOR_TRAIN | PL_FOR_PROBE, "memory", .choices = "memory|messages",
     .value_name = "KIND", .help = "how ranks on one host exchange updates: through shared memory, or by messages",
     AT(between_ranks)},
    {"inputs", PL_CHOICE, PL_FOR_ONE, "shared", .choices = "shared|own", .value_name = "KIND",
     .help = "shared: every rank sees the same DATA and reads a part of it; own: the DATA of a rank are rows that only "
             "it has, and the rows of all ranks, in the order of ranks, are the data",
     AT(inputs)},
    {"row_order", PL_CHOICE, PL_FOR_ONE, "given", .choices = "given|content", .value_name = "KIND",
     .help = "order in which rows are dealt to workers: as given, or sorted by a hash of each row, so that the model "
             "does not depend on their order in DATA",
     AT(row_order)},
    {"workers", PL_WHOLE, PL_FOR_TRAIN, "auto", 1, 65536, .value_name = "K", .may_be_auto = true, .in_model = true,
     .help = "number of workers, each with a shard of the rows; auto: see --worker-per", AT(workers)},
    {"worker_per", PL_CHOICE, PL_FOR_TRAIN, "process", .choices = "process|core", .value_name = "KIND",
     .help = "where --workers is auto: one worker per process, or one per thread of each process", AT(worker_per)},
    {"lanes", PL_WHOLE, PL_FOR_TRAIN, "auto", 1, 1024, .value_name = "L", .may_be_auto = true, .optional = true,
     .in_model = true,
     .help = "parallel lanes within a worker; auto: the number of threads per worker, if the data are large enough",
     AT(lanes)},
    {"threads", PL_WHOLE, PL_FOR_TRAIN | PL_FOR_PREDICT | PL_FOR_EVAL | PL_FOR_CONVERT, "auto", 1, 4096,
     .value_name = "T", .may_be_auto = true, .help = "threads of this process; auto: all cores", AT(threads)},
    {"memory", PL_WHOLE, PL_FOR_TRAIN | PL_FOR_PREDICT | PL_FOR_EVAL | PL_FOR_CONVERT, "auto", 1, MANY,
     .value_name = "MB", .may_be_auto = true,
     .help = "memory that this process may use; auto: what the machine, control groups and limits leave", AT(memory)},
    {"seed", PL_WHOLE, PL_FOR_TRAIN | PL_FOR_GENERATE, "1", 0, MANY, .value_name = "N", .in_model = true,
     .help = "seed of all random streams", AT(seed)},
    {"local_epochs", PL_REAL, PL_FOR_TRAIN, "1", 1e-9, 1e9, .value_name = "X", .may_be_auto = true, .optional = true,
     .in_model = true,
     .help = "passes over its shard that a worker makes between two exchanges (H); auto: see --local-steps",
     AT(local_epochs)},
    {"local_steps", PL_WHOLE, PL_FOR_TRAIN, "auto", 1, MANY, .value_name = "N", .may_be_auto = true, .optional = true,
     .in_model = true,
     .help = "H in single steps; if set to auto, adapted during training to the cost of steps and exchanges",
     AT(local_steps)},
    {"updates", PL_CHOICE, PL_FOR_LINEAR, "immediate", .choices = "immediate|delayed", .value_name = "KIND",
     .optional = true, .in_model = true,
     .help = "whether a step sees the worker's earlier steps of the same round, or only after the exchange",
     AT(updates)},
    {"batch_fraction", PL_REAL, PL_FOR_TRAIN, "1", 1e-9, 1, .value_name = "X", .optional = true, .in_model = true,
     .help = "share of its rows that a worker samples for one gradient; 1: all rows", AT(batch_fraction)},
    {"rate", PL_REAL, PL_FOR_TRAIN, "auto", 1e-300, 1e300, .value_name = "X", .may_be_auto = true, .optional = true,
     .in_model = true,
     .help = "learning rate; auto: found on a sample of the data, or for networks 0.002 with adam, 0.01 with adagrad, "
             "0.1 with sgd and 0.05 with momentum and nesterov",
     AT(rate)},
    {"schedule", PL_CHOICE, PL_FOR_TRAIN, "auto",
     .choices = "auto|constant|inverse|inverse-sqrt|adagrad|normalised|step|cosine", .value_name = "KIND",
     .optional = true, .in_model = true,
     .help =
         "learning rate at round k, or at pass k of a network: constant, rate/k or rate/sqrt k; adagrad and "
         "normalised: per column, by its gradients, and by its scale too; for networks, step: multiplied by --decay "
         "every --decay-every passes; cosine, their auto: falls to 0 by the last pass",
     AT(schedule)},
    {"average_iterates", PL_FLAG, PL_FOR_LINEAR, "false", .optional = true, .in_model = true,
     .help = "a worker offers the mean of its iterates in the round instead of the last one", AT(average_iterates)},
    {"reweight", PL_FLAG, PL_FOR_LINEAR, "false", .optional = true, .in_model = true,
     .help = "count a worker's rows K times, as if its shard were the whole data", AT(reweight)},
    {"passes", PL_WHOLE, PL_FOR_TRAIN, "auto", 1, MANY, .value_name = "N", .may_be_auto = true, .optional = true,
     .in_model = true, .help = "stop after this many passes over the data; auto: one over a stream, otherwise no limit",
     AT(passes)},
    {"history", PL_WHOLE, PL_FOR_LINEAR, "10", 1, 1000, .value_name = "N", .optional = true, .in_model = true,
     .help = "pairs of steps and gradient changes that lbfgs keeps", AT(history)},
    {"staleness", PL_WORD, PL_FOR_TRAIN, "0", .value_name = "N|async", .optional = true, .in_model = true,
     .help = "clocks (exchanges) that a worker may be ahead of the slowest one: 0: all wait for each other (BSP); N: "
             "bounded (SSP); async: nobody waits (ASP)",
     AT(staleness)},
    {"servers", PL_WHOLE, PL_FOR_TRAIN, "0", 0, 65535, .value_name = "N", .optional = true,
     .help =
         "exchange server: processes, of those that were started, or tasks of a single process, that own the slices "
         "of v and have no workers; 0: every process with workers owns a slice",
     AT(servers)},
    {"backups", PL_WHOLE, PL_FOR_TRAIN, "0", 0, 65535, .value_name = "B", .optional = true, .in_model = true,
     .help = "with --staleness 0: close a clock without the B slowest workers, and drop their updates", AT(backups)},
    {"clocks", PL_WHOLE, PL_FOR_TRAIN, "auto", 1, MANY, .value_name = "N", .may_be_auto = true, .optional = true,
     .in_model = true,
     .help = "clocks of each worker in an asynchronous round, at whose end all park and the model is evaluated; auto: "
             "those of about one pass over the data",
     AT(clocks)},
    {"straggler", PL_WORD, PL_FOR_TRAIN, "", .value_name = "X:F",
     .help = "make workers slow, for experiments: 0.05:4 makes a twentieth of all clocks take four times as long; @2:4 "
             "those of worker 2",
     AT(straggler)},
    {"network", PL_WORD, PL_FOR_TRAIN, "1Gbit", .value_name = "RATE|FILE",
     .help = "engine sim: bandwidth of a host's link in each direction, such as 100Mbit, or a file that parley probe "
             "wrote",
     AT(network)},
    {"latency", PL_WORD, PL_FOR_TRAIN, "auto", .value_name = "TIME",
     .help = "engine sim: how long a message travels, such as 50us; auto: the file's, or 50us", AT(latency)},
    {"host_speed", PL_WORD, PL_FOR_TRAIN, "1", .value_name = "X,...",
     .help =
         "engine sim: speed of the hosts' processors, relative to this machine or to the model; several are taken in "
         "turns",
     AT(host_speed)},
    {"compute", PL_CHOICE, PL_FOR_TRAIN, "measured", .choices = "measured|modelled", .value_name = "KIND",
     .help =
         "engine sim: processor time as measured on this machine, or modelled per non-zero and entry, which repeats "
         "exactly",
     AT(compute)},
    {"start", PL_WORD, PL_FOR_ONE, "", .value_name = "MODEL",
     .help = "model file to start from, with the same columns and labels; other settings may differ", AT(start)},
    {"lambdas", PL_WHOLE, PL_FOR_PATH | PL_FOR_CV, "100", 1, 10000, .value_name = "N", .heading = "The path",
     .help = "number of lambdas, decreasing evenly on a log scale from the smallest at which all coefficients are 0",
     AT(lambdas)},
    {"lambda_ratio", PL_REAL, PL_FOR_PATH | PL_FOR_CV, "auto", 1e-12, 1, .value_name = "X", .may_be_auto = true,
     .help = "ratio of the last lambda to the first; auto: 1e-2 if there are more columns than rows, otherwise 1e-4",
     AT(lambda_ratio)},
    {"lambda_list", PL_WORD, PL_FOR_PATH | PL_FOR_CV, "", .value_name = "X,X,...", .help = "use these lambdas instead",
     AT(lambda_list)},
    {"full_path", PL_FLAG, PL_FOR_PATH | PL_FOR_CV, "false",
     .help = "continue to the last lambda; by default a path ends, as in glmnet, when the share of deviance explained "
             "exceeds 0.999 or grows by less than 1e-5 of itself, unless columns differ much in scale",
     AT(full_path)},
    {"folds", PL_WHOLE, PL_FOR_CV, "5", 2, 1000, .value_name = "N", .heading = "Cross-validation",
     .help = "number of folds, drawn by --seed with each label spread evenly", AT(folds)},
    {"fold_file", PL_WORD, PL_FOR_CV, "", .value_name = "FILE",
     .help = "file with one whole number per row, the row's fold, instead of random folds", AT(fold_file)},
    {"choose", PL_CHOICE, PL_FOR_CV, "best", .choices = "best|1se", .value_name = "RULE",
     .help = "best: the lambda with the best mean metric; 1se: the largest lambda within one standard error of it",
     AT(choose)},
    {"l1_ratios", PL_WORD, PL_FOR_CV, "", .value_name = "X,X,...",
     .help = "cross-validate each of these values of --l1-ratio, and choose the best pair of it and lambda",
     AT(l1_ratios)},
    {"topics", PL_WHOLE, PL_FOR_TOPICS, "10", 1, 1000000, .value_name = "K", .in_model = true,
     .heading = "Topic models", .help = "number of topics", AT(topics)},
    {"topic_alpha", PL_REAL, PL_FOR_TOPICS, "0.1", 1e-10, 1e10, .value_name = "X", .option = "alpha",
     .may_be_auto = true, .in_model = true,
     .help = "prior of topics in a document, the same for each topic; auto: learnt, one for each topic",
     AT(topic_alpha)},
    {"eta", PL_REAL, PL_FOR_TOPICS, "0.01", 1e-10, 1e10, .value_name = "X", .may_be_auto = true, .in_model = true,
     .help = "prior of words in a topic, the same for each word; auto: learnt", AT(eta)},
    {"topic_inference", PL_CHOICE, PL_FOR_TOPICS, "collapsed", .choices = "collapsed|variational", .value_name = "KIND",
     .option = "inference", .optional = true, .in_model = true,
     .help = "updates of svi: collapsed (CVB0), which predict better, or those of variational Bayes",
     AT(topic_inference)},
    {"batch", PL_WORD, PL_FOR_TOPICS | PL_FOR_NETWORK, "auto", .value_name = "N", .optional = true, .in_model = true,
     .help =
         "rows of a step: for topics, documents between two steps of svi (auto: by their number); for networks, rows "
         "of all workers together (auto: 100); all: all rows",
     AT(batch)},
    {"tau0", PL_REAL, PL_FOR_TOPICS, "auto", 0, 1e9, .value_name = "X", .may_be_auto = true, .optional = true,
     .in_model = true,
     .help = "the rate of step t of svi is (tau0 + t)^-kappa; auto: 1 for collapsed updates, 10 for variational ones",
     AT(tau0)},
    {"kappa", PL_REAL, PL_FOR_TOPICS, "0.7", 0, 1, .value_name = "X", .optional = true, .in_model = true,
     .help = "exponent of the rate of svi", AT(kappa)},
    {"inner_steps", PL_WHOLE, PL_FOR_TOPICS, "100", 1, 100000, .value_name = "N", .optional = true, .in_model = true,
     .help = "most iterations of svi on the topics of one document", AT(inner_steps)},
    {"inner_tolerance", PL_REAL, PL_FOR_TOPICS, "0.01", 0, 1, .value_name = "X", .optional = true, .in_model = true,
     .help = "those iterations end when this share of the document's words changes topics", AT(inner_tolerance)},
    {"burn_in", PL_WHOLE, PL_FOR_TOPICS, "auto", 1, MANY, .value_name = "N", .may_be_auto = true, .optional = true,
     .in_model = true, .help = "gibbs: passes before samples are averaged; auto: half of --passes", AT(burn_in)},
    {"sampler", PL_CHOICE, PL_FOR_TOPICS, "auto", .choices = "auto|dense|sparse", .value_name = "KIND",
     .optional = true, .in_model = true,
     .help =
         "gibbs: dense computes the weights of all topics for each token, sparse those that its document has; auto: "
         "by the number of topics",
     AT(sampler)},
    {"documents", PL_REAL, PL_FOR_TOPICS, "auto", 1, MANY, .value_name = "N", .may_be_auto = true, .optional = true,
     .help = "svi: documents of the whole corpus, if DATA is a part of it; auto: those of DATA", AT(documents)},
    {"spill", PL_WORD, PL_FOR_TOPICS, "", .value_name = "FOLDER",
     .help =
         "folder for a file with the rows of text that needs more than half of the memory; default: that of the model",
     AT(spill)},
    {"vocabulary", PL_WORD, PL_FOR_TOPICS, "", .value_name = "FILE",
     .help = "file with the words of columns 1, 2, ..., one per line", AT(vocabulary)},
    {"hidden", PL_WORD, PL_FOR_NETWORK, "128", .value_name = "N,N,...", .in_model = true, .heading = "Networks",
     .help = "units of the hidden layers, from the first to the last; 0: no hidden layer", AT(hidden)},
    {"activation", PL_CHOICE, PL_FOR_NETWORK, "relu", .choices = "relu|tanh|logistic|identity", .value_name = "KIND",
     .in_model = true, .help = "function of the hidden units", AT(activation)},
    {"network_loss", PL_CHOICE, PL_FOR_NETWORK, "auto", .choices = "auto|softmax|squared", .value_name = "KIND",
     .option = "loss", .in_model = true,
     .help = "softmax: cross-entropy of classes; squared: half the squared error; auto: softmax for 2 to 64 "
             "whole-number labels that repeat, and for words, otherwise squared",
     AT(network_loss)},
    {"classes", PL_WHOLE, PL_FOR_NETWORK, "auto", 2, 64, .value_name = "N", .may_be_auto = true, .in_model = true,
     .help = "loss softmax: labels are 0 to N - 1, even if some are not in DATA; auto: the labels of DATA",
     AT(classes)},
    {"targets", PL_WORD, PL_FOR_NETWORK, "", .value_name = "COLUMNS", .in_model = true,
     .help = "loss squared: further columns to predict beside the label, as names or numbers separated by commas; they "
             "are not inputs",
     AT(targets)},
    {"network_lambda", PL_REAL, PL_FOR_NETWORK, "0", 0, 1e10, .value_name = "X", .option = "lambda", .in_model = true,
     .help = "strength of the L2 penalty of weights, relative to the mean loss", AT(network_lambda)},
    {"dropout", PL_REAL, PL_FOR_NETWORK, "0", 0, 0.99, .value_name = "X", .in_model = true,
     .help = "probability with which a hidden unit is left out of a step", AT(dropout)},
    {"input_scale", PL_REAL, PL_FOR_NETWORK, "auto", 1e-30, 1e30, .value_name = "X", .may_be_auto = true,
     .in_model = true,
     .help = "factor of all inputs in training; auto: 1/255 for IDX, whose bytes become 0 to 1, otherwise 1",
     AT(input_scale)},
    {"epochs", PL_WHOLE, PL_FOR_NETWORK, "auto", 1, MANY, .value_name = "N", .may_be_auto = true,
     .help = "passes over the data, another name of --passes; auto: 10 unless another limit is given", AT(epochs)},
    {"optimiser", PL_CHOICE, PL_FOR_NETWORK, "adam", .choices = "sgd|momentum|nesterov|adam|adagrad",
     .value_name = "KIND", .optional = true, .in_model = true, .help = "how gradients become steps", AT(optimiser)},
    {"momentum", PL_REAL, PL_FOR_NETWORK, "0.9", 0, 0.99999, .value_name = "X", .optional = true, .in_model = true,
     .help = "share of the last step in the next one, with momentum and nesterov", AT(momentum)},
    {"beta1", PL_REAL, PL_FOR_NETWORK, "0.9", 0, 0.999999, .value_name = "X", .optional = true, .in_model = true,
     .help = "adam: decay of the mean of gradients", AT(beta1)},
    {"beta2", PL_REAL, PL_FOR_NETWORK, "0.999", 0, 0.999999, .value_name = "X", .optional = true, .in_model = true,
     .help = "adam: decay of the mean of squared gradients", AT(beta2)},
    {"optimiser_epsilon", PL_REAL, PL_FOR_NETWORK, "1e-8", 1e-30, 1, .value_name = "X", .option = "epsilon",
     .optional = true, .in_model = true, .help = "adam and adagrad: added to the root of squared gradients",
     AT(optimiser_epsilon)},
    {"warm_up", PL_REAL, PL_FOR_NETWORK, "0", 0, 1e6, .value_name = "X", .optional = true, .in_model = true,
     .help = "passes in which the rate rises from 0 to its value", AT(warm_up)},
    {"decay_every", PL_REAL, PL_FOR_NETWORK, "3", 1e-6, 1e9, .value_name = "X", .optional = true, .in_model = true,
     .help = "schedule step: passes between two reductions of the rate", AT(decay_every)},
    {"decay", PL_REAL, PL_FOR_NETWORK, "0.3", 1e-6, 1, .value_name = "X", .optional = true, .in_model = true,
     .help = "schedule step: factor of the rate at each reduction", AT(decay)},
    {"clip", PL_REAL, PL_FOR_NETWORK, "0", 0, 1e30, .value_name = "X", .optional = true, .in_model = true,
     .help = "largest norm of a gradient; longer ones are shortened to it; 0: none is", AT(clip)},
    {"gap", PL_REAL, PL_FOR_LINEAR, "1e-4", 0, 1, .value_name = "X", .in_model = true,
     .heading = "Stopping and evaluation",
     .help = "stop when the duality gap is at most this share of the objective at w = 0; 0: never", AT(gap)},
    {"tolerance", PL_REAL, PL_FOR_CHANGE, "1e-4", 0, 1, .value_name = "X", .in_model = true,
     .help = "stop when the objective changes by at most this share of itself between two evaluations; 0: never",
     AT(tolerance)},
    {"rounds", PL_WHOLE, PL_FOR_TRAIN, "100000", 1, MANY, .value_name = "N", .in_model = true,
     .help = "stop after this many rounds", AT(rounds)},
    {"seconds", PL_REAL, PL_FOR_TRAIN, "inf", 0, INFINITY, .value_name = "X",
     .help = "stop after this many seconds of training", AT(seconds)},
    {"evaluate_every", PL_WHOLE, PL_FOR_TRAIN, "auto", 1, MANY, .value_name = "N", .may_be_auto = true,
     .in_model = true,
     .help = "rounds between two evaluations of the gap; auto: when the target is expected to be reached, and at "
             "intervals before",
     AT(evaluate_every)},
    {"exchange_delay", PL_REAL, PL_FOR_TRAIN, "0", 0, 3600, .value_name = "SECONDS",
     .help = "extend the exchange of each round by this long, to study a slower network on one machine",
     AT(exchange_delay)},
    {"validation", PL_WORD, PL_FOR_ONE | PL_FOR_PATH, "", .value_name = "FILE",
     .help = "file of validation data, which are not trained on; the run returns the model that is best on them",
     AT(validation)},
    {"validation_fraction", PL_REAL, PL_FOR_ONE | PL_FOR_PATH, "0", 0, 1, .value_name = "X", .in_model = true,
     .help = "use this share of the rows, drawn by --seed, as validation data", AT(validation_fraction)},
    {"metric", PL_WORD, PL_FOR_TRAIN, "auto", .list = "metrics", .value_name = "NAME", .may_be_auto = true,
     .in_model = true,
     .help = "metric on the validation data; auto: the problem's default, for linear models the mean loss", AT(metric)},
    {"patience", PL_WHOLE, PL_FOR_ONE, "15", 1, MANY, .value_name = "N", .in_model = true,
     .help = "stop when the metric has not improved in this many evaluations", AT(patience)},
    {"model", PL_WORD, PL_FOR_TRAIN, "model.safetensors", .value_name = "FILE", .heading = "Files",
     .help = "file to write the model to", AT(model)},
    {"log", PL_WORD, PL_FOR_TRAIN, "", .value_name = "FILE",
     .help = "file to write one JSON object per round to; - is standard output", AT(log)},
    {"trace", PL_WORD, PL_FOR_ONE, "", .value_name = "FILE",
     .help = "file to write what each worker did when to, in the format that Perfetto and chrome://tracing open",
     AT(trace)},
    {"replay", PL_WORD, PL_FOR_ONE, "", .value_name = "FILE",
     .help = "repeat the run that wrote this log, bit for bit, on the same data", AT(replay)},
    {"checkpoint", PL_WORD, PL_FOR_ONE, "", .value_name = "DIR",
     .help = "folder for checkpoints of the run, of which the last two are kept, for --resume", AT(checkpoint)},
    {"checkpoint_every", PL_WORD, PL_FOR_ONE, "60s", .value_name = "N",
     .help = "how often to write one: 50r is every 50 rounds, 60s every 60 seconds; one more at the end",
     AT(checkpoint_every)},
    {"resume", PL_WORD, PL_FOR_ONE, "", .value_name = "DIR",
     .help = "continue from the newest checkpoint in this folder, bit for bit, on the same data; with other --workers "
             "or another --preset, start from its model",
     AT(resume)},
    {"at", PL_WORD, PL_FOR_PREDICT | PL_FOR_EVAL | PL_FOR_INFO | PL_FOR_DUMP, "", .value_name = "LAMBDA",
     .heading = "Output",
     .help = "the model of this lambda, within a factor of 1.05, if MODEL is a path; first: of the largest lambda; "
             "last: of the smallest",
     AT(at)},
    {"output", PL_CHOICE, PL_FOR_PREDICT, "label", .choices = "label|decision|probability|all", .value_name = "KIND",
     .help = "what to print for each row; all: the label, then decisions and probabilities; those of several classes "
             "are in the order of labels",
     AT(output)},
    {"as", PL_CHOICE, PL_FOR_PREDICT, "auto", .choices = "auto|text|csv|json", .value_name = "FORMAT",
     .help = "format of the predictions: text, separated by blanks; csv; json: one object per line, also written "
             "--format json; auto: csv with --output all, --id or --header-line, otherwise text",
     AT(as)},
    {"header_line", PL_FLAG, PL_FOR_PREDICT, "false",
     .help = "print the names of the columns first; also written --header without a value", AT(header_line)},
    {"id", PL_WORD, PL_FOR_PREDICT, "", .value_name = "COLUMN",
     .help = "CSV: name or number (from 1) of a column to print first in each row, as it is in DATA", AT(id)},
    {"threshold", PL_REAL, PL_FOR_PREDICT, "auto", -1e300, 1e300, .value_name = "X", .may_be_auto = true,
     .help = "two classes: predict the second if its probability, or its decision value where there are no "
             "probabilities, is above X; auto: the more probable class",
     AT(threshold)},
    {"top", PL_WHOLE, PL_FOR_DUMP, "auto", 1, MANY, .value_name = "N", .may_be_auto = true,
     .help = "print only the N largest weights; auto: all that are not 0", AT(top)},
    {"rows", PL_WHOLE, PL_FOR_GENERATE, "10000", 1, 4294967295.0, .value_name = "N", .heading = "The generated data",
     .help = "number of rows", AT(rows)},
    {"nonzeros", PL_REAL, PL_FOR_GENERATE, "50", 0, 2147483647.0, .value_name = "X",
     .help = "mean number of non-zeros per row", AT(nonzeros)},
    {"json", PL_FLAG, PL_FOR_TRAIN | PL_FOR_EVAL | PL_FOR_INFO | PL_FOR_DUMP | PL_FOR_REPORT | PL_FOR_PROBE, "false",
     .heading = "Printing", .help = "print the result as one JSON object, and nothing else on standard output",
     AT(json)},
    {"html", PL_WORD, PL_FOR_REPORT, "", .value_name = "FILE",
     .help = "write one self-contained page with charts to this file; several logs are compared", AT(html)},
    {"follow", PL_FLAG, PL_FOR_REPORT, "false",
     .help = "rewrite the page while the run goes on; LOG - is standard input", AT(follow)},
    {"text", PL_FLAG, PL_FOR_REPORT, "false", .help = "print tables (the default)", AT(text)},
    {"quiet", PL_FLAG, PL_FOR_TRAIN | PL_FOR_CONVERT | PL_FOR_GENERATE, "false", .help = "print no progress",
     AT(quiet)},
};

const unsigned pl_settings_count = sizeof pl_settings / sizeof *pl_settings;

static void *field(const parley_settings *settings, const pl_setting *row) { return (char *)settings + row->offset; }

static unsigned row_number(const pl_setting *row) { return (unsigned)(row - pl_settings); }

static bool is_spelt(const char *a, const char *b) {
    while (*a && (*a == *b || (*a == '_' && *b == '-')))
        a++, b++;
    return !*a && !*b;
}

const pl_setting *pl_setting_find(const char *name) {
    for (unsigned i = 0; i < pl_settings_count; i++)
        if (is_spelt(pl_settings[i].name, name))
            return &pl_settings[i];
    return NULL;
}

const pl_setting *pl_setting_option(unsigned commands, const char *name) {
    for (unsigned i = 0; i < pl_settings_count; i++) {
        const pl_setting *row = &pl_settings[i];
        if ((row->commands & commands) && is_spelt(row->option ? row->option : row->name, name))
            return row;
    }
    return pl_setting_find(name);
}

void pl_setting_flag(const pl_setting *row, char *flag, size_t size) {
    snprintf(flag, size, "--%s", row->option ? row->option : row->name);
    for (char *c = flag; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

void pl_number_text(double value, char *text, size_t size) {
    /* %g drops zeros at the end, so that of a normal number 15 digits are as short as fewer */
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static parley_status unknown(unsigned command, const char *name, parley_error *error) {
    char flags[PL_MOST_SETTINGS][40], given[64];
    const char *words[PL_MOST_SETTINGS];
    unsigned count = 0;
    for (unsigned i = 0; i < pl_settings_count; i++)
        if (!command || (pl_settings[i].commands & command)) {
            pl_setting_flag(&pl_settings[i], flags[count], sizeof *flags);
            words[count] = flags[count];
            count++;
        }
    snprintf(given, sizeof given, "--%s", name);
    const char *near = pl_nearest(given, words, count);
    return pl_fail(error, PARLEY_BAD_USAGE,
                   near ? "there is no option --%s; did you mean %s?" : "there is no option --%s%.0s", name,
                   near ? near : "");
}

static parley_status set_choice(parley_settings *settings, const pl_setting *row, const char *value, const char *flag,
                                parley_error *error) {
    const char *choice = row->choices;
    for (uint64_t i = 0;; i++) {
        size_t length = strcspn(choice, "|");
        if (strlen(value) == length && memcmp(choice, value, length) == 0) {
            *(uint64_t *)field(settings, row) = i;
            return PARLEY_OK;
        }
        if (!choice[length])
            return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: must be one of %s", flag, value, row->choices);
        choice += length + 1;
    }
}

static parley_status set_number(parley_settings *settings, const pl_setting *row, const char *value, const char *flag,
                                parley_error *error) {
    char *end;
    if (row->may_be_auto && strcmp(value, "auto") == 0) {
        if (row->kind == PL_REAL)
            *(double *)field(settings, row) = NAN;
        else
            *(uint64_t *)field(settings, row) = 0;
        return PARLEY_OK;
    }
    double number = strtod(value, &end);
    if (end == value || *end || number != number || strpbrk(value, "xXpP \t"))
        return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: not a number", flag, value);
    if (row->kind == PL_WHOLE && number != floor(number))
        return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: not a whole number", flag, value);
    if (number < row->min || number > row->max)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: must be between %.10g and %.10g", flag, value, row->min,
                       row->max);
    if (row->kind == PL_REAL)
        *(double *)field(settings, row) = number;
    else
        *(uint64_t *)field(settings, row) = strpbrk(value, ".eE") ? (uint64_t)number : strtoull(value, NULL, 10);
    return PARLEY_OK;
}

static parley_status set_value(parley_settings *settings, const pl_setting *row, const char *value,
                               parley_error *error) {
    char flag[48];
    pl_setting_flag(row, flag, sizeof flag);
    switch (row->kind) {
    case PL_FLAG:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return pl_fail(error, PARLEY_BAD_USAGE, "%s takes no value", flag);
        *(bool *)field(settings, row) = *value == 't';
        return PARLEY_OK;
    case PL_CHOICE: return set_choice(settings, row, value, flag, error);
    case PL_WORD:
        if (strlen(value) >= PL_TEXT)
            return pl_fail(error, PARLEY_BAD_USAGE, "%s: the value is too long", flag);
        memcpy(field(settings, row), value, strlen(value) + 1);
        return PARLEY_OK;
    default: return set_number(settings, row, value, flag, error);
    }
}

void pl_settings_defaults(parley_settings *settings) {
    memset(settings, 0, sizeof *settings);
    for (unsigned i = 0; i < pl_settings_count; i++)
        set_value(settings, &pl_settings[i], pl_settings[i].initial, NULL);
}

parley_status pl_setting_set(parley_settings *settings, unsigned command, const char *name, const char *value,
                             parley_error *error) {
    const pl_setting *row = pl_setting_option(command, name);
    if (!row || (command && !(row->commands & command)))
        return unknown(command, name, error);
    parley_status status = set_value(settings, row, value, error);
    if (status == PARLEY_OK)
        settings->given[row_number(row)] = true;
    return status;
}

bool pl_setting_given(const parley_settings *settings, const char *name) {
    const pl_setting *row = pl_setting_find(name);
    return row && settings->given[row_number(row)];
}

double pl_setting_real(const parley_settings *settings, const char *name) {
    return *(const double *)field(settings, pl_setting_find(name));
}

static void choice_text(const pl_setting *row, uint64_t chosen, char *text, size_t size) {
    const char *choice = row->choices;
    for (; chosen > 0; chosen--)
        choice += strcspn(choice, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(choice, "|"), choice);
}

void pl_setting_text(const parley_settings *settings, const pl_setting *row, char *text, size_t size) {
    const void *value = field(settings, row);
    switch (row->kind) {
    case PL_FLAG: snprintf(text, size, "%s", *(const bool *)value ? "true" : "false"); break;
    case PL_CHOICE: choice_text(row, *(const uint64_t *)value, text, size); break;
    case PL_WORD: snprintf(text, size, "%s", (const char *)value); break;
    case PL_REAL:
        if (isnan(*(const double *)value))
            snprintf(text, size, "auto");
        else
            pl_number_text(*(const double *)value, text, size);
        break;
    case PL_WHOLE:
        if (row->may_be_auto && *(const uint64_t *)value == 0)
            snprintf(text, size, "auto");
        else
            snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)value);
        break;
    }
}

parley_status parley_settings_new(parley_settings **out, parley_error *error) {
    parley_status status = pl_take(out, 1, sizeof **out, "settings", error);
    if (status == PARLEY_OK)
        pl_settings_defaults(*out);
    return status;
}

parley_status parley_settings_set(parley_settings *settings, const char *name, const char *value, parley_error *error) {
    return pl_setting_set(settings, 0, name, value, error);
}

void parley_settings_free(parley_settings *settings) { pl_free(settings); }

int parley_setting_at(unsigned number, parley_setting *out) {
    static const char *const kinds[] = {"flag", "whole", "real", "word", "choice"};
    *out = (parley_setting){0};
    if (number >= pl_settings_count)
        return 0;
    const pl_setting *row = &pl_settings[number], *head = row;
    while (!head->heading)
        head--; /* the first row has one */
    *out = (parley_setting){.name = row->name,
                            .kind = kinds[row->kind],
                            .initial = row->initial,
                            .choices = row->choices,
                            .list = row->list,
                            .group = head->heading,
                            .help = row->help,
                            .min = row->min,
                            .max = row->max,
                            .may_be_auto = row->may_be_auto,
                            .trains =
                                (row->commands & (PL_FOR_TRAIN | PL_FOR_ONE | PL_FOR_LINEAR | PL_FOR_LINEAR_ONE)) != 0,
                            .paths = (row->commands & (PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_PATH)) != 0,
                            .cvs = (row->commands & (PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_CV)) != 0,
                            .reads = strcmp(head->heading, "Reading") == 0 && (row->commands & FOR_READING) != 0};
    return 1;
}
