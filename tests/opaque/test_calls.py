"""Models that are called: in batches, at once, again after they fail."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from wald import CallError, Calls, EarlyExitClassifier, Surrogate, answer
from wald.models import fitted_for_good

X, y = make_classification(2500, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)
MODEL = GaussianNB().fit(X[:300], y[:300])
LOOK = Surrogate(lambda rows: MODEL.predict_joint_log_proba(rows) @ [-1.0, 1.0], cost=0.01, name="odds")


def test_an_async_model_that_fails_now_and_then_loses_no_row():
    sizes, rng = [], np.random.default_rng(0)

    async def served(rows):
        await asyncio.sleep(0.0005)
        sizes.append(len(rows))
        if rng.random() < 0.1:
            raise ConnectionError("the server is busy")
        return MODEL.predict(rows)

    calls = Calls(served, batch_size=50, max_concurrency=4, retries=6, backoff=0.0005)
    fast = EarlyExitClassifier(calls, surrogates=[LOOK], risk=0.05, random_state=0).fit(X[300:2000])
    assert max(sizes) == 50
    assert np.mean(fast.predict(X[2000:]) != MODEL.predict(X[2000:])) < 0.06
    found = answer(X[300:], calls, risk=0.05, surrogates=[LOOK], random_state=0)
    assert np.mean(found.labels != MODEL.predict(X[300:])) <= 0.05


def test_a_model_that_stays_down_is_named_with_its_rows():
    def down(rows):
        raise ConnectionError("the server is down")

    with pytest.raises(CallError, match=r"'down' failed for row 0.*the server is down"):
        EarlyExitClassifier(Calls(down, retries=1, backoff=0.0), risk=0.05).fit(X)


class Connected:
    """A client whose connections belong to one event loop."""

    def __init__(self):
        self.loops = set()

    async def __call__(self, rows):
        await asyncio.sleep(0)
        self.loops.add(asyncio.get_running_loop())
        return MODEL.predict(rows)

    def __getstate__(self):
        return {"loops": set()}


def test_an_async_function_stays_in_one_loop():
    client = Connected()
    fast = EarlyExitClassifier(client, surrogates=[LOOK], risk=0.05, random_state=0).fit(X[300:2000])
    labels = [fast.predict(X[2000:]), fast.predict(X[2000:])]
    assert np.array_equal(*labels)
    assert len(client.loops) == 1
    asked = fitted_for_good(client)
    again = pickle.loads(pickle.dumps(asked))
    assert again.name == asked.name == "Connected"
    assert np.array_equal(again.predict(X[:9]), MODEL.predict(X[:9]))


def test_a_whole_data_set_is_asked_about_in_one_loop():
    client = Connected()
    answer(X[300:], client, risk=0.05, surrogates=[LOOK], random_state=0)
    assert len(client.loops) == 1


def test_classes_of_a_function_are_known_after_a_pickle():
    asked = fitted_for_good(Labelled())
    for each in (asked, pickle.loads(pickle.dumps(asked))):
        assert each.classes_.tolist() == [0, 1]


class Labelled:
    """A function that knows its classes."""

    classes_ = (0, 1)

    def __call__(self, rows):
        return MODEL.predict(rows)
