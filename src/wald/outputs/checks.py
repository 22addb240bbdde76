"""Checks what an output says of itself, for authors of new ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..codec.reading import Section
from ..codec.writing import encode_fields, fields_of
from ..utils.clauses import require_clauses
from .output import Floats, Output, known_outputs

#: Numbers of scores that are made, and the errors with which they are settled.
N_MADE, ERRORS = 400, (0.0, 1e-12, 0.05)


def check_output(output: Output, scores: ArrayLike | None = None) -> None:
    """Check that an output keeps what `Output` says.

    * Answers are int32 numbers below `n_answers`, and do not depend on the other rows.
    * Estimates with a clear margin have the answers of full scores; NaN has a margin that is NaN, so that it never
      leaves. Two-sided outputs answer 1 above the centre and 0 below it.
    * A settled answer stands whatever scores lie within the error.
    * Losses lie from 0 to 1, and equal answers or values lose nothing; a two-sided output loses 1 by the other answer.
    * A file gives back the same output.

    Parameters
    ----------
    output : Output
    scores : array-like of shape (n_rows, n_outputs), default=None
        Scores to try; None: random ones, with ties and large values.

    Raises
    ------
    AssertionError
        The message has the clause that fails in brackets.

    Examples
    --------
    >>> from wald.outputs import Labels
    >>> check_output(Labels("argmax", 3))
    """
    made = _made(output) if scores is None else output.table(scores).astype(np.float64)
    clauses = {
        "answers": _answers,
        "judged": _judged,
        "centre": _centre,
        "settled": _settled,
        "losses": _losses,
        "file": _file,
    }
    require_clauses(clauses, type(output).__name__, output, made)


def _made(output: Output) -> Floats:
    """Random scores around the centre: some equal, some large."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(N_MADE, output.n_outputs))
    scores[: N_MADE // 4] = np.round(scores[: N_MADE // 4])
    scores[N_MADE // 2 : 3 * N_MADE // 4] *= 100.0
    centre = output.centre
    return scores + (centre if centre is not None and np.isfinite(centre) else 0.0)


def _answers(output: Output, scores: Floats) -> Iterator[str]:
    answers = output.answers(scores)
    if answers.dtype != np.int32 or answers.shape != (len(scores),):
        yield f"must be one int32 number for each row, not {answers.dtype} of shape {answers.shape}"
    if not ((answers >= 0) & (answers < output.n_answers)).all():
        yield "must lie from 0 to n_answers - 1"
    if (np.concatenate([output.answers(row[None]) for row in scores]) != answers).any():
        yield "a row's answer depends on other rows"


def _judged(output: Output, scores: Floats) -> Iterator[str]:
    for estimates in (scores, scores.astype(np.float32)):
        answers, margins = output.judged(estimates)
        if margins.dtype != estimates.dtype or not answers.shape == margins.shape == (len(scores),):
            yield "must give one answer and one margin for each row, margins in the dtype of the estimates"
        clear = output.distances(estimates) > 0
        if (answers != output.answers(estimates))[clear].any():
            yield "an estimate with a clear margin must have the answer of a full score"
    if not np.isnan(output.judged(np.full_like(scores[:1], np.nan))[1]).all():
        yield "the margin of NaN must be NaN"


def _centre(output: Output, scores: Floats) -> Iterator[str]:
    centre = output.centre
    if centre is None:
        return
    if (output.n_outputs, output.n_answers) not in ((1, 1), (1, 2)):
        yield "is for one score and two answers"
    answers, margins = output.judged(scores)
    if (margins != scores[:, 0]).any():
        yield "the margin must be the estimate itself"
    if (answers != (margins > centre))[margins != centre].any():
        yield "must part the answers 1 and 0"


def _settled(output: Output, scores: Floats) -> Iterator[str]:
    rng = np.random.default_rng(1)
    for error in ERRORS:
        answers, sure = output.settled(scores, np.full(len(scores), error))
        if (answers != output.answers(scores))[sure].any():
            yield "must give the answers of full scores"
        for _ in range(20):
            near = scores + error * rng.choice([-1.0, 0.0, 1.0], size=scores.shape)
            if (output.answers(near) != answers)[sure].any():
                yield f"scores within {error:g} of a settled row have another answer"
    if output.settled(scores, np.full(len(scores), np.inf))[1].any():
        yield "nothing is sure without a bound of the error"
    if output.settled(np.full_like(scores[:1], np.nan), np.zeros(1))[1].any():
        yield "NaN is never sure"


def _losses(output: Output, scores: Floats) -> Iterator[str]:
    if output.valued:
        yield from _lost_values(output, scores)
    every = np.arange(output.n_answers, dtype=np.int32)
    early, full = (grid.ravel() for grid in np.meshgrid(every, every))
    losses = output.losses(early, full)
    if not ((losses >= 0) & (losses <= 1)).all():
        yield "must lie from 0 to 1"
    if losses[early == full].any():
        yield "the same answer must lose nothing"
    if output.two_sided and (losses != (early != full)).any():
        yield "must be 1 for the other of two answers, where there is a centre"


def _lost_values(output: Output, scores: Floats) -> Iterator[str]:
    if not output.by_margin:
        return
    values, rng = scores[:, 0] if output.n_outputs == 1 else scores, np.random.default_rng(1)
    losses = output.lost_values(values, rng.permutation(values))
    if losses.shape != values.shape[:1] or not ((losses >= 0) & (losses <= 1)).all():
        yield "of values must be one number from 0 to 1 for each row"
    if output.lost_values(values, values).any():
        yield "the same value must lose nothing"


def _file(output: Output, scores: Floats) -> Iterator[str]:
    kind = type(output)
    if known_outputs()[kind.__name__] is not kind:
        yield "another output has the name of this class"
    if is_dataclass(output):
        fields: Any = json.loads(json.dumps(encode_fields(fields_of(output), {}, "output")))
        again = Section(fields, "header.output").made(kind)
        if (again.answers(scores) != output.answers(scores)).any():
            yield "must give back the same output"
