"""Pages about runs, for notebooks and files, and plots of their logs."""

from __future__ import annotations

import html
import json
import math
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._library import call, ffi

_HEIGHT = 900  # pixels of a page in a notebook
_AXES = {"rounds": "round", "seconds": "seconds", "epochs": "epochs"}


class Report:
    """A page about one or several runs. A notebook shows it; `save` writes it to a file that any browser opens.

    Attributes
    ----------
    html : str
        The page, which is complete in itself.

    Examples
    --------
    >>> import parley
    >>> page = parley.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).report_()
    >>> isinstance(page, parley.Report), page.html[:15]
    (True, '<!doctype html>')
    """

    def __init__(self, page: str):
        self.html = page

    def _repr_html_(self) -> str:
        # In a frame of its own, which may run the page's script but reach nothing else.
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it exists.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} bytes of HTML)"


def report(*logs: str | os.PathLike) -> Report:
    """Make a page about runs from their logs, as `parley report --html` does.

    Parameters
    ----------
    *logs : str or path
        Files that runs wrote with the setting ``log``; several are compared.

    Returns
    -------
    report : Report
        The page. A notebook shows it.

    Examples
    --------
    >>> import numpy as np, os, parley, tempfile
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> log = os.path.join(tempfile.mkdtemp(), "run.jsonl")
    >>> model = parley.train(X, X @ [1.0, 2.0, 3.0], loss="squared", log=log)
    >>> parley.report(log).html.startswith("<!doctype html>")
    True
    """
    if not logs:
        raise ValueError("report needs the file of at least one log")
    names = [ffi.new("char[]", os.fsencode(log)) for log in logs]
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        call("parley_report_page", ffi.new("char *[]", names), len(names), os.fsencode(page))
        with open(page, encoding="utf-8") as file:
            return Report(file.read())


def _number(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(summary: Mapping[str, Any], run: np.ndarray, problem: str) -> list[dict]:
    """A log as the core would have written it, of what a fitted model keeps: no workers, no settings."""
    facts = {key: _number(value) for key, value in summary.items()}
    names = ("preset", "local", "combine", "exchange", "engine", "rows", "columns", "nonzeros", "lanes", "threads")
    workers = [{"worker": k} for k in range(int(facts.get("workers") or 1))]
    start = {"event": "start", "problem": problem, "workers": len(workers), "ranks": facts.get("ranks") or 1}
    start |= {name: facts[name] for name in names if name in facts} | {"cores": os.cpu_count() or 1, "settings": {}}
    keys = ("rounds", "epochs", "objective", "dual", "gap", "relative_gap")
    stop = {"event": "stop", "status": summary.get("stop")} | {key: facts.get(key) for key in keys}
    parts = ("setup", "compute", "exchange", "wait", "evaluate")
    stop |= {part: facts.get(f"{part}_seconds") for part in parts}
    stop["seconds"] = float(run["seconds"][-1]) if len(run) else 0.0
    rounds = [
        {"event": "round", "evaluated": True, "workers": workers}
        | {name: _number(row[name]) for name in run.dtype.names}
        for row in run if row["round"] > 0
    ]  # fmt: skip
    return [start, *rounds, stop]


def report_of(summary: Mapping[str, Any], run: np.ndarray, problem: str, name: str) -> Report:
    """A page about what a fitted model keeps of its run."""
    if not any(run["round"] > 0):
        raise ValueError("nothing is known of the rounds in which this model was trained")
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, f"{name}.jsonl")
        with open(log, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in _lines(summary, run, problem))
        return report(log)


class Reported:
    """Adds `report_` to estimators, which keep `run_` and the summary of their last fit."""

    def report_(self) -> Report:
        """Make a page about the last fit: its verdict and its convergence.

        Returns
        -------
        report : Report
            The page. A notebook shows it.
        """
        check_is_fitted(self)
        name = type(self).__name__
        problem = "lda" if hasattr(self, "components_") else "linear"
        return report_of(getattr(self, "_summary", {}), self.run_, problem, name)


def _rounds(log: str | os.PathLike) -> list[dict]:
    found = []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue  # a line that is being written, or broken
            if isinstance(value, dict) and value.get("event") == "round":
                found.append(value)
    return found


def plot(*logs: str | os.PathLike, x: str = "seconds", y: str = "relative_gap") -> Any:
    """Plot the convergence of runs from their logs with matplotlib.

    Parameters
    ----------
    *logs : str or path
        Files that runs wrote with the setting ``log``.
    x : {"seconds", "rounds", "epochs"}, default="seconds"
        The horizontal axis.
    y : str, default="relative_gap"
        A number of the log's rounds: ``relative_gap``, ``gap``, ``objective``, ``dual`` or ``validation``.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> figure = parley.plot("a.jsonl", "b.jsonl")  # doctest: +SKIP
    >>> figure.savefig("convergence.png")  # doctest: +SKIP
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("parley.plot needs matplotlib; install it with `pip install matplotlib`") from None
    if x not in _AXES:
        raise ValueError(f"x is {x!r}; use one of {', '.join(_AXES)}")
    if not logs:
        raise ValueError("plot needs the file of at least one log")
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for log in logs:
        points = [
            (line[_AXES[x]], line[y]) for line in _rounds(log)
            if line.get(y) is not None and (line.get("evaluated") or y == "validation")
        ]  # fmt: skip
        axes.plot([at for at, _ in points], [value for _, value in points], label=os.path.basename(os.fspath(log)))
    if y in ("relative_gap", "gap"):
        axes.set_yscale("log")
    axes.set(xlabel=x, ylabel=y.replace("_", " "))
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
