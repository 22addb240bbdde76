"""The names of strata, in a risk and in sentences, and which of a risk's bounds go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .boundary import Sides

#: Words that name strata where they are no class labels; "positive" is the second of two classes.
WORDS = ("all", "each", "positive", "negative")
#: In front of a label or a word: the rows that get this answer, rather than those to which the full model gives it.
PREDICTED = "predicted "
#: Labels that are words for their rows, whose plural names these: "outliers", not "rows of class outlier".
NOUNS = ("outlier", "inlier")


class OneAnswer(NamedTuple):
    """The rows of one answer: the full model's, or the early one."""

    code: int
    early: bool = False


#: Bounds of strata that are the rows of one answer.
Bounds = dict[OneAnswer, float | None]


def rows_of(label: Any, kind: str = "class", early: bool = False) -> str:
    """Name of the stratum of a class, or of what else the rows of one answer are called.

    Examples
    --------
    >>> rows_of("fraud"), rows_of("fraud", early=True), rows_of("outlier", early=True)
    ('rows of class fraud', 'rows of predicted class fraud', 'predicted outliers')
    """
    by = PREDICTED if early else ""
    return f"{by}{label}s" if label in NOUNS else f"rows of {by}{kind} {label}"


def is_early(name: str) -> bool:
    """Whether the name of a stratum is that of rows by their early answer."""
    return name.removeprefix("rows of ").startswith(PREDICTED)


def plural(kind: str) -> str:
    """Several of what the rows of one answer are called.

    Examples
    --------
    >>> plural("class"), plural("band")
    ('classes', 'bands')
    """
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def written(label: Any) -> tuple[str, ...]:
    """How a label may be written behind "predicted".

    Examples
    --------
    >>> written("fraud"), written(1), written(1.0)
    (('fraud',), ('1',), ('1.0', '1'))
    """
    return (str(label), str(int(label))) if isinstance(label, float) and label.is_integer() else (str(label),)


def renamed(stratum: Any, names: Mapping[Any, Any]) -> Any:
    """A stratum by another name of its label, where it has one.

    Examples
    --------
    >>> renamed(-1, {-1: "outlier"}), renamed("predicted -1", {-1: "outlier"}), renamed("all", {-1: "outlier"})
    ('outlier', 'predicted outlier', 'all')
    """
    if names and isinstance(stratum, str) and stratum.startswith(PREDICTED):
        texts = {text: name for label, name in names.items() for text in written(label)}
        label = stratum.removeprefix(PREDICTED)
        return f"{PREDICTED}{texts.get(label, label)}"
    return names.get(stratum, stratum)


def bounds_by_answer(risk: Mapping[Any, float | None], labels: list[Any], kind: str) -> Bounds:
    """Bounds of the rows of one answer, in the order of the risk; that of all rows is left out.

    Raises
    ------
    ValueError
        For a stratum that is neither a label nor a word, may be both, or has two bounds.
    """
    bounds: Bounds = {}
    each: dict[bool, float | None] = {}
    for stratum, bound in risk.items():
        word, early = _read(stratum, labels, kind)
        if word == "each":
            each[early] = bound
        elif word != "all":
            one = OneAnswer(_code(word, stratum, labels, kind), early)
            if one in bounds:
                raise ValueError(f"risk bounds the {rows_of(labels[one.code], kind, early)} twice.")
            bounds[one] = bound
    for early, bound in each.items():
        all_of_them = [OneAnswer(code, early) for code in range(len(labels))]
        bounds.update({one: bounds.pop(one, bound) for one in all_of_them})
    return bounds


def open_sides(bounds: Bounds, labels: list[Any], kind: str) -> Sides:
    """The sides to which rows may leave: if no row of an answer may differ, that of two answers is closed.

    Raises
    ------
    ValueError
        If a bound is 0 where there are more than two answers; if both sides are closed; and for a bound of rows that
        cannot differ, because a side is closed.
    """
    closed = [one for one, bound in bounds.items() if bound == 0]
    if not closed:
        return "both"
    first = rows_of(labels[closed[0].code], kind, closed[0].early)
    whole = any(all(OneAnswer(code, early) in closed for code in range(len(labels))) for early in (False, True))
    if not whole and len(labels) > 2:
        raise ValueError(
            f"risk bounds the {first} by 0, which needs two {plural(kind)}, not {len(labels)}: give a bound above 0."
        )
    shut = {_lost_as(one) for one in closed}
    if whole or len(shut) == len(labels):
        raise ValueError(f"risk lets no row of any {kind} differ, and has a bound above 0 as well: give 0.")
    for one, bound in bounds.items():
        if bound != 0 and _lost_as(one) in shut:
            raise ValueError(
                f"risk bounds the {rows_of(labels[one.code], kind, one.early)} by {bound}, and none of them can differ "
                f"if none of the {first} may: leave this bound out, or name each {kind} by itself."
            )
    return "negative" if 1 in shut else "positive"


def require_whole(bounds: Bounds, labels: list[Any], kind: str) -> None:
    """Raise ValueError if some rows may differ without a bound: of neither their answer nor their early one."""
    unbounded = [
        [code for code in range(len(labels)) if OneAnswer(code, early) not in bounds] for early in (False, True)
    ]
    own, given = next(((i, j) for i in unbounded[0] for j in unbounded[1] if i != j), (None, None))
    if own is None or given is None:
        return
    if any(one.early for one in bounds):
        raise ValueError(
            f"risk says nothing of the rows of {kind} {labels[own]!r} that predict calls {labels[given]!r}: give "
            f'"all", {labels[own]!r} or {PREDICTED + str(labels[given])!r} a bound as well.'
        )
    raise ValueError(
        f'risk says nothing of the rows of {kind} {labels[own]!r}: give "all", "each", or every {kind} a bound.'
    )


def _lost_as(one: OneAnswer) -> int:
    """Of two answers, the one with which rows of a stratum leave wrongly."""
    return one.code if one.early else 1 - one.code


def _read(stratum: Any, labels: list[Any], kind: str) -> tuple[Any, bool]:
    """A label or a word, and whether it stands behind "predicted"."""
    if stratum in labels:
        meanings = [f"{stratum} rows"] if stratum in ("all", "each") else []
        if isinstance(stratum, str) and _answers(stratum, labels):
            meanings = [f"rows that predict calls {stratum.removeprefix(PREDICTED)}"]
        if meanings:
            raise ValueError(f"risk[{stratum!r}] may mean the {kind} of this name or {meanings[0]}: rename the {kind}.")
        return stratum, False
    if not isinstance(stratum, str) or not stratum.startswith(PREDICTED):
        return stratum, False
    found, text = _answers(stratum, labels), stratum.removeprefix(PREDICTED)
    if not found:
        other = (
            'which is all rows: say "all"'
            if text == "all"
            else f"which is none of the {plural(kind)} {_listed(labels)}"
        )
        raise ValueError(f"risk[{stratum!r}] names {text!r}, {other}.")
    if len(found) > 1 and text not in ("positive", "negative"):
        raise ValueError(f"risk[{stratum!r}] may mean more than one {kind}, or each of them: rename one.")
    return found[0], True


def _answers(stratum: str, labels: list[Any]) -> list[Any]:
    """The labels and words that may be meant behind "predicted"."""
    if not stratum.startswith(PREDICTED):
        return []
    text = stratum.removeprefix(PREDICTED)
    return [label for label in labels if text in written(label)] + [word for word in WORDS[1:] if word == text]


def _code(word: Any, stratum: Any, labels: list[Any], kind: str) -> int:
    if word in labels:
        return labels.index(word)
    if word not in ("positive", "negative"):
        raise ValueError(f"risk names {word!r}, which is none of the {plural(kind)} {_listed(labels)}.")
    if len(labels) != 2:
        raise ValueError(f"risk[{stratum!r}] needs two {plural(kind)}, not {len(labels)}: name each by itself.")
    return int(word == "positive")


def _listed(labels: list[Any], most: int = 20) -> str:
    return ", ".join(map(repr, labels[:most])) + (", ..." if len(labels) > most else "")
