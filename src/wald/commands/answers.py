"""How commands answer: results on stdout, all else on stderr, and an exit code.

0: done. 1: the answer is no, or a promise that does not hold. 2: the user's mistake, reported in one message. 130
and 141: stopped by Ctrl-C, or by a reader that went away; quietly. NumPy and rich are loaded where they are used.
"""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from .errors import UserError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NO, MISTAKE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
#: Characters of another's words that are passed on.
LONGEST = 1000
#: What writing to a full disk or a broken device raises.
WRITING = (errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EBADF)


@contextmanager
def answering(command: str, debug: bool = False) -> Iterator[None]:
    """Run a command's work: mistakes and warnings in a line each, and a traceback only for our own errors.

    Parameters
    ----------
    command : str
        Its name, which messages begin with.
    debug : bool, default=False
        Whether mistakes come with their traceback.
    """
    try:
        with _warnings_as_lines(command):
            yield
            sys.stdout.flush()
    except UserError as mistake:
        if debug:
            traceback.print_exc()
        else:
            note(f"wald {command}: {mistake}")
        raise typer.Exit(MISTAKE) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if not _of_stdout(error):
            raise
        raise typer.Exit(unwritable(f"wald {command}", error)) from None


def unwritable(who: str, error: OSError) -> int:
    """Give up stdout, which cannot be written to; the exit code is returned.

    Parameters
    ----------
    who : str
        Beginning of messages.
    error : OSError
        What writing raised. A reader that went away is no mistake.
    """
    with suppress(OSError, ValueError):  # what is still buffered would fail once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    with suppress(OSError):  # stderr may be as full
        note(f"{who}: cannot write to stdout: {reason(error)}")
    return MISTAKE


def _of_stdout(error: OSError) -> bool:
    """Whether an error that nobody expected comes of printing: files are opened and written under `mistaken`."""
    return isinstance(error, BrokenPipeError) or (error.filename is None and error.errno in WRITING)


@contextmanager
def mistaken(where: str, *errors: type[Exception]) -> Iterator[None]:
    """Tell errors that the library raises about what the user gave as mistakes.

    Parameters
    ----------
    where : str
        Beginning of the message: a file, or an option.
    *errors : exception types
        ValueError, TypeError and OSError when none are given.
    """
    try:
        yield
    except errors or (ValueError, TypeError, OSError) as error:  # noqa: B030  # a tuple either way
        raise UserError(f"{where}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """An error's own words, in one line that is not endless, as where a whole damaged header is quoted."""
    words = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    line = " ".join(words.split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "…"


def note(text: str) -> None:
    """Say something that is no result."""
    typer.echo(text, err=True)


def show(*things: RenderableType) -> None:
    """Print results for people."""
    from rich.console import Console
    from rich.table import Table

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise  # called where the error is being handled; `answering` knows what to do

    console = Quiet(soft_wrap=True)
    for thing in things:
        if isinstance(thing, Table):  # figures are never cut, however narrow the terminal
            thing.width = console.measure(thing, options=console.options.update(width=200)).maximum
        console.print(thing, highlight=False, markup=False)


def as_json(facts: Mapping[str, Any]) -> None:
    """Print results for machines. What is not finite becomes null, which JSON has and infinity it has not."""
    typer.echo(json.dumps(_plain(facts), indent=2, allow_nan=False))


def progress_console() -> Console:
    """Where progress is shown: on stderr."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def _warnings_as_lines(command: str) -> Iterator[None]:
    shown: set[str] = set()

    def report(message: Warning | str, *_: Any, **__: Any) -> None:
        line = " ".join(str(message).split())
        if line not in shown:
            shown.add(line)
            note(f"wald {command}: warning: {line}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = report
        yield


def _plain(value: Any) -> Any:
    import numpy as np

    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
