"""Estimators used with scikit-learn's tools, and the functions for files and models."""

import copy
import pickle

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from conftest import CLASSIFIERS, ESTIMATORS, LINEAR, target
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.mark.parametrize("name", LINEAR)
def test_estimators_are_cloned_pickled_and_copied(name, small):
    X, y = small[0], target(name, small)
    given = {"tol": 1e-5} if "tol" in ESTIMATORS[name]().get_params() else {}
    estimator = ESTIMATORS[name](**given).fit(X, y)
    for same in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert np.array_equal(same.predict(X), estimator.predict(X))
        assert same.run_.tobytes() == estimator.run_.tobytes()  # without a penalty there is no dual: NaN
    assert clone(estimator).get_params() == estimator.get_params()


@pytest.mark.parametrize("name", LINEAR)
def test_estimators_work_in_pipelines_and_searches(name, small):
    X, y = small[0], target(name, small)
    pipeline = make_pipeline(StandardScaler(), ESTIMATORS[name]()).set_output(transform="pandas")
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=3)).all()
    grid = {"tol": [1e-2, 1e-6], "fit_intercept": [True, False]}
    grid = {key: values for key, values in grid.items() if key in ESTIMATORS[name]().get_params()}
    search = GridSearchCV(ESTIMATORS[name](), grid, cv=3).fit(X, y)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_are_calibrated_and_wrapped(name, small):
    X, _, y = small
    assert CalibratedClassifierCV(ESTIMATORS[name](), cv=3).fit(X, y).score(X, y) > 0.6
    assert OneVsRestClassifier(ESTIMATORS[name]()).fit(X, y).score(X, y) > 0.6


def test_names_of_columns_are_kept_and_compared(small):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(small[0], columns=list("abcdef"))
    model = parley.Ridge().fit(X, small[1])
    assert list(model.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[list("fedcba")])


def test_selection_by_coefficients(small):
    chosen = SelectFromModel(parley.Lasso(alpha=0.5)).fit(small[0], small[1])
    assert 0 < chosen.get_support().sum() < 6


def test_coefficients_may_be_sparse(small):
    X, _, y = small
    model = parley.LogisticRegression(l1_ratio=1.0, C=0.1, warm_start=True).fit(X, y)
    want = model.predict(X)
    assert sp.issparse(model.sparsify().coef_) and np.array_equal(model.predict(X), want)
    assert model.fit(X, y).n_iter_[0] == 1 and np.array_equal(model.densify().predict(X), want)


def test_labels_may_be_words(small):
    X, _, y = small
    words = np.array(["low", "middle", "high"])[y]
    for name in CLASSIFIERS:
        model = ESTIMATORS[name]().fit(X, words)
        assert list(model.classes_) == ["high", "low", "middle"] and set(model.predict(X)) <= set(words)


def test_logistic_regression_cv_finds_what_a_search_finds(small):
    X, _, y = small
    Cs = [0.01, 0.1, 1.0, 10.0]
    search = GridSearchCV(parley.LogisticRegression(tol=1e-8), {"C": Cs}, cv=4).fit(X, y)
    model = parley.LogisticRegressionCV(Cs=Cs, cv=4, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.scores_.mean(axis=0)[0], search.cv_results_["mean_test_score"])
    assert model.C_ == search.best_params_["C"]
    np.testing.assert_allclose(model.coef_, search.best_estimator_.coef_, rtol=1e-3, atol=1e-4)
    loss = parley.LogisticRegressionCV(Cs=Cs[::-1], cv=4, scoring="neg_log_loss", l1_ratios=[0.0, 0.5], refit=False)
    assert loss.fit(X, y).scores_.shape == (4, 2, 4) and loss.score(X, y) < 0


def test_any_number_of_alphas_is_tried(small):
    X, value, _ = small
    model = parley.LassoCV(alphas=300, cv=3, tol=1e-7).fit(X, value)
    fewer = parley.LassoCV(alphas=model.alphas_[::23], cv=3, tol=1e-7).fit(X, value)
    np.testing.assert_allclose(model.mse_path_[::23], fewer.mse_path_, rtol=1e-3)


def test_models_go_to_files_and_back(small, tmp_path):
    X, value, y = small
    model = parley.train(X, y, loss="softmax", gap=1e-6)
    model.save(tmp_path / "model.safetensors")
    same = parley.load(tmp_path / "model.safetensors")
    for other in (same, pickle.loads(pickle.dumps(model)), parley.Model.from_bytes(model.to_bytes())):
        assert np.array_equal(other.predict_proba(X), model.predict_proba(X)) and other.meta == model.meta
    assert list(model.labels) == [0.0, 1.0, 2.0] and model.decision_function(X).shape == (120, 3)
    estimator = parley.LogisticRegression(tol=1e-6).fit(X, y > 0)
    parley.save(estimator, tmp_path / "two.safetensors")
    two = parley.load(tmp_path / "two.safetensors")
    np.testing.assert_allclose(two.predict_proba(X), estimator.predict_proba(X), atol=1e-6)
    assert list(two.predict(X) == 1.0) == list(estimator.predict(X))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_words_of_classes_go_to_files_and_back(name, small, tmp_path):
    X, _, y = small
    for words in (np.array(["low", "middle", "high, é"])[y], np.where(y > 0, "yes", "no")):
        estimator = ESTIMATORS[name]().fit(X, words)
        parley.save(estimator, tmp_path / "words.safetensors")
        model = parley.load(tmp_path / "words.safetensors")
        assert list(model.labels) == list(estimator.classes_) == sorted(set(words))
        assert list(model.predict(X)) == list(estimator.predict(X))


def test_a_pipeline_is_refused_with_what_would_be_lost(small, tmp_path):
    X, value, _ = small
    pipeline = make_pipeline(StandardScaler(), parley.Ridge()).fit(X, value)
    with pytest.raises(TypeError, match=r"pipeline\[-1\].*standardscaler.*not in the file"):
        parley.save(pipeline, tmp_path / "pipeline")
    parley.save(pipeline[-1], tmp_path / "last")
    scaled = pipeline[:-1].transform(X)
    np.testing.assert_allclose(
        parley.load(tmp_path / "last").predict(scaled), pipeline.predict(X), rtol=1e-4, atol=1e-5
    )
    with pytest.raises(TypeError, match="StandardScaler is not a model"):
        parley.save(StandardScaler(), tmp_path / "scaler")


def test_paths_go_to_files_and_back(small, tmp_path):
    X, _, y = small
    path = parley.path(X, y, loss="softmax", lambda_list=[0.5, 0.1, 0.01], full_path=True, gap=1e-6)
    parley.save(path, tmp_path / "path.safetensors")
    same = parley.load(tmp_path / "path.safetensors")
    assert isinstance(same, parley.Path) and len(same) == 3 and np.array_equal(same.coefs, path.coefs)
    for name in ("lambda", "objective", "dual", "relative_gap", "explained", "nonzeros", "rounds"):
        assert np.array_equal(same.points[name], path.points[name])
    assert np.array_equal(same.at(0.1).predict_proba(X), path.model(1).predict_proba(X))
    between = same.at(0.3)
    np.testing.assert_allclose(between.coef, (path.coefs[0] + path.coefs[1]) / 2)
    np.testing.assert_allclose(between.intercept, (path.intercepts[0] + path.intercepts[1]) / 2)
    assert between.meta["lambda"] == "0.3" and between.meta["gap"] == "none"
    assert np.array_equal(same.at("last").coef, path.coefs[2]) and "3 lambdas from 0.5 to 0.01" in repr(same)
    with pytest.warns(UserWarning, match="the path ends at lambda 0.5, whose model is used"):
        assert np.array_equal(same.at(5).coef, path.coefs[0])
    with pytest.raises(ValueError, match="not a lambda"):
        same.at(-1)
    with pytest.raises(ValueError, match="start is a path"):
        parley.train(X, y, start=tmp_path / "path.safetensors")


def test_training_begins_at_a_model(small):
    X, value, _ = small
    first = parley.train(X, value, loss="huber", gap=1e-9)
    assert parley.train(X, value, loss="huber", gap=1e-9, start=first).summary["rounds"] < first.summary["rounds"]


def test_paths_agree_with_single_runs(small):
    X, value, _ = small
    path = parley.path(X, value, loss="squared", l1_ratio=1.0, lambda_list=[0.5, 0.1, 0.01], full_path=True, gap=1e-10)
    for i, strength in enumerate(path.lambdas):
        alone = parley.train(X, value, loss="squared", l1_ratio=1.0, lambda_=strength, gap=1e-10)
        np.testing.assert_allclose(path.coefs[i], alone.coef, atol=1e-5)
        np.testing.assert_allclose(path.model(i).coef, path.coefs[i])
    assert list(path.points["nonzeros"]) == [np.count_nonzero(coef) for coef in path.coefs]


def test_files_are_read_as_arrays(small, tmp_path):
    X = sp.random(200, 30, 0.2, format="csr", dtype=np.float32, random_state=0)
    y = np.where(np.arange(200) % 3, 1.0, -1.0)
    file = tmp_path / "data.svm"
    lines = [
        f"{label:g} " + " ".join(f"{j + 1}:{v!r}" for j, v in zip(row.indices, row.data.tolist()))
        for label, row in zip(y, X)
    ]
    file.write_text("\n".join(lines) + "\n")
    table = parley.read(file)
    got, labels = table
    assert (got != X).nnz == 0 and np.array_equal(labels, y) and table.sample_weight is None
    assert table.feature_names is None and got.dtype == np.float32
    del table
    with pytest.raises(ValueError, match="read-only"):
        got.data[0] = 1.0
    assert np.array_equal(parley.train(file, C=1.0).coef, parley.train(got, labels, C=1.0).coef)
    again, _ = pickle.loads(pickle.dumps(parley.read(file)))
    assert (again != X).nnz == 0


def test_tables_may_have_more_than_rows(tmp_path):
    file = tmp_path / "sheet.csv"
    text = 'Größen|2023\na|a|Maß|y|\n1|2|kurz|0|\n# 5" wide\n3|4|größer|1|\n5|6\n7|8|kurz||\nTotal||||\n'
    file.write_bytes(text.encode("latin-1"))
    reading = {"separator": "|", "skip_lines": 1, "comment": "#", "encoding": "latin-1"}
    with pytest.raises(ValueError, match="sheet.csv:6: fewer fields .*; --bad-rows skip leaves"):
        parley.read(file, missing_label="skip", **reading)
    with pytest.raises(ValueError, match="sheet.csv:7: the label, column y, is missing; --missing-label skip"):
        parley.read(file, bad_rows="skip", **reading)
    table = parley.read(file, bad_rows="skip", missing_label="skip", **reading)
    assert table.feature_names == ["a", "a.1", "Maß=größer", "Maß=kurz"]
    assert table.X.toarray().tolist() == [[1, 2, 0, 1], [3, 4, 1, 0]] and table.y.tolist() == [0, 1]
    with pytest.raises(ValueError, match="encoding"):
        parley.read(file, encoding="latin-2")


def test_tables_have_names_words_and_weights(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("age,size,w,kind\n1,2,1,good\n3,4,2,bad\n5,6,1,good\n")
    table = parley.read(file, label_column="kind", weight_column="w")
    assert table.feature_names == ["age", "size"] and list(table.y) == ["good", "bad", "good"]
    assert list(table.sample_weight) == [1.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="applies to reading files"):
        parley.train(table.X, [1.0, 0.0, 1.0], label_column="kind")
    with pytest.raises(ValueError, match="one entry for each row"):
        parley.train(table.X, [1.0, 0.0])
    with pytest.raises(ValueError, match="y is missing"):
        parley.train(table.X)


def test_paths_can_be_pickled():
    X = np.random.default_rng(0).normal(size=(80, 6))
    y = X @ [1.0, 0.0, 0.0, 2.0, 0.0, 0.5]
    for loss, labels in (("squared", y), ("softmax", np.digitize(y, [-1.0, 1.0]))):
        path = parley.path(X, labels, loss=loss, l1_ratio=1.0, lambdas=6)
        for again in (pickle.loads(pickle.dumps(path)), copy.deepcopy(path)):
            assert again.points.tobytes() == path.points.tobytes() and again.summary == path.summary
            assert (again.coefs == path.coefs).all() and (again.intercepts == path.intercepts).all()
            between = float(path.lambdas[:2].mean())
            np.testing.assert_array_equal(again.at(between).predict(X), path.at(between).predict(X))
            np.testing.assert_array_equal(again.run, path.run)
