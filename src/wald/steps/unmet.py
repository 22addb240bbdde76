"""One warning for missing cells that an encoder takes for an unknown category, as it met none like them in `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.impute import SimpleImputer

from ..utils.figures import first_of
from ..utils.warn import warn_caller
from .keys import NA, NAN, NONE, UNKNOWN

#: Kinds of missing cells, and how they are called.
MISSING = {NONE: "None", NAN: "NaN", NA: "pandas.NA"}
#: Most columns that are named.
MOST_NAMED = 4

Silent = tuple[bool, bool, bool]
NEVER: Silent = (False, False, False)


class Unmet:
    """Missing cells that encoders did not meet in `fit`, and the one warning about them.

    Parameters
    ----------
    names : sequence of names or None
        Of all raw columns.
    """

    def __init__(self, names: Sequence[Any] | None) -> None:
        self._names = names
        self._found: dict[int, str] = {}
        self._warned = False

    def __getstate__(self) -> tuple[Sequence[Any] | None]:
        return (self._names,)  # another process has warned of nothing

    def __setstate__(self, state: tuple[Sequence[Any] | None]) -> None:
        Unmet.__init__(self, *state)

    def noting(self, column: int, silent: Silent, met_in_fit: str) -> Callable[[Silent], None] | None:
        """What is told which kinds of missing cells a column holds; None if nobody needs to know.

        Parameters
        ----------
        column : int
        silent : tuple of bool
            Whether None, NaN and pandas.NA are taken for an unknown category.
        met_in_fit : str
            What the encoder met in `fit`.
        """
        if self._warned or not any(silent):
            return None

        def note(met: Silent) -> None:
            kinds = [name for name, bad, found in zip(MISSING.values(), silent, met, strict=True) if bad and found]
            if kinds:
                self._found[column] = f"{self._name(column)} holds {' and '.join(kinds)}, and held {met_in_fit} in fit"

        return note

    def note_record(self, column: int) -> None:
        """Warn of a missing value in a record."""
        if not self._warned:
            self._found[column] = f"{self._name(column)} holds a missing value, and held none in fit"
            self.warn()

    def warn(self) -> None:
        """Warn of what was met, unless that was done before."""
        if self._warned or not self._found:
            return
        self._warned = True
        warn_caller(
            f"The column {first_of(list(self._found.values()), MOST_NAMED)}: its encoder takes that for an unknown "
            "category, and says nothing. None, NaN and pandas.NA are three categories to scikit-learn. Fill missing "
            "cells as they were in fit, or fit the encoder on rows that lack them, too. This is said once."
        )

    def _name(self, column: int) -> str:
        return repr(column if self._names is None else self._names[column])


def silent_states(steps: Sequence[Any], categories: Any, rows: Any, refused: Any, n_known: int, text: bool) -> Silent:
    """Whether None, NaN and pandas.NA are encoded as an unknown category is, without being known.

    Parameters
    ----------
    steps : sequence of transformer
        What the cells pass through.
    categories : ndarray
        Those of the encoder among them.
    rows, refused : ndarray of shape (n_states,)
        Row of a table for each state, and whether the state is refused.
    n_known : int
    text : bool
        Whether the known values are texts.
    """
    unknown, known = n_known + UNKNOWN, met_in_fit(categories)
    imputers = [step for step in steps if isinstance(step, SimpleImputer)]
    if refused[unknown] or any(step.missing_values == step.missing_values for step in imputers):
        return NEVER
    alike = [not refused[n_known + state] and rows[n_known + state] == rows[unknown] for state in MISSING]
    if any(same and MISSING[state] in known for same, state in zip(alike, MISSING, strict=True)):
        return NEVER  # a missing value that is known is written so, too
    none, nan, na = alike
    return (bool(none and (text or not imputers)), bool(nan and not imputers), bool(na and (text or not imputers)))


def met_in_fit(categories: Any) -> list[str]:
    """The kinds of missing values among categories."""
    values = categories.tolist()
    found = ["None"] if any(value is None for value in values) else []
    return [*found, "NaN"] if any(value is not None and value != value for value in values) else found
