"""Registry of the families of models."""

from __future__ import annotations

from typing import Any

from .boosters import FAMILIES as FITTED_FOR_GOOD
from .readers import (
    attentive,
    calibrated,
    catboost,
    catboost_values,
    centroids,
    gaussian_process,
    kernel,
    library_values,
    lightgbm,
    linear,
    member_values,
    naive_bayes,
    one_vs_rest,
    outliers,
    sklearn_boosting,
    sklearn_trees,
    sklearn_values,
    sum_values,
    votes,
    xgboost,
)
from .reading import Family, full_name

_REGISTERED: list[Family] = [
    *(reader.FAMILY for reader in (linear, attentive, kernel, naive_bayes, centroids, lightgbm, xgboost, catboost)),
    *(sklearn_trees.FAMILY, *votes.FAMILIES, *sklearn_boosting.FAMILIES, one_vs_rest.FAMILY),
    *(
        family
        for reader in (library_values, sklearn_values, sum_values, member_values, outliers)
        for family in reader.FAMILIES
    ),
    calibrated.FAMILY,
    catboost_values.FAMILY,
    gaussian_process.FAMILY,
    *FITTED_FOR_GOOD,
]


def family_of(model: Any) -> Family | None:
    """Find the family of a model.

    Parameters
    ----------
    model : object

    Returns
    -------
    Family or None
        The one that lists the class closest to the model's own; None if no family supports it.
    """
    for base in type(model).__mro__:
        for family in _REGISTERED:
            if base in family.models or full_name(base) in family.named:
                return family
    return None


def register(family: Family) -> None:
    """Let `decompose` read another family of models.

    Parameters
    ----------
    family : Family
        Replaces a family that was registered for the same classes.

    Raises
    ------
    TypeError
        If it is not a `Family`.
    ValueError
        If some, but not all, of its classes belong to a registered family.
    """
    if not isinstance(family, Family):
        raise TypeError(f"family must be a wald.models.Family. Got {type(family).__name__} instead.")
    for known in _REGISTERED:
        if set(known.models) == set(family.models):
            _REGISTERED[_REGISTERED.index(known)] = family
            return
        if both := set(known.models) & set(family.models):
            raise ValueError(f"{min(model.__name__ for model in both)} is read by another family already.")
    _REGISTERED.append(family)
