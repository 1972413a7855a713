#!/usr/bin/env python3
"""Topic models on eight workers, after tables 2, 3 and 5 and figure 6 of Guo et al., "Model averaging in distributed
machine learning", in small: completion by preset, batch, rounds and seconds, on threads and on four hosts, which are
network namespaces.

    bench/topics_paper.py PARLEY [--quick] [TRAIN.docword TEST.docword ...] > FILE.md

Runs on a corpus of ten million tokens that it generates, and on the corpora given. Hosts need root, ip and tc. It takes
about ten minutes on two cores, and two with --quick. docs/topics.md says what the tables show.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
from simulator import Namespaces  # noqa: E402

WORKERS, STEPS, HOSTS, RATE = 8, 8, 4, "1gbit"
SUMMED, AVERAGED = ("mllib-lda", "angel-svi"), ("mllib-ma-lda", "ma-lda")
SPARK = ("--tau0", "1024", "--kappa", "0.51")  # the rates of Spark's MLlib


def write_cache(path, rows, words, entries):
    """A cache of (row, word) pairs that are sorted, with their counts."""
    pairs, counts = np.unique(entries, return_counts=True)
    start = np.searchsorted(pairs, np.arange(rows + 1, dtype=np.int64) * words).astype(np.uint64)
    arrays = {
        "start": ("U64", start),
        "label": ("F64", np.zeros(rows)),
        "index": ("U32", (pairs % words).astype(np.uint32)),
        "value": ("F32", counts.astype(np.float32)),
    }
    facts = {"format": "parley-data-1", "rows": str(rows), "columns": str(words), "nonzeros": str(len(pairs))}
    head, at = {"__metadata__": facts}, 0
    for name, (kind, array) in arrays.items():
        head[name] = {"dtype": kind, "shape": [len(array)], "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in arrays.values():
            array.tofile(file)


def generate(folder, tokens, words=20000, topics=100, each=200):
    """Documents of `each` tokens drawn from the model, and a tenth as many more to score."""
    rng = np.random.default_rng(1)
    documents = tokens // each
    frequency = 1.0 / np.arange(10, words + 10)
    shape = 200 * frequency / frequency.sum()  # so that a topic has some hundred words, and frequent ones are in many
    beta = np.cumsum(rng.gamma(shape, size=(topics, words)), 1)
    beta /= beta[:, -1:]
    paths = []
    for name, count in (("train", documents), ("test", documents // 10)):
        theta = np.cumsum(rng.dirichlet(np.full(topics, 0.05), count), 1)
        topic = np.stack([np.searchsorted(row, draws) for row, draws in zip(theta, rng.random((count, each)))])
        topic = np.minimum(topic, topics - 1).ravel()
        word = np.empty(count * each, np.int64)
        for k in range(topics):
            here = np.flatnonzero(topic == k)
            word[here] = np.searchsorted(beta[k], rng.random(len(here)))
        path = Path(folder) / f"generated.{name}.parley"
        write_cache(
            path, count, words, np.repeat(np.arange(count, dtype=np.int64), each) * words + np.minimum(word, words - 1)
        )
        paths.append(path)
    return paths


class Runner:
    def __init__(self, parley, folder, topics):
        self.parley, self.folder, self.topics, self.network = str(Path(parley).resolve()), Path(folder), topics, None

    def run(self, corpus, preset, *options, passes=None, seconds=None, log=False):
        """Summary of a run, its completion on the test documents, and with `log` its (round, seconds, completion)."""
        model, trace = self.folder / "model.safetensors", self.folder / "log.jsonl"
        words = ["topics", corpus[0], "--topics", self.topics, "--preset", preset, "--workers", WORKERS, "--lanes", 1]
        words += ["--threads", 1 if self.network else os.cpu_count(), "--quiet", "--json", "--model", model]
        words += ["--passes", passes] * (passes is not None) + ["--seconds", seconds] * (seconds is not None)
        words += ["--log", trace, "--validation", corpus[1]] * log + list(options)
        if self.network:
            out = self.network.run(self.parley, *words, "--between-ranks", "messages")
        else:
            out = subprocess.run([self.parley, *map(str, words)], check=True, capture_output=True, text=True).stdout
        summary = json.loads(out)
        score = subprocess.check_output([self.parley, "eval", str(model), str(corpus[1]), "--json"])
        points, spent = [], 0.0
        for line in map(json.loads, trace.read_text().splitlines() if log else []):
            if line["event"] == "round":
                spent += sum(line["workers"][0][part] for part in ("compute", "exchange", "wait"))
                if line.get("validation") is not None:
                    points.append((line["round"], spent, line["validation"]))
        return summary, json.loads(score)["completion"], points


def line(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(head, rows):
    """Prints each row as soon as it is known."""
    line(head)
    line(["---"] * len(head))
    for row in rows:
        line(row)
    print(flush=True)


def options_of(preset, documents):
    """A round on so many documents: one common step, or STEPS steps of each worker before the models are averaged."""
    if preset in SUMMED:
        return ["--batch", documents]
    return ["--batch", max(1, documents // (WORKERS * STEPS)), "--local-steps", STEPS]


def table2(runner, corpora, sizes, passes):
    print(
        f"## Table 2: completion after {passes} passes by documents per round, {WORKERS} workers, variational updates\n"
    )
    table(["corpus", "preset", "rates", *sizes], rows2(runner, corpora, sizes, passes))


def rows2(runner, corpora, sizes, passes):
    for name, corpus in corpora.items():
        for preset in ("mllib-lda", "ma-lda"):
            for rates, options in (("tau0 10, kappa 0.7", ()), ("tau0 1024, kappa 0.51", SPARK)):
                given = ("--inference", "variational", *options)
                found = [runner.run(corpus, preset, *given, *options_of(preset, n), passes=passes)[1] for n in sizes]
                yield [name, preset, rates, *(f"{score:.0f}" for score in found)]


def table3(runner, corpora, sampled, averaged):
    print(f"## Table 3: sampling ({sampled} passes) and averaging ({averaged} passes)\n")
    table(["corpus", "preset", "options", "passes", "completion", "seconds"], rows3(runner, corpora, sampled, averaged))


def rows3(runner, corpora, sampled, averaged):
    for name, corpus in corpora.items():
        for preset, passes, options in (
            ("angel-lda", sampled, ()),
            ("angel-lda", sampled, ("--staleness", "3", "--local-epochs", "0.25")),
            ("ma-lda", averaged, ("--inference", "variational")),
            ("ma-lda", averaged, ()),
        ):
            summary, score, _ = runner.run(corpus, preset, *options, passes=passes)
            seconds = sum(summary["seconds"][part] for part in ("compute", "exchange", "wait"))
            told = " ".join(options) or ("collapsed" if preset == "ma-lda" else "")
            yield [name, preset, told, passes, f"{score:.0f}", f"{seconds:.1f}"]


def paper_rounds(preset):
    """Documents per round as in the paper, in small: averaging takes eight times as many."""
    return ["--inference", "variational", *SPARK, *options_of(preset, 1024 if preset in SUMMED else 8192)]


def table5(runner, corpora, seconds, where):
    print(f"## Table 5: {seconds} seconds each, {where}, variational updates with Spark's rates\n")
    table(["corpus", "preset", "rounds", "documents", "completion"], rows5(runner, corpora, seconds))


def rows5(runner, corpora, seconds):
    for name, corpus in corpora.items():
        for preset in (*SUMMED, *AVERAGED):
            summary, score, _ = runner.run(corpus, preset, *paper_rounds(preset), seconds=seconds)
            documents = summary["epochs"] * summary["documents"]
            yield [name, preset, summary["rounds"], f"{documents:.0f}", f"{score:.0f}"]


def figure6(runner, corpora, passes, where):
    print(f"## Figure 6: completion against rounds and seconds, {where}, variational updates with Spark's rates\n")
    table(["corpus", "preset", "round: seconds, completion"], rows6(runner, corpora, passes))


def rows6(runner, corpora, passes):
    for name, corpus in corpora.items():
        for preset in (*SUMMED, *AVERAGED):
            points = runner.run(corpus, preset, *paper_rounds(preset), passes=passes, log=True)[2]
            shown = "; ".join(f"{number}: {spent:.1f} s, {score:.0f}" for number, spent, score in points)
            yield [name, preset, shown]


def on_hosts(runner, corpora, folder, tables, seconds, passes):
    try:
        runner.network = Namespaces(HOSTS, RATE, folder)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(f"Hosts were not run: network namespaces are not permitted here ({error}).")
        return
    try:
        if "5" in tables:
            table5(runner, corpora, seconds, f"{HOSTS} hosts with links of {RATE}")
        if "6" in tables:
            figure6(runner, corpora, passes, f"{HOSTS} hosts with links of {RATE}")
    finally:
        runner.network.remove()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parley")
    arguments.add_argument("files", nargs="*")
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--tables", default="2356", help="which of 2, 3, 5 and 6")
    given = arguments.parse_intermixed_args()
    quick, tables = given.quick, given.tables
    with tempfile.TemporaryDirectory() as folder:
        corpora = {Path(train).stem: (train, test) for train, test in zip(given.files[::2], given.files[1::2])}
        corpora["generated"] = generate(folder, 300_000 if quick else 10_000_000)
        runner = Runner(given.parley, folder, 20)
        seconds, passes = (1, 2) if quick else (5, 4)
        if "2" in tables:
            table2(runner, corpora, (512, 4096) if quick else (256, 1024, 4096, 16384), 2 if quick else 5)
        if "3" in tables:
            table3(runner, corpora, 20 if quick else 100, 5 if quick else 10)
        if "5" in tables:
            table5(runner, corpora, seconds, "threads of one process")
        if "6" in tables:
            figure6(runner, corpora, passes, "threads of one process")
        on_hosts(runner, corpora, folder, tables, seconds, passes)


if __name__ == "__main__":
    sys.exit(main())
