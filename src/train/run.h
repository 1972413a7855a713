/* run.h: the state of a run on one rank. */
#ifndef PL_RUN_H
#define PL_RUN_H

#include "base/lock.h"
#include "shard/columns.h"
#include "shard/distributed.h"
#include "trace/span_file.h"
#include "train/adapt.h"
#include "train/forecast.h"
#include "train/pacing.h"
#include "train/presets.h"
#include "train/replay.h"
#include "train/resume.h"
#include "train/validation.h"

#define PL_LANE_NONZEROS 100000 /* below this a lane works for less time than it synchronises */
#define PL_ROW_NONZEROS 8       /* a row takes a gradient as long as this many more non-zeros */

/* The best results so far: the model with the smallest objective, and the largest dual bound. Their difference is the
 * certificate. */
typedef struct pl_certificate {
    bool exists;       /* there is a dual problem */
    double scale;      /* the objective at the start of the run, to which gaps are relative */
    double objective;  /* the smallest so far */
    double latest;     /* the objective at the last evaluation, */
    double latest_gap; /* and its distance from the lower bound found there */
    double least;      /* the least objective so far, which that of a later model may exceed by the problem's noise */
    double value;      /* the part of it without the penalty */
    double dual;       /* the largest lower bound so far */
    double measure;    /* without a dual problem, the measure of convergence: the norm of the gradient relative to the
                          first, or the relative change of the objective between evaluations */
    double reference;  /* the first norm of the gradient; or the objective at the last evaluation, NaN before it */
    double *w;         /* the model with that objective */
} pl_certificate;

/* When to evaluate, if that costs time, and when a run stalls. */
typedef struct pl_pace {
    double passes;                /* passes over the data since the last evaluation */
    double threshold;             /* evaluate when the estimated gap is below this */
    double estimate;              /* the latest estimate of the gap; negative if there is none */
    bool trusted;                 /* evaluations have agreed with the estimates so far */
    double seen_gap, seen_epochs; /* at the last evaluation */
    double look_after;            /* evaluate after this many passes, by the speed at which the gap fell */
    double residual;              /* the latest sum over workers */
    double watched;               /* the gap, or the measure of convergence, at the start of the current window */
    double watched_objective;     /* the objective at the start of the window */
    uint64_t window;              /* the round at the start of the window */
    double slow_gap, slow_epochs; /* at the last check whether the method is slow */
    double last_gap;              /* when the combine was last told how fast the gap falls */
    uint64_t told;                /* the round of that */
    unsigned hopeless;            /* evaluations in a row that found the run diverged, and nothing to change */
} pl_pace;

/* What ranks agree on after every round. */
enum { PL_BY_USER, PL_BY_SECONDS, PL_EPOCHS, PL_SAVE, PL_SAVED, PL_NOT_SAVED, PL_SENT, PL_CHANGE, PL_DECISIONS };

/* Sums over all workers after local work, known to every rank after the barrier. */
typedef struct pl_round_sums {
    double slowest;             /* seconds of the slowest worker */
    double passes;              /* over the data */
    double shrink;              /* the factor of v after all updates, each with its share */
    double residual;            /* the workers' estimate of the gap */
    double scalars[PL_SCALARS]; /* sums of the scalars of updates */
    bool dropped;               /* a rank had to stop before it was done, so the round does not count */
} pl_round_sums;

/* The rows: on the rank that was given them, then with the workers. */
typedef struct pl_placement {
    const parley_data *given; /* all rows */
    const parley_data *data;  /* the rows to train on */
    parley_data *ordered;     /* all rows in the order of their content, if that is asked for */
    parley_data *dealt;       /* rows of this rank's workers that came from other ranks */
    parley_data *all_rows;    /* for solvers by columns, instead: all rows without their entries */
    pl_team team;
    pl_columns by_column; /* with the partition of columns, if the solver owns columns */
    pl_team columns;
} pl_placement;

/* The tables of a method: v, and what is added to it. */
typedef struct pl_tables {
    uint64_t entries;           /* entries of v */
    pl_span room;               /* memory of v, on huge pages because access is random */
    double *v;                  /* in `room`, or in memory shared by ranks */
    double *direction, *change; /* change: `width` columns */
} pl_tables;

/* What is told of a round: what ranks send to rank 0 for its log, and where in a path it is. */
typedef struct pl_told {
    bool wanted;             /* rank 0 keeps a log */
    pl_worker_trace *worker; /* of all ranks, on rank 0 */
    pl_rank_trace *rank;
    char *message;        /* room for one rank's message about a round */
    pl_process process;   /* what this rank's process used, */
    double read;          /* and when that was read */
    uint64_t part, parts; /* of a path: which problem is solved, from 1; else 0 */
    unsigned choices;     /* of the summary, that the user has been told of */
} pl_told;

/* Changes of the preset and of the number of workers during the run. */
typedef struct pl_adaptation {
    pl_adapt state;
    pl_change change;        /* what was decided after the latest round */
    pl_sequel sequel;        /* the preset as which the run goes on; `then` NULL: it stays */
    char preset[32];         /* its name, */
    unsigned workers, lanes; /* and its workers, in whose shards the next members are opened; 0: they stay */
} pl_adaptation;

/* H if it is auto, and the measurements for it. */
typedef struct pl_local_work {
    double epochs; /* H of the next round; NaN if the solver has no H */
    bool paced;    /* H is auto */
    pl_pacing pacing;
    uint64_t noted;     /* the last round that pacing has seen */
    double gap_seen;    /* the gap before this round, for the log */
    double local, rest; /* seconds of the latest round, as in pl_round_times */
} pl_local_work;

typedef struct pl_run {
    /* Inputs. */
    pl_engine *engine;
    const parley_model *start; /* the model to start from; NULL: see the settings */
    parley_callback callback;
    void *user;
    bool many; /* solves a path, that is, problems of decreasing strength */
    /* The problem and its rows. */
    parley_settings *settings; /* resolved */
    parley_settings *later;    /* of a second method: as given, and equal to `settings` from then on; NULL: none */
    parley_settings *recorded; /* the settings for the model's metadata, those of the first method */
    const pl_problem_type *type;
    pl_problem *problem;
    pl_placement rows;
    double target; /* of the certificate, relative; 0 if there is none */
    /* The method. */
    pl_method method;
    pl_setup setup; /* what the members were opened with */
    pl_local *local;
    pl_combine *combine;
    pl_exchange *exchange;
    pl_tables tables;
    double *w;         /* the model behind v at the last evaluation */
    double *first;     /* the model at the start of the run */
    pl_update *update; /* one per hosted worker */
    double *share;     /* the share of each update */
    double *sums_room; /* hosted + 1 rows, for sums over workers */
    /* The current round. */
    uint64_t round;
    pl_round asked;   /* what the solvers are asked to do */
    pl_evaluation at; /* the evaluation that the solvers made as they worked */
    pl_round_sums sums;
    double gamma;
    bool at_start;  /* v is the model to start from, which no round has moved, and may be left for w = 0 */
    bool evaluated; /* whether this round was evaluated */
    bool diverged;  /* the objective was not a number, or rose where it must not */
    /* The state from round to round. */
    pl_certificate best;
    pl_pace pace;
    pl_validation validation;
    pl_local_work work;
    pl_spans spans;
    pl_told told;
    pl_log *log;
    pl_span_file *span_file;
    pl_lock *locks[2]; /* of the log and of the folder of checkpoints, on rank 0 */
    parley_summary summary;
    double began;             /* when training began */
    uint64_t rank_bytes_sent; /* bytes of this rank that are not in the summary yet */
    pl_replay replay;
    pl_forecast forecast; /* of --plan */
    pl_adaptation adapts; /* --adapt */
    pl_row_table kept;    /* private state of rows, while the workers change */
    pl_checkpoint checkpoint;
    pl_resume resume;
    uint64_t *order;      /* the hash of the rows of each hosted worker; NULL unless there is a checkpoint */
    uint64_t fingerprint; /* of the data; 0 unless there is a log or a checkpoint */
} pl_run;

/* What the workers own: rows or columns. */
static inline const pl_team *pl_owners(const pl_run *run) {
    return run->method.local->traits & PL_OWNS_COLUMNS ? &run->rows.columns : &run->rows.team;
}

/* explain.c: with --explain, keeps what `auto` decided in the summary, until the members are opened and the user is
 * told. A decision and the shape it was made by; or all of the problem's decisions that the run follows: those that
 * need to know the workers, or the others. */
void pl_explain(pl_run *run, const pl_decision *decision, const double *shape);
void pl_explain_problem(pl_run *run, bool placed);
void pl_tell_choices(pl_run *run);

/* run.c: prepares a run, runs its loop, and ends it. All ranks learn of a failure. */
parley_status pl_run_open(pl_run *run, const parley_data *data, const parley_settings *settings, parley_error *error);
parley_status pl_run_loop(pl_run *run, parley_error *error); /* rounds with their log lines, and the summary */
/* Makes a model of w with what the members add to it, as far as a model that is only measured needs it. */
parley_status pl_model_of(const pl_run *run, const double *w, bool measured, parley_model **out, parley_error *error);
/* Returns the best model, with its metadata. */
parley_status pl_run_model(pl_run *run, parley_model **out, parley_error *error);
/* Continues from the model that was found after the problem's penalty has changed. */
parley_status pl_run_renew(pl_run *run, parley_error *error);
void pl_run_close(pl_run *run);
/* pl_train_rank with a model to start from; NULL: see the settings. */
parley_status pl_train_rank_from(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                 const parley_model *start, parley_callback callback, void *user, parley_model **out,
                                 parley_summary *summary, parley_error *error);
/* Keeps other runs from writing this file or folder until the run is closed; rank 0 does so for all. */
parley_status pl_run_lock(pl_run *run, const char *path, pl_lock **lock, parley_error *error);
parley_status pl_log_begin(pl_run *run, parley_error *error); /* writes the start line of the log */

/* members.c: opens and closes the members of the method, and their tables. */
parley_status pl_members_open(pl_run *run, parley_error *error);
void pl_members_close(pl_run *run);
/* Starts the certificate at the first model, whose objective is known. */
parley_status pl_certificate_begin(pl_run *run, parley_error *error);
/* change.c: goes on as another preset or with other workers (0: as many), from the current model and the state of its
 * rows (`moves`) or from a state that is restored next. */
parley_status pl_change_method(pl_run *run, const char *preset, unsigned workers, unsigned lanes, bool moves,
                               parley_error *error);
/* Closes the members and opens those of the second method, starting from the current model or not. */
parley_status pl_go_on(pl_run *run, parley_error *error);
parley_status pl_open_next(pl_run *run, parley_error *error);
/* What is kept for every hosted worker: updates, shares and traces. */
parley_status pl_workers_open(pl_run *run, parley_error *error);
void pl_workers_close(pl_run *run);

/* run_messages.c: reports to the user, on rank 0. */
void pl_say(pl_run *run, const char *format, ...);
void pl_describe_run(pl_run *run, uint64_t bytes);         /* the first lines */
void pl_summarise(pl_run *run);                            /* before the first round */
void pl_finish_summary(pl_run *run);                       /* after the last round */
void pl_give_up_log(pl_run *run, const parley_error *why); /* continues without a log, since the model matters more */
/* Writes the line about the model to the log, such as the words of its topics. */
void pl_log_shown(pl_run *run, const parley_model *model);
void pl_give_up_spans(pl_run *run, const parley_error *why); /* the same for the trace */
void pl_progress(const pl_run *run, parley_progress *progress);
double pl_estimate_now(const pl_run *run);   /* of the relative gap, in rounds that are not evaluated; NaN: unknown */
double pl_validation_now(const pl_run *run); /* the metric of the model after this round; NaN if it was not measured */

/* remedies.c: fills in what may help, if the run ended before its target. `asked` holds the settings as given. */
void pl_remedies(pl_run *run, const parley_settings *asked, parley_summary *summary);

/* placement.c: chooses workers, lanes and the partition. Then, for a solver by columns on distributed rows, gives each
 * rank the columns of its workers, after the rows have been measured. */
parley_status pl_choose_team(pl_run *run, parley_error *error);
parley_status pl_turn_to_columns(pl_run *run, parley_error *error);
/* Divides the rows anew, while no members are open, and moves the table of numbers by row with them. On several ranks
 * rows that were turned to columns cannot be divided again. */
bool pl_can_place_again(const pl_run *run);
parley_status pl_place_again(pl_run *run, unsigned workers, unsigned lanes, pl_row_table *table, parley_error *error);

/* certificate.c */
double pl_gap(const pl_certificate *best);          /* NaN without a dual problem */
double pl_relative_gap(const pl_certificate *best); /* to be compared with the target */
bool pl_reached(const pl_run *run);                 /* whether the target is reached */
/* Takes an evaluation of v into account. run->w is the model behind v. With `gradient`, the change table holds the
 * reduced gradient there. */
parley_status pl_certify(pl_run *run, const pl_evaluation *evaluation, bool gradient, parley_error *error);
/* Evaluates v with passes over the data, and measures its model on the validation rows. */
parley_status pl_evaluate(pl_run *run, parley_error *error);
bool pl_evaluation_due(pl_run *run);
bool pl_evaluation_forced(const pl_run *run); /* whether this is the last round */
/* Computes the workers' own estimate of the gap from the sums of the round. */
void pl_estimate_gap(pl_run *run);
/* Returns from a diverged v to the best model, with smaller steps; or from a bad start to the first model. */
parley_status pl_recover(pl_run *run, parley_error *error);
/* Whether there was no progress over a window of rounds, and no member can change anything. */
parley_status pl_stalls(pl_run *run, bool *stalls, parley_error *error);

/* start.c: moves the run to a model: the one given or that of --start. The second moves it to w, and evaluates it or
 * not. The third may have the private state of the rows too, of the solver of before (pl_local_restart). */
parley_status pl_warm_start(pl_run *run, parley_error *error);
parley_status pl_start_at(pl_run *run, const double *w, parley_error *error);
parley_status pl_move_to(pl_run *run, const double *w, const double *rows, parley_error *error);
/* A v in shared memory is written by its owners. Each rank writes all of a new v to pl_next_v, from where it is taken.
 */
double *pl_next_v(pl_run *run);
parley_status pl_take_next_v(pl_run *run, parley_error *error);

/* loop.c: runs rounds until something stops them. */
parley_status pl_loop(pl_run *run, parley_error *error);
/* Sums the flags of all ranks, so that the decision of one holds for all. */
parley_status pl_sum_flags(pl_run *run, double *flags, unsigned count, parley_error *error);

/* synchronous.c: one round of all workers, from local work to the new v. */
parley_status pl_advance_synchronous(pl_run *run, parley_error *error);
/* asynchronous.c: clocks of all workers, each at its own pace, up to the next park. */
parley_status pl_advance_asynchronous(pl_run *run, parley_error *error);
/* synchronous_step.c: from the reduced update to the new v. */
parley_status pl_step(pl_run *run, parley_error *error);

/* traces.c: sends what workers and ranks did to rank 0 for its log, and computes the sums after local work. */
parley_status pl_traces_open(pl_run *run, parley_error *error);
parley_status pl_traces_send(pl_run *run, parley_error *error);    /* at the end of a round */
parley_status pl_traces_receive(pl_run *run, parley_error *error); /* on rank 0, when the round is decided */
parley_status pl_sum_round(pl_run *run,
                           parley_error *error); /* computes run->sums; this is the barrier after local work */
void pl_traces_close(pl_run *run);

/* timed_decisions.c: decisions that read the clock, ask the user or follow a replayed log. */
void pl_timed_open(pl_run *run);
parley_status pl_timed_decide(pl_run *run, double *flags, parley_error *error); /* sets PL_DECISIONS flags and H */
parley_status pl_timed_goes_on(const pl_run *run, parley_error *error); /* fails if the replayed log has ended */
void pl_timed_trace(const pl_run *run, pl_pace_trace *trace);
uint64_t pl_timed_steps(const pl_run *run); /* H in steps of a worker; 0 if the solver has no H */

/* run_state.c: lists the state of the run between two rounds. */
void pl_run_state(pl_run *run, pl_state *state);

/* checkpoint.c: saves checkpoints. A failure to save does not end the run; the statuses are those of communication. */
parley_status pl_checkpoint_open(pl_run *run, parley_error *error);
void pl_checkpoint_round(pl_run *run);                                /* at the end of a round; saves if it is time */
void pl_checkpoint_report(pl_run *run, double *flags);                /* sets PL_SAVE and the following, before */
void pl_checkpoint_agreed(pl_run *run, const double *flags);          /* and reads them after they are summed */
parley_status pl_checkpoint_last(pl_run *run, parley_error *error);   /* saves, unless this round is saved already */
parley_status pl_checkpoint_settle(pl_run *run, parley_error *error); /* waits for the disk */
void pl_checkpoint_close(pl_checkpoint *checkpoint);

/* resume.c: finds the checkpoint and takes settings from it; compares values that depend on the data; restores the run.
 */
parley_status pl_resume_open(pl_run *run, parley_error *error);
parley_status pl_resume_check(const pl_run *run, parley_error *error);
parley_status pl_resume_run(pl_run *run, parley_error *error);

#endif
