"""The data sets of the benchmark: real ones where they are at hand, else made by `parley generate`."""

import subprocess
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from evaluate import Problem

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RATINGS = "imdb/imdb.train.ratings.txt.zst"
REAL = {
    "imdb": "imdb/imdb.train.tfidf.svm.zst",
    "a9a": "a9a/a9a.zst",
    "sgemm": "sgemm/sgemm.logtime.svm.zst",
    "cadata": "cadata/cadata.svm.zst",
    "ratings": "imdb/imdb.train.tfidf.svm.zst",
    "dorothea": "dorothea/dorothea.train.svm.zst",
    "20news": "20news/20news.train.tfidf.svm.zst",
}
# Of about the shape of the real ones, which they stand in for.
MADE = {
    "imdb": ["text", "--rows", "25000", "--columns", "90000", "--nonzeros", "138"],
    "a9a": ["text", "--rows", "32000", "--columns", "120", "--nonzeros", "14"],
    "sgemm": ["dense", "--rows", "240000", "--columns", "14"],
    "cadata": ["dense", "--rows", "20000", "--columns", "8"],
    "ratings": ["text", "--rows", "25000", "--columns", "90000", "--nonzeros", "138"],
    "dorothea": ["text", "--rows", "800", "--columns", "88000", "--nonzeros", "900"],
    "20news": ["text", "--rows", "11000", "--columns", "58000", "--nonzeros", "130"],
}
CLASSES = 20  # of data made to stand in for 20news


class Dataset:
    """A LIBSVM text file, loaded for the evaluator when it is first asked for."""

    def __init__(self, name, path, origin):
        self.name, self.path, self.origin = name, path, origin
        self.title = name if origin == "real" else f"{name}-like"

    @cached_property
    def rows(self):
        return load_svmlight_file(str(self.path))

    def problem(self, loss, lam=None, rho=0.0):
        """No intercept, and C = 1 unless lambda is given: what all systems solve alike."""
        x, y = self.rows
        return Problem(x, y, loss, lam or 1.0 / len(y), rho)

    def lambda_max(self, loss):
        """The least lambda at which the lasso is zero."""
        x, y = self.rows
        slopes = y if loss == "squared" else y / 2
        return float(abs(x.T @ slopes).max()) / len(y)

    def describe(self):
        x, _ = self.rows
        megabytes = self.path.stat().st_size / 1e6
        return f"{x.shape[0]:,} x {x.shape[1]:,}, {x.nnz:,} non-zeros, {megabytes:.1f} MB of text; {self.origin}"


def relabel(path, labels):
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{label} {line.split(' ', 1)[1]}\n" for label, line in zip(labels, lines, strict=True)))


def made_classes(path):
    """The class of the largest of CLASSES random projections of a row."""
    x, _ = load_svmlight_file(str(path))
    directions = np.random.default_rng(1).standard_normal((x.shape[1], CLASSES))
    return 1 + np.argmax(x @ directions, axis=1)


def prepare(parley, name, folder):
    """The data set as plain text in `folder`."""
    path, real = folder / f"{name}.svm", SHARED / REAL[name]
    if real.exists():
        subprocess.run(["zstd", "-dqf", real, "-o", path], check=True)
        if name == "ratings":
            ratings = subprocess.run(["zstd", "-dqc", SHARED / RATINGS], check=True, capture_output=True, text=True)
            relabel(path, ratings.stdout.split())
        return Dataset(name, path, "real")
    kind, *flags = MADE[name]
    subprocess.run([parley, "generate", kind, path, *flags, "--quiet"], check=True)
    if name == "20news":
        relabel(path, made_classes(path))
    return Dataset(name, path, f"made: parley generate {' '.join([kind, *flags])}")
