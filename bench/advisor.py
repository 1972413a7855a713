#!/usr/bin/env python3
"""How well `parley plan` predicts: advisor.py PARLEY [--quick] [--data FOLDER] [--page FILE] [TASK ...].

accuracy  Plans for many problems and networks, then runs configurations whose number of machines no experiment had, on
          simulated hosts with modelled costs. Prints errors of the time to the target, how many bands hold, and the
          regret of the choices against the best run in hindsight. --rows FILE keeps every prediction.
held-out  The same for problems and networks that nobody looked at while the models were made.
cost      Plans for data of which a pass takes a second or more: what the experiments cost compared with the run that
          they choose, on simulated hosts with modelled costs.
reality   The same on the cores of this machine, with real clocks: each configuration of a plan runs three times.
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


def problems(parley, folder, data, quick, scale=1):
    """(name, file, options) of each problem, with `scale` times as many rows."""

    def text(rows, columns, nonzeros, seed):
        return generate(parley, folder, "text", scale * rows, columns, nonzeros, seed)

    found = [
        ("text, logistic", text(4000, 500, 30, 1), ["--loss", "logistic"]),
        ("text, hinge", text(3000, 400, 25, 2), ["--loss", "hinge"]),
        ("text, squared hinge", text(6000, 2000, 20, 3), ["--loss", "squared-hinge"]),
        ("wide text, logistic", text(3000, 5000, 40, 4), ["--loss", "logistic"]),
        ("strong penalty", text(4000, 800, 30, 5), ["--loss", "logistic", "--lambda", "1e-2"]),
        ("text, squared", text(3000, 300, 20, 6), ["--loss", "squared"]),
    ]
    for name, options in (("rcv1-small/rcv1_small.train.svm.zst", ["--loss", "hinge"]),):
        if data and (data / name).exists():
            copy = folder / Path(name).name  # experiments are kept beside the data
            copy.write_bytes((data / name).read_bytes())
            found.append((Path(name).parts[0], copy, options))
        else:
            print(f"skipped {name}: it is not in --data", file=sys.stderr)
    return found[:2] if quick else found


HELD_OUT_CLUSTERS = {
    "10 Gbit/s, 20 us": {"latency": 20e-6, "bandwidth": 1.2e9, **COMMON},
    "300 Mbit/s, 200 us": {"latency": 200e-6, "bandwidth": 3.6e7, **COMMON},
}


def held_out_problems(parley, folder, quick):
    """Other seeds, shapes, losses and penalties than those of `problems`."""

    def text(rows, columns, nonzeros, seed):
        return generate(parley, folder, "text", rows, columns, nonzeros, seed)

    dense = generate(parley, folder, "dense", 1500, 40, 0, 37)
    found = [
        ("text, logistic", text(5000, 300, 15, 31), ["--loss", "logistic"]),
        ("text, hinge, strong penalty", text(4000, 700, 35, 32), ["--loss", "hinge", "--lambda", "1e-3"]),
        ("short rows, squared hinge", text(7000, 1000, 10, 33), ["--loss", "squared-hinge"]),
        ("wide text, squared", text(2500, 4000, 30, 34), ["--loss", "squared"]),
        ("text, Huber", text(3500, 600, 25, 35), ["--loss", "huber"]),
        ("penalised intercept", text(3000, 900, 20, 36), ["--loss", "logistic", "--intercept", "penalised"]),
        ("dense, squared, standardised", dense, ["--loss", "squared", "--standardise", "--lambda", "1e-2"]),
    ]
    return found[:2] if quick else found


def trained(parley, folder, path, row, *words):
    """Seconds of a run with this configuration, without reading; None if it did not reach the target."""
    words = ["--preset", row["preset"], "--workers", row["workers"], "--gap", TARGET, "--rounds", 5000, *words]
    words += ["--local-epochs", row["local_epochs"]] if row["local_epochs"] else []
    out = json.loads(call(parley, "train", path, *words, "--json", "--quiet", "--model", folder / "m.safetensors"))
    return out["seconds"]["total"] - out["seconds"]["read"] if out["status"] == "converged" else None


def simulated(parley, folder, path, options, row, network):
    words = ["--engine", "sim", "--hosts", row["workers"], "--network", network, "--compute", "modelled"]
    return trained(parley, folder, path, row, *words, *options)


def tested_rows(plan, quick):
    """Of each preset and H, configurations that were not measured."""
    likely = [row for row in plan["table"] if row["seconds"] < 8 * plan["choice"]["seconds"]]
    tested = [row for row in likely if row["workers"] in LEFT_OUT]
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


def presets_for(options):
    return HINGE_PRESETS if "hinge" in options else PRESETS


def plan_for(parley, path, options, network):
    words = ["--target", TARGET, "--machines", MACHINES, "--network", network, "--presets", presets_for(options)]
    words += ["--compute", "modelled", *options, "--experiments", "600s", "--json", "--quiet"]
    return json.loads(call(parley, "plan", path, *words))


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def verdict(rows):
    """Median and 90th percentile of the errors, and the share of bands that hold."""
    errors = [abs(row["seconds"] / row["took"] - 1) for row in rows]
    held = sum(row["low"] <= row["took"] <= row["high"] for row in rows) / len(rows)
    return [percent(statistics.median(errors)), percent(quantile(errors, 0.9)), percent(held)]


def regret_of(plan, run):
    times = [run(row) for row in best_rows(plan)]
    return times[0] / min(time for time in times if time) - 1 if times[0] else math.inf


def accuracy(parley, folder, asked):
    predict(parley, folder, asked, problems(parley, folder, asked.data, asked.quick), CLUSTERS)


def held_out(parley, folder, asked):
    predict(parley, folder, asked, held_out_problems(parley, folder, asked.quick), HELD_OUT_CLUSTERS)


def predict(parley, folder, asked, tasks, clusters):
    found, regrets, table = [], [], []
    for name, path, options in tasks:
        for title, cluster in clusters.items():
            network = folder / "network.json"
            network.write_text(json.dumps(cluster))
            plan = plan_for(parley, path, options, network)

            def run(row, path=path, options=options, network=network):
                return simulated(parley, folder, path, options, row, network)

            mine = [
                {**row, "took": run(row), "problem": name, "network": title} for row in tested_rows(plan, asked.quick)
            ]
            mine = [row for row in mine if row["took"]]
            found += mine
            regrets.append(regret_of(plan, run))
            choice = f"{plan['choice']['preset']} x {plan['choice']['workers']}"
            table.append([name, title, choice, len(mine), *(verdict(mine) if mine else "---"), percent(regrets[-1])])
            print(table[-1], file=sys.stderr, flush=True)
            if asked.rows:
                asked.rows.write_text(json.dumps(found, indent=1))
    columns = ["problem", "network", "choice", "configurations", "median error", "90th percentile", "bands that hold"]
    print(markdown([*columns, "regret"], table))
    median, tail, held = verdict(found)
    print(
        f"\n{len(found)} configurations of machines that no experiment had: median error {median}, 90th percentile "
        f"{tail}, bands that hold {held}; regret of {len(regrets)} choices: median "
        f"{percent(statistics.median(regrets))}, worst {percent(max(regrets))}.\n"
    )


def reality(parley, folder, asked):
    """Plans for this machine, and three runs of each configuration that is not far behind."""
    found, regrets, table = [], [], []
    for name, path, options in problems(parley, folder, asked.data, asked.quick, scale=8):
        words = ["--target", TARGET, "--presets", presets_for(options), *options, "--json", "--quiet"]
        plan = json.loads(call(parley, "plan", path, *words))

        def run(row, path=path, options=options):
            times = [trained(parley, folder, path, row, "--lanes", row["lanes"], *options) for _ in range(3)]
            return None if None in times else statistics.median(times)

        likely = [row for row in plan["table"] if row["seconds"] < 8 * plan["choice"]["seconds"]]
        mine = [row for row in ({**row, "took": run(row)} for row in likely) if row["took"]]
        best = min(row["took"] for row in mine)
        regrets.append(mine[0]["took"] / best - 1)
        found += mine
        choice = f"{plan['choice']['preset']} x {plan['choice']['workers']}"
        table.append([name, choice, len(mine), *verdict(mine), percent(regrets[-1])])
        print(table[-1], file=sys.stderr, flush=True)
    columns = ["problem", "choice", "configurations", "median error", "90th percentile", "bands that hold", "regret"]
    print(
        markdown(columns, [*table, ["all", "", len(found), *verdict(found), percent(statistics.median(regrets))]])
        + "\n"
    )


def cost(parley, folder, asked):
    """What experiments cost, in seconds of one machine, compared with the chosen run."""
    big = generate(parley, folder, "text", 40000, 2000, 50, 41)
    long = generate(parley, folder, "text", 20000, 500, 100, 42)
    network, file, rows = folder / "network.json", folder / "plan.json", []
    dual = ["--presets", "cocoa+,cocoa,ma-sgd"]
    for path, options in (
        (big, ["--loss", "hinge", "--lambda", "1e-5", *dual]),
        (big, ["--loss", "logistic", "--lambda", "1e-5"]),
        (big, ["--loss", "squared-hinge", "--lambda", "1e-5"]),
        (long, ["--loss", "hinge", "--lambda", "1e-4", *dual]),
        (long, ["--loss", "logistic", "--lambda", "1e-5", *dual]),
    ):
        for nonzero in (2e-6, 8e-6):
            network.write_text(json.dumps({**next(iter(CLUSTERS.values())), "nonzero": nonzero}))
            modelled = ["--network", network, "--compute", "modelled", "--json", "--quiet"]
            words = ["--target", 1e-3, "--machines", "1-8", *options, *modelled]
            path.with_name(path.name + ".experiments.json").unlink(missing_ok=True)  # nothing is known before
            file.write_text(call(parley, "plan", path, *words))
            plan = json.loads(file.read_text())
            choice, loss = plan["choice"], options[: options.index("--presets")] if "--presets" in options else options
            words = ["--engine", "sim", "--hosts", choice["machines"], *loss, *modelled, "--plan", file]
            run = json.loads(call(parley, "train", path, *words, "--model", folder / "m.safetensors"))
            took = run["seconds"]["total"]
            spent = plan["experiments"]["seconds"]
            chosen = f"{choice['preset']} x {choice['workers']}"
            rows.append([options[1], f"{nonzero:g}", chosen, f"{choice['low']:.0f} to {choice['high']:.0f}"])
            rows[-1] += [f"{took:.0f}", f"{spent:.1f}", percent(spent / (took * choice["machines"]))]
            print(rows[-1], file=sys.stderr, flush=True)
    columns = ["loss", "seconds of a non-zero", "choice", "predicted seconds", "took", "experiments"]
    print(markdown([*columns, "of the run, by seconds of a machine"], rows) + "\n")


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


def rounds_of(parley, folder, path, m, rounds, *words):
    """The lines of the rounds of cocoa+ with m workers."""
    log = folder / f"course-{m}.jsonl"
    words = ["--preset", "cocoa+", "--loss", "hinge", "--lambda", 1e-3, "--workers", m, "--rounds", rounds, *words]
    call(parley, "train", path, *words, "--log", log, "--quiet", "--model", folder / "m.safetensors")
    with open(log) as lines:
        return [line for line in map(json.loads, lines) if line["event"] == "round"]


def course(parley, folder, path, m, rounds):
    """The relative gap after each round."""
    lines = rounds_of(parley, folder, path, m, rounds, "--evaluate-every", 1, "--gap", 1e-4)
    return [line["relative_gap"] for line in lines]


def round_seconds(parley, folder, path, m):
    words = ["--engine", "sim", "--hosts", m, "--compute", "modelled", "--gap", 0]
    ends = [line["seconds"] for line in rounds_of(parley, folder, path, m, 4, *words)]
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
    words = ["--loss", "squared", "--l1-ratio", 1, "--standardise", "--fold-file", folds, "--metric", "rmse"]
    words += ["--header", "no", "--label-column", 1]
    call(parley, "cv", table, *words, "--quiet", "--model", folder / "lasso.safetensors")
    dump = json.loads(call(parley, "dump", folder / "lasso.safetensors", "--json"))
    weights = np.zeros(FEATURES)
    for entry in dump["weights"]:
        weights[int(entry["column"]) - 1] = entry["weight"]
    return lambda i, m: float(weights @ np.array(features(i, m)) + dump["intercept"])


def ahead(gaps, step):
    """(round, predicted level) some rounds ahead, each from a window of rounds, by a line in i and log i."""
    import numpy as np

    levels, found = np.log(gaps), []
    for end in range(WINDOW, len(gaps) - step + 1):
        i = np.arange(end - WINDOW + 1, end + 1)
        design = np.stack([np.ones(WINDOW), i, np.log(i)], axis=1)
        solution = np.linalg.lstsq(design, levels[end - WINDOW : end], rcond=None)[0]
        at = end + step
        found.append((at, float(solution @ [1, at, math.log(at)])))
    return found


def errors_ahead(gaps, step):
    return [abs(level - math.log(gaps[at - 1])) for at, level in ahead(gaps, step)]


COLOURS = ["#1b6ac9", "#c9481b", "#2a8f4b", "#8a3fb5", "#b58a00", "#00868b", "#a3315c", "#556b2f"]
WIDTH, HEIGHT, LEFT, BELOW = 640, 340, 70, 40


def scale(values, length, logarithmic):
    """A function from values to places in 0 to `length`, and the values to mark."""
    measure = math.log10 if logarithmic else float
    low, high = measure(min(values)), measure(max(values))
    if logarithmic:
        marks = [10.0**power for power in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)]
        marks = marks if len(marks) > 1 else [min(values), max(values)]
    else:
        marks = [low + part * (high - low) / 4 for part in range(5)]
    return lambda value: length * (measure(value) - low) / max(1e-9, high - low), marks


def chart(title, below, beside, lines, wide=False):
    """SVG of lines (label, colour, dashed, [(x, y)]), y on a logarithmic axis, and x too if `wide`."""
    points = [point for line in lines for point in line[3]]
    to_x, x_marks = scale([x for x, _ in points], WIDTH - LEFT - 60, wide)
    to_y, y_marks = scale([y for _, y in points], HEIGHT - BELOW - 15, True)

    def place(x, y):
        return LEFT + to_x(x), HEIGHT - BELOW - to_y(y)

    out = [f'<h2>{title}</h2><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">']
    left, bottom = min(x for x, _ in points), min(y for _, y in points)
    for mark in x_marks:
        x = place(mark, bottom)[0]
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BELOW + 16}" text-anchor="middle">{mark:.3g}</text>')
    for mark in y_marks:
        y = place(left, mark)[1]
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 60}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{mark:.2g}</text>')
    for number, (label, colour, dashed, line) in enumerate(lines):
        places = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in line)
        dashes = ' stroke-dasharray="4"' if dashed else ""
        out.append(f'<polyline fill="none" stroke="{colour}"{dashes} points="{places}"/>')
        if label:
            out.append(f'<text x="{WIDTH - 50}" y="{20 + 8 * number}" fill="{colour}">{label}</text>')
    out.append(f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{below}</text>')
    return "".join(out) + f'<text x="4" y="12">{beside}</text></svg>'


def course_lines(courses, predicted):
    """Of each number of workers its gaps and, dashed, what `predicted(m)` gives as (round, level)."""
    lines = []
    for colour, (m, gaps) in zip(COLOURS, courses.items()):
        lines.append((f"m = {m}", colour, False, [(i + 1, gap) for i, gap in enumerate(gaps)]))
        dashed = [(i, math.exp(level)) for i, level in predicted(m)] if predicted else []
        lines += [("", colour, True, dashed)] if dashed else []
    return lines


def paper_page(path, courses, seconds, whole, left_out, table):
    def by_model(model):
        return lambda m: [(i + 1, model(m)(i + 1, m)) for i in range(len(courses[m]))]

    gap, i = "relative gap", "round"
    charts = [
        chart(
            "Figure 1a: seconds of a round",
            "workers",
            "seconds",
            [("", COLOURS[0], False, list(seconds.items()))],
            True,
        ),
        chart("Figure 1b: convergence by workers", i, gap, course_lines(courses, None), True),
        chart("Figure 3: fit", i, gap, course_lines(courses, by_model(lambda m: whole)), True),
        chart("Figure 4: workers that were left out", i, gap, course_lines(courses, by_model(left_out.get)), True),
        chart("Figure 5a: 1 round ahead", i, gap, course_lines(courses, lambda m: ahead(courses[m], 1)), True),
        chart("Figure 5b: 10 rounds ahead", i, gap, course_lines(courses, lambda m: ahead(courses[m], 10)), True),
    ]
    head = "<!doctype html><meta charset=utf-8><title>Hemingway's figures</title>"
    head += "<style>body{font:14px sans-serif}svg{max-width:50em}text{font-size:11px}</style>"
    told = "<p>cocoa+, hinge loss, MNIST digit 5 against the rest. Solid lines are measured, dashed ones predicted.</p>"
    cells = "".join("<tr>" + "".join(f"<td>{cell}" for cell in row) for row in table)
    path.write_text(f"{head}{told}{''.join(charts)}<h2>Errors</h2><table>{cells}</table>")


def paper(parley, folder, asked):
    path = digit_five(parley, folder, asked.data, 2000 if asked.quick else 6000)
    if not path:
        print("skipped: mnist/train-images-idx3-ubyte.zst is not in --data\n")
        return
    workers = WORKERS[:4] if asked.quick else WORKERS
    courses = {m: course(parley, folder, path, m, 150 if asked.quick else 500) for m in workers}
    seconds = {m: round_seconds(parley, folder, path, m) for m in workers}
    points = {
        m: [(i + 1, m, g) for i, g in enumerate(gaps) if g > 0][:: max(1, len(gaps) // 60)]
        for m, gaps in courses.items()
    }
    whole = fit(parley, folder, [point for m in workers for point in points[m]])
    left_out = {
        m: fit(parley, folder, [point for other in workers if other != m for point in points[other]]) for m in workers
    }

    def median(errors):
        return f"{statistics.median(errors):.4f}" if errors else "-"

    def error(model, m):
        return median([abs(model(i, m) - math.log(g)) for i, _, g in points[m]])

    rows = [
        [m, len(courses[m]), f"{1e3 * seconds[m]:.2f}", error(whole, m), error(left_out[m], m)]
        + [median(errors_ahead(courses[m], step)) for step in (1, 10)]
        for m in workers
    ]
    columns = ["workers", "rounds to 1e-4, at most 500 (figure 1b)", "ms of a round (figure 1a, sim)", "fit (figure 3)"]
    columns += ["left out (figure 4)", "1 round ahead (figure 5a)", "10 rounds ahead (figure 5b)"]
    print(markdown(columns, rows))
    print("\nErrors are medians of the absolute error of the natural logarithm of the relative gap.\n")
    if asked.page:
        paper_page(asked.page, courses, seconds, whole, left_out, [columns, *rows])


def adapt_problems(parley, folder, quick):
    """(name, file, options, target, numbers of machines, seconds of a non-zero) of each problem."""

    def text(rows, columns, nonzeros, seed):
        return generate(parley, folder, "text", rows, columns, nonzeros, seed)

    dense = generate(parley, folder, "dense", 2000, 40, 0, 15)
    standard = ["--loss", "squared", "--standardise", "--lambda", "0.1"]
    found = [
        ("text, logistic", text(4000, 500, 30, 11), ["--loss", "logistic"], 1e-4, "3-8", 4e-8),
        ("text, hinge", text(3000, 400, 25, 12), ["--loss", "hinge"], 1e-3, "4-8", 4e-8),
        ("text, squared hinge", text(6000, 2000, 20, 13), ["--loss", "squared-hinge"], 1e-4, "4-8", 4e-8),
        ("wide text, logistic", text(3000, 5000, 40, 14), ["--loss", "logistic"], 1e-4, "4-8", 4e-8),
        ("text, squared", text(3000, 300, 20, 16), ["--loss", "squared"], 1e-5, "4-8", 4e-8),
        ("dense, squared", dense, standard, 1e-4, "2-8", 4e-7),
        ("text, logistic, slow machines", text(4000, 500, 30, 11), ["--loss", "logistic"], 1e-5, "1-8", 4e-7),
        ("text, hinge, slow machines", text(3000, 400, 25, 12), ["--loss", "hinge"], 1e-3, "1-8", 4e-7),
    ]
    return found[:2] if quick else found


def fixed_choices(plan, factor, most=10):
    """Methods on the machines of the plan, the best ones with exchanges that take `factor` times as long first."""
    choice = plan["choice"]

    def predicted(one):
        return one["curve"][-1][0] * (one["compute_seconds"] + factor * one["exchange_seconds"])

    return sorted(choice["alternatives"], key=predicted)[:most] + choice["alternatives"][:1]


def adapt(parley, folder, asked):
    """Seconds of runs with the plan's choice fixed, with --adapt, and of the best fixed choice in hindsight."""
    rows = []
    network = folder / "network.json"
    quick_network = next(iter(CLUSTERS.values()))
    for name, path, options, target, machines, nonzero in adapt_problems(parley, folder, asked.quick):
        network.write_text(json.dumps({**quick_network, "nonzero": nonzero}))
        modelled = ["--network", network, "--compute", "modelled", *options, "--json", "--quiet"]
        file, log = folder / "plan.json", folder / "adapted.jsonl"
        words = ["--machines", machines, "--target", target, "--presets", "cocoa+,cocoa", "--experiments", "6000s"]
        file.write_text(call(parley, "plan", path, *words, *modelled))
        plan = json.loads(file.read_text())
        choice = plan["choice"]
        for factor in (1, 5):
            common = ["--engine", "sim", "--hosts", choice["machines"], *modelled, "--gap", target]
            common += ["--model", folder / "m.safetensors"]
            common += ["--network-change", f"{choice['seconds'] / 2:.6f}s:{factor}"] if factor > 1 else []

            def seconds(*more, path=path, common=common):
                return json.loads(call(parley, "train", path, *common, *more))["seconds"]["total"]

            def fixed(one, seconds=seconds):
                words = ["--workers", one["workers"], "--preset", one["preset"]]
                words += ["--local-epochs", one["local_epochs"]] if one["local_epochs"] else []
                return seconds(*words)

            best = min(fixed(one) for one in fixed_choices(plan, factor))
            planned, adapted = seconds("--plan", file), seconds("--plan", file, "--adapt")
            seconds("--plan", file, "--adapt", "--log", log)
            with open(log) as lines:
                rounds = [line for line in map(json.loads, lines) if line["event"] == "round"]
            changes = [f"{one['preset']} x {one['workers']}" for one in (line.get("adapt") for line in rounds) if one]
            changes += [f"H {line['local_epochs']:g}" for last, line in zip(rounds, rounds[1:])
                        if line["local_epochs"] != last["local_epochs"] and line["local_epochs"]]
            chosen = f"{choice['preset']} x {choice['workers']}"
            chosen += f", H {choice['local_epochs']:g}" if choice["local_epochs"] else ""
            network_now = "slows five-fold midway" if factor > 1 else "steady"
            rows.append([name, chosen, network_now, "; ".join(changes) or "none"])
            rows[-1] += [f"{time:.4f}" for time in (planned, adapted, best)]
            rows[-1] += [f"{100 * (adapted / other - 1):+.0f} %" for other in (best, planned)]
            print(rows[-1], file=sys.stderr, flush=True)
    columns = ["problem", "plan", "network", "changes", "plan, fixed", "`--adapt`", "best fixed", "against the best"]
    print(markdown([*columns, "against the plan"], rows) + "\n")


TASKS = {"accuracy": accuracy, "held-out": held_out, "cost": cost, "reality": reality, "paper": paper, "adapt": adapt}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parley")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", type=Path, help="write the figures of the paper to this page")
    parser.add_argument("--rows", type=Path, help="write every prediction of accuracy to this file")
    asked = parser.parse_intermixed_args()
    unknown = [task for task in asked.tasks if task not in TASKS]
    if unknown:
        parser.error(f"there is no task {unknown[0]}; choose from {', '.join(TASKS)}")
    with tempfile.TemporaryDirectory() as folder:
        for task in asked.tasks or TASKS:
            print(f"## {task}\n")
            TASKS[task](Path(asked.parley).resolve(), Path(folder), asked)


if __name__ == "__main__":
    main()
