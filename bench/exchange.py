"""Parley's all-reduces and MPI's, by size, ranks and support; and the overhead of a run on several ranks."""

import json
import shutil
import statistics
import subprocess
from pathlib import Path

from harness import markdown

SIZES = [2**16, 2**18, 2**20, 2**23, 2**26]
SUPPORTS = [1, 5, 10, 20, 100]
SPARSE_SIZE = 2**23
RANKS = (2, 4)
WAYS = {"allreduce": "Parley, allreduce", "driver": "Parley, driver", "mpi": "MPI_Allreduce", "mpi, polite": "MPI_Iallreduce, yielding"}


def spread(values):
    """Like the function of the harness, with enough digits for microseconds."""
    return f"{1e3 * statistics.median(values):.3g} ({1e3 * min(values):.3g}-{1e3 * max(values):.3g})"


def mpiexec():
    return shutil.which("mpiexec.mpich")


def contest(bench, ranks, support, sizes, repetitions):
    """Returns {(bytes, way): seconds of each repetition} from one run of the program."""
    program = Path(bench.parley).with_name("bench_exchange")
    command = [mpiexec(), "-n", ranks, program, repetitions, support, *sizes]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=True)
    lines = map(json.loads, done.stdout.splitlines())
    return {(line["bytes"], line["way"]): line["seconds"] for line in lines}


def dense_rows(bench, ranks):
    found = contest(bench, ranks, 100, SIZES, bench.repetitions)
    rows, worst, polite = [], 0, 0
    for size in SIZES:
        ours = statistics.median(found[size, "allreduce"])
        for way, title in WAYS.items():
            times = found[size, way]
            rows.append([ranks, f"{size >> 10} kB", title, spread(times), f"{statistics.median(times) / ours:.1f}x"])
        polite = max(polite, ours / statistics.median(found[size, "mpi, polite"]))
        worst = max(worst, ours / statistics.median(found[size, "mpi"]))
    if ranks == max(RANKS):
        bench.aim(f"{ranks} ranks, all-reduce, of the time of MPI_Iallreduce (yielding), worst size", polite, 1.2, at_least=False)
        bench.aim(f"{ranks} ranks, all-reduce, of the time of MPI_Allreduce, worst size", worst, 1.2, at_least=False)
    return rows


def sparse_rows(bench):
    ranks, rows, worst = max(RANKS), [], 0
    found = {support: contest(bench, ranks, support, [SPARSE_SIZE], bench.repetitions) for support in SUPPORTS}
    dense = statistics.median(found[100][SPARSE_SIZE, "allreduce"])
    for support in SUPPORTS:
        times = found[support][SPARSE_SIZE, "allreduce"]
        share = statistics.median(times) / dense
        rows.append([f"{support} %", spread(times), f"{share:.2f}"])
        worst = max(worst, share) if support <= 10 else worst
    bench.aim(f"{ranks} ranks, sparse updates of at most 10 %, of the time of dense ones", worst, 1, at_least=False)
    return rows


def overhead_rows(bench):
    """The time of `cocoa+` with automatic H on four ranks, split by `parley report`."""
    data, log = bench.folder / "imdb.parley", bench.folder / "ranks.jsonl"
    if not data.exists():
        subprocess.run([bench.parley, "convert", str(bench.data("imdb").path), str(data), "--quiet"], check=True)
    command = [mpiexec(), "-n", "4", bench.parley, "train", str(data), "--preset", "cocoa+", "--workers", "4", "--quiet"]
    command += ["--local-steps", "auto", "--log", str(log), "--model", str(bench.folder / "ranks.safetensors")]

    def run():
        subprocess.run(command, capture_output=True, timeout=120, check=True)
        done = subprocess.run([bench.parley, "report", "--json", str(log)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["seconds"]

    runs = bench.repeat({"run": run}, warm=True)["run"]
    parts = ("total", "setup", "rounds", "compute", "evaluate", "master", "overhead", "exchange", "wait")
    rounds = statistics.median(run["rounds"] for run in runs)
    rows = [
        [part, spread([run[part] for run in runs]), f"{100 * statistics.median(run[part] for run in runs) / rounds:.0f} %"]
        for part in parts
    ]
    share = statistics.median(run["overhead"] / run["rounds"] for run in runs)
    bench.aim("imdb, cocoa+ on 4 ranks: overhead of the rounds, in percent", 100 * share, 5, at_least=False)
    both = statistics.median((run["overhead"] + run["master"]) / run["rounds"] for run in runs)
    rows.append(["master and overhead", "", f"{100 * both:.1f} %"])
    return rows


def table_exchange(bench):
    """Exchanges between processes"""
    if not mpiexec() or not Path(bench.parley).with_name("bench_exchange").exists():
        return "MPICH is not installed, so this table is left out.\n"
    dense = [row for ranks in RANKS for row in dense_rows(bench, ranks)]
    text = "All-reduce of doubles over the ranks of this machine; time of the slowest rank.\n\n"
    text += markdown(["ranks", "size", "way", "ms, median (range)", "against Parley"], dense)
    text += f"\nParley's allreduce of {SPARSE_SIZE >> 20} MB at {max(RANKS)} ranks, by the share of the update that is not 0.\n\n"
    text += markdown(["support", "ms, median (range)", "of the dense time"], sparse_rows(bench))
    text += "\n`parley report` of `cocoa+` on imdb, 4 ranks, automatic H (docs/log.md explains the parts).\n\n"
    return text + markdown(["part", "ms, median (range)", "of the rounds"], overhead_rows(bench))
