"""scikit-learn's voting and bagging regressors of any regressors that wald reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from ...steps import Chain
from ..links import ValueLink
from ..member_values import MemberValues
from ..reading import Decompose, Family, Reading, column_names, of_values
from ..units import Floats
from .sklearn_trees import asked_members
from .sklearn_values import read_forest

if TYPE_CHECKING:
    from ..model import AdditiveModel


def read_voting(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``VotingRegressor``: the mean of its members, or a weighted one.

    Members are added in their order, as NumPy does for several rows; for a single row it adds eight members or more in
    another order, which may change the last bit.

    Raises
    ------
    TypeError
        If a member is no regressor that wald reads.
    ValueError
        If weights do not fit.
    """
    check_is_fitted(model)
    given = model._weights_not_none
    weights = None if given is None else np.asarray(given, dtype=np.float64)
    n_members = len(model.estimators_)
    if weights is not None and (weights.shape != (n_members,) or not np.isfinite(weights).all() or not weights.sum()):
        raise ValueError(
            f"The weights of this VotingRegressor must be {n_members} finite numbers whose sum is not 0. Got {given}."
        )
    divisor = float(n_members) if weights is None else float(weights.sum())
    return _reading(model, decompose, list(model.estimators_), [None] * n_members, weights, divisor)


def read_bagging(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``BaggingRegressor``: the mean of its members, each of which gets some of the columns.

    scikit-learn adds the members of a job, and then the jobs. They are added in their order here, as with ``n_jobs=1``.

    Raises
    ------
    TypeError
        If its members are no regressors that wald reads.
    """
    check_is_fitted(model)
    members = asked_members(model)
    if all(isinstance(member, DecisionTreeRegressor) for member in members):
        return read_forest(model, decompose)
    every = np.arange(model.n_features_in_)
    columns = [None if np.array_equal(some, every) else np.asarray(some) for some in model.estimators_features_]
    return _reading(model, decompose, members, columns[: len(members)], None, float(model.n_estimators))


def _reading(
    model: Any, decompose: Decompose, estimators: list[Any], columns: Any, weights: Floats | None, divisor: float
) -> Reading:
    members = tuple(_member(model, each, decompose) for each in estimators)
    n_values = {member.decision.n_outputs for member in members}
    if len(n_values) != 1:
        raise ValueError(f"The members of this {type(model).__name__} give {sorted(n_values)} values of a row.")
    single = weights is None and all(_single(member) for member in members)
    terms = MemberValues(
        members,
        tuple(columns),
        weights,
        divisor,
        n_values.pop(),
        int(model.n_features_in_),
        single,
        None if isinstance(model, BaggingRegressor) else column_names(model),
    )
    return of_values(
        terms,
        ValueLink("identity", single),
        dtype=np.dtype(np.float32 if single else np.float64),
        row_by_row="always" if all(member.row_by_row == "always" for member in members) else "never",
        dense_only=not terms.accepts.sparse,
        watches=tuple(member.watch for member in members),
    )


def _member(model: Any, estimator: Any, decompose: Decompose) -> AdditiveModel:
    name, inner = type(model).__name__, type(estimator).__name__
    try:
        member = decompose(estimator)
    except TypeError as error:
        error.add_note(f"It was raised by a {inner}, a member of the wrapped {name}.")
        raise
    if member.kind != "regressor" or member.links.predict is None:
        raise TypeError(f"{name} of {inner} is not supported: its members must be regressors.")
    if not isinstance(member.preprocessing, Chain | None):
        raise TypeError(
            f"{name} of {inner} is not supported: it takes columns of categories or texts apart. Encode them in front "
            f"of the {name}, in one Pipeline."
        )
    return member


def _single(member: AdditiveModel) -> bool:
    """Whether a member answers float32."""
    link = member.links.value_link
    return link is not None and link.single


FAMILIES = (
    Family((VotingRegressor,), ("predict",), ("estimators_", "estimators", "weights"), read_voting, thresholds=False),
    Family(
        (BaggingRegressor,),
        ("predict",),
        ("estimators_", "estimators_features_", "n_estimators"),
        read_bagging,
        thresholds=False,
    ),
)
