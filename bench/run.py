#!/usr/bin/env python3
"""Races Parley against its peers: run.py PARLEY [--quick] [table ...]; docs/benchmarks.md says how to read the tables.

Every table's contestants run in turn, their order mixed anew in each repetition, and medians are compared. Prints the
tables as they are done, and writes them to bench/RESULTS.md when all of them were run in earnest.
"""

import argparse
import datetime
import importlib.metadata
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from data import prepare
from evaluate import null_objective, objective, read_parley
from peers import SNAPML_LADDER, TARGET, Liblinear, Parley, PythonPeer, clocked, reading_liblinear, tune

RESULTS = Path(__file__).with_name("RESULTS.md")
REPETITIONS = 7
PROBLEMS = [
    ("imdb", "logistic"),
    ("imdb", "hinge"),
    ("a9a", "logistic"),
    ("sgemm", "squared"),
    ("cadata", "squared"),
]


class Bench:
    """What the tables share: the binary, the data, the races already run."""

    def __init__(self, parley, folder, repetitions):
        self.parley, self.folder, self.repetitions = parley, folder, repetitions
        self.random, self.datasets, self.races, self.aims = random.Random(1), {}, {}, []

    def data(self, name):
        if name not in self.datasets:
            self.datasets[name] = prepare(self.parley, name, self.folder)
        return self.datasets[name]

    def repeat(self, calls, warm=False):
        """Runs each call once per repetition, in an order mixed anew; gives {name: what it returned each time}.

        `warm`: each after a run of its own that is not counted, because a virtual machine may take back memory that
        lies idle, and whoever allocates first then pays for getting it again.
        """
        found = {name: [] for name in calls}
        for _ in range(self.repetitions):
            order = list(calls)
            self.random.shuffle(order)
            for name in order:
                time.sleep(0.05)  # threads of the one before may still be spinning
                if warm:
                    calls[name]()
                found[name].append(calls[name]())
        return found

    def race(self, name, loss):
        """All contestants on one problem: {name: (label, outcomes, worst sub-optimality)}."""
        if (name, loss) not in self.races:
            self.races[name, loss] = run_race(self, self.data(name), loss)
        return self.races[name, loss]

    def aim(self, text, found, wanted, at_least=True):
        met = found >= wanted if at_least else found <= wanted
        self.aims.append(
            [
                text,
                f"{found:.2f}",
                f"{'at least' if at_least else 'at most'} {wanted:g}",
                "yes" if met else "no",
            ]
        )


def contestants(bench, data, loss):
    columns = data.rows[0].shape[1]
    text, folder = data.path, bench.folder
    if loss == "logistic":
        peers = [Liblinear(text, columns, solver, folder) for solver in (7, 0)]
        return peers + [PythonPeer("Snap ML", "snapml-logistic", text, folder, SNAPML_LADDER)]
    if loss == "hinge":
        return [
            Liblinear(text, columns, 3, folder),
            PythonPeer("Snap ML", "snapml-hinge", text, folder, SNAPML_LADDER),
        ]
    solvers = ["cholesky", "sparse_cg", "lsqr"]
    return [
        Liblinear(text, columns, 11, folder, ("-c", 0.5, "-p", 0)),
        PythonPeer("scikit-learn Ridge", "ridge", text, folder, solvers, ordered=False),
    ]


def best_known(bench, data, loss, problem):
    """P* to measure everybody by: the best of a long run of Parley and of the strictest LIBLINEAR."""
    strict = Parley(bench.parley, data.path, loss, bench.folder, ("--threads", 2, "--gap", 1e-10, "--seconds", 60))
    found = [objective(problem, strict.run().w)]
    for peer in contestants(bench, data, loss):
        if isinstance(peer, Liblinear):
            found.append(objective(problem, peer.run(peer.ladder[-1]).w))
    return min(found)


def run_race(bench, data, loss):
    problem = data.problem(loss)
    best, scale = best_known(bench, data, loss, problem), null_objective(problem)

    def reached(w):
        return (objective(problem, w) - best) / scale

    ours = Parley(bench.parley, data.path, loss, bench.folder)
    labels, calls = {ours.name: ours.setting}, {ours.name: ours.run}
    for peer in contestants(bench, data, loss):
        setting = tune(peer, reached)
        labels[peer.name] = peer.label(setting)
        calls[peer.name] = lambda peer=peer, setting=setting: peer.run(setting)
    outcomes = bench.repeat(calls)
    return {name: (labels[name], runs, max(reached(run.w) for run in runs)) for name, runs in outcomes.items()}


def spread(values):
    return f"{1e3 * statistics.median(values):.1f} ({1e3 * min(values):.1f}-{1e3 * max(values):.1f})"


def ratio(values, ours):
    return f"{statistics.median(values) / statistics.median(ours):.1f}x"


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def accuracy(reached):
    return f"{max(reached, 0.0):.0e}" + ("" if reached <= TARGET else " (no nearer)")


def table_model(bench):
    """File to model"""
    rows = []
    for name, loss in PROBLEMS:
        race = bench.race(name, loss)
        ours = [run.total for run in race["Parley"][1]]
        for system, (label, runs, reached) in race.items():
            times = [run.total for run in runs]
            rows.append(
                [
                    f"{bench.data(name).title} {loss}",
                    system,
                    label,
                    accuracy(reached),
                    spread(times),
                    ratio(times, ours),
                ]
            )
    for loss, peer, wanted in (("logistic", "LIBLINEAR -s 7", 8), ("hinge", "LIBLINEAR -s 3", 4)):
        race = bench.race("imdb", loss)
        bench.aim(f"imdb {loss}, file to model, against {peer}", median_ratio(race, peer, "total"), wanted)
    text = (
        "Wall time of a fresh process from a text file to a model on disk; for Python peers the time of reading and of "
        "the first fit, without starting Python and importing. Two threads, no intercept, lambda = 1/n (C = 1).\n\n"
    )
    return text + markdown(["problem", "system", "setting", "reached", "ms, median (range)", "against Parley"], rows)


def median_ratio(race, peer, field):
    medians = [statistics.median(getattr(run, field) for run in race[name][1]) for name in (peer, "Parley")]
    return medians[0] / medians[1]


def table_solve(bench):
    """Solve alone"""
    rows = []
    for name, loss in PROBLEMS:
        race = bench.race(name, loss)
        ours = [run.solve for run in race["Parley"][1]]
        for system, (label, runs, reached) in race.items():
            times = [run.solve for run in runs if run.solve is not None]
            if times:
                rows.append(
                    [
                        f"{bench.data(name).title} {loss}",
                        system,
                        label,
                        accuracy(reached),
                        spread(times),
                        ratio(times, ours),
                    ]
                )
    bench.aim(
        "imdb logistic, solve alone, against Snap ML",
        median_ratio(bench.race("imdb", "logistic"), "Snap ML", "solve"),
        2.5,
    )
    text = (
        "The same runs, data in memory: Parley's setup, compute, exchange, wait and evaluate; the peer's `fit`, the "
        "better of two in its process.\n\n"
    )
    return text + markdown(["problem", "system", "setting", "reached", "ms, median (range)", "against Parley"], rows)


def sklearn_reading(data):
    from sklearn.datasets import load_svmlight_file

    began = time.perf_counter()
    load_svmlight_file(str(data.path))
    return time.perf_counter() - began


def one_round(bench, data, threads):
    loss = "squared" if data.name in ("sgemm", "cadata") else "logistic"
    return Parley(bench.parley, data.path, loss, bench.folder, ("--threads", threads, "--rounds", 1)).run().read


def table_read(bench):
    """Reading alone"""
    rows = []
    for name in ("imdb", "a9a", "sgemm"):
        data = bench.data(name)
        found = bench.repeat(
            {
                "Parley": lambda: one_round(bench, data, 2),
                "LIBLINEAR": lambda: reading_liblinear(data.path, bench.folder),
                "scikit-learn": lambda: sklearn_reading(data),
            },
            warm=True,
        )
        megabytes = data.path.stat().st_size / 1e6
        for system, times in found.items():
            rate = megabytes / statistics.median(times)
            rows.append([data.title, system, spread(times), f"{rate:,.0f}", ratio(times, found["Parley"])])
        if name == "imdb":
            for peer, wanted in (("LIBLINEAR", 15), ("scikit-learn", 40)):
                bench.aim(
                    f"imdb, reading, against {peer}",
                    statistics.median(found[peer]) / statistics.median(found["Parley"]),
                    wanted,
                )
    text = (
        "LIBSVM text to a matrix in memory, two threads for Parley (`seconds.read`); LIBLINEAR's process is stopped "
        "right after its reader by a tolerance that it refuses, less its time on a file of one line; scikit-learn's "
        "`load_svmlight_file`. Each timed right after a run of its own that is not counted.\n\n"
    )
    return text + markdown(["data", "system", "ms, median (range)", "MB/s", "against Parley"], rows)


def table_threads(bench):
    """One thread and two"""
    data, rows = bench.data("imdb"), []
    calls = {}
    for threads in (1, 2):
        peer = Parley(bench.parley, data.path, "logistic", bench.folder, ("--threads", threads, "--gap", TARGET))
        calls[threads] = peer.run
    found = bench.repeat(calls, warm=True)
    for part, words in (
        ("read", "reading imdb"),
        ("solve", "imdb logistic, solve"),
        ("total", "imdb logistic, file to model"),
    ):
        one, two = ([getattr(run, part) for run in found[threads]] for threads in (1, 2))
        lanes = "" if part == "read" else f"{found[1][0].summary['lanes']} and {found[2][0].summary['lanes']}"
        rows.append([words, lanes, spread(one), spread(two), ratio(one, two)])
        if part != "total":
            bench.aim(f"{words}, two threads against one", statistics.median(one) / statistics.median(two), 1.5)
    return "Lanes are left at their default.\n\n" + markdown(
        ["what", "lanes", "1 thread, ms", "2 threads, ms", "gain"], rows
    )


def table_certificate(bench):
    """Cost of the certificate"""
    rows = []
    for name, loss in PROBLEMS:
        runs = [run.summary for run in bench.race(name, loss)["Parley"][1]]
        evaluate, compute = ([run["seconds"][part] for run in runs] for part in ("evaluate", "compute"))
        share = statistics.median(e / c for e, c in zip(evaluate, compute))
        last = runs[-1]
        rows.append(
            [
                f"{bench.data(name).title} {loss}",
                last["preset"],
                last["rounds"],
                f"{last['relative_gap']:.1e}",
                spread(compute),
                spread(evaluate),
                f"{share:.1%}",
            ]
        )
        bench.aim(f"{name} {loss}, certificate, share of compute", share, 0.1, at_least=False)
    text = "Seconds spent on the objective and the duality gap against seconds of computing, in the runs above.\n\n"
    return text + markdown(["problem", "method", "rounds", "certified", "compute, ms", "evaluate, ms", "share"], rows)


def table_memory(bench):
    """Memory"""
    rows = []
    for name, loss in (("imdb", "logistic"), ("a9a", "logistic"), ("sgemm", "squared")):
        data, cache = bench.data(name), bench.folder / f"{name}.parley"
        clocked([bench.parley, "convert", data.path, cache, "--quiet"])
        size = cache.stat().st_size
        for source, path in (("cache", cache), ("text", data.path)):
            peer = Parley(bench.parley, path, loss, bench.folder)
            peak = max(peer.run().summary["peak_rss_bytes"] for _ in range(min(3, bench.repetitions)))
            model = read_parley(peer.model)[0].nbytes
            bound = 1.3 * size + model + 64e6 if source == "cache" else 2.2 * size
            rows.append(
                [f"{data.title} {loss}", source, f"{size / 1e6:.1f}", f"{peak / 1e6:.1f}", f"{peak / size:.2f}x"]
            )
            if name == "imdb":
                words = "1.3x the cache, the model and 64 MB" if source == "cache" else "2.2x the cache"
                bench.aim(f"imdb, peak from {source}, as a share of {words}", peak / bound, 1.0, at_least=False)
    text = (
        "Peak resident memory of `parley train`, from the mapped cache and from text. On small data the program itself "
        "weighs in.\n\n"
    )
    return text + markdown(["problem", "from", "cache, MB", "peak, MB", "peak / cache"], rows)


TABLES = {
    "model": table_model,
    "solve": table_solve,
    "read": table_read,
    "threads": table_threads,
    "certificate": table_certificate,
    "memory": table_memory,
}


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0]


def machine(bench):
    """What was measured, and on what."""
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    liblinear = subprocess.run(
        ["dpkg-query", "-W", "-f=${Version}", "liblinear-tools"], capture_output=True, text=True
    ).stdout
    packages = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("scikit-learn", "snapml", "numpy", "scipy")
    )
    lines = [
        f"- {datetime.date.today()}, {bench.repetitions} repetitions, load {os.getloadavg()[0]:.1f} at the end",
        f"- {cpu.group(1) if cpu else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB",
        f"- Linux {platform.release()}",
        f"- {first_line(bench.parley, '--version')}, {first_line('cc', '--version')}",
        f"- LIBLINEAR {liblinear or 'of unknown version'}, {packages}",
    ]
    lines += [f"- {data.title}: {data.describe()}" for data in bench.datasets.values()]
    return "\n".join(lines) + "\n"


def report(bench, names):
    """Runs the tables, printing each as soon as it is there."""
    parts = []
    for name in names:
        table = TABLES[name]
        parts.append(f"## {table.__doc__}\n\n{table(bench)}")
        print(parts[-1], flush=True)
    if bench.aims:
        parts.append("## Aims\n\n" + markdown(["what", "found", "aim", "met"], bench.aims))
        print(parts[-1])
    return "\n".join(["# Benchmark results\n", machine(bench), *parts])


def main():
    parser = argparse.ArgumentParser(description="Races Parley against its peers and writes bench/RESULTS.md.")
    parser.add_argument("parley", help="the binary")
    parser.add_argument("--quick", action="store_true", help="one repetition, to see that it works; writes no file")
    parser.add_argument("tables", nargs="*", metavar="table", help=f"which of {', '.join(TABLES)}; all unless given")
    arguments = parser.parse_intermixed_args()
    unknown = set(arguments.tables) - set(TABLES)
    if unknown:
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(str(Path(arguments.parley).resolve()), Path(folder), 1 if arguments.quick else REPETITIONS)
        text = report(bench, arguments.tables or list(TABLES))
    if not arguments.quick and not arguments.tables:
        RESULTS.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
