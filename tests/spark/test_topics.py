"""parley.spark.LDA: its model is Spark's own, its figures are those that Spark computes, and its topics are those of the
command."""
import subprocess

import numpy as np
import pytest
from conftest import clean, long
from pyspark.errors import IllegalArgumentException
from pyspark.ml import Pipeline, PipelineModel, clustering
from pyspark.ml.linalg import Vectors

from parley import LatentDirichletAllocation
from parley.spark import LDA

WORDS, TOPICS = 40, 4
# With this seed every number of workers finds the four blocks; with others some end in a local optimum.
SETTINGS = {"k": TOPICS, "maxIter": 40, "subsamplingRate": 0.25, "learningOffset": 8.0, "learningDecay": 0.6, "seed": 9}


def counts(documents=240, seed=2):
    """Documents whose words come from one or two of four blocks of the vocabulary."""
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(documents):
        blocks = draw.choice(TOPICS, size=2) * (WORDS // TOPICS)
        words = np.concatenate([block + draw.integers(0, WORDS // TOPICS, size=12) for block in blocks])
        rows.append(np.bincount(words, minlength=WORDS).astype(float))
    return np.array(rows)


def documents(spark, x, parts=2):
    rows = [(number, Vectors.sparse(WORDS, np.flatnonzero(row).tolist(), row[row > 0].tolist())) for number, row in enumerate(x)]
    made = spark.createDataFrame(rows, ["id", "features"]).repartition(parts).persist()
    made.count()
    return made


@pytest.fixture(scope="module")
def corpus(spark):
    return documents(spark, counts())


def of_core(model):
    """The model of the core with the topics of a model of Spark."""
    lda = LatentDirichletAllocation(TOPICS, inference="variational")
    lda.components_ = model.topicsMatrix().toArray().T
    lda.doc_topic_prior_ = model.estimatedDocConcentration().toArray()
    lda.topic_word_prior_, lda.n_features_in_, lda.n_batch_iter_ = 1.0 / TOPICS, WORDS, 1
    return lda


def test_the_model_is_that_of_spark(corpus, tmp_path, recwarn):
    model = LDA(**SETTINGS, topicDistributionCol="topics").fit(corpus)
    assert not [str(one.message) for one in recwarn if "stopped" in str(one.message)]
    assert type(model) is clustering.LocalLDAModel and not model.isDistributed()
    assert model.vocabSize() == WORDS and model.parley["rounds"] == 40
    described = model.describeTopics(WORDS // TOPICS).orderBy("topic").collect()
    blocks = sorted(tuple(sorted(row.termIndices)) for row in described)
    assert blocks == [tuple(range(b, b + WORDS // TOPICS)) for b in range(0, WORDS, WORDS // TOPICS)]
    rows = model.transform(corpus).orderBy("id").collect()
    proportions = np.array([row["topics"].toArray() for row in rows])
    assert np.abs(proportions - of_core(model).transform(counts())).max() < 0.01
    assert abs(model.logPerplexity(corpus) - np.log(of_core(model).perplexity(counts()))) < 0.01
    model.save(str(tmp_path / "model"))
    again = clustering.LocalLDAModel.load(str(tmp_path / "model"))
    assert again.topicsMatrix() == model.topicsMatrix() and again.getTopicDistributionCol() == "topics"
    assert clean() == ([], [])


@long
def test_figures_are_those_of_spark(spark, corpus):
    """Spark's logPerplexity of our topics is minus the bound that the core computes for them, on new documents as well, and no
    worse than that of the topics that Spark finds with the same parameters."""
    words = {**SETTINGS, "docConcentration": [0.25], "topicConcentration": 0.25}
    ours = LDA(**words).fit(corpus)
    theirs = clustering.LDA(**words, optimizeDocConcentration=False).fit(corpus)
    new = counts(80, seed=9)
    for x, df in ((counts(), corpus), (new, documents(spark, new))):
        assert abs(ours.logPerplexity(df) - np.log(of_core(ours).perplexity(x))) < 0.01
        assert ours.logPerplexity(df) < theirs.logPerplexity(df) + 0.02


def test_topics_are_those_of_the_command(corpus, tmp_path):
    """However the documents are partitioned."""
    from parley.spark._task import program

    x = counts()
    path = tmp_path / "rows.svm"
    path.write_text("".join("0 " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(row) if v) + "\n" for row in x))
    words = ["--topics", "4", "--alpha", "0.25", "--eta", "0.25", "--batch", "60", "--tau0", "8", "--kappa", "0.6", "--seed", str(SETTINGS["seed"]),
             "--rounds", "40", "--preset", "angel-svi", "--inference", "variational", "--workers", "3", "--lanes", "1"]
    subprocess.run([program(), "topics", path, *words, "--row-order", "content", "--quiet", "--model", tmp_path / "model"],
                   check=True, stdout=subprocess.DEVNULL)
    wanted = LatentDirichletAllocation.load(tmp_path / "model").components_
    for parts in (1, 2, 5):
        model = LDA(**SETTINGS, docConcentration=[0.25], workers=3).fit(corpus.repartition(parts))
        assert np.array_equal(model.topicsMatrix().toArray().T, wanted), parts


@long
def test_pipelines_and_parameters(corpus, tmp_path):
    fitted = Pipeline(stages=[LDA(**SETTINGS)]).fit(corpus)
    learnt = fitted.stages[0].estimatedDocConcentration().toArray()
    assert len(learnt) == TOPICS and len(set(learnt)) > 1  # learnt by default, as in Spark
    fitted.save(str(tmp_path / "pipeline"))
    assert PipelineModel.load(str(tmp_path / "pipeline")).stages[0].vocabSize() == WORDS
    estimator = LDA(**SETTINGS)
    estimator.save(str(tmp_path / "estimator"))
    loaded = LDA.load(str(tmp_path / "estimator"))
    assert type(loaded) is LDA and loaded.getK() == TOPICS and loaded.getSeed() == SETTINGS["seed"]
    models = estimator.fit(corpus, [{estimator.k: 2}, {estimator.k: 3}])
    assert [model.topicsMatrix().numCols for model in models] == [2, 3]
    averaged = LDA(**SETTINGS, preset="ma-lda", docConcentration=[0.3], optimizeDocConcentration=False).fit(corpus)
    assert averaged.parley["preset"] == "ma-lda" and averaged.parley["rounds"] == 10
    assert set(averaged.estimatedDocConcentration().toArray()) == {0.3}
    for words, sentence in (({"optimizer": "em"}, "optimizer em"), ({"gap": 0.1}, "no duality gap"), ({"k": 900}, "900"),
                            ({"docConcentration": [0.1, 0.2, 0.3, 0.4]}, "one value for all topics"),
                            ({"checkpointInterval": 3}, "checkpointInterval has no effect"),
                            ({"docConcentration": [0.1], "optimizeDocConcentration": True}, "leave one of them out")):
        with pytest.raises(IllegalArgumentException, match=sentence):
            LDA(**{**SETTINGS, **words}).fit(corpus)
