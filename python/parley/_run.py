"""Runs the core, shows progress and returns the results."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._data import Data, Table
from ._library import ffi, lib, make, settings, string, structure

#: A row of `run_`: the state after a round. Objective, dual and gap are from the latest evaluation.
ROW = np.dtype([("round", np.int64), ("epochs", float), ("seconds", float), ("objective", float), ("dual", float),
                ("gap", float), ("relative_gap", float)])  # fmt: skip


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(n_jobs: int | None) -> int | None:
    """Number of threads of the core. None: all cores, or the share that joblib assigns in OMP_NUM_THREADS."""
    if n_jobs is None:
        allowed = os.environ.get("OMP_NUM_THREADS", "")
        return int(allowed) if allowed.isdigit() and int(allowed) > 0 else None
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; give a number of threads, or -1 or None for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)


class _Lines:
    """Shows progress without tqdm: a line per evaluation, and at most one a second."""

    def __init__(self) -> None:
        self.last = None
        self.next = 0.0

    def count(self, done: int, parts: int) -> None:
        print(f"{done} of {parts} fits on folds done", file=sys.stderr)

    def show(self, row: tuple) -> None:
        if row[3:] != self.last and time.monotonic() >= self.next:
            self.last, self.next = row[3:], time.monotonic() + 1.0
            print(f"round {row[0]}: objective {row[3]:.6g}, relative gap {row[6]:.2e}", file=sys.stderr)

    def tell(self, message: str) -> None:
        print(message, file=sys.stderr)

    def close(self) -> None: ...


class _Bar:
    """Shows progress with tqdm, in a terminal or a notebook."""

    def __init__(self, tqdm: Any) -> None:
        self.bar = tqdm(desc="parley", unit=" rounds")

    def count(self, done: int, parts: int) -> None:
        self.bar.unit, self.bar.total = " folds", parts
        self.bar.update(done - self.bar.n)

    def show(self, row: tuple) -> None:
        self.bar.update(row[0] - self.bar.n)
        self.bar.set_postfix(objective=f"{row[3]:.6g}", gap=f"{row[6]:.1e}", refresh=False)

    def tell(self, message: str) -> None:
        self.bar.write(message, file=sys.stderr)

    def close(self) -> None:
        self.bar.close()


def progress(verbose: int | bool) -> Any:
    """An object that shows progress, or None."""
    if not verbose:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines()
    return _Bar(tqdm)


class Watch:
    """The callback of a run. It keeps the log and shows progress. An exception in it, such as Ctrl-C, stops the run
    after the round and is stored in `caught`, to be raised when the model is stored."""

    def __init__(self, verbose: int | bool = 0, ask: Callable[[dict], Any] | None = None):
        self.rows: list[tuple] = []
        self.caught: BaseException | None = None
        self.progress = progress(verbose)
        self.ask = ask
        self.callback = ffi.callback("parley_callback", self._see, error=1, onerror=self._fail)

    def _see(self, _user: Any, at: Any, message: Any) -> int:
        if message != ffi.NULL:
            if self.progress:
                self.progress.tell(string(message))
            return 0
        row = (at.round, at.epochs, at.seconds, at.objective, at.dual, at.gap, at.relative_gap)
        self.rows.append(row)
        if self.progress:
            self.progress.show(row)
        return int(bool(self.ask({**dict(zip(ROW.names, row)), "validation": at.validation}))) if self.ask else 0

    def _fail(self, _kind: Any, exception: BaseException, _trace: Any) -> None:
        self.caught = exception

    def close(self) -> np.ndarray:
        if self.progress:
            self.progress.close()
        return np.array(self.rows, dtype=ROW)


def _summary(raw: Any) -> dict[str, Any]:
    values = {**structure(raw), "stop": string(lib.parley_stop_text(raw.stop)), "repeatable": bool(raw.repeatable)}
    for fact in raw.fact[0 : values.pop("facts")]:
        values[string(fact.name)] = string(fact.text) or fact.number
    explained = [
        {name: string(getattr(choice, name)) for name in ("decision", "choice", "reason")}
        for choice in raw.choice[0 : values.pop("choices")]
    ]
    del values["fact"], values["choice"]
    return {**values, "explain": explained} if explained else values


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")


@contextmanager
def _in_python() -> Iterator[None]:
    """Names settings, where the core's sentences name options of the command line."""
    try:
        yield
    except ValueError as refused:
        raise ValueError(_OPTION.sub(lambda option: option[1].replace("-", "_"), str(refused))) from None


def train(
    data: Data | Table, values: Mapping[str, Any], start: Any = ffi.NULL, watch: Watch | None = None
) -> tuple[Any, dict, np.ndarray]:
    """Runs the core; returns the handle of the model, the summary and the log."""
    watch = watch or Watch()
    raw = ffi.new("parley_summary *")
    call = "parley_train_table" if isinstance(data, Table) else "parley_train_from"
    try:
        with _in_python():
            model = make("model", call, data.handle, settings(values), start, watch.callback, ffi.NULL, after=(raw,))
    finally:
        log = watch.close()
    return model, _summary(raw), log


def path(data: Data, values: Mapping[str, Any], watch: Watch | None = None) -> tuple[Any, dict, np.ndarray]:
    """Runs a path; returns its handle, the summary of the last point and the log."""
    watch = watch or Watch()
    raw = ffi.new("parley_summary *")
    try:
        with _in_python():
            handles = data.handle, settings(values), watch.callback, ffi.NULL
            result = make("path_result", "parley_path", *handles, after=(raw,), free="parley_path_free")
    finally:
        log = watch.close()
    return result, _summary(raw), log


def coefficients(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Copies of coef (outputs x columns) and intercept (outputs)."""
    shape = ffi.new("uint64_t[2]")
    lib.parley_model_shape(model, shape, shape + 1)
    outputs, columns = shape
    coef = (
        np.frombuffer(ffi.buffer(lib.parley_model_coef(model), 8 * outputs * columns), float)
        if columns
        else np.zeros(0)
    )
    intercept = np.frombuffer(ffi.buffer(lib.parley_model_intercept(model), 8 * outputs), float)
    return coef.reshape(outputs, columns).copy(), intercept.copy()


def products(model: Any) -> np.ndarray | None:
    """Products of the columns, less their means if the intercept is free, which the core found the model from."""
    shape, found = ffi.new("uint64_t[2]"), lib.parley_model_products(model)
    lib.parley_model_shape(model, shape, shape + 1)
    columns = shape[1]
    return np.frombuffer(ffi.buffer(found, 8 * columns**2), float).reshape(columns, columns) if found else None


def model_of(loss: str, coef: np.ndarray, intercept: np.ndarray, labels: np.ndarray | None) -> Any:
    """Makes a model of the core from arrays."""
    coef, intercept = np.ascontiguousarray(coef, float), np.ascontiguousarray(intercept, float)
    labels = None if labels is None else np.ascontiguousarray(labels, float)
    pointers = [
        ffi.NULL if array is None else ffi.cast("double *", array.ctypes.data) for array in (coef, intercept, labels)
    ]
    return make("model", "parley_model_new", loss.encode(), *coef.shape, *pointers)
