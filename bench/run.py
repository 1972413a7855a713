#!/usr/bin/env python3
"""Races Parley against its peers: run.py PARLEY [--quick] [table ...]. docs/benchmarks.md explains the tables.

The contestants of a table run in turn, in a new random order in each repetition, and medians are compared. Prints each
table when it is done, and writes them to bench/RESULTS.md unless --quick is given. Named tables replace only their own
sections there, which say when they were measured.
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
from presets import table_presets
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
    "presets": table_presets,
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


def run_tables(bench, names):
    """Runs the tables and prints each when it is done. Returns {title: text}."""
    sections = {}
    for name in names:
        table = TABLES[name]
        sections[table.__doc__] = table(bench)
        print(f"## {table.__doc__}\n\n{sections[table.__doc__]}", flush=True)
    return sections


def sections_of(text):
    """The head of a page, and {title: text} of its sections."""
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return head, {title: body.strip("\n") + "\n" for title, body in (part.split("\n", 1) for part in parts)}


def aims_of(section):
    """The rows of a table of aims, as lists of cells."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def page(bench, sections, known=""):
    """The whole page: new sections in place of those of a known page."""
    head, old = sections_of(known)
    when = f"Measured on {datetime.date.today()}, load {os.getloadavg()[0]:.1f} at the end.\n\n" if known else ""
    aims = {row[0]: row for row in aims_of(old.pop("Aims", "")) + bench.aims}
    parts = {**old, **{title: when + text for title, text in sections.items()}}
    if aims:
        parts["Aims"] = markdown(["what", "found", "aim", "met"], aims.values())
    return (head or f"# Benchmark results\n\n{machine(bench)}\n") + "\n".join(
        f"## {title}\n\n{text}" for title, text in parts.items()
    )


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
        sections = run_tables(bench, arguments.tables or list(TABLES))
        text = page(bench, sections, RESULTS.read_text() if arguments.tables else "")
    print(markdown(["what", "found", "aim", "met"], bench.aims) if bench.aims else "")
    if not arguments.quick:
        RESULTS.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
