/* net_settings.c: the settings of networks. */
#include "network/net_settings.h"

#include <stddef.h>

#define AT(field) .offset = offsetof(pl_net_settings, field)
#define MANY 1e18

const pl_settings_wing pl_net_wing = {sizeof(pl_net_settings)};

static const pl_setting networks[] = {
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
};

const pl_settings_table pl_net_settings_all = {networks, sizeof networks / sizeof *networks, &pl_net_wing};
