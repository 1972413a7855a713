#!/usr/bin/env python3
"""stops.py PARLEY: signals in the middle of long rounds and at silent pipes, and a cache that is cut off during training.

Every run must end within LATEST seconds of the signal, although its round would take hours, and leave the best model."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LATEST = 5.0  # two seconds are promised; the rest is for a busy machine
PATIENCE = 60.0  # for anything else
LONG = ["--local-epochs", "1000000", "--gap", "0", "--rounds", "5"]
SAVED = "interrupted: the best model so far is in m"


class Run:
    """A process whose standard error is read while it runs."""

    def __init__(self, words, folder, **options):
        self.err = open(Path(folder, "err"), "w+")
        self.words, self.folder = words, Path(folder)
        (self.folder / "m").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            words, cwd=folder, stdout=subprocess.DEVNULL, stderr=self.err, start_new_session=True, **options
        )

    def said(self):
        return (self.folder / "err").read_text()

    def fail(self, why):
        raise SystemExit(f"{' '.join(self.words)}: {why}; it said:\n{self.said()}")

    def await_text(self, text):
        until = time.monotonic() + PATIENCE
        while text not in self.said():
            if time.monotonic() > until or self.process.poll() is not None:
                self.fail(f"it never said {text!r}")
            time.sleep(0.02)

    def end(self, code, text):
        try:
            found = self.process.wait(LATEST)
        except subprocess.TimeoutExpired:
            self.fail(f"it did not end within {LATEST} seconds")
        if found not in code or text not in self.said():
            self.fail(f"exit code {found}, not {code}, or it did not say {text!r}")

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.err.close()


def long_rounds(parley, folder):
    train = [parley, "train", "data.svm", "--model", "m", *LONG]
    starts = [[*train, "--preset", "cocoa+"], [*train, "--preset", "ma-sgd"]]
    starts.append([parley, "launch", "-n", "2", "--", *train[1:], "--preset", "cocoa+"])
    for words in starts:
        for number in (signal.SIGINT, signal.SIGTERM):
            yield words, number
    yield [*train, "--preset", "cocoa+", "--workers", "3", "--lanes", "1"], signal.SIGHUP


def test_long_rounds(parley, folder):
    count = 0
    for words, number in long_rounds(parley, folder):
        run = Run(words, folder)
        try:
            run.await_text("memory: training needs")
            time.sleep(0.3)  # the round has begun
            run.process.send_signal(number)
            run.end([130], SAVED)
            subprocess.run([parley, "info", "m"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        finally:
            run.close()
        count += 1
    return count


def test_second_signal(parley, folder):
    run = Run([parley, "train", "data.svm", "--model", "m", *LONG, "--preset", "cocoa+"], folder)
    try:
        run.await_text("memory: training needs")
        time.sleep(0.3)
        run.process.send_signal(signal.SIGINT)
        run.await_text("interrupt again")
        run.process.send_signal(signal.SIGINT)
        run.end([-signal.SIGINT], "")
    finally:
        run.close()
    if (folder / "m").exists():
        raise SystemExit("a run that was ended at once left a model")
    return 1


def test_silent_pipe(parley, folder):
    pipe, rows = folder / "pipe", (folder / "data.svm").read_text()
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    run = Run([parley, "train", "pipe", "--preset", "online", "--model", "m"], folder)
    try:
        for part in range(0, len(rows), 4096):
            os.write(writer, rows[part : part + 4096].encode())
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        run.end([130], "interrupted")
    finally:
        run.close()
    for words in (["train", "pipe", "--model", "m"], ["info", "pipe"], ["convert", "pipe", "out.parley"]):
        run = Run([parley, *words], folder)
        try:
            time.sleep(0.3)
            run.process.send_signal(signal.SIGTERM)
            run.end([130, -signal.SIGTERM], "")
        finally:
            run.close()
    os.close(writer)
    return 4


def test_cut_off_cache(parley, folder):
    quiet = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(
        [parley, "generate", "text", "--rows", "40000", "--columns", "9000", "--nonzeros", "60", "large.svm"], **quiet
    )
    for ranks in ([], ["launch", "-n", "2", "--"]):
        subprocess.run([parley, "convert", "large.svm", "large.parley"], **quiet)
        words = [parley, *ranks, "train", "large.parley", "--gap", "0", "--seconds", "60", "--rounds", "1000000"]
        run = Run([*words, "--preset", "cocoa+", "--model", "m"], folder)
        try:
            run.await_text("\nround 1 ")
            os.truncate(folder / "large.parley", 1 << 20)
            if ranks:  # their rows may be in memory, and the file without effect
                run.process.send_signal(signal.SIGTERM)
                run.end([1, 130], "")
            else:
                run.end([1], "large.parley changed while it was read")
        finally:
            run.close()
    return 2


def main():
    parley = str(Path(sys.argv[1]).resolve())
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [parley, "generate", "text", "--rows", "3000", "--columns", "2000", "--nonzeros", "30", "data.svm"],
            cwd=folder, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        for test in (test_long_rounds, test_second_signal, test_silent_pipe, test_cut_off_cache):
            count += test(parley, folder)
    print(f"{count} passed, 0 failed")


if __name__ == "__main__":
    main()
