"""Runs a peer with a Python interface in its own process: python_peer.py SYSTEM[:PENALTY] DATA OUT SETTING ...

Reads the data with scikit-learn's reader, fits twice per setting because the first fit starts threads, writes the
coefficients to OUT and prints the seconds of each step as JSON. Starting Python and importing are not counted.
"""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_svmlight_file


def snapml_model(system, setting):
    import snapml

    common = {
        "regularizer": 1.0,
        "n_jobs": 2,
        "tol": float(setting),
        "max_iter": 10000,
        "fit_intercept": False,
    }
    if system == "snapml-logistic":
        return snapml.LogisticRegression(dual=True, **common)
    if system == "snapml-ridge":
        return snapml.LinearRegression(dual=True, penalty="l2", **common)
    return snapml.SupportVectorMachine(loss="hinge", **common)


def sklearn_model(system, strength, setting):
    from sklearn.linear_model import Lasso, LogisticRegression, Ridge

    if system == "ridge":
        solver, _, tolerance = setting.partition(" ")
        return Ridge(1.0, fit_intercept=False, solver=solver, tol=float(tolerance or 1e-9), max_iter=100000)
    if system == "lasso":
        return Lasso(strength, fit_intercept=False, tol=float(setting), max_iter=100000, selection="random")
    common = {"fit_intercept": False, "tol": float(setting), "max_iter": 100000}
    if system == "liblinear-l1":
        return LogisticRegression(C=strength, l1_ratio=1, solver="liblinear", **common)
    # sag comes ten times nearer with some seeds than with others, so it is tuned and raced with the same seed
    return LogisticRegression(C=1.0, solver=system.removeprefix("softmax-"), random_state=0, **common)


def celer_model(system, strength, setting):
    import celer

    if system == "celer-lasso":
        return celer.Lasso(strength, fit_intercept=False, tol=float(setting), max_iter=1000)
    return celer.LogisticRegression(C=strength, fit_intercept=False, tol=float(setting), max_iter=1000)


def make_model(system, setting):
    system, _, strength = system.partition(":")
    if system.startswith("snapml"):
        return snapml_model(system, setting)
    make = celer_model if system.startswith("celer") else sklearn_model
    return make(system, float(strength or "nan"), setting)


def timed(call, *arguments):
    began = time.perf_counter()
    result = call(*arguments)
    return result, time.perf_counter() - began


def main():
    system, path, out, settings = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    warnings.simplefilter("ignore")
    make_model(system, settings[0])  # imports
    (x, y), read = timed(load_svmlight_file, path)
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)  # some solvers reject other types
    if system.startswith("snapml"):
        x = x.astype(np.float32)  # the type in which it computes
    if system.startswith("celer") or system.startswith("lasso"):
        x = x.tocsc()  # conversion to columns is not counted either
    fits, coefs = [], []
    for setting in settings:
        model, first = timed(make_model(system, setting).fit, x, y)
        _, second = timed(make_model(system, setting).fit, x, y)
        fits.append({"first": first, "second": second})
        coefs.append(np.squeeze(model.coef_))
    np.save(out, np.array(coefs))
    print(json.dumps({"read": read, "fits": fits}))


if __name__ == "__main__":
    main()
