#!/usr/bin/env python3
"""A tour of Parley in a few seconds: demo.py PARLEY. Prints every command before running it, so you can try it."""

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import textwrap

import pages

ROWS, TEST_ROWS = 24000, 4000
WORKERS, GAP, ROUNDS = 8, 1e-3, 200
METHODS = {"cocoa+": "+", "cocoa": "o", "mllib-sgd": "x"}
TUNED = {"mllib-sgd": ["--rate", 100]}  # the best of 1, 5, 20, 100, 500 on these data; the others need no tuning
WIDTH, HEIGHT = 78, 16


def say(text=""):
    print(text, flush=True)


def headline(text):
    say(f"\n--- {text} " + "-" * (94 - len(text)) + "\n")


def show(words):
    """Prints a command, wrapped if it is long."""
    say("$ " + " \\\n    ".join(textwrap.wrap(shlex.join(words), 94, break_long_words=False, break_on_hyphens=False)))


def run(*words, shown=True):
    """Prints and runs a command; returns its standard output if it is not shown."""
    words = [str(word) for word in words]
    show(words)
    done = subprocess.run(words, stdout=None if shown else subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):  # 3: stopped before the target
        sys.exit(f"demo: exit code {done.returncode}")
    return done.stdout


def split(source, train, test):
    """Splits off the last rows of a file as the test set, so that both sets have labels of the same hidden model."""
    with open(source) as whole, open(train, "w") as first, open(test, "w") as last:
        for number, line in enumerate(whole):
            (first if number < ROWS - TEST_ROWS else last).write(line)


def compare(parley, folder, data):
    """Trains with each method; returns {name: (summary, [(megabytes sent so far, relative gap), ...])}."""
    found = {}
    for name in METHODS:
        log, model = (os.path.join(folder, name + ending) for ending in (".jsonl", ".safetensors"))
        flags = ["--preset", name, "--workers", WORKERS, "--gap", f"{GAP:g}", "--rounds", ROUNDS, "--evaluate-every", 1]
        flags += [*TUNED.get(name, []), "--model", model, "--log", log, "--json", "--quiet"]
        found[name] = json.loads(run(parley, "train", data, *flags, shown=False)), curve(log)
    return found


def curve(log):
    points, sent = [], 0
    with open(log) as lines:
        for line in map(json.loads, lines):
            if line["event"] == "round":
                sent += sum(worker["bytes_sent"] for worker in line["workers"])
                if line["relative_gap"]:
                    points.append((sent / 1e6, line["relative_gap"]))
    return points


def training_seconds(summary):
    return sum(summary["seconds"][part] for part in ("setup", "compute", "exchange", "wait"))


def print_table(found):
    say(f"\n{'method':<12}{'rounds':>8}{'seconds':>10}{'MB sent':>10}{'objective':>12}{'relative gap':>15}   ended")
    for name, (summary, _) in found.items():
        say(
            f"{name:<12}{summary['rounds']:>8}{training_seconds(summary):>10.2f}{summary['bytes_sent'] / 1e6:>10.1f}"
            f"{summary['objective']:>12.5f}{summary['relative_gap']:>15.1e}   {summary['status']}"
        )
    say("(seconds of training, without reading the file and without looking at the gap after every round)")


def place(value, low, high, cells):
    """The cell of a value on a logarithmic axis."""
    share = (math.log10(value) - low) / ((high - low) or 1.0)
    return min(cells - 1, max(0, round(share * (cells - 1))))


def print_plot(found):
    """Plots the relative gap against megabytes sent, both on logarithmic axes."""
    points = [point for _, points in found.values() for point in points if point[0] > 0]
    left, right = (math.log10(f(x for x, _ in points)) for f in (min, max))
    bottom, top = math.floor(math.log10(min(y for _, y in points))), 0
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for name, (_, series) in found.items():
        for x, y in series:
            if x > 0:
                grid[HEIGHT - 1 - place(y, bottom, top, HEIGHT)][place(x, left, right, WIDTH)] = METHODS[name]
    say("\nrelative gap   " + "   ".join(f"{mark} {name}" for name, mark in METHODS.items()))
    ticks = {HEIGHT - 1 - place(10.0**power, bottom, top, HEIGHT): f"1e{power}" for power in range(bottom, top + 1)}
    for number, line in enumerate(grid):
        say(f"{ticks.get(number, ''):>8} |{''.join(line).rstrip()}")
    say(" " * 9 + "+" + "-" * WIDTH)
    ends = f"{10**left:.1f}", f"{10**right:.1f}"
    say(" " * 10 + ends[0] + "megabytes sent, all workers".center(WIDTH - len(ends[0]) - len(ends[1])) + ends[1])


def first_below(series, gap):
    """Megabytes sent until the gap was reached, or None."""
    return next((sent for sent, relative in series if relative <= gap), None)


def conclusion(found):
    """Summarises the numbers, one sentence per method."""
    ours, series = found["cocoa+"]
    sent = first_below(series, GAP)
    if sent is None:
        return [f"cocoa+ ended at a relative gap of {ours['relative_gap']:.1e} after {ours['rounds']} rounds."]
    lines = [f"cocoa+ proved that it is within {GAP:g} of the optimum after {ours['rounds']} rounds and {sent:.0f} MB."]
    for name in ("cocoa", "mllib-sgd"):
        summary, series = found[name]
        theirs, total = first_below(series, GAP), summary["bytes_sent"] / 1e6
        if theirs is not None:
            lines.append(f"{name} took {summary['rounds']} rounds and {theirs / sent:.1f} times the bytes for that.")
        else:
            tuned = ", its rate tuned by hand," if name in TUNED else ""
            lines.append(f"{name}{tuned} sent {total / sent:.0f} times the bytes in {summary['rounds']} rounds.")
            lines.append(
                f"It has an objective of {summary['objective']:.3f}, where cocoa+ has {ours['objective']:.3f}."
            )
    return lines


def write_report(parley, folder):
    """A page that compares the methods. A program that was built without the page says so."""
    page = os.path.join(folder, "report.html")
    words = [parley, "report", *(os.path.join(folder, name + ".jsonl") for name in METHODS), "--html", page]
    show(words)
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True)
    return page if done.returncode == 0 else say(done.stderr.strip())


def accuracy(parley, model, test):
    output = run(parley, "eval", model, test, "--json", shown=False)
    return json.loads(output)["accuracy"]


def topics(parley, folder):
    """Runs the example of a page in the demo's folder."""
    files, commands = pages.example("topics.md", "From raw text to topics")
    for name, text in files.items():
        say(f"$ cat {name}\n{text.rstrip()}")
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    path = os.path.dirname(os.path.abspath(parley)) + os.pathsep + os.environ["PATH"]
    for command, _ in commands:
        say(f"$ {command}")
        subprocess.run(command, shell=True, check=True, cwd=folder, env={**os.environ, "PATH": path})


def main():
    parley = os.path.relpath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit("usage: demo.py PARLEY")
    folder = os.path.join(os.path.dirname(parley), "demo")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    source, data, test, model = (
        os.path.join(folder, name) for name in ("all.svm", "train.svm", "test.svm", "model.safetensors")
    )

    headline("1. Data: texts as bags of words, labelled by a hidden model, some labels wrong")
    run(parley, "generate", "text", source, "--rows", ROWS, "--columns", 20000, "--nonzeros", 60)
    split(source, data, test)
    say(f"split by lines: {data} ({ROWS - TEST_ROWS} rows), {test} ({TEST_ROWS} rows)")

    headline("2. Train with the defaults, and apply the model to texts it has not seen")
    run(parley, "train", data, "--model", model)
    say()
    right = accuracy(parley, model, test)
    say(f"right on {right:.1%} of the test rows")

    headline(f"3. The same problem on {WORKERS} workers, by three methods")
    found = compare(parley, folder, data)
    print_table(found)
    print_plot(found)

    headline("4. Topics of plain text: the example of docs/topics.md")
    topics(parley, folder)

    headline("5. A page about these runs")
    page = write_report(parley, folder)

    headline("Conclusion")
    for line in conclusion(found):
        say(line)
    if page:
        say(f"\nOpen {page} in a browser: it compares the three methods in charts.")
    say(f"\nModels and logs are in {folder}; `{parley} train --help` lists all settings.")


if __name__ == "__main__":
    main()
