/* scd_state.c: the state of scd between two rounds: w, the working sets, the results of the last look, and the table of
 * inner products. State that only the next penalty of a path would need is left out. */
#include "linear/columns/scd.h"
#include "linear/rows/order.h"

static void list_evaluation(pl_state *state, const char *name, pl_linear_evaluation *at) {
    PL_STATE_VALUES(state, name, PL_UNSURE(at->b), PL_UNSURE(at->value), PL_UNSURE(at->conjugate),
                    PL_WITHIN(at->heavy, 0, 1), PL_UNSURE(at->tilt), PL_UNSURE(at->pull), PL_UNSURE(at->reach),
                    PL_VALUE(at->softened), PL_VALUE(at->penalised), PL_UNSURE(at->penalty),
                    PL_UNSURE(at->penalty_conjugate));
}

static void list_look(pl_scd *self, pl_state *state) {
    uint64_t rows = self->x->columns;
    PL_STATE_VALUES(state, "look", PL_VALUE(self->b), PL_VALUE(self->rows_known), PL_VALUE(self->columns_known),
                    PL_VALUE(self->penalty_known), PL_VALUE(self->again), PL_VALUE(self->l1_looked),
                    PL_UNSURE(self->objective), PL_UNSURE(self->gap), PL_UNSURE(self->largest),
                    PL_VALUE(self->l1_before), PL_VALUE(self->l1_then), PL_VALUE(self->curvature_squares),
                    PL_WITHIN(self->caution, 0, DBL_MAX), PL_VALUE(self->tolerance), PL_VALUE(self->strict),
                    PL_VALUE(self->share), PL_VALUE(self->solved), PL_VALUE(self->drift), PL_VALUE(self->all));
    list_evaluation(state, "found", &self->found);
    list_evaluation(state, "evaluation", &self->evaluation);
    if (self->rows_known) {
        pl_state_array(state, "loss", self->loss, PL_F64, rows);
        pl_state_array(state, "slope", self->slope, PL_F64, rows);
        pl_state_array(state, "metric", self->metric, PL_F64, rows);
    }
    pl_state_array(state, "anchor_qt", self->anchor_qt, PL_F64, rows);
}

/* A working set has some of the worker's columns, in the same order. */
static bool is_subset(const pl_scd_worker *worker) {
    uint64_t found = 0;
    for (uint64_t n = 0; n < worker->count && found < worker->members; n++)
        found += worker->set[found] == worker->column[n];
    return found == worker->members;
}

static void list_columns(pl_scd *self, pl_state *state, pl_scd_worker *worker) {
    const pl_team *columns = self->columns;
    double *arrays[] = {self->w, self->u, self->anchor_u, self->reach};
    static const char *const names[] = {"w", "u", "anchor_u", "reach"}, *const of_ones[] = {"w_ones", "u_ones",
                                                                                            "anchor_u_ones",
                                                                                            "reach_ones"};
    bool ones = worker->count > columns->rows[worker - self->workers]; /* the first worker owns a penalised intercept */
    for (unsigned a = 0; a < sizeof arrays / sizeof *arrays; a++) {
        pl_state_rows(state, columns, names[a], arrays[a], PL_F64, 1);
        if (ones)
            PL_STATE_VALUES(state, of_ones[a], PL_VALUE(arrays[a][self->x->rows]));
    }
    pl_state_length(state, "members", &worker->members, worker->count);
    pl_state_array(state, "set", worker->set, PL_U64, worker->members);
    pl_state_array(state, "order", worker->order, PL_U64, worker->members);
    pl_state_array(state, "rest", worker->rest, PL_U8, worker->members);
    pl_rest_check(state, worker->rest, worker->members, 0);
    pl_state_check_order(state, "order", worker->order, worker->members);
    if (state->restoring && state->status == PARLEY_OK && !is_subset(worker))
        pl_state_refuse(state, "set", "has other columns than those of its worker, or not in their order");
    if (state->status != PARLEY_OK && state->restoring)
        worker->members = 0;
}

/* Working sets name columns by number. Every rank holds all columns, with the same numbers. */
static void list_gram(pl_scd *self, pl_state *state, pl_scd_worker *worker) {
    pl_scd_covariance *gram = &self->gram;
    pl_state_length(state, "slots", &gram->slots, gram->capacity);
    if (gram->slots == 0 || state->status != PARLEY_OK)
        return;
    pl_scd_covariance_widen(gram, gram->slots);
    pl_state_array(state, "columns", gram->column, PL_U64, gram->slots);
    pl_state_items(state, "table", gram->table, PL_F32, gram->slots, gram->stride * sizeof *gram->table, NULL,
                   gram->slots);
    pl_state_array(state, "norms", gram->norm2, PL_F64, gram->slots);
    pl_state_array(state, "masses", gram->mass, PL_F64, gram->slots);
    pl_state_array(state, "curvature", gram->curvature, PL_F64, self->x->columns);
    PL_STATE_VALUES(state, "total", PL_VALUE(gram->total), PL_WITHIN(gram->nonzeros, 0, self->x->nonzeros));
    if (state->restoring && !(state->status == PARLEY_OK && pl_scd_covariance_restore(self, worker))) {
        gram->slots = 0;
        pl_state_refuse(state, "columns", "has columns that the data do not have, or one of them twice");
    }
}

void pl_scd_state(pl_local *local, pl_state *state) {
    pl_scd *self = (pl_scd *)local;
    list_look(self, state);
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_scd_worker *worker = &self->workers[k];
        uint64_t most = self->x->nonzeros + self->x->columns; /* a penalised intercept has an entry in every row */
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "worker", PL_WITHIN(worker->nonzeros, 0, most),
                        PL_WITHIN(worker->supported, 0, worker->count), PL_VALUE(worker->epoch),
                        PL_VALUE(worker->offset), PL_UNSURE(worker->estimate), PL_VALUE(worker->solved),
                        PL_VALUE(worker->credit));
        if (pl_state_has(state, "beyond"))
            PL_STATE_VALUES(state, "beyond", PL_WITHIN(worker->beyond, 0, worker->count));
        list_columns(self, state, worker);
        if (self->gram.capacity > 0)
            list_gram(self, state, worker);
    }
}
