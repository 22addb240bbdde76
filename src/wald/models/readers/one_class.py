"""Models that know one class: every row gets their one label, whatever their scores would be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...outputs import Labels
from ..class_names import CATBOOST_MODELS, LIGHTGBM_MODELS, XGBOOST_MODELS
from ..reading import Reading, full_name
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms
from .catboost import catboost_json, read_catboost_model
from .lightgbm import read_lightgbm_text
from .xgboost import read_xgboost_model

#: How models of other libraries are read, whose scores may give other labels than the one they know.
READ: dict[str, Callable[[Any], Any]] = {
    **{name: lambda model: read_lightgbm_text(model.booster_.model_to_string()) for name in LIGHTGBM_MODELS},
    **{name: lambda model: read_xgboost_model(model.get_booster().save_raw("ubj")) for name in XGBOOST_MODELS},
    **{name: lambda model: read_catboost_model(catboost_json(model)) for name in CATBOOST_MODELS},
}


def knows_one_class(model: Any) -> bool:
    """Whether a model knows one class; False for models that are not fitted."""
    classes = getattr(model, "classes_", None)
    return classes is not None and not isinstance(classes, list) and np.shape(classes) == (1,)


def read_one_class(model: Any) -> Reading:
    """Read a fitted model of one class as a tree without splits: every row gets the label that its own predict gives.

    No feature is read, so that NaN and infinity are never refused. The model itself computes probabilities.

    Parameters
    ----------
    model : estimator
        A model of any family.

    Raises
    ------
    ValueError
        If the model does not say how many columns it takes, or its labels depend on the row.
    """
    name, width = type(model).__name__, getattr(model, "n_features_in_", None)
    if width is None:
        raise ValueError(
            f"This {name} was trained on one class only, {str(model.classes_[0])!r}: there is nothing to decide."
        )
    builder = TreesBuilder(int(width))
    builder.add_leaf(np.zeros(1))
    terms, decision = TreeTerms(builder.build(), np.zeros(1)), Labels("sign", 1, threshold=math.inf)
    return Reading(terms, decision, row_by_row="always", classes=_label(model, int(width)))


def _label(model: Any, width: int) -> NDArray[Any]:
    read = next((READ[name] for name in map(full_name, type(model).__mro__) if name in READ), None)
    if read is None:
        return np.array(model.classes_)
    name, found = type(model).__name__, read(model)
    if not _is_constant(found.terms(), getattr(found, "threshold", 0.0)):
        raise ValueError(
            f"This {name} knows one class, {str(model.classes_[0])!r}, and its scores depend on the row, so that its "
            "labels may, too. Train it on rows of two classes."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of columns, which zeros do not have
        try:
            return np.asarray(model.predict(np.zeros((1, width)))).reshape(1)
        except Exception as error:  # LightGBM looks up a label that it does not have
            raise ValueError(
                f"This {name} knows one class, {str(model.classes_[0])!r}, and its own predict fails: {error}. Train "
                "it on rows of two classes."
            ) from None


def _is_constant(terms: TreeTerms, threshold: float) -> bool:
    """Whether all rows have one score, or binary scores that are nowhere above the threshold."""
    smallest, largest = terms.ranges(np.zeros(terms.n_features), np.zeros(terms.n_features))
    never_positive = max(largest.max(initial=0.0), terms.intercept.max()) <= 0 and (terms.coef >= 0).all()
    return np.array_equal(smallest, largest) or (terms.n_outputs == 1 and threshold >= 0 and bool(never_positive))
