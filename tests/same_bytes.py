#!/usr/bin/env python3
"""same_bytes.py OLD NEW [words]: two builds of parley train the same models, to the last bit.

Runs the same commands with both binaries and compares what they return and every tensor (name, type, shape, bytes) of
every model that they write. A combination that one binary refuses must be refused by the other. Differences of metadata
are counted and named, not failed. With words, runs only the cases whose names hold all of them.

Data come from OLD's `parley generate` and from make_data of tests/mpi/test_ranks.py, with fixed seeds. Hogwild is
repeatable with one worker only; workers that do not wait for each other are repeatable under the modelled clock of
--engine sim, and so is the log of every run there, whose lines are compared too; --local-steps auto follows the clock,
so it is compared through --replay of one log."""
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if len(sys.argv) < 3:
    sys.exit("usage: " + __doc__.split(":", 1)[0])
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent / "mpi"))

from test_ranks import LIBRARIES, STARTERS, make_data, parley  # it runs sys.argv[1], which is OLD

MODEL, ENDED, SENTENCE = "MODEL", (0, 3), (1, 2)  # the file that a command writes; exit codes with a model and without
LABELS = {"squared": "real", "huber": "real", "epsilon-insensitive": "real", "squared-epsilon-insensitive": "real",
          "poisson": "counts", "tweedie": "counts", "gamma": "sizes", "softmax": "classes"}  # others: two labels
PENALTIES = {"no penalty": ["--lambda", "0"], "L2": ["--lambda", "0.003"], "L1": ["--lambda", "0.003", "--l1-ratio", "1"],
             "elastic net": ["--lambda", "0.003", "--l1-ratio", "0.4"]}
INTERCEPTS = ("free", "penalised", "none")
AROUND = ([], ["--standardise"], ["--weights", "weights.txt"], ["--class-weights", "balanced"],
          ["--weights", "weights.txt", "--standardise"])

ASYNCHRONOUS = ("petuum", "petuum*", "ps-async", "ps-backup", "hogwild-peer", "angel-lda")
MODELLED = ["--engine", "sim", "--hosts", "2", "--compute", "modelled"]

Case = namedtuple("Case", "name commands before", defaults=((),))  # before: words in front of the binary, such as mpiexec


# Data


def relabel(path, kinds):
    """Copies of LIBSVM text with other labels, made from a linear function of the rows and noise."""
    source = random.Random(7)
    rows = [line.split(" ", 1)[1] for line in Path(path).read_text().splitlines() if " " in line]
    slopes = [source.gauss(0, 1) for _ in range(30000)]
    values = [sum(slopes[int(c)] * float(v) for c, v in (e.split(":") for e in row.split())) for row in rows]
    scale = math.sqrt(sum(z * z for z in values) / len(values)) or 1
    values = [z / scale + source.gauss(0, 0.5) for z in values]
    label = {"real": lambda z: f"{3 * z + 1:.6g}", "counts": lambda z: str(min(int(math.exp(z)), 40)),
             "sizes": lambda z: f"{math.exp(min(z, 4)):.6g}",
             "classes": lambda z: str(min(max(int(2 * z + 2.5), 0), 4)), "two": lambda z: "1" if z > 0.2 else "-1"}
    for kind in kinds:
        lines = (f"{label[kind](z)} {row}\n" for z, row in zip(values, rows))
        Path(f"{Path(path).stem}-{kind}.svm").write_text("".join(lines), encoding="ascii")


def make_all_data():
    make_data()
    relabel("all.svm", ("real", "counts", "sizes", "classes"))
    parley("generate", "text", "tall.svm", "--rows", "12000", "--columns", "2000", "--nonzeros", "25", "--quiet")
    parley("generate", "text", "wide.svm", "--rows", "250", "--columns", "9000", "--nonzeros", "60", "--quiet")
    parley("generate", "dense", "dense.svm", "--rows", "3000", "--columns", "60", "--quiet")
    relabel("tall.svm", ("real", "classes"))
    relabel("wide.svm", ("real",))
    relabel("dense.svm", ("two",))
    for loss, data in (("logistic", "all.svm"), ("squared", "all-real.svm"), ("softmax", "all-classes.svm")):
        parley("train", data, "--loss", loss, "--rounds", "2", "--gap", "0", "--quiet", "--model", f"start-{loss}")
    words = ["--preset", "cocoa+", "--workers", "2", "--local-steps", "auto", "--rounds", "8", "--gap", "0", "--quiet"]
    parley("train", "all.svm", *words, "--log", "auto.jsonl", "--model", "auto.model")


# Cases


def data_of(loss, stem="all"):
    kind = LABELS.get(loss)
    return f"{stem}-{kind}.svm" if kind else f"{stem}.svm"


def limits(preset):
    """Rounds enough for a preset that changes its method on the way."""
    rounds = {"cocoa-newton": 60, "cocoa-lbfgs": 60, "hybrid": 25, "auto": 40}.get(preset, 8)
    return ["--gap", "1e-7", "--rounds", str(rounds)] if preset != "online" else []


def trained(name, *words, before=()):
    return Case(name, [["train", *words, "--quiet", "--model", MODEL]], before)


def sizes(preset, draw):
    if preset == "online":
        return []
    if preset == "hogwild":
        return ["--workers", "1", "--threads", "1"]
    if preset in ASYNCHRONOUS:
        return [*MODELLED, "--workers", draw.choice("234")]
    return ["--workers", draw.choice("1234"), "--lanes", draw.choice("112"), "--threads", draw.choice("12")]


def preset_cases(presets, losses):
    """Presets x losses x penalties; the other factors are drawn, so that each meets each many times."""
    draw = random.Random(11)
    several = [(loss, "classes") for loss in losses if loss not in LABELS]
    kinds = [(loss, LABELS.get(loss, "two")) for loss in losses] + several
    for preset, (loss, labels), (penalty, flags) in itertools.product(presets, kinds, PENALTIES.items()):
        data = "all.svm" if labels == "two" else f"all-{labels}.svm"
        around = draw.choice([a for a in AROUND if labels in ("two", "classes") or "--class-weights" not in a])
        rest = ["--intercept", draw.choice(INTERCEPTS), *([] if preset == "online" else around), *sizes(preset, draw)]
        words = [data, "--preset", preset, "--loss", loss, *flags, *limits(preset), *rest]
        yield trained(f"preset {preset} {loss} {labels} {penalty} {' '.join(rest)}", *words)


def method_cases():
    """Settings of methods, each with a preset that reads it."""
    for preset, words in (
        ("cocoa+", "--local sdca"), ("cocoa+", "--local scd"), ("cocoa+", "--local sdca --l1-ratio 0.5"),
        ("cocoa+", "--local scd --l1-ratio 1"), ("cocoa+", "--local scd --l1-ratio 1 --lanes 2"),
        ("cocoa", "--local scd"), ("minibatch-cd", "--local scd"), ("minibatch-cd", "--local-steps 20"),
        ("cocoa+", "--updates delayed"), ("cocoa+", "--local-steps 30"), ("cocoa+", "--local-epochs 0.3"),
        ("cocoa+", "--local-epochs 3"), ("cocoa+", "--exchange driver"), ("cocoa", "--exchange driver"),
        ("cocoa+", "--worker-per core"), ("cocoa+", "--evaluate-every 1"), ("cocoa+", "--C 2"), ("cocoa+", "--alpha 0.01"),
        ("cocoa+", "--seed 9"), ("cocoa+", "--local sgd"), ("newton", "--combine truncated"), ("newton", "--lanes 2"),
        ("lbfgs", "--history 3"), ("lbfgs", "--l1-ratio 0.5"), ("lbfgs", "--exchange driver"), ("gd", "--rate 0.5"),
        ("gd", "--schedule inverse"), ("gd", "--schedule inverse-sqrt"), ("minibatch-sgd", "--batch-fraction 0.3"),
        ("minibatch-sgd", "--rate 0.1 --schedule constant"), ("ma-sgd", "--schedule constant"),
        ("ma-sgd", "--schedule inverse"), ("ma-sgd", "--schedule adagrad"), ("ma-sgd", "--schedule normalised"),
        ("ma-sgd", "--average-iterates"), ("ma-sgd", "--reweight"), ("ma-sgd", "--rate 0.2"), ("ma-sgd", "--local-epochs 2"),
        ("ma-sgd", "--local-steps 50"), ("splash", "--average-iterates"), ("hybrid", "--rate 0.2"), ("hybrid", "--history 4"),
        ("replicas", "--threads 2"), ("oneshot", "--local-epochs 4"), ("online", "--passes 3"), ("online", "--rate 0.3"),
        ("online", "--schedule adagrad"), ("online", "--schedule constant"), ("online", "--hash-bits 6"),
    ):
        for loss in ("logistic", "squared", "softmax"):
            workers = [] if preset == "online" or "worker" in words else ["--workers", "3"]
            flags = ["--preset", preset, "--loss", loss, *limits(preset), *workers, *words.split()]
            yield trained(f"method {preset} {loss} {words}", data_of(loss), *flags)
    yield trained("method cocoa+ replay of steps that the clock chose", "all.svm", "--replay", "auto.jsonl", "--preset",
                  "cocoa+", "--workers", "2", "--local-steps", "auto", "--rounds", "8", "--gap", "0")


def size_cases():
    """Large enough for lanes, blocks and Newton's conjugate gradients to be chosen, and more columns than rows."""
    methods = ("auto", "cocoa+ --workers 3", "cocoa+ --lanes 2", "cocoa+ --local scd", "cocoa+ --local scd --workers 4",
               "cocoa-newton --workers 2", "hybrid --workers 3", "lbfgs --workers 2", "newton", "ma-sgd --workers 4", "online")
    shapes = (("tall.svm", "logistic"), ("tall.svm", "hinge"), ("tall-real.svm", "squared"), ("tall-classes.svm", "softmax"),
              ("wide.svm", "logistic"), ("wide-real.svm", "squared"), ("wide-real.svm", "huber"),
              ("dense.svm", "squared"), ("dense-two.svm", "squared-hinge"))
    for (data, loss), method in itertools.product(shapes, methods):
        preset = method.split()[0]
        penalties = [[], ["--l1-ratio", "1", "--lambda", "0.01"]] if preset in ("auto", "lbfgs", "cocoa+") else [[]]
        rounds = [] if preset == "online" else ["--gap", "1e-5", "--rounds", "15"]
        for penalty in penalties:
            words = [data, "--loss", loss, "--preset", *method.split(), *rounds, *penalty]
            yield trained(f"size {data} {loss} {method} {' '.join(penalty)}", *words)


FORMATS = {
    "LIBSVM": ["all.svm"], "LIBSVM of four files": ["part-*.svm"], "gz": ["all.svm.gz"], "zst": ["all.svm.zst"],
    "plain and compressed": ["part-0.svm", "all.svm.gz", "part-2.svm"], "four compressed": ["z-*"],
    "CSV": ["all.csv"], "CSV gz": ["all.csv.gz"], "CSV with words": ["people.csv"], "CSV of three files": ["shop-*.csv"],
    "CSV with hashes": ["shop-*.csv", "--categories", "hash", "--hash-bits", "7", "--keep-names"],
    "CSV with categories": ["people.csv", "--categorical", "size"],
    "CSV with weights": ["people.csv", "--weight-column", "size"],
    "CSV with another label": ["people.csv", "--label-column", "colour"],
    "VW": ["all.vw"], "VW with names": ["all.vw", "--keep-names", "--hash-bits", "7"], "IDX": ["images-idx"],
    "IDX with labels": ["images-idx", "--labels", "labels-idx"], "cache": ["all.parley"], "four caches": ["part-*.parley"],
    "a bad file": ["bad.svm"], "a bad CSV file": ["bad.csv"],
}


def format_cases():
    for (name, words), preset in itertools.product(FORMATS.items(), ("auto", "cocoa+", "lbfgs", "online")):
        workers = [] if preset in ("auto", "online") else ["--workers", "3"]
        yield trained(f"format {name} {preset}", *words, "--preset", preset, *workers, *limits(preset))


def around_cases():
    """Paths, cross-validation, warm starts, validation."""
    for loss, ratio in itertools.product(("logistic", "squared", "softmax", "hinge", "poisson"), ("0", "0.5", "1")):
        common = [data_of(loss), "--loss", loss, "--l1-ratio", ratio, "--rounds", "300", "--quiet", "--model", MODEL]
        for words in ([], ["--workers", "3"], ["--standardise", "--full-path", "--intercept", "none"]):
            path = ["path", *common, "--lambdas", "6", "--lambda-ratio", "0.05"]
            yield Case(f"path {loss} l1-ratio {ratio} {' '.join(words)}", [[*path, *words]])
        for words in ([], ["--choose", "1se", "--workers", "2"]):
            cv = ["cv", *common, "--folds", "3", "--lambdas", "4", "--lambda-ratio", "0.05"]
            yield Case(f"cv {loss} l1-ratio {ratio} {' '.join(words)}", [[*cv, *words]])
    for words in ("--lambdas 5 --validation-fraction 0.2", "--lambdas 5 --weights weights.txt", "--lambda-list 0.1,0.01,0.003",
                  "--lambdas 5 --class-weights -1=0.5,1=3"):
        path = ["path", "all.svm", "--l1-ratio", "1", "--quiet", "--model", MODEL, *words.split()]
        yield Case(f"path {words}", [path])
    for loss, preset in itertools.product(("logistic", "squared", "softmax"), ("auto", "cocoa+", "newton", "lbfgs", "ma-sgd", "hybrid")):
        common = [data_of(loss), "--loss", loss, "--preset", preset, *limits(preset)]
        for ratio in ("0", "1"):
            yield trained(f"start {preset} {loss} l1-ratio {ratio}", *common, "--l1-ratio", ratio, "--start", f"start-{loss}")
        for words in (["--validation-fraction", "0.2"], ["--validation-fraction", "0.3", "--patience", "2"],
                      ["--validation", data_of(loss)]):
            yield trained(f"validation {preset} {loss} {' '.join(words[:1])} {len(words)}", *common, *words)
    for metric in ("accuracy", "auc", "log_loss"):
        yield trained(f"validation {metric}", "all.svm", "--validation-fraction", "0.25", "--metric", metric, *limits("auto"))


def resume_cases(presets):
    """A run that stops and goes on, with the same binary."""
    for preset, loss in itertools.product(presets, ("logistic", "squared", "softmax")):
        if preset == "online":
            continue
        workers = ["--workers", "1", "--threads", "1"] if preset == "hogwild" else ["--workers", "2"]
        workers += MODELLED if preset in ASYNCHRONOUS else []
        for ratio in ("0", "0.5"):
            words = ["train", data_of(loss), "--loss", loss, "--preset", preset, *workers, "--l1-ratio", ratio, "--gap", "0"]
            first = [*words, "--rounds", "4", "--checkpoint", f"{MODEL}.state", "--quiet", "--model", f"{MODEL}.first"]
            second = [*words, "--rounds", "9", "--resume", f"{MODEL}.state", "--quiet", "--model", MODEL]
            yield Case(f"resume {preset} {loss} l1-ratio {ratio}", [first, second])


def rank_cases():
    """Two and three processes: by MPI's starters, and by parley's own."""
    starts = [(f"{name} {n}", (*STARTERS[name], "-n", n)) for name in LIBRARIES for n in "23" if name == "mpich" or n == "2"]
    starts.append(("launch 2", ("launch", "-n", "2", "--")))
    runs = {
        "logistic": ["all.svm"], "several files": ["part-*.svm", "--loss", "hinge"], "softmax": ["all-classes.svm"],
        "by columns": ["all.svm", "--l1-ratio", "1", "--lambda", "0.01"], "CSV": ["shop-*.csv"], "cache": ["part-*.parley"],
        "zst": ["all.svm.zst", "--standardise", "--weights", "weights.txt"], "newton": ["all-real.svm", "--preset", "newton"],
        "lbfgs": ["part-*.svm", "--preset", "lbfgs"], "spark-ml": ["all.svm", "--preset", "spark-ml"],
        "ma-sgd": ["all.svm", "--preset", "ma-sgd", "--lanes", "2"], "hybrid": ["all.svm", "--preset", "hybrid"],
        "validation": ["all.svm", "--validation-fraction", "0.2"], "IDX": ["images-idx"], "VW": ["all.vw"],
        "squared messages": ["all-real.svm", "--loss", "squared", "--between-ranks", "messages"],
    }
    for (start, before), (name, words) in itertools.product(starts, runs.items()):
        preset = [] if "--preset" in words else ["--preset", "cocoa+"]
        yield trained(f"ranks {start} {name}", *words, *preset, "--workers", "4", "--rounds", "5", "--gap", "0", before=before)


def log_cases():
    """Runs of every preset of every problem under the modelled clock, whose logs repeat to the last figure."""
    for loss, preset in itertools.product(("logistic", "squared", "hinge", "softmax"), names_of("presets")):
        if preset not in ("online", "hogwild"):
            words = ["train", data_of(loss), "--loss", loss, "--preset", preset, "--workers", "3", "--rounds", "6", "--gap", "1e-7"]
            yield logged(f"log {preset} {loss}", words)
    for preset in names_of("presets"):
        words = ["topics", "all.svm", "--topics", "4", "--preset", preset, "--workers", "3", "--passes", "3"]
        yield logged(f"log topics {preset}", words)
    for preset in names_of("presets"):
        words = ["network", "all.svm", "--hidden", "5", "--preset", preset, "--workers", "3", "--epochs", "2"]
        yield logged(f"log network {preset}", words)


def logged(name, words):
    return Case(name, [[*words, *MODELLED, "--quiet", "--log", f"{MODEL}.jsonl", "--model", MODEL]])


def names_of(kind):
    return [line.split()[0] for line in parley("list", kind).stdout.decode().splitlines()]


def all_cases():
    presets, losses = names_of("presets"), names_of("losses")
    return [*rank_cases(), *size_cases(), *preset_cases(presets, losses), *method_cases(), *format_cases(), *around_cases(),
            *resume_cases(presets), *log_cases()]


# Comparing


def read_tensors(path):
    """The metadata of a safetensors file, and name -> (type, shape, bytes)."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, what in header.items():
        begin, stop = what["data_offsets"]
        tensors[name] = what["dtype"], tuple(what["shape"]), data[end + begin : end + stop]
    return metadata, tensors


def read_log(path):
    """The lines of a log, without the names of its files and the version that wrote it."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for key in ("log", "model"):
            line.get("settings", {}).pop(key, None)
        line.pop("version", None)
    return lines


def compare_logs(old, new):
    lines, others = read_log(old), read_log(new)
    if len(lines) != len(others):
        return [f"logs of {len(lines)} and {len(others)} lines"]
    for number, (line, other) in enumerate(zip(lines, others), 1):
        keys = sorted(key for key in {**line, **other} if line.get(key) != other.get(key))
        if keys:
            return [f"line {number} of the log differs in {', '.join(keys)}"]
    return []


def run_case(case, binary, model):
    """Exit codes, and the last line on standard error."""
    codes, said = [], ""
    for command in case.commands:
        words = [word.replace(MODEL, str(model)) for word in command]
        start = [binary, *case.before] if case.before[:1] == ("launch",) else [*case.before, binary]
        done = subprocess.run([*start, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        codes.append(done.returncode)
        said = (done.stderr.strip().splitlines() or [""])[-1]
        if done.returncode not in ENDED:
            break
    return codes, said


def compare_case(case, number, binaries, folder):
    """What differs, in sentences; the keys of metadata that do; and how the run ended if not with a model."""
    models = [folder / f"{number}-{side}" for side in ("old", "new")]
    (codes, said), (other_codes, other_said) = (run_case(case, b, m) for b, m in zip(binaries, models))
    if codes[-1] not in SENTENCE + ENDED:  # nothing to compare with
        return [], (), f"OLD ends with {codes[-1]}, NEW with {other_codes[-1]}"
    if codes != other_codes:
        return [f"exit codes {codes} and {other_codes}: {said} | {other_said}"], (), ""
    if codes[-1] in SENTENCE:
        return [], (), "refused"
    (metadata, tensors), (other_metadata, other) = map(read_tensors, models)
    faults = []
    if set(tensors) != set(other):
        faults.append(f"tensors {sorted(tensors)} and {sorted(other)}")
    for name in sorted(set(tensors) & set(other)):
        if tensors[name][:2] != other[name][:2]:
            faults.append(f"{name} is {tensors[name][:2]} and {other[name][:2]}")
        elif tensors[name][2] != other[name][2]:
            places = sum(a != b for a, b in zip(tensors[name][2], other[name][2]))
            faults.append(f"{name} differs in {places} of {len(other[name][2])} bytes")
    logs = [model.with_name(f"{model.name}.jsonl") for model in models]
    if logs[0].exists() or logs[1].exists():
        faults += compare_logs(*logs)
    for file in (*models, *logs):
        file.unlink(missing_ok=True)
    return faults, [k for k in {**metadata, **other_metadata} if metadata.get(k) != other_metadata.get(k)], ""


def main():
    binaries, words = [str(Path(path).resolve()) for path in sys.argv[1:3]], " ".join(sys.argv[3:]).split()
    failed, refused, keys = 0, 0, Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        os.chdir(folder)
        make_all_data()
        cases = [case for case in all_cases() if all(word in case.name for word in words)]
        jobs = [pool.submit(compare_case, case, n, binaries, Path(folder)) for n, case in enumerate(cases)]
        for case, job in zip(cases, jobs):
            faults, differing, ending = job.result()
            failed, refused = failed + bool(faults), refused + (ending == "refused")
            keys.update(differing)
            for fault in faults:
                print(f"{case.name}: {fault}", flush=True)
            if ending not in ("", "refused"):
                print(f"not compared: {case.name}: {ending}", flush=True)
        os.chdir("/")
    if keys:
        print("metadata that differ: " + ", ".join(f"{key} {count}" for key, count in sorted(keys.items())))
    print(f"{refused} of {len(cases)} cases are refused by both")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
