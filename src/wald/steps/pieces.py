"""The transformers side by side in a fitted ColumnTransformer or FeatureUnion: what each reads and writes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer

from .affine import gives_frames, overrides
from .columns import positions
from .known_values import flat

#: Packages of transformers that write arrays, unless they are told to write sparse rows.
DENSE = ("sklearn.preprocessing.", "sklearn.impute.")


@dataclass(frozen=True, eq=False)
class Piece:
    """One transformer among others.

    Attributes
    ----------
    part : (str, transformer, columns)
        Columns as a ColumnTransformer selects them, or None for all.
    reads : list of int
        Numbers of the columns that it gets.
    span : slice
        The columns that it writes.
    weight : float or None
        Factor of what it writes.
    within : callable
        Puts a transformer in the place of this one, in a fitted transformer of whole rows that has no other one.
    """

    part: tuple[str, Any, Any]
    reads: list[int]
    span: slice
    weight: float | None
    within: Callable[[Any], Any]

    def alone(self) -> Any:
        """A fitted transformer that gives what this one writes alone, for whole rows."""
        return self.within(self.part[1])

    @property
    def width(self) -> int:
        """Number of columns that it writes."""
        return int(self.span.stop - self.span.start)

    @property
    def gets_table(self) -> bool:
        """Whether it gets a table, and not one column of values."""
        return not isinstance(self.part[2], str | int)


def pieces_of(front: Any) -> tuple[list[Piece], int, bool | None] | None:
    """Take a ColumnTransformer or a FeatureUnion apart, and each FeatureUnion inside of it.

    Returns
    -------
    pieces : list of Piece
        In the order of the columns that they write.
    n_written : int
    is_sparse : bool or None
        Whether it gives sparse rows; None if that is not known.
        None in place of all if it is neither, or one whose parts do not say what they write.
    """
    if type(front) is ColumnTransformer and not gives_frames(front):
        found = _of_columns(front)
        return None if found is None else (*found, bool(getattr(front, "sparse_output_", True)))
    if type(front) is FeatureUnion and not gives_frames(front) and not overrides(front):
        n = n_columns_of(front)
        whole = Piece(("union", front, None), list(range(n or 0)), slice(0, 0), None, lambda step: step)
        apart = None if n is None else _apart(whole, front)
        return None if apart is None else (*apart, _writes_sparse(front))
    return None


def n_columns_of(front: Any) -> int | None:
    """Number of columns that a fitted transformer reads."""
    found: int | None = getattr(front, "n_features_in_", None)
    if found is None and type(front) is FeatureUnion:
        counts = (getattr(step, "n_features_in_", None) for _, step in front.transformer_list)
        found = next((n for n in counts if n is not None), None)
    return found


def _of_columns(front: Any) -> tuple[list[Piece], int] | None:
    written = getattr(front, "output_indices_", {})
    names, weights = getattr(front, "feature_names_in_", None), front.transformer_weights or {}
    pieces: list[Piece] = []
    end = 0
    for part in front.transformers_:
        name, step, columns = part
        span = written.get(name, slice(0, 0))
        if _is_dropped(step) or span.stop == span.start:
            continue
        if span.start != end:
            return None
        end = span.stop
        reads = positions(columns, front.n_features_in_, None if names is None else list(names))

        def within(step: Any, name: str = name, columns: Any = columns) -> Any:
            one = copy.copy(front)
            one.transformers_ = [(name, step, columns)]
            return one

        pieces += _pieces_in(Piece(part, reads, span, weights.get(name), within))
    return pieces, end


def _pieces_in(piece: Piece) -> list[Piece]:
    """The transformers of a piece that is a union, also behind others in a pipeline; else the piece itself."""
    step = piece.part[1]
    before = [] if type(step) is not Pipeline or gives_frames(step) or overrides(step) else step.steps[:-1]
    union = step.steps[-1][1] if before else step
    if not piece.gets_table or type(union) is not FeatureUnion or any(isinstance(each, str) for _, each in before):
        return [piece]
    apart = _apart(piece, union, before)
    return apart[0] if apart is not None and apart[1] == piece.span.stop else [piece]


def _apart(piece: Piece, union: Any, before: Sequence[tuple[str, Any]] = ()) -> tuple[list[Piece], int] | None:
    """The transformers of a FeatureUnion, and the end of what they write; None if that is not known of one of them.

    `before`: transformers in front of the union, which each of the pieces gets.
    """
    weights, found, end = union.transformer_weights or {}, list[Piece](), piece.span.start
    if gives_frames(union) or overrides(union):
        return None
    for name, step in union.transformer_list:
        if _is_dropped(step):
            continue
        if isinstance(step, str):  # passthrough, before fit
            return None
        width, weight = _width(step, len(piece.reads), bool(before)), weights.get(name)
        if width is None or (weight is not None and piece.weight is not None):  # two roundings
            return None

        def within(step: Any, name: str = name) -> Any:
            own = copy.copy(union)
            own.transformer_list = [(name, step)]
            return piece.within(own)

        span = slice(end, end := end + width)
        own_weight = piece.weight if weight is None else weight
        whole = Pipeline([*before, (f"{name} of a union", step)]) if before else step
        found += _pieces_in(Piece((name, whole, piece.part[2]), piece.reads, span, own_weight, within))
    return (found, end) if found else None


def _is_dropped(step: Any) -> bool:
    return isinstance(step, str) and step == "drop"


def _width(step: Any, n_columns: int, behind: bool) -> int | None:
    """Number of columns that a fitted transformer writes; None if it cannot say so.

    `behind`: whether it gets other columns than these, which transformers before it write.
    """
    if type(step) is FeatureUnion:
        widths = [_width(each, n_columns, behind) for _, each in step.transformer_list if not _is_dropped(each)]
        return None if None in widths else sum(width for width in widths if width is not None)
    if type(step) is FunctionTransformer:
        n_columns = getattr(step, "n_features_in_", -1) if behind else n_columns
        return n_columns if step.func is None and n_columns > 0 else None
    try:
        return len(step.get_feature_names_out())
    except Exception:  # whatever a transformer of one's own raises
        return None


def _transformers(union: Any) -> list[Any]:
    """The transformers of a FeatureUnion, those of pipelines and unions in it one by one."""
    steps = [each for _, step in union.transformer_list if not _is_dropped(step) for each in flat(step)]
    return [one for each in steps for one in (_transformers(each) if type(each) is FeatureUnion else [each])]


def _writes_sparse(union: Any) -> bool | None:
    """Whether a FeatureUnion gives sparse rows; None if that is not known of a transformer in it."""
    steps = _transformers(union)
    told = [getattr(step, "sparse_output", False) is True for step in steps]
    told += [type(step) is KBinsDiscretizer and step.encode == "onehot" for step in steps]
    if any(told):
        return True
    known = all(type(step).__module__.startswith(DENSE) and getattr(step, "func", None) is None for step in steps)
    return False if known else None
