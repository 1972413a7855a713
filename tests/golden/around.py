"""Compares with scikit-learn: C and alpha, class weights, standardised columns, paths of lambdas, and cross-validation on
the same folds."""

import json
import subprocess
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sparse
from safetensors.numpy import load_file
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import ElasticNet, ElasticNetCV, LogisticRegression, LogisticRegressionCV, Ridge, enet_path
from sklearn.model_selection import PredefinedSplit
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


def result(parley, *arguments):
    done = subprocess.run([parley, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True, timeout=300)
    demand(done.returncode == 0, f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def elastic_path(parley, folder):
    x, y = numbers()
    centred = x - x.mean(0)
    alphas = np.geomspace(1, 1e-2, 20) * np.abs(centred.T @ y).max() / (0.5 * len(y))
    _, coefs, _ = enet_path(centred, y - y.mean(), l1_ratio=0.5, alphas=alphas, **TOLERANCE)
    flags = ["--loss", "squared", "--l1-ratio", 0.5, "--lambdas", 20, "--lambda-ratio", 1e-2, "--gap", 1e-11]
    model = folder / "path.safetensors"
    done = result(parley, "path", write(folder, x, y), *flags, "--full-path", "--model", model)
    lambdas = np.array([point["lambda"] for point in done["path"]])
    demand(np.allclose(lambdas, alphas, rtol=1e-9), f"lambdas {lambdas} are not {alphas}")
    found = load_file(model)
    demand(np.abs(found["coef"] - coefs.T).max() <= NEAR * np.abs(coefs).max(), "the path's coefficients differ")
    demand(np.array_equal(found["lambda"], lambdas), "the file's lambdas differ")
    counts = [int((row != 0).sum()) for row in found["coef"]]
    demand(counts == [point["nonzeros"] for point in done["path"]], "non-zeros are counted wrongly")
    residual = ((y[:, None] - x @ found["coef"].T - found["intercept"]) ** 2).sum(0)
    explained = 1 - residual / ((y - y.mean()) ** 2).sum()
    demand(np.allclose(explained, found["explained"], atol=1e-9), "the share explained differs")


def deal_folds(folder, rows, folds):
    fold = np.random.default_rng(4).permutation(np.arange(rows) % folds)
    np.savetxt(folder / "folds.txt", fold, fmt="%d")
    return PredefinedSplit(fold), folder / "folds.txt"


def check_cv(done, lambdas, values, best):
    demand(np.allclose([point["lambda"] for point in done["lambdas"]], lambdas, rtol=1e-12), "other lambdas")
    found = np.array([point["folds"] for point in done["lambdas"]])
    demand(np.allclose(found, values, rtol=1e-5), f"{found} is not {values}")
    error = values.std(1, ddof=1) / np.sqrt(values.shape[1])
    demand(np.allclose([point["standard_error"] for point in done["lambdas"]], error, rtol=1e-3), "other standard errors")
    demand(abs(done["best_lambda"] - best) <= 1e-12, f"chose {done['best_lambda']}, scikit-learn {best}")


def elastic_cv(parley, folder):
    x, y = numbers()
    split, file = deal_folds(folder, len(y), 5)
    alphas = np.geomspace(2.0, 0.02, 12)
    model = ElasticNetCV(l1_ratio=0.5, alphas=alphas, cv=split, **TOLERANCE).fit(x, y)
    flags = ["--loss", "squared", "--l1-ratio", 0.5, "--fold-file", file, "--gap", 1e-10, "--full-path"]
    words = ",".join(f"{a:.17g}" for a in alphas)
    done = result(parley, "cv", write(folder, x, y), *flags, "--lambda-list", words, "--model", folder / "m.safetensors")
    check_cv(done, alphas, model.mse_path_ / 2, model.alpha_)
    coef = load_file(folder / "m.safetensors")["coef"][0]
    demand(np.abs(coef - model.coef_).max() <= NEAR * np.abs(model.coef_).max(), "the final model differs")


def logistic_cv(parley, folder):
    x, y = classes()
    x, y = x[:560], y[:560]  # folds of equal size, so that C is the same lambda in all of them
    split, file = deal_folds(folder, len(y), 5)
    strengths = np.geomspace(0.01, 100, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about attributes that will be renamed
        model = LogisticRegressionCV(Cs=strengths, cv=split, scoring="neg_log_loss", **TOLERANCE).fit(x, y)
    lambdas = 1 / (strengths * 448)
    values = -model.scores_[1].T
    words = ",".join(f"{a:.17g}" for a in lambdas)
    flags = ["--fold-file", file, "--gap", 1e-11, "--full-path", "--metric", "log_loss", "--lambda-list", words]
    done = result(parley, "cv", write(folder, x, y), *flags, "--model", folder / "m.safetensors")
    check_cv(done, lambdas, values, lambdas[values.mean(1).argmin()])


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
    yield "around: the path of an elastic net", elastic_path
    yield "around: cross-validation of an elastic net", elastic_cv
    yield "around: cross-validation of logistic regression", logistic_cv
