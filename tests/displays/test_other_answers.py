"""Displays of outlier detectors, in their words, and of regressors, which have nothing to show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest

from wald import EarlyExitOutlierDetector, EarlyExitRegressor, Planner
from wald.displays import CostHistogramDisplay, StoppingPathDisplay, TradeoffDisplay

from .conftest import names

ROWS = np.random.default_rng(0).normal(size=(7000, 4))
ROWS[::40] *= 3.0
HELD = ROWS[6000:]


@pytest.fixture(scope="module", params=[{"all": 0.02, "outlier": 0.3}, {"outlier": 0.1}], ids=["all", "outliers"])
def detector(request: Any) -> EarlyExitOutlierDetector:
    forest = IsolationForest(n_estimators=50, contamination=0.03, random_state=0).fit(ROWS[:1000])
    made = EarlyExitOutlierDetector(forest, risk=request.param, planner=Planner(cost="units"), random_state=0)
    return made.fit(ROWS[1000:6000])


def test_costs_are_those_of_outliers_and_inliers(detector: EarlyExitOutlierDetector) -> None:
    display = CostHistogramDisplay.from_estimator(detector, HELD)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["outlier", "inlier"]
    assert display.ax_.get_ylabel() == "label"
    labels = detector.predict(HELD)
    assert display.counts.sum(axis=1).tolist() == [(labels == -1).sum(), (labels == 1).sum()]


def test_walks_end_as_outliers_or_inliers(detector: EarlyExitOutlierDetector) -> None:
    display = StoppingPathDisplay.from_estimator(detector, HELD)
    words = names(display)
    assert words[-1] == "not yet clear"
    assert "answer inlier" in words
    assert set(words[:-1]) <= {"answer inlier", "answer outlier"}


def test_the_curve_counts_what_is_promised(detector: EarlyExitOutlierDetector) -> None:
    display = TradeoffDisplay.from_estimator(detector, HELD)
    outliers = detector.estimator_.predict(HELD) == -1
    about = "all" not in detector.risk
    assert display.event == ("disagreement on outliers" if about else "disagreement with full model")
    assert display.n_rows == (outliers.sum() if about else len(HELD))
    lost = (detector.predict(HELD) != detector.estimator_.predict(HELD))[outliers if about else slice(None)]
    assert display.disagreement_in_use == lost.mean()


def test_a_budgeted_curve_counts_the_answers_of_one_stage(detector: EarlyExitOutlierDetector) -> None:
    display = TradeoffDisplay.from_estimator(detector, HELD, budgeted=True)
    scores, full = detector.stage_scores(HELD)[0], detector.looks(HELD).full
    counted = full == 0 if "all" not in detector.risk else np.ones(len(full), dtype=bool)
    early = detector.compiled_plan_.model.decision.answers(scores[:, 0])
    assert np.asarray(display.disagreement)[0] == (early != full)[counted].mean()


def test_curves_without_rows_of_the_promise_say_so(detector: EarlyExitOutlierDetector) -> None:
    if "all" in detector.risk:
        return
    inliers = HELD[detector.estimator_.predict(HELD) == 1]
    with pytest.raises(ValueError, match=f"by the full model, none of the {len(inliers)} rows are outliers"):
        TradeoffDisplay.from_estimator(detector, inliers)


@pytest.mark.parametrize("display", [CostHistogramDisplay, StoppingPathDisplay, TradeoffDisplay])
def test_values_in_full_have_nothing_to_show(display: Any) -> None:
    X, y = make_regression(200, 3, random_state=0)
    fast = EarlyExitRegressor(HistGradientBoostingRegressor(max_iter=5).fit(X, y)).fit()
    with pytest.raises(ValueError, match=r"EarlyExitRegressor evaluates every row in full, .* no early answers"):
        display.from_estimator(fast, X)
