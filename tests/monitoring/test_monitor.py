"""Monitors: alarms of simulated streams, states, merging, and what is refused."""

from __future__ import annotations

import math
import pickle
import threading
import warnings
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from wald.monitoring import DriftWarning, Monitor

SHARES = np.array([0.9, 0.05, 0.02, 0.015, 0.01, 0.005])
COSTS = [2, 4, 8, 16, 32, 200]
RISK = 0.01


def monitor(k: int = 0, n_reference: int = 3000, **given: object) -> Monitor:
    reference = np.random.default_rng([1, k]).multinomial(n_reference, SHARES)
    return Monitor(RISK, COSTS, reference, **{"audit_rate": 0.05, "seed": k} | given)


def serve(watch: Monitor, rng: np.random.Generator, n: int, rate: float, shares: np.ndarray = SHARES) -> None:
    audits = rng.binomial(n, watch.audit_rate)
    watch.record(rng.multinomial(n, shares), audits, rng.binomial(audits, rate))


def false_alarms(n_streams: int, n_rows: int, chunk: int) -> int:
    alarms = 0
    for k in range(n_streams):
        watch, rng = monitor(k), np.random.default_rng([2, k])
        for _ in range(n_rows // chunk):
            serve(watch, rng, chunk, RISK)  # the largest rate that is promised
        alarms += watch.state != "holding"
    return alarms


@pytest.mark.filterwarnings("ignore::wald.monitoring.DriftWarning")
def test_false_alarms_are_rare() -> None:
    assert false_alarms(150, 100_000, 2000) <= 0.05 * 150


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::wald.monitoring.DriftWarning")
def test_false_alarms_are_rare_in_streams_of_a_million_rows() -> None:
    assert false_alarms(200, 1_000_000, 1000) <= 0.05 * 200


@pytest.mark.filterwarnings("ignore:The promise is broken:wald.monitoring.DriftWarning")
@pytest.mark.parametrize("risk", [0.1, 0.01, 0.001])
def test_twice_the_risk_is_found_in_time(risk: float) -> None:
    """Within 1.5 times the audits that a test of just these two rates needs on average (Wald)."""
    divergence = 2 * risk * math.log(2) + (1 - 2 * risk) * math.log((1 - 2 * risk) / (1 - risk))
    theory = math.log(1 / 0.02) / divergence
    step, needed = max(1, int(theory / 100)), []
    for k in range(60):
        watch, rng = Monitor(risk, [1, 2], [0, 0], audit_rate=1.0, seed=k), np.random.default_rng([3, k])
        while watch.state == "holding":
            watch.record([step, 0], step, rng.binomial(step, 2 * risk))
        needed.append(watch.n_audits)
    assert np.median(needed) <= 1.5 * theory


@pytest.mark.filterwarnings("ignore:Served rows are not like:wald.monitoring.DriftWarning")
@pytest.mark.parametrize("before", [0, 1_000_000])
def test_a_shift_of_the_inputs_is_found_within_2000_rows(before: int) -> None:
    hard, found = np.array([0.7, 0.13, 0.07, 0.05, 0.03, 0.02]), []
    for k in range(20):
        watch, rng = monitor(k), np.random.default_rng([4, k])
        for _ in range(before // 10_000):
            serve(watch, rng, 10_000, 0.0)
        assert watch.state == "holding"
        for n in range(100, 4000, 100):
            serve(watch, rng, 100, 0.0, hard)
            if watch.state == "doubtful":
                found.append(n)
                break
    assert len(found) == 20
    assert np.median(found) <= 2000


@pytest.mark.filterwarnings("ignore:The promise is broken:wald.monitoring.DriftWarning")
def test_a_drift_after_many_good_rows_is_found() -> None:
    watch, rng = monitor(audit_rate=1.0), np.random.default_rng(5)
    for _ in range(100):
        serve(watch, rng, 10_000, 0.002)
    assert watch.state == "holding"
    for _ in range(59):
        serve(watch, rng, 100, 0.1)
    assert watch.state == "broken"


def test_risk_0_breaks_at_the_first_disagreement() -> None:
    watch = Monitor(0.0, [1, 2], [90, 10], audit_rate=1.0)
    watch.record([90, 10], 100, 0)
    assert watch.state == "holding"
    with pytest.warns(DriftWarning, match="1 of 200 audited"):
        watch.record([90, 10], 100, 1)
    assert watch.state == "broken"


def test_without_a_promise_nothing_breaks() -> None:
    watch = Monitor(None, [1, 2], [90, 10], audit_rate=1.0)
    watch.record([90, 10], 100, 50)
    assert watch.state == "holding"
    assert watch.disagreement[0] > 0.2


def test_listeners_hear_of_every_change_and_reset_forgets() -> None:
    watch, heard = monitor(), []
    watch.subscribe(lambda m: heard.append((m.state, m.n_rows)))
    with pytest.warns(DriftWarning):
        watch.record([0, 0, 0, 0, 0, 2000])
    with pytest.warns(DriftWarning):
        watch.record([100, 0, 0, 0, 0, 0], 100, 100)
    assert [state for state, _ in heard] == ["doubtful", "broken"]
    watch.reset()
    assert (watch.state, watch.n_rows, watch.n_audits, watch.stage_counts.sum()) == ("holding", 0, 0, 0)
    with pytest.raises(TypeError, match="listener must be callable"):
        watch.subscribe("me")


def test_merged_counts_are_those_of_one_stream() -> None:
    rng = np.random.default_rng(0)
    parts, whole = [monitor(audit_rate=0.5) for _ in range(4)], monitor(audit_rate=0.5)
    for part in parts:
        counts = rng.multinomial(500, SHARES)
        part.record(counts, 200, 1)
        whole.record(counts, 200, 1)
    total = parts[0]
    for part in parts[1:]:
        assert total.merge(part) is total
    assert total.as_dict() == whole.as_dict()
    assert total.log_shift == whole.log_shift


def test_monitors_of_other_models_are_not_merged() -> None:
    watch = monitor()
    for other in (monitor(1), monitor(fingerprint="another"), Monitor(0.02, COSTS, watch.reference, audit_rate=0.05)):
        with pytest.raises(ValueError, match="watch different models or plans"):
            watch.merge(other)
    with pytest.raises(ValueError, match="cannot be merged with itself"):
        watch.merge(watch)
    with pytest.raises(TypeError, match=r"merge takes a Monitor\. Got dict"):
        watch.merge({})


def test_copies_go_on_counting() -> None:
    watch = monitor()
    watch.record([900, 50, 20, 15, 10, 5], 50, 1)
    copy = pickle.loads(pickle.dumps(watch))
    assert copy.as_dict() == watch.as_dict()
    copy.record([90, 5, 2, 1, 1, 1])
    assert (copy.n_rows, watch.n_rows) == (1100, 1000)
    again = monitor()
    again.restore([900, 50, 20, 15, 10, 5], **watch.counts() | {"state": "doubtful"})
    assert again.as_dict() == watch.as_dict() | {"state": "doubtful"}


def test_no_count_is_lost_between_threads() -> None:
    watch = monitor(audit_rate=0.3)

    def work() -> None:
        for _ in range(2000):
            if watch.record_one(0):
                watch.record_audit(False)
            watch.record([1, 0, 0, 0, 0, 0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert watch.n_rows == watch.stage_counts[0] == 16_000
    assert abs(watch.n_audits - 2400) < 250


@pytest.mark.parametrize(
    "counts", [([1, 2], 0, 0), ([1, 0, 0, 0, 0, -1], 0, 0), ([1] * 6, 7, 0), ([1] * 6, 2, 3), ([1] * 6, -1, -1)]
)
def test_counts_that_do_not_fit_are_refused(counts: tuple[list[int], int, int]) -> None:
    watch = monitor()
    with pytest.raises(ValueError, match="A monitor of this plan has 6 counts of rows by stage"):
        watch.record(*counts)
    with pytest.raises(ValueError, match="A monitor of this plan has 6 counts"):
        watch.restore(*counts, "holding", unwatched=0, lines=[(0, 0, "holding")])
    assert watch.n_rows == 0


@pytest.mark.filterwarnings("ignore::wald.monitoring.DriftWarning")
@pytest.mark.parametrize("lost", [7.0, -5.0, 1.5, -0.1, math.inf, math.nan])
def test_an_audit_loses_from_0_to_1(lost: float) -> None:
    watch = monitor()
    assert watch.record_one(0) in (True, False)
    with pytest.raises(ValueError, match="disagrees must be True, False or a loss from 0 to 1"):
        watch.record_audit(lost)
    assert (watch.n_audits, watch.n_disagreements) == (0, 0)
    for fine in (True, False, 0.5, np.float32(0.25), np.bool_(True)):
        watch.record_audit(fine)
    assert (watch.n_audits, watch.n_disagreements) == (5, 2.75)


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan, 1.5, "3", None])
def test_numbers_that_are_no_counts_are_refused_by_name(wrong: object) -> None:
    watch, stages = monitor(), [900, 50, 20, 15, 10, 5]
    with pytest.raises(ValueError, match="audits must be whole numbers"):
        watch.record(stages, wrong)
    with pytest.raises(ValueError, match="stages must be whole numbers"):
        watch.record([*stages[1:], wrong])
    if wrong != 1.5:
        with pytest.raises(ValueError, match="disagreements must be finite numbers"):
            watch.record(stages, 50, wrong)
    assert (watch.n_rows, watch.n_audits) == (0, 0)
    watch.record(np.array(stages, dtype=float), np.float64(50), 1.5)
    assert (watch.n_rows, watch.n_audits, watch.n_disagreements) == (1000, 50, 1.5)


@pytest.mark.parametrize("reference", [[math.nan, 1, 1], [1.5, 1, 1], None, "abc", [10**30, 1, 1]])
def test_a_reference_that_is_no_counts_is_named(reference):
    with pytest.raises(ValueError, match=r"reference must be (whole numbers|numbers of 64 bits)"):
        Monitor(0.05, [1.0, 2.0, 3.0], reference, audit_rate=1.0)
    with pytest.raises(ValueError, match=r"stages must be (whole numbers|numbers of 64 bits)"):
        Monitor(0.05, [1.0, 2.0, 3.0], [1, 1, 1], audit_rate=1.0).record(reference)


def test_printed_it_says_what_was_seen() -> None:
    watch = monitor()
    watch.record([900, 50, 20, 15, 10, 5], 50, 1)
    assert repr(watch).startswith("<Monitor: holding; 1000 rows, 50 audited, 1 disagree (rate 0")


SEVENS = [7, 7.0, np.int64(7), np.float32(7), "7", np.str_("7")]


@pytest.mark.parametrize("first", range(len(SEVENS)))
def test_a_group_is_counted_once_whatever_the_type_of_its_name(first: int) -> None:
    watch = Monitor(0.01, [1, 100], [9, 1], audit_rate=0.1, grouped=True, seed=0)
    assert watch.pick([SEVENS[first]], 1).tolist() == [0]
    for name in SEVENS:
        assert watch.pick([name], 1).tolist() == []
    assert watch.pick(np.array([7, 8], dtype=object), 2).tolist() == [1]
    assert watch.pick([8.5, 7.0], 2).tolist() == [0]
    assert watch.pick([True], 1).tolist() == [0]
    assert watch.pick([1, 8], 2).tolist() == []


def test_a_day_is_one_group_in_every_unit() -> None:
    watch = Monitor(0.01, [1, 100], [9, 1], audit_rate=0.1, grouped=True, seed=0)
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    assert watch.pick(days, 2).tolist() == [0, 1]
    assert watch.pick(days.astype("datetime64[ns]"), 2).tolist() == []
    assert watch.pick(np.array([datetime(2020, 1, 2), datetime(2020, 1, 3)]), 2).tolist() == [1]


@pytest.mark.parametrize("names", [[None], [np.nan], ["a", None], [1.0, np.nan]], ids=str)
def test_rows_without_a_group_are_refused(names: list[object]) -> None:
    watch = Monitor(0.01, [1, 100], [9, 1], audit_rate=0.1, grouped=True, seed=0)
    with pytest.raises(ValueError, match="groups must"):
        watch.pick(names, len(names))


@pytest.mark.parametrize("risk", [2, -0.1, "a", float("nan")])
def test_a_risk_that_is_none_is_refused(risk: Any) -> None:
    with pytest.raises(ValueError, match="risk must be None or a number from 0 to 1"):
        Monitor(risk, [1, 3], [5, 3], audit_rate=1.0)


@pytest.mark.parametrize("costs", [[], 3, [1, float("nan")], [[1, 3]]])
def test_costs_that_are_none_are_refused(costs: Any) -> None:
    with pytest.raises(ValueError, match="stage_costs must be a list of finite numbers"):
        Monitor(0.05, costs, [5, 3], audit_rate=1.0)
