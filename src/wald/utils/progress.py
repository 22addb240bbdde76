"""Progress bars, on terminals only; rich is loaded when there is a console to show them on."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

#: What takes longer than so many seconds shows how far it is.
PATIENCE = 3.0

_bars = 0  # shown now: another one in the same terminal would only disturb


class Steps(Protocol):
    """Told the name of every step before it is taken."""

    def __call__(self, name: str) -> None:
        """Say what is done from now on."""


@contextmanager
def progress(console: Any, n_steps: int) -> Iterator[Steps]:
    """Show how many steps are done, and the name of the present one.

    Parameters
    ----------
    console : rich.console.Console or None
        None shows nothing.
    n_steps : int
        How often steps will be reported.

    Yields
    ------
    callable
        Takes the name of a step before it is taken.
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
    """Show which share of one thing is done, until it is.

    Parameters
    ----------
    console : rich.console.Console
    name : str
        What is being done.

    Yields
    ------
    callable
        Takes the share that is done, from 0 to 1.
    """
    from rich.progress import TaskProgressColumn

    with _alone(_bar(console, TaskProgressColumn(), transient=True)) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda done: bar.update(task, completed=done)


class LateBar:
    """A bar for work that takes long: it appears after `PATIENCE` seconds, and only where somebody can see it.

    Within ``with``, the bar gets the name of every step, and which share of the work is done before it. Nothing is
    shown where the standard error is neither a terminal nor a notebook's, where rich is missing, or where another bar
    is shown already. rich is not loaded before the bar appears.
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
        """Say what is done from now on, and which share of everything is done already."""
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
    """Show a bar, and let no late one appear beside it."""
    global _bars
    _bars += 1
    try:
        with bar:
            yield bar
    finally:
        _bars -= 1


def _bar(console: Any, how_far: Any, transient: bool = False) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), how_far, TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    return Progress(
        *columns, console=console, disable=not (console.is_terminal or console.is_jupyter), transient=transient
    )
