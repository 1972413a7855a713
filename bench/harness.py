"""Functions shared by the tables: repetitions in random order, tuned peers, ratios and printing."""

import random
import statistics
import time

from data import prepare
from evaluate import null_objective, objective
from peers import TARGET, tune


class Bench:
    """State shared by the tables: the binary, the data and the races already run."""

    def __init__(self, parley, folder, repetitions):
        self.parley, self.folder, self.repetitions = parley, folder, repetitions
        self.random, self.datasets, self.races, self.aims = random.Random(1), {}, {}, []

    def data(self, name):
        if name not in self.datasets:
            self.datasets[name] = prepare(self.parley, name, self.folder)
        return self.datasets[name]

    def repeat(self, calls, warm=False, most=None):
        """Runs each call once per repetition, in a new random order; returns {name: [result, ...]}.

        `most` limits the repetitions for slow contestants. `warm` runs each call once more before it is measured,
        because a virtual machine may reclaim idle memory, and the first to allocate pays to get it back.
        """
        found = {name: [] for name in calls}
        for _ in range(min(self.repetitions, most or self.repetitions)):
            order = list(calls)
            self.random.shuffle(order)
            for name in order:
                time.sleep(0.05)  # threads of the previous run may still be spinning
                if warm:
                    calls[name]()
                found[name].append(calls[name]())
        return found

    def race(self, key, problem, ours, peers, strict, most=None, warm=False):
        """Races all contestants on one problem; returns {name: (label, outcomes, worst sub-optimality)}, cached by `key`.

        `strict` runs find how low the objective can get, and every peer is tuned to come within TARGET of that.
        """
        if key not in self.races:
            best, scale = min(objective(problem, run().w) for run in strict), null_objective(problem)

            def reached(w):
                return (objective(problem, w) - best) / scale

            labels, calls = {ours.name: ours.setting}, {ours.name: ours.run}
            for peer in peers:
                setting = tune(peer, reached)
                labels[peer.name] = peer.label(setting)
                calls[peer.name] = lambda peer=peer, setting=setting: peer.run(setting)
            outcomes = self.repeat(calls, warm, most)
            self.races[key] = {
                name: (labels[name], runs, max(reached(run.w) for run in runs)) for name, runs in outcomes.items()
            }
        return self.races[key]

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


def spread(values):
    return f"{1e3 * statistics.median(values):.1f} ({1e3 * min(values):.1f}-{1e3 * max(values):.1f})"


def ratio(values, ours):
    return f"{statistics.median(values) / statistics.median(ours):.1f}x"


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def accuracy(reached):
    return f"{max(reached, 0.0):.0e}" + ("" if reached <= TARGET else " (no nearer)")


def median_ratio(race, peer, field):
    """The time of the peer divided by that of Parley."""
    medians = [statistics.median(getattr(run, field) for run in race[name][1]) for name in (peer, "Parley")]
    return medians[0] / medians[1]


def race_rows(title, race, field):
    """Makes a table row for each contestant whose `field` is known."""
    ours, rows = [getattr(run, field) for run in race["Parley"][1]], []
    for system, (label, runs, reached) in race.items():
        times = [getattr(run, field) for run in runs if getattr(run, field) is not None]
        if times:
            rows.append([title, system, label, accuracy(reached), spread(times), ratio(times, ours)])
    return rows


RACE_HEAD = ["problem", "system", "setting", "reached", "ms, median (range)", "against Parley"]
