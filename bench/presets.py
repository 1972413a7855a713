"""How near presets of parameter servers and peers come to the optimum, with their own rates and decaying ones."""

import json
import signal
import subprocess
import time

from harness import markdown

PRESETS = ("petuum", "petuum*", "angel", "ps-sync", "ps-async", "ps-backup", "hogwild-peer")
RATES = {"its own": ([], 1e-2), "decaying": (["--schedule", "inverse-sqrt"], 1e-3)}
SECONDS = 60  # at most, by run


def command(bench, path, *words):
    words = [bench.parley, "train", path, "--loss", "logistic", "--threads", 2, *words]
    return [str(word) for word in [*words, "--quiet", "--json", "--model", bench.folder / "presets.safetensors"]]


def evaluations(log):
    """The rounds of a log in which the objective was evaluated; its last line may still be incomplete."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [row for row in map(json.loads, lines) if row["event"] == "round" and row["evaluated"]]


def reach(bench, path, best, preset, flags, target):
    """The round in which the objective is within `target` of the best, relative to it, or None; and the least."""
    log = bench.folder / "presets.jsonl"
    log.unlink(missing_ok=True)
    stop = ["--gap", 0, "--seconds", SECONDS, "--rounds", 1000000, "--evaluate-every", 10, "--log", log]
    words = command(bench, path, "--preset", preset, "--workers", 4, *flags, *stop)
    found, seen = [], []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not found:
            time.sleep(0.2)
            seen = evaluations(log)
            found = [row for row in seen if row["objective"] <= best * (1 + target)]
        if found:
            process.send_signal(signal.SIGINT)
        process.wait(2 * SECONDS)
    seen = evaluations(log)
    found = [row for row in seen if row["objective"] <= best * (1 + target)]
    return found[0] if found else None, min(row["objective"] for row in seen) / best - 1


def table_presets(bench):
    """Presets of parameter servers and peers: how near they come to the optimum"""
    rows = []
    for name in ("a9a", "imdb"):
        path = bench.data(name).path
        done = subprocess.run(command(bench, path, "--gap", 1e-9), check=True, capture_output=True, text=True)
        best = json.loads(done.stdout)["objective"]
        for preset in PRESETS:
            for kind, (flags, target) in RATES.items():
                found, least = reach(bench, path, best, preset, flags, target)
                cells = (
                    [found["round"], f"{found['epochs']:.0f}", f"{found['seconds']:.2f}"]
                    if found
                    else ["never", "", ""]
                )
                rows.append([name, preset, kind, f"{target:g}", *cells, f"{least:.1e}"])
                bench.aim(f"{name}, {preset}, {kind} rate: above the optimum", least, target, at_least=False)
    text = "Logistic loss, lambda 1/n, 4 workers on two threads, until the target is reached, "
    text += f"at most {SECONDS} seconds each; above the optimum is relative to it.\n\n"
    return text + markdown(
        ["data", "preset", "rate", "target", "rounds to it", "passes", "seconds", "least above the optimum"], rows
    )
