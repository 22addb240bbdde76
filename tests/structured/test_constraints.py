"""Labels of spans: what cannot be is never an answer, by brute force over all labellings that can."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from structured import brute

import wald
from wald import _core
from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy
from wald.structured.protocol import check_model
from wald.structured.spans import ruled_out

CLASSES = np.array(["B-NP", "B-VP", "I-NP", "I-VP", "O"])


def can_be(labels):
    """The rule, label by label."""
    before = "O"
    for label in labels:
        if label.startswith("I-") and before not in (f"B-{label[2:]}", label):
            return False
        before = label
    return True


def make(n=120, seed=0, n_features=9, noise=1.0):
    """Sentences whose labels are hard to tell from their features, all of them legal."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(0).normal(size=(len(CLASSES), n_features))
    X, y = [], []
    for length in rng.integers(1, 8, n):
        labels, before = [], "O"
        for _ in range(length):
            before = rng.choice([k for k in CLASSES if can_be([*labels, k])])
            labels.append(str(before))
        y.append(labels)
        X.append(means[np.searchsorted(CLASSES, labels)] + noise * rng.normal(size=(length, n_features)))
    return X, y


def some(parts):
    return parts[:, :4]


GROUPS = [FeatureGroup("some", some, cost=1.0), FeatureGroup("all", cost=5.0)]
X, Y = make()


@pytest.fixture(scope="module", params=["perceptron", "svm"])
def model(request):
    return ChainClassifier(GROUPS, learner=request.param, max_iter=4, constraints="bio", random_state=0).fit(X, Y)


def constrained(rng, K=5):
    """A chain of steps and ends alone, in which some labels are ruled out."""
    chain = _core.Chain(K, [0], True)
    chain.fill(rng.normal(size=(3 + K, K)).astype(np.float32))
    first, steps = ruled_out(CLASSES)
    chain.rule_out(first.astype(np.uint8), steps.astype(np.uint8).ravel())
    return chain


def legal(node, steps):
    """All labellings that can be, and their scores."""
    paths, scores = brute.all_paths(node.astype(float), steps.astype(float))
    good = np.array([can_be(CLASSES[path]) for path in paths])
    assert (np.isfinite(scores) == good).all()  # nothing else is ruled out
    return paths[good], scores[good]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_inference_knows_no_other_labellings(length):
    rng = np.random.default_rng(length)
    for draw in (rng.normal, lambda size: rng.integers(-1, 2, size)):
        chain = constrained(rng)
        table, ends = chain.table(), brute.ends([length])
        node = draw(size=(length, 5)).astype(np.float32)
        node[0] += table[1]
        node[-1] += table[2]
        paths, scores = legal(node, table[3:])
        labels, best = chain.decode(node, ends, 1)
        assert can_be(CLASSES[labels])
        assert best[0] == pytest.approx(scores.max(), abs=1e-5)
        through, chances = chain.max_marginals(node, ends, 1), chain.marginals(node, ends, 0.7, 1)
        weights = np.exp(0.7 * (scores - scores.max()))
        for t, k in np.ndindex(node.shape):
            here = paths[:, t] == k
            assert through[t, k] == pytest.approx(scores[here].max(initial=-np.inf), abs=1e-5)
            assert chances[t, k] == pytest.approx(weights[here].sum() / weights.sum(), abs=1e-6)
            assert here.any() or chances[t, k] == 0
        for k in (1, 4, 60):
            found, values = chain.best_paths(node, ends, k, 1)
            n = min(k, len(paths))
            np.testing.assert_allclose(values[0, :n], np.sort(scores)[::-1][:n], atol=1e-5)
            assert (values[0, n:] == -np.inf).all()
            found = found.reshape(k, length)[:n]
            assert len({tuple(path) for path in found}) == n
            assert all(can_be(CLASSES[path]) for path in found)


def test_answers_of_a_model(model):
    """All doors, under a mixed state, beside brute force with the model's own weights."""
    X_test, _ = make(30, seed=1, noise=4.0)
    session = model.open(X_test)
    state = np.random.default_rng(0).random(session.state().shape) < 0.5
    layout, table = brute.Rows(5, [4, 9], True), model._chain.table()
    parts = np.concatenate(X_test).astype(np.float32)
    answers, marginals = model.predict(X_test, state=state), model.predict_marginals(X_test, scale=0.3, state=state)
    through, best = model.max_marginals(X_test, state=state), model.best_paths(X_test, 3, state=state)
    confidence, evidence = session.confidence(state), session.evidence(state)
    most = 40 / session._scale
    for i, (a, b) in enumerate(zip(session.offsets, session.offsets[1:], strict=False)):
        if b - a > 5:
            continue
        inputs = layout.inputs([parts[a:b, :4], parts[a:b]], state[a:b, 0].astype(int))
        finite = np.where(np.isfinite(table), table, 0)
        node, steps = layout.scores(finite, inputs)
        node[0] += np.where(np.isfinite(table[layout.first]), 0, -np.inf)
        steps = steps + np.where(np.isfinite(table[layout.steps : layout.steps + 5]), 0, -np.inf)
        paths, scores = legal(node, steps)
        first = paths[scores.argmax()]
        assert answers[i] == CLASSES[first].tolist()
        assert best[0][i][0] == answers[i]
        n = min(3, len(scores))
        np.testing.assert_allclose(best[1][i][:n], np.sort(scores)[::-1][:n], rtol=1e-4, atol=1e-3)
        weights = np.exp(0.3 * (scores - scores.max()))
        sharp = np.exp(session._scale * (scores - scores.max()))
        for t in range(b - a):
            by_label = np.array([scores[paths[:, t] == k].max(initial=-np.inf) for k in range(5)])
            np.testing.assert_allclose(through[i][t], by_label, rtol=1e-4, atol=1e-3)
            chances = [weights[paths[:, t] == k].sum() / weights.sum() for k in range(5)]
            np.testing.assert_allclose(marginals[i][t], chances, atol=1e-5)
            ranked = np.sort(by_label)[::-1]
            lead = np.nan_to_num(ranked[0] - ranked[1:3], posinf=most)
            np.testing.assert_allclose(evidence[a + t, :2], lead, rtol=1e-4, atol=2e-3)
            assert confidence[a + t] == pytest.approx(lead[0], rel=1e-4, abs=2e-3)
            assert evidence[a + t, 2] == first[t]
            chances = [sharp[paths[:, t] == k].sum() / sharp.sum() for k in range(5)]
            np.testing.assert_allclose(evidence[a + t, 4:7], np.sort(chances)[::-1][:3], atol=1e-3)
            assert evidence[a + t, 7] == pytest.approx(chances[first[t]], abs=1e-3)
    assert len(answers) == 30
    for values in (evidence, confidence, session.part_features()):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("labels", [["B", "I"], ["B", "I", "O"]])
def test_margins_are_finite_where_no_other_label_can_be(labels):
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(n, 3)) for n in rng.integers(1, 6, 40)]
    y = [["B", *rng.choice(labels[:2], len(one) - 1)] for one in x]
    tiny = ChainClassifier(max_iter=2, constraints="bio", random_state=0).fit(x, y, classes=labels)
    session = tiny.open(x)
    state, first = session.state(), session.offsets[:-1]
    most = pytest.approx(40 / session._scale)
    evidence, confidence = session.evidence(state), session.confidence(state)
    part_features = session.part_features()
    for values in (evidence, confidence, part_features):
        assert np.isfinite(values).all()
    last = len(labels) - 2  # column of the margin over the label that is ruled out
    for part in first:
        assert evidence[part, last] == most
        assert part_features[part, last] == most
        assert part_features[part, 3] == pytest.approx(-40 / session._scale)
        assert len(labels) == 3 or confidence[part] == evidence[part, 8] == most
    assert np.isneginf(session.max_marginals(state)[first, 1]).all()


def test_the_best_of_what_can_be_is_learned(model):
    """Without constraints, answers hold spans that nothing begins; with them, none, and the spans are better."""
    X_test, y_test = make(300, seed=2)
    free = clone(model).set_params(constraints=None).fit(X, Y)
    assert not all(map(can_be, free.predict(X_test)))
    assert all(map(can_be, model.predict(X_test)))
    nothing = np.zeros((sum(map(len, X_test)), 1), dtype=bool)
    assert all(map(can_be, model.predict(X_test, state=nothing)))
    assert model.score(X_test, y_test) > 0.5


def test_the_gap_of_the_svm_is_finite():
    svm = ChainClassifier(learner="svm", max_iter=20, constraints="bio", random_state=0).fit(X, Y)
    assert 0 <= svm.duality_gap_ < 10
    assert np.isneginf(svm._chain.table()).sum() == 2 + 2 * 5 - 4  # at the beginning, and steps


def test_policies_work_with_constraints(model):
    check_model(model, X, Y)
    policy = IteratedPolicy(max_iter=10, random_state=0).fit(model, X, Y)
    answers = BudgetedPredictor(model, policy, budget=3).fit(make(50, seed=3)[0]).predict(X)
    assert all(map(can_be, answers))


def test_epochs_one_by_one_and_copies(model, tmp_path: Path):
    by_epochs = ChainClassifier(GROUPS, constraints="bio", random_state=0)
    for _ in range(2):
        by_epochs.partial_fit(X, Y, classes=CLASSES)
    again = pickle.loads(pickle.dumps(by_epochs))
    again.partial_fit(X, Y)
    plain = ChainClassifier(max_iter=3, constraints="bio", random_state=0).fit(X, Y)
    wald.save(plain, tmp_path / "chain.wald")
    loaded = wald.load(tmp_path / "chain.wald")
    assert loaded.constraints == "bio"
    assert loaded.predict(X) == plain.predict(X)
    np.testing.assert_array_equal(loaded._chain.table(), plain._chain.table())
    plain._chain = ChainClassifier(max_iter=3, random_state=0).fit(X, Y)._chain  # as in a file that lies
    wald.save(plain, tmp_path / "chain.wald")
    lied = wald.load(tmp_path / "chain.wald")
    assert (np.isneginf(lied._chain.table()) == np.isneginf(loaded._chain.table())).all()
    for m in (again, loaded):
        assert all(map(can_be, m.predict(make(50, seed=4, noise=5.0)[0])))
    table = plain._chain.table()
    table[1] = np.where([label.startswith("I") for label in plain.classes_], 0, -np.inf)  # no sequence can begin
    plain._chain.fill(table)
    with pytest.raises(ValueError, match="rule out all labels"):  # files are read once before they are written
        wald.save(plain, tmp_path / "chain.wald")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["O", "I-NP"], r"'I-NP' of part 1 of sequence 1, behind 'O'"),
        (["I-NP", "O"], r"'I-NP' of part 0 of sequence 1, at the beginning"),
        (["B-VP", "I-NP"], r"'I-NP' of part 1 of sequence 1, behind 'B-VP'"),
        (["NP", "O"], "begin with 'B-' or 'I-'. Got 'NP'"),
        (["B-", "O"], "Got 'B-'"),
    ],
)
def test_labels_that_cannot_be_are_named(y, message):
    given = [np.zeros((1, 2)), np.zeros((2, 2))]
    with pytest.raises(ValueError, match=message):
        ChainClassifier(constraints="bio").fit(given, [["B-NP"], y])


def test_other_arguments():
    with pytest.raises(ValueError, match="'constraints' parameter"):
        ChainClassifier(constraints="iob").fit(X, Y)
    with pytest.raises(ValueError, match="Got 1"):
        ChainClassifier(constraints="bio").fit([np.zeros((2, 2))], [[1, 2]])
    with pytest.raises(ValueError, match="that a sequence can begin with"):
        ChainClassifier(constraints="bio").fit([np.zeros((1, 2))], [["I-NP"]], classes=["I-NP"])


def test_the_core_checks_what_is_ruled_out():
    chain = _core.Chain(3, [2], True)
    some, none = np.array([0, 1, 0], dtype=np.uint8), np.zeros(9, dtype=np.uint8)
    for first, steps in ((some[:2], none), (some, none[:8]), (np.ones(3, np.uint8), none), (some, none + np.uint8(1))):
        with pytest.raises(ValueError, match=r"what is ruled out|some label"):
            chain.rule_out(first, steps)
    assert np.isfinite(chain.table()).all()
    good = chain.table()
    for row, value in ((0, -np.inf), (2, -np.inf), (-1, -np.inf), (1, np.inf), (3, np.nan)):
        table = good.copy()
        table[row, 0] = value
        with pytest.raises(ValueError, match="weights must be finite"):
            chain.fill(table)
    chain.rule_out(some, none)
    store = _core.ChainGroup(2, 2)
    store.add_dense(np.zeros((2, 2), dtype=np.float32), np.arange(2))
    for labels, offsets in (([1, 0], [0, 2]), ([0, 1], [0, 1, 2])):
        with pytest.raises(ValueError, match="labels must not be ruled out"):
            _core.ChainLesson(chain, [store], np.array(labels, dtype=np.int32), np.array(offsets), False, 0)
    _core.ChainLesson(chain, [store], np.array([0, 1], dtype=np.int32), np.array([0, 2]), False, 0)
    good[1] = -np.inf  # no label can begin
    with pytest.raises(ValueError, match="weights must be finite"):
        chain.fill(good)
