#!/usr/bin/env python3
"""Fits of small tables as people have them must end within seconds, whatever their columns look like.

    tests/soak/tables.py build/parley [--seconds N] [--limit S] [--only WORD]

Makes tables of 2,000 rows, and runs train, path and cv with every loss on each, every run with a limit of S seconds (20). Lists the
runs that do not end in time, fail, or stall without a suggestion. Exit code 1 if there are any. Stops after N seconds (default: none).
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 2000
CLASSES = ["logistic", "hinge", "squared-hinge", "softmax"]
NUMBERS = ["squared", "huber", "epsilon-insensitive", "squared-epsilon-insensitive", "quantile"]
KINKED = ["hinge", "epsilon-insensitive", "quantile"]  # rejected with a pure L1 penalty


def columns(draw, kind):
    """The columns of a table: a list of (name, values), and the linear score behind its labels."""
    age = [round(draw.uniform(18, 90), 1) for _ in range(ROWS)]
    income = [round(draw.lognormvariate(10.5, 0.8), 2) for _ in range(ROWS)]
    member = [int(draw.random() < 0.3) for _ in range(ROWS)]
    rate = [round(draw.gauss(0, 0.01), 5) for _ in range(ROWS)]
    score = [0.02 * (a - 50) + m + 60 * r + draw.gauss(0, 0.7) for a, m, r in zip(age, member, rate)]
    table = [("age", age), ("income", income), ("member", member), ("rate", rate)]
    if kind == "indicators":
        table += [(f"word{k}", [f"w{int(draw.paretovariate(0.5)) % 1500}" for _ in range(ROWS)]) for k in range(3)]
    if kind == "constant":
        table += [("one", [1] * ROWS), ("big", [1000000] * ROWS)]
    if kind == "duplicate":
        table += [("again", age), ("double", [2 * x for x in income])] + [(f"m{k}", member) for k in range(20)]
    if kind == "huge":
        table += [("serial", [1000000000 + draw.randrange(1000) for _ in range(ROWS)])]
        table += [("bytes", [draw.randrange(10**9) for _ in range(ROWS)])]
    if kind == "missing":
        table += [("empty", [""] * ROWS), ("rarely", ["" if i % 500 else 3.5 for i in range(ROWS)])]
    return table, score


def labels(draw, score, what, kind):
    if what == "two":
        if kind == "rare":
            top = set(sorted(range(ROWS), key=lambda i: -score[i])[:3])
            return ["yes" if i in top else "no" for i in range(ROWS)]
        return ["yes" if s > 0 else "no" for s in score]
    if what == "three":
        return ["low" if s < -0.5 else "high" if s > 0.8 or kind == "rare" and s > 2 else "mid" for s in score]
    if what == "counts":
        return [max(0, round(2.718 ** min(s, 3) + draw.random())) for s in score]
    scale = 1e6 if kind == "large" else 1
    return [round(scale * s, 4) for s in score]


def write(folder, kind, what):
    draw = random.Random(7)
    table, score = columns(draw, kind)
    path = folder / f"{kind}-{what}.csv"
    rows = zip(*[values for _, values in table], labels(draw, score, what, kind))
    header = ",".join([name for name, _ in table] + ["y"])
    path.write_text(header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def runs(folder):
    for kind in ["plain", "indicators", "constant", "duplicate", "huge", "missing", "rare", "large"]:
        losses = [(loss, "two") for loss in CLASSES] + [(loss, "three") for loss in CLASSES]
        if kind != "rare":
            losses += [(loss, "numbers") for loss in NUMBERS] + [("poisson", "counts")]
        for loss, what in losses:
            path = write(folder, kind, what)
            for command in ["train", "path", "cv"]:
                for ratio in [0, 0.5, 1]:
                    if not (ratio == 1 and (loss in KINKED)):
                        yield f"{kind}-{what}", [command, str(path), "--loss", loss, "--l1-ratio", str(ratio)]


def look(program, words, limit):
    """What is wrong with a run; None if nothing is."""
    try:
        run = subprocess.run([program, *words], capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"did not end within {limit} s"
    if run.returncode == 0:
        return None
    if run.returncode in (2, 3) and any(word in run.stdout + run.stderr for word in ("suggestion  ", "; try ")):
        return None
    return f"exit code {run.returncode}: {(run.stderr.strip().splitlines() or ['no message'])[-1][:150]}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parley")
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--limit", type=float, default=20)
    arguments.add_argument("--only", default="")
    asked = arguments.parse_args()
    began, tried, faults = time.monotonic(), 0, 0
    program = str(Path(asked.parley).resolve())
    with tempfile.TemporaryDirectory() as name:
        for table, words in runs(Path(name)):
            line = " ".join([table, words[0], *words[2:]])
            if asked.only not in line:
                continue
            if time.monotonic() - began > asked.seconds:
                break
            tried += 1
            start = time.monotonic()
            fault = look(program, words + ["--model", f"{name}/model.safetensors"], asked.limit)
            spent = time.monotonic() - start
            if fault or spent > asked.limit / 4:
                print(f"{line}: {fault or 'slow'} ({spent:.1f} s)", flush=True)
            faults += fault is not None
    print(f"{tried} runs, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
