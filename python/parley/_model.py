"""Trains, loads, saves and applies models, with the core's own settings."""

from __future__ import annotations

import copy
import os
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _run
from ._data import Data, from_arrays, from_file, from_file_for
from ._library import call, ffi, lib, make, named, string
from ._links import facts, probabilities, values
from ._report import Report, report, report_of
from ._tables import is_source, is_table, numbers


class Model:
    """A linear model, returned by `train`, `load` or a `Path`.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_columns)
        Coefficients.
    intercept : ndarray of shape (n_outputs,)
        Intercepts.
    loss : str
        The loss that the model was trained with.
    labels : ndarray or None
        Class labels in increasing order, or the positive one second (``positive=``), as words if the training data
        had words; None for regression.
    meta : dict
        Metadata of the model, as strings.
    summary : dict
        Summary of the run; empty for a model from a file.
    run : ndarray
        The log, with a row for each round; empty for a model from a file.

    Examples
    --------
    >>> import parley
    >>> model = parley.train([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], C=10.0)
    >>> model.predict([[0.5], [2.5]])
    array([-1.,  1.])
    """

    def __init__(self, handle: Any, summary: dict | None = None, run: np.ndarray | None = None):
        self._handle = handle
        self.coef, self.intercept = _run.coefficients(handle)
        self.meta = _metadata(handle)
        self.loss = self.meta["loss"]
        self.summary = summary or {}
        self.run = np.zeros(0, _run.ROW) if run is None else run
        self._log: Any = None  # the file of the log, if one was written
        outputs = len(self.intercept)
        labels = lib.parley_model_labels(handle)
        if labels != ffi.NULL:
            self.labels = np.frombuffer(ffi.buffer(labels, 8 * outputs), float).copy()
        else:
            two = ffi.new("double[2]")
            self.labels = np.array(list(two)) if lib.parley_model_two_labels(handle, two) else None
        if self.labels is not None and (words := _class_names(handle, self.labels)) is not None:
            self.labels = words

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns, if the data had any."""
        return named("parley_model_column_name", self._handle, self.coef.shape[1])

    @property
    def inference(self) -> np.ndarray:
        """Standard errors of the coefficients, with z or t, p and 95 % intervals, as `parley info --inference` shows.

        A structured array with a row for the intercept, if there is one, and one for each column: name, coefficient,
        std_error, statistic (z, or t for squared loss), p, low_95 and high_95. Needs ``train(..., inference=True)``.
        """
        columns = self.coef.shape[1]
        names = [*(self.column_names or (str(j + 1) for j in range(columns))), "(intercept)"]
        entry, rows = ffi.new("parley_certainty *"), []
        free = self.meta.get("intercept", "none") != "none"
        for j in ([columns] if free else []) + list(range(columns)):
            call("parley_model_certainty", self._handle, j, entry)
            numbers = (entry.coefficient, entry.standard_error, entry.statistic, entry.p, entry.low_95, entry.high_95)
            rows.append((names[j], *numbers))
        width = max(map(len, names))
        fields = ("coefficient", "std_error", "statistic", "p", "low_95", "high_95")
        return np.array(rows, dtype=[("name", f"U{width}"), *((field, float) for field in fields)])

    def _rows(self, X: Any, reading: dict) -> Data:
        by_name = is_table(X) and "table" in self.meta  # a frame of numbers has the columns in the model's order
        if isinstance(X, (str, os.PathLike)) or by_name:
            return from_file_for(self._handle, X, **reading)
        if reading:
            raise ValueError(f"{next(iter(reading))} applies to reading files, but X is not a file name")
        return _data_of(numbers(X) if is_table(X) else X)

    def decision_function(self, X: Any, **reading: Any) -> np.ndarray:
        """Decision values x.w + b.

        Parameters
        ----------
        X : array, sparse matrix, path or table
            Rows; or a file or table, which is read as `parley predict` reads it.
        **reading
            If X is a file: settings for reading, such as ``format`` and ``separator``.

        Returns
        -------
        decisions : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            One value per output. Columns unknown to the model are ignored.
        """
        data = self._rows(X, reading)
        decisions = np.empty((data.rows, len(self.intercept)))
        call("parley_decide", self._handle, data.handle, ffi.cast("double *", decisions.ctypes.data))
        return decisions.ravel() if decisions.shape[1] == 1 else decisions

    def predict(self, X: Any, **reading: Any) -> np.ndarray:
        """Predict class labels, values or expected counts.

        Parameters
        ----------
        X : array, sparse matrix, path or table
            Rows; or a file or table, which is read as `parley predict` reads it.
        **reading
            If X is a file: settings for reading, such as ``format`` and ``separator``.

        Returns
        -------
        y : ndarray of shape (n_rows,) or (n_rows, n_labels)
            Predictions; for rows of any number of labels an indicator matrix, whose columns are in the order of
            ``labels``.
        """
        decisions = self.decision_function(X, **reading)
        if "label_sets" in self.meta:
            return (decisions > 0).astype(int)
        if self.labels is not None:
            return self.labels[decisions.argmax(axis=1) if decisions.ndim == 2 else (decisions > 0).astype(int)]
        return values(self.loss, decisions)

    def predict_proba(self, X: Any, **reading: Any) -> np.ndarray:
        """Probabilities of the classes, for models with loss logistic or softmax.

        Parameters
        ----------
        X : array, sparse matrix, path or table
            Rows; or a file or table, which is read as `parley predict` reads it.
        **reading
            If X is a file: settings for reading, such as ``format`` and ``separator``.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            In the order of ``labels``.
        """
        if not facts(self.loss).probabilities:
            raise ValueError(f"the loss {self.loss} has no probabilities; train with logistic or softmax")
        decisions = self.decision_function(X, **reading)
        if "label_sets" in self.meta:
            return probabilities(decisions.ravel(), False)[:, 1].reshape(decisions.shape)
        return probabilities(decisions, facts(self.loss).together)

    def report_(self) -> Report:
        """Make a page about the run that trained the model: its verdict and its convergence and, if it was trained with
        the setting ``log``, everything that the log has.

        Returns
        -------
        report : Report
            The page. A notebook shows it.
        """
        if self._log and os.path.exists(self._log):
            return report(self._log)
        return report_of(self.summary, self.run, "linear", "model")

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file that `parley predict` and safetensors can read.

        Parameters
        ----------
        path : str or path
            The file.
        """
        call("parley_model_save", self._handle, os.fsencode(path))

    def to_bytes(self) -> bytes:
        """The bytes of the file that `save` writes.

        Returns
        -------
        data : bytes
            Input for `Model.from_bytes`.
        """
        out, count = ffi.new("void **"), ffi.new("uint64_t *")
        call("parley_model_to_bytes", self._handle, out, count)
        try:
            return bytes(ffi.buffer(out[0], count[0]))
        finally:
            lib.parley_bytes_free(out[0])

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Make a model from the output of `to_bytes`.

        Parameters
        ----------
        data : bytes
            The output of `to_bytes`.

        Returns
        -------
        model : Model
            The model.
        """
        return cls(make("model", "parley_model_from_bytes", ffi.from_buffer(data), len(data)))

    def __reduce__(self) -> tuple:
        return _unpickled, (self.to_bytes(), self.summary, self.run)

    def __repr__(self) -> str:
        outputs, columns = self.coef.shape
        return f"<parley.Model: {self.loss}, {columns} columns, {outputs} output{'s' * (outputs > 1)}>"


def _unpickled(data: bytes, summary: dict, run: np.ndarray) -> Model:
    model = Model.from_bytes(data)
    model.summary, model.run = summary, run
    return model


def _class_names(handle: Any, labels: np.ndarray) -> np.ndarray | None:
    """The words that the labels stand for; None if they are numbers."""
    names = named("parley_model_class_name", handle, int(labels.max()) + 1) if labels.min() >= 0 else None
    return None if names is None else np.array(names)[labels.astype(int)]


def _metadata(handle: Any) -> dict[str, str]:
    value, meta = ffi.new("const char **"), {}
    while (key := string(lib.parley_model_meta(handle, len(meta), value))) is not None:
        meta[key] = string(value[0]) or ""
    return meta


def _data_of(X: Any, y: Any = None, weight: Any = None, threads: Any = None, reading: dict | None = None) -> Data:
    """Makes data from arrays, or from a file given by name."""
    if isinstance(X, Data):
        return X
    if isinstance(X, (str, os.PathLike)) or (is_table(X) and (y is None or reading)):
        if y is not None or weight is not None:
            raise ValueError("a file contains its own labels and weights; give y and sample_weight only with arrays")
        return from_file(X, threads=threads, **(reading or {}))
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; it must have 2: rows and columns")
    rows = X.shape[0]
    for name, array in (("y", y), ("sample_weight", weight)):
        several = (
            name == "y" and len(getattr(array, "shape", ())) == 2 and array.shape[0] == rows and array.shape[1] > 1
        )
        if array is not None and not several and np.shape(array) != (rows,):
            raise ValueError(
                f"{name} has the shape {np.shape(array)}; it must be {(rows,)}: one entry for each row of X"
            )
    return from_arrays(X, y, weight, 0 if threads in (None, "auto") else int(threads))


def _reading() -> set[str]:
    """Names of the settings for reading a file."""
    row, number, names = ffi.new("parley_setting *"), 0, set()
    while lib.parley_setting_at(number, row):
        if string(row.group) == "Reading" and row.reads:
            names.add(string(row.name))
        number += 1
    return names


def _prepared(X: Any, y: Any, weight: Any, settings: dict) -> Data:
    reading = {name: settings.pop(name) for name in list(settings) if name in _reading()}
    if reading and not is_source(X):
        raise ValueError(f"{next(iter(reading))} applies to reading files, but X is not a file name")
    if y is None and not is_source(X) and not isinstance(X, Data):
        raise ValueError("y is missing; give one label for each row of X")
    return _data_of(X, y, weight, settings.get("threads"), reading)


def train(
    X: Any, y: Any = None, *, sample_weight: Any = None, start: Any = None, verbose: int = 0,
    callback: Callable[[dict], Any] | None = None, **settings: Any,
) -> Model:  # fmt: skip
    """Train a model with the core's settings, as `parley train` does on the command line.

    Parameters
    ----------
    X : array, sparse matrix, path or table
        Rows; or a file in any format that Parley reads, also Parquet and Arrow, or a table of pyarrow or pandas, with
        their labels (``label_column``).
    y : array-like of shape (n_rows,) or indicator matrix of shape (n_rows, n_labels), default=None
        Labels. An indicator matrix has 1 where a row has a label, else 0: one model is trained with an output for each
        label against the rest.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    start : Model, path or None, default=None
        A model to start from.
    verbose : int, default=0
        Above 0: show progress.
    callback : callable, default=None
        Called after every round with a dict of the round, its objective and gap. A true result ends the run.
    **settings
        Any setting of training, by its name with `_` for `-`: ``loss``, ``lambda_``, ``C``, ``gap``, ``preset``, ...
        If X is a file, also the settings for reading.

    Returns
    -------
    model : Model
        The model, with the ``summary`` and the log (``run``) of the run.

    Examples
    --------
    >>> import numpy as np, parley
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = parley.train(X, X @ [1.0, 2.0, 3.0], loss="squared", lambda_=1e-6, gap=1e-8)
    >>> model.coef.round(3)
    array([[1., 2., 3.]])
    >>> model.summary["stop"]
    'converged'
    """
    data = _prepared(X, y, sample_weight, settings)
    if isinstance(start, (str, os.PathLike)):
        start = load(start)
    if isinstance(start, Path):
        raise ValueError("start is a path of models; choose one of them with its method at")
    watch = _run.Watch(verbose, callback)
    handle, summary, log = _run.train(data, settings, ffi.NULL if start is None else start._handle, watch)
    model = Model(handle, summary, log)
    model._log = settings.get("log")
    if watch.caught is not None:
        watch.caught.model = model
        raise watch.caught
    return model


class Path:
    """Models for decreasing lambdas, returned by `path` or by `load` of a file that `save` or `parley path` wrote.

    Attributes
    ----------
    points : ndarray
        One row per lambda: lambda, objective, dual, gap, relative_gap, explained, metric, nonzeros, rounds.
    lambdas : ndarray of shape (n_lambdas,)
        The lambdas, decreasing.
    coefs : ndarray of shape (n_lambdas, n_outputs, n_columns)
        Coefficients.
    intercepts : ndarray of shape (n_lambdas, n_outputs)
        Intercepts.
    summary : dict
        Summary of the last point; empty for a path from a file.

    Examples
    --------
    >>> import numpy as np, parley
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> found = parley.path(X, X @ [1.0, 0.0, 0.0, 2.0], loss="squared", l1_ratio=1.0, lambdas=10, full_path=True)
    >>> found.coefs.shape, int(found.points["nonzeros"][1])
    ((10, 1, 4), 1)
    """

    _REALS = ("lambda", "objective", "dual", "gap", "relative_gap", "explained", "metric")
    _ROW = np.dtype([*((name, float) for name in _REALS), ("nonzeros", np.int64), ("rounds", np.int64)])

    def __init__(self, handle: Any, summary: dict, run: np.ndarray):
        self._handle = handle
        self.summary, self.run = summary, run
        count = ffi.new("uint64_t *")
        points = lib.parley_path_points(handle, count)
        self.points = np.array(
            [tuple(getattr(points[i], name) for name in self._ROW.names) for i in range(count[0])], self._ROW
        )
        self.lambdas = self.points["lambda"].copy()
        parts = [_run.coefficients(self._model(i)) for i in range(len(self))]
        self.coefs, self.intercepts = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])

    def _model(self, point: int) -> Any:
        return make("model", "parley_path_model", self._handle, point)

    def __len__(self) -> int:
        return len(self.points)

    def model(self, point: int) -> Model:
        """The model of one lambda.

        Parameters
        ----------
        point : int
            Number of the lambda, from 0.

        Returns
        -------
        model : Model
            The model.
        """
        return Model(self._model(range(len(self))[point]))

    def at(self, lambda_: float | str) -> Model:
        """The model of a lambda, interpolated linearly between those of the path.

        Parameters
        ----------
        lambda_ : float, 'first' or 'last'
            The lambda; or the largest lambda of the path (first) or the smallest (last). Beyond these the model is
            that of the nearest, with a warning.

        Returns
        -------
        model : Model
            The model.
        """
        warn = ffi.callback("parley_message", self._tell_end)
        return Model(make("model", "parley_path_at", self._handle, str(lambda_).encode(), warn, ffi.NULL))

    @staticmethod
    def _tell_end(_user: Any, sentence: Any) -> None:
        if "interpolated" not in (told := string(sentence)):
            warnings.warn(told, stacklevel=3)

    def __repr__(self) -> str:
        outputs, columns = self.coefs.shape[1:]
        lambdas = f"{len(self)} lambdas from {self.lambdas[0]:.6g} to {self.lambdas[-1]:.6g}"
        return f"<parley.Path: {lambdas}, {columns} columns, {outputs} output{'s' * (outputs > 1)}>"

    def save(self, path: str | os.PathLike) -> None:
        """Write all points to a file.

        Parameters
        ----------
        path : str or path
            The file.
        """
        call("parley_path_save", self._handle, os.fsencode(path))

    def __reduce__(self) -> tuple:
        with tempfile.TemporaryDirectory() as folder:
            self.save(file := os.path.join(folder, "path"))
            with open(file, "rb") as stored:
                return _unpickled_path, (stored.read(), self.summary, self.run, self.points)


def _unpickled_path(data: bytes, summary: dict, run: np.ndarray, points: np.ndarray) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        with open(file := os.path.join(folder, "path"), "wb") as stored:
            stored.write(data)
        found = load(file)
    found.summary, found.run, found.points = summary, run, points  # a file has no gaps, only what they follow from
    return found


def path(
    X: Any, y: Any = None, *, sample_weight: Any = None, verbose: int = 0,
    callback: Callable[[dict], Any] | None = None, **settings: Any,
) -> Path:  # fmt: skip
    """Train models for decreasing lambdas, each started from the solution of the one before.

    Parameters
    ----------
    X : array, sparse matrix, path or table
        Rows; or a file in any format that Parley reads, also Parquet and Arrow, or a table of pyarrow or pandas, with
        their labels (``label_column``).
    y : array-like of shape (n_rows,), default=None
        Labels.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    verbose : int, default=0
        Above 0: show progress.
    callback : callable, default=None
        Like in `train`.
    **settings
        Any setting of a path, such as ``lambdas``, ``lambda_ratio`` and ``lambda_list``.

    Returns
    -------
    path : Path
        The models, as ``lambdas``, ``coefs``, ``intercepts`` and the table ``points``.

    Examples
    --------
    >>> import numpy as np, parley
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> parley.path(X, X @ [1.0, 0.0, 0.0, 2.0], l1_ratio=1.0, lambda_list=[1.0, 0.5]).lambdas
    array([1. , 0.5])
    """
    data = _prepared(X, y, sample_weight, settings)
    watch = _run.Watch(verbose, callback)
    found = Path(*_run.path(data, settings, watch))
    if watch.caught is not None:
        watch.caught.path = found
        raise watch.caught
    return found


def load(path: str | os.PathLike) -> Model | Path:
    """Read a model or a path of models that Parley wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model : Model or Path
        The model; or the path, if `parley path` or `Path.save` wrote the file.

    Examples
    --------
    >>> import parley, tempfile, os
    >>> model = parley.train([[0.0], [1.0]], [0.0, 1.0], loss="squared")
    >>> file = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> parley.save(model, file)
    >>> bool((parley.load(file).coef == model.coef).all())
    True
    """
    file = os.fsencode(path)
    if lib.parley_is_path(file):
        return Path(make("path_result", "parley_path_load", file, free="parley_path_free"), {}, np.zeros(0, _run.ROW))
    return Model(make("model", "parley_model_load", file))


def _with_words(estimator: Any) -> Any:
    """The model of a fitted classifier whose labels are words: the labels are numbered, and the words stored beside
    them."""
    numbered = copy.copy(estimator)
    words = [str(word).encode() for word in estimator.classes_]
    numbered.classes_ = np.arange(len(words))
    handle, texts = numbered._model(), [ffi.new("char[]", word) for word in words]
    call("parley_model_set_classes", handle, ffi.new("char *[]", texts), len(texts))
    return handle


def _refuse_pipeline(pipeline: Any) -> None:
    before = ", ".join(name for name, _ in pipeline.steps[:-1]) or "none"
    raise TypeError(
        f"a pipeline cannot be saved as one model; save its last step with parley.save(pipeline[-1], path). The steps "
        f"before it ({before}) are not in the file, so apply them to the rows before you predict"
    )


def model_of(model: Any) -> Model:
    """The model of a fitted estimator, with its class labels; a model is returned as it is."""
    if isinstance(model, Model):
        return model
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        _refuse_pipeline(model)
    if not hasattr(model, "_model"):
        raise TypeError(f"{type(model).__name__} is not a model, a path or an estimator of Parley")
    words = getattr(getattr(model, "classes_", None), "dtype", np.dtype(float)).kind not in "biuf"
    return Model(_with_words(model) if words else model._model())


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a model or fitted estimator to a file that `load`, the command line and safetensors can read.

    Parameters
    ----------
    model : Model, Path or estimator
        The model to write. Class labels that are words are kept. The names of the columns of a data frame are not, and
        a pipeline is refused: its last step can be saved, but not what the steps before it do to the rows.
    path : str or path
        The file.

    Examples
    --------
    >>> import parley, tempfile, os
    >>> from sklearn.datasets import load_iris
    >>> estimator = parley.LogisticRegression().fit(*load_iris(return_X_y=True))
    >>> file = os.path.join(tempfile.mkdtemp(), "iris.safetensors")
    >>> parley.save(estimator, file)
    >>> parley.load(file).labels
    array([0., 1., 2.])
    """
    (model if isinstance(model, Path) else model_of(model)).save(path)
