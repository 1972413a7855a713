#!/usr/bin/env python3
"""What a fit costs apart from its data: fixed_cost.py PARLEY. Fits 150 x 4 values from Python, and by the program.

Prints medians of milliseconds, of the clock and of computing, beside the aims: 1 ms for a fit, 5 ms for a process.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np
from harness import Bench, markdown
from python import package

FITS, RUNS = 300, 60
AIMS = {"fit": 1.0, "process": 5.0}


def values():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((150, 4))
    return x, np.sign(x[:, 0] + 0.3 * rng.standard_normal(150))


def measure(call, count, computed):
    """Medians of the milliseconds that a call takes, by the clock and by `computed`."""
    call()
    taken = []
    for _ in range(count):
        clock, spent = time.perf_counter(), computed()
        call()
        taken.append((time.perf_counter() - clock, computed() - spent))
    return [1e3 * statistics.median(column) for column in zip(*taken)]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: fixed_cost.py PARLEY")
    x, y = values()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.realpath(sys.argv[1]), Path(folder), 1)
        parley = package(bench)
        file = Path(folder) / "small.svm"
        lines = (f"{b:g} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(a)) for a, b in zip(x, y))
        file.write_text("\n".join(lines) + "\n")
        command = [bench.parley, "train", file, "--loss", "logistic", "--quiet", "--model", Path(folder) / "model"]
        found = {
            "fit": measure(lambda: parley.LogisticRegression().fit(x, y), FITS, time.process_time),
            "process": measure(lambda: subprocess.run(command, check=True, capture_output=True), RUNS, children),
        }
    rows = [[name, f"{clock:.2f}", f"{spent:.2f}", f"{AIMS[name]:g}"] for name, (clock, spent) in found.items()]
    print(markdown(["150 x 4 values, logistic loss", "clock, ms", "computing, ms", "aim, ms"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
