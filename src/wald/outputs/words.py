"""What the answers to a question are called, wherever people read of them: the one place of these words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

__all__ = ["BANDS", "LABELS", "OUTLIERS", "PROBABILITIES", "SCORES", "VALUES", "Words", "words_within"]

_NO_NAMES: Mapping[Any, str] = MappingProxyType({})


class Words(NamedTuple):
    """What answers are called.

    Attributes
    ----------
    answer, answers : str
        One answer, and several: "label".
    kind, kinds : str
        The rows that get one answer: "class". Empty where nearly every row has an answer of its own.
    other, others : str
        An early answer that is not the full model's, as an object, and several: "another label".
    differ : str
        What such answers do, behind "2 of 900 labels".
    event : str
        The share of such rows, as the name of an axis.
    than : str
        What follows `other` in a sentence that compares with the full model.
    clear, confidence : str
        When a row leaves by its margin, and what the margin is.
    nothing : str
        Why there are no early answers to show, where rows never leave early or leave as parts of a group.
    names : mapping from label to str
        What people call the labels, where numbers stand for words.
    """

    answer: str
    answers: str
    kind: str
    kinds: str
    other: str
    others: str
    differ: str = "differ"
    event: str = "disagreement with full model"
    than: str = " than the full model's"
    clear: str = "its best class is far enough ahead"
    confidence: str = "the lead of the best class"
    nothing: str = ""
    names: Mapping[Any, str] = _NO_NAMES

    def name(self, label: Any) -> Any:
        """What people call a label: the label itself, if it has no other name."""
        return self.names.get(label, label) if self.names else label

    def names_of(self, labels: Any) -> list[Any]:
        """What people call each of an array of labels."""
        return [self.name(label) for label in labels.tolist()]

    def rows_of(self, label: Any) -> str:
        """What people call the rows that get a label, in the singular.

        Examples
        --------
        >>> LABELS.rows_of(3), OUTLIERS.rows_of(-1)
        ('class 3', 'outlier')
        """
        return str(self.name(label)) if self.names else f"{self.kind} {label}"

    def titled(self, answer: Any) -> str:
        """An answer at the beginning of a sentence.

        Examples
        --------
        >>> LABELS.titled(3), OUTLIERS.titled(-1), BANDS.titled(0)
        ('Label 3', 'Outlier', 'Band 0')
        """
        name = self.name(answer)
        if self.names and name is not answer:
            return str(name).capitalize()
        return f"{self.answer.capitalize()} {answer if self.kind else shown(answer)}"


def shown(value: Any) -> str:
    """A value with six digits, or several."""
    return ", ".join(f"{float(one):.6g}" for one in np.ravel(value))


LABELS = Words("label", "labels", "class", "classes", "another label", "other labels")
OUTLIERS = LABELS._replace(kind="label", kinds="labels", names=MappingProxyType({-1: "outlier", 1: "inlier"}))
BANDS = Words(
    answer="band",
    answers="bands",
    kind="band",
    kinds="bands",
    other="another band",
    others="other bands",
    event="rows with another band",
    clear="its estimate is far enough from the nearest threshold",
    confidence="the distance of the estimate to the nearest threshold",
)
VALUES = Words(
    answer="value",
    answers="values",
    kind="",
    kinds="",
    other="another value",
    others="other values",
    nothing="evaluates every row in full, each to the model's own value: there are no early answers to show",
)
SCORES = VALUES._replace(
    answer="score",
    answers="scores",
    other="another score",
    others="other scores",
    nothing="ranks the rows of groups: a row alone has no early answer to show",
)


PROBABILITIES = VALUES._replace(
    answer="probability",
    answers="probabilities",
    other="another probability",
    others="other probabilities",
)


def words_within(tolerance: str, words: Words = VALUES) -> Words:
    """What values are called that may be off by a tolerance, such as "0.1" or "5 % of the value"."""
    beyond = f"off by more than {tolerance}"
    return words._replace(
        nothing="",
        other=f"a {words.answer} {beyond}",
        others=f"{words.answers} {beyond}",
        differ=f"are {beyond}",
        event=f"{words.answers} {beyond}",
        than="",
        clear="its estimate is close enough",
        confidence="how far the estimate may be off, by the size of its usual error",
    )
