"""A finite data set, answered with few calls: the promise, the calls, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from wald import CallError, Calls, EarlyExitClassifier, Surrogate, answer
from wald.answering.cuts import cut, expected_calls, most_seen


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(9000, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)
    return X[1000:], KNeighborsClassifier().fit(X[:1000], np.array(["no", "yes"])[y[:1000]])


class Counting:
    """A function that counts how often it is asked about each row."""

    def __init__(self, X, model):
        self.places, self.model = {row.tobytes(): i for i, row in enumerate(X)}, model
        self.calls = np.zeros(len(X), dtype=int)

    def __call__(self, rows):
        for row in rows:
            self.calls[self.places[row.tobytes()]] += 1
        return self.model.predict(rows)


def test_few_rows_are_asked_each_once_and_few_answers_differ(data):
    X, model = data
    asked = Counting(X, model)
    found = answer(X, asked, risk=0.02, random_state=0)
    own = model.predict(X)
    assert np.mean(found.labels != own) <= 0.02
    assert found.n_calls == asked.calls.sum() == found.asked.sum() < 0.6 * len(X)
    assert asked.calls.max() == 1
    assert (found.labels[found.asked] == own[found.asked]).all()
    assert str(found).startswith("of these 8 000 rows at most 2 % differ")
    assert found.asked[found.suspects].all()


def test_the_same_seed_gives_the_same_answers(data):
    X, model = data
    one, two = (answer(X, model, risk=0.05, random_state=3) for _ in range(2))
    assert (one.labels == two.labels).all()
    assert one.n_calls == two.n_calls


def test_given_surrogates_help(data):
    X, model = data
    oracle = Surrogate(lambda rows: model.predict_proba(rows)[:, 1], cost=0.5, name="the model's own probability")
    alone, helped = (answer(X, model, risk=0.01, surrogates=given, random_state=0) for given in (None, [oracle]))
    assert helped.n_calls < alone.n_calls
    assert "the model's own probability" in helped.surrogates


def test_random_surrogates_do_no_harm():
    rng = np.random.default_rng(0)
    rows = [f"word{i}" for i in range(3000)]  # nothing can be learnt of them
    labels = dict(zip(rows, rng.integers(2, size=3000).tolist(), strict=True))
    found = answer(rows, lambda some: np.array([labels[row] for row in some]), risk=0.01, random_state=0)
    assert found.n_calls > 2900


def test_few_rows_are_all_asked(data):
    X, model = data
    found = answer(X[:200], model)
    assert found.n_calls == 200
    assert str(found) == "all 200 rows are answered by the model itself"
    assert (found.labels == model.predict(X[:200])).all()


def test_labels_that_come_late_are_labels():
    X = np.arange(4000.0)[:, None]
    found = answer(X, lambda rows: np.where(rows[:, 0] == 7.0, 2, (rows[:, 0] > 2000).astype(int)), random_state=0)
    assert set(found.labels) <= {0, 1, 2}


def test_no_more_calls_than_allowed(data):
    X, model = data
    asked = Counting(X, model)
    with pytest.raises(
        CallError, match=r"max_calls=500 are too few: the promise takes about .* of 8 000 rows"
    ) as error:
        answer(X, asked, risk=0.002, max_calls=500, random_state=0)
    assert asked.calls.sum() == error.value.partial.decided.sum() == 400
    found = answer(X, asked, risk=0.002, resume=error.value.partial, random_state=0)
    assert asked.calls.max() == 1
    assert found.n_calls == asked.calls.sum()
    with pytest.raises(ValueError, match="max_calls=50 are too few"):
        answer(X, model, max_calls=50)
    found = answer(X, model, risk=0.05, max_calls=6000, random_state=0)
    assert found.n_calls <= 6000


def test_a_call_that_fails_loses_nothing(data):
    X, model = data
    asked, down = Counting(X, model), [True]

    def served(rows):
        if down[0] and asked.calls.sum() > 700:
            raise ConnectionError("the server is down")
        return asked(rows)

    calls = Calls(served, batch_size=50)
    with pytest.raises(CallError, match=r"'served' failed for row .*the server is down") as error:
        answer(X, calls, risk=0.02, random_state=0)
    partial, down[0] = error.value.partial, False
    assert partial.decided.sum() == asked.calls.sum() > 700
    assert (partial.labels[partial.decided] == model.predict(X[partial.decided])).all()
    found = answer(X, calls, risk=0.02, resume=partial, random_state=0)
    assert asked.calls.max() == 1
    assert (found.labels == answer(X, model, risk=0.02, random_state=0).labels).all()
    with pytest.raises(ValueError, match="about the same 10 rows"):
        answer(X[:10], calls, resume=partial)


def test_rare_labels_and_one_label():
    X = np.random.default_rng(0).normal(size=(6000, 3))

    def rare(rows):
        return np.where(rows[:, 0] > 3.2, "rare", np.where(rows[:, 0] > 0, "yes", "no"))

    for model in (rare, lambda rows: np.where(rows[:, 0] > 3.3, 1, 0)):
        found = answer(X, model, risk=0.02, random_state=0)
        assert found.n_calls < 3000
        assert np.mean(found.labels != model(X)) <= 0.02


def test_rows_of_which_nothing_can_be_learnt():
    rows = [{"a": i} for i in range(1500)]
    odd = Surrogate(lambda some: np.array([row["a"] % 2 for row in some]), cost=0.01, name="odd")
    found = answer(rows, lambda some: [row["a"] % 2 for row in some], surrogates=[odd], risk=0.05, random_state=0)
    assert found.n_calls < 1500
    assert found.surrogates == ("odd",)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"surrogates": "auto"}, TypeError, "surrogates must be a list"),
        ({"surrogates": LogisticRegression()}, TypeError, "surrogates must be a list"),
        ({"resume": 3}, (ValueError, AttributeError), "resume must be|state"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
    ],
)
def test_other_bad_parameters(data, given, error, message):
    X, model = data
    with pytest.raises(error, match=message):
        answer(X[:700], model, **given)


@pytest.mark.parametrize("model", [LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]), object()])
def test_models_without_labels(data, model):
    with pytest.raises(TypeError, match="must be a fitted classifier, with predict and classes_, or a function"):
        answer(data[0][:700], model)
    with pytest.raises(TypeError, match=r"must be a fitted classifier|not supported"):
        EarlyExitClassifier(model, surrogates=[len]).fit(data[0][:700])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"risk": 0}, "risk must be a number above 0 and below 1"),
        ({"risk": True}, "risk must be a number"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"max_calls": 0}, "max_calls must be a whole number"),
        ({"max_calls": 2.5}, "max_calls must be a whole number"),
        ({"surrogates": [LogisticRegression()]}, "not fitted"),
    ],
)
def test_bad_parameters(data, given, message):
    X, model = data
    with pytest.raises(ValueError, match=message):
        answer(X[:700], model, **given)


# ---- the mathematics -------------------------------------------------------------------------------------------------


def test_most_seen_is_the_largest_count_that_refutes():
    for n_rows, size, allowed in ((1000, 200, 20), (30_000, 1500, 300), (500, 499, 5)):
        most = most_seen(n_rows, size, allowed, 0.95)
        assert hypergeom.cdf(most, n_rows, allowed + 1, size) <= 0.05
        assert hypergeom.cdf(most + 1, n_rows, allowed + 1, size) > 0.05
    assert most_seen(1000, 10, 20, 0.95) == -1
    assert most_seen(1000, 10, 1000, 0.95) == 10


def test_expected_calls_choose_a_size_that_leaves_rows():
    wrong = np.zeros(1000, dtype=bool)
    wrong[900::2] = True
    size, calls = expected_calls(wrong, 10_000, 100, 0.95, (100, 300, 1000))
    assert size in (300, 1000)
    assert 1000 < calls < 2500
    assert expected_calls(np.ones(100, dtype=bool), 10_000, 100, 0.95, (300,)) == (0, 10_000.0)


def test_the_cut_breaks_its_promise_seldom():
    """Two thousand draws of a data set at whose worst cut the promise is just about broken."""
    rng, broken, n, size, allowed = np.random.default_rng(0), 0, 1000, 150, 30
    most = most_seen(n, size, allowed, 0.95)
    for _ in range(2000):
        wrong = rng.random(n) < np.linspace(0.0, 0.1, n)
        places = np.sort(rng.choice(n, size, replace=False))
        left = cut(places, wrong[places], most, n)
        broken += wrong[:left].sum() > allowed
    assert 0 < broken <= 0.05 * 2000 + 3 * np.sqrt(0.05 * 0.95 * 2000)
