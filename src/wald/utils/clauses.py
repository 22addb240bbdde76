"""Contracts as named clauses, for checkers that authors of extensions run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def require_clauses(clauses: Mapping[str, Callable[..., Iterator[str]]], title: str, *args: Any) -> None:
    """Raise AssertionError, with the name of the clause in brackets, for the first clause that finds a problem.

    Parameters
    ----------
    clauses : dict from str to callable
        Each takes `args` and yields what is wrong, in words.
    title : str
        What is checked, in messages.
    *args : object
    """
    for name, clause in clauses.items():
        try:
            problem = next(clause(*args), None)
        except AssertionError as error:
            problem = str(error)
        except Exception as error:  # any exception of an extension fails the check
            problem = f"it raises {type(error).__name__}: {error}"
        if problem is not None:
            raise AssertionError(f"[{name}] {title}: {problem}")
