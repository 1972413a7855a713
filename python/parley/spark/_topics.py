"""Spark's topic model, fitted by Parley's ranks. It returns Spark's own model."""

from __future__ import annotations

import math
from typing import Any

from pyspark.ml import clustering
from pyspark.mllib.common import _py2java
from pyspark.mllib.linalg import DenseMatrix, DenseVector
from pyspark.sql import functions as F

from .._library import ffi, make
from .._topics import contents
from . import _session
from ._driver import Facts
from ._estimator import Estimator
from ._fit import Rows

STEPS_PRESETS = ("angel-svi", "mllib-lda")  # a round is a step on a batch of all workers, as in Spark
GAMMA_SHAPE = 100.0  # of Spark's start of the proportions of a document


class LDA(Estimator, clustering.LDA):
    """pyspark.ml.clustering.LDA, fitted by Parley."""

    _spark, _command, _columns = clustering.LDA, "topics", ("featuresCol",)
    _ignored = {
        "checkpointInterval": "only optimizer em uses it; use checkpointEvery with checkpointDir",
        "keepLastCheckpoint": "only optimizer em uses it",
    }

    def _check(self) -> None:
        if self._value("optimizer") != "online":
            raise _session.illegal("optimizer em: Parley has online only; use Spark's LDA for em")
        if self._options.gap is not None:
            raise _session.illegal("gap: topic models have no duality gap; leave it out")
        if not self.isSet(self.docConcentration):
            return
        given = self._value("docConcentration")
        if len(set(given)) != 1:
            raise _session.illegal(
                "docConcentration: Parley takes one value for all topics; use Spark's LDA for several"
            )
        if self.isSet(self.optimizeDocConcentration) and self._value("optimizeDocConcentration"):
            raise _session.illegal(
                "docConcentration and optimizeDocConcentration: Parley learns the concentration from a start of its "
                "own; leave one of them out"
            )

    def _rows(self, dataset: Any, estimators: list[Any]) -> Rows:
        frame = _session.columns(dataset, self._value("featuresCol"), None, None)
        return Rows(frame.select("x", F.lit(0.0).alias("y")), False, False, [])

    def _alpha(self) -> float | str:
        if self.isSet(self.docConcentration):
            return float(self._value("docConcentration")[0])
        return "auto" if self._value("optimizeDocConcentration") else 1.0 / self._value("k")

    def _settings(self, facts: Facts, classes: int | None) -> dict[str, Any]:
        rate, preset = self._value("subsamplingRate"), self._options.preset or STEPS_PRESETS[0]
        most = max(1, self._value("maxIter"))
        length = {"rounds": most} if preset in STEPS_PRESETS else {"passes": max(1, math.ceil(most * rate))}
        settings = {
            "topics": self._value("k"),
            "alpha": self._alpha(),
            "eta": self._value("topicConcentration") if self.isSet(self.topicConcentration) else 1.0 / self._value("k"),
            "preset": preset,
            "seed": self._value("seed") % 2**63 if self.isSet(self.seed) else None,
            **length,
        }
        if preset == "angel-lda":  # samples, without batches
            return settings
        batch = {"batch": max(1, round(rate * facts.rows)), "inference": "variational"}
        return {**settings, **batch, "tau0": self._value("learningOffset"), "kappa": self._value("learningDecay")}

    def _make(self, fitted: Any, classes: int | None) -> Any:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context = SparkContext._active_spark_context
        handle = make("model", "parley_model_from_bytes", ffi.from_buffer(fitted.data), len(fitted.data))
        topics, alpha, rest = contents(handle)
        k, words = topics.shape
        values = [_py2java(context, value) for value in (DenseMatrix(words, k, topics.ravel()), DenseVector(alpha))]
        old = self._java("org.apache.spark.mllib.clustering.LocalLDAModel")(*values, float(rest.eta), GAMMA_SHAPE)
        old.setSeed(self._value("seed"))
        session = SparkSession.active()._jsparkSession
        java = self._java("org.apache.spark.ml.clustering.LocalLDAModel")(self.uid, words, old, session)
        return self._model(java, fitted)
