"""Rows of a pipeline from the cells of a text table, each column in the type that the pipeline was fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...models.file_columns import FileColumns, Guess


def guesses(columns: FileColumns, blocks: Iterable[Mapping[int, NDArray[Any]]]) -> dict[int, Guess]:
    """What all cells of a file say of the columns of which no transformer says what they held.

    Parameters
    ----------
    columns : FileColumns
    blocks : iterable of dict from int to object ndarray
        The cells of these columns, block by block.
    """
    from ...models.column_kinds import Holds
    from ...models.file_columns import Guess

    found: dict[int, Guess] = {}
    for cells in blocks:
        for c in columns.open:
            guess = Guess.of(cells[c])
            if guess is not None:
                found[c] = guess.joined(found.get(c, guess))
    return {c: found.get(c, Guess(Holds.NUMBERS, False)) for c in columns.open}  # pandas has NaN, too


def typed_rows(
    columns: FileColumns,
    cells: Mapping[int, NDArray[Any]],
    guessed: Mapping[int, Guess],
    place: Callable[[int, int], str],
) -> Any:
    """Rows of a pipeline; a UserError names the place of a cell that does not fit.

    Parameters
    ----------
    columns : FileColumns
    cells : dict from int to object ndarray
        For each column, its cells.
    guessed : dict from int to Guess
        What `guesses` found.
    place : callable
        From the numbers of a row of the block and of a column to what messages call the cell.
    """
    from ...models.file_columns import BadCellError

    made = []
    for c in range(len(columns.kinds)):
        try:
            made.append(columns.from_cells(c, cells[c], guessed.get(c)))
        except BadCellError as error:
            raise UserError(f"{place(error.row, c)}: {error}") from error
    return columns.rows(made)
