"""Arrays that need no conversion skip scikit-learn's checks, and nothing else changes."""

import numpy as np
import pytest
from parley import LogisticRegression, Ridge
from parley._estimator import numbered
from sklearn.linear_model import LogisticRegression as Theirs

RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 4))
Y = np.sign(X[:, 0] + 0.3 * RNG.standard_normal(60))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f8", np.int32, object])
@pytest.mark.parametrize("labels", [np.float64, np.int8, bool, str])
def test_types_give_the_same_model(dtype, labels):
    rows = np.round(3 * X).astype(dtype)
    model = LogisticRegression().fit(rows, (Y > 0).astype(int).astype(labels))
    same = LogisticRegression().fit(np.round(3 * X), Y > 0)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-6)
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("estimator", [LogisticRegression(), Ridge()])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(estimator, bad):
    rows, labels = X.copy(), Y.copy()
    rows[3, 1] = labels[5] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
        estimator.fit(rows, Y)
    with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
        estimator.fit(X, labels)


def test_labels_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        LogisticRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Unknown label type"):
        Theirs().fit(X, X[:, 0])


@pytest.mark.parametrize("rows", [1, 2, 30, 1000, 1001])
@pytest.mark.parametrize("classes", [1, 2, 3, 20, 900])
@pytest.mark.parametrize("dtype", [np.float64, np.float16, ">f8", np.int8, np.uint64, bool, str, object])
def test_labels_are_numbered_as_numpy_does(rows, classes, dtype):
    labels = RNG.integers(0, classes, rows).astype(np.uint8).astype(dtype)
    found, codes = numbered(labels)
    expected, inverse = np.unique(labels, return_inverse=True)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(codes, inverse)


def test_lengths_are_compared():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LogisticRegression().fit(X, Y[:-1])


def test_names_of_an_earlier_fit_go():
    pandas = pytest.importorskip("pandas")
    model = LogisticRegression().fit(pandas.DataFrame(X, columns=list("abcd")), Y)
    assert list(model.feature_names_in_) == list("abcd")
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")


def test_many_classes_are_warned_of():
    with pytest.warns(UserWarning, match="greater than 50%"):
        LogisticRegression(max_iter=3).fit(X, np.arange(60) // 1.5 // 1)


@pytest.mark.parametrize(
    "labels",
    [[1.0, -1.0, 1.0], [2, 2], [True, False, True], [3, 1, 2, 1], [7.5, 7.5, 1.0], ["b", "a"]],
    ids=str,
)
def test_classes_are_numbered_in_order(labels):
    y = np.array(labels)
    classes, codes = numbered(y)
    wanted = np.unique(y)
    assert classes.dtype == wanted.dtype
    assert classes.tolist() == wanted.tolist()
    assert codes.tolist() == np.searchsorted(wanted, y).tolist()
