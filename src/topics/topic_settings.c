/* topic_settings.c: the settings of topic models. */
#include "topics/topic_settings.h"

#include <stddef.h>

#define AT(field) .offset = offsetof(pl_topic_settings, field)
#define MANY 1e18

const pl_settings_wing pl_topic_wing = {sizeof(pl_topic_settings)};

static const pl_setting topics[] = {
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
    {"tau0", PL_REAL, PL_FOR_TOPICS, "auto", 0, 1e9, .value_name = "X", .may_be_auto = true, .optional = true,
     .in_model = true, .help = "rate of step t of svi: (tau0 + t)^-kappa; auto: 1 if collapsed, 10 if variational",
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
};

const pl_settings_table pl_topic_settings_all = {topics, sizeof topics / sizeof *topics, &pl_topic_wing};
