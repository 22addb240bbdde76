"""The columns of files that a job reads: those of the model, and those that it copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..models.file_categories import FileCategories
from ..models.file_columns import FileColumns
from ..sources import Schema
from ..sources.schema import listed
from .distinct import holds_categories, holds_numbers
from .errors import JobError


@dataclass(frozen=True)
class Wanted:
    """The columns of the model, and those that are copied to the output.

    Attributes
    ----------
    schema : wald.sources.Schema
        Finds the model's columns by name; columns are taken in the file's order where it knows no names.
    keep, drop : tuple of str
        Columns to copy, features or not; and columns that are left out where they are there.
    folders : dict from str to Arrow type
        Columns that folders named ``column=value`` give to the files below them.
    categories : FileCategories or None
        The model's columns of categories; its rows are then read whole, as data frames.
    typed : FileColumns or None
        The columns of a pipeline; its rows are then read whole, as data frames or columns of texts.
    text : str or None
        The column of texts, for a model whose rows are texts; None: the only column that is left.
    groups : str or None
        The column that names the group of each row; it is no feature.
    kinds : dict from str to (Arrow type, str)
        Type of each column to copy, and the file that had it first; `require_kind` adds to it.
    """

    schema: Schema
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    folders: Mapping[str, Any] = field(default_factory=dict)
    categories: FileCategories | None = None
    typed: FileColumns | None = None
    text: str | None = None
    groups: str | None = None
    kinds: dict[str, tuple[Any, str]] = field(default_factory=dict)

    def require_kind(self, where: str, name: str, kind: Any) -> None:
        """Raise JobError if a column to copy has another type than in the files before; nulls have any type."""
        from pyarrow import types

        kind = plain_kind(kind)
        if types.is_null(kind):
            return
        first, file = self.kinds.setdefault(name, (kind, where))
        if first != kind:
            raise JobError(
                f"--keep: {name!r} is {first} in {file}, and {kind} in {where}; the parts would have two "
                "schemas. Write it with one type, or do without it."
            )

    @property
    def aside(self) -> set[str]:
        """Columns that are no features."""
        return {*self.drop, *(() if self.groups is None or self.schema.reads(self.groups) else (self.groups,))}

    @property
    def is_framed(self) -> bool:
        """Whether rows are read whole, because they are no arrays of numbers."""
        return self.categories is not None or self.typed is not None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The model's names of its columns."""
        return self.schema.names

    def features(self, where: str, schema: Any) -> list[str]:
        """Names of the file's columns in the model's order.

        Raises
        ------
        JobError
            If columns are missing, unknown to a model without names, there twice, or hold no numbers.
        """
        from pyarrow import types

        names = list(schema.names)
        for option, name in (*(("keep", name) for name in self.keep), ("groups", self.groups)):
            if name is not None and name not in names:
                raise JobError(f"--{option}: {where} has no column {name!r}; it has {listed(names)}.")
        of_texts = self.typed is not None and self.typed.names is None
        features = [self._text_column(where, names)] if of_texts else self._found(where, names)
        self._require_kinds(where, schema, features)
        nested = [name for name in self.keep if types.is_nested(schema.field(name).type)]
        if nested:
            raise JobError(f"--keep: {where} has nested values in {nested[0]!r} ({schema.field(nested[0]).type}).")
        return features

    def _found(self, where: str, names: list[str]) -> list[str]:
        """The model's columns of a table, in its order."""
        drop = {*self.aside, *(self.folders if self.names is None else ())}
        aside = [{c for c, name in enumerate(names) if name in some} for some in (drop, self.keep)]
        try:
            features = [names[c] for c in self.schema.columns(names, what=where, drop=aside[0], keep=aside[1])]
        except ValueError as error:
            hint = f" It knows no names: leave out what is no feature with --drop COLUMN, of {listed(names)}."
            raise JobError(f"{error}{hint if self.names is None else ''}") from error
        twice = [name for name in (*features, *self.keep) if names.count(name) > 1]
        if twice:
            raise JobError(f"{where} has two columns of the name {twice[0]!r}.")
        return features

    def _text_column(self, where: str, names: list[str]) -> str:
        """Name of the column of texts."""
        left = [name for name in names if name not in {*self.aside, *self.keep, *self.folders}]
        if self.text is not None:
            if names.count(self.text) != 1:
                how = "no column" if self.text not in names else "two columns of the name"
                raise JobError(f"--text: {where} has {how} {self.text!r}; it has {listed(names)}.")
            return self.text
        if len(left) != 1:
            which = f", of {listed(left)}" if left else ""
            raise JobError(
                f"{where} has {len(left)} columns that may hold the model's texts: name one, --text COLUMN{which}."
            )
        return left[0]

    def _require_kinds(self, where: str, schema: Any, features: list[str]) -> None:
        """Raise JobError if a column has another type than the model takes."""
        kinds = [schema.field(name).type for name in features]
        if self.typed is not None:
            for c, (name, kind) in enumerate(zip(features, kinds, strict=True)):
                if (takes := self.typed.misfit(c, kind)) is not None:
                    raise JobError(
                        f"{where}: the model takes {takes} in the column {name!r}, and the file holds {kind}."
                    )
            return
        coded = {features[c] for c in (self.categories.known if self.categories is not None else ())}
        unfit = [
            (name, kind)
            for name, kind in zip(features, kinds, strict=True)
            if not (holds_numbers(kind) or (name in coded and holds_categories(kind)))
        ]
        if unfit:
            hint = " Leave out what is no feature with --drop COLUMN." if self.names is None else ""
            name, kind = unfit[0]
            if name in coded:
                raise JobError(
                    f"{where}: the model takes categories in the column {name!r}, and the file holds {kind}."
                )
            names = listed([name for name, _ in unfit if name not in coded])
            raise JobError(f"{where}: no numbers in {names} (the first: {kind}).{hint}")


def plain_kind(kind: Any) -> Any:
    """Type of a column in the output: that of the values of categories, and one type for all texts."""
    import pyarrow
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return pyarrow.string() if types.is_large_string(kind) or str(kind) == "string_view" else kind
