"""Tables of pyarrow and pandas, Parquet and Arrow files, and ONNX."""

import datetime
import sys

import numpy as np
import pandas as pd
import parley
import pytest

ROWS = 300


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, ROWS).astype(float)
    colour = rng.choice(["red", "green", "blue"], ROWS)
    since = [datetime.date(2015, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 3000, ROWS)]
    z = (age - 45) / 20 + (colour == "red") - (colour == "blue") + rng.normal(size=ROWS)
    age[rng.random(ROWS) < 0.1] = np.nan
    return pd.DataFrame(
        {"age": age, "colour": colour, "since": pd.to_datetime(since), "bought": np.where(z > 0, "yes", "no")}
    )


def test_tables_of_every_kind_give_the_same_model(frame, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.feather")
    pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(tmp_path / "t.csv", index=False)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    coded = table.set_column(1, "colour", table["colour"].dictionary_encode())
    models = [
        parley.train(source, label_column="bought")
        for source in (tmp_path / "t.csv", frame, table, coded, tmp_path / "t.parquet", str(tmp_path / "t.feather"))
    ]
    assert models[0].column_names == ["age", "colour=blue", "colour=green", "colour=red", "since"]
    for model in models[1:]:
        assert model.column_names == models[0].column_names
        assert (model.coef == models[0].coef).all() and list(model.labels) == ["no", "yes"]
        assert (model.predict(frame) == models[0].predict(tmp_path / "t.csv")).all()
    assert (models[0].predict(frame[["since", "colour", "age"]]) == models[0].predict(table)).all()
    X, y = parley.read(tmp_path / "t.parquet", label_column="bought")
    assert X.shape == (ROWS, 5) and set(y) == {"no", "yes"}


def test_messages_name_the_table(frame):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="^the table: name the label column"):
        parley.train(frame)
    model = parley.train(frame, label_column="bought")
    other = frame.assign(colour="purple")
    with pytest.warns(UserWarning, match="reading the table: values that the model has never seen"):
        model.predict(other)
    with pytest.raises(ValueError, match="column nested has the type list"):
        parley.train(frame.assign(nested=[[1]] * ROWS), label_column="bought")


def test_a_frame_of_numbers_with_labels_apart_is_an_array():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).astype(int)
    model = parley.train(X, y)
    assert (model.predict(X) == model.predict(X.to_numpy())).all()


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "poisson", "softmax", "several", "words"])
def test_onnx_gives_the_same_predictions(loss, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    z = X @ [1.0, -2.0, 0.5, 0.0]
    y = {"squared": z, "poisson": rng.poisson(np.exp(0.3 * z))}.get(loss)
    if y is None:
        y = (z > 0).astype(int) if loss in ("logistic", "hinge") else np.digitize(z, [-1, 1])
    if loss == "words":
        model = parley.LogisticRegression().fit(X, np.array(["low", "middle", "high"])[y])
        expected, probabilities = model.predict(X), model.predict_proba(X)
    else:
        model = parley.train(X, y, loss="logistic" if loss == "several" else loss)
        expected = model.predict(X)
        probabilities = model.predict_proba(X) if loss in ("logistic", "softmax", "several") else None
    parley.export(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(None, {"input": X})
    if loss in ("squared", "poisson"):
        np.testing.assert_allclose(found[0].ravel(), expected, rtol=1e-4, atol=1e-4)
    else:
        assert (found[0] == expected).mean() > 0.99  # 32-bit floats may differ at the boundary
    if probabilities is not None:
        np.testing.assert_allclose(found[1], probabilities, atol=1e-5)
    with pytest.raises(ValueError, match="only onnx"):
        parley.export(model, tmp_path / "m", format="pmml")


def test_columns_far_from_0_are_read_in_full(tmp_path):
    random = np.random.default_rng(0)
    seconds = np.round(1.7e9 + 600 * random.random(300), 3)
    x, noise = np.round(random.normal(size=300), 6), random.normal(0, 0.1, 300)
    y = 0.02 * (seconds - 1.7e9) + 2 * x + noise
    file = tmp_path / "times.csv"
    pd.DataFrame({"t": seconds, "x": x, "y": y}).to_csv(file, index=False)
    X, labels = parley.read(file, label_column="y")
    assert X.dtype == np.float64 and np.array_equal(X.toarray(), np.column_stack((seconds, x)))
    of_file = parley.train(file, label_column="y", loss="squared", **{"lambda": 0})
    of_arrays = parley.LinearRegression().fit(X.toarray(), labels)
    exact = np.linalg.lstsq(np.column_stack((seconds - 1.7e9, x, np.ones(300))), y, rcond=None)[0]
    for found in (of_file.coef[0], of_arrays.coef_):
        np.testing.assert_allclose(found, exact[:2], rtol=1e-6)


def test_the_names_of_tables_may_be_numbers(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    values = np.random.default_rng(0).normal(size=(20, 3)).round(3)
    frame = pd.DataFrame(values)  # with the names 0, 1 and 2
    table = pyarrow.table(list(values.T), names=["0", "1", "2"])
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for source in (frame, table, tmp_path / "t.parquet"):
        found = parley.read(source, label_column="0")
        assert found.feature_names == ["1", "2"]
        np.testing.assert_allclose(found.X.toarray(), values[:, 1:], rtol=1e-6)
        np.testing.assert_array_equal(found.y, values[:, 0])
    model = parley.train(frame, label_column="0", loss="squared")
    assert len(model.predict(frame)) == 20
    np.testing.assert_array_equal(model.predict(frame[[2, 1]]), model.predict(frame))
    for place in range(3):  # a first column without a name is no index
        names = [*"ab"[:place], "", *"ab"[place:]]
        found = parley.read(frame.set_axis(names, axis=1), label_column="a")
        wanted = np.delete(values, names.index("a"), axis=1)
        np.testing.assert_allclose(found.X.toarray(), wanted, rtol=1e-6)
        assert sorted(found.feature_names) == ["b", f"c{place + 1}"]


@pytest.fixture(params=["pyarrow", "pandas"])
def writer(request, monkeypatch):
    """Tables of pandas are written by pyarrow, or by pandas where it is missing."""
    if request.param == "pandas":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    else:
        pytest.importorskip("pyarrow")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_hours(unit, writer):
    frame = pd.DataFrame({"y": [1.0, 2.0, 4.0], "d": pd.to_timedelta([30, 90, 60 * 50], unit="min").as_unit(unit)})
    assert parley.read(frame, label_column="y").X.toarray().ravel().tolist() == [0.5, 1.5, 50.0]


def test_durations_of_arrow_are_hours():
    pyarrow = pytest.importorskip("pyarrow")
    for unit, minute in (("s", 60), ("ns", 60 * 10**9)):
        column = pyarrow.array([30 * minute, 90 * minute, None], pyarrow.duration(unit))
        table = pyarrow.table({"y": [1.0, 2.0, 4.0], "d": column, "e": column.dictionary_encode()})
        assert parley.read(table, label_column="y").X.toarray()[:2].tolist() == [[0.5, 0.5], [1.5, 1.5]]


def test_columns_of_sparse_frames_become_dense(writer):
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0], "b": pd.arrays.SparseArray([0, 0, 2.0])})
    assert parley.read(frame, label_column="y").X.toarray().ravel().tolist() == [0.0, 0.0, 2.0]


def test_columns_that_are_no_numbers_or_words_are_named(writer):
    columns = {
        "infinite values": [1.0, np.inf, 3.0],
        "period": pd.period_range("2020-01", periods=3, freq="M"),
        "interval": pd.cut([1, 2, 3], 2),
        "complex128": [1 + 2j, 2, 3],
    }
    for kind, column in columns.items():
        with pytest.raises(ValueError, match=f"^column odd has .*{kind}.*; "):
            parley.read(pd.DataFrame({"y": [1.0, 2.0, 3.0], "odd": column}), label_column="y")
    missing = pd.DataFrame({"y": [1.0, 2.0, 3.0], "odd": [1.0, np.nan, 3.0]})
    assert parley.read(missing, label_column="y").X.toarray().ravel().tolist() == [1.0, 2.0, 3.0]


def test_infinite_values_of_arrow_are_refused():
    pyarrow = pytest.importorskip("pyarrow")
    for kind in (np.float16, np.float32, np.float64):
        table = pyarrow.table({"y": [1.0, 2.0, 3.0], "b": np.array([1, -np.inf, 3], kind)})
        with pytest.raises(ValueError, match="^column b has infinite values"):
            parley.read(table, label_column="y")


def test_arrays_that_would_lose_their_unit_are_refused():
    y = np.array([1.0, 2.0, 3.0])
    for X, remedy in (
        (np.array([[1], [2], [3]], "m8[s]"), "X / np.timedelta64"),
        (np.array([["2020-01-01"], ["2020-01-02"], ["2021-06-03"]], "M8[D]"), "X.min"),
        (np.array([[1 + 1j], [2], [3]]), "X.real"),
    ):
        with pytest.raises(ValueError, match=f"^X has the type .*{remedy}"):
            parley.train(X, y, loss="squared")
    with pytest.raises(ValueError, match="^y has the type complex128"):
        parley.train(y[:, None], y * 1j, loss="squared")
