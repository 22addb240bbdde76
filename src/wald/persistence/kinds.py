"""The kinds of models that a file can hold besides an `EarlyExitClassifier`, and their encoders and decoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..codec.reading import Section
from ..codec.writing import Arrays
from ..online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron
from ..structured import BudgetedPredictor, ChainClassifier, DependencyParser, TextPipeline, WordTagger
from .budgets import decode_budgeted, encode_budgeted
from .chains import decode_chain, encode_chain
from .learners import decode_learner, encode_learner
from .parsers import decode_parser, encode_parser
from .taggers import decode_pipeline, decode_tagger, encode_pipeline, encode_tagger


@dataclass(frozen=True)
class Kind:
    """A class of models.

    Parameters
    ----------
    type : type
    encode : callable
        encode(model, arrays) puts the model's arrays into ``arrays`` and returns the header's fields.
    decode : callable
        decode(header) returns the model.
    """

    type: type
    encode: Callable[[Any, Arrays], dict[str, Any]]
    decode: Callable[[Section], Any]


def _learner(kind: type) -> Kind:
    return Kind(kind, encode_learner, partial(decode_learner, kind))


KINDS = {
    "DependencyParser": Kind(DependencyParser, encode_parser, decode_parser),
    "ChainClassifier": Kind(ChainClassifier, encode_chain, decode_chain),
    "WordTagger": Kind(WordTagger, encode_tagger, decode_tagger),
    "TextPipeline": Kind(TextPipeline, encode_pipeline, decode_pipeline),
    "BudgetedPredictor": Kind(BudgetedPredictor, encode_budgeted, decode_budgeted),
    "AttentivePerceptron": _learner(AttentivePerceptron),
    "AttentivePassiveAggressive": _learner(AttentivePassiveAggressive),
    "AttentivePegasos": _learner(AttentivePegasos),
}
