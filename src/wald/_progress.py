"""Progress bars, on terminals only; rich is loaded when there is a console to show them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


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
        How often the steps will be told.

    Yields
    ------
    callable
        Takes the name of a step before it is taken.
    """
    if console is None:
        yield lambda name: None
        return
    from rich.progress import MofNCompleteColumn

    with _bar(console, MofNCompleteColumn()) as bar:
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

    with _bar(console, TaskProgressColumn(), transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def _bar(console: Any, how_far: Any, transient: bool = False) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), how_far, TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=transient)
