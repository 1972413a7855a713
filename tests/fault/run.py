#!/usr/bin/env python3
"""run.py PARLEY [TRIALS [SEED]]: repeatedly kills or stops a rank at a random moment, with every launcher available.

Each time there must be one sentence that names a rank, at most five seconds after the deadline; exit code 4; no process
left over; and either no model file or the right one. A run that ended before the signal must have succeeded. Every other
run writes checkpoints and is resumed after the signal on another number of ranks, which must give the right model."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from starters import INSTALLED, MPI

DEADLINE = 3
RANKS = 3
STUCK = "the starter"
LATEST = 2.0  # seconds after the start, at most, when the signal is sent


def starters(parley):
    """Name, command, and whether a guard may get the signal too: MPI launchers end all processes if one does."""
    found = [("launch", [parley, "launch", "-n", str(RANKS), "--"], True)]
    return found + [(name, [*MPI[name], "-n", str(RANKS), parley], False) for name in INSTALLED]


def processes():
    """Parent and name of every process."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path("/proc", entry, "stat").read_text()
            except OSError:
                continue
            name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
            found[int(entry)] = (int(rest.split()[1]), name, rest.split()[0])
    return found


def below(root, everyone):
    """All descendants of the process `root`."""
    family = {root}
    grown = True
    while grown:
        grown = False
        for pid, (parent, _, _) in everyone.items():
            if parent in family and pid not in family:
                family.add(pid)
                grown = True
    return family - {root}


def targets(root, guards_too):
    """Only processes with a guard are ranks. MPI's launcher prints its own message for a process without a guard."""
    everyone = processes()
    family = [pid for pid in below(root, everyone) if everyone[pid][1] in ("parley", "parley-guard")]
    guards = [pid for pid in family if everyone[pid][1] == "parley-guard"]
    return family if guards_too else [pid for pid in family if everyone[pid][0] in guards]


def left_over(marker):
    """Processes with the folder of the trial in their command line."""
    found = []
    for pid, (_, _, state) in processes().items():
        try:
            words = Path("/proc", str(pid), "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in words and state != "Z" and pid != os.getpid():
            found.append(pid)
    return found


def wait_gone(marker, seconds):
    end = time.monotonic() + seconds
    while left_over(marker) and time.monotonic() < end:
        time.sleep(0.05)
    return not left_over(marker)


# By turns, all ranks have workers, and the last one only serves.
METHODS = (
    (["--preset", "cocoa", "--gap", "1e-15", "--rounds", "4000"], (1, 2, 4)),
    (["--preset", "ps-sync", "--clocks", "5", "--servers", "1", "--gap", "1e-15", "--rounds", "1000"], (2, 3)),
)


class Trial:
    def __init__(self, parley, folder, method, ranks):
        self.parley, self.folder, self.ranks = parley, folder, ranks
        self.data = folder / "data.svm"
        self.model = folder / "model.safetensors"
        self.train = ["train", str(self.data), *method, "--workers", str(2 * RANKS), "--lanes", "1", "--lambda", "1e-6"]
        self.train += ["--threads", "1", "--deadline", str(DEADLINE), "--quiet", "--model", str(self.model)]

    def reference(self):
        subprocess.run([self.parley, *self.train], check=False, stdout=subprocess.DEVNULL, timeout=120)
        wanted = self.model.read_bytes()
        self.model.unlink()
        return wanted

    def resume(self):
        """Resumes from the last checkpoint, or starts again, on another number of ranks, and returns the model."""
        ranks = random.choice(self.ranks)
        flags = ["--checkpoint", str(self.folder / "state"), "--resume", str(self.folder / "state")]
        command = [self.parley, "launch", "-n", str(ranks), "--", *self.train, *flags]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, timeout=120)
        return self.model.read_bytes() if self.model.exists() else None

    def run(self, command, guards_too, number, wait, keeps):
        """Returns exit code, standard error, seconds from the signal to the end, and whether a process got the signal."""
        self.model.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        flags = ["--checkpoint", str(self.folder / "state"), "--checkpoint-every", "0.2s"] if keeps else []
        with open(self.folder / "said", "w+") as said:
            process = subprocess.Popen(
                [*command, *self.train, *flags], stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL
            )
            time.sleep(wait)
            pids = targets(process.pid, guards_too)
            hit = None
            if pids:
                hit = random.choice(pids)
                try:
                    os.kill(hit, number)
                except ProcessLookupError:
                    hit = None
            began = time.monotonic()
            try:
                code = process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                code = None if targets(process.pid, True) else STUCK
                process.kill()
                process.wait()
            seconds = time.monotonic() - began
            said.seek(0)
            return code, said.read(), seconds, hit


def judge(trial, outcome, wanted):
    """Returns what is wrong, or None, and how the run ended."""
    code, said, seconds, hit = outcome
    model = trial.model.read_bytes() if trial.model.exists() else None
    if not wait_gone(str(trial.folder), 5):
        return f"left over: {left_over(str(trial.folder))}", "hung"
    if model is not None and model != wanted:
        return "the model is wrong", "ended"
    if code in (0, 3) and model == wanted:
        return None, "over before" if hit else "not hit"
    if model == wanted and "without calling \"finalize\"" in said and "parley: " not in said:
        return None, "over before"  # the work was done, but Open MPI's launcher reports that one process is missing
    if code is None:
        return "it did not end within 30 seconds", "hung"
    lines = [line for line in said.splitlines() if line.startswith("parley: ")]
    if len(lines) != 1 or "rank " not in lines[0]:
        return f"it said {lines}", "ended"
    if code == STUCK:  # Open MPI's launcher sometimes hangs if a process dies while it connects; all of ours have ended
        return None, "stuck"
    if seconds > DEADLINE + 5:
        return f"it took {seconds:.1f} seconds", "late"
    return (None if code == 4 else f"its exit code was {code}"), "named"


def main():
    parley = str(Path(sys.argv[1]).resolve())
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    passed = failed = hits = resumed = stuck = 0
    with tempfile.TemporaryDirectory(prefix="parley-fault-") as name:
        choices = [Trial(parley, Path(name), *method) for method in METHODS]
        flags = ["--rows", "6000", "--columns", "500", "--nonzeros", "20", "--quiet"]
        subprocess.run([parley, "generate", "text", str(choices[0].data), *flags], check=True)
        references = [trial.reference() for trial in choices]
        for i in range(trials):
            trial, wanted = choices[i % 2], references[i % 2]
            starter, command, guards_too = starters(parley)[i % len(starters(parley))]
            number = (signal.SIGKILL, signal.SIGSTOP)[i // len(starters(parley)) % 2]
            wait = random.uniform(0, LATEST)
            keeps = i % 4 >= 2  # so that each method is kept half of the time
            outcome = trial.run(command, guards_too and number == signal.SIGKILL, number, wait, keeps)
            fault, end = judge(trial, outcome, wanted)
            if not fault and end == "named" and keeps:
                resumed += 1
                fault = None if trial.resume() == wanted else "resumed, the model is wrong"
            hits += end == "named"
            stuck += end == "stuck"
            if fault:
                failed += 1
                print(f"FAILED {starter}, {number.name} after {wait:.2f} s: {fault}, exit code {outcome[0]}\n{outcome[1]}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed; {hits} named a rank, {resumed} resumed, {stuck} times only MPI's starter stayed")
    sys.exit(1 if failed or hits < trials // 3 or stuck > trials // 20 else 0)


if __name__ == "__main__":
    main()
