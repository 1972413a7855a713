"""Fits from Python, with all systems in one process on the same arrays; passing arrays to the core; reading a file.

The package comes from this source tree and the library from beside the binary; nothing has to be installed.
"""

import statistics
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from evaluate import Problem
from harness import accuracy, markdown
from peers import LADDER, SNAPML_LADDER, TARGET, Outcome
from sklearn.datasets import load_svmlight_file

ROOT = Path(__file__).resolve().parents[1]
TIGHT = 1e-9  # gap at which Parley determines the optimum
SEED = {"random_state": 0}
FEW = "1e-1 3e-2 1e-2 3e-3 1e-3 3e-4 1e-4 3e-5 1e-5 3e-6 1e-6 1e-7 1e-8".split()
SLOW = "1e-4 1e-5 3e-6 1e-6".split()  # for problems where every rung takes seconds
BELOW = 20  # alpha of the lasso is the smallest at which the solution is zero, divided by this
GIGABYTE = 10**9


def package(bench):
    """Imports the package of this source tree with the library beside the binary."""
    if "parley" not in sys.modules:
        folder = bench.folder / "package" / "parley"
        folder.mkdir(parents=True)
        library = Path(bench.parley).parent / "libparley.so"
        for file in [*(ROOT / "python" / "parley").glob("*.py"), ROOT / "include" / "parley.h", library]:
            (folder / file.name).symlink_to(file)
        sys.path.insert(0, str(folder.parent))
    import parley

    return parley


@dataclass
class Contestant:
    """An estimator, created for each fit, with a tolerance or solver from a ladder."""

    name: str
    make: object
    x: object
    y: np.ndarray
    ladder: list
    word: str = "tol"

    @property
    def ordered(self):
        return self.word == "tol"

    def run(self, setting=None):
        model = self.make(setting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            model.fit(self.x, self.y)
            seconds = time.perf_counter() - began
        return Outcome(seconds, np.squeeze(np.asarray(model.coef_, float)), None, seconds)

    def label(self, setting):
        return f"{self.word} {setting}"


class Rows:
    """The arrays of one problem, CSR or dense, with one element type, and the peers that fit them."""

    def __init__(self, bench, name, dtype, dense):
        self.data = bench.data(name)
        x, self.y = self.data.rows
        self.x = x.astype(dtype)
        self.x.indices, self.x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
        self.x = self.x.toarray() if dense else self.x
        self.peers = []

    def peer(self, name, kind, ladder, word="tol", x=None, **parameters):
        def make(setting):
            value = {"solver": setting} if word == "solver" else {"tol": float(setting)}
            return kind(fit_intercept=False, **value, **parameters)

        self.peers.append(Contestant(name, make, self.x if x is None else x, self.y, ladder, word))


def logistic(rows, parley):
    import snapml
    from sklearn.linear_model import LogisticRegression

    for solver in ("liblinear", "lbfgs", "newton-cg", *(["newton-cholesky"] if rows.x.shape[1] < 1000 else [])):
        rows.peer(f"scikit-learn {solver}", LogisticRegression, FEW, solver=solver, max_iter=10000)
    rows.peer("Snap ML", snapml.LogisticRegression, SNAPML_LADDER, dual=True, n_jobs=2, max_iter=10000)
    if rows.x.shape[1] < 1000:
        from sklearnex.linear_model import LogisticRegression as Patched

        dense = rows.x.toarray()
        rows.peer("scikit-learn-intelex, dense", Patched, FEW, x=dense, solver="lbfgs", max_iter=10000)
    return parley.LogisticRegression, {}, ("logistic", 1.0 / len(rows.y), 0.0)


def squared_hinge(rows, parley):
    from sklearn.svm import LinearSVC

    for dual in (True, False):
        rows.peer(f"scikit-learn, dual={dual}", LinearSVC, FEW, dual=dual, max_iter=100000, **SEED)
    return parley.LinearSVC, {}, ("squared-hinge", 1.0 / len(rows.y), 0.0)


def hinge(rows, parley):
    import snapml
    from sklearn.svm import LinearSVC

    rows.peer("scikit-learn", LinearSVC, FEW, loss="hinge", max_iter=100000, **SEED)
    rows.peer("Snap ML", snapml.SupportVectorMachine, SNAPML_LADDER, loss="hinge", n_jobs=2, max_iter=10000)
    return parley.LinearSVC, {"loss": "hinge"}, ("hinge", 1.0 / len(rows.y), 0.0)


def multinomial(rows, parley):
    from sklearn.linear_model import LogisticRegression

    for solver in ("lbfgs", "newton-cg"):
        rows.peer(f"scikit-learn {solver}", LogisticRegression, SLOW, solver=solver, max_iter=10000)
    return parley.LogisticRegression, {}, ("softmax", 1.0 / len(rows.y), 0.0)


def ridge(rows, parley):
    from sklearn.linear_model import Ridge
    from sklearnex.linear_model import Ridge as Patched

    rows.peer("scikit-learn", Ridge, ["cholesky", "sparse_cg", "lsqr"], "solver", max_iter=100000)
    if not sparse.issparse(rows.x):
        rows.peer("scikit-learn-intelex", Patched, ["auto"], "solver")
    return parley.Ridge, {}, ("squared", 1.0 / len(rows.y), 0.0)


def lasso(rows, parley):
    import celer
    import snapml
    from sklearn.linear_model import Lasso

    alpha = rows.data.lambda_max("squared") / BELOW
    columns = rows.x.tocsc()
    rows.peer("celer", celer.Lasso, LADDER, x=columns, alpha=alpha, max_iter=1000)
    rows.peer("scikit-learn", Lasso, FEW, x=columns, alpha=alpha, max_iter=100000, selection="random", **SEED)
    strength = {"regularizer": alpha * len(rows.y), "penalty": "l1", "dual": False, "n_jobs": 2, "max_iter": 10000}
    rows.peer("Snap ML", snapml.LinearRegression, SNAPML_LADDER[:9], **strength)
    return parley.Lasso, {"alpha": alpha}, ("squared", alpha, 1.0)


FITS = [
    ("imdb", "LogisticRegression", logistic),
    ("imdb", "LinearSVC", squared_hinge),
    ("imdb", "LinearSVC hinge", hinge),
    ("20news", "LogisticRegression", multinomial),
    ("a9a", "LogisticRegression", logistic),
    ("sgemm", "Ridge", ridge),
    ("sgemm", "Ridge, dense", ridge),
    ("dorothea", "Lasso", lasso),
]


def race(bench, name, title, system, dtype):
    parley = package(bench)
    rows = Rows(bench, name, dtype, title.endswith("dense"))
    kind, parameters, (loss, lam, rho) = system(rows, parley)

    def ours(tol):
        return lambda _: kind(fit_intercept=False, tol=tol, n_jobs=2, **parameters)

    x, y = rows.data.rows
    problem = Problem(x, np.unique(y, return_inverse=True)[1] if loss == "softmax" else y, loss, lam, rho)
    mine = Contestant("Parley", ours(TARGET), rows.x, rows.y, [])
    mine.setting = f"tol {TARGET}"
    strict = Contestant("Parley", ours(TIGHT), rows.x, rows.y, [])
    most = 3 if system is multinomial else None
    return bench.race(("python", name, title, dtype), problem, mine, rows.peers, [strict.run], most)


def fit_rows(bench):
    """The rows of the table of fits. The aim is to be twice as fast as the best peer of the same accuracy."""
    lines = []
    for name, title, system in FITS:
        for dtype in ("float64", "float32"):
            found = race(bench, name, title, system, dtype)
            best = {peer: min(run.solve for run in runs) for peer, (_, runs, _) in found.items()}
            for peer, (label, runs, reached) in found.items():
                times = spread([run.solve for run in runs])
                problem = f"{bench.data(name).title} {title}, {dtype}"
                lines.append([problem, peer, label, accuracy(reached), times, f"{best[peer] / best['Parley']:.1f}x"])
            good = [best[peer] for peer, row in found.items() if peer != "Parley" and row[2] <= TARGET]
            bench.aim(
                f"{name} {title}, {dtype}, fit from Python, against the best",
                min(good, default=np.inf) / best["Parley"],
                2,
            )
    return lines


def spread(times):
    return f"{1e3 * min(times):.1f} ({1e3 * statistics.median(times):.1f})"


@cache
def gigabyte():
    """A CSR matrix of one gigabyte, float32 and int32, and labels."""
    rows, each = 1_000_000, 125
    rng = np.random.default_rng(1)
    steps = rng.integers(1, 800, size=(1000, each), dtype=np.int32).cumsum(axis=1, dtype=np.int32)
    index = np.tile(steps.ravel(), rows // 1000)
    value = np.tile(rng.random(1000 * each, dtype=np.float32), rows // 1000)
    start = np.arange(0, rows * each + 1, each, dtype=np.int32)
    x = sparse.csr_matrix((rows, 100_000), dtype=np.float32)
    x.data, x.indices, x.indptr = value, index, start
    return x, np.where(rng.random(rows) < 0.5, -1.0, 1.0)


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def hand_over(bench):
    """The cost of passing arrays to the core, with scikit-learn's checks: seconds, and memory relative to the matrix."""
    parley = package(bench)
    from parley._data import from_arrays

    x, y = gigabyte()
    size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
    estimator, times, more = parley.SGDRegressor(n_jobs=2), [], []
    for _ in range(max(3, bench.repetitions)):
        before, began = resident(), time.perf_counter()
        data = from_arrays(*estimator._checked(x, y, y_numeric=True), None, 2)
        times.append(time.perf_counter() - began)
        more.append(resident() - before)
        del data
    bench.aim("passing a CSR matrix of 1 GB, ms", 1e3 * min(times), 50, at_least=False)
    share = 100 * statistics.median(more) / size
    bench.aim("memory that it takes, % of the matrix", share, 1, at_least=False)
    return [[f"{size / GIGABYTE:.2f} GB, {x.nnz:,} non-zeros", spread(times), f"{share:.2f} %"]]


def read_rows(bench):
    parley, data = package(bench), bench.data("imdb")

    def timed(function):
        began = time.perf_counter()
        function(str(data.path))
        return time.perf_counter() - began

    calls = {"parley.read": lambda: timed(parley.read), "load_svmlight_file": lambda: timed(load_svmlight_file)}
    found = bench.repeat(calls, warm=True, most=5)
    best = {name: min(times) for name, times in found.items()}
    bench.aim("imdb, parley.read against load_svmlight_file", best["load_svmlight_file"] / best["parley.read"], 30)
    ours = best["parley.read"]
    return [[data.title, name, spread(times), f"{best[name] / ours:.1f}x"] for name, times in found.items()]


def table_python(bench):
    """From Python"""
    text = (
        "`fit` of all systems in one process, interleaved, on the same arrays: CSR of float64 or float32 with int32 "
        "indices, the layout with which a peer is faster (CSC for celer and scikit-learn's Lasso), or *dense* where noted. "
        "No intercept, C = 1 (Ridge: alpha = 1; Lasso: a twentieth of the largest alpha). The best of the repetitions, "
        "and the median. scikit-learn-intelex has no linear SVM and no Lasso, and passes sparse data on to "
        "scikit-learn; Snap ML fits each class against the rest.\n\n"
    )
    head = ["problem", "system", "setting", "reached", "ms, best (median)", "against Parley"]
    fits = markdown(head, fit_rows(bench))
    over = markdown(["passing a CSR matrix, float32 and int32", "ms, best (median)", "memory"], hand_over(bench))
    read = markdown(["reading", "with", "ms, best (median)", "against Parley"], read_rows(bench))
    return f"{text}{fits}\n{over}\n{read}"
