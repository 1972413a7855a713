"""Tables of pyarrow and pandas, and files in their formats. The core reads them as CSV from a file in memory, so that
they mean the same as a CSV file: categories, dates, missing values, and what a model remembers of its table."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ENDINGS = (".parquet", ".feather", ".arrow", ".ipc")


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


def _plain(table: Any) -> Any:
    """The table with dictionaries decoded; columns that are no numbers, words or times are refused."""
    pyarrow = _arrow()
    columns = []
    for name, column in zip(table.column_names, table.columns):
        kind = column.type
        if pyarrow.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif pyarrow.types.is_nested(kind) or pyarrow.types.is_binary(kind):
            raise ValueError(f"column {name} has the type {kind}; leave it out, or turn it into numbers or words")
        columns.append(column)
    return pyarrow.table(columns, names=table.column_names)


def _write(X: Any, file: Any) -> None:
    if type(X).__module__.startswith("pandas"):
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


@contextmanager
def as_file(X: Any) -> Iterator[str]:
    """Gives the name of a file that the core can read. Messages of the core name the table instead."""
    if not is_table(X) and not os.fspath(X).endswith(_ENDINGS):
        yield os.fspath(X)
        return
    shown = "the table" if is_table(X) else os.fspath(X)
    descriptor = os.memfd_create("parley")
    with os.fdopen(descriptor, "wb") as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _write(X if is_table(X) else _open(os.fspath(X)), file)
        file.flush()
        name = f"/proc/self/fd/{descriptor}"
        try:
            yield name
        except Exception as error:
            raise type(error)(str(error).replace(name, shown)) from None
    for one in caught:
        warnings.warn(str(one.message).replace(name, shown), one.category, stacklevel=6)
