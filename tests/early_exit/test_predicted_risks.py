"""Promises about the rows that get an answer, for every kind of model, through files, reports and the command line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import wald
from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor, Planner
from wald.commands.answers import UserError
from wald.commands.fit import by_label, by_text
from wald.displays import TradeoffDisplay
from wald.inspection.facts import certificate_facts
from wald.inspection.promises import broken_promise

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9000, 6))
SCORE = X @ [2.0, 1.0, 0.5, 0.3, 0.2, 0.1] + 0.3 * RNG.normal(size=9000)
WORDS = np.where(SCORE > 2.5, "fraud", "fine")
BY_SCORE = LogisticRegression().fit(X[:1000], WORDS[:1000])
BOTH: dict[Any, float] = {"fraud": 0.2, "predicted fraud": 0.1}


def wrap(model: Any, rows: np.ndarray, **params: Any) -> EarlyExitClassifier:
    """Early exit for a fitted model, planned for units."""
    params = {"cost": "units", "random_state": 0} | params
    return EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(rows)


def counts(fast: Any, rows: np.ndarray, code: Any, full: np.ndarray) -> tuple[int, int]:
    """Rows that get an answer, and how many of them are wrong."""
    got = fast.predict(rows) == code
    return int(got.sum()), int(np.sum(full[got] != code))


@pytest.fixture(scope="module")
def fast() -> EarlyExitClassifier:
    """Two words, of which one is rare."""
    return wrap(BY_SCORE, X[1000:7000], risk=BOTH)


def test_few_are_missed_and_few_are_wrong(fast) -> None:
    certificate = fast.certificate_
    assert (certificate.status, certificate.about, certificate.verify()) == ("certified", "predicted", True)
    assert "<= 20 % within class fraud, <= 10 % within predicted class fraud, all with 95 %" in str(certificate)
    n, wrong = counts(fast, X[7000:], "fraud", BY_SCORE.predict(X[7000:]))
    assert n > 100
    assert wrong <= 0.1 * n
    assert not fast.plan_.evaluate_all


def test_the_plan_knows_the_bound(fast) -> None:
    strict = wrap(BY_SCORE, X[1000:7000], risk=BOTH | {"predicted fraud": 0.02})
    assert strict.certificate_.status == "certified"
    costs = [each.predict(X[7000:], return_cost=True)[1].mean() for each in (fast, strict)]
    assert costs[0] < costs[1]


def test_no_row_leaves_with_an_answer_whose_bound_is_0() -> None:
    closed = wrap(BY_SCORE, X[1000:7000], risk={"fraud": 0.1, "predicted fraud": 0})
    labels, full = closed.predict(X[7000:]), BY_SCORE.predict(X[7000:])
    assert np.all(full[labels == "fraud"] == "fraud")
    assert closed.certificate_ == wrap(BY_SCORE, X[1000:7000], risk={"fraud": 0.1, "fine": 0}).certificate_


def test_it_is_kept_by_files_copies_and_recertify(fast, tmp_path) -> None:
    wald.save(fast, tmp_path / "a.wald")
    again = wald.load(tmp_path / "a.wald")
    assert again.risk == BOTH
    assert again.certificate_ == fast.certificate_
    fresh = again.recertify(X[7000:])
    assert [s.name for s in fresh.certificate_.strata] == ["rows of class fraud", "rows of predicted class fraud"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = again.recertify(X[7000:], risk={"all": 0.1, "predicted fraud": 0.2})
    assert [s.risk for s in other.certificate_.strata] == [None, 0.2]
    with pytest.raises(ValueError, match="none of the classes 'fine', 'fraud'"):
        again.recertify(X[7000:], risk={"all": 0.1, "predicted thief": 0.2})


@pytest.mark.slow
def test_pages_say_it_and_curves_draw_no_bound_of_all_rows(fast) -> None:
    pytest.importorskip("jinja2")
    assert TradeoffDisplay.from_estimator(fast, X[7000:8000]).risk is None
    page = " ".join(wald.report(fast, X[7000:8000], timed=False).split())
    assert "rows of predicted class fraud" in page
    assert "if it is one of the rows named above, of each at most as stated there" in page


def test_rows_that_refute_it_are_told_by_their_answer(fast) -> None:
    assert [s["risk"] for s in certificate_facts(fast.certificate_)["strata"]] == [0.2, 0.1]
    full = np.repeat(["fine", "fraud"], [300, 100])
    early = np.repeat(["fine", "fraud"], [250, 150])
    told = broken_promise(fast.certificate_, full, full != early, fast.classes_, early=early)
    assert told is not None
    assert told.startswith("50 of 150 rows that wald calls fraud differ")
    assert broken_promise(fast.certificate_, full, full != full, fast.classes_, early=full) is None


def test_a_rare_class_is_still_named_where_only_its_answers_have_a_bound() -> None:
    with pytest.warns(UserWarning, match="rare class: class fraud, which the model gives to"):
        wrap(BY_SCORE, X[1000:7000], risk={"all": 0.1, "predicted fraud": 0.2})


KINDS: dict[str, Any] = {
    "kernel": SVC(),
    "trees": HistGradientBoostingClassifier(max_iter=20, early_stopping=False, random_state=0),
    "forest": RandomForestClassifier(30, max_depth=6, random_state=0),
}
VOTES = VotingClassifier([(f"{c}", LogisticRegression(C=c)) for c in (0.01, 1.0, 100.0)])


@pytest.mark.parametrize("kind", ["votes", *(pytest.param(each, marks=pytest.mark.slow) for each in KINDS)])
def test_several_classes_of_every_kind(kind) -> None:
    model = KINDS.get(kind, VOTES).fit(X[:600], np.digitize(SCORE[:600], [-1, 1.5]))
    made = wrap(model, X[1000:4000], risk={"all": 0.2, "predicted 2": 0.1}, n_splits=1)
    assert made.certificate_.verify()
    assert made.certificate_.strata[1].name == "rows of predicted class 2"
    n, wrong = counts(made, X[7000:], 2, model.predict(X[7000:]))
    assert wrong <= 0.15 * n


def test_numbers_of_bands() -> None:
    scored = LogisticRegression().fit(X[:1000], SCORE[:1000] > 0)
    cut = EarlyExitClassifier(
        scored,
        bands=[0.3, 0.8],
        risk={"predicted each": 0.2, "predicted 2": 0.1},
        planner=Planner(cost="units"),
        random_state=0,
    ).fit(X[1000:4000])
    assert [s.name for s in cut.certificate_.strata] == [f"rows of predicted band {band}" for band in range(3)]
    assert "<= 10 % within predicted band 2" in str(cut.certificate_)
    full = np.digitize(scored.predict_proba(X[7000:])[:, 1], [0.3, 0.8])
    n, wrong = counts(cut, X[7000:], 2, full)
    assert wrong <= 0.15 * n


def test_outliers(tmp_path) -> None:
    forest = IsolationForest(contamination=0.1, n_estimators=20, random_state=0).fit(X[:1000])
    found = EarlyExitOutlierDetector(
        forest, risk={"outlier": 0.3, "predicted -1": 0.2}, planner=Planner(cost="units"), random_state=0
    ).fit(X[1000:7000])
    assert [s.name for s in found.certificate_.strata] == ["outliers", "predicted outliers"]
    assert found.certificate_.status == "certified"
    n, wrong = counts(found, X[7000:], -1, forest.predict(X[7000:]))
    assert wrong <= 0.25 * n
    wald.save(found, tmp_path / "a.wald")
    assert wald.load(tmp_path / "a.wald").certificate_ == found.certificate_
    with pytest.raises(ValueError, match="bounds one class twice"):
        found.set_params(risk={"all": 0.1, "predicted outlier": 0.1, "predicted -1": 0.1}).fit(X[1000:7000])
    with pytest.raises(ValueError, match="label 'outlier' that predict calls 'inlier'"):
        found.set_params(risk={"predicted outlier": 0.1}).fit(X[1000:7000])


def test_models_that_are_asked_as_they_are() -> None:
    near = KNeighborsClassifier(5).fit(X[:500], WORDS[:500])
    asked = EarlyExitClassifier(
        FrozenEstimator(near), surrogates=[BY_SCORE], risk={"all": 0.1, "predicted fraud": 0.3}, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked.fit(X[500:4500])
    assert asked.certificate_.strata[1].name == "rows of predicted class fraud"
    n, wrong = counts(asked, X[7000:], "fraud", near.predict(X[7000:]))
    assert wrong <= 0.35 * n


def test_one_row_of_each_group() -> None:
    groups = np.arange(9000) // 2
    made = wrap(BY_SCORE, X[1000:7000], risk=BOTH)
    by_group = EarlyExitClassifier(
        FrozenEstimator(BY_SCORE), risk=BOTH, planner=Planner(cost="units", n_splits=1), random_state=0
    ).fit(X[1000:7000], groups=groups[1000:7000])
    assert by_group.certificate_.grouped
    assert by_group.certificate_.strata[1].n_rows < 0.7 * made.certificate_.strata[1].n_rows
    watched = by_group.watched(1.0)
    watched.predict(X[7000:], groups=groups[7000:])
    assert watched.monitor_.lines[1].early
    assert 0 < watched.monitor_.lines[1].n_audits < watched.monitor_.n_audits == 1000


def test_records_and_single_rows_count_as_tables_do(fast) -> None:
    rows = X[7000:7400]
    tables, single, records = (fast.watched(1.0) for _ in range(3))
    tables.predict(rows)
    for row in rows:
        single.predict_one(row)
    records.predict(rows.tolist())
    expected = tables.monitor_.counts()["lines"]
    assert expected[1][0] == np.sum(fast.predict(rows) == "fraud")
    assert single.monitor_.counts()["lines"] == records.monitor_.counts()["lines"] == expected


def test_the_command_line_reads_it() -> None:
    assert by_label(by_text(["0.01", "predicted fraud=0.02"]), BY_SCORE.classes_) == {
        "all": 0.01,
        "predicted fraud": 0.02,
    }
    assert by_label({"predicted 1": 0.1, "1": 0.2, "0": 0.1}, np.arange(2)) == {"predicted 1": 0.1, 1: 0.2, 0: 0.1}
    assert by_label({"predicted outlier": 0.1}, np.array([-1, 1])) == {"predicted outlier": 0.1}
    with pytest.raises(UserError, match="names predicted thief, which is none of the classes fine, fraud"):
        by_label({"predicted thief": 0.1}, BY_SCORE.classes_)


def test_values_have_no_strata() -> None:
    from sklearn.linear_model import LinearRegression

    line = LinearRegression().fit(X[:500], SCORE[:500])
    with pytest.raises(ValueError, match="values within a tolerance have none"):
        EarlyExitRegressor(line, tolerance=0.5, risk={"all": 0.1, "predicted 1": 0.1}).fit(X[1000:3000])
