"""Served rows on their way past the monitor, which audits some of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import Decisions
from ..engine.rows import take
from ..engine.threads import effective_threads
from ..monitoring import Monitor
from ..monitoring.monitor import require_audits
from ..plan import Plan, shares_reached
from ..stopping.core.boundary import Protect
from ..stopping.core.certifying import rows_of
from ..stopping.core.class_risks import by_code
from .predictor import Predictor


class Audited:
    """Mixin of a fitted classifier that can be watched."""

    #: Validation rows, one of each group; None unless ``fit`` was given groups.
    _one_per_group: NDArray[np.intp] | None = None

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
    plan, grouped = predictor.plan, _about_groups(owner, predictor)
    return Monitor(
        owner.risk,
        plan.stage_costs,
        _reference(owner, plan, grouped),
        audit_rate=owner.audit_rate,
        on_broken=owner.on_broken,
        fingerprint=predictor.model.fingerprint(),
        strata=_strata(owner.protect, predictor.model.classes, owner.risk),
        grouped=grouped,
    )


def _about_groups(owner: Any, predictor: Predictor) -> bool:
    """Whether something is promised about a random row of a random group, and not by proof."""
    return bool(owner.certificate_.grouped and owner.risk is not None and not predictor.plan.evaluate_all)


def _reference(owner: Any, plan: Plan, grouped: bool) -> NDArray[np.int64]:
    """Validation rows by the stage at which they left, one of each group for a promise about groups."""
    reached, n_rows = plan.reached, owner._validation.n_rows
    if grouped:
        picked = owner._one_per_group
        n_rows = 0 if picked is None else len(picked)
        if n_rows:
            reached = shares_reached(owner._validation.take(picked), plan.boundary, plan.q, plan.precision)
    left: NDArray[np.int64] = np.rint(-np.diff(reached, append=0.0) * n_rows).astype(np.int64)
    return left


def _strata(protect: Protect, classes: NDArray[Any], risk: float | None) -> list[tuple[str, int | None, float | None]]:
    """The lines of a promise, as its certificate has them."""
    everything = ("rows", None, risk)
    if risk == 0:  # no row of any class may differ
        return [everything]
    named = by_code(protect, classes)
    if isinstance(named, Mapping):
        return [everything, *((rows_of(classes[code]), code, own) for code, own in named.items())]
    if named == "each":
        return [(rows_of(label), code, risk) for code, label in enumerate(classes)]
    return [{"all": everything, "positive": ("positives", 1, risk), "negative": ("negatives", 0, risk)}[named]]


def served(
    owner: Any, predictor: Predictor, X: Any, budget: float | None, groups: ArrayLike | None = None
) -> Decisions:
    """Decide rows. Rows without a budget are counted, and some are audited."""
    n_threads, monitor = effective_threads(owner.n_jobs), _monitor(owner, budget)
    if groups is not None:
        _require_groups(vars(owner).get("monitor_"))
    if monitor is None:
        return predictor.predict(X, n_threads, budget)
    if monitor.answers_in_full:
        return predictor.predict(X, n_threads, None, full=True)
    decided = predictor.predict(X, n_threads, None)
    codes, stages, n_stages = decided.codes, decided.stages, predictor.plan.n_stages + 1
    one_per_group = monitor.grouped and groups is not None
    if monitor.grouped and groups is None:
        monitor.record(np.bincount(stages, minlength=n_stages))
        return decided
    counted = monitor.pick(groups, len(codes)) if groups is not None else np.arange(len(codes))
    audited = counted[monitor.draw(len(counted))]
    n_classes = len(predictor.model.classes)
    audits = lost = np.zeros(n_classes, dtype=np.int64)
    if len(audited):
        own = predictor.predict(take(X, audited), n_threads, None, full=True).codes
        audits = np.bincount(own, minlength=n_classes)
        lost = np.bincount(own[own != codes[audited]], minlength=n_classes)
    monitor.record(np.bincount(stages[counted], minlength=n_stages), audits, lost, one_per_group=one_per_group)
    return decided


def served_one(
    owner: Any,
    predictor: Predictor,
    x: NDArray[Any],
    budget: float | None,
    group: Any = None,
    named: Callable[[], Any] | None = None,
) -> tuple[int, int, int]:
    """Code, stage and skipped terms of one row, which is counted and perhaps audited; `named` as for `predict_one`."""
    monitor = _monitor(owner, budget)
    if group is not None:
        _require_groups(vars(owner).get("monitor_"))
    if monitor is None:
        return predictor.predict_one(x, budget, named=named)
    if monitor.answers_in_full:
        return predictor.predict_one(x, None, full=True, named=named)
    code, stage, skipped = predictor.predict_one(x, None, named=named)
    if group is not None and len(monitor.pick([group], 1)) == 0:  # another row of this group was counted
        return code, stage, skipped
    if monitor.record_one(stage, one_per_group=group is not None):
        own = predictor.predict_one(x, None, full=True, named=named)[0]
        monitor.record_audit(own != code, own)
    return code, stage, skipped


def unwatched(owner: Any) -> Any:
    """A copy of a fitted classifier without its monitor, for rows that are not served.

    Where the promise is broken and rows are to be evaluated in full, the monitor stays: it counts no more rows.
    """
    monitor = vars(owner).get("monitor_")
    if monitor is None or monitor.answers_in_full:
        return owner
    other = copy.copy(owner)
    other.audit_rate = None
    del other.monitor_
    return other


def _monitor(owner: Any, budget: float | None) -> Monitor | None:
    """The monitor that counts a call; none where the certificate does not speak."""
    return None if budget is not None else vars(owner).get("monitor_")


def _require_groups(monitor: Monitor | None) -> None:
    """Refuse groups where nothing is watched that is about groups."""
    if monitor is None or not monitor.grouped:
        why = "is not watched" if monitor is None else "is watched, but its promise is not about groups"
        raise ValueError(
            f"groups are for a watched promise about groups, and this classifier {why}: leave them out, or call "
            "fit(X, groups=...) with audit_rate=...."
        )
