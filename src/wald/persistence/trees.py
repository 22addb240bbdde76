"""Tree ensembles as estimators of a file, which needs no more than their terms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..codec.header import FileFormatError
from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields, text_array
from ..models import AdditiveModel, Link, Reading, TreeClassifier
from ..models.links import Links
from ..outputs import Labels
from ..steps import Codes
from .categories import category_fields, decode_categories

CLASS = "TreeClassifier"
LIBRARIES = ("scikit-learn", "lightgbm", "xgboost", "catboost", "pipeline")
#: Links of each kind of decision.
LINKS = {
    "sign": ("sigmoid", "expit", "none"),
    "argmax": ("softmax", "sigmoids", "exp", "exp_rows", "mean", "scipy", "fast", "none"),
    "votes": (),
}


def encode_trees(model: AdditiveModel, arrays: Arrays) -> dict[str, Any] | None:
    """Describe the estimator of a model; None if its labels do not follow from its trees alone."""
    link = model.links.link
    if link is None or not TreeClassifier.takes(model.terms):
        return None
    codes = category_fields(model.preprocessing.codes) if isinstance(model.preprocessing, Codes) else None
    if (codes is None) != (model.preprocessing is None):
        return None
    names = model.feature_names_in
    values = {
        "class": CLASS,
        "link": link,
        "names": None if names is None else text_array(names, "feature_names_in_"),
        "library": model.schema.library if model.schema.library in LIBRARIES else "scikit-learn",
    }
    fields = encode_fields(values, arrays, "estimator")
    return fields | {"categories": codes and encode_fields(codes, arrays, "estimator.categories")}


def encode_leaf(model: AdditiveModel, arrays: Arrays, where: str) -> dict[str, Any] | None:
    """Describe the trees behind the steps of a pipeline; None if labels do not follow from the trees alone.

    Trees inside a threshold classifier or a calibrator have a rule of their own.
    """
    inside = model.inside
    link = model.links.link if inside is None else inside.links.link
    if link is None or not TreeClassifier.takes(model.terms):
        return None
    values: dict[str, Any] = {"class": CLASS, "link": link}
    if inside is not None:
        scored = hasattr(model.leaf, "decision_function")
        values |= {"labels": inside.decision, "tie_margin": float(inside.tie_margin), "scored": scored}
    return encode_fields(values, arrays, where)


def decode_leaf(section: Section, model: AdditiveModel) -> TreeClassifier:
    """Build what `encode_leaf` described."""
    section.choice("class", (CLASS,))
    link, scored = section.get("link", Link), True
    if "labels" in section:
        decision, scored = section.get("labels", Labels), section.get("scored", bool)
        fits = decision.n_outputs == model.decision.n_outputs and decision.n_answers == model.decision.n_answers
        require(fits, f"{section.where}.labels does not fit the terms")
        model = replace(model, decision=decision, tie_margin=section.number("tie_margin", 0.0))
    made = _made(model, link, section)
    made.scored = scored
    section.done()
    return made


def decode_trees(section: Section, model: AdditiveModel) -> TreeClassifier:
    """Build what `encode_trees` described."""
    section.choice("class", (CLASS,))
    link, n_columns = section.get("link", Link), model.terms.n_features
    names = [] if section.lacks("names") else section.labels("names", (), n_columns).tolist()
    library: Any = section.choice("library", LIBRARIES)
    lacking = section.lacks("categories")
    codes = None if lacking else decode_categories(section.section("categories"), n_columns, names or None)
    section.done()
    steps = () if codes is None else (("categories", codes),)
    return _made(model, link, section, steps, tuple(names), library)


def _made(
    model: AdditiveModel,
    link: Link,
    section: Section,
    steps: Any = (),
    names: tuple[str, ...] = (),
    library: Any = "scikit-learn",
) -> TreeClassifier:
    if not TreeClassifier.takes(model.terms):
        raise FileFormatError(f"{section.where}.class does not fit the terms")
    labels = model.decision
    if not (isinstance(labels, Labels) and link.kind in LINKS[labels.kind]):
        raise FileFormatError(f"{section.where}.link does not fit the output")
    reading = Reading(
        model.terms,
        labels,
        model.dtype,
        steps,
        row_by_row="always",
        tie_margin=model.tie_margin,
        links=Links(link=link),
        names=names,
        classes=model.classes,
    )
    return TreeClassifier(reading, library)
