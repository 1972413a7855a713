"""From settings to the command of ranks, and from their output to a fitted model. Restarts what was lost."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .._library import text
from .._model import Model
from . import _session
from ._driver import Facts, Result


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
    maxRestarts: int = 0
    deadline: float | None = None
    log: str | os.PathLike | None = None
    progress: bool | None = None

    @classmethod
    def split(cls, given: Mapping[str, Any], before: Options | None = None) -> tuple[Options, dict[str, Any]]:
        """Parley's options, and the rest."""
        own = {field.name for field in fields(cls)}
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

    model: Model
    facts: dict[str, Any]
    lines: list[str]

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


class _Progress:
    """Shows the rounds of a run on the driver."""

    def __init__(self, runs: int, wanted: bool | None):
        from .._run import progress

        self.bar = progress(wanted if wanted is not None else sys.stderr.isatty())

    def see(self, _run: int, line: str) -> None:
        if not self.bar:
            return
        event = json.loads(line)
        if event.get("event") == "round":
            values = [event.get(name) for name in ("round", "epochs", "seconds", "objective", "dual", "gap")]
            self.bar.show((*values, event.get("relative_gap") or 0.0))

    def close(self) -> None:
        if self.bar:
            self.bar.close()


def _facts(result: Result, facts: Facts, times: dict, runs: int) -> dict[str, Any]:
    """What `model.parley` says."""
    said = json.loads(result.out or b"{}")
    seconds = said.pop("seconds", {})
    seconds = dict(seconds) if isinstance(seconds, dict) else {"train": seconds}
    seconds["hand_over"] = times["hand_over"]
    seconds["ranks"] = result.seconds
    seconds["fit"] = times["total"]
    said.pop("model", None)
    return {**said, "seconds": seconds, "rows": facts.rows, "columns": facts.size, "nonzeros": facts.nonzeros,
            "hand_over_bytes": facts.bytes, "tasks": len(facts.parts), "fits": runs}  # fmt: skip


def fit(frame: Any, weighted: bool, classes: bool, fits: list[tuple[Options, Callable[[Facts], dict]]],
        name: str) -> list[Fitted]:  # fmt: skip
    """Runs all fits with one hand-over."""
    options = fits[0][0]
    threads = options.threads or min(_session.Cluster(_session.context_of(frame)).cores() or [1])

    def commands(facts: Facts) -> list[list[str]]:
        out = []
        for one, settings in fits:
            values = {"inputs": "own", "row_order": "content", "json": True, "quiet": True, "log": "@log",
                      "model": "@model", "threads": threads, **settings(facts), **one.settings()}  # fmt: skip
            if facts.ranks == 1:
                values["engine"] = "threads"
            out.append(["train", "@rows", *words(values)])
        return out

    progress = _Progress(len(fits), options.progress)
    try:
        facts, results, times = _session.run(frame, weighted, classes, commands, progress.see, f"parley: {name}.fit")
    finally:
        progress.close()
    for (one, _), result in zip(fits, results):
        if one.log:
            with open(one.log, "a" if len(fits) > 1 else "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in result.log))
    return [Fitted(Model.from_bytes(r.model), _facts(r, facts, times, len(fits)), r.log) for r in results]
