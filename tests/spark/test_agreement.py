"""Coefficients are those of Spark's own estimators at a tight tolerance. LinearSVC is compared with scikit-learn's SVC, since
Spark's ends several per cent away from the optimum."""
import itertools

import numpy as np
import pytest
from conftest import ALL, data, long
from pyspark.ml import classification, regression

import parley.spark

TIGHT = {"tol": 1e-11, "maxIter": 10000}
PENALTIES = ((0.0, 0.0), (0.05, 0.0), (0.05, 0.6), (0.02, 1.0))


def numbers(model):
    if hasattr(model, "coefficientMatrix"):
        return np.concatenate([model.coefficientMatrix.toArray().ravel(), model.interceptVector.toArray()])
    return np.append(model.coefficients.toArray(), model.intercept)


def cases():
    """Family or solver, penalty, standardization, intercept, weights, sparse: all of them, or every value with others."""
    whole = itertools.product(("binomial", "multinomial", "normal", "l-bfgs"), PENALTIES, (True, False), (True, False),
                              (False, True), (False, True))
    for number, case in enumerate(whole):
        if ALL or number % 51 == 5:
            yield case


@pytest.mark.parametrize("kind,penalty,standardization,intercept,weighted,sparse", list(cases()))
def test_same_coefficients(frames, kind, penalty, standardization, intercept, weighted, sparse):
    words = {"regParam": penalty[0], "elasticNetParam": penalty[1], "standardization": standardization,
             "fitIntercept": intercept, **({"weightCol": "weight"} if weighted else {})}
    if kind in ("normal", "l-bfgs"):
        name, module, df = "LinearRegression", regression, frames("real", sparse)
        words["solver"] = kind
    else:
        name, module, df = "LogisticRegression", classification, frames("two" if kind == "binomial" else "three", sparse)
        words["family"] = kind
    ours = getattr(parley.spark, name)(**words, **TIGHT).fit(df)
    exact = {"tol": 1e-14, "maxIter": 2000} if kind != "normal" else {}
    theirs = getattr(module, name)(**words, **exact).fit(df)
    assert type(ours) is type(theirs)
    error = np.abs(numbers(ours) - numbers(theirs)).max() / np.abs(numbers(theirs)).max()
    assert error < 1e-4, (numbers(ours), numbers(theirs), ours.parley)
    assert ours.parley["rows"] == 150


@pytest.mark.parametrize("standardization,weighted", [(True, False), (False, True)] + ([(True, True)] if ALL else []))
def test_support_vectors(frames, standardization, weighted):
    """scikit-learn's SVC, of libsvm, has the same objective with an intercept that is not penalised."""
    from sklearn.svm import SVC

    x, w, labels = data()
    w = w if weighted else np.ones(len(x))
    mean = (w[:, None] * x).sum(0) / w.sum()
    scale = np.sqrt((w[:, None] * (x - mean) ** 2).sum(0) / (w.sum() - (w * w).sum() / w.sum())) if standardization else np.ones(5)
    strength = 0.05
    oracle = SVC(kernel="linear", C=1 / (strength * w.sum()), tol=1e-9).fit(x / scale, labels["two"], sample_weight=w)
    ours = parley.spark.LinearSVC(regParam=strength, standardization=standardization, **TIGHT,
                                  **({"weightCol": "weight"} if weighted else {})).fit(frames("two"))
    assert type(ours) is classification.LinearSVCModel
    expected = np.append(oracle.coef_.ravel() / scale, oracle.intercept_)
    assert np.abs(numbers(ours) - expected).max() / np.abs(expected).max() < 1e-4


def test_small_penalties_of_support_vectors_count(spark):
    """Small features make a small penalty a strong one."""
    from pyspark.ml.linalg import Vectors
    from sklearn.svm import SVC

    x, _, labels = data()
    x, strength = x / 128, 2e-5
    oracle = SVC(kernel="linear", C=1 / (strength * len(x)), tol=1e-9).fit(x, labels["two"])
    df = spark.createDataFrame([(Vectors.dense(row), float(y)) for row, y in zip(x, labels["two"])], ["features", "label"])
    ours = parley.spark.LinearSVC(regParam=strength, standardization=False, **TIGHT).fit(df.coalesce(2))
    expected = np.append(oracle.coef_.ravel(), oracle.intercept_)
    assert np.abs(numbers(ours) - expected).max() / np.abs(expected).max() < 1e-4


@long
def test_support_vectors_without_penalty(frames):
    """Spark's default, for which a small penalty stands. The hinge loss is about as low as that of Spark's model."""
    x, _, labels = data()

    def loss(model):
        return np.maximum(0, 1 - (2 * labels["two"] - 1) * (x @ model.coefficients.toArray() + model.intercept)).mean()

    ours = parley.spark.LinearSVC().fit(frames("two"))
    assert loss(ours) < loss(classification.LinearSVC().fit(frames("two"))) + 1e-3


def test_constant_columns_get_no_coefficient(spark):
    from pyspark.ml.linalg import Vectors

    draw = np.random.default_rng(3)
    rows = [(Vectors.dense([float(np.float32(draw.normal())), 4.0]), float(draw.random() < 0.5)) for _ in range(60)]
    df = spark.createDataFrame(rows, ["features", "label"]).repartition(2).persist()
    for words in ({"standardization": True}, {"standardization": False}, {"fitIntercept": False},
                  {"fitIntercept": False, "standardization": False}):
        words = {"regParam": 0.1, **words}
        ours = parley.spark.LogisticRegression(**words, **TIGHT).fit(df)
        theirs = classification.LogisticRegression(**words, tol=1e-14, maxIter=1000).fit(df)
        assert np.abs(numbers(ours) - numbers(theirs)).max() < 1e-5, words


@pytest.mark.parametrize("sparse", [False, True])
def test_times_in_seconds_keep_their_digits(spark, sparse):
    """Spark's normal equations lose digits in such columns, so that the oracle has the times from their first one on."""
    from pyspark.ml.linalg import Vectors

    random = np.random.default_rng(4)
    t, x = np.round(600 * random.random(400), 3), random.normal(size=400)
    x[0] = 0.0  # an odd number of entries
    y = 0.02 * t + 2 * x + random.normal(0, 0.1, 400)
    labels = (y - y.mean() + random.normal(0, 3, 400) > 0).astype(float)

    def frame(shift):
        rows = zip(t + shift, x, y, labels)
        return spark.createDataFrame(
            [(Vectors.sparse(3, [0, 2], [a, b]) if sparse else Vectors.dense([a, 0.0, b]), float(c), float(d))
             for a, b, c, d in rows], ["features", "number", "label"]).repartition(3)  # fmt: skip

    for name, module, label, words in (("LinearRegression", regression, "number", {}),
                                       ("LogisticRegression", classification, "label", {"regParam": 0.001})):  # fmt: skip
        theirs = getattr(module, name)(labelCol=label, **words, **TIGHT).fit(frame(0.0))
        ours = getattr(parley.spark, name)(labelCol=label, **words, **TIGHT).fit(frame(1.7e9))
        error = np.abs(ours.coefficients.toArray() / np.where(theirs.coefficients.toArray(), theirs.coefficients.toArray(), 1)
                       - (theirs.coefficients.toArray() != 0))
        assert error.max() < 1e-4, (name, ours.coefficients, theirs.coefficients)
