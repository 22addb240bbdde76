"""The members of a mean in a file: each is a model of its own, with a description of its estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields, text_array
from ..models import AdditiveModel, decompose
from ..models.reading import Kind
from ..sources import Schema
from .comparing import equal, read_again
from .models import decode_model, encode_model
from .trees import LIBRARIES, decode_trees, encode_trees, is_trees

#: From a model and the number of its columns, None if its steps have columns of their own, what describes or rebuilds
#: its estimator.
Describe = Callable[[AdditiveModel, int | None, Arrays, str], dict[str, Any]]
Rebuild = Callable[[AdditiveModel, int | None, Section], Any]


def encode_member(member: AdditiveModel, arrays: Arrays, where: str, describe: Describe) -> dict[str, Any]:
    """Describe a member of a mean, and put its numbers into ``arrays``."""
    place = f"{where}.estimator"
    names, own_steps = member.feature_names_in, member.preprocessing is not None
    n_columns = None if own_steps else member.schema.n_columns
    columns = {
        "names": None if names is None else text_array(names, "feature_names_in_"),
        "library": member.schema.library if member.schema.library in LIBRARIES else "scikit-learn",
        "own_steps": own_steps,
    }
    alone = encode_trees(member, arrays, place)
    return encode_fields(columns, arrays, where) | {
        "model": encode_model(member, arrays, f"{where}.model"),
        "estimator": describe(member, n_columns, arrays, place) if alone is None else alone,
    }


def decode_member(section: Section, rebuild: Rebuild, kind: Kind = "regressor") -> Any:
    """Build the estimator that `encode_member` described, which must have the numbers of the file."""
    own_steps = section.get("own_steps", bool)
    model, n_features = decode_model(section.section("model"), kind, own_steps)
    n_columns = model.schema.n_columns if own_steps else n_features
    names = None if section.lacks("names") else tuple(section.labels("names", (), n_columns).tolist())
    model = replace(model, schema=Schema(n_columns, names, section.choice("library", LIBRARIES)))
    described = section.section("estimator")
    section.done()
    if is_trees(described) and not own_steps:
        made = decode_trees(described, model)
    else:
        made = rebuild(model, None if own_steps else n_columns, described)
    read = read_again(made, decompose, model)
    same = (read.preprocessing is not None) == own_steps and equal(read, model)
    require(same, f"the estimator of {section.where} has other terms than the file")
    return made
