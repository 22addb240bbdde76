"""Waiting until other threads are idle, before a call is timed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from wald.plan import timing
from wald.plan.timing import wait_for_rest


class Clocks:
    """Clocks of a process whose other threads run until a given time, and sleep after that."""

    def __init__(self, busy_until):
        self.now, self.used, self.busy_until = 0.0, 0.0, busy_until

    def sleep(self, seconds):
        self.used += max(0.0, min(seconds, self.busy_until - self.now))
        self.now += seconds

    def perf_counter(self):
        return self.now

    def process_time(self):
        return self.used


@pytest.mark.parametrize(("busy_until", "waited"), [(0.0, 0.02), (0.1, 0.12), (10.0, 0.26)])
def test_waiting_for_rest_ends_when_others_do_or_at_the_limit(monkeypatch, busy_until, waited):
    clocks = Clocks(busy_until)
    monkeypatch.setattr(timing, "time", clocks)
    wait_for_rest(at_most=0.25)
    assert clocks.now == pytest.approx(waited, abs=0.021)


def test_waiting_for_rest_sees_threads():
    began = time.perf_counter()
    wait_for_rest(at_most=60.0)
    assert time.perf_counter() - began < 30.0
    stop = threading.Event()

    def occupy():
        while not stop.is_set():
            pass

    with ThreadPoolExecutor(1) as other:
        other.submit(occupy)
        began = time.perf_counter()
        wait_for_rest(at_most=0.2)
        stop.set()
    assert time.perf_counter() - began >= 0.2


# ---- what is measured ----------------------------------------------------------------------------------------------


class Machine:
    """A clock, and tasks whose times on it follow a cost model."""

    def __init__(self, monkeypatch, row=5e-6, unit=1e-7, readout=1e-8, stage=4e-7, full=9e-5, n_outputs=2):
        self.now, self.prices, self.full, self.n_outputs = 0.0, (row, unit, readout, stage), full, n_outputs
        self.runs = 0
        monkeypatch.setattr(timing, "time", self)
        monkeypatch.setattr(timing, "_measured", {})

    def perf_counter(self):
        return self.now

    def takes(self, seconds):
        def task():
            self.now += seconds
            self.runs += 1

        return task

    def ladder(self, terms, n_rows=10):
        row, unit, readout, stage = self.prices
        last = max(terms, default=0)
        return self.takes(n_rows * (row + unit * last + sum(readout * m * self.n_outputs + stage for m in terms)))

    def measured(self, key="a", **changes):
        arguments = {"n_terms": 400, "n_outputs": 2, "block": 16, "step": 16, "rows_per_line": 1, "by_columns": False}
        arguments |= changes
        return timing.measure_cost_model(self.ladder, self.takes(10 * self.full), 10, 2e-4, key=key, **arguments)


def test_the_shortest_run_counts_and_the_first_does_not(monkeypatch):
    machine = Machine(monkeypatch)
    times = iter([0.1, 5.0, 3.0, 4.0])

    def task():
        machine.now += next(times)

    assert timing.seconds(task, repeats=3) == pytest.approx(3.0)


def test_short_runs_are_repeated_until_the_least_time_is_over(monkeypatch):
    machine = Machine(monkeypatch)
    times = iter([0.1, 5.0, 4.0, 3.0, 2.0, 1.0])

    def task():
        machine.now += next(times)

    assert timing.seconds(task, repeats=2, at_least=12.5) == pytest.approx(2.0)


def test_prices_are_found_again_in_the_times_of_short_ladders(monkeypatch):
    machine = Machine(monkeypatch)
    found = machine.measured()
    near = pytest.approx
    row, unit, readout, stage = machine.prices
    within = 2**0.125 * 1.25  # rounding, and what a fit to six times leaves
    assert found.row == near(row, rel=2**0.125 - 1)
    assert unit / within < found.unit < unit * within
    assert readout / within < found.readout < readout * within
    assert stage / 2 < found.stage < stage * 2
    assert found.finish == near(machine.full - row, rel=2**0.125 - 1)
    assert found.full == near(2e-4, rel=2**0.125 - 1)
    assert (found.block, found.margin, found.rows_per_line, found.by_columns) == (16, timing.MARGIN, 1, False)


def test_a_price_that_doubles_is_found_doubled(monkeypatch):
    once, again = (Machine(monkeypatch, unit=unit).measured() for unit in (1e-7, 2e-7))
    assert again.unit == pytest.approx(2 * once.unit, rel=0.2)
    assert again.row == once.row
    assert again.readout == once.readout


def test_prices_are_powers_of_a_fourth_root_of_2_and_measured_once(monkeypatch):
    machine = Machine(monkeypatch)
    first = machine.measured()
    assert first == first.rounded()
    runs = machine.runs
    assert machine.measured() == first
    assert machine.runs == runs
    machine.prices = tuple(10 * p for p in machine.prices)
    assert machine.measured() == first
    assert machine.measured(key="b").row > 5 * first.row
    assert machine.runs > runs


@pytest.mark.parametrize("n_terms", [1, 3, 16, 17, 40])
def test_models_of_few_terms_are_measured_too(monkeypatch, n_terms):
    found = Machine(monkeypatch).measured(n_terms=n_terms)
    assert found.unit > 0
    assert found.row > 0


def test_a_machine_that_takes_no_time_costs_nothing_that_is_negative(monkeypatch):
    found = Machine(monkeypatch, row=0.0, unit=0.0, readout=0.0, stage=0.0, full=0.0).measured()
    assert 0 < found.unit < 1e-11  # later terms still cost more than earlier ones
    assert (found.row, found.stage, found.finish) == (0.0, 0.0, 0.0)


def test_a_unit_is_priced_without_its_readout_and_the_end_without_the_row(monkeypatch):
    row, unit, readout, stage, few, many = 5.0, 1.0, 0.1, 2.0, 4, 12
    once = {m: row + unit * m + readout * 2 * m + stage for m in (few, many)}
    again = {m: once[m] + readout * 2 * m + stage for m in (few, many)}
    found = timing._fit(
        row, once[few], once[few], once[many], again[few], again[many], few=few, many=many, n_steps=1, n_outputs=2
    )
    assert found[:3] == pytest.approx((row, unit, readout))
    assert Machine(monkeypatch, row=5e-6, full=8e-6).measured().finish == pytest.approx(3e-6, rel=2**0.125 - 1)
