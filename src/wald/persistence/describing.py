"""scikit-learn's estimators as headers and arrays: the attributes that their answers depend on, by name."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.calibration import _CalibratedClassifier
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import VotingRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils import get_tags

from ..codec.writing import CSR_PARTS, Arrays, encode, encode_fields, put
from ..models import AdditiveModel
from ..models.rules import positive_code, response_method
from ..models.wrappers import peel
from ..steps.affine import gives_frames
from ..steps.columns import names_of
from ..steps.vectorizers import selected
from .classes import MEMBERS, SCHEMA, TABLE
from .comparing import members_of
from .functions import encode_function
from .members import encode_member
from .objects import NUMBERS, encode_object
from .shared import SHARED, must_share, shared_attributes
from .trees import encode_leaf
from .vocabularies import encode_vocabulary


class NotRebuildableError(Exception):
    """A file cannot describe an estimator; the message says which part of it, and why."""


class Writer:
    """Describes an estimator, which must be that of a model.

    Parameters
    ----------
    model : AdditiveModel
    n_features : int or None
        Number of columns of the whole; None where rows are texts.
    arrays : dict from name to ndarray
        Receives the arrays.
    """

    def __init__(self, model: AdditiveModel, n_features: int | None, arrays: Arrays) -> None:
        self._model, self._held, self._arrays = model, shared_attributes(model, n_features), arrays

    def node(self, part: Any, where: str = "estimator") -> dict[str, Any]:
        """Describe an estimator and what is inside it; raises NotRebuildableError."""
        if isinstance(part, BaseSearchCV):  # predicts with its best estimator
            part = part.best_estimator_
        if type(part) in (FixedThresholdClassifier, TunedThresholdClassifierCV):
            part = _fixed(part, self._held["classes_"])
        if part is self._model.leaf and type(part) not in TABLE:
            trees = encode_leaf(self._model, self._arrays, where) if self._is_bare() else None
            if trees is not None:
                return trees
        part = _plain(part)
        kind = type(part)
        if gives_frames(part):
            raise NotRebuildableError(f"the {kind.__name__} has a set_output of its own")
        if kind not in TABLE:
            raise NotRebuildableError(f"{kind.__module__}.{kind.__qualname__} is no class that a file can describe")
        node: dict[str, Any] = {"class": kind.__name__}
        for name, value in ((name, vars(part)[name]) for name in TABLE[kind] if name in vars(part)):
            place, what = f"{where}.{name}", f"{name} of {kind.__name__}"
            if name in self._held and _same(value, self._held[name]):
                node[name] = SHARED
            elif must_share(self._held, name) and value is not None:
                own = {"n_features_in_": "columns", "feature_names_in_": "feature names"}.get(name, "labels")
                raise NotRebuildableError(f"the {kind.__name__} has {own} of its own")
            elif isinstance(value, np.ndarray | np.generic) and value.dtype.name in NUMBERS:
                self._put(np.asarray(value), place, what)
            elif name == "vocabulary_":
                try:
                    node[name] = encode_vocabulary(value, self._arrays, place)
                except UnicodeEncodeError:
                    raise NotRebuildableError(f"{what} has a word that is no Unicode") from None
            elif name == MEMBERS:
                each = self._members(part)
                node[name] = [
                    encode_member(m, self._arrays, f"{place}.{i}", describe_member) for i, m in enumerate(each)
                ]
            elif name == "transformer_":  # of targets, which have columns of their own
                node[name] = Writer(self._model, None, self._arrays).node(value, place)
            elif sparse.issparse(value):
                node[name] = encode_fields({"csr": value.shape, "rows": sparse.csr_array(value)}, self._arrays, place)
            else:
                node[name] = self._value(value, place, what)
        return node

    def _members(self, part: Any) -> Sequence[AdditiveModel]:
        """The models of the members of a mean, which is that of the whole model."""
        members = members_of(self._model) if hasattr(self._model.leaf, MEMBERS) else ()
        if not members or len(members) > len(getattr(part, MEMBERS)):
            raise NotRebuildableError(f"the {type(part).__name__} is none of members that wald reads")
        return members

    def _is_bare(self) -> bool:
        """Whether the steps before the terms are those of the estimator, and none of the innermost model."""
        before, whole = self._model.preprocessing, self._model.estimator
        inner = whole.regressor_ if isinstance(whole, TransformedTargetRegressor) else whole
        n_steps = (0 if before is None else len(before.steps)) + len(self._model.steps)
        return len(peel(inner).steps) == n_steps

    def _put(self, array: Any, place: str, what: str) -> None:
        if not (array.flags.c_contiguous or array.flags.f_contiguous):  # would be summed in another order
            raise NotRebuildableError(f"{what} is a view with gaps")
        put(array, self._arrays, place)

    def _value(self, value: Any, place: str, what: str) -> Any:
        if isinstance(value, set | frozenset):
            value = sorted(value, key=str)
        if isinstance(value, list | tuple):
            return [self._value(item, f"{place}.{i}", what) for i, item in enumerate(value)]
        if isinstance(value, BaseEstimator | _CalibratedClassifier | Kernel) or value is self._model.leaf:
            return self.node(value, place)
        if isinstance(value, np.dtype | type) and np.dtype(value).name in (*NUMBERS, "object"):
            return {"dtype": np.dtype(value).name}
        function = encode_function(value, self._arrays, place)
        if function is not None:
            return function
        try:
            described = encode_object(value, self._arrays, place, lambda item, at: self._value(item, at, what))
            return encode(value, {}, what) if described is None else described
        except ValueError:
            raise NotRebuildableError(f"{what} is no plain value") from None


def describe_member(member: AdditiveModel, n_columns: int | None, arrays: Arrays, where: str) -> dict[str, Any]:
    """Describe the estimator of a member, as `encode_member` asks for it."""
    return Writer(member, n_columns, arrays).node(member.estimator, where)


def _fixed(outer: Any, classes: NDArray[Any]) -> FixedThresholdClassifier:
    """A threshold classifier around its fitted estimator, with a tuned threshold as it was found."""
    inner = outer.estimator_ if hasattr(outer, "estimator_") else outer.estimator
    if isinstance(outer, TunedThresholdClassifierCV):
        found, label, method = outer.best_threshold_, classes[positive_code(outer, classes)], response_method(outer)
    else:
        found, label, method = outer.threshold, outer.pos_label, outer.response_method
    fixed = FixedThresholdClassifier(inner, threshold=found, pos_label=label, response_method=method)
    fixed.__dict__ |= {"estimator_": inner} | {name: vars(outer)[name] for name in SCHEMA if name in vars(outer)}
    return fixed


def _plain(part: Any) -> Any:
    """A selector that keeps the same columns, whatever they were chosen by, and arrays in forms that a file holds."""
    kept = selected(part)
    if kept is not None:
        takes_nan = get_tags(part).input_tags.allow_nan
        made = VarianceThreshold() if takes_nan else SelectKBest(k=int(kept.sum()))
        found = {"variances_" if takes_nan else "scores_": kept.astype(np.float64)}
        made.__dict__ |= {**found, "n_features_in_": len(kept)}
        return made
    made = copy.copy(part)
    if type(part) is ColumnTransformer:
        names = getattr(part, "feature_names_in_", range(part.n_features_in_))
        made.transformers_ = [
            (name, step, columns if np.isscalar(columns) else names_of(columns, names))
            for name, step, columns in part.transformers_
        ]
    elif type(part) is KBinsDiscretizer:
        made.bin_edges_ = list(part.bin_edges_)
    elif isinstance(part, VotingRegressor):
        made.weights = None if part.weights is None else np.asarray(part._weights_not_none, dtype=np.float64)
        if "feature_names_in_" in vars(part):  # those of its first member, whose library may hold texts of NumPy
            made.feature_names_in_ = np.asarray(part.feature_names_in_, dtype=object)
    elif type(part) is TruncatedSVD:
        made.components_ = np.ascontiguousarray(part.components_)  # sparse rows are summed in the same order
    else:
        return part
    return made


def _same(one: Any, other: Any) -> bool:
    if sparse.issparse(one) and sparse.issparse(other):
        return one.shape == other.shape and all(_same(getattr(one, part), getattr(other, part)) for part in CSR_PARTS)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return np.ndim(one) == np.ndim(other) == 0 and bool(one == other)
