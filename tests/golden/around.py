"""What stands around a fit, against scikit-learn: C and alpha, class weights, standardised columns."""

from functools import partial

import numpy as np
import scipy.sparse as sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from product import demand, train, write_svm

TOLERANCE = {"tol": 1e-12, "max_iter": 100000}
NEAR = 1e-4  # of the largest coefficient


def classes(scaled=True):
    x, y = load_breast_cancer(return_X_y=True)
    x = x[:, :12].astype(np.float32).astype(float)
    return (np.round(x / x.std(0) * 64) / 64 if scaled else x), np.where(y > 0, 1.0, -1.0)


def numbers():
    x, y = load_diabetes(return_X_y=True)
    return np.round(x * 4096) / 64, y - y.mean()


def write(folder, x, y):
    path = folder / "data.svm"
    write_svm(path, sparse.csr_matrix(x), y)
    return path


def same_model(run, coef, intercept):
    demand(np.abs(run.w - coef).max() <= NEAR * np.abs(coef).max(), f"{run.command}: {run.w} is not {coef}")
    demand(abs(run.b - intercept) <= NEAR * (1 + abs(intercept)), f"{run.command}: {run.b} is not {intercept}")


def agrees(parley, folder, data, model, flags):
    x, y = data()
    model.fit(x, y)
    run = train(parley, write(folder, x, y), folder, *flags, "--gap", 1e-11, "--rounds", 20000, codes=(0, 3))
    same_model(run, np.ravel(model.coef_), np.ravel(model.intercept_)[0])


def standardised(parley, folder, data, model, flags):
    x, y = data()
    fitted = make_pipeline(StandardScaler(), model).fit(x, y)
    scaler = fitted[0]
    coef = np.ravel(fitted[1].coef_) / scaler.scale_
    run = train(parley, write(folder, x, y), folder, "--standardise", *flags, "--gap", 1e-11, codes=(0, 3))
    same_model(run, coef, np.ravel(fitted[1].intercept_)[0] - coef @ scaler.mean_)


def constant_column(parley, folder):
    x, y = numbers()
    x = np.hstack([x, np.full((len(y), 1), 3.7)])
    run = train(parley, write(folder, x, y), folder, "--loss", "squared", "--standardise", "--alpha", 2.0, "--gap", 1e-11)
    demand(run.w[-1] == 0, f"a column without variance has coefficient {run.w[-1]}")


def weighted(parley, folder):
    x, y = classes()
    sample = np.random.default_rng(3).integers(1, 5, len(y)).astype(float)
    np.savetxt(folder / "weights.txt", sample)
    model = LogisticRegression(C=0.7, class_weight={-1: 0.5, 1: 3.0}, **TOLERANCE).fit(x, y, sample)
    flags = ["--weights", folder / "weights.txt", "--class-weights", "-1=0.5,1=3", "--C", 0.7, "--gap", 1e-11]
    same_model(train(parley, write(folder, x, y), folder, *flags), model.coef_[0], model.intercept_[0])


def around_cases():
    balanced = LogisticRegression(C=0.3, class_weight="balanced", **TOLERANCE)
    no_intercept = ["--loss", "squared-hinge", "--intercept", "none", "--C", 0.2]
    cases = [
        (agrees, classes, LogisticRegression(C=0.3, **TOLERANCE), ["--C", 0.3]),
        (agrees, classes, LogisticRegression(C=0.3, **TOLERANCE), ["--C", 0.3, "--preset", "cocoa+", "--workers", 2]),
        (agrees, classes, balanced, ["--C", 0.3, "--class-weights", "balanced"]),
        (agrees, classes, LinearSVC(C=0.2, fit_intercept=False, **TOLERANCE), no_intercept),
        (agrees, numbers, Ridge(alpha=3.0), ["--loss", "squared", "--alpha", 3.0]),
        (agrees, numbers, ElasticNet(alpha=0.5, l1_ratio=0.5, **TOLERANCE),
         ["--loss", "squared", "--alpha", 0.5, "--l1-ratio", 0.5]),
        (standardised, partial(classes, False), LogisticRegression(C=0.3, **TOLERANCE), ["--C", 0.3]),
        (standardised, numbers, Ridge(alpha=3.0), ["--loss", "squared", "--alpha", 3.0]),
        (standardised, numbers, ElasticNet(alpha=0.5, l1_ratio=0.5, **TOLERANCE),
         ["--loss", "squared", "--alpha", 0.5, "--l1-ratio", 0.5, "--preset", "cocoa+"]),
    ]
    for check, data, model, flags in cases:
        name = f"around: {check.__name__} {type(model).__name__}: {' '.join(map(str, flags))}"
        yield name, partial(check, data=data, model=model, flags=flags)
    yield "around: a constant column", constant_column
    yield "around: class weights times sample weights", weighted
