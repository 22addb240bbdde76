"""Votes of arbitrary estimators: the ensembles' own scores and labels, with and without early exits."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from persistence.forge import put_together, taken_apart
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import wald
from wald import EarlyExitClassifier, Planner
from wald.models import TreeTerms, VoteTerms, check_terms, decompose
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.stopping import VoteBoundary

SEEDS = range(60)


def random_rows(rng: np.random.Generator, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and other rows; half of the time of few distinct values."""
    X = rng.normal(size=(500, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=500)).argsort().argsort() * n_classes // 500
    if rng.random() < 0.5:
        X = np.round(X)
    names = np.array(["a", "b", "c", "d"]) if rng.random() < 0.5 else np.array([3, 5, 7, 11])
    dtype = np.float32 if rng.random() < 0.5 else np.float64
    return X[:160].astype(dtype), names[y[:160]], X[160:].astype(dtype)


def random_member(rng: np.random.Generator, soft: bool) -> Any:
    state = int(rng.integers(1000))
    pool: list[Any] = [
        DecisionTreeClassifier(max_depth=int(rng.integers(1, 5)), max_features=2, random_state=state),
        GaussianNB(),
        KNeighborsClassifier(int(rng.integers(1, 6))),
        LogisticRegression(C=10.0 ** rng.integers(-2, 3)),
        RandomForestClassifier(4, max_depth=2, random_state=state),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ]
    if not soft:
        pool += [LinearSVC(C=0.1), SVC(C=10.0 ** rng.integers(-1, 2)), make_pipeline(StandardScaler(), SVC())]
    return pool[rng.integers(len(pool))]


def random_voting(rng: np.random.Generator, voting: str) -> Any:
    n = int(rng.integers(2, 8))
    weights = [None, rng.integers(1, 4, n).tolist(), rng.random(n).tolist()][rng.integers(3)]
    members = [(f"m{i}", random_member(rng, voting == "soft")) for i in range(n)]
    if n > 2 and rng.random() < 0.4:
        members[n // 2] = (members[n // 2][0], "drop")
    return VotingClassifier(members, voting=voting, weights=weights)


def random_bagging(rng: np.random.Generator) -> Any:
    few = bool(rng.random() < 0.3)
    return BaggingClassifier(
        random_member(rng, few),
        int(rng.integers(2, 8)),
        max_features=float(rng.choice([0.6, 1.0])),
        max_samples=12 if few else 1.0,
        random_state=int(rng.integers(1000)),
    )


def random_adaboost(rng: np.random.Generator) -> Any:
    base = [LogisticRegression(C=0.1), GaussianNB(), LinearSVC(C=0.01), SVC(C=0.1)][rng.integers(4)]
    return AdaBoostClassifier(base, n_estimators=int(rng.integers(2, 8)), random_state=int(rng.integers(1000)))


KINDS = {
    "soft": lambda rng: random_voting(rng, "soft"),
    "hard": lambda rng: random_voting(rng, "hard"),
    "bagging": random_bagging,
    "adaboost": random_adaboost,
}


def own_scores(model: Any, X: np.ndarray) -> np.ndarray | None:
    if isinstance(model, AdaBoostClassifier):
        return model.decision_function(X)
    return model.predict_proba(X) if hasattr(model, "predict_proba") else None


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_labels_are_the_ensembles_own(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    X, y, others = random_rows(rng, int(rng.integers(2, 5)))
    model = KINDS[kind](rng).fit(X, y)
    read = decompose(model)
    assert read.changed() is None
    scores, own = read.terms.scores(others), own_scores(model, others)
    if own is not None and read.terms.n_outputs == (1 if own.ndim == 1 else own.shape[1]):
        exact = isinstance(read.terms, TreeTerms) or (read.terms.exact and read.row_by_row == "always")
        if exact:
            np.testing.assert_array_equal(scores, own.reshape(len(own), -1))
        else:
            np.testing.assert_allclose(scores, own.reshape(len(own), -1), rtol=1e-5, atol=1e-6)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
        others[:150]
    )
    for n in (1, 5, 100):
        rows = others[150 : 150 + n]
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
    for row in others[150:155]:
        assert fast.predict_one(row) == model.predict(row[None])[0]


def data(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(4300, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2]).argsort().argsort() * n_classes // len(X)
    return X[:300], y[:300], X[300:]


SLOW = [("svc", SVC()), ("bayes", GaussianNB()), ("near", KNeighborsClassifier()), ("line", LogisticRegression())]


@pytest.fixture(scope="module", params=["hard", "soft", "bagging", "adaboost"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def fitted(request: pytest.FixtureRequest, kind: str) -> tuple[Any, np.ndarray]:
    X, y, others = data(request.param)
    model = {
        "hard": VotingClassifier(SLOW),
        "soft": VotingClassifier(SLOW[1:], voting="soft", weights=[1, 2, 3]),
        "bagging": BaggingClassifier(LinearSVC(), 9, max_features=0.8, random_state=0),
        "adaboost": AdaBoostClassifier(LogisticRegression(), n_estimators=8),
    }[kind]
    return model.fit(X, y), others


def test_the_contract_of_terms(fitted) -> None:
    model, X = fitted
    check_terms(decompose(model).terms, model, X[:80])
    check_terms(decompose(model).terms, model, X[:80].astype(np.float32))


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The certificate's risk:UserWarning")
@pytest.mark.parametrize("risk", [0, 0.03])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_are_the_same_in_every_call(fitted, dtype, risk) -> None:
    model, X = fitted
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0)
    fast.fit(X[:2500].astype(dtype))
    rows = X[2500:].astype(dtype)
    labels, cost = fast.predict(rows, return_cost=True)
    assert np.mean(labels != model.predict(rows)) <= 1.5 * risk
    assert cost.mean() < fast.plan_.full_cost
    for size in (1, 5, 100, 129):
        some, some_cost = fast.predict(rows[:size], return_cost=True)
        np.testing.assert_array_equal(some, labels[:size])
        np.testing.assert_array_equal(some_cost, cost[:size])
    backwards = fast.predict(np.asfortranarray(rows[::-1]), return_cost=True)
    np.testing.assert_array_equal(backwards[0], labels[::-1])
    np.testing.assert_array_equal(backwards[1], cost[::-1])
    assert [fast.predict_one(row, return_cost=True) for row in rows[:20]] == list(zip(labels, cost, strict=True))[:20]
    assert len(fast.predict(rows[:0])) == 0


def counting(base: type) -> Any:
    class Counting(base):
        rows = 0

        def predict(self, X):
            type(self).rows += len(X)
            return super().predict(X)

        def predict_proba(self, X):
            type(self).rows += len(X)
            return super().predict_proba(X)

    return Counting


class Slope(ClassifierMixin, BaseEstimator):
    """A classifier that cuts a random direction into intervals, and fits nothing."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        self.slope_ = np.random.default_rng(self.seed).normal(size=X.shape[1]) + 2 * (np.arange(X.shape[1]) == 0)
        return self

    def predict(self, X):
        share = 1 / (1 + np.exp(-(X * self.slope_).sum(axis=1)))
        return self.classes_[(share * len(self.classes_)).astype(int)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_members", [4, 5, 60])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_a_row_stops_when_the_rest_cannot_overturn_its_lead(n_members: int, n_classes: int, weighted: bool) -> None:
    X, y, others = data(n_classes)
    weights = 1 + np.arange(n_members) % 3 if weighted else np.ones(n_members, dtype=int)
    members = [(f"s{i}", Slope(i)) for i in range(n_members)]
    model = VotingClassifier(members, weights=weights.tolist() if weighted else None).fit(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
        others[:500]
    )
    rows = others[500:1500]
    labels, cost = fast.predict(rows, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(rows))
    votes = np.array([model.estimators_[u].predict(rows) for u in fast.plan_.order]).T
    weights = weights[fast.plan_.order]
    expected, ties = np.full(len(rows), float(n_members)), 0
    for i, row in enumerate(votes):
        for seen in fast.plan_.stages[:-1]:
            counts = np.bincount(row[:seen], weights[:seen], minlength=n_classes)
            leader, rest = counts.argmax(), weights[seen:].sum()
            rivals = np.delete(np.arange(n_classes), leader)
            leads = counts[leader] - counts[rivals]
            if ((leads > rest) | ((leads == rest) & (leader < rivals))).all():
                expected[i] = seen
                ties += bool(rest and (leads == rest).any())
                break
    np.testing.assert_array_equal(cost, expected)
    assert len(np.unique(cost)) > 1
    assert ties > 0 or n_members < 60  # an odd number of votes on two classes never ties


def test_members_that_were_seen_are_not_called_again() -> None:
    X, y, others = data()
    kinds = [counting(GaussianNB) for _ in range(3)]
    model = VotingClassifier([(f"m{i}", kind()) for i, kind in enumerate(kinds)]).fit(
        X + np.arange(300)[:, None] % 3, y
    )
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
        others[:500]
    )
    for kind in kinds:
        kind.rows = 0
    fast.predict(others[500:628])  # one block
    assert sum(kind.rows for kind in kinds) <= 3 * 128


def test_a_lossless_plan_without_exits_is_one_call_of_the_ensemble() -> None:
    X, y, others = data()
    kinds = [counting(KNeighborsClassifier) for _ in range(2)]  # two equal members are never decided by one of them
    model = VotingClassifier([(f"m{i}", kind()) for i, kind in enumerate(kinds)], voting="soft").fit(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
        others[:500]
    )
    assert fast.plan_.evaluate_all
    for kind in kinds:
        kind.rows = 0
    np.testing.assert_array_equal(fast.predict(others[500:730]), model.predict(others[500:730]))
    assert [kind.rows for kind in kinds] == [460, 460]  # wald's call and the test's own


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_trees_are_compiled(voting: str) -> None:
    X, y, others = data(3)
    trees = [(str(i), DecisionTreeClassifier(max_depth=i + 1, max_features=2, random_state=i)) for i in range(5)]
    for weights in (None, [1, 2, 1, 2, 1], [0.3, 0.1, 0.25, 0.7, 0.4]):
        for labels in (y, y > 0):
            model = VotingClassifier(trees, voting=voting, weights=weights).fit(X, labels)
            read = decompose(model)
            assert isinstance(read.terms, TreeTerms)
            scores = read.terms.scores(others)
            np.testing.assert_array_equal(read.classes[read.decision.answers(scores)], model.predict(others))
            if voting == "soft":
                np.testing.assert_array_equal(scores, model.predict_proba(others))


def test_trees_that_lack_a_class_are_read() -> None:
    X, y, others = data(4)
    model = BaggingClassifier(DecisionTreeClassifier(), 3, random_state=0).fit(X, y)
    model.estimators_[1] = DecisionTreeClassifier(max_depth=2).fit(X[y % 2 == 1], y[y % 2 == 1])
    read = decompose(model)
    assert isinstance(read.terms, TreeTerms)
    np.testing.assert_array_equal(read.terms.scores(others), model.predict_proba(others))


def test_members_get_the_frames_that_they_were_fitted_on() -> None:
    X, y, others = data()
    frame, later = (pd.DataFrame(rows, columns=list("vwxyz")) for rows in (X, others))
    by_name = make_pipeline(ColumnTransformer([("some", StandardScaler(), ["z", "v"])]), LogisticRegression())
    model = VotingClassifier([("name", by_name), ("all", GaussianNB()), ("svc", SVC())]).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
            later[:500]
        )
        np.testing.assert_array_equal(fast.predict(later[500:]), model.predict(later[500:]))
        assert fast.predict_one(others[500]) == model.predict(later[500:501])[0]


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_sparse_rows(voting: str) -> None:
    X, y, others = data(3)
    X, others = np.abs(np.round(X)), sparse.csc_matrix(np.abs(np.round(others)))
    members = [("nb", MultinomialNB()), ("line", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=4))]
    model = VotingClassifier(members, voting=voting).fit(sparse.csr_matrix(X), y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
        others[:500]
    )
    labels = model.predict(others[500:])
    np.testing.assert_array_equal(fast.predict(others[500:]), labels)
    np.testing.assert_array_equal(fast.predict(others[500:505]), labels[:5])
    np.testing.assert_array_equal(fast.predict(others[500:].toarray()), labels)


def test_a_tree_that_is_fitted_again_is_noticed() -> None:
    X, y, _ = data()
    model = VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())]).fit(X, y)
    read = decompose(model)
    assert read.changed() is None
    model.estimators_[1].fit(X[:50], y[:50])
    assert read.changed() == "tree_ of DecisionTreeClassifier was replaced after wald read the model."


def test_what_a_member_changes_is_noticed() -> None:
    X, y, others = data()
    for change in (
        lambda model: model.estimators_[1].fit(X[:100], y[:100]),
        lambda model: model.estimators_[1].var_.__imul__(2),
        lambda model: model.estimators_[2].set_params(n_neighbors=3),
        lambda model: model.set_params(weights=[1, 2, 3, 4]),
        lambda model: model.weights.reverse(),
        lambda model: model.set_params(voting="soft"),
        lambda model: model.estimators_[4].steps[1][1].coef_.__imul__(-1),
        lambda model: model.estimators_.pop(),
    ):
        members = [*SLOW, ("pipe", make_pipeline(StandardScaler(), LogisticRegression()))]
        model = VotingClassifier(members, weights=[1, 1, 1, 1, 2]).fit(X, y)
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
            others[:300]
        )
        fast.predict(others[:10])
        change(model)
        with pytest.raises(ValueError, match="after wald read the model"):
            fast.predict(others[:10])


@pytest.mark.filterwarnings("ignore:The certificate's risk")
def test_a_copy_by_pickle_answers_alike(fitted) -> None:
    model, X = fitted
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        X[:1000]
    )
    again = pickle.loads(pickle.dumps(fast))
    for one, other in zip(
        fast.predict(X[1000:1500], return_cost=True), again.predict(X[1000:1500], return_cost=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("members", ["compiled", "in Python"])
def test_the_rule_of_votes_is_certified(members: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(16_000, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X)) > 0
    if members == "compiled":
        trees = [(str(i), DecisionTreeClassifier(max_depth=4, max_features=2, random_state=i)) for i in range(40)]
        model: Any = VotingClassifier(trees)
    else:
        model = BaggingClassifier(LinearSVC(), 40, max_features=0.5, random_state=0)
    model.fit(X[:500], y[:500])
    plan, rows = X[500:12_000], X[12_000:]
    for order in ("random", "greedy"):
        rule = VoteBoundary(alpha=0.01)
        fast = EarlyExitClassifier(
            FrozenEstimator(model), risk=0.02, planner=Planner(rule=rule, order=order, cost="units"), random_state=0
        )
        labels, cost = fast.fit(plan).predict(rows, return_cost=True)
        assert fast.certificate_.status == "certified"
        assert np.mean(labels != model.predict(rows)) < 0.025
        assert cost.mean() < 22
    published = EarlyExitClassifier(
        FrozenEstimator(model),
        risk=None,
        planner=Planner(rule=VoteBoundary(alpha=0.01), order="random", cost="units"),
        random_state=0,
    ).fit(plan)
    assert published.plan_.q == 1
    assert published.predict(rows, return_cost=True)[1].mean() < 22


def test_the_rule_of_votes_refuses_other_models() -> None:
    X, y, others = data()
    weighted = VotingClassifier(SLOW, weights=[1, 2, 1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="these scores are no means of votes"):
        EarlyExitClassifier(FrozenEstimator(weighted), planner=Planner(rule=VoteBoundary()), risk=0.05).fit(
            others[:500]
        )
    three = VotingClassifier(SLOW).fit(*data(3)[:2])
    with pytest.raises(ValueError, match="is for votes on two classes"):
        EarlyExitClassifier(FrozenEstimator(three), planner=Planner(rule=VoteBoundary()), risk=0.05).fit(others[:500])


#: Types of scikit-learn that skops does not list.
TRUSTED = [
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.utils._bunch.Bunch",
]


@pytest.mark.filterwarnings("ignore:The file holds types", "ignore:The certificate's risk")
@pytest.mark.parametrize("risk", [0, 0.05])
def test_a_file_holds_the_members(fitted, risk: float, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    model, X = fitted
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0).fit(
        X[:1000]
    )
    with pytest.raises(ValueError, match=r"A vote of .* cannot be saved without its estimators.*pipeline='skops'"):
        wald.save(fast, tmp_path / "fast.wald")
    wald.save(fast, tmp_path / "fast.wald", pipeline="skops")
    loaded = wald.load(tmp_path / "fast.wald", trusted=TRUSTED)
    for one, other in zip(
        fast.predict(X[1000:1500], return_cost=True), loaded.predict(X[1000:1500], return_cost=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert str(loaded.certificate_) == str(fast.certificate_)
    with pytest.raises(ValueError, match="load it without 'estimator'"):
        wald.load(tmp_path / "fast.wald", estimator=model)


@pytest.mark.filterwarnings("ignore:The file holds types")
def test_files_with_other_members_or_without_them_are_refused() -> None:
    pytest.importorskip("skops")
    X, y, others = data()
    raw = []
    for weights in ([1, 2, 1, 1], [1, 1, 2, 1]):
        model = VotingClassifier(SLOW, weights=weights).fit(X, y)
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
            others[:500]
        )
        raw.append(taken_apart(to_bytes(fast, pipeline="skops")))
    (header, arrays), (_, other_arrays) = raw
    with pytest.raises(FileFormatError, match="other terms than the file"):
        from_bytes(put_together(header, arrays | {"estimator.skops": other_arrays["estimator.skops"]}), trusted=TRUSTED)
    without = {name: array for name, array in arrays.items() if name != "estimator.skops"}
    with pytest.raises(FileFormatError, match="lacks the estimator"):
        from_bytes(put_together(header | {"estimator": None}, without))
    for name, array in (
        ("model.terms.weights", arrays["model.terms.weights"][:0]),
        ("model.terms.first_column", arrays["model.terms.first_column"][::-1] + 5),
        ("model.terms.probabilities", arrays["model.terms.probabilities"] + 2),
    ):
        with pytest.raises(FileFormatError):
            from_bytes(put_together(header, arrays | {name: array}))


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier with wrong answers."""

    def __init__(self, says: str = "fine") -> None:
        self.says = says

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X):
        return {"unknown": np.full(len(X), 9), "text": np.full(len(X), "no"), "short": np.zeros(len(X) - 1, int)}[
            self.says
        ]

    def predict_proba(self, X):
        if self.says == "error":
            raise RuntimeError("no answer")
        shape = (len(X), 3) if self.says == "short" else (len(X), 2)
        return np.full(shape, 1.5)


@pytest.mark.parametrize(
    ("voting", "says", "words"),
    [
        ("hard", "unknown", r"odd \(Odd\) predicts .*9.*, which is none of the classes \[0, 1\]"),
        ("hard", "text", r"odd \(Odd\) predicts .*no.*, which is none of the classes"),
        ("hard", "short", r"predict of odd \(Odd\) returned an array of shape \(127,\) for 128 rows"),
        ("soft", "short", r"odd \(Odd\) gives 3 probabilities for 2 classes"),
        ("soft", "fine", r"odd \(Odd\) gives probabilities from 1\.5 to 1\.5"),
        ("soft", "error", "no answer"),
    ],
)
def test_wrong_answers_of_members_are_named(voting, says, words) -> None:
    X, y, others = data()
    model = VotingClassifier([("odd", Odd(says)), ("bayes", GaussianNB())], voting=voting).fit(X, y)
    with pytest.raises((ValueError, RuntimeError), match=words) as caught:
        decompose(model).terms.scores(others[:10])
    if says == "error":
        assert "odd (Odd), a member of the wrapped ensemble" in caught.value.__notes__[0]


class Texts(ClassifierMixin, BaseEstimator):
    """A classifier that does not say how many columns it takes."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def test_what_cannot_be_read_is_refused_by_name() -> None:
    X, y, _ = data()

    def voting(**changes: Any) -> Any:
        model = VotingClassifier([("svc", SVC()), ("bayes", GaussianNB())]).fit(X, y)
        for name, value in changes.items():
            setattr(model, name, value)
        return model

    several = BaggingClassifier(GaussianNB(), 2).fit(X, y)
    several.classes_ = [np.array([0, 1])] * 2
    boosted = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y)
    boosted.estimators_, boosted.estimator_weights_ = boosted.estimators_[:1] * 2, np.array([1.0, -1.0])
    for model, error, words in (
        (voting(voting="soft"), TypeError, r"svc \(SVC\), a member of this VotingClassifier, has no predict_proba"),
        (voting(voting="loud"), ValueError, "must be 'hard' or 'soft'. Got 'loud'"),
        (voting(weights=[1.0]), ValueError, "2 members and weights of shape"),
        (voting(weights=[1.0, np.nan]), ValueError, "must be finite"),
        (voting(weights=[0, 0]), ValueError, "sum to 0"),
        (voting(weights=[3, -1]), ValueError, "negative weight, -1"),
        (several, TypeError, "answers several outputs"),
        (boosted, ValueError, "sum to 0"),
        (VotingClassifier([("t", Texts())]).fit(X, y), TypeError, "Put what reads texts or records in front"),
    ):
        with pytest.raises(error, match=words):
            decompose(model)


def test_texts_in_columns_are_refused_where_members_encode_them() -> None:
    X, y, _ = data()
    frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0, "a", "b"), "size": X[:, 1]})
    coded = make_pipeline(ColumnTransformer([("code", OneHotEncoder(), ["kind"])]), LogisticRegression())
    model = VotingClassifier([("coded", coded), ("same", coded)]).fit(frame, y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)


def test_facts_name_the_members() -> None:
    X, y, _ = data()
    read = decompose(VotingClassifier([("a", Perceptron()), ("b", "drop"), ("c", GaussianNB())]).fit(X, y))
    assert isinstance(read.terms, VoteTerms)
    assert read.terms.facts() == {"terms": 2, "members": ["a (Perceptron)", "c (GaussianNB)"]}
    assert read.terms.description == "vote of 2 members (Perceptron, GaussianNB)"
