"""What an output says is checked, and an output from outside goes through everything that wald does."""

from __future__ import annotations

import copy
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from outputs.bands import Band, BandRegression
from persistence.forge import put_together, taken_apart
from sklearn.frozen import FrozenEstimator

import wald
from wald import EarlyExitClassifier, Planner, cli
from wald.codec.reading import FileFormatError
from wald.displays import StoppingPathDisplay, TradeoffDisplay
from wald.outputs import Bands, Labels, Output, Values, check_output
from wald.stopping import Boundary, StageScores, certify, measure

OUTPUTS = {
    "sign": Labels("sign", 2),
    "threshold": Labels("sign", 2, 0.3, tie_positive=True),
    "constant": Labels("sign", 1, math.inf),
    "argmax": Labels("argmax", 5),
    "saturated": Labels("argmax", 3, saturation=50.0),
    "votes": Labels("votes", 4),
    "broken ties": Labels("votes", 4, break_ties=True),
    "bands": Bands([-0.5, 0.0, 0.0, 1.0], [True, False, True, False]),
    "bands that are never reached": Bands([-math.inf, 0.5, math.inf], [True, True, False]),
    "values": Values(3),
    "values within a constant": Values(1, 0.25, "constant"),
    "values within a share": Values(1, 0.25, "relative", relative=True),
    "exponentials": Values(1, 0.25, "exp"),
    "probabilities": Values(1, 0.25, "logistic"),
    "calibrated probabilities": Values(1, 0.25, "logistic", slope=3.0, offset=0.5),
    "several values": Values(3, 0.5, "constant", tolerances=[0.25, 0.5, 0.5]),
    "several shares": Values(2, 0.25, "relative", relative=True, tolerances=[0.25, 0.25]),
    "probabilities of classes": Values(3, 0.1, "softmax", tolerances=[0.1] * 3),
    "band": Band([-0.5, 0.0, 1.0]),
    "band with steps": Band([-0.5, 0.0, 1.0], steps=True),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_keep_what_they_say(name):
    check_output(OUTPUTS[name])


@pytest.mark.parametrize(("margin", "value"), [("exp", np.exp), ("logistic", lambda z: 1 / (1 + np.exp(-z)))])
def test_a_margin_is_the_room_on_the_side_where_the_value_changes_faster(margin, value):
    z = np.linspace(-6.0, 6.0, 241)
    room = Values(1, 0.1, margin).judged(z)[1]
    furthest = np.maximum(np.abs(value(z + room) - value(z)), np.abs(value(z - room) - value(z)))
    np.testing.assert_allclose(furthest, 0.1, rtol=1e-9)


def test_a_margin_of_several_scores_is_the_room_of_the_narrowest_one():
    z = 2.0 * np.random.default_rng(0).normal(size=(50, 3))
    two = Values(2, 0.5, "constant", tolerances=[0.1, 0.5])
    np.testing.assert_array_equal(two.judged(z[:, :2])[1], 1.0)  # in the unit of each tolerance
    classes = Values(3, 0.1, "softmax", tolerances=[0.1] * 3)
    room = 0.1 * classes.judged(z)[1]

    def shares(scores):
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    furthest = np.zeros(len(z))
    for signs in np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T:
        furthest = np.maximum(furthest, np.abs(shares(z + room[:, None] * signs) - shares(z)).max(axis=1))
    assert (furthest < 0.1 + 1e-12).all()  # wherever each score lies within the room
    np.testing.assert_allclose(furthest, 0.1, rtol=1e-6)
    full, early = np.zeros((3, 2)), np.array([[0.1, 0.5], [0.2, 0.0], [0.0, 0.6]])
    assert two.lost_values(early, full).tolist() == [0, 1, 1]
    assert (two.event, two.words.others) == ("a value off by more than 0.1, 0.5", "values off by more than 0.1, 0.5")


def test_values_are_lost_beyond_the_tolerance():
    full = np.array([0.0, 1.0, -10.0, np.inf, np.nan])
    near = Values(1, 0.5, "constant")
    assert near.lost_values(full, full).tolist() == [0, 0, 0, 0, 0]
    assert near.lost_values(np.array([0.5, 1.625, -10.5, 1.0, np.nan]), full).tolist() == [0, 1, 0, 1, 0]
    share = Values(1, 0.5, "relative", relative=True)
    assert share.lost_values(np.array([0.1, 1.5, -15.0, np.inf, 0.0]), full).tolist() == [1, 0, 0, 0, 1]
    assert (near.event, share.event) == ("off by more than 0.5", "off by more than 50 % of the value")


@pytest.mark.parametrize(
    "fields",
    [
        (1, -0.5, "constant"),
        (2, 0.5, "constant"),
        (1, 0.5),
        (1, 0.5, "logistic"),
        (1, 0.5, "square"),
        (1, 0.1, "softmax"),
        (2, 0.5, "constant", False, 1.0, 0.0, [0.5, 0.6]),
    ],
)
def test_a_tolerance_that_does_not_fit_is_refused(fields):
    with pytest.raises(ValueError, match="margin"):
        Values(*fields)


@pytest.mark.parametrize(("cuts", "upper"), [([], []), ([1.0, 0.0], [True] * 2), ([math.nan], [True]), ([0.0], [])])
def test_thresholds_that_do_not_rise_are_refused(cuts, upper):
    with pytest.raises(ValueError, match="rising order"):
        Bands(cuts, upper)


def wrong(**methods):
    return type("Wrong", (Band,), methods)([0.0, 1.0])


def half_lost():
    """A rule of two answers, the wrong one of which loses a half."""
    return type("HalfLost", (Labels,), {"losses": lambda self, a, b: 0.5 * (a != b)})("sign", 2)


@pytest.mark.parametrize(
    ("output", "clause"),
    [
        (wrong(answers=lambda self, f: Band.answers(self, f).astype(np.int64)), "int32"),
        (wrong(answers=lambda self, f: Band.answers(self, f) + 1), "n_answers - 1"),
        (wrong(answers=lambda self, f: np.full(len(np.atleast_1d(f)), len(f) % 2, np.int32)), "other rows"),
        (wrong(judged=lambda self, f: (Band.answers(self, f) * 0, Band.judged(self, f)[1])), "clear margin"),
        (wrong(judged=lambda self, f: (Band.answers(self, f), np.nan_to_num(Band.judged(self, f)[1]))), "NaN"),
        (wrong(centre=0.0), "centre"),
        (wrong(settled=lambda self, f, e: (Band.answers(self, f), e < np.inf)), "within"),
        (wrong(settled=lambda self, f, e: (Band.answers(self, f), ~np.isnan(f[:, 0]))), "settled"),
        (wrong(losses=lambda self, a, b: 1.0 + (a != b)), "losses"),
        (wrong(losses=lambda self, a, b: np.ones(len(a))), "lose nothing"),
        (half_lost(), "losses.*where there is a centre"),
    ],
)
def test_a_wrong_output_is_told_what_is_wrong(output, clause):
    with pytest.raises(AssertionError, match=clause):
        check_output(output)


def test_two_outputs_cannot_share_a_name():
    with pytest.raises(TypeError, match=r"called Labels already: wald\.outputs\.labels\.Labels"):
        type("Labels", (Output,), {})


# ---- an output from outside ------------------------------------------------------------------------------------------


def rows(n=8000, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, 0.02, d)
    return X, X.sum(axis=1) + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def served():
    X, y = rows()
    model = BandRegression().fit(X[:1000], y[:1000])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, planner=Planner(cost="units"), random_state=0)
    return model, fast.fit(X[1000:6000]), X[6000:]


@pytest.mark.slow
def test_a_band_is_planned_certified_and_predicted(served):
    model, fast, X = served
    labels, cost = fast.predict(X, return_cost=True)
    own = model.predict(X)
    assert fast.certificate_.status == "certified"
    assert str(fast.certificate_).startswith("another band <= 2 %")
    assert 0 < (labels != own).mean() <= 0.02
    assert cost.mean() < 0.6 * fast.plan_.full_cost
    assert [fast.predict_one(x) for x in X[:50]] == labels[:50].tolist()
    assert (fast.set_params(risk=0.02).recertify(X).predict(X[:200]) == labels[:200]).mean() > 0.97


def test_a_band_is_watched_drawn_inspected_and_saved(served, tmp_path, capsys, monkeypatch):
    model, fast, X = served
    watched = fast.watched(1.0)
    labels = watched.predict(X)
    line = watched.monitor_.lines[0]
    assert (line.n_audits, line.n_disagreements) == (len(X), int((labels != model.predict(X)).sum()))
    assert watched.monitor_.state == "holding"
    TradeoffDisplay.from_estimator(fast, X)
    StoppingPathDisplay.from_estimator(fast, X)
    path = tmp_path / "bands.wald"
    with pytest.warns(UserWarning, match="not the estimator itself"):
        wald.save(fast, path)
    again = wald.load(path)
    np.testing.assert_array_equal(again.predict(X), labels)
    assert str(again.certificate_) == str(fast.certificate_)
    assert again.compiled_plan_.model.decision.cuts == [-1.0, 1.0]
    monkeypatch.setattr(sys, "argv", ["wald", "inspect", str(path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert "another band <= 2 %" in capsys.readouterr().out


def test_losses_between_0_and_1_are_certified_by_bets(tmp_path):
    X, y = rows(9000)
    cuts = np.linspace(-2, 2, 9)
    model = BandRegression(cuts=tuple(cuts), steps=True).fit(X[:1000], y[:1000])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.01, planner=Planner(cost="units"), random_state=0).fit(
        X[1000:6000]
    )
    certificate = fast.certificate_
    assert certificate.status == "certified"
    assert certificate.strata[0].p_value <= 0.05
    assert certificate.verify()
    assert not replace(certificate, strata=(replace(certificate.strata[0], p_value=0.2),)).verify()
    labels, own = fast.predict(X[6000:]), model.predict(X[6000:])
    assert 0 < (np.abs(labels - own) / 9).mean() <= 0.01
    assert (labels != own).mean() > 0.01  # of which most lose a ninth
    path = tmp_path / "steps.wald"
    with pytest.warns(UserWarning, match="not the estimator itself"):
        wald.save(fast, path)
    assert wald.load(path).certificate_ == certificate
    refuse_forged(path)
    watched = fast.watched(1.0)
    watched.predict(X[6000:])
    assert watched.monitor_.lines[0].n_disagreements == pytest.approx((np.abs(labels - own) / 9).sum())


def refuse_forged(path):
    """Load files whose certificate does not follow from its losses."""
    fields, arrays = taken_apart(path.read_bytes())
    n_rows = fields["certificate"]["strata"][0]["n_rows"]
    for forged in ({"p_value": None}, {"p_value": -1.0}, {"p_value": 0.0}, {"n_disagreements": 0.011 * n_rows}):
        changed = copy.deepcopy(fields)
        changed["certificate"]["strata"][0] |= forged
        path.write_bytes(put_together(changed, arrays))
        with pytest.raises(FileFormatError, match="does not follow from its own counts"):
            wald.load(path)


@pytest.mark.long
def test_bets_keep_the_promise():
    """Of 400 certificates of losses in [0, 1], at most a share of .05 (and its scatter) exceeds what it promises."""
    broken = 0
    rng = np.random.default_rng(0)
    boundary, grid = Boundary.upper([0.0], [1.0]), np.geomspace(4.0, 0.01, 200)

    def draw(n):
        full = rng.integers(0, 5, n)
        margin = rng.exponential(size=n)
        off = rng.integers(-1, 2, n) * (rng.random(n) < np.exp(-2 * margin))
        early = np.clip(full + off, 0, 4)
        return StageScores(
            full=full.astype(np.int32),
            margins=margin[:, None],
            answers=early.astype(np.int32)[:, None],
            losses=(np.abs(early - full) / 4)[:, None],
        )

    truth = draw(1_000_000)
    for _ in range(400):
        certificate = certify(draw(3000), boundary, risk=0.01, confidence=0.95, q_grid=grid)
        lost = truth.lost(*truth.leave(*boundary.thresholds(certificate.q, np.float64))).mean()
        broken += lost > 0.01
    assert broken <= 32  # the binomial's .99 quantile at .05 and 400


def test_an_interval_of_losses_holds_them():
    rng = np.random.default_rng(0)
    full = rng.integers(0, 3, 2000).astype(np.int32)
    table = StageScores(
        full=full, margins=np.ones((2000, 1)), answers=full[:, None], losses=rng.uniform(0, 0.2, (2000, 1))
    )
    certificate = measure(table, Boundary.upper([0.0], [0.0]), confidence=0.95)
    (low, high), mean = certificate.intervals[0], float(table.losses.mean())
    assert low < mean < high < mean + 0.04
    assert "a loss of" in str(certificate)


def test_an_output_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Output()
