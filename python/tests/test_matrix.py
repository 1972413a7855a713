"""Agreement with scikit-learn over a matrix of parameters.

Every estimator, with the parameters that matter, dense and sparse, weighted and not, float32 and float64, gives the
coefficients of an oracle to 1e-5 of their norm. A case has four of these eight forms, in which every pair of choices
occurs; the next case has the other four. The oracle is scikit-learn's estimator of the same name, run with a
small tolerance in float64 on the dense values; for SGD, which cannot be made accurate, another estimator or scipy.
"""

import warnings
from functools import cache
from itertools import product

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import __version__, linear_model, svm
from sklearn.utils.fixes import parse_version

CLOSE = 1e-5
SHAPES = {"tall": (90, 6), "wide": (40, 60), "short": (36, 5)}
LIBLINEAR = {"tol": 1e-9, "max_iter": 1000000, "random_state": 0}  # below 1e-10 it is limited by rounding
PATH = {"tol": 1e-14, "max_iter": 200000}


@cache
def rows(shape, dtype, kind, weighted):
    """X, y and weights: half of X is 0, its columns differ in scale, and the target has noise."""
    rng = np.random.default_rng(len(kind))
    n, columns = SHAPES[shape]
    X = rng.normal(size=(n, columns)) * (rng.random((n, columns)) < 0.5) * np.geomspace(0.5, 2.0, columns)
    z = X[:, :5] @ [1.0, -0.5, 0.25, 0.0, 0.5] + 0.5 * rng.normal(size=n) + 0.2
    target = {
        "two": lambda: np.where(z > 0, "yes", "no"),
        "three": lambda: np.digitize(z, [-0.8, 0.8]),
        "value": lambda: 3.0 * z + np.where(rng.random(n) < 0.1, 8.0, 0.0),
        "count": lambda: rng.poisson(np.exp(0.5 * z + 0.3)).astype(float),
    }
    return X.astype(dtype), target[kind](), rng.uniform(0.2, 3.0, n) if weighted else None


def tight(kind, X, y, weight, **parameters):
    """Fits with scikit-learn."""
    given = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(**parameters).fit(X, y, **given)
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), model


def logistic(X, y, weight, penalty="l2", l1_ratio=0.0, C=1.0, solver=None, **others):
    ratio = {"l1": 1.0, "elasticnet": l1_ratio}.get(penalty, 0.0)
    how = {"solver": "newton-cholesky", "tol": 1e-10}
    if ratio > 0:
        how = {"solver": "saga", "tol": 1e-13, "random_state": 0}
    if solver == "liblinear":
        how = {"solver": "liblinear", **LIBLINEAR}
    how = {"max_iter": 200000, "C": np.inf if penalty is None else C, **how}
    return tight(linear_model.LogisticRegression, X, y, weight, l1_ratio=ratio, **how, **others)


def support_vectors(X, y, weight, loss="squared_hinge", penalty="l2", **others):
    return tight(svm.LinearSVC, X, y, weight, loss=loss, penalty=penalty, dual=loss == "hinge", **LIBLINEAR, **others)


def support_regression(X, y, weight, loss="epsilon_insensitive", **others):
    return tight(svm.LinearSVR, X, y, weight, loss=loss, dual=loss == "epsilon_insensitive", **LIBLINEAR, **others)


def same_name(name, **how):
    def oracle(X, y, weight, **parameters):
        return tight(getattr(linear_model, name), X, y, weight, **how, **parameters)

    return oracle


def lowest(objective, v, bounds=None):
    """Minimises a smooth objective. Each restart discards the inaccurate curvature estimate of the one before."""
    how = {"ftol": 0, "gtol": 1e-12, "maxiter": 1000}
    for _ in range(5):
        v = minimize(objective, v, jac=True, method="L-BFGS-B", bounds=bounds, options=how).x
    return v


def smooth(value_and_slope, X, y, share, alpha, fit_intercept):
    """Minimises the weighted mean loss + alpha/2 |w|^2 with scipy."""

    def objective(v):
        value, slope = value_and_slope(X @ v[:-1] + v[-1], y)
        slope = share * slope
        gradient = np.append(X.T @ slope + alpha * v[:-1], slope.sum() if fit_intercept else 0.0)
        return share @ value + alpha / 2 * v[:-1] @ v[:-1], gradient

    v = lowest(objective, np.zeros(X.shape[1] + 1))
    return v[None, :-1], v[-1:], None


def squared_hinge(z, y):
    slack = np.maximum(0.0, 1.0 - y * z)
    return slack**2, -2.0 * y * slack


def huber(width):
    def loss(z, y):
        off = z - y
        near = np.abs(off) <= width
        return np.where(near, off**2 / 2, width * (np.abs(off) - width / 2)), np.clip(off, -width, width)

    return loss


def squared_tube(width):
    def loss(z, y):
        beyond = np.maximum(0.0, np.abs(z - y) - width)
        return beyond**2, 2.0 * np.copysign(beyond, z - y)

    return loss


def hinge_elastic_net(X, sign, cost, alpha, ratio):
    """Solves a quadratic program in the two parts of w, the intercept and slacks with scipy."""
    n, d = X.shape
    signed = sign[:, None] * X
    A = np.hstack([signed, -signed, sign[:, None], np.eye(n)])

    def objective(v):
        w = v[:d] - v[d : 2 * d]
        slope = alpha * (1 - ratio) * w
        gradient = np.concatenate([slope + alpha * ratio, alpha * ratio - slope, [0.0], cost])
        return alpha * (ratio * v[: 2 * d].sum() + (1 - ratio) / 2 * w @ w) + cost @ v[2 * d + 1 :], gradient

    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    start = np.concatenate([np.zeros(2 * d + 1), np.ones(n)])
    wide = {"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A}
    how = {"bounds": bounds, "constraints": wide, "options": {"ftol": 1e-15, "maxiter": 1000}}
    found = minimize(objective, start, jac=True, method="SLSQP", **how)
    assert found.success, found.message
    v = found.x
    return (v[:d] - v[d : 2 * d])[None], v[2 * d : 2 * d + 1], None


def sgd_classifier(X, y, weight, loss, alpha, class_weight=None, **others):
    """The objective is the weighted mean over rows; the weight of a class multiplies the loss of its rows."""
    share = (np.ones(len(y)) if weight is None else weight) / (len(y) if weight is None else weight.sum())
    labels, codes = np.unique(y, return_inverse=True)
    own = np.array([(class_weight or {}).get(label, 1.0) for label in labels])
    if len(labels) == 2:
        return binary(X, 2.0 * codes - 1.0, share * own[codes], loss, alpha, **others)
    parts = []
    for number, factor in enumerate(own):
        mine = codes == number
        parts.append(binary(X, np.where(mine, 1.0, -1.0), share * np.where(mine, factor, 1.0), loss, alpha, **others))
    return np.vstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts]), None


def binary(X, sign, share, loss, alpha, penalty="l2", l1_ratio=0.15, fit_intercept=True):
    if loss == "log_loss":
        return logistic(X, sign, share, penalty, l1_ratio, 1.0 / alpha, fit_intercept=fit_intercept)
    if loss == "squared_hinge":
        return smooth(squared_hinge, X, sign, share, alpha, fit_intercept)
    if penalty == "elasticnet":
        return hinge_elastic_net(X, sign, share, alpha, l1_ratio)
    return tight(svm.SVC, X, sign, share, kernel="linear", C=1.0 / alpha, tol=1e-12)


def sgd_regressor(X, y, weight, loss, alpha, penalty="l2", l1_ratio=0.15, epsilon=0.1, fit_intercept=True):
    share = (np.ones(len(y)) if weight is None else weight) / (len(y) if weight is None else weight.sum())
    if loss == "squared_error":
        ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": l1_ratio}[penalty]
        how = {"alpha": alpha, "l1_ratio": ratio, "fit_intercept": fit_intercept, **PATH}
        return tight(linear_model.ElasticNet, X, y, weight, **how)
    if loss == "huber":
        return smooth(huber(epsilon), X, y, share, alpha, fit_intercept)
    if loss == "squared_epsilon_insensitive":
        return smooth(squared_tube(epsilon), X, y, share, alpha, fit_intercept)
    return tight(svm.SVR, X, y, share, kernel="linear", C=1.0 / alpha, epsilon=epsilon, tol=1e-12)


def logistic_cv(X, y, weight, l1_ratios=(0.0,), **others):
    how = {"solver": "newton-cholesky", "tol": 1e-10}
    if max(l1_ratios) > 0:
        how = {"solver": "saga", "tol": 1e-13, "random_state": 0}
    how = {"max_iter": 200000, "scoring": "neg_log_loss", "use_legacy_attributes": False, **how}
    return tight(linear_model.LogisticRegressionCV, X, y, weight, l1_ratios=l1_ratios, **how, **others)


def huber_regression(X, y, weight, epsilon, alpha, fit_intercept):
    """Minimises the objective with scipy from the result of scikit-learn, which has no setting for higher accuracy."""
    rough = linear_model.HuberRegressor(epsilon=epsilon, alpha=alpha, fit_intercept=fit_intercept, max_iter=10000)
    rough.fit(X, y, weight)
    weight = np.ones(len(y)) if weight is None else weight

    def objective(v):
        w, b, scale = v[:-2], v[-2], v[-1]
        off = (X @ w + b - y) / scale
        size = np.minimum(np.abs(off), epsilon)
        value = weight @ (scale + scale * (2 * size * np.abs(off) - size**2)) + alpha * w @ w
        slope = 2 * weight * np.copysign(size, off)
        last = [slope.sum() * fit_intercept, weight @ (1 - size**2)]
        return value, np.concatenate([X.T @ slope + 2 * alpha * w, last])

    bounds = [(None, None)] * (X.shape[1] + 1) + [(rough.scale_ / 2, None)]
    v = lowest(objective, np.concatenate([rough.coef_, [rough.intercept_, rough.scale_]]), bounds)
    assert np.allclose(v[:-2], rough.coef_, rtol=0, atol=1e-3) and np.isclose(v[-1], rough.scale_, rtol=1e-3)
    rough.coef_, rough.intercept_, rough.scale_ = v[:-2], v[-2], v[-1]
    return v[None, :-2], v[-2:-1], rough


ORACLES = {
    "LogisticRegression": logistic, "LinearSVC": support_vectors, "LinearSVR": support_regression,
    "Ridge": same_name("Ridge", solver="cholesky"), "Lasso": same_name("Lasso", **PATH),
    "ElasticNet": same_name("ElasticNet", **PATH), "HuberRegressor": huber_regression,
    "PoissonRegressor": same_name("PoissonRegressor", solver="newton-cholesky", tol=1e-12),
    "SGDClassifier": sgd_classifier, "SGDRegressor": sgd_regressor, "LogisticRegressionCV": logistic_cv,
    "LassoCV": same_name("LassoCV", **PATH), "ElasticNetCV": same_name("ElasticNetCV", **PATH),
}  # fmt: skip


def grid(name, kind, shape="tall", **lists):
    """All combinations of the values given for each parameter."""
    for values in product(*lists.values()):
        yield name, kind, shape, tuple(zip(lists, values, strict=True))


BOTH = [True, False]
HINGES = ["hinge", "squared_hinge"]
TUBES = ["epsilon_insensitive", "squared_epsilon_insensitive"]
CS = [(0.01, 0.1, 1.0, 10.0)]
TWO, THREE = {"no": 3.0, "yes": 0.5}, {0: 3.0, 1: 0.5, 2: 1.5}
CASES = [
    *grid("LogisticRegression", "two", C=[0.1, 10.0], fit_intercept=BOTH, class_weight=[None, "balanced", TWO]),
    *grid("LogisticRegression", "three", C=[0.1, 10.0], fit_intercept=BOTH, class_weight=[None, THREE]),
    *grid("LogisticRegression", "two", penalty=["l1", "elasticnet"], l1_ratio=[0.5], C=[0.5], fit_intercept=BOTH),
    *grid("LogisticRegression", "three", penalty=["l1", "elasticnet"], l1_ratio=[0.3], C=[0.5], fit_intercept=BOTH),
    *grid("LogisticRegression", "two", penalty=[None], fit_intercept=BOTH),
    *grid("LogisticRegression", "two", solver=["liblinear"], penalty=["l1", "l2"], C=[0.5], fit_intercept=BOTH),
    *grid("LogisticRegression", "two", "wide", C=[0.1, 1.0]),
    *grid("LinearSVC", "two", loss=HINGES, C=[0.1, 1.0], fit_intercept=BOTH, class_weight=[None, TWO]),
    *grid("LinearSVC", "three", loss=HINGES, C=[0.5], class_weight=[None, "balanced", THREE]),
    *grid("LinearSVC", "two", penalty=["l1"], C=[0.5], fit_intercept=BOTH),
    *grid("LinearSVC", "two", "wide", loss=HINGES, C=[0.1]),
    *grid("LinearSVR", "value", loss=TUBES, C=[0.1, 1.0], epsilon=[0.0, 0.5], fit_intercept=BOTH),
    *grid("Ridge", "value", alpha=[0.1, 10.0], fit_intercept=BOTH),
    *grid("Ridge", "value", "wide", alpha=[1.0], fit_intercept=BOTH),
    *grid("Lasso", "value", alpha=[0.01, 0.3], fit_intercept=BOTH),
    *grid("Lasso", "value", "wide", alpha=[0.2], fit_intercept=BOTH),
    *grid("ElasticNet", "value", alpha=[0.05, 0.5], l1_ratio=[0.0, 0.2, 0.9], fit_intercept=BOTH),
    *grid("ElasticNet", "value", "wide", alpha=[0.2], l1_ratio=[0.5], fit_intercept=BOTH),
    *grid("HuberRegressor", "value", epsilon=[1.1, 1.35, 3.0], alpha=[1e-3, 1.0], fit_intercept=BOTH),
    *grid("PoissonRegressor", "count", alpha=[1e-2, 1.0], fit_intercept=BOTH),
    *grid("SGDClassifier", "two", loss=["hinge"], alpha=[0.01, 0.1]),
    *grid("SGDClassifier", "two", "short", loss=["hinge"], alpha=[0.05], penalty=["elasticnet"], l1_ratio=[0.15]),
    *grid("SGDClassifier", "two", loss=["log_loss", "squared_hinge"], alpha=[0.05], fit_intercept=BOTH),
    *grid("SGDClassifier", "two", loss=["log_loss"], alpha=[0.02], penalty=["l1", "elasticnet"]),
    *grid("SGDClassifier", "three", loss=[*HINGES, "log_loss"], alpha=[0.05], class_weight=[None, THREE]),
    *grid("SGDRegressor", "value", loss=["squared_error", "huber"], alpha=[0.01, 0.5], fit_intercept=BOTH),
    *grid("SGDRegressor", "value", loss=["squared_error"], penalty=["l1", "elasticnet"], alpha=[0.1]),
    *grid("SGDRegressor", "value", loss=TUBES, alpha=[0.05], epsilon=[0.0, 0.5]),
    *grid("LassoCV", "value", cv=[3], fit_intercept=BOTH),
    *grid("ElasticNetCV", "value", cv=[3], l1_ratio=[(0.3, 0.8)], fit_intercept=BOTH),
    *grid("LogisticRegressionCV", "two", cv=[3], Cs=CS, fit_intercept=BOTH, class_weight=[None, TWO]),
    *grid("LogisticRegressionCV", "three", cv=[3], Cs=CS),
    *grid("LogisticRegressionCV", "two", cv=[3], Cs=[(0.3, 1.0)], l1_ratios=[(0.2, 1.0)]),
]  # fmt: skip
CHOSEN = {
    "LassoCV": ("alpha_", "alphas_", "mse_path_"), "ElasticNetCV": ("alpha_", "l1_ratio_", "alphas_", "mse_path_"),
    "LogisticRegressionCV": ("C_", "l1_ratio_", "scores_"), "HuberRegressor": ("scale_",),
}  # fmt: skip


def written(case):
    name, kind, shape, parameters = case
    return f"{name}-{kind}-{shape}-" + ",".join(f"{key}={value}" for key, value in parameters).replace(" ", "")


def named(number, form, dtype, weighted):
    return f"{written(CASES[number])}-{form}-{dtype}" + ("-weighted" if weighted else "")


FORMS = [
    (number, form, dtype, weighted)
    for number in range(len(CASES))
    for form, dtype, weighted in product(("dense", "sparse"), ("float64", "float32"), (False, True))
    if ((form == "sparse") + (dtype == "float32") + weighted + number) % 2 == 0
]


@cache
def expected(number, dtype, weighted):
    name, kind, shape, parameters = CASES[number]
    X, y, weight = rows(shape, dtype, kind, weighted)
    return ORACLES[name](X.astype(float), y, weight, **dict(parameters))


@pytest.mark.skipif(
    parse_version(__version__) < parse_version("1.8"), reason="the oracles' parameters are of scikit-learn 1.8"
)
@pytest.mark.parametrize(("number", "form", "dtype", "weighted"), FORMS, ids=[named(*form) for form in FORMS])
def test_coefficients_are_the_oracles(number, form, dtype, weighted):
    name, kind, shape, parameters = CASES[number]
    X, y, weight = rows(shape, dtype, kind, weighted)
    extra = {"scoring": "neg_log_loss"} if name == "LogisticRegressionCV" else {}
    extra |= {"preset": "auto"} if name.startswith("SGD") else {}
    model = getattr(parley, name)(tol=1e-13, **dict(parameters), **extra)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a gap of 1e-13 may be below the precision of float64
        model.fit(sp.csr_matrix(X) if form == "sparse" else X, y, sample_weight=weight)
    coef, intercept, other = expected(number, dtype, weighted)
    wanted = np.column_stack([coef, intercept])
    found = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)])
    assert found.shape == wanted.shape
    assert np.linalg.norm(found - wanted) <= CLOSE * np.linalg.norm(wanted)
    for attribute in CHOSEN.get(name, ()):
        np.testing.assert_allclose(getattr(model, attribute), getattr(other, attribute), rtol=1e-5)
    if type(other).__name__ == name:
        for method in ("predict_proba", "decision_function") if hasattr(other, "classes_") else ("predict",):
            if hasattr(other, method):
                np.testing.assert_allclose(getattr(model, method)(X), getattr(other, method)(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rows", [20, 100, 500, 2000, 10000])
def test_labels_live_as_long_as_a_batch_is_learnt(rows):
    X = sp.csr_matrix(np.random.default_rng(0).normal(size=(rows, 2)))
    y = (X[:, [0]].toarray().ravel() > 0).astype(int)  # the core gets its own float64 array of this and of X
    model = parley.SGDClassifier(loss="log_loss")
    for _ in range(3):
        model.partial_fit(X, y, classes=[0, 1])
    assert model.score(X, y) > 0.7
