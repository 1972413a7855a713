"""Reads files into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._data import Data, from_file
from ._library import ffi, lib, named


class Table(tuple):
    """The result of `read`. Unpack it as ``X, y = read(file)``; the rest are attributes.

    Attributes
    ----------
    X : csr_matrix of shape (n_rows, n_columns)
        Rows; float64 if float32 would lose digits that matter.
    y : ndarray of shape (n_rows,)
        Labels: numbers, or words if the file has words.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows; None if the file has none.
    feature_names : list of str or None
        Names of the columns; None if the file has none.
    """

    X = property(lambda self: self[0])
    y = property(lambda self: self[1])
    sample_weight: np.ndarray | None
    feature_names: list[str] | None

    def __new__(cls, X: Any, y: Any, sample_weight: Any, feature_names: Any) -> Table:
        self = super().__new__(cls, (X, y))
        self.sample_weight, self.feature_names = sample_weight, feature_names
        return self

    def __getnewargs__(self) -> tuple:
        return self.X, self.y, self.sample_weight, self.feature_names


class _Owner:
    """Gives numpy read-only access to the core's memory, which may be a mapped cache. It keeps the data alive while an
    array uses them."""

    def __init__(self, data: Data, pointer: Any, count: int, kind: str):
        self.data = data
        address = int(ffi.cast("uintptr_t", pointer))
        self.__array_interface__ = {"shape": (count,), "typestr": kind, "data": (address, True), "version": 3}


def _view(data: Data, pointer: Any, count: int, kind: str) -> np.ndarray:
    return np.asarray(_Owner(data, pointer, count, kind)) if count else np.zeros(0, kind)


def read(path: Any, *, threads: int | None = None, **reading: Any) -> Table:
    """Read a data file: LIBSVM, CSV, VW or IDX, plain or compressed, Parquet or Arrow, or a cache that Parley wrote.

    Parameters
    ----------
    path : str, path or table
        The file, or a table of pyarrow or pandas.
    threads : int or None, default=None
        Number of threads; None: all cores.
    **reading
        Settings of reading, such as ``format``, ``label_column``, ``skip_lines`` and ``bad_rows``.

    Returns
    -------
    table : Table
        Unpacks as ``X, y`` and has ``sample_weight`` and ``feature_names``. The arrays share the core's memory and are
        read-only; ``X.copy()`` is writable.

    Examples
    --------
    >>> import parley, tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "small.svm")
    >>> _ = open(file, "w").write("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X, y = parley.read(file)
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]], dtype=float32), array([ 1., -1.]))
    """
    data = from_file(path, threads=threads, **reading)
    arrays = ffi.new("parley_arrays *")
    lib.parley_data_arrays(data.handle, arrays)
    rows, entries = data.rows, data.nonzeros
    start = _view(data, arrays.start, rows + 1, "<i8")
    index = _view(data, arrays.index, entries, "<i4")
    if arrays.wide != ffi.NULL:
        value = _view(data, arrays.wide, entries, "<f8")
    else:
        value = np.ones(entries, np.float32) if arrays.value == ffi.NULL else _view(data, arrays.value, entries, "<f4")
    if start[-1] < 2**31:
        start = start.astype(np.int32)  # scipy requires both index arrays to have the same type
    X = sp.csr_matrix((rows, data.columns), dtype=value.dtype)
    X.data, X.indices, X.indptr = value, index, start
    X.has_sorted_indices = X.has_canonical_format = True
    y = _view(data, arrays.label, rows, "<f8")
    weight = None if arrays.weight == ffi.NULL else _view(data, arrays.weight, rows, "<f8")
    return Table(X, _words(data, y), weight, data.column_names())


def _words(data: Data, y: np.ndarray) -> np.ndarray:
    """Converts labels to the words that they stand for, if any."""
    if not len(y) or not named("parley_data_class_name", data.handle, 1):
        return y
    names = named("parley_data_class_name", data.handle, int(y.max()) + 1)
    return np.array(names)[y.astype(int)]
