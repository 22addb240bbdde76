"""Gradient boosting whose first scores come from another model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from wald import EarlyExitClassifier, EarlyExitRegressor, Planner
from wald.models import check_terms, decompose
from wald.models.packing import pack
from wald.models.plain import PlainTerms
from wald.models.started import OwnStart, ReadStart, StartedTrees
from wald.models.terms import least_precision
from wald.persistence import from_bytes, to_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] + X[:, 1] ** 2 + 0.1 * RNG.normal(size=len(X))
THREE = np.digitize(Y, [0.0, 1.5])
SCALED = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=3))
VALUES: dict[str, tuple[Any, type]] = {
    "tree": (DecisionTreeRegressor(max_depth=3), ReadStart),
    "forest": (RandomForestRegressor(5, max_depth=3, random_state=0), ReadStart),
    "scaled tree": (SCALED, ReadStart),
    "linear": (Ridge(), OwnStart),
    "unknown to wald": (KNeighborsRegressor(), OwnStart),
}


def rows_of_all_kinds() -> list[Any]:
    return [X, X.astype(np.float32), np.asfortranarray(X), np.rint(4 * X).astype(np.int64), X[:1], X[:5]]


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_values_are_scikit_learns_own(name, loss):
    init, start = VALUES[name]
    model = GradientBoostingRegressor(init=init, loss=loss, n_estimators=6).fit(X, Y)
    fast = EarlyExitRegressor(model).fit()
    terms = fast.compiled_plan_.model.terms
    assert isinstance(terms, StartedTrees)
    assert isinstance(terms.start, start)
    near = {"rtol": 0, "atol": 0 if terms.exact else 1e-12}
    for rows in rows_of_all_kinds():
        np.testing.assert_allclose(fast.predict(rows), model.predict(rows), **near)
    np.testing.assert_allclose(fast.predict_one(X[3]), model.predict(X[3:4])[0], **near)
    assert fast.predict(X[:0]).shape == (0,)


@pytest.mark.parametrize("init", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)], ids=["linear", "tree"])
@pytest.mark.parametrize("y", [THREE > 0, THREE], ids=["two", "three"])
def test_labels_and_probabilities_are_scikit_learns_own(init, y):
    model = GradientBoostingClassifier(init=init, n_estimators=6).fit(X, y)
    fast = EarlyExitClassifier(model, risk=0).fit(X)
    for rows in [*rows_of_all_kinds(), sparse.csr_matrix(X)]:
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
        np.testing.assert_allclose(fast.predict_proba(rows), model.predict_proba(rows), rtol=1e-12)
    check_terms(decompose(model).terms, model, X[:40])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # scikit-learn's own
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_rows_that_scikit_learn_refuses_are_refused(bad):
    model = GradientBoostingRegressor(init=Ridge(), n_estimators=3).fit(X, Y)
    rows = X[:3].copy()
    rows[1, 0] = bad
    for predict in (model.predict, EarlyExitRegressor(model).fit().predict):
        with pytest.raises(ValueError, match=r"infinity|NaN"):
            predict(rows)


@pytest.mark.parametrize("nested", [False, True], ids=["mean", "mean of a mean"])
def test_means_allow_for_the_precision_of_first_models(nested):
    boosted = GradientBoostingRegressor(n_estimators=3, init=Ridge(), random_state=0)
    mean: Any = BaggingRegressor(boosted, n_estimators=3, n_jobs=1, random_state=0).fit(X, Y)
    if nested:
        mean = VotingRegressor([("bag", mean), ("ridge", Ridge())]).fit(X, Y)
    model = decompose(mean)
    assert model.terms.least_precision == 2.0**-24
    assert PlainTerms(model.terms).least_precision == 2.0**-24
    many = np.random.default_rng(1).normal(size=(400, 4))
    scores, errors = pack(model.terms).scores(many, lambda dtype: 2.0**-53, 1)
    own = np.array([mean.predict(many[i : i + 1])[0] for i in range(len(many))])
    assert (np.abs(scores[:, 0] - own) <= 4 * errors + 1e-6 * np.abs(own).max()).all()
    assert np.median(errors) > 1e-8
    for rows in (X, many, many[:7]):
        EarlyExitRegressor(mean).fit(rows)
    exact = BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_jobs=1).fit(X, Y)
    assert least_precision(decompose(exact).terms) == 0.0


def test_early_answers_keep_within_the_tolerance():
    model = GradientBoostingRegressor(init=Ridge(), n_estimators=20).fit(X, Y)
    many = np.random.default_rng(1).normal(size=(2000, 4))
    fast = EarlyExitRegressor(model, tolerance=0.3, risk=0.2, planner=Planner(cost="units"), random_state=0).fit(
        many[:1500]
    )
    assert (np.abs(fast.predict(many[1500:]) - model.predict(many[1500:])) > 0.3).mean() <= 0.2


def test_a_file_holds_it_with_skops():
    pytest.importorskip("skops")
    model = GradientBoostingRegressor(init=Ridge(), n_estimators=3).fit(X, Y)
    fast = EarlyExitRegressor(model).fit()
    with pytest.raises(ValueError, match="pipeline='skops'"):
        to_bytes(fast)
    with pytest.warns(UserWarning, match="trusted=") as found:
        raw = to_bytes(fast, pipeline="skops")
    trusted = re.findall(r"'([\w.]+)'", str(found[0].message))
    np.testing.assert_array_equal(from_bytes(raw, trusted=trusted).predict(X), fast.predict(X))


def test_a_change_of_the_first_model_is_seen():
    model = GradientBoostingRegressor(init=Ridge(), n_estimators=3).fit(X, Y)
    read = decompose(model)
    assert read.changed() is None
    model.init_ = Ridge().fit(X, -Y)
    assert read.changed() is not None


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["unsure", "sure"])
def test_first_probabilities_in_float32_are_no_misreading(scale):
    """A linear model's probabilities in float32 hang on the rows of the call, and their logits even more."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = scale * rng.normal(size=(300, 4))
        y = rows[:, 0] + scale * rng.normal(size=300) * (0.02 if scale > 1 else 1.0) > 0
        model = GradientBoostingClassifier(n_estimators=5, init=LogisticRegression(C=100), random_state=0).fit(rows, y)
        fast = EarlyExitClassifier(model, risk=0).fit(rows)
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
        start = fast.compiled_plan_.model.terms.start
        float32 = rows.astype(np.float32)
        apart = np.vstack([model._raw_predict_init(float32[i : i + 1]) for i in range(len(rows))])
        together = start.scores(float32)
        assert (np.abs(apart - together)[:, 0] <= start.errors(together) + 1e-6 * np.abs(together[:, 0])).all()
