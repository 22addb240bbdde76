"""A finite data set, answered with few calls: the promise, the calls, and what is refused."""

from __future__ import annotations

import asyncio
import copy
import pickle
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from wald import CallError, Calls, EarlyExitClassifier, Surrogate, answer
from wald.answering import calls_needed
from wald.answering.cuts import best_sample, cut, fewest_sampled, most_seen


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


@pytest.mark.slow
def test_given_surrogates_help(data):
    X, model = data
    oracle = Surrogate(lambda rows: model.predict_proba(rows)[:, 1], cost=0.5, name="the model's own probability")
    alone, helped = (
        [answer(X[:3000], model, risk=0.01, surrogates=given, random_state=seed) for seed in range(3)]
        for given in (None, [oracle])
    )
    assert sum(each.n_calls for each in helped) < sum(each.n_calls for each in alone)
    assert "the model's own probability" in helped[0].surrogates


@pytest.mark.slow
def test_random_surrogates_do_no_harm():
    rng = np.random.default_rng(0)
    rows = [f"word{i}" for i in range(1200)]  # nothing can be learnt of them
    labels = dict(zip(rows, rng.integers(2, size=1200).tolist(), strict=True))
    found = answer(rows, lambda some: np.array([labels[row] for row in some]), risk=0.01, random_state=0)
    assert found.n_calls > 1150


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
        CallError, match=r"max_calls=700 are too few: the promise takes about .* of 8 000 rows"
    ) as error:
        answer(X, asked, risk=0.01, max_calls=700, random_state=0)
    assert 300 <= asked.calls.sum() == error.value.partial.decided.sum() <= 700
    found = answer(X, asked, risk=0.01, resume=error.value.partial, random_state=0)
    assert asked.calls.max() == 1
    assert found.n_calls == asked.calls.sum()
    found = answer(X, model, risk=0.05, max_calls=6000, random_state=0)
    assert found.n_calls <= 6000


def test_the_least_number_of_calls_is_known_before_the_first(data):
    X, model = data
    least, asked = calls_needed(len(X), risk=0.02), Counting(X, model)
    with pytest.raises(
        ValueError, match=f"max_calls={least - 1} are too few: the promise takes at least {least} of 8 000"
    ):
        answer(X, asked, risk=0.02, max_calls=least - 1)
    assert asked.calls.sum() == 0
    assert calls_needed(600) == 600
    assert calls_needed(10_000, 0.01) > calls_needed(10_000, 0.05) > 300
    with pytest.raises(ValueError, match="n_rows must be a whole number"):
        calls_needed(2.5)


def test_five_hundred_calls_are_enough_for_easy_rows():
    X = np.random.default_rng(0).uniform(size=(20_000, 2))
    found = answer(X, lambda rows: (rows[:, 0] > 0.5).astype(int), risk=0.05, max_calls=500, random_state=0)
    assert found.n_calls <= 500
    assert np.mean(found.labels != (X[:, 0] > 0.5)) <= 0.05


@pytest.mark.parametrize("risk", [0.01, 0.03, 0.1])
def test_five_hundred_calls_make_a_promise_or_say_why_not(data, risk):
    X, model = data
    asked = Counting(X, model)
    try:
        found = answer(X, asked, risk=risk, max_calls=500, random_state=1)
    except (CallError, ValueError) as error:
        found = str(error)
    assert asked.calls.sum() <= 500
    if isinstance(found, str):
        assert "max_calls=500 are too few" in found
    else:
        assert np.mean(found.labels != model.predict(X)) <= risk


def test_answers_that_are_paid_for_are_not_asked_again(data):
    X, model = data
    own = model.predict(X)
    log = {int(row): own[row] for row in np.flatnonzero(X[:, 0] > np.quantile(X[:, 0], 0.8))}  # no fair sample
    asked = Counting(X, model)
    found = answer(X, asked, risk=0.02, answers=log, random_state=0)
    assert not asked.calls[list(log)].any()
    assert found.asked[list(log)].all()
    assert found.n_calls == asked.calls.sum() == found.asked.sum() - len(log) < 2000
    assert (found.labels[found.asked] == own[found.asked]).all()
    assert np.mean(found.labels != own) <= 0.02
    again = answer(X, asked, risk=0.02, answers=found.answers, random_state=0)
    assert asked.calls.max() == 1
    assert again.n_calls < found.n_calls


def test_answers_of_all_rows_take_no_call(data):
    X, model = data

    def never(rows):
        raise AssertionError

    found = answer(X, never, answers=model.predict(X), max_calls=1)
    assert found.n_calls == 0
    assert (found.labels == model.predict(X)).all()


def test_a_log_of_other_answers_is_refused(data):
    X, model = data
    with pytest.raises(ValueError, match=r"answers has 'maybe' for row 7, which is none of the classes"):
        answer(X, model, answers={7: "maybe"})
    with pytest.raises(ValueError, match="one entry for each of the 8000 rows"):
        answer(X, model, answers=["yes"])


def test_inside_of_a_running_loop(data):
    X, model = data
    attempts = []

    async def served(rows):
        await asyncio.sleep(0)
        attempts.append(len(rows))
        if len(attempts) % 5 == 0:
            raise ConnectionError("try again")
        return model.predict(rows)

    async def notebook():
        calls = Calls(served, batch_size=40, max_concurrency=4, retries=3, backoff=0.001)
        return answer(X[:2000], calls, risk=0.03, random_state=0), calls

    found, calls = asyncio.run(notebook())
    assert np.mean(found.labels != model.predict(X[:2000])) <= 0.03
    assert calls.total.rows == found.n_calls
    assert calls.total.retries > 0


def test_a_call_that_fails_loses_nothing(data):
    X, model = data
    asked, down = Counting(X, model), [True]

    def served(rows):
        if down[0] and asked.calls.sum() > 400:
            raise ConnectionError("the server is down")
        return asked(rows)

    calls = Calls(served, batch_size=50)
    with pytest.raises(CallError, match=r"'served' failed for row .*the server is down") as error:
        answer(X, calls, risk=0.02, random_state=0)
    partial, down[0] = error.value.partial, False
    assert partial.decided.sum() == asked.calls.sum() > 400
    assert (partial.labels[partial.decided] == model.predict(X[partial.decided])).all()
    found = answer(X, calls, risk=0.02, resume=partial, random_state=0)
    assert asked.calls.max() == 1
    assert (found.labels == answer(X, model, risk=0.02, random_state=0).labels).all()
    with pytest.raises(ValueError, match="about the same 10 rows"):
        answer(X[:10], calls, resume=partial)


def test_who_goes_on_keeps_the_sample(data):
    """A second sample, because the first has shown many wrong rows, would be a second chance to show few."""
    X, model = data
    whole = answer(X, model, risk=0.01, random_state=2)
    asked = Counting(X, model)
    with pytest.raises(CallError, match=r"are too few: the promise takes about .* Allow more calls\.") as error:
        answer(X, asked, risk=0.01, max_calls=whole.n_calls - 1, random_state=2)
    for given in ({"risk": 0.05}, {"confidence": 0.9}):
        with pytest.raises(ValueError, match=r"a sample that was drawn for risk=0\.01 and confidence=0\.95"):
            answer(X, asked, **{"risk": 0.01, "resume": error.value.partial, **given})
    partial = pickle.loads(pickle.dumps(error.value.partial))
    log = {0: model.predict(X[:1])[0]}
    for seed, answers in ((0, None), (1, None), (2, log)):
        found = answer(X, model, risk=0.01, resume=copy.deepcopy(partial), answers=answers, random_state=seed)
        assert (found.labels[~whole.asked] == whole.labels[~whole.asked])[1:].all()
        assert (found.asked == whole.asked)[1:].all()
    found = answer(X, model, risk=0.01, answers=partial, random_state=3)
    assert (found.asked == whole.asked).all()
    assert found.n_calls == whole.n_calls - partial.decided.sum()


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
        ({"risk": {"yes": 0.01}}, "answer promises one risk for all rows"),
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
    for n_rows, size, allowed in ((1000, 200, 20), (30_000, 1500, 300), (500, 450, 5)):
        most = most_seen(n_rows, size, allowed, 0.95)
        assert hypergeom.cdf(most, n_rows, allowed + 1 + most, size) <= 0.05
        assert hypergeom.cdf(most + 1, n_rows, allowed + 2 + most, size) > 0.05
    assert most_seen(1000, 10, 20, 0.95) == -1
    assert most_seen(1000, 10, 1000, 0.95) == 10
    assert most_seen(1000, 980, 20, 0.95) == 980


def test_the_smallest_sample_is_the_smallest():
    for n_rows, allowed in ((1000, 20), (30_000, 300), (500, 0)):
        size = fewest_sampled(n_rows, allowed, 0.95)
        assert most_seen(n_rows, size, allowed, 0.95) >= 0 > most_seen(n_rows, size - 1, allowed, 0.95)
    assert fewest_sampled(10, 10, 0.95) == 0


def test_the_best_sample_leaves_rows():
    rates = np.where(np.arange(10_000) < 9000, 0.0, 0.5)
    size, calls = best_sample(rates, 100, 0.95, (100, 300, 1000))
    assert size in (300, 1000)
    assert 1000 < calls < 2500
    assert best_sample(np.ones(10_000), 100, 0.95, (300,)) == (300, pytest.approx(9966, abs=2))
    assert best_sample(np.ones(10_000), 100, 0.95, (100,)) == (0, 10_000.0)


@pytest.mark.parametrize(
    ("n_sampled", "allowed", "confidence"), [(2, 3, 0.5), (3, 2, 0.6), (4, 1, 0.6), (4, 2, 0.9), (6, 1, 0.8)]
)
def test_no_wrong_rows_break_the_promise_of_a_cut_more_often(n_sampled, allowed, confidence):
    """All samples of 8 rows, for all sets of wrong rows."""
    most = most_seen(8, n_sampled, allowed, confidence)
    assert most >= 0
    samples, broken = [np.array(some) for some in combinations(range(8), n_sampled)], 0.0
    for wrong in np.array(list(product([False, True], repeat=8))):
        cuts = [cut(places, wrong[places], most, 8) for places in samples]
        left = [wrong[:n].sum() - wrong[some[some < n]].sum() for n, some in zip(cuts, samples, strict=True)]
        broken = max(broken, np.mean(np.array(left) > allowed))
    assert broken <= 1 - confidence + 1e-12


def test_the_cut_breaks_its_promise_seldom():
    """Two thousand draws of a data set at whose worst cut the promise is just about broken."""
    rng, broken, n, size, allowed = np.random.default_rng(0), 0, 1000, 150, 30
    most = most_seen(n, size, allowed, 0.95)
    for _ in range(2000):
        wrong = rng.random(n) < np.linspace(0.0, 0.1, n)
        places = np.sort(rng.choice(n, size, replace=False))
        left = cut(places, wrong[places], most, n)
        broken += wrong[:left].sum() - wrong[places[places < left]].sum() > allowed
    assert 0 < broken <= 0.05 * 2000 + 3 * np.sqrt(0.05 * 0.95 * 2000)
