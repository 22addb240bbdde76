"""``wald report``: one page of HTML about a model file and what it does on rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .answers import as_user_error, handling_errors, note
from .errors import UserError
from .libraries import is_library_model, library_model
from .models import load_served, schema_of_saved
from .rankings import require_ranker
from .rows import data_name, read_whole


@options.takes_about_data
def report(
    file: options.FileArgument,
    data: options.DataArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The page to write, in HTML.")],
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing/--no-timing",
            help="Whether to time FILE against the model it wraps, where it is known: --model names its file. A tree "
            "library's file is timed in the library, where that is installed.",
        ),
    ] = True,
    groups: options.Groups = None,
    model: options.Model = None,
    about_data: options.AboutData = options.NOTHING_SAID,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Write a page for people: the model, the certificate, costs, times, and the rows whose labels differ.

    Give rows that neither the model nor wald fit has seen; they are also evaluated in full. The page holds the values
    of up to 23 of them. It needs no network and runs no script.
    """
    with handling_errors("report", debug):
        from ..models import TreeClassifier
        from ..reporting.writing import write

        if str(output) == "-":
            raise UserError("-o: wald report writes a file; name it.")
        options.require_writable(output, force, file, data, model)
        fast = load_served(file, options.threads(jobs), model, trust_pickle, trust_type or ())
        if groups is not None:
            require_ranker(fast, groups)
        reading = about_data.reading(groups)
        part = read_whole(data, schema_of_saved(fast, file), reading)
        library = None
        # a model that is not trusted was not read, and is not timed
        named = next((one for one in (model, file) if one is not None and is_library_model(one)), None)
        if timing and named is not None and isinstance(fast.estimator_, TreeClassifier):
            library = library_model(named, fast.estimator_, options.threads(jobs))
        with as_user_error(f"-o: {output}", OSError), as_user_error(data_name(data), ValueError, TypeError):
            try:
                write(fast, part.rows, output, title, data_name(data), timing, "wald report", library, part.groups)
            except ImportError as error:
                raise UserError(str(error)) from error
        note(f"wrote {output}")
