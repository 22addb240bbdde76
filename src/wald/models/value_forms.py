"""What the function from scores to values looks like, and how far a score may be off for a tolerance of the value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ..outputs import Values
from ..outputs.values import Margin
from ..utils.reals import as_float
from .links import Method
from .model import AdditiveModel
from .plain import terms_for
from .units import Floats

#: Scores on which a function is tried.
TRIED = np.linspace(-6.0, 6.0, 98)
#: Transformations of a target whose inverse is known to rise.
RISING = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
RISING_FUNCTIONS = (None, np.exp, np.exp2, np.expm1)
#: The smallest and the largest tolerance: what is computed from them stays within float32.
LEAST, MOST = 1e-30, 1e30


@dataclass(frozen=True)
class Form:
    """What a function from scores to values looks like.

    Parameters
    ----------
    kind : {"identity", "linear", "exp", "logistic", "other"}
        ``"linear"`` and ``"exp"`` with a constant added.
    exact : bool
        Whether values are the scores, rounded to their dtype.
    at_zero : float
        The value of the score 0.
    dtype : dtype
    """

    kind: Literal["identity", "linear", "exp", "logistic", "other"]
    exact: bool
    at_zero: float
    dtype: np.dtype[Any]


def form_of(values: Method) -> Form:
    """Try a function from scores (n, 1) to values (n,)."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(values(TRIED.reshape(-1, 1)))
        at_zero = float(np.asarray(values(np.zeros((1, 1))))[0])
    near = 1e-9 if found.dtype == np.float64 else 1e-5
    exact = bool(np.array_equal(found, TRIED.astype(found.dtype)))
    seen = found.astype(np.float64)

    def alike(other: Floats) -> bool:
        return bool(np.abs(seen - other).max() <= near * max(np.abs(seen).max(), 1e-300))

    slope = (seen[-1] - seen[0]) / (TRIED[-1] - TRIED[0])
    kind: Literal["identity", "linear", "exp", "logistic", "other"] = "other"
    if alike(TRIED):
        kind = "identity"
    elif slope != 0 and alike(slope * TRIED + at_zero):
        kind = "linear"
    elif alike(np.exp(TRIED) + (at_zero - 1.0)):
        kind = "exp"
    elif alike(1.0 / (1.0 + np.exp(-TRIED))):
        kind = "logistic"
    return Form(kind, exact, at_zero, found.dtype)


def rises(model: AdditiveModel) -> bool:
    """Whether the values of a model are known never to fall where its score rises."""
    outer = model.estimator
    if not isinstance(outer, TransformedTargetRegressor):
        return True
    back = outer.transformer_
    if isinstance(back, FunctionTransformer):
        return any(back.inverse_func is known for known in RISING_FUNCTIONS)
    return type(back) in RISING


def called(model: AdditiveModel) -> str:
    """The function from scores to values, for messages."""
    outer = model.estimator
    if isinstance(outer, TransformedTargetRegressor):
        back = outer.transformer_
        function = getattr(back, "inverse_func", None)
        name = getattr(function, "__name__", type(back).__name__)
        return f"the way back from the transformed target ({name})"
    return f"the function from its scores to values ({getattr(model.links.value_link, 'kind', 'of its own')})"


def checked_tolerance(tolerance: Any, relative: Any, what: str = "values") -> float:
    """The tolerance of `what` as a float; raise ValueError unless it is positive, and of a size to be computed with."""
    number = isinstance(tolerance, Real) and not isinstance(tolerance, bool | np.bool_)
    if not (number and 0 < as_float(tolerance) < np.inf):
        unit = "in the unit of the values" if what == "values" else "such as 0.05"
        raise ValueError(
            f"tolerance must be a positive number, {unit}, or None for {what} in full. Got {tolerance!r} instead."
        )
    if not LEAST <= float(tolerance) <= MOST:
        raise ValueError(
            f"tolerance={tolerance:g} is out of the range of the float32 numbers in which rows are told apart: give "
            f"one between {LEAST:g} and {MOST:g}."
        )
    if not isinstance(relative, bool | np.bool_):
        raise ValueError(f"relative must be True, False, 'std' or 'quantile'. Got {relative!r} instead.")
    return float(tolerance)


def within_tolerance(model: AdditiveModel, tolerance: float, relative: bool) -> AdditiveModel:
    """The model, with rows that may leave with an estimate of their value.

    Parameters
    ----------
    model : AdditiveModel
        Of a regressor of one value; see `values_within` in ``tolerances.py``.
    tolerance : float
    relative : bool
        Whether the tolerance is a share of the size of the full value.

    Raises
    ------
    ValueError
        If it is not known how far a score may be off.
    """
    name = type(model.leaf).__name__
    values = model.links.predict
    assert values is not None
    form = form_of(values)
    margin = margin_of(form, relative)
    if margin is None:
        instead = "give an absolute one" if relative and margin_of(form, False) is not None else "leave tolerance out"
        raise ValueError(
            f"A {'relative ' * relative}tolerance of this {name} is not supported: {called(model)} is none of those "
            f"for which wald knows how far a score may be off. Here, {instead}."
        )
    if margin == "logistic" and tolerance >= 0.5:
        raise ValueError(
            f"tolerance={tolerance:g} is half of the range of the values of this {name} or more, which lie between 0 "
            "and 1: give a smaller one."
        )
    return with_values(model, Values(1, tolerance, margin, relative))


def with_values(model: AdditiveModel, output: Values) -> AdditiveModel:
    """The model, with other values asked of its scores."""
    return replace(model, terms=terms_for(output, model.terms), decision=output)


def margin_of(form: Form, relative: bool) -> Margin | None:
    """How far a score may be off; None if it is not known.

    Parameters
    ----------
    form : Form
    relative : bool
        Whether the tolerance is a share of the value.
    """
    if form.kind == "other":
        return None
    if not relative:
        return "exp" if form.kind == "exp" else "logistic" if form.kind == "logistic" else "constant"
    if form.kind == "exp":
        return "constant" if form.at_zero == 1 else None
    return "relative" if form.kind in ("identity", "linear") and form.at_zero == 0 else None
