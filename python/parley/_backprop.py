"""Networks in numpy, for what the core does not train: L-BFGS, several labels of a row, Poisson loss, weights of rows,
rows in their order, and other exponents of a falling rate. Rates, order of rows and ends are scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax, xlogy
from sklearn.utils import gen_batches, shuffle
from sklearn.utils.extmath import safe_sparse_dot

_HIDDEN = {  # the function, and its slope by its value
    "identity": (lambda z: z, lambda a: np.ones_like(a)),
    "logistic": (expit, lambda a: a * (1 - a)),
    "tanh": (np.tanh, lambda a: 1 - a**2),
    "relu": (lambda z: np.maximum(z, 0), lambda a: (a > 0).astype(a.dtype)),
}
_LEAST_RATE = 1e-6  # of learning_rate='adaptive'


def _clipped(p: np.ndarray) -> np.ndarray:
    tiny = np.finfo(p.dtype).eps
    return np.clip(p, tiny, 1 - tiny)


#: The outputs by their function: predictions, and the loss of each row, whose slope in z is prediction - target.
_OUTPUTS: dict[str, tuple[Callable, Callable]] = {
    "identity": (lambda z: z, lambda p, y: 0.5 * (p - y) ** 2),
    "exp": (np.exp, lambda p, y: xlogy(y, y / p) - y + p),
    "softmax": (lambda z: softmax(z, axis=1), lambda p, y: -xlogy(y, _clipped(p))),
    "logistic": (expit, lambda p, y: -xlogy(y, _clipped(p)) - xlogy(1 - y, 1 - _clipped(p))),
}


def shares(output: str, y: np.ndarray) -> int:
    """What scikit-learn divides the loss of all outputs by where it tells it."""
    return y.shape[1] if output == "identity" else 1


class Layers:
    """The weights and biases of the layers, with the functions of their units."""

    def __init__(self, coefs: list, intercepts: list, hidden: str, output: str):
        self.coefs, self.intercepts, self.hidden, self.output = coefs, intercepts, hidden, output

    @classmethod
    def drawn(cls, sizes: list[int], hidden: str, output: str, random: Any, dtype: Any) -> Layers:
        """First weights, by the rule of Glorot and Bengio (2010)."""
        coefs, intercepts = [], []
        for fan_in, fan_out in zip(sizes, sizes[1:]):
            bound = np.sqrt((2.0 if hidden == "logistic" else 6.0) / (fan_in + fan_out))
            coefs.append(random.uniform(-bound, bound, (fan_in, fan_out)).astype(dtype, copy=False))
            intercepts.append(random.uniform(-bound, bound, fan_out).astype(dtype, copy=False))
        return cls(coefs, intercepts, hidden, output)

    def forward(self, X: Any) -> list:
        values, function = [X], _HIDDEN[self.hidden][0]
        for layer, (coef, intercept) in enumerate(zip(self.coefs, self.intercepts)):
            z = safe_sparse_dot(values[-1], coef, dense_output=True) + intercept
            values.append(function(z) if layer + 1 < len(self.coefs) else _OUTPUTS[self.output][0](z))
        return values

    def loss(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, alpha: float, *, told: bool = False
    ) -> tuple[float, list]:
        """The mean loss and ``alpha / 2 |w|^2`` divided by the rows, and the slopes of weights and then of biases. The
        loss that is `told` is scikit-learn's: of squares, the mean over the outputs instead of their sum."""
        values, total = self.forward(X), float(len(y)) if weight is None else weight.sum()
        with np.errstate(all="ignore"):
            rows = _OUTPUTS[self.output][1](values[-1], y).sum(axis=1)
            value = float(np.average(rows, weights=weight)) / (shares(self.output, y) if told else 1)
        value += alpha / 2 * sum(float(coef.ravel() @ coef.ravel()) for coef in self.coefs) / total
        delta = values[-1] - y
        if weight is not None:
            delta = delta * weight[:, None]
        coefs, intercepts = [], []
        for layer in range(len(self.coefs) - 1, -1, -1):
            coefs.append((safe_sparse_dot(values[layer].T, delta) + alpha * self.coefs[layer]) / total)
            intercepts.append(delta.sum(axis=0) / total)
            if layer:
                delta = (delta @ self.coefs[layer].T) * _HIDDEN[self.hidden][1](values[layer])
        return value, coefs[::-1] + intercepts[::-1]

    def packed(self) -> np.ndarray:
        return np.concatenate([array.ravel() for array in self.coefs + self.intercepts]).astype(float)

    def unpack(self, packed: np.ndarray) -> None:
        """Sets the layers from an array, in their type."""
        arrays = self.coefs + self.intercepts
        parts = np.split(packed, np.cumsum([array.size for array in arrays])[:-1])
        arrays = [part.reshape(array.shape).astype(array.dtype) for part, array in zip(parts, arrays)]
        self.coefs, self.intercepts = arrays[: len(self.coefs)], arrays[len(self.coefs) :]


def by_lbfgs(layers: Layers, X: Any, y: np.ndarray, weight: Any, own: Any, ask: Callable) -> tuple[int, float, bool]:
    """Trains by L-BFGS. Returns the iterations, the loss, and whether they converged."""

    def objective(packed: np.ndarray) -> tuple[float, np.ndarray]:
        layers.unpack(packed)
        value, slopes = layers.loss(X, y, weight, own.alpha)
        return value, np.concatenate([slope.ravel() for slope in slopes]).astype(float)

    options = {"maxfun": own.max_fun, "maxiter": own.max_iter, "gtol": own.tol}
    found = minimize(objective, layers.packed(), jac=True, method="L-BFGS-B", options=options)
    layers.unpack(found.x)
    told, _ = layers.loss(X, y, weight, own.alpha, told=True)
    ask(found.nit, told)
    return int(min(found.nit, own.max_iter)), told, found.status == 0


class Steps:
    """Gradient descent with momentum, or Adam, which remember the steps before."""

    def __init__(self, own: Any):
        self.own, self.rate, self.count, self.first, self.second = own, own.learning_rate_init, 0, None, None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "own": None}

    def make(self, arrays: list, slopes: list) -> None:
        own = self.own
        if self.first is None:
            self.first, self.second = ([np.zeros_like(array) for array in arrays] for _ in range(2))
        self.count += 1
        for i, (array, slope) in enumerate(zip(arrays, slopes)):
            if own.solver == "adam":
                self.first[i] = own.beta_1 * self.first[i] + (1 - own.beta_1) * slope
                self.second[i] = own.beta_2 * self.second[i] + (1 - own.beta_2) * slope**2
                rate = self.rate * np.sqrt(1 - own.beta_2**self.count) / (1 - own.beta_1**self.count)
                array -= rate * self.first[i] / (np.sqrt(self.second[i]) + own.epsilon)
                continue
            self.first[i] = own.momentum * self.first[i] - self.rate * slope
            array += own.momentum * self.first[i] - self.rate * slope if own.nesterovs_momentum else self.first[i]

    def end_pass(self, rows: int) -> None:
        if self.own.solver == "sgd" and self.own.learning_rate == "invscaling":
            self.rate = self.own.learning_rate_init / (rows + 1) ** self.own.power_t

    def slower(self) -> bool:
        """Divides an adaptive rate by 5; False: the descent ends."""
        if self.own.solver != "sgd" or self.own.learning_rate != "adaptive" or self.rate <= _LEAST_RATE:
            return False
        self.rate /= 5.0
        return True


def one_pass(layers: Layers, steps: Steps, X: Any, y: np.ndarray, weight: Any, order: np.ndarray, batch: int) -> float:
    """Makes a pass over the rows in this order, and returns the mean loss before the steps."""
    total, arrays = 0.0, layers.coefs + layers.intercepts
    for part in gen_batches(len(order), batch):
        rows = order[part]
        part_weight = None if weight is None else weight[rows]
        value, slopes = layers.loss(X[rows], y[rows], part_weight, steps.own.alpha, told=True)
        total += value * len(rows)
        steps.make(arrays, slopes)
    return total / len(order)


def shuffled(order: np.ndarray, own: Any, random: Any) -> np.ndarray:
    return shuffle(order, random_state=random) if own.shuffle else order
