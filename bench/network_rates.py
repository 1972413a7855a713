#!/usr/bin/env python3
"""How the default rates of `parley network` were chosen: accuracy on rows of the training set that are held out.

    bench/network_rates.py PARLEY FOLDER [--seeds 2] [--threads 2]

FOLDER has MNIST's training images and labels as IDX, also .gz or .zst. The last 10,000 rows are held out, networks are
trained on the others for 10 passes with every rate of a grid, and the mean accuracy over models and seeds decides.
The test set is not read.
"""

import argparse
import json
import struct
import subprocess
import tempfile
from pathlib import Path

HELD = 10000
HIDDEN = ("0", "128", "128,64")
RATES = {
    "sgd": (0.1, 0.2, 0.4, 0.8),
    "momentum": (0.02, 0.05, 0.1, 0.2),
    "nesterov": (0.02, 0.05, 0.1, 0.2),
    "adam": (0.001, 0.002, 0.004, 0.008),
    "adagrad": (0.01, 0.02, 0.05, 0.1),
}


def content(folder, name):
    found = next(Path(folder).glob(f"{name}*"))
    tool = {".gz": "gzip", ".zst": "zstd"}.get(found.suffix)
    return subprocess.run([tool, "-dc", found], check=True, capture_output=True).stdout if tool else found.read_bytes()


def split(folder, work):
    """Writes the rows that are trained on and those that are held out; returns the paths of both images."""
    images, labels = (content(folder, f"train-{name}") for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    rows = struct.unpack(">I", labels[4:8])[0]
    paths = []
    for name, begin, end in (("fit", 0, rows - HELD), ("held", rows - HELD, rows)):
        paths.append(Path(work) / f"{name}-images-idx3-ubyte")
        head = struct.pack(">4I", 0x803, end - begin, 28, 28)
        paths[-1].write_bytes(head + images[16 + 784 * begin : 16 + 784 * end])
        text = struct.pack(">2I", 0x801, end - begin) + labels[8 + begin : 8 + end]
        (Path(work) / f"{name}-labels-idx1-ubyte").write_bytes(text)
    return paths


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("parley")
    reader.add_argument("folder")
    reader.add_argument("--seeds", type=int, default=2)
    reader.add_argument("--threads", type=int, default=2)
    given = reader.parse_args()
    print(f"| optimiser | rate | {' | '.join(HIDDEN)} | mean |\n|---|---|{'---|' * len(HIDDEN)}---|")
    with tempfile.TemporaryDirectory() as work:
        fit, held = split(given.folder, work)
        model = Path(work) / "model.safetensors"

        def accuracy(*words):
            words = [given.parley, "network", fit, *words, "--threads", str(given.threads), "--quiet", "--model", model]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([given.parley, "eval", model, held, "--json"], check=True, stdout=subprocess.PIPE)
            return 100 * json.loads(done.stdout)["accuracy"]

        for optimiser, rates in RATES.items():
            for rate in rates:
                words = ["--optimiser", optimiser, "--rate", str(rate)]
                seeds = [["--seed", str(seed)] for seed in range(1, given.seeds + 1)]
                means = [
                    sum(accuracy("--hidden", hidden, *words, *seed) for seed in seeds) / given.seeds
                    for hidden in HIDDEN
                ]
                cells = " | ".join(f"{mean:.2f}" for mean in means)
                print(f"| {optimiser} | {rate:g} | {cells} | {sum(means) / len(means):.2f} |", flush=True)


if __name__ == "__main__":
    main()
