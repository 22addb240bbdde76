"""Means over seeds, records, progress."""

from __future__ import annotations

import csv

import pytest

from reproduce._common import number, over_seeds, per_seed, percent, progress, select, write_csv


def test_interval_is_students():
    estimate = over_seeds([1, 2, 3, 4])
    # t(0.975, 3) = 3.18245, standard error 0.645497
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((2.5, 0.44574, 4.55426), abs=1e-4)
    assert estimate.n == 4


@pytest.mark.parametrize("figures", [[1.0], [], [[1.0, 2.0]]])
def test_no_interval_without_two_seeds(figures):
    with pytest.raises(ValueError, match="at least two seeds"):
        over_seeds(figures)


def test_models_are_averaged_within_a_seed():
    records = [{"seed": s, "model": m, "x": v} for s, m, v in ((1, "a", 4), (0, "a", 1), (0, "b", 3), (1, "b", 8))]
    assert per_seed(records, "x") == [2, 6]
    assert per_seed(select(records, model="b"), "x") == [3, 8]


def test_csv_round_trip(tmp_path):
    path = write_csv(tmp_path / "a.csv", [{"name": "x, y", "n": 3, "v": 1 / 3}])
    with path.open(newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == [{"name": "x, y", "n": "3", "v": "0.3333333"}]


def test_progress_is_not_in_the_way_of_results(capsys):
    step = progress(2)
    step("one")
    step("two")
    assert capsys.readouterr() == ("", "1/2 one\n2/2 two\n")


def test_numbers():
    assert [number(v) for v in (0.04712, 12.0, 99.96, 1234.5, 0.0)] == ["0.0471", "12", "100", "1 234", "0"]
    assert [percent(v, 2) for v in (0.001, 0.5047, 1.0)] == ["0.1 %", "50 %", "100 %"]
