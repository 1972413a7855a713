"""From settings to the command of ranks, and from their output to a fitted model. Restarts what was lost."""

from __future__ import annotations

import functools
import json
import os
import re
import socket
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from .._library import settings as check_settings
from .._library import text
from .._model import Model
from . import _session
from ._driver import Facts, Result

PER_CORE = ("replicas", "hogwild")  # presets whose workers are cores
#: What estimators call settings whose name there is another one.
NAMES = {
    "local_steps": "localSteps", "checkpoint": "checkpointDir", "checkpoint_every": "checkpointEvery",
    "lambda": "regParam", "l1_ratio": "elasticNetParam", "rounds": "maxIter", "standardise": "standardization",
    "intercept": "fitIntercept",
}  # fmt: skip


@dataclass
class Options:
    """Parley's own options of an estimator."""

    preset: str | None = None
    workers: int | None = None
    lanes: int | None = None
    localSteps: int | str | None = None
    gap: float | None = None
    seed: int | None = None
    threads: int | None = None
    checkpointDir: str | None = None
    checkpointEvery: str | None = None
    resume: bool = False
    maxRestarts: int = 0
    deadline: float | None = None
    log: str | os.PathLike | None = None
    progress: bool | None = None

    @classmethod
    def split(cls, given: Mapping[str, Any], spark: Any, before: Options | None = None) -> tuple[Options, dict]:
        """Parley's options, and the rest. A name that is a parameter of Spark's class is Spark's."""
        own = {field.name for field in fields(cls) if not hasattr(spark, field.name)}
        options = replace(before or cls(), **{name: value for name, value in given.items() if name in own})
        return options, {name: value for name, value in given.items() if name not in own}

    def settings(self) -> dict[str, Any]:
        lanes = 1 if self.workers and self.lanes is None else self.lanes
        return {
            "preset": self.preset, "workers": self.workers, "lanes": lanes, "local_steps": self.localSteps,
            "seed": self.seed, "deadline": self.deadline,
        }  # fmt: skip


@dataclass
class Fitted:
    """A model and what is known about its run."""

    data: bytes  # of the model
    facts: dict[str, Any]
    lines: list[str]

    @functools.cached_property
    def model(self) -> Model:
        """The linear model."""
        return Model.from_bytes(self.data)

    @property
    def coef(self) -> np.ndarray:
        return self.model.coef

    @property
    def intercept(self) -> np.ndarray:
        return self.model.intercept

    @property
    def labels(self) -> np.ndarray:
        return self.model.labels


def words(settings: Mapping[str, Any]) -> list[str]:
    """Settings as arguments of the command line."""
    out = []
    for name, value in settings.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            out.append(flag)
        elif value is not None and value is not False:
            out += [flag, text(value)]
    return out


def in_python(sentence: str, names: Mapping[str, str]) -> str:
    """A sentence of Parley with the names that the user wrote instead of the options of the command line."""

    def name(found: re.Match[str]) -> str:
        setting = found[1].replace("-", "_")
        return names.get(setting, setting)

    return re.sub(r"--([a-z][a-z0-9-]*)", name, re.sub(r" \(see parley [^)]*--help\)", "", sentence))


class _Progress:
    """Shows the rounds of a run on the driver."""

    def __init__(self, wanted: bool | None):
        from .._run import progress

        self.bar = progress(wanted if wanted is not None else sys.stderr.isatty())

    def see(self, _run: int, line: str) -> None:
        if not self.bar:
            return
        event = json.loads(line)
        if event.get("event") == "round" and event.get("evaluated"):
            values = [event.get(name) for name in ("round", "epochs", "seconds", "objective", "dual", "gap")]
            self.bar.show((*values, event.get("relative_gap") or 0.0))

    def close(self) -> None:
        if self.bar:
            self.bar.close()


def _facts(result: Result, facts: Facts, seconds: float, fits: int, restarts: int) -> dict[str, Any]:
    """What `model.parley` says."""
    said = json.loads(result.out or b"{}")
    said.pop("model", None)
    times = {**said.pop("seconds", {}), "hand_over": facts.seconds, "ranks": result.seconds, "fit": seconds}
    return {**said, "seconds": times, "rows": facts.rows, "columns": facts.size, "nonzeros": facts.nonzeros,
            "hand_over_bytes": facts.bytes, "tasks": len(facts.parts), "fits": fits, "restarts": restarts}  # fmt: skip


@dataclass
class Rows:
    """A frame of features, label and perhaps weight, and what tasks must know of it."""

    frame: Any
    weighted: bool
    classes: bool  # labels are numbers of classes
    left_out: list[int]  # columns that are read as 0

    def reading(self) -> dict[str, Any]:
        return {"weighted": self.weighted, "classes": self.classes, "left_out": self.left_out}


@dataclass
class Fit:
    """One of several fits on the same rows. `settings` gives Parley's settings when the rows are known."""

    options: Options
    settings: Callable[[Facts], dict[str, Any]]
    command: str = "train"  # of Parley
    names: Mapping[str, str] = field(default_factory=lambda: NAMES)  # what the user calls settings


class _Fits:
    """Runs fits with one hand-over, and again what was lost."""

    def __init__(self, rows: Rows, fits: list[Fit], name: str):
        self.rows, self.fits, self.name = rows, fits, name
        self.options = fits[0].options
        cores = _session.Cluster(_session.context_of(rows.frame)).cores()
        self.threads, self.executors = self.options.threads or min(cores or [1]), len(cores)
        self.done: list[tuple[Result, Facts]] = []
        self.workers: int | None = None  # of the first attempt, which the later ones repeat
        self.job = f"spark-{socket.gethostname()}-{os.getpid()}-{time.time_ns()}"
        self.attempt = 0

    def _checkpoint(self, number: int, options: Options) -> dict[str, Any]:
        if not options.checkpointDir:
            return {}
        folder = os.path.abspath(options.checkpointDir)
        folder = os.path.join(folder, str(number)) if len(self.fits) > 1 else folder
        again = options.resume or self.attempt > 0
        return {"checkpoint": folder, "resume": folder if again else None, "checkpoint_every": options.checkpointEvery}

    def _command(self, number: int, facts: Facts) -> list[str]:
        one = self.fits[number]
        values = {"inputs": "own", "row_order": "content", "threads": self.threads, **one.settings(facts)}
        values.update({name: value for name, value in one.options.settings().items() if value is not None})
        values.update(self._checkpoint(number, one.options))
        values.update({"json": True, "quiet": True, "log": "@log", "model": "@model"})
        if self.attempt == 0:
            self.workers = facts.ranks
        elif not values.get("workers") and values.get("preset") not in PER_CORE:
            values["workers"] = self.workers
        if facts.ranks == 1:
            values["engine"] = "threads"
        return [one.command, "@rows", *words(values)]

    def _commands(self, facts: Facts) -> list[list[str]]:
        if self.attempt == 0 and len(facts.parts) < self.executors:
            warnings.warn(
                f"the frame has {len(facts.parts)} partitions, so {facts.ranks} of {self.executors} executors take "
                f"part; use df.repartition({self.executors})",
                stacklevel=2,
            )
        return [self._command(number, facts) for number in range(len(self.done), len(self.fits))]

    def _once(self, see: Callable[[int, str], None]) -> None:
        name = f"{self.job}/{self.attempt}"
        try:
            driver = _session.run(
                self.rows.frame, self.rows.reading(), self._commands, see, f"parley: {self.name}.fit", name
            )
        except _session.RunFailed as failed:
            self.done += [(result, failed.facts) for result in failed.results]
            raise
        self.done += [(result, driver.facts) for result in driver.results]

    def _told(self, failed: _session.RunFailed) -> Exception:
        return _session.illegal(in_python(str(failed), self.fits[0].names)) if failed.refused else failed.error

    def run(self) -> list[Fitted]:
        began = time.monotonic()
        progress = _Progress(self.options.progress)
        try:
            while len(self.done) < len(self.fits):
                try:
                    self._once(progress.see)
                except _session.RunFailed as failed:
                    if not failed.again or self.attempt >= self.options.maxRestarts:
                        raise self._told(failed) from failed.__cause__
                    self.attempt += 1
                    warnings.warn(f"{failed}; restarting, {self.attempt} of {self.options.maxRestarts}", stacklevel=5)
        finally:
            progress.close()
        seconds = time.monotonic() - began
        return [Fitted(result.model, _facts(result, facts, seconds, len(self.fits), self.attempt), result.log)
                for result, facts in self.done]  # fmt: skip


def _write_log(path: str | os.PathLike, lines: list[str], more: bool) -> None:
    with open(path, "a" if more else "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def _warn_early(fitted: Fitted, name: str) -> None:
    if fitted.facts.get("status") in ("rounds", "stalled"):
        gap, rounds = fitted.facts.get("relative_gap"), fitted.facts["rounds"]
        reached = f" at a relative gap of {gap:.2g}" if isinstance(gap, float) else ""
        why = "which is maxIter" if fitted.facts["status"] == "rounds" else "where more rounds did not help"
        warnings.warn(f"{name} stopped{reached} after {rounds} round{'s' if rounds != 1 else ''}, {why}; "
                      "raise maxIter or tol", stacklevel=5)  # fmt: skip


def _check(options: Options, names: Mapping[str, str]) -> None:
    """Refuses options that are wrong whatever the data are, before the rows are handed over."""
    if "://" in os.fspath(options.checkpointDir or ""):
        raise _session.illegal("checkpointDir must be a folder of a file system that all executors mount, not a URL")
    for name in ("resume", "checkpointEvery"):
        if getattr(options, name) and not options.checkpointDir:
            raise _session.illegal(f"{name} has no effect without checkpointDir; give both, or leave it out")
    if options.maxRestarts < 0:
        raise _session.illegal(f"maxRestarts is {options.maxRestarts}; it must be 0 or more")
    own = {"gap": options.gap, "threads": options.threads, "checkpoint_every": options.checkpointEvery}
    try:
        check_settings({**options.settings(), **own})
    except ValueError as cause:
        raise _session.illegal(in_python(str(cause), names)) from None


def fit(rows: Rows, fits: list[Fit], name: str) -> list[Fitted]:
    """Fits all of them on the rows of the frame."""
    for one in fits:
        _check(one.options, one.names)
    logs = [one.options.log for one in fits if one.options.log]
    for path in logs:
        _write_log(path, [], False)  # fails before anything is run
    fitted = _Fits(rows, fits, name).run()
    for one, found in zip(fits, fitted):
        if one.options.log:
            _write_log(one.options.log, found.lines, True)
        if one.command == "train":  # topics are found in a number of steps, which no certificate ends earlier
            _warn_early(found, name)
    return fitted
