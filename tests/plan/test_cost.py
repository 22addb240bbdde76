"""The expected cost of a plan is the mean of the costs of its rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wald.plan import CostModel
from wald.plan.cost import geometric, thinned

PRICES = {"row": 3.0, "unit": 2.0, "readout": 0.5, "stage": 7.0, "full": 1000.0}
TERMS = np.array([2, 5, 9])
UNITS = np.array([2.0, 6.0, 11.0, 30.0])

leaving = st.lists(st.integers(0, 3), min_size=1, max_size=40).map(np.array)
prices = st.floats(0.0, 1e6)


def reached_of(stages):
    """Share of the rows that reach each stage, if each row leaves at its given stage."""
    return np.array([(stages >= t).mean() for t in range(4)])


def paid(model, stage, n_outputs, ends=UNITS):
    """Cost of a row that leaves at this stage; 3 is the end."""
    cost = model.row
    for t in range(min(stage, 2) + 1):
        cost += model.unit * (ends[t] - (ends[t - 1] if t else 0.0))
        cost += model.readout * TERMS[t] * n_outputs + model.stage
    if stage == 3:
        cost += model.unit * (ends[3] - ends[2]) if model.finish is None else model.finish
    return cost


def test_a_branch_costs_the_rows_that_reach_the_first_stage_that_needs_it():
    reached = np.array([1.0, 0.5, 0.25, 0.125])
    ends, costs = np.array([2, 4, 6]), np.array([2.0, 4.0, 6.0, 9.0])
    plain = CostModel(row=1.0, unit=1.0, readout=0.1, stage=0.2, full=100.0)
    for first, share in ((1, 1.0), (2, 1.0), (3, 0.5), (4, 0.5), (5, 0.25), (7, 0.125), (10, 0.125)):
        late = replace(plain, branches=((first, 8.0), (1, 3.0)))
        more = late.expected(ends, costs, reached, 1) - plain.expected(ends, costs, reached, 1)
        assert more == pytest.approx(8.0 * share + 3.0)
        again = late.scaled(2.0)
        assert again.expected(ends, costs, reached, 1) == pytest.approx(2 * late.expected(ends, costs, reached, 1))


@given(stages=leaving, n_outputs=st.integers(1, 4), finish=st.none() | st.floats(0, 100))
def test_expected_cost_is_the_mean_of_what_rows_pay(stages, n_outputs, finish):
    model = CostModel(**PRICES, finish=finish)
    expected = np.mean([paid(model, s, n_outputs) for s in stages])
    assert model.expected(TERMS, UNITS, reached_of(stages), n_outputs) == pytest.approx(expected)


@given(stages=leaving)
def test_blocks_are_paid_for_as_a_whole(stages):
    model = CostModel(**PRICES, block=4)
    ends = np.array([4.0, 8.0, 12.0, 32.0])
    expected = np.mean([paid(model, s, 1, ends) for s in stages])
    assert model.expected(TERMS, UNITS, reached_of(stages), 1) == pytest.approx(expected)


@given(stages=leaving, rows_per_line=st.integers(2, 3))
def test_lines_are_paid_for_until_their_last_row_has_left(stages, rows_per_line):
    """Rows share a line with rows drawn at random: the mean over all lines that can be drawn."""
    model = CostModel(**PRICES | {"row": 0.0, "readout": 0.0, "stage": 0.0}, rows_per_line=rows_per_line)
    last = stages
    for _ in range(rows_per_line - 1):
        last = np.maximum.outer(last, stages).ravel()
    expected = np.mean(np.cumsum(2.0 * np.diff(UNITS, prepend=0.0))[last])
    assert model.expected(TERMS, UNITS, reached_of(stages), 1) == pytest.approx(expected)


@given(stages=leaving)
def test_the_end_costs_a_line_no_less_than_its_rows(stages):
    reached = reached_of(stages)
    cheap, dear = (CostModel(**PRICES, rows_per_line=8, finish=finish) for finish in (0.0, 1e6))
    free = CostModel(**PRICES, rows_per_line=8)
    assert cheap.expected(TERMS, UNITS, reached, 1) == pytest.approx(free.expected(TERMS, UNITS, reached, 1))
    if reached[-1] > 0:
        assert dear.expected(TERMS, UNITS, reached, 1) >= 1e6 * reached[-1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"block": 4}, {"rows_per_line": 8}, {"finish": 9.0}])
@given(stages=leaving, others=leaving)
def test_rows_that_leave_later_cost_no_less(options, stages, others):
    model = CostModel(**PRICES, **options)
    n = min(len(stages), len(others))
    early, late = np.minimum(stages[:n], others[:n]), np.maximum(stages[:n], others[:n])
    sooner, later = (model.expected(TERMS, UNITS, reached_of(s), 2) for s in (early, late))
    assert sooner <= later * (1 + 1e-12)


def test_a_plan_without_early_stages_costs_everything():
    none = np.empty(0, dtype=np.int64)
    assert CostModel(**PRICES).expected(none, np.array([30.0]), np.ones(1), 1) == 3.0 + 2.0 * 30.0
    assert CostModel(**PRICES, finish=11.0).expected(none, np.array([30.0]), np.ones(1), 1) == 3.0 + 11.0


def test_units_alone_count_what_is_bought():
    model = CostModel.of_units(30.0)
    assert model.full == 30.0
    assert model.expected(TERMS, UNITS, np.array([1.0, 0.5, 0.5, 0.1]), 3) == pytest.approx(2 + 2 + 2.5 + 1.9)
    assert model.expected(TERMS, UNITS, np.ones(4), 3) == model.full


@given(factor=st.floats(0.0, 1e3), finish=st.none() | st.floats(0, 100), stages=leaving)
def test_scaling_multiplies_what_the_plan_costs_and_nothing_else(factor, finish, stages):
    model = CostModel(**PRICES, finish=finish, block=2, rows_per_line=2, margin=0.9)
    scaled = model.scaled(factor)
    assert (scaled.full, scaled.margin, scaled.block, scaled.rows_per_line) == (1000.0, 0.9, 2, 2)
    reached = reached_of(stages)
    assert scaled.expected(TERMS, UNITS, reached, 2) == pytest.approx(factor * model.expected(TERMS, UNITS, reached, 2))


@given(st.tuples(prices, prices, prices, prices, prices, st.none() | prices))
def test_rounding_goes_to_the_nearest_power_and_stays_there(values):
    row, unit, readout, stage, full, finish = values
    model = CostModel(row, unit, readout, stage, full, block=3, finish=finish, margin=0.77)
    rounded = model.rounded()
    assert rounded.rounded() == rounded
    assert (rounded.block, rounded.margin) == (3, 0.77)
    for name in ("row", "unit", "readout", "stage", "full", "finish"):
        before, after = getattr(model, name), getattr(rounded, name)
        if before:
            assert 2**-0.125 * (1 - 1e-9) <= after / before <= 2**0.125 * (1 + 1e-9)
            assert (4 * np.log2(after)) % 1 == pytest.approx(0.0, abs=1e-9) or (4 * np.log2(after)) % 1 > 1 - 1e-9
        else:
            assert after == before


def test_a_plan_is_worthwhile_below_a_share_of_the_full_cost():
    model = CostModel(**PRICES, margin=0.9)
    assert model.worthwhile(899.0)
    assert not model.worthwhile(900.0)
    assert not CostModel(**PRICES | {"full": 0.0}).worthwhile(0.0)


@pytest.mark.parametrize("name", ["row", "unit", "readout", "stage", "full", "finish", "margin"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_prices_are_finite_and_not_negative(name, value):
    with pytest.raises(ValueError, match=rf"CostModel\.{name} must be finite and not negative\. Got {value!r}"):
        CostModel(**PRICES | {name: value})


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "2"])
def test_blocks_are_whole(value):
    with pytest.raises(ValueError, match=r"CostModel\.block must be a whole number of at least 1"):
        CostModel(**PRICES, block=value)


# ---- ladders of stages ---------------------------------------------------------------------------------------------


@given(first=st.integers(1, 50), last=st.integers(0, 3000), ratio=st.floats(1.01, 3.0), multiple=st.integers(1, 40))
def test_geometric_stages_grow_by_about_the_ratio(first, last, ratio, multiple):
    stages = geometric(first, last, ratio, multiple)
    assert stages == sorted(set(stages))
    assert all(s % multiple == 0 and multiple <= s <= last for s in stages)
    for before, after in itertools.pairwise(stages):
        assert after - before <= max((ratio - 1) * before + ratio * multiple, 1.5 * multiple)  # rounding at both ends
    if multiple == 1 and first <= last:
        assert stages[0] == first
    if not stages:
        assert last < max(first, multiple) + multiple


def test_geometric_stages_of_known_numbers():
    assert geometric(1, 20, 2.0) == [1, 2, 4, 8, 16]
    assert geometric(16, 100, 1.5, 16) == [16, 32, 48, 80]
    assert geometric(1, 0, 2.0) == []


@given(
    stages=st.sets(st.integers(1, 500), max_size=30).map(sorted),
    ratio=st.floats(1.0, 3.0),
    first=st.integers(0, 100),
)
def test_thinned_stages_are_the_densest_ladder_of_the_ratio_that_starts_first(stages, ratio, first):
    kept = thinned(stages, ratio, first)
    late = [s for s in stages if s >= first]
    assert kept[:1] == late[:1]
    for s in late[1:]:
        before = max(k for k in kept if k < s)
        assert (s in kept) == (s >= ratio * before)
    assert set(kept) <= set(late)


def test_a_stage_at_just_the_ratio_is_kept():
    assert thinned([1, 2, 4, 7, 8], 2.0) == [1, 2, 4, 8]
