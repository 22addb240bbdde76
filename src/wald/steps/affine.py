"""The affine steps of a pipeline as one map of the raw columns, and what terms include of them."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..sources import Source
from .step import Step

# Attributes that transform reads, by type of foldable step.
READ_BY_TRANSFORM: dict[type, tuple[str, ...]] = {
    StandardScaler: ("mean_", "scale_", "with_mean", "with_std"),
    MinMaxScaler: ("scale_", "min_", "clip"),
    MaxAbsScaler: ("scale_", "clip"),
    RobustScaler: ("center_", "scale_", "with_centering", "with_scaling"),
    SimpleImputer: ("statistics_", "missing_values"),
}

# Steps with smaller or larger scales are not folded into the model.
LEAST_SCALE, MOST_SCALE = 2.0**-60, 2.0**60
DERIVED: Any = None  # default of a field that __post_init__ computes from the others


@dataclass(frozen=True, eq=False)
class Folded:
    """What the terms of a model include of a pipeline, which computes it in the dtype of the rows.

    Parameters
    ----------
    transformers : tuple of transformers, default=()
        In their order; empty where they are not at hand, as in a model that was loaded without them.
    centres : bool, default=False
        Whether one of them maps zeros to other values. It does so in dense rows only; sparse rows are then evaluated
        without the fold.
    """

    transformers: tuple[Any, ...] = ()
    centres: bool = False

    @property
    def learnt_dtypes(self) -> list[np.dtype[Any]]:
        """Dtypes of the arrays that the transformers have learned."""
        learnt = (getattr(each, name) for each in self.transformers for name in READ_BY_TRANSFORM[type(each)])
        return [value.dtype for value in learnt if isinstance(value, np.ndarray) and value.dtype.kind == "f"]


@dataclass(frozen=True, eq=False)
class ColumnMap(Step):
    """An affine map of every column, and the value that replaces NaN.

    Parameters
    ----------
    scale, shift : float64 ndarray of shape (n_features,)
        A raw value x becomes ``x * scale + shift``.
    fill : float64 ndarray of shape (n_features,) or None, default=None
        Value of the map at NaN. None: a NaN is an error.
    magnitude : float64 ndarray of shape (n_features,), optional
        ``|x * scale| + magnitude`` bounds every intermediate value of the folded steps, in units of the output.
        Rounding errors are relative to this bound; the output itself may be small by cancellation. ``|shift|`` by
        default.
    """

    scale: NDArray[np.float64]
    shift: NDArray[np.float64]
    fill: NDArray[np.float64] | None = None
    magnitude: NDArray[np.float64] = DERIVED

    def __post_init__(self) -> None:
        if self.magnitude is None:
            object.__setattr__(self, "magnitude", np.abs(self.shift))

    @property
    def is_identity(self) -> bool:
        """Whether the map changes no value, NaN included."""
        return self.fill is None and bool(np.all(self.scale == 1) and np.all(self.shift == 0))

    def then(self, later: ColumnMap) -> ColumnMap:
        """Compose with a map that is applied to the output of this one.

        Parameters
        ----------
        later : ColumnMap
            The second map.

        Returns
        -------
        ColumnMap
            The composition. If this map has no `fill`, it has that of `later`.
        """
        fill = later.fill if self.fill is None else self.fill * later.scale + later.shift
        return ColumnMap(
            scale=self.scale * later.scale,
            shift=self.shift * later.scale + later.shift,
            fill=fill,
            magnitude=self.magnitude * np.abs(later.scale) + later.magnitude,
        )

    @property
    def width(self) -> int:
        """Number of columns; each is mapped by itself."""
        return len(self.scale)

    def transform(self, source: Source) -> NDArray[np.float64]:
        """Map raw rows, to a new array."""
        given = source.array()
        mapped = given.toarray() if source.is_sparse else given
        image: NDArray[np.float64] = mapped * self.scale + self.shift
        return image if self.fill is None else np.where(np.isnan(mapped), self.fill, image)

    def raw_fill(self) -> NDArray[np.float64] | None:
        """Raw values that the map takes to `fill`.

        Returns
        -------
        float64 ndarray of shape (n_features,) or None
            None when there is no `fill`; 0 where the scale is 0.
        """
        if self.fill is None:
            return None
        raw = np.zeros_like(self.fill)
        np.divide(self.fill - self.shift, self.scale, out=raw, where=self.scale != 0)
        return raw


def read_step(step: Any) -> ColumnMap | None:
    """Read a fitted step of a pipeline as a map of its columns.

    Parameters
    ----------
    step : object
        A fitted transformer.

    Returns
    -------
    ColumnMap or None
        None when the step is not a map of single columns that can be read here.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the step could be read but is not fitted.
    """
    # Subclasses may override transform, so they are not folded.
    if type(step) not in READ_BY_TRANSFORM:
        return None
    check_is_fitted(step)
    if isinstance(step, SimpleImputer):
        return _read_imputer(step)
    if getattr(step, "clip", False):
        return None
    if isinstance(step, MinMaxScaler):
        scale, shift = step.scale_, step.min_
    else:
        # x -> (x - centre) / spread; a scaler may have statistics that it does not use.
        centre = spread = None
        if isinstance(step, StandardScaler):
            centre, spread = step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None
        elif isinstance(step, RobustScaler):
            centre = step.center_ if step.with_centering else None
            spread = step.scale_ if step.with_scaling else None
        else:
            spread = step.scale_
        scale = np.ones(step.n_features_in_) if spread is None else 1.0 / _floats(spread)
        shift = np.zeros(step.n_features_in_) if centre is None else -_floats(centre) * scale
    columns = ColumnMap(_floats(scale), _floats(shift))
    scales = np.abs(columns.scale)
    # The error bounds do not cover over- and underflow by scales beyond these.
    readable = np.isfinite(columns.shift) & (scales >= LEAST_SCALE) & (scales <= MOST_SCALE)
    return columns if readable.all() else None


def sliced(step: Any, columns: NDArray[np.intp]) -> Any:
    """A fitted scaler or imputer for some of its columns; None for other steps, and where it drops or adds columns."""
    if type(step) not in READ_BY_TRANSFORM or getattr(step, "add_indicator", False) or gives_frames(step):
        return None
    if isinstance(step, SimpleImputer) and (step.statistics_.dtype.kind != "f" or np.isnan(step.statistics_).any()):
        return None
    part, n = copy.copy(step), step.n_features_in_
    if columns.max(initial=-1) >= n:  # another step has dropped columns before it
        return None
    for name, value in vars(step).items():
        if isinstance(value, np.ndarray) and value.shape == (n,):
            setattr(part, name, value[columns])
    part.n_features_in_ = len(columns)
    vars(part).pop("feature_names_in_", None)
    return part


def gives_frames(step: Any) -> bool:
    """Whether a transformer was told to give data frames, by `set_output`."""
    return any(kind not in (None, "default") for kind in getattr(step, "_sklearn_output_config", {}).values())


def overrides(step: Any) -> bool:
    """Whether methods of a transformer were set on the object itself."""
    return any(callable(getattr(type(step), name, None)) for name in vars(step)) or "_white_spaces" in vars(step)


def _read_imputer(imputer: SimpleImputer) -> ColumnMap | None:
    replaces_nan = isinstance(imputer.missing_values, float) and np.isnan(imputer.missing_values)
    if not replaces_nan or imputer.add_indicator:
        return None
    try:
        statistics = _floats(imputer.statistics_)
    except (TypeError, ValueError):  # strings
        return None
    if not np.isfinite(statistics).all():  # the imputer drops a column that was all NaN in fit
        return None
    # The imputer casts its statistics in ways that depend on the data seen in fit, so a row of NaN is transformed.
    probe = np.full((1, len(statistics)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about missing feature names
        filled = np.asarray(imputer.transform(probe), dtype=np.float64)[0]
    return ColumnMap(np.ones(len(filled)), np.zeros(len(filled)), filled)


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
