#!/usr/bin/env python3
"""Races Parley against its peers: run.py PARLEY [--quick] [table ...]. docs/benchmarks.md explains the tables.

The contestants of a table run in turn, in a new random order in each repetition, and medians are compared. Prints each
table when it is done, and writes them to bench/RESULTS.md if all tables were run without --quick.
"""

import argparse
import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from averaging import table_averaging
from classes import table_classes
from exchange import table_exchange
from fits import table_certificate, table_memory, table_model, table_read, table_solve, table_threads
from harness import Bench, markdown
from lassos import table_lasso, table_path
from local import table_local
from networks import table_networks
from python import table_python
from simulator import table_hosts, table_platforms, table_rounds, table_simulator, table_steps, table_stragglers
from stream import table_online

RESULTS = Path(__file__).with_name("RESULTS.md")
REPETITIONS = 7
PEERS = ("scikit-learn", "scikit-learn-intelex", "snapml", "celer", "vowpalwabbit", "tensorflow-cpu", "numpy", "scipy")
TABLES = {
    "model": table_model,
    "solve": table_solve,
    "read": table_read,
    "threads": table_threads,
    "certificate": table_certificate,
    "memory": table_memory,
    "lasso": table_lasso,
    "path": table_path,
    "classes": table_classes,
    "online": table_online,
    "averaging": table_averaging,
    "local": table_local,
    "exchange": table_exchange,
    "python": table_python,
    "simulator": table_simulator,
    "hosts": table_hosts,
    "rounds": table_rounds,
    "stragglers": table_stragglers,
    "steps": table_steps,
    "platforms": table_platforms,
    "networks": table_networks,
}


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0]


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "is missing"


def machine(bench):
    """Describes the versions and the machine."""
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    liblinear = subprocess.run(
        ["dpkg-query", "-W", "-f=${Version}", "liblinear-tools"], capture_output=True, text=True
    ).stdout
    packages = ", ".join(f"{name} {version(name)}" for name in PEERS)
    lines = [
        f"- {datetime.date.today()}, {bench.repetitions} repetitions, load {os.getloadavg()[0]:.1f} at the end",
        f"- {cpu.group(1) if cpu else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB",
        f"- Linux {platform.release()}",
        f"- {first_line(bench.parley, '--version')}, {first_line('cc', '--version')}",
        f"- LIBLINEAR {liblinear or 'of unknown version'}, {packages}",
    ]
    lines += [f"- {data.title}: {data.describe()}" for data in bench.datasets.values()]
    return "\n".join(lines) + "\n"


def report(bench, names):
    """Runs the tables and prints each when it is done."""
    parts = []
    for name in names:
        table = TABLES[name]
        parts.append(f"## {table.__doc__}\n\n{table(bench)}")
        print(parts[-1], flush=True)
    if bench.aims:
        parts.append("## Aims\n\n" + markdown(["what", "found", "aim", "met"], bench.aims))
        print(parts[-1])
    return "\n".join(["# Benchmark results\n", machine(bench), *parts])


def main():
    parser = argparse.ArgumentParser(description="Races Parley against its peers and writes bench/RESULTS.md.")
    parser.add_argument("parley", help="the binary")
    parser.add_argument("--quick", action="store_true", help="one repetition, to check that it works; writes no file")
    parser.add_argument("tables", nargs="*", metavar="table", help=f"which of {', '.join(TABLES)}; all unless given")
    arguments = parser.parse_intermixed_args()
    unknown = set(arguments.tables) - set(TABLES)
    if unknown:
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(str(Path(arguments.parley).resolve()), Path(folder), 1 if arguments.quick else REPETITIONS)
        text = report(bench, arguments.tables or list(TABLES))
    if not arguments.quick and not arguments.tables:
        RESULTS.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
