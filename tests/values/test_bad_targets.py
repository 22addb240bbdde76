"""Targets, offsets and groups that are none: refused by the name of the argument, and what to do."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge

from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRanker, EarlyExitRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=len(X))
BAD = Y.copy()
BAD[[3, 7]] = np.nan


@pytest.mark.parametrize("asked", [{}, {"tolerance": 0.1, "risk": 0.1}], ids=["in full", "within"])
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_targets_that_are_no_numbers(asked, value):
    y = np.where(np.isnan(BAD), value, BAD)
    with pytest.raises(ValueError, match=rf"y must hold a finite number .* {value} for 2 of 200 rows.* row 3: leave"):
        EarlyExitRegressor(Ridge(), **asked).fit(X, y)
    with pytest.raises(ValueError, match="row 3"):
        EarlyExitRegressor(Ridge()).fit(X, np.column_stack([Y, y]))


def test_targets_of_boosters_are_checked_before_their_library_does():
    xgboost = pytest.importorskip("xgboost")
    with pytest.raises(ValueError, match="y must hold a finite number"):
        EarlyExitRegressor(xgboost.XGBRegressor(n_estimators=2)).fit(X, BAD)
    with pytest.raises(ValueError, match="X has 200, y has 10"):
        EarlyExitRegressor(xgboost.XGBRegressor(n_estimators=2)).fit(X, Y[:10])


def test_labels_that_are_missing():
    with pytest.raises(ValueError, match=r"y must hold a label .* nan for 2 of 200 rows"):
        EarlyExitClassifier(LogisticRegression(), risk=0).fit(X, np.where(np.isnan(BAD), np.nan, Y > 0))


def changed(model: Any, change: Any) -> Any:
    model = copy.deepcopy(model)
    change(model)
    return model


def set_offset(model: Any) -> None:
    model.offset_ = np.nan


def set_intercept(model: Any) -> None:
    model.intercept_ = np.nan


def set_dual(model: Any) -> None:
    model.dual_coef_[3] = np.nan


def set_baseline(model: Any) -> None:
    model._baseline_prediction[:] = np.nan


def set_leaf(model: Any) -> None:
    model.estimators_[0].tree_.value[:] = np.nan


@pytest.mark.parametrize(
    ("model", "change", "words"),
    [
        (IsolationForest(n_estimators=3, random_state=0), set_offset, "IsolationForest has NaN in its offset_"),
        (Ridge(), set_intercept, "Ridge has NaN in its intercept"),
        (KernelRidge(kernel="rbf"), set_dual, "KernelRidge has NaN in its weights"),
        (HistGradientBoostingRegressor(max_iter=2), set_baseline, "NaN in its score before the first tree"),
        (RandomForestRegressor(2), set_leaf, "RandomForestRegressor has NaN in its leaves"),
    ],
)
def test_offsets_and_weights_that_are_no_numbers(model, change, words):
    shell: Any = EarlyExitOutlierDetector if isinstance(model, IsolationForest) else EarlyExitRegressor
    with pytest.raises(ValueError, match=words):
        shell(changed(model.fit(X, Y), change), risk=0).fit(X)


def test_sizes_of_groups_are_told_from_their_keys():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1).fit(X, Y > 0, group=[50] * 4)
    ranker = EarlyExitRanker(model, k=3).fit()
    with pytest.raises(ValueError, match=r"one entry for each of the 200 rows. Got 4. To give sizes .*numpy.repeat"):
        ranker.predict(X, groups=[50] * 4)
    with pytest.raises(ValueError, match=r"Got 4\.$"):
        ranker.predict(X, groups=[50, 50, 50, 51])


def test_refusals_of_missing_values_name_the_estimator():
    fast = EarlyExitRegressor(Ridge().fit(X, Y)).fit()
    rows = X[:3].copy()
    rows[1, 0] = np.nan
    for refuse in (lambda: fast.predict(rows), lambda: fast.predict_one(rows[1])):
        with pytest.raises(ValueError, match="EarlyExitRegressor does not accept missing values"):
            refuse()


@pytest.mark.parametrize("shell", [EarlyExitRegressor, EarlyExitRanker, EarlyExitOutlierDetector])
def test_probabilities_are_those_of_classes(shell):
    fast = shell(Ridge())
    assert not hasattr(fast, "predict_proba")
    with pytest.raises(AttributeError, match=r"probabilities are those of classes.*EarlyExitClassifier"):
        fast.predict_proba(X)
    said = "decision_function'?$" if shell is EarlyExitOutlierDetector else "scores and probabilities are those of"
    with pytest.raises(AttributeError, match=said):
        fast.decision_function(X)
    with pytest.raises(AttributeError, match="has no attribute 'tree_'"):
        _ = fast.tree_
