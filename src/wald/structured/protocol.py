"""The interface of structured models and sessions that policies need, and a check of it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..outputs import Parts, Structures

State = NDArray[np.bool_]


@runtime_checkable
class Session(Protocol):
    """Some examples in progress: the features bought for them, and the answers that these give.

    An example (a sequence, a sentence) has parts (letters, words). A state, a boolean array (n_parts, K), says which
    parts have which of the K costly groups. Answers are codes, one int32 per part. With ``examples``, indices of
    examples, a method works on these alone and answers for their parts, in this order.

    A session may offer more, which policies use where it is there:

    * ``part_features() -> (n_parts, d)``: features of each part alone, from the cheap group, without inference;
    * ``evidence(state, examples=None) -> (n_parts, e)``: features of the model's answers under a state, such as margins
      and probabilities. Without it, policies use `confidence`. Both are float32 and finite, and a part's row depends
      only on the state of its own example;
    * ``answers(codes)``: codes (n_parts,) as the model's own answers, one per example. Without it, they stay codes.
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

    def decode(self, state: State, examples: ArrayLike | None = None) -> NDArray[np.int32]:
        """Best answer under a state: codes (n_parts,). It extracts what the state needs, and nothing else."""

    def confidence(self, state: State, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Margin of each part's code over its best rival under a state: (n_parts,), not negative."""

    def codes(self, y: Any) -> NDArray[np.int32]:
        """True answers as codes (n_parts,); negative for those that the model cannot give."""


@runtime_checkable
class StructuredModel(Protocol):
    """A fitted structured model with one cheap group of features and K costly ones.

    A model whose answers consist of other things than parts says so in ``output_``, a `Structures` of `wald.outputs`:
    certificates then count these.

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


class ZeroOneLoss:
    """The loss of models whose codes are right or wrong."""

    def loss(self, truth: NDArray[np.int32], answer: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return 1 for every part with a wrong code, 0 for the others; from codes, as a session gives them."""
        return np.asarray(np.asarray(truth) != np.asarray(answer), dtype=np.float64)


def output_of(model: Any) -> Structures:
    """What is asked of a model: its ``output_``, if it has one, or else parts with the model's ``loss``."""
    output = getattr(model, "output_", None)
    return output if isinstance(output, Structures) else Parts(model.loss)


def check_model(model: Any, X: Any, y: Any) -> None:
    """Raise AssertionError, saying what is wrong, unless a fitted model can be driven by policies.

    Checked on the given examples: names, costs and shapes agree; a state of another shape is refused; nothing costly is
    extracted before it is requested, and then only for the parts requested, once; an answer depends on the example's
    own state alone, not on the states of other examples, on earlier requests, nor on which ``examples`` are requested;
    ``confidence`` is finite and not negative; the optional methods of the session have the right shapes and types; the
    loss is 0 for the truth and lies in [0, 1]; what ``output_`` counts and finds lost is possible; ``predict`` has one
    answer per example.

    Parameters
    ----------
    model : StructuredModel
    X, y
        At least two examples, as the model takes them, and their true answers.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import ChainClassifier, FeatureGroup
    >>> from wald.structured.protocol import check_model
    >>> X, y = make_chains(60, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2]), FeatureGroup("all")]
    >>> check_model(ChainClassifier(groups, max_iter=5, random_state=0).fit(X, y), X, y)
    """
    _promise(isinstance(model, StructuredModel), "a model needs group_names_, group_costs_, open, loss and predict")
    names, costs = list(model.group_names_), np.asarray(model.group_costs_)
    _promise(len(names) >= 2, "there must be a cheap group and a costly one")
    _promise(costs.shape == (len(names),), f"group_costs_ must have {len(names)} entries, not shape {costs.shape}")
    _promise((np.isfinite(costs) & (costs >= 0)).all(), "group_costs_ must be finite and not negative")
    _promise((costs[1:] > 0).all(), "costly groups must have positive costs")
    session = model.open(X)
    _promise(
        isinstance(session, Session), "open(X) must give offsets, seconds, extracted, state, decode, confidence, codes"
    )
    offsets = np.asarray(session.offsets)
    _promise(len(offsets) >= 3, "the check needs two examples")
    _promise(offsets[0] == 0, "offsets must start at 0")
    _promise((np.diff(offsets) > 0).all(), "every example needs a part")
    everything = _check_state(session, (int(offsets[-1]), len(names) - 1))
    _check_purchases(session, everything)
    _check_answers(model, X, session, everything, session.codes(y))
    _check_output(model, session, everything)
    _check_selection(model, X, session)
    _check_offers(session)
    _promise(len(model.predict(X)) == len(offsets) - 1, "predict(X) must have one answer per example")


def _check_state(session: Session, shape: tuple[int, int]) -> State:
    everything = session.state()
    _promise(everything.shape == shape and everything.dtype == bool, f"state() must be boolean, of shape {shape}")
    _promise(everything.all(), "state() must have everything")
    try:
        session.state(everything[:-1])
    except (ValueError, TypeError):
        return everything
    raise AssertionError("state(...) must refuse an array of another shape with ValueError")


def _check_purchases(session: Session, everything: State) -> None:
    def bought() -> NDArray[np.int64]:
        extracted = np.asarray(session.extracted)
        _promise(extracted.shape == (everything.shape[1] + 1,), "extracted must have one entry per group")
        return np.array(extracted[1:])  # a copy: the session may go on counting in its own array

    _promise(not bought().any(), "nothing costly may be extracted before it is requested")
    nothing = np.zeros_like(everything)
    cheap = np.array(session.decode(nothing))
    _promise(not bought().any(), "decoding without costly groups must extract none of them")
    some = nothing.copy()
    some[::2] = True
    session.decode(some)
    _promise((bought() == some.sum(axis=0)).all(), f"a state with {some.sum(axis=0)} parts must extract as many")
    session.confidence(some)
    _promise((bought() == some.sum(axis=0)).all(), "confidence must extract nothing that its state does not have")
    session.decode(everything)
    _promise((bought() == len(everything)).all(), "what was extracted before must not be extracted again")
    _promise((session.decode(nothing) == cheap).all(), "an answer must depend on the state, not on earlier requests")
    seconds = np.asarray(session.seconds)
    _promise(seconds.shape == (everything.shape[1] + 1,), "seconds must have one entry per group")
    _promise((seconds >= 0).all(), "seconds must not be negative")


def _check_answers(model: Any, X: Any, session: Session, everything: State, truth: NDArray[np.int32]) -> None:
    full = session.decode(everything)
    n_parts = (len(everything),)
    _promise(full.shape == n_parts and full.dtype.kind == "i", "decode must give one integer code per part")
    _promise(truth.shape == n_parts and truth.dtype.kind == "i", "codes(y) must give one integer code per part")
    _promise((model.open(X).decode(everything) == full).all(), "another session must give the same answer")
    mixed = everything.copy()
    others = int(session.offsets[1])
    mixed[:others] = False
    beside = session.decode(mixed)
    _promise((beside[others:] == full[others:]).all(), "an example's answer must not depend on the others' states")
    confidence = session.confidence(everything)
    _promise(confidence.shape == n_parts, "confidence must have one entry per part")
    _promise(np.isfinite(confidence).all(), "confidence must be finite")
    _promise((confidence >= 0).all(), "confidence must not be negative")
    known = truth >= 0
    loss = np.asarray(model.loss(truth[known], full[known]))
    _promise(loss.shape == (np.count_nonzero(known),), "loss must have one entry per part")
    _promise(((loss >= 0) & (loss <= 1)).all(), "loss must lie between 0 and 1")
    _promise(not np.asarray(model.loss(full, full)).any(), "the loss of the truth must be 0")


def _check_output(model: Any, session: Session, everything: State) -> None:
    output, offsets = output_of(model), np.asarray(session.offsets)
    early, full = session.decode(everything & False), session.decode(everything)
    counted, lost = output.counted(early, full, offsets), output.lost("disagreement", early, full, offsets)
    _promise(counted.shape == lost.shape == (len(offsets) - 1,), "output_ must count units, and losses, by example")
    _promise((counted <= np.diff(offsets)).all(), "output_ must count at most one unit for each part")
    _promise(((lost >= 0) & (lost <= counted)).all(), "a disagreement must lie between 0 and the units counted")
    same = output.lost("disagreement", full, full, offsets)
    _promise(not same.any(), "an answer must not disagree with itself")


def _check_selection(model: Any, X: Any, session: Session) -> None:
    """Examples requested by index get the answers that they get among all, and nothing is extracted for the others."""
    offsets, state = np.asarray(session.offsets), session.state().copy()
    state[::2] = False
    last = len(offsets) - 2
    fresh = model.open(X)
    fresh.decode(state, [last])
    bought = np.asarray(fresh.extracted)[1:]
    _promise((bought == state[offsets[last] :].sum(axis=0)).all(), "decode(state, examples) must extract for them only")
    for name in ("decode", "confidence", "evidence"):
        if not hasattr(session, name):
            continue
        method = getattr(session, name)
        whole, some = method(state), method(state, [last, 0])
        parts = np.concatenate([whole[offsets[last] :], whole[: offsets[1]]])
        _promise(np.array_equal(some, parts), f"{name}(state, examples) must answer for these examples, in order")
        _promise(len(method(state, [])) == 0, f"{name}(state, []) must be empty")


def _check_offers(session: Any) -> None:
    n_parts, state = int(session.offsets[-1]), session.state() & False
    for name, given in (("part_features", ()), ("evidence", (state,))):
        if not hasattr(session, name):
            continue
        values, call = getattr(session, name)(*given), f"{name}({'state' if given else ''})"
        good = values.ndim == 2 and len(values) == n_parts and values.dtype == np.float32
        _promise(good, f"{call} must be float32, one row per part")
        _promise(np.isfinite(values).all(), f"{call} must be finite")
    if hasattr(session, "answers"):
        answers = session.answers(session.decode(state))
        _promise(len(answers) == len(session.offsets) - 1, "answers(codes) must have one answer per example")


def _promise(holds: Any, what: str) -> None:
    if not holds:
        raise AssertionError(what)
