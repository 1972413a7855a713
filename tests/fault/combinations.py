#!/usr/bin/env python3
"""combinations.py PARLEY: every local solver, combine and exchange, singly and in pairs, with every loss and penalty.

Each run of `parley train` must end with an exit code of Parley and, if it fails, with one sentence; never by a signal.
The names come from `parley list`."""

import itertools
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RATIOS = ("0", "0.5", "1")
TIMEOUT = 60


def names(parley, kind):
    text = subprocess.run([parley, "list", kind], check=True, capture_output=True, text=True).stdout
    found = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    if not found:
        raise SystemExit(f"parley list {kind} names nothing")
    return found


def choices(parley):
    kinds = {"--local": "solvers", "--combine": "combines", "--exchange": "exchanges"}
    options = {flag: [(flag, name) for name in names(parley, kind)] for flag, kind in kinds.items()}
    for flag in options:
        yield from ([option] for option in options[flag])
    for first, second in itertools.combinations(options, 2):
        yield from ([*pair] for pair in itertools.product(options[first], options[second]))


def run(parley, folder, words):
    done = subprocess.run(
        [parley, "train", "rows.svm", "--rounds", "2", "--threads", "1", "--quiet", "--model", "/dev/null", *words],
        cwd=folder, capture_output=True, text=True, timeout=TIMEOUT,
    )  # fmt: skip
    told = done.returncode in (0, 3) or done.stderr.count("parley: ") == 1
    return None if done.returncode in (0, 1, 2, 3) and told else (done.returncode, words, done.stderr)


def main():
    parley = str(Path(sys.argv[1]).resolve())
    chosen = list(choices(parley))
    cases = [
        ["--loss", loss, "--l1-ratio", ratio, *itertools.chain(*options)]
        for loss in names(parley, "losses")
        for ratio in RATIOS
        for options in chosen
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = "".join(f"{i % 2} {i % 7 + 1}:{0.25 * (i % 5 + 1)} {i % 7 + 10}:1\n" for i in range(40))
        Path(folder, "rows.svm").write_text(rows)
        failed = [bad for bad in pool.map(lambda words: run(parley, folder, words), cases) if bad]
    for code, words, said in failed[:10]:
        print(f"parley train rows.svm {' '.join(words)}: exit code {code}, and it said:\n{said}")
    print(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
