"""Certify a setting: of any predictor of structures, from its answers alone, or of a policy, a threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..outputs import Parts, Spans, Structures
from ..outputs.structures import Loss
from ..stopping.core.validation import require_fraction, require_option
from .certificate import Step, StructureCertificate, first_that_fails
from .per_part import PartTest, checked_longest
from .policies.base import Policy
from .policies.crossfit import Fold, taken
from .policies.driver import Acquired, acquire
from .protocol import StructuredModel, output_of

#: Thresholds tried on the examples that place the tested thresholds, at even shares of the parts.
_TRIED = 40
#: Numbers of tested thresholds up to where the mean gap is `_NEAR` times the risk, and from there on.
_COARSE, _FINE = 12, 60
#: Mean gaps, in units of the risk, from which the tested thresholds are fine and at which they end.
_NEAR, _BEYOND = 0.25, 2.0


def certify_answers(
    answer: Callable[[Any], Sequence[Any]],
    settings: Iterable[float],
    full: Sequence[Any],
    *,
    risk: float,
    confidence: float = 0.95,
    unit: Literal["part", "span"] = "part",
    max_parts: int,
) -> StructureCertificate:
    """Find the boldest setting whose answers still prove to agree with those of everything bought.

    Parameters
    ----------
    answer : callable
        From a setting, a budget or threshold say, to the answers for the certificate's examples, one for each.
    settings : iterable of float
        The most cautious first, fixed before the examples were seen. Settings after the first failure are not asked.
    full : sequence
        The answers with everything bought. An answer is a list or array with an entry for each part (a tag, a head), or
        a tuple of several of these, such as ``(tags, heads)``: a part then disagrees if any of its entries does.
    risk, confidence : float
        Strictly between 0 and 1.
    unit : {"part", "span"}, default="part"
        What the risk is a share of. "span": answers are labels of spans, and the loss is 1 minus the F1 of an answer's
        spans against those of the full answer; see `Spans` of `wald.outputs`.
    max_parts : int
        Fixed before the examples were seen. Longer examples must be answered with everything bought, and count as
        such.

    Returns
    -------
    StructureCertificate
        Its ``threshold`` is the setting; -inf if none passed.

    Raises
    ------
    ValueError
        For parameters out of range, and answers that differ from the full ones in number or length.

    Notes
    -----
    Examples are independent draws from those to come, which were not used for anything else. The tests are those of
    `certify_structures`.

    Examples
    --------
    A pipeline of a tagger and a parser at two budgets:

    >>> from wald.structured.certified_answers import certify_answers
    >>> full = [(["DET", "NOUN", "VERB"], [2, 3, 0])] * 400
    >>> early = [*full[:399], (["DET", "NOUN", "NOUN"], [2, 3, 0])]
    >>> found = certify_answers({9.0: full, 4.0: early}.get, [9.0, 4.0], full, risk=0.02, max_parts=40)
    >>> found.status
    'too few examples'
    >>> found = certify_answers({9.0: full, 4.0: early}.get, [9.0, 4.0], full, risk=0.02, max_parts=3)
    >>> print(found.threshold, found)
    4.0 disagreement with all features <= 2 % of parts with 95 % confidence: 1 in 1 200 parts of 400 examples
    """
    owner = "certify_answers"
    require_fraction(owner, "risk", risk)
    require_fraction(owner, "confidence", confidence)
    require_option(owner, "unit", unit, ("part", "span"))
    right = [_columns(one) for one in full]
    lengths = np.array([len(one) for one in right], dtype=np.int64)
    longest = checked_longest(owner, lengths, max_parts)
    there = np.flatnonzero(lengths).tolist()
    offsets = np.concatenate([[0], np.cumsum(lengths[there])])
    everything = [right[i] for i in there]

    def step(setting: float) -> Step:
        answers = answer(setting)
        if len(answers) != len(right):
            raise ValueError(f"{owner} needs an answer for each of {len(right)} examples. Got {len(answers)}.")
        found = []
        for i in there:
            one = _columns(answers[i]) if lengths[i] <= longest else right[i]
            if one.shape != right[i].shape:
                raise ValueError(
                    f"The answers for example {i} differ in form: {one.shape} at the setting {setting!r}, and "
                    f"{right[i].shape} in full, as (parts, entries)."
                )
            found.append(one)
        return (float(setting), *_compared(unit, found, everything, offsets))

    return first_that_fails(map(step, settings), PartTest(risk, confidence, longest), unit=unit)


def _columns(answer: Any) -> NDArray[Any]:
    """An answer as objects, (n_parts, n_entries)."""
    several = isinstance(answer, tuple) and all(isinstance(one, list | tuple | np.ndarray) for one in answer)
    columns = list(answer) if several and answer else [answer]
    if len({len(one) for one in columns}) != 1:
        raise ValueError(f"The entries of an answer must be for the same parts. Got {[len(one) for one in columns]}.")
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def _compared(
    unit: str, early: list[NDArray[Any]], full: list[NDArray[Any]], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Disagreement of each example, and its number of units."""
    if not early:
        return np.empty(0), np.empty(0)
    one, two = np.concatenate(early), np.concatenate(full)
    output: Structures = Parts()
    if unit == "span":
        if one.shape[1] != 1:
            raise ValueError("Spans need answers that are lists of labels, not tuples of lists.")
        classes, codes = np.unique(np.concatenate([one, two]).ravel(), return_inverse=True)
        output = Spans(classes)
        one, two = np.split(codes.astype(np.int32), 2)
    return output.lost("disagreement", one, two, offsets), output.counted(one, two, offsets)


# ---- a policy on held-out examples, as the driver buys and answers with it ------------------------------------------


@dataclass(frozen=True, eq=False)
class Family:
    """Examples, and their losses at any threshold of a policy; those of more than `max_parts` parts get everything."""

    fold: Fold
    policy: Policy
    loss: Loss
    max_parts: int

    @classmethod
    def open(cls, model: StructuredModel, policy: Policy, X: Any, y: Any, loss: Loss, max_parts: int | None) -> Family:
        """Begin with some examples, and with their true answers if the loss needs them."""
        fold = Fold.open(model, X, y)
        longest = int(np.diff(np.asarray(fold.session.offsets)).max()) if max_parts is None else max_parts
        return cls(fold, policy, loss, longest)

    def served(self, threshold: float) -> Acquired:
        """Buy and answer at a threshold."""
        return acquire(self.policy, self.fold.session, threshold, max_parts=self.max_parts)

    def lost(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Loss of each example with given answers, and its number of units; see `Structures`."""
        fold, output = self.fold, output_of(self.fold.model)
        offsets = np.asarray(fold.session.offsets)
        lost = output.lost(self.loss, codes, fold.everything, offsets, fold.truth)
        return lost, output.counted(codes, fold.everything, offsets)

    def step(self, threshold: float) -> Step:
        """Loss and units of each example at a threshold."""
        return (threshold, *self.lost(self.served(threshold).codes))

    def mean(self, threshold: float) -> float:
        """Mean loss of a unit at a threshold."""
        _, lost, counted = self.step(threshold)
        return float(lost.sum() / max(counted.sum(), 1.0))


def place_thresholds(family: Family, risk: float) -> NDArray[np.float64]:
    """Choose the thresholds to test, on examples that will not test them.

    They rise from -inf, which buys everything: quantiles of the priorities, coarse up to where these examples lose a
    quarter of the risk, and fine from there to where they lose twice the risk, or to +inf, which buys nothing.
    """
    session = family.fold.session
    everyone = np.arange(len(session.offsets) - 1)
    priorities = np.sort(family.policy.priority(session, session.state() & False, everyone), axis=None)

    def at(shares: Any) -> NDArray[np.float64]:
        return np.asarray(np.quantile(priorities, shares, method="lower"), dtype=np.float64)

    shares = np.linspace(0.0, 1.0, _TRIED + 1)
    near, beyond = 0.0, 1.0
    for share, threshold in zip(shares, at(shares), strict=True):
        mean = family.mean(float(threshold))
        if mean <= _NEAR * risk:
            near = share
        elif mean >= _BEYOND * risk:
            beyond = share
            break
    near = min(near, beyond)
    fine = np.concatenate([np.linspace(0.0, near, _COARSE), np.linspace(near, beyond, _FINE)])
    last = [np.inf] if beyond == 1.0 else []
    return np.unique(np.concatenate([[-np.inf], at(fine), last]))


def certify_policy(
    model: StructuredModel,
    policy: Policy,
    X: Any,
    y: Any,
    *,
    risk: float,
    confidence: float,
    loss: Loss,
    max_parts: int | None,
    certificate_fraction: float,
    random_state: int | np.random.RandomState | None,
) -> tuple[StructureCertificate, NDArray[np.intp]]:
    """Split examples at random, place thresholds on one part, and certify them on the other, whose indices it returns.

    Model and policy were fitted on other examples. Parameters are those of `BudgetedPredictor`.
    """
    labels = None if loss == "disagreement" else y
    if loss != "disagreement" and labels is None:
        raise ValueError(f"loss={loss!r} needs y, the true answers. Without labels, use loss='disagreement'.")
    n_examples = len(np.asarray(model.open(X).offsets)) - 1
    if n_examples < 2:
        raise ValueError(f"A certificate needs at least two examples. Got {n_examples}.")
    shuffled = check_random_state(random_state).permutation(n_examples)
    n_kept = min(max(round(certificate_fraction * n_examples), 1), n_examples - 1)

    def family(which: NDArray[np.intp], longest: int | None) -> Family:
        truth = None if labels is None else taken(labels, which)
        return Family.open(model, policy, taken(X, which), truth, loss, longest)

    members, others = shuffled[:n_kept], family(shuffled[n_kept:], max_parts)
    thresholds = place_thresholds(others, risk)
    tested = family(members, others.max_parts)
    test = PartTest(risk, confidence, tested.max_parts)
    return first_that_fails(map(tested.step, thresholds.tolist()), test, loss, output_of(model).unit), members
