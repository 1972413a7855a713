"""Base classes of the estimators: they check the data, run the core and set the attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from . import _limits, _offsets, _run
from ._compat import Tagged, check_labels, class_weights, distinct, validate
from ._data import Frame, Table, framed, from_arrays
from ._report import Reported

if TYPE_CHECKING:
    from typing_extensions import Self

FLOATS = (np.float64, np.float32)
_LOOSE = 0.1  # the largest gap: from 1 on, a model of zeros would do
SMALL = 20_000  # values in a table up to which a fit costs little, however exact it is


class Fit(NamedTuple):
    """The result of one run of the core. `caught` is the exception that ended it early, which is raised after the
    result is stored."""

    coef: np.ndarray
    intercept: np.ndarray
    summary: dict[str, Any]
    log: np.ndarray
    caught: BaseException | None = None


def together(fits: list[Fit]) -> Fit:
    """Combines fits of independent problems into one: objectives and gaps are summed."""
    summary = dict(fits[0].summary)
    for name in ("objective", "dual", "gap", "relative_gap"):
        summary[name] = sum(fit.summary[name] for fit in fits)
    summary["rounds"] = max(fit.summary["rounds"] for fit in fits)
    summary["gaps"] = [fit.summary["gap"] for fit in fits]
    summary["rounds_of_each"] = [fit.summary["rounds"] for fit in fits]
    summary["stop"] = next((f.summary["stop"] for f in fits if f.summary["stop"] != "converged"), "converged")
    coef, intercept, log = (np.concatenate([fit[i] for fit in fits]) for i in (0, 1, 3))
    return Fit(coef, intercept, summary, log, next((fit.caught for fit in fits if fit.caught), None))


def checked_weight(sample_weight: Any, rows: int, zeros: bool = False) -> np.ndarray | None:
    """One weight per row as float64, or None if all are 1. `zeros`: all may be 0."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has {weight.ndim} dimensions; give one per row"
        )
    if weight.shape[0] != rows:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(rows,)}: one weight per row")
    assert_all_finite(weight, input_name="sample_weight")
    if (weight < 0).any():
        raise ValueError("sample_weight has negative weights; they must be 0 or more")
    if not zeros and not weight.any():
        raise ValueError("the weights in sample_weight are all zero; at least one must be above 0")
    return weight


def numbered(y: np.ndarray, classes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in increasing order, and the class number of each row. `classes`: they are known."""
    classes = distinct(y) if classes is None else classes
    return classes, (y == classes[1]).astype(np.intp) if len(classes) == 2 else np.searchsorted(classes, y)


def several(codes: np.ndarray, weight: np.ndarray | None) -> None:
    """Raises ValueError if all rows belong to one class."""
    seen = codes if weight is None else codes[weight > 0]
    if seen.min() == seen.max():
        raise ValueError("only one class has rows with positive weight; a classifier needs at least 2 classes")


def total(weight: np.ndarray | None, rows: int) -> float:
    return float(rows) if weight is None else float(weight.sum())


def dense(coef: Any) -> np.ndarray:
    """Coefficients as an array of outputs x columns."""
    return np.atleast_2d(coef.toarray() if sp.issparse(coef) else coef)


def seed(random_state: Any) -> int | None:
    """The seed of the core; None: its default, so that the same fit gives the same bytes."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))


def widened(X: Any, problem: dict[str, Any], scale: float) -> tuple[Any, dict[str, Any]]:
    """Rows and problem with a column of `scale` instead of a penalised intercept."""
    if scale == 1.0:
        return X, dict(problem)
    column = np.full((X.shape[0], 1), scale, X.dtype)
    wide = sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
    return wide, {**problem, "intercept": "none"}


class Linear(Reported, Tagged, BaseEstimator):
    """Base of all estimators. `_only` lists the parameters that accept only some of scikit-learn's values, and why."""

    _only: ClassVar[dict[str, tuple[tuple, str]]] = {}
    _offset: np.ndarray | None = None  # of the rows, while a fit runs whose loss is computed at z + offset
    has_offset_ = False
    _exact: ClassVar[float | None] = None  # the gap to which small tables are solved; 0: as far as rounding allows
    _complaint: ClassVar[str] = "The run did not converge"
    _narrow: ClassVar[bool] = False  # whether the model of float32 data has float32 coefficients, as in scikit-learn
    _zero: ClassVar[bool] = True  # whether a fit without an intercept sets the number 0 for all outputs

    def _keep(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _refuse(self) -> None:
        _limits.check(self)
        for name, (accepted, why) in self._only.items():
            value = getattr(self, name)
            if value not in accepted:
                words = " or ".join(map(repr, accepted))
                raise ValueError(f"{type(self).__name__}: {name}={value!r} is not supported: {why}; use {words}")

    def _gap(self) -> float:
        """The gap at which the run ends. Small tables are solved further than `tol`, because coefficients are accurate
        only to the root of the gap, and a row of weight 2 should give the same ones as two rows."""
        small = self._exact is not None and getattr(self, "_values", np.inf) <= SMALL
        return min(self.tol, self._exact) if small else min(self.tol, _LOOSE)

    def _most_rounds(self) -> int | None:
        """`max_iter`, and 1 for 0: without a round there is no model."""
        most = getattr(self, "max_iter", None)
        return None if most is None else max(1, int(most))

    def _method(self) -> dict[str, Any]:
        """Settings of the method, as opposed to the problem."""
        return {
            "gap": self._gap(), "rounds": self._most_rounds(), "threads": _run.threads(self.n_jobs),
            "seed": seed(getattr(self, "random_state", None)), "preset": self.preset, "workers": self.workers,
            "local_steps": self.local_steps,
        }  # fmt: skip

    def _checked(self, X: Any, y: Any, finite: bool = False, **options: Any) -> tuple[Any, Any]:
        """Checks X and y as scikit-learn does. The core checks that values are finite when it reads them."""
        X, y = validate(self, X, y, finite=finite, accept_sparse="csr", dtype=FLOATS, **options)
        self._values = X.nnz if sp.issparse(X) else X.size
        self._dtype = X.dtype if self._narrow else np.dtype(float)
        return X, y

    def _keep_model(self, coef: np.ndarray, intercept: Any) -> None:
        """Sets `coef_` and `intercept_`, in float32 for such data. A single intercept is a number of numpy."""
        self.coef_ = np.asarray(coef, self._dtype)
        if self._zero and not getattr(self, "fit_intercept", True):
            self.intercept_ = 0.0
            return
        self.intercept_ = self._dtype.type(intercept) if np.ndim(intercept) == 0 else np.asarray(intercept, self._dtype)

    def _data(self, X: Any, y: Any, weight: Any) -> Any:
        try:
            return from_arrays(X, y, weight, _run.threads(self.n_jobs) or 0)
        except ValueError:
            assert_all_finite(X.data if hasattr(X, "tocsr") else X, input_name="X")
            raise

    def _start(self, loss: str, frame: Frame, outputs: int = 1, labels: Any = None) -> Any:
        """The model of the last fit, to start from, if there is one of the same shape."""
        if not getattr(self, "warm_start", False) or getattr(self, "coef_", None) is None:
            return _run.ffi.NULL
        coef = dense(self.coef_)
        if coef.shape != (outputs, frame.X.shape[1]):
            return _run.ffi.NULL
        intercept = np.broadcast_to(np.asarray(getattr(self, "intercept_", 0.0), float), (outputs,))
        intercept = frame.inside(coef, intercept)
        if self._offset is not None:
            coef = np.column_stack([coef, np.ones(outputs)])
        return _run.model_of(loss, coef, intercept, labels)

    def _solve(self, X: Any, y: Any, weight: Any, problem: dict, outputs: int = 1, labels: Any = None) -> Fit:
        """Runs the core on checked arrays."""
        if getattr(self, "max_iter", None) == 0:
            return self._unchanged(X.shape[1], outputs)
        scaling = float(getattr(self, "intercept_scaling", 1.0))
        if scaling != 1 and problem["intercept"] == "penalised":
            return self._solve_scaled(X, y, weight, problem, outputs, labels, scaling)
        if problem["loss"] == "squared" and not sp.issparse(X):
            return self._solve_table(X, y, weight, problem)[0]
        frame = framed(X, y, problem["loss"], problem["intercept"])
        start = self._start(problem["loss"], frame, outputs, labels)
        columns, rows = X.shape[1], frame.X
        if self._offset is not None:
            rows, problem = _offsets.beside(rows, self._offset), {**problem, "offset_column": str(columns)}
        data = self._data(rows, frame.y, weight)
        watch = _run.Watch(self.verbose)
        model, summary, log = _run.train(data, {**problem, **self._method()}, start, watch)
        coef, intercept = _run.coefficients(model)
        coef = coef[:, :columns]
        return Fit(coef, frame.outside(coef, intercept), summary, log, watch.caught)

    def _solve_scaled(
        self, X: Any, y: Any, weight: Any, problem: dict, outputs: int, labels: Any, scaling: float
    ) -> Fit:
        """A penalised intercept is the coefficient of a column of `scaling`, times `scaling`."""
        wide, problem = widened(X, problem, scaling)
        fit = self._solve(wide, y, weight, problem, outputs, labels)
        return fit._replace(coef=fit.coef[:, :-1], intercept=scaling * fit.coef[:, -1])

    def _unchanged(self, columns: int, outputs: int) -> Fit:
        """The model of a fit of no rounds: what it starts from."""
        coef, intercept = np.zeros((outputs, columns)), np.zeros(outputs)
        if getattr(self, "warm_start", False) and dense(getattr(self, "coef_", 0.0)).shape == coef.shape:
            coef, intercept = dense(self.coef_), np.broadcast_to(np.asarray(self.intercept_, float), (outputs,))
        numbers = dict.fromkeys(("objective", "dual", "gap", "relative_gap"), np.nan)
        return Fit(coef, intercept, {**numbers, "stop": "rounds", "rounds": 0}, np.zeros(0, _run.ROW))

    def _solve_table(self, X: np.ndarray, y: Any, weight: Any, problem: dict) -> tuple[Fit, Any]:
        """Runs the core on a table in memory. Returns also the handle of the model."""
        start, watch = self._start(problem["loss"], Frame(X, y)), _run.Watch(self.verbose)
        try:
            model, summary, log = _run.train(Table(X, y, weight), {**problem, **self._method()}, start, watch)
        except ValueError:
            assert_all_finite(X, input_name="X")
            raise
        return Fit(*_run.coefficients(model), summary, log, watch.caught), model

    @contextmanager
    def _beside(self, offset: np.ndarray | None) -> Iterator[None]:
        """Runs a fit in which the core gets these offsets."""
        self._offset = offset
        try:
            yield
        finally:
            del self._offset

    def _take(self, fit: Fit) -> None:
        """Sets the attributes of every fitted estimator, then warns, then raises an exception of the run."""
        self.objective_, self.gap_ = fit.summary["objective"], fit.summary["gap"]
        self.run_, self._summary = fit.log, fit.summary
        self.n_iter_ = self._iterations(max(min(1, getattr(self, "max_iter", 1) or 0), fit.summary["rounds"]))
        if fit.caught is not None:
            warnings.warn("The fit was interrupted; the estimator holds the last model.", ConvergenceWarning, 3)
            raise fit.caught
        if (
            fit.summary["stop"] not in ("converged", "passed", "patience", "validated")
            and not fit.summary["relative_gap"] <= self.tol
        ):
            reached = f"{fit.summary['relative_gap']:.2g} after {fit.summary['rounds']} rounds ({fit.summary['stop']})"
            advice = "Increase max_iter or tol, or scale the data."
            text = f"{self._complaint}: it ended at a relative gap of {reached}, above tol={self.tol}. {advice}"
            warnings.warn(text, ConvergenceWarning, 3)

    def _iterations(self, rounds: int) -> Any:
        """`n_iter_` in the form that scikit-learn's estimator of this name has."""
        return rounds

    def _loss(self) -> str:
        """The name of the loss in the core."""
        classes = (len(self.classes_), 1.0) if hasattr(self, "classes_") else ()
        return self._problem(1.0, *classes)["loss"]

    def _model(self) -> Any:
        """The fitted estimator as a model of the core. Class labels must be numbers."""
        check_is_fitted(self)
        if self.has_offset_:
            raise ValueError(
                f"a {type(self).__name__} that was fitted with offsets cannot be made a model; "
                "parley.train with offset_column makes one"
            )
        coef = dense(self.coef_)
        intercept = np.broadcast_to(np.asarray(self.intercept_, float), coef.shape[:1])
        labels = None
        if hasattr(self, "classes_"):
            labels = self.classes_.astype(float)
        return _run.model_of(self._loss(), coef, intercept, labels)

    def _decide(self, X: Any, offset: Any = None) -> np.ndarray:
        check_is_fitted(self)
        X = validate(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        decisions = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return _offsets.added(decisions, offset, self.has_offset_, type(self).__name__)


class Regressor(RegressorMixin, Linear):
    """`_problem(total)` returns the settings of the problem for a sum of weights. `_array`: scikit-learn's estimator of
    this name has an array with one intercept. `_flat`: labels in one column give coefficients of one dimension."""

    _array = False
    _flat = False

    def _regress(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit:
        return self._solve(X, y, weight, self._problem(total(weight, X.shape[0])))

    def _targets(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> list[Fit]:
        """A fit for each column of y."""
        return [self._regress(X, column, weight) for column in y.T]

    def _labels(self, y: np.ndarray) -> None:
        """Raises ValueError for labels that the loss cannot have."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. CSR and float32 are used without a copy; other types are converted once.
        y : array-like of shape (n_samples,)
            Target values; `LinearRegression`, `Ridge`, `Lasso` and `ElasticNet` also accept several columns.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None: all are 1.
        offset : array-like of shape (n_samples,), default=None
            What is added to x.w + b for each row, such as the logarithm of an exposure. `predict` then needs it too.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse()
        X, y = self._checked(X, y, y_numeric=True, multi_output=self._several)
        self._labels(y)
        weight = checked_weight(sample_weight, X.shape[0])
        self.has_offset_ = offset is not None
        if offset is not None:
            offset = _offsets.checked(offset, X.shape[0])
        if offset is not None and self._loss() in _offsets.DIFFERENCES:
            y, offset = _offsets.rest(y, offset), None
        if y.ndim == 2:
            fit = together(self._targets(X, y, weight))
            self._keep_model(fit.coef[0] if self._flat and y.shape[1] == 1 else fit.coef, fit.intercept)
        else:
            with self._beside(offset):
                fit = self._regress(X, y, weight)
            self._keep_model(fit.coef[0], fit.intercept if self._array else fit.intercept[0])
        self._take(fit)
        return self

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Predict with the linear model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values.
        """
        return self._decide(X, offset)


class Classifier(ClassifierMixin, Linear):
    """`_problem(total, classes, own)` returns the settings of the problem. `total` is the sum of weights with those of
    classes, `own` the sum without them. The core gets classes numbered in the order of `classes_`."""

    _offsets = True  # the loss is computed at z + offset

    def _weigh(self, codes: np.ndarray, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        """The weight of each class; None: all are 1."""
        kind = getattr(self, "class_weight", None)
        return None if kind is None else class_weights(kind, self.classes_, y, weight)

    def _check_classes(self, codes: np.ndarray, weight: np.ndarray | None) -> None:
        """Raises ValueError for rows that are too few classes."""
        several(codes, weight)

    def _classify(self, X: Any, codes: np.ndarray, weight: Any, by_class: Any) -> Fit:
        """Fits all classes in one run, with the class weights as row weights."""
        count = len(self.classes_)
        own = total(weight, X.shape[0])
        if by_class is not None:
            weight = by_class[codes] if weight is None else weight * by_class[codes]
        problem = self._problem(total(weight, X.shape[0]), count, own)
        return self._solve(X, codes, weight, problem, 1 if count == 2 else count, np.arange(count, dtype=float))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. CSR and float32 are used without a copy; other types are converted once.
        y : array-like of shape (n_samples,)
            Class labels: numbers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None: all are 1.
        offset : array-like of shape (n_samples,), default=None
            What is added to x.w + b for each row, such as the logarithm of an exposure. `predict` then needs it too.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse()
        X, y = self._checked(X, y)
        self.classes_, codes = numbered(y, check_labels(y))
        weight = checked_weight(sample_weight, X.shape[0])
        self._check_classes(codes, weight)
        self.has_offset_ = offset is not None
        if offset is not None:
            offset = self._checked_offset(offset, X.shape[0])
        with self._beside(offset):
            fit = self._classify(X, codes, weight, self._weigh(codes, y, weight))
        self._keep_model(fit.coef, fit.intercept)
        self._take(fit)
        return self

    def _checked_offset(self, offset: Any, rows: int) -> np.ndarray:
        if len(self.classes_) != 2 or not self._offsets:
            why = f"{type(self).__name__} with {len(self.classes_)} classes"
            raise ValueError(
                f"offset is for regressions, and for logistic regression and LinearSVC of two classes, not {why}"
            )
        return _offsets.checked(offset, rows)

    def decision_function(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Decision values x.w + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value per class; with two classes, one value, and ``classes_[1]`` is predicted if it is above 0.
        """
        decisions = self._decide(X, offset)
        return decisions.ravel() if decisions.ndim == 1 or decisions.shape[1] == 1 else decisions

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class of each sample.
        """
        decisions = self.decision_function(X, **_offsets.given(offset))
        return self.classes_[(decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)]

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix, which is smaller if an L1 penalty left few nonzero coefficients.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self


class OneVersusRest(Classifier):
    """Fits each class against the rest. With more than two classes, the weight of a class applies only to its own rows,
    as in scikit-learn, so every class then needs a run of its own."""

    def _classify(self, X: Any, codes: np.ndarray, weight: Any, by_class: Any) -> Fit:
        if by_class is None or len(self.classes_) == 2:
            return super()._classify(X, codes, weight, by_class)
        fits = []
        for number, one in enumerate(by_class):
            mine = codes == number
            weighed = np.where(mine, one, 1.0) * (1.0 if weight is None else weight)
            problem = self._problem(total(weighed, X.shape[0]), 2, total(weight, X.shape[0]))
            fits.append(self._solve(X, mine, weighed, problem))
        return together(fits)
