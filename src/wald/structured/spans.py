"""Labels that begin spans and go on with them: which may follow which, the spans of an answer, and their F1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..outputs import Spans
from .sequences import Sequences


class Span(NamedTuple):
    """Parts from ``start`` to before ``end``, of a kind."""

    start: int
    end: int
    kind: str


def spans_of(labels: ArrayLike) -> list[Span]:
    """Read the spans of one labelled sequence.

    Parameters
    ----------
    labels : array-like of str, of shape (length,)
        ``"O"``, ``"B-..."`` and ``"I-..."``; see `Spans` of `wald.outputs`.

    Returns
    -------
    list of Span
        By their starts.

    Raises
    ------
    ValueError
        For other labels.

    Examples
    --------
    >>> from wald.structured.spans import spans_of
    >>> spans_of(["B-NP", "I-NP", "O", "B-PP"])
    [Span(start=0, end=2, kind='NP'), Span(start=3, end=4, kind='PP')]
    """
    classes, codes = np.unique(_of_one_sequence(labels), return_inverse=True)
    if not len(codes):
        return []
    spans = Spans(classes)
    ends = spans.ends(codes.astype(np.int32), np.array([0, len(codes)]))
    starts = np.flatnonzero(ends)
    return [Span(start, int(ends[start]), spans.names[spans.kinds[codes[start]]]) for start in starts.tolist()]


def span_f1(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """F1 of the spans of all sequences together.

    Parameters
    ----------
    y_true, y_pred : sequence of label sequences
        As in `spans_of`, of the same lengths.

    Returns
    -------
    float
        Twice the spans that both have, equal in both ends and in kind, divided by the spans that each has; 1 if
        neither has any.

    Raises
    ------
    ValueError
        For labels that are not those of spans, and lengths that differ.

    Examples
    --------
    >>> from wald.structured.spans import span_f1
    >>> span_f1([["B-NP", "I-NP", "O", "B-PP"]], [["B-NP", "O", "O", "B-PP"]])
    0.5
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true and y_pred must hold as many sequences. Got {len(y_true)} and {len(y_pred)}.")
    for i, (one, two) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(one) != len(two):
            raise ValueError(f"Sequence {i} has {len(one)} labels in y_true, and {len(two)} in y_pred.")
    lengths = [len(labels) for labels in y_true if len(labels)]
    if not lengths:
        return 1.0
    flat = [np.concatenate([_of_one_sequence(labels) for labels in y if len(labels)]) for y in (y_true, y_pred)]
    return f1_of(flat[0], flat[1], np.concatenate([[0], np.cumsum(lengths)]))


def _of_one_sequence(labels: ArrayLike) -> NDArray[Any]:
    """Labels as an array (length,) whose values can be sorted, or ValueError."""
    array = np.asarray(labels)
    if array.ndim != 1 or (array.dtype == object and not all(isinstance(label, str) for label in array)):
        raise ValueError(f"Labels of a sequence must be a list of texts, one for each part. Got {labels!r:.60}.")
    return array


def f1_of(true: NDArray[Any], found: NDArray[Any], offsets: NDArray[np.int64]) -> float:
    """F1 of spans, from the labels of all parts (n_parts,)."""
    classes, codes = np.unique(np.concatenate([true, found]), return_inverse=True)
    one, two = np.split(codes.astype(np.int32), 2)
    spans = Spans(classes)
    counted = spans.counted(one, two, offsets).sum()
    return float(1.0 - spans.lost("disagreement", one, two, offsets).sum() / counted) if counted else 1.0


def ruled_out(classes: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Labels (n_classes,) that no sequence begins with, and steps (n_classes, n_classes) that none takes.

    A label I-kind must go on with its kind. Raises ValueError for labels that are not those of spans, and if all of
    them go on with a span.
    """
    spans = Spans(classes)
    kinds, inside = spans.kinds[: len(classes)], spans.inside[: len(classes)]
    if inside.all():
        raise ValueError(f"constraints='bio' needs a label that a sequence can begin with. Got {classes.tolist()!r}.")
    return inside, inside & (kinds[:, None] != kinds)


def require_allowed(codes: NDArray[np.int32], classes: NDArray[Any], sequences: Sequences) -> None:
    """Raise ValueError for labels, as codes of all parts, that `ruled_out` names; the message says where they stand."""
    first, steps = ruled_out(classes)
    out = np.zeros(len(codes), dtype=bool)
    out[1:] = steps[codes[:-1], codes[1:]]
    starts = sequences.offsets[:-1]
    out[starts] = first[codes[starts]]
    if not out.any():
        return
    part = int(out.argmax())
    i = int(np.searchsorted(sequences.offsets, part, side="right")) - 1
    at = part - int(starts[i])
    behind = f"behind {str(classes[codes[part - 1]])!r}" if at else "at the beginning"
    raise ValueError(
        f"constraints='bio' rules out the label {str(classes[codes[part]])!r} of part {at} of sequence "
        f"{sequences.number(i)}, {behind}: a span begins with B. Correct the labels, or leave out the constraints."
    )
