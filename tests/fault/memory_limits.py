#!/usr/bin/env python3
"""memory_limits.py PARLEY: runs that need more memory than RLIMIT_AS, RLIMIT_DATA or a control group leave must say so,
and models on data larger than memory, and tables of topics, keep within what they promise.

The control group needs root and a writable hierarchy of version 2; without one that part is skipped with a message."""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 300 << 20  # bytes; training with 20 million columns needs about 1.1 GB
MOUNT = Path("/sys/fs/cgroup")


def run(words, folder, prepare):
    """Exit code and standard error; both must be those of a run that was refused."""
    done = subprocess.run(words, cwd=folder, preexec_fn=prepare, capture_output=True, text=True, timeout=60)
    if done.returncode != 1 or "parley: out of memory: " not in done.stderr or "are available" not in done.stderr:
        raise SystemExit(f"{words}: exit code {done.returncode}, and it said:\n{done.stderr}")


def limited(kind):
    return lambda: resource.setrlimit(kind, (LIMIT, LIMIT))


def make_group():
    """A new control group with the limit, or None. Only version 2: in version 1 the process would leave the group, and
    the limits, that it was started with."""
    controllers = MOUNT / "cgroup.subtree_control"
    group = MOUNT / f"parley-test-{os.getpid()}"
    if os.geteuid() != 0 or not controllers.exists() or "memory" not in controllers.read_text().split():
        return None
    try:
        group.mkdir()
        (group / "memory.max").write_text(str(LIMIT))
        return group
    except OSError:
        if group.exists():
            group.rmdir()
        return None


def topics(words, folder, *options):
    """Peak memory of a run in bytes, its nonzeros, and its model."""
    done = subprocess.run(
        [*words, "--quiet", "--json", "--model", "m", *options], cwd=folder, capture_output=True, text=True, timeout=120
    )
    if done.returncode != 0:
        raise SystemExit(f"{words} {options}: exit code {done.returncode}, and it said:\n{done.stderr}")
    found = json.loads(done.stdout)
    return found["peak_rss_bytes"], found["nonzeros"], Path(folder, "m").read_bytes()


def large_corpora(parley, folder):
    """Text and a cache of more than the memory that is allowed give the same topics as without a limit, within it."""
    draw = random.Random(1)
    words = [f"w{i}" for i in range(3000)]
    lines = [" ".join(draw.choices(words, k=130)) for _ in range(1500)]
    Path(folder, "text").write_bytes(("\n".join(lines) + "\n").encode() * 45)
    subprocess.run([parley, "convert", "text", "cache.parley", "--format", "text", "--quiet"], cwd=folder, check=True)
    count = 0
    for data in (["text", "--format", "text"], ["cache.parley"]):
        command = [parley, "topics", *data, "--topics", "4", "--passes", "1", "--threads", "2"]
        _, nonzeros, model = topics(command, folder)
        peak, _, same = topics(command, folder, "--memory", "60")
        if peak > 60e6 or 8 * nonzeros < 60e6 or same != model:
            raise SystemExit(f"{data}: {peak} bytes for {nonzeros} entries; same topics: {same == model}")
        count += 1
    return count


def train(parley, folder, data, *options):
    """Peak memory of a run of `parley train` in bytes, its summary, what it said, and its model."""
    command = [parley, "train", *data, "--json", "--model", "m", "--threads", "2", "--workers", "1", "--lanes", "2"]
    done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 3):  # 3: the target was not reached
        raise SystemExit(f"{command} {options}: exit code {done.returncode}, and it said:\n{done.stderr}")
    found = json.loads(done.stdout)
    return found["peak_rss_bytes"], found, done.stderr, Path(folder, "m").read_bytes()


def large_tables(parley, folder):
    """Linear models on text and caches larger than memory: within it, with the model of the same order in memory."""
    limit, count = 85, 0
    make = [parley, "generate", "text", "large.svm", "--rows", "150000", "--columns", "5000", "--nonzeros", "80"]
    subprocess.run([*make, "--quiet"], cwd=folder, check=True)
    subprocess.run([parley, "convert", "large.svm", "large.parley", "--quiet"], cwd=folder, check=True)
    Path(folder, "rows").mkdir()
    for options, in_memory in (
        (["--local", "sdca", "--gap", "1e-4"], ["--block", "2"]),
        (["--preset", "ma-sgd", "--rounds", "3"], ["--block", "2"]),
        (["--preset", "lbfgs", "--rounds", "5"], []),
        (["--preset", "gd", "--rounds", "3"], []),
    ):
        blocks = in_memory and ["--block", "2"]
        *_, model = train(parley, folder, ["large.parley"], *options, *in_memory)
        peak, found, said, same = train(parley, folder, ["large.parley"], *options, *blocks, "--memory", str(limit))
        if peak > limit * 1e6 or same != model or "the data are larger than memory" not in said:
            raise SystemExit(f"{options}: {peak} bytes; same model: {same == model}; it said:\n{said}")
        count += 1
    peak, found, said, _ = train(parley, folder, ["large.svm"], "--memory", str(limit), "--spill", "rows")
    if peak > limit * 1e6 or found["relative_gap"] > 1e-4 or "kept in a file in rows" not in said:
        raise SystemExit(f"large.svm: {peak} bytes, gap {found['relative_gap']}; it said:\n{said}")
    if list(Path(folder, "rows").iterdir()):
        raise SystemExit("a file of rows was left")
    _, found, _, _ = train(
        parley, folder, ["large.parley"], "--memory", str(limit), "--l1-ratio", "1", "--lambda", "1e-4"
    )
    if found["preset"] != "lbfgs":
        raise SystemExit(f"auto chose {found['preset']}, which needs columns in memory")
    words = [
        parley,
        "train",
        "large.parley",
        "--memory",
        str(limit),
        "--local",
        "scd",
        "--l1-ratio",
        "0.9",
        "--model",
        "m",
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode != 1 or "use --local sdca, gradient or sgd" not in done.stderr:
        raise SystemExit(f"{words}: exit code {done.returncode}, and it said:\n{done.stderr}")
    return count + 3


def topic_tables(parley, folder):
    """Memory is at most the corpus, three tables of topics and 64 MB, with many lanes, all documents at once, validation."""
    draw = random.Random(2)
    lines = [" ".join(f"w{int(20000 * draw.random() ** 2)}" for _ in range(60)) for _ in range(3000)]
    Path(folder, "some").write_text("\n".join(lines) + "\n")
    Path(folder, "rest").write_text("\n".join(lines[:300]) + "\n")
    found = sorted({word for line in lines for word in line.split()})
    count, topic_count = 0, 200
    for options in (
        ["--batch", "all", "--lanes", "8"],
        ["--batch", "all", "--validation", "rest"],
        ["--validation", "rest", "--lanes", "8"],
        ["--preset", "angel-lda", "--validation", "rest"],
    ):
        command = [parley, "topics", "some", "--format", "text", "--topics", str(topic_count), "--passes", "2"]
        peak, nonzeros, _ = topics(command, folder, "--threads", "2", *options)
        most = 8 * nonzeros + 3 * 8 * topic_count * len(found) + (64 << 20)
        if peak > most:
            raise SystemExit(f"{options}: {peak} bytes, more than {most}")
        count += 1
    return count


def main():
    parley = str(Path(sys.argv[1]).resolve())
    train = [parley, "train", "wide.svm", "--quiet", "--model", "m"]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "wide.svm").write_text("+1 20000000:1\n-1 3:1\n")
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            run(train, folder, limited(kind))
            count += 1
        count += large_corpora(parley, folder) + large_tables(parley, folder) + topic_tables(parley, folder)
        group = make_group()
        if group is None:
            print("skipped the control group: it needs root and a writable hierarchy of version 2 with memory")
        else:
            try:
                for words in (train, [parley, "launch", "-n", "2", "--", *train[1:]]):
                    run(words, folder, lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
                    count += 1
            finally:
                group.rmdir()
    print(f"{count} passed, 0 failed")


if __name__ == "__main__":
    main()
