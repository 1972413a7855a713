"""The contestants of bench/shapes.py: each fits in its own process, which shares the arrays and has a time limit."""

import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sparse
from peers import LADDER, LIBLINEAR_LADDER, SNAPML_LADDER, Outcome

FACTORED = 1500  # columns up to which peers that factorise a matrix, or keep the Gram matrix, take part
GAPS = "3e-2 1e-2 3e-3 1e-3 3e-4 1e-4 3e-5 1e-5 3e-6 1e-6".split()  # of Parley, where it is as exact as the peers
GLMNET = Path(__file__).with_name("glmnet_peer.R")
GLMNET_VALUES = 2_000_000  # glmnet gets its matrix as text
FORK = multiprocessing.get_context("fork")  # a child sees the arrays without a copy


class Failed(RuntimeError):
    """A contestant cannot solve the problem: its exception."""


def fit(make, x, y, setting):
    model = make(setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(x, y)
        seconds = time.perf_counter() - began
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_, float)
    summary = getattr(model, "_summary", {})
    return seconds, np.squeeze(coef), {key: summary.get(key) for key in ("preset", "rounds", "stop", "relative_gap")}


def serve(pipe, make, x, y):
    """Fits with each setting that arrives, until None does."""
    for setting in iter(pipe.recv, None):
        try:
            pipe.send(fit(make, x, y, setting))
        except Exception as problem:  # what a peer raises is its result
            pipe.send(f"{type(problem).__name__}: {problem}")


class Contestant:
    """An estimator in a child process. `make` creates it from a step of its ladder."""

    ordered = True

    def __init__(self, name, make, x, y, ladder, limit):
        self.name, self.make, self.x, self.y, self.ladder, self.limit = name, make, x, y, ladder, limit
        self.process = None

    def start(self):
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(theirs, self.make, self.x, self.y), daemon=True)
        self.process.start()

    def run(self, setting=None):
        """Fits once. Raises TimeoutExpired, and ends the child, if that takes too long."""
        if not self.process:
            self.start()
        self.pipe.send("" if setting is None else setting)
        if not self.pipe.poll(self.limit):
            self.close()
            raise subprocess.TimeoutExpired(self.name, self.limit)
        try:
            found = self.pipe.recv()
        except EOFError:
            self.close()
            raise Failed(f"{self.name}: its process ended") from None
        if isinstance(found, str):
            raise Failed(f"{self.name}: {found}")
        seconds, w, summary = found
        return Outcome(seconds, w, None, seconds, summary)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None

    def label(self, setting):
        return f"tol {setting}"


class Glmnet:
    """R's glmnet with one lambda. Its time is that of the call alone."""

    name, ordered = "glmnet", True
    ladder = "1e-7 1e-8 1e-9 1e-10 1e-11 1e-12 1e-13".split()

    def __init__(self, family, problem, limit):
        self.family, self.problem, self.limit, self.folder = family, problem, limit, None

    def write(self):
        self.folder = Path(tempfile.mkdtemp())
        scipy.io.mmwrite(self.folder / "x.mtx", sparse.csc_matrix(self.problem.x))
        np.savetxt(self.folder / "y", self.problem.y)
        np.savetxt(self.folder / "lambda", [self.problem.lam])

    def run(self, setting):
        if not self.folder:
            self.write()
        names = [self.folder / name for name in ("x.mtx", "y", "lambda", "out.mtx")]
        done = subprocess.run(
            ["Rscript", GLMNET, self.family, setting, *names], capture_output=True, text=True, timeout=self.limit
        )
        if done.returncode:
            raise Failed(f"glmnet: {done.stderr.strip().splitlines()[-1]}")
        seconds = float(done.stdout.split("seconds")[1].split()[0])
        return Outcome(seconds, scipy.io.mmread(names[3]).toarray().ravel(), None, seconds)

    def label(self, setting):
        return f"thresh {setting}"

    def close(self):
        if self.folder:
            shutil.rmtree(self.folder)


def has_glmnet():
    done = shutil.which("Rscript") and subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True)
    return bool(done) and done.returncode == 0


class Peers:
    """Collects the contestants that can solve a problem."""

    def __init__(self, problem, limit):
        self.problem, self.limit, self.found = problem, limit, []
        self.few = problem.x.shape[1] <= FACTORED
        self.cost = problem.strength_c

    def add(self, name, make, ladder, x=None):
        x = self.problem.x if x is None else x
        self.found.append(Contestant(name, make, x, self.problem.labels, ladder, self.limit))

    def tolerances(self, name, kind, ladder, x=None, **parameters):
        self.add(name, lambda tol: kind(fit_intercept=False, tol=float(tol), **parameters), ladder, x)

    @property
    def columns(self):
        x = self.problem.x
        return x.tocsc() if sparse.issparse(x) else np.asfortranarray(x)


def snapml(peers, system, **parameters):
    try:
        import snapml as package
    except ImportError:
        return
    kind = getattr(package, system)
    x = peers.problem.x.astype(np.float32)  # the type in which it computes
    parameters = {"regularizer": 1.0 / peers.cost, "n_jobs": os.cpu_count(), "max_iter": 10000, **parameters}
    peers.tolerances("Snap ML", kind, SNAPML_LADDER, x, **parameters)


def logistic(peers):
    from sklearn.linear_model import LogisticRegression

    common = {"C": peers.cost, "max_iter": 100000}
    for solver in ("lbfgs", "newton-cg", *(["newton-cholesky"] if peers.few else [])):
        peers.tolerances(f"scikit-learn {solver}", LogisticRegression, LADDER, solver=solver, **common)
    peers.tolerances("LIBLINEAR -s 0", LogisticRegression, LIBLINEAR_LADDER, solver="liblinear", **common)
    peers.tolerances(
        "LIBLINEAR -s 7", LogisticRegression, LIBLINEAR_LADDER, solver="liblinear", dual=True, random_state=0, **common
    )
    snapml(peers, "LogisticRegression", dual=True)


def l1_logistic(peers):
    from sklearn.linear_model import LogisticRegression

    common = {"C": peers.cost, "l1_ratio": 1, "max_iter": 100000, "random_state": 0}
    peers.tolerances("LIBLINEAR -s 6", LogisticRegression, LIBLINEAR_LADDER, solver="liblinear", **common)
    snapml(peers, "LogisticRegression", dual=False, penalty="l1")
    try:
        import celer

        peers.tolerances("celer", celer.LogisticRegression, LADDER, peers.columns, C=peers.cost, max_iter=1000)
    except ImportError:
        pass
    peers.found += glmnets(peers, "binomial")


def support_vectors(peers, loss, duals):
    from sklearn.svm import LinearSVC

    for dual in duals:
        solver = 3 if loss == "hinge" else 1 if dual else 2
        peers.tolerances(
            f"LIBLINEAR -s {solver}", LinearSVC, LIBLINEAR_LADDER, loss=loss.replace("-", "_"), C=peers.cost, dual=dual,
            max_iter=1000000, random_state=0,
        )  # fmt: skip


def hinge(peers):
    support_vectors(peers, "hinge", (True,))
    snapml(peers, "SupportVectorMachine", loss="hinge")


def squared_hinge(peers):
    support_vectors(peers, "squared-hinge", (True, False))


def regression(peers, loss, duals):
    from sklearn.svm import LinearSVR

    for dual in duals:
        solver = 13 if loss.startswith("epsilon") else 12 if dual else 11
        peers.tolerances(
            f"LIBLINEAR -s {solver}", LinearSVR, LIBLINEAR_LADDER, loss=loss.replace("-", "_"), C=peers.cost, dual=dual,
            epsilon=peers.problem.width, max_iter=1000000, random_state=0,
        )  # fmt: skip


def ridge(peers):
    from sklearn.linear_model import Ridge

    for solver in ("cholesky", "sparse_cg", "lsqr", "sag"):
        if solver != "cholesky" or min(peers.problem.x.shape) <= 2 * FACTORED:
            peers.tolerances(
                f"scikit-learn {solver}", Ridge, LADDER, alpha=1.0 / peers.cost, solver=solver, max_iter=100000,
                random_state=0,
            )  # fmt: skip
    snapml(peers, "LinearRegression", dual=True, penalty="l2")


def lasso(peers):
    from sklearn.linear_model import ElasticNet

    rho = peers.problem.rho
    common = {"alpha": peers.problem.lam, "l1_ratio": rho, "max_iter": 100000}
    peers.tolerances("scikit-learn", ElasticNet, LADDER, peers.columns, **common)
    if peers.few:
        peers.tolerances("scikit-learn Gram", ElasticNet, LADDER, peers.columns, precompute=True, **common)
    try:
        import celer

        kind, share = (celer.Lasso, {}) if rho == 1 else (celer.ElasticNet, {"l1_ratio": rho})
        peers.tolerances("celer", kind, LADDER, peers.columns, alpha=peers.problem.lam, max_iter=1000, **share)
    except ImportError:
        pass
    if rho == 1:
        snapml(peers, "LinearRegression", dual=False, penalty="l1")
        peers.found += glmnets(peers, "gaussian")


def softmax(peers):
    from sklearn.linear_model import LogisticRegression

    for solver in ("lbfgs", "newton-cg", *(["newton-cholesky"] if peers.few else [])):
        peers.tolerances(
            f"scikit-learn {solver}", LogisticRegression, LADDER[1:], solver=solver, C=peers.cost, max_iter=100000
        )


def poisson(peers):
    from sklearn.linear_model import PoissonRegressor

    for solver in ("lbfgs", *(["newton-cholesky"] if peers.few else [])):
        peers.tolerances(
            f"scikit-learn {solver}", PoissonRegressor, LADDER, alpha=peers.problem.lam, solver=solver, max_iter=100000
        )


def glmnets(peers, family):
    x = peers.problem.x
    small = (x.nnz if sparse.issparse(x) else x.size) <= GLMNET_VALUES
    return [Glmnet(family, peers.problem, peers.limit)] if small and has_glmnet() else []


def peers_of(problem, limit):
    """All contestants but Parley for a problem."""
    peers = Peers(problem, limit)
    if problem.loss == "logistic":
        (l1_logistic if problem.rho else logistic)(peers)
    elif problem.loss == "squared":
        (lasso if problem.rho else ridge)(peers)
    elif problem.loss.endswith("epsilon-insensitive"):
        regression(peers, problem.loss, (True,) if problem.loss.startswith("epsilon") else (True, False))
    else:
        {"hinge": hinge, "squared-hinge": squared_hinge, "softmax": softmax, "poisson": poisson}[problem.loss](peers)
    return peers.found


def ours(problem, preset, tol, limit, name=None):
    """Parley's estimator for the problem. Its settings are other gaps than `tol`."""
    import parley

    cost, common = problem.strength_c, {"fit_intercept": False, "preset": preset}
    width = {"epsilon": problem.width}
    kinds = {
        "logistic": ("LogisticRegression", {"C": cost, "l1_ratio": problem.rho}),
        "softmax": ("LogisticRegression", {"C": cost}),
        "hinge": ("LinearSVC", {"C": cost, "loss": "hinge"}),
        "squared-hinge": ("LinearSVC", {"C": cost}),
        "epsilon-insensitive": ("LinearSVR", {"C": cost, **width}),
        "squared-epsilon-insensitive": (
            "LinearSVR", {"C": cost, "loss": "squared_epsilon_insensitive", **width},
        ),
        "poisson": ("PoissonRegressor", {"alpha": problem.lam}),
    }  # fmt: skip
    if problem.loss == "squared" and not problem.rho:
        kinds["squared"] = ("Ridge", {"alpha": 1.0 / cost})
    elif problem.loss == "squared":
        kinds["squared"] = ("ElasticNet", {"alpha": problem.lam, "l1_ratio": problem.rho})
    kind, parameters = kinds[problem.loss]

    def make(gap):
        model = getattr(parley, kind)(tol=float(gap or tol), **common, **parameters)
        model._exact = None  # solve small tables to `tol` too, as the peers do
        return model

    name = name or ("Parley" if preset == "auto" else f"Parley {preset}")
    return Contestant(name, make, problem.x, problem.labels, GAPS, limit)
