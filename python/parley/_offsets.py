"""Offsets: what is known of a prediction beforehand, which is added to x.w + b. For the core they are one more column,
whose coefficient is 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite

DIFFERENCES = ("squared", "huber", "epsilon-insensitive", "squared-epsilon-insensitive", "quantile")  # losses of z - y


def given(offset: Any) -> dict[str, Any]:
    """The argument of a method, which a subclass may have defined without offsets."""
    return {} if offset is None else {"offset": offset}


def checked(offset: Any, rows: int) -> np.ndarray:
    """One offset per row as float64."""
    offset = np.asarray(offset, dtype=np.float64)
    offset = np.full(rows, float(offset)) if offset.ndim == 0 else offset
    if offset.shape != (rows,):
        raise ValueError(f"offset has shape {offset.shape}, expected {(rows,)}: one offset per row")
    assert_all_finite(offset, input_name="offset")
    return offset


def rest(y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The targets less the offsets, from which a loss of z - y finds the same model."""
    return y - (offset if y.ndim == 1 else offset[:, None])


def beside(X: Any, offset: np.ndarray) -> Any:
    """X with the offsets as its last column."""
    if not sp.issparse(X):
        return np.column_stack([X, offset])
    return sp.hstack([X, offset[:, None]], format="csr")


def added(decisions: np.ndarray, offset: Any, needed: bool, name: str) -> np.ndarray:
    """Decision values with the offsets, which a model that was fitted with offsets needs."""
    if offset is None and needed:
        raise ValueError(f"this {name} was fitted with offsets, so each row needs one: give offset=")
    if offset is None:
        return decisions
    if not needed:
        raise ValueError(f"this {name} was fitted without offsets; leave offset out")
    offset = checked(offset, decisions.shape[0])
    return decisions + (offset if decisions.ndim == 1 else offset[:, None])
