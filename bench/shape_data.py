"""Generated matrices and labels of many shapes. Every generator takes a random stream first and returns rows."""

import numpy as np
import scipy.sparse as sparse


def gaussian(rng, rows, columns, correlation=0.0, decades=0.0):
    """Dense columns: neighbours have the given correlation, and the scales range over some decades."""
    x = rng.standard_normal((rows, columns))
    for j in range(1, columns if correlation else 0):
        x[:, j] = correlation * x[:, j - 1] + np.sqrt(1 - correlation**2) * x[:, j]
    return x * 10.0 ** rng.uniform(-decades / 2, decades / 2, columns)


def draw(rng, rows, columns, each, power):
    """A sparse pattern: about `each` entries in a row, and columns that are drawn by a power law."""
    share = np.arange(1, columns + 1) ** -power
    edges = np.cumsum(share / share.sum())
    lengths = rng.poisson(each, rows) + 1
    index = np.searchsorted(edges, rng.random(lengths.sum())).clip(max=columns - 1)
    x = sparse.csr_matrix(
        (np.ones(len(index)), rng.permutation(columns)[index], np.append(0, lengths.cumsum())), shape=(rows, columns)
    )
    x.sum_duplicates()
    return x


def text(rng, rows, columns, each, power=0.9):
    """Term frequencies times inverse document frequencies, each row of length 1."""
    x = draw(rng, rows, columns, each, power)
    x.data = 1 + np.log(x.data)
    frequency = np.bincount(x.indices, minlength=columns)
    x.data *= np.log((1 + rows) / (1 + frequency))[x.indices] + 1
    norms = np.sqrt(np.add.reduceat(x.data**2, x.indptr[:-1]))
    x.data /= np.repeat(norms, np.diff(x.indptr))
    return x


def counts(rng, rows, columns, each, power=0.9):
    """Raw counts whose largest are far above the mean."""
    x = draw(rng, rows, columns, each, power)
    x.data = np.floor(x.data * rng.pareto(1.6, x.nnz)) + 1
    return x


def binary(rng, rows, columns, each):
    """Indicators, as one-hot codes of categories make them."""
    x = draw(rng, rows, columns, each, 0.6)
    x.data[:] = 1
    return x


def twins(rng, rows, columns, each):
    """Indicators of which every row occurs about four times."""
    return binary(rng, rows // 4, columns, each)[rng.integers(0, rows // 4, rows)]


def scores(rng, x, outputs=1):
    """Linear scores of unit variance from a random model, a third of whose weights are not 0."""
    w = rng.standard_normal((x.shape[1], outputs)) * (rng.random((x.shape[1], 1)) < 1 / 3)
    square = x.multiply(x).mean(axis=0) if sparse.issparse(x) else (x**2).mean(axis=0)
    scale = np.sqrt(np.asarray(square).ravel())
    z = x @ (w / np.maximum(scale, 1e-12)[:, None])
    return z / np.maximum(z.std(axis=0), 1e-12)


def two(rng, x, share=0.5, noise=0.7):
    """Labels -1 and +1 of which `share` is positive."""
    z = scores(rng, x)[:, 0] + noise * rng.standard_normal(x.shape[0])
    return np.where(z > np.quantile(z, 1 - share), 1.0, -1.0)


def several(rng, x, classes, noise=0.5):
    z = scores(rng, x, classes)
    return np.argmax(z + noise * rng.standard_normal(z.shape), axis=1).astype(float)


def real(rng, x, noise=0.5):
    return scores(rng, x)[:, 0] + noise * rng.standard_normal(x.shape[0])


def counted(rng, x):
    return rng.poisson(np.exp(0.5 * scores(rng, x)[:, 0])).astype(float)


GENERATORS = {
    "dense": gaussian,
    "text": text,
    "counts": counts,
    "binary": binary,
    "twins": twins,
}
