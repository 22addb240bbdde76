"""scikit-learn's own contract, with attention from the earliest possible example."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kinds.learners import CLASSES
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from wald.online import AttentiveBoosting, AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron


def above_the_mean(X):
    """A hypothesis that depends on the row only."""
    X = np.nan_to_num(X.toarray() if sparse.issparse(X) else X)
    return np.where(X[:, 0] > X.mean(axis=1), 1.0, -1.0)


def first_feature(X):
    """A hypothesis that votes with confidence."""
    X = np.nan_to_num(X.toarray() if sparse.issparse(X) else X)
    return np.tanh(X[:, 0])


@dataclass(frozen=True)
class Named:
    """A function with a repr that is the same in every process, for the names of tests."""

    vote: Callable[[Any], Any]

    def __call__(self, X):
        return self.vote(X)

    def __repr__(self):
        return self.vote.__name__


EAGER = {"warm_up": 16, "run_length": 1, "audit_rate": 0.1, "random_state": 0}
ESTIMATORS = [
    AttentivePerceptron(random_state=0),
    AttentivePerceptron(average=False, **EAGER),
    AttentivePerceptron(attention="constant", boundary="bridge", **EAGER),
    AttentivePerceptron(attention="full", random_state=0),
    AttentivePassiveAggressive(**EAGER),
    AttentivePegasos(alpha=0.01, **EAGER),
    AttentivePegasos(alpha=0.01, average=20, shrinking=True, **EAGER),
    AttentiveBoosting(random_state=0),
    AttentiveBoosting(n_thresholds=9, threshold_rows=10, average=False, potential="exponential", **EAGER),
    AttentiveBoosting(attention="constant", boundary="bridge", **EAGER),
    AttentiveBoosting([Named(first_feature), Named(above_the_mean)], **EAGER),
]


def explained(estimator):
    why = "a repeated row is met twice, at other times than one row of twice the weight"
    return {
        "check_sample_weight_equivalence_on_dense_data": why,
        "check_sample_weight_equivalence_on_sparse_data": why,
    }


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore::FutureWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=explained)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", CLASSES)
def test_the_docstring_lists_every_parameter_with_its_default(estimator):
    sections = dict(zip(*[iter(re.split(r"^(\w+)\n-+\n", inspect.getdoc(estimator), flags=re.M)[1:])] * 2, strict=True))
    listed = re.findall(r"^(\w+) : (.*), default=(.*)$", sections["Parameters"], flags=re.M)
    signature = inspect.signature(estimator).parameters.values()
    assert [name for name, *_ in listed] == [parameter.name for parameter in signature]
    assert [eval(default) for *_, default in listed] == [parameter.default for parameter in signature]
    fitted = estimator(max_iter=2, tol=None).fit([[0.0], [1.0]] * 20, [0, 1] * 20)
    attributes = re.findall(r"^(\w+_) : ", sections["Attributes"], flags=re.M)
    assert {name for name in vars(fitted) if re.fullmatch(r"[a-z]\w*_", name)} <= set(attributes)


def test_unknown_parameters_are_refused_by_the_class_that_is_called():
    with pytest.raises(TypeError, match=r"AttentivePegasos.__init__\(\) got an unexpected keyword argument 'eta0'"):
        AttentivePegasos(eta0=1.0)
