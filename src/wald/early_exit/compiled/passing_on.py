"""Rows that go straight to a model that is asked as it is: where no plan pays, `predict` costs what the model costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...sources.values import NATIVE

if TYPE_CHECKING:
    from .compiled_plan import CompiledPlan

#: Libraries whose classifiers give labels of their `classes_`, one a row: nothing is to be checked.
LIBRARIES = ("sklearn",)


def passed_on(compiled: CompiledPlan, X: Any) -> NDArray[Any] | None:
    """The model's own labels for an array, as it gives them; None where more is to be done than to ask it.

    None, too, if the model raises: the other way says what was wrong, and where.

    Parameters
    ----------
    compiled : CompiledPlan
        With surrogates, and not watched.
    X : rows in any form
    """
    model = compiled.model
    if not compiled.plan.evaluate_all:
        return None
    if type(X) is not np.ndarray or X.ndim != 2 or len(X) == 0 or X.dtype not in NATIVE or X.dtype.byteorder != "=":
        return None
    known, library = model.schema, type(model.estimator).__module__.partition(".")[0]
    if known.names is not None or known.n_columns != X.shape[1] or library not in LIBRARIES:
        return None
    compiled.require_unchanged()
    try:
        labels = model.estimator.predict(X)
    except Exception:  # a model may raise anything
        return None
    same = type(labels) is np.ndarray and labels.shape == (len(X),) and labels.dtype == model.classes.dtype
    return labels if same else None
