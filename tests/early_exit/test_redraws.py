"""Promises over many draws of rows, for models on which nothing was tuned.

Rows are drawn with replacement from a population, over which the true rate of disagreement is then exact. The model and
its own labels are made once; every redraw plans and certifies anew.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from scipy import stats
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.plan import CostModel

REDRAWS = 200


@dataclass(frozen=True, eq=False)
class Setting:
    """A fitted model, a population of rows, and the promises about them."""

    model: Any
    population: np.ndarray
    params: dict[str, Any]
    n_rows: int = 600
    groups: np.ndarray | None = None
    labels: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        labels = [self.model.predict(np.repeat(row[None], 64, axis=0))[0] for row in self.population]
        object.__setattr__(self, "labels", np.array(labels))

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows of `fit`, and their groups."""
        if self.groups is None:
            return self.population[rng.integers(0, len(self.population), self.n_rows)], None
        drawn = rng.integers(0, self.groups.max() + 1, self.n_rows)
        members = [np.flatnonzero(self.groups == g) for g in drawn]
        names = np.repeat(np.arange(self.n_rows), [len(m) for m in members])  # a group drawn twice counts as two
        return self.population[np.concatenate(members)], names

    def rates(self, early: np.ndarray) -> list[tuple[float, float]]:
        """Each promise, and its true rate for these early labels."""
        risk, wrong = self.params["risk"], early != self.labels
        if "predicted" in str(risk):
            return self.predicted_rates(early, wrong)
        if self.groups is not None:
            shares = np.bincount(self.groups, wrong) / np.bincount(self.groups)
            return [(risk, float(shares.mean()))]
        if not isinstance(risk, dict):
            return [(risk, float(wrong.mean()))]
        by_class = {label: float(wrong[self.labels == label].mean()) for label in np.unique(self.labels).tolist()}
        named = [(limit, by_class[label]) for label, limit in risk.items() if label in by_class]
        others = (
            [(risk["each"], rate) for label, rate in by_class.items() if label not in risk] if "each" in risk else []
        )
        overall = [(risk["all"], float(wrong.mean()))] if "all" in risk else []
        return overall + named + others

    def predicted_rates(self, early: np.ndarray, wrong: np.ndarray) -> list[tuple[float, float]]:
        """Each promise of strata by either label, and its true rate, for a random row of a random group."""
        weights = np.ones(len(wrong)) if self.groups is None else 1 / np.bincount(self.groups)[self.groups]
        strata = {"all": np.ones(len(wrong), dtype=bool)}
        for label in np.unique(self.labels).tolist():
            strata |= {label: self.labels == label, f"predicted {label}": early == label}
        given = dict(self.params["risk"])
        if "predicted each" in given:
            bound = given.pop("predicted each")
            given |= {name: bound for name in strata if str(name).startswith("predicted") and name not in given}
        return [
            (bound, float(np.average(wrong[strata[name]], weights=weights[strata[name]])))
            for name, bound in given.items()
        ]


def card(classes: int = 2, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Weights in tenths for integer features: a few per cent of the rows are ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (2000, 10)).astype(np.float64)
    model = LogisticRegression().fit(X, rng.integers(0, classes, len(X)))
    model.coef_ = np.round(rng.normal(size=model.coef_.shape) * 5 * np.logspace(0, -1, 10)) / 10
    model.intercept_ = np.round(-(model.coef_ @ X.mean(axis=0)) * 10) / 10
    return model, X


def easy(n: int = 2000, d: int = 10, seed: int = 0, positive: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a few strong features, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ np.logspace(0, -1.5, d)
    return X, score > np.quantile(score, 1 - positive)


def settings() -> dict[str, Setting]:
    promised = {"risk": 0.05, "confidence": 0.8}
    X, y = easy()
    survey = np.clip(np.round(X * 2), -2, 2)
    several = np.digitize(survey[:, :4].sum(axis=1), [-3, 0, 3])
    rare_X, rare_y = easy(4000, positive=0.03)
    tiny = X * 1e-3
    linear = LogisticRegression().fit(X[:300], y[:300])
    rare = LogisticRegression(class_weight="balanced").fit(rare_X[:600], rare_y[:600])
    return {
        "ties": Setting(*card(), promised),
        "ties of three classes": Setting(*card(3, seed=2), promised),
        "few values, kernel": Setting(SVC(C=3).fit(survey[:300], y[:300]), survey, promised),
        "tiny units": Setting(SVC(gamma=0.1 / 1e-6).fit(tiny[:300], y[:300]), tiny, promised),
        "rare class, each": Setting(rare, rare_X, promised | {"risk": {"each": 0.2}}, n_rows=1500),
        "rare class, named": Setting(rare, rare_X, promised | {"risk": {"all": 0.05, True: 0.2}}, n_rows=1500),
        "rare class, unequal": Setting(rare, rare_X, promised | {"risk": {"each": 0.05, True: 0.2}}, n_rows=1500),
        "one-vs-one": Setting(SVC().fit(survey[:400], several[:400]), survey, promised),
        "groups": Setting(
            linear, X, promised, n_rows=300, groups=np.unique(np.arange(2000) ** 2 % 211, return_inverse=True)[1]
        ),
        "ties, predicted": Setting(*card(), promised | {"risk": {"predicted each": 0.05}}),
        "ties of three classes, predicted": Setting(
            *card(3, seed=2), promised | {"risk": {"all": 0.1, "predicted 2": 0.05}}
        ),
        "few values, predicted": Setting(
            SVC(C=3).fit(survey[:300], y[:300]), survey, promised | {"risk": {True: 0.1, "predicted True": 0.05}}
        ),
        "rare class, predicted": Setting(
            rare, rare_X, promised | {"risk": {"all": 0.05, "predicted True": 0.1}}, n_rows=1500
        ),
        "one-vs-one, predicted": Setting(
            SVC().fit(survey[:400], several[:400]), survey, promised | {"risk": {"predicted each": 0.1}}
        ),
        "groups, predicted": Setting(
            linear,
            X,
            promised | {"risk": {"predicted each": 0.1}},
            n_rows=300,
            groups=np.unique(np.arange(2000) ** 2 % 211, return_inverse=True)[1],
        ),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, Setting]:
    return settings()


NAMES = [
    *("ties", "ties of three classes", "few values, kernel", "tiny units"),
    *("rare class, each", "rare class, named", "rare class, unequal", "one-vs-one", "groups"),
]
PREDICTED = [
    *("ties, predicted", "ties of three classes, predicted", "few values, predicted", "rare class, predicted"),
    *("one-vs-one, predicted", "groups, predicted"),
]


def fitted(setting: Setting, rng: np.random.Generator, **params: Any) -> EarlyExitClassifier:
    rows, groups = setting.draw(rng)
    seed = int(rng.integers(2**31))
    fast = EarlyExitClassifier(FrozenEstimator(setting.model), **nested(cost="units", random_state=seed, **params))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fast.fit(rows, groups=groups)


@pytest.mark.long
@pytest.mark.parametrize("name", [*NAMES, *PREDICTED])
def test_no_promise_is_broken_more_often_than_it_says(made, name):
    setting = made[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    broken = certified = 0
    for _ in range(REDRAWS):
        fast = fitted(setting, rng, **setting.params)
        certified += fast.certificate_.status == "certified"
        broken += any(rate > risk for risk, rate in setting.rates(fast.predict(setting.population)))
    assert certified > REDRAWS / 4  # the promise is made, or this test shows nothing
    assert broken <= stats.binom.ppf(0.999, REDRAWS, 1 - setting.params["confidence"])


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_at_risk_0_every_row_has_its_own_label_whatever_the_call(made, name):
    setting = made[name]
    rng = np.random.default_rng(1)
    fast = fitted(setting, rng, risk=0)
    for _ in range(REDRAWS):
        size = int(rng.choice([1, 2, 3, 5, 8, 100, 129, 1000]))
        rows = rng.integers(0, len(setting.population), size)
        np.testing.assert_array_equal(fast.predict(setting.population[rows]), setting.labels[rows])
    np.testing.assert_array_equal(fast.predict(setting.population), setting.labels)


@pytest.mark.long
@pytest.mark.parametrize("full", [24.0, 22.0])
def test_plans_that_hardly_pay_exceed_their_risk_no_more_often_than_others(full):
    """Decided after the certificate, 25 of 181 and 21 of 89 such plans exceeded it, for models of 18 and 16.5."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=40) * np.linspace(1, 0.1, 40)
    X = rng.normal(size=(2000, 40))
    model = LogisticRegression().fit(X, X @ weights + rng.normal(size=2000) > 0)
    rows = rng.normal(size=(40_000, 40))
    labels = model.predict(rows)
    costs = CostModel(row=0.0, unit=1.0, readout=0.0, stage=1.0, full=full)
    kept = exceeded = 0
    for seed in range(300):
        fast = EarlyExitClassifier(
            FrozenEstimator(model),
            risk=0.05,
            confidence=0.9,
            planner=Planner(cost=costs, n_splits=1),
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast.fit(rng.normal(size=(600, 40)))
        if not fast.plan_.evaluate_all:
            kept += 1
            exceeded += np.mean(fast.predict(rows) != labels) > 0.05
    assert 75 < kept < 270  # the plan hardly pays, or this test shows nothing
    assert exceeded <= stats.binom.ppf(0.99, kept, 0.1)
