"""Tree ensembles as estimators of a file, which needs no more than their terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..codec.header import FileFormatError
from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields, text_array
from ..models import AdditiveModel, Link, Reading, TreeClassifier, TreeRegressor
from ..models.links import Links, PathLink, ValueLink
from ..models.tree_classifier import TreeModel
from ..models.tree_detector import TreeDetector
from ..outputs import Labels, Output, Values
from ..steps import Codes
from .categories import category_fields, decode_categories

LIBRARIES = ("scikit-learn", "lightgbm", "xgboost", "catboost", "pipeline")
#: Links of each kind of decision.
LINKS = {
    "sign": ("sigmoid", "expit", "none"),
    "argmax": ("softmax", "sigmoids", "exp", "exp_rows", "mean", "scipy", "fast", "none"),
    "votes": (),
}
AnyLink = Link | ValueLink | PathLink


@dataclass(frozen=True)
class Form:
    """How trees of one kind answer.

    Parameters
    ----------
    made : type
        The estimator that has them.
    link : type
        What makes answers of their sums.
    """

    made: type[TreeModel]
    link: type

    def links(self, link: Any) -> Links:
        """The methods of a link; raises FileFormatError for that of another form."""
        require(type(link) is self.link, f"a {self.made.__name__} has another link")
        if isinstance(link, ValueLink):
            return Links(predict=link.values, value_link=link)
        if isinstance(link, PathLink):
            return Links(link.decision_function, score_samples=link.score_samples, path_link=link)
        return Links(link=link)

    def takes(self, output: Output, link: Any) -> bool:
        """Whether an output has the answers of this form."""
        if self.link is ValueLink:
            pair = link.kind == "mean_and_variance"
            return isinstance(output, Values) and (output.n_values == 2 or not pair)
        if self.link is PathLink:
            return isinstance(output, Labels) and output.kind == "sign" and 0 <= link.usual < np.inf
        return isinstance(output, Labels) and link.kind in LINKS[output.kind]


FORMS = {
    "TreeClassifier": Form(TreeClassifier, Link),
    "TreeRegressor": Form(TreeRegressor, ValueLink),
    "TreeDetector": Form(TreeDetector, PathLink),
}


def is_trees(section: Section) -> bool:
    """Whether a file describes an estimator by its trees alone."""
    return any(section.says("class", name) for name in FORMS)


def encode_trees(model: AdditiveModel, arrays: Arrays, where: str = "estimator") -> dict[str, Any] | None:
    """Describe the estimator of a model; None if its answers do not follow from its trees alone."""
    form = _form_of(model, model.links)
    if form is None:
        return None
    codes = category_fields(model.preprocessing.codes) if isinstance(model.preprocessing, Codes) else None
    if (codes is None) != (model.preprocessing is None):
        return None
    names = model.feature_names_in
    values = form | {
        "names": None if names is None else text_array(names, "feature_names_in_"),
        "library": model.schema.library if model.schema.library in LIBRARIES else "scikit-learn",
    }
    fields = encode_fields(values, arrays, where)
    return fields | {"categories": codes and encode_fields(codes, arrays, f"{where}.categories")}


def encode_leaf(model: AdditiveModel, arrays: Arrays, where: str) -> dict[str, Any] | None:
    """Describe the trees behind the steps of a pipeline; None if answers do not follow from the trees alone.

    Trees inside a threshold classifier or a calibrator have a rule of their own.
    """
    inside = model.inside
    values = _form_of(model, model.links if inside is None else inside.links)
    if values is not None and inside is not None and not inside.decision.valued:
        scored = hasattr(model.leaf, "decision_function")
        values |= {"labels": inside.decision, "tie_margin": float(inside.tie_margin), "scored": scored}
    return None if values is None else encode_fields(values, arrays, where)


def _form_of(model: AdditiveModel, links: Links) -> dict[str, Any] | None:
    """The form of trees and their link; None where the terms are no trees, or the link has no name."""
    link = links.value_link or links.path_link or links.link
    if link is None or not TreeModel.takes(model.terms):
        return None
    form: dict[str, Any] = {
        "class": next(name for name, form in FORMS.items() if form.link is type(link)),
        "link": link,
    }
    mean = isinstance(link, Link) and link.kind != "mean" and model.terms.divisor != 1
    if mean and links.decision_function is None and hasattr(model.leaf, "decision_function"):
        form["summed"] = True  # what the model calls its scores are the sums
    return form


def decode_leaf(section: Section, model: AdditiveModel) -> TreeModel:
    """Build what `encode_leaf` described."""
    form, link, scored = _decode_form(section), section.get("link", AnyLink), True
    if form.made is TreeClassifier and "labels" in section:
        decision, scored = section.get("labels", Labels), section.get("scored", bool)
        fits = decision.n_outputs == model.decision.n_outputs and decision.n_answers == model.decision.n_answers
        require(fits, f"{section.where}.labels does not fit the terms")
        model = replace(model, decision=decision, tie_margin=section.number("tie_margin", 0.0))
    made = _made(model, form, link, section)
    if isinstance(made, TreeClassifier):
        made.scored = scored
    section.done()
    return made


def decode_trees(section: Section, model: AdditiveModel) -> TreeModel:
    """Build what `encode_trees` described."""
    form = _decode_form(section)
    link, n_columns = section.get("link", AnyLink), model.terms.n_features
    names = [] if section.lacks("names") else section.labels("names", (), n_columns).tolist()
    library: Any = section.choice("library", LIBRARIES)
    lacking = section.lacks("categories")
    codes = None if lacking else decode_categories(section.section("categories"), n_columns, names or None)
    steps = () if codes is None else (("categories", codes),)
    made = _made(model, form, link, section, steps, tuple(names), library)
    section.done()
    return made


def _decode_form(section: Section) -> Form:
    return FORMS[section.choice("class", tuple(FORMS))]


def _made(
    model: AdditiveModel,
    form: Form,
    link: AnyLink,
    section: Section,
    steps: Any = (),
    names: tuple[str, ...] = (),
    library: Any = "scikit-learn",
) -> TreeModel:
    if not TreeModel.takes(model.terms):
        raise FileFormatError(f"{section.where}.class does not fit the terms")
    links, summed = form.links(link), "summed" in section and section.get("summed", bool)
    if not form.takes(model.decision, link):
        raise FileFormatError(f"{section.where}.link does not fit the output")
    reading = Reading(
        model.terms,
        Values(model.decision.n_outputs) if model.decision.valued else model.decision,
        model.dtype,
        steps,
        row_by_row="always",
        dense_only=model.dense_only,
        tie_margin=model.tie_margin,
        links=links,
        names=names,
        classes=model.classes,
        kind=model.kind,
    )
    made = form.made(reading, library)
    if isinstance(made, TreeClassifier):
        made.summed = summed
    return made
