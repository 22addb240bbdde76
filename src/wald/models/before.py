"""Linear models for the rows before a fitted step: selectors, projections, scalers and imputers as weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ..steps.affine import gives_frames, overrides, read_step
from ..steps.vectorizers import components, selected
from .linear import LinearTerms


def before_steps(steps: Sequence[tuple[str, Any]], terms: LinearTerms) -> LinearTerms | None:
    """A linear model for the rows that the first of some steps gets; None if a step is not known.

    Parameters
    ----------
    steps : sequence of (str, transformer)
        Fitted, in their order.
    terms : LinearTerms
        Of the rows that the last one gives.
    """
    for i in range(len(steps), 0, -1):
        before = before_step(steps[i - 1][1], terms)
        if before is None:
            return None
        terms = before
    return terms


def before_step(step: Any, terms: LinearTerms) -> LinearTerms | None:
    """A linear model for the rows that a fitted step gets; None for steps that are not known."""
    kept = selected(step)
    if kept is not None:
        return _before_selection(kept, terms)
    if is_projection(step):
        return _before_projection(step, terms)
    columns = read_step(step)
    if columns is None or columns.width != terms.n_terms:
        return None
    if terms.fill is not None and columns.fill is None:
        columns = columns.then(type(columns)(np.ones(terms.n_terms), np.zeros(terms.n_terms), terms.fill))
    return terms.after(columns)


def is_projection(step: Any) -> bool:
    """Whether a fitted step multiplies rows by a matrix, which gives dense rows."""
    return components(step) is not None or (type(step) is PCA and not gives_frames(step) and not overrides(step))


def _before_selection(kept: Any, terms: LinearTerms) -> LinearTerms | None:
    """Weights of 0 for the columns that are dropped, whose NaN the selector may take all the same."""
    if np.count_nonzero(kept) != terms.n_terms or terms.fill is not None:
        return None
    coef, bound = np.zeros((2, terms.n_outputs, len(kept)))
    coef[:, kept], bound[:, kept] = terms.coef, terms.coef_bound
    return LinearTerms(coef, terms.intercept, None, bound, terms.intercept_bound, terms.depth + len(kept))


def _before_projection(step: Any, terms: LinearTerms) -> LinearTerms | None:
    """The weights of all columns, in exact arithmetic but for the roundings that the bound covers."""
    matrix = np.asarray(step.components_, dtype=np.float64)
    if len(matrix) != terms.n_terms or terms.fill is not None:
        return None
    centre, scale = np.zeros(matrix.shape[1]), np.ones(len(matrix))
    if type(step) is PCA:
        centre = np.asarray(step.mean_, dtype=np.float64)
        if step.whiten:
            least = np.finfo(step.explained_variance_.dtype).eps
            deviation = np.sqrt(np.asarray(step.explained_variance_, dtype=np.float64))
            scale = 1.0 / np.maximum(deviation, least)
    matrix = matrix * scale[:, None]
    weights, bound = terms.coef @ matrix, terms.coef_bound @ np.abs(matrix)
    intercept = terms.intercept - weights @ centre
    largest = terms.intercept_bound + bound @ np.abs(centre)
    depth = terms.depth + 2 * matrix.shape[1] + 8
    return LinearTerms(weights, intercept, None, bound, largest, depth)
