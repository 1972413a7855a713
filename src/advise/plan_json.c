/* plan_json.c: see plan_json.h. */
#include "advise/plan_json.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/json_values.h"
#include "train/forecast.h"

#define FAR_BEHIND 8.0 /* times the seconds of the choice that no change of the network makes up for */

static void put(json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); }

static json_t *json_row(const pl_plan *plan, const pl_plan_row *row) {
    json_t *object = json_object();
    put(object, "preset", json_string(row->of.preset));
    put(object, "workers", json_integer(row->of.workers));
    put(object, "lanes", json_integer(row->of.lanes));
    put(object, "local_epochs", pl_json_real(row->of.epochs));
    put(object, "machines", json_integer(row->machines));
    put(object, "seconds", pl_json_real(row->seconds));
    put(object, "low", pl_json_real(row->low));
    put(object, "high", pl_json_real(row->high));
    put(object, "cost", plan->task.price > 0 ? pl_json_real(row->cost) : json_null());
    put(object, "rounds", pl_json_real(row->rounds));
    put(object, "gap", pl_json_real(row->gap));
    put(object, "value", pl_json_real(pl_goal_value(&plan->task.goal, row->distance)));
    put(object, "bytes", pl_json_real(row->bytes));
    put(object, "round_seconds", pl_json_real(row->round_seconds));
    put(object, "setup_seconds", pl_json_real(row->setup));
    put(object, "measured", json_boolean(row->measured));
    return object;
}

static json_t *json_curve(const pl_plan_row *row) {
    double curve[3 * PL_PLAN_CURVE];
    unsigned points = pl_plan_draw(row, curve);
    json_t *list = json_array();
    for (unsigned p = 0; p < points; p++) {
        json_t *point = json_array();
        for (unsigned i = 0; i < 3; i++)
            json_array_append_new(point, pl_json_real(curve[3 * p + i]));
        json_array_append_new(list, point);
    }
    return list;
}

/* A preset, an H and a number of workers to which --adapt may change. Machines without a worker still take part in
 * exchanges, so that these are not shorter than with a worker on each. */
static json_t *json_alternative(const pl_plan *plan, const pl_plan_row *row) {
    json_t *object = json_object();
    double workers = row->of.workers, exchange = pl_system_exchange(row->group->system, workers, row->of.epochs);
    double compute = row->round_seconds - exchange;
    if (plan->task.machines)
        exchange = fmax(exchange, pl_system_exchange(row->group->system, plan->row[0].of.workers, row->of.epochs));
    put(object, "preset", json_string(row->of.preset));
    put(object, "workers", json_integer(row->of.workers));
    put(object, "lanes", json_integer(row->of.lanes));
    put(object, "local_epochs", pl_json_real(row->of.epochs));
    put(object, "setup_seconds", pl_json_real(row->setup));
    put(object, "compute_seconds", pl_json_real(compute));
    put(object, "exchange_seconds", pl_json_real(exchange));
    put(object, "curve", json_curve(row));
    return object;
}

/* Whether --adapt may change to a method. It cannot add machines, and there are more than it could ever need. */
static bool is_alternative(const pl_plan *plan, const pl_plan_row *row) {
    unsigned most = plan->task.machines ? plan->row[0].of.workers : UINT_MAX;
    return row->of.workers <= most && row->seconds <= FAR_BEHIND * plan->row[0].seconds;
}

json_t *pl_plan_choice_json(const pl_plan *plan) {
    json_t *object = json_row(plan, &plan->row[0]), *others = json_array();
    unsigned workers = plan->row[0].of.workers;
    put(object, "curve", json_curve(&plan->row[0]));
    for (unsigned r = 0; r < plan->rows; r++) /* the first of each preset is its best H */
        if (plan->row[r].of.workers == workers)
            json_array_append_new(others, json_alternative(plan, &plan->row[r]));
    for (unsigned r = 0; r < plan->rows && json_array_size(others) < PL_ALTERNATIVES; r++)
        if (plan->row[r].of.workers != workers && is_alternative(plan, &plan->row[r]))
            json_array_append_new(others, json_alternative(plan, &plan->row[r]));
    put(object, "alternatives", others);
    put(object, "system", json_string(plan->system));
    if (plan->task.goal.kind != PL_GOAL_GAP) /* as the experiments did */
        put(object, "evaluate_every", json_integer((json_int_t)plan->evaluate_every));
    return object;
}

static json_t *json_system(const pl_group *group) {
    json_t *object = json_object(), *theta = json_object();
    for (unsigned j = 0; j < PL_SYSTEM_FEATURES; j++)
        if (group->system->theta[j] > 0)
            put(theta, pl_system_name[j], pl_json_real(group->system->theta[j]));
    put(object, "preset", json_string(group->of.preset));
    put(object, "theta", theta);
    put(object, "corrected", json_boolean(group->system->corrected));
    put(object, "left_out_error", pl_json_real(group->system->error));
    return object;
}

static json_t *json_convergence(const pl_group *group) {
    json_t *object = json_object(), *errors = json_object(), *workers = json_array();
    const pl_convergence *convergence = &group->convergence;
    for (unsigned f = 0; f < PL_FORMS; f++)
        put(errors, pl_form_name[f], pl_json_real(convergence->error[f]));
    for (unsigned c = 0; c < convergence->count; c++)
        json_array_append_new(workers, json_integer((json_int_t)convergence->curve[c].workers));
    put(object, "preset", json_string(group->of.preset));
    put(object, "local_epochs", pl_json_real(group->of.epochs));
    put(object, "form", json_string(pl_form_name[convergence->form]));
    put(object, "left_out_error", errors);
    put(object, "workers", workers);
    if (convergence->lasso) {
        json_t *weights = json_object();
        for (unsigned j = 0; j < PL_LASSO_FEATURES; j++)
            if (convergence->lasso->weight[j] != 0)
                put(weights, pl_lasso_name[j], pl_json_real(convergence->lasso->weight[j]));
        put(object, "lasso", weights);
    }
    return object;
}

static json_t *json_models(const pl_plan *plan) {
    json_t *object = json_object(), *systems = json_array(), *convergence = json_array();
    for (unsigned g = 0; g < plan->groups; g++) {
        const pl_group *group = &plan->group[g];
        if (!group->convergence.count)
            continue;
        if (group->system == &plan->systems[g])
            json_array_append_new(systems, json_system(group));
        json_array_append_new(convergence, json_convergence(group));
    }
    put(object, "system", systems);
    put(object, "convergence", convergence);
    return object;
}

json_t *pl_plan_json(const pl_plan *plan) {
    json_t *object = json_object(), *table = json_array(), *experiments = json_object();
    for (unsigned r = 0; r < plan->rows; r++)
        json_array_append_new(table, json_row(plan, &plan->row[r]));
    put(experiments, "seconds", pl_json_real(plan->spent));
    put(experiments, "runs", json_integer(plan->runs));
    put(experiments, "reused", json_integer(plan->cached));
    put(experiments, "interrupted", json_boolean(plan->interrupted));
    put(object, "target", pl_json_real(plan->task.goal.target));
    put(object, "target_of", json_string(plan->task.goal.name));
    put(object, "sample", pl_json_real(plan->task.sample));
    put(object, "budget", plan->task.budget > 0 ? pl_json_real(plan->task.budget) : json_null());
    put(object, "choice", pl_plan_choice_json(plan));
    put(object, "table", table);
    put(object, "experiments", experiments);
    put(object, "models", json_models(plan));
    return object;
}
