"""Validation of the estimator's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator

from ..models import fitted_for_good
from ..models.refusals import refusal
from ..monitoring.monitor import require_audits
from ..plan import CostModel
from ..stopping import Ladder, Lossless, Needs, Rule, check_rule
from ..stopping.core.boundary import PROTECT, Protect


@dataclass(eq=False, repr=False)
class Parameters:
    """The parameters of an early-exit estimator; see `EarlyExitClassifier`."""

    estimator: Any
    _: KW_ONLY
    risk: float | None = 0.001
    confidence: float = 0.95
    order: Any = "greedy"
    readout: Literal["regressed", "partial"] = "regressed"
    rule: Any = "ladder"
    protect: Protect = "all"
    cost: Any = "time"
    feature_costs: ArrayLike | Mapping[str, float] | None = None
    feature_groups: Mapping[str, Sequence[int | str]] | None = None
    certificate_fraction: float | Literal["auto"] = "auto"
    n_splits: int | str = "auto"
    audit_rate: float | None = None
    on_broken: str = "warn"
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None


def checked_rule(given: Parameters) -> Rule:
    """Check the parameters and return the stopping rule."""
    if given.risk is not None and not (_is_number(given.risk) and 0 <= given.risk < 1):
        raise ValueError(f"risk must be None or a number at least 0 and below 1. Got {given.risk!r} instead.")
    if not _is_share(given.confidence):
        raise ValueError(f"confidence must be a number above 0 and below 1. Got {given.confidence!r} instead.")
    if not (_is_auto(given.certificate_fraction) or _is_share(given.certificate_fraction)):
        raise ValueError(
            "certificate_fraction must be 'auto' or a number above 0 and below 1. "
            f"Got {given.certificate_fraction!r} instead."
        )
    _check_protect(given.protect, given.risk)
    if given.readout not in ("regressed", "partial"):
        raise ValueError(f"readout must be 'regressed' or 'partial'. Got {given.readout!r} instead.")
    if isinstance(given.order, str) and given.order not in ("greedy", "qwyc", "random", "sorted"):
        raise ValueError(
            f"order must be 'greedy', 'qwyc', 'random', 'sorted' or an array of units. Got {given.order!r} instead."
        )
    if not (isinstance(given.cost, CostModel) or given.cost in ("time", "units")):
        raise ValueError(f"cost must be 'time', 'units' or a CostModel. Got {given.cost!r} instead.")
    _check_splits(given.n_splits)
    require_audits(0.0 if given.audit_rate is None else given.audit_rate, given.on_broken)
    if isinstance(given.rule, str):
        if given.rule != "ladder":
            raise ValueError(f"rule must be 'ladder' or a rule object from wald.stopping. Got {given.rule!r} instead.")
        return Lossless() if given.risk == 0 else Ladder(readout=given.readout)
    if isinstance(given.rule, type):
        raise TypeError(
            f"rule must be 'ladder' or a rule object from wald.stopping. Got the class {given.rule.__name__}: add "
            "parentheses."
        )
    if not isinstance(given.rule, Rule):
        raise TypeError(
            f"rule must be 'ladder' or a rule object from wald.stopping. Got {type(given.rule).__name__} instead."
        )
    if not isinstance(given.rule.needs, Needs):
        raise TypeError(f"The needs of {given.rule!r} must be a wald.stopping.Needs. Got {given.rule.needs!r}.")
    check_rule(given.rule, given.risk)
    _check_sides(given.rule, given.protect)
    return given.rule


def _check_protect(protect: Any, risk: float | None) -> None:
    if not isinstance(protect, Mapping):
        if not (isinstance(protect, str) and protect in PROTECT):
            raise ValueError(
                f"protect must be one of {PROTECT}, or a dict from class label to risk. Got {protect!r} instead."
            )
        return
    if not protect:
        raise ValueError("protect names no class: give at least one label with its risk, or 'all'.")
    for label, own in protect.items():
        if not _is_share(own):
            raise ValueError(f"protect[{label!r}] must be a number above 0 and below 1. Got {own!r} instead.")
    if risk is None:
        raise ValueError(
            "risk=None promises nothing, and protect gives risks by class: give a risk for all rows as well, or use "
            "protect='each' to measure every class."
        )
    if risk == 0:
        raise ValueError("risk=0 lets no row of any class differ: leave protect at 'all', or give a risk above 0.")


def _check_splits(n_splits: Any) -> None:
    if _is_auto(n_splits):
        return
    if isinstance(n_splits, bool) or not isinstance(n_splits, Integral) or n_splits < 1:
        raise ValueError(f"n_splits must be 'auto' or an integer of at least 1. Got {n_splits!r} instead.")


def require_estimator(estimator: Any) -> None:
    """Refuse what is neither an estimator of scikit-learn's kind nor a booster."""
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    if isinstance(inner, type) or not (hasattr(inner, "get_params") or fitted_for_good(inner) is not None):
        raise refusal(inner)


def require_counted(n_splits: int | str, rule: Rule, risk: float | None) -> None:
    """Refuse several splits where nothing is certified by counting."""
    if not isinstance(n_splits, str) and n_splits > 1 and (risk is None or rule.needs.lossless):
        raise ValueError(
            f"n_splits={n_splits} needs a promise that is certified by counting: a risk above 0 and a rule that is not "
            "lossless. Use n_splits=1 or 'auto'."
        )


def _check_sides(rule: Rule, protect: Any) -> None:
    """Refuse a promise about one class if the rule has no exits to the other class, or forces exits to both."""
    if not isinstance(protect, str) or protect not in ("positive", "negative"):
        return
    other = "negative" if protect == "positive" else "positive"
    if getattr(rule, "sides", "both") == protect:
        raise ValueError(
            f"protect={protect!r} lets rows leave as {other} only, and sides={protect!r} of the rule as {protect} "
            f"only, so that none could leave: use sides={other!r} or 'both'."
        )
    if rule.needs.forced:
        raise ValueError(
            f"protect={protect!r} lets rows leave as {other} only, and {rule!r} makes every row leave: use 'all' or "
            "'each'."
        )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 < value < 1


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
