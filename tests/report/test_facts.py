"""The facts of a report are what the classifier's own methods say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from report.fitting import Case, fitted
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wald
from wald.reporting.gather import MOST_ROWS, gather
from wald.reporting.values import MOST_VALUES, RowValues

NAMES = (
    *("kernel", "linear", "trees", "votes", "pipeline", "multiclass"),
    *("lossless", "measured", "positive", "classes", "texts", "columns"),
)


def facts_of(case: Case, timed: bool = False) -> Any:
    return gather(case.fast, case.X, source=None, timed=timed, caller="test")


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_predict(cases: dict[str, Case], name: str) -> None:
    fast, X = cases[name]
    facts = facts_of(cases[name])
    labels, cost = fast.predict(X, return_cost=True)
    full = fast.estimator_.predict(X)
    assert facts.n_rows == len(labels)
    assert facts.mean_cost == pytest.approx(cost.mean())
    assert facts.n_different == np.count_nonzero(labels != full)
    assert facts.plan.full_cost == fast.plan_.full_cost
    assert facts.certificate["sentence"] == str(fast.certificate_)
    for label, each in zip(fast.classes_, facts.classes, strict=True):
        own = cost[labels == label]
        assert (each.name, each.n_rows) == (str(label), len(own))
        assert each.mean == pytest.approx(own.mean())
        assert each.median == np.median(own)
    assert sum(each.n_different for each in facts.classes) == facts.n_different


@pytest.mark.parametrize("name", NAMES)
def test_stages_are_where_rows_leave(cases: dict[str, Case], name: str) -> None:
    fast, X = cases[name]
    facts = facts_of(cases[name])
    _, stage = fast.stage_scores(X)
    assert [each.n_left for each in facts.stages] == np.bincount(stage, minlength=len(facts.stages)).tolist()
    assert facts.stages[0].n_reached == len(stage)
    assert facts.stages[-1].n_reached == facts.stages[-1].n_left
    assert [each.cost for each in facts.stages] == fast.plan_.stage_costs.tolist()


@pytest.mark.parametrize("name", ["kernel", "linear", "trees", "multiclass", "texts", "columns"])
def test_walks_are_traces(cases: dict[str, Case], name: str) -> None:
    fast, X = cases[name]
    walks = facts_of(cases[name]).walks
    assert [walk.title for walk in walks] == ["easy", "typical", "hard"]
    assert walks[0].trace.stage <= walks[1].trace.stage <= walks[2].trace.stage
    for walk in walks:
        trace = fast.trace(X.iloc[[walk.row]] if hasattr(X, "iloc") else X[walk.row])
        ended = ~np.isfinite(trace.scores)  # a text has been read by then, and its full score counts
        assert walk.trace.scores == pytest.approx(np.where(ended, trace.scores[-1], trace.scores))
        assert walk.trace.costs.tolist() == trace.costs.tolist()
        assert (walk.trace.stage, walk.label) == (trace.stage, str(trace.label))
        assert walk.trace.high == pytest.approx(trace.high)
        assert walk.trace.cost == trace.cost


@pytest.mark.parametrize("name", ["kernel", "trees", "multiclass", "positive", "texts", "columns"])
def test_the_curve_goes_through_the_chosen_point(cases: dict[str, Case], name: str) -> None:
    fast, X = cases[name]
    curve = facts_of(cases[name]).curve
    full, labels = fast.estimator_.predict(X), fast.predict(X)
    counted = full == fast.classes_[1] if name == "positive" else np.ones(len(full), dtype=bool)
    assert curve.n_rows == counted.sum()
    assert curve.disagreement_in_use == pytest.approx(np.mean((labels != full)[counted]))
    assert curve.cost_in_use == pytest.approx(fast.predict(X, return_cost=True)[1].mean())
    assert curve.interval_in_use[0] <= curve.disagreement_in_use <= curve.interval_in_use[1]
    full_cost = np.mean([len(text) for text in X]) if name == "texts" else fast.plan_.full_cost
    assert (curve.cost[-1], curve.disagreement[-1]) == (pytest.approx(full_cost), 0.0)
    assert min(curve.cost) == curve.cost[0]


def test_differing_rows_are_shown_with_their_values(cases: dict[str, Case]) -> None:
    fast, X = cases["trees"]
    facts = facts_of(cases["trees"])
    differs = np.flatnonzero(fast.predict(X) != fast.estimator_.predict(X))
    assert 0 < len(facts.differences) == min(len(differs), MOST_ROWS)
    assert {each.row for each in facts.differences} <= set(differs.tolist())
    for each in facts.differences:
        assert each.label != each.full_label
        for name, value in each.values:
            assert float(value) == pytest.approx(X[name].iloc[each.row], rel=1e-5)
    sure = [abs(each.score) for each in facts.differences]
    assert sure == sorted(sure, reverse=True)


def test_wide_rows_show_what_is_unusual() -> None:
    X = np.random.default_rng(0).normal(size=(50, 40))
    X[7, 33] = 1e3
    shown, left_out = RowValues(X, None).of(7)
    assert len(shown) == MOST_VALUES
    assert left_out == 40 - MOST_VALUES
    assert ("column 33", "1000") in shown
    stored = sparse.csr_array(([2.0, -5.0], ([0, 0], [3, 9])), shape=(1, 20))
    assert RowValues(stored, None).of(0) == ((("column 3", "2"), ("column 9", "-5")), 0)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library(library: str) -> None:
    module = pytest.importorskip(library)
    columns = {"size": [1.0, 2.5], "kind": ["<b>", None]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    shown, _ = RowValues(frame, None).of(0)
    assert shown == (("size", "1"), ("kind", "<b>"))


def test_texts_are_rows() -> None:
    words = np.array(["good", "fine", "bad", "poor", "day", "night"])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    texts = [" ".join([words[2 * k + rng.integers(2)], *words[rng.integers(0, 6, 4)]]) for k in y]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:300], y[:300])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.1, planner=wald.Planner(cost="units"), random_state=0
    )
    facts = facts_of(Case(fast.fit(texts[300:1200]), texts[1200:]), timed=True)
    assert facts.n_rows == 300
    assert facts.timing
    for each in facts.differences:
        assert each.values == (("text", texts[1200 + each.row]),)


def test_times_are_those_of_both(cases: dict[str, Case]) -> None:
    facts = facts_of(cases["kernel"], timed=True)
    assert facts.timing[0].n_rows == 1
    assert all(each.model_seconds > 0 and each.wald_seconds > 0 for each in facts.timing)
    assert "not asked for" in facts_of(cases["kernel"]).no_timing


def test_a_model_without_stages(rows: tuple[Any, Any]) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = rows
    model = HistGradientBoostingClassifier(max_iter=10).fit(X[:500], y[:500])
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    facts = facts_of(Case(fast, X[500:510]))
    assert facts.n_different == 0
    assert facts.mean_cost == facts.plan.full_cost
    assert facts.stages[-1].n_left == 10


@pytest.mark.filterwarnings("ignore:no early exit")
def test_a_model_without_a_certificate(rows: tuple[Any, Any]) -> None:
    X, y = rows
    case = fitted(LogisticRegression(), X, y, risk=1e-6)
    facts = facts_of(Case(case.fast, case.X[:10]))
    assert facts.plan.evaluate_all
    assert facts.n_different == 0
    assert [each.n_left for each in facts.stages][-1] == 10


def test_what_is_no_classifier_or_no_row() -> None:
    with pytest.raises(TypeError, match=r"wald\.report needs a fitted early-exit estimator\. Got LogisticRegression"):
        wald.report(LogisticRegression(), np.zeros((3, 2)))


def test_rows_that_do_not_fit(cases: dict[str, Case]) -> None:
    fast, X = cases["linear"]
    with pytest.raises(ValueError, match="features"):
        wald.report(fast, X[:, :5])
    with pytest.raises(ValueError, match="at least one row"):
        wald.report(fast, X[:0])
    broken = X[:5].copy()
    broken[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        wald.report(fast, broken)


def test_a_page_says_that_answers_were_compared_with_the_model(cases: dict[str, Case]) -> None:
    words = "labels and scores agree"
    case = cases["trees"]
    assert words in facts_of(case).model["checked"]
    assert words in wald.report(*case, timed=False)
