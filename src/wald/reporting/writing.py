"""`report`: one page of HTML about a fitted early-exit estimator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..displays._rankings import is_ranker
from ..utils.files import atomic_file
from ..utils.install import install
from .gather import gather
from .rankings import gather_groups
from .timing import Rival


def report(
    estimator: Any,
    X: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    groups: ArrayLike | None = None,
    title: str | None = None,
    source: str | None = None,
    timed: bool = True,
) -> str:
    """Describe an early-exit estimator and what it does on rows, as one page of HTML.

    The page says what the model is, what the certificate promises, what rows cost, where answers differ from the
    wrapped model's, how long a prediction takes, and what to do if something is to be different. It needs no network,
    runs no script, and holds the values of up to 23 rows.

    Parameters
    ----------
    estimator : EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor or EarlyExitRanker
        Fitted; a regressor with a tolerance or bands, a ranker with a risk.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        Rows that neither trained nor planned nor certified the model. Every row is also evaluated in full.
    path : path-like, default=None
        The file to write; an existing one is replaced. None: the page is only returned.
    groups : array-like of shape (n_rows,), default=None
        For rankers: the key of each row's group.
    title : str, default=None
        Heading of the page; one with the name of the model when None.
    source : str, default=None
        What the rows are called on the page, such as the name of their file.
    timed : bool, default=True
        Whether to time the estimator against the model that it wraps, which takes about three seconds.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is missing.
    TypeError
        If the estimator is another one.
    ValueError
        If it is not fitted, there are no rows, or the rows do not fit the model; and if every row gets its own value
        in full, so that there is nothing to show.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> import wald
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC().fit(X[:600], y[:600])
    >>> units = wald.Planner(cost="units")
    >>> fast = wald.EarlyExitClassifier(svc, risk=0.02, planner=units, random_state=0).fit(X[600:1400])
    >>> page = wald.report(fast, X[1400:], timed=False)
    >>> page[:15], "<script" in page
    ('<!doctype html>', False)
    """
    return write(estimator, X, path, title, source, timed, "wald.report", groups=groups)


def write(
    estimator: Any,
    X: Any,
    path: str | os.PathLike[str] | None,
    title: str | None,
    source: str | None,
    timed: bool,
    caller: str,
    library: Rival | None = None,
    groups: ArrayLike | None = None,
) -> str:
    """Write a page as `report` does.

    Parameters
    ----------
    estimator, X, path, title, source, timed
        As for `report`.
    caller : str
        For errors.
    library : Rival or None, default=None
        The wrapped model in its own library, to be timed in its place.
    groups : array-like of shape (n_rows,), default=None
        As for `report`.
    """
    try:
        from .page import page, ranking_page
    except ImportError as error:
        raise ImportError(f"{caller} needs {error.name}, which is not installed: {install('report')}") from error
    asked: dict[str, Any] = {"source": source, "timed": timed, "caller": caller, "library": library}
    if is_ranker(estimator, groups, caller):
        html = ranking_page(gather_groups(estimator, X, groups, **asked), title)
    else:
        html = page(gather(estimator, X, **asked), title)
    if path is not None:
        with atomic_file(Path(path)) as file:
            file.write_text(html, encoding="utf-8", newline="\n")
    return html
