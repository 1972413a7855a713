"""Fixtures for the tests of parley.spark. SPARK_TEST_MASTER names the master, or `standalone` for a cluster on loopback that
the tests start and stop; SPARK_TEST_ALL=1 runs the long tests too."""
import glob
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
MASTER = os.environ.get("SPARK_TEST_MASTER", "local[2]")
ALL = os.environ.get("SPARK_TEST_ALL") == "1"

os.environ["PARLEY_TEST_RUN"] = MARK = f"tests-{os.getpid()}-{time.time_ns()}"  # what these tests start inherits it

long = pytest.mark.skipif(not ALL, reason="a long test: make check-spark")


def session(master, **conf):
    """A session that is bound to loopback."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("parley-tests")
    for name, value in {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g", "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", **conf,
    }.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def started():
    """Identifiers of the processes that these tests have started, also of those whose parents are gone."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if MARK.encode() in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


def processes(*words):
    """Identifiers of the processes of these tests whose command lines contain all words."""
    found = []
    for pid in started():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z" and all(word in line for word in words):
            found.append(int(pid))
    return found


def ranks():
    """Native processes of runs in Spark: ranks and their guards, and launchers."""
    return processes("parley", "--row-order content") + processes("parley", "launch --hosts")


def memory_files():
    """Memory files of rows that some process still holds."""
    found = []
    for pid in started():
        try:
            names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        found += [pid for name in names if "memfd:parley-rows" in name]
    return found


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def folders():
    """Temporary folders of drivers in this process."""
    return glob.glob(os.path.join(tempfile.gettempdir(), f"parley-{os.getpid()}-*"))


def clean(seconds=15):
    """Waits until nothing is left of a run, also no temporary folder; returns what is."""
    until(lambda: not ranks() and not memory_files() and not folders(), seconds)
    return ranks(), memory_files() + folders()


class Standalone:
    """A cluster of one master and two workers of one core on loopback, and its processes."""

    def __init__(self, folder):
        import pyspark

        home = os.path.dirname(pyspark.__file__)
        self.environment = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_MASTER_HOST": "127.0.0.1"}
        self.folder, self.started = str(folder), []
        run = [os.path.join(home, "bin", "spark-class"), "org.apache.spark.deploy."]
        port = self._start([run[0], run[1] + "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"],
                           "Starting Spark master at spark://127.0.0.1:")
        self.master = f"spark://127.0.0.1:{port}"
        for _ in range(2):
            self._start([run[0], run[1] + "worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "1g", "--webui-port",
                         "0", "-d", self.folder, self.master], "Successfully registered with master")

    def _start(self, words, sign):
        path = os.path.join(self.folder, f"log-{len(self.started)}")
        with open(path, "wb") as log:
            self.started.append(subprocess.Popen(words, stdout=log, stderr=log, env=self.environment, cwd=self.folder))

        def said():
            with open(path, encoding="utf-8", errors="replace") as log:
                text = log.read()
            return text.split(sign, 1)[1] if sign in text else None

        rest = until(said, 90)
        assert rest is not None, f"no {sign} in {path}"
        return rest.split()[0].rstrip(".") if rest.strip() else ""

    def stop(self):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    cluster = Standalone(tmp_path_factory.mktemp("cluster")) if MASTER == "standalone" else None
    made = session(cluster.master if cluster else MASTER)
    yield made
    made.stop()
    if cluster:
        cluster.stop()


def data(rows=150, columns=5, seed=1):
    """Numbers that float32 holds, with zeros, weights, and labels of two classes, of three and real ones."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, columns)) * np.resize([1, 3, 0.2, 1, 2], columns) + np.resize([0, 1, 0, -1, 0.5], columns)
    x = x.astype(np.float32).astype(float)
    x[:, 3] = np.where(draw.random(rows) < 0.5, 0, x[:, 3])
    z = x @ np.resize([1, -0.3, 2, 0.7, 0], columns) + draw.normal(size=rows)
    labels = {"two": (z > 0).astype(float), "three": np.digitize(z, [-1.5, 1.5]).astype(float), "real": 3 * z + 2}
    return x, draw.integers(1, 4, size=rows) / 2.0, labels


def frame(spark, kind, sparse=False, parts=2, **shape):
    """A persisted frame of features, label and weight."""
    from pyspark.ml.linalg import Vectors

    x, weights, labels = data(**shape)

    def vector(row):
        kept = np.flatnonzero(row).tolist()
        return Vectors.sparse(len(row), kept, row[kept].tolist()) if sparse else Vectors.dense(row.tolist())

    rows = [(vector(row), float(y), float(w)) for row, y, w in zip(x, labels[kind], weights)]
    made = spark.createDataFrame(rows, ["features", "label", "weight"]).repartition(parts).persist()
    made.count()
    return made


@pytest.fixture(scope="session")
def frames(spark):
    """Frames by kind and sparseness, made once."""
    made = {}

    def get(kind, sparse=False):
        if (kind, sparse) not in made:
            made[kind, sparse] = frame(spark, kind, sparse)
        return made[kind, sparse]

    return get
