"""A `WordTagger` and a `TextPipeline` as a header and arrays, and back; and how a model is put inside of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields
from ..structured import BudgetedPredictor, DependencyParser, TextPipeline, WordTagger
from ..structured.certificate import StructureCertificate
from ..structured.restoring import chain_state, checked_groups_of, require_features
from ..structured.word_features import WordVocabulary
from .budgets import decode_spending, encode_spending
from .chains import decode_chain, encode_chain
from .parameters import decode_plain, encode_plain
from .parsers import decode_parser, encode_parser

STAGES = ("tagger", "parser")
#: Places of a table that the engine may look at to find one for a hash.
MOST_SEARCHED = 1000
_LEFT_OUT = {WordTagger: ("feature_groups",), TextPipeline: STAGES}


def put_inside(fields: dict[str, Any], own: Arrays, arrays: Arrays, place: str) -> dict[str, Any]:
    """Name the arrays of a model's description by the place that it has in another one's."""
    for name, array in own.items():
        arrays[f"{place}.{name}"] = array
    return fields


def inside(encode: Callable[[Any, Arrays], dict[str, Any]], model: Any, arrays: Arrays, place: str) -> dict[str, Any]:
    """Describe a model inside of another one."""
    own: Arrays = {}
    return put_inside(encode(model, own), own, arrays, place)


def taken(header: Section, name: str, decode: Callable[[Section], Any]) -> Any:
    """Build a model inside of another one."""
    section = header.section(name)
    model = decode(section)
    section.done()
    return model


def encode_tagger(tagger: WordTagger, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted tagger, and put its weights and known features into ``arrays``."""
    check_is_fitted(tagger, "chain_")
    known = tagger.vocabulary_
    values = {name: getattr(known, name) for name in ("words", "classes", "keys", "ends")}
    return {
        "parameters": encode_plain(tagger, arrays, _LEFT_OUT[WordTagger]),
        "chain": inside(encode_chain, tagger.chain_, arrays, "chain"),
    } | encode_fields(values, arrays, "")


def decode_tagger(header: Section) -> WordTagger:
    """Build the tagger again; the engine refuses features that do not fit."""
    parameters = decode_plain(header.section("parameters"), WordTagger, _LEFT_OUT[WordTagger])
    chain = taken(header, "chain", decode_chain)
    groups, sizes = checked_groups_of(chain), chain_state(chain).sizes
    require(groups[0].extract is None, "the first group of a tagger has an extractor")
    tagger = WordTagger(groups[1:], **parameters)
    words = header.array("words", ("uint64",), None)
    classes = header.array("classes", ("int32",), len(words))
    keys = header.array("keys", ("uint64",), None)
    ends = header.array("ends", ("int64",), _core.WORD_TEMPLATES)
    header.room.reserve(64 * (len(words) + len(keys)), "features of words")
    for name, hashes in (("words", words), ("keys", keys)):
        require(longest_search(hashes) <= MOST_SEARCHED, f"the array '{name}' holds no hashes: too many are alike")
    require(sizes[0] == len(keys), "the tagger's chain has another number of features")
    labels = chain.classes_
    split = labels.dtype.kind == "U" and all(label.count("\t") == 1 for label in labels.tolist())
    require(split, "a label of the tagger is no pair of tags")
    tagger.vocabulary_ = WordVocabulary(words, classes, keys, ends)
    require_features(tagger.vocabulary_)
    tagger.chain_ = chain
    return tagger


def longest_search(hashes: NDArray[np.uint64]) -> int:
    """Places that the engine looks at, at most, to find a free one for a hash: see `KeyTable` in the core.

    Tens for numbers that are random; for others it may be as many as there are, and tables would take hours to fill.
    """
    if not len(hashes):
        return 0
    bits = (max(2 * len(hashes), 8) - 1).bit_length()
    wanted = np.sort(hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = np.arange(len(hashes))
    return int((order + np.maximum.accumulate(wanted - order) - wanted).max())


def encode_pipeline(pipeline: TextPipeline, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted pipeline: its two models, and the policies of its budget."""
    check_is_fitted(pipeline, "parser_")
    mean, certificate = getattr(pipeline, "mean_cost_", None), getattr(pipeline, "certificate_", None)
    return encode_fields({"certificate": certificate}, arrays, "") | {
        "parameters": encode_plain(pipeline, arrays, STAGES),
        "tagger": inside(encode_tagger, pipeline.tagger_, arrays, "tagger"),
        "parser": inside(encode_parser, pipeline.parser_, arrays, "parser"),
        "spending": [
            None if stage is None else inside(encode_spending, stage, arrays, f"spending.{i}")
            for i, stage in enumerate(pipeline.stages_)
        ],
        "mean_cost": None if mean is None else float(mean),
    }


def decode_pipeline(header: Section) -> TextPipeline:
    """Build the pipeline again. What its stages were before `fit` is not in a file: they are those that were fitted."""
    parameters = decode_plain(header.section("parameters"), TextPipeline, STAGES)
    tagger: WordTagger = taken(header, "tagger", decode_tagger)
    parser: DependencyParser = taken(header, "parser", decode_parser)
    pipeline = TextPipeline(
        WordTagger(**tagger.get_params(deep=False)), DependencyParser(**parser.get_params()), **parameters
    )
    pipeline.tagger_, pipeline.parser_ = tagger, parser
    raw = header.take("spending")
    require(isinstance(raw, list) and len(raw) == 2, "header.spending should be a list of two")
    stages: list[BudgetedPredictor | None] = []
    for i, (each, model) in enumerate(zip(raw, (tagger, parser), strict=True)):
        if each is None:
            stages.append(None)
            continue
        section = header.inside(each, f"spending.{i}")
        stages.append(decode_spending(section, model))
        section.done()
    pipeline.stages_ = (stages[0], stages[1])
    if not header.lacks("mean_cost"):
        pipeline.mean_cost_ = header.number("mean_cost", low=0.0)
    if "certificate" in header and not header.lacks("certificate"):  # files from before lack it
        pipeline.certificate_ = header.get("certificate", StructureCertificate)
    return pipeline
