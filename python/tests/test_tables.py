"""Tables of pyarrow and pandas, Parquet and Arrow files, and ONNX."""

import datetime

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
