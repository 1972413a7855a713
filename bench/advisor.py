#!/usr/bin/env python3
"""How well `parley plan` predicts: advisor.py PARLEY [--quick] [--data FOLDER] [--page FILE] [accuracy] [paper] [adapt].

accuracy  Plans for many problems and networks, then runs configurations whose number of machines no experiment had, on
          simulated hosts with modelled costs. Prints errors of the time to the target, how many bands hold, and the
          regret of the choices against the best run in hindsight.
paper     Figures 1, 3, 4 and 5 of Pan et al. (Hemingway) on MNIST, digit 5 against the rest, hinge loss: time per round
          and convergence by workers, the fit, predictions for workers that were left out, and 1 and 10 rounds ahead.
adapt     Runs with --adapt on networks that slow down, and on steady ones.

--data has the folders of real data (mnist/train-images-idx3-ubyte.zst and so on); what is not there is skipped.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

MACHINES = "1-12"
LEFT_OUT = (5, 7, 9, 10, 11)
TARGET = 1e-4
PRESETS = "cocoa+,lbfgs,ma-sgd"
HINGE_PRESETS = "cocoa+,cocoa,ma-sgd"  # L-BFGS needs a smooth loss
# As `parley probe` writes them. A non-zero is expensive, so that these small data keep as many machines busy as large data.
COMMON = {"message": 5e-6, "duplex": [1, 1, 1, 1, 1], "nonzero": 4e-7, "entry": 2e-9}
CLUSTERS = {
    "1 Gbit/s, 50 us": {"latency": 50e-6, "bandwidth": 1.2e8, **COMMON},
    "100 Mbit/s, 500 us": {"latency": 500e-6, "bandwidth": 1.2e7, **COMMON},
}


def call(*words, seconds=900):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=seconds)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def generate(parley, folder, kind, rows, columns, nonzeros, seed):
    path = folder / f"{kind}-{rows}-{columns}-{seed}.svm"
    shape = ["--rows", rows, "--columns", columns, "--seed", seed]
    shape += ["--nonzeros", nonzeros] if kind == "text" else []
    call(parley, "generate", kind, path, *shape, "--quiet")
    return path


def problems(parley, folder, data, quick):
    """(name, file, options) of each problem."""
    found = [
        ("text, logistic", generate(parley, folder, "text", 4000, 500, 30, 1), ["--loss", "logistic"]),
        ("text, hinge", generate(parley, folder, "text", 3000, 400, 25, 2), ["--loss", "hinge"]),
        ("text, squared hinge", generate(parley, folder, "text", 6000, 2000, 20, 3), ["--loss", "squared-hinge"]),
        ("wide text, logistic", generate(parley, folder, "text", 3000, 5000, 40, 4), ["--loss", "logistic"]),
        ("strong penalty", generate(parley, folder, "text", 4000, 800, 30, 5), ["--loss", "logistic", "--lambda", "1e-2"]),
        ("text, squared", generate(parley, folder, "text", 3000, 300, 20, 6), ["--loss", "squared"]),
    ]
    for name, options in (("a9a/a9a.zst", ["--loss", "logistic"]), ("rcv1-small/rcv1_small.train.svm.zst", ["--loss", "hinge"])):
        if data and (data / name).exists():
            copy = folder / Path(name).name  # experiments are kept beside the data
            copy.write_bytes((data / name).read_bytes())
            found.append((Path(name).parts[0], copy, options))
        else:
            print(f"skipped {name}: it is not in --data", file=sys.stderr)
    return found[:2] if quick else found


def simulated(parley, folder, path, options, row, network):
    """Seconds of a simulated run with this configuration; None if it did not reach the target."""
    words = ["--preset", row["preset"], "--workers", row["workers"], "--hosts", row["workers"], "--rounds", 20000]
    words += ["--local-epochs", row["local_epochs"]] if row["local_epochs"] else []
    words += ["--network", network, "--compute", "modelled", "--gap", TARGET, "--json", "--quiet"]
    out = json.loads(call(parley, "train", path, "--engine", "sim", *words, *options, "--model", folder / "m.safetensors"))
    return out["seconds"]["total"] - out["seconds"]["read"] if out["status"] == "converged" else None


def tested_rows(plan, quick):
    """Of each preset and H, configurations that were not measured, and for the regret the best ones."""
    groups = {}
    for row in plan["table"]:
        groups.setdefault((row["preset"], row["local_epochs"]), []).append(row)
    tested = []
    for rows in groups.values():
        by_workers = {row["workers"]: row for row in rows}
        tested += [by_workers[m] for m in LEFT_OUT if m in by_workers and by_workers[m]["seconds"] < 8 * plan["choice"]["seconds"]]
    return tested[:6] if quick else tested[:15]


def best_rows(plan):
    """The predicted best of each preset and H, one of which may be the best in hindsight."""
    seen, rows = set(), []
    for row in [plan["choice"], *plan["table"]]:
        key = (row["preset"], row["local_epochs"])
        if key not in seen or row["workers"] in (1, plan["choice"]["workers"]):
            rows.append(row)
        seen.add(key)
    return rows[:6]


def plan_for(parley, path, options, network):
    words = ["--target", TARGET, "--machines", MACHINES, "--network", network, "--presets", HINGE_PRESETS if "hinge" in options else PRESETS]
    return json.loads(call(parley, "plan", path, *words, "--compute", "modelled", *options, "--experiments", "60s", "--json", "--quiet"))


def accuracy(parley, folder, data, quick):
    errors, held, regrets, table = [], [], [], []
    for name, path, options in problems(parley, folder, data, quick):
        for title, cluster in CLUSTERS.items():
            network = folder / "network.json"
            network.write_text(json.dumps(cluster))
            plan = plan_for(parley, path, options, network)
            mine, inside = [], []
            for row in tested_rows(plan, quick):
                seconds = simulated(parley, folder, path, options, row, network)
                if seconds is None:
                    continue
                mine.append(abs(row["seconds"] / seconds - 1))
                inside.append(row["low"] <= seconds <= row["high"])
            times = [simulated(parley, folder, path, options, row, network) for row in best_rows(plan)]
            best = min(time for time in times if time)
            regret = times[0] / best - 1 if times[0] else math.inf
            errors += mine
            held += inside
            regrets.append(regret)
            table.append([name, title, f"{plan['choice']['preset']} x {plan['choice']['workers']}", len(mine)] + (
                [f"{100 * statistics.median(mine):.1f} %", f"{100 * quantile(mine, 0.9):.1f} %",
                 f"{100 * sum(inside) / len(inside):.0f} %"] if mine else ["-", "-", "-"]) + [f"{100 * regret:.1f} %"])
            print(table[-1], file=sys.stderr)
    print(markdown(["problem", "network", "choice", "configurations", "median error", "90th percentile", "bands that hold", "regret"], table))
    print(f"\n{len(errors)} configurations of machines that no experiment had: median error {100 * statistics.median(errors):.1f} %, "
          f"90th percentile {100 * quantile(errors, 0.9):.1f} %, bands that hold {100 * sum(held) / len(held):.1f} %; "
          f"regret of {len(regrets)} choices: median {100 * statistics.median(regrets):.1f} %, worst {100 * max(regrets):.1f} %.\n")


TASKS = {"accuracy": accuracy}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parley")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    asked = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        for task in asked.tasks or TASKS:
            print(f"## {task}\n")
            TASKS[task](Path(asked.parley).resolve(), Path(folder), asked.data, asked.quick)


if __name__ == "__main__":
    main()
