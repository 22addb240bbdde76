"""Documents: texts of which a plan reads a part, and a row of numbers that says what each part scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..engine import AtEnd, Decisions, PythonTerms, Stages, Status
from ..engine.python_engine import PythonCascade
from ..sources import Source, source_of
from ..sources.texts import texts_of
from ..steps import Chain
from ..steps.vectorizers import Vectorizer
from ..utils.exits import exits
from ..utils.stage_table import StageTable
from .encoding import Filed
from .linear import LinearTerms
from .packing import NO_SURROGATES, InPython, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Documents
from .texts import has_labels
from .units import Floats, Ints

if TYPE_CHECKING:
    from ..engine import Packed
    from ..engine.interface import Decided, Working
    from .model import AdditiveModel
    from .texts import TextScores

#: Where plans may look at a text that they read from its beginning, in bytes of it as it is read: from 64 on, each 1.41
#: times as far.
LOOKS = np.unique(np.round(64 * 2.0 ** (np.arange(21) / 2))).astype(np.int64)
#: Bytes of the blocks of a text that is read here and there, and where plans may look at it: after whole blocks.
BLOCK = 128
SPREAD = BLOCK * np.unique(np.round(2.0 ** (np.arange(19) / 2))).astype(np.int64)
#: Orders in which texts may be read: sizes of blocks, and looks.
ORDERS = {"in order": (0, LOOKS), "spread": (BLOCK, SPREAD)}
#: Largest number of scores for which texts are read in parts.
MOST_OUTPUTS = 64
#: Error of the scores of rows that the engine does not read, which the wrapped model answers.
UNREAD = 1e300


@dataclass(frozen=True, eq=False)
class DocumentTerms(Documents, InPython, Filed):
    """Scores of parts of texts, which count for nothing, and last the full scores, which count once.

    The columns of a row are: for each look the number of characters that were read, and 0 where the text had ended;
    the number of all characters; for each look the scores of what was read; the full scores; the bound of their error.
    Terms are the columns of scores.

    Parameters
    ----------
    linear : LinearTerms
        The model behind the vectorizer.
    looks : int64 ndarray of shape (n_looks,)
        Numbers of bytes, ascending among looks with the same block.
    blocks : int64 ndarray of shape (n_looks,)
        0 for looks at the beginning of a text; else the bytes of blocks that are spread over it, ascending.
    """

    family: ClassVar[str] = "documents"
    unit_name: ClassVar[str] = "characters"
    planning: ClassVar[Planning] = Planning(
        rest=Rest.OWN_ENGINE,
        timed_rows=2000,  # texts
        timed_repeats=3,  # texts
    )

    linear: LinearTerms
    looks: Ints
    blocks: Ints
    coef: Floats = field(init=False, repr=False)
    intercept: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.linear.intercept)
        object.__setattr__(self, "coef", np.hstack([np.zeros((n, n * len(self.looks))), np.eye(n)]))
        object.__setattr__(self, "intercept", np.zeros(n))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.looks) + 2 + self.n_terms

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return self.linear.description

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """The columns of scores."""
        scores = np.asarray(X)[:, len(self.looks) + 1 : -1]
        return np.ascontiguousarray(scores if which is None else scores[:, np.asarray(which)])

    def characters(self, X: NDArray[Any]) -> Ints:
        """Numbers of characters that were read at each look, and of all, (n_rows, n_looks + 1)."""
        read: Ints = X[:, : len(self.looks) + 1].astype(np.int64)
        return read

    def looks_of(self, order: Ints, stage_terms: Ints) -> Ints:
        """The look of each stage; see `Documents.looks_of`."""
        of_stages: Ints = order[stage_terms - 1] // self.n_outputs
        return of_stages

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Pack for the engine in Python, which plans and certifies; the extension reads the texts that are served."""
        return PackedDocuments(self, order)

    def facts(self) -> dict[str, Any]:
        """Number of words or slices with a weight, in place of what the plan is made of."""
        return {"terms": self.linear.n_terms}

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Read the weights, and where a plan may look."""
        linear = LinearTerms.decode(section.section("linear"), n_outputs)
        looks = section.integers("looks", ("int64",), None, low=1, high=1 << 31)
        blocks = section.integers("blocks", ("int64",), len(looks), low=0, high=1 << 31)
        further, next_look = np.diff(blocks), np.diff(looks)
        rises = (further >= 0).all() and (next_look[further == 0] > 0).all()
        require(len(looks) <= 10_000 and bool(rises), "the looks at texts do not rise")
        require(bool((looks % np.maximum(blocks, 1) == 0).all()), "looks at texts are not after whole blocks")
        section.room.reserve(64 * n_outputs**2 * (len(looks) + 1), f"{len(looks)} looks at texts")
        return cls(linear, looks, blocks)


class DocumentSteps(Chain):
    """The vectorizer and the steps behind it, with rows of `DocumentTerms` in place of what they write.

    Parameters
    ----------
    steps : list of (str, transformer)
    texts : TextScores
    terms : DocumentTerms
    """

    def __init__(self, steps: list[tuple[str, Any]], texts: TextScores, terms: DocumentTerms) -> None:
        super().__init__(steps)
        self._texts, self._terms = texts, terms

    @property
    def identity(self) -> Any:
        """The steps alone."""
        return Chain(self.steps)

    @property
    def width(self) -> int:
        """Number of columns of `DocumentTerms`."""
        return self._terms.n_features

    def transform(self, source: Source, n_threads: int = 1) -> NDArray[np.float64]:
        """Read texts at all looks. Scores that the engine does not know come from the steps, or raise their errors."""
        terms, texts = self._terms, texts_of(source)
        n_looks, n_outputs = len(terms.looks), terms.n_outputs
        if texts is None:
            found = np.zeros((source.n_rows, terms.n_features))
            odd = np.arange(source.n_rows)
        else:
            scores, errors, characters = self._prefixes(texts, n_threads)
            found = np.column_stack([characters, scores.reshape(len(texts), -1), errors])
            odd = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(odd):
            rows = super().transform(source.take(odd))
            if texts is not None:  # what was read of these all the same counts as for other texts
                known = np.asarray(np.isfinite(scores[odd, :-1]).all(axis=2))
                found[odd, :n_looks] *= known
                found[odd, n_looks + 1 : -1 - n_outputs] = np.where(known[..., None], scores[odd, :-1], 0.0).reshape(
                    len(odd), -1
                )
                of_all = characters[odd, n_looks]
                found[odd, n_looks] = np.where(of_all > 0, of_all, [len(texts[i]) for i in odd])
            found[odd, -1 - n_outputs : -1] = terms.linear.scores(rows)
            found[odd, -1] = UNREAD
        return found

    def _prefixes(self, texts: list[Any], n_threads: int) -> tuple[Floats, Floats, Ints]:
        """Scores of what each look has read and of all, their bounds, and numbers of characters."""
        terms, scores, characters = self._terms, [], []
        for block in np.unique(terms.blocks).tolist() or [0]:
            some, errors, read = self._texts.prefixes(texts, terms.looks[terms.blocks == block], block, n_threads)
            scores.append(some[:, :-1])
            characters.append(read[:, :-1])
        return np.hstack([*scores, some[:, -1:]]), errors, np.hstack([*characters, read[:, -1:]])


def documents(model: AdditiveModel, orders: Iterable[str] = tuple(ORDERS)) -> AdditiveModel:
    """The model of texts whose plan reads them in parts, in one of some orders."""
    some = [ORDERS[order] for order in orders]
    blocks = np.concatenate([np.full(len(looks), block, dtype=np.int64) for block, looks in some])
    return at_looks(model, np.concatenate([looks for _, looks in some]), blocks)


def at_looks(model: AdditiveModel, looks: Ints, blocks: Ints) -> AdditiveModel:
    """The model of texts whose plan reads them in parts, with given looks; see `DocumentTerms`."""
    assert isinstance(model.preprocessing, Chain)
    assert isinstance(model.terms, LinearTerms)
    assert model.texts is not None
    terms = DocumentTerms(model.terms, looks, blocks)
    steps = DocumentSteps(model.preprocessing.steps, model.texts, terms)
    return replace(model, terms=terms, preprocessing=steps, by_product=False)


def read_in_parts(model: AdditiveModel) -> bool:
    """Whether the plan of a model of texts may read them in parts."""
    output = model.decision
    of_classes = output.races or (output.centre is not None and bool(np.isfinite(output.centre)))
    few = of_classes and has_labels(output) and model.terms.n_outputs <= MOST_OUTPUTS
    single = model.texts is not None and isinstance(model.texts.vectorizer, Vectorizer)
    return few and single and type(model.terms) is LinearTerms


class PackedDocuments(PythonTerms):
    """Rows of `DocumentTerms` in the engine in Python."""

    terms: DocumentTerms

    def scores(
        self,
        X: Any,
        working: Working,
        n_threads: int,
        single: bool = False,
        needed: Sequence[int] | None = None,
    ) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and error bounds (n,)."""
        rows = np.asarray(source_of(X).array(self.conversion), dtype=np.float64)
        return np.ascontiguousarray(rows[:, -1 - self.terms.n_outputs : -1]), rows[:, -1].copy()

    def cascade(
        self, model: Decided, stages: Stages, low: NDArray[Any], high: NDArray[Any], costs: Floats | None = None
    ) -> DocumentCascade:
        """Put stages on the terms."""
        return DocumentCascade(self, model, stages, low, high, costs)


class DocumentCascade(PythonCascade):
    """Stages on rows of `DocumentTerms`: the reference of what the extension does with texts.

    A text that has ended at a stage leaves there with the full model's answer, and pays its own characters.
    """

    _packed: PackedDocuments

    @property
    def _looks(self) -> Ints:
        """The look of each stage."""
        return self._packed.terms.looks_of(self._packed.order, self._stage_terms)

    def trace(self, X: Any, n_threads: int) -> StageTable:
        """Margins of all rows at every stage; infinite where a text has ended, and NaN if its answer is not sure."""
        terms, output = self._packed.terms, self._model.decision
        rows, codes, status = self._answered(X)
        sure, values, read = status == Status.FULL, terms.values(rows), terms.characters(rows)
        margins, answers = np.empty((2, len(rows), len(self._looks)))
        ended = np.where(codes == 1, np.inf, -np.inf) if output.two_sided else np.full(len(rows), np.inf)
        ended[~sure] = np.nan
        for t, look in enumerate(self._looks):
            answer, margin = output.judged(self._estimate(values, t))
            inside = read[:, look] > 0
            margins[:, t], answers[:, t] = np.where(inside, margin, ended), np.where(inside, answer, codes)
        return StageTable(margins=margins, answers=None if output.two_sided else answers.astype(np.int32))

    def _answered(self, X: Any) -> tuple[Floats, NDArray[Any], NDArray[np.uint8]]:
        """Rows as numbers, and what the full model answers to them, with its status."""
        rows = np.asarray(source_of(X).array(self._packed.conversion), dtype=np.float64)
        return rows, *self._settled(*self._packed.scores(rows, lambda dtype: 0.0, 1))

    def _estimate(self, values: Floats, stage: int) -> Floats:
        """Estimates from the scores of what was read at a stage."""
        n, end, readout = self._packed.terms.n_outputs, int(self._stage_terms[stage]), self._readouts[stage]
        read = values[:, self._packed.order[end - n : end]]
        estimates: Floats = readout.bias + np.diag(readout.weights[:, end - n : end]) * read
        return estimates

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide rows."""
        terms, output, n_all = self._packed.terms, self._model.decision, len(self._looks)
        rows, codes, status = self._answered(X)
        read = terms.characters(rows)
        stages, paid = np.full(len(rows), n_all, dtype=np.int32), read[:, -1].astype(np.float64)
        if n_stages:
            table = self.trace(rows, 1)
            low = self._low[:n_stages] if output.two_sided else None
            leaves, above = exits(table.margins[:, :n_stages], low, self._high[:n_stages])
            first, left = leaves.argmax(axis=1), leaves.any(axis=1)
            if at_end == "answer":
                short = ~left & (read[:, self._looks[n_stages - 1]] > 0)
                first[short] = n_stages - 1
                status[short] = Status.OUT_OF_BUDGET
                above[short, -1] = table.margins[short, n_stages - 1] > (output.centre or 0.0)
                left |= short
            each = np.arange(len(rows))
            inside = left & (read[each, self._looks[first]] > 0)
            status[inside & (status != Status.OUT_OF_BUDGET)] = Status.EARLY
            early = above[each, first] if table.answers is None else table.answers[each, first]
            codes[inside] = early[inside]
            stages[left] = first[left]
            paid[inside] = read[each, self._looks[first]][inside]
            if at_end == "pending":
                status[~left] = Status.PENDING
        elif at_end == "pending":
            status[:] = Status.PENDING
        return Decisions.of(codes, stages, paid, status)
