"""Models behind surrogates whose calls fail: what was answered is kept, and nothing is asked twice."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from wald import CallError, Calls, EarlyExitClassifier, LazyRows, Surrogate
from wald.early_exit import Status
from wald.models.looks import Looks

X, y = make_classification(3500, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)
MODEL = GaussianNB().fit(X[:300], y[:300])
SURE = Surrogate(
    lambda rows: MODEL.predict_joint_log_proba(rows) @ [-1.0, 1.0] + 3 * rows[:, 0], cost=0.01, name="odds"
)
VAGUE = Surrogate(lambda rows: np.random.default_rng(0).normal(size=len(rows)), cost=5.0, name="noise")
NEW = X[2000:]


class Server:
    """Answers rows, remembers which, and fails when it has answered so many."""

    def __init__(self):
        self.left, self.asked = np.inf, []

    def __call__(self, rows):
        if len(rows) > self.left:
            raise ConnectionError("the server is down")
        self.left -= len(rows)
        self.asked += [row.tobytes() for row in rows]
        return np.where(MODEL.predict(rows) == 1, "yes", "no")


@cache
def fitted(look):
    """A server, an estimator before it, and its answers."""
    server = Server()
    fast = EarlyExitClassifier(
        Calls(server, batch_size=10, name="server"), surrogates=[look], risk=0.02, random_state=0
    ).fit(X[300:2000])
    assert fast.plan_.evaluate_all == (look is VAGUE)
    server.asked.clear()
    answers = fast.predict(NEW, details=True)
    return server, fast, answers, list(server.asked)


@pytest.fixture(params=[SURE, VAGUE], ids=["behind a surrogate", "asked about all"])
def case(request):
    server, fast, answers, asked = fitted(request.param)
    server.asked.clear()
    yield server, fast, answers, asked
    server.left = np.inf


def rows_of(asked):
    """Numbers of the rows that are asked about."""
    known = {row.tobytes(): number for number, row in enumerate(NEW)}
    return [known[row] for row in asked]


def test_what_was_answered_is_kept(case):
    server, fast, answers, asked = case
    server.left, early = 20, len(NEW) - len(asked)
    with pytest.raises(CallError) as found:
        fast.predict(NEW)
    error, partial = found.value, found.value.partial
    assert error.rows.tolist() == rows_of(asked)[20:30]
    assert f"'server' failed for row {', '.join(map(str, error.rows[:5]))} and 5 more: ConnectionError" in str(error)
    assert f"{early + 20:,} of 1,500 rows are decided".replace(",", "") in str(error).replace(",", "")
    assert np.array_equal(partial.labels[partial.decided], answers.labels[partial.decided])
    assert np.array_equal(partial.costs, np.where(partial.decided, answers.costs, 0.0))
    server.left = 10
    with pytest.raises(CallError) as again:
        fast.predict(NEW, resume=partial)
    assert again.value.rows.tolist() == rows_of(asked)[30:40]
    assert f"failed for row {again.value.rows[0]}, " in str(again.value)
    assert again.value.partial.decided.sum() == early + 30
    server.left = np.inf
    resumed = fast.predict(NEW, resume=again.value.partial, details=True)
    for name in ("labels", "costs", "stages", "status"):
        assert np.array_equal(getattr(resumed, name), getattr(answers, name))
    assert server.asked == asked


def test_more_rows_than_steps_take_at_once(case, monkeypatch):
    server, fast, answers, asked = case
    monkeypatch.setattr(Looks, "rows_at_once", 100)
    server.left = 20
    with pytest.raises(CallError) as found:
        fast.predict(NEW)
    assert found.value.rows.tolist() == rows_of(asked)[20:30]
    server.left = np.inf
    assert np.array_equal(fast.predict(NEW, resume=found.value.partial), answers.labels)
    assert server.asked == asked


def test_nothing_is_answered(case):
    server, fast, answers, _ = case
    server.left = 0
    with pytest.raises(CallError) as found:
        fast.predict(NEW)
    assert found.value.partial.labels.dtype == answers.labels.dtype
    server.left = np.inf
    assert np.array_equal(fast.predict(NEW, resume=found.value.partial), answers.labels)


def test_audits_that_fail():
    server, fast, answers, asked = fitted(SURE)
    server.asked.clear()
    watched, server.left = fast.watched(1.0), len(asked) + 10
    with pytest.raises(CallError) as found:
        watched.predict(NEW)
    server.left = np.inf
    early = np.flatnonzero(answers.status == Status.EARLY)  # the others were asked for their labels
    assert found.value.rows.tolist() == early[10:20].tolist()
    assert found.value.partial.decided.all()
    assert np.array_equal(found.value.partial.labels, answers.labels)
    assert watched.monitor_.n_rows == 0
    assert np.array_equal(watched.predict(NEW, resume=found.value.partial), answers.labels)
    assert watched.monitor_.n_rows == watched.monitor_.n_audits == len(NEW)
    assert len(server.asked) == len(set(server.asked)) == len(NEW)


def test_rows_of_an_audit_that_has_failed_are_not_drawn_anew():
    server, fast, answers, asked = fitted(SURE)
    server.asked.clear()
    watched, server.left = fast.watched(0.2), len(asked) + 10
    with pytest.raises(CallError) as found:
        watched.predict(NEW)
    drawn = found.value.partial.state.chosen
    assert len(drawn) < 0.3 * len(NEW)
    server.left = 30
    with pytest.raises(CallError) as again:
        watched.predict(NEW, resume=found.value.partial)
    assert np.array_equal(again.value.partial.state.chosen, drawn)
    server.left = np.inf
    watched.predict(NEW, resume=again.value.partial)
    assert watched.monitor_.n_audits == len(drawn)
    early = np.flatnonzero(answers.status == Status.EARLY)
    assert sorted(rows_of(server.asked)) == sorted({*rows_of(asked), *np.intersect1d(early, drawn).tolist()})
    assert len(server.asked) == len(set(server.asked))


def test_one_row_that_the_model_has_answered_is_not_asked_again_for_its_audit():
    server, fast, answers, _ = fitted(SURE)
    server.asked.clear()
    watched = fast.watched(1.0)
    for status in (Status.FULL, Status.EARLY):
        row = int(np.flatnonzero(answers.status == status)[0])
        watched.predict_one(NEW[row])
        assert rows_of(server.asked) == [row]
        server.asked.clear()
    assert watched.monitor_.n_audits == 2


@pytest.mark.parametrize("failing", ["the model", "a group"])
def test_rows_that_are_fetched(failing):
    server, fast, answers, asked = fitted(SURE)
    server.asked.clear()
    down = [failing == "a group"]

    def fetch(rows):
        if down[0] and 30 in rows:
            raise ConnectionError("no route")
        return NEW[rows, 3:]

    columns = {"free": [0, 1, 2], "bought": [3, 4, 5]}
    lazy = LazyRows(len(NEW), {"free": NEW[:, :3], "bought": Calls(fetch, batch_size=10)}, columns=columns)
    server.left = np.inf if down[0] else 20
    with pytest.raises(CallError) as found:
        fast.predict(lazy)
    server.left, down[0] = np.inf, False
    assert found.value.rows.tolist() == (rows_of(asked)[20:30] if failing == "the model" else list(range(30, 40)))
    assert len(found.value.partial.labels) == len(NEW)
    assert np.array_equal(fast.predict(lazy, resume=found.value.partial), answers.labels)
    assert server.asked == asked
