"""What a structured model must offer so that a policy can decide which of its parts get costly features."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

State = NDArray[np.bool_]


@runtime_checkable
class Session(Protocol):
    """Some examples on their way: what was bought of them, and what that says.

    An example (a sequence, a sentence) has parts (letters, words). A state, a boolean array (n_parts, K), says which
    parts have which of the K costly groups. Answers are codes, one int32 per part.
    """

    @property
    def offsets(self) -> NDArray[np.int64]:
        """First part of every example, and the end: (n_examples + 1,), rising from 0."""

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time that the extraction of each group has taken so far, the cheap one first: (K + 1,)."""

    @property
    def extracted(self) -> NDArray[np.int64]:
        """Parts that each group was extracted for so far: (K + 1,)."""

    def state(self, state: ArrayLike | None = None) -> State:
        """Check a state, or make the one that has everything."""

    def decode(self, state: State) -> NDArray[np.int32]:
        """Best answer under a state: codes (n_parts,). It extracts what the state needs, and nothing else."""

    def confidence(self, state: State) -> NDArray[np.float32]:
        """By how much each part's code beats its best rival under a state: (n_parts,), not negative."""

    def codes(self, y: Any) -> NDArray[np.int32]:
        """True answers as codes (n_parts,); -1 for those that the model cannot give."""


@runtime_checkable
class StructuredModel(Protocol):
    """A fitted structured model with one cheap group of features and K costly ones.

    Attributes
    ----------
    group_names_ : list of str
        The cheap group first.
    group_costs_ : float64 ndarray of shape (K + 1,)
        Cost of each group for one part.
    """

    group_names_: list[str]
    group_costs_: NDArray[np.float64]

    def open(self, X: Any) -> Session:
        """Begin with some examples; nothing costly is extracted yet."""

    def loss(self, truth: NDArray[np.int32], answer: NDArray[np.int32]) -> NDArray[np.float64]:
        """Loss of each part, from 0 to 1: (n_parts,) from codes."""

    def predict(self, X: Any) -> Any:
        """Answers with everything bought, one per example."""


def check_model(model: Any, X: Any, y: Any) -> None:
    """Raise AssertionError, saying what is wrong, unless a fitted model can be driven by policies.

    Checked on the given examples: groups and costs agree; nothing costly is extracted before it is asked for, and then
    only for the parts asked for; an answer depends on the example's own state alone, not on the examples beside it nor
    on what was asked before; ``confidence`` is finite and not negative; the loss is 0 for the truth and lies in [0, 1].

    Parameters
    ----------
    model : StructuredModel
    X, y
        At least two examples, as the model takes them, and their true answers.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import ChainClassifier, FeatureGroup, check_model
    >>> X, y = make_chains(60, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2]), FeatureGroup("all")]
    >>> check_model(ChainClassifier(groups, max_iter=5, random_state=0).fit(X, y), X, y)
    """
    assert isinstance(model, StructuredModel), "a model needs group_names_, group_costs_, open, loss and predict"
    names, costs = list(model.group_names_), np.asarray(model.group_costs_)
    assert len(names) >= 2, "there must be a cheap group and a costly one"
    assert costs.shape == (len(names),), f"group_costs_ must have {len(names)} entries, got shape {costs.shape}"
    assert (np.isfinite(costs) & (costs >= 0)).all(), "group_costs_ must be finite and not negative"
    assert (costs[1:] > 0).all(), "costly groups must have positive costs"
    session = model.open(X)
    assert isinstance(session, Session), (
        "open(X) must give offsets, seconds, extracted, state, decode, confidence and codes"
    )
    offsets = np.asarray(session.offsets)
    assert len(offsets) >= 3, "the check needs two examples"
    assert offsets[0] == 0, "offsets must start at 0"
    assert (np.diff(offsets) > 0).all(), "every example needs a part"
    n_parts, n_costly = int(offsets[-1]), len(names) - 1
    everything = session.state()
    assert everything.shape == (n_parts, n_costly), f"state() must have shape ({n_parts}, {n_costly})"
    assert everything.all(), "state() must have everything"
    assert not np.asarray(session.extracted)[1:].any(), "nothing costly may be extracted before it is asked for"
    truth = session.codes(y)
    assert truth.shape == (n_parts,), "codes(y) must have one entry per part"
    _check_purchases(model, X, session, everything)
    _check_answers(model, X, session, everything, truth)


def _check_purchases(model: Any, X: Any, session: Session, everything: State) -> None:
    nothing = np.zeros_like(everything)
    cheap = session.decode(nothing)
    assert not np.asarray(session.extracted)[1:].any(), "decoding without costly groups must extract none of them"
    some = nothing.copy()
    some[::2] = True
    session.decode(some)
    bought = np.asarray(session.extracted)[1:]
    assert (bought == some.sum(axis=0)).all(), (
        f"a state with {some.sum(axis=0)} parts must extract as many, not {bought}"
    )
    session.decode(everything)
    bought = np.asarray(session.extracted)[1:]
    assert (bought == len(everything)).all(), "what was extracted before must not be extracted again"
    assert (session.decode(nothing) == cheap).all(), "an answer must depend on the state, not on what was asked before"


def _check_answers(model: Any, X: Any, session: Session, everything: State, truth: NDArray[np.int32]) -> None:
    full = session.decode(everything)
    assert full.shape == (len(everything),), "decode must give one code per part"
    assert (model.open(X).decode(everything) == full).all(), "another session must give the same answer"
    mixed = everything.copy()
    first = slice(0, int(session.offsets[1]))
    mixed[first] = False
    beside = session.decode(mixed)
    assert (beside[first.stop :] == full[first.stop :]).all(), (
        "an example's answer must not depend on the others' states"
    )
    confidence = session.confidence(everything)
    assert confidence.shape == full.shape, "confidence must have one entry per part"
    assert np.isfinite(confidence).all(), "confidence must be finite"
    assert (confidence >= 0).all(), "confidence must not be negative"
    known = truth >= 0
    loss = np.asarray(model.loss(truth[known], full[known]))
    assert loss.shape == (np.count_nonzero(known),), "loss must have one entry per part"
    assert ((loss >= 0) & (loss <= 1)).all(), "loss must lie between 0 and 1"
    assert not np.asarray(model.loss(full, full)).any(), "the loss of the truth must be 0"
