"""Parley in Python, cell by cell: sparse data, a certified fit, a penalty by cross-validation, a path, a saved model.

Run it as a script, or open it as a notebook in an editor that knows `# %%`.
"""

# %% Texts as bags of words: two topics share most of their words.
import numpy as np
import parley
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

rng = np.random.default_rng(0)
vocabulary = np.array([f"word{i}" for i in range(3000)])
common = 1.0 / np.arange(1, 3001)
topics = [common * rng.gamma(4.0, size=3000) for _ in range(2)]
y = rng.integers(2, size=2000)
texts = [" ".join(rng.choice(vocabulary, size=80, p=topics[k] / topics[k].sum())) for k in y]
train_texts, test_texts, y_train, y_test = train_test_split(texts, y, random_state=0)

# %% The matrix is sparse and stays so; float32 goes to the core without a copy.
words = TfidfVectorizer(dtype=np.float32)
X, X_test = words.fit_transform(train_texts), words.transform(test_texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz} non-zeros, {X.dtype}")

# %% Fit, with a certificate: no model of this form has an objective lower than this one's by more than gap_.
model = parley.LogisticRegression(C=10.0, tol=1e-6).fit(X, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}")
print(f"objective {model.objective_:.6f}, at most {model.gap_:.1e} above the best")

# %% The log of the run: how the gap closed.
for row in model.run_:
    print(f"round {row['round']}: relative gap {row['relative_gap']:.1e}")

# %% The strength of the penalty by cross-validation, as a part of a pipeline.
pipeline = make_pipeline(TfidfVectorizer(dtype=np.float32), parley.LinearSVC())
search = GridSearchCV(pipeline, {"linearsvc__C": [0.01, 0.1, 1.0]}, cv=3).fit(train_texts, y_train)
print(f"chosen {search.best_params_}; accuracy {search.score(test_texts, y_test):.3f}")

# %% A path of lambdas with an L1 penalty: which words come in first?
path = parley.path(X, y_train, loss="logistic", l1_ratio=1.0, lambdas=10, lambda_ratio=0.1, full_path=True)
names = words.get_feature_names_out()
for point, coef in zip(path.points, path.coefs[:, 0], strict=True):
    first = ", ".join(names[np.argsort(-np.abs(coef))[: min(3, point["nonzeros"])]])
    print(f"lambda {point['lambda']:.5f}: {point['nonzeros']} words  {first}")

# %% A model as a file, for the command line (`parley predict`) and for other programs.
parley.save(model, "reviews.safetensors")
again = parley.load("reviews.safetensors")
assert np.array_equal(again.predict(X_test), model.predict(X_test))
print(again)
