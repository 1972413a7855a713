"""Topic models, with the parameters, attributes and methods of scikit-learn's estimator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative

from . import _data, _run
from ._compat import Tagged, validate
from ._library import call, ffi, lib, make
from ._report import Reported
from ._run import Watch, threads

if TYPE_CHECKING:
    from typing_extensions import Self


def _pointer(array: np.ndarray, kind: str) -> Any:
    return ffi.cast(f"{kind} *", array.ctypes.data)


def contents(handle: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """The parameters of the topics of a model of the core, their priors in documents, and the struct with the rest."""
    found = ffi.new("parley_topics *")
    if not lib.parley_model_topics(handle, found):
        raise ValueError("this is not a topic model; load it with parley.load")
    shape = found.topics, found.words
    parameters = np.frombuffer(ffi.buffer(getattr(found, "lambda"), 4 * shape[0] * shape[1]), np.float32)
    prior = np.frombuffer(ffi.buffer(found.alpha, 8 * shape[0]), float).copy()
    return parameters.reshape(shape).astype(float), prior, found


class LatentDirichletAllocation(Reported, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Tagged, BaseEstimator):
    """Topics of documents (latent Dirichlet allocation), trained by stochastic variational inference.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    doc_topic_prior : float, 'auto' or None, default=None
        Prior of topics in documents (alpha); None: 1 / n_components; 'auto': learnt, one for each topic.
    topic_word_prior : float, 'auto' or None, default=None
        Prior of words in topics (eta); None: 1 / n_components; 'auto': learnt.
    learning_method : {'batch', 'online', 'gibbs'}, default='batch'
        'batch' uses all documents in each step, 'online' batches of `batch_size`, and 'gibbs' samples.
    learning_decay : float, default=0.7
        Exponent of the rate of step t, (learning_offset + t)^-learning_decay, of 'online'.
    learning_offset : float, default=10.0
        Offset of that rate.
    max_iter : int, default=10
        Passes over the documents in `fit`.
    batch_size : int, default=128
        Documents of a step of 'online' and `partial_fit`.
    evaluate_every : int, default=-1
        Accepted without effect: the objective of each pass comes without cost.
    total_samples : int, default=1000000
        Documents of the whole corpus, for `partial_fit`.
    perp_tol : float, default=0.1
        Accepted without effect: `fit` makes `max_iter` passes.
    mean_change_tol : float, default=0.001
        Share of a document's words that may still change topics when its proportions are found, while training.
    max_doc_update_iter : int, default=100
        Most iterations on the proportions of a document, while training.
    n_jobs : int or None, default=None
        Number of threads. None: all cores.
    verbose : int, default=0
        Above 0: show progress.
    random_state : int, RandomState or None, default=None
        Seed; None: a fixed one. The same seed and number of threads give the same model, bit for bit.
    inference : {'collapsed', 'variational'}, default='collapsed'
        Collapsed updates (CVB0) predict better; variational ones are those of scikit-learn.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Parameters of the topics: expected counts of words plus the prior.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp(E[log(topics)]).
    n_batch_iter_, n_iter_ : int
        Steps and passes that were made.
    bound_ : float
        Perplexity of the documents of `fit`, as `perplexity` gives it; of the words of the last pass of `partial_fit`.
    doc_topic_prior_ : float or ndarray of shape (n_components,)
        The prior of topics in documents.
    topic_word_prior_ : float
        The prior of words in topics.
    n_features_in_ : int
        Number of features in `fit`.

    Examples
    --------
    >>> from parley import LatentDirichletAllocation
    >>> counts = [[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]]
    >>> lda = LatentDirichletAllocation(2, learning_method="online", random_state=1).fit(counts)
    >>> lda.transform(counts).argmax(axis=1).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | str | None = None,
        topic_word_prior: float | str | None = None,
        learning_method: str = "batch",
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        max_iter: int = 10,
        batch_size: int = 128,
        evaluate_every: int = -1,
        total_samples: float = 1e6,
        perp_tol: float = 1e-1,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        inference: str = "collapsed",
    ) -> None:
        for name, value in list(locals().items()):
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags

    def _more_tags(self) -> dict[str, Any]:
        return {"preserves_dtype": [np.float64, np.float32], "requires_positive_X": True}

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _counts(self, X: Any, *, reset: bool, whom: str) -> Any:
        X = validate(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_non_negative(X, whom)
        return X

    def _prior(self, value: Any) -> Any:
        return 1.0 / self.n_components if value is None else value

    def _settings(self) -> dict[str, Any]:
        if self.learning_method not in ("batch", "online", "gibbs"):
            raise ValueError(f"learning_method={self.learning_method!r}: use 'batch', 'online' or 'gibbs'")
        values = {
            "problem": "lda",
            "topics": self.n_components,
            "topic_alpha": self._prior(self.doc_topic_prior),
            "eta": self._prior(self.topic_word_prior),
            "threads": threads(self.n_jobs),
            "workers": 1,
            "seed": self._seed,
        }
        if self.learning_method == "gibbs":
            return {**values, "preset": "angel-lda"}
        return {
            **values,
            "topic_inference": self.inference,
            "batch": "all" if self.learning_method == "batch" else self.batch_size,
            "tau0": self.learning_offset,
            "kappa": self.learning_decay,
            "inner_steps": self.max_doc_update_iter,
            "inner_tolerance": self.mean_change_tol,
        }

    def _draw_seed(self) -> None:
        self.random_state_ = check_random_state(self.random_state)
        whole = self.random_state is None or isinstance(self.random_state, (int, np.integer))
        self._seed = (self.random_state or 1) if whole else int(self.random_state_.randint(2**31 - 1))

    def _run(self, X: Any, values: dict[str, Any], start: Any = ffi.NULL) -> None:
        data = _data.from_arrays(X, threads=threads(self.n_jobs) or 0)
        watch = Watch(self.verbose)
        handle, summary, self.run_ = _run.train(data, {k: v for k, v in values.items() if v is not None}, start, watch)
        self._summary = summary
        self._take(handle)
        self.bound_ = float(np.exp(-summary["bound"]))
        if watch.caught:
            raise watch.caught

    def _take(self, handle: Any) -> None:
        """Copies the arrays of a model of the core."""
        self.components_, prior, found = contents(handle)
        self.doc_topic_prior_ = float(prior[0]) if np.ptp(prior) == 0 else prior
        self.topic_word_prior_ = found.eta
        self.n_batch_iter_ = found.steps + 1
        self._variational = bool(found.variational)

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        from scipy.special import psi

        sums = self.components_.sum(axis=1, keepdims=True)
        return np.exp(psi(self.components_) - psi(sums))

    def _model(self) -> Any:
        parameters = np.ascontiguousarray(self.components_, np.float32)
        alpha = np.ascontiguousarray(np.broadcast_to(self.doc_topic_prior_, len(parameters)), float)
        given = ffi.new("parley_topics *")
        given.topics, given.words = parameters.shape
        setattr(given, "lambda", _pointer(parameters, "float"))
        given.alpha, given.eta = _pointer(alpha, "double"), self.topic_word_prior_
        given.steps, given.variational = self.n_batch_iter_ - 1, self.inference == "variational"
        return make("model", "parley_topics_new", given)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the topics of the documents whose counts of words are the rows of X."""
        X = self._counts(X, reset=True, whom="LatentDirichletAllocation.fit")
        self._draw_seed()
        settings = {**self._settings(), "passes": self.max_iter}
        if X.sum() == 0:
            self._take_priors(settings, X.shape[1])
        else:
            self._run(X, settings)
            self.bound_ = self.perplexity(X)
        self.n_iter_ = self.max_iter
        return self

    def _take_priors(self, settings: dict[str, Any], words: int) -> None:
        """The model of documents without a word."""
        number = 1.0 / self.n_components
        alpha, eta = (number if settings[name] == "auto" else float(settings[name]) for name in ("topic_alpha", "eta"))
        self.components_ = np.full((self.n_components, words), eta)
        self.doc_topic_prior_, self.topic_word_prior_, self.bound_ = alpha, eta, np.nan
        self.n_batch_iter_, self._variational = 1, self.inference == "variational"
        self._summary, self.run_ = {}, np.zeros(0, _run.ROW)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Makes one pass over X in batches, as over a part of a corpus of `total_samples` documents."""
        if self.learning_method == "gibbs":
            raise ValueError("partial_fit needs learning_method='online' or 'batch'")
        first = not hasattr(self, "components_")
        X = self._counts(X, reset=first, whom="LatentDirichletAllocation.partial_fit")
        if first:
            self._draw_seed()
            self.n_iter_ = 0
        values = {**self._settings(), "batch": self.batch_size, "passes": 1, "documents": self.total_samples}
        self._run(X, values, ffi.NULL if first else self._model())
        self.n_iter_ += 1
        return self

    def transform(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """Proportions of topics, one row for each document; with normalize=False, times its words and the prior."""
        check_is_fitted(self)
        X = self._counts(X, reset=False, whom="LatentDirichletAllocation.transform")
        data = _data.from_arrays(X, threads=threads(self.n_jobs) or 0)
        found = np.empty((X.shape[0], len(self.components_)))
        call("parley_decide", self._model(), data.handle, _pointer(found, "double"))
        if not normalize:
            found *= np.asarray(X.sum(axis=1)).reshape(-1, 1) + np.sum(
                np.broadcast_to(self.doc_topic_prior_, found.shape[1])
            )
        return found.astype(X.dtype, copy=False)

    def fit_transform(self, X: Any, y: Any = None, *, normalize: bool = True) -> np.ndarray:
        """Fits, and returns the proportions of the same documents."""
        return self.fit(X, y).transform(X, normalize=normalize)

    def _score(self, X: Any, metric: str, whom: str) -> tuple[float, float]:
        check_is_fitted(self)
        X = self._counts(X, reset=False, whom=f"LatentDirichletAllocation.{whom}")
        data = _data.from_arrays(X, threads=threads(self.n_jobs) or 0)
        value = ffi.new("double *")
        call("parley_score", self._model(), data.handle, metric.encode(), threads(self.n_jobs) or 0, value)
        return value[0], float(X.sum())

    def score(self, X: Any, y: Any = None) -> float:
        """The variational bound of the log likelihood of X."""
        bound, tokens = self._score(X, "bound", "score")
        return bound * tokens

    def perplexity(self, X: Any, sub_sampling: bool = False) -> float:
        """exp(-bound per word) of X."""
        return float(np.exp(-self._score(X, "bound", "perplexity")[0]))

    def completion(self, X: Any) -> float:
        """Perplexity of one half of each document, given the other, by which any two models can be compared."""
        return self._score(X, "completion", "completion")[0]

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model for `parley predict`, `eval` and `dump`."""
        check_is_fitted(self)
        call("parley_model_save", self._model(), os.fsencode(path))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Reads a model that `save` or `parley topics` wrote."""
        handle = make("model", "parley_model_load", os.fsencode(path))
        lda = cls()
        lda._take(handle)
        lda.inference = "variational" if lda._variational else "collapsed"
        lda.n_components, lda.n_features_in_ = lda.components_.shape
        lda.n_iter_, lda._seed = 0, 1
        return lda
