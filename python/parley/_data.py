"""Arrays of numpy and scipy as data of the core, without a copy where they have its form."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._library import ffi, lib, make, named, settings

_TYPES = {
    "float32": lib.PARLEY_FLOAT32,
    "float64": lib.PARLEY_FLOAT64,
    "int32": lib.PARLEY_INT32,
    "int64": lib.PARLEY_INT64,
}


def _typed(array: np.ndarray, otherwise: str) -> np.ndarray:
    return array if array.dtype.name in _TYPES and array.dtype.isnative else array.astype(otherwise)


def _pointer(array: np.ndarray | None) -> Any:
    return ffi.NULL if array is None else ffi.cast("void *", array.__array_interface__["data"][0])


def _doubles(array: Any) -> np.ndarray | None:
    return None if array is None else np.ascontiguousarray(array, dtype=np.float64)


class Data:
    """Rows, labels and weights for the core. It keeps the arrays alive that the core looks at."""

    def __init__(self, handle: Any, keep: tuple = ()):
        self.handle = handle
        self._keep = keep
        shape = ffi.new("uint64_t[3]")
        lib.parley_data_shape(handle, shape, shape + 1, shape + 2)
        self.rows, self.columns, self.nonzeros = shape

    def column_names(self) -> list[str] | None:
        return named("parley_data_column_name", self.handle, self.columns)


def from_arrays(X: Any, y: Any = None, weight: Any = None, threads: int = 0) -> Data:
    """Data of a CSR matrix (others that are sparse are made one) or of a dense array."""
    label, weight = _doubles(y), _doubles(weight)
    labels = ffi.cast("double *", _pointer(label)), ffi.cast("double *", _pointer(weight))
    rows, columns = X.shape
    if sp.issparse(X):
        X = X.tocsr()
        start, index, value = _typed(X.indptr, "int64"), _typed(X.indices, "int64"), _typed(X.data, "float32")
        keep = tuple(np.ascontiguousarray(array) for array in (start, index, value))
        typed = [part for array in keep for part in (_pointer(array), _TYPES[array.dtype.name])]
        handle = make("data", "parley_data_from_csr", rows, columns, *typed, *labels, threads)
    else:
        X = _typed(np.asarray(X), "float64")
        if any(stride % X.itemsize for stride in X.strides):
            X = np.ascontiguousarray(X)
        strides = [stride // X.itemsize for stride in X.strides]
        keep = (X,)
        handle = make(
            "data",
            "parley_data_from_dense",
            rows,
            columns,
            _pointer(X),
            _TYPES[X.dtype.name],
            *strides,
            *labels,
            threads,
        )
    return Data(handle, (*keep, label, weight))


def from_file(path: str | os.PathLike, **reading: Any) -> Data:
    return Data(make("data", "parley_data_read_with", os.fsencode(path), settings(reading)))


def centred(X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Dense float64 as float32 without the means of columns that would lose their digits: what is left, and the means.

    The core's values are float32. A column far from 0 against its spread, such as years, has few digits left there for
    what distinguishes its rows; a free intercept takes up any shift, so a sample's mean is as good as the mean.
    """
    if sp.issparse(X) or X.dtype != np.float64 or X.shape[0] < 2:
        return X, None
    sample = X[:: max(1, X.shape[0] // 1000)]
    mean, spread = sample.mean(axis=0), sample.std(axis=0)
    far = (np.abs(mean) > 8 * spread) & np.isfinite(mean)
    if not far.any():
        return X, None
    constant = far & (sample == sample[0]).all(axis=0)
    shift = np.where(constant, sample[0], np.where(far, mean, 0.0))
    rest = np.empty(X.shape, np.float32)
    np.subtract(X, shift, out=rest, casting="same_kind")
    return rest, shift
