"""The engine in NumPy answers as the compiled one does."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald.engine import NO_STAGES, PythonTerms, Readout, Stages
from wald.engine.rows import n_rows_of
from wald.models import NO_SURROGATES, decompose

X, Y = load_digits(return_X_y=True)
X = X / 16
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
    judged = trace.confidence if trace.scores is None else np.abs(trace.scores)
    limits = np.median(judged, axis=0)
    return model, packed, [p.cascade(model, stages, -limits, limits) for p in packed]


@pytest.mark.parametrize("at_end", ["full", "answer", "pending"])
@pytest.mark.parametrize("n_stages", [1, 3, 4])
def test_codes_and_stages(both, n_stages, at_end):
    _, _, (compiled, plain) = both
    rows = X[600:]
    expected, stages, _ = compiled.predict(rows, n_stages, at_end, 1)
    codes, own_stages, _ = plain.predict(rows, n_stages, at_end, 1)
    differ = (codes != expected) | (own_stages != stages)
    assert differ.mean() <= 0.005  # rows within rounding of a threshold
    assert (own_stages < n_stages).mean() > 0.05


def test_everything(both):
    _, packed, (compiled, plain) = both
    expected, _, _ = compiled.predict(X[600:], 0, "full", 1)
    codes, stages, _ = plain.predict(X[600:], 0, "full", 1)
    assert np.array_equal(codes, expected)
    assert set(stages.tolist()) == {4}
    scores, errors = packed[1].scores(X[600:], lambda dtype: 2.0**-53, 1)
    theirs, _ = packed[0].scores(X[600:], lambda dtype: 2.0**-53, 1)
    assert (np.abs(scores - theirs).max(axis=1) <= np.maximum(errors, 1e-9)).all()


def test_traces(both):
    _, _, (compiled, plain) = both
    one, other = compiled.trace(X[600:700], 1), plain.trace(X[600:700], 1)
    for name in ("scores", "confidence"):
        seen = getattr(one, name)
        assert (seen is None) == (getattr(other, name) is None)
        if seen is not None:
            np.testing.assert_allclose(getattr(other, name), seen, rtol=1e-9, atol=1e-9)
    if one.codes is not None:
        assert np.array_equal(other.codes, one.codes)


def test_a_row_alone_gets_the_same_bits(both):
    _, _, (_, plain) = both
    codes, stages, _ = plain.predict(X[600:700], 4, "full", 1)
    alone = [plain.predict_one(x, 4, "full", 0.0) for x in X[600:700]]
    assert [one[:2] for one in alone] == list(zip(codes.tolist(), stages.tolist(), strict=True))


def test_ties_and_what_is_not_finite(both):
    model, _, (compiled, plain) = both
    rows = X[600:603].copy()
    rows[0, :] = np.nan
    for cascade in (compiled, plain):
        codes, _, _ = cascade.predict(rows, 4, "full", 1)
        assert codes[0] < 0
        assert (codes[1:] >= 0).all()
        assert n_rows_of(cascade.predict(rows[:0], 4, "full", 1)[0]) == 0
    tied = np.zeros((2, model.decision.n_outputs)) + (model.decision.threshold if model.decision.n_outputs == 1 else 0)
    assert plain.decide(tied, 0.1).tolist() == compiled.decide(tied, 0.1).tolist() == [-1, -1]
    assert plain.decide(tied, 0.0).tolist() == compiled.decide(tied, 0.0).tolist()


def test_no_stages(both):
    model, packed, _ = both
    none = packed[1].cascade(model, NO_STAGES, np.empty(0), np.empty(0))
    trace = none.trace(X[:5], 1)
    assert (trace.scores if trace.scores is not None else trace.confidence).shape == (5, 0)
