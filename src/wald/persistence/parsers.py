"""A `DependencyParser` as a header and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..codec.header import FileFormatError
from ..codec.reading import Section
from ..codec.room import parser_bytes
from ..codec.writing import Arrays, encode_fields, text_array
from ..engine.threads import effective_threads
from ..structured import DependencyParser
from ..structured.parser_learning import check, n_groups
from ..structured.restoring import parser_state, set_parser_state
from .parameters import decode_plain, encode_plain

#: A model's state, in its order: numbers with their types, texts, and how many bits a table has.
TEXTS, BITS = ("fine", "coarse", "labels"), ("bits", "label_bits", "pruner_bits")
NUMBERS = {"longest": "uint16", "weights": "float32", "label_weights": "float32", "pruner": "float32"}
STATE = (
    *("fine", "coarse", "longest", "bits", "weights"),
    *("labels", "label_bits", "label_weights", "pruner_bits", "pruner"),
)


def encode_parser(parser: DependencyParser, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted parser, and put its weights into ``arrays``."""
    check_is_fitted(parser, "_model")
    model, as_lists = parser_state(parser)
    state = dict(zip(STATE, model.state(), strict=True))
    values = {
        **{name: text_array(state[name], name) for name in TEXTS},
        **{name: np.asarray(state[name]) for name in NUMBERS},
        **{name: int(state[name]) for name in BITS},
        "group_costs": np.asarray(parser.group_costs_, dtype=np.float64),
        "n_iter": int(parser.n_iter_),
        "as_lists": as_lists,
    }
    return {"parameters": encode_plain(parser, arrays)} | encode_fields(values, arrays, "")


def decode_parser(header: Section) -> DependencyParser:
    """Build the parser again; the engine refuses arrays that do not fit each other."""
    parser = DependencyParser(**decode_plain(header.section("parameters"), DependencyParser))
    check(parser)
    effective_threads(parser.n_jobs)
    state: dict[str, Any] = {name: header.labels(name, (), None).tolist() for name in TEXTS}
    state |= {name: header.array(name, (dtype,), None) for name, dtype in NUMBERS.items()}
    state |= {name: header.integer(name, 0, 64) for name in BITS}
    n_weights = sum(len(state[name]) for name in ("weights", "label_weights", "pruner"))
    header.room.reserve(parser_bytes(n_weights, len(state["fine"])), "weights")
    model = _core.ParserModel(**state)
    set_parser_state(parser, model, header.get("as_lists", bool))
    if parser.arc_margin is not None and not model.prunes:
        raise FileFormatError("its parameters have an arc_margin, and the parser has no pruner")
    parser.labels_ = model.labels
    parser.n_iter_ = header.integer("n_iter")
    parser.group_costs_ = header.floats("group_costs", n_groups(parser), low=0.0)
    return parser
