"""``wald fit``: writes a file that predicts with early exit, from a trained model and rows it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import wald

from ..inspection.facts import facts_of
from ..utils.progress import progress
from . import options
from .answers import EXIT_NO, as_json, as_user_error, handling_errors, note, progress_console, show
from .errors import UserError
from .models import decomposed, form_of, is_behind, load_model
from .rankings import ranking_facts, require_race
from .rows import data_name, read_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..early_exit.estimators import EarlyExit
    from ..models import AdditiveModel

#: Statuses of certificates whose requested promise cannot be made.
FAILED = ("too few rows", "too many disagreements")


@options.takes_about_data
def fit(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A fitted classifier, regressor, ranker or outlier detector, saved with skops.io.dump; or a model "
            "file of LightGBM, XGBoost or CatBoost.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write the result.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help=f"{options.DATA} None are needed for regressors and rankers without a --risk, and with --risk 0 for "
            "tree ensembles, all of which are evaluated in full.",
        ),
    ] = None,
    risk: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RISK|STRATUM=RISK",
            help="Bound on the probability that a row's label differs; 0: none may. [default: 0.001] May be repeated: "
            "fraud=0.01 bounds that of the rows that the model calls fraud; each=0.01 of each class for itself; "
            "'predicted fraud=0.02' that of the rows that get this label, early or in full. For "
            "regressors, with --tolerance or --bands; with --tolerance, one number. For rankers, with --groups: on the "
            "share of the first --k rows of a group that is missing, on average.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Probability, over the draw of the rows, with which the bound holds.")
    ] = 0.95,
    bands: Annotated[
        str | None,
        typer.Option(
            metavar="T1,T2,...",
            help="Rising thresholds, as 0.1,0.3,0.6, of a probability, a value or an outlier's score: the answer is "
            "the number of the band.",
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="T|T1,T2,...",
            help="How far a regressor's value, or a classifier's probabilities, may be off, with --risk: rows then "
            "leave with an estimate. For several values, one number or one for each.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", min=1, help="Of a ranker: how many first rows of a group are promised, with --risk. [default: 10]"
        ),
    ] = None,
    relative: Annotated[bool, typer.Option("--relative", help="--tolerance is a share of the full value.")] = False,
    relative_to: Annotated[
        str | None,
        typer.Option(
            metavar="std|quantile",
            help="--tolerance is a share of the values' standard deviation, or of the distance between their quantiles "
            "of 5 and 95 %.",
        ),
    ] = None,
    cost: Annotated[str, typer.Option(help="What the plan minimizes: time or units.")] = "time",
    groups: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows with the same value belong together (users, documents, queries)."),
    ] = None,
    about_data: options.AboutData = options.NOTHING_SAID,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Plan and certify early exit for a trained MODEL, on rows DATA that it was not trained on.

    Labels are not needed; columns that are no features are left out with --drop. A tree ensemble with --risk 0 needs
    no DATA, nor do regressors and rankers: every row is then evaluated in full, by wald. The first --k rows of a
    ranker's --groups are promised with --risk. Exit code 1: the rows cannot back the promise; the file is written all
    the same, and evaluates everything.
    """
    with handling_errors("fit", debug):
        from sklearn.frozen import FrozenEstimator

        from ..early_exit.compiled.parameters import Parameters, checked_rule
        from ..early_exit.estimators import ESTIMATORS, reading
        from ..early_exit.group_answers import promise_of
        from ..stopping.core.risks import largest

        options.require_seed(seed)
        if str(output) == "-":
            raise UserError("-o: wald fit writes a file; name it.")
        options.require_writable(output, force, model, data)
        bounds = by_text(risk or ["0.001"])
        if data is None:
            _require_none({"--groups": groups} | about_data.by_option())
            if risk:
                _require_no_rows(bounds)
        planned: dict[str, Any] = {
            "risk": bounds,
            "confidence": confidence,
            "planner": wald.Planner(cost=cost),
            "random_state": seed,
        }
        with as_user_error("options"):
            checked_rule(Parameters(None, **planned))
        form = about_data.reading(groups)
        with progress(progress_console(), 4) as step:
            step("reading the model")
            wrapped = load_model(model, trust_pickle, trust_type or ())
            read = decomposed(model, wrapped, data is not None and (largest(bounds) or 0) > 0)
            shell: Any = ESTIMATORS[read.kind]
            threads = options.threads(jobs)
            if relative and relative_to is not None:
                raise UserError("--relative and --relative-to say what --tolerance is a share of; give one of them.")
            share = relative_to or relative or None
            question = _question(shell, read.kind, tolerance=tolerance, relative=share, bands=bands, k=k)
            fast: EarlyExit
            race = require_race(bounds if risk else None, k, groups, data) if read.kind == "ranker" else {}
            if race:
                own = {"confidence": confidence, "random_state": seed, "n_jobs": threads}
                fast = shell(FrozenEstimator(wrapped), **race, **own)
            elif question or read.kind in ("classifier", "outlier detector"):
                if data is None:
                    _require_no_rows(bounds)
                if isinstance(bounds, dict):
                    with as_user_error(str(model), ValueError, TypeError):
                        asked = read if is_behind(read) else reading(shell(None, **question))(wrapped)
                        planned["risk"] = by_label(bounds, asked.strata)
                fast = shell(FrozenEstimator(wrapped), n_jobs=threads, **planned, **question)
            else:
                _require_in_full(read.kind, risk, groups)
                fast = shell(FrozenEstimator(wrapped), n_jobs=threads)
            step("reading rows")
            part = None if data is None else read_whole(data, form_of(model, read, wrapped), form)
            where = str(model) if data is None else data_name(data)
            with warnings.catch_warnings(), as_user_error(where, ValueError, TypeError):
                warnings.filterwarnings("ignore", "no early exit|Every row is evaluated")  # the certificate says it
                step("planning and certifying")
                if part is None:
                    _fit_without_rows(fast, read)
                else:
                    grouped: dict[str, Any] = {} if part.groups is None else {"groups": part.groups}
                    fast.fit(part.rows, **grouped)
            step("writing")
            with as_user_error(str(output)):
                _save(fast, output)
        if json:
            n_rows = 0 if part is None else part.rows.shape[0]
            as_json({"file": str(output), "n_rows": n_rows, **facts_of(fast), **ranking_facts(fast)})
        else:
            show(str(promise_of(fast)))
        if failed(fast):
            note("wald fit: the rows cannot back the promise; the file evaluates every row in full.")
            raise typer.Exit(EXIT_NO)


def _save(fast: EarlyExit, output: Path) -> None:
    """Write a file of numbers and texts; where these do not describe a model, one that holds it by skops."""
    if is_behind(fast.compiled_plan_.model):
        try:
            wald.save(fast, output, pipeline="skops")
        except (ValueError, ImportError):
            wald.save(fast, output)
            note(f"{output} does not hold the model, which is asked as it is: give it again, with --model.")
        return
    try:
        wald.save(fast, output)
    except ValueError as error:
        if fast.compiled_plan_.model.preprocessing is None or find_spec("skops") is None:
            raise
        try:
            wald.save(fast, output, pipeline="skops")
        except ValueError:
            raise error from None
        note(f"{output} holds the whole pipeline, by skops, because numbers and texts do not describe it.")


def _require_no_rows(risk: float | dict[str, float]) -> None:
    """Raise UserError if rows are needed."""
    if risk != 0:
        raise UserError(
            f"--risk {risk} is certified on rows: name DATA, rows that the model was not trained on. Only --risk 0 "
            "does without, for tree ensembles."
        )


def _require_none(about: Mapping[str, Any]) -> None:
    """Raise UserError if options speak of rows that are not there."""
    given = [name for name, value in about.items() if value not in (None, [])]
    if given:
        raise UserError(f"{given[0]} speaks of rows, and there is no DATA.")


def _question(shell: Any, kind: str, **asked: Any) -> dict[str, Any]:
    """What is asked of the model, as parameters of its early-exit estimator."""
    from ..models.banded import checked_bands

    given = {name: value for name, value in asked.items() if value is not None}
    for name in given:
        if name not in shell._get_param_names():
            raise UserError(f"--{name} asks for what a {kind} has not.")
    for name in {"bands", "tolerance"} & given.keys():
        try:
            given[name] = [float(number) for number in given[name].split(",")]
        except ValueError:
            raise UserError(f"--{name} must be numbers with commas, as 0.1,0.3. Got {given[name]!r}.") from None
    if "bands" in given:
        with as_user_error(f"--bands {asked['bands']}"):
            checked_bands(given["bands"], shell.kind)
    if len(given.get("tolerance", ())) == 1:
        given["tolerance"] = given["tolerance"][0]
    return given


def _require_in_full(kind: str, risk: list[str] | None, groups: str | None) -> None:
    """Raise UserError for a promise about values, which are evaluated in full."""
    given = "--groups" if groups is not None else f"--risk {risk[0]}" if risk and by_text(risk) != 0 else None
    if given is not None:
        raise UserError(
            f"{given} is a promise about rows that leave early, and every row of a {kind} is evaluated in full here"
            f"{', without --tolerance or --bands' if kind == 'regressor' else ''}."
        )


def _fit_without_rows(fast: EarlyExit, model: AdditiveModel) -> None:
    if not (model.decision.valued or model.terms.planning.rest.serves_full):
        raise UserError(
            f"DATA is missing: for a {model.terms.description}, --risk 0 plans exits on rows. Only tree ensembles do "
            "without."
        )
    fast.fit()


def by_text(words: Sequence[str]) -> float | dict[str, float]:
    """Parse ``--risk``: one number, or a dict from a stratum's text to its risk; a number among others is for all."""
    risks: dict[str, float] = {}
    for word in words:
        stratum, equals, number = word.rpartition("=")
        stratum = stratum if equals else "all"
        if stratum in risks:
            raise UserError(f"--risk names {stratum} twice.")
        try:
            risks[stratum] = float(number if stratum else "")
        except ValueError:
            raise UserError(f"--risk: {word} is neither a number nor STRATUM=RISK, as in fraud=0.01.") from None
    return risks["all"] if list(risks) == ["all"] else risks


def by_label(risks: Mapping[str, float], classes: NDArray[Any]) -> dict[Any, float]:
    """Replace the texts of labels by the labels; those of an outlier detector have names of their own."""
    from ..early_exit.outlier_detector import LABELS
    from ..stopping.core.strata import PREDICTED, WORDS

    labels = {str(label): label for label in classes.tolist()}
    detects = labels.keys() <= {"-1", "1"}

    known = {*labels, *WORDS, *(LABELS if detects else ())}
    strange = [text for text in risks if text not in known and text.removeprefix(PREDICTED) not in known]
    if strange:
        raise UserError(f"--risk names {strange[0]}, which is none of the classes {', '.join(labels)}.")
    return {labels.get(text, text): risk for text, risk in risks.items()}


def failed(fast: EarlyExit) -> bool:
    """Whether a promise was requested and could not be made."""
    from ..early_exit.group_answers import ranking_promise

    own = ranking_promise(fast)
    return fast.compiled_plan_.certificate.status in FAILED if own is None else own.failed
