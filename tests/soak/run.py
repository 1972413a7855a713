#!/usr/bin/env python3
"""run.py [SECONDS [SEED]]: searches for rare failures for SECONDS (600), with seeds SEED (1), SEED + 1, ...

Runs the steps below in turn, each with its share of the time and a new seed in every turn. What a step printed and, if it
failed, its command and seed are kept in build/soak, together with the inputs that the steps themselves keep in
build/soak/found. Steps print counts as JSON objects, one per line; their sums are printed at the end and are in
build/soak/summary.json. Ends with 1 if a step failed."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "soak"
PARLEY = "build/parley"
SHORTEST = 10  # seconds of a step

# Name, the script that it needs, its share of the time, and its command. {seconds} and {seed} are filled in.
STEPS = [
    ("crashes", "tests/fault/crash_loop.py", 3, ["python3", "{script}", PARLEY, "--kills", "1000000"]
     + ["--seconds", "{seconds}", "--seed", "{seed}"]),
    ("faults", "tests/fault/run.py", 2, ["python3", "{script}", PARLEY, "{trials}", "{seed}"]),
    ("calls", "tests/fault/nth_call.py", 2, ["python3", "{script}", PARLEY, "all", "{seconds}", "--seed", "{seed}"]),
    ("allocations", "tests/fault/allocations.py", 2, ["python3", "{script}", "build/parley-failing", "{seconds}"]),
    ("launches", "tests/mpi/test_launch.py", 1, ["python3", "{script}", PARLEY, "all"]),
    ("tables", "tests/soak/tables.py", 1, ["python3", "{script}", PARLEY, "--seconds", "{seconds}"]),
    ("fits", "tests/soak/many_fits.py", 1, ["python3", "{script}", "build/libparley.so", "--fits", "1000000"]
     + ["--seconds", "{seconds}", "--seed", "{seed}"]),
    ("fuzz", "tests/fuzz/run.sh", 3, ["{script}", "--seed", "{seed}"]),
]  # fmt: skip
NOT_SUMMED = ("seconds", "presets")
TRIAL_SECONDS = 4  # of a trial of the step "faults"
FUZZERS = len(list((ROOT / "tests" / "fuzz").glob("fuzz_*.c")))


def counts_of(name, output):
    """The sums of the JSON objects, or what the last line says."""
    sums = {}
    for line in output.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        for key, value in found.items() if isinstance(found, dict) else ():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in NOT_SUMMED:
                sums[key] = sums.get(key, 0) + value
    if sums:
        return sums
    if name == "fuzz":
        return {"executions": sum(int(count) for count in re.findall(r"(\d+) inputs in", output))}
    found = re.search(r"(\d+) passed, (\d+) failed", output)
    return {"passed": int(found.group(1)), "failed": int(found.group(2))} if found else {}


def run_step(name, script, command, seconds, seed):
    """Returns the exit code and what the step counted."""
    words = {"script": script, "seconds": f"{seconds:.0f}", "seed": seed, "trials": max(4, int(seconds / TRIAL_SECONDS))}
    command = [word.format(**words) for word in command]
    log = FOLDER / f"{name}-{seed}.log"
    settings = {"SECONDS": f"{max(1, seconds / FUZZERS):.0f}"} if name == "fuzz" else {}
    with open(log, "w+", encoding="utf-8", errors="replace") as out:
        try:
            code = subprocess.run(
                ["env", *(f"{key}={value}" for key, value in settings.items()), *command],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=4 * seconds + 600,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = 124
        out.seek(0)
        counts = counts_of(name, out.read())
    if code:
        (FOLDER / f"{name}-{seed}.failed").write_text(f"seed {seed}, exit code {code}\n{' '.join(map(str, command))}\n")
    else:
        log.unlink()
    return code, counts


def main():
    total = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    steps = [step for step in STEPS if (ROOT / step[1]).exists()]
    shares = sum(step[2] for step in steps)
    turn = max(min(total, 600.0), SHORTEST * shares)
    summary = {name: {"turns": 0, "failed turns": 0} for name, _, _, _ in steps}
    first, began, failed = seed, time.monotonic(), 0
    while time.monotonic() - began < total:
        for name, script, share, command in steps:
            if time.monotonic() - began >= total:
                break
            code, counts = run_step(name, script, command, turn * share / shares, seed)
            failed += code != 0
            own = summary[name]
            own["turns"] += 1
            own["failed turns"] += code != 0
            for key, value in counts.items():
                own[key] = own.get(key, 0) + value
            print(f"{'FAIL' if code else 'ok  '}  {name:<8} seed {seed}: {json.dumps(counts)}", flush=True)
        seed += 1
    facts = {"seconds": round(time.monotonic() - began, 1), "first seed": first, "next seed": seed, "steps": summary}
    (FOLDER / "summary.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts))
    if failed:
        print(f"{failed} steps failed; their output is in {FOLDER.relative_to(ROOT)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
