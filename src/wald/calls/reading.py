"""What functions answer, as arrays with a row for each row: nothing is taken that may stand for something else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..utils.label_types import require_one_type
from ..utils.labels import codes_of_labels
from .errors import BadAnswerError

#: Kinds of dtypes that are numbers.
NUMBERS = "biufc"


def as_answers(given: Any, n_rows: int) -> NDArray[Any]:
    """Answers as an array with one entry for each row; raise BadAnswerError if they are none."""
    if given is None or isinstance(given, str | bytes | dict):
        raise BadAnswerError(f"it answered {given!r}, a {type(given).__name__}, for {_rows(n_rows)}")
    try:
        answers = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise BadAnswerError(f"its answers must be one for each row, all of one shape: {error}") from None
    if answers.ndim == 0 or len(answers) != n_rows:
        single = np.isscalar(given) or hasattr(given, "shape")
        one = "one value" if single else f"a {type(given).__name__}, which is no list or array,"
        raise BadAnswerError(f"it gave {one if answers.ndim == 0 else f'{len(answers)} answers'} for {_rows(n_rows)}")
    if answers.ndim == 1 and answers.dtype.kind in "US":
        one_type(given)  # of a list with numbers among texts, NumPy has made texts
    if np.ma.is_masked(given):
        masked = np.ma.getmaskarray(given).reshape(n_rows, -1).any(axis=1)
        raise BadAnswerError("it gave masked values", np.flatnonzero(masked))
    return answers


def one_type(labels: Any) -> None:
    """Raise BadAnswerError for texts beside others."""
    try:
        require_one_type(labels, "its answers")
    except ValueError as error:
        raise BadAnswerError(str(error).rstrip(".")) from None


def numbers_of(answers: NDArray[Any], allow_nan: bool = False) -> NDArray[np.float64]:
    """Answers that are numbers, as float64.

    Parameters
    ----------
    answers : ndarray of shape (n_rows, ...)
    allow_nan : bool, default=False
        Whether NaN and None, for missing values, are numbers.

    Returns
    -------
    float64 ndarray of this shape

    Raises
    ------
    BadAnswerError
        If one is no number, infinite, or NaN unless this is allowed; it knows which rows they are.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.calls import numbers_of
    >>> numbers_of(np.array([1, 2]))
    array([1., 2.])
    """
    if answers.dtype.kind not in "biufO":
        raise BadAnswerError(f"its answers must be numbers. Got {answers.dtype}")
    try:
        numbers = answers.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadAnswerError(f"its answers must be numbers: {error}") from None
    bad = np.isinf(numbers) if allow_nan else ~np.isfinite(numbers)
    if bad.any():
        places = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
        raise BadAnswerError(f"it answered {numbers[bad][0]}", places)
    return numbers


def labels_of(answers: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Answers that are labels, as places among the classes.

    Parameters
    ----------
    answers : ndarray of shape (n_rows,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    int32 ndarray of shape (n_rows,)

    Raises
    ------
    BadAnswerError
        If one is none of the classes; it knows which rows they are.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.calls import labels_of
    >>> labels_of(np.array(["spam", "ham"]), np.array(["ham", "spam"]))
    array([1, 0], dtype=int32)
    """
    if answers.ndim != 1:
        raise BadAnswerError(f"it must answer one label a row. Got answers of shape {answers.shape}")
    if (answers.dtype.kind in NUMBERS) != (classes.dtype.kind in NUMBERS) and "O" not in (
        answers.dtype.kind,
        classes.dtype.kind,
    ):
        raise BadAnswerError(f"its labels are of dtype {answers.dtype}, and the classes of {classes.dtype}")
    try:
        codes = codes_of_labels(classes, answers)
    except TypeError as error:
        raise BadAnswerError(f"its labels cannot be compared with the classes: {error}") from None
    other = np.flatnonzero(classes[codes] != answers)
    if len(other):
        raise BadAnswerError(f"it answered {answers[other[0]]!r}, which is none of the classes", other)
    return codes.astype(np.int32)


def _rows(n: int) -> str:
    return f"{n} row{'' if n == 1 else 's'}"
