#!/usr/bin/env python3
"""Networks against scikit-learn's MLPClassifier and TensorFlow, and Table 3 and Figure 12 of Zhang, Alqahtani and Demirbas (2017).

    bench/networks.py PARLEY [--data FOLDER] [--threads 2] [--repeat 3] [--only peers|products|paper]

FOLDER has MNIST as IDX (train-images-idx3-ubyte and train-labels-idx1-ubyte, also .gz or .zst); without it, images of
the same shape and density are generated. Systems alternate; the best of the repeats counts. A peer that is not
installed is left out. Rates are images per second, and per second of processor time, which other processes of the
machine do not change. `make bench` runs this program as its table `networks`.
"""

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from data import SHARED

MODELS = {"softmax": (), "one hidden layer": (128,), "two hidden layers": (128, 64)}
BATCHES = (100, 500)
WIDE = (1024, 1024)
PAPER = {  # Table 3: Spark, TensorFlow synchronous and asynchronous, MXNet likewise
    "softmax": (424600, 113787, 149759, 221853, 259076),
    "one hidden layer": (24303, 23485, 27099, 24383, 25644),
    "two hidden layers": (9133, 15283, 22206, 16122, 18511),
}


def images(folder, work):
    """Paths of images as IDX and their arrays."""
    if folder:
        plain = Path(work) / "train-images-idx3-ubyte"
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
            found = next(path for path in Path(folder).glob(f"{name}*"))
            tool = {".gz": "gzip", ".zst": "zstd"}.get(found.suffix)
            content = subprocess.run([tool, "-dc", found], check=True, capture_output=True).stdout if tool else None
            (Path(work) / name).write_bytes(content if tool else found.read_bytes())
    else:
        plain = generate(Path(work))
    X = np.frombuffer(plain.read_bytes(), np.uint8, offset=16).reshape(-1, 784)
    labels = (plain.parent / "train-labels-idx1-ubyte").read_bytes()
    return plain, X.astype(np.float32) / 255, np.frombuffer(labels, np.uint8, offset=8).astype(np.int32)


def generate(work, rows=60000):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, rows).astype(np.uint8)
    centres = rng.random((10, 784)) < 0.19
    X = (centres[y] & (rng.random((rows, 784)) < 0.9)) * rng.integers(1, 256, (rows, 784))
    path = work / "train-images-idx3-ubyte"
    path.write_bytes(struct.pack(">4I", 0x803, rows, 28, 28) + X.astype(np.uint8).tobytes())
    (work / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, rows) + y.tobytes())
    return path


def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def run(binary, path, hidden, batch, threads, epochs, *words):
    """The summary of a run, and its processor time."""
    began = cpu(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        [binary, "network", path, "--hidden", ",".join(map(str, hidden)) or "0", "--batch", str(batch), "--epochs",
         str(epochs), "--threads", str(threads), "--quiet", "--json", "--model", os.devnull, *words],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if out.returncode not in (0, 3):
        sys.exit(out.stderr)
    return json.loads(out.stdout), cpu(resource.RUSAGE_CHILDREN) - began


def parley(binary, path, hidden, batch, threads, *words, epochs=2):
    """Images per second, and per second of processor time: that of the passes after the first, without reading."""
    _, first = run(binary, path, hidden, batch, threads, 1, *words)
    summary, used = run(binary, path, hidden, batch, threads, 1 + epochs, *words)
    return summary["rows_per_second"], summary["rows"] * epochs / max(used - first, 1e-9)


def scikit_learn(X, y, hidden, batch):
    from sklearn.neural_network import MLPClassifier

    if not hidden:
        return None  # it needs a hidden layer
    model = MLPClassifier(hidden, batch_size=batch, random_state=0)
    model.partial_fit(X[:batch], y[:batch], classes=range(10))
    wall, used = time.perf_counter(), cpu(resource.RUSAGE_SELF)
    model.partial_fit(X, y)
    return len(X) / (time.perf_counter() - wall), len(X) / (cpu(resource.RUSAGE_SELF) - used)


def tensorflow(X, y, hidden, batch, threads):
    """A compiled step of Adam on batches that are gathered by NumPy."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        pass  # it has run before, with the same threads
    layers = [tf.keras.layers.Dense(units, "relu") for units in hidden] + [tf.keras.layers.Dense(10)]
    net = tf.keras.Sequential([tf.keras.Input((784,)), *layers])
    adam = tf.keras.optimizers.Adam()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(rows, labels):
        with tf.GradientTape() as tape:
            value = loss(labels, net(rows, training=True))
        adam.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))

    def one_pass(seed):
        order = np.random.default_rng(seed).permutation(len(X))
        for begin in range(0, len(X) - batch + 1, batch):
            rows = order[begin : begin + batch]
            step(tf.constant(X[rows]), tf.constant(y[rows]))

    one_pass(0)
    wall, used = time.perf_counter(), cpu(resource.RUSAGE_SELF)
    one_pass(1)
    return len(X) / (time.perf_counter() - wall), len(X) / (cpu(resource.RUSAGE_SELF) - used)


def best(runs):
    runs = [run for run in runs if run]
    return tuple(max(values) for values in zip(*runs)) if runs else None


def cell(run, parley_run=None):
    if not run:
        return "-"
    ratio = "" if parley_run is None else f" (Parley {parley_run[0] / run[0]:.1f}x, {parley_run[1] / run[1]:.1f}x)"
    return f"{run[0]:,.0f}; {run[1]:,.0f}{ratio}"


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except ImportError:
        return None


def peers(binary, path, X, y, threads, repeat, aims):
    print(f"\n### Speed, {threads} threads, Adam: images per second; per second of processor time\n")
    print("| model | batch | Parley | scikit-learn | TensorFlow |\n|---|---|---|---|---|")
    for name, hidden in MODELS.items():
        for batch in BATCHES:
            runs = [
                (parley(binary, path, hidden, batch, threads), attempt(scikit_learn, X, y, hidden, batch),
                 attempt(tensorflow, X, y, hidden, batch, threads))
                for _ in range(repeat)
            ]  # fmt: skip
            ours, *others = (best(column) for column in zip(*runs))
            for peer, least, run in zip(("scikit-learn", "TensorFlow"), (3.0, 1.2), others):
                if run:
                    aims.append((f"networks: {name}, batch {batch}: {peer}", ours[0] / run[0], least))
            print(
                f"| {name} | {batch} | {cell(ours)} | {' | '.join(cell(other, ours) for other in others)} |", flush=True
            )


def products(binary, path, threads, repeat, aims):
    """The share of the machine's rate of matrix products that a wide network reaches."""
    sizes = [784, *WIDE, 10]
    products = [a * b for a, b in zip(sizes, sizes[1:])]
    flops = 6 * sum(products) - 2 * products[0]  # the inputs have no derivative
    a, b = (np.ones((500, 1024), np.float32), np.ones((1024, 1024), np.float32))
    rates = []
    for _ in range(50):
        wall, used = time.perf_counter(), cpu(resource.RUSAGE_SELF)
        for _ in range(20):
            a @ b
        rates.append(
            (
                40.0 * 500 * 1024**2 / (time.perf_counter() - wall),
                40.0 * 500 * 1024**2 / (cpu(resource.RUSAGE_SELF) - used),
            )
        )
    machine = tuple(max(values) for values in zip(*rates))
    ours = best([parley(binary, path, WIDE, 500, threads, epochs=1) for _ in range(repeat)])
    shares = [rate * flops / peak for rate, peak in zip(ours, machine)]
    aims.append(("networks: share of NumPy's matrix products, 784-1024-1024-10", shares[0], 0.6))
    clock = f"{shares[0]:.0%} of NumPy's matrix products by the clock ({machine[0] / 1e9:.0f} GFLOP/s)"
    processor = f"{shares[1]:.0%} by processor time ({machine[1] / 1e9:.0f} GFLOP/s)"
    print(f"\n784-1024-1024-10 at batch 500: {clock}, {processor}")


def usage(log):
    """Processors, memory and network of a run, from what its log has about once a second."""
    used, most, sent, seconds = {}, 0, 0, 1e-9
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["event"] != "round":
            continue
        seconds = row["seconds"]
        sent += sum(worker["bytes_sent"] for worker in row["workers"])
        for rank in row["ranks"]:
            used[rank["rank"]] = rank.get("cpu_seconds") or used.get(rank["rank"], 0.0)
            most = max(most, rank.get("resident_bytes") or 0)
    cores = f"{sum(used.values()) / seconds:.1f} cores, {most / 1e6:.0f} MB, " if most else ""
    return f"{cores}{sent / seconds / 1e6:.0f} MB/s sent"


def paper(binary, path, work):
    print(
        "\n### Table 3 of Zhang, Alqahtani and Demirbas (2017): three workers and one server, batch 500, images per second\n"
    )
    print("| model | engine | mllib-sgd | ps-sync | ps-async | paper: Spark, TF sync, async, MXNet sync, async |")
    print("|---|---|---|---|---|---|")
    log = str(Path(work) / "log.jsonl")
    for name, hidden in MODELS.items():
        for engine in (["--engine", "threads"], ["--engine", "sim", "--hosts", "4", "--network", "1Gbit"]):
            cells = []
            for preset in ("mllib-sgd", "ps-sync", "ps-async"):
                batch = "all" if preset == "mllib-sgd" else 500
                workers = ["--workers", "3", "--lanes", "1", *engine, "--log", log]
                rate = run(binary, path, hidden, batch, 3, 2, "--preset", preset, *workers)[0]["rows_per_second"]
                cells.append(f"{rate:,.0f} ({usage(log)})")
            figures = ", ".join(f"{rate:,}" for rate in PAPER[name])
            print(f"| {name} | {engine[1]} | {' | '.join(cells)} | {figures} |", flush=True)
    print("\n### Figure 12: one hidden layer, ps-sync, by workers, on simulated hosts of 1 Gbit/s\n")
    print("| workers | images per second |\n|---|---|")
    for workers in (1, 3, 5):
        words = ["--preset", "ps-sync", "--workers", str(workers), "--lanes", "1", "--engine", "sim"]
        summary, _ = run(binary, path, (128,), 500, 2, 2, *words, "--hosts", str(workers + 1))
        print(f"| {workers} | {summary['rows_per_second']:,.0f} |", flush=True)


def table_networks(bench):
    """Networks"""
    folder, aims = SHARED / "mnist", bench.folder / "network_aims.json"
    words = ["--data", folder] if folder.is_dir() else []
    words += ["--repeat", str(min(bench.repetitions, 3)), "--aims", aims]
    out = subprocess.run(
        [sys.executable, __file__, bench.parley, *words], check=True, stdout=subprocess.PIPE, text=True
    )
    for text, found, wanted in json.loads(aims.read_text()):
        bench.aim(text, found, wanted)
    return out.stdout.lstrip()


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("parley")
    reader.add_argument("--data")
    reader.add_argument("--threads", type=int, default=2)
    reader.add_argument("--repeat", type=int, default=3)
    reader.add_argument("--only", choices=("peers", "products", "paper"))
    reader.add_argument("--aims", help="a file for the ratios that Parley is built to reach, as JSON")
    given = reader.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(given.threads))
    aims = []
    with tempfile.TemporaryDirectory() as work:
        path, X, y = images(given.data, work)
        if given.only in (None, "peers"):
            peers(given.parley, path, X, y, given.threads, given.repeat, aims)
        if given.only in (None, "products"):
            products(given.parley, path, given.threads, given.repeat, aims)
        if given.only in (None, "paper"):
            paper(given.parley, path, work)
    if given.aims:
        Path(given.aims).write_text(json.dumps(aims))


if __name__ == "__main__":
    main()
