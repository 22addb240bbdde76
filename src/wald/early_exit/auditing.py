"""Served rows on their way past the monitor, which audits some of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..engine import Decisions
from ..engine.rows import take
from ..engine.threads import effective_threads
from ..monitoring import Monitor
from ..monitoring.monitor import require_audits
from .predictor import Predictor


class Audited:
    """Mixin of a fitted classifier that can be watched."""

    def watched(self, audit_rate: float, *, on_broken: str = "warn") -> Self:
        """Watch the promise of the same plan, as after ``fit`` with these parameters.

        Parameters
        ----------
        audit_rate : float
            Probability that a served row is evaluated in full as well.
        on_broken : {"warn", "full"}, default="warn"

        Returns
        -------
        EarlyExitClassifier
            A new object with a ``monitor_``; this one is unchanged.

        Raises
        ------
        ValueError, TypeError
            For parameters out of range.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(3000, random_state=0)
        >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X[:1000], y[:1000])
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(X[1000:])
        >>> watched = fast.watched(0.1)
        >>> labels = watched.predict(X)
        >>> watched.monitor_.n_rows
        3000
        """
        require_audits(audit_rate, on_broken)
        other = copy.copy(self)
        vars(other).update(audit_rate=audit_rate, on_broken=on_broken)
        other.monitor_ = monitor_of(other, self._ready())  # type: ignore[attr-defined]
        return other


def monitor_of(owner: Any, predictor: Predictor) -> Monitor | None:
    """Make the monitor of a fitted classifier; None without ``audit_rate``."""
    if owner.audit_rate is None:
        return None
    plan = predictor.plan
    left = -np.diff(plan.reached, append=0.0) * owner._validation.n_rows
    # promises by class add up to one for all rows: the largest of their risks
    by_class = owner.protect.values() if isinstance(owner.protect, Mapping) else ()
    return Monitor(
        None if owner.risk is None else max(owner.risk, *by_class) if by_class else owner.risk,
        plan.stage_costs,
        np.rint(left).astype(np.int64),
        audit_rate=owner.audit_rate,
        on_broken=owner.on_broken,
        fingerprint=predictor.model.fingerprint(),
    )


def served(owner: Any, predictor: Predictor, X: Any, budget: float | None) -> Decisions:
    """Decide rows. Rows without a budget are counted, and some are audited."""
    n_threads, monitor = effective_threads(owner.n_jobs), _monitor(owner, budget)
    if monitor is None:
        return predictor.predict(X, n_threads, budget)
    if monitor.answers_in_full:
        return predictor.predict(X, n_threads, None, full=True)
    decided = predictor.predict(X, n_threads, None)
    codes, stages = decided.codes, decided.stages
    audited = monitor.draw(len(codes))
    disagreements = 0
    if len(audited):
        own = predictor.predict(take(X, audited), n_threads, None, full=True).codes
        disagreements = int(np.count_nonzero(own != codes[audited]))
    monitor.record(np.bincount(stages, minlength=predictor.plan.n_stages + 1), len(audited), disagreements)
    return decided


def served_one(owner: Any, predictor: Predictor, x: NDArray[Any], budget: float | None) -> tuple[int, int, int]:
    """Code, stage and skipped terms of one row, which is counted and perhaps audited."""
    monitor = _monitor(owner, budget)
    if monitor is None:
        return predictor.predict_one(x, budget)
    if monitor.answers_in_full:
        return predictor.predict_one(x, None, full=True)
    code, stage, skipped = predictor.predict_one(x, None)
    if monitor.record_one(stage):
        monitor.record_audit(predictor.predict_one(x, None, full=True)[0] != code)
    return code, stage, skipped


def _monitor(owner: Any, budget: float | None) -> Monitor | None:
    """The monitor that counts a call; none where the certificate does not speak."""
    return None if budget is not None else vars(owner).get("monitor_")
