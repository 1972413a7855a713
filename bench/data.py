"""The data sets of the benchmark: real ones where they are at hand, else made by `parley generate`."""

import subprocess
from functools import cached_property
from pathlib import Path

from sklearn.datasets import load_svmlight_file

from evaluate import Problem

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
REAL = {
    "imdb": "imdb/imdb.train.tfidf.svm.zst",
    "a9a": "a9a/a9a.zst",
    "sgemm": "sgemm/sgemm.logtime.svm.zst",
    "cadata": "cadata/cadata.svm.zst",
}
# Of about the shape of the real ones, which they stand in for.
MADE = {
    "imdb": ["text", "--rows", "25000", "--columns", "90000", "--nonzeros", "138"],
    "a9a": ["text", "--rows", "32000", "--columns", "120", "--nonzeros", "14"],
    "sgemm": ["dense", "--rows", "240000", "--columns", "14"],
    "cadata": ["dense", "--rows", "20000", "--columns", "8"],
}


class Dataset:
    """A LIBSVM text file, loaded for the evaluator when it is first asked for."""

    def __init__(self, name, path, origin):
        self.name, self.path, self.origin = name, path, origin
        self.title = name if origin == "real" else f"{name}-like"

    @cached_property
    def rows(self):
        return load_svmlight_file(str(self.path))

    def problem(self, loss):
        """C = 1, no intercept: what all systems solve alike."""
        x, y = self.rows
        return Problem(x, y, loss, 1.0 / len(y))

    def describe(self):
        x, _ = self.rows
        megabytes = self.path.stat().st_size / 1e6
        return f"{x.shape[0]:,} x {x.shape[1]:,}, {x.nnz:,} non-zeros, {megabytes:.1f} MB of text; {self.origin}"


def prepare(parley, name, folder):
    """The data set as plain text in `folder`."""
    path, real = folder / f"{name}.svm", SHARED / REAL[name]
    if real.exists():
        subprocess.run(["zstd", "-dqf", real, "-o", path], check=True)
        return Dataset(name, path, "real")
    kind, *flags = MADE[name]
    subprocess.run([parley, "generate", kind, path, *flags, "--quiet"], check=True)
    return Dataset(name, path, f"made: parley generate {' '.join([kind, *flags])}")
