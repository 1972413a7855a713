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

/* The best that is known: the model at the least P seen, and the largest D. Their distance is the certificate. */
typedef struct pl_certificate {
    bool exists;      /* lambda > 0: there is a dual problem */
    double null;      /* P at w = 0: the scale of relative gaps */
    double objective; /* least P */
    double loss;      /* sum q loss there */
    double dual;      /* largest D */
    double gradient;  /* without a dual: norm of the gradient, relative to the first */
    double first_gradient;
    double *w; /* the model at `objective` */
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
    double watched;               /* the gap (or gradient) when the current window began */
    double watched_objective;     /* likewise, P */
    uint64_t window;              /* round when it began */
    double slow_gap, slow_epochs; /* when it was last seen whether the method is slow */
    double last_gap;              /* when the combine was last told how fast it falls */
    uint64_t told;                /* round of that */
} pl_pace;

/* What ranks agree on after every round. */
enum { PL_BY_USER, PL_BY_SECONDS, PL_EPOCHS, PL_SAVE, PL_SAVED, PL_NOT_SAVED, PL_SENT, PL_DECISIONS };

/* What all ranks know of a round when its local work is done, by one message of each. */
typedef struct pl_meeting {
    double slowest;             /* worker's seconds */
    double passes;              /* over the data */
    double shrink;              /* what is left of v when every update has taken its share */
    double residual;            /* the workers' own estimate of the gap */
    double scalars[PL_SCALARS]; /* sums of the updates' */
} pl_meeting;

typedef struct pl_run {
    pl_engine *engine;
    const parley_model *start; /* to begin at; NULL: as the settings say */
    const parley_data *given;  /* all rows */
    const parley_data *data;   /* those to train on */
    parley_data weighted;      /* the same with class weights, where there are any */
    double *class_weight;      /* of each row, then */
    parley_data *dealt;        /* rows of this rank's workers, where they lay on other ranks */
    parley_data *all_rows;     /* by columns, in its place: every row but for its entries */
    parley_settings *settings; /* resolved */
    parley_settings *later;    /* of a method that follows: as they were asked for, and `settings` from then on */
    parley_settings *recorded; /* what the model is told: of the first method */
    pl_method method;
    pl_setup setup; /* what the members were given to open */
    pl_glm glm;
    pl_problem problem; /* the same, as the loop sees it */
    pl_team team;
    pl_columns by_column; /* and the deal of columns, where the solver asks for them */
    pl_team columns;
    pl_local *local;
    pl_combine *combine;
    pl_exchange *exchange;
    uint64_t entries;                   /* of v */
    pl_span v_room;                     /* v's, on huge pages, because access is random */
    double *v, *direction, *change, *w; /* w: the model that v stands for, when it was last looked at */
    double *null;                       /* the model without features */
    pl_update *update;                  /* of each hosted worker */
    double *share;                      /* that its update counts for */
    double *scalars;                    /* hosted x PL_SCALARS */
    pl_worker_trace *trace;
    pl_rank_trace rank_trace;       /* of this round, on this rank */
    pl_worker_trace *worker_traces; /* of all ranks, at rank 0, where a log is kept */
    pl_rank_trace *rank_traces;
    char *told;               /* room for what one of them tells of a round */
    double *phases;           /* what ranks tell of their local work: a row for each worker, and one of sums */
    uint64_t rank_bytes_sent; /* of this rank, that the summary does not know of yet */
    pl_meeting met;
    bool logs; /* rank 0 keeps a log */
    pl_certificate best;
    pl_pace pace;
    pl_validation validation;
    pl_log *log;
    parley_callback callback;
    void *user;
    parley_summary summary;
    double began, ended;                /* when training did; when the latest round did */
    double sigma, gamma;                /* of the latest round */
    double probe_seconds;               /* of this round */
    double offer_seconds;               /* likewise, before the ranks met */
    double local_epochs;                /* H of the next round; NaN: the solver knows none */
    double local_seconds, rest_seconds; /* of this round: local work by the step, and all else but evaluation */
    double fixed_seconds;               /* of the rest, local work by the round */
    double gap_seen;                    /* before this round: its fall is logged */
    bool paced;                         /* H is auto */
    pl_pacing pacing;
    uint64_t noted; /* the round that it last noted */
    pl_replay replay;
    pl_checkpoint checkpoint;
    pl_resume resume;
    uint64_t *order;      /* of each hosted worker: the hash of its rows; NULL unless there is a checkpoint */
    uint64_t fingerprint; /* of the data; 0 unless there is a log or a checkpoint */
    uint64_t round;
    bool many;      /* lambdas: a path */
    bool evaluated; /* in this round */
    bool diverged;  /* P was not a number there */
} pl_run;

/* shares.c: workers and lanes, and the deal; then, for a solver by columns on rows that were dealt to ranks, and when
 * they have been measured, these: each rank gets the columns of its workers. */
parley_status pl_choose_team(pl_run *run, parley_error *error);
parley_status pl_turn_to_columns(pl_run *run, parley_error *error);

double pl_gap(const pl_certificate *best);          /* NaN: no dual problem */
double pl_relative_gap(const pl_certificate *best); /* what --gap is compared with */

/* certificate.c: takes an evaluation of v into account. run->w is the model that v stands for; `gradient`: run->change
 * holds the reduced gradient there. */
parley_status pl_certify(pl_run *run, const pl_evaluation *evaluation, bool gradient, parley_error *error);
/* Evaluates v by passes over the data. */
parley_status pl_evaluate(pl_run *run, parley_error *error);
bool pl_evaluation_due(pl_run *run);
bool pl_evaluation_forced(const pl_run *run); /* at the limit of rounds, there is a last one */
/* From a diverged v: back to the best model, with smaller steps. */
parley_status pl_recover(pl_run *run, parley_error *error);
void pl_say(pl_run *run, const char *format, ...);         /* train.c: tells the user, on rank 0 */
void pl_give_up_log(pl_run *run, const parley_error *why); /* train.c: the model is worth more than its log */
/* train.c: a run from settings to where its loop can begin, and its end. What failed is told to all ranks. */
parley_status pl_run_open(pl_run *run, const parley_settings *settings, parley_error *error);
/* Goes on under another lambda, from the model that was found. */
parley_status pl_run_renew(pl_run *run, double lambda, parley_error *error);
/* Rounds until something says stop, with their lines in the log, and the summary. */
/* The best model found, with all that its metadata say. */
parley_status pl_run_model(pl_run *run, parley_model **out, parley_error *error);
parley_status pl_run_loop(pl_run *run, parley_error *error);
void pl_run_close(pl_run *run);
/* pl_train_rank from a model to begin at; NULL: as the settings say. */
parley_status pl_train_rank_from(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                 const parley_model *start, parley_callback callback, void *user, parley_model **out,
                                 parley_summary *summary, parley_error *error);
/* start.c: puts the run where a model is: the one given, or that of --start; or where w is, which is looked at then,
 * or not. */
parley_status pl_warm_start(pl_run *run, parley_error *error);
parley_status pl_start_at(pl_run *run, const double *w, parley_error *error);
parley_status pl_move_to(pl_run *run, const double *w, parley_error *error);
/* A v that all ranks have in common is written by its owners: where each rank puts all of a new one, and has it taken.
 */
double *pl_next_v(pl_run *run);
parley_status pl_take_next_v(pl_run *run, parley_error *error);
/* train.c: closes the members and opens those of the method that follows, where the model is now. */
parley_status pl_go_on(pl_run *run, parley_error *error);
parley_status pl_open_next(pl_run *run, parley_error *error); /* the same, but for where the model is */
void pl_progress(const pl_run *run, parley_progress *progress);
parley_status pl_loop(pl_run *run, parley_error *error); /* loop.c: rounds until something says stop */
/* traces.c: what workers and ranks did, told to rank 0 for its log. */
parley_status pl_traces_open(pl_run *run, parley_error *error);
parley_status pl_traces_tell(pl_run *run, parley_error *error); /* at the end of a round */
parley_status pl_traces_hear(pl_run *run, parley_error *error); /* after the ranks have met, at rank 0 */
/* Where the ranks meet after local work: fills run->met. `slowest`: seconds of this rank's slowest worker. */
parley_status pl_traces_meet(pl_run *run, double slowest, parley_error *error);
void pl_traces_close(pl_run *run);
/* No progress over a window of rounds, and nothing left to change? */
parley_status pl_stalls(pl_run *run, bool *stalls, parley_error *error);
/* Adds up what the ranks say, so that what one of them decided holds for all. */
parley_status pl_agree(pl_run *run, double *flags, unsigned count, parley_error *error);
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
/* resume.c: finds the checkpoint, and takes settings from it; compares the penalty; puts the run where it was. */
parley_status pl_resume_open(pl_run *run, parley_error *error);
parley_status pl_resume_check(const pl_run *run, parley_error *error);
parley_status pl_resume_run(pl_run *run, parley_error *error);

#endif
