"""Certify a setting of any predictor of structures, a pipeline of several models say, from its answers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..outputs import Parts, Spans, Structures
from ..stopping.core.validation import require_fraction, require_option
from .certificate import Step, StructureCertificate, first_that_fails
from .per_part import PartTest, checked_longest


def certify_answers(
    answer: Callable[[Any], Sequence[Any]],
    settings: Iterable[float],
    full: Sequence[Any],
    *,
    risk: float,
    confidence: float = 0.95,
    unit: Literal["part", "span"] = "part",
    max_parts: int,
) -> StructureCertificate:
    """Find the boldest setting whose answers still prove to agree with those of everything bought.

    Parameters
    ----------
    answer : callable
        From a setting, a budget or threshold say, to the answers for the certificate's examples, one for each.
    settings : iterable of float
        The most cautious first, fixed before the examples were seen. Settings after the first failure are not asked.
    full : sequence
        The answers with everything bought. An answer is a list or array with an entry for each part (a tag, a head), or
        a tuple of several of these, such as ``(tags, heads)``: a part then disagrees if any of its entries does.
    risk, confidence : float
        Strictly between 0 and 1.
    unit : {"part", "span"}, default="part"
        What the risk is a share of. "span": answers are labels of spans, and the loss is 1 minus the F1 of an answer's
        spans against those of the full answer; see `Spans` of `wald.outputs`.
    max_parts : int
        Fixed before the examples were seen. Longer examples must be answered with everything bought, and count as
        such.

    Returns
    -------
    StructureCertificate
        Its ``threshold`` is the setting; -inf if none passed.

    Raises
    ------
    ValueError
        For parameters out of range, and answers that differ from the full ones in number or length.

    Notes
    -----
    Examples are independent draws from those to come, which were not used for anything else. The tests are those of
    `certify_structures`.

    Examples
    --------
    A pipeline of a tagger and a parser at two budgets:

    >>> from wald.structured.certified_answers import certify_answers
    >>> full = [(["DET", "NOUN", "VERB"], [2, 3, 0])] * 400
    >>> early = [*full[:399], (["DET", "NOUN", "NOUN"], [2, 3, 0])]
    >>> found = certify_answers({9.0: full, 4.0: early}.get, [9.0, 4.0], full, risk=0.02, max_parts=40)
    >>> found.status
    'too few examples'
    >>> found = certify_answers({9.0: full, 4.0: early}.get, [9.0, 4.0], full, risk=0.02, max_parts=3)
    >>> print(found.threshold, found)
    4.0 disagreement with all features <= 2 % of parts with 95 % confidence: 1 in 1 200 parts of 400 examples
    """
    owner = "certify_answers"
    require_fraction(owner, "risk", risk)
    require_fraction(owner, "confidence", confidence)
    require_option(owner, "unit", unit, ("part", "span"))
    right = [_columns(one) for one in full]
    lengths = np.array([len(one) for one in right], dtype=np.int64)
    longest = checked_longest(owner, lengths, max_parts)
    there = np.flatnonzero(lengths).tolist()
    offsets = np.concatenate([[0], np.cumsum(lengths[there])])
    everything = [right[i] for i in there]

    def step(setting: float) -> Step:
        answers = answer(setting)
        if len(answers) != len(right):
            raise ValueError(f"{owner} needs an answer for each of {len(right)} examples. Got {len(answers)}.")
        found = []
        for i in there:
            one = _columns(answers[i]) if lengths[i] <= longest else right[i]
            if one.shape != right[i].shape:
                raise ValueError(
                    f"The answers for example {i} differ in form: {one.shape} at the setting {setting!r}, and "
                    f"{right[i].shape} in full, as (parts, entries)."
                )
            found.append(one)
        return (float(setting), *_compared(unit, found, everything, offsets))

    return first_that_fails(map(step, settings), PartTest(risk, confidence, longest), unit=unit)


def _columns(answer: Any) -> NDArray[Any]:
    """An answer as objects, (n_parts, n_entries)."""
    several = isinstance(answer, tuple) and all(isinstance(one, list | tuple | np.ndarray) for one in answer)
    columns = list(answer) if several and answer else [answer]
    if len({len(one) for one in columns}) != 1:
        raise ValueError(f"The entries of an answer must be for the same parts. Got {[len(one) for one in columns]}.")
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def _compared(
    unit: str, early: list[NDArray[Any]], full: list[NDArray[Any]], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Disagreement of each example, and its number of units."""
    if not early:
        return np.empty(0), np.empty(0)
    one, two = np.concatenate(early), np.concatenate(full)
    output: Structures = Parts()
    if unit == "span":
        if one.shape[1] != 1:
            raise ValueError("Spans need answers that are lists of labels, not tuples of lists.")
        classes, codes = np.unique(np.concatenate([one, two]).ravel(), return_inverse=True)
        output = Spans(classes)
        one, two = np.split(codes.astype(np.int32), 2)
    return output.lost("disagreement", one, two, offsets), output.counted(one, two, offsets)
