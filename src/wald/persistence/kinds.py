"""Which models a file can hold beside an `EarlyExitClassifier`, and who writes and reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron
from ..structured import ChainClassifier, DependencyParser
from .arrays import Arrays, Stock
from .chains import decode_chain, encode_chain
from .header import Section
from .learners import decode_learner, encode_learner
from .parsers import decode_parser, encode_parser


@dataclass(frozen=True)
class Kind:
    """A class of models.

    Parameters
    ----------
    type : type
    encode : callable
        From a model and arrays, to be filled, to the header's fields.
    decode : callable
        From the header and the arrays to the model.
    """

    type: type
    encode: Callable[[Any, Arrays], dict[str, Any]]
    decode: Callable[[Section, Stock], Any]


def _learner(kind: type) -> Kind:
    return Kind(kind, encode_learner, lambda header, stock: decode_learner(kind, header, stock))


KINDS = {
    "DependencyParser": Kind(DependencyParser, encode_parser, decode_parser),
    "ChainClassifier": Kind(ChainClassifier, encode_chain, decode_chain),
    "AttentivePerceptron": _learner(AttentivePerceptron),
    "AttentivePassiveAggressive": _learner(AttentivePassiveAggressive),
    "AttentivePegasos": _learner(AttentivePegasos),
}
