"""Certify a threshold of a policy on held-out examples, as the driver buys and answers with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .certificate import Step, StructureCertificate, first_that_fails
from .gaps import Loss, output_of
from .per_part import PartTest
from .policies.base import Policy
from .policies.crossfit import Fold, taken
from .policies.driver import Acquired, acquire
from .protocol import StructuredModel

#: Thresholds tried on the examples that place the tested thresholds, at even shares of the parts.
_TRIED = 40
#: Numbers of tested thresholds up to where the mean gap is `_NEAR` times the risk, and from there on.
_COARSE, _FINE = 12, 60
#: Mean gaps, in units of the risk, from which the tested thresholds are fine and at which they end.
_NEAR, _BEYOND = 0.25, 2.0


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

    def priorities(self) -> NDArray[np.float64]:
        """Sorted priorities while nothing is bought."""
        session = self.fold.session
        everyone = np.arange(len(session.offsets) - 1)
        return np.sort(self.policy.priority(session, session.state() & False, everyone), axis=None)


def place_thresholds(family: Family, risk: float) -> NDArray[np.float64]:
    """Choose the thresholds to test, on examples that will not test them.

    They rise from -inf, which buys everything: quantiles of the priorities, coarse up to where these examples lose a
    quarter of the risk, and fine from there to where they lose twice the risk, or to +inf, which buys nothing.
    """
    priorities = family.priorities()

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
    """Split examples at random, place thresholds on one part, and certify them on the other.

    Gives the certificate, and the indices of its examples. Model and policy were fitted on other examples. Parameters
    are those of `BudgetedPredictor`; ``y`` is for losses that need it.
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
