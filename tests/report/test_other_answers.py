"""Pages about outlier detectors, bands and values speak of these, and count by their own losses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from report.test_page import Outline
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest

import wald
from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor, Planner

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

X = np.random.default_rng(0).normal(size=(6000, 4))
X[::40] *= 3.0
Y = X[:, 0] + X[:, 1] * X[:, 2]
HELD = X[5400:]
#: What is said of rows whose true labels nobody needs.
TRUTH = re.compile("(no|without) labels")
SHARED: dict[str, Any] = {"planner": Planner(cost="units"), "random_state": 0}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    forest = IsolationForest(n_estimators=40, contamination=0.03, random_state=0).fit(X[:800])
    classifier = HistGradientBoostingClassifier(max_iter=30, early_stopping=False).fit(X[:800], Y[:800] > 0)
    regressor = HistGradientBoostingRegressor(max_iter=30, early_stopping=False).fit(X[:800], Y[:800])
    found = {
        "outliers": EarlyExitOutlierDetector(forest, risk={"outlier": 0.1}, **SHARED),
        "bands": EarlyExitClassifier(classifier, risk={"all": 0.05, 1: 0.3}, bands=[0.2, 0.8], **SHARED),
        "values": EarlyExitRegressor(regressor, tolerance=0.5, risk=0.05, **SHARED),
    }
    return {name: fast.fit(X[800:5400]) for name, fast in found.items()}


def told(fast: Any) -> str:
    page = wald.report(fast, HELD, timed=False)
    return " ".join("".join(Outline(page).texts).split())


def test_words_of_outliers(fitted: dict[str, Any]) -> None:
    fast = fitted["outliers"]
    words = told(fast)
    assert fast.certificate_.status == "certified"
    assert "exits as inlier among outliers" in words
    assert "if the full model calls it an outlier" in words
    assert "Cost by label" in words
    assert "Labels2: outlier, inlier" in words
    assert "EarlyExitOutlierDetector(model, risk=" in words
    assert not re.search(r"\b(positives?|negatives?|class(es)?)\b", words)


def test_words_of_bands(fitted: dict[str, Any]) -> None:
    words = told(fitted["bands"])
    assert "another band <= 5 %, <= 30 % within band 1, all with" in words
    assert "Cost by band" in words
    assert "bands differ" in words
    assert "EarlyExitClassifier(model, bands=[0.2, 0.8], risk=" in words
    assert not re.search(r"\b(labels?|class(es)?)\b", TRUTH.sub("", words))


def test_words_of_values_and_their_losses(fitted: dict[str, Any]) -> None:
    fast = fitted["values"]
    words = told(fast)
    off = np.abs(fast.predict(HELD) - fast.estimator_.predict(HELD)) > 0.5
    assert f"{off.sum()} of 600 values are off by more than 0.5" in words
    assert "off by more than 0.5 <= 5 %" in words
    assert not re.search(r"\b(labels?|class(es)?)\b", TRUTH.sub("", words))


def test_values_in_full_have_no_page() -> None:
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, Y)
    with pytest.raises(ValueError, match=r"wald\.report: EarlyExitRegressor evaluates every row in full"):
        wald.report(EarlyExitRegressor(model).fit(), HELD)


@pytest.mark.parametrize("name", ["bands", "values"])
def test_margins_have_no_lower_threshold(fitted: dict[str, Any], name: str) -> None:
    words = told(fitted[name])
    assert "leaves at confidence above" in words
    assert "leaves below" not in words
    assert "never" not in words.split("Every stage, with its thresholds")[1].split("full model")[0]
    assert "leaves below" in told(fitted["outliers"])
