"""Probabilities of single rows without a frame: of dicts whose values transformers read one by one, and of texts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model._base import LinearClassifierMixin

from ... import _core
from ...models import AdditiveModel
from ...models.links import Method
from ...models.own_links import Link, link_of_one
from ...models.wrappers import peel
from ...sources import Source
from ...sources.building import library_at_hand
from ...steps import ByColumn, Chain, RawColumns
from ...steps.tables import Tables
from .predictor import Predictor
from .reader import RowReader

#: From a row to its probabilities; None for what others must read.
ProbaOfOne = Callable[[Any], NDArray[Any] | None]
#: Rows that are made to compare probabilities with the wrapped model's own, and how many it must answer.
MADE, ANSWERED = 8, 4


def proba_of_one(predictor: Predictor, reader: RowReader, own: Callable[[Source], NDArray[Any]]) -> ProbaOfOne:
    """The wrapped model's own probabilities of a row, as a function.

    Parameters
    ----------
    predictor : Predictor
    reader : RowReader
    own : callable
        What the wrapped model itself answers for a single row.

    Returns
    -------
    callable
    """
    model, found = predictor.model, None
    if model.texts is not None:
        found = None if model.ruled else model.texts.proba_of_one()
    elif isinstance(model.preprocessing, ByColumn) and model.schema.names is not None:
        library = reader.library or library_at_hand()
        if library is not None:
            found = _by_engine(predictor, library, model.links.predict_proba)
            found = found or _by_product(model, library, reader, own)
    return found or _nothing


def value_of_one(predictor: Predictor, reader: RowReader) -> ProbaOfOne:
    """The wrapped model's value of a row, as a function, for models whose answers are values.

    Parameters
    ----------
    predictor : Predictor
    reader : RowReader

    Returns
    -------
    callable
    """
    model = predictor.model
    if isinstance(model.preprocessing, ByColumn) and model.schema.names is not None:
        library = reader.library or library_at_hand()
        found = None if library is None else _by_engine(predictor, library, model.links.predict)
        return found or _nothing
    return _nothing


def _nothing(x: Any) -> None:
    """Leave a row to others."""


def _by_engine(predictor: Predictor, library: str, link: Method | None) -> ProbaOfOne | None:
    """Probabilities or values by the engine's scores, where these are the wrapped model's own."""
    model, core = predictor.model, predictor.core
    step = model.preprocessing
    described = step.of_records(library) if isinstance(step, ByColumn) else None
    if link is None or core is None or described is None or not isinstance(step, ByColumn):
        return None
    scores = _core.RecordScores(list(model.schema.names or ()), described, step.width, core).scores

    def answer(x: Any) -> NDArray[Any] | None:
        found = scores(x)
        return None if found is None else link(found)[0]

    return answer


def _by_product(
    model: AdditiveModel, library: str, reader: RowReader, own: Callable[[Source], NDArray[Any]]
) -> ProbaOfOne | None:
    """Probabilities of a linear model by its own arithmetic, if some made rows get the same bits in this way."""
    chain, leaf = model.preprocessing, model.leaf
    if not isinstance(chain, RawColumns) or model.ruled or leaf is None:
        return None
    steps = [*chain.steps, *((f"folded {i}", step) for i, step in enumerate(model.steps))]
    if len(peel(model.estimator).steps) != len(steps):
        return None
    if getattr(type(leaf), "decision_function", None) is not LinearClassifierMixin.decision_function:
        return None
    if not isinstance(leaf.coef_, np.ndarray) or leaf.coef_.dtype != np.float64:
        return None
    written = ByColumn.of(Chain(steps), False, np.dtype(np.float64))
    described = None if written is None else written.of_records(library)
    link = link_of_one(leaf, model.terms.n_outputs, np.float64)
    if written is None or described is None or link is None or written.width != leaf.coef_.shape[-1]:
        return None
    names = list(model.schema.names or ())
    answer = (_in_order if _gives_sparse(chain.first) else _by_blas)(names, described, written.width, leaf, link)
    return answer if _has_bits(answer, written, names, reader, own) else None


def _gives_sparse(front: Any) -> bool:
    return bool(getattr(front, "sparse_output_", getattr(front, "sparse_output", False)))


def _in_order(names: list[str], described: list[dict[str, Any]], width: int, leaf: Any, link: Link) -> ProbaOfOne:
    """As SciPy multiplies a sparse row: one product after the other."""
    coef = np.ascontiguousarray(np.atleast_2d(leaf.coef_))
    intercept = np.array(np.broadcast_to(leaf.intercept_, len(coef)), dtype=np.float64)
    scores = _core.RecordScores(names, described, width, coef=coef, intercept=intercept).scores

    def answer(x: Any) -> NDArray[Any] | None:
        found = scores(x)
        return None if found is None else link(found)

    return answer


def _by_blas(names: list[str], described: list[dict[str, Any]], width: int, leaf: Any, link: Link) -> ProbaOfOne:
    """As scikit-learn multiplies an array of one row, whose bits depend on the library of matrix products."""
    values = _core.RecordScores(names, described, width).values
    weights = np.array((leaf.coef_.T if leaf.coef_.ndim == 2 else leaf.coef_), order="K")
    intercept = np.array(leaf.intercept_)

    def answer(x: Any) -> NDArray[Any] | None:
        row = values(x)
        if row is None:
            return None
        scores = (row @ weights + intercept).reshape(1, -1)
        return link(scores) if math.isfinite(scores.sum()) else None

    return answer


def _has_bits(
    answer: ProbaOfOne, written: ByColumn, names: list[str], reader: RowReader, own: Callable[[Source], NDArray[Any]]
) -> bool:
    """Whether made rows get the bits of the wrapped model."""
    n_answered = 0
    with warnings.catch_warnings(), sklearn.config_context(transform_output="default"):
        warnings.simplefilter("ignore")
        for record in _made(written, names):
            found = answer(record)
            if found is None:
                continue
            try:
                expected = own(reader.records([record], lambda _: "x"))
            except Exception:  # whatever a transformer raises for a value that was made up
                continue
            if found.dtype != expected.dtype or not np.array_equal(found, expected):
                return False
            n_answered += 1
    return n_answered >= ANSWERED


def _made(written: ByColumn, names: list[str]) -> Iterator[dict[str, Any]]:
    """Records of known categories and of any numbers."""
    rng = np.random.default_rng(0)
    known = {
        table.column: table.keys.known for part in written.parts if isinstance(part, Tables) for table in part.tables
    }
    for _ in range(MADE):
        record: dict[str, Any] = dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
        for c, values in known.items():
            if len(values):
                value = values[int(rng.integers(len(values)))]
                record[names[c]] = value.item() if isinstance(value, np.generic) else value
        yield record
