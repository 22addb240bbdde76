"""Batches, coroutines, threads, retries, timeouts, deadlines and interruptions of costly calls."""

from __future__ import annotations

import asyncio
import functools
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from wald.calls import Asked, BadAnswerError, CallError, Calls, labels_of, numbers_of


class Server:
    """A function of rows that remembers what it was asked, and fails as often as it is told to."""

    def __init__(self, failures=(), seconds=0.0):
        self.batches, self.failures, self.seconds, self.threads = [], list(failures), seconds, set()
        self.now = self.most = 0
        self.lock = threading.Lock()

    def begin(self, rows):
        with self.lock:
            self.batches.append(np.asarray(rows).tolist())
            self.threads.add(threading.get_ident())
            self.now += 1
            self.most = max(self.most, self.now)
            return self.failures.pop(0) if self.failures else None

    def end(self, rows, failure):
        with self.lock:
            self.now -= 1
        if failure is not None:
            raise failure
        return np.asarray(rows) * 10

    def plain(self, rows):
        failure = self.begin(rows)
        time.sleep(self.seconds)
        return self.end(rows, failure)

    async def coroutine(self, rows):
        failure = self.begin(rows)
        await asyncio.sleep(self.seconds)
        return self.end(rows, failure)

    @property
    def rows(self):
        return sorted(row for batch in self.batches for row in batch)


#: Ways to run a function, as attributes of a server and parameters.
WAYS = {
    "here": ("plain", {}),
    "threads": ("plain", {"max_concurrency": 3}),
    "a thread": ("plain", {"timeout": 5.0}),
    "coroutine": ("coroutine", {}),
    "coroutines": ("coroutine", {"max_concurrency": 3}),
    "coroutines with timeouts": ("coroutine", {"max_concurrency": 3, "timeout": 5.0}),
}


def same(rows):
    return rows


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    for _ in range(100):
        if not set(threading.enumerate()) - before:
            return
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [None, 1, 4, 100])
def test_each_row_is_asked_once_and_answered_in_its_place(way, size):
    server, (kind, given) = Server(), WAYS[way]
    asked = Asked(Calls(getattr(server, kind), batch_size=size, **given), 20)
    rows = np.array([7, 3, 7, 19, 0, 4, 5, 6, 12])
    assert asked.ask(rows, same).values.tolist() == (rows * 10).tolist()
    more = np.array([3, 1, 19, 2])
    assert asked.ask(more, same).values.tolist() == (more * 10).tolist()
    assert server.rows == [0, 1, 2, 3, 4, 5, 6, 7, 12, 19]
    assert all(len(batch) <= (size or 100) for batch in server.batches)
    assert asked.counts.rows == 10
    assert asked.counts.calls == len(server.batches)
    assert asked.answered.sum() == asked.paid.sum() == 10


@pytest.mark.parametrize("way", WAYS)
def test_no_more_run_at_once_than_may(way):
    server, (kind, given) = Server(seconds=0.005), WAYS[way]
    Asked(Calls(getattr(server, kind), batch_size=1, **given), 12).ask(range(12), same)
    assert server.most == given.get("max_concurrency", 1)


def test_a_plain_function_runs_in_the_callers_thread():
    """Connections to databases often belong to the thread that made them."""
    server = Server()
    Asked(Calls(server.plain, batch_size=2), 6).ask(range(6), same)
    assert server.threads == {threading.get_ident()}


@pytest.mark.parametrize("way", WAYS)
def test_inside_of_a_running_loop(way):
    server, (kind, given) = Server(), WAYS[way]

    async def notebook():
        return Asked(Calls(getattr(server, kind), batch_size=2, **given), 6).ask(range(6), same).values

    assert asyncio.run(notebook()).tolist() == [0, 10, 20, 30, 40, 50]


def test_coroutines_stay_in_one_loop():
    """A client that holds connections belongs to its loop."""
    loops = set()

    async def ask(rows):
        loops.add(asyncio.get_running_loop())
        return rows

    calls = Calls(ask)
    for _ in range(3):
        Asked(calls, 2).ask([0, 1], same)

    async def notebook():
        return Asked(calls, 2).ask([0, 1], same)

    asyncio.run(notebook())
    assert len(loops) == 1
    assert calls.total.calls == 4


@pytest.mark.parametrize("given", [{}, {"timeout": 5.0}, {"max_concurrency": 2}], ids=str)
def test_functions_that_return_something_awaitable(given):
    server = Server()
    for function in (lambda rows: server.coroutine(rows), functools.partial(server.coroutine)):
        asked = Asked(Calls(function, batch_size=2, **given), 4)
        assert asked.ask([3, 1, 2], same).values.tolist() == [30, 10, 20]


@pytest.mark.parametrize("way", WAYS)
def test_retries(way):
    failures = [ConnectionError("no"), TimeoutError("slow"), ConnectionError("no")]
    server, (kind, given) = Server(failures), WAYS[way]
    asked = Asked(Calls(getattr(server, kind), batch_size=2, retries=3, backoff=0.001, **given), 8)
    assert asked.ask(range(8), same).values.tolist() == list(range(0, 80, 10))
    assert (asked.counts.retries, asked.counts.failures, asked.counts.rows) == (3, 3, 8)
    assert asked.counts.calls == len(server.batches) == 7


def test_waits_grow():
    begun, waits = time.monotonic(), []

    def fails(rows):
        waits.append(time.monotonic() - begun)
        raise ConnectionError

    with pytest.raises(CallError, match=r"after 4 attempts: ConnectionError\. 0 of 1 rows"):
        Asked(Calls(fails, retries=3, backoff=0.01), 1).ask([0], same)
    assert (np.diff(waits) >= [0.005, 0.01, 0.02]).all()


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_fails_loses_no_other(way):
    kind, given = WAYS[way]
    server = Server()

    def plain(rows):
        if 5 in rows:
            raise ConnectionError("no route")
        return server.plain(rows)

    async def coroutine(rows):
        return plain(rows)

    function = {"plain": plain, "coroutine": coroutine}[kind]
    asked = Asked(Calls(function, name="server", batch_size=2, retries=1, backoff=0.0, **given), 12)
    with pytest.raises(CallError, match=r"'server' failed for row 4, 5 after 2 attempts: ConnectionError: no") as found:
        asked.ask(range(12), same)
    error = found.value
    assert error.unit == "server"
    assert error.rows.tolist() == [4, 5]
    assert isinstance(error.__cause__, ConnectionError)
    assert np.flatnonzero(error.partial.decided).tolist() == server.rows
    assert {0, 1, 2, 3} <= set(server.rows)
    assert error.partial.labels[error.partial.decided].tolist() == [10 * row for row in server.rows]
    assert error.partial.costs.sum() == len(server.rows)
    assert str(error.partial) == f"{len(server.rows)} of 12 rows are decided"
    # what was answered is not asked again
    asked.calls.function = server.plain if kind == "plain" else server.coroutine
    assert asked.ask(range(12), same).values.tolist() == list(range(0, 120, 10))
    assert server.rows == list(range(12))


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_timeouts(kind):
    server = Server(seconds=0.5)  # a thread that is left alone ends by itself
    asked = Asked(Calls(getattr(server, kind), name="slow", timeout=0.01, retries=1, backoff=0.0), 3)
    begun = time.monotonic()
    with pytest.raises(CallError, match=r"'slow' .* after 2 attempts: TimeoutError: no answer within 0.01 s"):
        asked.ask(range(3), same)
    assert time.monotonic() - begun < 0.5
    assert asked.counts.failures == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_deadline_leaves_the_rest_unanswered(way):
    server, (kind, given) = Server(seconds=0.02), WAYS[way]
    asked = Asked(Calls(getattr(server, kind), batch_size=1, **given), 400)  # which would take seconds
    values, done = asked.ask(range(400), same, deadline=0.2)
    assert 0 < done.sum() < 400
    assert (values[done] == 10 * np.flatnonzero(done)).all()
    server.seconds = 0.0
    assert asked.ask(range(0, 400, 20), same).done.all()


def test_a_deadline_ends_calls_that_hang():
    async def hangs(rows):
        await asyncio.sleep(60)

    begun = time.monotonic()
    values, done = Asked(Calls(hangs), 4).ask(range(4), same, deadline=0.02)
    assert not done.any()
    assert len(values) == 4
    assert time.monotonic() - begun < 1.0


def test_a_deadline_ends_waiting_for_another_attempt():
    server = Server([ConnectionError()] * 9)
    asked = Asked(Calls(server.plain, retries=9, backoff=60.0), 1)
    begun = time.monotonic()
    assert not asked.ask([0], same, deadline=0.02).done.any()
    assert time.monotonic() - begun < 1.0


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside of a loop"])
@pytest.mark.parametrize("way", ["here", "threads", "coroutines"])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals by a timer")
def test_an_interruption_keeps_what_was_answered(way, inside):
    server, (kind, given) = Server(seconds=0.02), WAYS[way]
    asked = Asked(Calls(getattr(server, kind), batch_size=1, **given), 100)

    async def notebook():
        asked.ask(range(100), same)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    # a loop that asyncio runs in the main thread has a handler of its own, in place of Python's only
    before = signal.signal(signal.SIGALRM, interrupt) if inside or way == "here" else None
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    try:
        if before is None:
            timer.start()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(notebook()) if inside else asked.ask(range(100), same)
    finally:
        timer.cancel()
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
    assert 0 < asked.answered.sum() < 100
    server.seconds = 0.0
    assert asked.ask(range(100), same).values.tolist() == list(range(0, 1000, 10))


def test_threads_share_what_was_asked():
    server = Server(seconds=0.001)
    asked = Asked(Calls(server.coroutine, batch_size=3), 30)
    threads = [threading.Thread(target=asked.ask, args=(range(30), same)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.rows == list(range(30))


def test_the_most_rows_that_may_be_asked():
    server = Server()
    asked = Asked(Calls(server.plain, name="dear"), 10, max_rows=5)
    asked.ask([0, 1, 2], same)
    with pytest.raises(CallError, match=r"'dear' may be asked for 5 rows, has been for 3, and would be for 3 more"):
        asked.ask([0, 4, 5, 6], same)
    server.failures = [ConnectionError()]  # which may have cost, too
    with pytest.raises(CallError, match="ConnectionError"):
        asked.ask([0, 4, 5], same)
    with pytest.raises(CallError, match="has been for 5, and would be for 1 more"):
        asked.ask([6], same)
    assert asked.ask([0, 4, 5], same).values.tolist() == [0, 40, 50]
    assert set(server.rows) == {0, 1, 2, 4, 5}


def test_no_rows():
    server = Server()
    for kind, given in WAYS.values():
        assert len(Asked(Calls(getattr(server, kind), **given), 3).ask([], same).values) == 0
    assert server.batches == []


def test_rows_beyond_the_last():
    with pytest.raises(IndexError, match="from 0 to 2"):
        Asked(Calls(same, name="one"), 3).ask([3], same)


ANSWERS = {
    "too few": (lambda rows: rows[1:], "it gave 2 answers for 3 rows", [0, 1, 2]),
    "one": (lambda rows: 5, "it gave one value for 3 rows", [0, 1, 2]),
    "nothing": (lambda rows: None, "it answered None, a NoneType, for 3 rows", [0, 1, 2]),
    "an array of no axis": (lambda rows: np.array(5.0), "it gave one value for 3 rows", [0, 1, 2]),
    "a set": (lambda rows: {1, 2, 3}, "it gave a set, which is no list or array, for 3 rows", [0, 1, 2]),
    "numbers among texts": (lambda rows: ["a", 1, "b"], "one type. Got 'a', and 1 at entry 1", [0, 1, 2]),
    "masked": (lambda rows: np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "it gave masked values", [1]),
    "a text": (lambda rows: "abc", "it answered 'abc', a str, for 3 rows", [0, 1, 2]),
    "ragged": (lambda rows: [[1], [1, 2], [3]], "one for each row, all of one shape", [0, 1, 2]),
    "NaN": (lambda rows: [0.0, np.nan, 2.0], "it answered nan", [1]),
    "infinity": (lambda rows: [0.0, 1.0, np.inf], "it answered inf", [2]),
    "texts": (lambda rows: ["a", "b", "c"], "must be numbers. Got <U1", [0, 1, 2]),
    "objects": (lambda rows: [{}, {}, {}], "must be numbers: ", [0, 1, 2]),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_that_cannot_be_used(kind):
    """They are not asked for again: that would cost, and change nothing."""
    function, message, rows = ANSWERS[kind]
    asked = Asked(Calls(function, retries=3), 3, name="scores", check=numbers_of)
    with pytest.raises(CallError) as found:
        asked.ask(range(3), same)
    assert message in str(found.value)
    assert found.value.rows.tolist() == rows
    assert asked.counts.calls == 1
    assert not asked.answered.any()


@pytest.mark.parametrize("given", [{}, {"timeout": 60.0}], ids=["waited for", "timeout"])
def test_answers_that_are_read_once_are_lists(given):
    async def later(rows):
        return map(float, rows)

    for function in (lambda rows: map(float, rows), later, lambda rows: later(rows)):
        assert Asked(Calls(function, **given), 3, check=numbers_of).ask(range(3), list).values.tolist() == [0, 1, 2]


def test_missing_values_where_they_are_allowed():
    def gaps(rows):
        return [1, None, np.nan]

    asked = Asked(Calls(gaps), 3, check=functools.partial(numbers_of, allow_nan=True))
    assert np.isnan(asked.ask(range(3), same).values).tolist() == [False, True, True]


@pytest.mark.parametrize("classes", [np.array(["spam", "ham"]), np.array([3, 1]), np.array(["b", "a"], dtype=object)])
def test_labels(classes):
    def labels(rows):
        return classes[rows % 2].tolist()

    asked = Asked(Calls(labels, batch_size=1), 5, check=lambda answers: labels_of(answers, classes))
    assert asked.ask(range(5), same).values.tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("other", [["ham", "eggs"], [1, 2], [["ham"], ["spam"]]], ids=str)
def test_other_labels(other):
    with pytest.raises(BadAnswerError):
        labels_of(np.array(other), np.array(["ham", "spam"]))


def test_answers_of_another_kind_than_before():
    def changes(rows):
        return ["text"] if 1 in rows else [0.5]

    with pytest.raises(CallError, match="are of dtype <U4, and were float64 before"):
        Asked(Calls(changes, batch_size=1), 2).ask([0, 1], same)

    def widens(rows):
        return [[0.5, 1.0]] if 1 in rows else [0.5]

    with pytest.raises(CallError, match=r"have the shape \(2,\), and had \(\) before"):
        Asked(Calls(widens, batch_size=1), 2).ask([0, 1], same)


def test_answers_become_of_one_dtype():
    def grows(rows):
        return ["x" * (int(rows[0]) + 1)]

    assert Asked(Calls(grows, batch_size=1), 3).ask([2, 0, 1], same).values.tolist() == ["xxx", "x", "xx"]


def test_an_error_of_the_one_who_asks_is_raised_as_it_is():
    def fetch(rows):
        raise KeyError("gone")

    for kind, given in WAYS.values():
        with pytest.raises(KeyError, match="gone"):
            Asked(Calls(getattr(Server(), kind), **given), 2).ask([0, 1], fetch)


BAD = {
    "function": ({"function": 3}, "function must be a function. Got 3"),
    "batch_size": ({"batch_size": 0}, "batch_size must be a whole number from 1 on"),
    "max_concurrency": ({"max_concurrency": 1.5}, "max_concurrency must be a whole number from 1 on"),
    "timeout": ({"timeout": 0}, "timeout must be a positive number of seconds"),
    "timeout of NaN": ({"timeout": float("nan")}, "timeout must be"),
    "retries": ({"retries": -1}, "retries must be a whole number from 0 on"),
    "backoff": ({"backoff": -1.0}, "backoff must be a number of seconds"),
    "cache": ({"cache": [1]}, "cache must be a mapping"),
    "key": ({"key": "id"}, "key must be a function"),
}


@pytest.mark.parametrize("what", BAD)
def test_parameters(what):
    given, message = BAD[what]
    with pytest.raises((TypeError, ValueError), match=message):
        Calls(**{"function": same} | given)


def test_pickling():
    calls = Calls(same, batch_size=2)
    asked = Asked(calls, 4)
    asked.ask([1, 2], same)
    other = pickle.loads(pickle.dumps(asked))
    assert other.ask([1, 3], same).values.tolist() == [1, 3]
    assert other.counts.rows == 3
    error = pickle.loads(pickle.dumps(CallError("text", "unit", [1])))
    assert (str(error), error.unit, error.rows.tolist()) == ("text", "unit", [1])
