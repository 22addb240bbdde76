"""The monitor of a classifier watches the promise of its certificate: its lines, at every door, in files and copies."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kinds.parameters import nested
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import wald
from wald import EarlyExitClassifier, Planner
from wald.monitoring import DriftWarning

pytestmark = pytest.mark.filterwarnings("ignore")

X, y = make_classification(14_000, 6, n_informative=4, class_sep=1.2, weights=[0.8], flip_y=0.0, random_state=0)
NAMES = [f"f{i}" for i in range(6)]
MODEL = SVC().fit(X[:1000], y[:1000])
SERVED = X[9000:]
#: Risks of every kind.
RISKS: dict[str, Any] = {
    "all": 0.05,
    "positive": {"positive": 0.05, "negative": 0},
    "negative": {"negative": 0.05, "positive": 0},
    "each": {"each": 0.05},
    "unequal": {0: 0.05, 1: 0.1},
    "dict": {"all": 0.05, 1: 0.2},
    "predicted": {1: 0.2, "predicted 1": 0.05},
}


def fitted(**params: Any) -> EarlyExitClassifier:
    groups, audit_rate = params.pop("groups", None), params.pop("audit_rate", 1.0)
    given = {"risk": 0.05, "cost": "units", "random_state": 0} | params
    fast = EarlyExitClassifier(MODEL, **nested(**given)).fit(X[2000:9000], groups=groups)
    return fast.watched(audit_rate)


@pytest.fixture(scope="module", params=RISKS)
def fast(request: pytest.FixtureRequest) -> EarlyExitClassifier:
    return fitted(risk=RISKS[request.param])


def expected_lines(fast: EarlyExitClassifier, rows: np.ndarray) -> dict[str, tuple[int, int]]:
    """Audits and disagreements of every stratum of the certificate, if all rows are audited."""
    full, labels = MODEL.predict(rows), fast.watched(0.0).predict(rows)
    member = {"rows": np.ones(len(rows), bool), "positives": full == 1, "negatives": full == 0}
    member |= {f"rows of class {label}": full == label for label in (0, 1)}
    member |= {f"rows of predicted class {label}": labels == label for label in (0, 1)}
    names = [stratum.name for stratum in fast.certificate_.strata]
    return {n: (int(member[n].sum()), int(np.sum(member[n] & (labels != full)))) for n in names}


def lines(fast: EarlyExitClassifier) -> dict[str, tuple[int, int]]:
    return {line.name: (line.n_audits, line.n_disagreements) for line in fast.monitor_.lines}


@pytest.mark.one_in(2)
def test_there_is_a_line_for_each_stratum_of_the_certificate_with_its_risk(fast) -> None:
    own = fast.certificate_
    assert own.status == "certified"
    assert not fast.plan_.evaluate_all
    assert [(s.name, own.risk_of(s)) for s in own.strata] == [(line.name, line.risk) for line in fast.monitor_.lines]


def test_audits_count_by_the_label_of_the_stratum_at_every_door(fast) -> None:
    watched = fast.watched(1.0)
    watched.predict(SERVED)
    assert lines(watched) == expected_lines(fast, SERVED)
    assert any(lost for _, lost in lines(watched).values())
    for part in SERVED[:300]:
        watched.predict_one(part)
    watched.predict(pd.DataFrame(SERVED[:300], columns=NAMES))
    once, more = expected_lines(fast, SERVED), expected_lines(fast, SERVED[:300])
    assert lines(watched) == {n: (once[n][0] + 2 * more[n][0], once[n][1] + 2 * more[n][1]) for n in once}


def test_a_class_that_is_lost_breaks_its_promise(fast) -> None:
    """Rows of which the early stages are wrong about one class, in every call a few beside good ones."""
    watched, full = fast.watched(1.0), MODEL.predict(SERVED)
    labels = fast.watched(0.0).predict(SERVED)
    wrong = np.flatnonzero(labels != full)
    for line in watched.monitor_.lines:
        fresh = fast.watched(1.0)
        codes = {"rows": (0, 1), "positives": (1,), "negatives": (0,)}.get(line.name, (line.code,))
        own = wrong[np.isin((labels if line.early else full)[wrong], codes)]
        if len(own) == 0:
            continue
        for _ in range(400):
            fresh.predict(SERVED[own])
            if fresh.monitor_.state == "broken":
                break
        assert line.name in [found.name for found in fresh.monitor_.lines if found.state == "broken"]


def test_copies_clones_and_files_keep_the_lines(fast, tmp_path: Path) -> None:
    watched = fast.watched(1.0, on_broken="full")
    watched.predict(SERVED[:2000])
    before = watched.monitor_.as_dict()
    wald.save(watched, tmp_path / "m.wald")
    for other in (pickle.loads(pickle.dumps(watched)), copy.deepcopy(watched), wald.load(tmp_path / "m.wald")):
        assert other.monitor_.as_dict() == before
        other.predict(SERVED[2000:3000])
        assert watched.monitor_.as_dict() == before
        assert other.monitor_.n_rows == 3000
    assert watched.monitor_.merge(wald.load(tmp_path / "m.wald").monitor_).n_rows == 4000
    assert not hasattr(clone(watched), "monitor_")


def test_a_new_risk_is_watched_after_recertify() -> None:
    again = fitted().recertify(X[2000:9000], risk={"all": 0.1, 1: 0.2})
    assert [line.risk for line in again.monitor_.lines] == [0.1, 0.2]


def test_where_nothing_is_promised_nothing_breaks() -> None:
    from wald.stopping import ConstantBoundary

    rule = ConstantBoundary(delta=0.3)
    fast = fitted(risk={"each": None}, rule=rule)
    fast.predict(SERVED)
    assert [line.risk for line in fast.monitor_.lines] == [None, None]
    assert fast.monitor_.state in ("holding", "doubtful")


def test_no_row_of_any_class_may_differ_at_risk_0() -> None:
    fast = fitted(risk=0.0)
    fast.predict(SERVED)
    assert [(line.name, line.risk, line.n_disagreements) for line in fast.monitor_.lines] == [("rows", 0.0, 0)]
    fast.monitor_.record([100] + [0] * fast.plan_.n_stages, 100, 1)
    assert fast.monitor_.state == "broken"


@pytest.mark.one_in(2)
def test_tracing_and_reports_are_no_served_rows(fast) -> None:
    pytest.importorskip("jinja2")
    watched = fast.watched(1.0)
    watched.trace(SERVED[0])
    wald.report(watched, SERVED[:200], timed=False)
    assert watched.monitor_.n_rows == watched.monitor_.n_audits == 0


# ---- groups ----------------------------------------------------------------------------------------------------------


def with_groups(n_large: int = 60, size: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Groups of `fit` and of served rows: a few are large and hard, most have two rows."""
    hard = np.argsort(np.abs(MODEL.decision_function(X[2000:])))
    sizes = np.concatenate([np.full(n_large, size), np.full(len(X), 2)])
    groups = np.empty(len(X) - 2000, dtype=int)
    groups[hard] = np.repeat(np.arange(len(sizes)), sizes)[: len(hard)]
    return groups[:7000], groups[7000:]


@pytest.fixture(scope="module")
def grouped() -> EarlyExitClassifier:
    fast = fitted(groups=with_groups()[0])
    assert fast.certificate_.grouped
    assert fast.certificate_.status == "certified"
    return fast


def test_a_promise_about_groups_counts_one_row_of_each(grouped) -> None:
    groups = with_groups()[1]
    watched, order = grouped.watched(1.0), np.random.default_rng(0).permutation(len(SERVED))
    rows_alone = grouped.watched(0.0).predict(SERVED) != MODEL.predict(SERVED)
    assert rows_alone.mean() > 0.05  # the rows break what the groups keep
    for part in np.array_split(order, 10):
        watched.predict(SERVED[part], groups=groups[part])
    monitor = watched.monitor_
    n_groups = len(np.unique(groups))
    assert (monitor.n_rows, monitor.n_audits, monitor.n_unwatched) == (n_groups, n_groups, 0)
    assert monitor.stage_counts.sum() == n_groups
    assert monitor.state == "holding"
    watched.predict(SERVED, groups=groups)  # groups that were counted
    assert monitor.n_rows == n_groups


def test_a_promise_about_groups_that_is_broken_is_called_so(grouped) -> None:
    watched = grouped.watched(1.0)
    wrong = np.flatnonzero(grouped.watched(0.0).predict(SERVED) != MODEL.predict(SERVED))
    watched.predict(SERVED[wrong], groups=np.arange(len(wrong)))
    assert watched.monitor_.state == "broken"


def test_without_groups_such_a_promise_is_not_watched_and_says_so(grouped) -> None:
    for serve in (
        lambda fast: fast.predict(SERVED),
        lambda fast: fast.predict_one(SERVED[0]),
        lambda fast: fast.predict(pd.DataFrame(SERVED[:9], columns=NAMES)),
    ):
        watched = grouped.watched(1.0, on_broken="full")
        with pytest.warns(DriftWarning, match="not watched on rows without a group"):
            serve(watched)
        assert watched.monitor_.state == "unwatched"
        assert watched.monitor_.n_audits == 0
        assert not watched.monitor_.answers_in_full
    assert "rows not watched" in repr(watched.monitor_)


def test_single_rows_have_a_group_too(grouped) -> None:
    watched = grouped.watched(1.0)
    for x, group in zip(SERVED[:50], np.repeat(np.arange(10), 5), strict=True):
        assert watched.predict_one(x, group=group) == grouped.predict_one(x)
    assert (watched.monitor_.n_rows, watched.monitor_.n_audits, watched.monitor_.state) == (10, 10, "holding")
    watched.predict(SERVED[:50], groups=np.repeat(np.arange(10), 5))  # the same groups
    assert watched.monitor_.n_rows == 10


def test_records_have_groups_too() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    model = SVC().fit(frame[:2000], y[:2000])
    fast = EarlyExitClassifier(model, risk=0.05, planner=Planner(cost="units"), random_state=0)
    fast = fast.fit(frame[2000:9000], groups=with_groups()[0]).watched(1.0)
    records = frame[9000:9020].to_dict("records")
    fast.predict_records(records, groups=np.repeat(np.arange(5), 4))
    fast.predict_one(records[0], group="another")
    assert (fast.monitor_.n_rows, fast.monitor_.n_audits) == (6, 6)


def test_groups_are_refused_where_no_promise_about_them_is_watched(grouped) -> None:
    plain = fitted(audit_rate=None)
    for other, why in ((plain.watched(1.0), "its promise is not about groups"), (plain, "is not watched")):
        with pytest.raises(ValueError, match=why):
            other.predict(SERVED[:3], groups=[1, 2, 3])
        with pytest.raises(ValueError, match=why):
            other.predict_one(SERVED[0], group=1)
    watched = grouped.watched(1.0)
    with pytest.raises(ValueError, match="groups must name the group of each of the 3 rows"):
        watched.predict(SERVED[:3], groups=[1, 2])
    assert watched.monitor_.n_rows == 0


def test_files_remember_groups(grouped, tmp_path: Path) -> None:
    groups = with_groups()[1]
    watched = grouped.watched(1.0)
    watched.predict(SERVED[:1000], groups=groups[:1000])
    wald.save(watched, tmp_path / "m.wald")
    loaded = wald.load(tmp_path / "m.wald")
    assert loaded.monitor_.as_dict() == watched.monitor_.as_dict()
    assert loaded.monitor_.reference == watched.monitor_.reference
    loaded.predict(SERVED[:1000], groups=groups[:1000])
    assert loaded.monitor_.n_rows == watched.monitor_.n_rows
    assert loaded.watched(0.5).monitor_.reference == watched.monitor_.reference


def test_the_reference_has_one_row_of_each_group(grouped) -> None:
    groups = with_groups()[0]
    assert 0 < sum(grouped.monitor_.reference) < len(np.unique(groups)) / 4
    assert sum(grouped.recertify(X[2000:9000], groups=groups).monitor_.reference) == sum(grouped.monitor_.reference)
    assert sum(fitted().recertify(X[2000:9000], groups=groups).monitor_.reference) == 0  # no groups were known
