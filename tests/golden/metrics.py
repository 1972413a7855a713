"""The metrics by class, the confusion matrix and the predictions of the command line against scikit-learn."""

import json
from functools import partial

import numpy as np
import scipy.sparse as sparse
from sklearn import metrics

from product import demand, start, train, write_svm

NEAR = 1e-9


def predictions(parley, model, data):
    """The lines of `predict --output all`."""
    done = start(parley, ["predict", model, data, "--output", "all", "--as", "json"])
    demand(done.returncode == 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def figures(labels, y, guess, weight):
    """What eval should report for these predictions, from scikit-learn."""
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        y, guess, labels=labels, sample_weight=weight, zero_division=0
    )
    return {
        "confusion": metrics.confusion_matrix(y, guess, labels=labels, sample_weight=weight),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "support": [np.sum(y == label) for label in labels],
    }


def agrees_with_scikit_learn(parley, folder, loss, classes, weighted):
    rng = np.random.default_rng(classes + weighted)
    x = np.round(rng.normal(size=(300, 3)), 1)  # so that some rows have equal decisions
    value = x @ [1.0, -1.0, 0.5] + rng.normal(size=300)
    y = np.digitize(value, np.linspace(-1.5, 1.5, classes + 1)[1:-1]).astype(float)
    weight = rng.integers(0, 4, 300) / 2 if weighted else None
    data, weights = folder / "data.svm", folder / "weights"
    write_svm(data, sparse.csr_matrix(x), y)
    np.savetxt(weights, np.ones(300) if weight is None else weight)
    train(parley, data, folder, "--loss", loss, "--lambda", "0.01")
    model = folder / "model.safetensors"
    done = start(parley, ["eval", model, data, "--json", *(["--weights", weights] if weighted else [])])
    demand(done.returncode == 0, done.stderr)
    told, lines = json.loads(done.stdout), predictions(parley, model, data)
    guess, labels = np.array([line["label"] for line in lines]), np.unique(y)
    wanted = figures(labels, y, guess, weight)
    found = {key: [one[key] for one in told["classes"]] for key in ("precision", "recall", "f1", "support")}
    found["confusion"] = told["confusion"]
    for key, value in wanted.items():
        demand(np.allclose(found[key], value, rtol=NEAR, atol=NEAR), f"{key} is {found[key]}, not {value}")
    alone = {"accuracy": metrics.accuracy_score(y, guess, sample_weight=weight)}
    alone["f1"] = wanted["f1"][1] if classes == 2 else np.mean(wanted["f1"])
    if classes == 2:
        z = [line["decision"] for line in lines]
        alone["auc"] = metrics.roc_auc_score(y, z, sample_weight=weight)
        alone["average_precision"] = metrics.average_precision_score(y, z, sample_weight=weight)
    for key, value in alone.items():
        demand(abs(told[key] - value) < NEAR, f"{key} is {told[key]}, not {value}")


def metric_cases():
    """(name, function(parley, folder)) pairs."""
    kinds = [("logistic", 2), ("hinge", 2), ("softmax", 4), ("logistic", 3)]
    return [
        (f"metrics of {classes} classes, loss {loss}, {'weights' if weighted else 'no weights'}",
         partial(agrees_with_scikit_learn, loss=loss, classes=classes, weighted=weighted))
        for loss, classes in kinds
        for weighted in (False, True)
    ]  # fmt: skip
