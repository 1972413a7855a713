"""Offsets: z = x.w + b + o. Every method that takes a cell of the matrix reaches the same optimum, no method's lower bound
is above it, and what a run reports is the objective of its model. Without a penalty the oracle is statsmodels' GLM, and
with an L1 penalty glmnet, if they are installed.
"""

import itertools
import shutil
import subprocess
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sparse

from evaluate import loss_values, null_objective, penalty
from inference import shown
from matrix import cell, write_cell
from product import EQUAL, OPTIMAL, ROUNDING, Skipped, demand, start, train

COLUMN = "11"  # of the rows, which have ten others
PRESETS = ("auto", "newton", "lbfgs", "cocoa+", "cocoa", "minibatch-cd", "gd")
EXTRA = (("--local", "scd"), ("--local", "sdca", "--workers", "3"), ("--combine", "truncated"), ("--combine", "proximal"))
INEXACT = ("ma-sgd", "minibatch-sgd", "hogwild", "petuum", "angel", "ps-sync")  # only what they report is compared
LOSSES = ("squared", "logistic", "hinge", "squared-hinge", "huber", "epsilon-insensitive", "quantile", "poisson", "gamma", "tweedie")
FAMILIES = {"squared": "gaussian", "logistic": "binomial", "poisson": "poisson"}


def offsets(problem):
    """About as large as the margins, and 0 in some rows."""
    random = np.random.default_rng(7)
    size = 20.0 if problem.loss in ("squared", "huber", "epsilon-insensitive", "quantile") else 1.0
    return (random.normal(size=len(problem.y)) * size * (random.random(len(problem.y)) < 0.9)).astype(np.float32).astype(float)


def with_offset(problem, offset):
    x = sparse.hstack([problem.x, offset[:, None]], format="csr")
    x.sort_indices()
    return replace(problem, x=x)


def objective(problem, offset, w, b):
    penalised = np.append(w, b) if problem.intercept == "penalised" else w
    return problem.share @ loss_values(problem.loss, problem.x @ w + b + offset, problem.y, problem.width) + penalty(problem, penalised)


def check_run(problem, offset, run, scale):
    demand(run.w[-1] == 1, f"{run.command}: the offset has coefficient {run.w[-1]}")
    found = objective(problem, offset, run.w[:-1], run.b)
    demand(abs(found - run.summary["objective"]) <= EQUAL * scale, f"{run.command}: reports {run.summary['objective']:.12g}, its model has {found:.12g}")
    return found


def agree(parley, folder, loss, penalised, intercept, weighted):
    problem = cell(loss, False, penalised, intercept, weighted)
    offset, scale = offsets(problem), null_objective(problem)
    data, flags = write_cell(with_offset(problem, offset), folder)
    found, bounds = {}, {}
    for extra in [("--preset", name) for name in PRESETS] + list(EXTRA) + [("--preset", name, "--passes", "5") for name in INEXACT]:
        arguments = ["train", data, *flags, "--offset-column", COLUMN, *extra, "--gap", "1e-7", "--rounds", "2000"]
        done = start(parley, [*arguments, "--json", "--quiet", "--model", folder / "tried.safetensors"])
        if done.returncode == 2 and extra != ("--preset", "auto"):
            continue  # a combination that does not fit the problem
        run = train(parley, data, folder, *flags, "--offset-column", COLUMN, *extra, "--gap", "1e-7", "--rounds", "2000", codes=(0, 3))
        value = check_run(problem, offset, run, scale)
        if run.summary["gap"] is not None:
            bounds[run.command] = run.summary["objective"] - run.summary["gap"]
        if run.summary["status"] == "converged":
            found[run.command] = value
    demand(len(found) > (penalised == "l2"), f"{data}: {len(found)} methods converged")
    best = min(found.values())
    for command, value in found.items():
        demand((value - best) / scale <= OPTIMAL, f"{command}: {(value - best) / scale:.1e} above another method")
    for command, bound in bounds.items():
        demand(bound <= best + ROUNDING * scale, f"{command}: its bound is {(bound - best) / scale:.1e} above the optimum")


def equals_statsmodels(parley, folder, loss, weighted):
    try:
        import statsmodels.api as sm  # imported here because it takes a second
    except ImportError:
        raise Skipped("there is no statsmodels") from None
    families = {"squared": sm.families.Gaussian(), "logistic": sm.families.Binomial(), "poisson": sm.families.Poisson(),
                "gamma": sm.families.Gamma(link=sm.families.links.Log()), "tweedie": sm.families.Tweedie(var_power=1.6)}  # fmt: skip
    problem = cell(loss, False, "none", "free", weighted)
    offset = offsets(problem)
    y = (problem.y + 1) / 2 if loss == "logistic" else problem.y
    rows = np.flatnonzero(problem.sample_weights)
    x = sm.add_constant(problem.x.toarray())[rows]
    fitted = sm.GLM(y[rows], x, family=families[loss], offset=offset[rows], freq_weights=problem.sample_weights[rows]).fit(tol=1e-14, maxiter=200)
    data, flags = write_cell(with_offset(problem, offset), folder)
    infers = loss in FAMILIES
    run = train(parley, data, folder, *flags, "--offset-column", COLUMN, *(["--inference"] if infers else ["--gap", "1e-10"]))
    distance = np.abs(np.append(run.b, run.w[:-1]) - fitted.params).max() / np.abs(fitted.params).max()
    demand(distance <= 1e-6, f"{run.command}: {distance:.1e} from the coefficients of statsmodels")
    if infers:
        errors = shown(parley, folder / "model.safetensors")[:, 1]
        distance = np.abs(errors / fitted.bse - 1).max()
        demand(len(errors) == len(fitted.bse) and distance <= 1e-5, f"{run.command}: {distance:.1e} from the errors of statsmodels")


GLMNET = """
suppressMessages(library(glmnet))
d <- as.matrix(read.table("rows"))
f <- commandArgs(TRUE)
m <- glmnet(d[, 3:12], d[, 1], family = f[1], offset = d[, 2], lambda = as.numeric(f[2]), alpha = as.numeric(f[3]),
            standardize = FALSE, thresh = 1e-14, maxit = 1e7)
cat(format(as.numeric(coef(m)), digits = 17))
"""


def equals_glmnet(parley, folder, loss, penalised):
    if not shutil.which("Rscript"):
        raise Skipped("there is no Rscript")
    problem = cell(loss, False, penalised, "free", False)
    offset = offsets(problem)
    data, flags = write_cell(with_offset(problem, offset), folder)
    y = (problem.y + 1) / 2 if loss == "logistic" else problem.y
    np.savetxt(folder / "rows", np.column_stack([y, offset, problem.x.toarray()]), fmt="%.17g")
    (folder / "glmnet.R").write_text(GLMNET)
    done = subprocess.run(["Rscript", "--vanilla", "glmnet.R", FAMILIES[loss], repr(problem.lam), str(problem.rho)], cwd=folder, capture_output=True, text=True, timeout=300)
    if "there is no package" in done.stderr:
        raise Skipped("R has no package glmnet")
    demand(done.returncode == 0, f"glmnet: {done.stderr}")
    theirs = np.array(done.stdout.split(), float)
    run = train(parley, data, folder, *flags, "--offset-column", COLUMN, "--gap", "1e-9")
    ours, best = (objective(problem, offset, w, b) for w, b in ((run.w[:-1], run.b), (theirs[1:], theirs[0])))
    scale = null_objective(problem)
    demand(abs(ours - best) / scale <= OPTIMAL, f"{run.command}: {(ours - best) / scale:.1e} from glmnet's objective")


def offset_cases():
    for loss, penalised, intercept, weighted in itertools.product(LOSSES, ("none", "l2", "l1"), ("free", "none"), (False, True)):
        if weighted == (intercept == "free"):
            yield f"offsets: {loss} {penalised} intercept {intercept}", partial(agree, loss=loss, penalised=penalised, intercept=intercept, weighted=weighted)
    for loss, weighted in itertools.product(("squared", "logistic", "poisson", "gamma", "tweedie"), (False, True)):
        yield f"offsets: {loss}{' weights' if weighted else ''} against statsmodels", partial(equals_statsmodels, loss=loss, weighted=weighted)
    for loss, penalised in itertools.product(("logistic", "poisson"), ("l2", "l1", "elastic net")):
        yield f"offsets: {loss} {penalised} against glmnet", partial(equals_glmnet, loss=loss, penalised=penalised)
