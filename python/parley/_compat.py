"""Differences between releases of scikit-learn, from 1.4 on."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.utils import check_scalar, compute_class_weight
from sklearn.utils.fixes import parse_version
from sklearn.utils.multiclass import check_classification_targets

RELEASE = parse_version(sklearn.__version__)

try:
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:

    def _validate_data(estimator: Any, X: Any = "no_validation", y: Any = "no_validation", **options: Any) -> Any:
        return estimator._validate_data(X, y, **options)


_FINITE = "ensure_all_finite" if RELEASE >= parse_version("1.6") else "force_all_finite"


_FEW = 1000  # values that are gathered faster in a set than in arrays
_PLAIN = (np.ndarray, sp.csr_matrix, sp.csr_array)


def _is_plain(X: Any, y: Any) -> bool:
    """Whether X and y are arrays of numbers that need no conversion, with finite labels."""
    return (
        type(X) in _PLAIN
        and type(y) is np.ndarray
        and X.ndim == 2
        and y.ndim == 1
        and X.shape[0] == y.shape[0]
        and min(X.shape) > 0
        and X.dtype.char in "fd"
        and X.dtype.isnative
        and y.dtype.kind in "biuf"
        and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))
    )


def validate(estimator: Any, X: Any, y: Any = "no_validation", *, finite: bool = True, **options: Any) -> Any:
    """Checks X (and y) as scikit-learn does, and stores or compares the names and the number of features. Its checks of
    plain arrays take longer than a fit of a small table, so those are left out."""
    if finite or "reset" in options or not _is_plain(X, y):
        return _validate_data(estimator, X, y, **{_FINITE: finite}, **options)
    estimator.n_features_in_ = X.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return X, y


def distinct(y: np.ndarray) -> np.ndarray:
    """The distinct values of y in increasing order. np.unique sorts all of them, and has a high fixed cost."""
    if y.ndim != 1 or y.size == 0 or y.dtype.kind not in "biuf":
        return np.unique(y)
    if y.size <= _FEW:
        return np.array(sorted(set(y.tolist())), y.dtype)
    least, most = y.min(), y.max()
    if not ((y == least) | (y == most)).all():
        return np.unique(y)
    return np.array([least, most][: 1 + (least < most)], y.dtype)


def check_labels(y: Any) -> np.ndarray | None:
    """Raises ValueError for labels that are no classes, as scikit-learn does. Its check takes longer than a fit of a
    small table, and is left out for whole numbers, unless there are so many classes that it may warn. Then the distinct
    labels are returned."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf":
        classes = distinct(y)
        few = len(classes) <= 2 or 2 * len(classes) < y.size
        if len(classes) and few and (y.dtype.kind != "f" or all(map(float.is_integer, classes.tolist()))):
            return classes
    check_classification_targets(y)
    return None


def class_weights(kind: Any, classes: Any, y: Any, sample_weight: Any) -> Any:
    """The weight of each class. For `balanced`, releases before 1.7 count rows and later ones sum their weights."""
    options = {"sample_weight": sample_weight} if RELEASE >= parse_version("1.7") and sample_weight is not None else {}
    return compute_class_weight(kind, classes=classes, y=y, **options)


def checked_strengths(alphas: Any, least: str) -> np.ndarray:
    """The strengths of a penalty, which must be above 0 (`least` is "neither"), or at least 0 ("left")."""
    each = [alphas] if np.ndim(alphas) == 0 else list(alphas)
    for number, alpha in enumerate(each):
        name = "alphas" if len(each) == 1 else f"alphas[{number}]"
        check_scalar(alpha, name, Real, min_val=0.0, include_boundaries=least)
    return np.array(each, float)


class Tagged:
    """Tags in both forms of scikit-learn. Sparse data are supported. `_positive`: labels must not be negative.
    `_several`: y may have several columns."""

    _positive = False
    _several = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = self._positive
        tags.target_tags.multi_output = self._several
        return tags

    def _more_tags(self) -> dict[str, Any]:
        return {"requires_positive_y": self._positive, "multioutput": self._several}
