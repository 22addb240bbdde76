"""``wald parse``: tags and trees of sentences, as CoNLL-U."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..utils.files import atomic_file
from . import options
from .answers import as_json, as_user_error, handling_errors, note, show
from .errors import UserError
from .train_parser import require_pipeline, what_is_right

if TYPE_CHECKING:
    from ..structured import Treebank

FORMATS = ("conllu", "words")


def parse(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What wald train-parser wrote.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Sentences: CoNLL-U (.conllu, may be packed as .gz), or a sentence a line, its words with spaces "
            "between them (.txt). - is stdin, whose format --format names.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="CoNLL-U (.gz: packed); otherwise on stdout."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="What DATA is, whatever its suffix: conllu or words.")
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Print what is right instead; DATA has tags and trees.")
    ] = False,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Give the words of DATA their tags, heads and relations.

    Tags and trees in DATA are replaced; all else in it, such as comments, stays.
    """
    with handling_errors("parse", debug):
        import wald

        from ..structured.conll_text import packed

        if json and not evaluate:
            raise UserError("--json goes with --evaluate; sentences are written as CoNLL-U.")
        if output is not None:
            if evaluate:
                raise UserError("-o: with --evaluate, no sentences are written.")
            options.require_writable(output, force, file, data)
        kind = _kind(data, format)
        with as_user_error(str(file)):
            pipeline = wald.load(file)
        require_pipeline(pipeline, file)
        pipeline.set_params(n_jobs=options.threads(jobs))
        bank = _read(data, kind)
        with as_user_error(_name(data), ValueError):
            if evaluate:
                scores = pipeline.evaluate(bank)
            else:
                parsed = pipeline.predict(bank).to_bytes()
        if evaluate and json:
            as_json(scores._asdict())
        elif evaluate:
            show(what_is_right(scores))
        elif output is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(parsed)
            sys.stdout.buffer.flush()
        else:
            with as_user_error(f"-o: {output}", OSError), atomic_file(output) as beside:
                beside.write_bytes(packed(output, parsed))
            note(f"wrote {output}")


def _kind(data: Path, given: str | None) -> str:
    if given is not None:
        if given not in FORMATS:
            raise UserError(f"--format must be one of {', '.join(FORMATS)}. Got {given}.")
        return given
    if str(data) == "-":
        raise UserError(f"--format must name what stdin is: {' or '.join(FORMATS)}.")
    suffixes = [suffix for suffix in data.suffixes if suffix != ".gz"]
    known = {".conllu": "conllu", ".conll": "conllu", ".txt": "words"}
    if not suffixes or suffixes[-1] not in known:
        raise UserError(f"{data}: is it CoNLL-U, or a sentence of words a line? Say --format conllu or --format words.")
    return known[suffixes[-1]]


def _name(data: Path) -> str:
    return "stdin" if str(data) == "-" else str(data)


def _read(data: Path, kind: str) -> Treebank:
    from ..structured import Treebank
    from ..structured.conll_text import unpacked
    from ..structured.word_features import treebank_of_tokens

    with as_user_error(_name(data)):
        raw = sys.stdin.buffer.read() if str(data) == "-" else unpacked(data)
        if kind == "conllu":
            return Treebank(raw, name=_name(data))
        lines = [line.split() for line in raw.decode("utf-8-sig").split("\n")]  # splitlines splits at more
        return treebank_of_tokens([words for words in lines if words])
