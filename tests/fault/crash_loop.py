#!/usr/bin/env python3
"""crash_loop.py PARLEY [--kills N] [--seconds T] [--seed S] [--keep FOLDER] [PRESET ...]: ends runs by SIGKILL.

A run that writes a checkpoint after every round is killed at a random moment and resumed, again and again, until it finishes.
Its model must then have the same bytes as that of an undisturbed run, and its log every round once. At no moment may there
be a model file with other bytes. Every preset that writes checkpoints takes its turn, in one process with threads and on ranks of
`parley launch`; each start may have another number of threads and ranks. Of a run on ranks, either all processes are killed
or only one, and then the others must end by themselves. Runs of hogwild are not repeatable: their models are only read.

Ends after N kills (1000) or T seconds, whichever comes first. What was wrong is kept in FOLDER.
The last line is a JSON object with the counts."""

import argparse
import itertools
import json
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

from run import below, left_over, processes, wait_gone

NOT_SAVED = ("auto", "online")  # auto is one of the others, and online takes no checkpoints
ANY_BYTES = ("hogwild", "hogwild-peer", "petuum", "petuum*", "ps-async", "ps-backup")
ROUNDS = 40
MOST_STARTS = 300  # of one run, until it must have finished
FINISHED = (0, 3)


class Failure(Exception):
    pass


def presets(parley):
    listed = subprocess.run([parley, "list", "presets"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.strip() and line.split()[0] not in NOT_SAVED]


def kill_all(root):
    """Kills a process and everything below it, the parents first so that none can start another."""
    family = [root, *sorted(below(root, processes()))]
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_one(root):
    """Kills one rank or its guard, and returns whether there was one."""
    everyone = processes()
    ranks = [pid for pid in below(root, everyone) if everyone[pid][1].startswith("parley")]
    try:
        os.kill(random.choice(ranks), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True


class Run:
    """One preset, from its first start to its end."""

    def __init__(self, parley, data, folder, preset, on_ranks):
        self.parley, self.folder, self.preset, self.on_ranks = parley, folder, preset, on_ranks
        self.model, self.log, self.state = folder / "model", folder / "log", folder / "state"
        self.said = folder / "said"
        self.train = ["train", str(data), "--preset", preset, "--workers", "4", "--lanes", "1", "--seed", "7", "--quiet"]
        self.train += ["--rounds", str(ROUNDS), "--gap", "0", "--deadline", "20"]
        self.kills = self.starts = 0
        self.newest = self.advanced = 0  # round of the last checkpoint, and kills before which there was a new one
        self.wanted = self.took = None

    def undisturbed(self):
        """The model that is wanted, and how long a run with checkpoints takes."""
        plain = [self.parley, *self.train, "--model", str(self.model)]
        subprocess.run(plain, check=False, stdout=subprocess.DEVNULL, timeout=120)
        self.wanted = self.model.read_bytes()
        self.model.unlink()
        began = time.monotonic()
        process = self.start()
        process.wait(timeout=120)
        self.took = time.monotonic() - began
        self.finish(process.returncode)
        shutil.rmtree(self.state)
        self.model.unlink()
        self.log.unlink()

    def start(self):
        words = [*self.train, "--model", str(self.model), "--log", str(self.log)]
        words += ["--checkpoint", str(self.state), "--resume", str(self.state), "--checkpoint-every", "1r"]
        if self.on_ranks:
            words = ["launch", "-n", str(random.choice((2, 3))), "--", *words, "--threads", "1"]
        else:
            words += ["--threads", str(random.choice((1, 2, 3)))]
        self.starts += 1
        with open(self.said, "wb") as said:
            return subprocess.Popen([self.parley, *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def check_model(self):
        if not self.model.exists():
            return False
        found = self.model.read_bytes()
        if self.preset in ANY_BYTES:
            subprocess.run([self.parley, "info", str(self.model)], check=True, stdout=subprocess.DEVNULL, timeout=60)
        elif found != self.wanted:
            raise Failure("the model has other bytes than that of an undisturbed run")
        return True

    def finish(self, code):
        if code not in FINISHED:
            raise Failure(f"exit code {code}: {self.said.read_text(errors='replace')}")
        if not self.check_model():
            raise Failure("the run finished without a model")
        rounds = [line["round"] for line in map(json.loads, self.log.read_text().splitlines()) if "round" in line]
        if rounds and rounds != sorted(set(rounds)):
            raise Failure(f"the log has the rounds {rounds}")

    def saved(self):
        """The round of the newest checkpoint."""
        return max((int(one.name[6:].split(".")[0]) for one in self.state.glob("round-*[0-9].safetensors")), default=0)

    def await_moment(self, process):
        """Waits for a random moment: one in four at any time from the start, the others while rounds are made and saved."""
        if random.random() < 0.25:
            wanted, end = ROUNDS, time.monotonic() + random.uniform(0, self.took)
        else:
            wanted, end = self.newest + random.randint(1, 6), time.monotonic() + 10 * self.took
        while process.poll() is None and time.monotonic() < end and self.saved() < wanted:
            time.sleep(0.0005)
        time.sleep(random.uniform(0, 0.003))

    def disturb(self, process):
        """Kills the run at a random moment and returns True, or False if it ended before."""
        one = self.on_ranks and random.random() < 0.1
        self.await_moment(process)
        if process.poll() is not None:
            return False
        if one and kill_one(process.pid):
            if process.wait(timeout=60) in FINISHED:
                return False  # it was over for the rank that was hit
        else:
            kill_all(process.pid)
            process.wait(timeout=60)
        if not wait_gone(str(self.folder), 20):
            raise Failure(f"processes are left over: {left_over(str(self.folder))}")
        self.kills += 1
        newest = self.saved()
        self.advanced += newest > self.newest
        self.newest = newest
        self.check_model()
        return True

    def until_it_finishes(self, more):
        """Calls more() after every kill; if it says no, the last start is not disturbed."""
        while True:
            process = self.start()
            if self.starts > MOST_STARTS:
                raise Failure(f"{self.starts} starts did not finish it")
            if more() and self.disturb(process):
                continue
            self.finish(process.wait(timeout=120))
            return


def keep(run, why, arguments):
    kept = Path(arguments.keep) / f"crash-{run.preset}-{'ranks' if run.on_ranks else 'threads'}-{arguments.seed}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(run.folder, kept)
    again = f"crash_loop.py PARLEY --seed {arguments.seed} {run.preset}"
    (kept / "why").write_text(f"{why}\nafter {run.kills} kills\n{again}\nparley {' '.join(run.train)}\n")
    print(f"FAILED {run.preset}{' on ranks' if run.on_ranks else ''}: {why}\n       kept in {kept}", flush=True)


def loop(arguments, folder, count):
    data = folder / "data.svm"
    shape = ["--rows", "300", "--columns", "40", "--nonzeros", "6", "--quiet"]
    subprocess.run([arguments.parley, "generate", "text", str(data), *shape], check=True)
    names = arguments.presets or presets(arguments.parley)
    end = time.monotonic() + arguments.seconds
    more = lambda: count["kills"] + run.kills < arguments.kills and time.monotonic() < end
    for number, (preset, on_ranks) in enumerate(itertools.cycle(itertools.product(names, (False, True)))):
        own = folder / f"run-{number}"
        own.mkdir()
        run = Run(arguments.parley, data, own, preset, on_ranks and preset not in ANY_BYTES)
        if not more():
            return
        try:
            run.undisturbed()
            run.until_it_finishes(more)
        except (Failure, subprocess.SubprocessError, OSError) as failure:
            count["failed"] += 1
            keep(run, failure, arguments)
        count["runs"] += 1
        count["kills"] += run.kills
        count["kills after a new checkpoint"] += run.advanced
        count["kills on ranks"] += run.kills if run.on_ranks else 0
        count["presets"] = len(names[: number // 2 + 1])
        shutil.rmtree(own)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parley", type=os.path.abspath)
    parser.add_argument("presets", nargs="*")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="build/soak/found")
    arguments = parser.parse_intermixed_args()
    random.seed(arguments.seed)
    count = {"kills": 0, "kills after a new checkpoint": 0, "kills on ranks": 0, "runs": 0, "presets": 0, "failed": 0}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="parley-crash-") as name:
        loop(arguments, Path(name), count)
    count["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(count))
    sys.exit(1 if count["failed"] or count["kills"] == 0 else 0)


if __name__ == "__main__":
    main()
