"""`train`: any loss, preset and setting of Parley on the rows of a frame, and the model that it returns."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .._library import settings as check_settings
from .._links import facts
from .._model import Model
from .._run import ROW
from . import _session, _task
from ._driver import Facts
from ._fit import Fit, Options, Rows, fit, in_python

#: Settings that the hand-over decides, or that name files of one machine.
_OURS = {
    "inputs": "rows come from the frame",
    "model": "the model is returned; save it with its method save",
    "log": "give it as the option log",
    "json": "the summary is in model.summary",
    "quiet": "use the option progress",
    "checkpoint": "use checkpointDir",
    "resume": "use resume=True with checkpointDir",
    "weights": "use weightCol",
    "offset_column": "use offsetCol",
    "validation": "use validation_fraction",
    "start": "ranks run on executors, which may not have this file",
    "replay": "ranks run on executors, which may not have this file",
    "engine": "ranks choose it by their number",
}


class SparkModel(Model):
    """A model of Parley that applies itself to frames.

    Attributes
    ----------
    parley : dict
        Objective, gap, rounds, seconds by phase, bytes and more, as for the models of the estimators.
    log : list of str
        The log of the run: one JSON object per line.
    """

    parley: dict[str, Any]
    log: list[str]

    def transform(self, df: Any, featuresCol: str | list[str] = "features", predictionCol: str = "prediction",
                  rawPredictionCol: str | None = None, probabilityCol: str | None = None,
                  offsetCol: str | None = None) -> Any:  # fmt: skip
        """Adds predictions to a frame.

        Parameters
        ----------
        df : DataFrame
            Rows.
        featuresCol : str or list of str, default="features"
            A column of vectors, or columns of numbers.
        predictionCol : str, default="prediction"
            Name of the new column: class labels, values or expected counts.
        rawPredictionCol : str, default=None
            Name of a new column of decision values, as vectors.
        probabilityCol : str, default=None
            Name of a new column of probabilities, as vectors, for losses logistic and softmax.
        offsetCol : str, default=None
            The column of offsets, which a model that was trained with offsets needs.

        Returns
        -------
        df : DataFrame
            The frame with the new columns.
        """
        from pyspark.ml.linalg import VectorUDT
        from pyspark.sql.types import DoubleType, StructField, StructType

        _session._ship_by_value()
        loss = facts(self.loss)
        if probabilityCol and not loss.probabilities:
            raise _session.illegal(f"the loss {self.loss} has no probabilities; leave probabilityCol out")
        if bool(offsetCol) != bool(self.meta.get("offset_column")):
            had, what = ("without", "leave offsetCol out") if offsetCol else ("with", "give offsetCol")
            raise _session.illegal(f"the model was trained {had} offsets; {what}")
        frame, name, added = _vectors(df, featuresCol, offsetCol)
        new = [StructField(predictionCol, DoubleType())]
        new += [StructField(column, VectorUDT()) for column in (rawPredictionCol, probabilityCol) if column]
        schema = StructType([*df.schema.fields, *new])
        shipped = frame.sparkSession.sparkContext.broadcast(
            (self.coef, self.intercept, self.labels, bool(loss.log_link), bool(loss.together))
        )
        wanted = (bool(rawPredictionCol), bool(probabilityCol))
        return frame.mapInArrow(_task.applier(shipped, frame.columns.index(name), added, wanted), schema)


def _vectors(df: Any, features: str | list[str], offset: str | None = None) -> tuple[Any, str, bool]:
    """A frame with a column of vectors, whose last entry is the offset, its name, and whether it was added."""
    if isinstance(features, str) and not offset:
        return df, features, False
    features = [*([features] if isinstance(features, str) else features), *([offset] if offset else [])]
    from pyspark.ml.feature import VectorAssembler

    name = "parley_features"
    return VectorAssembler(inputCols=list(features), outputCol=name, handleInvalid="keep").transform(df), name, True


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    for name in settings:
        if name.rstrip("_") in _OURS:
            raise _session.illegal(f"{name} cannot be given here: {_OURS[name.rstrip('_')]}")
    if settings.get("preset") == "online":
        raise _session.illegal("preset online learns from a stream in one process; use another preset in Spark")
    try:
        check_settings(settings)
    except ValueError as cause:
        raise _session.illegal(in_python(str(cause), {})) from None
    return {name.rstrip("_"): value for name, value in settings.items() if value is not None}


def _rows_of(lines: list[str]) -> np.ndarray:
    """The rounds of a log as the table `run` of a model."""
    events = [event for event in map(json.loads, lines) if event.get("event") == "round"]
    rows = [tuple(event.get(name) if event.get(name) is not None else np.nan for name in ROW.names) for event in events]
    return np.array(rows, ROW)


def train(df: Any, featuresCol: str | list[str] = "features", labelCol: str = "label", weightCol: str | None = None, *,
          offsetCol: str | None = None, threads: int | None = None, checkpointDir: str | os.PathLike | None = None,
          checkpointEvery: str | None = None, resume: bool = False, maxRestarts: int = 0,
          log: str | os.PathLike | None = None, progress: bool | None = None,
          **settings: Any) -> SparkModel:  # fmt: skip
    """Train a model with Parley's own settings on the rows of a frame, as `parley train` does on a file.

    Parameters
    ----------
    df : DataFrame
        Rows.
    featuresCol : str or list of str, default="features"
        A column of vectors, or columns of numbers.
    labelCol, weightCol : str
        Columns of labels and of weights.
    offsetCol : str, default=None
        A column of offsets, which are added to x.w + b, such as the logarithm of an exposure.
    threads : int, default=None
        Threads of each rank. None: all cores of its executor.
    checkpointDir : path, default=None
        A folder that all executors reach, for checkpoints.
    checkpointEvery : str, default=None
        Such as "50r" for 50 rounds or "60s" for 60 seconds.
    resume : bool, default=False
        Continue from the newest checkpoint in ``checkpointDir``.
    maxRestarts : int, default=0
        How many times to start again after an executor or a process is lost.
    log : path, default=None
        A file of the driver for the log of the run.
    progress : bool, default=None
        Show progress. None: if standard error is a terminal.
    **settings
        Any setting of `parley train` by its name with `_` for `-`: ``loss``, ``lambda_``, ``preset``, ``workers``, ...

    Returns
    -------
    model : SparkModel
        The model, with ``transform``, ``save``, ``parley``, ``log`` and ``run``.
    """
    values = _checked(settings)
    _session.context_of(df)
    frame, name, _ = _vectors(df, featuresCol, offsetCol)
    rows = Rows(_session.columns(frame, name, labelCol, weightCol), bool(weightCol), False, [])
    if values.get("workers"):
        values.setdefault("lanes", 1)
    options = Options(threads=threads, checkpointDir=checkpointDir, checkpointEvery=checkpointEvery, resume=resume,
                      maxRestarts=maxRestarts, log=log, progress=progress)  # fmt: skip

    def with_data(facts: Facts) -> dict[str, Any]:
        return {**values, "offset_column": str(facts.size)} if offsetCol else values

    fitted = fit(rows, [Fit(options, with_data, names={})], "parley.spark.train")[0]
    model = SparkModel(fitted.model._handle, fitted.facts, _rows_of(fitted.lines))
    model.parley, model.log = fitted.facts, fitted.lines
    return model
