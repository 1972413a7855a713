#!/usr/bin/env python3
"""memory_limits.py PARLEY: runs that need more memory than RLIMIT_AS, RLIMIT_DATA or a control group leave must say so.

The control group needs root and a writable hierarchy of version 2; without one that part is skipped with a message."""

import os
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


def main():
    parley = str(Path(sys.argv[1]).resolve())
    train = [parley, "train", "wide.svm", "--quiet", "--model", "m"]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "wide.svm").write_text("+1 20000000:1\n-1 3:1\n")
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            run(train, folder, limited(kind))
            count += 1
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
