"""Logistic regressions where scikit-learn's tests leave something out: absent classes, sums over classes, shapes."""

import numpy as np
import parley
import pytest
from sklearn import linear_model
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, KFold


def rows():
    X, y = load_iris(return_X_y=True)
    return X - X.mean(axis=0), y


def test_parameters_of_a_softmax_sum_to_0():
    X, y = rows()
    for model in (parley.LogisticRegression(C=0.1), parley.LogisticRegression(C=np.inf, tol=1e-10)):
        model.fit(X, (y + np.arange(150) % 2) % 3)
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)
        assert abs(model.intercept_.sum()) < 1e-12


def test_a_class_of_weight_0_has_no_probability():
    X, y = rows()
    for weights in ({0: 0.0, 1: 1.0, 2: 1.0}, {0: 0.0, 1: 0.0, 2: 1.0}):
        model = parley.LogisticRegression(class_weight=weights).fit(X, y)
        absent = [name for name, weight in weights.items() if not weight]
        assert model.predict_proba(X)[:, absent].max() < 1e-10
        weighed = parley.LogisticRegression().fit(X, y, [weights[one] for one in y])
        np.testing.assert_allclose(weighed.coef_, model.coef_, atol=1e-12)
    model = parley.LogisticRegression().fit(X, y > 0, y > 0)
    assert model.predict_proba(X)[:, 1].min() > 1 - 1e-10


def test_two_present_classes_of_three_have_the_softmax_of_three():
    X, y = rows()
    model = parley.LogisticRegression(C=0.5, tol=1e-12).fit(X, y, y > 0)
    other = linear_model.LogisticRegression(C=0.5, tol=1e-10, max_iter=10000).fit(X, y, (y > 0).astype(float))
    np.testing.assert_allclose(model.coef_[1:], other.coef_[1:], atol=1e-3)


def test_folds_may_lack_a_class():
    X, y = rows()
    model = parley.LogisticRegressionCV(cv=KFold(3), Cs=[1e-3, 1.0], scoring="neg_log_loss").fit(X, y)
    assert model.C_ == 1e-3 and model.coefs_paths_.shape == (3, 1, 2, 3, 5) and model.n_iter_.shape == (3, 1, 2)


def test_the_best_models_of_folds_are_averaged_without_refit():
    X, y = rows()
    given = {"Cs": [0.01, 1.0, 100.0], "cv": 3, "refit": False, "scoring": "neg_log_loss", "l1_ratios": (0.0,)}
    ours = parley.LogisticRegressionCV(tol=1e-10, **given).fit(X, y)
    how = {"use_legacy_attributes": False, "solver": "newton-cholesky"}
    if "use_legacy_attributes" not in linear_model.LogisticRegressionCV().get_params():
        pytest.skip("an older scikit-learn")
    other = linear_model.LogisticRegressionCV(tol=1e-10, **given, **how).fit(X, y)
    for name in ("coef_", "intercept_", "C_", "coefs_paths_", "scores_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-4, atol=1e-5)


def test_no_rounds_leave_the_start():
    X, y = rows()
    with pytest.warns(UserWarning, match="converge"):
        model = parley.LogisticRegression(max_iter=0).fit(X, y)
    assert not model.coef_.any() and model.n_iter_ == 0


def test_groups_reach_the_splitter():
    from sklearn import config_context

    X, y = rows()
    with config_context(enable_metadata_routing=True):
        groups, cv = np.arange(150) % 5, GroupKFold(3)
        for model in (parley.LassoCV(cv=cv, alphas=5), parley.LogisticRegressionCV(cv=cv, Cs=2)):
            model.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        parley.LassoCV().fit(X, y, groups=groups)
