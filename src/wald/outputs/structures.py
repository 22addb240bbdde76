"""What is asked of structured models: answers of several parts, and what an early answer loses of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .output import Floats

__all__ = ["LOSSES", "Loss", "Parts", "Spans", "Structures"]

Loss = Literal["disagreement", "clipped gap", "gap"]
#: Ordered by strength: a bound of one is a bound of those after it.
LOSSES: tuple[Loss, ...] = ("disagreement", "clipped gap", "gap")

Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]


class Structures(ABC):
    """What is asked of a structured model: what its answers consist of, and how much of it two answers share.

    Answers are codes, one per part of an example; the parts of example i are those from ``offsets[i]`` to ``offsets[i +
    1]``. An answer consists of *units*, at most one for each part.

    Attributes
    ----------
    unit : str
        Noun for a unit, in certificates.
    """

    unit: ClassVar[str]

    @abstractmethod
    def counted(self, early: Codes, full: Codes, offsets: Offsets) -> Floats:
        """Units of each example, the mean of two answers: (n_examples,)."""

    @abstractmethod
    def lost(self, loss: Loss, early: Codes, full: Codes, offsets: Offsets, truth: Codes | None = None) -> Floats:
        """Loss of each example's early answer beside the full one, in units: (n_examples,).

        Parameters
        ----------
        loss : {"disagreement", "clipped gap", "gap"}
            "disagreement": what differs between the two answers. "gap": the errors of the early answer minus those of
            the full one, negative for gains. "clipped gap": the gap without gains.
        early, full : int32 ndarray of shape (n_parts,)
        offsets : int64 ndarray of shape (n_examples + 1,)
        truth : int32 ndarray of shape (n_parts,), optional
            Negative for what no answer holds. All losses but the disagreement need it.

        Returns
        -------
        float64 ndarray of shape (n_examples,)
            At most the number `counted`, and at least minus it.
        """


@dataclass(frozen=True, eq=False)
class Parts(Structures):
    """Each part has an answer: a tag, a head, or both, in columns.

    Parameters
    ----------
    loss_of_part : callable, default=None
        ``(truth, answer) -> (n_parts,)``: errors from 0 to 1, by codes. None: 1 where they differ.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.outputs import Parts
    >>> tags, heads, better = np.array([[0, 1, 1, 0], [2, 0, 2, 0], [2, 0, 2, 2]])
    >>> offsets = np.array([0, 2, 4])
    >>> both = Parts()
    >>> both.lost("disagreement", np.c_[tags, heads], np.c_[tags, better], offsets).tolist()
    [0.0, 1.0]
    """

    unit: ClassVar[str] = "part"

    loss_of_part: Callable[[Codes, Codes], Floats] | None = None

    def counted(self, early: Codes, full: Codes, offsets: Offsets) -> Floats:
        """Count the parts; see `Structures.counted`."""
        return np.diff(offsets).astype(np.float64)

    def lost(self, loss: Loss, early: Codes, full: Codes, offsets: Offsets, truth: Codes | None = None) -> Floats:
        """Sum the losses of parts, where a clipped gap is that of a part; see `Structures.lost`."""
        if loss == "disagreement":
            return _by_example(_differ(early, full), offsets)
        known = _needed(loss, truth)
        there = (known >= 0).reshape(len(known), -1).all(axis=1)
        of_part = self.loss_of_part or _differ
        part = np.zeros(len(early))
        part[there] = of_part(known[there], early[there]) - of_part(known[there], full[there])
        return _by_example(np.maximum(part, 0.0) if loss == "clipped gap" else part, offsets)


class Spans(Structures):
    """Answers are spans of parts, each of a kind, which labels B-kind begin and labels I-kind go on with.

    As in the evaluation of CoNLL-2000, a label I-kind that goes on with nothing begins a span, too. Two answers share
    the spans that are equal in both ends and in kind. An error is half a span that only one of two answers has, so that
    a span in place of another one is one error; as a share of the spans counted, errors are 1 minus F1. The clipped gap
    is that of an example.

    Parameters
    ----------
    classes : array-like of str, of shape (n_classes,)
        ``"O"``, ``"B-..."`` and ``"I-..."``, or ``"B"`` and ``"I"`` where there is one kind.

    Attributes
    ----------
    names : list of str
        The kinds.
    kinds : int64 ndarray of shape (n_classes + m,)
        Index of each class's kind, -1 outside of spans. The last m are of labels that are no classes; see `codes_of`.
    inside : bool ndarray of shape (n_classes + m,)
        Which of these go on with a span.

    Raises
    ------
    ValueError
        If a class is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.outputs import Spans
    >>> spans = Spans(["B-NP", "I-NP", "O"])
    >>> early, full = np.array([[0, 2, 2, 0], [0, 1, 2, 0]])
    >>> offsets = np.array([0, 4])
    >>> spans.lost("disagreement", early, full, offsets), spans.counted(early, full, offsets)
    (array([1.]), array([2.]))
    """

    unit: ClassVar[str] = "span"

    def __init__(self, classes: ArrayLike) -> None:
        known = [_begin_and_kind(label) for label in np.asarray(classes).tolist()]
        self.names = list(dict.fromkeys(kind for _, kind in known if kind is not None))
        # Behind the classes, for negative codes: labels of the same kinds, and, as -1, all others, which are outside.
        others = [(begin, kind) for kind in self.names for begin in "BI" if (begin, kind) not in known]
        labels = [*known, *others, ("O", None)]
        self._others: dict[Any, int] = {label: place - len(others) - 1 for place, label in enumerate(others)}
        self.kinds = np.array([-1 if kind is None else self.names.index(kind) for _, kind in labels])
        self.inside = np.array([begin == "I" for begin, _ in labels])

    def codes_of(self, labels: ArrayLike) -> Codes:
        """Codes for true labels that are no classes.

        A true span may begin with a class and go on with such a label: no answer holds it then, though one may hold its
        beginning.

        Parameters
        ----------
        labels : array-like of str, of shape (n,)

        Returns
        -------
        int32 ndarray of shape (n,)
            All negative.

        Raises
        ------
        ValueError
            If a label is none of spans.
        """
        return np.array(
            [self._others.get(_begin_and_kind(label), -1) for label in np.asarray(labels).tolist()], dtype=np.int32
        )

    def ends(self, codes: Codes, offsets: Offsets) -> Offsets:
        """End of the span that begins at each part, the index after its last part; 0 where none begins."""
        kind, goes_on = self.kinds[codes], self.inside[codes]
        goes_on[1:] &= kind[1:] == kind[:-1]
        goes_on[offsets[:-1]] = False
        stops = np.append(np.flatnonzero(~goes_on), len(codes))
        ends = np.zeros(len(codes), dtype=np.int64)
        ends[stops[:-1]] = stops[1:]
        ends[kind < 0] = 0
        return ends

    def counted(self, early: Codes, full: Codes, offsets: Offsets) -> Floats:
        """Mean number of spans in two answers; see `Structures.counted`."""
        one, two = (_by_example(self.ends(codes, offsets) > 0, offsets) for codes in (early, full))
        return (one + two) / 2.0

    def lost(self, loss: Loss, early: Codes, full: Codes, offsets: Offsets, truth: Codes | None = None) -> Floats:
        """Half the spans that only one of two answers has; see `Structures.lost`."""
        if loss == "disagreement":
            return self._errors(early, full, offsets)
        true = _needed(loss, truth)
        gap = self._errors(early, true, offsets) - self._errors(full, true, offsets)
        return np.maximum(gap, 0.0) if loss == "clipped gap" else gap

    def _errors(self, one: Codes, two: Codes, offsets: Offsets) -> Floats:
        first, second = self.ends(one, offsets), self.ends(two, offsets)
        differ = (first != second) | (self.kinds[one] != self.kinds[two])
        return (_by_example((first > 0) & differ, offsets) + _by_example((second > 0) & differ, offsets)) / 2.0


def _begin_and_kind(label: Any) -> tuple[str, str | None]:
    """B or I, and a kind; or O, and None."""
    if label == "O":
        return "O", None
    begin, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
    if begin not in ("B", "I") or label.endswith("-"):
        raise ValueError(f"Labels of spans are 'O', or begin with 'B-' or 'I-'. Got {label!r}.")
    return begin, kind


def _needed(loss: str, truth: Codes | None) -> Codes:
    if truth is None:
        raise ValueError(f"The loss {loss!r} needs true answers; 'disagreement' does not.")
    return truth


def _differ(one: NDArray[Any], two: NDArray[Any]) -> Floats:
    """1 for the parts, in rows, in which anything differs."""
    differ = one != two
    return np.asarray(differ.any(axis=1) if differ.ndim > 1 else differ, dtype=np.float64)


def _by_example(parts: NDArray[Any], offsets: Offsets) -> Floats:
    """Sum over the parts of each example, none of which is empty."""
    return np.asarray(np.add.reduceat(parts.astype(np.float64), offsets[:-1]), dtype=np.float64)
