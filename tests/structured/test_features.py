"""Sequences in users' containers, and groups that are extracted when they are needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from wald.structured import ChainClassifier, ExtractionError, FeatureGroup
from wald.structured.features import LazyFeatures
from wald.structured.given import labels_of
from wald.structured.names import flattened
from wald.structured.sequences import Sequences

PARTS = [np.arange(6.0).reshape(3, 2), np.ones((1, 2)), -np.ones((2, 2))]


class Watched:
    """An extractor that records its arguments."""

    def __init__(self, answer=lambda parts: parts):
        self.answer, self.seen = answer, []

    def __call__(self, parts):
        self.seen.append(parts.toarray() if sparse.issparse(parts) else np.array(parts))
        return self.answer(parts)


def fitted(costly):
    # the first column says the label, and which part it is
    X = [np.column_stack([np.arange(i, i + n), np.ones(n)]) / 10 for i, n in ((0, 3), (3, 2), (5, 4), (9, 1))]
    y = [(x[:, 0] > 0.4).astype(int) for x in X]
    groups = [FeatureGroup("cheap"), FeatureGroup("costly", costly, cost=1)]
    return ChainClassifier(groups, max_iter=3, random_state=0).fit(X, y), X


def test_only_for_the_parts_that_need_it_once_each():
    watched = Watched()
    m, X = fitted(watched)
    assert [len(parts) for parts in watched.seen] == [10]
    watched.seen.clear()
    session = m.open(X)
    state = session.state() & False
    session.decode(state)
    assert not watched.seen
    state[[1, 6]] = True
    session.decode(state)
    session.confidence(state)
    state[7] = True
    session.marginals(state)
    assert [parts[:, 0].tolist() for parts in watched.seen] == [[0.1, 0.6], [0.7]]
    assert session.extracted.tolist() == [10, 3]
    assert session.seconds.shape == (2,)
    state[:] = True
    session.decode(state, examples=[0])  # parts 0 to 2
    assert [parts[:, 0].tolist() for parts in watched.seen[2:]] == [[0.0, 0.2]]
    everything = session.decode(state)
    assert session.extracted.tolist() == [10, 10]
    np.testing.assert_array_equal(everything, m.open(X).decode(state))


def test_a_selection_answers_as_the_whole_does():
    m, X = fitted(Watched())
    session = m.open(X)
    state = session.state()
    state[::2] = False
    ends, chosen = session.offsets, [3, 1, 3]
    for ask in (session.decode, session.node_scores, session.max_marginals, session.marginals, session.confidence):
        some, whole = ask(state, examples=chosen), ask(state)
        np.testing.assert_array_equal(some, np.concatenate([whole[ends[i] : ends[i + 1]] for i in chosen]))
    assert session.decode(state, examples=[]).shape == (0,)
    for bad in ([4], [-1], [[0]], [0.5], "all"):
        with pytest.raises(ValueError, match="examples must"):
            session.decode(state, examples=bad)


def test_dense_and_sparse_by_turns():
    epoch = iter([False, True, False])
    m, X = fitted(Watched())
    want = m.open(X)
    mixed = Watched(lambda parts: sparse.coo_matrix(parts) if next(epoch) else parts)
    m.feature_groups = [m.feature_groups[0], FeatureGroup("costly", mixed)]
    session, state = m.open(X), want.state() & False
    for upto in (2, 5, 10):
        state[:upto] = True
        np.testing.assert_array_equal(session.node_scores(state), want.node_scores(state))


def test_a_session_trusts_no_index_that_can_be_changed():
    watched = Watched()
    m, X = fitted(watched)
    parts = sparse.csr_matrix(np.concatenate(X).astype(np.float32))
    session = m.open(parts, lengths=[len(x) for x in X])
    before = session.node_scores(session.state())
    parts.indices[:] = 10**9
    np.testing.assert_array_equal(session.node_scores(session.state()), before)


def raising(parts):
    raise KeyError("no such glyph")


@pytest.mark.parametrize(
    ("extract", "message"),
    [
        (raising, r"'costly'.* failed on part 0 of sequence 0 and 9 others.*no such glyph"),
        (lambda p: p[:, :, None], r"'costly' must have one row for each of 10 parts\. Got shape \(10, 2, 1\)"),
        (lambda p: p[:-1], r"'costly' must have one row for each of 10 parts\. Got shape \(9, 2\)"),
        (lambda p: np.full(p.shape, "a"), r"'costly' must be numbers"),
        (lambda p: None, r"'costly' must be numbers"),
        (lambda p: np.where(p == 0.5, np.nan, p), r"'costly' has NaN or infinity at part 0 of sequence 2"),
        (lambda p: p * 1e300, r"'costly' has NaN or infinity at part 0 of sequence 0"),
        (lambda p: sparse.csr_matrix(np.where(p == 0.4, np.inf, p)), r"'costly' has NaN .* at part 1 of sequence 1"),
    ],
)
def test_errors_name_group_and_part(extract, message):
    with pytest.raises(ExtractionError, match=message):
        fitted(extract)


def test_an_extractor_that_changes_its_mind():
    m, X = fitted(Watched())
    m.feature_groups = [m.feature_groups[0], FeatureGroup("costly", lambda p: np.ones((len(p), 3)))]
    session = m.open(X)
    state = session.state() & False
    state[[4, 8]] = True
    with pytest.raises(
        ExtractionError, match=r"'costly' must have 2 features.*Got 3 for part 1 of sequence 1 and 1 others"
    ):
        session.decode(state)
    assert session.decode(state & False).shape == (10,)


def test_lazy_features_know_their_sizes():
    lazy = LazyFeatures([FeatureGroup("a"), FeatureGroup("b", lambda p: p[:, :1])], Sequences.of(PARTS))
    assert lazy.sizes == [2, 1]
    assert lazy.extracted.tolist() == [6, 6]  # without sizes, they show with the first parts
    assert LazyFeatures(lazy.groups, lazy.sequences, lazy.sizes).extracted.tolist() == [6, 0]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("",), ValueError), ((3,), ValueError), (("a", "hog"), TypeError)]
    + [(("a", None, cost), ValueError) for cost in (0, -1, np.nan, np.inf)],
)
def test_groups_are_checked(arguments, error):
    with pytest.raises(error, match=r"name|callable|cost"):
        FeatureGroup(*arguments)


def test_feature_dicts_are_named_as_in_crfsuite():
    part = {
        "bias": 1.0,
        "word": "Hello",
        "upper": False,
        "n": np.int64(3),
        "next": {"word": "you", "w": 0.5},
        "shape": ["X", "Xx"],
        "prefix": {"2": {"He": 2}},
    }
    assert flattened(part) == {
        b"bias": 1.0,
        b"word:Hello": 1.0,
        b"upper": 0.0,
        b"n": 3.0,
        b"next:word:you": 1.0,
        b"next:w": 0.5,
        b"shape:X": 1.0,
        b"shape:Xx": 1.0,
        b"prefix:2:He": 2.0,
    }
    assert flattened(["a", "b=c"]) == {b"a": 1.0, b"b=c": 1.0}


def test_tagging_with_feature_dicts_and_with_names():
    y = [["N", "V"], ["V"], ["N"]] * 5
    dicts = [[{"word": "dog"}, {"word": "runs"}], [{"word": "runs"}], [{"word": "dog"}]] * 5
    names = [[[f"word:{p['word']}"] for p in s] for s in dicts]
    for X in (dicts, names):
        m = ChainClassifier(max_iter=5, random_state=0).fit(X, y)
        assert m.predict(X) == y
    assert (Sequences.of(dicts).parts != Sequences.of(names).parts).nnz == 0


@pytest.mark.parametrize(
    ("X", "lengths", "message"),
    [
        ([], None, "at least one sequence"),
        ([[]], None, "Sequence 0 is empty"),
        ([[[1.0]], np.empty((0, 1))], None, "Sequence 1 is empty"),
        ([[{"a": 1}], []], None, "Sequence 1 is empty"),
        ([np.ones((2, 2)), np.ones((2, 3))], None, "Sequence 1 has 3 features, the first one 2"),
        ([sparse.csr_matrix((2, 2)), np.ones((2, 3))], None, "Sequence 1 has 3 features, the first one 2"),
        ([[[1.0], [1.0, 2.0]]], None, "Sequence 0 must be an array"),
        ([np.ones(3)], None, "Sequence 0 must be a numeric array"),
        ([[["a", 1]]], None, "Lists of features must hold strings"),
        ([np.array([["a"]])], None, "Sequence 0 must be a numeric array"),
        ([[{"a": 1}], [["b"]], [3]], None, "Every part must be"),
        ([[{"a": None}]], None, "Feature 'a' must be"),
        ([[{"a": np.inf}]], None, "NaN or infinity. Sequence 0"),
        ([[{"a": 1}, {"b\ud800": 1}]], None, r"Feature 'b\\ud800' holds half of a surrogate pair"),
        ([np.ones((2, 1)), [[1.0], [np.nan]]], None, "NaN or infinity. Sequence 1"),
        ([sparse.csr_matrix([[0.0], [1]]), sparse.csr_matrix([[0], [np.inf]])], None, "infinity. Sequence 1"),
        (np.ones((3, 2)), None, "lengths="),
        (sparse.csr_matrix((3, 2)), None, "lengths="),
        (np.ones((3, 2)), [1, 1], "lengths add up to 2"),
        ([{"a": 1}, {"b": 1}], [1, 1], r"With lengths=, X must be one array or CSR matrix of all parts.*shape \(2,\)"),
        (np.ones((3, 2)), [4, -1], "Sequence 1 is empty"),
        (np.ones((3, 2)), [1.5, 1.5], "lengths must be"),
        (np.ones((3, 2)), 3, "lengths must be"),
        (np.ones(3), [3], "X has shape"),
        (np.array([["a"]]), [1], "numbers"),
        (np.array([[1j]]), [1], "numbers"),
    ],
)
def test_bad_sequences(X, lengths, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Sequences.of(X, lengths)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, 1, 0], [1]], "labels of 3 sequences. Got 2"),
        ([[0, 1], [1], [0, 0]], r"Sequence 0 has 3 parts, and labels of shape \(2,\)"),
        ([[0, 1, 0], 1, [0, 0]], r"Sequence 1 has 1 parts, and labels of shape \(\)"),
        (np.zeros(5), "6 labels. Got 5"),
        ([[0, 1, np.nan], [1], [0, 0]], "NaN"),
        ([["a", "b", "a"], [1], ["a", "b"]], r"one type. Got .a. \(str\) in sequence 0 and 1 \(int\) in sequence 1"),
        ([["a", None, "a"], np.array([None]), np.array(["a", None])], "one type"),
        ([np.array(["a", None, "a"])] + [np.array(["a"] * n, dtype=object) for n in (1, 2)], "one type"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        labels_of(y, Sequences.of(PARTS))
