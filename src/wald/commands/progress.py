"""Progress, on terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

T = TypeVar("T")


class Steps:
    """A progress bar with a name for what is being done.

    Parameters
    ----------
    console : rich.console.Console
        Where it is shown, if that is a terminal.
    n_steps : int
    """

    def __init__(self, console: Console, n_steps: int) -> None:
        bar = BarColumn(bar_width=24)
        self._progress = Progress(
            bar,
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=n_steps)

    def __enter__(self) -> Steps:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._progress.update(self._task, description="done")
        self._progress.stop()

    def do(self, name: str, step: Callable[[], T]) -> T:
        """Show a step's name while it is being done."""
        self._progress.update(self._task, description=name)
        result = step()
        self._progress.advance(self._task)
        return result


@contextmanager
def share_done(console: Console, name: str) -> Iterator[Callable[[float], None]]:
    """Show a bar; it gives what is to be called with the share that is done, from 0 to 1."""
    progress = Progress(
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    task = progress.add_task(name, total=1.0)
    with progress:
        yield lambda done: progress.update(task, completed=done)
