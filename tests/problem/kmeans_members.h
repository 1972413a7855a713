/* kmeans_members.h: the rows that k-means adds to the registry, in programs that are compiled with it. */
#include "kmeans.h"

#define PL_EXTRA_PROBLEMS &kmeans_problem,
#define PL_EXTRA_LOCALS &kmeans_lloyd, &kmeans_means,
#define PL_EXTRA_COMBINES &kmeans_step,
#define PL_EXTRA_PRESETS                                                                                               \
    {.name = "kmeans-average",                                                                                         \
     .help = "Lloyd's iterations on shards, averaged",                                                                 \
     .problem = &kmeans_problem,                                                                                       \
     .local = &kmeans_lloyd,                                                                                           \
     .combine = &pl_combine_average,                                                                                   \
     .exchange = &pl_exchange_allreduce},                                                                              \
        {.name = "gd",                                                                                                 \
         .help = "gradient steps on the centres",                                                                      \
         .problem = &kmeans_problem,                                                                                   \
         .local = &kmeans_means,                                                                                       \
         .combine = &kmeans_step,                                                                                      \
         .exchange = &pl_exchange_driver},
