"""What Parley's estimators for Spark share: options, one hand-over for several parameter maps, save and load."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.ml.param import Param
from pyspark.ml.util import JavaMLReader

from . import _session
from ._driver import Facts
from ._fit import Fit, Options, Rows, fit


class Estimator:
    """Comes before a class of PySpark. Parley's own options are not Spark's Params, since the JVM knows no others."""

    _spark: Any  # the class of PySpark
    _command = "train"
    _columns: tuple[str, ...]  # parameters that name columns
    _ignored: dict[str, str]  # parameters without effect, and why

    def __init__(self, **options: Any):
        self._options, given = Options.split(options, self._spark)
        super().__init__(**given)

    @classmethod
    def read(cls) -> Any:
        return _Reader(cls)

    def setParams(self, **options: Any) -> Any:
        self._options, given = Options.split(options, self._spark, self._options)
        return super().setParams(**given) if given else self

    def _value(self, name: str) -> Any:
        return self.getOrDefault(self.getParam(name))

    def _refuse_ignored(self) -> None:
        for name, why in self._ignored.items():
            param: Param = self.getParam(name)
            if self.isSet(param) and self.getOrDefault(param) != self._defaultParamMap.get(param):
                raise _session.illegal(f"{name} has no effect on Parley: {why}; leave it out")

    def _refuse_invalid(self) -> None:
        """Has Spark check the parameters that were set, with its own exception."""
        for param, value in self._paramMap.items():
            self._java_obj.set(self._make_java_param_pair(param, value))

    def _fit(self, dataset: Any) -> Any:
        return self._fit_all(dataset, [self])[0]

    def _fit_all(self, dataset: Any, estimators: list[Any]) -> list[Any]:
        """Fits estimators that read the same columns, with one hand-over of the rows."""
        _session.context_of(dataset)  # a session of Connect is refused before Spark's JVM is asked
        for estimator in estimators:
            estimator._refuse_invalid()
            estimator._refuse_ignored()
            estimator._check()
        rows, classes = self._rows(dataset, estimators), self._number_of_classes(dataset)
        fits = [Fit(e._options, lambda facts, e=e: e._settings(facts, classes), self._command) for e in estimators]
        fitted = fit(rows, fits, type(self).__name__)
        return [e._make(one, classes) for e, one in zip(estimators, fitted)]

    def fitMultiple(self, dataset: Any, paramMaps: Any) -> Any:
        estimators = [self.copy(params) for params in paramMaps]
        if len({tuple(e._column_names()) for e in estimators}) != 1:
            return super().fitMultiple(dataset, paramMaps)
        return _Models(estimators[0], dataset, estimators)

    def _column_names(self) -> list[str]:
        return [self._value(name) if self.isDefined(self.getParam(name)) else "" for name in self._columns]

    def _java(self, name: str) -> Any:
        """A class of the JVM."""
        from pyspark import SparkContext

        return getattr(SparkContext._active_spark_context._jvm, name)

    def _model(self, java: Any, fitted: Any) -> Any:
        """PySpark's model around a model of the JVM, with the parameters of this estimator."""
        model = self._copyValues(self._create_model(java))
        model.parley = fitted.facts
        return model

    def _number_of_classes(self, dataset: Any) -> int | None:
        return None

    def _check(self) -> None: ...

    def _rows(self, dataset: Any, estimators: list[Any]) -> Rows:
        raise NotImplementedError

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
