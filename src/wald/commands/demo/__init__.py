"""``wald demo``: kernel machines, a linear model and boosted trees with early exit, in a table and three pictures.

``material`` holds the rows and models, ``measure`` measures them, ``report`` prints the table and ``pictures`` draws;
``run`` calls them in this order. The demo needs the extras ``cli`` and ``plot``. Here are its options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options
from ..answers import handling_errors


def demo(
    data: Annotated[
        str, typer.Option(help="digits (those that scikit-learn ships) or mnist (a minute or two).")
    ] = "digits",
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pictures.")] = Path("wald-demo"),
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Wrap a kernel machine, a linear model and boosted trees, and show what early exit does to them."""
    with handling_errors("demo", debug):
        from rich.console import Console

        from .run import run_demo

        run_demo(data, output, jobs, seed, Console())
