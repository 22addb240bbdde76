"""What calls have cost so far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counts:
    """What calls have cost so far.

    Parameters
    ----------
    calls : int, default=0
        Calls of the function, those that failed and were tried again among them.
    rows : int, default=0
        Rows that the function has answered.
    cached : int, default=0
        Rows that were answered by the cache, or by an equal row.
    retries : int, default=0
        Calls that were second and later attempts.
    failures : int, default=0
        Calls that raised, took too long, or answered what cannot be used.
    seconds : float, default=0.0
        Time of all calls; of calls at the same time, their sum.

    Examples
    --------
    >>> from wald.calls import Counts
    >>> print(Counts(calls=3, rows=250, cached=50, retries=1, failures=1, seconds=1.5))
    250 rows asked in 3 calls (1 failed, 1 tried again) and 1.5 s, 50 from the cache
    """

    calls: int = 0
    rows: int = 0
    cached: int = 0
    retries: int = 0
    failures: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        again = f" ({self.failures} failed, {self.retries} tried again)" if self.failures or self.retries else ""
        cached = f", {self.cached} from the cache" if self.cached else ""
        return f"{self.rows} rows asked in {self.calls} calls{again} and {self.seconds:.3g} s{cached}"
