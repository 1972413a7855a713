"""Standard errors, p-values and intervals of `parley train --inference`. Without a penalty the oracle is statsmodels (OLS,
Logit, GLM with family Poisson), if it is installed, and the textbook formula in numpy, which must agree with it; with an L2
penalty it is the formula for the covariance of the estimate.

    C = A^-1 H A^-1 / sum s,   H = sum q loss'' x x',   A = H + diag(l2);   squared: times the variance of the residuals
"""

import itertools
import json
from functools import partial

import numpy as np
from scipy.stats import norm, t as student

from matrix import cell, write_cell
from product import Skipped, demand, start, train


def curvatures(loss, z):
    if loss == "squared":
        return np.ones(len(z))
    p = np.exp(-np.logaddexp(0.0, -z))
    return np.exp(z) if loss == "poisson" else p * (1 - p)


def formula(problem, w, b):
    """Standard errors with the intercept first, and the degrees of freedom of squared loss."""
    constant = problem.intercept != "none"
    x = problem.x.toarray()
    x = np.column_stack([np.ones(len(x)), x]) if constant else x
    v = np.append(b, w) if constant else w
    z, s = x @ v, problem.sample_weights
    l2 = np.full(len(v), problem.lam)
    l2[: problem.free] = 0
    h = (x.T * (problem.share * curvatures(problem.loss, z))) @ x
    inverse = np.linalg.inv(h + np.diag(l2))
    covariance, degrees = inverse @ h @ inverse / s.sum(), np.inf
    if problem.loss == "squared":
        degrees = s.sum() - np.trace(inverse @ h)
        covariance *= s @ (problem.y - z) ** 2 / degrees
    return v, np.sqrt(np.diag(covariance)), degrees


def shown(parley, model):
    done = start(parley, ["info", model, "--inference", "--json"])
    demand(done.returncode == 0, done.stderr)
    rows = json.loads(done.stdout)["inference"]
    keys = ("coefficient", "std_error", "t" if "t" in rows[0] else "z", "p", "low_95", "high_95")
    return np.array([[row[key] for key in keys] for row in rows])


def trained(parley, folder, problem, flags):
    data, common = write_cell(problem, folder)
    run = train(parley, data, folder, *common, "--inference", *flags)
    return run, shown(parley, folder / "model.safetensors")


def follows_the_formula(parley, folder, problem, flags):
    run, found = trained(parley, folder, problem, flags)
    v, errors, degrees = formula(problem, run.w, run.b)
    tails = student(degrees) if np.isfinite(degrees) else norm()
    point = tails.ppf(0.975)
    expected = [v, errors, v / errors, 2 * tails.sf(np.abs(v / errors)), v - point * errors, v + point * errors]
    for name, column, want in zip(("coefficient", "error", "z", "p", "low", "high"), found.T, expected):
        demand(np.allclose(column, want, rtol=1e-5, atol=1e-10), f"{run.command}: {name} {column} is not {want}")


def agrees_with_statsmodels(parley, folder, loss):
    try:
        import statsmodels.api as sm
    except ImportError:
        raise Skipped("there is no statsmodels") from None
    for intercept, scaled in itertools.product(("free", "none"), (False, True)):
        problem = cell(loss, False, "none", intercept, False)
        run, found = trained(parley, folder / f"{intercept}{scaled}", problem, ["--standardise"] if scaled else [])
        x = problem.x.toarray()
        x = sm.add_constant(x) if intercept == "free" else x
        if loss == "squared":
            fit = sm.OLS(problem.y, x).fit()
        elif loss == "logistic":
            fit = sm.Logit((problem.y + 1) / 2, x).fit(disp=0, tol=1e-14, method="newton", maxiter=100)
        else:
            fit = sm.GLM(problem.y, x, family=sm.families.Poisson()).fit(tol=1e-14)
        expected = np.column_stack([fit.params, fit.bse, fit.tvalues, fit.pvalues, fit.conf_int()])
        demand(np.allclose(found, expected, rtol=1e-5, atol=1e-8), f"{run.command}: {found} is not {expected}")


def inference_cases():
    ways = ([], ["--standardise"], ["--preset", "lbfgs", "--workers", 3], ["--preset", "newton", "--combine", "truncated"])
    for loss, penalty, intercept, weighted in itertools.product(
        ("squared", "logistic", "poisson"), ("none", "l2"), ("free", "penalised", "none"), (False, True)
    ):
        problem = cell(loss, False, penalty, intercept, weighted)
        for flags in ways:
            if flags == ["--standardise"] and penalty == "l2":
                continue
            if flags and (intercept == "penalised" or "truncated" in flags and loss == "poisson"):
                continue
            words = f"{loss} {penalty} intercept {intercept}{' weights' if weighted else ''} {' '.join(map(str, flags))}"
            yield f"inference: {words}", partial(follows_the_formula, problem=problem, flags=flags)
    for loss in ("squared", "logistic", "poisson"):
        yield f"inference: {loss} against statsmodels", partial(agrees_with_statsmodels, loss=loss)
