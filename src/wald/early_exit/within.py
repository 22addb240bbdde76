"""What estimators with a `tolerance` share: its check, its unit, and a look at how far the answers differ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import AdditiveModel
from ..models.tolerances import checked_probability, checked_tolerances
from ..sources import Source
from ..stopping.core.risks import Risk, largest
from ..utils.warn import warn_caller
from .compiled.full_model import predict_wrapped
from .planned import PlannedEstimator

#: How many rows are looked at, and at most which share of them: they neither plan nor certify.
LOOKED_AT, SHARE = 1000, 0.1
#: Units of a tolerance, of the values on these rows: their standard deviation, and the distance of two quantiles.
UNITS = ("std", "quantile")
QUANTILES = (0.05, 0.95)


class WithinTolerance(PlannedEstimator):
    """An estimator whose rows may leave with estimates of numbers, within a tolerance.

    A subclass has the parameter `tolerance`, and perhaps `relative`.
    """

    tolerance: Any
    tolerance_: Any

    @property
    def promised_risk(self) -> Risk:
        """The risk; of values and probabilities there is one number, for all rows."""
        if self.tolerance is None or not isinstance(self.risk, Mapping):
            return self.risk
        if set(self.risk) != {"all"}:
            raise ValueError(
                f"risk={self.risk!r} names strata, and {self._numbers} within a tolerance have none: give one number, "
                'or {"all": ...}.'
            )
        return self.risk["all"]

    @property
    def _numbers(self) -> str:
        return "probabilities" if self.kind == "classifier" else "values"

    def _check_numbers(self) -> None:
        """Refuse a tolerance that is none, or without a risk, or beside bands."""
        if self.tolerance is None:
            return
        if self.bands is not None:
            raise ValueError(
                f"Give tolerance, for {self._numbers}, or bands, for numbers of bands, and not both: leave one out."
            )
        if self.kind == "classifier":
            checked_probability(self.tolerance)
        else:
            several = isinstance(self.tolerance, list | tuple | np.ndarray) and np.ndim(self.tolerance) > 0
            checked_tolerances(self.tolerance, len(self.tolerance) if several else 1, "there are", "values")
        if largest(self.promised_risk) == 0:
            raise ValueError(
                f"tolerance={_shown(self.tolerance)} needs a risk above 0, such as risk=0.01, with which rows may "
                f"leave early: leave tolerance out for {self._numbers} in full."
            )

    def _look(
        self, inner: Any, source: Source, untrained: NDArray[np.intp], groups: Any, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Resolve the tolerance by the model's values of some rows, which are then left out, and warn of a large one.

        Certificates hold for tolerances that their rows do not choose.
        """
        self.__dict__.pop("tolerance_", None)
        if self.tolerance is None or self.kind == "classifier":
            return untrained
        relative = getattr(self, "relative", False)
        by_unit = str(relative) in UNITS
        chosen, rest = _some(untrained, groups, rng) if by_unit else (untrained[:LOOKED_AT], untrained)
        try:
            values = _values_of(PlannedEstimator._read(self, inner), source.take(chosen))
        except (ValueError, TypeError):
            if by_unit:
                raise
            return rest  # rows that are refused are told of where they are read
        n_values = 1 if values.ndim == 1 else values.shape[1]
        if len(values):
            checked_tolerances(self.tolerance, n_values, f"this {type(inner).__name__} has", "values")
            values = values[np.isfinite(values).reshape(len(values), -1).all(axis=1)]
        each: Any = np.asarray(self.tolerance, dtype=np.float64)
        if by_unit:
            unit = _units(values, str(relative))
            if not (len(values) > 1 and (np.asarray(unit) > 0).all()):
                raise ValueError(
                    f"relative={relative!r} measures how far the model's values lie apart, and on {len(values)} of "
                    "these rows they do not differ: give an absolute tolerance, with relative=False."
                )
            each = each * unit
        self.tolerance_ = each.tolist()
        if by_unit or not relative:
            _warn_of_range(self.tolerance_, values)
        return rest

    def _resolved(self) -> Any:
        """The tolerance in the unit of the values; before `fit`, as it was given."""
        return getattr(self, "tolerance_", self.tolerance)


def _values_of(model: AdditiveModel, source: Source) -> NDArray[np.float64]:
    """The values of some rows by the model itself."""
    if source.n_rows == 0:
        return np.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that arrays lack
        return np.asarray(predict_wrapped(model, model.schema.matched(source)), dtype=np.float64)


def _some(rows: NDArray[np.intp], groups: Any, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Some rows at random, and the others; of groups, none that they share."""
    chosen = rng.permutation(rows)[: min(LOOKED_AT, int(SHARE * len(rows)))]
    taken = np.isin(rows, chosen) if groups is None else np.isin(np.asarray(groups)[rows], np.asarray(groups)[chosen])
    return np.sort(chosen), rows[~taken]


def _units(values: NDArray[np.float64], relative: str) -> Any:
    """The unit of a tolerance, or one for each of several values."""
    if not len(values):
        return 0.0
    if relative == "std":
        return values.std(axis=0)
    low, high = np.quantile(values, QUANTILES, axis=0)
    return high - low


def _warn_of_range(tolerance: Any, values: NDArray[np.float64]) -> None:
    """Warn of a tolerance that is larger than the values differ."""
    if not len(values):
        return
    low, high = np.atleast_1d(values.min(axis=0)), np.atleast_1d(values.max(axis=0))
    wide = np.flatnonzero(np.broadcast_to(tolerance, low.shape) > high - low)
    if len(wide) and (high > low)[wide].any():
        k = int(wide[0])
        which = f" {k}" if len(low) > 1 else "s"
        warn_caller(
            f"tolerance={_shown(tolerance)} is larger than the range of the model's value{which} on these rows, from "
            f"{low[k]:.6g} to {high[k]:.6g}: one number may stand for all of them, and rows leave at the first stage. "
            "Give a smaller one."
        )


def _shown(tolerance: Any) -> str:
    return f"[{', '.join(f'{float(one):g}' for one in tolerance)}]" if np.ndim(tolerance) else f"{float(tolerance):g}"
