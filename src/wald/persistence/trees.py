"""Tree ensembles as estimators of a file, which needs no more than their terms."""

from __future__ import annotations

from typing import Any

from ..codec.arrays import Arrays, Stock, text_array
from ..codec.header import FileFormatError, Section, number
from ..models import AdditiveModel, Link, TreeClassifier
from ..outputs import Labels
from . import categories
from .estimators import LIBRARIES

CLASS = "TreeClassifier"
NAMES = "estimator_names"
#: Links of each kind of decision.
LINKS = {"sign": ("sigmoid", "expit", "none"), "argmax": ("softmax", "sigmoids", "exp", "none"), "votes": ()}


def encode(model: AdditiveModel, arrays: Arrays) -> dict[str, Any] | None:
    """Describe the estimator of a model; None if its labels do not follow from its trees alone."""
    link = model.links.link
    if link is None or not TreeClassifier.takes(model.terms):
        return None
    codes = None
    if model.own_steps:
        codes = categories.encode(model.preprocessing.steps[0][1], arrays)
    if (codes is None) != (model.preprocessing is None):
        return None
    names = model.feature_names_in
    if names is not None:
        arrays[NAMES] = text_array(names, "feature_names_in_")
    return {
        "class": CLASS,
        "link": link.kind,
        "slope": number(link.slope),
        "single": link.single,
        "names": names is not None,
        "library": model.schema.library if model.schema.library in LIBRARIES else "scikit-learn",
        "categories": codes,
    }


def decode(raw: Any, model: AdditiveModel, stock: Stock) -> TreeClassifier | None:
    """Build what `encode` described; None if the file describes another estimator."""
    if not (isinstance(raw, dict) and raw.get("class") == CLASS and TreeClassifier.takes(model.terms)):
        return None
    section = Section(raw, "header.estimator")
    section.choice("class", (CLASS,))
    kind: Any = section.choice("link", LINKS["sign"] + LINKS["argmax"])
    link = Link(kind, section.number("slope"), section.flag("single"))
    names = stock.labels(NAMES, (), model.terms.n_features).tolist() if section.flag("names") else []
    library: Any = section.choice("library", LIBRARIES)
    codes = section.take("categories")
    if codes is not None:
        coded = Section(codes, f"{section.where}.categories")
        codes = categories.decode(coded, stock, model.terms.n_features, names or None)
    section.done()
    labels = model.decision
    if not (isinstance(labels, Labels) and kind in LINKS[labels.kind]):
        raise FileFormatError("header.estimator.link does not fit the output")
    return TreeClassifier(
        model.terms,
        labels,
        link,
        model.classes,
        model.tie_margin,
        names,
        model.dtype,
        library,
        codes,
    )
