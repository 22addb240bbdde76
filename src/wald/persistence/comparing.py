"""Whether an estimator that a file describes is the model that the file holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..codec.header import FileFormatError
from ..codec.writing import Arrays
from ..models import AdditiveModel
from ..models.documents import at_looks, read_in_parts
from ..models.member_values import models_inside
from ..models.protocols import Documents
from .models import encode_model


def read_again(estimator: Any, read: Callable[..., AdditiveModel], like: AdditiveModel | None = None) -> AdditiveModel:
    """Read what a file gave; raises FileFormatError if it is no model that wald reads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(estimator) if like is None else reread(estimator, like, read)
    except Exception as error:  # attributes of a forged estimator may be anything
        raise FileFormatError(f"the estimator inside is no model that wald reads: {error}") from None


def as_planned(model: AdditiveModel, planned: AdditiveModel) -> AdditiveModel:
    """A model of texts as the plan of another one reads it, in parts or whole."""
    terms = Documents.of(planned.terms)
    return model if terms is None or not read_in_parts(model) else at_looks(model, terms.looks, terms.blocks)


def reread(
    estimator: Any, model: AdditiveModel, read: Callable[..., AdditiveModel], question: bool = True
) -> AdditiveModel:
    """Read an estimator as a model was read, whose ``question`` may differ: over raw columns, or without them."""
    whole = as_planned(read(estimator), model)
    return whole if equal(whole, model, question) else as_planned(read(estimator, raw_columns=False), model)


def equal(one: AdditiveModel, other: AdditiveModel, question: bool = True) -> bool:
    """Whether two models have the same numbers, and the same is asked of them, unless that may differ."""
    first: Arrays = {}
    second: Arrays = {}
    if not question:
        one = replace(one, decision=other.decision, classes=other.classes, tie_margin=other.tie_margin)
    fields = encode_model(one, first), encode_model(other, second)
    for each in fields:
        del each["n_columns"]  # which the rows of fit may have told
        del each["dense_only"]  # which older files do not say
    same = fields[0] == fields[1] and first.keys() == second.keys()
    same = same and all(np.array_equal(first[name], second[name]) for name in first)
    return same and all(equal(*both) for both in zip(members_of(one), members_of(other), strict=False))


def members_of(model: AdditiveModel) -> Sequence[AdditiveModel]:
    """The models of which the terms of a model consist; none where the terms came without."""
    return models_inside(model.terms)


def same_links(one: AdditiveModel, other: AdditiveModel) -> bool:
    """Whether two models, and the members of both, make the same numbers of scores."""
    if not all(same_links(*both) for both in zip(members_of(one), members_of(other), strict=False)):
        return False
    scores = 3 * np.random.default_rng(0).normal(size=(64, other.decision.n_outputs))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transformers of targets
        for name in ("predict", "score_samples"):
            made, own = (getattr(model.links, name) for model in (one, other))
            if made is None or own is None:
                if made is not own:
                    return False
                continue
            a, b = np.asarray(made(scores)), np.asarray(own(scores))
            if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=True):
                return False
    return True
