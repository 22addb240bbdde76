"""Votes of arbitrary estimators, with and without early exits."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.voters import SLOW, data, early
from persistence.forge import put_together, taken_apart
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import wald
from wald import EarlyExitClassifier, Planner
from wald.models import TreeTerms, check_terms, decompose
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.stopping import VoteBoundary


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
    fast = early(model, X[:2500].astype(dtype), risk=risk)
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
    fast = early(model, others[:500])
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
    fast = early(model, others[:500])
    for kind in kinds:
        kind.rows = 0
    fast.predict(others[500:628])  # one block
    assert sum(kind.rows for kind in kinds) <= 3 * 128


def test_a_lossless_plan_without_exits_is_one_call_of_the_ensemble() -> None:
    X, y, others = data()
    kinds = [counting(KNeighborsClassifier) for _ in range(2)]  # two equal members are never decided by one of them
    model = VotingClassifier([(f"m{i}", kind()) for i, kind in enumerate(kinds)], voting="soft").fit(X, y)
    fast = early(model, others[:500])
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
        fast = early(model, later[:500])
        np.testing.assert_array_equal(fast.predict(later[500:]), model.predict(later[500:]))
        assert fast.predict_one(others[500]) == model.predict(later[500:501])[0]


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_sparse_rows(voting: str) -> None:
    X, y, others = data(3)
    X, others = np.abs(np.round(X)), sparse.csc_matrix(np.abs(np.round(others)))
    members = [("nb", MultinomialNB()), ("line", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=4))]
    model = VotingClassifier(members, voting=voting).fit(sparse.csr_matrix(X), y)
    fast = early(model, others[:500])
    labels = model.predict(others[500:])
    np.testing.assert_array_equal(fast.predict(others[500:]), labels)
    np.testing.assert_array_equal(fast.predict(others[500:505]), labels[:5])
    np.testing.assert_array_equal(fast.predict(others[500:].toarray()), labels)


@pytest.mark.filterwarnings("ignore:The certificate's risk")
def test_a_copy_by_pickle_answers_alike(fitted) -> None:
    model, X = fitted
    fast = early(model, X[:1000], risk=0.05)
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
    fast = early(model, X[:1000], risk=risk)
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
        fast = early(model, others[:500])
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
