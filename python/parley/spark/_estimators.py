"""Spark's linear estimators, fitted by Parley's ranks. They return Spark's own models."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from pyspark.ml import classification, regression
from pyspark.ml.common import _py2java
from pyspark.ml.linalg import DenseMatrix, DenseVector, Vectors
from pyspark.ml.stat import Summarizer
from pyspark.sql import functions as F

from . import _session
from ._driver import Facts
from ._estimator import Estimator
from ._fit import Rows
from ._task import SCALE

LEAST_PENALTY = 1e-4  # of the hinge loss, for which regParam 0 stands: without a penalty its optimum is not unique
NORMAL_COLUMNS = 4096  # Spark solves LinearRegression by the normal equations up to this many


class Moments:
    """Sums over the rows, as numbers."""

    def __init__(self, facts: Facts):
        self.weight, squares, y, yy = (Fraction(total, 2**SCALE) for total in facts.sums)
        self.unbiased = self.weight - squares / self.weight
        self.mean = y / self.weight
        self.variance = max(yy / self.weight - self.mean * self.mean, Fraction(0))

    def factor(self) -> float:
        """Spark's variance of a column over the variance that divides by the sum of weights."""
        return float(self.weight / self.unbiased) if self.unbiased > 0 else 1.0


def penalty(l1: float, l2: float) -> dict[str, float]:
    """Parley's strength and ratio."""
    strength = l1 + l2
    return {"lambda": strength, "l1_ratio": l1 / strength if strength > 0 else 0.0}


class _Linear(Estimator):
    """What the linear estimators share."""

    _classes: bool
    _columns = ("featuresCol", "labelCol", "weightCol")
    _ignored = {
        "aggregationDepth": "ranks add in a tree of their own",
        "maxBlockSizeInMB": "ranks choose their own blocks",
    }

    def _rows(self, dataset: Any, estimators: list[Any]) -> Rows:
        weight = (self._value("weightCol") if self.isDefined(self.getParam("weightCol")) else None) or None
        frame = _session.columns(dataset, self._value("featuresCol"), self._value("labelCol"), weight)
        left_out = _constant_columns(frame) if any(e._keeps_constants() for e in estimators) else []
        return Rows(frame, bool(weight), self._classes, left_out)

    def _keeps_constants(self) -> bool:
        """Would Parley give constant columns a coefficient? Spark never does. Standardised, they have none, and beside
        an intercept a penalty makes it 0."""
        return not self._value("standardization") and (not self._value("fitIntercept") or self._value("regParam") == 0)

    def _common(self) -> dict[str, Any]:
        """Settings of all linear estimators."""
        return {
            "gap": self._options.gap if self._options.gap is not None else self._value("tol"),
            "rounds": max(1, self._value("maxIter")) if self.isSet(self.getParam("maxIter")) else None,
            "intercept": "free" if self._value("fitIntercept") else "none",
            "standardise": bool(self._value("standardization")),
            "scale_indicators": bool(self._value("standardization")),
        }

    def _strength(self, moments: Moments) -> dict[str, float]:
        """The penalty in Parley's units."""
        strength, ratio = self._value("regParam"), self._value("elasticNetParam")
        factor = moments.factor() if self._value("standardization") else 1.0
        return penalty(strength * ratio * math.sqrt(factor), strength * (1 - ratio) * factor)

    def _number_of_classes(self, dataset: Any) -> int | None:
        """As the metadata of the label column say."""
        meta = dataset.schema[self._value("labelCol")].metadata.get("ml_attr", {})
        values = meta.get("vals")
        return len(values) if values else meta.get("num_vals")

    def _java_model(self, name: str, fitted: Any, *values: Any) -> Any:
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        values = [_py2java(context, v) if isinstance(v, (DenseVector, DenseMatrix)) else v for v in values]
        return self._model(self._java(name)(self.uid, *values), fitted)


def _constant_columns(frame: Any) -> list[int]:
    """Columns whose variance is 0, as Spark computes it."""
    summary = Summarizer.metrics("variance")
    weight = [F.col(frame.columns[2])] if len(frame.columns) > 2 else []
    row = frame.select(summary.summary(F.col(frame.columns[0]), *weight).alias("s")).select("s.variance").first()
    return np.flatnonzero(row[0].toArray() == 0).tolist()


def _two_classes(facts: Facts, what: str) -> None:
    if facts.labels and facts.labels[-1] > 1:
        raise ValueError(f"{what} has two classes, with labels 0 and 1, but there is a label {facts.labels[-1]}")
    _several_classes(facts)


def _several_classes(facts: Facts) -> None:
    if len(facts.labels) < 2:
        only = facts.labels[0] if facts.labels else "none"
        raise ValueError(f"all rows have the label {only}; at least two classes are needed")


class LogisticRegression(_Linear, classification.LogisticRegression):
    """pyspark.ml.classification.LogisticRegression, fitted by Parley."""

    _spark, _classes = classification.LogisticRegression, True

    def _check(self) -> None:
        for name in ("lowerBoundsOnCoefficients", "upperBoundsOnCoefficients", "lowerBoundsOnIntercepts",
                     "upperBoundsOnIntercepts"):  # fmt: skip
            if self.isSet(self.getParam(name)):
                raise _session.illegal(f"{name}: Parley has no bounds on coefficients; use Spark's LogisticRegression")

    def _multinomial(self, facts: Facts, classes: int | None) -> bool:
        count = max(classes or 0, facts.labels[-1] + 1 if facts.labels else 0)
        family = self._value("family").lower()
        if family == "binomial" and count > 2:
            raise ValueError(f"family is binomial, but there are {count} classes; use multinomial or auto")
        return family == "multinomial" or (family == "auto" and count > 2)

    def _settings(self, facts: Facts, classes: int | None) -> dict[str, Any]:
        _several_classes(facts)
        self._is_multinomial = self._multinomial(facts, classes)
        loss = "softmax" if self._is_multinomial else "logistic"
        return {**self._common(), **self._strength(Moments(facts)), "loss": loss}

    def _make(self, fitted: Any, classes: int | None) -> Any:
        coef, intercept, labels = fitted.coef, fitted.intercept, fitted.labels
        name = "org.apache.spark.ml.classification.LogisticRegressionModel"
        if not self._is_multinomial:
            matrix = DenseMatrix(1, coef.shape[1], coef.ravel(), True)
            return self._java_model(name, fitted, matrix, Vectors.dense(intercept), 2, False)
        count = max(classes or 0, int(labels[-1]) + 1)
        if coef.shape[0] == 1:  # two classes of which the model has the difference
            coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
        if self._value("regParam") == 0:
            coef = coef - coef.mean(axis=0)
        if self._value("fitIntercept"):
            intercept = intercept - intercept.mean()
        whole, offsets = np.zeros((count, coef.shape[1])), np.zeros(count)
        if len(labels) < count and self._value("fitIntercept"):
            offsets[:] = -math.inf  # a class without rows is never predicted
        rows = labels.astype(int)
        whole[rows], offsets[rows] = coef, intercept
        matrix = DenseMatrix(count, coef.shape[1], whole.ravel(), True)
        return self._java_model(name, fitted, matrix, Vectors.dense(offsets), count, True)


class LinearSVC(_Linear, classification.LinearSVC):
    """pyspark.ml.classification.LinearSVC, fitted by Parley."""

    _spark, _classes = classification.LinearSVC, True

    def _strength(self, moments: Moments) -> dict[str, float]:
        factor = moments.factor() if self._value("standardization") else 1.0
        return penalty(0.0, self._value("regParam") * factor or LEAST_PENALTY)

    def _settings(self, facts: Facts, classes: int | None) -> dict[str, Any]:
        _two_classes(facts, "LinearSVC")
        return {**self._common(), **self._strength(Moments(facts)), "loss": "hinge"}

    def _make(self, fitted: Any, classes: int | None) -> Any:
        name = "org.apache.spark.ml.classification.LinearSVCModel"
        return self._java_model(name, fitted, Vectors.dense(fitted.coef.ravel()), float(fitted.intercept[0]))


class LinearRegression(_Linear, regression.LinearRegression):
    """pyspark.ml.regression.LinearRegression, fitted by Parley."""

    _spark, _classes = regression.LinearRegression, False

    def _check(self) -> None:
        if self._value("loss") == "huber":
            raise _session.illegal(
                "loss huber: Spark estimates a scale with it, which Parley does not; use parley.spark.train with "
                "loss='huber' and huber_width, or Spark's LinearRegression"
            )

    def _settings(self, facts: Facts, classes: int | None) -> dict[str, Any]:
        moments = Moments(facts)
        solver = self._value("solver")
        if solver == "normal" and facts.size > NORMAL_COLUMNS:
            raise ValueError(
                f"solver normal takes at most {NORMAL_COLUMNS} features, and there are {facts.size}; use auto or l-bfgs"
            )
        normal = solver == "normal" or (solver == "auto" and facts.size <= NORMAL_COLUMNS)
        factor = 1.0 if normal else moments.factor()
        deviation = math.sqrt(moments.variance * Fraction(factor))
        strength, ratio = self._value("regParam"), self._value("elasticNetParam")
        if deviation == 0:
            deviation = abs(float(moments.mean)) or 1.0
            if strength > 0 and not self._value("fitIntercept") and moments.mean != 0:
                raise ValueError("all labels are equal, so that Spark has no scale for regParam; set regParam to 0")
        factor = factor if self._value("standardization") else 1.0
        l1, l2 = strength * ratio * math.sqrt(factor), strength * (1 - ratio) / deviation * factor
        return {**self._common(), **penalty(l1, l2), "loss": "squared"}

    def _make(self, fitted: Any, classes: int | None) -> Any:
        name = "org.apache.spark.ml.regression.LinearRegressionModel"
        return self._java_model(name, fitted, Vectors.dense(fitted.coef.ravel()), float(fitted.intercept[0]))
