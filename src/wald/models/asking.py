"""How a model that wald has not read is asked for labels: each answer is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calls import Calls
from ..sources import Source
from ..utils.labels import codes_of_labels
from .asked import AskedFunction
from .boosters import fitted_for_good
from .tree_classifier import FittedForGood


def answered_labels(model: Any, source: Source) -> NDArray[Any]:
    """A model's labels for rows.

    Raises
    ------
    ValueError
        If it gives another number of labels.
    """
    return one_each(model, np.asarray(model.predict(source.rows)), source.n_rows)


def one_each(model: Any, labels: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Labels, (n_rows,), which may be a column; raises ValueError for another shape."""
    if labels.shape == (n_rows, 1):
        labels = labels[:, 0]
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{title_of(model)} must give one label for each of {n_rows} rows. Got an array of shape {labels.shape}."
        )
    return labels


def answered_codes(model: Any, labels: NDArray[Any]) -> NDArray[np.int32]:
    """Codes of a model's labels.

    Raises
    ------
    ValueError
        If one is none of its classes.
    """
    classes = np.asarray(model.classes_)
    try:
        codes = codes_of_labels(classes, labels)
    except TypeError as error:
        raise ValueError(
            f"{title_of(model)} gave labels that cannot be compared with its classes_, {_shown(classes)}: {error}."
        ) from error
    wrong = np.flatnonzero(classes[codes] != labels)
    if len(wrong):
        raise ValueError(
            f"{title_of(model)} gave the label {labels[wrong].tolist()[0]!r} for row {wrong[0]} of {len(labels)}, "
            f"which is none of its classes_: {_shown(classes)}."
        )
    return codes.astype(np.int32)


def _shown(classes: NDArray[Any]) -> str:
    """The first classes, in messages."""
    return f"{', '.join(map(repr, classes[:8].tolist()))}{', ...' if len(classes) > 8 else ''}"


def answers_labels(model: Any) -> bool:
    """Whether a fitted object gives one label a row, of classes that it knows, or that it will show."""
    if isinstance(model, FittedForGood):  # of these, wald itself made the others
        return isinstance(model, AskedFunction)
    classes = getattr(model, "classes_", None)
    return hasattr(model, "predict") and classes is not None and np.asarray(classes).ndim == 1 and len(classes) > 1


def asked_model(model: Any) -> Any:
    """What is asked for labels: a fitted classifier, or a function as one.

    Raises
    ------
    TypeError
        If it gives no labels.
    """
    model = fitted_for_good(model) or model
    if not isinstance(model, FittedForGood) and not answers_labels(model):
        raise TypeError(
            f"The model must be a fitted classifier, with predict and classes_, or a function from rows to labels. Got "
            f"{type(model).__name__}."
        )
    return model


def calls_of(model: Any) -> Calls:
    """How a model is called for labels."""
    function = model.function if isinstance(model, AskedFunction) else model
    if isinstance(function, Calls):
        return function
    return Calls(function.predict if hasattr(function, "predict") else function)


def seconds_of_calls(model: Any) -> float | None:
    """Seconds that a row has taken, of a model of which some are answered by a cache; None of others."""
    calls = model.function if isinstance(model, AskedFunction) else None
    if not isinstance(calls, Calls) or calls.cache is None or calls.total.rows == 0:
        return None
    return calls.total.seconds / calls.total.rows


def title_of(model: Any) -> str:
    """What messages call a model."""
    return model.name if isinstance(model, AskedFunction) else type(model).__name__
