"""The alpha that RidgeClassifierCV chooses by accuracy."""

import numpy as np
import parley
import pytest
from sklearn import linear_model
from sklearn.datasets import make_classification
from sklearn.model_selection import LeaveOneOut, cross_val_score

ALPHAS = np.logspace(-3, 3, 7)


def rows(seed, classes):
    return make_classification(60, 8, n_informative=4, n_classes=classes, flip_y=0.2, random_state=seed)


@pytest.mark.parametrize("seed", range(4))
def test_with_several_classes_it_is_scikit_learns(seed):
    how = {"alphas": ALPHAS, "scoring": "accuracy"}
    mine, oracle = (kind.RidgeClassifierCV(**how).fit(*rows(seed, 3)) for kind in (parley, linear_model))
    assert mine.alpha_ == oracle.alpha_
    assert mine.best_score_ == pytest.approx(oracle.best_score_)


@pytest.mark.parametrize("seed", range(4))
def test_with_two_classes_it_is_that_of_leaving_rows_out(seed):
    """scikit-learn 1.8 scores every alpha 1 with two classes, and so takes the first."""
    X, y = rows(seed, 2)
    models = [linear_model.RidgeClassifier(alpha) for alpha in ALPHAS]
    scores = [cross_val_score(model, X, y, cv=LeaveOneOut()).mean() for model in models]
    mine = parley.RidgeClassifierCV(alphas=ALPHAS, scoring="accuracy").fit(X, y)
    assert mine.alpha_ == ALPHAS[np.argmax(scores)]
    assert mine.best_score_ == pytest.approx(max(scores))
