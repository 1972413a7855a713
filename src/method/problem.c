/* problem.c: looks up problems and collects their descriptions. */
#include "method/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const pl_problem_type *pl_problem_find(const char *name) {
    for (unsigned i = 0; i < pl_problems_count; i++)
        if (strcmp(pl_problems[i]->name, name) == 0)
            return pl_problems[i];
    return NULL;
}

const parley_fact *parley_summary_fact(const parley_summary *summary, const char *name) {
    for (unsigned i = 0; i < summary->facts; i++)
        if (strcmp(summary->fact[i].name, name) == 0)
            return &summary->fact[i];
    return NULL;
}

const char *pl_fact_name(unsigned number) {
    static const char *const names[PL_FACTS] = {"an L2 penalty",
                                                "a problem without L1 penalty",
                                                "a penalty",
                                                "a smooth loss",
                                                "a loss that can be smoothed",
                                                "a smooth loss of bounded curvature",
                                                "two classes at most",
                                                "a dual problem",
                                                "the same penalty on all columns",
                                                "coefficients of both signs",
                                                "squared loss"};
    return names[number];
}

void pl_describe_text(pl_description *description, const char *name, const char *text) {
    if (description->count == PARLEY_FACTS)
        return;
    parley_fact *fact = &description->facts[description->count++];
    *fact = (parley_fact){.name = name};
    snprintf(fact->text, sizeof fact->text, "%s", text);
}

void pl_describe_number(pl_description *description, const char *name, double number) {
    if (description->count < PARLEY_FACTS)
        description->facts[description->count++] = (parley_fact){.name = name, .number = number};
}

void pl_describe_timing(pl_description *description, const char *name, double number) {
    description->timings |= 1u << description->count;
    pl_describe_number(description, name, number);
}

void pl_describe_count(pl_description *description, const char *name, double count) {
    pl_describe_number(description, name, count);
    if (description->count > 0)
        description->facts[description->count - 1].whole = 1;
}

void pl_describe_line(pl_description *description, const char *format, ...) {
    if (description->lines == PL_DESCRIPTION_LINES)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(description->line[description->lines], sizeof *description->line, format, arguments);
    va_end(arguments);
    description->lines++;
}
