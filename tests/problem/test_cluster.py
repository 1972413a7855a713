#!/usr/bin/env python3
"""test_cluster.py PARLEY_KMEANS [all]: a second problem, k-means, goes through the same product as linear models.

PARLEY_KMEANS is the whole command line with k-means in its registry (tests/problem/*.c), which adds `parley cluster`.
Centres are compared with those of scikit-learn's KMeans; everything else with runs that must give the same bytes, with
the documentation, or with the exact message. `all` tests every preset with every number of ranks and every starter."""
import glob
import gzip
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy
from safetensors.numpy import load_file, save_file
from sklearn.cluster import KMeans

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from starters import MPI

PARLEY = os.path.abspath(sys.argv[1])
ALL = "all" in sys.argv[2:]
LOG_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "log.md"
CENTRES, ROWS, COLUMNS = 3, 700, 6
PRESETS, RANKS, WAYS = ("kmeans-average", "gd"), (1, 2, 3, 4), ("memory", "messages")
STARTERS = {
    **{name: words + ["-n"] for name, words in MPI.items()},
    "launch": [PARLEY, "launch", "-n"],
}
# Builds with sanitizers have no modules for MPI.
MODULES = {"mpich": "parley-mpich.so", "openmpi": "parley-openmpi.so", "launch": "parley-mpich.so"}
FOUND = [
    name
    for name, words in STARTERS.items()
    if shutil.which(words[0]) and os.path.exists(os.path.join(os.path.dirname(PARLEY), MODULES[name]))
]
passed = failed = 0


def command(words, ranks=0, starter=None):
    start = STARTERS[starter] + [str(ranks)] + (["--"] if starter == "launch" else [PARLEY]) if ranks else [PARLEY]
    return start + [str(word) for word in words]


def run(*words, ranks=0, starter=None):
    return subprocess.run(command(words, ranks, starter), capture_output=True, text=True, timeout=120, check=False)


def check(good, name, *shown):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", name)
        for result in shown:
            print(result.stdout + result.stderr if isinstance(result, subprocess.CompletedProcess) else result)


def parley(*words):
    """Runs a command that has to succeed."""
    result = run(*words)
    if result.returncode != 0:
        sys.exit(f"parley {' '.join(map(str, words))}: exit code {result.returncode}: {result.stderr}")
    return result.stdout


def cluster(*words, model="model", data=("all.svm",)):
    return parley("cluster", *data, *words, "--quiet", "--model", model)


def some_starter(number):
    return FOUND[number % len(FOUND)] if FOUND else None


def read(path):
    with open(path, "rb") as file:
        return file.read()


def centres(path):
    """A row per centre, as scikit-learn has them."""
    return load_file(path)["centres"].T


def near(found, expected, scale=1.0):
    return bool(numpy.all(numpy.abs(numpy.asarray(found) - expected) <= 1e-9 * scale))


def write_svm(path, rows):
    with open(path, "w", encoding="ascii") as file:
        for n, row in enumerate(rows):
            entries = (f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()) if value)
            file.write(f"{n % 5} {' '.join(entries)}\n")


def make_data():
    """Clusters that overlap, so that many rounds are needed; values that float32 and text hold exactly."""
    random = numpy.random.default_rng(5)
    means = random.normal(0, 2, (CENTRES, COLUMNS))
    x = means[random.integers(0, CENTRES, ROWS)] + random.normal(0, 2, (ROWS, COLUMNS))
    x = numpy.round(x * 64) / 64 * (random.random((ROWS, COLUMNS)) < 0.8)
    x[-1] = 1.0  # every file has all columns
    write_svm("all.svm", x)
    cuts = [0, 90, 91, 400, ROWS]
    for n, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        write_svm(f"part-{n}.svm", x[begin:end])
    with gzip.open("all.svm.gz", "wb") as file:
        file.write(read("all.svm"))
    parley("convert", "all.svm", "all.parley", "--quiet")
    with open("all.csv", "w", encoding="ascii") as file:
        file.write("label," + ",".join(f"size {j}" for j in range(COLUMNS)) + "\n")
        file.writelines(f"{n % 5}," + ",".join(map(repr, row.tolist())) + "\n" for n, row in enumerate(x))
    weights = 1 + numpy.arange(ROWS) % 4
    with open("weights.txt", "w", encoding="ascii") as file:
        file.writelines(f"{weight}\n" for weight in weights)
    return x, weights.astype(float)


def test_oracle(x, weights):
    """The centres, inertia, labels and distances of scikit-learn from the same first centres."""
    for seed, weighted in itertools.product((1, 2, 3), (False, True)):
        words = ["--workers", 1, "--seed", seed] + (["--weights", "weights.txt"] if weighted else [])
        cluster(*words, "--seconds", 0, "--tolerance", 0, model="first")
        summary = json.loads(cluster(*words, "--tolerance", 1e-12, "--json"))
        first = centres("first")
        check(all((x == c).all(axis=1).any() for c in first), f"seed {seed}: centres begin at rows", first)
        oracle = KMeans(CENTRES, init=first, n_init=1, algorithm="lloyd", tol=0, max_iter=1000)
        oracle.fit(x, sample_weight=weights if weighted else None)
        total = weights.sum() if weighted else ROWS
        name = f"seed {seed}{', weighted' if weighted else ''}"
        check(near(centres("model"), oracle.cluster_centers_), f"{name}: centres", centres("model"))
        check(near(2 * total * summary["objective"], oracle.inertia_, oracle.inertia_), f"{name}: objective", summary)
        table = json.loads(parley("eval", "model", "all.svm", "--json", *words[4:]))
        check(near(2 * total * table["inertia"], oracle.inertia_, oracle.inertia_), f"{name}: eval", table)
        check(table["rows"] == ROWS, f"{name}: rows of eval", table)
        labels = [float(line) for line in parley("predict", "model", "all.svm").split()]
        check(labels == oracle.predict(x).tolist(), f"{name}: labels")
        lines = parley("predict", "model", "all.svm", "--output", "decision").splitlines()
        distances = numpy.array([list(map(float, line.split())) for line in lines])
        check(near(distances, oracle.transform(x) ** 2, distances.max()), f"{name}: distances")


def test_steps(x):
    """One gradient step by the formula; several local epochs are several iterations."""
    words = ["--preset", "gd", "--workers", 3, "--tolerance", 0]
    cluster(*words, "--seconds", 0, model="first")
    cluster(*words, "--rounds", 1, "--rate", 0.5)
    first = centres("first")
    nearest = ((x[:, None, :] - first) ** 2).sum(axis=2).argmin(axis=1)
    gradient = [(first[k] - x[nearest == k]).sum(axis=0) / ROWS for k in range(CENTRES)]
    check(near(centres("model"), first - 0.5 * numpy.array(gradient)), "a gradient step", centres("model"))
    cluster("--workers", 1, "--tolerance", 0, "--rounds", 2, "--local-epochs", 3, "--log", "log", model="three")
    cluster("--workers", 1, "--tolerance", 0, "--rounds", 6)
    check(near(centres("three"), centres("model")), "two rounds of three local epochs are six rounds")
    check([line["local_epochs"] for line in log_lines("log") if line["event"] == "round"] == [3, 3], "H in the log")


def words_of(preset, workers=4, rounds=7):
    return ["--preset", preset, "--workers", workers, "--rounds", rounds, "--tolerance", 0, "--quiet"]


def same(name, expected, data, *words, ranks=0, starter=None):
    """Checks that a run writes the expected bytes. Runs on ranks that nothing here can start are left out."""
    if ranks and not starter:
        return
    if os.path.exists("many"):
        os.remove("many")
    found = run("cluster", *data, *words, "--model", "many", ranks=ranks, starter=starter)
    good = found.returncode == 0 and os.path.exists("many") and read("many") == read(expected)
    check(good, f"{name}{f', {ranks} ranks of {starter}' if ranks else ''}", found)


def test_same_bytes():
    """Threads, ranks, starters and files make no difference. Every cell of ranks x starters is tested with one preset
    and one way to exchange, or with all of them."""
    for preset in PRESETS:
        parley("cluster", "all.svm", *words_of(preset), "--threads", 1, "--model", preset)
        for threads in (2, 4):
            same(f"{preset}, {threads} threads", preset, ["all.svm"], *words_of(preset), "--threads", threads)
        for data in (["part-*.svm"], [f"part-{n}.svm" for n in range(4)], ["all.svm.gz"], ["all.parley"]):
            same(f"{preset}, {data}", preset, data, *words_of(preset))
    for n, (ranks, starter) in enumerate(itertools.product(RANKS, FOUND)):
        pairs = list(itertools.product(PRESETS, WAYS))
        for preset, way in pairs if ALL else [pairs[(n + n // len(pairs)) % len(pairs)]]:
            words = words_of(preset) + ["--between-ranks", way]
            same(f"{preset} by {way}", preset, ["all.svm"], *words, ranks=ranks, starter=starter)
    for n, data in enumerate((["part-*.svm"], ["all.svm.gz"], ["all.parley"])):
        preset = PRESETS[n % 2]
        same(f"{preset}, {data}", preset, data, *words_of(preset), ranks=2 + n % 2, starter=some_starter(n))


def test_names():
    """The names of CSV columns are in the model, which has the same centres."""
    words = words_of(PRESETS[0])
    cluster(*words[:-1], data=["all.csv"])
    check((centres("model") == centres(PRESETS[0])).all(), "centres from CSV", centres("model"))
    same("CSV", "model", ["all.csv"], *words, ranks=3, starter=some_starter(-1))
    lines = [line.split("\t") for line in parley("dump", "model").splitlines()]
    check([line[0] for line in lines] == [f"size {j}" for j in range(COLUMNS)], "dump has the names", lines)
    dumped = numpy.array([list(map(float, line[1:])) for line in lines]).T
    check(numpy.allclose(dumped, centres("model"), rtol=1e-5, atol=0), "dump", lines)
    check(len(parley("dump", "model", "--top", 2).splitlines()) == 2, "dump --top 2")
    table = json.loads(parley("dump", "model", "--json"))["centres"]
    check([row["name"] for row in table] == [line[0] for line in lines], "names in dump --json", table)
    check((numpy.array([row["centre"] for row in table]).T == centres("model")).all(), "dump --json", table)
    by_name = parley("predict", "model", "all.csv")
    cluster(*words[:-1], data=["all.svm"])
    check(by_name == parley("predict", "model", "all.svm"), "predictions by name")


def wait_for_checkpoint(process, folder, least):
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        names = [os.path.basename(path) for path in glob.glob(os.path.join(folder, "round-*.safetensors"))]
        rounds = [int(name.split(".")[0][6:]) for name in names if name.split(".")[0][6:].isdigit()]
        if max(rounds, default=0) >= least:
            return
        time.sleep(0.005)


def test_checkpoints():
    """A killed run goes on from its checkpoint to the same bytes, in one process and on ranks, and so does its log."""
    for n, preset in enumerate(PRESETS):
        words, folder = words_of(preset, rounds=40), f"state-{n}"
        parley("cluster", "all.svm", *words, "--model", "whole")
        slow = ["--exchange-delay", 0.05, "--checkpoint", folder, "--checkpoint-every", "1r", "--log", "log"]
        with subprocess.Popen(command(["cluster", "all.svm", *words, *slow, "--model", f"killed-{n}"])) as process:
            wait_for_checkpoint(process, folder, 5)
            process.kill()
        check(process.returncode == -signal.SIGKILL and not os.path.exists(f"killed-{n}"), f"{preset} is killed")
        shown = parley("info", folder)
        check("problem        kmeans" in shown and preset in shown, f"info of a checkpoint of {preset}", shown)
        shutil.copytree(folder, folder + "-again")
        rest = ["--resume", folder, "--rounds", 40, "--exchange-delay", 0, "--quiet"]
        same(f"{preset} resumed", "whole", ["all.svm"], *rest, "--log", "log")
        rounds = [line["round"] for line in log_lines("log") if line["event"] == "round"]
        check(rounds == list(range(1, 41)), f"the log of {preset} in two parts", rounds)
        rest[1] += "-again"
        same(f"{preset} resumed", "whole", ["all.svm"], *rest, ranks=2 + n, starter=some_starter(n))
    result = run("cluster", "all.svm", "--resume", "state-0-again", "--seed", 9, "--model", "none")
    check(result.returncode == 2 and "--seed" in result.stderr, "another seed is refused", result)


def test_passes():
    """A limit of passes is kept by --replay and by --resume, where it can be raised."""
    words, to = ["--workers", 2, "--tolerance", 0, "--evaluate-every", 1], ["--quiet", "--model", "many"]
    cluster(*words, "--passes", 4, "--log", "log", "--checkpoint", "passes")
    check(stop_line(log_lines("log"))["status"] == "passed", "the log of a run that --passes stopped")
    same("--passes replayed", "model", ["all.svm"], "--replay", "log", "--quiet")
    result = run("cluster", "all.svm", "--resume", "passes", *to)
    check("stopped by --passes after 4 rounds" in result.stdout, "--passes resumed", result)
    result = run("cluster", "all.svm", "--resume", "passes", "--passes", 6, *to)
    check("stopped by --passes after 6 rounds" in result.stdout, "more --passes resumed", result)
    cluster(*words, "--passes", 6)
    check(read("many") == read("model"), "a run in two parts by --passes")


def test_signal():
    words = words_of(PRESETS[0], rounds=1000) + ["--exchange-delay", 0.02, "--log", "live", "--model", "stopped"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(["cluster", "all.svm", *words]), **pipes) as process:
        while process.poll() is None and (not os.path.exists("live") or b'"round":3' not in read("live")):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    check(process.returncode == 130 and centres("stopped").shape == (CENTRES, COLUMNS), "SIGINT", said)
    check(stop_line(log_lines("live"))["status"] == "interrupted", "the log of an interrupted run")


def test_start():
    """Three rounds and four from there are seven, for a method without memory."""
    words = words_of(PRESETS[0])
    cluster(*words_of(PRESETS[0], rounds=3)[:-1], model="three")
    cluster(*words_of(PRESETS[0], rounds=4)[:-1], "--start", "three")
    cluster(*words[:-1], model="seven")
    check((centres("model") == centres("seven")).all(), "--start", centres("model"))
    words = words_of(PRESETS[0], rounds=4) + ["--start", "three"]
    same("--start", "model", ["all.svm"], *words, ranks=3, starter=some_starter(0))


def log_lines(path):
    """The lines up to the stop line. A line about the model follows, because the problem has no dual."""
    lines = [json.loads(line) for line in read(path).splitlines()]
    check(lines[-1]["event"] != "stop", "the log ends with a line about the model", lines[-1])
    return [line for line in lines if line["event"] != "model"]


def stop_line(lines):
    """The line after which the log only shows the model."""
    return next(line for line in lines if line["event"] == "stop")


def documented():
    """Sets of keys from docs/log.md by table: start, round, pace, workers, ranks, view, stop, model."""
    tables = re.split(r"^\| key .*$", LOG_PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    names = ("start", "round", "pace", "workers", "ranks", "view", "stop", "model")
    cells = [" ".join(re.findall(r"^\| (`.*?) \|", table, flags=re.M)) for table in tables]
    keys = [set(re.findall(r"`(\w+)`", cell)) for cell in cells]
    check(len(keys) == len(names), "tables of docs/log.md", keys)
    return dict(zip(names, keys))


def test_log():
    """The keys are those of docs/log.md, but for the facts of linear models; `centres` is a fact of this problem."""
    keys, elsewhere = documented(), {"loss", "lambda", "l1_ratio", "intercept", "core"}
    elsewhere |= {"clock", "finished", "messages", "staleness", "largest_staleness"}  # of asynchronous exchanges
    elsewhere |= {"plan", "adapt", "estimate"}  # of runs that follow a plan, and of workers that know their gap
    cluster("--workers", 3, "--validation-fraction", 0.2, "--log", "log")
    lines = log_lines("log")
    for name, found in (
        ("start", set(lines[0]) - {"centres"}),
        ("round", set(lines[1])),
        ("workers", set(lines[1]["workers"][0])),
        ("ranks", set(lines[1]["ranks"][0])),
        ("stop", set(stop_line(lines))),
    ):
        check(found - elsewhere == keys[name] - elsewhere, f"keys of {name}", sorted(found ^ keys[name]))
    check(lines[0]["problem"] == "kmeans" and lines[0]["centres"] == CENTRES, "problem in the log", lines[0])
    check(not {"lambda", "loss", "gap"} & set(lines[0]["settings"]), "settings in the log", lines[0]["settings"])
    check("tolerance" in lines[0]["settings"], "the tolerance is in the log", lines[0]["settings"])
    objectives = [line["objective"] for line in lines if line["event"] == "round"]
    check(objectives == sorted(objectives, reverse=True), "objectives fall", objectives)
    parley("cluster", "all.svm", "--replay", "log", "--quiet", "--model", "again")
    check(read("again") == read("model"), "--replay gives the same bytes")
    same("--replay", "model", ["all.svm"], "--replay", "log", "--quiet", ranks=2, starter=some_starter(0))
    text, table = parley("report", "log"), json.loads(parley("report", "log", "--json"))
    check("kmeans-average = lloyd x average x allreduce on threads: 3 workers" in text, "report", text)
    check(table["preset"] == "kmeans-average" and table["rounds"] == stop_line(lines)["rounds"], "report --json", table)
    check(len(table["workers"]) == 3 and len(table["ranks"]) == 1, "workers in report --json", table)


def test_validation():
    words = ["--workers", 2, "--validation-fraction", 0.3, "--tolerance", 0, "--evaluate-every", 1, "--patience", 4]
    summary = json.loads(cluster(*words, "--log", "log", "--json"))
    check(summary["status"] == "patience" and summary["validation"]["metric"] == "inertia", "patience", summary)
    values = {line["round"]: line["validation"] for line in log_lines("log") if line["event"] == "round"}
    best = summary["validation"]
    check(best["value"] == min(values.values()) == values[best["round"]], "the best model is kept", best, values)
    same("validation", "model", ["all.svm"], *words, "--quiet", ranks=3, starter=some_starter(-1))
    cluster("--validation", "all.svm", "--workers", 2)
    check("inertia" in log_lines("log")[0]["settings"]["metric"], "the metric in the log")


KEYS = """status problem preset local combine exchange engine centres rows columns nonzeros workers lanes threads ranks
seed rounds epochs objective dual gap relative_gap seconds bytes_sent rank_bytes_sent peak_rss_bytes model""".split()
ENDS = [
    (["--tolerance", 1e-3], "converged", 0),
    (["--tolerance", 0, "--rounds", 2], "stopped by --rounds after 2 rounds", 0),
    (["--rounds", 2], "stopped by --rounds after 2 rounds", 3),
    (["--seconds", 0], "stopped by --seconds after 0 rounds", 3),
    (["--tolerance", 0, "--passes", 3, "--evaluate-every", 1], "stopped by --passes after 3 rounds", 0),
]


def test_output():
    summary = json.loads(cluster("--workers", 2, "--tolerance", 1e-6, "--json"))
    check(list(summary) == KEYS, "keys of cluster --json", list(summary))
    shown = (summary["problem"], summary["preset"], summary["status"], summary["rows"], summary["columns"])
    check(shown == ("kmeans", "kmeans-average", "converged", ROWS, COLUMNS), "cluster --json", summary)
    check(summary["dual"] is None and summary["gap"] is None, "there is no gap", summary)
    for words, end, code in ENDS:
        result = run("cluster", "all.svm", *words, "--model", "x")
        check(result.returncode == code and f"status         {end}" in result.stdout, f"{words}", result)
        check("lambda" not in result.stdout + result.stderr, f"{words}: no lambda is told", result)
    shown, table = parley("info", "model"), json.loads(parley("info", "model", "--json"))
    for line in ("kind           model", f"columns        {COLUMNS}", "  format         parley-kmeans-1"):
        check(line in shown.splitlines(), f"info has {line}", shown)
    shape = (table["kind"], table["columns"], len(table["squared_norms"]))
    check(shape == ("model", COLUMNS, CENTRES), "info --json", table)
    check("lambda" not in shown and "loss" not in shown, "info of another problem's model", shown)
    inertia = 2 * ROWS * json.loads(parley("eval", "model", "all.svm", "--json"))["inertia"]
    check(near(inertia, 2 * ROWS * summary["objective"], inertia), "eval --json", inertia)
    check(re.search(r"^inertia +[\d.]+$", parley("eval", "model", "all.svm"), flags=re.M), "eval")


def test_help():
    """Each command's help has the options and members of its problem."""
    own, other = parley("cluster", "--help"), parley("train", "--help")
    for word in "--tolerance --passes --checkpoint kmeans-average gd lloyd gradient inertia".split():
        check(word in own, f"cluster --help has {word}")
    for word in "lambda --loss --gap --C --l1-ratio cocoa sdca newton lbfgs accuracy hogwild --history".split():
        check(not re.search(rf"(?<![\w-]){word}(?![\w-])", own), f"cluster --help has no {word}")
    for word in ("--tolerance", "kmeans", "lloyd", "inertia"):
        check(word not in other, f"train --help has no {word}")
    check(re.search(r"^  cluster DATA\.\.\. +find centres", parley("help"), flags=re.M), "help has the command")
    check("kmeans" in parley("list", "problems") and "kmeans-average" in parley("list", "presets"), "list")
    check("`--tolerance X` | topics, network, cluster |" in parley("document", "settings"), "the table of settings")
    for form in ("man", "bash", "zsh"):
        check("cluster" in parley("document", form), f"document {form}")


def refused(code, sentence, *words, ranks=0, starter=None):
    """One sentence, the exit code, and no model. A usage error ends with the help to read."""
    result = run(*words, ranks=ranks, starter=starter)
    said = [line for line in result.stderr.splitlines() if line.startswith("parley: ")]
    expected = f"parley: {sentence}" + (f" (see parley {words[0]} --help)" if code == 2 else "")
    good = result.returncode == code and said == [expected] and not result.stdout
    check(good and not os.path.exists("none"), " ".join(map(str, words)), expected, result)


USAGE = [  # command, options, sentence
    ("cluster", "--lambda 1", "--lambda is an option of parley train, not of parley cluster"),
    ("cluster", "--loss hinge", "--loss is an option of parley train, not of parley cluster"),
    ("cluster", "--gap 0.1", "--gap is an option of parley train, not of parley cluster"),
    ("train", "--tolerance 1", "--tolerance is an option of parley topics, not of parley train"),
    ("path", "--tolerance 1", "--tolerance is an option of parley topics, not of parley path"),
    ("cluster", "--preset cocoa+", "preset cocoa+ is for problem linear, but this problem is kmeans; use parley train"),
    ("train", "--preset kmeans-average", "preset kmeans-average is for problem kmeans, but this problem is linear; use parley cluster"),
    ("cluster", "--preset lloyd",
     "--preset lloyd: unknown name; choose one of auto, kmeans-average, gd"),
    ("cluster", "--preset kmeans-average --rate 1",
     "--rate has no effect with lloyd x average; only --combine step reads it"),
    ("cluster", "--local-steps 5", "--local-steps has no effect with lloyd x average (chosen by auto); leave it out"),
    ("cluster", "--validation-fraction 0.5 --metric accuracy",
     "--metric accuracy is not for kmeans models; choose one of inertia"),
    ("train", "--local-steps 5 --preset gd",
     "--local-steps has no effect with gradient x step; only --local sdca or --local scd or --local sgd reads it"),
]
INPUT = [  # command, files and options, sentence
    ("cluster", "all.svm --start linear", "--start linear: the model is of problem linear, but this problem is kmeans"),
    ("train", "all.svm --start model", "--start model: the model is of problem kmeans, but this problem is linear"),
    ("cluster", "all.svm --start wide",
     f"--start wide: the model has {COLUMNS + 2} columns and the data have {COLUMNS}"),
    ("cluster", "all.svm --resume linear.state",
     "--resume linear.state: that run solved problem linear, but this one solves kmeans"),
    ("train", "all.svm --resume cluster.state",
     "--resume cluster.state: that run solved problem kmeans, but this one solves linear"),
    ("cluster", "all.svm --replay linear.log",
     "--replay linear.log: that run solved problem linear, but this one solves kmeans"),
    ("train", "all.svm --replay cluster.log",
     "--replay cluster.log: that run solved problem kmeans, but this one solves linear"),
    ("cluster", "missing.svm", "missing.svm: cannot open: No such file or directory"),
    ("cluster", "empty.svm", "empty.svm: no rows; the input is empty"),
]


def test_refusals():
    with open("empty.svm", "w", encoding="ascii"):
        pass
    kept = ["--quiet", "--log", "linear.log", "--checkpoint", "linear.state"]
    parley("train", "all.svm", "--loss", "squared", *kept, "--model", "linear")
    cluster("--rounds", 1, "--tolerance", 0, "--log", "cluster.log", "--checkpoint", "cluster.state")
    for name, shape in (("two", (COLUMNS, 2)), ("wide", (COLUMNS + 2, CENTRES))):
        save_file({"centres": numpy.zeros(shape)}, name, {"format": "parley-kmeans-1"})
    with open("cut", "wb") as file:
        file.write(read("model")[:-8])
    to = ["--quiet", "--model", "none"]
    for name, words, sentence in USAGE:
        refused(2, sentence, name, "all.svm", *words.split(), *to)
    for n, (name, words, sentence) in enumerate(INPUT):
        refused(1, sentence, name, *words.split(), *to)
        if FOUND and (n % 3 == 0 or ALL):
            refused(1, sentence, name, *words.split(), *to, ranks=3, starter=some_starter(n // 3))
    refused(1, "two: no float64 tensor `centres` of 3 columns", "predict", "two", "all.svm")
    refused(1, "model: centres give no probabilities", "predict", "model", "all.svm", "--output", "probability")
    result = run("eval", "cut", "all.svm")
    check(result.returncode == 1 and result.stderr.startswith("parley: cut: "), "a model that was cut short", result)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        x, weights = make_data()
        test_oracle(x, weights)
        test_steps(x)
        test_same_bytes()
        test_names()
        test_checkpoints()
        test_passes()
        test_signal()
        test_start()
        test_log()
        test_validation()
        test_output()
        test_help()
        test_refusals()
        os.chdir("/")
    missing = [name for name in STARTERS if name not in FOUND]
    print(f"{passed} passed, {failed} failed" + (f"; {', '.join(missing)} skipped: not installed or not built" if missing else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
