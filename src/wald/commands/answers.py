"""Output of the commands: results on stdout, everything else on stderr, and an exit code.

Exit codes: 0, success; 1, the answer is no, or a promise does not hold; 2, an error that the user can correct, reported
in one message; 3, done but for what ``--skip-bad`` left out; 130, Ctrl-C; 141, the reader of stdout closed it. The last
two print nothing, but that Ctrl-C in a job says what is done. NumPy and rich are
imported where they are used, so that commands start fast.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from .errors import UserError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

EXIT_NO, EXIT_USER_ERROR, EXIT_SKIPPED, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 2, 3, 130, 141
#: Longest error message of a library that is repeated, in characters.
LONGEST_MESSAGE = 1000
#: Error numbers of writing to a full disk or a broken device.
WRITE_ERRORS = (errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EBADF)


@contextmanager
def handling_errors(command: str, debug: bool = False) -> Iterator[None]:
    """Print warnings and the user's errors as one line each, and exit; other errors keep their traceback.

    Parameters
    ----------
    command : str
        Name of the command; messages begin with it.
    debug : bool, default=False
        Whether to print the traceback of the user's errors, too.
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
        raise typer.Exit(EXIT_USER_ERROR) from None
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except OSError as error:
        if not _comes_from_stdout(error):
            raise
        raise typer.Exit(give_up_stdout(f"wald {command}", error)) from None


def give_up_stdout(who: str, error: OSError) -> int:
    """Redirect an stdout that cannot be written to the null device, and return the exit code.

    Parameters
    ----------
    who : str
        Beginning of messages.
    error : OSError
        The error of writing. A broken pipe prints no message.
    """
    with suppress(OSError, ValueError):  # the rest of the buffer would fail again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_BROKEN_PIPE
    with suppress(OSError):  # stderr may be on the same full disk
        note(f"{who}: cannot write to stdout: {reason(error)}")
    return EXIT_USER_ERROR


def _comes_from_stdout(error: OSError) -> bool:
    """Whether an error comes from printing; errors of files are caught by `as_user_error` before."""
    return isinstance(error, BrokenPipeError) or (error.filename is None and error.errno in WRITE_ERRORS)


@contextmanager
def as_user_error(where: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors of the library about the user's input into `UserError`.

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
        why = reason(error)
        raise UserError(why if why.startswith((f"{where}:", f"{where},")) else f"{where}: {why}") from error


def reason(error: BaseException) -> str:
    """The message of an error in one line, cut off after `LONGEST_MESSAGE` characters."""
    words = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"


def note(text: str) -> None:
    """Print a message to stderr."""
    typer.echo(text, err=True)


def show(*things: RenderableType) -> None:
    """Print results for people."""
    from rich.console import Console
    from rich.table import Table

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich calls this in its except clause; `handling_errors` exits

    console = Quiet(soft_wrap=True)
    for thing in things:
        if isinstance(thing, Table):  # numbers are never cut on a narrow terminal
            thing.width = console.measure(thing, options=console.options.update(width=200)).maximum
        console.print(thing, highlight=False, markup=False)


def grid(left: Sequence[str], right: Sequence[str]) -> Table:
    """Make a table for people, with columns of words and columns of figures."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def as_json(facts: Mapping[str, Any]) -> None:
    """Print results as JSON; numbers that are not finite become null."""
    from ..utils.plain import plain

    typer.echo(json.dumps(plain(facts), indent=2, allow_nan=False))


def progress_console() -> Console:
    """The console for progress bars, on stderr."""
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


def monitor_facts(fast: Any) -> dict[str, Any]:
    """What the monitor of a watched model says after its rows, for JSON; nothing for other models."""
    monitor = fast.compiled_plan_.monitor
    return {} if monitor is None else {"monitor": monitor.as_dict()}


def note_monitor(fast: Any) -> None:
    """Print what the monitor of a watched model says after its rows."""
    if (monitor := fast.compiled_plan_.monitor) is not None:
        note(f"{monitor!r}.")
