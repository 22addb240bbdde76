"""``wald train-parser``: learns tags and trees from a treebank, and writes a file that ``wald parse`` reads."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .answers import as_json, as_user_error, handling_errors, note, show
from .errors import UserError

if TYPE_CHECKING:
    from ..structured.text_pipeline import TextScores

_DEFAULTS = "With a small treebank, fewer bits do as well: 20 for a thousand sentences."


def train_parser(
    treebank: Annotated[
        Path,
        typer.Argument(metavar="TREEBANK", help="Sentences with tags and trees: CoNLL-U, which may be packed (.gz)."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write the pipeline.")],
    test: Annotated[
        Path | None, typer.Option(metavar="TREEBANK", help="Other annotated sentences, to measure what is right.")
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            help="Taggers from whose tags the parser learns, too, each for a piece of TREEBANK that it did not see; 0: "
            "it learns from the tags in TREEBANK alone.",
        ),
    ] = 10,
    epochs: Annotated[int, typer.Option(min=1, help="Of the parser.")] = 6,
    bits: Annotated[int, typer.Option(min=8, max=28, help=f"The parser has 2^BITS weights. {_DEFAULTS}")] = 24,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Train a tagger and a parser from TREEBANK, for words without tags.

    English EWT, 200 000 words, takes some minutes, and makes a file of 260 MB.
    """
    with handling_errors("train-parser", debug):
        import wald

        from ..structured import TextPipeline, Treebank
        from ..structured.parser_learning import annotated
        from ..structured.pipeline_learning import usual_parser

        options.require_writable(output, force, treebank, test)
        options.require_seed(seed)
        pipeline = TextPipeline(
            parser=usual_parser(table_bits=bits, max_iter=epochs),
            n_folds=folds,
            n_jobs=options.threads(jobs),
            random_state=seed,
        )
        with as_user_error(str(treebank)):
            bank = annotated(Treebank.read(treebank))
        held_out = None
        if test is not None:
            with as_user_error(str(test)):
                held_out = annotated(Treebank.read(test), "compare with")  # now, and not when all is learned
        if folds == 1 or folds > len(bank):
            raise UserError(f"--folds must be 0, or from 2 to the number of sentences, {len(bank)}. Got {folds}.")
        start = time.perf_counter()
        with as_user_error(str(treebank), ValueError, TypeError):
            pipeline.fit(bank)
        facts = {"sentences": len(bank), "words": bank.n_words, "seconds": time.perf_counter() - start}
        scores = None
        if held_out is not None:
            with as_user_error(str(test), ValueError):
                scores = pipeline.evaluate(held_out)
        with as_user_error(f"-o: {output}", OSError, ValueError):
            wald.save(pipeline, output)
        if json:
            as_json(facts | ({} if scores is None else {"test": scores._asdict()}))
        elif scores is not None:
            show(what_is_right(scores, f" in {test}"))
        note(f"wrote {output}")


def what_is_right(scores: TextScores, where: str = "") -> str:
    """Say which shares of words have the right tags and heads."""
    return (
        f"of {scores.n_words} words{where}: UPOS {scores.upos:.2%}, XPOS {scores.xpos:.2%}, heads {scores.uas:.2%}, "
        f"heads and relations {scores.las:.2%}"
    )


def require_pipeline(model: object, file: Path) -> None:
    """Raise UserError for a file of something else than a pipeline."""
    from ..structured import TextPipeline

    if not isinstance(model, TextPipeline):
        raise UserError(
            f"{file} holds a {type(model).__name__}. wald parse needs what wald train-parser wrote, or a TextPipeline "
            "that was saved with wald.save."
        )
