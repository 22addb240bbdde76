"""Bands, and values within a tolerance, in files: beside them, the wrapped model is as it was."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from persistence.valued import X, Y
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRanker, EarlyExitRegressor, Planner
from wald.persistence import FileFormatError, from_bytes, to_bytes

pytestmark = pytest.mark.filterwarnings("ignore:The certificate's risk")
WORDS = np.array(["nein", "ja"])[(Y > 1).astype(int)]
SHELLS: dict[str, Any] = {"regressor": EarlyExitRegressor, "classifier": EarlyExitClassifier}
MODELS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "trees within": (lambda: HistGradientBoostingRegressor(max_iter=8), "regressor", {"tolerance": 0.3}),
    "relative": (
        lambda: HistGradientBoostingRegressor(max_iter=8, loss="poisson"),
        "regressor",
        {"tolerance": 0.2, "relative": True},
    ),
    "machine within": (lambda: make_pipeline(StandardScaler(), SVR()), "regressor", {"tolerance": 0.3}),
    "target within": (
        lambda: TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
        "regressor",
        {"tolerance": 0.3},
    ),
    "trees in bands": (lambda: HistGradientBoostingRegressor(max_iter=8), "regressor", {"bands": [0.8, 1.2]}),
    "one band": (Ridge, "regressor", {"bands": [1.0]}),
    "probabilities": (LogisticRegression, "classifier", {"bands": [0.2, 0.5]}),
    "probabilities of trees": (
        lambda: HistGradientBoostingClassifier(max_iter=8),
        "classifier",
        {"bands": [0.2, 0.5]},
    ),
}


@cache
def made(name: str) -> Any:
    model, kind, asked = MODELS[name]
    fitted = model().fit(X[:300], Y[:300] if kind == "regressor" else WORDS[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        fast = SHELLS[kind](fitted, risk=0.3, planner=Planner(cost="units"), random_state=0, **asked)
        return fast.fit(X[300:]), fitted


@pytest.mark.parametrize("name", MODELS)
def test_answers_come_back_with_their_costs(name):
    fast, model = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw = to_bytes(fast)
    again = from_bytes(raw)
    for found, own in zip(again.predict(X, return_cost=True), fast.predict(X, return_cost=True), strict=True):
        assert found.dtype == own.dtype
        np.testing.assert_array_equal(found, own)
    assert {name: getattr(again, name) for name in MODELS[name][2]} == MODELS[name][2]
    assert str(again.certificate_) == str(fast.certificate_)
    np.testing.assert_array_equal(again.estimator_.predict(X), model.predict(X))
    one, other = (each.compiled_plan_.validation.scores.losses for each in (again, fast))
    assert (one is None) == (other is None)
    assert one is None or np.array_equal(one, other)


def test_outliers_in_bands():
    forest = IsolationForest(n_estimators=10, random_state=0).fit(X[:200])
    fast = EarlyExitOutlierDetector(forest, bands=[-0.05, 0.05], risk=0.3, planner=Planner(cost="units"))
    again = from_bytes(to_bytes(fast.fit(X[200:])))
    np.testing.assert_array_equal(again.predict(X), fast.predict(X))
    np.testing.assert_array_equal(again.estimator_.predict(X), forest.predict(X))


def test_the_models_own_labels_are_there():
    again = from_bytes(to_bytes(made("probabilities")[0]))
    assert again.classes_.tolist() == [0, 1, 2]
    assert again.estimator_.classes_.tolist() == ["ja", "nein"]
    np.testing.assert_array_equal(again.predict_proba(X), made("probabilities")[1].predict_proba(X))


@pytest.mark.parametrize("risk", [0, 0.3])
@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["forest", "pipeline"])
def test_trees_whose_sum_is_another_by_what_is_asked(steps, risk):
    forest = make_pipeline(*steps, RandomForestClassifier(8, max_depth=4, random_state=0)).fit(X[:300], WORDS[:300])
    forest = forest if steps else forest[-1]
    fast = EarlyExitClassifier(forest, bands=[0.2, 0.5], risk=risk, planner=Planner(cost="units"), random_state=0)
    fast.fit(X[300:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw = to_bytes(fast)
    again = from_bytes(raw)
    np.testing.assert_array_equal(from_bytes(to_bytes(again)).predict(X), fast.predict(X))
    np.testing.assert_array_equal(again.predict(X), fast.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert again.estimator_.predict(X).tolist() == forest.predict(X).tolist()


def test_members_in_bands():
    vote = VotingRegressor([("r", Ridge()), ("t", HistGradientBoostingRegressor(max_iter=5))]).fit(X[:300], Y[:300])
    fast = EarlyExitRegressor(vote, bands=[0.8, 1.2], risk=0.3, planner=Planner(cost="units"), random_state=0)
    again = from_bytes(to_bytes(fast.fit(X[300:])))
    np.testing.assert_array_equal(again.predict(X), fast.predict(X))
    np.testing.assert_array_equal(again.estimator_.predict(X), vote.predict(X))


def altered(name: str, change: Any) -> bytes:
    fields, arrays = taken_apart(to_bytes(made(name)[0]))
    change(fields, arrays)
    return put_together(fields, arrays)


def set_tolerance(fields: Any, arrays: Any) -> None:
    fields["parameters"]["tolerance"] = 3.0


def set_bands(fields: Any, arrays: Any) -> None:
    fields["parameters"]["bands"] = [0.1, 0.2]


def set_losses(fields: Any, arrays: Any) -> None:
    arrays["stage_scores.losses"][:] = 2.0


def set_relative(fields: Any, arrays: Any) -> None:
    fields["parameters"]["relative"] = "weekly"


def unasked(fields: Any, arrays: Any) -> None:
    fields["estimator"]["asked"]["output"] = fields["model"]["output"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("trees within", set_tolerance),
        ("machine within", set_tolerance),
        ("trees in bands", set_bands),
        ("probabilities", set_bands),
        ("trees within", set_losses),
        ("trees within", set_relative),
        ("probabilities", unasked),
    ],
)
def test_false_content_is_refused(name, change):
    with pytest.raises(FileFormatError):
        from_bytes(altered(name, change))


# ---- rankings --------------------------------------------------------------------------------------------------------


@cache
def ranker() -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9000, 5))
    relevance = np.clip(np.rint(rows[:, 0] + rows[:, 1] ** 2 + 0.3 * rng.normal(size=len(rows))), 0, 4).astype(int)
    model = lightgbm.LGBMRanker(n_estimators=60, num_leaves=7, verbose=-1, n_jobs=1)
    model.fit(rows[:1000], relevance[:1000], group=[50] * 20)
    groups = np.arange(8000) // 40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = EarlyExitRanker(model, k=3, risk=0.1, random_state=0).fit(rows[1000:], groups=groups)
    return fast, rows[1000:], groups


def test_a_race_comes_back():
    fast, rows, groups = ranker()
    assert fast.ranking_plan_ is not None
    raw = to_bytes(fast)
    again = from_bytes(raw)
    assert (again.k, again.risk, str(again.certificate_)) == (3, 0.1, str(fast.certificate_))
    found, own = (each.predict(rows, groups=groups, details=True) for each in (again, fast))
    np.testing.assert_array_equal(found.labels, own.labels)
    np.testing.assert_array_equal(found.costs, own.costs)
    np.testing.assert_array_equal(again.rank(rows[:40], 3), fast.rank(rows[:40], 3))
    np.testing.assert_array_equal(again.predict(rows), fast.predict(rows))
    assert to_bytes(again) == raw


def altered_ranking(change: Any) -> bytes:
    fields, arrays = taken_apart(to_bytes(ranker()[0]))
    change(fields, arrays)
    return put_together(fields, arrays)


def of_certificate(**values: Any) -> Any:
    return lambda fields, arrays: fields["ranking"]["certificate"].update(values)


def of_plan(**values: Any) -> Any:
    return lambda fields, arrays: fields["ranking"]["plan"].update(values)


def of_array(name: str, value: float) -> Any:
    return lambda fields, arrays: arrays[f"ranking.plan.{name}"].__setitem__(0, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda fields, arrays: fields.update(ranking=None), "does not follow from the risk"),
        (lambda fields, arrays: fields["parameters"].update(k=4), "not that of the parameters"),
        (of_certificate(limit=0.5), "does not keep its risk"),
        (of_certificate(in_full=True), "plan is not certified"),
        (of_certificate(n_trees=7), "out of range"),
        (of_certificate(left=[1]), "has not one number of groups for each stage"),
        (
            lambda fields, arrays: fields["ranking"]["certificate"]["left"].__setitem__(0, -1),
            "a negative number of groups",
        ),
        (of_plan(q=-1.0), "q should be a number of at least 0"),
        (of_plan(k=2), "plan is not certified"),
        (of_array("terms", 10**6), "holds numbers outside"),
        (of_array("usual", np.nan), "NaN"),
    ],
)
def test_a_race_with_false_content_is_refused(change, words):
    with pytest.raises(FileFormatError, match=words):
        from_bytes(altered_ranking(change))
