"""Networks agree with scikit-learn on the same weights, learn as well, and are what PyTorch loads."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from parley import MLPClassifier, MLPRegressor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier as Classifier
from sklearn.neural_network import MLPRegressor as Regressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16.0, y, test_size=0.3, random_state=0)


def with_weights(kind, X, y, ours, **options):
    """scikit-learn's estimator with the weights of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = kind(hidden_layer_sizes=ours.hidden_layer_sizes, activation=ours.activation, max_iter=1, **options)
        theirs.set_params(random_state=0).fit(X, y)
    theirs.coefs_ = [coef.copy() for coef in ours.coefs_]
    theirs.intercepts_ = [intercept.copy() for intercept in ours.intercepts_]
    return theirs


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("classes", [2, 10])
def test_predictions_are_those_of_scikit_learn(activation, classes):
    X, test, y, _ = digits()
    X, y = X[y < classes], y[y < classes]
    ours = MLPClassifier((30, 12), activation, max_iter=3, learning_rate_init=0.01).fit(X, y)
    theirs = with_weights(Classifier, X, y, ours)
    np.testing.assert_allclose(ours.predict_proba(test), theirs.predict_proba(test), atol=1e-9)
    assert [c.shape for c in ours.coefs_] == [c.shape for c in theirs.coefs_]
    assert ours.out_activation_ == theirs.out_activation_ and ours.n_layers_ == theirs.n_layers_


@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_a_step_is_that_of_scikit_learn(solver):
    """From the same weights, one step on all rows: the gradients of both, in single and double precision."""
    X, _, y, _ = digits()
    X, y = X[:150], y[:150]
    options = {"solver": solver, "alpha": 0.01, "batch_size": 150, "learning_rate_init": 0.1, "momentum": 0.0}
    ours = MLPClassifier((20,), "tanh", **options).partial_fit(X, y, classes=range(10))
    theirs = Classifier((20,), activation="tanh", shuffle=False, random_state=0, **options).partial_fit(
        X, y, classes=range(10)
    )
    theirs.coefs_ = [coef.copy() for coef in ours.coefs_]
    theirs.intercepts_ = [intercept.copy() for intercept in ours.intercepts_]
    before = [coef.copy() for coef in ours.coefs_]
    ours._memory = ours._steps = None
    ours.partial_fit(X, y)
    from sklearn.neural_network._stochastic_optimizers import AdamOptimizer, SGDOptimizer

    parameters = theirs.coefs_ + theirs.intercepts_
    start = {"adam": lambda: AdamOptimizer(parameters, 0.1), "sgd": lambda: SGDOptimizer(parameters, 0.1, momentum=0.0)}
    theirs._optimizer = start[solver]()
    theirs.partial_fit(X, y)
    scale = max(np.abs(a - b).max() for a, b in zip(theirs.coefs_, before))
    for mine, other in zip(ours.coefs_ + ours.intercepts_, theirs.coefs_ + theirs.intercepts_):
        np.testing.assert_allclose(mine, other, atol=1e-5 * max(1.0, scale) if solver == "sgd" else 2e-3)


def test_digits_are_learnt_as_well_as_by_scikit_learn():
    X, test, y, truth = digits()
    theirs = Classifier((64,), max_iter=60, random_state=0).fit(X, y).score(test, truth)
    for options in ({}, {"workers": 3}, {"preset": "ma-sgd", "workers": 2}, {"preset": "ps-sync", "workers": 2}):
        ours = MLPClassifier((64,), max_iter=60, **options).fit(X, y)
        assert ours.score(test, truth) >= theirs - (0.04 if "preset" in options else 0.02)
        assert len(ours.loss_curve_) == ours.n_iter_ and ours.loss_curve_[-1] < 0.2 * ours.loss_curve_[0]
    assert MLPClassifier((64,), max_iter=60).fit(sp.csr_matrix(X), y).score(sp.csr_matrix(test), truth) >= theirs - 0.02


def test_several_targets_are_learnt_as_well_as_by_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    Y = np.column_stack([y / 100, X[:, 0] * X[:, 1], np.sin(X[:, 2])])
    options = {"max_iter": 300, "learning_rate_init": 0.01, "random_state": 0}
    ours, theirs = (
        MLPRegressor(hidden_layer_sizes=(40,), **options).fit(X, Y),
        Regressor(hidden_layer_sizes=(40,), **options).fit(X, Y),
    )
    assert ours.predict(X).shape == Y.shape
    assert ours.score(X, Y) > theirs.score(X, Y) - 0.05
    np.testing.assert_allclose(ours.predict(X), with_weights(Regressor, X, Y, ours).predict(X), atol=1e-9)


def test_early_stopping_ends_the_fit():
    X, test, y, truth = digits()
    model = MLPClassifier((64,), max_iter=500, early_stopping=True, n_iter_no_change=5, learning_rate_init=0.01).fit(
        X, y
    )
    assert model.n_iter_ < 200 and model.score(test, truth) > 0.93 and model.best_validation_score_ > 0.9
    assert len(model.validation_scores_) == model.n_iter_ and model.best_loss_ is None
    assert model.best_validation_score_ == max(model.validation_scores_)
    assert model.validation_scores_.index(model.best_validation_score_) <= model.n_iter_ - 5
    assert 0.5 < MLPRegressor((16,), early_stopping=True, max_iter=60).fit(X, y / 10).best_validation_score_ < 1
    flat = MLPClassifier((8,), max_iter=500, tol=10.0, n_iter_no_change=3).fit(X, y)
    assert flat.n_iter_ <= 6 and flat.validation_scores_ is None and flat.best_validation_score_ is None


@pytest.mark.parametrize("learning_rate", ["constant", "invscaling", "adaptive"])
def test_rates_of_sgd(learning_rate):
    X, test, y, truth = digits()
    options = {"learning_rate": learning_rate, "learning_rate_init": 0.1, "max_iter": 60}
    assert MLPClassifier((32,), solver="sgd", **options).fit(X, y).score(test, truth) > 0.93


@pytest.mark.parametrize(
    "options",
    [{"solver": "adam"}, {"solver": "sgd"}, {"solver": "sgd", "nesterovs_momentum": False}, {"workers": 2}],
)
def test_partial_fit_remembers_momentum_as_scikit_learn_does(options):
    """Ten calls on all rows as one batch: the trajectories of both, in single and double precision."""
    X, _, y, _ = digits()
    X, y = X[:320], y[:320]  # too many for numpy
    options = {"alpha": 0.01, "batch_size": 320, "learning_rate_init": 0.01, **options}
    ours = MLPClassifier((20,), "tanh", random_state=1, **options).partial_fit(X, y, classes=range(10))
    ours = pickle.loads(pickle.dumps(ours))
    options.pop("workers", None)
    theirs = Classifier((20,), activation="tanh", shuffle=False, random_state=0, **options)
    theirs.partial_fit(X, y, classes=range(10))
    start = MLPClassifier((20,), "tanh", random_state=1, **{**options, "learning_rate_init": 1e-12})
    start.partial_fit(X, y, classes=range(10))
    for mine, other in zip(start.coefs_ + start.intercepts_, theirs.coefs_ + theirs.intercepts_):
        other[...] = mine  # the optimiser of scikit-learn holds these arrays
    theirs._optimizer.__init__(theirs.coefs_ + theirs.intercepts_, **_kept(theirs))
    for _ in range(10):
        theirs.partial_fit(X, y)
    for _ in range(9):
        ours.partial_fit(X, y)
    moved = max(np.abs(a - b).max() for a, b in zip(theirs.coefs_, start.coefs_))
    for mine, other in zip(ours.coefs_ + ours.intercepts_, theirs.coefs_ + theirs.intercepts_):
        np.testing.assert_allclose(mine, other, atol=2e-3 * moved)


def _kept(theirs):
    if theirs.solver == "adam":
        return {"learning_rate_init": theirs.learning_rate_init}
    options = {"momentum": theirs.momentum, "nesterov": theirs.nesterovs_momentum}
    return {"learning_rate_init": theirs.learning_rate_init, **options}


def test_partial_fit_knows_classes_that_are_not_there_yet():
    X, test, y, truth = digits()
    model = MLPClassifier((64,), learning_rate_init=0.005)
    order = np.argsort(y, kind="stable")
    for _ in range(15):
        for part in np.array_split(np.random.default_rng(0).permutation(order), 4):
            model.partial_fit(X[part], y[part], classes=range(10))
    assert model.score(test, truth) > 0.9
    first = model.partial_fit(X[y < 3], y[y < 3])
    assert first.predict_proba(test).shape == (len(test), 10)
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X[:5], [11] * 5)


def test_fits_repeat_and_survive_pickles():
    X, test, y, _ = digits()
    names = np.array(["zero", "one", "two"])
    X, y = X[y < 3], names[y[y < 3]]
    one, two = (MLPClassifier((16,), max_iter=5, random_state=3, n_jobs=1).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(test), pickle.loads(pickle.dumps(two)).predict_proba(test))
    assert set(one.predict(test)) <= set(names)


def test_files_are_what_the_command_and_pytorch_take(tmp_path):
    X, test, y, _ = digits()
    model = MLPClassifier((16,), max_iter=5).fit(X, y)
    model.save(tmp_path / "net.safetensors")
    tensors = pytest.importorskip("safetensors.numpy").load_file(tmp_path / "net.safetensors")
    assert sorted(tensors) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    np.testing.assert_array_equal(tensors["0.weight"].T, model.coefs_[0].astype(np.float32))
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
    net.load_state_dict(pytest.importorskip("safetensors.torch").load_file(tmp_path / "net.safetensors"))
    z = net(torch.tensor(test, dtype=torch.float32)).detach().numpy()
    np.testing.assert_allclose(np.exp(z) / np.exp(z).sum(1, keepdims=True), model.predict_proba(test), atol=1e-5)


def test_wrong_parameters_have_their_sentences():
    X, _, y, _ = digits()
    for options in (
        {"solver": "newton"},
        {"activation": "step"},
        {"learning_rate": "fast"},
        {"hidden_layer_sizes": (0,)},
        {"dropout": 0.5, "solver": "lbfgs"},
    ):
        with pytest.raises(ValueError, match=next(iter(options)).split("_")[0]):
            MLPClassifier(**options).fit(X, y)
    with pytest.raises(ValueError, match="non-finite parameter weights"):
        MLPRegressor(solver="sgd", learning_rate_init=1e9).fit(X * 1e3, y * 1e3)


NUMPY = {"hidden_layer_sizes": (7, 5), "random_state": 2, "max_iter": 15}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "how",
    [
        {"solver": "lbfgs"}, {"solver": "lbfgs", "activation": "tanh"}, {"shuffle": False},
        {"shuffle": False, "solver": "sgd", "learning_rate": "adaptive", "momentum": 0.5},
        {"solver": "sgd", "learning_rate": "invscaling", "power_t": 0.3, "nesterovs_momentum": False},
        {"shuffle": False, "early_stopping": True, "alpha": 0.1, "batch_size": 50},
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["two", "three", "value", "count", "labels"])
def test_networks_in_numpy_are_scikit_learns(kind, how):
    X, _, y, _ = digits()
    X, y = X[:300], y[:300]
    rng = np.random.default_rng(0)
    weight = None if how.get("early_stopping") else rng.integers(1, 4, 300).astype(float)
    name, more = "MLPRegressor" if kind in ("value", "count") else "MLPClassifier", {}
    if kind == "count":
        more["loss"] = "poisson"
    labels = np.column_stack([y > 4, y % 2]).astype(int)
    target = {"two": y > 4, "three": y % 3, "value": y / 3.0, "count": y, "labels": labels}[kind]
    ours, theirs = (MLPClassifier, Classifier) if name == "MLPClassifier" else (MLPRegressor, Regressor)
    found, wanted = (kind(**NUMPY, **how, **more) for kind in (ours, theirs))
    found.fit(X, target, sample_weight=weight)
    wanted.fit(X, target, sample_weight=weight)
    for one, other in zip(found.coefs_ + found.intercepts_, wanted.coefs_ + wanted.intercepts_):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-4)
    assert (found.n_iter_, found.t_) == (wanted.n_iter_, wanted.t_)
    assert found.loss_ == pytest.approx(wanted.loss_, rel=1e-5)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


def test_small_fits_are_scikit_learns():
    X, _, y, _ = digits()
    X, y = X[:100], y[:100]
    for how in ({}, {"solver": "sgd", "early_stopping": True, "learning_rate_init": 0.1, "max_iter": 20}):
        found, wanted = (kind((8,), random_state=4, **how).fit(X, y) for kind in (MLPClassifier, Classifier))
        np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(found.loss_curve_, wanted.loss_curve_, rtol=1e-6)
    one, two = (MLPClassifier((8,), random_state=4, n_jobs=1) for _ in range(2))
    weight = np.arange(100) % 3
    one.fit(X, y, sample_weight=weight)
    two.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)


def test_several_labels_batch_by_batch(tmp_path):
    X, _, y, _ = digits()
    labels = np.column_stack([y > 4, y % 2 == 0, y == 3]).astype(int)
    model = MLPClassifier((20,), learning_rate_init=0.01)
    for _ in range(30):
        model.partial_fit(X, labels, classes=[0, 1, 2])
    assert model.score(X, labels) > 0.8 and model.predict_proba(X).shape == labels.shape
    other = Classifier((20,), learning_rate_init=0.01)
    for _ in range(30):
        other.partial_fit(X, labels, classes=[0, 1, 2])
    assert model.score(X, labels) > other.score(X, labels) - 0.05
    with pytest.raises(ValueError, match="pickle the estimator"):
        model.save(tmp_path / "net.safetensors")
    assert not hasattr(MLPClassifier(solver="lbfgs"), "partial_fit")
    with pytest.raises(ValueError, match="does not support early_stopping"):
        MLPClassifier(early_stopping=True).partial_fit(X, y, classes=range(10))
    with pytest.raises(ValueError, match="valid range of the loss"):
        MLPRegressor(loss="poisson").fit(X, -y)


@pytest.mark.parametrize("how", [{"solver": "sgd", "alpha": 2.0}, {"solver": "adam"}, {"solver": "lbfgs"}])
def test_the_loss_of_several_targets_is_their_mean(how):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = np.column_stack([X @ [1.0, 0.0, 0.5], X @ [0.0, 2.0, 0.0], X[:, 0] ** 2])
    how = {"hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 2 if how["solver"] == "lbfgs" else 20, **how}
    found, wanted = (kind(**how).fit(X, y) for kind in (MLPRegressor, Regressor))
    if how["solver"] == "lbfgs":  # scikit-learn's line search takes the slopes of the sum for those of the mean
        mean = 0.5 * ((found.predict(X) - y) ** 2).mean()
        penalty = 0.5 * found.alpha * sum((w**2).sum() for w in found.coefs_) / len(y)
        assert found.loss_ == pytest.approx(mean + penalty, rel=1e-6)
        return
    np.testing.assert_allclose(found.loss_curve_, wanted.loss_curve_, rtol=1e-6)
    assert (found.loss_, found.n_iter_) == (pytest.approx(wanted.loss_, rel=1e-6), wanted.n_iter_)


def test_the_loss_of_several_targets_in_the_core_is_their_mean():
    X = np.random.default_rng(3).normal(size=(400, 3))
    y = X @ [1.0, 0.0, 0.5]
    how = {"hidden_layer_sizes": (8,), "alpha": 0.0, "random_state": 0, "batch_size": 20, "max_iter": 400}
    model = MLPRegressor(**how).fit(X, np.column_stack([y, 2 * y, y + 1]))
    noisy = MLPRegressor(**how).fit(X, np.column_stack([y, y, y + np.where(np.arange(400) % 2, 3.0, -3.0)]))
    assert model.loss_ < 0.1
    assert noisy.loss_ == pytest.approx(0.5 * 9 / 3, rel=0.1)  # one target of three has errors of 3
