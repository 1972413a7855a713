#!/usr/bin/env python3
"""coverage.py [report]: how many branches of src/ the tests take.

Builds build/coverage with counters, runs there what `make check` runs except builds with sanitizers and golden, which takes long
without optimisation, and prints a table of the folders of src/ and of the files below the floor. With `report` it runs nothing and counts what earlier runs left. Counters
are written when a process ends and added up by the file system; a process that a test kills writes none. Ends with 1 if a
test failed or the branches of src/ that were taken are below FLOOR percent."""

import csv
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

FLOOR = 92.0  # percent of the branches of src/
ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
VENV = ROOT / "build" / "venv" / "bin" / "python"
JOBS = str(os.cpu_count() or 2)

SUITES = {
    "unit and replay": ["ctest", "--test-dir", BUILD, "-j", JOBS, "--output-on-failure"],
    "cli": ["tests/cli/run.sh", BUILD / "parley"],
    "mpi": [sys.executable, "tests/mpi/test_ranks.py", BUILD / "parley"],
    "problem": [VENV, "tests/problem/test_cluster.py", BUILD / "parley-kmeans"],
    "fault": [sys.executable, "tests/fault/run.py", BUILD / "parley", "8"],
    "network": [sys.executable, "tests/network/run.py", BUILD / "parley"],
    "python": [VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"],
}


def forget():
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()


def build():
    forget()  # those of another version of a file could not be added to
    options = ["-DPARLEY_TESTS=ON", "-DPARLEY_COVERAGE=ON"]
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--parallel", JOBS, "--", "-s"], check=True, stdout=subprocess.DEVNULL)
    forget()  # the build runs the program to make the manual


def python_package():
    """The Python package around the library with counters."""
    folder = BUILD / "python" / "parley"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "parley", folder)
    shutil.copy(ROOT / "include" / "parley.h", folder)
    shutil.copy(BUILD / "libparley.so", folder)
    return folder.parent


def hear_interrupts():
    """In the background, shells start processes that ignore SIGINT, which some tests send."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_suites():
    """Returns the names of the suites that failed."""
    settings = {**os.environ, "PYTHONPATH": str(python_package()), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    failed = []
    for name, command in SUITES.items():
        log = BUILD / f"{name.replace(' ', '-')}.log"
        with open(log, "wb") as out:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env=settings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=hear_interrupts,
                check=False,
            ).returncode
        print(f"{'FAIL' if code else 'ok  '}  {name}", flush=True)
        if code:
            failed.append(name)
            print(f"      exit code {code}; see {log.relative_to(ROOT)}")
    return failed


def count():
    """Branches taken and branches in all, by file of src/."""
    table = BUILD / "files.csv"
    subprocess.run(
        ["gcovr", "--root", ROOT, "--filter", "src/", "--object-directory", BUILD, "-j", JOBS, "--csv", "-o", table, BUILD],
        cwd=ROOT,
        check=True,
    )
    with open(table, encoding="utf-8", newline="") as rows:
        return {row["filename"]: (int(row["branch_covered"]), int(row["branch_total"])) for row in csv.DictReader(rows)}


def total(pairs):
    pairs = list(pairs)
    return sum(taken for taken, _ in pairs), sum(branches for _, branches in pairs)


def percent(pair):
    taken, branches = pair
    return 100.0 * taken / branches if branches else 100.0


def show(name, pair):
    print(f"{name:<36} {pair[1]:>9} {pair[1] - pair[0]:>7} {percent(pair):>6.1f} %")


def report():
    """Prints the tables and returns whether the floor is reached."""
    files = count()
    print(f"\n{'folder':<36} {'branches':>9} {'missed':>7} {'taken':>8}")
    for folder in sorted({Path(name).parent.as_posix() for name in files}):
        show(folder, total(pair for name, pair in files.items() if Path(name).parent.as_posix() == folder))
    everything = total(files.values())
    show("src", everything)
    below = sorted((name for name in files if percent(files[name]) < FLOOR), key=lambda name: files[name][0] - files[name][1])
    if below:
        print(f"\nfiles below {FLOOR:g} %, by branches missed")
        for name in below:
            show(name, files[name])
    good = percent(everything) >= FLOOR
    print(f"\n{percent(everything):.2f} % of the branches of src/ are taken; the floor is {FLOOR:g} %")
    return good


def main():
    failed = []
    if sys.argv[1:] != ["report"]:
        build()
        failed = run_suites()
    good = report()
    sys.exit(0 if good and not failed else 1)


if __name__ == "__main__":
    main()
