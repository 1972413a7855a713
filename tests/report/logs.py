"""Logs for tests of reports, and the data of a page read back. The oracle is the log itself, read by Python."""

import base64
import json
import random
import struct
import zlib

MARKS = '<script type="application/json" id="data">', "</script>"
PHASES = ("compute", "wait", "exchange", "evaluate")


def read_log(path):
    """The lines of a log that are JSON objects."""
    lines = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return [line for line in lines if isinstance(line, dict)]


def rounds_of(path):
    return [line for line in read_log(path) if line.get("event") == "round"]


def raw_data(path):
    """The text of the data in a page."""
    text = path.read_text()
    begin = text.index(MARKS[0]) + len(MARKS[0])
    return text[begin : text.index(MARKS[1], begin)]


def unpack(column, members, count):
    """The numbers of packed columns: a list for each member, NaN as None."""
    packed = zlib.decompress(base64.b64decode(column["bytes"], validate=True))
    width, code = {"ns": (4, "<I"), "f8": (8, "<d")}[column["type"]]
    assert len(packed) == members * count * width, "the length of a column"
    found = []
    for m in range(members):
        base = m * count * width
        rows = [packed[base + b * count : base + (b + 1) * count] for b in range(width)]
        numbers = [struct.unpack(code, bytes(row[i] for row in rows))[0] for i in range(count)]
        if column["type"] == "ns":
            numbers = [None if n == 2**32 - 1 else n / 1e9 for n in numbers]
        found.append([None if n is None or n != n else n for n in numbers])
    return found


def page_data(path):
    """The runs in a page, with columns by name."""
    data = json.loads(raw_data(path))
    for run in data["runs"]:
        for part in ("rounds", "workers", "ranks"):
            members = run[part]["members"]
            columns = run[part]["columns"].items()
            run[part] = {name: unpack(column, members, run["count"]) for name, column in columns}
    return data


def make_log(path, rounds, workers, ranks=1, seed=1, settings=None, stop=True, name="cocoa+"):
    """A log as a run would write it, of any size."""
    draw = random.Random(seed)
    hosts = [0] * ranks
    start = {
        "event": "start",
        "version": "0.1.0",
        "problem": "linear",
        "preset": name,
        "local": "sdca",
        "combine": "add",
    }
    start |= {
        "exchange": "allreduce",
        "engine": "mpi",
        "rows": 1000,
        "columns": 100,
        "nonzeros": 5000,
        "fingerprint": "0" * 16,
    }
    start |= {
        "workers": workers,
        "lanes": 1,
        "threads": 1,
        "ranks": ranks,
        "hosts": hosts,
        "cores": 1,
        "repeatable": True,
    }
    start |= {"settings": {"gap": "1e-06", "local_epochs": "1", "local_steps": "auto", **(settings or {})}}
    now, gap = 0.01, 1.0
    with open(path, "w") as file:
        file.write(json.dumps(start) + "\n")
        for number in range(1, rounds + 1):
            spans = [[round(draw.uniform(0.0004, 0.001), 9) for _ in PHASES] for _ in range(workers)]
            now = round(now + max(map(sum, spans)), 9)
            gap *= 1 - 5.0 / rounds
            line = {
                "event": "round",
                "round": number,
                "seconds": now,
                "epochs": float(number),
                "sigma": 2.0 + number / rounds,
            }
            line |= {
                "gamma": 1.0,
                "local_epochs": 1.0 + number % 3,
                "local_steps": 100,
                "pace": None,
                "evaluated": True,
            }
            line |= {"objective": 0.4 + gap / 2, "dual": 0.4 - gap / 2, "gap": gap, "relative_gap": gap}
            line["workers"] = [
                {"worker": k, **dict(zip(PHASES, one)), "bytes_sent": 800, "bytes_received": 800}
                for k, one in enumerate(spans)
            ]
            line["ranks"] = [
                {
                    "rank": r,
                    "local": 0.001,
                    "cpu": 0.0009,
                    "wait": 0.0001,
                    "exchange": 0.0002,
                    "master_cpu": 0.0,
                    "evaluate": 0.0,
                }
                | {
                    "evaluate_cpu": 0.0,
                    "bytes_sent": 500,
                    "bytes_received": 500,
                    "cpu_seconds": now,
                    "resident_bytes": 10**7 + number,
                }
                | {"wire_bytes_sent": 1000 * number, "wire_bytes_received": 1000 * number}
                for r in range(ranks)
            ]
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        if stop:
            end = {
                "event": "stop",
                "status": "converged",
                "rounds": rounds,
                "epochs": float(rounds),
                "objective": 0.4 + gap / 2,
            }
            end |= {
                "dual": 0.4 - gap / 2,
                "gap": gap,
                "relative_gap": gap,
                "setup": 0.01,
                "compute": now / 2,
                "exchange": now / 4,
            }
            end |= {
                "wait": now / 8,
                "evaluate": now / 8,
                "bytes_sent": 800 * workers * rounds,
                "rank_bytes_sent": 0,
                "seconds": now,
            }
            file.write(json.dumps(end) + "\n")
