#!/usr/bin/env python3
"""How well `parley plan` predicts: advisor.py PARLEY [--quick] [--data FOLDER] [--page FILE] [TASK ...].

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
# As `parley probe` writes them. A non-zero is expensive, so that small data keep as many machines busy as large data.
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
        (
            "strong penalty",
            generate(parley, folder, "text", 4000, 800, 30, 5),
            ["--loss", "logistic", "--lambda", "1e-2"],
        ),
        ("text, squared", generate(parley, folder, "text", 3000, 300, 20, 6), ["--loss", "squared"]),
    ]
    for name, options in (("rcv1-small/rcv1_small.train.svm.zst", ["--loss", "hinge"]),):
        if data and (data / name).exists():
            copy = folder / Path(name).name  # experiments are kept beside the data
            copy.write_bytes((data / name).read_bytes())
            found.append((Path(name).parts[0], copy, options))
        else:
            print(f"skipped {name}: it is not in --data", file=sys.stderr)
    return found[:2] if quick else found


def simulated(parley, folder, path, options, row, network):
    """Seconds of a simulated run with this configuration; None if it did not reach the target."""
    words = ["--preset", row["preset"], "--workers", row["workers"], "--hosts", row["workers"], "--rounds", 5000]
    words += ["--local-epochs", row["local_epochs"]] if row["local_epochs"] else []
    words += ["--network", network, "--compute", "modelled", "--gap", TARGET, "--json", "--quiet"]
    out = json.loads(
        call(parley, "train", path, "--engine", "sim", *words, *options, "--model", folder / "m.safetensors")
    )
    return out["seconds"]["total"] - out["seconds"]["read"] if out["status"] == "converged" else None


def tested_rows(plan, quick):
    """Of each preset and H, configurations that were not measured, and for the regret the best ones."""
    groups = {}
    for row in plan["table"]:
        groups.setdefault((row["preset"], row["local_epochs"]), []).append(row)
    tested = []
    for rows in groups.values():
        by_workers = {row["workers"]: row for row in rows}
        tested += [
            by_workers[m]
            for m in LEFT_OUT
            if m in by_workers and by_workers[m]["seconds"] < 8 * plan["choice"]["seconds"]
        ]
    return tested[:6] if quick else tested[:24]


def best_rows(plan):
    """The predicted best of each preset and H, one of which may be the best in hindsight."""
    seen, rows = set(), []
    for row in [plan["choice"], *plan["table"]]:
        if row["seconds"] > 8 * plan["choice"]["seconds"]:
            break
        key = (row["preset"], row["local_epochs"])
        if key not in seen or row["workers"] in (1, plan["choice"]["workers"]):
            rows.append(row)
        seen.add(key)
    return rows[:6]


def plan_for(parley, path, options, network):
    words = [
        "--target",
        TARGET,
        "--machines",
        MACHINES,
        "--network",
        network,
        "--presets",
        HINGE_PRESETS if "hinge" in options else PRESETS,
    ]
    return json.loads(
        call(
            parley, "plan", path, *words, "--compute", "modelled", *options, "--experiments", "600s", "--json", "--quiet"
        )
    )


def accuracy(parley, folder, data, quick, page=None):
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
            table.append(
                [name, title, f"{plan['choice']['preset']} x {plan['choice']['workers']}", len(mine)]
                + (
                    [
                        f"{100 * statistics.median(mine):.1f} %",
                        f"{100 * quantile(mine, 0.9):.1f} %",
                        f"{100 * sum(inside) / len(inside):.0f} %",
                    ]
                    if mine
                    else ["-", "-", "-"]
                )
                + [f"{100 * regret:.1f} %"]
            )
            print(table[-1], file=sys.stderr)
    print(
        markdown(
            [
                "problem",
                "network",
                "choice",
                "configurations",
                "median error",
                "90th percentile",
                "bands that hold",
                "regret",
            ],
            table,
        )
    )
    print(
        f"\n{len(errors)} configurations of machines that no experiment had: "
        f"median error {100 * statistics.median(errors):.1f} %, "
        f"90th percentile {100 * quantile(errors, 0.9):.1f} %, bands that hold {100 * sum(held) / len(held):.1f} %; "
        f"regret of {len(regrets)} choices: median {100 * statistics.median(regrets):.1f} %, "
        f"worst {100 * max(regrets):.1f} %.\n"
    )


WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)
WINDOW = 50
FEATURES = 24


def digit_five(parley, folder, data, rows):
    """MNIST as LIBSVM text, digit 5 against the rest; None if it is not there."""
    import numpy as np

    images, labels = (
        data / "mnist" / f"train-{name}.zst" if data else None for name in ("images-idx3-ubyte", "labels-idx1-ubyte")
    )
    if not images or not images.exists():
        return None
    pixels, digits = (
        np.frombuffer(subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout, np.uint8)
        for path in (images, labels)
    )
    pixels, digits = pixels[16:].reshape(-1, 784)[:rows], digits[8:][:rows]
    path = folder / "mnist5.svm"
    with open(path, "w") as out:
        for row, digit in zip(pixels, digits):
            entries = " ".join(f"{j + 1}:{row[j] / 255:.4g}" for j in np.flatnonzero(row))
            out.write(f"{1 if digit == 5 else -1} {entries}\n")
    return path


def course(parley, folder, path, m, rounds):
    """The relative gap after each round of cocoa+ with m workers."""
    log = folder / f"course-{m}.jsonl"
    words = [
        "--preset",
        "cocoa+",
        "--loss",
        "hinge",
        "--lambda",
        1e-3,
        "--workers",
        m,
        "--evaluate-every",
        1,
        "--rounds",
        rounds,
    ]
    call(parley, "train", path, *words, "--gap", 1e-4, "--log", log, "--quiet", "--model", folder / "m.safetensors")
    with open(log) as lines:
        return [line["relative_gap"] for line in map(json.loads, lines) if line["event"] == "round"]


def round_seconds(parley, folder, path, m):
    log = folder / "seconds.jsonl"
    words = [
        "--engine",
        "sim",
        "--hosts",
        m,
        "--compute",
        "modelled",
        "--preset",
        "cocoa+",
        "--loss",
        "hinge",
        "--lambda",
        1e-3,
    ]
    call(
        parley,
        "train",
        path,
        *words,
        "--workers",
        m,
        "--rounds",
        4,
        "--gap",
        0,
        "--log",
        log,
        "--quiet",
        "--model",
        folder / "m.safetensors",
    )
    with open(log) as lines:
        ends = [line["seconds"] for line in map(json.loads, lines) if line["event"] == "round"]
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def features(i, m):
    bases = (i, math.sqrt(i), math.log(i), 1 / i)
    factors = (1, 1 / m, 1 / math.sqrt(m), 1 / math.log(m + 1), math.log(m + 1))
    return [base * factor for factor in factors for base in bases] + [m, math.sqrt(m), math.log(m), 1 / m]


def fit(parley, folder, points):
    """Parley's lasso on (round, workers, gap), cross-validated by leaving out values of m; returns a prediction."""
    import numpy as np

    table, folds = folder / "points.csv", folder / "folds.txt"
    values = sorted({m for _, m, _ in points})
    table.write_text(
        "".join(",".join(f"{x:.9g}" for x in [math.log(gap), *features(i, m)]) + "\n" for i, m, gap in points)
    )
    folds.write_text("".join(f"{values.index(m)}\n" for _, m, _ in points))
    words = [
        "--loss",
        "squared",
        "--l1-ratio",
        1,
        "--standardise",
        "--fold-file",
        folds,
        "--metric",
        "rmse",
        "--header",
        "no",
        "--label-column",
        1,
    ]
    call(parley, "cv", table, *words, "--quiet", "--model", folder / "lasso.safetensors")
    dump = json.loads(call(parley, "dump", folder / "lasso.safetensors", "--json"))
    weights = np.zeros(FEATURES)
    for entry in dump["weights"]:
        weights[int(entry["column"]) - 1] = entry["weight"]
    return lambda i, m: float(weights @ np.array(features(i, m)) + dump["intercept"])


def ahead(gaps, step):
    """Errors of predictions some rounds ahead, each from a window of rounds, by a line in i and log i."""
    import numpy as np

    levels, errors = np.log(gaps), []
    for end in range(WINDOW, len(gaps) - step + 1):
        i = np.arange(end - WINDOW + 1, end + 1)
        design = np.stack([np.ones(WINDOW), i, np.log(i)], axis=1)
        solution = np.linalg.lstsq(design, levels[end - WINDOW : end], rcond=None)[0]
        at = end + step
        errors.append(abs(solution @ [1, at, math.log(at)] - levels[at - 1]))
    return errors


def polyline(points, low, high, most, colour, dashed=False):
    places = " ".join(
        f"{60 + 560 * i / most:.1f},{300 - 280 * (math.log(g) - low) / (high - low):.1f}" for i, g in points
    )
    dashes = 'stroke-dasharray="4"' if dashed else ""
    return f'<polyline fill="none" stroke="{colour}" {dashes} points="{places}"/>'


def paper_page(path, courses, fitted, left_out):
    colours = ["#1b6ac9", "#c9481b", "#2a8f4b", "#8a3fb5", "#b58a00", "#00868b", "#a3315c", "#556b2f"]
    low, high, most = math.log(5e-5), 0.1, max(map(len, courses.values()))
    charts = []
    for title, model in (("Figure 3: fit", fitted), ("Figure 4: workers left out", left_out)):
        lines = []
        for colour, (m, gaps) in zip(colours, courses.items()):
            lines.append(polyline([(i + 1, g) for i, g in enumerate(gaps)], low, high, most, colour))
            lines.append(
                polyline(
                    [(i + 1, math.exp(model[m](i + 1, m))) for i in range(len(gaps))], low, high, most, colour, True
                )
            )
            lines.append(
                f'<text x="630" y="{20 + 14 * len(lines) // 3 * 1.5:.0f}" fill="{colour}" text-anchor="end">{m}</text>'
            )
        charts.append(f"<h2>{title}</h2><svg viewBox='0 0 640 320'>{''.join(lines)}</svg>")
    head = "<!doctype html><meta charset=utf-8><title>Hemingway</title><p>Relative gap by round; dashed: predicted.</p>"
    path.write_text(head + "".join(charts))


def paper(parley, folder, data, quick, page=None):
    path = digit_five(parley, folder, data, 2000 if quick else 6000)
    if not path:
        print("skipped: mnist/train-images-idx3-ubyte.zst is not in --data\n")
        return
    workers = WORKERS[:4] if quick else WORKERS
    courses = {m: course(parley, folder, path, m, 150 if quick else 500) for m in workers}
    points = {
        m: [(i + 1, m, g) for i, g in enumerate(gaps) if g > 0][:: max(1, len(gaps) // 60)]
        for m, gaps in courses.items()
    }
    whole = fit(parley, folder, [point for m in workers for point in points[m]])
    left_out = {
        m: fit(parley, folder, [point for other in workers if other != m for point in points[other]]) for m in workers
    }
    rows = []
    for m in workers:

        def error(model, m=m):
            return statistics.median(abs(model(i, m) - math.log(g)) for i, _, g in points[m])

        one, ten = ahead(courses[m], 1), ahead(courses[m], 10)
        rows.append(
            [
                m,
                len(courses[m]),
                f"{1e3 * round_seconds(parley, folder, path, m):.2f}",
                f"{error(whole):.3f}",
                f"{error(left_out[m]):.3f}",
                f"{statistics.median(one):.4f}" if one else "-",
                f"{statistics.median(ten):.4f}" if ten else "-",
            ]
        )
        print(rows[-1], file=sys.stderr)
    print(
        markdown(
            [
                "workers",
                "rounds to 1e-4, at most 500 (figure 1b)",
                "ms of a round (figure 1a, sim)",
                "fit (figure 3)",
                "left out (figure 4)",
                "1 round ahead (figure 5a)",
                "10 rounds ahead (figure 5b)",
            ],
            rows,
        )
    )
    print("\nErrors are medians of the absolute error of the natural logarithm of the relative gap.\n")
    if page:
        paper_page(page, courses, {m: whole for m in workers}, left_out)


def adapt(parley, folder, data, quick, page=None):
    """Seconds of runs with the plan's choice fixed, with --adapt, and of the best fixed choice in hindsight."""
    rows = []
    network = folder / "network.json"
    network.write_text(json.dumps({"latency": 50e-6, "bandwidth": 1.2e8, **COMMON, "nonzero": 4e-8}))
    for name, path, options in problems(parley, folder, None, True):
        words = [
            "--machines",
            8,
            "--network",
            network,
            "--compute",
            "modelled",
            *options,
            "--experiments",
            "600s",
            "--json",
            "--quiet",
        ]
        presets = HINGE_PRESETS if "hinge" in options else "cocoa+,cocoa"
        plan = folder / "plan.json"
        plan.write_text(call(parley, "plan", path, "--target", TARGET, "--presets", presets, *words))
        table = json.loads(plan.read_text())["table"]
        half = table[0]["seconds"] / 2
        for change in ("", f"{half:.6f}s:5"):
            common = [
                "--engine",
                "sim",
                "--hosts",
                8,
                "--network",
                network,
                "--compute",
                "modelled",
                *options,
                "--gap",
                TARGET,
                "--json",
                "--quiet",
            ]
            common += ["--network-change", change] if change else []
            common += ["--model", folder / "m.safetensors"]

            def seconds(*more, path=path, common=common):
                return json.loads(call(parley, "train", path, *common, *more))["seconds"]["total"]

            fixed = [
                seconds("--workers", 8, "--preset", row["preset"], "--local-epochs", row["local_epochs"])
                for row in table
            ]
            planned, adapted = seconds("--plan", plan), seconds("--plan", plan, "--adapt")
            rows.append(
                [
                    name,
                    "slows five-fold midway" if change else "steady",
                    f"{planned:.4f}",
                    f"{adapted:.4f}",
                    f"{min(fixed):.4f}",
                    f"{100 * (adapted / min(fixed) - 1):+.0f} %",
                    f"{100 * (adapted / planned - 1):+.0f} %",
                ]
            )
            print(rows[-1], file=sys.stderr)
    print(
        markdown(
            ["problem", "network", "plan, fixed", "--adapt", "best fixed", "against the best", "against the plan"], rows
        )
        + "\n"
    )


TASKS = {"accuracy": accuracy, "paper": paper, "adapt": adapt}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parley")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", type=Path, help="write the figures of the paper to this page")
    asked = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        for task in asked.tasks or TASKS:
            print(f"## {task}\n")
            TASKS[task](Path(asked.parley).resolve(), Path(folder), asked.data, asked.quick, asked.page)


if __name__ == "__main__":
    main()
