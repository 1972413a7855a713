/* plan_page.c: see plan_page.h. Charts are SVG with logarithmic axes; nothing is loaded from elsewhere. */
#include "advise/plan_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 640.0
#define HEIGHT 360.0
#define LEFT 70.0
#define BELOW 40.0
#define CURVES 6 /* most configurations in the chart of gaps */

static const char *const colours[] = {"#1b6ac9", "#c9481b", "#2a8f4b", "#8a3fb5",
                                      "#b58a00", "#00868b", "#a3315c", "#556b2f"};
#define COLOURS (sizeof colours / sizeof *colours)

typedef struct axis {
    double low, high; /* logarithms to base 10 */
} axis;

static void widen(axis *axis, double value) {
    if (!(value > 0) || !isfinite(value))
        return;
    axis->low = fmin(axis->low, log10(value));
    axis->high = fmax(axis->high, log10(value));
}

static axis nothing(void) { return (axis){INFINITY, -INFINITY}; }

static double place(const axis *axis, double value) {
    double width = axis->high - axis->low;
    return width > 0 ? (log10(value) - axis->low) / width : 0.5;
}

static double x_of(const axis *axis, double value) { return LEFT + place(axis, value) * (WIDTH - LEFT - 10); }
static double y_of(const axis *axis, double value) {
    return HEIGHT - BELOW - place(axis, value) * (HEIGHT - BELOW - 15);
}

/* Lines and numbers at powers of ten, or of two for workers. */
static void draw_axes(FILE *file, const axis *x, const axis *y, double base, const char *below, const char *beside) {
    fprintf(file, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s by %s\">\n", WIDTH, HEIGHT, beside, below);
    for (double value = pow(base, ceil(x->low * log(10) / log(base) - 1e-9)); log10(value) <= x->high + 1e-9;
         value *= base)
        fprintf(file,
                "<line x1=\"%.1f\" y1=\"10\" x2=\"%.1f\" y2=\"%g\" class=\"grid\"/><text x=\"%.1f\" y=\"%g\" "
                "text-anchor=\"middle\">%.3g</text>\n",
                x_of(x, value), x_of(x, value), HEIGHT - BELOW, x_of(x, value), HEIGHT - BELOW + 16, value);
    for (double value = pow(10, ceil(y->low - 1e-9)); log10(value) <= y->high + 1e-9; value *= 10)
        fprintf(file,
                "<line x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\" class=\"grid\"/><text x=\"%g\" y=\"%.1f\" "
                "text-anchor=\"end\">%.3g</text>\n",
                LEFT, y_of(y, value), WIDTH - 10, y_of(y, value), LEFT - 6, y_of(y, value) + 4, value);
    fprintf(file, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text><text x=\"4\" y=\"12\">%s</text>\n",
            (WIDTH + LEFT) / 2, HEIGHT - 6, below, beside);
}

static void describe(const pl_configuration *of, bool workers, char *text, size_t size) {
    char h[32] = "", many[32] = "";
    if (!isnan(of->epochs))
        snprintf(h, sizeof h, ", H %g", of->epochs);
    if (workers)
        snprintf(many, sizeof many, " x %u", of->workers);
    snprintf(text, size, "%s%s%s", of->preset, many, h);
}

static void legend(FILE *file, unsigned number, const char *text) {
    fprintf(file, "<text x=\"%g\" y=\"%u\" text-anchor=\"end\" fill=\"%s\">%s</text>\n", WIDTH - 14, 22 + 14 * number,
            colours[number % COLOURS], text);
}

/* The row of a group for a number of workers, or NULL. */
static const pl_plan_row *row_of(const pl_plan *plan, const pl_group *group, double workers) {
    for (unsigned r = 0; r < plan->rows; r++)
        if (plan->row[r].group == group && plan->row[r].of.workers == workers)
            return &plan->row[r];
    return NULL;
}

/* Predicted seconds of every preset and H by workers, with measured numbers of workers as dots. */
static void draw_seconds(FILE *file, const pl_plan *plan) {
    axis x = nothing(), y = nothing();
    unsigned drawn = 0;
    char text[96];
    for (unsigned r = 0; r < plan->rows; r++) {
        widen(&x, plan->row[r].of.workers);
        widen(&y, plan->row[r].seconds);
    }
    draw_axes(file, &x, &y, 2, plan->task.machines ? "machines" : "workers", "seconds");
    for (unsigned g = 0; g < plan->groups; g++) {
        const char *colour = colours[drawn % COLOURS];
        bool any = false;
        fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
        for (unsigned w = 0; w < plan->task.workers; w++) {
            const pl_plan_row *row = row_of(plan, &plan->group[g], plan->task.worker[w]);
            if (row)
                fprintf(file, "%.1f,%.1f ", x_of(&x, row->of.workers), y_of(&y, row->seconds));
            any = any || row;
        }
        fputs("\"/>\n", file);
        for (unsigned w = 0; w < plan->task.workers; w++) {
            const pl_plan_row *row = row_of(plan, &plan->group[g], plan->task.worker[w]);
            if (row && row->measured)
                fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x_of(&x, row->of.workers),
                        y_of(&y, row->seconds), colour);
        }
        if (!any)
            continue;
        describe(&plan->group[g].of, false, text, sizeof text);
        legend(file, drawn++, text);
    }
    fputs("</svg>\n", file);
}

/* Predicted gaps by time, of the best configuration of several presets and H; measured points as dots. */
static void draw_gaps(FILE *file, const pl_plan *plan) {
    const pl_plan_row *rows[CURVES];
    double curve[3 * PL_PLAN_CURVE];
    unsigned count = 0;
    axis x = nothing(), y = nothing();
    char text[96];
    for (unsigned r = 0; r < plan->rows && count < CURVES; r++) {
        bool is_new = true;
        for (unsigned i = 0; i < count; i++)
            is_new = is_new && rows[i]->group != plan->row[r].group;
        if (is_new)
            rows[count++] = &plan->row[r];
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned p = 0, points = pl_plan_draw(rows[i], curve); p < points; p++) {
            widen(&x, curve[3 * p + 1]);
            widen(&y, curve[3 * p + 2]);
        }
    draw_axes(file, &x, &y, 10, "seconds", "relative gap");
    for (unsigned i = 0; i < count; i++) {
        unsigned points = pl_plan_draw(rows[i], curve);
        fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colours[i % COLOURS]);
        for (unsigned p = 0; p < points; p++)
            fprintf(file, "%.1f,%.1f ", x_of(&x, curve[3 * p + 1]), y_of(&y, curve[3 * p + 2]));
        describe(&rows[i]->of, true, text, sizeof text);
        fputs("\"/>\n", file);
        legend(file, i, text);
    }
    fputs("</svg>\n", file);
}

static void write_table(FILE *file, const pl_plan *plan) {
    fprintf(file, "<table><tr><th>preset<th>%s<th>H<th>seconds<th>low<th>high<th>rounds<th>gap<th>bytes<th>cost</tr>\n",
            plan->task.machines ? "machines" : "workers");
    for (unsigned r = 0; r < plan->rows; r++) {
        const pl_plan_row *row = &plan->row[r];
        char h[32] = "-", cost[32] = "-";
        if (!isnan(row->of.epochs))
            snprintf(h, sizeof h, "%g", row->of.epochs);
        if (plan->task.price > 0)
            snprintf(cost, sizeof cost, "%.4g", row->cost);
        fprintf(file, "<tr%s><td>%s<td>%u<td>%s<td>%.4g<td>%.4g<td>%.4g<td>%.0f<td>%.2e<td>%.3g<td>%s</tr>\n",
                r == 0 ? " class=\"choice\"" : "", row->of.preset, row->of.workers, h, row->seconds, row->low,
                row->high, row->rounds, row->gap, row->bytes, cost);
    }
    fputs("</table>\n", file);
}

parley_status pl_plan_page(const pl_plan *plan, const char *path, parley_error *error) {
    FILE *file = fopen(path, "w");
    char text[96];
    if (!file)
        return pl_fail_file(error, path, "write");
    describe(&plan->row[0].of, true, text, sizeof text);
    fprintf(
        file,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>A plan</title><style>body{font:14px "
        "sans-serif;max-width:60em;margin:2em auto;padding:0 1em}svg{max-width:100%%}svg text{font-size:11px}.grid{"
        "stroke:#ddd}polyline{stroke-width:1.5}table{border-collapse:collapse}td,th{padding:2px 8px;text-align:right}"
        "td:first-child,th:first-child{text-align:left}.choice{font-weight:bold}</style>\n<h1>%s</h1>\n<p>%.4g "
        "seconds to a relative gap of %.3g; the 90 %% band is %.4g to %.4g. %u experiments took %.3g seconds.</p>\n"
        "<h2>Seconds to the target</h2>\n",
        text, plan->row[0].seconds, plan->row[0].gap, plan->row[0].low, plan->row[0].high, plan->runs, plan->spent);
    draw_seconds(file, plan);
    fputs("<p>Dots were measured; lines are predicted.</p>\n<h2>The way there</h2>\n", file);
    draw_gaps(file, plan);
    fputs("<h2>All configurations</h2>\n", file);
    write_table(file, plan);
    fputs("</html>\n", file);
    bool written = ferror(file) == 0;
    return fclose(file) == 0 && written ? PARLEY_OK : pl_fail_file(error, path, "write");
}
