"""Classifies short reviews inside Spark: a pipeline with cross-validation, a model with a certificate, and `train` with another
loss. Run it with `python examples/spark_reviews.py`, or with spark-submit on a cluster."""
from pyspark.ml import Pipeline
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import HashingTF, IDF, Tokenizer
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession

import parley.spark

GOOD = ["a wonderful film", "great acting and a great story", "I loved every minute", "moving and funny", "a wonderful story"]
BAD = ["a dull film", "terrible acting and no story", "I hated every minute", "boring and loud", "a terrible waste"]


def main():
    spark = SparkSession.builder.appName("reviews").getOrCreate()
    rows = [(f"{text} {i % 7}", label) for i in range(40) for label, texts in ((1.0, GOOD), (0.0, BAD)) for text in texts]
    reviews = spark.createDataFrame(rows, ["text", "label"]).repartition(2)

    words = Pipeline(stages=[Tokenizer(inputCol="text", outputCol="words"),
                             HashingTF(inputCol="words", outputCol="counts", numFeatures=1 << 12),
                             IDF(inputCol="counts", outputCol="features")]).fit(reviews)
    features = words.transform(reviews).select("features", "label").persist()

    estimator = parley.spark.LogisticRegression(regParam=1e-3)
    model = estimator.fit(features)
    print(f"gap {model.parley['relative_gap']:.1e} after {model.parley['rounds']} rounds with {model.parley['preset']}")

    grid = ParamGridBuilder().addGrid(estimator.regParam, [1e-3, 10.0]).build()
    search = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(), numFolds=2)
    best = search.fit(features).bestModel
    print(f"best regParam {best.getRegParam()}")

    other = parley.spark.train(features, loss="squared-hinge", lambda_=1e-3, workers=2, gap=1e-6)
    right = other.transform(features).filter("prediction = label").count()
    print(f"squared hinge: {right} of {features.count()} right, {other.parley['ranks']} rank(s)")
    spark.stop()


if __name__ == "__main__":
    main()
