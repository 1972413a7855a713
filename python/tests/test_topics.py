"""Topic models agree with scikit-learn and gensim, and are found again by the sampler."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from parley import LatentDirichletAllocation
from sklearn.decomposition import LatentDirichletAllocation as Oracle
from sklearn.feature_extraction.text import CountVectorizer

PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}


def corpus(documents=300, words=80, topics=6, seed=0):
    """Documents drawn from the model."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(words, 0.05), topics)
    theta = rng.dirichlet(np.full(topics, 0.2), documents)
    return sp.csr_matrix(np.array([rng.multinomial(60, row @ beta) for row in theta]), dtype=float)


@pytest.fixture(scope="module")
def given():
    """scikit-learn's topics, in both."""
    X = corpus()
    oracle = Oracle(6, **PRIORS, random_state=0, max_iter=5, max_doc_update_iter=5000, mean_change_tol=1e-10).fit(X)
    ours = LatentDirichletAllocation(6, **PRIORS, inference="variational", max_iter=1).fit(X)
    ours.components_ = oracle.components_.copy()
    return X, oracle, ours


def test_proportions_and_bounds_are_those_of_scikit_learn(given):
    X, oracle, ours = given
    np.testing.assert_allclose(ours.transform(X), oracle.transform(X), atol=1e-5)
    np.testing.assert_allclose(np.log(ours.perplexity(X)), np.log(oracle.perplexity(X)), rtol=1e-6)
    np.testing.assert_allclose(ours.score(X), oracle.score(X), rtol=1e-6)
    np.testing.assert_allclose(ours.exp_dirichlet_component_, oracle.exp_dirichlet_component_, rtol=1e-5)


def test_proportions_and_bounds_are_those_of_gensim(given):
    gensim = pytest.importorskip("gensim")
    X, oracle, ours = given
    rows = gensim.matutils.Sparse2Corpus(X, documents_columns=False)
    theirs = gensim.models.LdaModel(
        rows, num_topics=6, id2word={i: str(i) for i in range(X.shape[1])}, alpha=[0.1] * 6, eta=0.01, iterations=5000,
        gamma_threshold=1e-10, passes=1, random_state=1, dtype=np.float64,
    )  # fmt: skip
    theirs.state.sstats = oracle.components_ - 0.01
    theirs.sync_state()
    gamma, _ = theirs.inference(list(rows))
    np.testing.assert_allclose(ours.transform(X), gamma / gamma.sum(axis=1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(-np.log(ours.perplexity(X)), theirs.log_perplexity(list(rows)), rtol=1e-4)


def lee():
    """300 pieces of Australian news, which gensim carries, with the words of at least two of them."""
    datapath = pytest.importorskip("gensim.test.utils").datapath
    with open(datapath("lee_background.cor"), encoding="utf-8") as file:
        return CountVectorizer(min_df=2).fit_transform(file).astype(float)


def associated_press():
    """The Associated Press corpus of Blei, if the environment variable PARLEY_DATA names a folder with ap.dat."""
    path = Path(os.environ.get("PARLEY_DATA", "")) / "ap.dat"
    if not os.environ.get("PARLEY_DATA") or not path.exists():
        pytest.skip("no ap.dat in the folder PARLEY_DATA")
    rows, columns, counts = [], [], []
    for number, line in enumerate(path.read_text().splitlines()):
        for pair in line.split()[1:]:
            word, count = pair.split(":")
            rows.append(number), columns.append(int(word)), counts.append(float(count))
    return sp.csr_matrix((counts, (rows, columns)))


@pytest.mark.parametrize("documents", [corpus, lee, associated_press])
def test_batch_steps_are_those_of_scikit_learn(documents):
    """From the same topics, variational EM has the same objective after each of 20 passes over all documents."""
    X = documents()
    exact = {**PRIORS, "max_iter": 1, "max_doc_update_iter": 200}
    oracle = Oracle(6, **exact, random_state=0, mean_change_tol=1e-5).fit(X)
    ours = LatentDirichletAllocation(6, **exact, inference="variational", mean_change_tol=1e-5).fit(X)
    ours.components_ = oracle.components_.copy()
    for _ in range(20):
        ours._run(X, {**ours._settings(), "passes": 1}, ours._model())  # as fit does, but from these topics
        oracle._em_step(X, total_samples=X.shape[0], batch_update=True)
        np.testing.assert_allclose(ours.score(X), oracle.score(X), rtol=1e-3)


@pytest.mark.parametrize(
    "options", [{"max_iter": 100}, {"learning_method": "online"}, {"learning_method": "gibbs", "max_iter": 200}]
)
def test_held_out_documents_are_predicted_as_well_as_by_scikit_learn(options):
    X, test = corpus(400, seed=1), corpus(400, seed=1)[:200]
    oracle = Oracle(6, **PRIORS, random_state=0, max_iter=20).fit(X)
    reference = LatentDirichletAllocation(6, **PRIORS, max_iter=1).fit(X)
    reference.components_ = oracle.components_
    scores = [
        LatentDirichletAllocation(6, **PRIORS, **{"max_iter": 20, "random_state": seed, **options})
        .fit(X)
        .completion(test)
        for seed in (2, 3, 4)
    ]
    assert min(scores) < 1.02 * reference.completion(test)  # some starts lead to worse optima, theirs too


def test_partial_fits_go_on(tmp_path):
    X = corpus()
    lda = LatentDirichletAllocation(6, **PRIORS, total_samples=300, batch_size=50, learning_offset=1)
    scores = []
    for _ in range(8):
        for part in range(3):
            lda.partial_fit(X[part * 100 : part * 100 + 100])
        scores.append(lda.completion(X))
    assert lda.n_batch_iter_ == 1 + 8 * 3 * 2
    assert scores[-1] < scores[0]
    again = pickle.loads(pickle.dumps(lda))
    np.testing.assert_array_equal(again.transform(X), lda.transform(X))
    lda.save(tmp_path / "m.safetensors")
    loaded = LatentDirichletAllocation.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.transform(X), lda.transform(X))
    assert loaded.n_batch_iter_ == lda.n_batch_iter_


def test_priors_are_learnt():
    X = corpus(500, seed=3)
    lda = LatentDirichletAllocation(
        6, doc_topic_prior="auto", topic_word_prior="auto", learning_method="online", max_iter=30
    ).fit(X)
    assert np.shape(lda.doc_topic_prior_) == (6,)
    assert 0.03 < np.mean(lda.doc_topic_prior_) < 0.6  # drawn with 0.2
    assert 0.01 < lda.topic_word_prior_ < 0.25  # drawn with 0.05


def test_the_command_line_reads_what_python_wrote(tmp_path):
    parley = shutil.which("parley")
    if not parley:
        pytest.skip("no parley on the path")
    lda = LatentDirichletAllocation(3).fit(corpus())
    lda.save(tmp_path / "m.safetensors")
    found = subprocess.run([parley, "dump", tmp_path / "m.safetensors", "--top", "3"], capture_output=True, text=True)
    assert found.returncode == 0 and len(found.stdout.splitlines()) == 3, (found, sys.version)


def test_bad_counts_are_refused():
    with pytest.raises(ValueError, match="Negative values"):
        LatentDirichletAllocation(2).fit([[1.0, -1.0]])
    with pytest.raises(ValueError, match="whole"):
        LatentDirichletAllocation(2, learning_method="gibbs").fit([[1.5, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="learning_method"):
        LatentDirichletAllocation(2, learning_method="other").fit([[1.0, 1.0]])


@pytest.mark.parametrize("how", [{}, {"learning_method": "online"}, {"inference": "variational"}])
def test_the_bound_is_the_perplexity_of_the_documents(how):
    X = np.random.default_rng(0).poisson(0.5, size=(60, 30))
    model = LatentDirichletAllocation(4, max_iter=3, random_state=1, **how).fit(X)
    assert model.bound_ == pytest.approx(model.perplexity(X))


def test_documents_without_words():
    model = LatentDirichletAllocation(4).fit(np.zeros((5, 3)))
    np.testing.assert_allclose(model.components_, 0.25)
    np.testing.assert_allclose(model.transform(np.zeros((2, 3))), 0.25)
    X = np.random.default_rng(0).poisson(0.5, size=(60, 30))
    X[::7] = 0
    np.testing.assert_allclose(LatentDirichletAllocation(4).fit(X).transform(X)[::7], 0.25, atol=1e-6)
