"""A deadline for calls: the best answers so far, marked, and the way on from there."""

from __future__ import annotations

import asyncio
import time
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from wald import CallError, Calls, EarlyExitClassifier, EarlyExitRegressor, LazyRows, Surrogate
from wald.calls import asked, calls, together
from wald.early_exit import Status
from wald.early_exit.compiled import in_time

X, y = make_classification(3500, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)
MODEL = GaussianNB().fit(X[:300], y[:300])
SURE = Surrogate(
    lambda rows: MODEL.predict_joint_log_proba(rows) @ [-1.0, 1.0] + 3 * rows[:, 0], cost=0.01, name="odds"
)
VAGUE = Surrogate(lambda rows: np.random.default_rng(0).normal(size=len(rows)), cost=5.0, name="noise")
NEW = X[2000:2500]


class Clock:
    """Seconds that go on only when something is asked."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (asked, calls, together, in_time):  # only there: thread pools wait by the clock of the machine
        monkeypatch.setattr(module, "time", SimpleNamespace(**vars(time) | {"monotonic": clock}))
    SERVER.clock, SERVER.asked = clock, []
    yield clock
    SERVER.clock = None


class Server(KNeighborsClassifier):
    """Answers a row in a second, and remembers which."""

    clock = None

    def predict(self, rows):
        """Labels."""
        if self.clock is not None:
            self.clock.now += len(rows)
            self.asked += [row.tobytes() for row in rows]
        return super().predict(rows)

    def __call__(self, rows):
        return self.predict(rows)


SERVER = Server(3).fit(X[:300], y[:300])


@cache
def fitted(kind, look):
    """An estimator before a model that is called in one of several ways, with its own answers."""
    models = {
        "classifier": SERVER,
        "function": lambda rows: SERVER(rows),
        "calls": Calls(lambda rows: SERVER(rows), name="server", batch_size=5),
    }
    fast = EarlyExitClassifier(models[kind], surrogates=[look], risk=0.02, random_state=0).fit(X[300:2000])
    assert fast.plan_.evaluate_all == (look is VAGUE)
    return fast, fast.predict(NEW, details=True)


@pytest.mark.parametrize("kind", ["classifier", "function", "calls"])
def test_rows_without_time_have_the_answer_of_the_surrogates(kind, clock):
    fast, answers = fitted(kind, SURE)
    SERVER.asked.clear()
    clock.now = 0.0
    found = fast.predict(NEW, deadline=20.0, details=True)
    assert 15 <= clock.now <= 25
    full, marked = found.status == Status.FULL, found.status == Status.OUT_OF_BUDGET
    assert full.sum() == len(SERVER.asked) == clock.now
    assert marked.sum() == (answers.status == Status.FULL).sum() - full.sum() > 0
    assert np.array_equal(found.labels[~marked], answers.labels[~marked])
    assert np.array_equal(found.costs[~marked], answers.costs[~marked])
    assert (found.costs[marked] == fast.plan_.stage_costs[0]).all()
    budget = fast.predict(NEW, budget=float(fast.plan_.stage_costs[0]), details=True)
    assert np.array_equal(found.labels[marked], budget.labels[marked])
    # and on from there: nobody is asked again
    rest = fast.predict(NEW, resume=found, details=True)
    for name in ("labels", "costs", "stages", "status"):
        assert np.array_equal(getattr(rest, name), getattr(answers, name))
    assert len(SERVER.asked) == len(set(SERVER.asked)) == (answers.status == Status.FULL).sum()


def test_enough_time_changes_nothing(clock):
    fast, answers = fitted("classifier", SURE)
    found = fast.predict(NEW, deadline=1e6, details=True)
    for name in ("labels", "costs", "stages", "status"):
        assert np.array_equal(getattr(found, name), getattr(answers, name))
    assert np.array_equal(fast.predict(NEW, deadline=np.inf), answers.labels)
    once = fast.predict(NEW, budget=0.5, deadline=1.0)
    assert np.array_equal(once, fast.predict(NEW, budget=0.5))


@pytest.mark.parametrize("kind", ["classifier", "calls"])
def test_rows_of_which_nothing_is_known_are_an_error(kind, clock):
    fast, answers = fitted(kind, VAGUE)
    SERVER.asked.clear()
    with pytest.raises(
        CallError, match=r"The deadline of 20 s has passed, and nothing is known yet for row \d+, "
    ) as e:
        fast.predict(NEW, deadline=20.0)
    partial = e.value.partial
    assert partial.decided.sum() == len(SERVER.asked) >= 10
    assert np.array_equal(partial.labels[partial.decided], answers.labels[partial.decided])
    assert e.value.rows.tolist() == np.flatnonzero(~partial.decided).tolist()
    with pytest.raises(CallError) as again:
        fast.predict(NEW, deadline=20.0, resume=partial)
    assert again.value.partial.decided.sum() == len(SERVER.asked) > partial.decided.sum()
    assert f"for row {again.value.rows[0]}, " in str(again.value)
    assert np.array_equal(fast.predict(NEW, resume=again.value.partial), answers.labels)
    assert len(SERVER.asked) == len(set(SERVER.asked)) == len(NEW)


def test_coroutines_are_cancelled():
    begun, ended, slow = [], [], [False]

    async def served(rows):
        begun.append(len(rows))
        try:
            await asyncio.sleep(60.0 if slow[0] and len(begun) > 3 else 0.0)
        finally:
            ended.append(len(rows))
        return MODEL.predict(rows)

    calls = Calls(served, batch_size=10, max_concurrency=3)
    fast = EarlyExitClassifier(calls, surrogates=[SURE], risk=0.02, random_state=0).fit(X[300:2000])
    answers = fast.predict(NEW, details=True)
    begun.clear(), ended.clear()
    slow[0], before = True, calls.total.rows
    found = fast.predict(NEW, deadline=0.2, details=True)
    assert len(begun) == len(ended) == 6
    assert (found.status == Status.FULL).sum() == calls.total.rows - before == 30
    marked = found.status == Status.OUT_OF_BUDGET
    assert np.array_equal(found.labels[~marked], answers.labels[~marked])
    assert not asyncio.all_tasks(calls._loop._runner.get_loop())


def test_calls_with_a_deadline_are_not_watched(clock):
    fast, _ = fitted("calls", SURE)
    watched = fast.watched(1.0)
    watched.predict(NEW, deadline=20.0)
    assert watched.monitor_.n_rows == 0


# ---- columns that are fetched ----------------------------------------------------------------------------------------

COLUMNS = {"free": [0, 1], "blood": [2, 3], "scan": [4, 5]}
COSTS = {"blood": 10.0, "scan": 100.0}
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(3000, 6))
SCORES = Z @ [2.0, 2.0, 1.5, 1.5, 0.7, 0.7]


class Groups:
    """Fetches a row in so many seconds, and remembers which."""

    def __init__(self, Z, clock):
        self.Z, self.clock, self.rows = Z, clock, {"blood": [], "scan": []}

    def fetch(self, group, rows):
        self.rows[group] += rows.tolist()
        self.clock.now += len(rows)
        return self.Z[np.ix_(rows, COLUMNS[group])]

    def lazy(self, **given):
        providers = {
            "free": self.Z[:, COLUMNS["free"]],
            "blood": Calls(lambda rows: self.fetch("blood", rows), batch_size=10),
            "scan": Calls(lambda rows: self.fetch("scan", rows), batch_size=10),
        }
        return LazyRows(len(self.Z), providers | given, columns=COLUMNS, costs=COSTS)


@cache
def priced():
    model = LogisticRegression().fit(Z[:500], SCORES[:500] > 0)
    fast = EarlyExitClassifier(model, risk=0.05, random_state=0).fit(Groups(Z[500:2000], Clock()).lazy())
    return fast, fast.predict(Z[2000:], details=True)


@pytest.mark.parametrize("seconds", [100.0, 500.0])
def test_rows_have_the_answer_of_what_was_fetched_for_them(seconds, clock):
    fast, answers = priced()
    groups = Groups(Z[2000:], clock)
    lazy = groups.lazy()
    found = fast.predict(lazy, deadline=seconds, details=True)
    assert clock.now == seconds
    marked = found.status == Status.OUT_OF_BUDGET
    assert 0 < marked.sum() < len(marked)
    assert np.array_equal(found.labels[~marked], answers.labels[~marked])
    assert np.array_equal(found.stages[~marked], answers.stages[~marked])
    without = [~np.isin(np.arange(1000), groups.rows[group]) for group in ("blood", "scan")]
    lacks = [found.stages + 1 > stage for stage in _first_stages(fast)]
    assert not (lacks[0] & without[0] & marked).any()
    assert not (lacks[1] & without[1] & marked).any()
    assert (found.stages[marked & ~without[0]] > found.stages[marked & without[0]].max(initial=-1)).all()
    assert np.array_equal(fast.predict(lazy, resume=found), answers.labels)
    assert all(len(set(rows)) == len(rows) for rows in groups.rows.values())


def _first_stages(fast):
    """Number of stages before the first that reads each group."""
    by_stage = fast.compiled_plan_.columns_by_stage()
    return [next(t for t, read in enumerate(by_stage) if set(COLUMNS[g]) & set(read.tolist())) for g in COSTS]


def test_a_first_group_that_does_not_come_is_an_error(clock):
    fast, answers = priced()
    groups = Groups(Z[2000:], clock)
    free = Calls(lambda rows: (setattr(clock, "now", clock.now + 1), Z[2000:][rows, :2])[1], batch_size=100)
    lazy = groups.lazy(free=free)
    with pytest.raises(
        CallError, match="The deadline of 3 s has passed, and nothing is known yet for row 300, 301"
    ) as e:
        fast.predict(lazy, deadline=3.0)
    partial = e.value.partial
    assert 0 < partial.decided.sum() < 300
    assert np.array_equal(partial.labels[partial.decided], answers.labels[partial.decided])
    assert np.array_equal(fast.predict(lazy, resume=partial), answers.labels)


@pytest.mark.parametrize("kind", ["classifier", "function"])
def test_a_model_behind_surrogates_whose_columns_come_late(kind, clock):
    fast, answers = fitted(kind, SURE)
    SERVER.asked.clear()
    clock.now = 0.0

    def fetch(rows):
        clock.now += len(rows)
        return NEW[rows, 3:]

    groups = {"free": NEW[:, :3], "bought": Calls(fetch, batch_size=50)}
    lazy = LazyRows(len(NEW), groups, columns={"free": [0, 1, 2], "bought": [3, 4, 5]})
    with pytest.raises(CallError, match="nothing is known yet for row 200, 201") as found:
        fast.predict(lazy, deadline=200.0)
    partial = found.value.partial
    assert not SERVER.asked
    assert np.array_equal(np.flatnonzero(partial.decided), np.flatnonzero(answers.status[:200] == Status.EARLY))
    assert np.array_equal(fast.predict(lazy, resume=partial), answers.labels)
    assert lazy.counts["bought"].rows == len(NEW)


def test_values_within_a_tolerance(clock):
    model = HistGradientBoostingRegressor(max_iter=30, interaction_cst=list(COLUMNS.values())).fit(
        Z[:500], SCORES[:500]
    )
    fast = EarlyExitRegressor(model, tolerance=2.0, risk=0.1, random_state=0).fit(Groups(Z[500:2000], clock).lazy())
    answers = fast.predict(Z[2000:], details=True)
    clock.now = 0.0
    lazy = Groups(Z[2000:], clock).lazy()
    found = fast.predict(lazy, deadline=200.0, details=True)
    marked = found.status == Status.OUT_OF_BUDGET
    assert 0 < marked.sum() < 1000
    assert np.array_equal(found.labels[~marked], answers.labels[~marked])
    assert np.array_equal(fast.predict(lazy, resume=found), answers.labels)


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deadline", "error", "message"),
    [
        (0, ValueError, "deadline must be a positive number of seconds. Got 0"),
        (-1.0, ValueError, "deadline must be a positive number of seconds"),
        (np.nan, ValueError, "deadline must be a positive number of seconds"),
        ("1", TypeError, "deadline must be a number. Got '1'"),
        (True, TypeError, "deadline must be a number"),
    ],
)
def test_bad_deadlines(deadline, error, message):
    fast, _ = priced()
    with pytest.raises(error, match=message):
        fast.predict(Z, deadline=deadline)


def test_resume_of_answers_to_other_rows(clock):
    fast, _ = fitted("classifier", SURE)
    with pytest.raises(ValueError, match="resume is about 500 rows, and X has 499"):
        fast.predict(NEW[1:], resume=fast.predict(NEW, deadline=9.0, details=True))


def test_a_deadline_where_nothing_is_called():
    fast, _ = priced()
    with pytest.raises(ValueError, match="deadline limits the time of calls, and none is made here"):
        fast.predict(Z, deadline=1.0)
