"""What pages say about promises of every kind, and whether their code runs."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest
from report.fitting import Case, fitted
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald import EarlyExitClassifier

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from wald.reporting.gather import gather
from wald.reporting.page import page
from wald.stopping import Lossless
from wald.utils.alternating import Timing


def words_of(page: str) -> str:
    words = unescape(re.sub("<[^>]+>", " ", re.sub("<style>.*?</style>", "", page, flags=re.S)))
    return " ".join(words.split())


def code_of(page: str) -> list[str]:
    return [unescape(code) for code in re.findall("<pre[^>]*><code>(.*?)</code></pre>", page, flags=re.S)]


@pytest.fixture(scope="module")
def without_rows() -> Case:
    X, y = make_classification(2000, 8, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X[:500], y[:500])
    return Case(EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), X[500:])


@pytest.fixture(scope="module")
def proved() -> Case:
    """One feature decides alone for most rows, whatever the others are."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(3200, 6))
    y = X[:, 0] + 0.05 * X[:, 1:].sum(axis=1) > 0
    case = fitted(LogisticRegression(C=100), X, y, risk=0, rule=Lossless(low=-1, high=1))
    assert case.fast.certificate_.status == "lossless"
    return case


def test_a_model_that_is_evaluated_in_full_makes_no_statistical_claim(without_rows: Case) -> None:
    words = words_of(wald.report(*without_rows, timed=False))
    assert "Every label is the model's own." in words
    assert "no early exit: fit was given no rows" not in words
    assert "All trees are evaluated for every row" in words
    assert "0 of 1 500 labels differ; on other rows none can differ, either." in words
    for wrong in ("interval from", "unlikely", "recertify", "nothing is saved", "saved comes from"):
        assert wrong not in words


@pytest.mark.parametrize(("factor", "said"), [(40.0, True), (1.0, False), (0.5, False)])
def test_time_that_is_saved_without_early_exit_is_explained(without_rows: Case, factor: float, said: bool) -> None:
    from dataclasses import replace

    facts = gather(*without_rows, source=None, timed=False, caller="test")
    timed = replace(facts, timing=(Timing("a batch", 1000, factor, 1.0),))
    assert ("The time that is saved comes from wald's own evaluation" in words_of(page(timed))) is said


def test_stages_that_no_row_leaves_at_are_one_sentence() -> None:
    X, y = make_classification(3200, 12, n_informative=8, random_state=0)
    case = fitted(HistGradientBoostingClassifier(max_iter=20, random_state=0), X, y, risk=0)
    n_stages = case.fast.plan_.n_stages
    assert case.fast.plan_.evaluate_all
    assert n_stages > 1
    words = words_of(wald.report(*case, timed=False))
    assert f"The plan's {n_stages} stages serve calls with a budget only." in words
    assert "never" not in words
    assert "where its answer is not yet clear" not in words


def test_a_proof_leaves_no_interval(proved: Case) -> None:
    words = words_of(wald.report(*proved, timed=False))
    assert "only where the rest of the sum cannot change the label" in words
    assert "none can differ" in words
    assert "interval from" not in words
    assert "The data drift" not in words


def test_other_promises_say_how_to_watch_them(cases: dict[str, Case]) -> None:
    words = words_of(wald.report(*cases["kernel"], timed=False))
    assert "unlikely to change the label" in words
    assert "interval from" in words
    assert "fast.watched(0.01)" in words
    assert "fast.recertify(X_recent)" in words


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["kernel", "trees", "multiclass", "lossless", "measured", "classes", "few", "proved", "without_rows"]
)
def test_the_code_of_a_page_runs(
    name: str, cases: dict[str, Case], rows: Any, proved: Case, without_rows: Case
) -> None:
    others = {"proved": proved, "without_rows": without_rows}
    if name == "few":
        others["few"] = fitted(LogisticRegression(), *rows, risk=1e-6)
    fast, X = (cases | others)[name]
    some = X[:50]
    one = X.iloc[0].to_dict() if hasattr(X, "iloc") else X[0]
    snippets = code_of(wald.report(fast, X, timed=False))
    assert snippets
    for code in snippets:
        given = {"fast": fast, "model": fast.estimator_, "X": some, "x": one}
        exec(code, given | dict.fromkeys(("X_rows", "X_recent", "X_fresh"), X))


def test_a_promise_for_a_class_keeps_the_risk_and_the_confidence(rows: Any) -> None:
    case = fitted(LogisticRegression(), *rows, risk=0.04, confidence=0.9)
    page = wald.report(*case, timed=False)
    (code,) = [code for code in code_of(page) if '{"all": ' in code]
    assert 'risk={"all": 0.04, ' in code
    assert "confidence=0.9)" in code
