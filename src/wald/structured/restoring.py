"""What a file holds of a fitted model besides its public attributes, and a model made of that again."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core
from .chain import ChainClassifier
from .groups import FeatureGroup
from .parser import DependencyParser
from .word_features import WordVocabulary


class ChainState(NamedTuple):
    """Weights of a chain, number of features of each group, form of answers, scale of scores, and names of features."""

    core: _core.Chain
    sizes: list[int]
    as_lists: bool
    scale: float
    names: dict[bytes, tuple[int, bool]]


def checked_groups_of(chain: ChainClassifier) -> tuple[FeatureGroup, ...]:
    """The groups of a chain, whose parameters are checked as in `fit`."""
    chain._check()
    return chain._groups()


def chain_state(chain: ChainClassifier) -> ChainState:
    """What a fitted chain has learned."""
    names = chain._names if chain.keep_names else {}
    return ChainState(chain._chain, chain._sizes, bool(chain._as_lists), float(chain._scale), names)


def set_chain_state(chain: ChainClassifier, state: ChainState) -> None:
    """Let a chain, which knows its classes, have learned this; constraints rule out what they do, whatever it is."""
    chain._chain, chain._sizes, chain._as_lists, chain._scale, chain._names = state
    chain._constrain()


def parser_state(parser: DependencyParser) -> tuple[_core.ParserModel, bool]:
    """The weights of a fitted parser, and whether its answers are lists."""
    return parser._model, bool(parser._as_lists)


def set_parser_state(parser: DependencyParser, model: _core.ParserModel, as_lists: bool) -> None:
    """Let a parser have learned this."""
    parser._model, parser._as_lists = model, as_lists


def require_features(vocabulary: WordVocabulary) -> None:
    """Raise ValueError if the features of words do not fit each other."""
    _ = vocabulary._core
