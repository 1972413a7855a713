#!/usr/bin/env python3
"""Races parley.spark against spark.ml: run.py [--quick] [TABLE ...]. Both fit the same persisted frame in the same session, and
one evaluator (numpy, on the rows of the file) computes the objective of every model. docs/benchmarks.md explains the tables.

logistic   LogisticRegression on imdb and on generated text of 100 million non-zeros, both within 1e-6 of the optimum
svc        LinearSVC on imdb, to the objective that Spark's reaches at its best
regression LinearRegression on sgemm (normal equations) and on the ratings of imdb (l-bfgs)
fixed      seconds of a fit on 100 rows in a warm session
hand-over  MB/s per task from Spark's cache into memory files
rounds     seconds of the rounds on two executors against mpiexec -n 2 parley train
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
    "large": ["text", "--rows", "1000000", "--columns", "100000", "--nonzeros", "100"],
    "small": ["text", "--rows", "20000", "--columns", "20000", "--nonzeros", "50"],
}
TARGET = 1e-6
REPETITIONS = 5


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


def table_logistic(spark, folder, quick):
    from pyspark.ml import classification

    from parley.spark import LogisticRegression

    for name in ("small",) if quick else ("imdb", "large"):
        rows = Rows(name, folder)
        df, strength, scale = rows.frame(spark, "classes"), 1.0 / rows.x.shape[0], rows.deviations()
        null = math.log(2)

        def reached(model, rows=rows, strength=strength, scale=scale):
            return objective(rows, "logistic", model.coefficients.toArray(), model.intercept, strength, scale)

        best = reached(LogisticRegression(regParam=strength, tol=1e-9, maxIter=100000).fit(df))
        tight = classification.LogisticRegression(regParam=strength, tol=0.0, maxIter=1000 if name != "large" else 400).fit(df)
        best = min(best, reached(tight))
        history = tight.summary.objectiveHistory
        enough = next((i for i, value in enumerate(history) if value - best <= TARGET * null), len(history) - 1)
        theirs = classification.LogisticRegression(regParam=strength, tol=0.0, maxIter=max(enough, 1))
        tol = 1e-6
        while reached(LogisticRegression(regParam=strength, tol=tol, maxIter=100000).fit(df)) - best > TARGET * null:
            tol /= 2
        ours = LogisticRegression(regParam=strength, tol=tol, maxIter=100000)
        seconds, models = race(ours, theirs, df, 1 if name == "large" else REPETITIONS)
        show(f"logistic, {rows.title} ({rows.nonzeros:,} non-zeros)", ratio=seconds["spark"] / seconds["parley"],
             parley_seconds=seconds["parley"], spark_seconds=seconds["spark"], spark_iterations=enough,
             parley_above=(reached(models["parley"]) - best) / null, spark_above=(reached(models["spark"]) - best) / null)
        facts = models["parley"].parley
        show("  phases", **{k: v for k, v in facts["seconds"].items()})
        per_task = facts["hand_over_bytes"] / facts["tasks"] / facts["seconds"]["hand_over"] / 1e6
        show("  hand-over", megabytes_per_second_and_task=per_task, tasks=facts["tasks"], megabytes=facts["hand_over_bytes"] / 1e6)
        df.unpersist()


def table_svc(spark, folder, quick):
    from pyspark.ml import classification

    from parley.spark import LinearSVC

    rows = Rows("small" if quick else "imdb", folder)
    df, strength, scale = rows.frame(spark, "classes"), 1.0 / rows.x.shape[0], rows.deviations()

    def reached(model):
        return objective(rows, "hinge", model.coefficients.toArray(), model.intercept, strength, scale)

    their_seconds, theirs = timed(classification.LinearSVC(regParam=strength, tol=0.0, maxIter=20 if quick else 100), df)
    goal, tol = reached(theirs), 0.2
    while reached(LinearSVC(regParam=strength, tol=tol, maxIter=100000).fit(df)) > goal and tol > 1e-9:
        tol /= 2
    seconds = [timed(LinearSVC(regParam=strength, tol=tol, maxIter=100000), df) for _ in range(REPETITIONS)]
    best = reached(LinearSVC(regParam=strength, tol=1e-7, maxIter=100000).fit(df))
    mine = statistics.median(s for s, _ in seconds)
    show(f"svc, {rows.title}", ratio=their_seconds / mine, parley_seconds=mine, spark_seconds=their_seconds,
         parley_above=reached(seconds[0][1]) / best - 1, spark_above=goal / best - 1)
    df.unpersist()


def table_regression(spark, folder, quick):
    from pyspark.ml import regression

    from parley.spark import LinearRegression

    for name, solver in (("small", "l-bfgs"),) if quick else (("sgemm", "normal"), ("imdb", "l-bfgs")):
        rows = Rows(name, folder)
        df = rows.frame(spark)
        words = {"regParam": 1e-3, "solver": solver}
        tight = {"tol": 1e-10, "maxIter": 2000} if solver != "normal" else {}
        scale, strength = rows.deviations(), 1e-3 / rows.y.std(ddof=0 if solver == "normal" else 1)

        def reached(model, rows=rows, strength=strength, scale=scale):
            return objective(rows, "squared", model.coefficients.toArray(), model.intercept, strength, scale)

        exact = LinearRegression(**words, tol=1e-10, maxIter=100000).fit(df)
        best, null = reached(exact), 0.5 * rows.y.var()
        iterations = 0
        if solver != "normal":
            history = regression.LinearRegression(**words, **tight).fit(df).summary.objectiveHistory
            low = history[-1]
            iterations = next(i for i, v in enumerate(history) if v - low <= TARGET * history[0])
            tight = {"tol": 0.0, "maxIter": max(1, iterations)}
        seconds, models = race(LinearRegression(**words, tol=TARGET, maxIter=100000),
                               regression.LinearRegression(**words, **tight), df, REPETITIONS)
        show(f"regression, {rows.title}, {solver}", ratio=seconds["spark"] / seconds["parley"], parley_seconds=seconds["parley"],
             spark_seconds=seconds["spark"], parley_above=(reached(models["parley"]) - best) / null,
             spark_above=(reached(models["spark"]) - best) / null)
        df.unpersist()


def table_fixed(spark, folder, quick):
    from pyspark.ml.linalg import Vectors

    from parley.spark import LogisticRegression

    draw = np.random.default_rng(1)
    rows = [(Vectors.dense(draw.normal(size=5).tolist()), float(draw.random() < 0.5)) for _ in range(100)]
    df = spark.createDataFrame(rows, ["features", "label"]).repartition(2).persist()
    df.count()
    found = [timed(LogisticRegression(regParam=0.1), df) for _ in range(REPETITIONS + 2)][2:]
    seconds, model = sorted(found, key=lambda one: one[0])[len(found) // 2]
    show("fixed", seconds=seconds, ranks=model.parley["seconds"]["ranks"], hand_over=model.parley["seconds"]["hand_over"])
    df.unpersist()


def table_rounds(spark, folder, quick):
    """In a session of its own on two executors."""
    from parley.spark import train

    rows = Rows("small" if quick else "imdb", folder)
    df = rows.frame(spark, "classes")
    words = {"loss": "logistic", "lambda": 1.0 / rows.x.shape[0], "gap": 1e-6, "workers": 2, "lanes": 1}
    launcher = shutil.which("mpiexec.mpich") or shutil.which("mpiexec")
    flags = [word for name, value in words.items() for word in (f"--{name}", f"{value!r}" if isinstance(value, float) else str(value))]
    flags = [flag.strip("'") for flag in flags]
    inside, outside = [], []
    for _ in range(REPETITIONS):
        model = train(df, **{("lambda_" if k == "lambda" else k): v for k, v in words.items()})
        seconds = model.parley["seconds"]
        inside.append(seconds["compute"] + seconds["exchange"] + seconds["wait"] + seconds["evaluate"])
        if launcher:
            done = subprocess.run([launcher, "-n", "2", command(), "train", rows.cache, *flags, "--row-order", "content", "--threads", "1",
                                   "--json", "--quiet", "--model", folder / "model"], check=True, capture_output=True)
            said = json.loads(done.stdout)["seconds"]
            outside.append(said["compute"] + said["exchange"] + said["wait"] + said["evaluate"])
    ratio = statistics.median(inside) / statistics.median(outside) if outside else math.nan
    show(f"rounds, {rows.title}", ratio=ratio, spark_seconds=statistics.median(inside), rounds=model.parley["rounds"],
         mpiexec_seconds=statistics.median(outside) if outside else math.nan, ranks=model.parley["ranks"])
    df.unpersist()


TABLES = {"logistic": table_logistic, "svc": table_svc, "regression": table_regression, "fixed": table_fixed, "rounds": table_rounds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--quick", action="store_true", help="small generated data, to see that everything runs")
    given = parser.parse_args()
    import pyspark

    import parley

    print(f"parley {parley.__version__}, pyspark {pyspark.__version__}, {os.cpu_count()} cores", flush=True)
    memory = "1g" if given.quick else "8g"
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


if __name__ == "__main__":
    main()
