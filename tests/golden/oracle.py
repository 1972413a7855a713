"""Optima from independent solvers: scikit-learn if it solves exactly this objective, else scipy.

    P(w,b) = sum_i q_i loss(x_i.w + b, y_i) + lambda [(1-rho)/2 |w|^2 + rho |w|_1],   q_i = s_i / sum s

A penalised intercept is a column of ones. Every optimum has a lower bound from the dual, computed independently in
numpy, which reveals an oracle that did not converge.
"""

import hashlib
import os
import pickle
import sys
import warnings
from functools import wraps
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sparse
import sklearn
from scipy.optimize import linprog, minimize
from scipy.special import xlogy
from sklearn.linear_model import ElasticNet, LogisticRegression, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))
from evaluate import loss_values, objective, penalty


def fingerprint(problem):
    """The same for equal problems."""
    x = problem.x
    hashed = hashlib.blake2b(repr((x.shape, problem.loss, problem.lam, problem.rho, problem.intercept, problem.width)).encode())
    for array in (x.data, x.indices, x.indptr, problem.y, problem.sample_weights):
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def edition():
    """Changes with what decides an optimum: the oracles' sources and the versions of the packages that they call."""
    hashed = hashlib.blake2b(repr((np.__version__, scipy.__version__, sklearn.__version__)).encode())
    for name in ("oracle.py", "classes.py", "../../bench/evaluate.py"):
        hashed.update((HERE / name).read_bytes())
    return hashed.hexdigest()[:16]


def remembered(solve):
    """Solves each problem once, however many methods are compared on it, and keeps what it found in build/golden for
    later runs."""
    found, folder = {}, HERE.parents[1] / "build" / "golden" / edition()

    @wraps(solve)
    def once(problem):
        key = fingerprint(problem)
        path = folder / f"{solve.__name__}-{key[:32]}"
        if key not in found and path.exists():
            found[key] = pickle.loads(path.read_bytes())
        if key not in found:
            found[key] = solve(problem)
            folder.mkdir(parents=True, exist_ok=True)
            written = path.with_suffix(f".{os.getpid()}")
            written.write_bytes(pickle.dumps(found[key]))
            written.replace(path)
        return found[key]

    return once


def columns(problem):
    """The matrix, with a column of ones for a penalised intercept."""
    if problem.intercept != "penalised":
        return problem.x
    return sparse.hstack([problem.x, np.ones((problem.x.shape[0], 1))], format="csr")


def strength(problem):
    """C as in LIBLINEAR and scikit-learn."""
    return 1.0 / (problem.lam * problem.sample_weights.sum()) if problem.lam > 0 else np.inf


def loss_slopes(loss, z, y, width):
    if loss == "squared":
        return z - y
    if loss == "huber":
        return np.clip(z - y, -width, width)
    if loss == "squared-epsilon-insensitive":
        return 2.0 * np.sign(z - y) * np.maximum(0.0, np.abs(z - y) - width)
    if loss == "poisson":
        return np.exp(z) - y
    if loss == "gamma":
        return 1.0 - y * np.exp(-z)
    if loss == "tweedie":
        return np.exp((2.0 - width) * z) - y * np.exp((1.0 - width) * z)
    if loss == "logistic":
        return -y * np.exp(-np.logaddexp(0.0, y * z))
    return -2.0 * y * np.maximum(0.0, 1.0 - y * z)


def tweedie_conjugates(t, y, power):
    """loss*(-t) by bisection of the slope, row by row in parallel."""
    low, high = np.full(len(y), -500.0), np.full(len(y), 500.0)
    for _ in range(80):
        z = 0.5 * (low + high)
        above = loss_slopes("tweedie", z, y, power) > -t
        low, high = np.where(above, low, z), np.where(above, z, high)
    return -t * z - loss_values("tweedie", z, y, power)


def conjugates(loss, t, y, width):
    """loss*(-t)."""
    if loss == "poisson":
        return xlogy(y - t, y - t) - (y - t) + y - xlogy(y, y)
    if loss == "gamma":
        return xlogy(1.0 + t, 1.0 + t) - t - t * np.log(y)
    if loss == "tweedie":
        return tweedie_conjugates(t, y, width)
    if loss == "epsilon-insensitive":
        return width * np.abs(t) - t * y
    if loss == "quantile":
        return -t * y
    if loss == "squared-epsilon-insensitive":
        return width * np.abs(t) + 0.25 * t**2 - t * y
    if loss in ("squared", "huber"):
        return 0.5 * t**2 - t * y
    if loss == "hinge":
        return -y * t
    if loss == "squared-hinge":
        return -y * t + 0.25 * t**2
    p = np.clip(y * t, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(p * np.log(p)) + np.nan_to_num((1 - p) * np.log1p(-p))


def soft(u, l1):
    return np.sign(u) * np.maximum(0.0, np.abs(u) - l1)


def dual_value(problem, t):
    """D(t). For a free intercept, one side of t is first shrunk so that sum q t = 0."""
    q, l1, l2 = problem.share, problem.lam * problem.rho, problem.lam * (1 - problem.rho)
    if problem.free:
        up, down = q @ np.maximum(t, 0), q @ np.maximum(-t, 0)
        t = np.where(t > 0, t * min(1.0, down / up if up else 1.0), t * min(1.0, up / down if down else 1.0))
    u = columns(problem).T @ (q * t)
    conjugate = conjugates(problem.loss, t, problem.y, problem.width)
    if l2 == 0:  # finite only inside the ball
        t = t * min(1.0, l1 / np.abs(u).max())
        return -(q @ conjugates(problem.loss, t, problem.y, problem.width))
    return -(q @ conjugate) - (soft(u, l1) ** 2).sum() / (2 * l2)


def descend(value, start, bounds):
    """L-BFGS-B, restarted until it no longer improves, because its line search may give up early."""
    last = np.inf
    while True:
        for memory in (50, 10, 5):
            options = {"maxiter": 20000, "maxfun": 40000, "maxcor": memory, "ftol": 0, "gtol": 1e-14}
            found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            start = found.x
        if not found.fun < last - 1e-13 * abs(last):
            return start
        last = found.fun


@remembered
def solve_smooth(problem):
    """L-BFGS-B, on columns of one size if theirs differ much. An L1 penalty becomes smooth by splitting w into positive and
    negative parts."""
    x, y, q = columns(problem), problem.y, problem.share
    size = np.maximum(np.abs(x).max(axis=0).toarray().ravel() if sparse.issparse(x) else np.abs(x).max(axis=0), 1e-3)
    size[:] = size if size.max() > 100 * np.median(size) else 1.0
    x = (sparse.csr_matrix(x) @ sparse.diags(1 / size)).tocsr()
    l1, l2, d = problem.lam * problem.rho / size, problem.lam * (1 - problem.rho) / size**2, x.shape[1]
    split = problem.lam * problem.rho > 0

    def value(v):
        w, b = v[:d] - (v[d : 2 * d] if split else 0.0), v[-1] if problem.free else 0.0
        z = x @ w + b
        slope = q * loss_slopes(problem.loss, z, y, problem.width)
        p = q @ loss_values(problem.loss, z, y, problem.width) + l2 @ (w * w) / 2
        p += l1 @ (v[:d] + v[d : 2 * d]) if split else 0.0
        g = x.T @ slope + l2 * w
        gradient = np.concatenate([g + l1, l1 - g]) if split else g
        return p, np.append(gradient, slope.sum()) if problem.free else gradient

    bounds = [(0, None) if split else (None, None)] * (2 * d if split else d) + [(None, None)] * problem.free
    found = descend(value, np.zeros(len(bounds)), bounds)
    w, b = found[:d] - (found[d : 2 * d] if split else 0.0), found[-1] if problem.free else 0.0
    return w / size, b


def hinge_dual(problem, b=0.0, mu=np.inf, start=None):
    """max over y t in [0,1] of D - b s - s^2 / (2 mu), s = sum q t: a smooth concave problem in a box."""
    x, y, q = columns(problem), problem.y, problem.share
    l1, l2 = problem.lam * problem.rho, problem.lam * (1 - problem.rho)

    def value(a):
        w, total = soft(x.T @ (q * y * a), l1) / l2, q @ (y * a)
        down = -(q @ a) + l2 / 2 * (w @ w) + total * b + total**2 / (2 * mu)
        return down, q * (y * (x @ w + b + total / mu) - 1.0)

    start = np.full(len(y), 0.5) if start is None else start
    a = descend(value, start, [(0, 1)] * len(y))
    return a, soft(x.T @ (q * y * a), l1) / l2


def tube(problem):
    """Of losses that are linear on both sides of a tube: its width, and how far t goes up and down."""
    return (0.0, problem.width, 1.0 - problem.width) if problem.loss == "quantile" else (problem.width, 1.0, 1.0)


def absolute_dual(problem, b=0.0, mu=np.inf, start=None):
    """The same for losses with a tube, whose t has two parts, one up and one down."""
    x, y, q = columns(problem), problem.y, problem.share
    l1, l2, n = problem.lam * problem.rho, problem.lam * (1 - problem.rho), len(problem.y)
    width, up, down_to = tube(problem)

    def value(a):
        t = a[:n] - a[n:]
        w, total = soft(x.T @ (q * t), l1) / l2, q @ t
        down = q @ (width * (a[:n] + a[n:]) - t * y) + l2 / 2 * (w @ w) + total * b + total**2 / (2 * mu)
        slope = x @ w + b + total / mu - y
        return down, np.concatenate([q * (width + slope), q * (width - slope)])

    a = descend(value, np.zeros(2 * n) if start is None else start, [(0, up)] * n + [(0, down_to)] * n)
    return a, soft(x.T @ (q * (a[:n] - a[n:])), l1) / l2


def solve_absolute(problem):
    """What no packaged solver takes, such as an L1 penalty: the dual by L-BFGS-B; a free b is its multiplier."""
    n, width = len(problem.y), tube(problem)[0]
    a, w = absolute_dual(problem)
    b, mu = 0.0, 0.01 * problem.lam
    for _ in range(50 if problem.free else 0):
        a, w = absolute_dual(problem, b, mu, a)
        excess = problem.share @ (a[:n] - a[n:])
        b += excess / mu
        if abs(excess) < 1e-13:
            break
    if problem.free:  # the best b for this w is at a kink
        off = problem.y - problem.x @ w
        kinks = np.concatenate([off - width, off + width])
        near = kinks[np.argsort(np.abs(kinks - b))[:20]]
        b = min([b, *near], key=lambda kink: objective(problem, w, kink))
    return w, b, a[:n] - a[n:]


def solve_svr(problem):
    """Without an L1 penalty: LIBSVM if the intercept is free, else LIBLINEAR; t comes from the dual."""
    kept = problem.sample_weights > 0
    weights = problem.sample_weights[kept]
    if problem.free:
        model = SVR(kernel="linear", C=strength(problem), epsilon=problem.width, tol=1e-9, cache_size=500)
        x = problem.x[kept].toarray()
    else:
        model = LinearSVR(
            C=strength(problem), epsilon=problem.width, fit_intercept=False, tol=1e-10, max_iter=10**6, random_state=1
        )
        x = columns(problem)[kept]
    model.fit(x, problem.y[kept], sample_weight=weights)
    t = solve_absolute(problem)[2]
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if problem.free else 0.0, t


def solve_hinge(problem):
    """For an L1 penalty, which no SVM package supports: solves the dual by L-BFGS-B. A free b is its multiplier."""
    a, w = hinge_dual(problem)
    b, mu = 0.0, 0.01 * problem.lam
    for _ in range(50 if problem.free else 0):
        a, w = hinge_dual(problem, b, mu, a)
        excess = problem.share @ (problem.y * a)
        b += excess / mu
        if abs(excess) < 1e-13:
            break
    if problem.free:  # the best b for this w is at a kink
        kinks = problem.y - problem.x @ w
        b = min(kinks[np.abs(kinks - b) < 1e-3], key=lambda kink: objective(problem, w, kink), default=b)
    return w, b, problem.y * a


def solve_svc(problem):
    """For a free intercept: LIBSVM, which also returns the dual variables."""
    kept = problem.sample_weights > 0
    svc = SVC(kernel="linear", C=strength(problem), tol=1e-10, cache_size=500, max_iter=500000)
    svc.fit(problem.x[kept], problem.y[kept], sample_weight=problem.sample_weights[kept])
    t = np.zeros(len(problem.y))
    at = np.flatnonzero(kept)[svc.support_]
    coef = svc.dual_coef_.toarray()[0] if sparse.issparse(svc.dual_coef_) else svc.dual_coef_[0]
    w = svc.coef_.toarray()[0] if sparse.issparse(svc.coef_) else svc.coef_[0]
    t[at] = coef / (strength(problem) * problem.sample_weights[at])
    return w, svc.intercept_[0], t


def solve_sklearn(problem):
    """Solves with the estimator for exactly this problem, or returns None."""
    fit = {"sample_weight": problem.sample_weights}
    if problem.loss == "squared" and problem.rho == 0:
        model = Ridge(alpha=1.0 / strength(problem), fit_intercept=problem.free, solver="svd")
        return model.fit(columns(problem).toarray(), problem.y, **fit)
    elif problem.loss == "squared":
        model = ElasticNet(
            alpha=problem.lam, l1_ratio=problem.rho, fit_intercept=problem.free, tol=1e-13, max_iter=10**6
        )  # with rho 1 this is Lasso
        return model.fit(columns(problem).toarray(), problem.y, **fit)
    elif problem.loss == "poisson" and problem.rho == 0 and problem.lam > 0:
        model = PoissonRegressor(
            alpha=problem.lam, fit_intercept=problem.free, solver="newton-cholesky", tol=1e-12, max_iter=1000
        )
    elif problem.loss in ("gamma", "tweedie") and problem.rho == 0 and problem.lam > 0:
        model = TweedieRegressor(
            power=problem.width or 2.0,
            link="log",
            alpha=problem.lam,
            fit_intercept=problem.free,
            solver="newton-cholesky",
            tol=1e-12,
            max_iter=1000,
        )
    elif problem.loss == "logistic" and problem.rho == 0:
        model = LogisticRegression(C=strength(problem), fit_intercept=problem.free, solver="newton-cholesky", tol=1e-12)
    elif problem.loss == "squared-hinge" and problem.rho == 0 and problem.lam > 0 and not problem.free:
        model = LinearSVC(C=strength(problem), fit_intercept=False, dual=False, tol=1e-11, max_iter=10000)
    elif problem.loss == "hinge" and problem.rho == 0 and not problem.free:
        model = LinearSVC(
            C=strength(problem), fit_intercept=False, loss="hinge", tol=1e-11, max_iter=10**6, random_state=1
        )
    else:
        return None
    return model.fit(columns(problem), problem.y, **fit)


def is_linear_program(problem):
    """A loss with kinks, without an L2 penalty."""
    return problem.loss in ("hinge", "epsilon-insensitive", "quantile") and (problem.lam == 0 or problem.rho == 1)


def solve_linear_program(problem):
    """scipy 1.17: linprog(method="highs") in both parts of w, b and the losses of the rows; returns (P, D)."""
    x, y, n = sparse.csr_matrix(columns(problem)), problem.y, len(problem.y)
    one, zero = np.ones(n), np.zeros(n)
    pieces = {  # the loss is the largest of 0 and slope z + constant
        "hinge": [(-y, one)],
        "epsilon-insensitive": [(one, -y - problem.width), (-one, y - problem.width)],
        "quantile": [(zero - problem.width, problem.width * y), (one - problem.width, (problem.width - 1) * y)],
    }[problem.loss]
    b = sparse.csr_matrix(np.ones((n, 1)) * problem.free)
    rows = [sparse.hstack([sparse.diags(s) @ part for part in (x, -x, b)] + [-sparse.eye(n)]) for s, _ in pieces]
    limit = np.concatenate([-constant for _, constant in pieces])
    cost = np.concatenate([np.full(2 * x.shape[1], problem.lam), [0.0], problem.share])
    bounds = [(0, None)] * (2 * x.shape[1]) + [(None, None)] + [(0, None)] * n
    found = linprog(cost, A_ub=sparse.vstack(rows), b_ub=limit, bounds=bounds, method="highs")
    assert found.success, found.message
    return found.fun, limit @ found.ineqlin.marginals


@remembered
def optimum(problem):
    """Returns (P, D): the objective of the oracle, and a lower bound that shows its accuracy."""
    if is_linear_program(problem):
        return solve_linear_program(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = None
        if problem.loss == "epsilon-insensitive":
            w, b, t = solve_absolute(problem) if problem.rho > 0 else solve_svr(problem)
        elif problem.loss == "quantile":
            w, b, t = solve_absolute(problem)
        elif problem.loss == "hinge" and (problem.rho > 0 or problem.free):
            w, b, t = solve_hinge(problem) if problem.rho > 0 else solve_svc(problem)
        else:
            model = solve_sklearn(problem)
            w, b = (np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])) if model else solve_smooth(problem)
            if problem.loss == "hinge":
                t = problem.y * hinge_dual(problem)[0]
    z = columns(problem) @ w + (b if problem.free else 0.0)
    upper = problem.share @ loss_values(problem.loss, z, problem.y, problem.width) + penalty(problem, w)
    if problem.lam == 0:  # without a dual, the gradient bounds the error
        slopes = problem.share * loss_slopes(problem.loss, z, problem.y, problem.width)
        return upper, upper - np.abs(np.append(columns(problem).T @ slopes, slopes.sum() * problem.free)).max()
    return upper, dual_value(problem, -loss_slopes(problem.loss, z, problem.y, problem.width) if t is None else t)
