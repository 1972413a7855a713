#!/usr/bin/env python3
"""test_ranks.py PARLEY [all]: any number of processes gives the same bytes, with MPICH and with Open MPI.

Every preset whose exchange is repeatable is trained in one process and on R ranks: R = 1, 2, 3, 4, K = 4, 7, 12 workers,
from one file and from four. By default each preset runs with some of these, so that several presets cover every R, K,
library and split; `all` runs all combinations. Half of the runs exchange by messages, the others through shared memory.
Then come other formats than plain LIBSVM text, validation and checkpoints, and error messages of ranks."""
import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from starters import INSTALLED as LIBRARIES, MPI as STARTERS

PARLEY = os.path.abspath(sys.argv[1])
ALL = "all" in sys.argv[2:]
RANKS, WORKERS, SPLITS, WAYS = (1, 2, 3, 4), (4, 7, 12), ("one", "four"), ("memory", "messages")
passed = failed = 0


def run(words, ranks=0, library=None, text=None):
    start = STARTERS[library] + ["-n", str(ranks)] if ranks else []
    return subprocess.run(start + [PARLEY] + words, input=text, capture_output=True, timeout=120, check=False)


def check(good, name, *shown):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", name)
        for result in shown:
            print((result.stdout + result.stderr).decode(errors="replace"))


def parley(*words, text=None):
    result = run(list(words), text=text)
    if result.returncode not in (0, 3):
        sys.exit("parley " + " ".join(words) + ": " + result.stderr.decode())
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_data():
    parley("generate", "text", "all.svm", "--rows", "1200", "--columns", "300", "--nonzeros", "12", "--quiet")
    lines = read("all.svm").splitlines(True)
    cuts = [0, 100, 101, 700, len(lines)]
    for n, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        with open(f"part-{n}.svm", "wb") as file:
            file.write(b"".join(lines[begin:end]))
    for name in ("all.csv", "all.vw", "all.parley", "all.svm.gz", "all.svm.zst", "all.csv.gz"):
        parley("convert", "all.svm", name, "--quiet")
    for n in range(4):
        parley("convert", f"part-{n}.svm", f"part-{n}.parley", "--quiet")
        parley("convert", f"part-{n}.svm", f"z-{n}.svm.{'gz' if n % 2 else 'zst'}", "--quiet")
    with open("weights.txt", "w", encoding="ascii") as file:
        file.writelines(f"{1 + n % 3}\n" for n in range(len(lines)))
    with open("bad.svm", "wb") as file:
        file.write(b"".join(lines[:900]) + b"1 3:x\n" + b"".join(lines[900:]) + b"1 0:1\n")
    with open("people.csv", "w", encoding="ascii") as file:
        file.write("label,size,colour\n")
        file.writelines(f"{'yes' if n % 3 else 'no'},{n % 11},{'red blue green'.split()[n % 5 % 3]}\n" for n in range(60))
    for n in range(3):
        with open(f"shop-{n}.csv", "w", encoding="ascii") as file:
            file.write("label,size,\"the\ncolour\",where\n")
            file.writelines(f'{"no may yes".split()[k % 7 % 3]},{k % 9},"tone,\n{k * k % (40 + 9 * n)}",at {k // 20}\n'
                            for k in range(250))
    with open("sheet.csv", "w", encoding="ascii") as file:
        text = read("shop-0.csv").decode()
        file.write('A 5" title\n' + text.replace("0\nyes", '0\n# "\nno,1\n,2,x,y\nyes,1,2,3,4\nyes'))
    for name, lost in (("bad.csv", 'yes,1,5" red,here\n'), ("open.csv", 'yes,1,"red,here\n'), ("few.csv", "yes,1\n")):
        text = read("shop-0.csv").decode() + lost + read("shop-1.csv").decode().split("\n", 2)[2]
        with open(name, "w", encoding="ascii") as file:
            file.write(text)
    for n, head in (("images", (8, 2, 0, 0, 2, 0, 0, 0, 0, 9)), ("labels", (8, 1, 0, 0, 2, 0))):
        with open(f"{n}-idx", "wb") as file:
            values = [k * 7 % 31 % 10 for k in range(512 * 9)] if n == "images" else [k % 2 for k in range(512)]
            file.write(bytes((0, 0) + head) + bytes(values))


def repeatable(preset):
    """Does the preset run on several processes with a repeatable result? Its log says so."""
    words = ["train", "all.svm", "--preset", preset, "--workers", "4", "--rounds", "1", "--quiet", "--log", "log"]
    result = run(words + ["--model", "log.model"])
    return result.returncode in (0, 3) and b'"repeatable":true' in read("log").splitlines()[0] and preset != "online"


def presets():
    listed = parley("list", "presets").stdout.decode().split("\n")
    names = [line.split()[0] for line in listed if line.startswith("  ") and line.strip()]
    return [name for name in names if repeatable(name)]


def same(name, words, ranks, library, text=None):
    """Checks that one process and many give the same model."""
    words = words[:1] + words[1] + words[2:]
    expected = run(words + ["--model", "one.model"], text=text)
    found = run(words + ["--model", "many.model"], ranks, library, text)
    good = expected.returncode in (0, 3) and found.returncode == expected.returncode
    check(good and read("one.model") == read("many.model"), f"{name} on {ranks} ranks of {library}", found)


def test_presets():
    """The reference is one process that reads one file."""
    names = presets()
    check(len(names) >= 15, f"presets: {names}")
    product = list(itertools.product(RANKS, WORKERS, SPLITS, LIBRARIES))
    met = [set(), set(), set(), set()]
    for n, preset in enumerate(names):
        chosen = product if ALL else [product[(n * 19 + k * 29) % len(product)] for k in range(2)]
        for cell, values in itertools.product(chosen, range(4)):
            met[values].add(cell[values])
        for workers in sorted({cell[1] for cell in chosen}):
            words = ["--preset", preset, "--workers", str(workers), "--rounds", "3", "--gap", "0", "--quiet"]
            parley("train", "all.svm", *words, "--model", "one.model")
            for ranks, _, split, library in (cell for cell in chosen if cell[1] == workers):
                data = ["all.svm"] if split == "one" else ["part-*.svm"]
                way = WAYS[passed % 2]
                found = run(["train"] + data + words + ["--between-ranks", way, "--model", "many.model"], ranks, library)
                check(
                    found.returncode in (0, 3) and read("one.model") == read("many.model"),
                    f"{preset}, {workers} workers, {split} file(s), {ranks} ranks of {library}, by {way}",
                    found,
                )
    check(met == [set(RANKS), set(WORKERS), set(SPLITS), set(LIBRARIES)], f"every R, K, split and library: {met}")


SKIP = ["--bad-rows", "skip", "--missing-label", "skip"]
AROUND = [
    ("by columns", ["all.svm"], ["--l1-ratio", "1", "--lambda", "0.01"]),
    ("by columns from four", ["part-*.svm"], ["--l1-ratio", "0.9", "--lambda", "0.01", "--standardise"]),
    ("a cache", ["all.parley"], []),
    ("four caches", ["part-*.parley"], ["--lanes", "2"]),
    ("zst", ["all.svm.zst"], []),
    ("gz", ["all.svm.gz"], []),
    ("four compressed", ["z-*"], []),
    ("plain and compressed", ["part-0.svm", "all.svm.gz", "part-2.svm"], []),
    ("csv", ["all.csv"], []),
    ("csv with words", ["people.csv"], []),
    ("csv of three files", ["shop-*.csv"], []),
    ("compressed csv", ["all.csv.gz"], []),
    ("csv with hashes", ["shop-*.csv"], ["--categories", "hash", "--hash-bits", "7", "--keep-names"]),
    ("csv with rows left out", ["sheet.csv", "sheet.csv"], ["--skip-lines", "1", "--comment", "#"] + SKIP),
    ("csv to validate on", ["shop-0.csv", "shop-1.csv"], ["--validation", "shop-2.csv"]),
    ("idx", ["images-idx"], []),
    ("vw", ["all.vw"], []),
    ("vw with names", ["all.vw"], ["--keep-names", "--hash-bits", "7"]),
    ("weights", ["part-*.svm"], ["--weights", "weights.txt"]),
    ("validation file", ["all.svm"], ["--validation", "part-0.svm"]),
    ("validation fraction", ["part-*.svm"], ["--validation-fraction", "0.2"]),
    ("class weights", ["all.svm"], ["--class-weights", "balanced"]),
    ("standardised", ["all.svm"], ["--standardise"]),
    ("offsets", ["all.svm"], ["--offset-column", "3"]),
    ("offsets by columns", ["part-*.svm"], ["--offset-column", "3", "--l1-ratio", "0.9", "--lambda", "0.01"]),
    ("a start", ["all.svm"], ["--start", "start.model"]),
    ("a start by columns", ["all.svm"], ["--l1-ratio", "1", "--lambda", "0.01", "--start", "start.model"]),
]


def test_around():
    parley("train", "all.svm", "--workers", "4", "--rounds", "2", "--gap", "0", "--quiet", "--model", "start.model")
    for n, (name, data, words) in enumerate(AROUND):
        cells = itertools.product(RANKS[1:], LIBRARIES)
        for ranks, library in cells if ALL else [(2 + n % 3, LIBRARIES[n % len(LIBRARIES)])]:
            rest = ["--preset", "cocoa+", "--workers", "7", "--rounds", "3", "--gap", "0", "--quiet"] + words
            same(name, ["train", data] + rest, ranks, library)
    library = LIBRARIES[0]
    same("a path", ["path", ["all.svm"], "--workers", "4", "--l1-ratio", "1", "--lambdas", "8", "--quiet"], 3, library)
    folds = ["--workers", "4", "--lanes", "1", "--l1-ratios", "0.5,1", "--lambdas", "4", "--folds", "3", "--quiet"]
    same("a cross-validation", ["cv", ["part-*.svm"]] + folds, 3, library)
    same("a cross-validation of a table", ["cv", ["people.csv"]] + folds, 2, LIBRARIES[-1])
    # MPICH's mpiexec fails if there is more input than a process reads at once
    same("standard input", ["train", ["-"], "--workers", "4", "--quiet"], 3, library, text=read("part-0.svm"))


def test_topics():
    """Corpora of each kind and every preset of topic models. Documents of docword are several lines, and text has words."""
    counts = [(d, w, 1 + d * w % 3) for d in range(1, 301) for w in range(1, 41) if d * 7 % (w + 3) < 2]
    with open("docword.txt", "w", encoding="ascii") as file:
        file.write(f"300\n40\n{len(counts)}\n")
        file.writelines(f"{d} {w} {c}\n" for d, w, c in counts)
    with open("plain.txt", "w", encoding="utf-8") as file:
        for d in range(1, 301):
            file.write(" ".join(f"w\u00f6rd{w}" for k, w, c in counts if k == d for _ in range(c)) + "\n")
    subprocess.run(["gzip", "-k", "plain.txt", "docword.txt"], check=True)
    data = (["docword.txt"], ["plain.txt", "--format", "text"], ["docword.txt.gz"], ["plain.txt.gz", "--format", "text"])
    for n, preset in enumerate(("ma-lda", "mllib-ma-lda", "angel-svi", "mllib-lda", "angel-lda")):
        rest = ["--preset", preset, "--topics", "4", "--workers", "5", "--passes", "3", "--quiet"]
        same(f"topics by {preset}", ["topics", data[n % 4]] + rest, 2 + n % 3, LIBRARIES[n % len(LIBRARIES)])
    tokens = sum(c for _, _, c in counts)
    for n, pace in enumerate(("--staleness 2 --clocks 3", "--staleness async --local-epochs 0.2")):
        words = ["topics", "docword.txt", "--preset", "angel-lda", "--topics", "4", "--workers", "5", "--passes", "6"]
        words += ["--burn-in", "6", "--quiet", "--model", "pace.model", *pace.split()]
        result = run(words, 2 + n, LIBRARIES[n % len(LIBRARIES)])
        check(result.returncode == 0, f"topics with {pace}", result)
        if result.returncode == 0:
            model = read("pace.model")
            found = sum(struct.unpack("<160f", model[-640:])) - 160 * 0.01  # topics x words is the last tensor
            check(abs(found - tokens) < 0.01, f"topics with {pace} have {found} of {tokens} tokens")


def test_networks():
    """Every synchronous preset of networks, on sparse rows and on a table."""
    presets = ("minibatch-sgd", "mllib-sgd", "ma-sgd", "ps-sync")
    data = (["all.svm"], ["people.csv"], ["part-*.svm"], ["all.svm", "--dropout", "0.2", "--optimiser", "momentum"])
    for n, preset in enumerate(presets):
        rest = ["--preset", preset, "--hidden", "9,5", "--workers", "5", "--epochs", "3", "--batch", "40", "--quiet"]
        same(f"networks by {preset}", ["network", data[n]] + rest, 2 + n % 3, LIBRARIES[n % len(LIBRARIES)])


def test_coordinator():
    """Rank 0 of peers validates its view between parks, which are far apart, and stops all ranks when patience ends."""
    words = "train all.svm --loss logistic --lambda 1e-9 --preset hogwild-peer --workers 4 --clocks 100000 --rounds 3"
    words += " --schedule constant --rate 0.05 --validation-fraction 0.2 --metric loss --patience 5 --view-every 2 --gap 0"
    for library, ranks in zip(LIBRARIES, (2, 3)):
        log = f"view-{ranks}.jsonl"
        result = run(words.split() + ["--log", log, "--model", "view", "--quiet"], ranks, library)
        lines = read(log).decode().splitlines()
        looks = [line for line in lines if line.startswith('{"event":"view"')]
        check('"status":"patience"' in lines[-1], f"the coordinator stops {ranks} ranks", result)
        check(len(looks) > 5, f"the coordinator looked {len(looks)} times", result)


def test_plan():
    """Experiments run on all ranks. More machines than are there have wider bands, and training follows the plan."""
    for library in LIBRARIES:
        plan = ["plan", "all.svm", "--target", "1e-3", "--json", "--quiet", "--presets"]
        result = run([*plan, "cocoa+,lbfgs"], 2, library)
        table = json.loads(result.stdout or "{}").get("table", [])
        check(table and all(row["machines"] == 2 and row["workers"] % 2 == 0 for row in table), "a plan of 2 ranks", result)
        with open("plan.json", "wb") as file:
            file.write(result.stdout)
        result = run(["train", "all.svm", "--plan", "plan.json", "--quiet", "--model", "planned"], 2, library)
        check(result.returncode == 0, "2 ranks follow their plan", result)
        result = run([*plan, "cocoa+", "--machines", "1-8"], 2, library)
        table = json.loads(result.stdout or "{}").get("table", [])
        check({row["machines"] for row in table} == set(range(1, 9)), "a plan for up to 8 machines", result)
        bands = [row["high"] / row["low"] for row in table if row["machines"] > 2]
        check(bands and min(bands) > 1.5, "more machines than are there have wider bands", result)
        result = run(["plan", "all.svm", "--machines", "1-8", "--network", "1Gbit"], 2, library)
        check(result.returncode == 2 and b"simulate machines, but 2 processes" in result.stderr, "sim on 2 ranks", result)


def test_changed_workers():
    """Rows go to other ranks when --adapt changes the workers, and one process replays the run, bit for bit."""

    def method(workers, rounds):
        costs = {"setup_seconds": 1e-4, "compute_seconds": 1e-4, "exchange_seconds": 1e-4}
        curve = [[1, 0.1, 0.5], [rounds, 1, 1e-12]]
        return {"preset": "cocoa", "workers": workers, "lanes": 1, "local_epochs": 1, "curve": curve, **costs}

    choice = {**method(6, 400), "machines": 2, "seconds": 1, "low": 1, "high": 1, "rounds": 400}
    with open("crowd.json", "w", encoding="ascii") as file:
        json.dump({"choice": {**choice, "alternatives": [method(6, 400), method(3, 20)]}}, file)
    words = ["train", "all.svm", "--plan", "crowd.json", "--adapt", "--evaluate-every", "1", "--gap", "1e-7", "--quiet"]
    for library in LIBRARIES:
        result = run([*words, "--log", "crowd.jsonl", "--model", "crowd"], 2, library)
        rounds = [line for line in map(json.loads, read("crowd.jsonl").splitlines()) if line["event"] == "round"]
        counts = [len(line["workers"]) for line in rounds]
        check(counts[0] == 6 and counts[-1] == 3, f"workers change on 2 ranks of {library}: {counts}", result)
        for ranks in (0, 3):
            result = run(["train", "all.svm", "--replay", "crowd.jsonl", "--quiet", "--model", "again"], ranks, library)
            same = result.returncode == 0 and read("crowd") == read("again")
            check(same, f"{ranks or 1} processes replay changed workers of {library}", result)


def test_row_order():
    """Sorted by content, the same rows in any order give the same model on any number of ranks. Some rows are equal."""
    lines = read("all.svm").splitlines(True)
    lines += lines[:40] + lines[5:9] * 3
    for name, order in (("order-0.svm", lines), ("order-1.svm", lines[::-1]), ("order-2.svm", lines[700:] + lines[:700])):
        with open(name, "wb") as file:
            file.write(b"".join(order))
    words = ["--row-order", "content", "--workers", "5", "--lanes", "1", "--quiet", "--model", "ordered.model"]
    models = set()
    for n in range(3):
        parley("train", f"order-{n}.svm", *words)
        models.add(read("ordered.model"))
        for library in LIBRARIES:
            for ranks in (2, 3):
                os.remove("ordered.model")
                result = run(["train", f"order-{n}.svm", *words], ranks, library)
                check(result.returncode == 0, f"rows by content on {ranks} ranks of {library}", result)
                models.add(read("ordered.model"))
    check(len(models) == 1, f"rows by content give {len(models)} models")
    parley("train", "order-0.svm", *words[2:])
    check(read("ordered.model") not in models, "the order of rows makes no difference at all")


def test_own_inputs():
    """Ranks that have rows of their own train on all of them, in the order of ranks. One of them has none."""
    words = ["--inputs", "own", "--workers", "4", "--lanes", "1", "--quiet", "--model"]
    with open("own-2", "wb"):
        pass
    for kind in ("svm", "parley"):
        for n, name in enumerate(f"part-{n}.{kind}" for n in range(4)):
            with open(f"own-{n + (n > 1)}", "wb") as file:
                file.write(read(name))
        parley("train", "all.svm", *words[2:], "whole.model")
        for library in LIBRARIES:
            rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
            start = STARTERS[library] + ["-n", "5", "sh", "-c", f'exec "$0" train own-{rank} "$@"', PARLEY]
            result = subprocess.run(start + words + ["own.model"], capture_output=True, timeout=120, check=False)
            good = result.returncode == 0 and read("own.model") == read("whole.model")
            check(good, f"own inputs of {kind} with {library}", result)
    for library in LIBRARIES:
        start = STARTERS[library] + ["-n", "2", PARLEY, "train", "people.csv", *words, "x"]
        result = subprocess.run(start, capture_output=True, timeout=120, check=False)
        good = result.returncode == 1 and b"--inputs own takes only columns that are numbered alike" in result.stderr
        check(good, f"own inputs with names and {library}", result)


def test_fingerprint():
    prints = set()
    for command, ranks in (("train", 0), ("train", 2), ("path", 3)):
        words = [command, "part-*.svm", "--quiet", "--workers", "4", "--model", "x", "--log", "log"]
        run(words + (["--lambdas", "2"] if command == "path" else []), ranks, LIBRARIES[0])
        prints.add(read("log").split(b'"fingerprint":"')[1].split(b'"')[0])
    check(len(prints) == 1, f"fingerprints {prints}")


def test_checkpoints():
    """One process resumes from a checkpoint of several and several from that of one, with the same result as without."""
    for n, penalty in enumerate((["--lambda", "0.01"], ["--lambda", "0.01", "--l1-ratio", "1"])):
        words = ["train", "part-*.svm", "--preset", "cocoa+", "--workers", "4", "--gap", "0", "--quiet"] + penalty
        parley(*words, "--rounds", "6", "--model", "one.model")
        for first, second in ((0, 3), (3, 0)):
            folder = f"state-{n}-{first}"
            before = run(words + ["--rounds", "3", "--checkpoint", folder, "--model", "x"], first, LIBRARIES[0])
            after = run(words + ["--rounds", "6", "--resume", folder, "--model", "many.model"], second, LIBRARIES[0])
            good = after.returncode in (0, 3) and read("one.model") == read("many.model")
            check(good, f"{penalty} from {first} to {second} ranks", before, after)


WATCH = """import os, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], close_fds=False)
rank = os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK"))
with open("peak-" + rank, "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
sys.exit(code)
"""


def peaks(words, ranks, library):
    """Peak memory of each rank in bytes."""
    start = STARTERS[library] + ["-n", str(ranks), sys.executable, "-c", WATCH, PARLEY]
    result = subprocess.run(start + words, capture_output=True, timeout=120, check=False)
    good = result.returncode in (0, 3)
    check(good, f"{words} on {ranks} ranks of {library}", result)
    return [int(read(f"peak-{r}")) if good else 0 for r in range(ranks)]


def test_memory():
    """For every input format and method, a rank holds at most twice its share of the data."""
    ranks, library = 2, LIBRARIES[0]
    words = ["--rows", "150000", "--columns", "30000", "--nonzeros", "100", "--quiet"]
    parley("generate", "text", "large.parley", *words)
    parley("convert", "large.parley", "large.svm", "--quiet")
    parley("generate", "dense", "large.csv", "--rows", "50000", "--columns", "300", "--quiet")
    share = os.path.getsize("large.parley") / ranks
    for way, names in ([], ("large.parley", "large.csv")), (["--l1-ratio", "1"], ("large.parley", "large.svm")):
        rest = ["--preset", "cocoa+", "--loss", "squared", "--rounds", "2", "--gap", "0", "--quiet", "--model", "x"] + way
        tiny = peaks(["train", "all.svm"] + rest, ranks, library)
        for name in names:
            times = [(b - a) / share for a, b in zip(tiny, peaks(["train", name] + rest, ranks, library))]
            check(all(0.5 < t < 2 for t in times), f"memory for {name} {way}: {times} times the share")


WRONG = [["bad.svm"], ["part-0.svm", "bad.svm"], ["missing.svm"], ["none-*"], ["all.svm", "all.csv"],
         ["bad.csv"], ["open.csv"], ["shop-1.csv", "few.csv"], ["shop-0.csv", "--label-column", "price"],
         ["all.svm", "--weights", "part-0.svm"], ["all.svm", "--loss", "poisson"]]


def test_sentences():
    """The message is that of one process, printed once."""
    for n, words in enumerate(WRONG):
        words = ["train"] + words + ["--quiet", "--model", "x"]
        library = LIBRARIES[n % len(LIBRARIES)]
        one, many = run(words), run(words, 3, library)
        said = [line for line in many.stderr.decode().splitlines() if line.startswith("parley: ")]
        check(said == one.stderr.decode().splitlines(), f"sentence of {words[1:-3]} with {library}", one, many)


def test_progress():
    """Only rank 0 prints progress."""
    for library in LIBRARIES:
        result = run(["train", "all.svm", "--workers", "4", "--model", "x"], 3, library)
        rounds = [line for line in result.stderr.decode().splitlines() if line.startswith("round 1 ")]
        check(result.returncode == 0 and len(rounds) == 1, f"progress with {library}", result)


def test_interrupted():
    """Ctrl-C ends a launched run with 130, also while a rank waits for data."""
    if "mpich" not in LIBRARIES:
        return
    os.mkfifo("pipe.svm")
    words = [PARLEY, "launch", "-n", "2", "--", "train", "pipe.svm", "--quiet", "--model", "x"]
    with subprocess.Popen(words) as launched:
        with open("pipe.svm", "wb"):  # returns when a rank has opened it
            launched.send_signal(signal.SIGINT)
            code = launched.wait(60)
    check(code == 130, f"a launched run that is interrupted while it reads ends with {code}")


PLANTED = r"""
#include <stdio.h>
__attribute__((constructor)) static void run(void) { fclose(fopen("PLANTED_RAN", "w")); }
"""


def test_planted():
    """No code of the current folder runs, also if the program is found through PATH."""
    os.makedirs("parley", exist_ok=True)
    with open("planted.c", "w") as file:
        file.write(PLANTED)
    for library in LIBRARIES:
        for place in (f"parley/parley-{library}.so", f"parley-{library}.so"):
            subprocess.run(["cc", "-shared", "-fPIC", "-o", place, "planted.c"], check=True)
        found = {**os.environ, "PATH": os.path.dirname(PARLEY) + os.pathsep + os.environ["PATH"]}
        words = STARTERS[library] + ["-n", "2", "parley", "train", "all.svm", "--quiet", "--model", "x"]
        result = subprocess.run(words, env=found, capture_output=True, timeout=120, check=False)
        ran = os.path.exists("PLANTED_RAN")
        check(result.returncode == 0 and not ran, f"planted modules with {library}: {ran}", result)


def main():
    if not LIBRARIES:
        print("0 passed: skipped, because there is no mpiexec.mpich and no mpiexec.openmpi")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_data()
        test_presets()
        test_around()
        test_topics()
        test_networks()
        test_coordinator()
        test_plan()
        test_changed_workers()
        test_row_order()
        test_own_inputs()
        test_fingerprint()
        test_checkpoints()
        test_sentences()
        test_progress()
        test_interrupted()
        test_planted()
        test_memory()
        os.chdir("/")
    missing = [name for name in STARTERS if name not in LIBRARIES]
    print(f"{passed} passed, {failed} failed" + (f"; {', '.join(missing)} skipped: not installed" if missing else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
