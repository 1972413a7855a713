"""How decision values become predictions, by the facts of losses that the core gives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ._library import ffi, lib


@cache
def facts(loss: str) -> Any:
    """The core's facts of a loss: `classes`, `least`, `log_link`, `probabilities` and `together`."""
    found = ffi.new("parley_loss *")
    if not lib.parley_loss_facts(loss.encode(), found):
        raise ValueError(f"there is no loss {loss}")
    return found


def values(loss: str, decisions: np.ndarray) -> np.ndarray:
    """Predictions of a loss whose labels are numbers."""
    return np.exp(decisions) if facts(loss).log_link else decisions


def probabilities(decisions: np.ndarray, together: bool) -> np.ndarray:
    """Probabilities of classes from decision values of one dimension, or with a column for each class."""
    if decisions.ndim == 1:
        return np.column_stack([expit(-decisions), expit(decisions)])
    if together:
        return softmax(decisions, axis=1)
    each = expit(decisions)
    return each / np.maximum(each.sum(axis=1, keepdims=True), np.finfo(float).tiny)
