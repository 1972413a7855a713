"""Spark's linear estimators, fitted by Parley's ranks. They return Spark's own models."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

import numpy as np
from pyspark.ml import classification, regression
from pyspark.ml.common import _py2java
from pyspark.ml.linalg import DenseMatrix, DenseVector, Vectors
from pyspark.ml.param import Param
from pyspark.ml.util import JavaMLReader
from pyspark.sql import functions as F

from . import _session
from ._driver import Facts
from ._fit import Fit, Options, fit
from ._task import SCALE

LEAST_PENALTY = 1e-6  # of the hinge loss, for which regParam 0 stands: without a penalty its optimum is not unique
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


class _Parley:
    """What the estimators share. Parley's own options are not Spark's Params, since the JVM knows no others."""

    _spark: Any  # the class of PySpark
    _classes: bool
    _ignored = {
        "aggregationDepth": "ranks add in a tree of their own",
        "maxBlockSizeInMB": "ranks choose their own blocks",
    }

    def __init__(self, **options: Any):
        self._options, given = Options.split(options)
        super().__init__(**given)

    @classmethod
    def read(cls) -> Any:
        return _Reader(cls)

    def setParams(self, **options: Any) -> Any:
        self._options, given = Options.split(options, self._options)
        return super().setParams(**given) if given else self

    def _value(self, name: str) -> Any:
        return self.getOrDefault(self.getParam(name))

    def _refuse_ignored(self) -> None:
        for name, why in self._ignored.items():
            param: Param = self.getParam(name)
            if self.isSet(param) and self.getOrDefault(param) != self._defaultParamMap.get(param):
                raise _session.illegal(f"{name} has no effect on Parley: {why}; leave it out")

    def _frame(self, dataset: Any) -> tuple[Any, bool]:
        weight = self._value("weightCol") if self.isDefined(self.getParam("weightCol")) else ""
        columns = [F.col(self._value("featuresCol")), F.col(self._value("labelCol")).cast("double")]
        if weight:
            columns.append(F.col(weight).cast("double"))
        return dataset.select(*columns), bool(weight)

    def _common(self) -> dict[str, Any]:
        """Settings of all estimators."""
        return {
            "gap": self._options.gap if self._options.gap is not None else self._value("tol"),
            "rounds": max(1, self._value("maxIter")),
            "intercept": "free" if self._value("fitIntercept") else "none",
            "standardise": bool(self._value("standardization")),
        }

    def _strength(self, moments: Moments) -> dict[str, float]:
        """The penalty in Parley's units."""
        strength, ratio = self._value("regParam"), self._value("elasticNetParam")
        factor = moments.factor() if self._value("standardization") else 1.0
        return penalty(strength * ratio * math.sqrt(factor), strength * (1 - ratio) * factor)

    def _fit(self, dataset: Any) -> Any:
        return self._fit_all(dataset, [self])[0]

    def _fit_all(self, dataset: Any, estimators: list[Any]) -> list[Any]:
        """Fits estimators that read the same columns, with one hand-over of the rows."""
        for estimator in estimators:
            estimator._refuse_ignored()
            estimator._check()
        frame, weighted = self._frame(dataset)
        classes = self._number_of_classes(dataset)
        fits = [Fit(e._options, lambda facts, e=e: e._settings(facts, classes)) for e in estimators]
        fitted = fit(frame, weighted, self._classes, fits, type(self).__name__)
        return [e._make(one, classes) for e, one in zip(estimators, fitted)]

    def _number_of_classes(self, dataset: Any) -> int | None:
        """As the metadata of the label column say."""
        meta = dataset.schema[self._value("labelCol")].metadata.get("ml_attr", {})
        values = meta.get("vals")
        return len(values) if values else meta.get("num_vals")

    def fitMultiple(self, dataset: Any, paramMaps: Any) -> Any:
        estimators = [self.copy(params) for params in paramMaps]
        columns = {tuple(e._columns()) for e in estimators}
        if len(columns) != 1:
            return super().fitMultiple(dataset, paramMaps)
        return _Models(estimators[0], dataset, estimators)

    def _columns(self) -> list[str]:
        names = ["featuresCol", "labelCol", "weightCol"]
        return [self._value(name) if self.isDefined(self.getParam(name)) else "" for name in names]

    def _java_model(self, name: str, fitted: Any, *values: Any) -> Any:
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        java = context._jvm
        for part in name.split("."):
            java = getattr(java, part)
        values = [_py2java(context, v) if isinstance(v, (DenseVector, DenseMatrix)) else v for v in values]
        model = self._create_model(java(self.uid, *values))
        model = self._copyValues(model)
        model.parley = fitted.facts
        return model

    def _check(self) -> None: ...

    def _settings(self, facts: Facts, classes: int | None) -> dict[str, Any]:
        raise NotImplementedError

    def _make(self, fitted: Any, classes: int | None) -> Any:
        raise NotImplementedError


class _Models:
    """Iterates over the models of several parameter maps, which are fitted together when the first is asked for. It
    may be used from several threads."""

    def __init__(self, estimator: Any, dataset: Any, estimators: list[Any]):
        self.estimator, self.dataset, self.estimators = estimator, dataset, estimators
        self.lock, self.models, self.next = threading.Lock(), None, 0

    def __iter__(self) -> _Models:
        return self

    def __next__(self) -> tuple[int, Any]:
        with self.lock:
            if self.next >= len(self.estimators):
                raise StopIteration
            if self.models is None:
                self.models = self.estimator._fit_all(self.dataset, self.estimators)
            self.next += 1
            return self.next - 1, self.models[self.next - 1]


class _Reader:
    """Reads an estimator that was saved, which is Spark's own."""

    def __init__(self, to: Any):
        self.to, self.reader = to, JavaMLReader(to._spark)

    def load(self, path: str) -> Any:
        loaded, new = self.reader.load(path), self.to()
        new._resetUid(loaded.uid)
        for param in loaded.params:
            if loaded.isSet(param):
                new.set(new.getParam(param.name), loaded.getOrDefault(param))
        return new


def _two_classes(facts: Facts, what: str) -> None:
    if facts.labels and facts.labels[-1] > 1:
        raise ValueError(f"{what} has two classes, with labels 0 and 1, but there is a label {facts.labels[-1]}")
    _several_classes(facts)


def _several_classes(facts: Facts) -> None:
    if len(facts.labels) < 2:
        only = facts.labels[0] if facts.labels else "none"
        raise ValueError(f"all rows have the label {only}; at least two classes are needed")


class LogisticRegression(_Parley, classification.LogisticRegression):
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
            matrix = DenseMatrix(1, coef.shape[1], coef.ravel().tolist(), True)
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
        matrix = DenseMatrix(count, coef.shape[1], whole.ravel().tolist(), True)
        return self._java_model(name, fitted, matrix, Vectors.dense(offsets), count, True)


class LinearSVC(_Parley, classification.LinearSVC):
    """pyspark.ml.classification.LinearSVC, fitted by Parley."""

    _spark, _classes = classification.LinearSVC, True

    def _strength(self, moments: Moments) -> dict[str, float]:
        factor = moments.factor() if self._value("standardization") else 1.0
        return penalty(0.0, max(self._value("regParam") * factor, LEAST_PENALTY))

    def _settings(self, facts: Facts, classes: int | None) -> dict[str, Any]:
        _two_classes(facts, "LinearSVC")
        return {**self._common(), **self._strength(Moments(facts)), "loss": "hinge"}

    def _make(self, fitted: Any, classes: int | None) -> Any:
        name = "org.apache.spark.ml.classification.LinearSVCModel"
        return self._java_model(name, fitted, Vectors.dense(fitted.coef.ravel()), float(fitted.intercept[0]))


class LinearRegression(_Parley, regression.LinearRegression):
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
