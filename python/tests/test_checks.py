"""scikit-learn's own checks: every estimator passes all of them, with a small `tol` and as it is."""

import pytest
import sklearn
from conftest import ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

CURRENT = parse_version(sklearn.__version__) >= parse_version("1.6")
# Three folds, as in scikit-learn's own tests, because some checks have four rows per class.
PARAMETERS = {"LassoCV": {"tol": 1e-10}, "LogisticRegressionCV": {"tol": 1e-10, "cv": 3}}
pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(
    [kind(**PARAMETERS.get(name, {"tol": 1e-14})) for name, kind in ESTIMATORS.items() if "tol" in kind().get_params()]
)
def test_estimators_pass_with_a_small_tolerance(estimator, check):
    check(estimator)


if CURRENT:

    @parametrize_with_checks([kind() for kind in ESTIMATORS.values()])
    def test_estimators_pass_as_they_are(estimator, check):
        check(estimator)
