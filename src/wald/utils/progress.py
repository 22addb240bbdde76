"""Progress bars, on terminals only; rich is loaded when there is a console to show them on."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

#: Work that takes longer than this number of seconds shows a bar.
PATIENCE = 3.0

_bars = 0  # number of bars on display; a `LateBar` does not appear beside another


class Steps(Protocol):
    """A function that is called with the name of every step before it begins."""

    def __call__(self, name: str) -> None:
        """Report the step that begins."""


@contextmanager
def progress(console: Any, n_steps: int) -> Iterator[Steps]:
    """Show the number of finished steps, and the name of the present one.

    Parameters
    ----------
    console : rich.console.Console or None
        None shows nothing.
    n_steps : int
        Number of steps that will be reported.

    Yields
    ------
    callable
        Takes the name of a step before it begins.
    """
    if console is None:
        yield lambda name: None
        return
    from rich.progress import MofNCompleteColumn

    with _alone(_bar(console, MofNCompleteColumn())) as bar:
        task, begun = bar.add_task("", total=n_steps), 0

        def step(name: str) -> None:
            nonlocal begun
            bar.update(task, description=name, completed=begun)
            begun += 1

        yield step
        bar.update(task, description="done", completed=n_steps)


@contextmanager
def share_done(console: Any, name: str) -> Iterator[Callable[[float], None]]:
    """Show the finished share of one piece of work.

    Parameters
    ----------
    console : rich.console.Console
    name : str
        Name of the work.

    Yields
    ------
    callable
        Takes the finished share, from 0 to 1.
    """
    from rich.progress import TaskProgressColumn

    with _alone(_bar(console, TaskProgressColumn(), transient=True)) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def rows_done(console: Any, name: str) -> Iterator[Callable[[int, int | None, float], None]]:
    """Show the number of finished rows, the rate, and the time left.

    Parameters
    ----------
    console : rich.console.Console
    name : str
        Name of the work.

    Yields
    ------
    callable
        Takes the number of finished rows, that of all rows (None if it is not known), and rows per second.
    """
    from rich.progress import TimeRemainingColumn

    with _alone(_bar(console, TimeRemainingColumn(), transient=True)) as bar:
        task = bar.add_task(name, total=None)

        def report(done: int, total: int | None, rate: float) -> None:
            of = "" if total is None else f" of {total:,}"
            words = f"{name}: {done:,}{of} rows, {rate:,.0f} a second"
            bar.update(task, completed=done, total=total, description=words)

        yield report


class LateBar:
    """A bar for long work: it appears after `PATIENCE` seconds, and only on a terminal or in a notebook.

    Within ``with``, call it with the name of every step and the share of the work that is done before the step.
    Nothing is shown where rich is missing or another bar is on display. rich is not loaded before the bar appears.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bar: Any = None
        self._ended = False
        self._name, self._done = "", 0.0
        self._timer: threading.Timer | None = None

    def __enter__(self) -> LateBar:
        seen = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        if seen and importlib.util.find_spec("rich") is not None:
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        global _bars
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()
                _bars -= 1

    def __call__(self, name: str, done: float) -> None:
        """Report the step that begins, and the share of the work that is done."""
        with self._lock:
            self._name, self._done = name, done
            if self._bar is not None:
                self._bar.update(self._task, description=name, completed=done)

    def _show(self) -> None:
        global _bars
        from rich.console import Console
        from rich.progress import TaskProgressColumn

        console = Console(stderr=True)
        with self._lock:
            if self._ended or _bars > 0 or not (console.is_terminal or console.is_jupyter):
                return
            self._bar = _bar(console, TaskProgressColumn(), transient=True)
            self._task = self._bar.add_task(self._name, total=1.0, completed=self._done)
            self._bar.start()
            _bars += 1


@contextmanager
def _alone(bar: Any) -> Iterator[Any]:
    """Show a bar, and keep late bars from appearing beside it."""
    global _bars
    _bars += 1
    try:
        with bar:
            yield bar
    finally:
        _bars -= 1


def _bar(console: Any, column: Any, transient: bool = False) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), column, TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    return Progress(
        *columns, console=console, disable=not (console.is_terminal or console.is_jupyter), transient=transient
    )
