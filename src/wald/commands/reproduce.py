"""``wald reproduce``: runs a paper's experiments again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..utils.install import install
from . import options
from .answers import as_json, as_user_error, handling_errors, progress_console, show
from .errors import UserError


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which; without it, they are listed.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="For pictures, figures and findings; by default NAME."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and coarser, in a minute or two.")] = False,
    seeds: Annotated[int, typer.Option(metavar="N", min=2, help="How often every experiment is repeated.")] = 10,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run the experiments of a paper again, and write pictures, figures and findings into a folder."""
    with handling_errors("reproduce", debug):
        try:
            from .. import papers
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        known = list(papers.names())
        if name is None:
            as_json({"names": known}) if json else show(*known)
            return
        if name not in known:
            raise UserError(f"there is no experiment {name!r}; there is {', '.join(known)}.")
        try:
            with as_user_error(name, ValueError, OSError):
                page = papers.run(name, output or Path(name), quick=quick, seeds=seeds, console=progress_console())
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        as_json({"name": name, "findings": str(page)}) if json else show(str(page))


def _missing(error: ModuleNotFoundError) -> Exception:
    """A UserError for a package that the user can install; the error itself for a missing module of wald."""
    if error.name is None or error.name.partition(".")[0] == "wald":
        return error
    return UserError(f"experiments need {error.name}, which is not installed: {install('cli', 'plot')}")
