#!/usr/bin/env python3
"""Topic models against scikit-learn, gensim and tomotopy: processor time, and completion by `parley eval` for all.

    bench/topics.py PARLEY TRAIN.docword TEST.docword [--topics 20,100] [--passes 1] [--sweeps 20] [--repeat 2]

Each line is a run: who, topics, passes, seconds of user time without reading, million non-zeros (variational) or tokens
(sampled) per second, and the completion perplexity on TEST. Runs of all systems alternate, on one thread each.
"""

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

ALPHA, ETA, BATCH = 0.1, 0.01, 256


def load(path):
    with open(path) as file:
        documents, words, _ = (int(next(file)) for _ in range(3))
        entries = np.loadtxt(file, dtype=np.int64)
    places = entries[:, 0] - 1, entries[:, 1] - 1
    return sp.csr_matrix((entries[:, 2].astype(float), places), shape=(documents, words))


def user():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def children():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def write(path, topics):
    """A model file of Parley with these parameters."""
    count, words = topics.shape
    topics = np.maximum(topics, 1e-30).astype(np.float32)
    tensors = {
        "alpha": {"dtype": "F64", "shape": [count], "data_offsets": [0, 8 * count]},
        "topics": {"dtype": "F32", "shape": [count, words], "data_offsets": [8 * count, 8 * count + 4 * topics.size]},
    }
    head = json.dumps({"__metadata__": {"format": "parley-lda-1", "eta": str(ETA)}, **tensors}).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + np.full(count, ALPHA).tobytes() + topics.tobytes())


def scikit_learn(X, topics, passes):
    from sklearn.decomposition import LatentDirichletAllocation

    lda = LatentDirichletAllocation(
        topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method="online",
        batch_size=BATCH,
        max_iter=passes,
        random_state=1,
        total_samples=X.shape[0],
    )
    began = user()
    lda.fit(X)
    return user() - began, lda.components_


def gensim(X, topics, passes):
    import gensim

    rows = gensim.matutils.Sparse2Corpus(X, documents_columns=False)
    names = {i: str(i) for i in range(X.shape[1])}
    began = user()
    lda = gensim.models.LdaModel(
        rows,
        num_topics=topics,
        id2word=names,
        alpha=[ALPHA] * topics,
        eta=ETA,
        chunksize=BATCH,
        passes=passes,
        decay=0.7,
        offset=10,
        iterations=100,
        eval_every=None,
        random_state=1,
    )
    return user() - began, lda.state.get_lambda()


def tomotopy(X, topics, sweeps):
    import tomotopy

    lda = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=ETA, seed=1)
    for i in range(X.shape[0]):
        row = X[i]
        lda.add_doc(np.repeat(row.indices, row.data.astype(int)).astype(str).tolist())
    lda.optim_interval = 0
    lda.train(0)
    began = user()
    lda.train(sweeps, workers=1)
    seconds = user() - began
    found = np.full((topics, X.shape[1]), ETA)
    columns = [int(word) for word in lda.used_vocabs]
    for k in range(topics):
        found[k, columns] = lda.get_topic_word_dist(k) * lda.get_count_by_topics()[k] + 1e-12
    return seconds, found


def parley(binary, path, model, topics, passes, *options):
    began = children()
    out = subprocess.run(
        [
            binary,
            "topics",
            path,
            "--topics",
            str(topics),
            "--passes",
            str(passes),
            "--threads",
            "1",
            "--quiet",
            "--json",
            "--model",
            model,
            *options,
        ],
        check=True,
        capture_output=True,
    )
    seconds = json.loads(out.stdout)["seconds"]
    share = seconds["compute"] / seconds["total"]  # of the user time, as of the time on the clock
    return (children() - began) * share, None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("files", nargs=3)
    arguments.add_argument("--topics", default="20,100")
    arguments.add_argument("--passes", type=int, default=1)
    arguments.add_argument("--sweeps", type=int, default=20)
    arguments.add_argument("--repeat", type=int, default=2)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    binary, train, test = given.files
    X = load(train)
    tokens = X.sum()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "m.safetensors")
        for topics in map(int, given.topics.split(",")):
            systems = [
                (
                    "parley collapsed",
                    lambda topics=topics: parley(binary, train, model, topics, given.passes),
                    given.passes,
                    X.nnz,
                ),
                (
                    "parley variational",
                    lambda topics=topics: parley(
                        binary, train, model, topics, given.passes, "--inference", "variational", "--batch", str(BATCH)
                    ),
                    given.passes,
                    X.nnz,
                ),
                ("scikit-learn", lambda topics=topics: scikit_learn(X, topics, given.passes), given.passes, X.nnz),
                ("gensim", lambda topics=topics: gensim(X, topics, given.passes), given.passes, X.nnz),
                (
                    "parley gibbs",
                    lambda topics=topics: parley(
                        binary,
                        train,
                        model,
                        topics,
                        given.sweeps,
                        "--preset",
                        "angel-lda",
                        "--burn-in",
                        str(given.sweeps),
                    ),
                    given.sweeps,
                    tokens,
                ),
                ("tomotopy", lambda topics=topics: tomotopy(X, topics, given.sweeps), given.sweeps, tokens),
            ]
            for _ in range(given.repeat):
                for name, run, passes, units in systems:
                    if not any(word in name for word in given.only.split(",")):
                        continue
                    seconds, found = run()
                    if found is not None:
                        write(model, found)
                    score = json.loads(subprocess.check_output([binary, "eval", model, test, "--json"]))["completion"]
                    print(
                        f"{name:20} K {topics:5} passes {passes:4} {seconds:8.2f} s "
                        f"{units * passes / seconds / 1e6:8.3f} M/s  completion {score:8.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    sys.exit(main())
