"""Runs from Python: stopping, threads, processes, logs, warm starts, memory."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from parley import _data, _run
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError


@pytest.fixture(scope="module")
def large():
    """A problem that takes enough rounds to be interrupted."""
    rng = np.random.default_rng(0)
    X = sp.random(20000, 3000, 0.01, format="csr", dtype=np.float32, random_state=0)
    return X, np.sign(X @ rng.normal(size=3000) + 0.5 * rng.normal(size=20000)).astype(int)


def slow(**options):
    return parley.LinearSVC(loss="hinge", C=100.0, tol=0.0, max_iter=None, preset="cocoa+", workers=8, **options)


def test_interrupt_stops_at_the_round_and_leaves_a_usable_estimator(large, monkeypatch):
    estimator, train = slow(), _run.train
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))

    def train_with_timer(*arguments):  # checking the data may take longer than that on a busy machine
        timer.start()
        return train(*arguments)

    monkeypatch.setattr(_run, "train", train_with_timer)
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="interrupted"):
        estimator.fit(*large)
    timer.join()
    assert 0 < estimator.n_iter_ <= estimator.run_["round"][-1] + 1
    assert estimator.score(*large) > 0.6


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("preset", ["cocoa+", "ma-sgd"])
def test_interrupt_ends_a_long_round(large, preset):
    timer, began = interrupt_after(0.5), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        parley.train(*large, preset=preset, loss="logistic", gap=0.0, local_epochs=10**6)
    assert time.monotonic() - began < 10  # the round itself would take hours
    timer.join()


def test_interrupt_ends_reading_at_a_silent_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for text in (None, b"1 1:1\n0 1:2\n"):  # no writer, and a writer that falls silent
        writer = os.open(pipe, os.O_RDWR) if text else None
        if text:
            os.write(writer, text)
        timer, began = interrupt_after(0.3), time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            parley.read(pipe)
        assert time.monotonic() - began < 10
        timer.join()
        if text:
            os.close(writer)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    X, y = parley.read(_write(tmp_path / "small.svm", "1 1:1\n0 1:2\n"))  # the request is forgotten
    assert X.shape == (2, 1)


def _write(path, text):
    path.write_text(text)
    return path


def test_callbacks_and_callers_keep_their_cores(large):
    cores, seen = os.sched_getaffinity(0), []

    def look(at):
        seen.append(os.sched_getaffinity(0))
        if at["round"] == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parley.train(*large, callback=look, gap=0.0)
    assert seen == [cores] * 4 and os.sched_getaffinity(0) == cores
    with pytest.raises(OSError):
        parley.read("no such file")
    assert os.sched_getaffinity(0) == cores


def test_files_that_change_raise_and_do_not_kill(tmp_path, large):
    """Numpy reads a mapped cache that was cut off; the rest of it is zeros."""
    cache = tmp_path / "rows.parley"
    _write_cache(sp.vstack([large[0]] * 5).tocsr(), np.tile(large[1], 5), cache)
    table = parley.read(cache)
    os.truncate(cache, 4096)
    assert table.X.data[-1] == 0
    with pytest.raises(ValueError, match="rows.parley: not a valid safetensors file"):
        parley.read(cache)


def _write_cache(X, y, path):
    """A cache of more than 16 MB, so that it is mapped."""
    import json

    parts, header, at = {}, {}, 0
    parts["start"] = ("U64", X.indptr.astype("<u8"))
    parts["label"] = ("F64", y.astype("<f8"))
    parts["index"] = ("U32", X.indices.astype("<u4"))
    parts["value"] = ("F32", X.data.astype("<f4"))
    header["__metadata__"] = {
        "format": "parley-data-1", "rows": str(X.shape[0]), "columns": str(X.shape[1]), "nonzeros": str(X.nnz)
    }  # fmt: skip
    for name, (kind, array) in parts.items():
        header[name] = {"dtype": kind, "shape": [len(array)], "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64 + 56)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in parts.values():
            file.write(array.tobytes())


def test_interrupt_stops_the_search_for_a_scale(large, monkeypatch):
    X, y = large[0].toarray()[:, :300], large[0] @ np.arange(3000.0)
    seen, see = [], _run.Watch._see

    def interrupted(self, *arguments):
        seen.append(1)
        if len(seen) == 20:
            raise KeyboardInterrupt
        return see(self, *arguments)

    monkeypatch.setattr(_run.Watch, "_see", interrupted)
    model = parley.HuberRegressor(tol=1e-9)
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.scale_ > 0 and len(model.outliers_) == len(y) and model.score(X, y) > 0


def test_interrupt_stops_cross_validation(large):
    before = threading.active_count()  # joblib may have its own threads
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        parley.LogisticRegressionCV(Cs=np.linspace(1e3, 2e3, 500), tol=1e-13, cv=20).fit(*large)
    timer.join()
    assert threading.active_count() == before


def test_a_callback_stops_a_run_and_its_exception_comes_out(large):
    seen = []
    model = parley.train(*large, callback=lambda at: seen.append(at["round"]) or at["round"] >= 3, gap=0.0)
    assert model.summary["stop"] == "interrupted" and seen == [0, 1, 2, 3]
    with pytest.raises(ZeroDivisionError) as raised:
        parley.train(*large, callback=lambda at: 0 // (2 - at["round"]), gap=0.0)
    assert raised.value.model.summary["rounds"] == 2


def test_other_threads_run_while_a_fit_does(large):
    estimator, count = slow(n_jobs=1).set_params(max_iter=50), 0
    fit = threading.Thread(target=estimator.fit, args=large)
    began = time.perf_counter()
    fit.start()
    while fit.is_alive():
        count += 1
        time.sleep(0.001)
    assert count > 20 * min(1.0, time.perf_counter() - began)


def test_a_log_tells_of_every_round(large):
    model = parley.LogisticRegression(tol=1e-6).fit(*large)
    assert list(model.run_.dtype.names) == ["round", "epochs", "seconds", "objective", "dual", "gap", "relative_gap"]
    assert model.run_["round"][0] == 0 and model.run_["round"][-1] == model.n_iter_
    assert model.run_["gap"][-1] == model.gap_ and model.run_["relative_gap"][-1] <= 1e-6
    assert model.objective_ - model.gap_ <= model.objective_


def test_too_few_rounds_are_warned_of(large):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        slow().set_params(max_iter=1).fit(*large)


def test_warm_start_begins_where_the_last_fit_ended(large):
    estimator = parley.LogisticRegression(warm_start=True, tol=1e-5).fit(*large)
    first = estimator.n_iter_
    assert first > 2 and estimator.set_params(C=0.99).fit(*large).n_iter_ < first
    values = parley.Lasso(alpha=1e-4, warm_start=True).fit(large[0], large[1].astype(float))
    assert values.fit(large[0], large[1].astype(float)).n_iter_ == 1


@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_the_model_does_not_depend_on_threads(n_jobs, large):
    model = parley.LogisticRegression(n_jobs=n_jobs, workers=3, preset="cocoa+").fit(*large)
    same = parley.LogisticRegression(n_jobs=3, workers=3, preset="cocoa+").fit(*large)
    assert np.array_equal(model.coef_, same.coef_)


def test_threads_follow_what_joblib_leaves(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert _run.threads(None) == 3 and _run.threads(2) == 2 and _run.threads(-1) == _run.cores()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert _run.threads(None) is None
    with pytest.raises(ValueError, match="n_jobs is 0"):
        _run.threads(0)


def _fit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 20))
    return parley.LogisticRegression(random_state=seed).fit(X, X[:, 0] > 0).coef_


def test_forked_processes_fit(large):
    parley.LogisticRegression().fit(*large)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(_fit, range(4)).get(timeout=60)
    assert all(np.array_equal(found[seed], _fit(seed)) for seed in range(4))


def test_joblib_fits_in_processes_and_threads():
    from joblib import Parallel, delayed

    for backend in ("loky", "threading"):
        found = Parallel(2, backend=backend, timeout=60)(delayed(_fit)(seed) for seed in range(4))
        assert all(np.array_equal(found[seed], _fit(seed)) for seed in range(4))


def test_progress_is_shown(capsys, monkeypatch):
    parley.Lasso(verbose=1).fit(np.eye(3), [1.0, 2.0, 3.0])
    assert "round" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    parley.Lasso(verbose=1).fit(np.eye(3), [1.0, 2.0, 3.0])
    assert "relative gap" in capsys.readouterr().err
    parley.Lasso().fit(np.eye(3), [1.0, 2.0, 3.0])
    assert capsys.readouterr().err == ""


def test_finished_folds_are_counted(capsys, monkeypatch):
    X = np.random.default_rng(0).normal(size=(30, 3))
    parley.LassoCV(cv=3, alphas=5, verbose=1).fit(X, X[:, 0])
    assert "3/3" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    parley.LassoCV(cv=3, alphas=5, verbose=1).fit(X, X[:, 0])
    assert "3 of 3 fits on folds" in capsys.readouterr().err


def held(X, y=None):
    """Addresses of the values and indices that the core uses."""
    data = _data.from_arrays(X, y)
    arrays = _run.ffi.new("parley_arrays *")
    _run.lib.parley_data_arrays(data.handle, arrays)
    return [int(_run.ffi.cast("uintptr_t", pointer)) for pointer in (arrays.value, arrays.index)]


def test_float32_is_not_copied(large):
    X = large[0]
    assert held(X) == [X.data.ctypes.data, X.indices.ctypes.data]
    dense = np.ascontiguousarray(np.random.default_rng(0).uniform(1, 2, (50, 4)), np.float32)
    assert held(dense)[0] == dense.ctypes.data


def test_any_form_of_the_same_data_gives_the_same_model(large):
    X, y = large[0][:500, :50].tocsr(), large[1][:500]
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    backward = X.copy()
    for i in range(backward.shape[0]):
        part = slice(backward.indptr[i], backward.indptr[i + 1])
        backward.indices[part], backward.data[part] = X.indices[part][::-1], X.data[part][::-1]
    backward.has_sorted_indices = False
    twice = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    dense = X.toarray()
    forms = [
        wide,
        twice,
        backward,
        X.tocsc(),
        X.tocoo(),
        sp.csr_array(X),
        X.astype(np.float64),
        dense,
        np.asfortranarray(dense),
        dense[:, ::1],
    ]
    want = parley.LinearSVC().fit(X, y).coef_
    for form in forms:
        np.testing.assert_allclose(parley.LinearSVC().fit(form, y).coef_, want, rtol=1e-6, atol=1e-9)


def test_bad_numbers_are_refused_with_a_sentence():
    X = np.eye(4)
    X[2, 1] = np.nan
    for form in (X, sp.csr_matrix(X)):
        with pytest.raises(ValueError, match="NaN"):
            parley.Ridge().fit(form, np.arange(4.0))
    with pytest.raises(ValueError, match="float32|finite"):
        parley.Lasso().fit(np.eye(4) * 1e200, np.arange(4.0))
    with pytest.raises(ValueError, match="negative"):
        parley.Ridge().fit(np.eye(4), np.arange(4.0), sample_weight=[1, 1, 1, -1])


@pytest.mark.parametrize("kind", [parley.SGDClassifier, parley.SGDRegressor])
def test_partial_fit_goes_on_after_pickling(kind, small):
    X, value, classes = small
    y = classes if kind is parley.SGDClassifier else value
    first = {"classes": [0, 1, 2]} if kind is parley.SGDClassifier else {}
    one = kind().partial_fit(X[:60], y[:60], **first)
    other = pickle.loads(pickle.dumps(one))
    assert np.array_equal(one.partial_fit(X[60:], y[60:]).coef_, other.partial_fit(X[60:], y[60:]).coef_)
    assert one.score(X, y) > 0.6
    assert not hasattr(clone(one), "coef_")
    assert one.set_params(preset="auto").fit(X, y).gap_ >= 0 and np.isnan(one.partial_fit(X, y).gap_)


def test_partial_fit_of_batches_with_one_class(small):
    X, _, y = small
    order = np.argsort(y, kind="stable")
    model = parley.SGDClassifier(loss="log_loss")
    for part in np.array_split(order, 12):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (len(y), 3)
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=[0, 1])


def test_early_stopping_holds_rows_out(small):
    X, _, y = small
    model = parley.SGDClassifier(early_stopping=True, validation_fraction=0.3, alpha=0.1).fit(X, y)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    "estimator, word",
    [
        (parley.LinearSVC(multi_class="crammer_singer"), "multi_class"),
        (parley.LinearSVC(intercept_scaling=0.0), "intercept_scaling"),
        (parley.SGDClassifier(loss="perceptron", preset="auto"), "loss"),
        (parley.LinearSVR(loss="huber"), "loss"),
        (parley.LogisticRegression(solver="magic"), "solver"),
        (parley.LogisticRegression("l3"), "penalty"), (parley.LogisticRegression(C=-1.0), "'C' parameter of Logistic"),
        (parley.HuberRegressor(epsilon=0.5), "epsilon"), (parley.ElasticNetCV(l1_ratio=0.0), "l1_ratio=0"),
        (parley.LogisticRegressionCV(penalty="elasticnet"), "l1_ratios"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_with_a_sentence(estimator, word, small):
    with pytest.raises(ValueError, match=word):
        estimator.fit(small[0], small[2])


@pytest.mark.parametrize(
    "how",
    [
        {"max_iter": -1},
        {"max_iter": 1.5},
        {"fit_intercept": "yes"},
        {"tol": -1.0},
        {"alpha": -0.5},
        {"warm_start": 2.0},
    ],
)
def test_parameters_have_scikit_learns_limits(how, small):
    (name,) = how
    for kind in (parley.Lasso, parley.PoissonRegressor, parley.SGDRegressor, parley.HuberRegressor):
        for _ in range(2):
            with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of {kind.__name__} must be"):
                kind(**how).fit(small[0], np.abs(small[1]))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_scale_of_a_penalised_intercept(form, small):
    X, value, y = small
    X = form(X + 1.0)
    for name, target, how in (
        ("LinearSVC", y, {"loss": "hinge"}), ("LinearSVC", y > 0, {"penalty": "l1", "dual": False}),
        ("LinearSVR", value, {"loss": "squared_epsilon_insensitive"}),
    ):  # fmt: skip
        found = getattr(parley, name)(intercept_scaling=5.0, tol=1e-12, **how).fit(X, target)
        wanted = getattr(svm, name)(intercept_scaling=5.0, tol=1e-10, max_iter=100000, random_state=0, **how)
        wanted.fit(X, target)
        np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.intercept_, wanted.intercept_, rtol=1e-3, atol=1e-4)


def test_a_warm_start_at_the_optimum_makes_no_round(small):
    X, value, _ = small
    model = parley.HuberRegressor(warm_start=True).fit(X, value)
    coef, rounds = model.coef_.copy(), model.n_iter_
    assert rounds > 0 and model.fit(X, value).n_iter_ == 0 and np.array_equal(model.coef_, coef)
    assert model.fit(X, 2 * value).n_iter_ > 0


def test_what_scikit_learn_accepts_is_accepted(small):
    X, value, y = small
    assert parley.Ridge(tol=10).fit(X, value).coef_.any()
    assert parley.LinearSVC(tol=5.0).fit(X, y).coef_.any()
    with pytest.warns(ConvergenceWarning):
        assert parley.HuberRegressor(max_iter=1).fit(X, value).n_iter_ == 1
    with pytest.warns(ConvergenceWarning):
        parley.HuberRegressor(max_iter=0).fit(X, value)
    with pytest.raises(ValueError, match=r"(?<!-)rounds"):
        parley.train(X, value, rounds=0)


def test_a_file_is_read_for_the_model_as_on_the_command_line(tmp_path):
    rng = np.random.default_rng(3)
    rows = [
        f"u{i},{rng.integers(9)},{'red' if rng.random() < 0.5 else 'blue'},{'yes' if rng.random() < 0.5 else 'no'}"
        for i in range(60)
    ]
    table, other = tmp_path / "table.csv", tmp_path / "other.csv"
    table.write_text("id,n,colour,bought\n" + "\n".join(rows) + "\n")
    turned = [",".join(row.split(",")[::-1]) for row in rows]
    other.write_text("bought,colour,n,id\n" + "\n".join(turned) + "\n")
    model = parley.train(table, label_column="bought")
    assert list(model.labels) == ["no", "yes"]
    assert model.column_names == ["n", "colour=blue", "colour=red"]
    first = model.predict(table)
    assert set(first) <= {"no", "yes"}
    assert (model.predict(other) == first).all()
    without = tmp_path / "without.csv"
    without.write_text("n,colour\n" + "\n".join(",".join(row.split(",")[1:3]) for row in rows) + "\n")
    assert (model.predict(without) == first).all()
    model.save(tmp_path / "m.safetensors")
    assert (parley.load(tmp_path / "m.safetensors").predict(other) == first).all()
    without.write_text("n,colour\n3,green\n")
    with pytest.warns(UserWarning, match="never seen.*colour 1 .such as green"):
        model.predict(without)
    lines = tmp_path / "lines.svm"
    lines.write_text("1 1:2\n")
    with pytest.raises(ValueError, match="no names"):
        model.predict(lines)


@pytest.mark.parametrize("preset", ["auto", "online"])
def test_the_positive_label_may_be_any_of_two(preset):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=200)
    usual = parley.train(X, np.where(y > 0, 1.0, -1.0), loss="logistic", preset=preset)
    chosen = parley.train(X, np.where(y > 0, 3.0, 7.0), loss="logistic", preset=preset, positive=3)
    assert list(chosen.labels) == [7.0, 3.0]
    assert (chosen.coef == usual.coef).all()
    assert (chosen.predict(X) == np.where(usual.predict(X) > 0, 3.0, 7.0)).all()
