"""scikit-learn's own checks: every estimator passes all of them as it is, and those of old releases with a small
`tol`."""

import pytest
import sklearn
from conftest import ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

CURRENT = parse_version(sklearn.__version__) >= parse_version("1.6")
# Three folds, as in scikit-learn's own tests, because some checks have four rows per class.
PARAMETERS = {"LassoCV": {"tol": 1e-10}, "LogisticRegressionCV": {"tol": 1e-10, "cv": 3}}
pytestmark = pytest.mark.filterwarnings("ignore")


def prepared(name, kind):
    """The estimator to check; old releases compare at tolerances that a default `tol` does not reach."""
    if CURRENT or "tol" not in kind().get_params():
        return kind()
    return kind(**PARAMETERS.get(name, {"tol": 1e-14}))


@parametrize_with_checks([prepared(name, kind) for name, kind in ESTIMATORS.items()])
def test_estimators_pass(estimator, check):
    check(estimator)
