"""One streaming pass of Parley and of Vowpal Wabbit."""

import json
import statistics
import sys
from pathlib import Path

from harness import markdown, ratio, spread
from peers import clocked

VW_PEER = Path(__file__).with_name("vw_peer.py")
BITS = 18


def vw_text(bench, name):
    """Writes the data as Vowpal Wabbit's text."""
    path = bench.folder / f"{name}.vw"
    if not path.exists():
        clocked([bench.parley, "convert", bench.data(name).path, path, "--quiet"])
    return path


def run_vw(path, loss="logistic"):
    _, text = clocked([sys.executable, VW_PEER, path, BITS, loss])
    return json.loads(text)


def run_parley(bench, path, loss="logistic"):
    command = [bench.parley, "train", path, "--preset", "online", "--loss", loss, "--hash-bits", BITS]
    total, text = clocked([*command, "--threads", 2, "--json", "--quiet", "--model", bench.folder / "online.safetensors"])
    return {"seconds": total, "loss": json.loads(text)["progressive_loss"]}


def table_online(bench):
    """One streaming pass"""
    rows = []
    for name in ("imdb", "a9a"):
        path = vw_text(bench, name)
        found = bench.repeat({"Parley": lambda: run_parley(bench, path), "Vowpal Wabbit": lambda: run_vw(path)}, warm=True)
        times = {system: [run["seconds"] for run in runs] for system, runs in found.items()}
        losses = {system: runs[-1]["loss"] for system, runs in found.items()}
        for system in found:
            row = [bench.data(name).title, system, f"{losses[system]:.4f}", spread(times[system])]
            rows.append([*row, ratio(times[system], times["Parley"])])
        off = abs(losses["Parley"] / losses["Vowpal Wabbit"] - 1)
        bench.aim(f"{name}, progressive loss, relative to Vowpal Wabbit's", off, 0.01, at_least=False)
        if name == "imdb":
            gain = statistics.median(times["Vowpal Wabbit"]) / statistics.median(times["Parley"])
            bench.aim(f"{name}, one pass, against Vowpal Wabbit", gain, 2)
    for name in ("cadata", "sgemm"):  # for regression, Vowpal Wabbit reports (z - y)^2 and Parley half of it
        path = vw_text(bench, name)
        off = abs(2 * run_parley(bench, path, "squared")["loss"] / run_vw(path, "squared")["loss"] - 1)
        bench.aim(f"{name}, progressive squared loss, relative to Vowpal Wabbit's", off, 0.01, at_least=False)
    text = (
        f"`parley train --preset online` on Vowpal Wabbit's text, logistic loss, {BITS} bits, its defaults. Wall time of Parley's "
        "process, and of Vowpal Wabbit's learner inside Python without its start. Each is timed right after an uncounted warm-up "
        "run.\n\n"
    )
    return text + markdown(["data", "system", "progressive loss", "ms, median (range)", "against Parley"], rows)
