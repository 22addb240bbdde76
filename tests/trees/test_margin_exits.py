"""Rows of tree ensembles leave by the margin of one score, in the size of each row's own error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from engine.margins import OUTPUTS, Walked, asked, bits, of_one
from kinds.containers import LAYOUTS
from trees.growing import random_rows, random_terms

from wald.engine import LEAST_VARIANCE, Readout, RunningSums, Stages, Status
from wald.models import TreeTerms
from wald.outputs import Output

ENDS = np.array([4, 11, 12, 20, 33, 48])  # numbers of trees after which the stages come
COSTS = np.array([*ENDS, 60.0])
N_ROWS = 5000


@dataclass(frozen=True)
class Ensemble:
    """Trees in an order of their own, with stages that know the variances of their errors, for an output."""

    output: Output
    terms: TreeTerms
    order: np.ndarray
    stages: Stages
    X: np.ndarray

    def cascade(self, high: np.ndarray | None = None, **changes: Any) -> Any:
        high = np.full(len(ENDS), np.inf) if high is None else high
        stages = replace(self.stages, **changes)
        return self.terms.pack(self.order).cascade(asked(self.output), stages, -high, high, COSTS)

    def walked(self) -> Walked:
        estimates, variances = self.cascade().trace(self.X, 1).margins, None
        if self.stages.readouts[0].spread is not None:
            readouts = [Readout(r.spread[None], np.array([r.spread_bias])) for r in self.stages.readouts]
            variances = self.cascade(readouts=readouts).trace(self.X, 1).margins
            variances = np.maximum(variances, np.float32(LEAST_VARIANCE))
        full = self.terms.pack(self.order).scores(self.X, lambda dtype: 0.0, 1)[0][:, 0]
        return Walked(self.output, estimates, full, variances)


def ensemble(output: Output, spread: bool = True, nan: bool = True) -> Ensemble:
    rng = np.random.default_rng(3)
    terms = random_terms(rng, n_trees=60, leaves=15, nan=nan)
    terms = replace(terms, trees=replace(terms.trees, leaves=terms.trees.leaves / 4))
    order = rng.permutation(60)[: ENDS[-1]]
    sum_ends = np.array([12, 33, ENDS[-1]])
    weights = rng.uniform(0.5, 1.5, (3, ENDS[-1])) * (np.arange(ENDS[-1]) < sum_ends[:, np.newaxis])
    readouts = [
        Readout(rng.normal(size=(1, 3)), rng.normal(size=1), rng.normal(size=3) / 3 if spread else None, 1.0)
        for _ in ENDS
    ]
    stages = Stages(ENDS, readouts, RunningSums(sum_ends, weights, (None,) * 3))
    return Ensemble(output, terms, order, stages, random_rows(rng, N_ROWS, terms.n_features))


@pytest.fixture(params=OUTPUTS)
def output(request: pytest.FixtureRequest) -> Output:
    return OUTPUTS[request.param]


@pytest.mark.parametrize("spread", [False, True], ids=["usual errors", "own errors"])
def test_rows_leave_by_the_margins_of_their_estimates(output: Output, spread: bool) -> None:
    made = ensemble(output, spread)
    walked = made.walked()
    high = walked.high()
    T = len(ENDS)
    for at_end, n_stages in (("full", T), ("answer", 4), ("pending", 3), ("full", 0)):
        found = made.cascade(high).predict(made.X, n_stages, at_end, 1)
        answers, stages, status = walked.answers(high, n_stages, at_end)
        same = (found.ledger.stages == stages) & (found.ledger.status == status)
        assert same.mean() >= (0.999 if output.early_values else 1.0)  # exponentials are rounded otherwise
        np.testing.assert_array_equal(found.codes[same], answers[same])
        np.testing.assert_array_equal(found.ledger.paid, COSTS[found.ledger.stages])
    stages = walked.answers(high, T, "full")[1]
    assert np.unique(stages).size == 1 if walked.constant else np.unique(stages).size > 3


@pytest.mark.parametrize("passes", [None, [6], [2, 3, 6]], ids=str)
def test_neither_passes_nor_company_nor_layout_nor_threads_matter(output: Output, passes: list[int] | None) -> None:
    made = ensemble(output)
    high, T, X = made.walked().high(), len(ENDS), made.X
    cascade = made.cascade(high, passes=None if passes is None else np.array(passes))
    for at_end, n_stages in (("full", T), ("answer", 4)):
        whole = made.cascade(high).predict(X, n_stages, at_end, 1)
        for n in (1, 5, 65, 100, N_ROWS):
            expected = [part[:n].tobytes() for part in (whole.codes, *whole.ledger)]
            for layout in LAYOUTS.values() if n in (5, 100) else [LAYOUTS["C"]]:
                for n_threads in (1, 2):
                    assert bits(cascade.predict(layout(X[:n]), n_stages, at_end, n_threads)) == expected
        for i in range(0, N_ROWS, 331):
            expected = [part[i : i + 1].tobytes() for part in (whole.codes, *whole.ledger)]
            assert of_one(cascade.predict_one(X[i], n_stages, at_end, 0.0)) == expected


def test_refused_values_have_no_answer(output: Output) -> None:
    made = ensemble(output, nan=False)
    cascade = made.cascade(made.walked().high())
    found = cascade.predict(made.X, len(ENDS), "full", 1)
    refused = found.ledger.status == Status.NOT_FINITE
    assert 0 < refused.mean() < 1
    assert np.isnan(found.codes[refused]).all() if output.early_values else not found.codes[refused].any()
    assert np.isfinite(found.codes[~refused]).all()
    for i in range(0, N_ROWS, 97):
        code, _, _, status = cascade.predict_one(made.X[i], len(ENDS), "full", 0.0)
        assert (status == Status.NOT_FINITE) == refused[i]
        np.testing.assert_equal(code, found.codes[i])


def test_full_values_are_the_scores_in_double_precision(output: Output) -> None:
    made = ensemble(output)
    scores = made.terms.pack(made.order).scores(made.X, lambda dtype: 0.0, 1)[0][:, 0]
    codes = made.cascade().predict(made.X, len(ENDS), "full", 1).codes
    np.testing.assert_array_equal(codes, scores if output.early_values else output.answers(scores))


@pytest.mark.parametrize("margin", ["relative", "exp", "logistic"])
def test_margins_in_single_precision_are_those_of_numpy(margin: str) -> None:
    made = ensemble(OUTPUTS[{"relative": "within a share", "exp": "exponentials", "logistic": "probabilities"}[margin]])
    walked = made.walked()
    margins = walked.margins
    for share in np.linspace(0.02, 0.98, 13):
        high = walked.high(share)
        stages = made.cascade(high).predict(made.X, len(ENDS), "pending", 1).ledger.stages
        sure = (np.abs(margins / high - 1) > 2e-6).all(axis=1)
        assert sure.mean() > 0.95  # rows that end in the same leaves have the same margin
        np.testing.assert_array_equal(stages[sure], walked.answers(high, len(ENDS), "pending")[1][sure])
