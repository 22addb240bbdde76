"""The engine in NumPy answers as the compiled one does."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald.engine import NO_STAGES, PythonTerms, Readout, Stages, Status
from wald.models import NO_SURROGATES, decompose

X, Y = load_digits(return_X_y=True)
X = X / 16
#: What rows pay that leave at one of four stages, or at none.
COSTS = np.array([1.0, 2.5, 3.5, 7.0, 11.0])
MODELS = {
    "binary linear": LogisticRegression(max_iter=300).fit(X[:600], Y[:600] > 4),
    "ten classes": LogisticRegression(max_iter=300).fit(X[:600], Y[:600]),
    "binary kernel": SVC().fit(X[:600], Y[:600] > 4),
    "one-vs-one": SVC(decision_function_shape="ovo").fit(X[:300], Y[:300]),
    "one-vs-one, ties broken": SVC(break_ties=True).fit(X[:300], Y[:300]),
}


@pytest.fixture(params=MODELS)
def both(request):
    """Stages on terms of both engines; they leave at thresholds that about half of the rows pass."""
    model = decompose(MODELS[request.param])
    terms, rng = model.terms, np.random.default_rng(0)
    order = rng.permutation(terms.n_terms)
    stage_terms = np.array([terms.n_terms // 8, terms.n_terms // 4, terms.n_terms // 4, terms.n_terms // 2])
    readouts = [Readout(np.ascontiguousarray(terms.coef[:, order[:m]]), terms.intercept) for m in stage_terms]
    packed = terms.pack(order, NO_SURROGATES), PythonTerms(terms, order)
    stages = Stages(stage_terms, readouts)
    never = np.full(len(stage_terms), np.inf)
    trace = packed[1].cascade(model, stages, -never, never).trace(X[600:900], 1)
    limits = np.median(np.abs(trace.margins) if trace.two_sided else trace.margins, axis=0)
    return model, packed, [p.cascade(model, stages, -limits, limits, COSTS) for p in packed]


@pytest.mark.parametrize("at_end", ["full", "answer", "pending"])
@pytest.mark.parametrize("n_stages", [1, 3, 4])
def test_codes_and_stages(both, n_stages, at_end):
    _, _, (compiled, plain) = both
    rows = X[600:]
    expected, (stages, paid, status) = compiled.predict(rows, n_stages, at_end, 1)
    codes, (own_stages, own_paid, own_status) = plain.predict(rows, n_stages, at_end, 1)
    differ = (codes != expected) | (own_stages != stages) | (own_paid != paid) | (own_status != status)
    assert differ.mean() <= 0.005  # rows within rounding of a threshold
    assert (own_stages < n_stages).mean() > 0.05
    np.testing.assert_array_equal(paid, COSTS[stages])
    last = {"full": Status.FULL, "answer": Status.OUT_OF_BUDGET, "pending": Status.PENDING}[at_end]
    assert set(status.tolist()) - {Status.HANDED_OVER} == {Status.EARLY, last}  # ties, where they are broken


def test_everything(both):
    _, packed, (compiled, plain) = both
    expected, _ = compiled.predict(X[600:], 0, "full", 1)
    codes, (stages, paid, status) = plain.predict(X[600:], 0, "full", 1)
    assert np.array_equal(codes, expected)
    assert (set(stages.tolist()), set(paid.tolist())) == ({4}, {COSTS[4]})
    assert set(status.tolist()) - {Status.HANDED_OVER} == {Status.FULL}
    scores, errors = packed[1].scores(X[600:], lambda dtype: 2.0**-53, 1)
    theirs, _ = packed[0].scores(X[600:], lambda dtype: 2.0**-53, 1)
    assert (np.abs(scores - theirs).max(axis=1) <= np.maximum(errors, 1e-9)).all()


def test_traces(both):
    _, _, (compiled, plain) = both
    one, other = compiled.trace(X[600:700], 1), plain.trace(X[600:700], 1)
    assert one.two_sided == other.two_sided
    np.testing.assert_allclose(other.margins, one.margins, rtol=1e-9, atol=1e-9)
    if not one.two_sided:
        assert np.array_equal(other.answers, one.answers)


def test_a_row_alone_gets_the_same_bits(both):
    _, _, (_, plain) = both
    codes, ledger = plain.predict(X[600:700], 4, "full", 1)
    alone = [plain.predict_one(x, 4, "full", 0.0) for x in X[600:700]]
    assert alone == list(zip(*(part.tolist() for part in (codes, *ledger)), strict=True))


def test_ties_and_what_is_not_finite(both):
    model, _, (compiled, plain) = both
    rows = X[600:603].copy()
    rows[0, :] = np.nan
    for cascade in (compiled, plain):
        codes, ledger = cascade.predict(rows, 4, "full", 1)
        assert (codes[0], ledger.status[0]) == (0, Status.NOT_FINITE)
        assert ledger.settled.tolist() == [False, True, True]
        assert len(cascade.predict(rows[:0], 4, "full", 1)[0]) == 0
    tied = np.zeros((2, model.decision.n_outputs)) + (model.decision.threshold if model.decision.n_outputs == 1 else 0)
    for error in (0.1, 0.0):
        (codes, status), (own_codes, own_status) = compiled.decide(tied, error), plain.decide(tied, error)
        assert (own_codes.tolist(), own_status.tolist()) == (codes.tolist(), status.tolist())
        assert (status == Status.HANDED_OVER).all() == (error > 0 or model.decision.break_ties)


def test_no_stages(both):
    model, packed, _ = both
    none = packed[1].cascade(model, NO_STAGES, np.empty(0), np.empty(0))
    trace = none.trace(X[:5], 1)
    assert trace.margins.shape == (5, 0)
