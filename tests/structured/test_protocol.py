"""check_model accepts models that keep the contract, and names the clause that is broken."""

from __future__ import annotations

import numpy as np
import pytest

from wald.datasets import make_chains
from wald.outputs import Parts
from wald.structured import ChainClassifier, FeatureGroup
from wald.structured.protocol import Session, StructuredModel, check_model

X, Y = make_chains(40, random_state=0)


def chain(n_groups=2, **parameters):
    groups = [FeatureGroup("half", lambda parts: parts[:, ::2]), FeatureGroup("all"), FeatureGroup("again", np.square)]
    return ChainClassifier(groups[:n_groups], max_iter=3, random_state=0, **parameters).fit(X, Y)


class Wrapped:
    """A copy of a session with methods that a test replaces."""

    def __init__(self, session, **changes):
        self._session, self._changes = session, changes

    def __getattr__(self, name):
        session, change = self.__dict__["_session"], self.__dict__["_changes"].get(name)
        return getattr(session, name) if change is None else change(session)

    # a runtime protocol looks these up on the class
    offsets, seconds, extracted, state, decode, confidence, codes = (
        property(lambda self, name=name: self.__getattr__(name))
        for name in ("offsets", "seconds", "extracted", "state", "decode", "confidence", "codes")
    )


class Model:
    """A copy of a model with methods that a test replaces."""

    def __init__(self, inner, session=None, **changes):
        self.inner, self.session = inner, session or {}
        self.group_names_, self.group_costs_ = inner.group_names_, inner.group_costs_
        self.loss, self.predict = inner.loss, inner.predict
        for name, value in changes.items():
            setattr(self, name, value)

    def open(self, X):
        return Wrapped(self.inner.open(X), **self.session)


INNER = chain()


@pytest.mark.parametrize("model", [INNER, chain(3), chain(own_weights=False), chain(learner="svm"), Model(INNER)])
def test_good_models_pass(model):
    check_model(model, X, Y)
    check_model(model, X[:2], Y[:2])


def test_labels_that_the_model_has_not_met():
    check_model(INNER, X, [np.where(labels == 0, 99, labels) for labels in Y])


def test_the_protocols():
    assert isinstance(INNER, StructuredModel)
    assert isinstance(INNER.open(X), Session)


def forgetful(session):
    """A `decode` that counts the same parts again."""
    counted = session.__dict__.setdefault("counted", np.zeros(2, dtype=np.int64))

    def decode(state):
        counted[1] += state.sum()
        return session.decode(state)

    session.counts = counted
    return decode


def eager_confidence(session):
    def confidence(state):
        session.decode(session.state())
        return session.confidence(state)

    return confidence


def moody(session):
    """A `decode` whose answers change once everything was bought."""

    def decode(state):
        codes = session.decode(state)
        return codes if state.all() or session.extracted[1] < len(state) else codes + 1

    return decode


def nosy(session):
    """A `decode` whose answers depend on the states of all examples together."""
    return lambda state: (
        session.decode(state) + (not state.all() and session.extracted[1] == len(state) and state.any())
    )


def of_its_own(session):
    shift = next(SHIFTS)
    return lambda state: session.decode(state) + shift


SHIFTS = iter(range(10**6))


def stateful(session):
    """A `decode` with a shift that is chosen once per session."""
    if not hasattr(session, "shifted"):
        session.shifted = of_its_own(session)
    return session.shifted


def output(counted=lambda n: n, lost=lambda n: n):
    """What a model may say of its answers: parts, where a test changes the numbers."""

    class Odd(Parts):
        def counted(self, *args):
            return counted(super().counted(*args))

        def lost(self, *args):
            return lost(super().lost(*args))

    return Model(INNER, output_=Odd())


BROKEN = {
    "by example": output(counted=lambda n: n[1:]),
    "at most one unit": output(counted=lambda n: n + 1),
    "between 0 and the units": output(lost=lambda n: n - 1),
    "with itself": output(lost=lambda n: np.maximum(n, 1)),
    "a model needs": object(),
    "a cheap group and a costly one": chain(1),
    "group_costs_ must have 2 entries": Model(INNER, group_costs_=np.ones(3)),
    "finite and not negative": Model(INNER, group_costs_=np.array([-1.0, 1.0])),
    "positive costs": Model(INNER, group_costs_=np.zeros(2)),
    r"open\(X\) must give": Model(INNER, open=lambda X: object()),
    "two examples": Model(INNER, {"offsets": lambda s: s.offsets[:2]}),
    "start at 0": Model(INNER, {"offsets": lambda s: s.offsets + 1}),
    "needs a part": Model(INNER, {"offsets": lambda s: np.append(s.offsets, s.offsets[-1])}),
    r"state\(\) must be boolean": Model(INNER, {"state": lambda s: lambda *a: s.state(*a).astype(int)}),
    r"state\(\) must have everything": Model(INNER, {"state": lambda s: lambda *a: s.state(*a) & False}),
    "must refuse": Model(INNER, {"state": lambda s: lambda state=None: s.state()}),
    "one entry per group": Model(INNER, {"extracted": lambda s: s.extracted[:1]}),
    "before it is requested": Model(INNER, {"extracted": lambda s: s.extracted + 1}),
    "without costly groups must extract none": Model(INNER, {"decode": lambda s: lambda state: s.decode(s.state())}),
    "must extract as many": Model(
        INNER, {"decode": lambda s: lambda state: s.decode(np.repeat(state.any(keepdims=True), len(state), axis=0))}
    ),
    "confidence must extract nothing": Model(INNER, {"confidence": eager_confidence}),
    "must not be extracted again": Model(
        INNER, {"decode": forgetful, "extracted": lambda s: getattr(s, "counts", np.zeros(2, dtype=np.int64))}
    ),
    "not on earlier requests": Model(INNER, {"decode": moody}),
    "seconds must have": Model(INNER, {"seconds": lambda s: s.seconds[:1]}),
    "seconds must not be negative": Model(INNER, {"seconds": lambda s: s.seconds - 10**6}),
    "one integer code": Model(INNER, {"decode": lambda s: lambda state: s.decode(state) / 2}),
    "another session": Model(INNER, {"decode": stateful}),
    "the others' states": Model(INNER, {"decode": nosy}),
    "confidence must have one entry": Model(INNER, {"confidence": lambda s: lambda state: s.confidence(state)[1:]}),
    "confidence must be finite": Model(INNER, {"confidence": lambda s: lambda state: s.confidence(state) * np.inf}),
    "confidence must not be negative": Model(INNER, {"confidence": lambda s: lambda state: -1 - s.confidence(state)}),
    r"codes\(y\) must give": Model(INNER, {"codes": lambda s: lambda y: s.codes(y)[1:]}),
    "loss must have one entry": Model(INNER, loss=lambda truth, answer: np.zeros(1)),
    "between 0 and 1": Model(INNER, loss=lambda truth, answer: 2.0 * (truth != answer)),
    "the loss of the truth": Model(INNER, loss=lambda truth, answer: np.ones(len(truth))),
    r"decode\(state, examples\) must extract": Model(
        INNER, {"decode": lambda s: lambda state, examples=None: (s.decode(state), s.decode(state, examples))[1]}
    ),
    "must answer for these examples": Model(
        INNER, {"decode": lambda s: lambda state, examples=None: s.decode(state, examples and sorted(examples))}
    ),
    r"evidence\(state, examples\) must": Model(
        INNER, {"evidence": lambda s: lambda state, examples=None: s.evidence(state)}
    ),
    r"part_features\(\) must be float32": Model(INNER, {"part_features": lambda s: lambda: np.zeros((3, 2))}),
    r"evidence\(state\) must be finite": Model(
        INNER, {"evidence": lambda s: lambda state, examples=None: s.evidence(state, examples) + np.float32(np.inf)}
    ),
    r"answers\(codes\) must": Model(INNER, {"answers": lambda s: lambda codes: s.answers(codes)[1:]}),
    "one answer per example": Model(INNER, predict=lambda X: INNER.predict(X)[1:]),
}


def test_a_model_may_say_what_its_answers_are():
    check_model(output(), X, Y)


@pytest.mark.parametrize("promise", BROKEN)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_each_promise_is_checked(promise):
    with pytest.raises(AssertionError, match=promise):
        check_model(BROKEN[promise], X, Y)
