"""ChainClassifier: training, answers and refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from wald import _core
from wald.datasets import make_chains
from wald.structured import ChainClassifier, ExtractionError, FeatureGroup
from wald.structured.sequences import Sequences
from wald.structured.session import ChainSession


def half(parts):
    return parts[:, ::2]


GROUPS = [FeatureGroup("half", half, cost=1.0), FeatureGroup("all", cost=5.0)]
X, Y = make_chains(240, n_features=10, noise=1.5, random_state=0)
TRAIN, TEST = slice(0, 180), slice(180, None)
TRUTH = np.concatenate(Y[TEST])


def model(learner="perceptron", **parameters):
    return ChainClassifier(GROUPS, learner=learner, max_iter=15, random_state=0, **parameters)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X[TRAIN], Y[TRAIN])


def table(m):
    return m._chain.table()


def some_state(n_parts):
    return np.random.default_rng(0).random((n_parts, 1)) < 0.5


@pytest.mark.parametrize("learner", ["perceptron", "svm"])
@pytest.mark.parametrize("own", [True, False])
def test_one_model_serves_every_state(learner, own):
    m = model(learner, own_weights=own).fit(X[TRAIN], Y[TRAIN])
    n = len(TRUTH)
    cheap, mixed, full = (
        m.score(X[TEST], Y[TEST], state=s) for s in (np.zeros((n, 1), bool), some_state(n), np.ones((n, 1), bool))
    )
    assert cheap > 0.55
    assert full > cheap + 0.05
    assert cheap < mixed < full
    assert full > 0.75
    only = ChainClassifier([GROUPS[1]], learner=learner, max_iter=15, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert full > only.score(X[TEST], Y[TEST]) - 0.03


def test_random_states_are_what_makes_the_cheap_group_good():
    everything = model(states="full").fit(X[TRAIN], Y[TRAIN])
    nothing = np.zeros((len(TRUTH), 1), bool)
    assert everything.score(X[TEST], Y[TEST], state=nothing) < 0.5


def test_the_ends_and_the_neighbours_count():
    """Labels depend on the ends and the order only, not on features."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in rng.integers(2, 7, 60)]
    y = [[*range(len(x) - 1), 9] for x in X]
    m = ChainClassifier(max_iter=30, random_state=0).fit(X, y)
    assert m.score(X, y) == 1.0


def test_attributes(fitted):
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert fitted.group_names_ == ["half", "all"]
    assert fitted.group_costs_.tolist() == [1.0, 5.0]
    assert fitted.n_iter_ == 15
    timed = ChainClassifier([GROUPS[0], FeatureGroup("timed")], max_iter=1).fit(X[:9], Y[:9])
    assert timed.group_costs_[0] == 1.0
    assert 0 < timed.group_costs_[1] < 1e-3


def test_duality_gap_falls_and_stops():
    gaps = [
        ChainClassifier(learner="svm", max_iter=n, average=a, random_state=0).fit(X[:50], Y[:50]).duality_gap_
        for a in (True, False)
        for n in (1, 10, 50)
    ]
    assert gaps[0] > gaps[1] > gaps[2] >= 0
    assert gaps[3] > gaps[4] > gaps[5] >= 0
    early = ChainClassifier(learner="svm", max_iter=50, tol=gaps[1] * 1.01, random_state=0).fit(X[:50], Y[:50])
    assert early.n_iter_ == 10
    assert early.duality_gap_ == gaps[1]


@pytest.mark.parametrize("learner", ["perceptron", "svm"])
def test_seeds(learner):
    one, same, other = (
        table(clone(model(learner)).set_params(random_state=s).fit(X[TRAIN], Y[TRAIN])) for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    fixed = [
        table(model(learner, shuffle=False, states="full").set_params(random_state=s).fit(X[:40], Y[:40]))
        for s in (0, 1)
    ]
    np.testing.assert_array_equal(*fixed)


def test_averaging_changes_the_weights():
    assert (table(model(average=False).fit(X[TRAIN], Y[TRAIN])) != table(model().fit(X[TRAIN], Y[TRAIN]))).any()


def test_dense_sparse_lists_lengths_the_same():
    y = np.concatenate(Y[TRAIN])
    lengths = [len(x) for x in X[TRAIN]]
    want = table(model().fit(X[TRAIN], Y[TRAIN]))
    flat = np.concatenate(X[TRAIN])
    for rows, more in (
        ([sparse.csr_matrix(x) for x in X[TRAIN]], {}),
        ([sparse.csr_array(x) for x in X[TRAIN]], {}),
        (flat, {"lengths": lengths}),
        (sparse.csr_matrix(flat), {"lengths": lengths}),
        (Sequences.of(X[TRAIN]), {}),
        ([x.tolist() for x in X[TRAIN]], {}),
    ):
        m = model().fit(rows, y, **more)
        np.testing.assert_array_equal(table(m), want)
        found = m.predict(rows, **more)
        assert [len(labels) for labels in found] == lengths


def test_an_answer_depends_on_its_sequence_alone(fitted):
    together = fitted.predict(X[TEST])
    np.testing.assert_array_equal(together[3], fitted.predict([X[TEST][3]])[0])
    two = clone(fitted).set_params(n_jobs=2).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(np.concatenate(two.predict(X[TEST])), np.concatenate(together))


def test_answers_hang_together(fitted):
    found, best = fitted.best_paths(X[TEST], 2)
    labels, scores, shares = fitted.predict(X[TEST]), fitted.max_marginals(X[TEST]), fitted.predict_marginals(X[TEST])
    for i, want in enumerate(labels):
        np.testing.assert_array_equal(found[i][0], want)
        np.testing.assert_array_equal(fitted.classes_[scores[i].argmax(axis=1)], want)
        np.testing.assert_allclose(scores[i].max(axis=1), best[i, 0], rtol=1e-5)
        np.testing.assert_allclose(shares[i].sum(axis=1), 1, rtol=1e-5)
    session = fitted.open(X[TEST])
    assert session.confidence(session.state()).min() >= 0
    np.testing.assert_allclose(  # the smallest confidence of a sequence is what its second best labelling lacks
        np.minimum.reduceat(session.confidence(session.state()), session.offsets[:-1]),
        best[:, 0] - best[:, 1],
        atol=1e-3,
    )
    sharp = np.concatenate(fitted.predict_marginals(X[TEST], scale=1e6))
    assert (fitted.classes_[sharp.argmax(axis=1)] == np.concatenate(labels)).all()


def test_labels_of_any_kind():
    words = [np.array(["a", "bb", "ccc", "dddd"])[y] for y in Y]
    m = model().fit(X[TRAIN], words[TRAIN])
    assert [m.predict(X[TEST])[0].dtype.kind, m.classes_.tolist()] == ["U", ["a", "bb", "ccc", "dddd"]]
    np.testing.assert_array_equal(table(m), table(model().fit(X[TRAIN], Y[TRAIN])))
    session = m.open(X[:1])
    assert session.codes([["zz"] * len(X[0])]).tolist() == [-1] * len(X[0])  # never met
    assert m.score(X[:1], [["zz"] * len(X[0])]) == 0


def test_one_label_and_sequences_of_one():
    one = ChainClassifier(max_iter=2).fit([[[1.0]], [[2.0], [3.0]]], [["x"], ["x", "x"]])
    assert one.predict([[[5.0]]]) == [["x"]]
    session = one.open([[[5.0]]])
    assert session.confidence(session.state()).tolist() == [0]
    singles = ChainClassifier(max_iter=5, random_state=0).fit([[[1.0]], [[-1.0]]] * 9, [[1], [0]] * 9)
    assert np.concatenate(singles.predict([[[2.0]], [[-2.0]]])).tolist() == [1, 0]


@pytest.mark.parametrize("learner", ["perceptron", "svm"])
def test_pickle_and_copy(learner):
    m = model(learner).fit(X[TRAIN], Y[TRAIN])
    for twin in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m)):
        np.testing.assert_array_equal(table(twin), table(m))
        np.testing.assert_array_equal(np.concatenate(twin.predict(X[TEST])), np.concatenate(m.predict(X[TEST])))
    m.set_params(own_weights=False)  # takes effect at the next fit
    np.testing.assert_array_equal(table(pickle.loads(pickle.dumps(m))), table(m))


def test_clone_and_parameters():
    m = model(margin=2.0)
    twin = clone(m)
    assert twin.get_params() == m.get_params()
    assert twin.set_params(margin=3.0).margin == 3.0
    assert m.margin == 2.0
    assert not hasattr(clone(m.fit(X[:9], Y[:9])), "classes_")


def test_partial_fit_in_pieces():
    m = model()
    with pytest.raises(ValueError, match="classes="):
        m.partial_fit(X[:9], Y[:9])
    assert not hasattr(m, "classes_")
    for _ in range(10):
        for start in range(0, 180, 60):
            m.partial_fit(X[start : start + 60], Y[start : start + 60], classes=[0, 1, 2, 3])
    assert m.n_iter_ == 30
    assert m.score(X[TEST], Y[TEST]) > 0.75
    before = table(m)
    with pytest.raises(ValueError, match="none of the classes"):
        m.partial_fit(X[:1], [[7] * len(X[0])])
    with pytest.raises(ValueError, match=r"classes must be those of the first call, \[0, 1, 2, 3\]. Got \[0, 1, 7\]"):
        m.partial_fit(X[:60], Y[:60], classes=[0, 1, 7])
    np.testing.assert_array_equal(table(m), before)
    again = pickle.loads(pickle.dumps(m)).partial_fit(X[:60], Y[:60])
    assert again.n_iter_ == 31
    assert again.score(X[TEST], Y[TEST]) > 0.7
    with pytest.raises(ValueError, match="learner='perceptron'"):
        m.set_params(learner="svm").partial_fit(X[:9], Y[:9])


def test_another_number_of_groups_than_in_fit_is_refused():
    m = ChainClassifier([FeatureGroup("a"), FeatureGroup("b")], max_iter=1, random_state=0).fit(X[:9], Y[:9])
    for groups in ([FeatureGroup("a")], None, [FeatureGroup(name) for name in "abc"]):
        m.set_params(feature_groups=groups)
        for call in (m.predict, m.open, lambda rows: m.partial_fit(rows, Y[:9]), lambda rows: m.feature_weights()):
            with pytest.raises(ValueError, match=r"feature_groups must be those of fit, \['a', 'b'\]\. Got"):
                call(X[:9])


def test_partial_fit_goes_on_from_fit():
    m = model().fit(X[:90], Y[:90])
    before = table(m)
    m.partial_fit(X[90:180], Y[90:180])
    assert m.n_iter_ == 16
    assert 0 < np.abs(table(m) - before).max() < 0.5 * np.abs(before).max()  # one more step of an average


@pytest.mark.parametrize(
    "change",
    [
        {"feature_groups": []},
        {"feature_groups": ["pixels"]},
        {"feature_groups": [GROUPS[0]] * 2},
        {"feature_groups": [FeatureGroup(str(i)) for i in range(6)]},
        {"learner": "crf"},
        {"states": "some"},
        {"max_iter": 0},
        {"max_iter": 2.5},
        {"max_iter": "many"},
        {"margin": -1.0},
        {"margin": np.nan},
        {"margin": "wide"},
        {"tol": -1.0},
        {"C": 0.0},
        {"C": np.inf},
        {"C": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_parameters_out_of_range(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        model().set_params(**change).fit(X[:9], Y[:9])


def test_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        model().predict(X)


def test_other_features_than_learned_from(fitted):
    with pytest.raises(
        ExtractionError, match=r"'half' must have 5 features, as before\. Got 4 for part 0 of sequence 0"
    ):
        fitted.predict([x[:, :8] for x in X[TEST]])
    with pytest.raises(ValueError, match="boolean array of shape"):
        fitted.predict(X[TEST], state=np.ones((3, 1), bool))
    with pytest.raises(ValueError, match="boolean array of shape"):
        fitted.predict(X[TEST], state=np.ones((len(TRUTH), 1)))
    with pytest.raises(ValueError, match="scale"):
        fitted.predict_marginals(X[TEST], scale=-1)
    with pytest.raises(ValueError, match="k must"):
        fitted.best_paths(X[TEST], 0)


def test_features_too_large_are_said_to_be():
    with pytest.raises(ValueError, match="overflow"):
        ChainClassifier(max_iter=9).fit([1e37 * x for x in X], Y)


def test_a_failed_fit_leaves_the_old_model(fitted):
    m = copy.deepcopy(fitted)
    with pytest.raises(ExtractionError):
        m.set_params(feature_groups=[FeatureGroup("half", lambda p: p[:1])]).fit(X, [labels + 7 for labels in Y])
    m.feature_groups = GROUPS
    np.testing.assert_array_equal(np.concatenate(m.predict(X[TEST])), np.concatenate(fitted.predict(X[TEST])))


def test_an_interrupted_epoch_changes_nothing(monkeypatch):
    classes = np.unique(np.concatenate(Y))
    m, other = (model().partial_fit(X[:20], Y[:20], classes=classes) for _ in range(2))
    before = table(m).copy()
    with monkeypatch.context() as patch:
        patch.setattr(ChainSession, "confidence", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            m.partial_fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(table(m), before)
    for one in (m, other):
        one.partial_fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(table(m), table(other))


class MadeWhenAsked:
    """A sequence of one group, which nobody else holds."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, i: int) -> _core.ChainGroup:
        if i:
            raise IndexError(i)
        group = _core.ChainGroup(2, 3)
        group.add_dense(np.ones((2, 3), dtype=np.float32), np.arange(2))
        return group


def test_groups_of_a_sequence_that_makes_them_are_kept_alive():
    chain, states, ends = _core.Chain(2, [3], False), np.zeros(2, dtype=np.uint8), np.array([0, 2])
    for _ in range(50):
        lesson = _core.ChainLesson(chain, MadeWhenAsked(), np.array([0, 1], dtype=np.int32), ends, False, 0)
        _core.ChainPerceptron(chain).epoch(lesson, np.array([0]), 0, 1.0)
        assert chain.scores(MadeWhenAsked(), states, ends, None, None, 1).shape == (2, 2)
    with pytest.raises(TypeError, match="groups must be ChainGroups"):
        chain.scores([chain], states, ends, None, None, 1)
