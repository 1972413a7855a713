#!/usr/bin/env python3
"""allocations.py PARLEY_FAILING [SECONDS]: every command, while its n-th allocation fails.

Each run must end as it does with enough memory, or with exit code 1 and one sentence that says `out of memory`. With a
sanitizer, nothing may leak. Without SECONDS some numbers are tried; with SECONDS all, until the time is used up. The
last line is JSON."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOME = 14  # numbers for each command, if not all
TIMEOUT = 60

# Commands, and whether they end with 0 if nothing fails. All threads are one, so that allocations have an order.
COMMANDS = {
    "train": "train a.svm --threads 1 --rounds 3 --gap 0 --model out --log log --checkpoint state --quiet",
    "train trace": "train a.svm --threads 1 --workers 2 --rounds 2 --gap 0 --model out --trace trace --quiet",
    "train csv": "train a.csv --threads 1 --rounds 2 --gap 0 --model out --json",
    "train zst": "train a.svm.zst --threads 1 --rounds 1 --gap 0 --model out --quiet",
    "train gz": "train a.svm.gz --threads 1 --rounds 1 --gap 0 --model out --quiet",
    "train cache": "train a.parley --threads 1 --rounds 1 --gap 0 --model out --validation-fraction 0.3 --quiet",
    "train l1": "train a.svm --threads 1 --l1-ratio 0.5 --rounds 2 --gap 0 --model out --quiet",
    "train classes": "train c.svm --threads 1 --loss softmax --rounds 1 --gap 0 --model out --quiet",
    "train workers": "train a.svm --threads 2 --workers 3 --preset cocoa+ --rounds 2 --gap 0 --model out --quiet",
    "train offset": "train a.svm --threads 1 --loss logistic --offset-column 1 --standardise --rounds 2 --gap 0 --model out --quiet",
    "train offset squared": "train a.svm --threads 1 --loss squared --offset-column 1 --inference --rounds 2 --model out --quiet",
    "train resume": "train a.svm --threads 1 --rounds 4 --gap 0 --model out --resume kept --quiet",
    "train start": "train a.svm --threads 1 --start m.safetensors --rounds 1 --gap 0 --model out --quiet",
    "stream": "train a.vw --threads 1 --preset online --model out --quiet",
    "path": "path a.svm --threads 1 --lambdas 3 --model out --quiet",
    "cv": "cv a.svm --threads 1 --lambdas 2 --folds 2 --model out --quiet",
    "predict": "predict m.safetensors a.svm --threads 1 --output decision",
    "predict table": "predict w.safetensors w.csv --threads 1 --id id --output all --header",
    "predict json": "predict w.safetensors w.csv --threads 1 --id id --output all --as json --threshold 0.3",
    "predict path": "predict p.safetensors a.svm --threads 1 --at last",
    "predict path between": "predict p.safetensors a.svm --threads 1 --at 0.0123456",
    "info path": "info p.safetensors --json",
    "info words": "info w.csv --label-column ok --json",
    "eval words": "eval w.safetensors w.csv --threads 1",
    "dump words": "dump w.safetensors --json",
    "eval": "eval m.safetensors a.svm --threads 1 --json",
    "info data": "info a.svm --json",
    "info model": "info m.safetensors --json",
    "info cache": "info a.parley",
    "info checkpoint": "info kept",
    "dump": "dump m.safetensors --top 3",
    "report": "report kept.log --json",
    "report page": "report kept.log kept.log --html out.html",
    "convert": "convert a.csv out.parley --threads 1 --quiet",
    "convert zst": "convert a.svm out.svm.zst --threads 1 --quiet",
    "convert gz": "convert a.parley out.vw.gz --threads 1 --quiet",
    "generate": "generate text --rows 20 --columns 10 --nonzeros 3 out.svm",
    "list": "list losses",
    "help": "train --help",
    "launch": "launch -n 2 -- train a.svm --threads 1 --rounds 1 --gap 0 --model out --quiet",
}


class Faults:
    def __init__(self, parley, folder):
        self.parley, self.folder = parley, Path(folder)
        self.count, self.injected = self.folder / "allocations", 0

    def run(self, words, number):
        """What one run gave, and the largest number of allocations that one of its processes made."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        for made in [self.count, self.folder / "log", *self.folder.glob("out*")]:
            made.unlink(missing_ok=True)
        environment = {**os.environ, "PARLEY_FAIL_AT": str(number), "PARLEY_ALLOCATIONS": str(self.count)}
        done = subprocess.run(
            [self.parley, *words.split()],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        made = [int(line) for line in self.count.read_text().split()] if self.count.exists() else []
        return done, max(made, default=0)

    def prepare(self):
        rows = [(1 if i % 3 else -1, i % 7 + 1, 0.25 * (i % 5 + 1)) for i in range(120)]
        write = {
            "a.svm": "".join(f"{y} {c}:{v} {c + 9}:1\n" for y, c, v in rows),
            "c.svm": "".join(f"{i % 3} {c}:{v}\n" for i, (y, c, v) in enumerate(rows)),
            "a.vw": "".join(f"{y} |a f{c}:{v} word\n" for y, c, v in rows),
            "w.csv": "id,ok,number\n" + "".join(f"r {i},{'yes' if y > 0 else 'no'},{v}\n" for i, (y, _, v) in enumerate(rows)),
            "a.csv": "label,number,word\n" + "".join(f"{y},{v},w{c}\n" for y, c, v in rows),
        }
        for name, text in write.items():
            (self.folder / name).write_text(text)
        for words in (
            "convert a.svm a.parley --quiet",
            "convert a.svm a.svm.zst --quiet",
            "convert a.svm a.svm.gz --quiet",
            "train w.csv --label-column ok --rounds 1 --gap 0 --model w.safetensors --quiet",
            "path a.svm --lambdas 3 --model p.safetensors --quiet",
            "train a.svm --rounds 3 --gap 0 --model m.safetensors --log kept.log --checkpoint kept --quiet",
        ):
            self.check(words, self.run(words, -1)[0], 0)

    def check(self, words, done, usual):
        ended = done.returncode == usual and "ERROR: " not in done.stderr
        said = done.returncode == 1 and done.stderr.count("out of memory") == 1 and "Sanitizer" not in done.stderr
        if not ended and not said:
            raise SystemExit(f"parley {words}: exit code {done.returncode}, and it said:\n{done.stderr[-3000:]}")

    def try_all(self, words, until):
        usual, made = self.run(words, -1)
        if usual.returncode not in (0, 3):
            raise SystemExit(f"parley {words}: exit code {usual.returncode}, and it said:\n{usual.stderr}")
        step = 1 if until else max(1, made // SOME)
        for number in range(0, made + 1, step):
            if until and time.monotonic() > until:
                return False
            done, _ = self.run(words, number)
            try:
                self.check(words, done, usual.returncode)
            except SystemExit as failure:
                raise SystemExit(f"allocation {number} failed: {failure}") from None
            self.injected += 1
        return True


def main():
    parley, began = str(Path(sys.argv[1]).resolve()), time.monotonic()
    until = began + float(sys.argv[2]) if len(sys.argv) > 2 else None
    whole = True
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(parley, folder)
        faults.prepare()
        for words in COMMANDS.values():
            whole = faults.try_all(words, until) and whole
    print(f"{len(COMMANDS)} passed, 0 failed")
    print(
        json.dumps(
            {"commands": len(COMMANDS), "allocation_faults": faults.injected, "whole": whole and until is not None}
        )
    )


if __name__ == "__main__":
    main()
