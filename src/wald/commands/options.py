"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from .answers import as_user_error
from .errors import UserError
from .rows import FORMATS, Reading
from .rows.separators import separator_character

FILE = "What wald fit wrote; or a model file of LightGBM, XGBoost or CatBoost, which is evaluated in full."
DATA = (
    "Rows: CSV or TSV (UTF-8), Parquet, NPY or svmlight, by suffix; text may be packed (.gz, .bz2, .xz). - is stdin, "
    "whose format is named by --format or inferred from its first bytes."
)

DataArgument = Annotated[Path, typer.Argument(metavar="DATA", help=DATA)]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help=FILE)]

Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"What DATA is, whatever its suffix: {', '.join(dict.fromkeys(FORMATS.values()))}."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column that is no feature, by name or position from 0; may be repeated. Columns that a model with "
        "names does not know are left out anyway.",
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of texts, by name or position from 0, for a pipeline that begins with a vectorizer; otherwise "
        "the only column that is left.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default=False,
        help="Whether a CSV begins with names; otherwise its first two lines decide, or are refused.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Between the cells of a CSV, as ';' or tab; otherwise its first line decides.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column to copy to the output, feature or not, by name or position from 0; may be repeated. "
        "Beside a column of wald's own that is called the same, it is called input_COLUMN.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Of a ranker fitted with a --risk: the column, by name or position from 0, that names the group of each "
        "row (qid in svmlight).",
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based", show_default=False, help="First index of svmlight; if not said, 0 if it occurs."
    ),
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Threads, as scikit-learn's n_jobs; -1 takes all.")]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="The wrapped model's own file; a FILE made with --risk 0 needs it unless it describes the model, as one "
        "made from a tree library's file does.",
    ),
]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn at random.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of a mistake.")]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Load a model from pickle or joblib, which runs the code in it.")
]
TrustType = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A type in a skops file to trust; may be repeated.")
]


@dataclass(frozen=True)
class AboutData:
    """The options about DATA."""

    drop: Drop = None
    text: Text = None
    format: Format = None
    header: Header = None
    zero_based: ZeroBased = None
    separator: Separator = None

    def reading(self, groups: str | None = None, keep: list[str] | None = None) -> Reading:
        """How DATA is read."""
        if self.separator is not None:
            separator_character(self.separator)  # raises before any work is done
        drop, kept = tuple(self.drop or ()), tuple(keep or ())
        return Reading(self.format, drop, groups, self.header, self.zero_based, self.separator, kept, text=self.text)

    def by_option(self) -> dict[str, Any]:
        """The values by the names of the options."""
        return {f"--{name.replace('_', '-')}": value for name, value in vars(self).items()}


NOTHING_SAID = AboutData()
_ABOUT_DATA = get_type_hints(AboutData, include_extras=True)


def takes_about_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `AboutData` in place of its parameter ``about_data``."""
    own = inspect.signature(command, eval_str=True)
    options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=a) for name, a in _ABOUT_DATA.items()]
    parameters: list[Parameter] = []
    for parameter in own.parameters.values():
        parameters += options if parameter.name == "about_data" else [parameter.replace(kind=Parameter.KEYWORD_ONLY)]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(about_data=AboutData(**{name: given.pop(name) for name in _ABOUT_DATA}), **given)

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def threads(jobs: int) -> int:
    """Number of threads for ``--jobs``."""
    from ..engine.threads import effective_threads

    with as_user_error("--jobs"):
        return effective_threads(jobs)


def require_seed(seed: int) -> None:
    """Raise UserError for a seed that NumPy does not accept."""
    if not 0 <= seed < 2**32:
        raise UserError(f"--seed must be at least 0 and below 2**32. Got {seed}.")


def _is_read(path: Path, given: Path) -> bool:
    """Whether an existing file is the one that is read; `-` stands for the standard input."""
    if str(given) == "-":
        with suppress(OSError):
            return os.path.samestat(path.stat(), os.fstat(0))
        return False
    return given.exists() and path.samefile(given)


def require_writable(path: Path, replaces: bool, *inputs: Path | None, devices: bool = False) -> None:
    """Raise UserError for an output file that cannot be made, is an input, or may not be replaced, before any work."""
    with as_user_error(f"-o: {path}", OSError, ValueError):
        if path.is_dir():
            raise UserError(f"-o: {path} is a folder; name a file.")
        if not path.parent.is_dir():
            raise UserError(f"-o: there is no folder {path.parent}.")
        exists = path.exists()
        if exists and not path.is_file():
            if not devices:
                raise UserError(f"-o: {path} is a device or a pipe; name a file.")
            return
        effective = os.access in os.supports_effective_ids
        if not os.access(path.resolve().parent, os.W_OK | os.X_OK, effective_ids=effective):
            raise UserError(f"-o: the folder {path.parent} cannot be written to (Permission denied).")
        if not exists:
            return
        if any(given is not None and _is_read(path, given) for given in inputs):
            raise UserError(f"-o: {path} is one of the files to be read.")
        if not os.access(path, os.W_OK, effective_ids=effective):
            raise UserError(f"-o: {path} may not be written to (Permission denied).")
        if not replaces:
            raise UserError(f"-o: {path} exists; overwrite it with --force, or name another file.")
