"""A peer with a Python interface, in a process of its own: python_peer.py SYSTEM DATA OUT SETTING ...

Reads the data with scikit-learn's reader, fits once per setting and again (the first fit starts threads), writes the
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
    return snapml.SupportVectorMachine(loss="hinge", **common)


def make_model(system, setting):
    if system == "ridge":
        from sklearn.linear_model import Ridge

        return Ridge(alpha=1.0, fit_intercept=False, solver=setting, tol=1e-9, max_iter=100000)
    return snapml_model(system, setting)


def timed(call, *arguments):
    began = time.perf_counter()
    result = call(*arguments)
    return result, time.perf_counter() - began


def main():
    system, path, out, settings = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    warnings.simplefilter("ignore")
    make_model(system, settings[0])  # imports
    (x, y), read = timed(load_svmlight_file, path)
    if system.startswith("snapml"):
        x = x.astype(np.float32)  # what it computes in
    fits, coefs = [], []
    for setting in settings:
        model, first = timed(make_model(system, setting).fit, x, y)
        _, second = timed(make_model(system, setting).fit, x, y)
        fits.append({"first": first, "second": second})
        coefs.append(np.ravel(model.coef_))
    np.save(out, np.array(coefs))
    print(json.dumps({"read": read, "fits": fits}))


if __name__ == "__main__":
    main()
