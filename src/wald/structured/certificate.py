"""Certificates for answers that were computed without buying everything."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..outputs.structures import LOSSES, Loss
from ..stopping.core.fixed_sequence import fixed_sequence
from ..stopping.core.validation import require_fraction, require_option
from ..utils.figures import percent, thousands
from .per_part import Failure, PartTest, checked_lengths, checked_longest

Status = Literal["certified", "none"] | Failure
Step = tuple[float, NDArray[np.float64], NDArray[Any]]

_NO_GAPS: NDArray[np.float64] = np.empty(0)


@dataclass(frozen=True, eq=False)
class StructureCertificate:
    """A promise about the parts of examples, or about spans, with the sums behind it. Printed, it is one sentence.

    The risk, which was fixed before, holds with the stated confidence whatever threshold was chosen; an interval
    computed from the sums alone would not hold, because they are those at the chosen threshold.

    Attributes
    ----------
    status : str
        "certified": the promise holds. "too few examples", "too much loss": reasons for which everything must be
        bought. "none": nothing was promised.
    loss : {"disagreement", "clipped gap", "gap"}
        The bounded loss of a part; see `Structures` of `wald.outputs`. They are ordered by strength: a bound of one
        bounds those after it.
    risk : float
        Promised bound of the mean loss of a part, ``E[sum over an example's parts] / E[number of its parts]``.
    confidence : float
        Probability, over independent draws of the certificate's examples, with which the promise holds.
    threshold : float
        Threshold to predict with; -inf, which buys everything, if nothing is certified.
    max_parts : int
        Longer examples must get everything; the promise depends on it.
    gaps : float64 ndarray of shape (n_examples,)
        The loss of each of the certificate's examples, summed over its parts, at the threshold (or at the most
        cautious one, if none passed).
    n_parts : float64 ndarray of shape (n_examples,)
        Number of parts; or of spans, the mean of the two answers that are compared.
    unit : str
        What the losses are summed over, and the promise is about: "part" or "span"; see `Structures` of `wald.outputs`.
    reason : str
        Why nothing was promised, for the status "none".
    void : str or None
        Why the promise does not hold, if it does not.

    Examples
    --------
    >>> import numpy as np
    >>> n_parts = np.full(2000, 8)
    >>> gaps = np.zeros(2000)
    >>> gaps[::40] = 1.0
    >>> certificate = certify_structures([gaps], n_parts, [0.5], risk=0.01, max_parts=8)
    >>> print(certificate)
    disagreement with all features <= 1 % of parts with 95 % confidence: 50 in 16 000 parts of 2 000 examples
    >>> certificate.verify()
    True
    >>> print(certificate.voided("a deadline was set"))
    void: a deadline was set
    """

    status: Status
    loss: Loss = "disagreement"
    risk: float = 0.0
    confidence: float = 0.95
    threshold: float = -math.inf
    max_parts: int = 0
    gaps: NDArray[np.float64] = field(default_factory=lambda: _NO_GAPS, repr=False)
    n_parts: NDArray[np.float64] = field(default_factory=lambda: _NO_GAPS, repr=False)
    unit: str = "part"
    reason: str = ""
    void: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_parts", np.asarray(self.n_parts, dtype=np.float64))

    @classmethod
    def none(cls, reason: str) -> StructureCertificate:
        """Promise nothing, for `reason`."""
        return cls("none", reason=reason)

    @property
    def n_examples(self) -> int:
        """Number of examples that the promise is computed from."""
        return len(self.n_parts)

    @property
    def mean(self) -> float:
        """Mean loss of a part on these examples; 0 without any."""
        return float(self.gaps.sum() / max(float(self.n_parts.sum()), 1.0))

    @property
    def worst_examples(self) -> NDArray[np.intp]:
        """Indices of the examples with a loss, the largest first."""
        order = np.argsort(-self.gaps, kind="stable")
        return order[self.gaps[order] > 0.0]

    @property
    def examples_needed(self) -> int:
        """Number of such examples that a promise needs even if none has a loss; 0 for "none", and without spans."""
        if self.status == "none" or not self.n_parts.any():
            return 0
        return self._test.enough_examples(self.n_parts)

    @property
    def _test(self) -> PartTest:
        return PartTest(self.risk, self.confidence, self.max_parts)

    def voided(self, reason: str) -> StructureCertificate:
        """Keep the sums and withdraw the promise."""
        return replace(self, void=reason)

    def verify(self) -> bool:
        """Recompute the status from the sums; True if they agree and the certificate is not void."""
        if self.void is not None or self.status == "none":
            return False
        if self.gaps.shape != self.n_parts.shape or not _possible(self.gaps, self.n_parts, self.loss):
            return False
        if self._test.passes(self.gaps, self.n_parts):
            return self.status == "certified"
        return self.status == self._test.failure(self.n_parts) and self.threshold == -math.inf

    def __str__(self) -> str:
        if self.void is not None:
            return f"void: {self.void}"
        if self.status == "none":
            return f"no promise: {self.reason}"
        link = "with" if self.loss == "disagreement" else "to"
        promise = (
            f"{self.loss} {link} all features <= {percent(self.risk, digits=6)} of {self.unit}s with "
            f"{percent(self.confidence, digits=6)} confidence"
        )
        total = np.format_float_positional(self.gaps.sum(), precision=1, trim="-")
        counts = f"in {thousands(int(self.n_parts.sum()))} {self.unit}s of {thousands(self.n_examples)} examples"
        match self.status:
            case "certified":
                return f"{promise}: {total} {counts}"
            case "too few examples":
                needed, given = thousands(self.examples_needed), thousands(self.n_examples)
                if self.n_examples and not self.n_parts.any():
                    return f"everything is bought: no {self.unit}s in the {given} certificate examples, for {promise}"
                return f"everything is bought: {needed} certificate examples needed, {given} given, for {promise}"
            case "too much loss":
                return f"everything is bought: {total} {counts} at the most cautious threshold, not {promise}"


def certify_structures(
    gaps: ArrayLike | Iterable[ArrayLike],
    n_parts: ArrayLike,
    thresholds: ArrayLike,
    *,
    risk: float,
    confidence: float = 0.95,
    loss: Loss = "disagreement",
    max_parts: int,
) -> StructureCertificate:
    """Find the boldest threshold at which examples still prove that a part loses at most `risk` on average.

    The thresholds are tested in their given order. Each test bets against ``E[gap] > risk * E[n_parts]`` on the
    examples' gaps, the sums of their parts' losses; the first failure ends the tests, and the last threshold that
    passed is kept. Then P(mean loss of a part <= risk) >= confidence over the draw of the examples, with no correction
    for the number of thresholds and for any dependence between the parts of an example, if the examples are independent
    draws from those to be predicted and were not used for anything else (model, policy, thresholds, `max_parts`).

    One long example can be wrong in all of its parts, so the bets must be smaller the longer the longest example may
    be. Examples longer than `max_parts` therefore get everything, here and in predictions, and lose nothing.

    Parameters
    ----------
    gaps : array-like of shape (n_thresholds, n_examples), or an iterable of its rows
        Losses of the examples' answers, as `Structures.lost` of `wald.outputs` gives them. An iterable is read up to
        the first threshold that fails.
    n_parts : array-like of int, of shape (n_examples,)
        Number of parts of every example, at least 1.
    thresholds : array-like of shape (n_thresholds,)
        The most cautious first, fixed before the examples were seen.
    risk, confidence : float
        Strictly between 0 and 1.
    loss : {"disagreement", "clipped gap", "gap"}, default="disagreement"
        The loss whose sums the gaps are.
    max_parts : int
        Fixed before the examples were seen: the length of the longest example that the policy learned from, say, or
        less if few are that long.

    Returns
    -------
    StructureCertificate
        With ``threshold = -inf`` and the reason if no threshold passed.

    Raises
    ------
    ValueError
        For parameters out of range, shapes that do not fit, and gaps that no example of its length can have.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test", Annals of Applied Statistics 19(2),
    2025: fixed-sequence testing. I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by
    betting", Journal of the Royal Statistical Society B 86(1), 2024: the tests.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> n_parts = rng.integers(3, 12, size=2500)
    >>> gaps = [rng.binomial(n_parts, rate) for rate in (0.0, 0.001, 0.003, 0.02)]
    >>> certificate = certify_structures(gaps, n_parts, [0.1, 0.2, 0.3, 0.4], risk=0.01, max_parts=11)
    >>> certificate.threshold
    0.3
    >>> print(certify_structures([g[:300] for g in gaps], n_parts[:300], [0.1, 0.2, 0.3, 0.4], risk=0.01, max_parts=11))
    everything is bought: 458 certificate examples needed, 300 given, for disagreement with all features <= 1 % of parts
    with 95 % confidence
    """
    owner = "certify_structures"
    require_fraction(owner, "risk", risk)
    require_fraction(owner, "confidence", confidence)
    require_option(owner, "loss", loss, LOSSES)
    n = checked_lengths(owner, n_parts)
    longest = checked_longest(owner, n, max_parts)
    order = np.asarray(thresholds, dtype=np.float64)
    if order.ndim != 1 or len(order) == 0 or np.isnan(order).any():
        raise ValueError(f"The 'thresholds' of {owner} must be a 1-D array of numbers, at least one.")
    given: Any = gaps
    if hasattr(given, "__len__") and len(given) != len(order):
        raise ValueError(f"{owner} needs gaps for each of the {len(order)} thresholds. Got {len(given)}.")
    rows = iter(given)
    steps = ((float(threshold), _gaps_row(next(rows, None), n, longest, loss), n) for threshold in order)
    return first_that_fails(steps, PartTest(risk, confidence, longest), loss)


def first_that_fails(
    steps: Iterable[Step], test: PartTest, loss: Loss = "disagreement", unit: str = "part"
) -> StructureCertificate:
    """Test thresholds in their order, up to the first that fails, and keep the last that passed.

    Steps are (threshold, gaps, n_units), with arrays of shape (n_examples,), and read as far as needed; an example has
    at most as many units as parts. The rest is as for `certify_structures`; the gaps of longer examples are 0.
    """
    found = fixed_sequence(iter(steps), lambda step: test.passes(step[1], step[2]))
    shared: dict[str, Any] = {"loss": loss, **vars(test), "unit": unit}
    if found.passed is None:
        _, gaps, n = found.failed if found.failed is not None else (-math.inf, _NO_GAPS, _NO_GAPS)
        return StructureCertificate(test.failure(n), gaps=gaps, n_parts=n, **shared)
    threshold, gaps, n = found.passed
    return StructureCertificate("certified", threshold=threshold, gaps=gaps, n_parts=n, **shared)


def _gaps_row(values: Any, n_parts: NDArray[np.int64], max_parts: int, loss: Loss) -> NDArray[np.float64]:
    """Check the gaps at one threshold, and set those of longer examples to 0, as these get everything."""
    if values is None:
        raise ValueError("certify_structures needs gaps for every threshold; there were fewer rows.")
    row = np.array(values, dtype=np.float64)
    if row.shape != n_parts.shape:
        raise ValueError(f"Gaps must have one entry for each of {len(n_parts)} examples. Got shape {row.shape}.")
    row[n_parts > max_parts] = 0.0
    if not _possible(row, n_parts, loss):
        low = "minus the number of parts" if loss == "gap" else "0"
        raise ValueError(f"The gaps of certify_structures ({loss}) must lie between {low} and the number of parts.")
    return row


def _possible(gaps: NDArray[np.float64], n_parts: NDArray[Any], loss: Loss) -> bool:
    """Whether examples of these lengths can have these gaps; NaN is none."""
    least = -n_parts if loss == "gap" else np.zeros_like(n_parts)
    return bool(((gaps >= least) & (gaps <= n_parts)).all())
