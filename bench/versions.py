#!/usr/bin/env python3
"""Compares two builds of Parley: versions.py OLD_TREE NEW_TREE [--repetitions N] [name ...].

A tree is a checkout with a build folder. Each problem runs with both builds in turn, in a new random order in each
repetition. Prints the medians of file to model and of the solve alone, and of fits from Python, and the ratio new / old.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from data import prepare
from harness import markdown

PROBLEMS = {
    "imdb logistic": ("imdb", ["--loss", "logistic", "--C", "1", "--intercept", "none", "--gap", "1e-6"]),
    "imdb hinge": ("imdb", ["--loss", "hinge", "--C", "1", "--intercept", "none", "--gap", "1e-6"]),
    "ratings lasso": ("ratings", ["--loss", "squared", "--lambda", "0.01", "--l1-ratio", "1", "--gap", "1e-6"]),
    "a9a logistic": ("a9a", ["--loss", "logistic", "--C", "1", "--intercept", "none", "--gap", "1e-6"]),
    "20news softmax": ("20news", ["--loss", "softmax", "--C", "1", "--gap", "1e-4"]),
}
FITS = {
    "python imdb": ("imdb", "LogisticRegression(C=1.0, fit_intercept=False, tol=1e-6)"),
    "python dorothea": ("dorothea", "Lasso(alpha=0.01, tol=1e-6)"),
}
FIT = """
import sys, time, json
import numpy as np
import parley
from sklearn.datasets import load_svmlight_file
x, y = load_svmlight_file(sys.argv[1])
x = x.astype(np.float32)
seconds = []
for _ in range(5):
    began = time.perf_counter()
    parley.{}.fit(x, y)
    seconds.append(time.perf_counter() - began)
print(json.dumps(min(seconds)))
"""


def train(tree, path, flags, folder):
    """(seconds of the process's whole run, seconds of it after reading)."""
    model = folder / "model.safetensors"
    words = [tree / "build" / "parley", "train", path, *flags, "--json", "--quiet", "--model", model]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds = json.loads(done.stdout)["seconds"]
    return seconds["total"], seconds["total"] - seconds["read"]


def package(tree, folder):
    """The Python package of a tree, without installing it."""
    to = folder / tree.name / "parley"
    shutil.copytree(tree / "python" / "parley", to)
    shutil.copy(tree / "build" / "libparley.so", to / "libparley.so")
    shutil.copy(tree / "include" / "parley.h", to)
    return to.parent


def fit(packages, tree, path, expression):
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(expression), path],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(packages[tree]), "PATH": "/usr/bin:/bin"},
    )
    return json.loads(done.stdout)


def interleave(trees, repetitions, call):
    """{tree: [result, ...]}, after one run of each that is not counted."""
    found = {tree: [] for tree in trees}
    for repetition in range(repetitions + 1):
        for tree in random.sample(trees, len(trees)):
            result = call(tree)
            if repetition:
                found[tree].append(result)
    return found


def row(name, old, new):
    before, after = statistics.median(old), statistics.median(new)
    return [name, f"{1e3 * before:.1f}", f"{1e3 * after:.1f}", f"{after / before:.3f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    trees, rows = [given.old.resolve(), given.new.resolve()], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packages = {tree: package(tree, folder) for tree in trees}
        data = lambda one: prepare(trees[0] / "build" / "parley", one, folder).path
        for title, (one, flags) in PROBLEMS.items():
            if given.names and not any(word in title for word in given.names):
                continue
            path = data(one)
            found = interleave(trees, given.repetitions, lambda tree: train(tree, path, flags, folder))
            for part, at in (("file to model", 0), ("solve", 1)):
                rows.append(row(f"{title}, {part}", *([one[at] for one in found[tree]] for tree in trees)))
        for title, (one, expression) in FITS.items():
            if given.names and not any(word in title for word in given.names):
                continue
            path = data(one)
            found = interleave(trees, max(3, given.repetitions // 3), lambda tree: fit(packages, tree, path, expression))
            rows.append(row(title, *(found[tree] for tree in trees)))
    print(markdown(["problem", "old, ms", "new, ms", "new / old"], rows))


if __name__ == "__main__":
    main()
