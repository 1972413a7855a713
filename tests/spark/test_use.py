"""How the estimators are used: pipelines, cross-validation, save and load, parameters, `train`, the same bytes."""
import json
import os
import pickle
import subprocess

import numpy as np
import pytest
from conftest import clean, data, frame, long, processes
from pyspark.errors import IllegalArgumentException
from pyspark.ml import Pipeline, PipelineModel, classification
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit

import parley.spark
from parley.spark import LinearRegression, LinearSVC, LogisticRegression, _session, _task


def command():
    from parley.spark._task import program

    return program()


@pytest.fixture
def jobs(monkeypatch):
    """Counts hand-overs."""
    counted, run = [], _session.run
    monkeypatch.setattr(_session, "run", lambda *words: counted.append(1) or run(*words))
    return counted


def test_a_model_says_how_it_was_made(frames, tmp_path):
    log = tmp_path / "run.jsonl"
    model = LogisticRegression(regParam=0.01, tol=1e-8, log=log, seed=3).fit(frames("two"))
    facts = model.parley
    assert facts["relative_gap"] <= 1e-8 and facts["status"] == "converged" and facts["seed"] == 3
    assert facts["objective"] >= facts["dual"] and facts["rounds"] >= 1
    for phase in ("hand_over", "read", "compute", "exchange", "wait", "fit"):
        assert facts["seconds"][phase] >= 0
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events[0] == "start" and events[-1] == "stop" and len(events) == facts["rounds"] + 2
    assert clean() == ([], [])


def test_pipelines_and_files(spark, frames, tmp_path):
    words = spark.createDataFrame([("yes" if i % 3 else "no", float(i % 7), float(i % 5)) for i in range(60)], ["word", "a", "b"])
    stages = [StringIndexer(inputCol="word", outputCol="label"), VectorAssembler(inputCols=["a", "b"], outputCol="features"),
              LogisticRegression(regParam=0.1, workers=2)]
    fitted = Pipeline(stages=stages).fit(words)
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert type(again.stages[-1]) is classification.LogisticRegressionModel
    one, other = (m.transform(words).select("probability").collect() for m in (fitted, again))
    assert one == other
    estimator = LogisticRegression(regParam=0.25, elasticNetParam=0.5, threshold=0.3)
    estimator.save(str(tmp_path / "estimator"))
    loaded = LogisticRegression.load(str(tmp_path / "estimator"))
    assert type(loaded) is LogisticRegression and loaded.getRegParam() == 0.25 and loaded.getThreshold() == 0.3
    svc = LinearSVC(regParam=0.1).fit(frames("two"))
    svc.save(str(tmp_path / "svc"))
    assert classification.LinearSVCModel.load(str(tmp_path / "svc")).coefficients == svc.coefficients


def test_several_maps_take_one_hand_over(frames, jobs):
    estimator = LogisticRegression(tol=1e-9)
    maps = [{estimator.regParam: value} for value in (0.01, 0.1, 1.0)]
    models = estimator.fit(frames("two"), maps)
    assert len(jobs) == 1
    alone = [LogisticRegression(tol=1e-9, regParam=value).fit(frames("two")) for value in (0.01, 0.1, 1.0)]
    assert [m.coefficients for m in models] == [m.coefficients for m in alone]
    assert [m.getRegParam() for m in models] == [0.01, 0.1, 1.0]


def test_cross_validation(frames, jobs):
    estimator = LogisticRegression(tol=1e-8)
    grid = ParamGridBuilder().addGrid(estimator.regParam, [0.001, 10.0]).addGrid(estimator.elasticNetParam, [0.0, 0.5]).build()
    search = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(), numFolds=2,
                            seed=1, parallelism=2)
    found = search.fit(frames("two"))
    assert len(jobs) == 3  # a hand-over for each fold, and one for the best model
    assert type(found.bestModel) is classification.LogisticRegressionModel
    assert found.avgMetrics[0] > found.avgMetrics[-1]
    assert clean() == ([], [])


@long
def test_train_validation_split_and_one_vs_rest(frames):
    estimator = LinearRegression()
    grid = ParamGridBuilder().addGrid(estimator.regParam, [0.01, 100.0]).build()
    from pyspark.ml.evaluation import RegressionEvaluator

    found = TrainValidationSplit(estimator=estimator, estimatorParamMaps=grid, evaluator=RegressionEvaluator(), seed=1).fit(frames("real"))
    assert found.bestModel.getRegParam() == 0.01
    rest = classification.OneVsRest(classifier=LinearSVC(regParam=0.01)).fit(frames("three"))
    score = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(rest.transform(frames("three")))
    assert score > 0.6 and len(rest.models) == 3


def test_refusals(spark, frames):
    from pyspark.ml.linalg import DenseMatrix, Vectors

    df = frames("two")

    def refused(sentence, estimator, rows=df):
        with pytest.raises(IllegalArgumentException) as raised:
            estimator.fit(rows)
        assert sentence in str(raised.value), raised.value

    refused("no bounds on coefficients", LogisticRegression(lowerBoundsOnCoefficients=DenseMatrix(1, 5, [0.0] * 5)))
    refused("aggregationDepth has no effect", LogisticRegression(aggregationDepth=3))
    refused("loss huber", LinearRegression(loss="huber"), frames("real"))
    refused("family is binomial", LogisticRegression(family="binomial"), frames("three"))
    refused("two classes", LinearSVC(), frames("three"))
    refused("preset cocoo", LogisticRegression(preset="cocoo"))
    refused("localSteps has no effect", LogisticRegression(preset="lbfgs", localSteps=5))
    for words in ({"family": "wrong"}, {"regParam": -1.0}, {"elasticNetParam": 2.0}, {"maxIter": -1}, {"tol": -1.0}):
        refused(f"parameter {next(iter(words))} given invalid value", LogisticRegression(**words))
    for words, sentence in (({"workers": 0}, "workers 0"), ({"gap": -1.0}, "gap -1"), ({"localSteps": 0}, "localSteps 0"), ({"maxRestarts": -1}, "maxRestarts is -1"),
                            ({"resume": True}, "no effect without checkpointDir"),
                            ({"checkpointEvery": "5r"}, "no effect without checkpointDir")):
        refused(sentence, LogisticRegression(**words))
    with pytest.raises(IllegalArgumentException, match="^(?!.*--)"):
        LogisticRegression(localSteps=0).fit(df)
    refused("parameter solver given invalid value", LinearRegression(solver="wrong"), frames("real"))
    bad = {
        "NaN or infinite": [(Vectors.dense([1.0, float("nan")]), 1.0)],
        "all vectors must have the same size": [(Vectors.dense([1.0]), 1.0), (Vectors.dense([1.0, 2.0]), 0.0)],
        "the features are null": [(None, 1.0), (Vectors.dense([1.0]), 0.0)],
        "the label is null": [(Vectors.dense([1.0]), None), (Vectors.dense([1.0]), 0.0)],
        "all rows have the label 1": [(Vectors.dense([1.0]), 1.0), (Vectors.dense([2.0]), 1.0)],
        "the label is 0.5": [(Vectors.dense([1.0]), 0.5), (Vectors.dense([2.0]), 1.0)],
        "the frame has no rows": [],
    }
    schema = df.select("features", "label").schema
    for sentence, rows in bad.items():
        for parts in (1, 5) if "NaN" in sentence else (2,):
            refused(sentence, LogisticRegression(), spark.createDataFrame(rows * 3, schema).repartition(parts))
    with pytest.raises(IllegalArgumentException, match="there is no option wrong"):
        parley.spark.train(df, wrong=3)
    with pytest.raises(IllegalArgumentException, match="local_steps 0"):
        parley.spark.train(df, local_steps=0)
    with pytest.raises(IllegalArgumentException, match="use weightCol"):
        parley.spark.train(df, weights="file")
    assert clean() == ([], [])


def test_train_gives_the_bytes_of_the_command(spark, tmp_path):
    """However the rows are partitioned, in fewer and in more partitions than there are slots, with empty ones, and
    whether their vectors are sparse, dense or both."""
    x, w, labels = data(rows=300, columns=8)
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{y:g} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) + "\n"
                            for row, y in zip(x.tolist(), labels["two"])))
    words = ["--loss", "logistic", "--lambda", "0.01", "--workers", "4", "--lanes", "1", "--preset", "cocoa+", "--gap", "1e-7"]
    subprocess.run([command(), "train", path, *words, "--row-order", "content", "--quiet", "--model", tmp_path / "model"],
                   check=True, stdout=subprocess.DEVNULL)
    df = frame(spark, "two", rows=300, columns=8)
    mixed = df.filter("weight < 1").union(frame(spark, "two", True, rows=300, columns=8).filter("weight >= 1"))
    for parts in (1, 2, 9):
        for rows in (df.repartition(parts), mixed.repartition(parts, "label")):
            model = parley.spark.train(rows, loss="logistic", lambda_=0.01, workers=4, preset="cocoa+", gap=1e-7)
            assert model.to_bytes() == (tmp_path / "model").read_bytes(), parts
    model.save(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == (tmp_path / "model").read_bytes()


def test_conversions_agree(spark):
    """What libparley reads from Spark's bytes is what numpy reads from Arrow's arrays, for sparse and dense vectors."""
    from pyspark.ml.linalg import Vectors

    draw = np.random.default_rng(8)
    rows = []
    for number in range(500):
        row = np.where(draw.random(90) < 0.7, 0, draw.normal(size=90))
        stored = sorted(set(np.flatnonzero(row)) | {3, 80})  # two zeros among them
        vector = Vectors.dense(row) if number % 3 == 0 else Vectors.sparse(90, stored, row[stored])
        rows.append((vector, float(number % 2)))
    _session._ship_by_value()
    df = _session.columns(spark.createDataFrame(rows, ["features", "label"]).coalesce(1), "features", "label", None)

    def read(frame, converter):
        def task(batches):
            import pickle

            import pyarrow as pa

            reader = _task.Rows({"weighted": False, "classes": True, "left_out": [5, 7]})
            assert reader.converter is not None
            reader.converter = reader.converter if converter else None
            for batch in batches:
                blob = pickle.dumps(reader.read(batch))
                yield pa.RecordBatch.from_arrays([pa.array([blob], pa.binary())], ["blob"])

        return [pickle.loads(row.blob) for row in frame.mapInArrow(task, "blob binary").collect()]

    stored = _session._as_stored(df)
    assert stored.schema != df.schema
    ways = [read(stored, True), read(stored, False), read(df, False)]
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    ways.append(read(_session._as_stored(df), True))
    spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    for other in ways[1:]:
        for one, same in zip(ways[0], other):
            assert one[0] == same[0] == 90
            assert all(np.array_equal(one[i], same[i]) for i in (1, 2, 4, 5))
    assert sum(len(one[1]) for one in ways[0]) == 500


def test_sums_do_not_depend_on_partitions(frames):
    """The penalty of LinearRegression is scaled by the deviation of the labels, which is computed exactly."""
    words = {"regParam": 0.1, "workers": 3, "weightCol": "weight"}
    models = [LinearRegression(**words).fit(frames("real").repartition(parts)) for parts in (1, 2, 5)]
    assert len({(m.coefficients.toArray().tobytes(), m.intercept, m.parley["lambda"]) for m in models}) == 1


def test_exact_sums():
    from fractions import Fraction

    from parley.spark._task import SCALE, exact_sum

    draw = np.random.default_rng(5)
    values = draw.normal(size=1000) * 10.0 ** draw.integers(-300, 300, size=1000)
    values[:3] = 0.0, -5e-324, 1.7e308
    assert Fraction(exact_sum(values), 2**SCALE) == sum(map(Fraction, values.tolist()))


def test_workers_keep_no_descriptors(frames):
    """Spark uses the same Python processes for many tasks."""

    def most():
        return max(len(os.listdir(f"/proc/{pid}/fd")) for pid in processes("pyspark.daemon"))

    estimator = LogisticRegression(regParam=0.1)
    maps = [{estimator.regParam: value} for value in (0.1, 0.2, 0.3)]
    estimator.fit(frames("two"), maps)
    before = most()
    for _ in range(3):
        estimator.fit(frames("two"), maps)
    assert most() <= before + 1


def test_transform(spark, frames):
    x, w, labels = data()
    df = frames("two", True)
    model = parley.spark.train(df, weightCol="weight", loss="logistic", preset="ma-sgd", rounds=20)
    assert model.parley["preset"] == "ma-sgd" and len(model.run) == model.parley["rounds"]
    rows = model.transform(df, rawPredictionCol="raw", probabilityCol="p").collect()
    dense = np.array([row["features"].toArray() for row in rows])
    assert (np.array([row["prediction"] for row in rows]) == model.predict(dense)).all()
    assert np.abs(np.array([row["p"].toArray() for row in rows]) - model.predict_proba(dense)).max() < 1e-6
    assert rows[0]["raw"][1] == -rows[0]["raw"][0]
    table = spark.createDataFrame([(float(a), float(b), float(a - 2 * b)) for a in range(9) for b in range(7)], ["a", "b", "y"])
    model = parley.spark.train(table, ["a", "b"], "y", loss="squared", lambda_=1e-9, gap=1e-12)
    assert np.abs(model.coef - [1, -2]).max() < 1e-4
    found = model.transform(table, ["a", "b"])
    assert found.columns == ["a", "b", "y", "prediction"]
    assert max(abs(row["y"] - row["prediction"]) for row in found.collect()) < 1e-3


def test_offsets(spark):
    random = np.random.default_rng(5)
    x, offset = random.normal(size=(200, 2)), np.log(random.uniform(0.5, 4.0, 200))
    y = random.poisson(np.exp(x @ [0.5, -0.3] + offset))
    df = spark.createDataFrame([(*map(float, row), float(o), float(count)) for row, o, count in zip(x, offset, y)], ["a", "b", "o", "y"])
    model = parley.spark.train(df, ["a", "b"], "y", offsetCol="o", loss="poisson", lambda_=0.01, gap=1e-9)
    alone = parley.PoissonRegressor(alpha=0.01, tol=1e-9).fit(x, y, offset=offset)
    np.testing.assert_allclose(model.coef[0], [*alone.coef_, 1.0], atol=1e-5)
    found = [row.prediction for row in model.transform(df, ["a", "b"], offsetCol="o").collect()]
    np.testing.assert_allclose(found, alone.predict(x, offset=offset), rtol=1e-4)
    with pytest.raises(IllegalArgumentException, match="trained with offsets; give offsetCol"):
        model.transform(df, ["a", "b"])
    with pytest.raises(IllegalArgumentException, match="use offsetCol"):
        parley.spark.train(df, ["a", "b"], "y", offset_column="o")


def test_placement(spark, frames, monkeypatch):
    """What cannot work is refused at once."""
    from parley.spark._session import Cluster

    class Conf:
        def __init__(self, **values):
            self.values = values

        def get(self, name, otherwise=None):
            return self.values.get(name, otherwise)

    cluster = Cluster(spark.sparkContext)
    assert cluster.check() >= 2 and min(cluster.cores()) >= 1
    for values, sentence in (({"spark.dynamicAllocation.enabled": "true"}, "spark.executor.instances"),
                             ({"spark.executor.pyspark.memory": "1g"}, "spark.executor.memoryOverhead")):
        cluster.conf = Conf(**values)
        with pytest.raises(IllegalArgumentException, match=sentence):
            cluster.check()
    cluster.conf = Conf()
    monkeypatch.setattr(_session, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(cluster, "slots", lambda: 0)
    with pytest.raises(IllegalArgumentException, match="no executor has offered a slot"):
        cluster.check()


def test_connect_is_refused():
    class Session:
        pass

    Session.__module__ = "pyspark.sql.connect.session"
    frame_of_connect = type("DataFrame", (), {"sparkSession": Session()})()
    with pytest.raises(IllegalArgumentException, match="Spark Connect"):
        parley.spark.train(frame_of_connect)


@long
def test_a_session_of_connect_is_refused(tmp_path):
    """By every estimator and by train, on a server of Spark Connect on loopback."""
    pytest.importorskip("grpc")
    program = tmp_path / "connect.py"
    program.write_text("""
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession
import parley.spark as p
if __name__ == "__main__":
    builder = SparkSession.builder.remote("local[1]").config("spark.connect.grpc.binding.address", "127.0.0.1")
    spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate()
    df = spark.createDataFrame([(Vectors.dense([float(i), 1.0]), float(i % 2)) for i in range(10)], ["features", "label"])
    print("rows", df.count())
    for fit in (p.train, p.LogisticRegression().fit, p.LinearSVC().fit, p.LinearRegression().fit, p.LDA(k=2).fit):
        try:
            fit(df)
        except Exception as refusal:
            print(type(refusal).__name__, refusal)
    spark.stop()
""")
    done = subprocess.run([os.environ["PYSPARK_PYTHON"], program], capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "SPARK_TESTING": "1"})
    assert "rows 10" in done.stdout, done.stderr[-3000:]
    assert done.stdout.count("IllegalArgumentException parley.spark does not work through Spark Connect") == 5, done.stdout


@long
def test_the_same_bytes_on_any_number_of_executors(tmp_path):
    """1, 2 and 4 executors, and the command; each cluster in a process of its own, since a process has one Spark context."""
    program = tmp_path / "bytes.py"
    program.write_text(f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from conftest import frame, session
import parley.spark
if __name__ == "__main__":
    spark = session(sys.argv[1])
    df = frame(spark, "three", sparse=True, parts=5, rows=400, columns=9)
    model = parley.spark.train(df, weightCol="weight", loss="softmax", lambda_=0.01, workers=6, gap=1e-7)
    open(sys.argv[2], "wb").write(model.to_bytes())
    print("ranks", model.parley["ranks"])
    spark.stop()
""")
    x, weights, labels = data(rows=400, columns=9)
    rows = tmp_path / "rows.svm"
    rows.write_text("".join(f"{y:g} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) + "\n"
                            for row, y in zip(x.tolist(), labels["three"])))
    (tmp_path / "weights").write_text("".join(f"{w!r}\n" for w in weights.tolist()))
    subprocess.run([command(), "train", rows, "--weights", tmp_path / "weights", "--loss", "softmax", "--lambda", "0.01",
                    "--workers", "6", "--lanes", "1", "--gap", "1e-7", "--row-order", "content", "--quiet", "--model", tmp_path / "model"],
                   check=True, stdout=subprocess.DEVNULL)
    models, counts = {(tmp_path / "model").read_bytes()}, []
    for master in ("local[1]", "local-cluster[1,2,512]", "local-cluster[2,1,512]", "local-cluster[4,1,512]"):
        done = subprocess.run([os.environ["PYSPARK_PYTHON"], program, master, tmp_path / "model"], capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        counts.append(done.stdout.split("ranks ")[1].split()[0])
        models.add((tmp_path / "model").read_bytes())
    assert counts == ["1", "1", "2", "4"] and len(models) == 1
