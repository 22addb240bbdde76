"""``wald fit``: a trained model and rows it has not seen, to a file that predicts with early exit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import wald

from .._progress import progress
from . import options
from .answers import NO, answering, as_json, mistaken, note, progress_console, show
from .errors import UserError
from .facts import certificate_facts, model_facts, plan_facts
from .models import load_model, wanted_of
from .rows import called, read_whole

if TYPE_CHECKING:
    from ..stopping import Certificate

#: Statuses of a promise that was asked for and cannot be made.
FAILED = ("too few rows", "too many disagreements")


def fit(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A fitted scikit-learn classifier, saved with skops.io.dump.")
    ],
    data: options.DataArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write the result.")],
    risk: Annotated[float, typer.Option(help="Bound on the share of labels that may differ; 0: none may.")] = 0.001,
    confidence: Annotated[float, typer.Option(help="Probability with which the bound holds.")] = 0.95,
    cost: Annotated[str, typer.Option(help="What the plan minimizes: time or units.")] = "time",
    protect: Annotated[
        str, typer.Option(help="The rows that the promise is about: all, positive, negative or each class.")
    ] = "all",
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows with the same value belong together (users, documents).")
    ] = None,
    drop: options.Drop = None,
    format: options.Format = None,
    header: options.Header = None,
    zero_based: options.ZeroBased = None,
    separator: options.Separator = None,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Plan and certify early exit for a trained MODEL, on rows DATA that it was not trained on.

    Labels are not needed; columns that are no features are left out with --drop. Exit code 1: the rows cannot back
    the promise; the file is written all the same, and evaluates everything.
    """
    with answering("fit", debug):
        from sklearn.frozen import FrozenEstimator

        from .._parameters import checked_rule

        options.require_seed(seed)
        if str(output) == "-":
            raise UserError("-o: wald fit writes a file; name it.")
        options.require_writable(output, force, model, data)
        fast = wald.EarlyExitClassifier(
            None,
            risk=risk,
            confidence=confidence,
            cost=cost,
            protect=protect,  # type: ignore[arg-type]  # any text: checked below
            n_jobs=options.threads(jobs),
            random_state=seed,
        )
        with mistaken("options"):
            checked_rule(fast)
        reading = options.reading(format, drop, header, zero_based, separator, groups)
        with progress(progress_console(), 4) as step:
            step("reading the model")
            wrapped = load_model(model, trust_pickle, trust_type or ())
            step("reading rows")
            part = read_whole(data, wanted_of(model, wrapped), reading)
            fast.set_params(estimator=FrozenEstimator(wrapped))
            with warnings.catch_warnings(), mistaken(called(data), ValueError, TypeError):
                warnings.filterwarnings("ignore", "no early exit")  # the sentence says it
                step("planning and certifying")
                fast.fit(part.rows, groups=part.groups)
            step("writing")
            with mistaken(str(output)):
                wald.save(fast, output)
        if json:
            as_json(
                {
                    "file": str(output),
                    "n_rows": part.rows.shape[0],
                    "certificate": certificate_facts(fast.certificate_),
                    "plan": plan_facts(fast.plan_),
                    "model": model_facts(fast),
                }
            )
        else:
            show(str(fast.certificate_))
        if failed(fast.certificate_):
            note("wald fit: the rows cannot back the promise; the file evaluates every row in full.")
            raise typer.Exit(NO)


def failed(certificate: Certificate) -> bool:
    """Whether a promise was asked for and could not be made."""
    return certificate.status in FAILED
