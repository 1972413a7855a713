"""Parley inside Spark: estimators of pyspark.ml that are fitted by native processes in Spark's executors.

from parley.spark import LogisticRegression
model = LogisticRegression(regParam=1e-4).fit(df)  # a pyspark.ml LogisticRegressionModel
model.parley["relative_gap"]
"""

from ._estimators import LinearRegression, LinearSVC, LogisticRegression
from ._topics import LDA
from ._train import SparkModel, train

__all__ = ["LDA", "LinearRegression", "LinearSVC", "LogisticRegression", "SparkModel", "train"]
