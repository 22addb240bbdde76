"""Example rows: what was read of each, in which order, what it said, and the words of texts that decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..early_exit import Answers, Explanation, Passage
from ..early_exit.base import EarlyExitEstimator
from ..early_exit.compiled.parts import OWN_VECTORS
from ..sources import source_of
from ..sources.texts import texts_of
from ..utils.figures import first_of, thousands
from .values import named, short

#: Most parts of a row with a line of their own, and most names of those that were not read.
MOST_PARTS, MOST_UNREAD = 12, 6
#: Characters of a text that are shown, and the longest text of which an example is made.
MOST_CHARACTERS, LONGEST_TEXT = 1500, 100_000
#: Characters that are shown of what was not read.
MOST_BEHIND = 300
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
#: What a word says is strong, clear or faint from these shares of the most that one says.
STRENGTHS = (0.05, 0.2, 0.5)

Floats = NDArray[np.float64]


class Said(NamedTuple):
    """One line of an example: its name, the stage that reads it, what it adds in each direction, and its bar."""

    name: str
    stage: str
    adds: tuple[float, ...]
    share: float


class Piece(NamedTuple):
    """Some text in one style: `strength` from 0 to 3, for or against the answer; or not read."""

    text: str
    strength: int
    is_for: bool
    is_read: bool


class Example(NamedTuple):
    """A row, and why it got its answer.

    ``directions`` are the headings of what lines add, and ``rather`` says what bars and colours stand for. ``note``
    says what of a text is not shown.
    """

    title: str
    row: int
    headline: str
    full_label: str
    same: bool
    directions: tuple[str, ...]
    rather: str
    lines: tuple[Said, ...]
    unread: str
    pieces: tuple[Piece, ...]
    note: str


def examples_of(
    fast: EarlyExitEstimator, X: Any, chosen: Mapping[str, int], answers: Answers, full: NDArray[Any]
) -> list[Example]:
    """Explain some rows; none where the parts of a row have no names, as the trees of an ensemble.

    Parameters
    ----------
    fast : EarlyExitEstimator
    X : {array-like, sparse matrix, data frame, list of str}
    chosen : mapping of str to int
        Row numbers by what is said of each row.
    answers : Answers
    full : ndarray of shape (n_rows,)
        The full model's answers.
    """
    source, found = source_of(X), []
    for which, row in chosen.items():
        one = source.take(np.array([row]))
        texts = texts_of(one)
        if texts is not None and isinstance(texts[0], str | bytes) and len(texts[0]) > LONGEST_TEXT:
            continue
        explained = fast.explain(one.rows if texts is None else texts[0])
        if all(part.name in (explained.unit, OWN_VECTORS) for part in explained.parts) and not explained.passages:
            continue
        kind = "text" if explained.passages else "row"
        same, own = bool(np.all(answers.labels[row] == full[row])), named(explained.words, full[row])
        found.append(_example(explained, f"A {kind} {which}", row, own, same))
    return found


def _example(explained: Explanation, title: str, row: int, full_label: str, same: bool) -> Example:
    directions = _directions(explained)
    rather, weights = directions[0]
    if len(directions) == 2:
        rather, weights = f"{short(rather)} rather than {short(directions[1][0])}", weights - directions[1][1]
    pieces, note = _pieces(explained, weights)
    return Example(
        title=title,
        row=row,
        headline=explained.headline.replace(str(explained.label), short(explained.label)),
        full_label=full_label,
        same=same,
        directions=tuple(short(name) for name, _ in directions),
        rather=rather,
        lines=_lines(explained, [w for _, w in directions], weights),
        unread=_unread(explained),
        pieces=pieces,
        note=note,
    )


def _directions(explained: Explanation) -> list[tuple[str, Floats]]:
    """As those of the explanation; of a single score and two answers, its direction towards the answer."""
    if len(explained.scores) > 1 or explained.output.centre is None:
        return explained.directions
    code = int(np.flatnonzero(explained.classes == explained.label)[0])
    return [(f"for {short(explained.words.name(explained.label))}", explained.output.towards(code))]


def _lines(explained: Explanation, sides: Sequence[Floats], weights: Floats) -> tuple[Said, ...]:
    """A line at the start, one for each part that adds much, in the order of reading, and those for the others.

    A single score counts from the threshold between its two labels.
    """
    read, n_stages, centre = explained.read, len(explained.trace.low), explained.output.centre
    start = centre if centre is not None and np.isfinite(centre) and len(explained.scores) == 1 else 0.0
    size = np.array([max(abs(float(w @ part.adds)) for w in (*sides, weights)) for part in read])
    shown = set(np.argsort(-size, kind="stable")[:MOST_PARTS].tolist())
    most = max((abs(float(weights @ read[i].adds)) for i in shown), default=0.0) or 1.0

    def line(name: str, stage: str, adds: Floats, bar: bool = True) -> Said:
        share = float(weights @ adds) / most
        return Said(name, stage, tuple(float(w @ adds) for w in sides), share if bar and np.isfinite(share) else 0.0)

    lines = [line("at the start", "", explained.intercept - start, bar=False)]
    for i, part in enumerate(read):
        if i in shown:
            stage = "" if not explained.exits else "all" if part.stage == n_stages else str(part.stage + 1)
            lines.append(line(part.title, stage, part.adds))
    hidden = [part.adds for i, part in enumerate(read) if i not in shown]
    if hidden:
        lines.append(line(f"{thousands(len(hidden))} others", "", np.sum(hidden, axis=0), bar=False))
    if explained.unread:
        total = np.sum([part.adds for part in explained.unread], axis=0)
        lines.append(line(f"not read: {explained.missed}", "", total, bar=False))
    lines.append(line("all of it", "", explained.scores - start, bar=False))
    return tuple(lines)


def _unread(explained: Explanation) -> str:
    return first_of([short(part.name) for part in explained.unread], MOST_UNREAD)


# ---- texts ---------------------------------------------------------------------------------------------------------


def _pieces(explained: Explanation, weights: Floats) -> tuple[tuple[Piece, ...], str]:
    """The text in styles, and what is not shown of it. Neighbours of one style are one piece."""
    last, said = explained.trace.stage, [p.adds for p in explained.passages if p.adds is not None]
    most = max((abs(float(weights @ adds)) for adds in said), default=0.0) or 1.0
    pieces: list[Piece] = []
    room, behind, more, more_read = MOST_CHARACTERS, MOST_BEHIND, 0, 0
    for passage in explained.passages:
        is_read = passage.stage <= last
        text = passage.text[: room if is_read else min(room, behind)]
        room, behind = room - len(text), behind if is_read else behind - len(text)
        cut = len(passage.text) - len(text)
        more, more_read = more + cut, more_read + cut * is_read
        if cut and not (pieces and pieces[-1].text.endswith(ELLIPSIS)):
            text += ELLIPSIS
        if not text:
            continue
        piece = _styled(passage, text, is_read, weights, most)
        if pieces and piece[1:] == pieces[-1][1:]:
            piece = piece._replace(text=pieces.pop().text + text)
        pieces.append(piece)
    return tuple(pieces), _note(more, more_read)


def _styled(passage: Passage, text: str, is_read: bool, weights: Floats, most: float) -> Piece:
    if not is_read or passage.adds is None:
        return Piece(text, 0, True, is_read)
    value = float(weights @ passage.adds)
    strength = sum(abs(value) >= share * most for share in STRENGTHS)
    return Piece(text, strength, strength == 0 or value > 0, True)


def _note(more: int, more_read: int) -> str:
    if not more:
        return ""
    if more_read == more:
        return f"{thousands(more)} more characters were read, and are not shown."
    read = f", of which {thousands(more_read)} were read" if more_read else ", which were not read"
    return f"{thousands(more)} more characters{read}, are not shown."
