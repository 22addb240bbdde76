"""Promises of several lines: each has its own risk and audits; the state is the worst; merges keep it."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

from wald.monitoring import DriftWarning, Monitor

pytestmark = pytest.mark.filterwarnings("ignore::wald.monitoring.DriftWarning")

BY_CLASS = [("rows", None, 0.02), ("rows of class 1", 1, 0.2)]
EARLY = [*BY_CLASS, ("rows of predicted class 1", 1, 0.1, True)]
EACH = [(f"rows of class {code}", code, 0.05) for code in range(3)]
#: Promises, the shares of the classes, and rates of disagreement by class that just keep them.
KEPT = {
    "all": ([("rows", None, 0.02)], [0.9, 0.1], [0.02, 0.02]),
    "by class": (BY_CLASS, [0.97, 0.03], [(0.02 - 0.03 * 0.2) / 0.97, 0.2]),
    "each": (EACH, [0.6, 0.37, 0.03], [0.05, 0.05, 0.05]),
    "positive": ([("positives", 1, 0.05)], [0.97, 0.03], [0.0, 0.05]),
}


def monitor(strata: list, k: int = 0, **given: object) -> Monitor:
    return Monitor(strata[0][2], [1, 3, 10], [0, 0, 0], **{"audit_rate": 1.0, "seed": k, "strata": strata} | given)


def serve(watch: Monitor, rng: np.random.Generator, n: int, shares: list, rates: list) -> None:
    audits = rng.multinomial(n, shares)
    watch.record([n, 0, 0], audits, rng.binomial(audits, rates))


def states(watch: Monitor) -> dict[str, str]:
    return {line.name: line.state for line in watch.lines}


def false_alarms(promise: str, n_streams: int, n_rows: int, n_parts: int = 1) -> int:
    """Streams whose promise is kept, and which are called broken; with parts, merged at the end of every chunk."""
    strata, shares, rates = KEPT[promise]
    alarms = 0
    for k in range(n_streams):
        rng = np.random.default_rng([k, n_parts])
        parts = [monitor(strata, k) for _ in range(n_parts)]
        for _ in range(n_rows // 1000):
            for part in parts:
                serve(part, rng, 1000 // n_parts, shares, rates)
        total = parts[0]
        for part in parts[1:]:
            total.merge(part)
        alarms += total.state != "holding"
    return alarms


@pytest.mark.slow
@pytest.mark.parametrize("promise", KEPT)
def test_kept_promises_are_rarely_called_broken(promise: str) -> None:
    assert false_alarms(promise, 100, 50_000) <= 5  # 2 % are promised


@pytest.mark.long
@pytest.mark.parametrize("promise", KEPT)
def test_kept_promises_are_rarely_called_broken_in_long_streams(promise: str) -> None:
    assert false_alarms(promise, 200, 500_000) <= 10  # 2 % of 200 and three standard deviations


@pytest.mark.long
@pytest.mark.parametrize("promise", KEPT)
def test_false_alarms_of_merged_monitors_add_up_at_most(promise: str) -> None:
    assert false_alarms(promise, 100, 200_000, n_parts=4) <= 19  # 10 % for four and their sum, and three deviations


@pytest.mark.parametrize("code", [0, 1, 2])
def test_twice_the_risk_of_one_class_is_found_in_time(code: int) -> None:
    """Within twice the audits of that class that a test of just these two rates needs on average (Wald)."""
    shares, risk = [0.6, 0.37, 0.03], 0.05
    divergence = 2 * risk * math.log(2) + (1 - 2 * risk) * math.log((1 - 2 * risk) / (1 - risk))
    needed, rates = [], [risk / 10] * 3
    rates[code] = 2 * risk
    for k in range(30):
        watch, rng = monitor(EACH, k), np.random.default_rng([9, k])
        while watch.state == "holding":
            serve(watch, rng, 200, shares, rates)
        assert [line.code for line in watch.lines if line.state == "broken"] == [code]
        needed.append(watch.lines[code].n_audits)
    assert np.median(needed) <= 2 * math.log(3 / 0.02) / divergence


def test_every_line_has_its_own_risk() -> None:
    watch = monitor(BY_CLASS)
    for _ in range(200):
        watch.record([1000, 0, 0], [970, 30], [0, 5])  # 17 % of class 1, .5 % of all
    assert watch.state == "holding"
    for _ in range(200):
        watch.record([1000, 0, 0], [970, 30], [0, 10])  # 33 % of class 1, 1 % of all
    assert states(watch) == {"rows": "holding", "rows of class 1": "broken"}
    other = monitor(BY_CLASS)
    for _ in range(200):
        other.record([1000, 0, 0], [970, 30], [50, 0])  # 5 % of all, none of class 1
    assert states(other) == {"rows": "broken", "rows of class 1": "holding"}
    assert (watch.state, other.state) == ("broken", "broken")


def test_the_warning_names_the_line_and_what_refutes_it() -> None:
    watch = monitor(BY_CLASS)
    with pytest.warns(DriftWarning, match=r"30 of 30 audited rows \(rows of class 1\) got another label, .* 0\.2 was"):
        watch.record([2000, 0, 0], [1970, 30], [0, 30])
    late = monitor([("rows", None, 0.05)])
    for _ in range(100):
        late.record([1000, 0, 0], 1000, 20)
    late.record([400, 0, 0], 400, 44)
    with pytest.warns(DriftWarning, match=r"\d+ of the newest \d+ audited rows got another label"):
        late.record([2000, 0, 0], 2000, 220)


def test_losses_between_0_and_1_are_called_losses() -> None:
    watch = monitor(BY_CLASS)
    lost = sum([0.1] * 170)  # 16.999999999999957
    with pytest.warns(DriftWarning) as heard:
        watch.record([200, 0, 0], [170, 30], [0, lost])
    said = str(heard[0].message)
    assert "a loss of 17 in 30 audited rows (rows of class 1), and at most 0.2 was promised" in said
    assert "200 audited, a loss of 17 (rate" in repr(watch)
    assert "rows of class 1: broken, a loss of 17 in 30, promised 0.2" in repr(watch)
    assert "30 audited, a loss of 17 (rate" in repr(watch.lines[1])
    for text in (said, repr(watch), repr(watch.lines[1])):
        assert "16.99" not in text
        assert "another label" not in text
        assert "disagree" not in text.replace("0 disagree", "")


@pytest.mark.parametrize("strata", [EACH, BY_CLASS, [("positives", 1, 0.05)]])
def test_disagreements_of_an_unknown_class_leave_the_promise_unwatched(strata: list) -> None:
    watch, heard = monitor(strata), []
    watch.subscribe(lambda m: heard.append(m.state))
    watch.record([1000, 0, 0], 1000, 0)  # nothing disagrees, in no class
    assert watch.state == "holding"
    with pytest.warns(
        DriftWarning, match="The promise is about .*, and it is not watched on audited rows that got another label"
    ):
        watch.record([1000, 0, 0], 1000, 15)
    assert (watch.state, watch.n_unwatched, heard) == ("unwatched", 1000, ["unwatched"])
    watch.record_audit(True)
    assert watch.n_unwatched == 1001
    watch.reset()
    assert (watch.state, watch.n_unwatched) == ("holding", 0)


def test_rows_without_a_group_leave_a_promise_about_groups_unwatched() -> None:
    watch = monitor([("rows", None, 0.02)], grouped=True)
    with pytest.warns(DriftWarning, match=r"rows without a group. Call predict\(X, groups=\.\.\.\)"):
        watch.record([1000, 0, 0], 1000, 500)
    assert (watch.state, watch.n_rows, watch.n_audits, watch.n_unwatched) == ("unwatched", 0, 0, 1000)
    assert watch.record_one(0) is False
    assert watch.n_unwatched == 1001
    watch.record([1000, 0, 0], 1000, 500, one_per_group=True)
    assert watch.state == "broken"


def test_a_row_of_every_new_group_is_picked() -> None:
    watch = monitor([("rows", None, 0.02)], grouped=True)
    groups = np.repeat(["a", "b", "c"], [5, 1, 94])
    picked = watch.pick(groups, 100)
    assert groups[picked].tolist() == ["a", "b", "c"]
    assert watch.pick(groups, 100).tolist() == []
    watch.put_back([groups[0]])
    assert len(watch.pick(groups, 100)) == 1
    again = pickle.loads(pickle.dumps(watch))
    assert again.pick(["c", "d", "d"], 3).size == 1
    first = [monitor([("rows", None, 0.02)], k, grouped=True).pick([7] * 4, 4)[0] for k in range(200)]
    assert np.bincount(first, minlength=4).min() > 25  # each of the four rows, as often as the others
    for wrong in ([1, 2], [[1]] * 3):
        with pytest.raises(ValueError, match="groups must name the group of each of the 3 rows"):
            watch.pick(wrong, 3)
    with pytest.raises(ValueError, match="without None"):
        watch.pick(np.array(["a", None, 1], dtype=object), 3)


@pytest.mark.parametrize("promise", KEPT)
def test_a_merge_of_parts_is_one_monitor(promise: str) -> None:
    strata, shares, rates = KEPT[promise]
    rng = np.random.default_rng(0)
    parts, whole = [monitor(strata) for _ in range(4)], monitor(strata)
    for part in parts:
        audits = rng.multinomial(300, shares)
        lost = rng.binomial(audits, rates)
        part.record([300, 0, 0], audits, lost)
        whole.record([300, 0, 0], audits, lost)
    for part in parts[1:]:
        parts[0].merge(part)
    assert parts[0].as_dict() == whole.as_dict()


def test_a_merge_keeps_the_worse_state_and_listeners_hear_of_it() -> None:
    def broken_late() -> Monitor:  # by a window; all audits together do not refute the promise
        watch = monitor([("rows", None, 0.05)])
        for _ in range(100):
            watch.record([1000, 0, 0], 1000, 20)
        for _ in range(3):
            watch.record([1000, 0, 0], 1000, 110)
        return watch

    worker, total, heard = broken_late(), monitor([("rows", None, 0.05)]), []
    assert worker.state == "broken"
    total.subscribe(lambda m: heard.append(m.state))
    with pytest.warns(DriftWarning, match="of the newest"):
        total.merge(worker)
    assert (total.state, heard) == ("broken", ["broken"])
    assert states(total) == {"rows": "broken"}
    assert monitor([("rows", None, 0.05)]).merge(total).state == "broken"
    good = monitor([("rows", None, 0.05)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total.merge(good)  # no change, no news
    assert total.state == "broken"


@pytest.mark.parametrize("state", ["doubtful", "unwatched"])
def test_a_merge_keeps_doubts(state: str) -> None:
    def new() -> Monitor:
        return Monitor(0.05, [1, 3, 10], [500, 300, 200], audit_rate=1.0, strata=EACH)

    worker, total, heard = new(), new(), []
    if state == "doubtful":
        for _ in range(10):
            total.record([500, 300, 200])
            worker.record([490, 300, 210])
        worker.record([0, 0, 1000])
    else:
        worker.record([500, 300, 200], 1000, 3)
    assert worker.state == state
    total.subscribe(lambda m: heard.append(m.state))
    total.merge(worker)
    assert (total.state, heard) == (state, [state])


def test_promises_of_other_lines_are_not_merged() -> None:
    watch = monitor(EACH)
    for other in (monitor(EACH[:2]), monitor([*EACH[:2], ("rows of class 2", 2, 0.1)]), monitor(EACH, grouped=True)):
        with pytest.raises(ValueError, match="watch different models or plans"):
            watch.merge(other)


def test_copies_share_nothing() -> None:
    watch = monitor(BY_CLASS)
    watch.record([1000, 0, 0], [970, 30], [1, 1])
    for other in (copy.copy(watch), copy.deepcopy(watch), pickle.loads(pickle.dumps(watch))):
        assert other.as_dict() == watch.as_dict()
        before = watch.as_dict()
        for _ in range(50):
            other.record([1000, 0, 0], [970, 30], [50, 20])
        assert other.state == "broken"
        assert watch.as_dict() == before
    again = monitor(BY_CLASS)
    again.restore(watch.stage_counts, **watch.counts())
    assert again.as_dict() == watch.as_dict()


@pytest.mark.parametrize(
    ("audits", "lost"), [([5], [0, 0]), ([1, 2], [2, 0]), ([-1, 2], [0, 0]), ([2000, 1], [0, 0]), ([1, 1], 1)]
)
def test_counts_by_class_that_do_not_fit_are_refused(audits: list, lost: list) -> None:
    watch = monitor(BY_CLASS)
    with pytest.raises(ValueError, match="A monitor of this plan has 3 counts of rows by stage"):
        watch.record([1000, 0, 0], audits, lost)
    assert watch.n_rows == watch.n_audits == 0


def test_printed_it_names_the_classes() -> None:
    watch = monitor(BY_CLASS)
    watch.record([1000, 0, 0], [970, 30], [1, 2])
    assert "promised 0.02" in repr(watch)
    assert "rows of class 1: holding, 2 of 30 disagree, promised 0.2" in repr(watch)
    many = monitor([(f"rows of class {code}", code, 0.1) for code in range(40)])
    assert "35 more lines" in repr(many)


def test_audits_count_by_the_answer_that_rows_got() -> None:
    watch = monitor(EARLY)
    watch.record([100, 0, 0], [90, 10], [1, 4], predicted=([93, 7], [4, 1]))
    assert [(line.n_audits, line.n_disagreements) for line in watch.lines] == [(100, 5), (10, 4), (7, 1)]
    watch.record_one(0)
    watch.record_audit(True, 0, 1)  # the full model says 0, and the row got 1
    assert [(line.n_audits, line.n_disagreements) for line in watch.lines] == [(101, 6), (10, 4), (8, 2)]
    assert (watch.n_unwatched, watch.state) == (0, "holding")
    again = monitor(EARLY)
    again.restore(watch.stage_counts.tolist(), **watch.counts())
    assert again.counts() == pickle.loads(pickle.dumps(watch)).counts() == watch.counts()
    assert again.merge(watch).lines[2].n_audits == 16
    for _ in range(60):
        watch.record_audit(True, 0, 1)
    assert states(watch)["rows of predicted class 1"] == "broken"
    assert states(watch)["rows of class 1"] == "holding"


def test_without_the_answer_that_rows_got_its_promise_is_not_watched() -> None:
    watch = monitor(EARLY)
    watch.record([100, 0, 0], [90, 10], [0, 0])
    assert (watch.state, watch.lines[2].n_audits) == ("holding", 0)
    with pytest.warns(DriftWarning, match="came without the answers by which it counts"):
        watch.record([100, 0, 0], [90, 10], [0, 1])
    assert (watch.n_unwatched, watch.state) == (100, "unwatched")
    watch.record_audit(True, 1)
    assert (watch.n_unwatched, watch.lines[1].n_audits, watch.lines[2].n_audits) == (101, 21, 0)
    both = monitor(EARLY)
    both.record([100, 0, 0], 100, 1)  # of neither answer
    assert both.n_unwatched == 100


@pytest.mark.parametrize(
    "predicted",
    [([93], [5]), ([93, 8], [4, 1]), ([93, 7], [4, 2]), ([95, 5], [-1, 6]), ([93, 7], [4]), ([99, 1], [3, 2])],
    ids=str,
)
def test_audits_by_the_two_answers_are_the_same_rows(predicted: tuple[list, list]) -> None:
    with pytest.raises(ValueError, match="predicted holds the 100 audits and the disagreements, 5 in all"):
        monitor(EARLY).record([100, 0, 0], [90, 10], [1, 4], predicted=predicted)
