"""The package and the core agree: declarations, parameters, settings, docstrings."""

import doctest
import importlib.resources
import inspect
import pkgutil

import numpy as np
import parley
import pytest
import sklearn.linear_model
import sklearn.svm
from conftest import LINEAR
from parley import _documented, _library
from parley._library import ffi, lib, string

OWN = {"preset", "workers", "local_steps", "n_jobs"}
# Parameters of scikit-learn that are left out because later releases remove them.
DEPARTING = {"use_legacy_attributes"}


def settings_table():
    row, rows = ffi.new("parley_setting *"), {}
    while lib.parley_setting_at(len(rows), row):
        rows[string(row.name)] = {"trains": row.trains, "paths": row.paths, "help": string(row.help)}
    return rows


def test_every_function_of_the_header_is_in_the_library():
    declared = [name for name in dir(lib) if name.startswith("parley_")]
    assert len(declared) > 40
    assert all(getattr(lib, name) for name in declared)


@pytest.mark.parametrize("name", ["preset", "workers", "local_steps", "gap", "rounds", "threads", "seed"])
def test_settings_of_estimators_are_those_of_the_core(name):
    row = settings_table()[name]
    assert row["trains"] and row["paths"] and row["help"]


IN_ONE_PASS = ("RidgeClassifier", "RidgeClassifierCV", "RidgeCV")  # from sums over rows, so no run is set up


@pytest.mark.parametrize("name", [name for name in LINEAR if name not in IN_ONE_PASS])
def test_estimators_set_only_what_the_core_knows(name):
    table = settings_table()
    estimator = LINEAR[name](**{"tol": 1e-3})
    assert set(estimator._method()) <= set(table)
    if name in ("HuberRegressor", "LassoCV", "ElasticNetCV"):
        return
    problem = estimator._problem(10.0, *((3, 10.0) if hasattr(estimator, "decision_function") else ()))
    assert set(problem) <= set(table)


@pytest.mark.parametrize("name", LINEAR)
def test_estimators_have_the_parameters_of_scikit_learn_and_their_own(name):
    theirs = getattr(sklearn.linear_model, name, None) or getattr(sklearn.svm, name)
    ours = set(inspect.signature(LINEAR[name]).parameters)
    assert set(inspect.signature(theirs).parameters) - DEPARTING <= ours
    assert OWN <= ours or name in IN_ONE_PASS


@pytest.mark.parametrize("name", LINEAR)
def test_every_parameter_and_public_method_is_documented(name):
    kind = LINEAR[name]
    for parameter in inspect.signature(kind).parameters:
        assert f"\n{parameter} : " in kind.__doc__
    assert "{" not in kind.__doc__.replace("{array-like", "")
    for method, function in inspect.getmembers(kind, callable):
        mine = str(getattr(function, "__module__", "")).startswith("parley")
        if mine and not method.startswith("_"):
            parameters = [p for p in inspect.signature(function).parameters if p != "self"]
            assert all(f"{parameter} : " in function.__doc__ for parameter in parameters), method


def test_no_text_is_about_a_parameter_that_is_gone():
    used = {parameter for kind in LINEAR.values() for parameter in inspect.signature(kind).parameters}
    assert set(_documented.PARAMETERS) == used


MODULES = [f"parley.{one.name}" for one in pkgutil.iter_modules(parley.__path__) if one.name.startswith("_")]


@pytest.mark.parametrize("module", ["parley", *MODULES])
def test_examples_in_docstrings_run(module):
    # scalars of numpy 2 print their type, so the examples avoid them
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_every_public_name_has_an_example():
    for name in parley.__all__:
        if name != "Table":
            assert ">>>" in getattr(parley, name).__doc__, name


def test_values_of_settings_are_written_as_on_the_command_line():
    assert _library.text(True) == "true" and _library.text(np.bool_(False)) == "false"
    assert _library.text(np.float32(0.5)) == "0.5" and _library.text(1e-7) == "1e-07" and _library.text(3.0) == "3"
    assert _library.text([0.5, np.float64(0.25)]) == "0.5,0.25" and _library.text(np.inf) == "inf"


def test_sentences_of_the_core_become_exceptions(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        parley.read(tmp_path / "nowhere.svm")
    with pytest.raises(OSError, match="not a regular file"):
        parley.load(tmp_path)
    with pytest.raises(ValueError, match="no_such"):
        parley.train(np.eye(3), [1.0, 2.0, 3.0], no_such=1)
    with pytest.raises(ValueError, match="gap"):
        parley.train(np.eye(3), [1.0, 2.0, 3.0], loss="squared", gap=2.0)


def test_version_is_that_of_the_library():
    assert parley.__version__ == _library.version() and parley.__version__[0].isdigit()


def annotated(function):
    values = [value for name, value in inspect.signature(function).parameters.items() if name != "self"]
    return all(value.annotation is not inspect.Parameter.empty for value in values) and (
        inspect.signature(function).return_annotation is not inspect.Signature.empty
    )


@pytest.mark.parametrize("name", parley.__all__)
def test_the_public_interface_has_types(name):
    thing = getattr(parley, name)
    functions = [thing]
    if inspect.isclass(thing):
        functions = [value for key, value in inspect.getmembers(thing, inspect.isfunction) if not key.startswith("_")]
        functions = [value for value in functions if value.__module__.startswith("parley.")]
    assert all(annotated(function) for function in functions)
    if hasattr(thing, "fit"):
        assert inspect.signature(thing.fit).return_annotation == "Self"


def test_type_checkers_read_the_types():
    assert importlib.resources.files("parley").joinpath("py.typed").is_file()
