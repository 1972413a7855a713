#!/usr/bin/env python3
"""Measures what each special case and each rule of `auto` is worth: ablation.py PARLEY_TREE [option ...] [name ...].

For each case it builds Parley with the case switched off, by an edit of a copy of the sources, and solves the problems
of bench/shapes.py with that build and the normal one in turn, to the same certificate. Every pair of problem and build
runs at least once. It is repeated where the model or the time differs, more often the shorter it is. A few problems of
its own concern cases that no shape does. Names choose what to switch off: one of --list, `a+b` for both, or all
`cases`, `rules` or `presets`. Results are kept in the build folder of the tree, so that a run may be continued or made
in parts. A run without names or words writes bench/ABLATION.md.
"""

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import pickle
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np
import scipy.sparse as sparse
import shape_data as made
from evaluate import null_objective, objective
from harness import Bench, markdown
from peers import TARGET
from run import machine
from shape_peers import ours
from shapes import PRESETS, Shape, shapes

PAGE = Path(__file__).with_name("ABLATION.md")
FORK = multiprocessing.get_context("fork")  # a child has all modules but parley, of which it imports its own build
WORTH = 1.1  # what a case must gain on some shape
REGRET, SHARE = 1.3, 0.95  # a rule goes if this share of problems stays within this regret without it
VISIT = 0.02  # seconds of fits in a row, of which the first is not counted
MOST_FITS = 8  # in a visit
SLOW = 0.5  # seconds of a fit from which on there is only one at first
NOTICED = 1.05  # ratio of the times from which on visits are repeated
CLEAR = 2.0  # ratio from which on they need not be
NEAR = 2.0  # the same for presets
HOPELESS = 10  # ratio from which on a preset or a rule is not waited for
BORDER = 1.2  # ratio up to which they are repeated twice as often
BUDGET = 1.0  # seconds of a build on a problem in all repeated visits, unless that allows fewer than LEAST
LEAST = 3
PARTS = ("CMakeLists.txt", "cmake", "cli", "include", "python", "report", "src", "docs", "tools", "bench")


@dataclass
class Case:
    """A special case: its edits (file, text, replacement), the files and functions (file:function) that only it needs,
    and the unit tests of its own. Files are those of src.

    Its kind is also "kernel", "rule" or "preset". Without a kernel the same model takes longer. Without another case,
    the same model in the same rounds is found without the work of that case, so that it has no cost there. A rule
    concerns only the shapes that take its row, which `row` identifies as in `rows_taken`."""

    name: str
    edits: list
    takes: list
    tests: list = field(default_factory=list)
    kind: str = "case"
    concerns: object = lambda shape: True  # whether its code can run on a shape at all
    row: str = ""

    @property
    def special(self):
        return self.kind in ("case", "kernel")


def edit(path, old, new):
    return path, old, new


def is_dense(shape):
    return shape.data in ("dense", "far", "cadata", "sgemm")


CASES = [
    Case(
        "rescale_hinge",
        [edit("linear/dual/sdca.c", "if (status == PARLEY_OK && !self->plain)", "if (false)")],
        ["linear/rows/rescale_hinge.c"],
        ["rescale_hinge"],
    ),
    Case(
        "softmax_preconditioner",
        [edit("linear/newton/softmax_preconditioner.c",
              "bool pl_softmax_preconditioner_fit(const pl_problem *problem, const pl_team *team) {\n",
              "bool pl_softmax_preconditioner_fit(const pl_problem *problem, const pl_team *team) {\n"
              "    return false;\n")],
        ["linear/newton/softmax_preconditioner.c", "linear/newton/softmax_preconditioner.h"],
        ["softmax_preconditioner"],
    ),
    Case(
        "scd_support",
        [edit("linear/columns/scd_solve.c", "e > PL_SCD_PAST && jump_on_support(", "false && jump_on_support(")],
        ["linear/columns/scd_support.c", "linear/columns/scd_solve.c:jump_on_support"],
    ),
    Case(
        "scd_covariance",
        [edit("linear/columns/scd_setup.c", "if (capacity == 0)\n        return true;", "return true;")],
        [
            "linear/columns/scd_covariance.c", "linear/columns/scd_support.c", "linear/columns/scd_setup.c:take_gram",
            "linear/columns/scd_solve.c:jump_by_gram", "linear/columns/scd_solve.c:jump_on_support",
            "linear/columns/scd_solve.c:seen_solved",
        ],
    ),
    Case(
        "scd_anderson",
        [edit("linear/columns/scd_solve.c", "if (!pl_scd_extrapolate(worker->past, worker->members, worker->past))",
              "if (true)")],
        ["linear/columns/scd_anderson.c", "linear/columns/scd_solve.c:jump"],
    ),
    Case(
        "scd_predict",
        [edit("linear/columns/scd_solve.c", "if (self->predicting)", "if (false)")],
        ["linear/columns/scd_solve.c:predict", "linear/columns/scd.c:pace"],
    ),
    Case(
        "float_table",
        [
            edit("linear/newton/gradient_rows.c",
                 "pl_float_table_dot(x->index + begin, value, count, self->turned, stride, a);",
                 "pl_plain_dots(glm, i, self->w, u);"),
            edit("linear/newton/gradient_rows.c", "u[c] = (double)a[c] + b[c];", "u[c] += b[c];"),
            edit("linear/newton/gradient_rows.c",
                 "pl_float_table_add(x->index + begin, value, count, a, stride, sums);",
                 "pl_plain_adds(glm, i, u, sum);"),
            edit("linear/newton/gradient_rows.c", "memset(sums, 0, x->columns * stride * sizeof *sums);",
                 "memset(sum, 0, glm->base.size * sizeof *sum);"),
            edit("linear/newton/gradient_rows.c", "pl_float_table_give(sums, x->columns, classes, sum);", ""),
            edit("linear/newton/gradient.c", "if (self->turned)\n", "if (false)\n"),
        ],
        ["math/float_table.c", "math/float_table.h"],
        kind="kernel",
        concerns=lambda shape: shape.classes > 1,
    ),
    Case(
        "dense_row",
        [
            edit("math/sparse.h", "return count >= PL_FULL_ENTRIES && value &&", "return false &&"),
            edit("math/sparse.h", "if (count >= PL_FULL_ENTRIES) {", "if (false) {"),
        ],
        ["math/dense_row.c", "math/dense_row.h", "math/dense_row_body.h"],
        ["dense_row"],
        kind="kernel",
    ),
    Case(
        "dense_block",
        [
            edit("linear/glm.c", f"if (full && glm->classes == 1)\n        pl_dense_block_{kernel}",
                 f"if (false)\n        pl_dense_block_{kernel}")
            for kernel in ("dot", "add")
        ],
        ["math/dense_block.c", "math/dense_block.h"],
        ["dense_block"],
        kind="kernel",
        concerns=is_dense,
    ),
    Case(
        "dense_table",
        [edit("math/dense_table.c", "return width >= PL_FULL_WIDTH && PL_HAS_AVX2;", "return false;")],
        ["math/dense_table.c", "math/dense_table.h"],
        kind="kernel",
        concerns=lambda shape: is_dense(shape) and shape.classes > 1,
    ),
    Case(
        "exclusive_columns",
        [edit("linear/linear.c", "bool small = columns <= MOST_EXCLUSIVE &&", "bool small = false &&")],
        ["linear/rows/exclusive_columns.c", "linear/rows/exclusive_columns.h", "math/arrow_matrix.c",
         "math/arrow_matrix.h", "linear/linear.c:find_exclusive"],
        ["exclusive_columns", "arrow_matrix"],
    ),
    Case(
        "shift of centred",
        [edit("linear/linear.c", "copies && glm->intercept == PL_FREE", "false")],
        [f"linear/rows/centred.c:{name}" for name in ("shift_values", "fill_rows", "copy_spread", "pl_centred_drop")],
    ),
    Case(
        "statistics of centred",
        [edit("linear/rows/centred.c", "if (size == 0 || data->deal)", "if (true)")],
        ["linear/rows/centred.c", "linear/rows/centred.h"],
        ["centred"],
    ),
    Case(
        "lanes of sdca",
        [edit("linear/dual/sdca_setup.c", "return team->lanes > 1 && !self->delayed && self->rest &&",
              "return team->lanes > 1 && !self->delayed; return")],
        ["linear/dual/sdca_lanes.c"],
    ),
    Case(
        "one lane for few rows",
        [edit("linear/dual/sdca_setup.c", "return team->lanes > 1 && !self->delayed && self->rest &&",
              "return false &&")],
        ["linear/dual/sdca_setup.c:shares_few_rows"],
    ),
    Case(
        "resting rows of sdca",
        [
            edit("linear/dual/sdca_setup.c", "->loss->depth ? pl_alloc(rows, 1) : NULL;", "->loss ? NULL : NULL;"),
            edit("linear/dual/sdca_setup.c", "->loss->depth && !self->rest)", "->loss->depth && false)"),
        ],
        ["linear/dual/sdca_active.c", "linear/dual/sdca.c:keep_resting"],
        ["active"],
    ),
    Case(
        "classes_curvature",
        [edit("linear/newton/newton.c", "static const pl_combine_type *variant(const pl_problem *problem) {\n",
              "static const pl_combine_type *form(const pl_problem *problem);\n"
              "static const pl_combine_type *variant(const pl_problem *problem) {\n"
              "    bool several = form(problem) == &pl_combine_truncated && pl_glm_of(problem)->classes > 1;\n"
              "    return several ? &pl_combine_lbfgs : form(problem);\n"
              "}\n"
              "static const pl_combine_type *form(const pl_problem *problem) {\n")],
        ["linear/rows/classes_curvature.c", "linear/rows/classes_curvature.h",
         "linear/newton/softmax_preconditioner.c", "linear/newton/softmax_preconditioner.h", "math/float_table.c",
         "math/float_table.h", "linear/newton/gradient_rows.c:product_classes",
         "linear/newton/gradient_rows.c:bend_classes"],
        ["softmax_preconditioner"],
    ),
    Case(
        "memory of classes_curvature",
        [edit("linear/newton/gradient_rows.c",
              "self->memory = self->fell_short ? how->share : self->stepped ? how->fading * self->memory : 0.0;",
              "self->memory = 0;")],
        ["linear/rows/classes_curvature.c:pl_classes_mean_curvature",
         "linear/newton/gradient_rows.c:pl_gradient_remember"],
    ),
]  # fmt: skip

# Cases that were measured and deleted.
DELETED = [[
    "a step for each class of one against the rest", 128, 0,
    "0.87x on rest-squared-hinge counts, 1.1x to 1.3x on counts of 2,000 x 10,000 in five classes",
]]  # fmt: skip

# Where `auto` may have its tables of rules. The first entry of a row is its name, and the last row of a table stays.
RULES = ("linear/auto.c", "linear/linear_rules.c")
RULE_TABLE = re.compile(r"(?P<name>\w*?)_?choices\[\] = \{\n(?P<rows>.*?)\n\};", re.S)
RULE_NAME = re.compile(r'\{\s*"?([\w+-]+)')
COCOA_LBFGS = ("cocoa-lbfgs", "preset cocoa-lbfgs")  # the case, and the variant that measures it: auto never chooses it


@dataclass
class Own(Shape):
    """A problem that concerns cases which no shape does: with a free intercept, or a whole path of penalties."""

    intercept: bool = False
    path: bool = False
    core: bool = False  # without what the estimators do before the core, such as shifting dense columns

    @property
    def name(self):
        words = [word for word in ("intercept", "path", "core") if getattr(self, word)]
        return " ".join(["own:", super().name, *words])

    def arrays(self):
        if self.data not in OWN_DATA:
            return super().arrays()
        rng = np.random.default_rng(1)
        x = OWN_DATA[self.data](rng, *self.size)
        return x, made.real(rng, x) if "epsilon" in self.loss else made.two(rng, x)


def far(rng, rows, columns):
    """Dense columns whose means are far from 0, such as ages, years or incomes."""
    return rng.standard_normal((rows, columns)) + rng.uniform(2, 20, columns)


def incomes(rng, rows, columns):
    """Dense columns whose means are tens of thousands of times their deviation."""
    return rng.standard_normal((rows, columns)) + rng.uniform(2e4, 2e5, columns)


def amounts(rng, rows, columns):
    """Three columns of categories, as indicators, and four of amounts on scales of their own."""
    each, index = columns // 3, np.arange(rows)
    codes = [np.minimum(rng.zipf(1.3, rows) - 1, each - 1) + k * each for k in range(3)]
    ones = sparse.csr_matrix((np.ones(3 * rows), (np.tile(index, 3), np.concatenate(codes))), shape=(rows, 3 * each))
    values = rng.lognormal(0, 1, (rows, 4)) * 10.0 ** np.array([0, 2, 4, 5])
    x = sparse.hstack([ones, sparse.csr_matrix(values)]).tocsr()
    x.sum_duplicates()
    return x


def aged(rng, rows, columns):
    """Texts, and beside them three columns that all rows have, such as an age."""
    x = made.text(rng, rows, columns, 60)
    return sparse.hstack([x, sparse.csr_matrix(40 + 12 * rng.standard_normal((rows, 3)))]).tocsr()


def separable(rng, rows, columns):
    """Texts with columns of deviation 1, as Spark makes them, so that rare words separate the classes."""
    x = made.text(rng, rows, columns, 60).tocsc()
    square, mean = np.asarray(x.multiply(x).mean(axis=0)).ravel(), np.asarray(x.mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    return (x @ sparse.diags(1.0 / np.where(deviation > 0, deviation, 1.0))).tocsr()


OWN_DATA = {"far": far, "incomes": incomes, "amounts": amounts, "aged": aged, "separable": separable}


def own_shapes():
    # The intercept of hinge losses is penalised from Python, as LIBLINEAR's is. Only free ones absorb shifts.
    found = [Own("far", (20000, 20), "logistic", strength, intercept=True) for strength in (1.0, 1e-5)]
    found += [Own("incomes", (20000, 20), "logistic", intercept=True, core=True)]
    found += [Own("aged", (8000, 30000), "logistic", intercept=True)]
    found += [Own(data, size, "logistic", 0.05, rho=1.0, intercept=True)
              for data, size in (("far", (1000, 300)), ("aged", (8000, 30000)))]  # fmt: skip
    found += [Own("amounts", (20000, 1500), loss) for loss in ("logistic", "hinge")]
    found += [Own("separable", (20000, 20000), "hinge", strength) for strength in (5.0, 50.0)]
    found += [Own("text", (20000, 600, 30), "hinge", 1000.0)]
    found += [Own("binary", (20000, 100, 12), loss, 10.0, path=True) for loss in ("logistic", "squared-hinge")]
    found += [Own("amounts", (20000, 1500), "logistic", 0.01, rho=1.0)]
    found += [Own("text", (5000, 20000, 60), "logistic", 0.05, rho=1.0, path=True)]
    found += [Own("dense", (500, 3000), "logistic", 0.05, rho=1.0, path=True)]
    found += [Own(data, size, "squared", 0.01, rho=1.0, path=True)
              for data, size in (("text", (5000, 20000, 60)), ("dense", (500, 3000)), ("dense", (20000, 100)))]  # fmt: skip
    known = {shape.data for shape in shapes()}
    return [shape for shape in found if shape.data in known or shape.data in OWN_DATA]


class PathFit:
    """`parley.path` with the interface of an estimator. Its model is the last one."""

    def __init__(self, shape, problem):
        self.shape, self.problem = shape, problem

    def fit(self, x, y):
        import parley

        last = self.problem.lam
        first = last / self.shape.strength if self.problem.rho else 1000 * last
        found = parley.path(
            x, y, loss=self.problem.loss, l1_ratio=self.problem.rho, intercept="none", gap=TARGET,
            lambda_list=np.geomspace(first, last, 61)[1:].tolist(), full_path=True,
        )  # fmt: skip
        self.coef_, self._summary = found.coefs[-1], {"stop": "converged", "rounds": 0, "preset": "path"}


class CoreFit:
    """`parley.train` with the interface of an estimator."""

    def __init__(self, shape, problem):
        self.shape, self.problem = shape, problem

    def fit(self, x, y):
        import parley

        intercept = "free" if self.shape.intercept else "none"
        found = parley.train(x, y, loss=self.problem.loss, intercept=intercept, gap=TARGET, **{"lambda": self.problem.lam})
        self.coef_, self.intercept_, self._summary = found.coef, found.intercept, found.summary


def estimator(shape, problem, preset):
    if isinstance(shape, Own) and (shape.path or shape.core):
        return (PathFit if shape.path else CoreFit)(shape, problem)
    model = ours(problem, preset, TARGET, math.inf).make(None)
    model.fit_intercept = getattr(shape, "intercept", False)
    return model


def explained():
    """Lets every fit with auto say which rows of its tables it took."""
    from parley import _run

    plain = _run.settings
    _run.settings = lambda values: plain({**values, "explain": values.get("preset", "auto") == "auto"})


def rows_taken(model):
    return [f"{taken['decision']}: {taken['reason']}" for taken in model._summary.get("explain", [])]


def visit(shape, problem, preset, seconds):
    """Fits a few times: [(wall, CPU) of each fit but the first], and facts about the last."""
    times, spent = [], 0.0
    while not times or (spent < seconds and len(times) < MOST_FITS):
        model = estimator(shape, problem, preset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wall, cpu = time.perf_counter(), time.process_time()
            model.fit(problem.x, problem.labels)
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
        spent += times[-1][0]
    w, b = np.squeeze(np.asarray(model.coef_, float)), np.squeeze(np.asarray(getattr(model, "intercept_", 0.0), float))
    facts = {key: model._summary.get(key) for key in ("preset", "rounds", "stop")} | {"rows": rows_taken(model)}
    facts |= {"objective": float(objective(problem, w, b)), "digest": hashlib.sha256(w.tobytes()).hexdigest()[:12]}
    return times[1:] or times, facts


def serve(pipe, package, threads):
    """Loads each problem that arrives, and fits it with the library of one build."""
    sys.path.insert(0, str(package))
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
    explained()
    loaded = None
    for file, preset, seconds in iter(pipe.recv, None):
        if file != loaded:
            shape, problem = pickle.loads(file.read_bytes())
            loaded = file
        pipe.send("loaded")
        try:
            pipe.send(visit(shape, problem, preset, seconds))
        except Exception as reason:  # a build that cannot solve a problem is a result
            pipe.send(f"{type(reason).__name__}: {reason}")


class Server:
    """The process of a build, which starts on first use and again after it was ended because a fit took too long."""

    def __init__(self, package, threads):
        self.package, self.threads, self.process = package, threads, None

    def fit(self, problem, preset, seconds, limit):
        """What `visit` returns, or a sentence. `problem` is a file."""
        if not self.process:
            self.pipe, theirs = FORK.Pipe()
            self.process = FORK.Process(target=serve, args=(theirs, self.package, self.threads), daemon=True)
            self.process.start()
        self.pipe.send((problem, preset, seconds))
        try:
            self.pipe.recv()
            found = self.pipe.recv() if self.pipe.poll(limit + seconds) else None
        except EOFError:
            found = "its process ended"
        if not found:
            self.close()
        return found or f"takes longer than {limit:g} s"

    def close(self):
        if self.process:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None


def edited(text, path, old, new):
    if text.count(old) != 1:
        raise SystemExit(f"{path} has the text {old!r} {text.count(old)} times; it must be there once")
    return text.replace(old, new)


class Builds:
    """Builds of a copy of the tree, each with its Python package, by name. The normal one is `on`."""

    def __init__(self, tree, folder):
        self.folder, self.source = folder, folder / "tree"
        self.tree = tree
        self.mark = fingerprint(tree)

    def copy(self):
        """Renews what changed in the copy, so that make finds only that."""
        for part in PARTS:
            files = [file for file in [self.tree / part, *(self.tree / part).rglob("*")] if file.is_file()]
            for file in files:
                to = self.source / file.relative_to(self.tree)
                if not to.exists() or to.read_bytes() != file.read_bytes():
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, to)
            for file in (self.source / part).rglob("*.[ch]"):
                if not (self.tree / file.relative_to(self.source)).exists():
                    file.unlink()
        npm = self.tree / "build" / "npm"  # packages of the report's page
        if npm.exists() and not (self.source / "build" / "npm").exists():
            (self.source / "build").mkdir(exist_ok=True)
            (self.source / "build" / "npm").symlink_to(npm.resolve())

    def compile(self):
        build = self.source / "build"
        # A function that an edit leaves without a caller is no error.
        setup = ["cmake", "-S", self.source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS=-w"]
        if shutil.which("ccache"):
            setup.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        targets = ["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", "parley_library", "parley"]
        for command in (setup, targets):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")

    def package(self, name, edits):
        """The folder with the package `parley` of a build, which is made if necessary."""
        mark = hashlib.sha256((self.mark + json.dumps(edits)).encode()).hexdigest()[:12]
        to = self.folder / "packages" / mark
        if (to / "parley" / "libparley.so").exists():
            return to
        print(f"building {name}", flush=True)
        self.copy()
        originals = {}
        for path, old, new in edits:
            file = self.source / "src" / path
            originals.setdefault(file, file.read_text())
            file.write_text(edited(file.read_text(), path, old, new))
        try:
            self.compile()
            (to / "parley").mkdir(parents=True, exist_ok=True)
            for file in [*(self.source / "python" / "parley").glob("*.py"), self.source / "include" / "parley.h"]:
                shutil.copy(file, to / "parley")
            shutil.copy(self.source / "build" / "libparley.so", to / "parley" / "libparley.so")
        finally:
            for file, text in originals.items():
                file.write_text(text)
        return to


def fingerprint(tree):
    """Of all sources that decide a fit."""
    files = sorted(file for part in ("src", "include", "python/parley") for file in (tree / part).rglob("*.[chp]*"))
    digest = hashlib.sha256()
    for file in files:
        if file.suffix in (".c", ".h", ".py"):
            digest.update(str(file.relative_to(tree)).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def rows_of(text):
    """The rows of a table in C, each from its brace to the comma."""
    rows, depth, begin = [], 0, 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}]', text):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if found[0] == "{" and depth == 1:
            begin = found.start()
        if found[0] == "}" and depth == 0:
            rows.append(text[begin : found.end() + 1])
    return rows


def rules_of(tree):
    """A case for each row of the tables of `auto`."""
    path = next(path for path in RULES if (tree / "src" / path).exists())
    cases = []
    for table in RULE_TABLE.finditer((tree / "src" / path).read_text()):
        for row in rows_of(table["rows"])[:-1]:
            name = "/".join(filter(None, (table["name"], RULE_NAME.match(row)[1])))
            reason = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', row[row.index("}") :]))
            cases.append(Case(f"rule {name}", [edit(path, row, "")], [], kind="rule", row=f"{table['name']}: {reason} ("))
    if not cases:
        raise SystemExit(f"{path} has no table like {RULE_TABLE.pattern}")
    return cases


def joined(names, cases):
    """The case that switches off all the named ones."""
    parts = [next((case for case in cases if case.name == name), None) for name in names.split("+")]
    if None in parts:
        raise SystemExit(f"there is no case {names!r}; there are {', '.join(case.name for case in cases)}")
    if len(parts) == 1:
        return parts[0]
    together = lambda field: [*dict.fromkeys(entry for part in parts for entry in getattr(part, field))]
    return Case(names, together("edits"), together("takes"), together("tests"), parts[0].kind)


def chosen_cases(tree, names):
    cases = [*CASES, *rules_of(tree), *(Case(f"preset {preset}", [], [], kind="preset") for preset in PRESETS)]
    groups = {"cases": ("case", "kernel"), "rules": ("rule",), "presets": ("preset",)}
    found = {}
    for name in names or groups:
        of = [case for case in cases if case.kind in groups[name]] if name in groups else [joined(name, cases)]
        found |= {case.name: case for case in of}
    return [*found.values()]


def lines_of(tree, taken):
    """Lines of a file, or of one of its functions with the comment above it."""
    path, _, function = taken.partition(":")
    text = (tree / path).read_text()
    if not function:
        return text.count("\n")
    comment, head = r"(?:/\*(?:(?!\*/).)*\*/\n)?", rf"[a-z][^\n;=]*\b{function}\([^;{{]*?\) \{{"
    found = re.search(rf"^{comment}{head}.*?^\}}\n", text, re.S | re.M)
    if not found:
        raise SystemExit(f"{path} has no function {function}")
    return found[0].count("\n")


@dataclass
class Samples:
    """The visits of a build to a problem."""

    walls: list = field(default_factory=list)
    cpus: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    reason: str = ""

    @property
    def ended(self):
        return not self.reason and self.facts["stop"] == "converged"

    def add(self, found):
        if isinstance(found, str):
            self.reason = found
            return
        times, self.facts = found
        self.walls += [wall for wall, _ in times]
        self.cpus += [cpu for _, cpu in times]


class Race:
    """One problem: visits all builds in turn, in a new random order each time."""

    def __init__(self, shape, file, servers, limit, repeats):
        self.shape, self.file, self.servers, self.limit, self.repeats = shape, file, servers, limit, repeats
        self.samples, self.each = {}, 0.0
        self.order = random.Random(1)

    def look(self, case, seconds=VISIT):
        """Visits a case, or the normal build if it is None."""
        preset = case.name.removeprefix("preset ") if case and case.kind == "preset" else "auto"
        server = self.servers["on" if preset != "auto" or not case else case.name]
        samples = self.samples.setdefault(case.name if case else "on", Samples())
        limit = self.limit if not case or case.special else min(self.limit, max(1.0, HOPELESS * self.each))
        if not samples.reason:
            samples.add(server.fit(self.file, preset, seconds, limit))

    def round(self, cases, seconds=VISIT):
        for case in self.order.sample([None, *cases], len(cases) + 1):
            self.look(case, seconds)

    def ratio(self, case, by="wall"):
        return ratio(self.row(case), by)

    def same(self, case):
        """Whether the model is the same bit for bit, and the way there."""
        keys = ("digest", "rounds", "preset")
        return all(self.samples[case.name].facts.get(key) == self.samples["on"].facts.get(key) for key in keys)

    def free(self, case):
        """Whether it certainly costs nothing to switch it off."""
        return not self.concerns(case) or (self.same(case) and case.kind != "kernel")

    def concerns(self, case):
        taken = self.samples["on"].facts["rows"]
        return case.concerns(self.shape) and (not case.row or any(row.startswith(case.row) for row in taken))

    def matters(self, case):
        """Whether to visit it again. Presets matter where they are about as fast as auto."""
        if self.samples[case.name].reason or (self.each > SLOW and self.ratio(case) > CLEAR):
            return False
        if case.kind == "preset":
            return self.ratio(case) < NEAR
        return not self.free(case) and (not self.same(case) or self.ratio(case) > NOTICED)

    def measure(self, cases):
        """A first fit of each, which touches the rows and starts threads, shows what matters."""
        self.look(None, 0)
        if self.samples["on"].reason:
            return
        self.look(None)
        self.each = statistics.median(self.samples["on"].walls)
        for case in [case for case in cases if not self.concerns(case)]:
            self.samples[case.name] = Samples(facts=self.samples["on"].facts)
        cases = [case for case in cases if self.concerns(case)]
        self.round(cases, 0)
        kernels = [case for case in cases if case.kind == "kernel"]
        if self.each < SLOW:
            self.forget([None, *kernels])
            self.round(kernels)
        again = [case for case in cases if self.matters(case)]
        if self.each < SLOW:
            self.forget(case for case in again if case.kind != "kernel")
        rounds = min(self.repeats, max(LEAST, math.ceil(BUDGET / max(self.each, VISIT))))
        for done in range(rounds if again else 0):
            self.round([case for case in again if done < LEAST or self.ratio(case) < CLEAR])
        near = [case for case in again if case.special and NOTICED < self.ratio(case) < BORDER]
        for _ in range(rounds if near else 0):
            self.round(near)

    def forget(self, cases):
        """Drops the times of first fits."""
        for case in cases:
            samples = self.samples[case.name if case else "on"]
            samples.walls, samples.cpus = [], []

    def disagreement(self, problem):
        """The cases whose objective is not that of the normal build within both certificates."""
        ended = {name: samples.facts["objective"] for name, samples in self.samples.items() if samples.ended}
        apart = {name: (value - ended.get("on", value)) / null_objective(problem) for name, value in ended.items()}
        return [f"{name} on {self.shape.name} by {by:.1e}" for name, by in apart.items() if abs(by) > TARGET]

    def row(self, case):
        """What is kept of a case: its samples, and those of the normal build in the same session."""
        off, on = self.samples[case.name], self.samples["on"]
        return {
            "off": {"wall": off.walls, "cpu": off.cpus}, "on": {"wall": on.walls, "cpu": on.cpus},
            "facts": off.facts, "on_facts": on.facts, "same": self.same(case), "free": self.free(case),
            "reason": off.reason, "limit": self.limit if case.special else HOPELESS * self.each,
        }  # fmt: skip


def ratio(row, by):
    """Time without a case relative to that with it: of medians or, since noise only adds, of lower quartiles."""
    off, on = ([row["limit"]] if row["reason"] else row["off"][by]), row["on"][by]
    return min(statistics.median(off) / statistics.median(on), float(np.quantile(off, 0.25) / np.quantile(on, 0.25)))


def cost(row, by):
    return 1.0 if row["free"] else ratio(row, by)


def problem_file(folder, shape):
    """A file with the shape and its problem, and the problem."""
    problem = shape.problem()
    if getattr(shape, "intercept", False):
        problem.intercept = "free"
    file = folder / f"{hashlib.sha256(shape.name.encode()).hexdigest()[:12]}.pickle"
    with open(file, "wb") as out:
        pickle.dump((shape, problem), out, protocol=5)
    return file, problem


def run(given, cases, kept):
    """Measures every pair of problem and case that is not yet known."""
    folder = given.tree / "build" / "ablation"
    builds = Builds(given.tree, folder)
    packages = {"on": builds.package("the normal build", [])}
    packages |= {case.name: builds.package(case.name, case.edits) for case in cases if case.edits}
    servers = {name: Server(package, given.threads) for name, package in packages.items()}
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for shape in [*shapes(), *own_shapes()]:
        missing = [case for case in cases if case.name not in results.get(shape.name, {})]
        if shape.large > given.large or not missing or not all(word in shape.name for word in given.problems.split()):
            continue
        if isinstance(shape, Own):
            missing = [own_case(shape, case) for case in missing if case.kind == "rule" or case.special]
            missing = [case for case in missing if case]
        began = time.time()
        with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
            file, problem = problem_file(Path(scratch), shape)
            race = Race(shape, file, servers, given.limit, given.repeats)
            race.measure(missing)
        if race.samples["on"].reason:
            print(f"{shape.name}: {race.samples['on'].reason}", flush=True)
            continue
        for sentence in race.disagreement(problem):
            print(f"objectives differ: {sentence}", flush=True)
        results.setdefault(shape.name, {}).update({case.name: race.row(case) for case in missing})
        kept.write_text(json.dumps(results))
        costs = {case.name: cost(race.row(case), given.by) for case in missing if case.kind != "preset"}
        slower = ", ".join(f"{name} {value:.2f}x" for name, value in costs.items() if value > NOTICED)
        each = milliseconds(race.samples["on"].walls)
        print(f"{shape.name}: {each} ms, in {time.time() - began:.0f} s; {slower}", flush=True)
    for server in servers.values():
        server.close()
    return results


def own_case(shape, case):
    """How a case is measured on an own problem. A path takes more rows than those of its last model, so that all rules
    are tried; one with an L1 penalty takes those of its problem, and is left out."""
    if case.kind != "rule" or not shape.path:
        return case
    return None if shape.rho else replace(case, row="")


def unmeasured(found):
    """Shapes that are missing among the problems found, but for the large ones."""
    return [shape.name for shape in shapes() if not shape.large and shape.name not in found]


def verdict(over, own, missing):
    if over:
        return "keep"
    if missing:
        return f"open: {len(missing)} shapes are not measured"
    return "keep by its own problem" if own >= WORTH else "goes"


def milliseconds(seconds):
    return f"{1e3 * statistics.median(seconds):.1f}"


def case_table(tree, results, cases, by):
    """The table of cases, and the details of each."""
    rows, details = [], []
    for case in cases:
        found = {name: row[case.name] for name, row in results.items() if case.name in row}
        costs = {name: cost(row, by) for name, row in found.items() if not name.startswith("own:")}
        own = {name: cost(row, by) for name, row in found.items() if name.startswith("own:")}
        if not found:
            continue
        slower = [name for name, value in sorted({**costs, **own}.items(), key=lambda pair: -pair[1]) if value >= WORTH]
        worst, worst_own = (max(some, key=some.get, default="-") for some in (costs, own))
        code = sum(lines_of(tree, f"src/{taken}") for taken in case.takes)
        tests = sum(lines_of(tree, f"tests/unit/test_{name}.c") for name in case.tests)
        over = sum(value >= WORTH for value in costs.values())
        rows.append([
            case.name, code, tests or "-", sum(not row["same"] for row in found.values()),
            f"{statistics.median(costs.values() or [1.0]):.2f}x", f"{costs.get(worst, 1.0):.2f}x", worst, over,
            f"{own[worst_own]:.2f}x" if own else "-",
            verdict(over, own.get(worst_own, 1.0), unmeasured(found)),
        ])  # fmt: skip
        for name in slower[:8]:
            row = found[name]
            details.append([
                case.name, name, milliseconds(row["on"]["wall"]),
                row["reason"] or milliseconds(row["off"]["wall"]), f"{ratio(row, 'wall'):.2f}x",
                f"{ratio(row, 'cpu'):.2f}x", f"{row['on_facts']['rounds']}, {row['facts'].get('rounds', '-')}",
            ])  # fmt: skip
    head = ["case", "lines", "of tests", "models changed", "median", "worst", "on", "shapes over 1.1x",
            "own problems, worst", "verdict"]  # fmt: skip
    text = f"{markdown(head, rows)}\n## Where cases gain most\n\nUp to eight problems for each case.\n\n"
    head = ["case", "problem", "ms", "ms without", "cost", "in CPU time", "rounds, without"]
    return text + markdown(head, details)


def best_presets(results, by):
    """By problem, the fastest preset that reached the target, relative to auto, or 1."""
    found = {}
    for name, row in results.items():
        ratios = [ratio(row[key], by) for key in row if key.startswith("preset ") and not row[key]["reason"]
                  and row[key]["facts"]["stop"] == "converged"]  # fmt: skip
        if ratios:
            found[name] = min(1.0, *ratios)
    return found


def rule_table(shaped, own, cases, by):
    """Regret of auto with and without each rule. It is that of shapes.py: the time over that of the fastest preset."""
    results, best = shaped, best_presets(shaped, by)
    if not best:
        return ""
    share = lambda regrets: float(np.mean(np.array(regrets) <= REGRET))
    with_all = share([1.0 / value for value in best.values()])
    rows = []
    for case in cases:
        found = {name: row[case.name] for name, row in results.items() if case.name in row and name in best}
        if not found:
            continue
        changed = {name: ratio(row, by) for name, row in found.items() if not row["same"]}
        without = share([changed.get(name, 1.0) / best[name] for name in found])
        worst = max(changed, key=changed.get, default="-")
        most = max((cost(row[case.name], by) for row in own.values() if case.name in row), default=1.0)
        rows.append([
            case.name.removeprefix("rule "), len(changed),
            f"{statistics.median(changed.values()):.2f}x" if changed else "-",
            f"{changed[worst]:.2f}x" if changed else "-", worst, f"{without:.0%}", f"{most:.2f}x",
            "decides no shape" if not changed and most <= REGRET else "keep" if changed and without < SHARE
            else "keep by its own problem" if most > REGRET else "goes",
        ])  # fmt: skip
    head = ["rule", "shapes that it decides", "median cost", "worst", "on", "within 1.3x without it",
            "own problems, worst", "verdict"]  # fmt: skip
    return (
        f"Regret is the time of auto over that of the fastest preset. With all rules it is at most {REGRET:g} on "
        f"{with_all:.0%} of the shapes. A rule goes if without it that holds on {SHARE:.0%} of them, and no "
        f"problem of its own takes more than {REGRET:g}x the time. Rules that decide no shape "
        "are for what shapes do not have: limits and factors of coefficients, several classes with an L1 penalty, "
        f"columns of very different scale, losses without smoothness or penalty.\n\n{markdown(head, rows)}"
    )


def preset_table(results, by):
    """What the presets that auto never chooses are worth: how much slower the best of all others is."""
    rows = []
    for title, variant in [COCOA_LBFGS]:
        costs = {}
        for name, row in results.items():
            if variant not in row or row[variant]["reason"] or row[variant]["facts"]["stop"] != "converged":
                continue
            others = [ratio(row[key], by) for key in row if key.startswith("preset ") and key != variant]
            costs[name] = max(1.0, min(1.0, *others) / ratio(row[variant], by))
        if costs:
            worst = max(costs, key=costs.get)
            over = sum(value >= WORTH for value in costs.values())
            rows.append([title, f"{statistics.median(costs.values()):.2f}x", f"{costs[worst]:.2f}x", worst, over])
    head = ["preset", "median", "worst", "on", "shapes over 1.1x"]
    return (
        "Auto never chooses these presets, so that they cost auto nothing. The table says how much slower the fastest "
        f"of auto and all other presets is.\n\n{markdown(head, rows)}"
    )


def page(given, results, cases, parley):
    command = f"bench/ablation.py TREE{' --by cpu' if given.by == 'cpu' else ''}"
    command += f" --threads {given.threads}" if given.threads else ""
    clock = "CPU" if given.by == "cpu" else "wall"
    shaped = {name: row for name, row in results.items() if not name.startswith("own:")}
    own = {name: row for name, row in results.items() if name.startswith("own:")}
    of = lambda *kinds: [case for case in cases if case.kind in kinds]
    missing = unmeasured(results)
    left_out = f"Not measured, as the normal build was too slow or they were not chosen: {', '.join(missing)}."
    made_by = (
        f"`{command}` wrote this page, of the sources with the fingerprint {fingerprint(given.tree)}. Costs are ratios "
        f"of the {clock} time without a case to that with it, of fits to a certificate of {TARGET:g} as in "
        "bench/shapes.py: the smaller one of the ratios of medians and of lower quartiles. *Lines* are those of "
        "the files and functions that only the case needs. *Models changed* is the number of problems whose model or "
        "rounds differ without it. The others do not concern it, and cost nothing unless it is a kernel. A case that "
        f"costs less than {WORTH:g}x on every shape goes. Own problems are those of bench/ablation.py for cases that "
        "no shape concerns: shapes have no intercepts, no categories beside amounts, and no paths."
    )
    return f"""# What special cases are worth

{made_by}

{machine(Bench(parley, None, given.repeats))}
{len(shaped)} shapes and {len(results) - len(shaped)} own problems. {left_out if missing else ""}

{case_table(given.tree, results, of("case", "kernel"), given.by)}
## Cases that went

{markdown(["case", "lines", "shapes over 1.1x", "cost of switching it off"], DELETED)}
## Rules of auto

{rule_table(shaped, own, of("rule"), given.by)}
## Presets that auto does not choose

{preset_table(shaped, given.by)}"""


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path, help="the source tree to measure; its build folder keeps builds and results")
    parser.add_argument("--repeats", type=int, default=12, help="most repeated visits of a build to a problem (12)")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for a fit (10)")
    parser.add_argument("--problems", default="", help="words that the names of the problems must have")
    parser.add_argument("--large", action="store_true", help="the large problems too")
    parser.add_argument("--threads", type=int, default=0, help="of every fit; 0: all cores")
    parser.add_argument("--by", choices=("wall", "cpu"), default="wall", help="the time that the page compares")
    parser.add_argument("--report", action="store_true", help="measure nothing, only print the page of what is known")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and exit")
    parser.add_argument("names", nargs="*", help="of --list, several joined by +, or cases, rules or presets; or all")
    given = parser.parse_intermixed_args()
    given.tree = given.tree.resolve()
    return given


def main():
    given = arguments_of()
    cases = chosen_cases(given.tree, given.names)
    if given.list:
        print("\n".join(case.name for case in cases))
        return 0
    folder = given.tree / "build" / "ablation"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"results-{fingerprint(given.tree)}-{given.threads}.json"
    results = json.loads(kept.read_text()) if given.report and kept.exists() else run(given, cases, kept)
    text = page(given, results, cases, folder / "tree" / "build" / "parley")
    print(text)
    if not given.names and not given.problems and not given.report:
        PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
