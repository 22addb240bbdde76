"""What the score of a row is a sum of, by name: raw columns, members of a vote, or runs of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...models import AdditiveModel
from ...models.opaque import Looks
from ...models.protocols import Columnwise, Delegating, Documents
from ...models.terms import Terms
from ...plan import Plan
from ...sources import Source
from ...utils.figures import thousands
from .token_blocks import tokens_read
from .token_ends import token_ends

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Longest value in a title, in characters.
LONGEST = 60
#: Name of what a plan evaluates before the model's own terms.
OWN_VECTORS = "vectors of the plan's own"


@dataclass(frozen=True, eq=False)
class Part:
    """One summand of a row's scores.

    Attributes
    ----------
    name : str
        A column, a token, a member of a vote, or the unit of the model, such as "trees".
    value : object
        The raw value of the column, the number of occurrences of the token or of trees, or None.
    adds : float64 ndarray of shape (n_scores,)
        What it adds to each score.
    stage : int
        The stage at which it is read, a token for the first time; the number of early stages stands for full
        evaluation.
    title : str
        Name and value, for people.
    """

    name: str
    value: Any
    adds: Floats
    stage: int
    title: str


@dataclass(frozen=True, eq=False)
class Order:
    """The order in which a plan reads terms.

    Parameters
    ----------
    terms : int ndarray of shape (n_terms,)
        In the order of reading.
    stage : int ndarray of shape (n_terms,)
        The stage at which each term is read; the number of early stages for those that none of these reads.
    last : int
        The number of early stages.
    own : dict of int to int
        For stages that evaluate vectors of the plan's own, which are not part of the score, how many.
    looks : int ndarray of shape (n_stages,), default=None
        Of a plan that reads texts in parts, where its stages look, in bytes.
    block : int, default=0
        Bytes of the blocks that it reads, if they are spread over the text.
    """

    terms: Indices
    stage: Indices
    last: int
    own: dict[int, int]
    looks: NDArray[np.int64] | None = None
    block: int = 0

    @classmethod
    def of(cls, plan: Plan, terms: Terms) -> Order:
        """The order of a plan; everything is read in full evaluation if rows do not leave early."""
        n_terms, documents = terms.n_terms, Documents.of(terms)
        stage: Indices = np.full(n_terms, plan.n_stages, dtype=np.intp)
        early, own = plan.terms[:0], dict[int, int]()
        if not plan.evaluate_all and plan.n_stages:
            ordered = plan.terms[: int(plan.stage_terms[-1])]
            at = np.searchsorted(plan.stage_terms, np.arange(len(ordered)), side="right")
            early = ordered[ordered < n_terms]
            stage[early] = at[ordered < n_terms]
            found, counts = np.unique(at[ordered >= n_terms], return_counts=True)
            own = dict(zip(found.tolist(), counts.tolist(), strict=True))
        rest = np.setdiff1d(np.arange(n_terms), early)
        looks, block = None, 0
        if documents is not None:
            at = documents.looks_of(plan.terms, plan.early.terms)
            looks, block = documents.looks[at], int(documents.blocks[at].max(initial=0))
        return cls(np.concatenate([early, rest]).astype(np.intp), stage, plan.n_stages, own, looks, block)


def parts_of(model: AdditiveModel, source: Source, Z: Source, order: Order) -> tuple[Part, ...]:
    """Name the summands of a row's scores that are no tokens of a text, in the order of reading.

    Parameters
    ----------
    model : AdditiveModel
    source, Z : Source
        One row, before and after preprocessing.
    order : Order
    """
    adds = model.terms.coef * model.terms.values(Z.array())[0]
    if Columnwise.of(model.terms) is not None:
        return _columns(model, source, Z, adds, order)
    if Delegating.of(model.terms) is not None:
        return _members(model, adds, order)
    if isinstance(model.preprocessing, Looks):
        return _looks(model.preprocessing, adds, order)
    return _runs(model, adds, order)


def columns_by_stage(model: AdditiveModel, plan: Plan) -> tuple[tuple[str, ...], ...] | None:
    """Names of the columns that each stage is the first to read, and full evaluation last, in the order of reading.

    Raw columns where the terms read these. None where terms read no single columns, or these have no names.

    Parameters
    ----------
    model : AdditiveModel
    plan : Plan
    """
    terms, step = Columnwise.of(model.terms), model.preprocessing
    if terms is None or plan.evaluate_all or not plan.n_stages:
        return None
    known: Sequence[Any] | None = model.schema.names
    if step is not None:
        raw = getattr(step, "source_columns", None)
        if raw is None:
            known = _written_names(step, known)
        elif known is not None:
            known = [known[c] for c in raw]
    if known is None or len(known) < terms.n_features:
        return None
    order = Order.of(plan, model.terms)
    columns = np.asarray(terms.columns_read(order.terms), dtype=np.intp)
    found: list[list[str]] = [[] for _ in range(plan.n_stages + 1)]
    first = dict(zip(columns[::-1].tolist(), order.stage[order.terms][::-1].tolist(), strict=True))
    for column in dict.fromkeys(columns.tolist()):
        found[first[column]].append(str(known[column]))
    return tuple(map(tuple, found))


# ---- columns -------------------------------------------------------------------------------------------------------


def _columns(model: AdditiveModel, source: Source, Z: Source, adds: Floats, order: Order) -> tuple[Part, ...]:
    """One part for each column of the terms; of sparse rows, for those that are not zero."""
    terms = Columnwise.of(model.terms)
    assert terms is not None
    column = np.asarray(terms.columns_read(np.arange(terms.n_terms)), dtype=np.intp)
    held = Z.array()
    present = np.unique(held.indices) if sparse.issparse(held) else np.arange(terms.n_features)
    total, last = np.zeros((len(adds), terms.n_features)), np.zeros(terms.n_features, dtype=np.intp)
    for own, out in zip(adds, total, strict=True):
        np.add.at(out, column, own)
    np.maximum.at(last, column, order.stage)
    known = set(present.tolist())
    for first, *others in getattr(model.preprocessing, "of_texts", []):  # what one text adds to all scores
        own = [first, *others]
        total[:, first], last[first] = total[:, own].sum(axis=1), last[own].max()
        known -= set(others)
    names, values = _named_columns(model, source, Z)
    return tuple(
        Part(names[c], values[c], total[:, c], int(last[c]), f"{names[c]} = {_shown(values[c])}")
        for c in dict.fromkeys(column[order.terms].tolist())
        if c in known
    )


def _named_columns(model: AdditiveModel, source: Source, Z: Source) -> tuple[Sequence[str], Sequence[Any]]:
    """Name and value of each column of the terms: of raw columns where the terms read these, as they are."""
    step = model.preprocessing
    if step is None and Z.is_sparse:
        return _names(model.schema.names, model.terms.n_features), Z.array().toarray()[0].tolist()
    raw = np.arange(model.terms.n_features) if step is None else getattr(step, "source_columns", None)
    if raw is None:
        written = Z.array()
        row = written.toarray()[0] if sparse.issparse(written) else written[0]
        return _names(_written_names(step, source.names), model.terms.n_features), row.tolist()
    names = _names(model.schema.names, source.n_columns or 0)
    row = source.row(0)
    given = {str(name): value for name, value in zip(source.names or (), row, strict=False)}
    by_name = source.is_named and model.schema.names is not None and set(given) >= {names[c] for c in raw}
    values = [given[names[c]] if by_name else row[c] for c in raw]
    return [names[c] for c in raw], values


def _names(names: Sequence[Any] | None, n: int) -> list[str]:
    return [f"column {c}" for c in range(n)] if names is None or len(names) < n else [str(name) for name in names]


def _written_names(step: Any, given: Sequence[Any] | None) -> Sequence[str] | None:
    """Names of the columns that transformers write, from those that they are given; None if they have none."""
    names: Any = None if given is None else np.array([str(name) for name in given], dtype=object)
    try:
        for _, transformer in step.steps:
            names = transformer.get_feature_names_out(names)
    except (AttributeError, TypeError, ValueError):  # not all transformers can name their columns
        return None
    return [str(name) for name in names]


def _shown(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    words = repr(round(plain, 6)) if isinstance(plain, float) else repr(plain)
    return words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."


# ---- tokens --------------------------------------------------------------------------------------------------------


def _stages_of(vectorizer: Any, text: str | bytes, order: Order) -> NDArray[np.intp] | None:
    """The stage that reads each token of a text that is read in parts; None for other plans."""
    if order.looks is None:
        return None
    read = tokens_read(vectorizer, text, order.block) if order.block else token_ends(vectorizer, text)
    return np.searchsorted(order.looks, read, side="left")


# ---- members and runs of terms -------------------------------------------------------------------------------------


def _members(model: AdditiveModel, adds: Floats, order: Order) -> tuple[Part, ...]:
    """One part for each member of a vote."""
    members: Any = model.terms.members  # type: ignore[attr-defined]  # terms that delegate have them
    each = model.terms.n_terms // len(members)
    parts = []
    for m in dict.fromkeys((order.terms // each).tolist()):
        own = slice(m * each, (m + 1) * each)
        name = str(members[m].name)
        parts.append(Part(name, None, adds[:, own].sum(axis=1), int(order.stage[own].max()), name))
    return tuple(parts)


def _looks(looks: Looks, adds: Floats, order: Order) -> tuple[Part, ...]:
    """One part for each surrogate that the plan asks, and one for the model."""
    *before, own = looks.spans
    asked = sorted(
        (span for span in before if order.stage[span[0]] < order.last), key=lambda span: order.stage[span[0]]
    )
    return tuple(
        Part(title, None, adds[:, first:end].sum(axis=1), int(order.stage[first]), title)
        for first, end, title in (*asked, own)
    )


def _runs(model: AdditiveModel, adds: Floats, order: Order) -> tuple[Part, ...]:
    """One part for the terms of each stage, such as trees or support vectors."""
    unit, parts = model.terms.unit_name, []
    for s in range(order.last + 1):
        own = order.stage == s
        n = int(own.sum())
        if s in order.own:
            words = f"{order.own[s]} {OWN_VECTORS}"
            parts.append(Part(OWN_VECTORS, order.own[s], np.zeros(len(adds)), s, words))
        if n:
            words = f"{thousands(n)} {unit.removesuffix('s') if n == 1 else unit}"
            parts.append(Part(unit, n, adds[:, own].sum(axis=1), s, words))
    return tuple(parts)
