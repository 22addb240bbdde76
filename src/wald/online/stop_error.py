"""How often attention stops an example that would have changed the model: an estimate from audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..stopping.core.binomial import interval

ErrorKind = Literal["joint", "posterior", "conditional"]
#: Denominator of each error: its index in the counts (rows, stopped, update needed, both) and its name.
_AMONG: dict[ErrorKind, tuple[int, str]] = {
    "joint": (0, "examples"),
    "posterior": (1, "stopped examples"),
    "conditional": (2, "examples that called for an update"),
}


@dataclass(frozen=True)
class StopError:
    """Share of examples that were stopped although they called for an update, estimated from audited ones.

    Audits are a random share of the examples after the warm-up, read in full whatever the boundary says, so that the
    estimate is unbiased. It covers the whole training run.

    Parameters
    ----------
    error : {"joint", "posterior", "conditional"}
        Examples that the share refers to: all; those that the boundary stops; those that call for an update.
    n_errors, n_trials : int
        Audited examples that were in error, and those among which they are counted.
    confidence : float, default=0.95
        Confidence of the interval.

    Examples
    --------
    >>> print(StopError("posterior", 3, 200))
    1.5 % of stopped examples (3 of 200 audits; 95 % interval 0.31 % to 4.32 %)
    """

    error: ErrorKind
    n_errors: int
    n_trials: int
    confidence: float = 0.95

    @classmethod
    def from_counts(cls, error: ErrorKind, counts: tuple[int, int, int, int]) -> StopError:
        """Estimate from counts: audited rows; of these the stopped, those that needed an update, and both."""
        return cls(error, counts[3], counts[_AMONG[error][0]])

    @property
    def rate(self) -> float:
        """The estimate; NaN without a trial."""
        return self.n_errors / self.n_trials if self.n_trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Two-sided interval of Clopper and Pearson."""
        return interval(self.n_errors, self.n_trials, self.confidence)

    def __str__(self) -> str:
        among = _AMONG[self.error][1]
        if not self.n_trials:
            return f"unknown: none of the {among} was audited"
        low, high = self.interval
        return (
            f"{100 * self.rate:.3g} % of {among} ({self.n_errors} of {self.n_trials} audits; "
            f"{100 * self.confidence:g} % interval {100 * low:.3g} % to {100 * high:.3g} %)"
        )
