"""The experiments of The Attentive Perceptron on small digits: choices, counts, page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

pytest.importorskip("matplotlib")

from quick_run import (
    assert_drawn_twice,
    assert_numbers_are_finite,
    assert_page_is_complete,
    records_of,
    run_quick,
)

import reproduce
from reproduce import attentive_perceptron
from reproduce.attentive_perceptron import choice, claims, findings, learners, material, pixels
from reproduce.attentive_perceptron.audits import DELTAS, HELD, stop_errors
from reproduce.attentive_perceptron.choice import CHEAP, WITHIN, Tried, cheap, within
from reproduce.attentive_perceptron.epochs import DEFAULT, contenders, race
from reproduce.attentive_perceptron.eq4_walks import level, simulate_eq4
from reproduce.attentive_perceptron.learners import READINGS, Contender, Watched, learner, train
from reproduce.attentive_perceptron.material import Task
from wald.online import AttentivePerceptron


def make(name: str, digits: tuple[int, ...], *, csr: bool = False) -> Task:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = np.ascontiguousarray(X[order] / 16, dtype=np.float32), np.isin(y[order], digits)
    rows = sparse.csr_matrix(X) if csr else X
    return Task(name, f"{digits} or not", rows[:1300], y[:1300], rows[1300:], y[1300:], 2)


@pytest.fixture(scope="module")
def dense() -> Task:
    return make("Digits", (3, 8))


@pytest.fixture(scope="module")
def csr() -> Task:
    return make("Sparse", (0,), csr=True)


# ---- contenders ------------------------------------------------------------------------------------------------------


def test_a_dense_row_leaves_order_and_variance_open_and_a_csr_row_does_not(dense, csr):
    for reading in READINGS:
        n = len(learners.DELTAS[reading])
        assert len(learners.candidates(reading, csr)) == n
        assert len(learners.candidates(reading, dense)) == (n if reading == "conditional" else 3 * n)


def test_epochs_add_up_to_a_single_fit(dense):
    contender = Contender("conditional", 0.05)
    model, epochs = train(contender, 3, dense)
    whole = AttentivePerceptron(delta=0.05, max_iter=2, tol=None, random_state=3).fit(dense.X, dense.y)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert sum(e.features for e in epochs) * len(dense.y) == pytest.approx(whole.features_seen_)
    assert sum(e.updates for e in epochs) == whole.n_updates_
    assert epochs[-1].error == pytest.approx(1 - whole.score(dense.X_test, dense.y_test))


def test_watching_changes_nothing(dense):
    settings = {"delta": 0.1, "max_iter": 2, "tol": None, "random_state": 0}
    watched, plain = (kind(**settings).fit(dense.X, dense.y) for kind in (Watched, AttentivePerceptron))
    np.testing.assert_array_equal(watched.coef_, plain.coef_)
    assert watched.features_seen_ == plain.features_seen_
    assert watched.problems_[0].learner.truth.sum() > 0 == plain.problems_[0].learner.truth.sum()


def test_a_budget_costs_what_was_wanted():
    X, y = load_digits(return_X_y=True)
    wide = np.tile(np.asarray(X / 16, dtype=np.float32), (4, 4))  # 256 features: 16 runs
    task = Task("Wide", "3 or not", wide, np.tile(y == 3, 4), wide, np.tile(y == 3, 4), 1)
    for contender in learners.budgeted(task, 100.0):
        _, epochs = train(contender, 0, task)
        assert epochs[0].features == pytest.approx(100, abs=8 + 0.06 * 256)  # half a run; warm-up and luck of audits


# ---- choosing --------------------------------------------------------------------------------------------------------


def test_held_out_rows_are_a_sixth_and_follow_the_seed(dense):
    rows, held_out = dense.split(0)
    assert len(held_out) == round(1300 / 6)
    assert sorted([*rows, *held_out]) == list(range(1300))
    assert not np.array_equal(held_out, dense.split(1)[1])


def test_rules_of_choice():
    tried = [Tried(Contender("bridge", d), f, e) for d, f, e in ((0.1, 50, 0.05), (0.2, 90, 0.022), (0.3, 200, 0.02))]
    assert within(tried, 0.02).features == 90
    assert within(tried, 0.019).features == 90
    assert within(tried, 0.01).features == 200  # none is within 0.3 points: the least error
    assert cheap(tried, 100).features == 90
    assert cheap(tried, 10).features == 50  # none has so few: the fewest


def test_what_is_chosen_is_what_the_records_say(dense):
    chosen, records = choice.choose([dense], 0)
    full = next(r for r in records if r["reading"] == "full")
    assert full["gap"] == 0 < full["error"]
    for reading in READINGS:
        own = [r for r in records if r["reading"] == reading and r["gap"] <= choice.GAP]
        best = min(own, key=lambda r: r["features"])
        taken = chosen[reading, WITHIN]
        assert (taken.delta, taken.order, taken.variance) == (best["delta"], best["order"], best["variance"])
    assert choice.choose([dense], 0)[1] == records


# ---- what is counted -------------------------------------------------------------------------------------------------


def test_a_race_reads_less_than_everything(dense, csr):
    for task in (dense, csr):
        chosen = {
            **{(reading, rule): Contender(reading, 0.1) for reading in READINGS for rule in (WITHIN, CHEAP)},
            ("budgeted", WITHIN): Contender("budgeted", budget=32),
        }
        tables = race(task, 0, chosen)
        assert len(tables["epochs"]) == 2 * len(contenders(chosen))
        for r in tables["epochs"]:
            assert (r["share"] == 1) == (r["reading"] == "full")
            assert r["share"] == pytest.approx(r["features"] / task.features)
        assert ("prediction" in tables) == (not task.sparse)


def test_stop_errors_divide_by_what_each_reading_names(dense):
    records = stop_errors(dense, 0)
    assert {r["reading"] for r in records} == {*READINGS, HELD}
    assert {r["requested"] for r in records} == set(DELTAS)
    for r in records:
        assert r["true"] == r[f"true_{r['error']}"]
        assert r["true_joint"] <= min(r["true_posterior"], r["true_conditional"])
        assert r["covered"] == (r["low"] <= r["true"] <= r["high"])


def test_audits_cover_the_truth(dense):
    records = [r for seed in range(6) for r in stop_errors(dense, seed)]
    held, n, low, high = claims.coverage(records)
    assert low <= held / n <= high
    assert high >= 0.93


# ---- equation (4) on walks -------------------------------------------------------------------------------------------


def test_levels_of_eq4():
    assert level(0.0, 1.0, 0.05, centred=True) == pytest.approx(0.5 * 1.6449, abs=1e-4)
    assert level(1.0, 1.0, 0.05, centred=False) == pytest.approx(0.5 * (1.6449 - 1), abs=1e-4)
    assert level(50.0, 1.0, 0.05, centred=False) == 0
    assert level(-3.0, 1.0, 0.05, centred=True) == 3


def test_as_published_it_stops_at_once_and_centred_it_grows():
    records = simulate_eq4(0, lengths=(100, 10_000), n_walks=1500)

    def mean(regime: str, n: int) -> float:
        return next(r["mean_terms"] for r in records if (r["regime"], r["n"], r["delta"]) == (regime, n, 0.01))

    assert mean("printed", 10_000) < 3
    assert 4 < mean("centred", 10_000) / mean("centred", 100) < 25  # ten, but for chance


# ---- pixels read -----------------------------------------------------------------------------------------------------


def test_places():
    order = np.array([2, 0])
    assert pixels.places(order, 5, 10, 4, 3)[[8, 9, 0, 1, 2]].tolist() == [1, 2, 3, 4, 5]
    assert np.isnan(pixels.places(order, 2, 10, 4, 3)).sum() == 8
    full = pixels.places(order, 10, 10, 4, 3)
    assert full[[8, 9, 0, 1, 2, 3]].tolist() == [1, 2, 3, 4, 5, 6]
    assert full[4:8].tolist() == [7] * 4


@pytest.mark.parametrize("contender", pixels.DRAWN, ids=lambda c: c.reading)
def test_pixels_replay_what_training_reads(dense, contender):
    model = learner(contender, 0, run_length=4).set_params(max_iter=2).fit(dense.X, dense.y)
    before = model.features_seen_
    found = pixels.pixels_read(model, dense.X_test[:60], dense.y_test[:60], 4)
    assert model.features_seen_ == before  # the model itself has not moved
    assert len({read.n_read for read in found}) > 2
    for read in found:
        n_seen = int((~np.isnan(read.place)).sum())
        assert n_seen == read.n_read
        if read.n_read < 64:
            assert sorted(read.place[~np.isnan(read.place)]) == list(range(1, n_seen + 1))
    # the next example of the stream is read just so, unless it is an audit
    first = found[0]
    twin = learner(contender, 0, run_length=4).set_params(max_iter=2).fit(dense.X, dense.y)
    twin.partial_fit(dense.X_test[:1], dense.y_test[:1])
    assert twin.features_seen_ - before in (first.n_read, 64)


# ---- the whole run ---------------------------------------------------------------------------------------------------

PICTURES = ("over-epochs", "error-against-features", "stop-errors", "terms-needed", "pixels-read")
TABLES = ("simulated-costs", "tried", "epochs", "prediction", "stop-errors", "tasks")


@pytest.fixture(scope="module")
def written(dense, csr, tmp_path_factory) -> tuple[Path, str]:
    other = make("Digits", (0, 5))
    small = {name: values[1::2] for name, values in learners.DELTAS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(material, "DATA", {"Digits": lambda quick: iter([dense, other]), "Sparse": lambda q: iter([csr])})
        patch.setattr(attentive_perceptron, "_DRAWN", "Digits")
        patch.setattr(attentive_perceptron, "_QUICK_WALKS", 20)
        patch.setattr(learners, "DELTAS", small)
        patch.setattr(pixels, "_SHAPE", (8, 8))
        return run_quick("attentive-perceptron", tmp_path_factory)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_tables_parse(written, name):
    lines = records_of(written[0], name)
    assert_numbers_are_finite(lines, words={"data", "task", "reading", "rule", "order", "variance", "regime", "error"})
    if name != "tasks":
        assert {line["seed"] for line in lines} == {"0", "1"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_there_twice(written, name):
    assert_drawn_twice(written[0], name)


@pytest.mark.slow
def test_the_page_holds_every_claim_with_a_verdict(written):
    folder, screen = written
    page = (folder / "findings.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    for claim in (
        "Speed-ups throughout training",
        "Speed-ups throughout prediction",
        "Small losses in prediction accuracy",
        "better than a budget",
        "The stop error is at most δ",
        "E[T] = O(√(n log 1/√δ))",
        "The same of equation (4)",
    ):
        (line,) = [line for line in lines if claim in line]
        assert line.split(" | ")[-1].startswith(("holds", "does not hold"))
    for said in ("quick run", "2 seeds", "The settings chosen", "interval of the audits holds the true error"):
        assert said in page
    assert_page_is_complete(folder, TABLES, PICTURES)
    assert "17/17" in screen


@pytest.mark.slow
def test_figures_on_the_page_are_those_of_the_tables(written):
    folder, _ = written
    page = (folder / "findings.md").read_text("utf-8")
    own = [
        r for r in records_of(folder, "epochs") if (r["data"], r["reading"], r["rule"]) == ("Sparse", "bridge", WITHIN)
    ]
    mean = np.mean([float(r["features"]) for r in own])
    (line,) = [line for line in page.splitlines() if line.startswith("| Sparse | bridge |")]
    assert f" {reproduce._common.number(float(mean))} (" in line


# ---- verdicts follow from figures ------------------------------------------------------------------------------------


def tables(features: float, gap: float) -> dict[str, list[dict[str, object]]]:
    """Synthetic runs with a given number of features read, and a given excess error over the full learner, per rule."""
    lines = []
    runs = [
        ("full", DEFAULT, 784.0, 0.0),
        ("budgeted", WITHIN, features, 0.05),
        ("conditional", DEFAULT, features, gap),
    ]
    runs += [(reading, rule, features, gap) for reading in READINGS for rule in (WITHIN, CHEAP)]
    for reading, rule, seen, above in runs:
        for seed in range(3):
            lines.append(
                {"data": "A", "task": "a", "seed": seed, "reading": reading, "rule": rule, "delta": 0.1, "epoch": 1}
                | {"features": seen + 0.1 * seed * (seen < 784), "share": seen / 784, "updates": 5}
                | {"microseconds_per_row": 1.0, "error": 0.02 + above + 1e-5 * seed}
            )
    return {"epochs": lines}


def test_chosen_settings_are_listed_by_rule():
    said = findings.settings_chosen(tables(100, 0.001))
    lines = [line for line in said.splitlines() if line.startswith(("| within", "| 130", "| as it"))]
    assert sum(line.startswith("| 130 of 784 |") for line in lines) == len(READINGS)
    assert sum(line.startswith("| within 0.3 points |") for line in lines) == len(READINGS)
    assert all("+0.1" in line for line in lines)


@pytest.mark.parametrize(("gap", "verdict"), [(0.001, "holds"), (0.02, "does not hold")])
def test_small_losses(gap, verdict):
    assert claims.small_losses(tables(100, gap)).verdict == verdict
    assert claims.beats_a_budget(tables(100, gap)).verdict == "holds"
    assert claims.beats_a_budget(tables(100, 0.06)).verdict == "does not hold"


@pytest.mark.parametrize(("features", "verdict"), [(100, "holds in features"), (784, "does not hold")])
def test_speed(features, verdict):
    assert claims.speed_in_training(tables(features, 0.0)).verdict.startswith(verdict)


@pytest.mark.parametrize(("true", "verdict"), [(0.005, "holds"), (0.2, "does not hold")])
def test_at_most_delta(true, verdict):
    lines = [
        {"data": "A", "seed": seed, "reading": reading, "requested": delta, "true": true + 1e-4 * seed}
        for reading in (*READINGS, HELD)
        for delta in DELTAS
        for seed in range(3)
    ]
    assert claims.at_most_delta(lines).verdict == verdict


def test_every_data_set_is_described():
    assert list(material.DESCRIPTIONS) == list(material.DATA)
    assert attentive_perceptron._DRAWN in material.DATA
    assert "not its published rows" in material.DESCRIPTIONS["Gisette-like"]


@pytest.mark.long
def test_quick_rows_of_the_real_thing(wald_data):
    for name, load in material.DATA.items():
        tasks = list(load(True))
        assert {task.data for task in tasks} == {name}
        for task in tasks:
            model = AttentivePerceptron(max_iter=task.epochs, tol=None, random_state=0).fit(task.X, task.y)
            assert model.score(task.X_test, task.y_test) > 0.88
            assert model.features_seen_ < 0.8 * task.epochs * task.features * len(task.y)
