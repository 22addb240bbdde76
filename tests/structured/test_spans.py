"""Spans: read, compared, and lost, as sets of them say; and the certificates that count them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import check_random_state
from structured.test_constraints import GROUPS, can_be, make
from structured.test_risk import LeastConfident

from wald.displays._budgets import certified_bound
from wald.outputs import Parts, Spans
from wald.structured import BudgetedPredictor, ChainClassifier
from wald.structured.certificate import first_that_fails
from wald.structured.certified_answers import Family, certify_answers, place_thresholds
from wald.structured.per_part import PartTest
from wald.structured.spans import span_f1, spans_of

LOSSES = ("disagreement", "clipped gap", "gap")
CLASSES = ["B-NP", "B-VP", "I-NP", "I-VP", "O"]


def read(labels):
    """Spans as the evaluation of CoNLL-2000 reads them, label by label."""
    found, start, kind = [], 0, None
    for t, label in enumerate([*labels, "O"]):
        if kind is not None and label != f"I-{kind}":
            found.append((start, t, kind))
            kind = None
        if kind is None and label != "O":
            start, kind = t, label[2:]
    return found


def any_labels(rng, n=40, longest=9):
    """Labels of any kind, also such that no span can have."""
    return [rng.choice(CLASSES, size=length).tolist() for length in rng.integers(1, longest, n)]


def flat(answers):
    offsets = np.concatenate([[0], np.cumsum([len(labels) for labels in answers])])
    return np.searchsorted(CLASSES, np.concatenate(answers)).astype(np.int32), offsets


def test_spans_are_read_as_label_by_label():
    rng = np.random.default_rng(0)
    for labels in any_labels(rng, 200):
        assert spans_of(labels) == read(labels)
    assert spans_of([]) == []
    assert spans_of(["B", "I", "B"]) == [(0, 2, ""), (2, 3, "")]


def test_f1_of_sets():
    rng = np.random.default_rng(1)
    true = any_labels(rng)
    found = [[rng.choice(CLASSES) if rng.random() < 0.2 else label for label in labels] for labels in true]
    pairs = [(set(read(a)), set(read(b))) for a, b in zip(true, found, strict=True)]
    both, one, two = (sum(map(len, s)) for s in ([a & b for a, b in pairs], *zip(*pairs, strict=True)))
    assert span_f1(true, found) == pytest.approx(2 * both / (one + two))
    assert span_f1(true, true) == 1.0
    assert span_f1([["O", "O"], []], [["O", "O"], []]) == 1.0
    assert span_f1([["O", "O"]], [["O", "B-NP"]]) == 0.0


@pytest.mark.parametrize(
    ("true", "found", "message"),
    [
        ([["O"]], [["O"], ["O"]], "as many sequences. Got 1 and 2"),
        ([["O"], ["O"]], [["O"], ["O", "O"]], "Sequence 1 has 1 labels in y_true, and 2 in y_pred"),
        ([["O"]], [["NP"]], "Got 'NP'"),
        ([[0]], [[1]], "Got 0"),
        (["O", "O"], ["O", "O"], "must be a list of texts, one for each part. Got 'O'"),
        ([["O", None]], [["O", "O"]], r"must be a list of texts, one for each part. Got \['O', None\]"),
        ([[["O"]]], [[["O"]]], r"must be a list of texts, one for each part. Got \[\['O'\]\]"),
    ],
)
def test_what_is_no_label_of_spans_is_refused(true, found, message):
    with pytest.raises(ValueError, match=message):
        span_f1(true, found)


def test_losses_of_sets_and_in_falling_strength():
    rng = np.random.default_rng(2)
    truth = any_labels(rng, 300)
    early, full = ([[rng.choice(CLASSES) if rng.random() < p else k for k in s] for s in truth] for p in (0.3, 0.15))
    output, (codes, offsets) = Spans(CLASSES), flat(early)
    everything, true = flat(full)[0], flat(truth)[0]
    found = {
        loss: output.lost(loss, codes, everything, offsets, true) for loss in ("disagreement", "clipped gap", "gap")
    }
    counted = output.counted(codes, everything, offsets)
    for i, sentence in enumerate(zip(early, full, truth, strict=True)):
        e, f, t = (set(read(labels)) for labels in sentence)
        assert counted[i] == (len(e) + len(f)) / 2
        assert found["disagreement"][i] == len(e ^ f) / 2
        assert found["gap"][i] == (len(e ^ t) - len(f ^ t)) / 2
        assert found["clipped gap"][i] == max(found["gap"][i], 0)
    assert (found["gap"] <= found["clipped gap"]).all()
    assert (found["clipped gap"] <= found["disagreement"]).all()
    assert (found["disagreement"] <= counted).all()
    assert (counted <= np.diff(offsets)).all()
    assert (found["gap"] >= -counted).all()
    with pytest.raises(ValueError, match="needs true answers"):
        output.lost("gap", codes, everything, offsets)


def test_unknown_labels_are_outside_of_spans():
    output, offsets = Spans(CLASSES), np.array([0, 3])
    truth, found = np.array([-1, 2, 4], dtype=np.int32), np.array([4, 2, 4], dtype=np.int32)
    assert output.lost("gap", found, np.full(3, 4, dtype=np.int32), offsets, truth).tolist() == [-0.5]


def test_true_spans_of_labels_that_the_model_lacks():
    """A true span that goes on with a label that is no class is none that an answer holds."""
    rng, all_labels = np.random.default_rng(0), ["O", *(f"{b}-{kind}" for kind in "XYZ" for b in "BI")]
    whole, offsets = Spans(all_labels), np.array([0, 4, 7])
    for _ in range(100):
        classes = sorted(rng.choice(all_labels, rng.integers(2, 6), replace=False).tolist())
        output = Spans(classes)
        early, full, truth = (rng.choice(labels, 7).tolist() for labels in (classes, classes, all_labels))
        true = [classes.index(k) if k in classes else int(output.codes_of([k])[0]) for k in truth]
        answers = [np.array([classes.index(k) for k in labels]) for labels in (early, full)]
        found = output.lost("gap", *answers, offsets, np.array(true))
        by_all = [np.array([all_labels.index(k) for k in labels]) for labels in (early, full, truth)]
        wanted = whole.lost("gap", by_all[0], by_all[1], offsets, by_all[2])
        assert found.tolist() == wanted.tolist()
    model = ChainClassifier(max_iter=1, constraints="bio", random_state=0).fit([[["a"], ["b"]]] * 4, [["B-X", "O"]] * 4)
    codes = model.open([[["a"], ["b"], ["c"]]]).codes([["B-X", "I-X", "I-Y"]])
    early, full = np.array([[0, 1, 1], [1, 1, 1]])
    assert model.output_.lost("gap", early, full, np.array([0, 3]), codes).tolist() == [0.5]


def test_words_with_tags_and_heads():
    tags, heads = np.array([[0, 1, 1, 0], [2, 0, 2, 3]])
    answer, other, truth = np.c_[tags, heads], np.c_[tags, heads], np.c_[tags, heads]
    other[1] = [1, 9]
    other[2] = [7, 7]
    truth[1] = [1, 9]
    truth[3, 0] = -1
    offsets, words = np.array([0, 2, 4]), Parts()
    assert words.counted(answer, other, offsets).tolist() == [2.0, 2.0]
    assert words.lost("disagreement", other, answer, offsets).tolist() == [1.0, 1.0]
    assert words.lost("gap", other, answer, offsets, truth).tolist() == [-1.0, 1.0]
    assert words.lost("clipped gap", other, answer, offsets, truth).tolist() == [0.0, 1.0]


# ---- certificates ----------------------------------------------------------------------------------------------------

X, Y = make(2600, seed=5, noise=1.3)


@pytest.fixture(scope="module")
def model():
    return ChainClassifier(GROUPS, max_iter=4, constraints="bio", random_state=0).fit(X[:300], Y[:300])


@pytest.fixture(scope="module")
def policy(model):
    return LeastConfident().fit(model)


@pytest.mark.parametrize("loss", LOSSES)
def test_served_is_what_was_certified(model, policy, loss):
    fast = BudgetedPredictor(model, policy, risk=0.1, loss=loss, random_state=0).fit(X[300:1600], Y[300:1600])
    certificate = fast.certificate_
    assert (certificate.status, certificate.unit) == ("certified", "span")
    assert certificate.verify()
    assert f"{loss} {'with' if loss == 'disagreement' else 'to'} all features <= 10 % of spans" in str(certificate)
    members = 300 + check_random_state(0).permutation(1300)[:1040]
    kept = [X[i] for i in members]
    early, full = fast.predict(kept), model.predict(kept)
    assert all(map(can_be, early))
    for i, labels in enumerate(zip(early, full, [Y[i] for i in members], strict=True)):
        e, f, t = (set(read(k)) for k in labels)
        gap = (len(e ^ t) - len(f ^ t)) / 2
        lost = {"disagreement": len(e ^ f) / 2, "gap": gap, "clipped gap": max(gap, 0)}[loss]
        assert (certificate.gaps[i], certificate.n_parts[i]) == (lost, (len(e) + len(f)) / 2)
    if loss == "disagreement":
        assert certificate.mean == pytest.approx(1 - span_f1(full, early))
        assert span_f1(model.predict(X[1600:]), fast.predict(X[1600:])) > 0.9
    assert 1 < fast.mean_cost_ < 6
    assert certified_bound(fast, True) is None  # pictures are of parts


def test_a_pipeline_is_certified_from_its_answers_alone():
    """Words whose tag or head is another one, and spans, at settings that are worse and worse."""
    rng = np.random.default_rng(4)
    n_words = np.append(rng.integers(1, 9, 500), [0, 30])
    full = [(["NOUN"] * n, rng.integers(0, n + 1, n)) for n in n_words]

    def answer(rate):
        asked.append(rate)
        found = []
        for tags, heads in full:
            wrong, late = rng.random((2, len(tags))) < rate / 2
            found.append(([("VERB" if w else t) for w, t in zip(wrong, tags, strict=True)], np.where(late, -1, heads)))
        return found

    asked = []
    found = certify_answers(answer, [0.0, 0.02, 0.04, 0.2, 0.3], full, risk=0.1, max_parts=8)
    assert asked == [0.0, 0.02, 0.04, 0.2]
    assert found.threshold == 0.04
    assert found.verify()
    assert found.n_parts.tolist() == [n for n in n_words if n]
    assert found.gaps[-1] == 0  # too long: everything is bought
    assert 0.01 < found.mean < 0.1
    labels = [[str(k) for k in rng.choice(CLASSES, n)] for n in n_words]
    early = [["O"] * len(one) if rng.random() < 0.05 else one for one in labels]
    found = certify_answers(lambda _: early, [1.0], labels, risk=0.2, max_parts=30, unit="span")
    assert found.mean == pytest.approx(1 - span_f1(labels, early))
    assert found.unit == "span"


@pytest.mark.parametrize(
    ("answers", "change", "message"),
    [
        ([[0]], {}, "for each of 2 examples. Got 1"),
        ([[0], [0]], {}, r"example 1 differ in form: \(1, 1\) at the setting 0.5, and \(2, 1\)"),
        ([[0], ([0, 0], [0, 0])], {}, r"example 1 differ in form: \(2, 2\)"),
        ([[0], ([0], [0, 0])], {}, r"the same parts. Got \[1, 2\]"),
        ([[0], [0, 0]], {"risk": 0}, "'risk'"),
        ([[0], [0, 0]], {"confidence": 1}, "'confidence'"),
        ([[0], [0, 0]], {"unit": "word"}, "'unit'"),
        ([[0], [0, 0]], {"max_parts": 0}, "'max_parts'"),
        ([[0], [0, 0]], {"unit": "span"}, "Got 0"),
    ],
)
def test_answers_of_another_form_are_refused(answers, change, message):
    with pytest.raises(ValueError, match=message):
        certify_answers(lambda _: answers, [0.5], [[0], [0, 1]], **{"risk": 0.1, "max_parts": 3, **change})


@pytest.mark.parametrize("nothing", [(), [], ([], [])])
def test_answers_of_no_parts(nothing):
    full = [nothing, *[["NOUN"]] * 200]
    assert certify_answers(lambda _: full, [0.5], full, risk=0.1, max_parts=2).n_parts.tolist() == [1] * 200


def test_too_few_examples_and_no_spans(model, policy):
    few = BudgetedPredictor(model, policy, risk=0.1, random_state=0).fit(X[300:340]).certificate_
    assert few.status == "too few examples"
    assert few.verify()
    needed = few.examples_needed
    assert 32 < needed < 1000
    assert (
        f"{needed} certificate examples needed, 32 given, for disagreement with all features <= 10 % of spans"
        in str(few)
    )
    outside = [np.tile(x[:1] * 0 + model_of_outside(model), (3, 1)) for x in X[:40]]
    none = BudgetedPredictor(model, policy, risk=0.1, random_state=0).fit(outside).certificate_
    assert none.status == "too few examples"
    assert none.verify()
    assert none.examples_needed == 0
    assert "no spans in the 32 certificate examples" in str(none)


def model_of_outside(model):
    """Features of parts that are outside of spans, whatever is bought."""
    parts, labels = np.concatenate(X), np.concatenate(Y)
    return 2 * parts[labels == "O"].mean(axis=0)


def broken(model, policy, loss, n_redraws, n=700, risk=0.1):
    """How many promises about spans are broken, over draws of examples from a pool whose loss is the true one."""
    pool, truth = X[300:], Y[300:]
    place = Family.open(model, policy, X[:300], Y[:300], loss, None)
    thresholds = place_thresholds(place, risk)
    everyone = Family.open(model, policy, pool, truth, loss, place.max_parts)
    steps = [everyone.step(threshold) for threshold in thresholds]
    true = {threshold: lost.sum() / counted.sum() for threshold, lost, counted in steps}
    rng = np.random.default_rng(3)
    violations = made = 0
    for _ in range(n_redraws):
        rows = rng.integers(len(pool), size=n)
        drawn = ((threshold, lost[rows], counted[rows]) for threshold, lost, counted in steps)
        found = first_that_fails(drawn, PartTest(risk, 0.95, place.max_parts), loss, "span")
        made += found.status == "certified" and found.threshold > thresholds[0]
        violations += found.threshold > -np.inf and true[found.threshold] > risk
    print(f"{loss}: {violations} of {n_redraws} promises about spans broken, {made} made")
    return violations, made


def test_promises_are_kept(model, policy):
    violations, made = broken(model, policy, "clipped gap", 20)
    assert violations <= 4
    assert made > 10


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
def test_promises_kept_over_many_draws(model, policy, loss):
    violations, made = broken(model, policy, loss, 200)
    assert violations <= 18  # of 10 promised, more than 18 with probability 0.5 %
    assert made > 100
