"""Local work H between two exchanges (paper: COCOA on Spark and MPI): time to a gap by H, and the H that auto chooses."""

import json
import statistics
from types import SimpleNamespace

from harness import markdown, ratio, spread
from peers import Parley, clocked

LOCAL_EPOCHS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
DELAYS = {"none": 0, "10 ms a round": 0.01}
LOCAL_SECONDS = 4  # time limit of a run
LOCAL_FAR = 3  # runs this many times slower than the best are not repeated


def local_data(bench):
    """Two public data sets and a generated one."""
    made = SimpleNamespace(title="made", path=bench.folder / "local.svm")
    if not made.path.exists():
        flags = ["--rows", 60000, "--columns", 2000, "--nonzeros", 20, "--seed", 5, "--quiet"]
        clocked([bench.parley, "generate", "text", made.path, *flags])
    return [bench.data("imdb"), bench.data("a9a"), made]


def local_work(bench, data, choice, delay):
    """Solves with one H; returns (seconds, rounds, median H of its rounds), or None at the time limit."""
    log = bench.folder / "local.jsonl"
    flags = ("--preset", "cocoa+", "--workers", 8, "--lanes", 1, "--threads", 2, "--gap", 1e-3)
    flags += (*choice, "--exchange-delay", delay, "--seconds", LOCAL_SECONDS, "--log", log)
    run = Parley(bench.parley, data.path, "logistic", bench.folder, flags).run()
    rounds = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "round"]
    used = statistics.median(line["local_epochs"] for line in rounds)
    return (run.solve, len(rounds), used) if run.summary["status"] == "converged" else None


def local_rows(bench, data, words, delay):
    """The rows of one problem and exchange cost, and the time of auto over that of the best fixed H per repetition."""
    choices = {f"{epochs:g}": ("--local-epochs", epochs) for epochs in LOCAL_EPOCHS}
    choices["auto"] = ("--local-steps", "auto")
    known = {name: [] for name in choices}

    def is_far(name):
        """Was it slow every time, and more than once unless very slow? Other programs may have disturbed a single run."""
        least = min((run[0] for runs in known.values() for run in runs if run), default=float("inf"))
        ratios = [run[0] / least if run else float("inf") for run in known[name]]
        return name != "auto" and ratios and min(ratios) > (LOCAL_FAR if len(ratios) > 1 else 4 * LOCAL_FAR)

    def solve(name):
        if not is_far(name):
            known[name].append(local_work(bench, data, choices[name], delay))
        return known[name][-1]

    found = bench.repeat({name: lambda name=name: solve(name) for name in choices})
    done = {name: runs for name, runs in found.items() if all(runs)}
    times = {name: [seconds for seconds, _, _ in runs] for name, runs in done.items()}
    best = min((name for name in times if name != "auto"), key=lambda name: statistics.median(times[name]))
    rows = []
    for name in found:
        if name not in done:
            rows.append([data.title, words, name, "", f"not in {LOCAL_SECONDS} s", ""])
            continue
        _, rounds, used = done[name][-1]
        label = f"auto: {used:.2g}" if name == "auto" else name
        rows.append([data.title, words, label, rounds, spread(times[name]), ratio(times[name], times[best])])
    return rows, statistics.median(auto / least for auto, least in zip(times["auto"], times[best]))


def table_local(bench):
    """Local work H"""
    rows = []
    for data in local_data(bench):
        for words, delay in DELAYS.items():
            found, against_best = local_rows(bench, data, words, delay)
            rows += found
            what = f"{data.title} logistic, auto H against the best fixed H, delay {words}"
            bench.aim(what, against_best, 1.1, at_least=False)
    text = (
        "Logistic loss, `cocoa+`, 8 workers on two threads: time to a relative gap of 1e-3 by H, the epochs of local work "
        "in a round, at two costs of an exchange (`--exchange-delay`). For auto, the median H of its last run is given. "
        f"Runs {LOCAL_FAR} times slower than the best were measured once or twice.\n\n"
    )
    return text + markdown(["data", "delay", "H", "rounds", "ms, median (range)", "against the best"], rows)
