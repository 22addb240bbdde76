"""How an early-exit estimator plans: its stopping rule, order, costs, and splits of the rows."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from sklearn.base import BaseEstimator

from ...plan import CostModel
from ...stopping import Ladder, Lossless, Needs, Rule
from ...stopping.core.boundary import Sides
from ...stopping.rules.rules import check_rule
from ...utils.figures import thousands
from ...utils.reals import as_float

ORDERS = ("greedy", "qwyc", "random", "sorted", "in order", "spread")
#: Most splits of the rows.
MOST_SPLITS = 10_000


@dataclass(eq=False, repr=False, kw_only=True)
class Planner(BaseEstimator):
    """How `fit` plans the early exits of a model.

    Parameters
    ----------
    rule : "ladder" or rule object from `wald.stopping`, default="ladder"
        Rule by which rows leave. With a risk, its boundary is scaled by one number and certified.
    order : {"greedy", "qwyc", "random", "sorted", "in order", "spread"} or array of unit indices, default="greedy"
        In which order units (support vectors, features, or groups of features) are evaluated. "qwyc", for two classes,
        takes the unit that decides most rows per cost (see `wald.stopping.Qwyc`). Texts that are read in parts are read
        "in order", from their beginning on, or "spread": in blocks of some words from all over the text. "greedy" tries
        both there, and takes the one that is expected to cost less.
    cost : {"time", "units"} or CostModel, default="time"
        Cost that the plan minimizes: measured time, or units (or ``feature_costs``). Everything is evaluated if no plan
        is cheaper at the thresholds that its certificate is likely to allow. With "time", a plan that is estimated to
        take more than a fifth of the model's time is timed against the model, and kept only if it is clearly faster.
    certificate_fraction : float or "auto", default="auto"
        Share of the rows for the certificate. Three quarters of the others determine order and readouts, and one
        quarter the stages. "auto": 0.6 for linear models, whose weights contribute to the plan, else 0.5.
    n_splits : int or "auto", default="auto"
        Number of times to split the rows, plan and certify, each time at confidence
        ``1 - (1 - confidence) / n_splits``. The plan that costs least (in units, or by a given ``CostModel``) is kept,
        and its promise holds. If a certificate allows hardly any disagreement, the result may depend on a single row;
        several splits make that less likely, but ``fit`` takes `n_splits` times as long. "auto", with one risk for all
        rows: 5 (linear models and trees only), or else 2, if the certificate then allows as many disagreements as with
        one split. Models that may take 5 also do so if 2 splits would cost the only allowed disagreement. Else 1.

    Examples
    --------
    >>> from wald import EarlyExitClassifier, Planner
    >>> from wald.stopping import Ladder
    >>> planner = Planner(rule=Ladder(readout="partial"), cost="units")
    >>> EarlyExitClassifier(None, planner=planner).get_params()["planner__cost"]
    'units'
    """

    rule: Any = "ladder"
    order: Any = "greedy"
    cost: Any = "time"
    certificate_fraction: float | Literal["auto"] = "auto"
    n_splits: int | str = "auto"

    def checked_rule(self, risk: float | None) -> Rule:
        """Check the parameters, and return the stopping rule for the bound of all rows."""
        if not (_is_auto(self.certificate_fraction) or is_share(self.certificate_fraction)):
            raise ValueError(
                "certificate_fraction must be 'auto' or a number above 0 and below 1. "
                f"Got {self.certificate_fraction!r} instead."
            )
        if isinstance(self.order, str) and self.order not in ORDERS:
            raise ValueError(
                "order must be 'greedy', 'qwyc', 'random', 'sorted', 'in order', 'spread' or an array of units. "
                f"Got {self.order!r} instead."
            )
        if not (isinstance(self.cost, CostModel) or self.cost in ("time", "units")):
            raise ValueError(f"cost must be 'time', 'units' or a CostModel. Got {self.cost!r} instead.")
        n = self.n_splits
        if not _is_auto(n) and (isinstance(n, bool) or not isinstance(n, Integral) or n < 1):
            raise ValueError(f"n_splits must be 'auto' or an integer of at least 1. Got {n!r} instead.")
        if isinstance(n, Integral) and n > MOST_SPLITS:
            raise ValueError(
                f"n_splits must be at most {thousands(MOST_SPLITS)}: each split plans and certifies anew. "
                f"Got {reprlib.repr(int(n))} instead."
            )
        return self._rule(risk)

    def _rule(self, risk: float | None) -> Rule:
        rule = self.rule
        if isinstance(rule, str):
            if rule != "ladder":
                raise ValueError(f"rule must be 'ladder' or a rule object from wald.stopping. Got {rule!r} instead.")
            return Lossless() if risk == 0 else Ladder()
        if isinstance(rule, type):
            raise TypeError(
                f"rule must be 'ladder' or a rule object from wald.stopping. Got the class {rule.__name__}: add "
                "parentheses."
            )
        if not isinstance(rule, Rule):
            raise TypeError(
                f"rule must be 'ladder' or a rule object from wald.stopping. Got {type(rule).__name__} instead."
            )
        if not isinstance(rule.needs, Needs):
            raise TypeError(f"The needs of {rule!r} must be a wald.stopping.Needs. Got {rule.needs!r}.")
        check_rule(rule, risk)
        return rule


def planner_of(given: Any) -> Planner:
    """The planner of an estimator; raise TypeError if its parameter is none."""
    if given.planner is None:
        return Planner()
    if not isinstance(given.planner, Planner):
        raise TypeError(f"planner must be None or a wald.Planner. Got {type(given.planner).__name__} instead.")
    return given.planner


def require_sides(rule: Rule, sides: Sides) -> None:
    """Refuse a promise that leaves one side open if the rule opens the other one only, or forces exits to both."""
    if sides == "both":
        return
    other = "positive" if sides == "negative" else "negative"
    if getattr(rule, "sides", "both") == other:
        raise ValueError(
            f"A risk of 0 for a class lets rows leave as {sides} only, and sides={other!r} of the rule as {other} "
            f"only, so that none could leave: use sides={sides!r} or 'both'."
        )
    if rule.needs.forced:
        raise ValueError(
            f"A risk of 0 for a class lets rows leave as {sides} only, and {rule!r} makes every row leave: give both "
            "classes a risk above 0."
        )


def is_share(value: Any) -> bool:
    """Whether a value is a number above 0 and below 1."""
    return not isinstance(value, bool) and isinstance(value, Real) and 0 < as_float(value) < 1


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
