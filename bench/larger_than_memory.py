#!/usr/bin/env python3
"""larger_than_memory.py PARLEY [--gigabytes 10] [--limit 2] [--gap 1e-3] [--folder FOLDER] [--keep] [-- OPTIONS]

Trains logistic regression on a generated cache that is several times larger than the memory that it may use, and
compares the time with that of reading the file: `passes` is what was read from the disk by the size of the file, and
`ratio` the time of training by passes times the time of reading the file once. The limit is a control group (version 1
or 2, which takes root); without one it is --memory, which bounds the resident memory but not the cache of pages."""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROW_ENTRIES = 100
CHUNK_ROWS = 50_000
MOUNT = Path("/sys/fs/cgroup")


def make_rows(draw, rows, columns, truth):
    """Columns increase, because each comes from its own part of a row's range; frequent columns are at the front."""
    place = (numpy.arange(ROW_ENTRIES) + draw.random((rows, ROW_ENTRIES), dtype=numpy.float32)) / ROW_ENTRIES
    index = (place**3 * (columns - ROW_ENTRIES)).astype(numpy.uint32) + numpy.arange(ROW_ENTRIES, dtype=numpy.uint32)
    value = draw.random((rows, ROW_ENTRIES), dtype=numpy.float32) + numpy.float32(0.1)
    value /= numpy.sqrt((value**2).sum(axis=1, keepdims=True))
    margin = (truth[index] * value).sum(axis=1)
    label = numpy.where(draw.random(rows) < 1 / (1 + numpy.exp(-4.0 * margin)), 1.0, -1.0)
    return index, value, label


def make_cache(path, size, columns):
    """Writes the tensors side by side, so that memory holds some rows only."""
    rows = int(size / (8 * ROW_ENTRIES + 16))
    nonzeros = rows * ROW_ENTRIES
    sizes = {"start": 8 * (rows + 1), "label": 8 * rows, "index": 4 * nonzeros, "value": 4 * nonzeros}
    types = {"start": ("U64", rows + 1), "label": ("F64", rows), "index": ("U32", nonzeros), "value": ("F32", nonzeros)}
    metadata = {"format": "parley-data-1", "rows": str(rows), "columns": str(columns), "nonzeros": str(nonzeros)}
    header, at = {"__metadata__": metadata}, 0
    for name, bytes_ in sizes.items():
        header[name] = {"dtype": types[name][0], "shape": [types[name][1]], "data_offsets": [at, at + bytes_]}
        at += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    draw = numpy.random.default_rng(1)
    truth = draw.standard_normal(columns).astype(numpy.float32)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        begin = file.tell()
        file.write((numpy.arange(rows + 1, dtype=numpy.uint64) * ROW_ENTRIES).tobytes())
        for first in range(0, rows, CHUNK_ROWS):
            count = min(CHUNK_ROWS, rows - first)
            index, value, label = make_rows(draw, count, columns, truth)
            for name, array, each in (
                ("label", label, 8),
                ("index", index, 4 * ROW_ENTRIES),
                ("value", value, 4 * ROW_ENTRIES),
            ):
                file.seek(begin + header[name]["data_offsets"][0] + first * each)
                file.write(array.tobytes())
    return rows, nonzeros


def make_group(limit):
    """Files to write a process id to, so that it gets the limit; or None."""
    name = f"parley-bench-{os.getpid()}"
    for folder, file, needs in (
        (MOUNT / "memory", "memory.limit_in_bytes", "memory.limit_in_bytes"),
        (MOUNT, "memory.max", "cgroup.subtree_control"),
    ):
        if os.geteuid() != 0 or not (folder / needs).exists():
            continue
        group = folder / name
        try:
            group.mkdir()
            (group / file).write_text(str(limit))
            return group
        except OSError:
            if group.exists():
                group.rmdir()
    return None


def enter(group):
    return (lambda: (group / "cgroup.procs").write_text(str(os.getpid()))) if group else None


def forget_pages(path):
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


READ = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
room = bytearray(8 << 20)
began = time.time()
while os.readv(file, [room]):
    pass
print(time.time() - began)
"""


def read_once(path, group):
    """Seconds that reading the file takes, in order and in the same control group."""
    forget_pages(path)
    done = subprocess.run([sys.executable, "-c", READ, path], preexec_fn=enter(group), capture_output=True, check=True)
    return float(done.stdout)


def train(parley, path, group, limit, options):
    """The summary of the run, its seconds, and the bytes that it read from the disk."""
    command = [parley, "train", path, "--loss", "logistic", "--json", "--quiet", "--model", path.with_suffix(".model")]
    if group is None:
        command += ["--memory", str(limit // 1_000_000)]
    forget_pages(path)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock, time.time()
    done = subprocess.run([*command, *options], preexec_fn=enter(group), capture_output=True, text=True)
    seconds = time.time() - began
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout), seconds, 512 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before)


def interrupt(parley, path, group, limit, options):
    """Seconds from Ctrl-C, in the middle of the run, to its end."""
    command = [
        parley,
        "train",
        path,
        "--loss",
        "logistic",
        "--quiet",
        "--gap",
        "0",
        "--model",
        path.with_suffix(".cut"),
    ]
    if group is None:
        command += ["--memory", str(limit // 1_000_000)]
    run = subprocess.Popen([*command, *options], preexec_fn=enter(group), stderr=subprocess.DEVNULL)
    time.sleep(20)
    began = time.time()
    run.send_signal(signal.SIGINT)
    run.wait(timeout=60)
    return time.time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parley")
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--limit", type=float, default=2, help="gigabytes of memory")
    parser.add_argument("--columns", type=int, default=200_000)
    parser.add_argument("--gap", default="1e-3")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--keep", action="store_true", help="keep the data, and use them if they are there")
    parser.add_argument("--runs", type=int, default=1)
    arguments, options = parser.parse_known_args()
    options = [word for word in options if word != "--"]
    path = Path(arguments.folder, f"larger-{arguments.gigabytes:g}.parley")
    limit = int(arguments.limit * 1e9)
    if not path.exists():
        make_cache(path, arguments.gigabytes * 1e9, arguments.columns)
    size = path.stat().st_size
    group = make_group(limit)
    print(f"{size / 1e9:.1f} GB of data, {limit / 1e9:g} GB of memory by {'a control group' if group else '--memory'}")
    print("| seconds | rounds | passes read | seconds to read once | ratio | gap | resident MB |\n" + "|---" * 7 + "|")
    try:
        for _ in range(arguments.runs):
            once = read_once(path, group)
            found, seconds, read = train(arguments.parley, path, group, limit, ["--gap", arguments.gap, *options])
            passes = read / size
            print(
                f"| {seconds:.1f} | {found['rounds']} | {passes:.1f} | {once:.1f} | {seconds / (passes * once):.2f} "
                f"| {found['relative_gap']:.2g} | {found['peak_rss_bytes'] / 1e6:.0f} |",
                flush=True,
            )
        print(f"Ctrl-C: {interrupt(arguments.parley, path, group, limit, options):.2f} s to the end")
    finally:
        if group:
            group.rmdir()
        for made in (path, path.with_suffix(".model"), path.with_suffix(".cut")):
            if made.exists() and not (arguments.keep and made == path):
                made.unlink()


if __name__ == "__main__":
    main()
