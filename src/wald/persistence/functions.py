"""Functions of numbers in files: those of NumPy by name, splines by their knots, and products by their degree."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import BSpline
from sklearn.preprocessing import PolynomialFeatures

from ..codec.reading import BAD_VALUES, Section, require
from ..codec.writing import Arrays

#: Functions that a file may name: each takes one array, and gives one of its shape.
UFUNCS: dict[str, np.ufunc] = {
    each.__name__: each
    for each in (
        *(np.log, np.log1p, np.log2, np.log10, np.exp, np.exp2, np.expm1, np.sqrt, np.cbrt, np.square),
        *(np.absolute, np.fabs, np.sign, np.negative, np.reciprocal, np.floor, np.ceil, np.rint, np.trunc),
        *(np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh),
        *(np.deg2rad, np.rad2deg, np.radians, np.degrees),
    )
}
#: Fields by which a description is known.
FUNCTIONS = ("ufunc", "spline")
#: Largest degree of a spline, and most products.
MOST_DEGREE, MOST_PRODUCTS = 32, 1 << 20


def encode_function(value: Any, arrays: Arrays, place: str) -> dict[str, Any] | None:
    """Describe a function; None for anything else, and for functions that no file names."""
    if isinstance(value, np.ufunc):
        return {"ufunc": value.__name__} if UFUNCS.get(value.__name__) is value else None
    if type(value) is BSpline and value.c.ndim == 2 and value.axis == 0 and value.c.dtype == np.float64:
        arrays[f"{place}.t"], arrays[f"{place}.c"] = np.ascontiguousarray(value.t), np.ascontiguousarray(value.c)
        return {"spline": int(value.k), "extrapolate": value.extrapolate}
    return None


def decode_function(section: Section, name: str) -> Any:
    """Read what `encode_function` wrote for an attribute."""
    if "ufunc" in section:
        require(name in ("func", "inverse_func"), f"{section.where} should be no function")
        return UFUNCS[section.choice("ufunc", tuple(UFUNCS))]
    degree = section.integer("spline", 0, MOST_DEGREE)
    extrapolate = section.get("extrapolate", bool | str)
    require(extrapolate in (True, False, "periodic"), f"{section.where}.extrapolate is unknown")
    knots, weights = section.floats("t", None), section.floats("c", None, None)
    try:
        return BSpline(knots, weights, degree, extrapolate=extrapolate)
    except BAD_VALUES:
        require(False, f"{section.where} is no spline")


def finish_products(made: PolynomialFeatures) -> None:
    """Count the products of a `PolynomialFeatures` of a file, as its own fit does, if they are not too many."""
    degree: Any = made.degree
    made.degree = tuple(degree) if isinstance(degree, list) else degree
    ends = made.degree if isinstance(made.degree, tuple) else (0, made.degree)
    whole = len(ends) == 2 and all(type(each) is int and 0 <= each <= MOST_DEGREE for each in ends)
    n: Any = getattr(made, "n_features_in_", None)
    names = getattr(made, "feature_names_in_", None)
    flags = type(made.interaction_only) is bool and type(made.include_bias) is bool and made.order in ("C", "F")
    require(whole and flags and type(n) is int and 1 <= n <= MOST_PRODUCTS, "products of columns need a degree")
    count = PolynomialFeatures._num_combinations(n, 0, ends[1], made.interaction_only, made.include_bias)
    require(count <= MOST_PRODUCTS, "the file describes too many products of columns")
    try:
        made.fit(np.zeros((1, n)))
    except BAD_VALUES:
        require(False, "the file describes no products of columns")
    if names is not None:
        made.feature_names_in_ = names
