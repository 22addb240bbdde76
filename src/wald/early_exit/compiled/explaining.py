"""`Explanation`: what a model read of a row, what each part added to the score, and when the answer was clear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models.bought import BoughtTerms
from ...models.protocols import Documents
from ...outputs import Output
from ...outputs.words import Words
from ...sources import Source, source_of
from ...utils.figures import first_of, significant, thousands
from ...utils.plain import plain
from .parts import OWN_VECTORS, Order, Part, parts_of
from .predictor import Predictor, Trace
from .rows import check_read, leaves_to_the_model, preprocessed, with_nan
from .tokens import Passage, text_of, tokens_of

Floats = NDArray[np.float64]

#: Most parts that the text names one by one, and most names of parts that were not read.
MOST_NAMED, MOST_UNREAD = 40, 6


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a row got its answer. Printed, it is a table for people.

    The intercept and what all parts add sum up to the scores of full evaluation, whatever was read. They are NaN for a
    value that only the wrapped model can judge.

    Attributes
    ----------
    label : object
        The answer: a label, the number of a band, or a value.
    parts : tuple of Part
        In the order of reading, those that were not read last.
    intercept : float64 ndarray of shape (n_scores,)
        The scores of a row without parts.
    scores : float64 ndarray of shape (n_scores,)
        The scores of full evaluation.
    score_names : tuple of str
        "score" for a model of one score; labels, where each label has a score of its own.
    trace : Trace
        Estimate, thresholds and cost at every stage, and the stage at which the row left.
    unit : str
        What the model's terms are called.
    cost_unit : str
        Unit of the costs.
    output : Output
        What is asked of the scores.
    words : Words
        What the answers are called.
    exits : bool
        Whether rows can leave early.
    classes : ndarray of shape (n_classes,)
        Empty where answers are values.
    passages : tuple of Passage
        Of a text, its words and what lies between them, in its order. Empty for other rows, and where the vectorizers
        of a union change its characters in different ways.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from wald import EarlyExitClassifier
    >>> model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    >>> model = model.fit(["a great evening", "broken again"], ["praise", "complaint"])
    >>> fast = EarlyExitClassifier(model, risk=0).fit()
    >>> explained = fast.explain("broken, and broken late")
    >>> [(part.name, part.value) for part in explained.parts]
    [('broken', 2)]
    >>> total = explained.intercept + sum(part.adds for part in explained.parts)
    >>> bool(abs(total - model.decision_function(["broken, and broken late"])).max() < 1e-12)
    True
    """

    label: Any
    parts: tuple[Part, ...]
    intercept: Floats
    scores: Floats
    score_names: tuple[str, ...]
    trace: Trace
    unit: str
    cost_unit: str
    output: Output
    words: Words
    exits: bool
    classes: NDArray[Any]
    passages: tuple[Passage, ...] = ()

    @property
    def read(self) -> tuple[Part, ...]:
        """The parts that were read."""
        return tuple(part for part in self.parts if part.stage <= self.trace.stage)

    @property
    def unread(self) -> tuple[Part, ...]:
        """The parts that were not read."""
        return tuple(part for part in self.parts if part.stage > self.trace.stage)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON; thresholds that nothing passes are None."""
        trace = self.trace
        found = {
            self.words.answer: self.label,
            "stage": trace.stage,
            "n_stages": len(trace.low),
            "cost": trace.cost,
            "full_cost": float(trace.costs[-1]),
            "unit": self.cost_unit,
            "intercept": self._named(self.intercept),
            "scores": self._named(self.scores),
            "parts": [
                {
                    "name": part.name,
                    "value": part.value,
                    "adds": self._named(part.adds),
                    "stage": part.stage,
                    "read": part.stage <= trace.stage,
                }
                for part in self.parts
            ],
            "stages": [
                {
                    "cost": float(trace.costs[i]),
                    "estimate": float(trace.scores[i]),
                    "below": _finite(trace.low[i]) if self.output.two_sided else None,
                    "above": _finite(trace.high[i]),
                }
                for i in range(len(trace.low) if self.exits else 0)
            ],
        }
        return dict(plain(found))

    def _named(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.score_names, values.tolist(), strict=True))

    # ---- for people ------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        shown, columns = self._shown(), self.directions
        read, trace = self.read, self.trace
        lines: list[tuple[str, str, Floats | None]] = [("", "at the start", self.intercept)]
        last = trace.stage
        for stage in range(last + 1):
            own = [part for part in read if part.stage == stage]
            mark = "" if not self.exits else "all" if stage == len(trace.low) else str(stage + 1)
            lines += [(mark, part.title, part.adds) for part in own if part in shown]
            hidden = [part for part in own if part not in shown]
            if hidden:
                lines.append((mark, f"{thousands(len(hidden))} others", _total(hidden)))
            if self.exits and stage < len(trace.low):
                lines.append(("", self._looked(stage), None))
        if self.unread:
            lines.append(("", f"not read: {self.missed}", _total(self.unread)))
            if any(part.name != self.unit for part in self.unread):
                lines.append(("", f"({first_of([part.name for part in self.unread], MOST_UNREAD)})", None))
        lines.append(("", "score in full", self.scores))
        unknown = [part.title for part in self.parts if not np.isfinite(part.adds).all()]
        note = [f"?: only the wrapped model can judge {first_of(unknown, MOST_UNREAD)}."] if unknown else []
        return "\n".join([self.headline, *_table(lines, columns, self.exits), *note])

    @property
    def headline(self) -> str:
        """The answer, when it was clear and at what cost, in one sentence."""
        trace, answer = self.trace, self.words.titled(self.label)
        full = f"{trace.costs[-1]:g}" + (f" {self.cost_unit}" if self.cost_unit in (self.unit, "characters") else "")
        if not self.exits:
            return f"{answer}. Every row is evaluated in full, at a cost of {full}."
        n = len(trace.low)
        when = "only the whole score was clear" if trace.stage == n else f"clear at stage {trace.stage + 1} of {n}"
        return f"{answer}: {when}, at a cost of {trace.cost:g} of {full}."

    def _looked(self, stage: int) -> str:
        """One sentence about the estimate at a stage, and the threshold that it passed or did not pass."""
        trace = self.trace
        estimate, low, high = float(trace.scores[stage]), float(trace.low[stage]), float(trace.high[stage])
        if not np.isfinite(estimate) and self.unit != self.cost_unit:
            return "the text has ended" + (": its whole score counts" if stage == trace.stage else "")
        word = "estimate" if self.output.two_sided else "confidence"
        below = self.output.two_sided and np.isfinite(low)
        if stage == trace.stage:
            limit, side = (low, "below") if below and estimate < low else (high, "above")
            return f"{word} {_number(estimate)} is {side} {_number(limit)}: clear"
        ends = [f"below {_number(low)}"] if below else []
        ends += [f"above {_number(high)}"] if np.isfinite(high) else []
        rule = f"it leaves {' or '.join(ends)}" if ends else "no row leaves here"
        return f"{word} {_number(estimate)} is not clear: {rule}"

    @property
    def missed(self) -> str:
        """How much was not read: in units of the model, or in parts."""
        runs = [part.value for part in self.unread if part.name == self.unit]
        n = sum(runs) if len(runs) == len(self.unread) else len(self.unread)
        return f"{thousands(n)} {self.unit.removesuffix('s') if n == 1 else self.unit}"

    @property
    def directions(self) -> list[tuple[str, Floats]]:
        """What the printed figures of a part are called, and the weights of the scores in each."""
        one = np.eye(len(self.scores))
        if self.output.valued and len(self.scores) > 1:
            return [(f"to {name}", weights) for name, weights in zip(self.score_names[:3], one, strict=False)]
        if len(self.scores) == 1:
            return [("adds", one[0])]
        code = int(np.flatnonzero(self.classes == self.label)[0])
        if self.output.races and len(self.scores) == len(self.classes):
            best = [code, *(k for k in np.argsort(-self.scores, kind="stable").tolist() if k != code)][:2]
            return [(f"to {self.score_names[k]}", one[k]) for k in best]
        try:
            return [(f"for {self.words.name(self.label)}", self.output.towards(code))]
        except ValueError:
            return [(name, weights) for name, weights in zip(self.score_names[:3], one, strict=False)]

    def _shown(self) -> set[Part]:
        """The parts that have a line of their own: those that add most."""
        weights = np.stack([weights for _, weights in self.directions])
        size = [float(np.abs(weights @ part.adds).max()) for part in self.read]
        most = np.argsort(-np.array(size), kind="stable")[:MOST_NAMED]
        return {self.read[i] for i in most}


def explained(predictor: Predictor, source: Source, traced: Callable[[], Trace]) -> Explanation:
    """Explain the answer to a single row.

    Parameters
    ----------
    predictor : Predictor
    source : Source
        The row.
    traced : callable
        Traces the same row.

    Raises
    ------
    ValueError
        If there is more than one row.
    """
    if source.n_rows != 1:
        raise ValueError(f"explain takes one row. Got {source.n_rows}.")
    model, plan, trace = predictor.model, predictor.plan, traced()
    Z = source_of(preprocessed(model, source).array(model.terms.accepts.conversion))
    check_read(model, Z)
    order, text = Order.of(plan, model.terms), text_of(model, source)
    parts, passages = (parts_of(model, source, Z, order), ()) if text is None else tokens_of(model, text, order)
    parts = tuple(part for part in parts if part.name != OWN_VECTORS or part.stage <= trace.stage)
    scores, intercept = predictor.full_scores(Z)[0][0].astype(np.float64), model.terms.intercept
    if leaves_to_the_model(model):
        scores, parts = with_nan(scores), tuple(replace(part, adds=with_nan(part.adds)) for part in parts)
    if model.texts is not None and text is not None:
        intercept = model.texts.terms.intercept
    output = model.decision
    named = (output.races or model.answers_probabilities) and len(scores) == len(model.classes)
    names = tuple(str(label) for label in model.classes) if named else _score_names(len(scores), output.valued)
    return Explanation(
        label=trace.label,
        parts=parts,
        intercept=intercept.astype(np.float64),
        scores=scores,
        score_names=names,
        trace=trace,
        unit=model.terms.unit_name if Documents.of(model.terms) is None else "tokens",
        cost_unit=model.terms.unit_name if BoughtTerms.of(model.terms) is None else "feature cost",
        output=output,
        words=model.words,
        exits=not plan.evaluate_all and plan.n_stages > 0,
        classes=model.classes[:0] if output.valued else model.classes,
        passages=passages,
    )


def _score_names(n: int, valued: bool = False) -> tuple[str, ...]:
    return ("score",) if n == 1 else tuple(f"{'value' if valued else 'score'} {k}" for k in range(n))


# ---- the table -----------------------------------------------------------------------------------------------------


def _table(lines: list[tuple[str, str, Floats | None]], columns: list[tuple[str, Floats]], staged: bool) -> list[str]:
    """Lines of text: stage, what was read, and figures that end below each other."""
    figures = [[] if adds is None else [_signed(float(w @ adds)) for _, w in columns] for _, _, adds in lines]
    widths = [max(len(heading), *(len(f[k]) for f in figures if f)) for k, (heading, _) in enumerate(columns)]
    named = [len(words) for (_, words, adds) in lines if adds is not None]
    width = max(4, *named)
    first = "stage  " if staged else ""
    headings = "  ".join(heading.rjust(w) for (heading, _), w in zip(columns, widths, strict=True))
    found = [f"{first}{'read'.ljust(width)}  {headings}"]
    for (mark, words, adds), own in zip(lines, figures, strict=True):
        start = mark.rjust(5) + "  " if staged else ""
        cells = [] if adds is None else [words.ljust(width), *(f.rjust(w) for f, w in zip(own, widths, strict=True))]
        found.append(start + ("  ".join(cells) or words))
    return found


def _total(parts: Any) -> Floats:
    total: Floats = np.sum([part.adds for part in parts], axis=0)
    return total


def _number(value: float) -> str:
    return significant(value, 3) if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.3g}"


def _signed(value: float) -> str:
    if not np.isfinite(value):
        return "?"
    return f"{round(value, 3) + 0.0:+.3f}" if abs(value) < 1e4 else f"{value:+.4g}"


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
