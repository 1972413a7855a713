"""Evaluates every system in the same way: the objective in float64, from the coefficients that it wrote.

P(w,b) = sum_i q_i loss(x_i.w + b, y_i) + lambda [(1-rho)/2 |w|^2 + rho |w|_1],   q_i = s_i / sum s
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from safetensors import safe_open
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, xlogy


@dataclass
class Problem:
    x: sparse.csr_matrix
    y: np.ndarray  # -1 and +1, real, or the number of the class
    loss: str
    lam: float
    rho: float = 0.0
    intercept: str = "none"
    weights: np.ndarray | None = None
    width: float = 0.0  # the loss's parameter: of quantile its level

    @property
    def sample_weights(self):
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @property
    def share(self):
        return self.sample_weights / self.sample_weights.sum()

    @property
    def free(self):
        return self.intercept == "free"


WIDE = ("huber", "epsilon-insensitive", "squared-epsilon-insensitive", "quantile")  # losses that have a parameter
LOG_LINK = ("poisson", "gamma", "tweedie")  # exp(z) is the prediction; the parameter of tweedie is its power
REAL_LOSSES = ("squared", *WIDE, *LOG_LINK)


def loss_values(loss, z, y, width=0.0):
    if loss == "squared":
        return 0.5 * (z - y) ** 2
    if loss == "logistic":
        return np.logaddexp(0.0, -y * z)
    if loss == "softmax":
        return logsumexp(z, axis=1) - z[np.arange(len(y)), y]
    if loss == "huber":
        size = np.abs(z - y)
        return np.where(size <= width, 0.5 * size**2, width * (size - 0.5 * width))
    if loss == "epsilon-insensitive":
        return np.maximum(0.0, np.abs(z - y) - width)
    if loss == "squared-epsilon-insensitive":
        return np.maximum(0.0, np.abs(z - y) - width) ** 2
    if loss == "quantile":
        return np.where(z > y, (1.0 - width) * (z - y), width * (y - z))
    if loss == "poisson":
        return np.exp(z) - y * z - y + xlogy(y, y)
    if loss == "gamma":
        return y * np.exp(-z) + z - 1.0 - np.log(y)
    if loss == "tweedie":
        a, c = width - 1.0, 2.0 - width
        return y * np.exp(-a * z) / a + np.exp(c * z) / c - y**c / (a * c)
    slack = np.maximum(0.0, 1.0 - y * z)
    return slack if loss == "hinge" else slack**2


def penalty(problem, w):
    return problem.lam * ((1 - problem.rho) / 2 * np.vdot(w, w) + problem.rho * np.abs(w).sum())


def objective(problem, w, b=0.0):
    """P for `w` with one entry per column of the data; one row per class for softmax, and for two-class losses with a
    column of labels per class, whose problems are summed."""
    z = problem.x @ w.T + b
    penalised = np.append(w, b) if problem.intercept == "penalised" else w
    losses = problem.share @ loss_values(problem.loss, z, problem.y, problem.width)
    return np.sum(losses) + penalty(problem, penalised)


def null_objective(problem):
    """P at w = 0 with the best free intercept, to which all relative figures refer."""
    q, y, b = problem.share, problem.y, 0.0
    if problem.loss == "softmax":
        return np.log(y.max() + 1)
    if problem.free and problem.loss in WIDE:  # convex and piecewise; this gives enough digits
        return minimize_scalar(
            lambda b: q @ loss_values(problem.loss, np.full(len(y), b), y, problem.width),
            bounds=(y.min(), y.max()),
            method="bounded",
            options={"xatol": 1e-12, "maxiter": 1000},
        ).fun
    if problem.free and problem.loss in LOG_LINK:
        b = np.log(q @ y)
    elif problem.free:
        mean = q @ y
        b = {"squared": mean, "hinge": np.sign(mean), "squared-hinge": mean}.get(problem.loss)
        b = np.log((1 + mean) / (1 - mean)) if b is None else b
    return np.sum(q @ loss_values(problem.loss, np.full(y.shape, b), y, problem.width))


def read_parley(path):
    """Reads coefficients, intercept and metadata of a model that Parley wrote."""
    with safe_open(path, framework="numpy") as file:
        coef = file.get_tensor("coef")
        return coef if len(coef) > 1 else coef[0], float(file.get_tensor("intercept")[0]), file.metadata()


def read_liblinear(path, columns):
    """Reads the coefficients of a binary model, for label +1, or of a regression that LIBLINEAR wrote without bias."""
    with open(path) as file:
        head, body = file.read().split("\nw\n")
    fields = dict(line.split(" ", 1) for line in head.splitlines())
    w = np.zeros(columns)
    values = np.array(body.split(), dtype=float)
    w[: len(values)] = values
    # LIBLINEAR's w belongs to the first label in the file
    return -w if float(fields.get("label", "1").split()[0]) < 0 else w
