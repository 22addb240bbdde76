"""Former names of parameters, which are taken with a FutureWarning until version 1.0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from ...monitoring.monitor import require_audits
from ...stopping import Ladder
from ...stopping.core.risks import Risk
from ...utils.warn import warn_caller
from .planner import Planner

#: Former parameters, and where they are now.
NOW = {
    **dict.fromkeys(("rule", "order", "cost", "certificate_fraction", "n_splits"), "planner=Planner({}=...)"),
    "readout": "planner=Planner(rule=Ladder(readout=...))",
    "protect": 'risk={{"all": ..., label: ...}}',
    **dict.fromkeys(("audit_rate", "on_broken"), "fit(...).watched({}=...)"),
}


def takes_former_names(init: Callable[..., None]) -> Callable[..., None]:
    """Let the ``__init__`` of an estimator take former names, too; its signature stays as it is."""

    @wraps(init)
    def taking(self: Any, *args: Any, **given: Any) -> None:
        former = {name: given.pop(name) for name in NOW if name in given}
        init(self, *args, **given)
        if former:
            _apply(self, former)

    return taking


def _apply(estimator: Any, former: dict[str, Any]) -> None:
    """Set the parameters that former names stand for; raise TypeError if these are given, too."""
    name = type(estimator).__name__
    instead = ", ".join(NOW[each].format(each) for each in former)
    warn_caller(f"{name}: {', '.join(former)} became {instead}.", FutureWarning)
    planned = {each: former[each] for each in former if each in vars(Planner())}
    if "readout" in former and planned.get("rule", "ladder") == "ladder" and estimator.risk != 0:
        planned["rule"] = Ladder(readout=former["readout"])
    if planned and estimator.planner is not None:
        raise TypeError(f"{name} was given planner and {min(planned)}, a former name of a part of it.")
    if planned:
        estimator.planner = Planner(**planned)
    if "protect" in former:
        estimator.risk = _by_stratum(former["protect"], estimator.risk)
    rate, on_broken = former.get("audit_rate"), former.get("on_broken", "warn")
    require_audits(0.0 if rate is None else rate, on_broken)
    estimator._watch = None if rate is None else (rate, on_broken)


def _by_stratum(protect: Any, risk: Any) -> Risk:
    if isinstance(protect, Mapping):
        return {"all": risk, **protect}
    known: dict[str, Risk] = {
        "all": risk,
        "each": {"each": risk},
        "positive": {"positive": risk, "negative": 0},
        "negative": {"negative": risk, "positive": 0},
    }
    if protect not in known:
        raise ValueError(f"protect must be one of {tuple(known)}, or a dict from label to risk. Got {protect!r}.")
    return known[protect]
