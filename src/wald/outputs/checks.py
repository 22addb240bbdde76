"""Checks what an output says of itself, for authors of new ones."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..codec.reading import Section
from ..codec.writing import encode_fields, fields_of
from .output import Floats, Output, known_outputs

#: Numbers of scores that are made, and the errors with which they are settled.
N_MADE, ERRORS = 400, (0.0, 1e-12, 0.05)


def check_output(output: Output, scores: ArrayLike | None = None) -> None:
    """Check that an output keeps what `Output` says.

    * Answers are int32 numbers below `n_answers`, and do not depend on the other rows.
    * Estimates with a clear margin have the answers of full scores; NaN has a margin that is NaN, so that it never
      leaves. Two-sided outputs answer 1 above the centre and 0 below it.
    * A settled answer stands whatever scores lie within the error.
    * Losses lie from 0 to 1, and equal answers lose nothing.
    * A file gives back the same output.

    Parameters
    ----------
    output : Output
    scores : array-like of shape (n_rows, n_outputs), default=None
        Scores to try; None: random ones, with ties and large values.

    Raises
    ------
    AssertionError
        The message says which clause fails.

    Examples
    --------
    >>> from wald.outputs import Labels
    >>> check_output(Labels("argmax", 3))
    """
    made = _made(output) if scores is None else output.table(scores).astype(np.float64)
    answers = output.answers(made)
    assert answers.dtype == np.int32, "answers: must be an int32 array"
    assert answers.shape == (len(made),), "answers: must have one answer for each row"
    assert ((answers >= 0) & (answers < output.n_answers)).all(), "answers: must lie from 0 to n_answers - 1"
    alone = np.concatenate([output.answers(row[None]) for row in made])
    assert (alone == answers).all(), "answers: a row's answer depends on other rows"
    _check_margins(output, made)
    _check_settled(output, made)
    both = np.arange(output.n_answers, dtype=np.int32)
    early, full = (grid.ravel() for grid in np.meshgrid(both, both))
    losses = output.losses(early, full)
    assert ((losses >= 0) & (losses <= 1)).all(), "losses: must lie from 0 to 1"
    assert (losses[early == full] == 0).all(), "losses: the same answer must lose nothing"
    _check_file(output, made)


def _made(output: Output) -> Floats:
    """Random scores around the centre: some equal, some large."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(N_MADE, output.n_outputs))
    scores[: N_MADE // 4] = np.round(scores[: N_MADE // 4])
    scores[N_MADE // 2 : 3 * N_MADE // 4] *= 100.0
    centre = output.centre
    return scores + (centre if centre is not None and np.isfinite(centre) else 0.0)


def _check_margins(output: Output, scores: Floats) -> None:
    for estimates in (scores, scores.astype(np.float32)):
        answers, margins = output.judged(estimates)
        assert margins.dtype == estimates.dtype, "judged: margins must have the dtype of the estimates"
        assert answers.shape == margins.shape == (len(scores),), "judged: must give one answer and margin for each row"
        clear = output.distances(estimates) > 0
        assert (answers[clear] == output.answers(estimates)[clear]).all(), (
            "judged: an estimate with a clear margin must have the answer of a full score"
        )
    assert np.isnan(output.judged(np.full_like(scores[:1], np.nan))[1]).all(), "judged: the margin of NaN must be NaN"
    if output.centre is not None:
        assert (output.n_outputs, output.n_answers) in ((1, 1), (1, 2)), "centre: is for one score and two answers"
        answers, margins = output.judged(scores)
        assert (margins == scores[:, 0]).all(), "judged: with a centre, the margin must be the estimate itself"
        off = margins != output.centre
        assert (answers[off] == (margins > output.centre)[off]).all(), "centre: must part the answers 1 and 0"


def _check_settled(output: Output, scores: Floats) -> None:
    rng = np.random.default_rng(1)
    for error in ERRORS:
        answers, sure = output.settled(scores, np.full(len(scores), error))
        assert (answers[sure] == output.answers(scores)[sure]).all(), "settled: must give the answers of full scores"
        for _ in range(20):
            near = scores + error * rng.choice([-1.0, 0.0, 1.0], size=scores.shape)
            same = output.answers(near) == answers
            assert same[sure].all(), f"settled: scores within {error:g} of a settled row have another answer"
    no_bound = output.settled(scores, np.full(len(scores), np.inf))[1]
    assert not no_bound.any(), "settled: nothing is sure without a bound of the error"
    assert not output.settled(np.full_like(scores[:1], np.nan), np.zeros(1))[1].any(), "settled: NaN is never sure"


def _check_file(output: Output, scores: Floats) -> None:
    kind = type(output)
    assert known_outputs()[kind.__name__] is kind, "another output has the name of this class"
    if is_dataclass(output):
        fields: Any = json.loads(json.dumps(encode_fields(fields_of(output), {}, "output")))
        again = Section(fields, "header.output").made(kind)
        assert (again.answers(scores) == output.answers(scores)).all(), "a file must give back the same output"
