"""Rows leave by the margin of one score: bands, and values within a tolerance, by both engines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from engine.margins import OUTPUTS, Walked, asked, bits, of_one
from scipy import sparse
from sklearn.svm import SVC

from wald import _core
from wald.engine import LEAST_VARIANCE, PythonTerms, Readout, Stages, Status
from wald.models import NO_SURROGATES, ColumnTerms, decompose
from wald.models.linear import LinearTerms
from wald.outputs import Bands, Output, Values
from wald.steps import Numeric

RNG = np.random.default_rng(7)
N_FEATURES, N_ROWS = 24, 5000
DENSITY = RNG.choice([0.2, 0.7], size=(N_ROWS, 1), p=[0.8, 0.2])  # kernel machines have a path for sparse rows
X = RNG.normal(size=(N_ROWS, N_FEATURES)) * (RNG.random((N_ROWS, N_FEATURES)) < DENSITY)
X = X.astype(np.float32).astype(np.float64)
#: What rows pay that leave at a stage, or at none.
COSTS = np.array([1.0, 2.5, 3.5, 7.0, 11.0])
U = 2.0**-53


def kernel_terms() -> Any:
    y = np.sin(X[:400, 0]) + X[:400, 1] > 0
    return decompose(SVC(gamma=0.05).fit(X[:400], y)).terms


LINEAR = LinearTerms(RNG.normal(size=(1, N_FEATURES)) / 2, np.array([0.3]))
COLUMNS = ColumnTerms.of(
    LINEAR, [Numeric(j, np.array([1.5]), np.array([-0.1]), None, np.array([j])) for j in range(N_FEATURES)]
)
KERNEL = kernel_terms()


@dataclass(frozen=True)
class Case:
    """Stages on terms of one kind, for an output."""

    output: Output
    terms: Any
    order: np.ndarray
    stages: Stages
    precision: str

    def cascade(self, high: np.ndarray | None = None, **changes: Any) -> Any:
        packed = self.terms.pack(self.order, NO_SURROGATES, self.precision)
        return self.on(packed, high, **changes)

    def in_python(self, high: np.ndarray) -> Any:
        return self.on(PythonTerms(self.terms, self.order), high)

    def on(self, packed: Any, high: np.ndarray | None, tie_margin: float = 0.0) -> Any:
        high = np.full(len(self.stages), np.inf) if high is None else high
        costs = COSTS[: len(self.stages) + 1]
        return packed.cascade(asked(self.output, tie_margin), self.stages, -high, high, costs)

    def walked(self, rows: np.ndarray = X) -> Walked:
        full = self.terms.pack(self.order, NO_SURROGATES, "float64").scores(rows, lambda dtype: U, 1)[0][:, 0]
        return Walked(self.output, self.cascade().trace(rows, 1).margins, full, self.variances(rows))

    def variances(self, rows: np.ndarray) -> np.ndarray | None:
        if not self.stages.has_spread:
            return None
        readouts = [Readout(r.spread[None], np.array([r.spread_bias])) for r in self.stages.readouts]
        found = replace(self, stages=replace(self.stages, readouts=readouts)).cascade().trace(rows, 1).margins
        return np.maximum(found, found.dtype.type(LEAST_VARIANCE))


KINDS = {
    "linear": (LINEAR, "float64"),
    "columns": (COLUMNS, "float64"),
    "kernel": (KERNEL, "float64"),
    "kernel, float32": (KERNEL, "float32"),
}


def case(kind: str, output: Output, spread: bool = False) -> Case:
    terms, precision = KINDS[kind]
    rng = np.random.default_rng(1)
    order = rng.permutation(terms.n_terms)
    ends = np.array([16, 24, 24, 60] if terms is KERNEL else [8, 12, 12, 20])
    scale = np.sqrt(terms.n_terms / ends)
    readouts = [
        Readout(np.ascontiguousarray(terms.coef[:, order[:m]]) * s, terms.intercept)
        for m, s in zip(ends, scale, strict=True)
    ]
    if spread:
        readouts = [
            replace(r, spread=rng.normal(size=m) / 4, spread_bias=1.0) for r, m in zip(readouts, ends, strict=True)
        ]
    return Case(output, terms, order, Stages(ends, readouts), precision)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[(name, spread) for name in OUTPUTS for spread in (False, True)], ids=str)
def made(request: pytest.FixtureRequest, kind: str) -> Case:
    name, spread = request.param
    return case(kind, OUTPUTS[name], spread)


ENDS = [("full", 4), ("answer", 3), ("pending", 2), ("full", 0)]


def test_rows_leave_by_the_margins_of_their_estimates(made: Case) -> None:
    walked = made.walked()
    high = walked.high()
    cascade = made.cascade(high)
    for at_end, n_stages in ENDS:
        found = cascade.predict(X, n_stages, at_end, 1)
        answers, stages, status = walked.answers(high, n_stages, at_end)
        assert found.codes.dtype == (np.float64 if made.output.early_values else np.int32)
        same = (found.ledger.stages == stages) & (found.ledger.status == status)
        assert same.mean() > 0.999  # NumPy's exponentials are rounded otherwise
        np.testing.assert_array_equal(found.codes[same], answers[same])
        np.testing.assert_array_equal(found.ledger.paid, COSTS[found.ledger.stages])
    early = cascade.predict(X, 4, "full", 1).ledger.stages < 4
    assert early.mean() > 0.3
    assert np.unique(cascade.predict(X, 4, "full", 1).codes).size > 1


def test_the_engine_in_python_answers_alike(made: Case) -> None:
    if made.precision == "float32":
        return
    high = made.walked().high()
    compiled, plain = made.cascade(high), made.in_python(high)
    rows = X[:1500]
    for at_end, n_stages in ENDS:
        one, other = (c.predict(rows, n_stages, at_end, 1) for c in (compiled, plain))
        same = np.logical_and.reduce([a == b for a, b in zip(one.ledger, other.ledger, strict=True)])
        assert same.mean() > 0.995  # others lie within rounding of a threshold
        assert one.codes.dtype == other.codes.dtype
        np.testing.assert_allclose(one.codes[same], other.codes[same], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(compiled.trace(rows, 1).margins, plain.trace(rows, 1).margins, rtol=1e-9, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("four_threads")
def test_neither_company_nor_layout_nor_threads_matter(made: Case) -> None:
    cascade = made.cascade(made.walked().high())
    for at_end, n_stages in ENDS:
        whole = cascade.predict(X, n_stages, at_end, 1)
        for n in (1, 5, 100, N_ROWS):
            expected = [part[:n].tobytes() for part in (whole.codes, *whole.ledger)]
            layouts: list[Any] = [X[:n], np.asfortranarray(X[:n])]
            layouts += [pd.DataFrame(X[:n]), X[:n].astype(np.float32, order="F")] if n in (5, N_ROWS) else []
            for rows in layouts:
                for n_threads in (1, 4):
                    assert bits(cascade.predict(rows, n_stages, at_end, n_threads)) == expected
        if made.terms is COLUMNS:  # rows are dense
            continue
        some = cascade.predict(sparse.csr_array(X[:300]), n_stages, at_end, 1)
        assert bits(some)[1:] == [part[:300].tobytes() for part in whole.ledger]
        np.testing.assert_allclose(some.codes, whole.codes[:300], rtol=1e-14, atol=1e-14)  # full sums skip zeros
        for i in range(0, N_ROWS, 501):
            expected = [part[i : i + 1].tobytes() for part in (whole.codes, *whole.ledger)]
            assert of_one(cascade.predict_one(X[i], n_stages, at_end, U)) == expected


def test_rows_that_are_not_finite_have_no_answer(made: Case) -> None:
    high = made.walked().high()
    rows = X[:64].copy()
    rows[3, :], rows[7, 5], rows[40, made.order[-1] % N_FEATURES] = np.nan, np.inf, -np.inf
    cascades = [made.cascade(high)] + ([made.in_python(high)] if made.precision == "float64" else [])
    for cascade in cascades:
        for given in (rows, np.asfortranarray(rows), rows[:8]):
            found = cascade.predict(given, 4, "full", 1)
            assert not found.ledger.settled[[3]].any()
            unsettled = ~found.ledger.settled
            assert (
                np.isnan(found.codes[unsettled]).all() if made.output.early_values else not found.codes[unsettled].any()
            )
            assert np.isfinite(found.codes[~unsettled]).all()
        code, _, _, status = cascade.predict_one(rows[3], 4, "full", U)
        assert status == Status.NOT_FINITE
        assert np.isnan(code) if made.output.early_values else code == 0


@pytest.mark.parametrize("layout", ["C", "F"])
def test_rows_whose_variance_overflows_stay(layout: str) -> None:
    """Infinity, and infinity less infinity: nothing is known of their errors."""
    made = case("linear", OUTPUTS["within a constant"])
    spread = [np.resize([1e308, -1e308 if kind else 1e308], 8) for kind in (0, 1)]
    rows = np.asarray(np.full((500, N_FEATURES), 30.0), order=layout)
    for weights in spread:
        stages = Stages(np.array([8]), [replace(made.stages.readouts[0], spread=weights)])
        never = replace(made, stages=stages)
        for high, left in ((0.0, 0), (-1.0, 1)):
            for cascade in (never.cascade(np.array([high])), never.in_python(np.array([high]))):
                for given in (rows, rows[:1]):
                    early = cascade.predict(given, 1, "full", 1).ledger.status == Status.EARLY
                    assert early.all() if left else not early.any()


@pytest.mark.parametrize("n_rows", [1, 3, 500])
def test_estimates_that_overflow_have_no_answer(kind: str, n_rows: int) -> None:
    for output in (OUTPUTS["bands"], OUTPUTS["exponentials"], OUTPUTS["within a constant"]):
        made = case(kind, output)
        largest = 1e38 if made.precision == "float32" else 1e308
        readouts = [Readout(np.full_like(r.weights, largest), r.bias) for r in made.stages.readouts]
        never = Case(output, made.terms, made.order, Stages(made.stages.terms, readouts), made.precision)
        cascade = never.cascade(np.full(4, -1.0))
        rows = np.full((n_rows, N_FEATURES), 0.0 if never.terms is KERNEL else 30.0)
        for given in (rows, np.asfortranarray(rows)):
            ledger = cascade.predict(given, 4, "full", 1).ledger
            assert (ledger.status == Status.NOT_FINITE).all()


def scores_of(output: Output, high: float, z: np.ndarray, layout: str) -> Any:
    """Decisions about rows whose only value is the score."""
    terms = LinearTerms(np.ones((1, 1)), np.zeros(1))
    stages = Stages(np.array([1]), [Readout(np.ones((1, 1)), np.zeros(1))])
    cascade = terms.pack(np.zeros(1, np.int64)).cascade(asked(output), stages, np.array([-high]), np.array([high]))
    rows = np.asarray(z[:, None], order=layout)
    return cascade, cascade.predict(rows, 1, "full", 1)


@pytest.mark.parametrize("layout", ["C", "F"])
def test_scores_that_equal_a_threshold_belong_where_it_says(layout: str) -> None:
    cuts, upper = [-1.0, 0.1, 0.1, 2.5], [False, True, False, True]
    output = Bands(cuts, upper)
    z = np.concatenate([[c, np.nextafter(c, -9), np.nextafter(c, 9)] for c in cuts])
    at_threshold = np.isin(z, cuts)
    for high, leaves in ((-1.0, at_threshold | True), (1e-300, ~at_threshold), (np.inf, at_threshold & False)):
        cascade, found = scores_of(output, high, z, layout)
        np.testing.assert_array_equal(found.ledger.status == Status.EARLY, leaves)
        # full scores at a threshold, or next to it, are the wrapped model's
        assert set(found.ledger.status[~leaves]) <= {Status.HANDED_OVER}
        np.testing.assert_array_equal(found.codes, np.where(leaves, output.answers(z), 0))
        alone = [cascade.predict_one(np.array([v]), 1, "answer", 0.0) for v in z]
        assert [found[0] for found in alone] == output.answers(z).tolist()
        np.testing.assert_array_equal(
            [found[3] for found in alone], np.where(leaves, Status.EARLY, Status.OUT_OF_BUDGET)
        )


@pytest.mark.parametrize("margin", ["constant", "relative", "exp", "logistic"])
def test_margins_are_those_of_numpy(margin: Any) -> None:
    output = Values(1, 0.07, margin, margin == "relative")
    z = np.concatenate([np.linspace(-40, 40, 4001), RNG.normal(size=500), 10.0 ** np.arange(-12, 3)])
    expected = output.judged(z)[1]
    for high in np.quantile(expected, np.linspace(0.01, 0.99, 25)):
        leaves = scores_of(output, high, z, "F")[1].ledger.status == Status.EARLY
        sure = np.abs(expected / high - 1) > 1e-12
        np.testing.assert_array_equal(leaves[sure], (expected > high)[sure])


@pytest.mark.parametrize("margin", ["exp", "logistic"])
def test_margins_of_large_scores_are_finite_and_not_too_wide(margin: Any) -> None:
    output, z = Values(1, 0.07, margin), np.array([-1e6, -800.0, 800.0, 1e6])
    status = scores_of(output, np.finfo(float).max, z, "C")[1].ledger.status
    assert (status == Status.FULL).all()
    wide = scores_of(output, 600.0, z, "C")[1].ledger.status == Status.EARLY
    assert wide.tolist() == ([True, True, False, False] if margin == "exp" else [True] * 4)


def test_full_scores_near_a_threshold_are_handed_over(kind: str) -> None:
    output = Bands([0.0, 0.5], [True, False])
    for cascade in (case(kind, output).cascade(), case(kind, output).in_python(np.full(4, np.inf))):
        scores = np.array([[-0.2], [-0.05], [0.0], [0.2], [0.55], [0.7], [np.nan]])
        for error, near in ((0.0, []), (0.1, [1, 2, 4]), (np.inf, range(7))):
            codes, status = cascade.decide(scores, error)
            expected = np.full(7, Status.FULL)
            expected[[*near, 6]] = Status.HANDED_OVER
            np.testing.assert_array_equal(status, expected)
            np.testing.assert_array_equal(codes, np.where(status == Status.FULL, [0, 0, 1, 1, 2, 2, 0], 0))
    near = case(kind, output).cascade(tie_margin=0.1)
    assert near.decide(scores, 0.0)[1].tolist() == [1, 3, 3, 1, 3, 1, 3]


def test_single_rows_answer_with_labels_or_scores(kind: str) -> None:
    bands, values = case(kind, OUTPUTS["bands"]), case(kind, OUTPUTS["probabilities"])
    labels = tuple("abcde")
    for made in (bands, values):
        cascade = made.cascade(made.walked().high())
        one = cascade.fixed_calls(4, "full", [U] * 3, labels if made is bands else ())
        for x in X[:40]:
            answer, stage, paid, status = cascade.predict_one(x, 4, "full", U)
            expected = labels[answer] if made is bands else answer
            assert (one.label(x, False), one.label(x, True)) == (expected, (expected, paid))
            assert one.decided(x[None]) == (answer, stage, paid, status)
        assert one.label(np.full(N_FEATURES, np.nan), False) is None


NEAR = {"kind": "values", "n_outputs": 1, "tolerance": 0.1, "margin": "logistic", "slope": 1.0, "offset": 0.0}
BAD = {
    "bands without thresholds": ({"kind": "bands", "thresholds": [], "inclusive": []}, "1 to 9999 thresholds"),
    "words for other thresholds": ({"kind": "bands", "thresholds": [0.0], "inclusive": []}, "each inclusive or not"),
    "falling thresholds": ({"kind": "bands", "thresholds": [1.0, 0.0], "inclusive": [True, True]}, "must not fall"),
    "NaN": ({"kind": "bands", "thresholds": [np.nan], "inclusive": [True]}, "nor be NaN"),
    "NaN between": ({"kind": "bands", "thresholds": [0.0, np.nan, 1.0], "inclusive": [True] * 3}, "nor be NaN"),
    "a negative tolerance": (NEAR | {"tolerance": -1.0}, "tolerances must be positive and finite"),
    "no number": (NEAR | {"tolerance": np.nan}, "tolerances must be positive and finite"),
    "two values": (NEAR | {"n_outputs": 2, "tolerances": [1.0]}, "a tolerance for each"),
    "no slope": (NEAR | {"slope": 0.0}, "slope must be positive"),
    "unknown": ({"kind": "values", "n_outputs": 1, "tolerance": 1.0, "margin": "square"}, "margin must be one of"),
}


@pytest.mark.parametrize(("fields", "words"), BAD.values(), ids=BAD)
def test_outputs_that_make_no_sense_are_refused(fields: dict[str, Any], words: str) -> None:
    model = LINEAR.pack(np.arange(N_FEATURES)).core
    decided = SimpleNamespace(decision=SimpleNamespace(**fields), tie_margin=0.0)
    with pytest.raises(ValueError, match=words):
        _core.Engine(model, decided, Stages(np.empty(0, np.int64), ()), np.empty(0), np.empty(0))
