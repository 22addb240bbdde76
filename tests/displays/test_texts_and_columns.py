"""Displays of texts, whose costs are their own characters, and of raw columns, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from wald import EarlyExitClassifier, Planner
from wald.displays import CostHistogramDisplay, StoppingPathDisplay, TradeoffDisplay

UNITS = Planner(cost="units")


class Fitted(NamedTuple):
    fast: EarlyExitClassifier
    X: Any


@pytest.fixture(scope="module")
def texts() -> Fitted:
    rng = np.random.default_rng(0)
    telling = [["refund", "broken", "zürich", "angry"], ["thanks", "great", "love", "perfect"]]
    kinds = rng.integers(2, size=2400)

    def review(kind: int) -> str:
        words = rng.choice([f"word{i}" for i in range(100)], rng.integers(3, 120))
        return " ".join(np.where(rng.random(len(words)) < 0.15, rng.choice(telling[kind], len(words)), words))

    rows = [review(kind) for kind in kinds]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(rows[:600], kinds[:600])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(rows[600:2100])
    assert fast.compiled_plan_.model.terms.unit_name == "characters"
    return Fitted(fast, rows[2100:])


def frame(n: int, wide: int = 0) -> tuple[Any, Any]:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(
        {
            "age": rng.normal(45, 15, n).round(),
            "income in $, a $ a day": rng.lognormal(10, 0.5, n),
            "city": rng.choice(["Cluj", "Brno", "Graz"], n),
            **{f"column number {i}": rng.normal(size=n) for i in range(wide)},
        }
    )
    score = (rows["age"] - 45) / 5 + 3 * (rows["city"] == "Cluj")
    return rows, np.where(score + rng.normal(size=n) > 1, "yes", "no")


def planned(columns: Any, rows: Any, y: Any) -> Fitted:
    model = make_pipeline(columns, LogisticRegression()).fit(rows[:1000], y[:1000])
    fast = EarlyExitClassifier(model, risk=0.05, planner=UNITS, random_state=0).fit(rows[1000:4000])
    return Fitted(fast, rows[4000:])


def by_column(wide: int = 0) -> Fitted:
    rows, y = frame(5000, wide)
    numbers = [name for name in rows.columns if name != "city"]
    return planned(ColumnTransformer([("n", StandardScaler(), numbers), ("c", OneHotEncoder(), ["city"])]), rows, y)


def test_the_walk_of_a_text_ends_where_it_ends(texts: Fitted) -> None:
    fast, X = texts
    _, costs = fast.predict(X, return_cost=True)
    lengths = np.array([len(text) for text in X])
    looks = fast.plan_.stage_costs[:-1]
    whole = np.flatnonzero((costs == lengths) & (lengths > looks[0]))
    early = np.flatnonzero((costs < lengths) & (lengths < looks[-1]))
    rows = [int(whole[0]), int(early[0])]
    display = StoppingPathDisplay.from_estimator(fast, X, rows=rows)
    assert [end.get_marker() for end in display.exits_] == ["s", "o"]
    full = fast.decision_function([X[row] for row in rows])
    for row, end, later, score in zip(rows, display.exits_, display.later_lines_, full, strict=True):
        assert end.get_xdata()[0] == costs[row]
        assert (later.get_xdata()[-1], later.get_ydata()[-1]) == (lengths[row], pytest.approx(score))
        assert np.isfinite(later.get_ydata()).all()
    assert display.exits_[0].get_ydata()[0] == pytest.approx(full[0])
    trace = fast.trace(X[rows[1]])
    assert display.row_costs[1].tolist() == trace.costs.tolist()
    assert display.ax_.get_xlabel() == "characters read"
    left, right = display.ax_.get_xlim()
    assert left < min(costs[rows])
    assert right > max(lengths[rows])
    corners = display.region_.get_paths()[0].vertices
    assert set(looks.tolist()) <= set(corners[:, 0].tolist())


def test_the_curve_of_texts_counts_their_own_characters(texts: Fitted) -> None:
    fast, X = texts
    costs, lengths = fast.predict(X, return_cost=True)[1], [len(text) for text in X]
    display = TradeoffDisplay.from_estimator(fast, X)
    assert display.cost_in_use == pytest.approx(costs.mean())
    assert max(display.cost) == display.full_cost == pytest.approx(np.mean(lengths))
    budgeted = TradeoffDisplay.from_estimator(fast, X, budgeted=True)
    assert max(budgeted.cost) == pytest.approx(np.mean(lengths))
    assert min(budgeted.cost) == pytest.approx(np.mean([fast.trace(text).costs[0] for text in X]))


def test_the_histogram_counts_every_text(texts: Fitted) -> None:
    fast, X = texts
    labels, costs = fast.predict(X, return_cost=True)
    display = CostHistogramDisplay.from_estimator(fast, X)
    assert display.counts.sum() == len(X)
    assert display.mean.tolist() == pytest.approx([costs[labels == label].mean() for label in fast.classes_])
    assert display.ax_.get_xlabel() == "characters per row"


@pytest.mark.parametrize("display", [StoppingPathDisplay, TradeoffDisplay, CostHistogramDisplay])
def test_empty_texts_are_drawn(display: Any, texts: Fitted) -> None:
    for X in ([""], ["", "thanks"]):
        drawn = display.from_estimator(texts.fast, X)
        drawn.figure_.canvas.draw()
        assert display is not CostHistogramDisplay or drawn.counts.sum() == len(X)


def test_raw_columns_have_their_names() -> None:
    fast, X = by_column()
    display = StoppingPathDisplay.from_estimator(fast, X)
    order = [part.name for part in fast.explain(X[:1]).parts]
    assert order[0] == "age"
    assert [name for read in display.reads for name in read] == order
    display.figure_.canvas.draw()
    named = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert named == ["age (1)", "city (2)", "income in $, a \N{HORIZONTAL ELLIPSIS} (3)"]
    assert display.ax_.get_xticks().tolist() == fast.plan_.stage_costs.tolist() == [1, 2, 3]
    assert display.ax_.get_xlabel() == "columns read, in this order"


def test_many_columns_do_not_overlap() -> None:
    fast, X = by_column(wide=40)
    display = StoppingPathDisplay.from_estimator(fast, X)
    display.figure_.canvas.draw()
    labels = display.ax_.get_xticklabels()
    ticks = np.log(display.ax_.get_xticks())
    left, right = np.log(display.ax_.get_xlim())
    assert (np.diff(ticks) / (right - left) > 0.06).all()
    counted = [label.get_text().partition(" +")[2].split(" ")[0] for label in labels]
    assert sum(1 + int(n or 0) for n in counted) == 43


def test_columns_without_names_are_counted() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    fast, X = planned(StandardScaler(), X, X @ [5.0, 3, 2, 1, 0.5, 0.1] > 0)
    display = StoppingPathDisplay.from_estimator(fast, X)
    assert display.reads is None
    assert display.ax_.get_xlabel() == "features seen"


def test_columns_that_a_transformer_writes_have_its_names() -> None:
    rows, y = frame(5000)
    fast, X = planned(PolynomialFeatures(2), rows[["age"]], y)
    display = StoppingPathDisplay.from_estimator(fast, X)
    assert {name for read in display.reads for name in read} == {"1", "age", "age^2"}
