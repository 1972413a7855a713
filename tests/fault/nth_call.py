#!/usr/bin/env python3
"""nth_call.py PARLEY [quick|all] [SECONDS]: makes the n-th system call of a command fail, for every n, with tests/fail_call.

Whatever fails, the command must end by itself and not by a signal. Either it succeeds and its result has the same bytes as
without the failure, or it prints exactly one sentence, which names a file or a resource, and ends with another exit code.
The old result must still be whole, and neither a temporary file nor a lock may be left. A model that a message says was
kept elsewhere must be there.

`quick`, the default, tests every n for `train` and every few for the others. `all` tests every n in random order, until
SECONDS have passed; --seed gives another order. The last line but one is a JSON object with the number of failures that were injected."""
import argparse
import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONGEST = 60  # seconds
UNSUPPORTED = 77
RANKS = 2
OLD = b"the old result\n"
RESOURCES = re.compile(
    r"data\.svm|out\.|model\.safetensors|log\.jsonl|state|start\.safetensors|memory|thread|standard output|rank \d|launcher|/dev/|/proc/"
)

# Kind of calls, and the errors with which they fail; with a plus, all from the n-th on fail.
KINDS = {
    "write": ["ENOSPC+", "ENOSPC", "EIO"],
    "sync": ["EIO", "EIO+"],
    "rename": ["ENOSPC"],
    "open": ["EMFILE", "EIO"],
    "map": ["ENOMEM"],
    "clone": ["EAGAIN"],
    "lock": ["ENOLCK", "EIO"],
}
SMALL = ["--workers", "2", "--threads", "2", "--quiet"]
FIT = ["data.svm", "--model", "out.safetensors", *SMALL]

# Name: words of the command, its result, and the step from one n to the next in a quick run.
COMMANDS = {
    "train": (["train", *FIT, "--log", "log.jsonl", "--checkpoint", "state", "--checkpoint-every", "2r"], "out.safetensors", 1),
    "online": (["train", "data.svm", "--model", "out.safetensors", "--preset", "online", "--quiet"], "out.safetensors", 7),
    "path": (["path", *FIT, "--lambdas", "3", "--log", "log.jsonl"], "out.safetensors", 7),
    "cv": (["cv", "data.svm", "--model", "out.safetensors", "--threads", "2", "--lambdas", "2", "--folds", "2", "--quiet"], "out.safetensors", 7),
    "convert": (["convert", "data.svm", "out.svm.gz", "--quiet"], "out.svm.gz", 6),
    "cache": (["convert", "data.svm", "out.parley", "--quiet"], "out.parley", 6),
    "predict": (["predict", "start.safetensors", "data.svm", "--threads", "2"], None, 6),
    "launch": (["launch", "-n", str(RANKS), "--", "train", "data.svm", "--model", "out.safetensors", "--threads", "1", "--deadline", "4", "--quiet"], "out.safetensors", 300),
}


class Bench:
    """A folder in which commands run, one after the other."""

    def __init__(self, parley, scratch):
        self.parley = parley
        self.tool = str(Path(parley).parent / "tests" / "fail_call")
        self.scratch = scratch
        self.inputs = scratch / "inputs"
        self.inputs.mkdir()
        made = ["--rows", "300", "--columns", "40", "--nonzeros", "8", "--quiet"]
        subprocess.run([parley, "generate", "text", "data.svm", *made], cwd=self.inputs, check=True)
        flags = ["--model", "start.safetensors", "--quiet"]
        subprocess.run([parley, "train", "data.svm", *flags], cwd=self.inputs, check=True, stdout=subprocess.DEVNULL)

    def run(self, words, result, kind, error, nth):
        """Returns what happened, as a dictionary."""
        folder, kept = self.scratch / "run", self.scratch / "kept"
        for one in (folder, kept):
            shutil.rmtree(one, ignore_errors=True)
        shutil.copytree(self.inputs, folder)
        kept.mkdir()
        if result:
            (folder / result).write_bytes(OLD)
        report = self.scratch / "report"
        report.unlink(missing_ok=True)
        command = [self.tool, str(report), kind, str(getattr(errno, error.rstrip("+"))), f"{nth}{error[-1] if error.endswith('+') else ''}", self.parley, *words]
        environment = {**os.environ, "TMPDIR": str(kept)}
        with open(self.scratch / "said", "wb+") as said, open(self.scratch / "printed", "wb+") as printed:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=printed, stderr=said, env=environment, start_new_session=True
            )
            try:
                code = process.wait(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                code = None
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        outcome = {"hung": code is None, "said": (self.scratch / "said").read_text(errors="replace")}
        if code == UNSUPPORTED:
            print("skipped: " + outcome["said"].strip())
            sys.exit(0)
        if code == 0:
            outcome["count"], outcome["code"], outcome["signal"] = map(int, report.read_text().split())
        elif code is not None:
            sys.exit(f"fail_call ended with {code}: {outcome['said']}")
        outcome["printed"] = (self.scratch / "printed").read_bytes()
        outcome["result"] = (folder / result).read_bytes() if result and (folder / result).exists() else None
        outcome["left"] = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if re.search(r"\.tmp-|\.lock$", path.name))
        outcome["kept"] = [path.read_bytes() for path in kept.rglob("*") if path.is_file()]
        return outcome


def judge(outcome, wanted, result, launched):
    """Returns what is wrong, or None."""
    if outcome["hung"]:
        return f"it did not end within {LONGEST} seconds"
    if outcome["signal"]:
        return f"signal {outcome['signal']} ended it"
    if outcome["left"]:
        return f"it left {outcome['left']}"
    if result and outcome["result"] not in (OLD, wanted["result"]):
        return "the result is damaged"
    if outcome["code"] == wanted["code"]:
        if outcome["result"] != wanted["result"]:
            return "it says that it succeeded, but the result is another one"
        if not result and outcome["printed"] != wanted["printed"]:
            return "it says that it succeeded, but it printed something else"
        return None
    lines = outcome["said"].splitlines()
    most = 1
    if launched:  # MPI and the dynamic loader may say more, and before ranks are connected each can only speak for itself
        lines = [line for line in lines if line.startswith("parley: ")]
        most = RANKS
    if not 1 <= len(lines) <= most or not lines[0].startswith("parley: "):
        return "it did not print exactly one sentence"
    if not RESOURCES.search(lines[0]):
        return "the sentence names no file or resource"
    if "is kept in" in lines[0] and outcome["kept"] != [wanted["result"]]:
        return "the model was not kept"
    return None


def plan(bench, options):
    """All failures to inject, as (name, kind, error, nth), and the outcomes without one, by (name, kind)."""
    only = set(options.only.split(",")) if options.only else set()
    faults, wanted = [], {}
    for name, (words, result, step) in COMMANDS.items():
        for kind, errors in KINDS.items():
            if (only & set(COMMANDS) and name not in only) or (only & set(KINDS) and kind not in only):
                continue
            whole = options.extent == "all"
            found = wanted[name, kind] = bench.run(words, result, kind, errors[0], 0)
            if found["said"] or found["code"] != 0:
                sys.exit(f"{name} fails by itself: {found['said']}")
            if name == "launch":  # its ranks also write to sockets
                errors = [error for error in errors if not error.endswith("+")]
            counts = range(1, found["count"] + 3, 1 if whole else step)  # threads may make the number vary
            faults += [(name, kind, error, nth) for error in (errors if whole else errors[:1]) for nth in counts]
    if options.extent == "all":
        random.Random(options.seed).shuffle(faults)
    return faults, wanted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parley")
    parser.add_argument("extent", nargs="?", default="quick", choices=["quick", "all"])
    parser.add_argument("seconds", nargs="?", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="names of commands or kinds, separated by commas")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    injected = ended = failed = 0
    with tempfile.TemporaryDirectory(prefix="parley-nth-call-") as scratch:
        bench = Bench(str(Path(options.parley).resolve()), Path(scratch))
        faults, references = plan(bench, options)
        for name, kind, error, nth in faults:
            if time.monotonic() > end:
                break
            words, result, _ = COMMANDS[name]
            wanted = references[name, kind]
            outcome = bench.run(words, result, kind, error, nth)
            injected += outcome.get("count", nth) >= nth
            ended += outcome.get("code") != wanted["code"]
            fault = judge(outcome, wanted, result, name == "launch")
            if fault:
                failed += 1
                print(f"FAILED {name}, {kind} {nth} of {wanted['count']} with {error}: {fault}; exit code {outcome.get('code')}")
                print("    " + outcome["said"].replace("\n", "\n    ").rstrip(), flush=True)
    print(json.dumps({"faults_injected": injected, "faults_planned": len(faults), "ended_by_them": ended, "failed": failed}))
    print(f"{injected - failed} passed, {failed} failed")
    sys.exit(1 if failed or not ended else 0)


if __name__ == "__main__":
    main()
