"""The compiled plan that an estimator holds once it is fitted, and its monitor."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from sklearn.utils.validation import check_is_fitted

from ..monitoring import Monitor
from ..sources import Schema
from .compiled.compiled_plan import CompiledPlan


class HeldPlan:
    """A compiled plan, after ``fit``."""

    compiled_plan_: CompiledPlan

    def _compiled(self) -> CompiledPlan:
        """The compiled plan; raise if there is none."""
        try:
            return self.compiled_plan_
        except AttributeError:
            check_is_fitted(self, "compiled_plan_")
            raise

    @property
    def schema_(self) -> Schema:
        """The columns that `predict` reads."""
        return self._compiled().schema


class WatchedPlan(HeldPlan):
    """A compiled plan whose promise can be watched. A subclass says how."""

    @property
    def monitor_(self) -> Monitor:
        """Counts of what was served, rows or groups, and what they say of the promise; only after `watched`."""
        monitor = self._compiled().monitor
        if monitor is None:
            raise AttributeError("There is no monitor_: watched(...) gives an estimator that has one.")
        return monitor

    @abstractmethod
    def watched(self, audit_rate: float | None, *, on_broken: str = "warn") -> Self:
        """Watch the promise."""

    def unwatched(self) -> Self:
        """Give the same plan without its monitor, for rows that are not served.

        If the promise is broken and every row is evaluated in full, the monitor stays, and counts no more rows.

        Returns
        -------
        An estimator of this class
            This object, if it has no monitor that counts rows.
        """
        monitor = self._compiled().monitor
        if monitor is None or monitor.answers_in_full:
            return self
        return self.watched(None)
