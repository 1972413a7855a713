#!/usr/bin/env python3
"""Races parley.spark against spark.ml: run.py [--quick] [--data NAME] [--not-standardised] [TABLE ...]. Both fit the same persisted frame in the same
session, in turn, and one evaluator (numpy, on the rows of the file) computes the objective of every model. Classifiers have
regParam = 1/n, with and without standardization. One table with all ratios comes last. docs/benchmarks.md explains it.

logistic   LogisticRegression on imdb and on generated text of 100 million non-zeros with topics, both within 1e-6 of the optimum
svc        LinearSVC on imdb: seconds until both are within 1e-6 of the lowest objective that Spark ever reaches
regression LinearRegression on sgemm (normal equations) and on the ratings of imdb (l-bfgs)
fixed      seconds of a fit on 100 rows in a warm session
rounds     seconds of the rounds on two executors against mpiexec -n 2 parley train

Beside each data set of `logistic` stands the hand-over: MB/s per task of Arrow's bytes, from Spark's cache into memory files, and
of a mapInArrow that only counts bytes, which is the most that Spark allows.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

import numpy as np

SHARED = Path(os.environ.get("PARLEY_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
REAL = {"imdb": "imdb/imdb.train.tfidf.svm.zst", "sgemm": "sgemm/sgemm.logtime.svm.zst"}
MADE = {
    "imdb": ["text", "--rows", "25000", "--columns", "90000", "--nonzeros", "138"],
    "sgemm": ["dense", "--rows", "240000", "--columns", "14"],
    "large": ["text", "--rows", "1000000", "--columns", "600000", "--nonzeros", "101", "--text-topics", "100"],
    "small": ["text", "--rows", "20000", "--columns", "20000", "--nonzeros", "50", "--text-topics", "20"],
}
TARGET = 1e-6
REPETITIONS = 3
LARGE_ITERATIONS = 300  # of Spark on the large data, of which those to the target are counted
SVC_ITERATIONS = 500  # in which Spark has reached its best
LOGISTIC = []  # data of the table logistic, if given
STANDARDIZATION = [True, False]
TABLE = []  # the rows of the last table


def command():
    from parley.spark._task import program

    return program()


class Rows:
    """The rows of a file for the evaluator, as a cache that numpy maps."""

    def __init__(self, name, folder):
        self.name, self.text, cache = name, folder / f"{name}.svm", folder / f"{name}.parley"
        real = SHARED / REAL.get(name, "missing")
        self.title = name if real.exists() else f"{name}, generated"
        if real.exists():
            subprocess.run(["zstd", "-dqf", real, "-o", self.text], check=True)
        else:
            subprocess.run([command(), "generate", *MADE[name][:1], self.text, *MADE[name][1:], "--quiet"], check=True)
        subprocess.run([command(), "convert", self.text, cache, "--quiet"], check=True)
        self.cache = cache
        data = np.memmap(cache, np.uint8, "r")
        size = int(data[:8].view(np.uint64)[0])
        header = json.loads(bytes(data[8 : 8 + size]))
        types = {"U64": np.uint64, "F64": np.float64, "U32": np.uint32, "F32": np.float32}

        def tensor(key):
            begin, end = header[key]["data_offsets"]
            return data[8 + size + begin : 8 + size + end].view(types[header[key]["dtype"]])

        from scipy.sparse import csr_matrix

        meta = header["__metadata__"]
        index = tensor("index").astype(np.int32)
        value = tensor("value").astype(np.float64) if "value" in header else np.ones(len(index))
        self.x = csr_matrix((value, index, tensor("start").astype(np.int64)), (int(meta["rows"]), int(meta["columns"])))
        self.y = np.array(tensor("label"))
        self.nonzeros = self.x.nnz

    def deviations(self):
        mean = np.asarray(self.x.mean(axis=0)).ravel()
        square = self.x.copy()
        square.data **= 2
        n = self.x.shape[0]
        return np.sqrt(np.maximum(np.asarray(square.mean(axis=0)).ravel() - mean**2, 0) * n / (n - 1))

    def frame(self, spark, labels=None):
        """The persisted frame, with as many partitions as slots."""
        df = spark.read.format("libsvm").option("numFeatures", str(self.x.shape[1])).load(str(self.text))
        if labels == "classes":
            df = df.selectExpr("double(label > 0) as label", "features")
        df = df.repartition(2).persist()
        df.count()
        return df


def objective(rows, kind, coef, intercept, strength, scale):
    """Spark's objective."""
    z = rows.x @ coef + intercept
    if kind == "squared":
        loss = 0.5 * (z - rows.y) ** 2
    else:
        margin = np.where(rows.y > 0, z, -z)
        loss = np.logaddexp(0, -margin) if kind == "logistic" else np.maximum(0, 1 - margin)
    return loss.mean() + strength / 2 * ((scale * coef) ** 2).sum()


def timed(estimator, df):
    began = time.monotonic()
    model = estimator.fit(df)
    return time.monotonic() - began, model


def race(ours, theirs, df, repetitions):
    """Median seconds of both, run in turn."""
    seconds = {"parley": [], "spark": []}
    models = {}
    for _ in range(repetitions):
        for name, estimator in (("parley", ours), ("spark", theirs)):
            spent, models[name] = timed(estimator, df)
            seconds[name].append(spent)
    return {name: statistics.median(values) for name, values in seconds.items()}, models


def show(title, **values):
    print(f"{title}: " + ", ".join(f"{k.replace('_', ' ')} {v:.4g}" if isinstance(v, float) else f"{k.replace('_', ' ')} {v}"
                                   for k, v in values.items()), flush=True)


def result(what, data, setting, mine, other, ratio, asked, note=""):
    """A row of the last table, which is also printed at once."""
    TABLE.append([what, data, setting, *(f"{x:.3g}" if isinstance(x, float) else x for x in (mine, other, ratio)), asked, note])
    print("  ".join(TABLE[-1]), flush=True)


def print_table():
    head = ["what", "data", "setting", "Parley", "other", "ratio", "asked", "note"]
    widths = [max(len(row[i]) for row in [head, *TABLE]) for i in range(len(head))]
    print()
    for row in (head, ["-" * width for width in widths], *TABLE):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |", flush=True)


def session(master, memory):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("parley-bench")
    for name, value in {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
                        "spark.ui.showConsoleProgress": "false", "spark.driver.memory": memory, "spark.executor.memory": memory,
                        "spark.driver.maxResultSize": "0"}.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def hand_over(rows, df):
    """MB/s per task of Arrow's bytes: of a mapInArrow that counts them, and of our hand-over of the same frame."""
    from parley.spark import _session, train

    def count(batches):
        import pyarrow as pa

        began, total = time.monotonic(), sum(batch.nbytes for batch in batches)
        yield pa.RecordBatch.from_pydict({"bytes": [total], "seconds": [time.monotonic() - began]})

    frame = _session._as_stored(_session.columns(df, "features", "label", None))
    floor, ours = [], []
    for _ in range(REPETITIONS):
        parts = frame.mapInArrow(count, "bytes long, seconds double", barrier=True).collect()
        arrow = sum(part["bytes"] for part in parts) / len(parts) / 1e6
        floor.append(arrow / max(part["seconds"] for part in parts))
        facts = train(df, loss="logistic", preset="gd", rounds=1, gap=0, progress=False).parley
        ours.append(arrow / facts["seconds"]["hand_over"])
    stored = facts["hand_over_bytes"] / facts["tasks"] / 1e6
    result("hand-over", rows.title, "MB/s per task", statistics.median(ours), statistics.median(floor),
           statistics.median(ours) / statistics.median(floor), "300 MB/s", f"{arrow:.0f} MB of Arrow, {stored:.0f} MB stored per task")


def iterations_to(history, goal):
    """How many iterations of Spark reach the goal, or None."""
    return next((i for i, value in enumerate(history) if value <= goal), None)


def race_logistic(rows, df, standardization, asked):
    from pyspark.ml import classification

    from parley.spark import LogisticRegression

    strength, large = 1.0 / rows.x.shape[0], rows.name == "large"
    scale, null = rows.deviations() if standardization else 1.0, math.log(2)
    words = {"regParam": strength, "standardization": standardization}

    def reached(model):
        return objective(rows, "logistic", model.coefficients.toArray(), model.intercept, strength, scale)

    def ours(tol):
        return LogisticRegression(**words, tol=tol, maxIter=100000, progress=False)

    best = reached(ours(1e-8).fit(df))
    most = LARGE_ITERATIONS if large else 1000
    whole, tight = timed(classification.LogisticRegression(**words, tol=0.0, maxIter=most), df)
    best, history = min(best, reached(tight)), tight.summary.objectiveHistory
    enough = iterations_to(history, best + TARGET * null)
    tol = 1e-5  # the loosest gap whose model is within the target, as Spark gets the fewest iterations
    while reached(ours(tol).fit(df)) - best > TARGET * null:
        tol /= 2
    if large or enough is None:  # one run of Spark, of which the iterations up to the target count
        runs = sorted((timed(ours(tol), df) for _ in range(REPETITIONS)), key=lambda run: run[0])
        mine, fitted = runs[REPETITIONS // 2]
        their = whole * (enough or len(history)) / len(history)
        above = (history[enough if enough is not None else -1] - best) / null
    else:
        seconds, models = race(ours(tol), classification.LogisticRegression(**words, tol=0.0, maxIter=max(enough, 1)), df, REPETITIONS)
        mine, their, fitted = seconds["parley"], seconds["spark"], models["parley"]
        above = (reached(models["spark"]) - best) / null
    result("LogisticRegression", rows.title, f"standardization={standardization}", mine, their, their / mine, asked,
           f"above optimum {(reached(fitted) - best) / null:.1e}, Spark {above:.1e} after {enough or len(history)} iterations")
    show("  phases", **fitted.parley["seconds"])


def table_logistic(spark, folder, quick):
    for name in LOGISTIC or (("small",) if quick else ("imdb", "large")):
        rows = Rows(name, folder)
        df = rows.frame(spark, "classes")
        print(f"{rows.title}: {rows.x.shape[0]:,} rows, {rows.x.shape[1]:,} columns, {rows.nonzeros:,} non-zeros", flush=True)
        for standardization in STANDARDIZATION:
            race_logistic(rows, df, standardization, "20x" if name == "large" else "8x")
        hand_over(rows, df)
        df.unpersist()


def table_svc(spark, folder, quick):
    from pyspark.ml import classification

    from parley.spark import LinearSVC

    rows = Rows("small" if quick else "imdb", folder)
    df, strength = rows.frame(spark, "classes"), 1.0 / rows.x.shape[0]
    for standardization in STANDARDIZATION:
        scale = rows.deviations() if standardization else 1.0
        words = {"regParam": strength, "standardization": standardization}

        def reached(model, scale=scale):
            return objective(rows, "hinge", model.coefficients.toArray(), model.intercept, strength, scale)

        def ours(tol, words=words):
            return LinearSVC(**words, tol=tol, maxIter=100000, progress=False)

        theirs = classification.LinearSVC(**words, tol=0.0, maxIter=10 if quick else SVC_ITERATIONS)
        whole, model = timed(theirs, df)
        history = model.summary().objectiveHistory
        goal = min(history) + TARGET  # the loss without coefficients is 1
        enough = iterations_to(history, goal)
        their_seconds, tol = whole * enough / len(history), 0.1
        while reached(ours(tol).fit(df)) > goal and tol > 1e-9:
            tol /= 3
        found = [timed(ours(tol), df) for _ in range(REPETITIONS)]
        mine = statistics.median(seconds for seconds, _ in found)
        result("LinearSVC", rows.title, f"standardization={standardization}", mine, their_seconds, their_seconds / mine, "100x",
               f"objective {reached(found[0][1]):.4g}, Spark's best {min(history):.4g} after {enough} of {len(history)} iterations, "
               f"optimum at least {found[0][1].parley['dual']:.4g}")
    df.unpersist()


def table_regression(spark, folder, quick):
    from pyspark.ml import regression

    from parley.spark import LinearRegression

    for name, solver in (("small", "l-bfgs"),) if quick else (("sgemm", "normal"), ("imdb", "l-bfgs")):
        rows = Rows(name, folder)
        df = rows.frame(spark)
        words = {"regParam": 1e-3, "solver": solver}
        tight = {"tol": 1e-10, "maxIter": 300} if solver != "normal" else {}
        scale, strength = rows.deviations(), 1e-3 / rows.y.std(ddof=0 if solver == "normal" else 1)

        def reached(model, rows=rows, strength=strength, scale=scale):
            return objective(rows, "squared", model.coefficients.toArray(), model.intercept, strength, scale)

        best, null = reached(LinearRegression(**words, tol=1e-9, maxIter=100000).fit(df)), 0.5 * rows.y.var()
        if solver != "normal":
            history = regression.LinearRegression(**words, **tight).fit(df).summary.objectiveHistory
            tight = {"tol": 0.0, "maxIter": max(1, iterations_to(history, history[-1] + TARGET * history[0]))}
        tol = 1e-3
        while (reached(LinearRegression(**words, tol=tol, maxIter=100000).fit(df)) - best) / null > TARGET:
            tol /= 3
        seconds, models = race(LinearRegression(**words, tol=tol, maxIter=100000, progress=False),
                               regression.LinearRegression(**words, **tight), df, REPETITIONS)
        result("LinearRegression", rows.title, solver, seconds["parley"], seconds["spark"], seconds["spark"] / seconds["parley"], "5x",
               f"above optimum {(reached(models['parley']) - best) / null:.1e}, Spark {(reached(models['spark']) - best) / null:.1e}")
        df.unpersist()


def table_fixed(spark, folder, quick):
    from pyspark.ml.linalg import Vectors

    from parley.spark import LogisticRegression

    draw = np.random.default_rng(1)
    rows = [(Vectors.dense(draw.normal(size=5).tolist()), float(draw.random() < 0.5)) for _ in range(100)]
    df = spark.createDataFrame(rows, ["features", "label"]).repartition(2).persist()
    df.count()
    found = [timed(LogisticRegression(regParam=0.1), df) for _ in range(2 * REPETITIONS + 4)][4:]
    seconds, model = sorted(found, key=lambda one: one[0])[len(found) // 2]
    result("fixed cost", "100 rows", "seconds", seconds, "", "", "1.5 s", f"of which ranks {model.parley['seconds']['ranks']:.2g}")
    df.unpersist()


def table_rounds(spark, folder, quick):
    """In a session of its own on two executors."""
    from parley.spark import train

    rows = Rows("small" if quick else "imdb", folder)
    df = rows.frame(spark, "classes")
    words = {"loss": "logistic", "lambda": 1.0 / rows.x.shape[0], "gap": 1e-6, "workers": 2, "lanes": 1}
    launcher = shutil.which("mpiexec.mpich") or shutil.which("mpiexec")
    built = Path(__file__).resolve().parents[2] / "build" / "parley"  # the wheel's command has no module for mpiexec
    flags = [word for name, value in words.items() for word in (f"--{name}", f"{value!r}" if isinstance(value, float) else str(value))]
    flags = [flag.strip("'") for flag in flags]
    inside, outside = [], []
    for _ in range(2 * REPETITIONS):
        model = train(df, **{("lambda_" if k == "lambda" else k): v for k, v in words.items()})
        seconds = model.parley["seconds"]
        inside.append(seconds["compute"] + seconds["exchange"] + seconds["wait"] + seconds["evaluate"])
        if launcher:
            done = subprocess.run([launcher, "-n", "2", built, "train", rows.cache, *flags, "--row-order", "content", "--threads", "1",
                                   "--json", "--quiet", "--model", folder / "model"], check=True, capture_output=True)
            said = json.loads(done.stdout)["seconds"]
            outside.append(said["compute"] + said["exchange"] + said["wait"] + said["evaluate"])
    ratio = statistics.median(inside) / statistics.median(outside) if outside else math.nan
    result("seconds of rounds", rows.title, "against mpiexec -n 2", statistics.median(inside),
           statistics.median(outside) if outside else math.nan, ratio, "at most 1.1",
           f"{model.parley['rounds']} rounds, {model.parley['ranks']} ranks")
    df.unpersist()


TABLES = {"logistic": table_logistic, "svc": table_svc, "regression": table_regression, "fixed": table_fixed, "rounds": table_rounds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--quick", action="store_true", help="small generated data, to see that everything runs")
    parser.add_argument("--data", action="append", choices=list(MADE), help="data of the table logistic")
    parser.add_argument("--not-standardised", action="store_true", help="leave out classifiers with standardization")
    given = parser.parse_args()
    LOGISTIC.extend(given.data or [])
    STANDARDIZATION[:] = [False] if given.not_standardised else STANDARDIZATION
    warnings.simplefilter("ignore")  # of runs that stop after the rounds that they are given
    import pyspark

    import parley

    print(f"parley {parley.__version__}, pyspark {pyspark.__version__}, {os.cpu_count()} cores", flush=True)
    memory = "1g" if given.quick else "6g"  # Spark keeps a copy of the rows beside the persisted frame
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        wanted = given.tables or list(TABLES)
        here = [name for name in wanted if name != "rounds"]
        if here:
            spark = session("local[2]", memory)
            for name in here:
                TABLES[name](spark, Path(folder), given.quick)
            spark.stop()
        if "rounds" in wanted:
            spark = session("local-cluster[2,1,1024]", "1g")
            table_rounds(spark, Path(folder), given.quick)
            spark.stop()
    print_table()


if __name__ == "__main__":
    main()
