/* choice.c: finds the choice of a decision, and puts its conditions into words. */
#include "method/choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool holds(const pl_condition *condition, const double *shape) {
    double value = shape[condition->number];
    switch (condition->comparison) {
    case PL_IS: return value != 0;
    case PL_IS_NOT: return value == 0;
    case PL_ABOVE: return value > condition->limit;
    case PL_BELOW: return value < condition->limit;
    case PL_AT_LEAST: return value >= condition->limit;
    case PL_AT_MOST: return value <= condition->limit;
    default: return true;
    }
}

const pl_choice *pl_decide(const pl_decision *decision, const double *shape) {
    const pl_choice *choice = decision->choices;
    for (unsigned i = 0; i < PL_CONDITIONS;)
        if (holds(&choice->when[i], shape))
            i++;
        else {
            choice++;
            i = 0;
        }
    return choice;
}

bool pl_decides(const pl_decision *decision, const double *shape, const char *take) {
    return strcmp(pl_decide(decision, shape)->take, take) == 0;
}

/* The limit of a condition in words, or the value that it was compared with. */
static void number_text(const pl_condition *condition, const double *shape, char *text, size_t size) {
    static const char *const words[] = {
        [PL_ABOVE] = "more than ", [PL_BELOW] = "less than ", [PL_AT_LEAST] = "at least ", [PL_AT_MOST] = "at most "};
    double number = shape ? shape[condition->number] : condition->limit;
    snprintf(text, size, number == floor(number) ? "%s%.0f" : "%s%.3g", shape ? "" : words[condition->comparison],
             number);
}

static void condition_text(const pl_decision *decision, const pl_condition *condition, const double *shape, char *text,
                           size_t size) {
    const pl_shape_words *words = &decision->words[condition->number];
    const char *mark = strchr(words->words, '#');
    char number[40];
    if (!mark) {
        snprintf(text, size, "%s", condition->comparison == PL_IS ? words->words : words->otherwise);
        return;
    }
    number_text(condition, shape, number, sizeof number);
    snprintf(text, size, "%.*s%s%s", (int)(mark - words->words), words->words, number, mark + 1);
}

void pl_conditions_text(const pl_decision *decision, const pl_choice *choice, const double *shape, char *text,
                        size_t size) {
    const char *separator = "";
    *text = '\0';
    for (unsigned i = 0; i < PL_CONDITIONS && choice->when[i].comparison; i++) {
        size_t length = strlen(text);
        snprintf(text + length, size - length, "%s", separator);
        length = strlen(text);
        condition_text(decision, &choice->when[i], shape, text + length, size - length);
        separator = "; ";
    }
}
