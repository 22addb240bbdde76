"""What the answers to a question are called, wherever people read of them: the one place of these words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["BANDS", "LABELS", "OUTLIERS", "Words", "words_of_values"]

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
        return name.capitalize() if self.names and name is not answer else f"{self.answer.capitalize()} {answer}"


LABELS = Words("label", "labels", "class", "classes", "another label", "other labels")
OUTLIERS = LABELS._replace(kind="label", kinds="labels", names=MappingProxyType({-1: "outlier", 1: "inlier"}))
BANDS = Words("band", "bands", "band", "bands", "another band", "other bands")


def words_of_values(tolerance: str = "") -> Words:
    """What values are called, which may be off by a tolerance, such as "0.1" or "5 % of the value"."""
    if not tolerance:
        return Words("value", "values", "", "", "another value", "other values")
    beyond = f"off by more than {tolerance}"
    return Words(
        answer="value",
        answers="values",
        kind="",
        kinds="",
        other=f"a value {beyond}",
        others=f"values {beyond}",
        differ=f"are {beyond}",
        event=f"values {beyond}",
    )
