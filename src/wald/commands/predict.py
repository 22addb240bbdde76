"""``wald predict``: labels of the rows of a file, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from .._figures import number
from .._progress import share_done
from . import options
from .answers import answering, as_json, mistaken, note, progress_console
from .errors import UserError
from .labels import sink
from .models import load_fast, load_model, wanted_by
from .rows import read


def predict(
    file: options.FileArgument,
    data: options.DataArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="CSV, Parquet or NPY, by suffix; - is CSV on stdout.")
    ],
    cost: Annotated[bool, typer.Option("--cost", help="Write what each row cost beside its label.")] = False,
    budget: Annotated[
        float | None, typer.Option(help="Most that a row may cost, in units; outside of the certificate.")
    ] = None,
    model: options.Model = None,
    drop: options.Drop = None,
    format: options.Format = None,
    header: options.Header = None,
    zero_based: options.ZeroBased = None,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write the labels of the rows DATA, one line per row, in their order.

    Memory is bounded by parts of the file, but for svmlight, which is read as a whole.
    """
    with answering("predict", debug):
        piped = str(output) == "-"
        if piped and json:
            raise UserError("--json and -o - both want stdout; write the labels to a file.")
        if not piped:
            options.require_writable(output, force, file, data, model)
        wrapped = None if model is None else load_model(model, trust_pickle, trust_type or ())
        fast = load_fast(file, options.threads(jobs), wrapped)
        if budget is not None:
            with mistaken("--budget"):
                fast.plan_.affordable(budget)
        n_rows, total = 0, 0.0
        counts = np.zeros(len(fast.classes_), dtype=np.int64)
        reading = options.reading(format, drop, header, zero_based)
        with share_done(progress_console(), "predicting") as tell, sink(output, fast.classes_, cost) as write:
            for part in read(data, wanted_by(fast), reading):
                with mistaken(str(data), ValueError, TypeError):
                    labels, costs = fast.predict(part.rows, budget=budget, return_cost=True)
                write(labels, costs)
                counts += _counted(fast.classes_, labels)
                n_rows, total = n_rows + len(labels), total + float(costs.sum())
                tell(part.done)
        if json:
            as_json(
                {
                    "output": str(output),
                    "n_rows": n_rows,
                    "mean_cost": total / n_rows,
                    "full_cost": fast.plan_.full_cost,
                    "budget": budget,
                    "labels": dict(zip(map(str, fast.classes_), counts, strict=True)),
                }
            )
        else:
            note(f"{n_rows} rows, {number(total / n_rows)} of {number(fast.plan_.full_cost)} units per row.")


def _counted(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
