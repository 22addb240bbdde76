"""The rows that a model takes, and the columns of a file that hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...utils.figures import counted, first_of
from ..answers import as_user_error, note
from ..errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...models.file_categories import FileCategories
    from ...models.file_columns import FileColumns
    from ...sources import Schema
    from ...sources.schema import Library

#: The different values of a column, and the number of the value that each row has; -1: missing.
Distinct = tuple[list[Any], "NDArray[Any]"]

#: What to do with a model that reads other things than numbers.
NUMBERS_ONLY = (
    "The command line takes rows of numbers for a model that was fitted without names of columns; fit it on a data "
    "frame, so that texts and categories are found by their names."
)
#: Number of names that are listed before "and more".
LISTED = 5
#: Number of characters of a cell or a name that are quoted.
SHORT = 40


@dataclass(frozen=True)
class RowSchema:
    """Form of the rows that a model takes.

    Attributes
    ----------
    n_features : int
    names : tuple of str or None
        Names of the columns, which may then have any order in a file; None if the model does not know them.
    allow_nan : bool
        Whether values may be missing.
    sparse : bool
        Whether CSR matrices are accepted.
    transforms : bool
        Whether the model transforms rows first, so that it may read texts and categories, but knows no names.
    allow_inf : bool
        Whether values may be infinite.
    library : str
        Whose rule matches names; see ``wald.sources.Schema``.
    categories : FileCategories or None
        Columns of categories, which are read as texts or numbers; the rows are then data frames.
    typed : FileColumns or None
        Columns of a pipeline, which are all read as the types that it was fitted on.
    """

    n_features: int
    names: tuple[str, ...] | None = None
    allow_nan: bool = False
    sparse: bool = True
    transforms: bool = False
    allow_inf: bool = False
    library: Library = "scikit-learn"
    categories: FileCategories | None = None
    typed: FileColumns | None = None

    @property
    def of_texts(self) -> bool:
        """Whether a row is one text."""
        return self.typed is not None and self.typed.names is None

    def split(self, selection: Selection) -> tuple[Selection, dict[int, int]]:
        """Selection of the numbers alone, and the place in the file of each of the model's other columns."""
        coded: Iterable[int] = self.categories.known if self.categories is not None else ()
        if self.typed is not None:
            coded = range(self.n_features)
        places = {c: selection.features[c] for c in coded}
        numbers = tuple(place for c, place in enumerate(selection.features) if c not in places)
        return replace(selection, features=numbers, categories=tuple(places.values())), places

    def frame(
        self, source: object, numbers: NDArray[Any], columns: Mapping[int, Distinct], cells: Sequence[str]
    ) -> Any:
        """Data frame of numbers and categories; the texts ``cells`` mean a missing value.

        Raises UserError for values that are no categories of the model.
        """
        assert self.categories is not None
        assert self.names is not None
        names = self.names
        with as_user_error(str(source), ValueError):
            made = {c: self.categories.column(c, names[c], *column, cells) for c, column in columns.items()}
        return self.categories.frame(names, numbers, made)

    @property
    def columns(self) -> Schema:
        """What finds the model's columns by name."""
        from ...sources import Schema

        return Schema(self.n_features, self.names, self.library)

    def is_named_by(self, cells: Sequence[str]) -> bool:
        """Whether these cells hold all of the model's names."""
        if self.names is None:
            return False
        spelled = {*cells, *map(self.columns.spelled, cells)}
        return all(name in spelled for name in self.names)

    @property
    def hint(self) -> str:
        """What to do about a column of the model's that holds no numbers; begins with a space, or is empty."""
        return f" {NUMBERS_ONLY}" if self.transforms else ""


@dataclass(frozen=True)
class Reading:
    """The user's options for reading a file.

    Attributes
    ----------
    format : str or None
        One of `FORMATS`; None: by the suffix.
    drop : tuple of str
        Columns that are no features: names, or positions from 0.
    groups : str or None
        The column that names the group of each row; it is no feature.
    header : bool or None
        Whether a text table begins with names; None: inferred from its first lines.
    zero_based : bool or None
        Whether svmlight indices begin at 0; None: they do if 0 occurs.
    separator : str or None
        The separator of a CSV; None: inferred from its first line.
    keep : tuple of str
        Columns that are copied to the output, features or not.
    one_of_many : bool
        Whether the file is one of many, so that it need not have the columns of `drop`.
    text : str or None
        The column of texts, for a model whose rows are texts; None: the only column that is left.
    """

    format: str | None = None
    drop: tuple[str, ...] = ()
    groups: str | None = None
    header: bool | None = None
    zero_based: bool | None = None
    separator: str | None = None
    keep: tuple[str, ...] = ()
    one_of_many: bool = False
    text: str | None = None

    @property
    def aside(self) -> set[str]:
        """Columns that options name beside the features."""
        return {*self.drop, *self.keep, *([self.groups] if self.groups else []), *([self.text] if self.text else [])}


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a file.

    Attributes
    ----------
    rows : ndarray, CSR matrix or data frame
        In the form that the model takes.
    groups : ndarray or None
        The group of each row, if requested.
    done : float
        Share of the file that has been read.
    kept : dict from str to ndarray
        The columns that are copied to the output, by name, or by position where there are no names.
    left_out : tuple of str
        Columns of the file that the model does not know, and nobody named.
    """

    rows: Any
    groups: NDArray[Any] | None
    done: float
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """Positions of columns in a file: features, in the model's order, the groups, and columns to copy.

    Also the names of columns that the model does not know, and positions of features that are no plain numbers.
    """

    features: tuple[int, ...]
    groups: int | None
    kept: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    categories: tuple[int, ...] = ()

    @property
    def others(self) -> tuple[int, ...]:
        """Columns to read that are no numbers."""
        return tuple(dict.fromkeys((*(() if self.groups is None else (self.groups,)), *self.kept, *self.categories)))


def select(path: object, columns: Sequence[str] | int, schema: RowSchema, reading: Reading) -> Selection:
    """Find the model's columns.

    Parameters
    ----------
    path : object
        Name of the file in messages.
    columns : sequence of str, or int
        The file's names, or their number where it has none.
    schema : RowSchema
    reading : Reading

    Raises
    ------
    UserError
        If columns are missing, unknown, too many, or have the same name.
    """
    n = columns if isinstance(columns, int) else len(columns)
    names = [] if isinstance(columns, int) else list(columns)

    def position(column: str, option: str) -> int:
        if names.count(column) > 1:
            at = " or ".join(str(c) for c, name in enumerate(names) if name == column)
            raise UserError(f"{option}: {path} has {names.count(column)} columns called {column!r}. Say which: {at}.")
        if column in names:
            return names.index(column)
        if column.isdecimal() and len(column) < 16 and int(column) < n:
            return int(column)
        known = f"the columns {listed(names)}" if names else f"columns 0 to {n - 1}, without names"
        raise UserError(f"{option}: {path} has no column {column!r}; it has {known}.")

    groups = None if reading.groups is None else position(reading.groups, "--groups")
    kept = tuple(dict.fromkeys(position(name, "--keep") for name in reading.keep))
    need_not_be_there = reading.one_of_many and names
    dropped = [d for d in reading.drop if d in names or d.isdecimal() or not need_not_be_there]
    drop: set[int] = set()
    for name in dropped:  # of the columns that the model reads, one must stay
        all_of_them = name in names and not schema.columns.reads(name)
        drop |= {c for c, each in enumerate(names) if each == name} if all_of_them else {position(name, "--drop")}
    if groups is not None and not (names and schema.columns.reads(names[groups])):
        drop.add(groups)
    twice = [name for name, times in Counter(names[c] for c in kept if names).items() if times > 1]
    if twice:  # the output identifies them by name
        raise UserError(
            f"--keep: {path} has more than one column called {listed(twice)}. Keep one of them and --drop the other, "
            "both by position, or rename one in the file."
        )
    if schema.of_texts:
        at = {position(reading.text, "--text")} if reading.text is not None else {*range(n)} - drop - {*kept}
        if len(at) != 1:
            raise UserError(_which_text(path, [names[c] for c in sorted(at)] if names else sorted(at)))
        return Selection(tuple(at), groups, kept)
    by_name = bool(names) and schema.names is not None
    try:
        features = tuple(schema.columns.columns(columns, what=str(path), drop=drop, keep=kept))
    except ValueError as error:
        rest = [c for c in range(n) if c not in {*drop, *kept}]
        if by_name or len(rest) < schema.n_features:
            raise UserError(str(error)) from error
        odd = "a label or number"
        if names:  # those beyond the first n, or an index that pandas wrote
            odd = listed([""] if names[rest[0]] == "" else [names[c] for c in rest[schema.n_features :]])
        raise UserError(f"{error} Leave out what is no feature ({odd}?) with --drop COLUMN.") from error
    named = {*features, *kept, *drop}
    unused = frozenset() if schema.typed is None else schema.typed.unused
    rest_of = [name for c, name in enumerate(names) if c not in named and name not in unused]
    return Selection(features, groups, kept, tuple(rest_of) if by_name else ())


def _which_text(path: object, left: Sequence[object]) -> str:
    """What to say if the column of texts is not known."""
    if not left:
        return f"{path}: no column is left that may hold the model's texts."
    return f"{path} has {len(left)} columns that may hold the model's texts: name one, --text {left[-1]}, of " + (
        f"{listed(list(map(str, left)))}."
    )


def listed(names: Sequence[str]) -> str:
    """The first `LISTED` names, and the number of others."""
    return first_of([short(name) for name in names], LISTED)


def short(cell: str) -> str:
    """A cell or name in quotes, cut off after `SHORT` characters."""
    return repr(cell if len(cell) <= SHORT else cell[:SHORT] + "…")


def distinct(values: Iterable[Hashable]) -> Distinct:
    """The different values of a column, and the number of each row's value."""
    import numpy as np

    number_of: dict[Hashable, int] = {}
    numbers = [number_of.setdefault(value, len(number_of)) for value in values]
    return list(number_of), np.array(numbers, dtype=np.intp)


def first_bad(values: NDArray[Any], schema: RowSchema | None = None) -> tuple[int, int] | None:
    """Row and column of the first value that the model refuses; without a schema, that is not finite. None: no such."""
    import numpy as np

    allow_nan, allow_inf = (False, False) if schema is None else (schema.allow_nan, schema.allow_inf)
    if values.dtype.kind != "f" or (allow_nan and allow_inf):
        return None
    step = max(1, (1 << 22) // max(1, values.shape[1]))  # avoids a temporary array of the size of the rows
    for start in range(0, len(values), step):
        some = values[start : start + step]
        bad = np.isinf(some) if allow_nan else np.isnan(some) if allow_inf else ~np.isfinite(some)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            return start + int(row), int(column)
    return None


def note_order(source: object) -> None:
    """Say that a file without names is read in the order of a model that knows names."""
    note(f"{source} has no column names: its columns are taken in the model's order.")


def note_left_out(names: Mapping[str, int] | Sequence[str]) -> None:
    """Say which columns were left out, and in how many files where these are counted."""
    files = dict(names) if isinstance(names, Mapping) else {}
    shown = [short(name) + (f" ({counted(files[name], 'file')})" if files else "") for name in names]
    if shown:
        note(f"Left out {counted(len(shown), 'column')} that the model does not know: {first_of(shown, LISTED)}.")


def not_finite(place: str, value: float) -> UserError:
    """Make the error for a NaN or infinite value."""
    if value != value:
        return UserError(f"{place}: no number (NaN), and the model has no answer to missing values; fill it in.")
    return UserError(f"{place}: {value} is not finite.")
