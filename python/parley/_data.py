"""Passes arrays of numpy and scipy to the core, without a copy if they have its layout."""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._library import call, ffi, lib, make, named, settings
from ._tables import as_file

_TYPES = {
    np.dtype(np.float32): lib.PARLEY_FLOAT32,
    np.dtype(np.float64): lib.PARLEY_FLOAT64,
    np.dtype(np.int32): lib.PARLEY_INT32,
    np.dtype(np.int64): lib.PARLEY_INT64,
}


_REMEDIES = {
    "M": "subtract a date and divide by a unit, as in (X - X.min()) / np.timedelta64(1, 'D')",
    "m": "divide by a unit, as in X / np.timedelta64(1, 'h')",
    "c": "take X.real or abs(X)",
}  # by the kinds of arrays that are no plain numbers, and would lose their unit or half of each number


def _real(array: np.ndarray, what: str) -> None:
    if array.dtype.kind in _REMEDIES:
        raise ValueError(f"{what} has the type {array.dtype}, not numbers; {_REMEDIES[array.dtype.kind]}")


def _typed(array: np.ndarray, otherwise: str) -> np.ndarray:
    _real(array, "X")
    return array if array.dtype in _TYPES else array.astype(otherwise)


def _pointer(array: np.ndarray | None) -> Any:
    return ffi.NULL if array is None else ffi.cast("void *", array.__array_interface__["data"][0])


def _doubles(array: Any) -> np.ndarray | None:
    if array is None:
        return None
    _real(array := np.asarray(array), "y")
    return np.ascontiguousarray(array, dtype=np.float64)


class Data:
    """Rows, labels and weights for the core. It keeps the arrays that the core uses alive."""

    def __init__(self, handle: Any, keep: tuple = ()):
        self.handle = handle
        self._keep = keep
        shape = ffi.new("uint64_t[3]")
        lib.parley_data_shape(handle, shape, shape + 1, shape + 2)
        self.rows, self.columns, self.nonzeros = shape

    def column_names(self) -> list[str] | None:
        return named("parley_data_column_name", self.handle, self.columns)


def _labels(label: np.ndarray | None, weight: np.ndarray | None) -> tuple[Any, Any]:
    return tuple(ffi.NULL if one is None else ffi.from_buffer("double[]", one) for one in (label, weight))


def _table(X: Any) -> tuple[np.ndarray, list]:
    """A dense table in a layout that the core reads, with its pointer, type and strides."""
    X = _typed(np.asarray(X), "float64")
    if any(stride % X.itemsize for stride in X.strides):
        X = np.ascontiguousarray(X)
    return X, [_pointer(X), _TYPES[X.dtype], *(stride // X.itemsize for stride in X.strides)]


class Table:
    """A dense table with labels and weights, as the core trains on it without a copy. It keeps the arrays alive."""

    def __init__(self, X: np.ndarray, y: Any, weight: Any):
        X, cells = _table(X)
        self._keep = (X, _doubles(y), _doubles(weight))
        self.handle = ffi.new("parley_table *", (*X.shape, *cells, *_labels(*self._keep[1:])))


def label_sets(y: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The number of the label set of each row of an indicator matrix, and the name of each set, as in {0,2}."""
    marks = (y != 0).astype(np.uint8)
    if not np.array_equal(marks, y):
        raise ValueError(
            "y has several columns, so that it must be an indicator matrix: 1 where a row has a label, else 0"
        )
    empty = np.flatnonzero(~marks.any(axis=0))
    if len(empty):
        raise ValueError(
            f"no row has label {empty[0]}, so that there is nothing to learn about it; leave out this column of y"
        )
    rows, number = np.unique(marks, axis=0, return_inverse=True)
    return number.ravel(), ["{" + ",".join(map(str, np.flatnonzero(row))) + "}" for row in rows]


def from_arrays(X: Any, y: Any = None, weight: Any = None, threads: int = 0) -> Data:
    """Makes data from a sparse matrix, converted to CSR if needed, or from a dense array. Rows of an indicator matrix y
    have any number of labels."""
    sets = None
    if y is not None and np.ndim(y) == 2 and y.shape[1] > 1:
        y, sets = label_sets(y.toarray() if sp.issparse(y) else np.asarray(y))
    label, weight = _doubles(y), _doubles(weight)
    labels = _labels(label, weight)
    if sp.issparse(X):
        X = X.tocsr()
        start, index, value = _typed(X.indptr, "int64"), _typed(X.indices, "int64"), _typed(X.data, "float64")
        keep = tuple(np.ascontiguousarray(array) for array in (start, index, value))
        typed = [part for array in keep for part in (_pointer(array), _TYPES[array.dtype])]
        handle = make("data", "parley_data_from_csr", *X.shape, *typed, *labels, threads)
    else:
        X, cells = _table(X)
        keep = (X,)
        handle = make("data", "parley_data_from_dense", *X.shape, *cells, *labels, threads)
    data = Data(handle, (*keep, label, weight))
    if sets is not None:
        texts = [ffi.new("char[]", name.encode()) for name in sets]
        call("parley_data_set_classes", handle, ffi.new("char *[]", texts), len(texts))
    return data


def from_file(path: Any, **reading: Any) -> Data:
    """Reads a file, or a table of pyarrow or pandas."""
    with as_file(path, reading) as (name, reading):
        return Data(make("data", "parley_data_read_with", os.fsencode(name), settings(reading)))


def _warn(_user: Any, sentence: Any) -> None:
    warnings.warn(ffi.string(sentence).decode(errors="replace"), stacklevel=4)


def from_file_for(model: Any, path: Any, **reading: Any) -> Data:
    """Reads a file or table for a model, as `parley predict` does: columns are matched by name, labels are not read."""
    warn = ffi.callback("parley_message", _warn)
    with as_file(path, reading) as (name, reading):
        return Data(make("data", "parley_data_read_for", model, os.fsencode(name), settings(reading), warn, ffi.NULL))


class Frame(NamedTuple):
    """Rows and labels as passed to the core: X minus `shift` and y minus `level`, which a free intercept absorbs."""

    X: Any
    y: Any
    shift: np.ndarray | None = None
    level: float = 0.0

    def inside(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Converts the intercept of the original data to this frame. `coef` is outputs x columns."""
        return intercept - self.level + (0.0 if self.shift is None else coef @ self.shift)

    def outside(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Converts the intercept of this frame to the original X and y."""
        return intercept + self.level - (0.0 if self.shift is None else coef @ self.shift)


def _far(sample: np.ndarray) -> np.ndarray:
    """The mean of each column that is far from 0 compared with its standard deviation, else 0. For a constant column
    this is its value."""
    mean, spread = sample.mean(axis=0, dtype=float), sample.std(axis=0, dtype=float)
    shift = np.where((sample == sample[0]).all(axis=0), sample[0], mean)
    return np.where((np.abs(mean) > 8 * spread) & np.isfinite(shift), shift, 0.0)


def _far_of_sparse(X: Any, step: int) -> tuple[Any, np.ndarray]:
    """The same for a CSR matrix, which is returned without duplicate entries if it will be shifted. Only a column with
    an entry in every row can be far from 0, and it stays full."""
    sample, columns = X[::step], X.shape[1]
    full = np.flatnonzero(np.bincount(sample.indices, minlength=columns) >= sample.shape[0])
    shift = np.zeros(columns)
    if len(full):
        shift[full] = _far(sample[:, full].toarray())
    if shift.any():
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        shift[np.bincount(X.indices, minlength=columns) != X.shape[0]] = 0.0
    return X, shift


def framed(X: Any, y: np.ndarray, loss: str, intercept: str) -> Frame:
    """Subtracts the means of columns and labels that are far from 0.

    Such a column, for example of years, is nearly collinear with the intercept, and few of its digits distinguish its
    rows. The mean of a sample is accurate enough. Other data are not changed.
    """
    if intercept != "free" or X.shape[0] < 2:
        return Frame(X, y)
    step = max(1, X.shape[0] // 1000)
    level = 0.0
    if loss in ("squared", "huber", "epsilon-insensitive", "squared-epsilon-insensitive"):
        level = float(_far(np.asarray(y[::step], float)[:, None])[0])
        y = y - level if level else y
    with np.errstate(over="ignore", invalid="ignore"):
        X, shift = _far_of_sparse(X, step) if sp.issparse(X) else (X, _far(X[::step]))
        if not shift.any():
            return Frame(X, y, None, level)
        kind = np.float32 if X.dtype == np.float32 else np.float64
        rest = np.empty((X.data if sp.issparse(X) else X).shape, kind)
        if sp.issparse(X):
            np.subtract(X.data, shift[X.indices], out=rest, casting="same_kind")
            rest = sp.csr_matrix((rest, X.indices, X.indptr), shape=X.shape)
        else:
            np.subtract(X, shift, out=rest, casting="same_kind")
    return Frame(rest, y, shift, level)
