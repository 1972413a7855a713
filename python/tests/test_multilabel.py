"""Rows of any number of labels: one model, compared with scikit-learn's OneVsRestClassifier."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

X, Y = make_multilabel_classification(400, n_features=12, n_classes=4, allow_unlabeled=True, random_state=2)
X = X / 10
ORACLE = OneVsRestClassifier(LogisticRegression(C=2.0, tol=1e-9, max_iter=10000)).fit(X[:300], Y[:300])


@pytest.mark.parametrize("x", [X, X.astype(np.float32), sp.csr_matrix(X)], ids=["float64", "float32", "csr"])
@pytest.mark.parametrize("y", [Y, sp.csr_matrix(Y), Y.astype(bool)], ids=["int", "csr", "bool"])
def test_indicator_matrices_train_one_model(x, y):
    model = parley.train(x[:300], y[:300], C=2.0, gap=1e-10)
    assert model.coef.shape == (4, 12)
    np.testing.assert_allclose(model.coef, [one.coef_[0] for one in ORACLE.estimators_], atol=2e-4)
    assert np.array_equal(model.predict(X[300:]), ORACLE.predict(X[300:]))
    np.testing.assert_allclose(model.predict_proba(X[300:]), ORACLE.predict_proba(X[300:]), atol=2e-5)


def test_models_of_files_predict_indicators(tmp_path):
    order = np.argsort(-Y[:300].sum(axis=1), kind="stable")  # the first row has several labels
    dump_svmlight_file(X[:300][order], Y[:300][order], str(tmp_path / "sets.svm"), zero_based=False, multilabel=True)
    model = parley.train(tmp_path / "sets.svm", C=2.0, gap=1e-10)
    model.save(tmp_path / "model.safetensors")
    again = parley.load(tmp_path / "model.safetensors")
    assert again.labels.tolist() == [0, 1, 2, 3]
    found, expected = again.predict(X[300:]), ORACLE.predict(X[300:])
    for average in ("micro", "macro"):
        assert f1_score(Y[300:], found, average=average) == pytest.approx(f1_score(Y[300:], expected, average=average))


def test_other_matrices_are_refused():
    with pytest.raises(ValueError, match="indicator matrix"):
        parley.train(X, Y * 2.0)
    with pytest.raises(ValueError, match="no row has label 1"):
        parley.train(X, np.column_stack([Y[:, 0], np.zeros(len(Y))]))
    with pytest.raises(ValueError, match="takes one label per row"):
        parley.train(X, Y, loss="softmax")
