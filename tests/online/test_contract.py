"""scikit-learn's own contract, with attention as early as it can set in."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from wald.online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

EAGER = {"warm_up": 16, "run_length": 1, "audit_rate": 0.1, "random_state": 0}
ESTIMATORS = [
    AttentivePerceptron(random_state=0),
    AttentivePerceptron(average=False, **EAGER),
    AttentivePerceptron(attention="constant", boundary="bridge", **EAGER),
    AttentivePerceptron(attention="full", random_state=0),
    AttentivePassiveAggressive(**EAGER),
    AttentivePegasos(alpha=0.01, **EAGER),
]


def explained(estimator):
    why = "a repeated row is met twice, at other times than one row of twice the weight"
    return {
        "check_sample_weight_equivalence_on_dense_data": why,
        "check_sample_weight_equivalence_on_sparse_data": why,
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore::FutureWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=explained)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
