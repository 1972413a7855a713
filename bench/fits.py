"""Tables of single fits: file to model, solving, reading, threads, the cost of the certificate, memory."""

import statistics
import time

from evaluate import read_parley
from harness import RACE_HEAD, markdown, median_ratio, race_rows, ratio, spread
from peers import SNAPML_LADDER, TARGET, Liblinear, Parley, PythonPeer, clocked, reading_liblinear

PROBLEMS = [
    ("imdb", "logistic"),
    ("imdb", "hinge"),
    ("a9a", "logistic"),
    ("sgemm", "squared"),
    ("cadata", "squared"),
]


def contestants(bench, data, loss):
    columns = data.rows[0].shape[1]
    text, folder = data.path, bench.folder
    if loss == "logistic":
        peers = [Liblinear(text, columns, solver, folder) for solver in (7, 0)]
        return peers + [PythonPeer("Snap ML", "snapml-logistic", text, folder, SNAPML_LADDER)]
    if loss == "hinge":
        return [
            Liblinear(text, columns, 3, folder),
            PythonPeer("Snap ML", "snapml-hinge", text, folder, SNAPML_LADDER),
        ]
    solvers = ["cholesky", "sparse_cg", "lsqr"]
    return [
        Liblinear(text, columns, 11, folder, ("-c", 0.5, "-p", 0)),
        PythonPeer("scikit-learn Ridge", "ridge", text, folder, solvers, "solver"),
    ]


def race(bench, name, loss):
    """Races all contestants on one problem with C = 1 and no intercept. A strict LIBLINEAR run helps to find the optimum."""
    data = bench.data(name)
    peers = contestants(bench, data, loss)
    ours = Parley(bench.parley, data.path, loss, bench.folder)
    long = Parley(bench.parley, data.path, loss, bench.folder, ("--threads", 2, "--gap", 1e-10, "--seconds", 60))
    strict = [long.run] + [lambda peer=peer: peer.run(peer.ladder[-1]) for peer in peers if isinstance(peer, Liblinear)]
    return bench.race((name, loss), data.problem(loss), ours, peers, strict)


def race_table(bench, field):
    rows = []
    for name, loss in PROBLEMS:
        rows += race_rows(f"{bench.data(name).title} {loss}", race(bench, name, loss), field)
    return markdown(RACE_HEAD, rows)


def table_model(bench):
    """File to model"""
    table = race_table(bench, "total")
    for name, loss, peer, wanted in (
        ("imdb", "logistic", "LIBLINEAR -s 7", 8),
        ("imdb", "hinge", "LIBLINEAR -s 3", 4),
        ("a9a", "logistic", "LIBLINEAR -s 0", 6),
    ):
        found = median_ratio(race(bench, name, loss), peer, "total")
        bench.aim(f"{name} {loss}, file to model, against {peer}", found, wanted)
    return (
        "Wall time of a fresh process from a text file to a model on disk; for Python peers the time of reading and of "
        "the first fit, without starting Python and importing. Two threads, no intercept, lambda = 1/n (C = 1).\n\n"
    ) + table


def table_solve(bench):
    """Solve alone"""
    table = race_table(bench, "solve")
    found = median_ratio(race(bench, "imdb", "logistic"), "Snap ML", "solve")
    bench.aim("imdb logistic, solve alone, against Snap ML", found, 2.5)
    return (
        "The same runs, data in memory: Parley's setup, compute, exchange, wait and evaluate; the peer's `fit`, the "
        "better of two in its process.\n\n"
    ) + table


def sklearn_reading(data):
    from sklearn.datasets import load_svmlight_file

    began = time.perf_counter()
    load_svmlight_file(str(data.path))
    return time.perf_counter() - began


def one_round(bench, data, threads):
    loss = "squared" if data.name in ("sgemm", "cadata") else "logistic"
    return Parley(bench.parley, data.path, loss, bench.folder, ("--threads", threads, "--rounds", 1)).run().read


def table_read(bench):
    """Reading alone"""
    rows = []
    for name in ("imdb", "a9a", "sgemm"):
        data = bench.data(name)
        found = bench.repeat(
            {
                "Parley": lambda: one_round(bench, data, 2),
                "LIBLINEAR": lambda: reading_liblinear(data.path, bench.folder),
                "scikit-learn": lambda: sklearn_reading(data),
            },
            warm=True,
        )
        megabytes = data.path.stat().st_size / 1e6
        for system, times in found.items():
            rate = megabytes / statistics.median(times)
            rows.append([data.title, system, spread(times), f"{rate:,.0f}", ratio(times, found["Parley"])])
        if name == "imdb":
            for peer, wanted in (("LIBLINEAR", 15), ("scikit-learn", 40)):
                bench.aim(
                    f"imdb, reading, against {peer}",
                    statistics.median(found[peer]) / statistics.median(found["Parley"]),
                    wanted,
                )
    text = (
        "LIBSVM text to a matrix in memory. Parley uses two threads (`seconds.read`). LIBLINEAR is ended right after reading "
        "by an invalid tolerance, and its time on a file of one line is subtracted. scikit-learn uses "
        "`load_svmlight_file`. Each is timed right after an uncounted warm-up run.\n\n"
    )
    return text + markdown(["data", "system", "ms, median (range)", "MB/s", "against Parley"], rows)


def table_threads(bench):
    """One thread and two"""
    data, rows = bench.data("imdb"), []
    calls = {}
    for threads in (1, 2):
        peer = Parley(bench.parley, data.path, "logistic", bench.folder, ("--threads", threads, "--gap", TARGET))
        calls[threads] = peer.run
    found = bench.repeat(calls, warm=True)
    for part, words in (
        ("read", "reading imdb"),
        ("solve", "imdb logistic, solve"),
        ("total", "imdb logistic, file to model"),
    ):
        one, two = ([getattr(run, part) for run in found[threads]] for threads in (1, 2))
        lanes = "" if part == "read" else f"{found[1][0].summary['lanes']} and {found[2][0].summary['lanes']}"
        rows.append([words, lanes, spread(one), spread(two), ratio(one, two)])
        if part != "total":
            bench.aim(f"{words}, two threads against one", statistics.median(one) / statistics.median(two), 1.5)
    return "Lanes are left at their default.\n\n" + markdown(
        ["what", "lanes", "1 thread, ms", "2 threads, ms", "gain"], rows
    )


def table_certificate(bench):
    """Cost of the certificate"""
    rows = []
    for name, loss in PROBLEMS:
        runs = [run.summary for run in race(bench, name, loss)["Parley"][1]]
        evaluate, compute = ([run["seconds"][part] for run in runs] for part in ("evaluate", "compute"))
        share = statistics.median(e / c for e, c in zip(evaluate, compute))
        last = runs[-1]
        rows.append(
            [
                f"{bench.data(name).title} {loss}",
                last["preset"],
                last["rounds"],
                f"{last['relative_gap']:.1e}",
                spread(compute),
                spread(evaluate),
                f"{share:.1%}",
            ]
        )
        bench.aim(f"{name} {loss}, certificate, share of compute", share, 0.1, at_least=False)
    text = "Seconds spent on the objective and the duality gap against seconds of computing, in the runs above.\n\n"
    return text + markdown(["problem", "method", "rounds", "certified", "compute, ms", "evaluate, ms", "share"], rows)


def table_memory(bench):
    """Memory"""
    rows = []
    for name, loss in (("imdb", "logistic"), ("a9a", "logistic"), ("sgemm", "squared")):
        data, cache = bench.data(name), bench.folder / f"{name}.parley"
        clocked([bench.parley, "convert", data.path, cache, "--quiet"])
        size = cache.stat().st_size
        for source, path in (("cache", cache), ("text", data.path)):
            peer = Parley(bench.parley, path, loss, bench.folder)
            peak = max(peer.run().summary["peak_rss_bytes"] for _ in range(min(3, bench.repetitions)))
            model = read_parley(peer.model)[0].nbytes
            bound = 1.3 * size + model + 64e6 if source == "cache" else 2.2 * size
            rows.append(
                [f"{data.title} {loss}", source, f"{size / 1e6:.1f}", f"{peak / 1e6:.1f}", f"{peak / size:.2f}x"]
            )
            if name == "imdb":
                words = "1.3x the cache, the model and 64 MB" if source == "cache" else "2.2x the cache"
                bench.aim(f"imdb, peak from {source}, as a share of {words}", peak / bound, 1.0, at_least=False)
    text = (
        "Peak resident memory of `parley train`, from the mapped cache and from text. On small data, the program "
        "itself dominates.\n\n"
    )
    return text + markdown(["problem", "from", "cache, MB", "peak, MB", "peak / cache"], rows)
