"""Stages of tree ensembles: running sums, leaf corrections, spreads, passes and races equal a reference in NumPy."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kinds.containers import LAYOUTS
from trees.growing import random_rows, random_terms

from wald.engine import LEAST_VARIANCE, Readout, RunningSums, Stages, Status
from wald.models import TreeTerms
from wald.outputs import Labels

ENDS = [4, 11, 12, 20, 33, 48]  # numbers of trees after which the stages come
N_SUMS = 3
#: What rows pay that leave at a stage, or at none.
COSTS = np.array([*ENDS, 60.0])


@dataclass(frozen=True)
class Ensemble:
    """Trees in an order of their own, with stages that mix running sums."""

    terms: TreeTerms
    order: np.ndarray
    stages: Stages
    decision: Labels
    X: np.ndarray

    def cascade(self, low: Any = None, high: Any = None, **changes: Any) -> Any:
        model = SimpleNamespace(decision=self.decision, tie_margin=0.0, working_precision=lambda dtype: 0.0)
        never = np.full(len(self.stages), np.inf)
        low, high = (-never if low is None else low), (never if high is None else high)
        stages = replace(self.stages, **changes)
        return self.terms.pack(self.order).cascade(model, stages, low, high, COSTS[: len(stages) + 1])

    def estimates(self) -> np.ndarray:
        """(stages, rows, outputs), in float64."""
        sums, packed = self.stages.sums, self.terms.pack(self.order)
        assert sums is not None
        values, leaves = packed.values(self.X, 1), packed.leaves(self.X, 1)
        output = self.terms.trees.output[self.order]
        found = np.zeros((len(self.stages), len(self.X), self.terms.n_outputs))
        for t, (m, readout) in enumerate(zip(self.stages.terms.tolist(), self.stages.readouts, strict=True)):
            for k in range(self.terms.n_outputs):
                own = np.flatnonzero(output[:m] == k)
                running = values[:, own] @ sums.weights[:, own].T
                for s, correction in enumerate(sums.corrections):
                    if correction is not None:
                        first = np.concatenate([[0], np.cumsum(self.n_leaves)])
                        own_corrected = own[first[own + 1] <= len(correction)]
                        running[:, s] += correction[first[own_corrected] + leaves[:, own_corrected]].sum(axis=1)
                found[t, :, k] = readout.bias[k] + running @ readout.weights[k]
                if readout.spread is not None:
                    variance = np.maximum(readout.spread_bias + running @ readout.spread, LEAST_VARIANCE)
                    centre = self.decision.threshold
                    found[t, :, k] = centre + (found[t, :, k] - centre) / np.sqrt(variance)
        return found

    @property
    def n_leaves(self) -> np.ndarray:
        return np.diff(self.terms.trees.first_leaf)[self.order]


def ensemble(
    n_outputs: int = 1,
    corrected: bool = True,
    spread: bool = False,
    leaves: int = 31,
    n_rows: int = 700,
    **options: Any,
) -> Ensemble:
    rng = np.random.default_rng(n_outputs + 10 * leaves)
    terms = random_terms(rng, n_trees=60, n_outputs=n_outputs, leaves=leaves, **options)
    order = rng.permutation(60)[: ENDS[-1]]
    sum_ends = np.array([12, 33, ENDS[-1]])
    weights = rng.uniform(0.5, 1.5, (N_SUMS, ENDS[-1])) * (np.arange(ENDS[-1]) < sum_ends[:, np.newaxis])
    sizes = np.diff(terms.trees.first_leaf)[order]
    corrections = tuple(
        rng.normal(size=int(sizes[:end].sum())).astype(np.float32) if corrected and s > 0 else None
        for s, end in enumerate([12, 33, 40])
    )
    readouts = [
        Readout(
            rng.normal(size=(n_outputs, N_SUMS)),
            rng.normal(size=n_outputs),
            rng.normal(size=N_SUMS) / 20 if spread else None,
            1.0,
        )
        for _ in ENDS
    ]
    decision = Labels("sign", 2) if n_outputs == 1 else Labels("argmax", n_outputs)
    stages = Stages(np.array(ENDS), readouts, RunningSums(sum_ends, weights, corrections))
    return Ensemble(terms, order, stages, decision, random_rows(rng, n_rows, terms.n_features))


KINDS = {
    "one output": {},
    "without corrections": {"corrected": False},
    "spread": {"spread": True},
    "stumps": {"leaves": 2},
    "large trees": {"leaves": 300, "corrected": False},
    "categories": {"categories": True},
    "four classes": {"n_outputs": 4},
    "seventeen classes": {"n_outputs": 17},
    "two features": {"n_features": 2, "leaves": 16},
    "two features, four classes": {"n_features": 2, "leaves": 16, "n_outputs": 4},
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def made(request: pytest.FixtureRequest) -> Ensemble:
    return ensemble(**request.param)


def judged(estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best class and its lead, (rows, stages)."""
    ordered = np.sort(estimates, axis=2)
    return estimates.argmax(axis=2).T, (ordered[:, :, -1] - ordered[:, :, -2]).T


def test_estimates_equal_the_reference(made: Ensemble) -> None:
    expected, trace = made.estimates(), made.cascade().trace(made.X, 1)
    if trace.two_sided:
        np.testing.assert_allclose(trace.margins, expected[:, :, 0].T, rtol=2e-4, atol=2e-4)
        return
    best, lead = judged(expected)
    np.testing.assert_allclose(trace.margins, lead, rtol=2e-4, atol=5e-4)
    assert (trace.answers == best)[lead > 1e-3].all()


def thresholds(made: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds that a quarter of the rows of each stage passes."""
    trace = made.cascade().trace(made.X, 1)
    if trace.two_sided:
        low, high = np.nanquantile(trace.margins, [0.12, 0.88], axis=0)
        return low, high
    return np.full(len(ENDS), -np.inf), np.nanquantile(trace.margins, 0.75, axis=0)


@pytest.mark.parametrize("race", [False, True], ids=["everybody", "race"])
def test_passes_layouts_threads_and_company_do_not_matter(made: Ensemble, race: bool) -> None:
    if race and made.decision.kind != "argmax":
        return
    low, high = thresholds(made)
    distance = {"race": np.array([np.inf, 3.0, np.inf, 2.0, 1.5, 1.0])} if race else {}
    one_by_one = made.cascade(low, high, **distance)
    T, X = len(ENDS), made.X
    codes, (stages, paid, status) = expected = one_by_one.predict(X, T, "full", 1)
    assert 0.3 < (stages < T).mean() < 1
    assert (paid < COSTS[stages]).any() == race
    assert (paid <= COSTS[stages]).all()
    np.testing.assert_array_equal(status, np.where(stages < T, Status.EARLY, Status.FULL))
    for passes in ([6], [3, 6], [1, 2, 6], [5, 6]):
        cascade = made.cascade(low, high, passes=np.array(passes), **distance)
        for rows in (X, X[:64], X[:7], X[:65], X[33:300]):
            at = 33 if len(rows) == 267 else 0
            for layout in LAYOUTS.values():
                for n_threads in (1, 2):
                    seen = cascade.predict(layout(rows), T, "full", n_threads)
                    for own, whole in zip((seen.codes, *seen.ledger), (codes, *expected.ledger), strict=True):
                        assert np.array_equal(own, whole[at : at + len(rows)])
        for i in range(0, len(X), 23):
            assert cascade.predict_one(X[i], T, "full", 0.0) == (codes[i], stages[i], paid[i], status[i])


def raced(made: Ensemble, high: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Label, stage and number of skipped trees of each row, with the engine's own estimates of single stages."""
    estimates, output = made.estimates(), made.terms.trees.output[made.order]
    codes, stages, skipped = (np.zeros(len(made.X), dtype=np.int32) for _ in range(3))
    for i in range(len(made.X)):
        runs, last = np.ones(made.terms.n_outputs, dtype=bool), np.zeros(made.terms.n_outputs)
        before, unseen, code, t = 0, 0, -1, 0
        for t, end in enumerate(ENDS):
            unseen += int(np.count_nonzero(~runs[output[before:end]]))
            last[runs] = estimates[t, i, runs]
            best, before = int(last.argmax()), end
            if last[best] - np.sort(last)[-2] > high[t]:
                code = best
                break
            runs &= last >= last[best] - distance[t]
        codes[i], stages[i], skipped[i] = code, t if code >= 0 else len(ENDS), unseen if code >= 0 else 0
    return codes, stages, skipped


@pytest.mark.parametrize("passes", [None, [6], [2, 6]], ids=str)
@pytest.mark.parametrize("n_outputs", [3, 4, 17])
def test_a_race_equals_the_reference(n_outputs: int, passes: list[int] | None) -> None:
    made = ensemble(n_outputs=n_outputs, n_rows=400)
    low, high = thresholds(made)
    distance = np.array([np.inf, 3.0, 2.5, np.inf, 1.5, 1.0])
    cascade = made.cascade(low, high, race=distance, passes=None if passes is None else np.array(passes))
    codes, (stages, paid, _) = cascade.predict(made.X, len(ENDS), "pending", 1)
    skipped = COSTS[stages] - paid
    own_codes, own_stages, own_skipped = raced(made, high, distance)
    left = own_stages < len(ENDS)
    same = (stages == own_stages) & (skipped == own_skipped) & (~left | (codes == own_codes))
    assert same.mean() > 0.98  # others are within rounding of a threshold
    assert (own_skipped[left] > 0).mean() > 0.1


@pytest.mark.parametrize("passes", [[6], [1, 6], [2, 4, 6]], ids=str)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_refused_values_are_named_for_every_row(n_outputs: int, passes: list[int]) -> None:
    made = ensemble(n_outputs=n_outputs, nan=False)
    low, high = thresholds(made)
    race = {"race": np.full(len(ENDS), 1.0)} if n_outputs > 1 else {}
    cascade = made.cascade(low, high, passes=np.array(passes), **race)
    whole = cascade.predict(made.X, len(ENDS), "full", 1)
    status = whole.ledger.status
    assert (status == Status.NOT_FINITE).any()
    assert (status != Status.NOT_FINITE).any()
    assert not whole.codes[status == Status.NOT_FINITE].any()
    for i in range(0, len(made.X), 11):
        code, _, _, own = cascade.predict_one(made.X[i], len(ENDS), "full", 0.0)
        assert (code, own) == (whole.codes[i], status[i])
        some = cascade.predict(made.X[i : i + 9], len(ENDS), "full", 1)
        assert (some.codes[0], some.ledger.status[0]) == (whole.codes[i], status[i])


BAD = {
    "passes that do not ascend": ({"passes": [2, 2, 6]}, "passes must ascend"),
    "passes that end early": ({"passes": [2, 5]}, "the last pass must end with the last stage"),
    "passes beyond the stages": ({"passes": [2, 9]}, "the last pass must end with the last stage"),
    "a race of one output": ({"race": np.ones(6)}, "a race needs a distance for each stage"),
}


@pytest.mark.parametrize(("changes", "words"), BAD.values(), ids=BAD)
def test_stages_that_do_not_fit_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ensemble().cascade(**{name: np.array(value) for name, value in changes.items()})


@pytest.mark.parametrize(
    "distance", [np.ones(5), np.full(6, np.nan), np.full(6, -1.0)], ids=["short", "nan", "below 0"]
)
def test_races_that_make_no_sense_are_refused(distance: np.ndarray) -> None:
    with pytest.raises(ValueError, match="race"):
        ensemble(n_outputs=3).cascade(race=distance)


def test_corrections_of_leaves_with_several_values_are_refused_where_most_are_zero() -> None:
    """Such leaves are stored as one value and its output; a correction of another output would be lost."""
    rng = np.random.default_rng(0)
    made = ensemble()
    trees = random_terms(rng, n_trees=20, n_outputs=3, values=3).trees
    hot = np.zeros_like(trees.leaves)
    hot[: trees.first_leaf[1]] = 1.0  # the first output of the first tree; no other has a value there
    terms = TreeTerms(replace(trees, leaves=hot), np.zeros(3))
    stages = Stages(
        np.array([3]),
        [Readout(np.ones((3, 1)), np.zeros(3))],
        RunningSums(np.array([3]), np.ones((1, 3)), (np.ones(int(trees.first_leaf[3]), dtype=np.float32),)),
    )
    wrong = replace(made, terms=terms, order=np.arange(3), stages=stages, decision=Labels("argmax", 3))
    with pytest.raises(ValueError, match="corrections"):
        wrong.cascade()


@pytest.mark.parametrize("leaf", [1e39, 3e38], ids=["a leaf", "two leaves"])
def test_estimates_beyond_float32_are_not_finite_in_every_call(leaf: float) -> None:
    made = ensemble(corrected=False)
    trees = made.terms.trees
    terms = replace(made.terms, trees=replace(trees, leaves=np.full_like(trees.leaves, leaf)))
    low, high = np.full(len(ENDS), -1.0), np.full(len(ENDS), 1.0)
    cascade = replace(made, terms=terms).cascade(low, high)
    whole = cascade.predict(made.X, len(ENDS), "full", 1)
    assert (whole.ledger.status == Status.NOT_FINITE).all()
    for i in range(5):
        assert cascade.predict_one(made.X[i], len(ENDS), "full", 0.0)[3] == Status.NOT_FINITE


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_traces_of_refused_rows_do_not_depend_on_their_neighbours(n_outputs: int) -> None:
    made = ensemble(n_outputs=n_outputs, nan=False)
    race = {"race": np.full(len(ENDS), 1.0)} if n_outputs > 1 else {}
    cascade = made.cascade(passes=np.array([1, 3, 6]), **race)
    whole = cascade.trace(made.X, 1)
    judged = whole.margins
    refused = np.isnan(judged)
    assert refused.any()
    assert (np.diff(refused.astype(int), axis=1) >= 0).all()  # a row that is refused once stays refused
    for begin, end in ((0, 9), (5, 70), (64, 128)):
        for one, other in zip(astuple(cascade.trace(made.X[begin:end], 1)), astuple(whole), strict=True):
            assert one is other is None or np.array_equal(one, other[begin:end], equal_nan=one.dtype.kind == "f")
    if whole.answers is not None:
        assert not whole.answers[refused].any()
