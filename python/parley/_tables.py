"""Tables of pyarrow and pandas, and files in their formats. The core reads them as CSV from a file in memory, so that
they mean the same as a CSV file: categories, dates, missing values, and what a model remembers of its table."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_ENDINGS = (".parquet", ".feather", ".arrow", ".ipc")
_WRITTEN = {"format": "csv", "header": "yes", "separator": ","}  # how tables are written for the core
_AN_HOUR = {"s": 3600, "ms": 3600 * 10**3, "us": 3600 * 10**6, "ns": 3600 * 10**9}


def is_table(X: Any) -> bool:
    """Whether X is a table of pyarrow or a DataFrame of pandas, which are not imported for this."""
    kind = type(X)
    return (kind.__module__.split(".")[0], kind.__name__) in (
        ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame"),
    )  # fmt: skip


def is_source(X: Any) -> bool:
    """Whether X is the name of a file or a table, which contain their own labels."""
    return isinstance(X, (str, os.PathLike)) or is_table(X)


def numbers(X: Any) -> Any:
    """The table as an array, for models that were trained on arrays."""
    return (X.to_pandas() if hasattr(X, "to_pandas") else X).to_numpy()


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("reading this needs pyarrow: pip install parley[arrow]") from error
    return pyarrow


def _open(path: str) -> Any:
    pyarrow = _arrow()
    if path.endswith(".parquet"):
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path)
    import pyarrow.feather

    return pyarrow.feather.read_table(path)  # Arrow's file format


def _infinite(name: Any) -> ValueError:
    return ValueError(f"column {name} has infinite values; make them missing (nan), or leave these rows out")


def _no_numbers(name: Any, kind: Any, remedy: str = "leave it out, or turn it into numbers or words") -> ValueError:
    return ValueError(f"column {name} has the type {kind}; {remedy}")


def _named(names: Any) -> list:
    """The names, with those of the core for columns without a name. It leaves out a first one, as an index."""
    return [f"c{i + 1}" if name == "" else name for i, name in enumerate(names)]


def _column(name: str, column: Any) -> Any:
    """A column of Arrow as CSV can hold it: dictionaries decoded, and durations in hours, whatever their unit."""
    pyarrow = _arrow()
    from pyarrow import compute

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pyarrow.types.is_nested(kind) or pyarrow.types.is_binary(kind):
        raise _no_numbers(name, kind)
    if pyarrow.types.is_duration(kind):
        counts = column.cast(pyarrow.int64()).cast(pyarrow.float64(), safe=False)
        return compute.divide(counts, float(_AN_HOUR[kind.unit]))
    if pyarrow.types.is_floating(kind):
        wide = column.cast(pyarrow.float32()) if pyarrow.types.is_float16(kind) else column
        if compute.any(compute.is_inf(wide)).as_py():
            raise _infinite(name)
    return column


def _plain(table: Any) -> Any:
    """The table of Arrow with columns that CSV can hold; those that are no numbers, words or times are refused."""
    columns = [_column(name, column) for name, column in zip(table.column_names, table.columns)]
    return _arrow().table(columns, names=_named(table.column_names))


def _plain_frame(frame: Any) -> Any:
    """The same for a DataFrame, also where pyarrow is missing. Sparse columns become dense."""
    frame = frame.copy(deep=False)
    if "" in list(frame.columns):
        frame.columns = _named(frame.columns)
    for i, name in enumerate(frame.columns):
        column = frame.iloc[:, i]
        kind = type(column.dtype).__name__
        inner = getattr(getattr(column.dtype, "categories", None), "dtype", column.dtype)
        if type(inner).__name__ in ("PeriodDtype", "IntervalDtype"):
            raise _no_numbers(name, inner, "turn it into words (astype(str)), or into a date or number")
        if inner.kind == "c":
            raise _no_numbers(name, inner, "take its real part or its absolute value")
        if kind == "SparseDtype":
            column = column.sparse.to_dense()
            frame.isetitem(i, column)
        if isinstance(column.dtype, np.dtype) and column.dtype.kind == "m":
            column = column.dt.total_seconds() / 3600
            frame.isetitem(i, column)
        if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f" and np.isinf(column.to_numpy()).any():
            raise _infinite(name)
    return frame


def _write(X: Any, file: Any) -> None:
    if type(X).__module__.startswith("pandas"):
        X = _plain_frame(X)
        try:
            pyarrow = _arrow()
        except ImportError:
            file.write(X.to_csv(index=False).encode())
            return
        X = pyarrow.Table.from_pandas(X, preserve_index=False)
    import pyarrow.csv

    if type(X).__name__ == "RecordBatch":
        X = _arrow().Table.from_batches([X])
    pyarrow.csv.write_csv(_plain(X), file)


def _as_written(reading: dict[str, Any]) -> dict[str, Any]:
    """The settings of reading, with what is known of a table that `_write` wrote: its first line always has names."""
    given = {name: value for name, value in reading.items() if value is not None}
    return {**_WRITTEN, **given} if given.get("format", "csv") == "csv" else given


@contextmanager
def as_file(X: Any, reading: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Gives the name of a file that the core can read, and the settings to read it with. Messages of the core name the
    table instead."""
    if not is_table(X) and not os.fspath(X).endswith(_ENDINGS):
        yield os.fspath(X), reading
        return
    shown = "the table" if is_table(X) else os.fspath(X)
    descriptor = os.memfd_create("parley")
    with os.fdopen(descriptor, "wb") as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _write(X if is_table(X) else _open(os.fspath(X)), file)
        file.flush()
        name = f"/proc/self/fd/{descriptor}"
        try:
            yield name, _as_written(reading)
        except Exception as error:
            raise type(error)(str(error).replace(name, shown)) from None
    for one in caught:
        warnings.warn(str(one.message).replace(name, shown), one.category, stacklevel=6)
