/* run.h: everything that a run holds, on one rank. */
#ifndef PL_RUN_H
#define PL_RUN_H

#include "shard/columns.h"
#include "trace/log.h"
#include "train/pacing.h"
#include "train/presets.h"
#include "train/replay.h"
#include "train/resume.h"
#include "train/validation.h"

/* The best that is known: the model at the least objective seen, and the largest dual bound. Their distance is the
 * certificate. */
typedef struct pl_certificate {
    bool exists;      /* there is a dual problem */
    double scale;     /* the objective where the run began: relative gaps are shares of it */
    double objective; /* the least */
    double value;     /* of it, the part without the penalty */
    double dual;      /* the largest lower bound */
    double measure; /* without a dual problem, what tells how near the optimum is: the norm of the gradient relative to
                       the first, or the relative change of the objective between evaluations */
    double reference; /* the first norm of the gradient; or the objective at the last evaluation, NaN before it */
    double *w;        /* the model at `objective` */
} pl_certificate;

/* When to evaluate, where it is not free; stalls. */
typedef struct pl_pace {
    double passes;                /* over the data since the last evaluation */
    double threshold;             /* an estimated gap below this is worth an evaluation */
    double estimate;              /* of the gap, the latest; negative: none */
    bool trusted;                 /* evaluations agreed with it so far */
    double seen_gap, seen_epochs; /* when it was last evaluated */
    double look_after;            /* passes from then on, by how fast it fell */
    double residual;              /* of the workers, the latest */
    double watched;               /* the gap, or what stands for it, when the current window began */
    double watched_objective;     /* likewise, the objective */
    uint64_t window;              /* round when it began */
    double slow_gap, slow_epochs; /* when it was last seen whether the method is slow */
    double last_gap;              /* when the combine was last told how fast it falls */
    uint64_t told;                /* round of that */
} pl_pace;

/* What ranks agree on after every round. */
enum { PL_BY_USER, PL_BY_SECONDS, PL_EPOCHS, PL_SAVE, PL_SAVED, PL_NOT_SAVED, PL_SENT, PL_DECISIONS };

/* Sums over all workers when local work is done: every rank knows them after the barrier. */
typedef struct pl_round_sums {
    double slowest;             /* worker's seconds */
    double passes;              /* over the data */
    double shrink;              /* what is left of v when every update has taken its share */
    double residual;            /* the workers' own estimate of the gap */
    double scalars[PL_SCALARS]; /* sums of the updates' */
} pl_round_sums;

/* Where the rows are: on the rank that was given them, then with the workers. */
typedef struct pl_placement {
    const parley_data *given; /* all rows */
    const parley_data *data;  /* those to train on */
    parley_data *dealt;       /* rows of this rank's workers, where they came from other ranks */
    parley_data *all_rows;    /* for solvers by columns, in its place: every row but for its entries */
    pl_team team;
    pl_columns by_column; /* and the partition of columns, where the solver owns them */
    pl_team columns;
} pl_placement;

/* The tables of a method: v, and what is added to it. */
typedef struct pl_tables {
    uint64_t entries;           /* of v */
    pl_span room;               /* v's, on huge pages, because access is random */
    double *v;                  /* in `room`, or in memory that ranks share */
    double *direction, *change; /* change: `width` columns */
} pl_tables;

/* What ranks tell rank 0 of a round, where a log is kept. */
typedef struct pl_told {
    bool wanted;             /* rank 0 keeps a log */
    pl_worker_trace *worker; /* of all ranks, at rank 0 */
    pl_rank_trace *rank;
    char *message; /* room for what one of them tells of a round */
} pl_told;

/* H where it is auto, and what is measured for it. */
typedef struct pl_local_work {
    double epochs; /* H of the next round; NaN: the solver knows none */
    bool paced;    /* H is auto */
    pl_pacing pacing;
    uint64_t noted;     /* the round that it last noted */
    double gap_seen;    /* before this round: its fall is logged */
    double local, rest; /* seconds of the latest round, as pl_round_times has them */
} pl_local_work;

typedef struct pl_run {
    /* given */
    pl_engine *engine;
    const parley_model *start; /* to begin at; NULL: as the settings say */
    parley_callback callback;
    void *user;
    bool many; /* problems in a row, of falling strength: a path */
    /* the problem and its rows */
    parley_settings *settings; /* resolved */
    parley_settings *later;    /* of a method that follows: as they were asked for, and `settings` from then on */
    parley_settings *recorded; /* what the model is told: of the first method */
    const pl_problem_type *type;
    pl_problem *problem;
    pl_placement rows;
    double target; /* of the certificate, relative; 0: none */
    /* the method */
    pl_method method;
    pl_setup setup; /* what the members were given to open */
    pl_local *local;
    pl_combine *combine;
    pl_exchange *exchange;
    pl_tables tables;
    double *w;         /* the model that v stands for, when it was last looked at */
    double *first;     /* the model where the run begins */
    pl_update *update; /* of each hosted worker */
    double *share;     /* that its update counts for */
    double *sums_room; /* hosted + 1 rows, for sums over workers */
    /* this round */
    uint64_t round;
    pl_round asked;   /* of the solvers */
    pl_evaluation at; /* what they found as they worked */
    pl_round_sums sums;
    double gamma;
    bool evaluated; /* in this round */
    bool diverged;  /* the objective was not a number there, or rose where it must not */
    /* from round to round */
    pl_certificate best;
    pl_pace pace;
    pl_validation validation;
    pl_local_work work;
    pl_spans spans;
    pl_told told;
    pl_log *log;
    parley_summary summary;
    double began;             /* when training did */
    uint64_t rank_bytes_sent; /* of this rank, that the summary does not know of yet */
    pl_replay replay;
    pl_checkpoint checkpoint;
    pl_resume resume;
    uint64_t *order;      /* of each hosted worker: the hash of its rows; NULL unless there is a checkpoint */
    uint64_t fingerprint; /* of the data; 0 unless there is a log or a checkpoint */
} pl_run;

/* What the workers own: rows or columns. */
static inline const pl_team *pl_owners(const pl_run *run) {
    return run->method.local->traits & PL_OWNS_COLUMNS ? &run->rows.columns : &run->rows.team;
}

/* run.c: a run from settings to where its loop can begin, and its end. What failed is told to all ranks. */
parley_status pl_run_open(pl_run *run, const parley_data *data, const parley_settings *settings, parley_error *error);
parley_status pl_run_loop(pl_run *run, parley_error *error); /* rounds, with their lines in the log, and the summary */
/* The best model found, with all that its metadata say. */
parley_status pl_run_model(pl_run *run, parley_model **out, parley_error *error);
/* Goes on with the problem, whose penalty is another one now, from the model that was found. */
parley_status pl_run_renew(pl_run *run, parley_error *error);
void pl_run_close(pl_run *run);
/* pl_train_rank from a model to begin at; NULL: as the settings say. */
parley_status pl_train_rank_from(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                 const parley_model *start, parley_callback callback, void *user, parley_model **out,
                                 parley_summary *summary, parley_error *error);
parley_status pl_log_begin(pl_run *run, parley_error *error); /* the log's start line */

/* members.c: opens and closes the members of the method, and what they work on. */
parley_status pl_members_open(pl_run *run, parley_error *error);
void pl_members_close(pl_run *run);
/* At the first model: the objective there is known. */
parley_status pl_certificate_begin(pl_run *run, parley_error *error);
/* Closes the members and opens those of the method that follows; where the model is now, or wherever. */
parley_status pl_go_on(pl_run *run, parley_error *error);
parley_status pl_open_next(pl_run *run, parley_error *error);

/* tell.c: what the user hears, on rank 0. */
void pl_say(pl_run *run, const char *format, ...);
void pl_describe_run(pl_run *run, uint64_t bytes);         /* the first lines */
void pl_summarise(pl_run *run);                            /* what is known before the first round */
void pl_finish_summary(pl_run *run);                       /* and after the last */
void pl_give_up_log(pl_run *run, const parley_error *why); /* the model is worth more than its log */
void pl_progress(const pl_run *run, parley_progress *progress);

/* placement.c: workers and lanes, and the partition; then, for a solver by columns on rows that were dealt to ranks,
 * and when they have been measured: each rank gets the columns of its workers. */
parley_status pl_choose_team(pl_run *run, parley_error *error);
parley_status pl_turn_to_columns(pl_run *run, parley_error *error);

/* certificate.c */
double pl_gap(const pl_certificate *best);          /* NaN: no dual problem */
double pl_relative_gap(const pl_certificate *best); /* what the target is compared with */
bool pl_reached(const pl_run *run);                 /* is the target? */
/* Takes an evaluation of v into account. run->w is the model that v stands for; `gradient`: the change table holds the
 * reduced gradient there. */
parley_status pl_certify(pl_run *run, const pl_evaluation *evaluation, bool gradient, parley_error *error);
/* Evaluates v by passes over the data. */
parley_status pl_evaluate(pl_run *run, parley_error *error);
bool pl_evaluation_due(pl_run *run);
bool pl_evaluation_forced(const pl_run *run); /* at the limit of rounds, there is a last one */
/* The workers' own estimate of the gap, from the sums of the round. */
void pl_estimate_gap(pl_run *run);
/* From a diverged v: back to the best model, with smaller steps. */
parley_status pl_recover(pl_run *run, parley_error *error);
/* Was there no progress over a window of rounds, and is nothing left to change? */
parley_status pl_stalls(pl_run *run, bool *stalls, parley_error *error);

/* start.c: puts the run where a model is: the one given, or that of --start; or where w is, which is evaluated then, or
 * not. */
parley_status pl_warm_start(pl_run *run, parley_error *error);
parley_status pl_start_at(pl_run *run, const double *w, parley_error *error);
parley_status pl_move_to(pl_run *run, const double *w, parley_error *error);
/* A v in shared memory is written by its owners: where each rank puts all of a new one, and has it taken. */
double *pl_next_v(pl_run *run);
parley_status pl_take_next_v(pl_run *run, parley_error *error);

/* loop.c: rounds until something says stop. */
parley_status pl_loop(pl_run *run, parley_error *error);
/* Adds up what the ranks say, so that what one of them decided holds for all. */
parley_status pl_agree(pl_run *run, double *flags, unsigned count, parley_error *error);

/* synchronous.c: one round of all workers, from work to the new v. */
parley_status pl_advance_synchronous(pl_run *run, parley_error *error);
/* synchronous_step.c: from the reduced update to the new v. */
parley_status pl_step(pl_run *run, parley_error *error);

/* traces.c: what workers and ranks did, told to rank 0 for its log; and the sums after local work. */
parley_status pl_traces_open(pl_run *run, parley_error *error);
parley_status pl_traces_send(pl_run *run, parley_error *error);    /* at the end of a round */
parley_status pl_traces_receive(pl_run *run, parley_error *error); /* when the round is decided, at rank 0 */
parley_status pl_sum_round(pl_run *run, parley_error *error);      /* the barrier after local work: run->sums */
void pl_traces_close(pl_run *run);

/* clocked.c: decisions that read the clock, ask the user or repeat a log. */
void pl_clocked_open(pl_run *run);
parley_status pl_clocked_decide(pl_run *run, double *flags, parley_error *error); /* PL_DECISIONS flags; sets H */
parley_status pl_clocked_goes_on(const pl_run *run, parley_error *error);         /* or does a log to replay end? */
void pl_clocked_trace(const pl_run *run, pl_pace_trace *trace);
uint64_t pl_clocked_steps(const pl_run *run); /* H in steps of a worker; 0: the solver knows none */

/* run_state.c: lists all that the run holds between two rounds. */
void pl_run_state(pl_run *run, pl_state *state);

/* checkpoint.c: saving. What fails there ends no run; the statuses are those of talking to other ranks. */
parley_status pl_checkpoint_open(pl_run *run, parley_error *error);
void pl_checkpoint_round(pl_run *run);                                /* a round is over: saves, if it is time */
void pl_checkpoint_report(pl_run *run, double *flags);                /* PL_SAVE and on, before and */
void pl_checkpoint_agreed(pl_run *run, const double *flags);          /* after they are added up */
parley_status pl_checkpoint_last(pl_run *run, parley_error *error);   /* saves, if this round is not saved yet */
parley_status pl_checkpoint_settle(pl_run *run, parley_error *error); /* waits for the disk */
void pl_checkpoint_close(pl_checkpoint *checkpoint);

/* resume.c: finds the checkpoint, and takes settings from it; compares what the data decided; puts the run where it
 * was. */
parley_status pl_resume_open(pl_run *run, parley_error *error);
parley_status pl_resume_check(const pl_run *run, parley_error *error);
parley_status pl_resume_run(pl_run *run, parley_error *error);

#endif
