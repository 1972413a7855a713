#!/usr/bin/env python3
"""stops.py PARLEY: signals in long rounds, in long passes, while writing and at silent pipes, and a cache that is cut off.

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


def write_classes(folder):
    """Rows of 1000 classes: one pass for a round of newton, or of lbfgs, takes much longer than LATEST."""
    (folder / "few.svm").write_text("".join(f"{i % 1000} 1:{i % 7}\n" for i in range(20000)))
    line = " ".join(f"{j}:1" for j in range(1, 1501))
    (folder / "many.svm").write_text("".join(f"{i % 1000} {line} {1501 + i % 7}:1\n" for i in range(4000)))


def children(process):
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def long_passes(parley):
    train = [parley, "train", "--model", "m", "--loss", "softmax", "--gap", "0", "--threads", "1"]
    newton = ["few.svm", "--preset", "newton"]
    yield [*train, *newton], signal.SIGINT, 0
    yield [*train, "--preset", "lbfgs", *["many.svm"] * 7], signal.SIGTERM, 0
    ranks = [parley, "launch", "-n", "2", "--", *train[1:], *newton]
    yield ranks, signal.SIGINT, 0
    yield ranks, signal.SIGINT, 1  # to one rank only, which is the child of its guard


def test_long_passes(parley, folder):
    count = 0
    write_classes(folder)
    for words, number, one in long_passes(parley):
        run = Run(words, folder)
        try:
            run.await_text("memory: training needs")
            time.sleep(1.0)  # the pass has begun
            if one:
                os.kill(children(children(run.process.pid)[1])[0], number)
            else:
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


def test_temporary_files(parley, folder):
    """An interrupted command leaves the old file; the next one with the same target leaves no temporary file."""
    quiet = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    made = folder / "made.svm.gz"
    text = ["generate", "text", "--columns", "50", "--nonzeros", "5", "made.svm.gz", "--rows"]
    (folder / "long.svm").write_text((folder / "data.svm").read_text() * 40)
    ways = [
        ([*text, "300000"], [*text, "5"]),
        (["convert", "long.svm", "made.svm.gz"], ["convert", "data.svm", "made.svm.gz"]),
    ]
    for long, short in ways:
        made.write_bytes(b"old")
        run = Run([parley, *long], folder)
        try:
            until = time.monotonic() + PATIENCE
            while not list(folder.glob("*.tmp-*")) and time.monotonic() < until and run.process.poll() is None:
                time.sleep(0.001)
            run.process.send_signal(signal.SIGINT)
            run.end([130, -signal.SIGINT], "")
        finally:
            run.close()
        if made.read_bytes() != b"old":
            raise SystemExit(f"{' '.join(long)}: it changed the old file although it was interrupted")
        subprocess.run([parley, *short], **quiet)
        if made.read_bytes() == b"old" or list(folder.glob("*.tmp-*")):
            raise SystemExit(f"{' '.join(short)}: it left a temporary file, or wrote nothing")
    return len(ways)


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
        tests = [test_long_rounds, test_long_passes, test_second_signal, test_silent_pipe]
        for test in [*tests, test_temporary_files, test_cut_off_cache]:
            count += test(parley, folder)
    print(f"{count} passed, 0 failed")


if __name__ == "__main__":
    main()
