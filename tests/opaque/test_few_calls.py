"""`fit` asks a costly model little, never more than it may, and never about what is paid for."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from wald import CallError, Calls, EarlyExitClassifier, Planner, Surrogate, load, save
from wald.calls import PartialAnswer, logged_answers
from wald.early_exit.fitting.late_answers import LateAnswers
from wald.early_exit.fitting.late_certificate import LateCertificate
from wald.surrogates import held_out

X, y = make_classification(
    6000, 6, n_informative=5, n_redundant=0, n_classes=3, n_clusters_per_class=1, class_sep=1.0, random_state=0
)
NAMES = np.array(["ant", "bee", "cow"])
MODEL = GaussianNB().fit(X[:500], y[:500])
SMALL = LogisticRegression().fit(X[500:1000], y[500:1000])
LOOK = Surrogate(SMALL, cost=0.01)
ROWS = X[1000:5000]
OWN = NAMES[MODEL.predict(ROWS)]
NUMBER = {row.tobytes(): i for i, row in enumerate(ROWS)}


class Server:
    """Answers rows, remembers which, and fails after so many."""

    def __init__(self, left=np.inf, seconds=0.0):
        self.left, self.asked, self.seconds = left, [], seconds

    def __call__(self, rows):
        if len(rows) > self.left:
            raise ConnectionError("the server is down")
        self.left -= len(rows)
        numbers = [NUMBER[row.tobytes()] for row in np.asarray(rows)]
        self.asked += numbers
        time.sleep(self.seconds * len(numbers))
        return OWN[numbers]


def fitted(server, answers=None, max_calls=None, groups=None, **given):
    given = {"risk": 0.03, "surrogates": [LOOK], "random_state": 0, **given}
    fast = EarlyExitClassifier(server, **given)
    return fast.fit(ROWS, answers=answers, max_calls=max_calls, groups=groups)


def repeated(server):
    """Rows that were asked more than once."""
    return len(server.asked) - len(set(server.asked))


@cache
def plain():
    """A fit that may ask as much as it wants, and who was asked."""
    server = Server()
    return fitted(Calls(server, batch_size=10)), server


def test_rows_that_do_not_leave_are_not_asked_and_the_promise_is_the_same():
    (fast, server), none = plain(), Server()
    known = fitted(none, answers=OWN)
    assert fast.certificate_ == known.certificate_
    assert fast.certificate_.status == "certified"
    assert fast.plan_.q == known.plan_.q
    assert fast.n_calls_ == len(server.asked) < 0.8 * len(ROWS)
    assert repeated(server) == 64
    assert known.n_calls_ == len(none.asked) == 64
    needed = fast.calls_needed(len(ROWS))
    assert needed.least < fast.n_calls_ < needed.most
    assert needed == (68, 864, 4064)


@pytest.mark.parametrize(
    ("max_calls", "given"),
    [
        (68, {}),
        (100, {"risk": 0.001}),
        (400, {"risk": {"each": 0.1}}),
        (68, {"risk": {"each": 0.1}}),
        (4000, {"risk": {"each": 0.1}, "surrogates": [Surrogate(SMALL, cost=3.0)]}),
        (100, {"risk": None}),
        (300, {"risk": {"all": 0.05}, "groups": np.arange(len(ROWS)) // 3}),
        (10_000, {}),
    ],
    ids=["fewest", "small", "each", "each, fewest", "each, costly", "measured", "groups", "many"],
)
@pytest.mark.filterwarnings("ignore")
def test_never_more_calls_than_allowed(max_calls, given):
    server = Server()
    fast = fitted(server, max_calls=max_calls, **given)
    assert len(server.asked) == fast.n_calls_ <= max_calls
    assert repeated(server) <= 64
    assert fast.certificate_.verify()
    assert fast.certificate_.status in ("certified", "measured") or fast.plan_.evaluate_all


def test_some_hundred_calls_make_a_promise():
    server = Server()
    fast = fitted(server, max_calls=400, risk=0.05)
    assert fast.certificate_.status == "certified"
    assert fast.certificate_.n_rows < 400
    assert np.mean(fast.predict(ROWS) != OWN) <= 0.05
    assert fast.plan_.reached[-1] < 0.8


@pytest.mark.slow
def test_surrogates_are_learnt_with_few_calls():
    server = Server(seconds=1e-3)
    fast = fitted(server, max_calls=500, surrogates=None, risk=0.1)
    assert len(server.asked) == fast.n_calls_ <= 500
    assert fast.certificate_.status == "certified"
    assert fast.calls_needed(4000) == (168, 1984, 4064)


def test_no_row_of_a_certificate_group_decides_how_many_are_counted(monkeypatch):
    """A log may know the mates of rows because of what these are answered."""
    kept, groups = [], np.arange(len(ROWS)) // 3
    monkeypatch.setattr(LateAnswers, "likely_unknown", lambda self, rows: kept.append(rows) or 1.0)
    fitted(Server(), max_calls=300, risk=0.05, groups=groups)
    (rows,) = kept
    assert 0 < len(rows) == np.isin(groups, groups[rows]).sum()


@pytest.mark.parametrize("groups", [None, np.arange(len(ROWS)) // 3], ids=["rows", "groups"])
def test_no_row_that_learns_or_plans_certifies(monkeypatch, groups):
    """Whatever the log knows: here those rows of which the surrogate is wrong."""
    learnt, parts = [], []

    def learn(source, *rest):
        learnt.append(source.array())
        return [Surrogate(SMALL, cost=0.01)]

    def certified(self, model, plan, validation, rows, places, *rest):
        parts.append((rows.raw.array(), len(validation.full)))
        return whole(self, model, plan, validation, rows, places, *rest)

    whole = LateCertificate.certified
    monkeypatch.setattr(held_out, "learn", learn)
    monkeypatch.setattr(LateCertificate, "certified", certified)
    log = {i: OWN[i] for i in np.flatnonzero(NAMES[SMALL.predict(ROWS)] != OWN).tolist()}
    server = Server()
    fast = fitted(server, answers=log, max_calls=600, surrogates=None, groups=groups)
    ((rows, n_planned),) = parts
    taught, counted = ([NUMBER[row.tobytes()] for row in some] for some in (learnt[0], rows))
    assert len(taught) > 100
    assert n_planned > 10
    assert not set(taught) & set(counted)
    if groups is not None:
        assert not set(groups[taught]) & set(groups[counted])
    # rows certify whether the log has them or not
    known = np.mean([row in log for row in counted])
    assert abs(known - len(log) / len(ROWS)) < 0.04
    assert fast.n_calls_ <= 600


def test_too_few_calls_for_a_promise_are_named():
    with pytest.warns(
        UserWarning, match=r"max_calls=80 left 12 calls for the certificate, and no early exits are sure"
    ):
        fast = fitted(Server(), max_calls=80, risk=0.005, surrogates=[Surrogate(SMALL, cost=0.1)])
    assert fast.plan_.evaluate_all
    assert str(fast.certificate_).startswith("no early exit: max_calls=80")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"max_calls": 60}, ValueError, "max_calls=60 are too few: fit asks about at least 68 rows, 60 that plan, and"),
        ({"max_calls": 150, "surrogates": None}, ValueError, "168 rows, 100 from which surrogates are learnt, 60 that"),
        ({"max_calls": 0}, ValueError, "max_calls must be a whole number of at least 1"),
        ({"max_calls": True}, ValueError, "max_calls must be a whole number"),
        ({"max_calls": 500, "planner": Planner(n_splits=2)}, ValueError, "max_calls takes one split"),
        ({"answers": OWN[:9]}, ValueError, "one entry for each of the 4000 rows of X .* Got 9"),
        ({"answers": OWN[:, None]}, ValueError, r"one entry for each .* the shape \(4000, 1\)"),
        ({"answers": {4000: "ant"}}, ValueError, "numbers from 0 to 3999. Got 4000"),
        ({"answers": {"a": "ant"}}, ValueError, "numbers from 0 to 3999. Got 'a'"),
        ({"answers": "ant"}, TypeError, "answers must be a list or an array, or a dict"),
        ({"answers": np.roll(OWN, 1)}, ValueError, r"otherwise than answers says \(row \d+ of them first\)"),
        ({"answers": np.arange(4000)}, ValueError, "64 of 64 rows otherwise than answers says"),
    ],
)
def test_bad_calls_and_answers(given, error, message):
    with pytest.raises(error, match=message):
        fitted(Server(), **given)


def test_a_log_of_texts_for_a_model_of_numbers():
    with pytest.raises(ValueError, match="rows otherwise than answers says"):
        fitted(MODEL.predict, answers=dict.fromkeys(range(8), "ant"))


@pytest.mark.parametrize("risk", [{"all": 0.1, "wasp": 0.1}, {"all": 0.1, "predicted wasp": 0.1}])
def test_strata_that_are_no_classes_are_refused_before_anything_is_asked(risk):
    server = Server()
    server.classes_ = NAMES
    with pytest.raises(ValueError, match=r"none of the classes .?ant"):
        fitted(server, risk=risk)
    assert not server.asked


@pytest.mark.parametrize("n", [1, 2, 5])
def test_too_few_rows(n):
    with pytest.raises(ValueError, match=r"n_samples=|one label, .*, for all \d rows"):
        EarlyExitClassifier(Server(), risk=0.05, random_state=0).fit(ROWS[:n])


def test_a_log_of_a_model_that_is_not_trained_yet():
    fast = EarlyExitClassifier(GaussianNB(), surrogates=[LOOK], risk=0.05)
    with pytest.raises(ValueError, match="answers are those of a model, and fit trains another one"):
        fast.fit(ROWS, OWN, answers=OWN)


def test_answers_that_are_none_of_the_classes():
    with pytest.raises(ValueError, match=r"answers has 7 for row 3, which is none of the classes of GaussianNB: 0, 1"):
        EarlyExitClassifier(MODEL, surrogates=[LOOK], risk=0.05).fit(ROWS, answers={3: 7, 9: 1})


def test_what_reads_the_model_asks_nothing():
    fast = EarlyExitClassifier(SMALL, risk=0.05)
    assert fast.calls_needed(1000) == (0, 0, 0)
    for given in ({"max_calls": 9}, {"answers": OWN}):
        with pytest.raises(ValueError, match=r"is for models that are asked .* wald reads LogisticRegression"):
            fast.fit(ROWS, **given)


HALF = np.random.default_rng(0).random(len(ROWS)) < 0.5


@pytest.mark.parametrize(
    "log",
    [
        [label if known else None for label, known in zip(OWN.tolist(), HALF, strict=True)],
        pd.Series(OWN).where(HALF),
        pd.Series(OWN, dtype="string").where(HALF),
        np.ma.masked_array(OWN, ~HALF),
        np.where(HALF, OWN, None),
        {i: OWN[i] for i in np.flatnonzero(HALF)},
        PartialAnswer(OWN, HALF, np.zeros(len(OWN))),
    ],
    ids=["list", "series", "strings", "masked", "array", "dict", "partial"],
)
def test_a_log_in_any_form(log):
    rows, labels = logged_answers(log, len(OWN))
    assert np.array_equal(rows, np.flatnonzero(HALF))
    assert np.array_equal(labels, OWN[HALF])


def test_rows_of_a_log_are_asked_only_to_check_it():
    server = Server()
    fast = fitted(server, answers=np.where(HALF, OWN, None))
    asked = np.bincount(server.asked, minlength=len(ROWS))
    assert asked[HALF].sum() + (asked == 2).sum() == 64
    assert fast.classes_.tolist() == NAMES.tolist()
    assert fast.certificate_ == plain()[0].certificate_


def test_numbers_with_nan_are_labels():
    log = np.where(HALF, MODEL.predict(ROWS), np.nan)
    fast = EarlyExitClassifier(MODEL, surrogates=[LOOK], risk=0.05, random_state=0).fit(ROWS, answers=log)
    assert fast.n_calls_ < 0.6 * len(ROWS)
    assert fast.predict(ROWS[:9]).dtype.kind == "i"


def test_a_log_leaves_more_calls_for_the_certificate():
    plain, logged = fitted(Server(), max_calls=300), fitted(Server(), max_calls=300, answers=np.where(HALF, OWN, None))
    assert logged.n_calls_ <= 300
    assert logged.certificate_.n_rows > plain.certificate_.n_rows


@pytest.mark.parametrize("left", [30, 900, 1500])
def test_what_was_paid_stays_when_a_call_fails(left):
    (fast, whole), server = plain(), Server(left)
    calls = Calls(server, batch_size=10, name="server")
    with pytest.raises(CallError, match="the server is down") as found:
        fitted(calls)
    partial, before = found.value.partial, list(server.asked)
    assert set(np.flatnonzero(partial.decided)) == set(before)
    assert (partial.labels[partial.decided] == OWN[partial.decided]).all()
    assert set(found.value.rows) <= set(whole.asked) - (set(before) if left != 900 else set())
    server.left = np.inf
    again = fitted(calls, answers=partial)
    assert again.certificate_ == fast.certificate_
    assert len(set(server.asked) ^ set(whole.asked)) < 64
    assert repeated(server) <= 2 * 64


def late(label, own):
    """A function that gives a label to few rows, which plan nothing and leave early."""
    n_planned = plain()[0].calls_needed(len(ROWS)).least
    rare = plain()[1].asked[n_planned : n_planned + 5]

    def ask(rows):
        numbers = [NUMBER[row.tobytes()] for row in rows]
        return np.where(np.isin(numbers, rare), label, own[numbers])

    return ask


def test_labels_that_only_the_certificate_shows():
    ask, none = late("bat", OWN), Server()
    fast, plan = fitted(ask), fitted(none, answers=OWN).plan_
    assert fast.classes_.tolist() == ["ant", "bat", "bee", "cow"]
    assert fast.certificate_.status == "certified"
    assert fast.plan_.q == pytest.approx(plan.q, rel=0.2)
    labels = fast.predict(ROWS)
    assert np.mean(labels != ask(ROWS)) < 0.03
    assert set(labels) <= set(fast.classes_)


def test_a_third_label_that_only_the_certificate_shows():
    ask = late("bat", np.where(OWN == "ant", "ant", "bee"))
    look = Surrogate(lambda rows: SMALL.predict_proba(rows)[:, 0] + 0.01 * rows[:, 1], cost=0.01)
    fast = fitted(ask, surrogates=[look])
    assert fast.classes_.tolist() == ["ant", "bat", "bee"]
    assert "only rows of the certificate have shown the label 'bat'" in str(fast.certificate_)
    assert fast.plan_.evaluate_all
    assert (fast.predict(ROWS) == ask(ROWS)).all()


@pytest.mark.parametrize(
    ("risk", "certified"),
    [
        ({"each": 0.3}, False),
        ({"ant": 0.3, "bee": 0.3, "cow": 0.3}, False),
        ({"predicted ant": 0.3, "predicted bee": 0.4, "predicted cow": 0.4}, True),
        ({"all": 0.05, "ant": 0.3}, True),
    ],
    ids=["each", "named", "predicted", "all"],
)
def test_a_label_that_only_the_certificate_shows_is_in_no_stratum(tmp_path, risk, certified):
    """All rows of it that leave early are wrong, and a promise by class would not say so."""
    none = Server()
    fitted(none, risk=risk, max_calls=3000)

    def ask(rows):
        numbers = [NUMBER[row.tobytes()] for row in rows]
        return np.where(np.isin(numbers, none.asked[-100:]), "zat", OWN[numbers])

    fast = fitted(ask, risk=risk, max_calls=3000)
    assert fast.classes_.tolist() == [*NAMES, "zat"]
    assert fast.certificate_.status == ("certified" if certified else "full")
    assert certified or "the label 'zat', of which risk says nothing" in str(fast.certificate_)
    watched = fast.watched(1.0)
    labels = watched.predict(ROWS)
    assert certified or (labels == ask(ROWS)).all()
    promised = {s.name: fast.certificate_.risk_of(s) for s in fast.certificate_.strata}
    lines = {line.name: line.risk for line in watched.monitor_.lines}
    assert promised.items() <= lines.items()
    with pytest.warns(UserWarning, match="loaded by"):
        save(fast, tmp_path / "fast.wald")
    read = load(tmp_path / "fast.wald", estimator=ask)
    assert read.certificate_ == fast.certificate_
    assert (read.watched(1.0).predict(ROWS) == labels).all()


#: Draws of the rows of `fit`.
DRAWS = 100


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [{}, {"max_calls": 300}])
def test_promises_hold_as_often_as_they_say(given):
    many = np.random.default_rng(1).normal(size=(30_000, 3))
    true = many[:, 0] + 0.5 * many[:, 1] > 0

    def ask(rows):
        return rows[:, 0] + 0.5 * rows[:, 1] > 0

    look = Surrogate(lambda rows: rows[:, 0] + 0.3 * rows[:, 2], cost=0.01)
    broken = 0
    for seed in range(DRAWS):
        rows = many[np.random.default_rng(seed).choice(len(many), 1200, replace=False)]
        fast = EarlyExitClassifier(ask, surrogates=[look], risk=0.05, random_state=seed).fit(rows, **given)
        broken += np.mean(fast.predict(many) != true) > 0.05
    assert broken <= DRAWS * 0.05 + 3 * (DRAWS * 0.05 * 0.95) ** 0.5
