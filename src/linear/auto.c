/* auto.c: everything that `auto` decides about a linear model, as tables. A shape has the numbers that the conditions
 * compare; the first row of a table that holds is taken. The measurements behind the rows are in docs/auto.md, whose
 * tables `parley document auto` makes from these. */
#include <math.h>
#include <string.h>

#include "linear/glm.h"

#define FILLED_SHARE 0.1 /* of non-zeros in the matrix, from which on it counts as filled */

/* The cells of the matrix. */
static double cells(const parley_data *data) { return (double)pl_all_rows(data) * (double)data->x.columns; }

bool pl_is_filled(const pl_glm *glm) {
    return (double)pl_all_nonzeros(glm->base.data) >= FILLED_SHARE * cells(glm->base.data);
}

bool pl_is_uneven(const pl_glm *glm) { return glm->centred.scales > PL_UNEVEN && !glm->standardise; }

/* The shape of a linear problem. */
enum {
    /* The penalty and its limits */
    PENALISED,
    L1,
    L1_RATIO,
    PURE_L1,
    SMOOTHED_L1,
    L2_ONLY,
    FACTORS,
    EVERY_FACTOR,
    LIMITED,
    LIMITS,
    SIGNED,
    PLAIN,
    STANDARDISED,
    PENALISED_INTERCEPT,
    /* The loss and its classes */
    SMOOTH,
    BOUNDED,
    CONSTANT_CURVATURE,
    SOFTENS,
    JUMPS,
    LOG_LINK,
    HINGE,
    LINEAR_PROGRAM,
    ONE_OUTPUT,
    TOGETHER,
    AGAINST_REST,
    CLASSES,
    /* The data */
    COLUMNS,
    CORE_COLUMNS,
    CORE_ENTRIES,
    BLOCK,
    COLUMNS_PER_ROW,
    L1_COLUMNS_PER_ROW,
    FILLED,
    FILL,
    TABLE,
    UNEVEN,
    SCALES,
    TAIL,
    LENGTH,
    STIFFNESS,
    CURVATURE,
    BLOCKS,
    /* The run */
    PATH,
    CHANGING_PATH,
    WORKERS,
    DELAYED,
    NAMED,
    /* What follows from several of these */
    PROXIMAL,
    BY_COLUMNS,
    CHEAP_MATRIX,
    NUMBERS
};

_Static_assert(NUMBERS <= PL_SHAPE, "a shape has room for all numbers");

static const pl_shape_words words[NUMBERS] = {
    [PENALISED] = {"lambda > 0", "lambda 0"},
    [L1] = {"an L1 penalty", "no L1 penalty"},
    [L1_RATIO] = {"an l1_ratio of #", NULL},
    [PURE_L1] = {"a pure L1 penalty", "an L2 part of the penalty"},
    [SMOOTHED_L1] = {"a pure L1 penalty that is smoothed with the loss", "an L1 penalty that is not smoothed"},
    [L2_ONLY] = {"lambda > 0, no L1 penalty, no path, a smooth loss of bounded curvature", NULL},
    [FACTORS] = {"--penalty-factors", "no --penalty-factors"},
    [EVERY_FACTOR] = {"no penalty factor of 0", "a penalty factor of 0"},
    [LIMITED] = {"--non-negative or --penalty-factors", NULL},
    [LIMITS] = {"--non-negative, or --penalty-factors with an L1 penalty", NULL},
    [SIGNED] = {"coefficients of any sign", "--non-negative"},
    [PLAIN] = {"neither --standardise nor --penalty-factors", "--standardise or --penalty-factors"},
    [STANDARDISED] = {"--standardise", "no --standardise"},
    [PENALISED_INTERCEPT] = {"a penalised intercept", "no penalised intercept"},
    [SMOOTH] = {"a smooth loss", "a loss with kinks"},
    [BOUNDED] = {"a smooth loss of bounded curvature", NULL},
    [CONSTANT_CURVATURE] = {"squared loss", "another loss than squared"},
    [SOFTENS] = {"a loss that can be smoothed", NULL},
    [JUMPS] = {"a loss whose curvature jumps", "a loss whose curvature does not jump"},
    [LOG_LINK] = {"a log link", NULL},
    [HINGE] = {"hinge loss of two classes", "another loss than hinge"},
    [LINEAR_PROGRAM] = {"a loss with kinks and no L2 penalty", NULL},
    [ONE_OUTPUT] = {"one output", "several classes"},
    [TOGETHER] = {"softmax loss", NULL},
    [AGAINST_REST] = {"several classes, each against the rest", NULL},
    [CLASSES] = {"# classes", NULL},
    [COLUMNS] = {"# columns", NULL},
    [CORE_COLUMNS] = {"# columns that are not exclusive", NULL},
    [CORE_ENTRIES] = {"# entries of the model", NULL},
    [BLOCK] = {"# entries of the model whose curvature is joined", NULL},
    [COLUMNS_PER_ROW] = {"a ratio of columns to rows of #", NULL},
    [L1_COLUMNS_PER_ROW] = {"l1_ratio x columns / rows of #", NULL},
    [FILLED] = {"at least a tenth of the matrix filled", "less than a tenth of the matrix filled"},
    [FILL] = {"a filled share of the matrix of #", NULL},
    [TABLE] = {"a dense table in memory (`parley_train_table`, Python)", NULL},
    [UNEVEN] = {"uneven columns", "no uneven columns"},
    [SCALES] = {"columns whose scales differ by a factor of #", NULL},
    [TAIL] = {"a mean square of entries of # times that of the usual column", NULL},
    [LENGTH] = {"a mean |x|^2 / (lambda n) of #", NULL},
    [STIFFNESS] = {"a stiffness of #", NULL},
    [CURVATURE] = {"a stiffness x rows / columns of #", NULL},
    [BLOCKS] = {"data that are visited by blocks", "data in memory"},
    [PATH] = {"a path or cross-validation", "no path"},
    [CHANGING_PATH] = {"a path of logistic, squared hinge or squared epsilon-insensitive loss",
                       "no path of logistic, squared hinge or squared epsilon-insensitive loss"},
    [WORKERS] = {"a number of workers of #", NULL},
    [DELAYED] = {"--updates delayed", "immediate updates"},
    [NAMED] = {"--local or --combine", "neither --local nor --combine"},
    [PROXIMAL] = {"an L1 penalty, a smooth loss or an L2 part, coefficients of any sign", NULL},
    [BY_COLUMNS] = {"a smooth loss of bounded curvature, one output, data in memory", NULL},
    [CHEAP_MATRIX] = {"a matrix that is formed", "no matrix that is formed"},
};

/* clang-format off */
#define IS(number) {number, PL_IS, 0}
#define NOT(number) {number, PL_IS_NOT, 0}
#define ABOVE(number, limit) {number, PL_ABOVE, limit}
#define BELOW(number, limit) {number, PL_BELOW, limit}
#define AT_LEAST(number, limit) {number, PL_AT_LEAST, limit}
#define AT_MOST(number, limit) {number, PL_AT_MOST, limit}
/* clang-format on */

static const pl_choice matrix_choices[] = {
    {"many-classes",
     "not formed",
     {NOT(ONE_OUTPUT), ABOVE(BLOCK, 2000)},
     "factoring the matrix of all classes would cost more than many products with it"},
    {"classes", "formed", {NOT(ONE_OUTPUT)}, "the matrix of all classes is small"},
    {"few-columns",
     "formed",
     {AT_MOST(COLUMNS, 200)},
     "the matrix is small, and a few steps with it are enough however the columns are scaled"},
    {"stiff",
     "formed",
     {IS(BOUNDED), NOT(PATH), AT_MOST(COLUMNS, 500), ABOVE(STIFFNESS, 0.5)},
     "dual ascent takes dozens of passes under so weak a penalty"},
    {"hinge-path",
     "formed",
     {IS(HINGE), IS(PATH), AT_MOST(COLUMNS, 500)},
     "the weak penalties of a path slow dual ascent"},
    {"hinge-long-rows",
     "formed",
     {IS(HINGE), AT_MOST(COLUMNS, 500), ABOVE(LENGTH, 1)},
     "dual ascent takes many passes on rows that are long against the penalty"},
    {"kinks-uneven",
     "formed",
     {NOT(SMOOTH), IS(UNEVEN), AT_MOST(CORE_COLUMNS, 2000)},
     "dual ascent may not converge on uneven columns"},
    {"smoothed-filled",
     "formed",
     {IS(SOFTENS), NOT(HINGE), IS(FILLED), AT_MOST(COLUMNS, 2000)},
     "rows that share all columns slow dual ascent, and a smoothed loss needs the matrix"},
    {"squared-filled",
     "formed",
     {IS(CONSTANT_CURVATURE), IS(FILLED), AT_MOST(COLUMNS, 500)},
     "the matrix is constant, so that it is computed once"},
    {"otherwise", "not formed", {{0}}, "the matrix would cost more than many products with it"},
};

static const pl_choice preset_choices[] = {
    {"least-squares",
     "exact",
     {IS(CONSTANT_CURVATURE), IS(SIGNED), AT_MOST(COLUMNS, 256), AT_MOST(COLUMNS_PER_ROW, 0.5), AT_LEAST(FILL, 0.5)},
     "one pass over the rows sums the products of columns, from which the optimum and its certificate follow"},
    {"least-squares-table",
     "exact",
     {IS(CONSTANT_CURVATURE), IS(SIGNED), IS(TABLE), AT_MOST(COLUMNS, 512), AT_MOST(COLUMNS_PER_ROW, 0.5)},
     "products of columns are summed from the table as it is, which other methods would have to convert"},
    {"plain-least-squares-table",
     "exact",
     {IS(CONSTANT_CURVATURE), IS(SIGNED), NOT(PENALISED), IS(TABLE), AT_MOST(COLUMNS, 1024),
      AT_MOST(COLUMNS_PER_ROW, 0.5)},
     "without a penalty the other methods take many passes, and would have to convert the table"},
    {"limits-by-columns",
     "cocoa+",
     {IS(LIMITS), IS(PENALISED), IS(EVERY_FACTOR), IS(BY_COLUMNS)},
     "descent by columns can limit and weigh single coefficients"},
    {"l1-against-rest",
     "newton",
     {IS(PROXIMAL), IS(AGAINST_REST), AT_MOST(CORE_COLUMNS, 500)},
     "products of few columns are computed a few times, and steps on them cost no pass over the data"},
    {"l1-softmax",
     "newton",
     {IS(PROXIMAL), IS(TOGETHER), AT_MOST(CORE_ENTRIES, 200)},
     "products of few entries are computed a few times, and steps on them cost no pass over the data"},
    {"l1-softmax-uneven",
     "newton",
     {IS(PROXIMAL), IS(TOGETHER), IS(UNEVEN), AT_MOST(CORE_ENTRIES, 800)},
     "dual ascent may not converge on uneven columns"},
    {"pure-l1-softmax",
     "newton",
     {IS(PROXIMAL), IS(TOGETHER), IS(PURE_L1), AT_MOST(CORE_ENTRIES, 800)},
     "there is no L2 penalty, which dual ascent needs"},
    {"l1-uneven",
     "newton",
     {IS(PROXIMAL), IS(ONE_OUTPUT), IS(UNEVEN), AT_MOST(CORE_COLUMNS, 2000)},
     "coordinate steps may not converge on uneven columns"},
    {"l1",
     "newton",
     {IS(PROXIMAL), IS(ONE_OUTPUT), NOT(CHANGING_PATH), AT_MOST(CORE_COLUMNS, 500)},
     "products of few columns are computed a few times, and steps on them cost no pass over the data"},
    {"l1-filled",
     "newton",
     {IS(PROXIMAL), IS(ONE_OUTPUT), NOT(CHANGING_PATH), IS(FILLED), AT_MOST(CORE_COLUMNS, 1000)},
     "products of filled columns are fast, and steps on them cost no pass over the data"},
    {"limits",
     "lbfgs",
     {IS(LIMITS), IS(SMOOTH)},
     "L-BFGS can limit and weigh single coefficients for any smooth loss and penalty"},
    {"linear-program-large",
     NULL,
     {IS(LINEAR_PROGRAM), NOT(NAMED), ABOVE(CORE_COLUMNS, 2000)},
     "no method that auto can choose reaches the optimum of a loss with kinks with more than 2000 columns and without "
     "an L2 penalty"},
    {"linear-program", "newton", {IS(LINEAR_PROGRAM)}, "the kinks of loss and penalty must be smoothed"},
    {"wide-filled",
     "cocoa-newton",
     {IS(L2_ONLY), IS(ONE_OUTPUT), NOT(CONSTANT_CURVATURE), IS(FILLED), NOT(UNEVEN), ABOVE(COLUMNS, 200),
      ABOVE(COLUMNS_PER_ROW, 1)},
     "the dual problem is the smaller one, and nearly orthogonal rows hardly affect each other"},
    {"against-rest-filled",
     "newton",
     {NOT(L1), IS(AGAINST_REST), IS(FILLED), AT_MOST(CORE_COLUMNS, 200)},
     "every class has a small matrix"},
    {"against-rest-uneven",
     "newton",
     {NOT(L1), IS(AGAINST_REST), IS(UNEVEN), AT_MOST(CORE_COLUMNS, 200)},
     "every class has a small matrix, and the other methods are slow on uneven columns"},
    {"few-classes",
     "newton",
     {NOT(L1), NOT(ONE_OUTPUT), AT_MOST(CORE_ENTRIES, 200)},
     "the matrix of all classes is small"},
    {"softmax-filled",
     "newton",
     {NOT(L1), IS(TOGETHER), IS(FILLED), AT_MOST(CORE_ENTRIES, 600)},
     "the matrix of all classes is small, and correlated columns slow L-BFGS"},
    {"softmax-uneven",
     "newton",
     {NOT(L1), IS(TOGETHER), IS(UNEVEN), AT_MOST(CORE_ENTRIES, 600)},
     "the matrix of all classes is small, and the other methods are slow on uneven columns"},
    {"many-classes-uneven",
     "newton",
     {NOT(L1), IS(TOGETHER), IS(UNEVEN), AT_LEAST(CLASSES, 30), AT_MOST(CORE_ENTRIES, 1500)},
     "L-BFGS takes many rounds for so many classes on uneven columns"},
    {"matrix", "newton", {NOT(L1), IS(ONE_OUTPUT), IS(CHEAP_MATRIX)}, "the matrix of second derivatives pays off"},
    {"filled",
     "newton",
     {NOT(L1), IS(ONE_OUTPUT), IS(SMOOTH), IS(FILLED)},
     "rows that share all columns slow dual ascent, but not products with the second derivatives"},
    {"log-link",
     "newton",
     {NOT(L1), IS(ONE_OUTPUT), IS(LOG_LINK), AT_MOST(COLUMNS, 2000)},
     "the curvature grows with the counts, which slows dual ascent but not Newton's method"},
    {"log-link-uneven",
     "newton",
     {NOT(L1), IS(ONE_OUTPUT), IS(LOG_LINK), IS(UNEVEN)},
     "the curvature grows with the counts, and uneven columns slow the other methods"},
    {"sloping-against-rest",
     "newton",
     {NOT(L1), IS(AGAINST_REST), IS(SMOOTH), IS(UNEVEN), NOT(FACTORS)},
     "L-BFGS takes many rounds on columns of such different scale"},
    {"uneven-classes",
     "lbfgs",
     {NOT(ONE_OUTPUT), IS(SMOOTH), IS(UNEVEN)},
     "dual ascent may not converge on uneven columns, and L-BFGS scales them"},
    {"sloping",
     "newton",
     {NOT(L1), NOT(ONE_OUTPUT), IS(SMOOTH), IS(FILLED), IS(PLAIN), ABOVE(SCALES, 10)},
     "L-BFGS takes many rounds on columns of such different scale"},
    {"filled-classes",
     "lbfgs",
     {NOT(L1), NOT(ONE_OUTPUT), IS(SMOOTH), IS(FILLED)},
     "dual ascent may not converge on filled columns, and the matrix of all classes is too large"},
    {"mild",
     "lbfgs",
     {IS(L2_ONLY), IS(ONE_OUTPUT), BELOW(STIFFNESS, 0.01), AT_MOST(COLUMNS_PER_ROW, 10)},
     "under so strong a penalty L-BFGS takes a few rounds"},
    {"standardised",
     "lbfgs",
     {IS(L2_ONLY), IS(ONE_OUTPUT), IS(STANDARDISED), AT_MOST(COLUMNS_PER_ROW, 1)},
     "rare columns that are scaled up make rows long, which slows the other methods"},
    {"heavy-tails",
     "newton",
     {IS(L2_ONLY), NOT(JUMPS), IS(PLAIN), ABOVE(TAIL, 10), ABOVE(STIFFNESS, 30)},
     "lengths of rows differ so much that dual ascent is a worse start than none"},
    {"tall",
     "newton",
     {IS(L2_ONLY), IS(ONE_OUTPUT), IS(PLAIN), NOT(BLOCKS), AT_MOST(COLUMNS_PER_ROW, 0.5), ABOVE(CURVATURE, 2)},
     "rows have so many columns in common that dual ascent takes dozens of passes"},
    {"dual-newton",
     "cocoa-newton",
     {IS(PENALISED), NOT(L1), IS(SMOOTH)},
     "dual ascent takes few passes on sparse data, and Newton's method can finish"},
    {"hinge-newton",
     "cocoa-newton",
     {IS(PENALISED), NOT(L1), IS(HINGE), AT_MOST(CORE_COLUMNS, 2000)},
     "dual ascent takes few passes on sparse data, and Newton's method can finish on so few columns"},
    {"dual",
     "cocoa+",
     {IS(PENALISED), NOT(PURE_L1)},
     "coordinate steps reach the optimum of any loss with an L2 penalty"},
    {"columns",
     "cocoa+",
     {IS(PENALISED), IS(BY_COLUMNS)},
     "descent by columns visits only the columns that matter under an L1 penalty"},
    {"otherwise", "lbfgs", {{0}}, "L-BFGS needs no L2 penalty and no bound of the curvature"},
};

static const pl_choice combine_choices[] = {
    {"l1",
     "proximal",
     {IS(L1), NOT(SMOOTHED_L1)},
     "the quadratic model of the loss is minimised together with the L1 penalty"},
    {"smoothed-l1", "newton", {IS(L1)}, "the penalty is smoothed as the loss is"},
    {"matrix", "newton", {IS(CHEAP_MATRIX)}, "the matrix of second derivatives pays off"},
    {"kinks", "newton", {NOT(SMOOTH)}, "only this form can smooth a loss with kinks"},
    {"otherwise", "truncated", {{0}}, "products with the second derivatives are cheaper than their matrix"},
};

static const pl_choice local_choices[] = {
    {"limited", "scd", {IS(BY_COLUMNS), IS(LIMITED)}, "descent by columns can limit and weigh single coefficients"},
    {"mostly-l1", "scd", {IS(BY_COLUMNS), AT_LEAST(L1_RATIO, 0.75)}, "the L1 penalty leaves few columns to visit"},
    {"wide",
     "scd",
     {IS(BY_COLUMNS), ABOVE(L1_COLUMNS_PER_ROW, 2)},
     "the L1 penalty leaves few of many columns to visit"},
    {"filled", "scd", {IS(BY_COLUMNS), IS(L1), IS(FILLED)}, "rows that share all columns slow dual ascent"},
    {"uneven", "scd", {IS(BY_COLUMNS), IS(L1), IS(UNEVEN)}, "dual ascent may not converge on uneven columns"},
    {"otherwise", "sdca", {{0}}, "dual ascent by rows takes few passes"},
};

static const pl_choice covariance_choices[] = {
    {"one-worker",
     "table",
     {AT_MOST(WORKERS, 1), IS(L1), NOT(PENALISED_INTERCEPT), NOT(DELAYED)},
     "one worker visits few columns again and again, so that a table of their products pays off"},
    {"otherwise", "none", {{0}}, "the columns to visit change too much for a table of their products"},
};

static const pl_choice preconditioner_choices[] = {
    {"softmax",
     "long rows",
     {IS(TOGETHER), AT_MOST(WORKERS, 1), IS(PLAIN), NOT(BLOCKS)},
     "rows that are far longer than others would each cost a few products"},
    {"otherwise", "diagonal", {{0}}, "products are few, or the curvature of rows jumps too often for a better one"},
};

/* PL_AUTO_* are their numbers. */
const pl_decision pl_linear_decisions[] = {
    {"preset", "which preset `auto` stands for", .setting = "preset", .choices = preset_choices, .words = words},
    {"matrix", "whether Newton's method forms the matrix of second derivatives", .setting = "combine",
     .asked_by = {"newton", "truncated"}, .choices = matrix_choices, .words = words},
    {"combine", "which form Newton's method has, as a combine", .setting = "combine",
     .asked_by = {"newton", "truncated", "proximal"}, .choices = combine_choices, .words = words},
    {"local", "whether coordinate steps are on columns (`scd`) or on rows (`sdca`)", .setting = "local",
     .asked_by = {"scd", "sdca"}, .choices = local_choices, .words = words},
    {"covariance", "whether coordinate steps on columns follow a table of products of columns (covariance updates)",
     .asked_by = {"scd"}, .placed = true, .choices = covariance_choices, .words = words},
    {"preconditioner", "how truncated Newton preconditions its products", .asked_by = {"truncated"}, .placed = true,
     .choices = preconditioner_choices, .words = words},
    {0},
};

/* What is described: a problem as the settings ask for it or, without settings, as it is. Before data are known, only
 * the settings are. */
typedef struct subject {
    const pl_glm *glm;               /* or NULL */
    const parley_settings *settings; /* or NULL */
    const pl_loss *loss;             /* NULL: not known yet, which counts as favourable */
    double lambda, l1_ratio;
} subject;

static subject subject_of(const pl_problem *problem, const parley_settings *settings) {
    const pl_glm *glm = problem ? pl_glm_of(problem) : NULL;
    subject self = {.glm = glm,
                    .settings = settings,
                    .loss = settings ? pl_loss_find(pl_linear_settings_of(settings)->loss) : NULL};
    if (glm && (!self.loss || strcmp(self.loss->name, glm->loss->name) == 0))
        self.loss = glm->loss; /* with its parameter */
    self.lambda = settings ? pl_linear_settings_of(settings)->lambda : glm->lambda;
    self.l1_ratio = settings ? pl_linear_settings_of(settings)->l1_ratio : glm->l1_ratio;
    return self;
}

/* How long rows are against the penalty: mean |x|^2 / (lambda n). */
static double length(const subject *self) {
    const pl_glm *glm = self->glm;
    double rows = (double)pl_all_rows(glm->base.data), penalty = 1.0; /* lambda n, 1 unless given */
    double square = glm->standardise ? (double)glm->base.data->x.columns : glm->centred.mean_square;
    if (!isnan(self->lambda))
        penalty = self->lambda * rows;
    else if (!isnan(glm->c))
        penalty = 1.0 / glm->c;
    else if (!isnan(glm->alpha))
        penalty = glm->alpha * (self->loss->quadratic ? 1.0 : rows);
    return square / penalty;
}

/* Columns of data that are larger than memory are all over the file. */
static bool is_large(const pl_glm *glm) { return glm->base.data->large && !glm->base.data->spread; }

static void describe_penalty(const subject *self, double *shape) {
    const pl_glm *glm = self->glm;
    const parley_settings *settings = self->settings;
    bool non_negative = glm ? glm->non_negative : pl_linear_settings_of(settings)->non_negative;
    shape[PENALISED] = self->lambda != 0;
    shape[L1_RATIO] = self->l1_ratio;
    shape[L1] = self->l1_ratio > 0;
    shape[PURE_L1] = self->l1_ratio == 1;
    shape[FACTORS] = glm ? glm->base.factor != NULL : *pl_linear_settings_of(settings)->penalty_factors != '\0';
    shape[EVERY_FACTOR] = !glm || glm->least_factor > 0;
    shape[LIMITED] = non_negative || shape[FACTORS];
    shape[LIMITS] = non_negative || (shape[FACTORS] && shape[L1]);
    shape[STANDARDISED] = glm ? glm->standardise : settings->standardise;
    shape[SIGNED] = !non_negative;
    shape[PLAIN] = !shape[STANDARDISED] && !shape[FACTORS];
    shape[PENALISED_INTERCEPT] = (glm ? glm->intercept : pl_linear_settings_of(settings)->intercept) == PL_PENALISED;
    shape[PROXIMAL] = shape[L1] && !non_negative && (!self->loss || self->loss->smooth || !shape[PURE_L1]);
}

static void describe_loss(const subject *self, double *shape) {
    const pl_loss *loss = self->loss;
    uint64_t classes = self->glm ? self->glm->classes : 1;
    shape[SMOOTH] = !loss || loss->smooth;
    shape[BOUNDED] = !loss || pl_loss_bounded(loss);
    shape[CONSTANT_CURVATURE] = loss && loss->quadratic;
    shape[SOFTENS] = loss && loss->soften;
    shape[JUMPS] = loss && loss->depth;
    shape[LOG_LINK] = loss && loss->log_link;
    shape[HINGE] = !shape[SMOOTH] && loss->labels == PL_LABELS_BINARY && classes == 1;
    shape[LINEAR_PROGRAM] = !shape[SMOOTH] && (!shape[PENALISED] || shape[PURE_L1]);
    shape[SMOOTHED_L1] = shape[SOFTENS] && shape[PURE_L1] && (!shape[SMOOTH] || shape[EVERY_FACTOR]);
    shape[CLASSES] = (double)classes;
    shape[ONE_OUTPUT] = classes == 1;
    shape[TOGETHER] = classes > 1 && loss->together;
    shape[AGAINST_REST] = classes > 1 && !loss->together;
}

static void describe_data(const subject *self, double *shape) {
    const pl_glm *glm = self->glm;
    const parley_data *data = glm->base.data;
    pl_arrow block = pl_curvature_shape(glm);
    double rows = (double)pl_all_rows(data), columns = (double)data->x.columns;
    double entries = (double)pl_all_nonzeros(data) / rows, usual = glm->centred.usual;
    shape[COLUMNS] = columns;
    shape[CORE_COLUMNS] = columns - (double)glm->apart.count;
    shape[CORE_ENTRIES] = (double)(glm->base.size - glm->apart.count * glm->classes);
    shape[BLOCK] = (double)block.core;
    shape[COLUMNS_PER_ROW] = columns / rows;
    shape[L1_COLUMNS_PER_ROW] = self->l1_ratio * columns / rows;
    shape[FILLED] = pl_is_filled(glm);
    shape[FILL] = columns > 0 ? (double)pl_all_nonzeros(data) / cells(data) : 0.0;
    shape[TABLE] = data->cells != NULL;
    shape[UNEVEN] = pl_is_uneven(glm);
    shape[SCALES] = glm->centred.scales;
    shape[TAIL] = glm->centred.mean_square / (entries * usual * usual);
    shape[LENGTH] = length(self);
    shape[STIFFNESS] = self->loss->curvature_bound * shape[LENGTH];
    shape[CURVATURE] = shape[STIFFNESS] / shape[COLUMNS_PER_ROW];
    shape[BLOCKS] = is_large(glm) || (self->settings && self->settings->block > 0);
}

static void describe_run(const subject *self, double *shape) {
    const parley_settings *settings = self->settings;
    shape[WORKERS] = self->glm ? self->glm->workers : 0;
    shape[PATH] = self->glm && self->glm->base.many;
    shape[DELAYED] = settings && settings->updates == PL_DELAYED;
    shape[NAMED] = settings && (strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0);
}

void pl_linear_shape(const pl_problem *problem, const parley_settings *settings, double *shape) {
    subject self = subject_of(problem, settings);
    memset(shape, 0, PL_SHAPE * sizeof *shape);
    describe_penalty(&self, shape);
    describe_loss(&self, shape);
    describe_run(&self, shape);
    if (self.glm)
        describe_data(&self, shape);
    shape[L2_ONLY] = shape[PENALISED] && !shape[L1] && !shape[PATH] && shape[BOUNDED];
    shape[BY_COLUMNS] =
        shape[BOUNDED] && !(self.loss && self.loss->together) && shape[ONE_OUTPUT] && !(self.glm && is_large(self.glm));
    shape[CHANGING_PATH] =
        shape[PATH] && shape[BOUNDED] && !self.loss->together && !shape[CONSTANT_CURVATURE] && !shape[SOFTENS];
    shape[CHEAP_MATRIX] = pl_decides(&pl_linear_decisions[PL_AUTO_MATRIX], shape, "formed");
}

bool pl_linear_takes(unsigned decision, const char *take, const pl_problem *problem, const parley_settings *settings) {
    double shape[PL_SHAPE];
    pl_linear_shape(problem, settings, shape);
    return pl_decides(&pl_linear_decisions[decision], shape, take);
}

bool pl_takes_table(const pl_glm *glm, const parley_settings *settings) {
    bool named = strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0;
    bool exact = strcmp(settings->preset, "auto") == 0 ? pl_linear_takes(PL_AUTO_PRESET, "exact", &glm->base, settings)
                                                       : strcmp(settings->preset, "exact") == 0;
    return exact && !named && glm->loss->quadratic && !glm->standardise && !settings->inference &&
           !*settings->offset_column;
}
