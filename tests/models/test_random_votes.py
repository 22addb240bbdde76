"""Random votes of any estimators: the ensembles' own scores and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models.voters import early
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from wald.models import TreeTerms, decompose

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
    fast = early(model, others[:150])
    for n in (1, 5, 100):
        rows = others[150 : 150 + n]
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
    for row in others[150:155]:
        assert fast.predict_one(row) == model.predict(row[None])[0]
