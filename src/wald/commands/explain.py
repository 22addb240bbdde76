"""``wald explain``: what was read of one row, what each part added to the score, and when the answer was clear."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..utils.objects import RepeatedNameError, with_names_once
from . import options
from .answers import as_json, as_user_error, handling_errors, show
from .errors import UserError
from .models import load_served, schema_of_saved
from .rows import Part, Reading, data_name, read, read_whole

if TYPE_CHECKING:
    from ..early_exit.estimators import EarlyExit


@options.takes_about_data
def explain(
    file: options.FileArgument,
    row: Annotated[
        str,
        typer.Argument(
            metavar="ROW",
            help="One row: a JSON object of names and values, a JSON list of values, or a text for a model of texts; "
            "with DATA, its number from 0.",
        ),
    ],
    data: Annotated[Path | None, typer.Argument(metavar="[DATA]", help=options.DATA)] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Of a ranker: the column that names the group of each row (qid in svmlight). Without it, DATA has the "
            "rows of one group.",
        ),
    ] = None,
    model: options.Model = None,
    about_data: options.AboutData = options.NOTHING_SAID,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Explain the answer that FILE gives one row: what was read, what each part added, and when the answer was clear.

    What the parts add, and the score at the start, sum up to the score of full evaluation. Of a ranker, DATA holds the
    rows of one group, or --groups names their column; the place of one of them is explained: at which stage it left, or
    why it stayed.
    """
    with handling_errors("explain", debug):
        from ..early_exit import EarlyExitRanker

        reading = about_data.reading(groups)
        fast = load_served(file, 1, model, trust_pickle, trust_type or ())
        if isinstance(fast, EarlyExitRanker) and (data is None or not row.isdecimal()):
            raise UserError(
                f"{file} holds a ranker, whose scores say something beside those of other rows alone: name DATA, a "
                "file of the rows of one group, such as the documents of a query, or of several with --groups COLUMN, "
                "and as ROW the number of one of them."
            )
        if groups is not None and not isinstance(fast, EarlyExitRanker):
            raise UserError(f"--groups is for rankers, and {file} holds an {type(fast).__name__}: leave it out.")
        where = "ROW" if data is None else f"{data_name(data)}, row {row}"
        x: Any
        if isinstance(fast, EarlyExitRanker):
            assert data is not None
            x, row = _group_of(row, data, read_whole(data, schema_of_saved(fast, file), reading))
        else:
            x = _given(fast, row) if data is None else _row_of(fast, file, row, data, reading)
        with as_user_error(where, ValueError, TypeError):
            found = fast.explain(x) if not isinstance(fast, EarlyExitRanker) else fast.explain(x, int(row))
        if json:
            as_json(found.as_dict())
        else:
            show(str(found))


def _given(fast: EarlyExit, row: str) -> Any:
    """The row that an argument holds."""
    texts = fast.compiled_plan_.model.texts
    if texts is not None and texts.vectorizer.takes(row):
        return row
    try:
        x = json_module.loads(row, object_pairs_hook=with_names_once)
    except RepeatedNameError as error:
        raise UserError(f"ROW {error}.") from None
    except ValueError:
        x = None
    if isinstance(x, int) and not isinstance(x, bool):
        raise UserError(f"ROW is {row}, the number of a row of a file: name the file after it.")
    if not isinstance(x, dict | list):
        raise UserError(
            "ROW must be a JSON object of names and values, as '{\"age\": 41}', or a JSON list of values. "
            f"Got {row[:60]!r}."
        )
    return x


def _group_of(row: str, data: Path, part: Part) -> tuple[Any, str]:
    """The rows of one row's group, and its number among them; without groups, all rows are one."""
    import numpy as np

    from ..sources import source_of

    source, number = source_of(part.rows), int(row)
    if number >= source.n_rows:
        raise UserError(f"ROW is {row}, and {data_name(data)} has {source.n_rows} rows, whose numbers begin with 0.")
    if part.groups is None:
        return part.rows, row
    own = np.flatnonzero(part.groups == part.groups[number])
    return source.take(own).rows, str(int(np.searchsorted(own, number)))


def _row_of(fast: EarlyExit, file: Path, row: str, data: Path, reading: Reading) -> Any:
    """One row of a file, as a table."""
    import numpy as np

    from ..sources import source_of

    if not row.isdecimal():
        raise UserError(f"ROW must be the number of a row of {data_name(data)}, from 0. Got {row[:60]!r}.")
    start, wanted, schema = 0, int(row), schema_of_saved(fast, file)
    for part in read(data, schema, reading):
        with as_user_error(data_name(data), ValueError, TypeError):
            rows = source_of(part.rows)
        if wanted < start + rows.n_rows:
            found = rows.take(np.array([wanted - start])).rows
            return found[0] if schema.of_texts else found
        start += rows.n_rows
    raise UserError(f"ROW is {row}, and {data_name(data)} has {start} rows, whose numbers begin with 0.")
