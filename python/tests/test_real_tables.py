"""Tables that packages carry, as people have them: `parley train` without options is as good on held-out rows as a
pipeline of scikit-learn that fills in missing values, scales numbers and has an indicator for each category."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

PROGRAM = shutil.which("parley", path=os.path.dirname(sys.executable))
SPLITS = 5
AT_MOST = 0.005  # by which Parley may be worse


def of_statsmodels(name):
    from statsmodels import api

    return getattr(api.datasets, name).load_pandas().data


def of_vega(name):
    from vega_datasets import local_data

    return getattr(local_data, name)()


def penguins():
    import palmerpenguins

    return palmerpenguins.load_penguins()


def of_sklearn(name):
    words = {"scaled": False} if name == "diabetes" else {}  # as they were measured
    return getattr(datasets, f"load_{name}")(as_frame=True, **words).frame


# Each table with its target; a condition makes classes of numbers.
TABLES = {
    "penguins by mass": (penguins, "body_mass_g", None),
    "penguins by sex": (penguins, "sex", None),
    "cars": (lambda: of_vega("cars"), "Miles_per_Gallon", None),
    "barley": (lambda: of_vega("barley"), "yield", None),
    "weather": (lambda: of_vega("seattle_weather"), "weather", lambda y: np.where(y == "rain", "rain", "dry")),
    "fair": (lambda: of_statsmodels("fair"), "affairs", lambda y: np.where(y > 0, "yes", "no")),
    "anes96": (lambda: of_statsmodels("anes96"), "vote", None),
    "randhie": (lambda: of_statsmodels("randhie"), "mdvis", lambda y: np.where(y > 0, "yes", "no")),
    "grunfeld": (lambda: of_statsmodels("grunfeld"), "invest", None),
    "modechoice": (lambda: of_statsmodels("modechoice"), "choice", None),
    "macrodata": (lambda: of_statsmodels("macrodata"), "realcons", None),
    "breast cancer": (lambda: of_sklearn("breast_cancer"), "target", None),
    "diabetes": (lambda: of_sklearn("diabetes"), "target", None),
}


def pipeline(X, classes):
    """Dates count as numbers of days; a column of words with hardly any repeated is left out."""
    numbers = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
    words = [c for c in X if c not in numbers and X[c].nunique() <= len(X) / 2]
    table = ColumnTransformer(
        [("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
         ("words", OneHotEncoder(handle_unknown="ignore"), words)])  # fmt: skip
    return make_pipeline(table, LogisticRegression(max_iter=5000) if classes else Ridge())


def dates_as_days(X):
    days = {c: (X[c] - pd.Timestamp(2000, 1, 1)).dt.days for c in X if pd.api.types.is_datetime64_any_dtype(X[c])}
    return X.assign(**days)


def run(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True).stdout


def scores(tmp_path, frame, target, classes, seed):
    train, test = train_test_split(frame, test_size=0.3, random_state=seed, stratify=frame[target] if classes else None)
    X, y = dates_as_days(train.drop(columns=target)), train[target]
    model = pipeline(X, classes).fit(X, y)
    Z, z = dates_as_days(test.drop(columns=target)), test[target]
    theirs = roc_auc_score(z, model.decision_function(Z)) if classes else r2_score(z, model.predict(Z))
    for name, part in (("train", train), ("test", test)):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    options = ["--label-column", target, "--quiet", "--model", tmp_path / "model"]
    run("train", tmp_path / "train.csv", *options)
    found = json.loads(run("eval", tmp_path / "model", tmp_path / "test.csv", "--json"))
    return found["auc" if classes else "r2"], theirs


@pytest.mark.parametrize("name", TABLES)
def test_training_without_options_is_as_good_as_a_pipeline(tmp_path, name):
    make, target, condition = TABLES[name]
    frame = make().dropna(subset=[target])
    if condition:
        frame = frame.assign(**{target: condition(frame[target])})
    classes = condition is not None or frame[target].nunique() == 2
    found = np.array([scores(tmp_path, frame, target, classes, seed) for seed in range(SPLITS)])
    ours, theirs = found.mean(axis=0)
    assert ours > theirs - AT_MOST, found
