"""Thresholds: scaling by q, rounding, and disabled sides."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from wald.stopping import Boundary

CENTERS = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([-np.inf, np.inf]))
SCALES = st.floats(0.0, 1e40)
QS = st.floats(0.0, 1e3)


@st.composite
def boundaries(draw):
    shape = draw(st.integers(0, 4))
    columns = [draw(arrays.arrays(np.float64, shape, elements=part)) for part in (CENTERS, SCALES) * 2]
    return Boundary(*columns)


@given(boundaries(), QS)
def test_float32_is_never_bolder_than_float64(boundary, q):
    low, high = boundary.thresholds(q, np.float64)
    low32, high32 = boundary.thresholds(q, np.float32)
    assert low32.dtype == high32.dtype == np.float32
    assert (low32.astype(np.float64) <= low).all()
    assert (high32.astype(np.float64) >= high).all()
    with np.errstate(over="ignore"):
        inward = np.nextafter(high32, np.float32(-np.inf)).astype(np.float64)
    assert ((inward < high) | (high32 == high)).all(), "rounded further than needed"


@given(boundaries(), QS)
def test_the_sides_never_overlap(boundary, q):
    low, high = boundary.thresholds(q, np.float64)
    assert (low <= high).all()


@given(boundaries(), st.sampled_from([np.float32, np.float64]))
def test_infinite_q_disables_everything(boundary, dtype):
    low, high = boundary.thresholds(np.inf, dtype)
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()


@given(st.floats(-10, 10), st.floats(0, 10), QS, QS)
def test_larger_q_is_more_cautious(center, scale, q, other):
    q, other = sorted([q, other])
    low, high = Boundary.symmetric([center], [scale]).thresholds(q, np.float32)
    wider_low, wider_high = Boundary.symmetric([center], [scale]).thresholds(other, np.float32)
    assert wider_low[0] <= low[0] <= high[0] <= wider_high[0]


@given(boundaries(), QS)
def test_rows_leave_to_the_open_side_alone(boundary, q):
    low, high = boundary.thresholds(q, np.float64)
    assert np.isposinf(boundary.restricted("negative").thresholds(q, np.float64)[1]).all()
    assert np.isneginf(boundary.restricted("positive").thresholds(q, np.float64)[0]).all()
    np.testing.assert_array_equal(boundary.restricted("both").thresholds(q, np.float64), (low, high))


def test_a_restricted_side_is_kept_closed_by_a_second_restriction():
    boundary = Boundary.symmetric([0.0], [1.0]).restricted("negative")
    low, high = boundary.restricted("both").thresholds(1.0, np.float64)
    assert (low[0], high[0]) == (-1.0, np.inf)


def test_columns_are_owned_and_read_only():
    center = np.zeros(2)
    boundary = Boundary.symmetric(center, [1.0, 2.0])
    center[0] = 5.0
    assert boundary.high_center[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        boundary.high_center[0] = 1.0
    copy = pickle.loads(pickle.dumps(boundary))
    np.testing.assert_array_equal(copy.high_scale, [1.0, 2.0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0.0], [1.0, 2.0], [0.0], [1.0]), "one length"),
        (([0.0], [1.0], [0.0, 1.0], [1.0, 1.0]), "one length"),
        (([np.nan], [1.0], [0.0], [1.0]), "NaN"),
        (([0.0], [-1.0], [0.0], [1.0]), "negative"),
        (([0.0], [np.inf], [0.0], [1.0]), "finite"),
    ],
)
def test_senseless_tables_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Boundary(*columns)


def test_senseless_questions_are_refused():
    boundary = Boundary.symmetric([0.0], [1.0])
    for q in (-1.0, np.nan):
        with pytest.raises(ValueError, match="q must not be"):
            boundary.thresholds(q, np.float64)
    with pytest.raises(ValueError, match="float32 or float64"):
        boundary.thresholds(1.0, np.float16)
    with pytest.raises(ValueError, match="sides must be one of"):
        boundary.restricted("all")
