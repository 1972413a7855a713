#!/usr/bin/env python3
"""Races Parley against its peers on problems of many shapes: shapes.py PARLEY [--quick] [word ...].

Words choose the problems whose name has all of them. Every system solves the same problem to 1e-6 of P at w = 0, from
arrays in memory. docs/benchmarks.md explains the table. A run of all problems writes bench/SHAPES.md, one of the large
problems alone their section of it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np
import scipy.sparse as sparse
import shape_data as made
from data import RATINGS, REAL, SHARED
from evaluate import Problem, null_objective, objective
from harness import Bench, markdown
from peers import TARGET, tune
from python import package
from run import machine, sections_of
from shape_peers import Failed, ours, peers_of

RESULTS = Path(__file__).with_name("SHAPES.md")
PRESETS = ("newton", "cocoa+", "cocoa-newton", "cocoa-lbfgs", "lbfgs")
LARGE = "Large problems"
LARGE_REPEATS = 2  # of large problems, whose times vary less
TIGHT = 1e-8  # gap at which Parley determines the optimum
AS_EXACT = "Parley as exact"  # auto with the loosest gap that reaches the target, as the peers have
HEAD = ["problem", "shape", "as exact, ms", "certified, ms", "method", "best peer", "its ms", "ratio", "ratio certified",
        "best preset", "its ms", "regret"]  # fmt: skip
LABELS = {"softmax": made.several, "rest": made.several, "poisson": made.counted}
REAL_VALUED = ("squared", "epsilon-insensitive", "squared-epsilon-insensitive")


@dataclass
class Shape:
    """A problem by the recipe of its data. `strength` is C, or with an L1 share, lambda over the largest one."""

    data: str
    size: tuple
    loss: str
    strength: float = 1.0
    rho: float = 0.0
    classes: int = 0
    share: float = 0.5
    large: bool = False
    options: dict = field(default_factory=dict)

    @property
    def name(self):
        penalty = f"C={self.strength:g}" if not self.rho else f"l1={self.rho:g} at {self.strength:g}"
        rest = "rest-" if self.classes and self.loss != "softmax" else ""
        more = "".join(f" {key}={value:g}" for key, value in self.options.items())
        more += f" {self.classes} classes" if self.classes else ""
        more += f" {self.share:g} positive" if self.share != 0.5 else ""
        size = "x".join(map(str, self.size[:2]))
        return f"{rest}{self.loss} {self.data}{' ' + size if size else ''} {penalty}{more}"

    def arrays(self):
        rng = np.random.default_rng(1)
        if self.data not in made.GENERATORS:
            return real_arrays(self.data)
        x = made.GENERATORS[self.data](rng, *self.size, **self.options)
        if self.classes:
            return x, made.several(rng, x, self.classes)
        if self.loss == "poisson":
            return x, made.counted(rng, x)
        return x, made.real(rng, x) if self.loss in REAL_VALUED else made.two(rng, x, self.share)

    def problem(self):
        x, labels = self.arrays()
        if sparse.issparse(x):
            x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
        y = labels
        if self.loss == "softmax":
            y = np.unique(labels, return_inverse=True)[1]
        elif self.classes:
            y = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)
        lam = 1.0 / (self.strength * len(y))
        if self.rho:
            slopes = y / 2 if self.loss == "logistic" else y
            lam = self.strength * float(np.abs(x.T @ slopes).max()) / len(y) / self.rho
        problem = Posed(x, y, self.loss, lam, self.rho, width=0.1 if "epsilon" in self.loss else 0.0)
        problem.labels = labels
        return problem


class Posed(Problem):
    """A problem with the labels as the systems get them, and its C."""

    @property
    def strength_c(self):
        return 1.0 / (self.lam * self.x.shape[0])


def real_arrays(name):
    """Data at hand, `name` as in bench/data.py."""
    from sklearn.datasets import load_svmlight_file

    path = SHARED / REAL[name]
    with tempfile.NamedTemporaryFile(suffix=".svm") as file:
        subprocess.run(["zstd", "-dqf", path, "-o", file.name], check=True)
        x, y = load_svmlight_file(file.name)
    if name == "ratings":
        text = subprocess.run(["zstd", "-dqc", SHARED / RATINGS], check=True, capture_output=True, text=True).stdout
        y = np.array(text.split(), float)
    return (x.toarray() if x.nnz > 0.5 * np.prod(x.shape) else x), y


def grid(data, size, loss, strengths=(1.0,), **more):
    return [Shape(data, size, loss, strength, **more) for strength in strengths]


def shapes():
    """All problems, from 150 x 4 to 5 million x 1 million."""
    scaled, uneven = {"options": {"decades": 0.0}}, {"options": {"decades": 4.0}}
    alike = {"options": {"correlation": 0.95}}
    found = []
    for loss in ("logistic", "hinge", "squared-hinge", "squared", "epsilon-insensitive"):
        found += grid("dense", (150, 4), loss)
    found += grid("dense", (150, 4), "softmax", classes=3) + grid("dense", (150, 4), "squared", (0.1,), rho=1.0)
    found += grid("dense", (150, 4), "logistic", (0.1,), rho=1.0)
    for loss in ("logistic", "hinge", "squared-hinge"):
        found += grid("dense", (20000, 54), loss, (0.01, 1.0), **scaled)
        found += grid("dense", (20000, 54), loss, **uneven)
        found += grid("binary", (20000, 300, 20), loss, (0.01, 1.0, 100.0) if loss != "squared-hinge" else (1.0,))
        found += grid("text", (2000, 10000, 40), loss)
        found += grid("text", (8000, 30000, 60), loss, (0.1, 1.0, 30.0) if loss != "squared-hinge" else (1.0,))
    found += grid("binary", (30000, 68, 12), "hinge") + grid("twins", (30000, 100, 14), "hinge")
    found += grid("twins", (30000, 100, 14), "logistic") + grid("text", (20000, 600, 30), "logistic")
    found += grid("text", (20000, 600, 30), "hinge") + grid("counts", (5000, 20000, 60), "logistic")
    found += grid("counts", (5000, 20000, 60), "hinge", (0.01,)) + grid("dense", (200, 5000), "logistic")
    found += grid("text", (20000, 30000, 40), "logistic", share=0.02)
    found += grid("text", (20000, 30000, 40), "hinge", share=0.02)
    found += grid("binary", (50000, 20000, 25), "logistic") + grid("dense", (200, 5000), "hinge")
    for data, size, more in (
        ("dense", (20000, 9), alike), ("dense", (8000, 280), alike), ("dense", (500, 3000), {}),
        ("text", (5000, 20000, 60), {}), ("binary", (20000, 300, 20), {}),
    ):  # fmt: skip
        found += grid(data, size, "squared", (0.1, 0.001) if size[0] == 8000 else (0.05,), rho=1.0, **more)
        found += grid(data, size, "logistic", (0.05,), rho=1.0, **more)
    found += grid("dense", (8000, 280), "squared", (0.01,), rho=0.5, **alike)
    found += grid("text", (5000, 20000, 60), "squared", (0.05,), rho=0.5)
    for data, size, more in (
        ("dense", (20000, 54), uneven), ("dense", (3000, 1000), alike), ("text", (8000, 30000, 60), {}),
        ("binary", (50000, 20000, 25), {}),
    ):  # fmt: skip
        found += grid(data, size, "squared", **more)
    found += grid("dense", (20000, 20), "epsilon-insensitive", **scaled)
    found += grid("text", (8000, 30000, 60), "epsilon-insensitive")
    found += grid("dense", (20000, 20), "squared-epsilon-insensitive") + grid("dense", (20000, 20), "poisson")
    found += grid("binary", (20000, 300, 20), "poisson")
    found += grid("dense", (5000, 40), "softmax", classes=5) + grid("dense", (3000, 200), "softmax", classes=10)
    found += grid("text", (8000, 30000, 60), "softmax", classes=20)
    found += grid("counts", (6000, 25000, 60), "softmax", classes=20)
    found += grid("counts", (6000, 25000, 60), "squared-hinge", classes=5)
    found += grid("text", (8000, 30000, 60), "hinge", classes=10)
    found += grid("text", (8000, 30000, 60), "squared-hinge", classes=10)
    found += grid("dense", (5000, 40), "hinge", classes=5)
    for loss in ("logistic", "hinge"):
        found += grid("text", (1000000, 100000, 40), loss, large=True) + grid("dense", (500000, 50), loss, large=True)
    found += grid("binary", (5000000, 1000000, 20), "logistic", large=True)
    found += grid("counts", (16000, 62000, 200), "softmax", classes=20, large=True)
    return found + [shape for shape in real_shapes() if (SHARED / REAL[shape.data]).exists()]


def real_shapes():
    found = []
    for loss in ("logistic", "hinge", "squared-hinge"):
        found += grid("a9a", (), loss) + grid("imdb", (), loss)
    found += grid("a9a", (), "hinge", (0.01, 100.0)) + grid("dorothea", (), "logistic") + grid("dorothea", (), "hinge")
    found += grid("dorothea", (), "logistic", (0.05,), rho=1.0) + grid("a9a", (), "logistic", (0.01,), rho=1.0)
    found += grid("cadata", (), "squared") + grid("cadata", (), "squared", (0.01,), rho=1.0)
    found += grid("sgemm", (), "squared") + grid("ratings", (), "squared") + grid("ratings", (), "epsilon-insensitive")
    return found + grid("20news", (), "softmax", classes=20) + grid("20news", (), "squared-hinge", classes=20)


class Race:
    """One problem: tunes the peers, then measures all in turn."""

    def __init__(self, bench, shape, known, limit):
        self.bench, self.shape, self.known, self.limit = bench, shape, known, limit
        self.problem = shape.problem()
        self.contestants = {}

    @cached_property
    def scale(self):
        return null_objective(self.problem)

    def reached(self, w):
        return (objective(self.problem, w) - self.known["optimum"]) / self.scale

    def attempt(self, contestant, setting=None):
        """An outcome, or None if the contestant does not end in time or fails."""
        try:
            return contestant.run(setting)
        except (subprocess.TimeoutExpired, Failed) as reason:
            self.known.setdefault("reasons", {})[contestant.name] = str(reason)
            return None

    def find_optimum(self, peers):
        """The lowest objective of anyone with a strict setting."""
        strict = [self.attempt(ours(self.problem, "auto", TIGHT, 3 * self.limit))]
        if not strict[0] or strict[0].summary["stop"] != "converged":
            strict += [self.attempt(peer, peer.ladder[-2]) for peer in peers]
        found = [objective(self.problem, outcome.w) for outcome in strict if outcome]
        self.known["optimum"] = min(found) if found else float("nan")

    def tune(self, peer):
        try:
            setting = tune(peer, self.reached)
        except (Failed, ValueError) as reason:
            self.known.setdefault("reasons", {})[peer.name] = str(reason)
            return
        outcome = self.attempt(peer, setting)
        if outcome and self.reached(outcome.w) <= TARGET:
            self.known["settings"][peer.name] = setting

    def prepare(self):
        peers = [*peers_of(self.problem, self.limit), ours(self.problem, "auto", TARGET, self.limit, AS_EXACT)]
        if "settings" not in self.known:
            self.find_optimum(peers[:-1])
            self.known["settings"] = {}
        for peer in peers:
            if peer.name not in self.known.setdefault("tuned", list(self.known["settings"])):
                self.tune(peer)
                self.known["tuned"].append(peer.name)
        for peer in peers:
            if peer.name in self.known["settings"]:
                self.contestants[peer.name] = (peer, self.known["settings"][peer.name])
            else:
                peer.close()
        for preset in ("auto", *PRESETS):
            mine = ours(self.problem, preset, TARGET, self.limit)
            self.contestants[mine.name] = (mine, None)

    def measure(self):
        """Medians by contestant, and the last outcome of Parley. Contestants far behind run only once."""
        times, first = {}, {}
        for name, (contestant, setting) in list(self.contestants.items()):
            first[name] = self.attempt(contestant, setting) and self.attempt(contestant, setting)
        for group in ("Parley", ""):
            members = [name for name in first if first[name] and name.startswith("Parley") == (group == "Parley")]
            best = min((first[name].solve for name in members), default=0)
            for name in members:
                times[name] = [first[name].solve]
            near = {name: self.contestants[name] for name in members if first[name].solve <= 2.5 * best}
            self.contestants = {**self.contestants, **near}
            for name in members:
                if name not in near:
                    self.contestants[name][0].close()
                    self.contestants.pop(name)
        calls = {
            name: lambda pair=pair, name=name: self.attempt(*pair) or first[name]
            for name, pair in self.contestants.items()
            if first.get(name)
        }
        for name, outcomes in self.bench.repeat(calls, most=LARGE_REPEATS if self.shape.large else None).items():
            times[name] += [outcome.solve for outcome in outcomes]
        for contestant, _ in self.contestants.values():
            contestant.close()
        return {name: statistics.median(values) for name, values in times.items()}, first

    def row(self):
        self.prepare()
        times, outcomes = self.measure()
        mine = outcomes.get("Parley")
        if mine and not self.reached(mine.w) <= TARGET:
            self.known.setdefault("reasons", {})["Parley"] = f"reached {self.reached(mine.w):.1e}"
        peers = {name: value for name, value in times.items() if not name.startswith("Parley")}
        presets = {
            name.removeprefix("Parley "): value
            for name, value in times.items()
            if name.startswith("Parley ") and name != AS_EXACT and self.reached(outcomes[name].w) <= TARGET
        }
        ended = mine and mine.summary["stop"] == "converged"
        certified = times["Parley"] if ended else None
        return Row(self.shape, self.problem.x, times.get(AS_EXACT), certified, mine, peers, presets)


def best(times):
    return min(times.items(), key=lambda item: item[1]) if times else ("none", None)


def milliseconds(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.1f}"


def times_text(value):
    return "-" if value is None else f"{value:.2f}x"


class Row:
    def __init__(self, shape, x, mine, certified, outcome, peers, presets):
        self.shape, self.mine, self.certified, self.outcome = shape, mine, certified, outcome
        self.peer, self.peer_time = best(peers)
        self.preset, self.preset_time = best(presets)
        values = x.nnz if sparse.issparse(x) else x.size
        self.size = f"{x.shape[0]:,} x {x.shape[1]:,}, {values / (x.shape[0] * x.shape[1]):.2%}"
        self.ratio = self.peer_time / mine if mine and self.peer_time else None
        self.certified_ratio = self.peer_time / certified if certified and self.peer_time else None
        self.regret = max(1.0, certified / self.preset_time) if certified and self.preset_time else None

    def cells(self):
        method = f"{self.outcome.summary['preset'] or 'products'}, {self.outcome.summary['rounds']}" if self.outcome else "-"
        return [
            self.shape.name, self.size, milliseconds(self.mine), milliseconds(self.certified), method, self.peer,
            milliseconds(self.peer_time), times_text(self.ratio), times_text(self.certified_ratio), self.preset,
            milliseconds(self.preset_time), times_text(self.regret),
        ]  # fmt: skip


def certified_text(ratios):
    """Median, how many are slower, and the share that is twice as fast."""
    if not ratios:
        return "-"
    slower, twice = sum(ratio < 1 for ratio in ratios), np.mean([ratio >= 2 for ratio in ratios])
    return f"{statistics.median(ratios):.2f}x, {slower}, {twice:.0%}"


def overview(rows):
    ratios = [row.ratio for row in rows if row.ratio]
    certified = [row.certified_ratio for row in rows if row.certified_ratio]
    regrets = [row.regret for row in rows if row.regret]
    if not ratios or not regrets:
        return "No problem was solved by Parley and a peer.\n"
    lines = [
        ["problems", len(rows)],
        ["without a certificate in time", sum(row.certified is None for row in rows)],
        ["solved by no peer in time", sum(row.peer_time is None for row in rows)],
        ["ratio to the best peer, median", f"{statistics.median(ratios):.2f}x"],
        ["slower than the best peer", sum(ratio < 1 for ratio in ratios)],
        ["at least twice as fast", f"{np.mean([ratio >= 2 for ratio in ratios]):.0%}"],
        ["the same three with the certificate", certified_text(certified)],
        ["auto within 1.3x of the best preset", f"{np.mean([regret <= 1.3 for regret in regrets]):.0%}"],
        ["largest regret", f"{max(regrets):.2f}x"],
    ]
    return markdown(["what", "found"], lines)


def report(rows, bench, arguments):
    limit = f"A fit may take {arguments.limit:g} s.\n"
    return "\n".join([limit, machine(bench), overview(rows), markdown(HEAD, map(Row.cells, rows))])


def page(text, arguments):
    """The whole page with a new report. The large problems have a section of their own, which other runs keep."""
    head, sections = sections_of(RESULTS.read_text() if RESULTS.exists() else "")
    if arguments.large:
        sections[LARGE] = text
    else:
        head = f"# Results by shape\n\n`bench/shapes.py PARLEY` wrote this page; docs/benchmarks.md explains it. {text}\n"
    return head + "\n".join(f"## {title}\n\n{body}" for title, body in sections.items())


def arguments_of():
    parser = argparse.ArgumentParser(description="Races Parley against its peers on problems of many shapes.")
    parser.add_argument("parley", help="the binary; its library must be beside it")
    parser.add_argument("--quick", action="store_true", help="one repetition; writes no file")
    parser.add_argument("--large", action="store_true", help="only the large problems")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a fit (20)")
    parser.add_argument("--known", type=Path, help="a file that keeps optima and tuned tolerances for later runs")
    parser.add_argument("--list", action="store_true", help="print the names of the problems and exit")
    parser.add_argument("words", nargs="*", help="words that the names of the problems must have")
    return parser.parse_intermixed_args()


def main():
    arguments = arguments_of()
    chosen = [
        shape
        for shape in shapes()
        if all(word in shape.name for word in arguments.words)
        and shape.large == arguments.large
    ]
    if arguments.list:
        print("\n".join(shape.name for shape in chosen))
        return 0
    known = json.loads(arguments.known.read_text()) if arguments.known and arguments.known.exists() else {}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.realpath(arguments.parley), Path(folder), 1 if arguments.quick else 5)
        package(bench)
        for shape in chosen:
            race = Race(bench, shape, known.setdefault(shape.name, {}), arguments.limit)
            rows.append(race.row())
            print(" | ".join(map(str, rows[-1].cells())), race.known.get("reasons", {}).get("Parley", ""), flush=True)
            if arguments.known:
                arguments.known.write_text(json.dumps(known, indent=1))
        text = report(rows, bench, arguments)
    print(text)
    if not arguments.quick and not arguments.words:
        RESULTS.write_text(page(text, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
