"""Model averaging against its rivals (paper: MLlib*, Zhang et al.): rounds and seconds to 0.01 above the best objective."""

import json

from harness import markdown
from peers import clocked

ABOVE = 0.01
PRESETS = ("mllib-sgd", "mllib-ma", "ma-sgd", "lbfgs", "hybrid")
WORKERS = (8, 32)
PENALTIES = (0, 1e-4, 0.1)
LIMIT = 10  # seconds


def problems(bench):
    made = bench.folder / "made.svm"
    if not made.exists():
        flags = ["--rows", 20000, "--columns", 5000, "--nonzeros", 50, "--seed", 3, "--quiet"]
        clocked([bench.parley, "generate", "text", made, *flags])
    return [(bench.data("imdb").title, bench.data("imdb").path), ("made", made)]


def train(bench, path, preset, lam, workers, *flags):
    log = bench.folder / "run.jsonl"
    command = [bench.parley, "train", path, "--loss", "logistic", "--lambda", lam, "--preset", preset, "--workers", workers]
    command += ["--threads", 2, "--json", "--quiet", "--log", log, "--model", bench.folder / "averaging.safetensors"]
    _, text = clocked([*command, *flags])
    rounds = [json.loads(line) for line in log.read_text().splitlines()]
    return json.loads(text), [line for line in rounds if line.get("event", "round") == "round"]


def best_objective(bench, path, lam):
    found, _ = train(bench, path, "lbfgs", lam, 1, "--gap", 1e-7, "--seconds", LIMIT)
    return found["objective"]


def flags_of(lam):
    """With a penalty the gap bounds the distance to the best, so that runs may stop by it."""
    return ("--gap", 5e-3 if lam else 1e-9, "--seconds", LIMIT, "--evaluate-every", 1)


def reached(rounds, target):
    """Round and seconds of the first evaluation at or below the target; None: never."""
    for line in rounds:
        if line["objective"] is not None and line["objective"] <= target:
            return line["round"], line["seconds"]
    return None


def cell(rounds, best):
    found = reached(rounds, best + ABOVE)
    if found:
        return f"{found[0]} rounds, {found[1]:.2f} s"
    last = [line for line in rounds if line["objective"] is not None][-1]
    return f"{last['objective'] - best:.3f} above after {last['round']} rounds, {last['seconds']:.0f} s"


def table_averaging(bench):
    """Model averaging and its rivals"""
    rows = []
    for title, path in problems(bench):
        for lam in PENALTIES:
            best = best_objective(bench, path, lam)
            for workers in WORKERS:
                row = [title, lam, workers]
                for preset in PRESETS:
                    _, rounds = train(bench, path, preset, lam, workers, *flags_of(lam))
                    row.append(cell(rounds, best))
                rows.append(row)
    text = (
        f"Logistic loss: rounds of exchange and seconds until the objective is {ABOVE} above the best, with the objective looked at "
        "after every round. K workers on two threads; every method with its default rates. Without a penalty the best is where L-BFGS "
        f"is after {LIMIT} seconds: the data can be separated.\n\n"
    )
    return text + markdown(["data", "lambda", "K", *PRESETS], rows)
