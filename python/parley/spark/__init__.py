"""Parley inside Spark: estimators of pyspark.ml that are fitted by native processes in Spark's executors."""

from ._estimators import LinearRegression, LinearSVC, LogisticRegression

__all__ = ["LinearRegression", "LinearSVC", "LogisticRegression"]
