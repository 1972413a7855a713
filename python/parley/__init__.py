"""Parley: fast training of linear models, topic models and small networks, with scikit-learn's estimators on its core.

>>> from sklearn.datasets import load_breast_cancer
>>> from parley import LogisticRegression
>>> X, y = load_breast_cancer(return_X_y=True)
>>> LogisticRegression(C=0.1).fit(X, y).score(X, y) > 0.9
True
"""

from ._classifiers import LinearSVC, LogisticRegression
from ._cv import ElasticNetCV, LassoCV, LogisticRegressionCV
from ._library import version as _version
from ._model import Model, Path, load, path, save, train
from ._networks import MLPClassifier, MLPRegressor
from ._onnx import export
from ._read import Table, read
from ._regressors import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearSVR,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    TweedieRegressor,
)  # fmt: skip
from ._report import Report, plot, report
from ._ridge import RidgeClassifier, RidgeClassifierCV, RidgeCV
from ._sgd import SGDClassifier, SGDRegressor
from ._topics import LatentDirichletAllocation
from ._unpenalised import LinearRegression

__version__ = _version()
__all__ = [
    "ElasticNet", "ElasticNetCV", "GammaRegressor", "HuberRegressor", "Lasso", "LassoCV", "LatentDirichletAllocation",
    "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression", "LogisticRegressionCV", "MLPClassifier",
    "MLPRegressor", "Model", "Path", "PoissonRegressor", "QuantileRegressor", "Report", "Ridge", "RidgeCV",
    "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SGDRegressor", "Table", "TweedieRegressor", "export",
    "load", "path", "plot", "read", "report", "save", "train",
]  # fmt: skip
