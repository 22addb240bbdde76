"""A wrapped model in a file: its terms, its decision rule and its classes."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..codec.writing import TYPE, Arrays, encode_fields, fields_of, text_array
from ..models import AdditiveModel, families
from ..models.encoding import decode_terms, encode_terms
from ..models.plain import terms_for
from ..models.reading import Kind
from ..outputs import Output
from ..outputs.labels import MOST_CLASSES
from ..outputs.output import known_outputs
from ..sources import Schema
from ..steps import Folded

LABELS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
#: Kinds of models whose answers may be values.
VALUED = ("regressor", "ranker")
#: Dtypes of coefficients.
WORKING = ("float16", "float32", "float64", *LABELS[:9])


def encode_model(model: AdditiveModel, arrays: Arrays, where: str = "model") -> dict[str, Any]:
    """Describe a model without its preprocessing, and put its arrays into ``arrays``."""
    fields = {
        "family": model.terms.family,
        "n_columns": model.schema.n_columns,
        "allow_nan": bool(model.allow_nan),
        "dtype": model.dtype.name,
        "folded": model.folded is not None,
        "dense_only": model.dense_only,
    }
    return encode_fields(fields, arrays, where) | {
        "terms": encode_terms(model.terms, arrays, f"{where}.terms"),
        **encode_question(model, arrays, where),
    }


def encode_question(model: AdditiveModel, arrays: Arrays, where: str) -> dict[str, Any]:
    """Describe what is asked of the scores of a model."""
    fields = {"tie_margin": float(model.tie_margin), **encode_labels(model.classes)}
    return encode_fields(fields, arrays, where) | {"output": _encode_output(model.decision, arrays, f"{where}.output")}


def decode_question(section: Section, model: AdditiveModel) -> AdditiveModel:
    """The model of the same terms of which is asked what `encode_question` described."""
    output = _decode_output(section.section("output"))
    require(output.n_outputs == model.decision.n_outputs, f"{section.where}.output does not fit the terms")
    require(not output.valued or model.kind in VALUED, f"{section.where}.output is none of a {model.kind}")
    classes = decode_labels(section, _n_classes(output, model.kind), ascending=False)
    tie_margin = section.number("tie_margin", 0.0, finite=False)
    section.done()
    return replace(model, decision=output, classes=classes, tie_margin=tie_margin)


def decode_model(section: Section, kind: Kind, preprocessing: bool = False) -> tuple[AdditiveModel, int]:
    """Build a model of a kind again, without an estimator; and give the number of features that the terms have.

    With ``preprocessing``, raw rows may have any number of columns.
    """
    known = families()
    family = known[section.choice("family", tuple(known))]
    output = _decode_output(section.section("output"))
    fits = not output.valued or kind in VALUED or (kind == "classifier" and output.by_margin)
    require(fits, f"{section.where}.output is none of a {kind}")
    terms = decode_terms(family, section.section("terms"), output.n_outputs)
    n_columns, n_features = section.get("n_columns", int | None), terms.n_features
    fits = n_columns is None or (n_columns > 0 and preprocessing)
    require(fits or n_columns == n_features, "header.model.n_columns fits no coefficients")
    model = AdditiveModel(
        estimator=None,
        terms=terms_for(output, terms),
        decision=output,
        preprocessing=None,
        classes=decode_labels(section, _n_classes(output, kind), ascending=False),
        schema=Schema(n_columns),
        allow_nan=section.get("allow_nan", bool),
        tie_margin=section.number("tie_margin", 0.0, finite=False),
        dtype=np.dtype(section.choice("dtype", WORKING)),
        folded=Folded() if section.get("folded", bool) else None,
        dense_only="dense_only" in section and section.get("dense_only", bool),  # older files do not say it
        kind=kind,
    )
    section.done()
    return model, n_features


def _n_classes(output: Output, kind: Kind) -> int:
    """How many labels a model has."""
    if not output.valued:
        return output.n_answers
    return 0 if kind != "classifier" else max(2, output.n_outputs)  # whose probabilities are the answers


def _encode_output(output: Output, arrays: Arrays, where: str) -> dict[str, Any]:
    """Describe what is asked of the scores, by the fields of its class."""
    if not is_dataclass(output):
        raise ValueError(f"{type(output).__name__} cannot be saved: it is no dataclass. Keep it with pickle.")
    return {TYPE: type(output).__name__} | encode_fields(fields_of(output), arrays, where)


def _decode_output(section: Section) -> Output:
    known = known_outputs()
    # others have no fields to make them of
    saved = tuple(name for name, kind in known.items() if hasattr(kind, "__dataclass_fields__"))
    output: Output = section.made(known[section.choice(TYPE, saved)])
    require(output.n_answers <= MOST_CLASSES, f"{section.where} has more than {MOST_CLASSES} answers")
    require(
        not output.valued or output.n_outputs <= MOST_CLASSES, f"{section.where} has more than {MOST_CLASSES} values"
    )
    return output


def encode_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Labels as fields of a file."""
    objects = classes.dtype.kind == "O" and all(type(label) is str for label in classes)
    if objects or classes.dtype.kind == "U":
        texts = text_array(classes, "classes_")  # says whether a file can hold them
        return {"labels": "object", "classes": texts} if objects else {"labels": "array", "classes": classes}
    if classes.dtype.name not in LABELS:
        raise ValueError(
            f"The labels cannot be saved: classes_ has the dtype {classes.dtype}, and a file holds numbers, booleans "
            "and texts. Train the model with such labels, or keep it with pickle or joblib."
        )
    return {"labels": "array", "classes": classes.astype(classes.dtype.newbyteorder("="))}


def decode_labels(section: Section, n_classes: int, ascending: bool = True) -> NDArray[Any]:
    """Labels, which must be distinct, and ascend unless they are those of another library."""
    form, what = section.choice("labels", ("array", "object")), f"the array {section.called('classes')!r}"
    classes = section.labels("classes", LABELS, n_classes)
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), f"{what} holds NaN or infinity")
    require(classes.dtype.kind == "U" or form == "array", f"{section.where}.labels speaks of texts, which are numbers")
    if ascending:
        require(np.all(classes[:-1] < classes[1:]), f"{what} does not ascend")
    else:
        require(len(np.unique(classes)) == len(classes), f"{what} holds a label twice")
    return classes.astype(object) if form == "object" else classes
