"""Encodes a wrapped model: its terms, its decision rule and its classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.arrays import Arrays, Stock, require, text_array
from ..codec.header import FileFormatError, Section, number
from ..models import AdditiveModel, Schema, families
from ..models.encoding import decode_terms, encode_terms
from ..models.plain import terms_for
from ..outputs import Output, known_outputs

LABELS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
#: Dtypes of coefficients.
WORKING = ("float16", "float32", "float64", *LABELS[:9])


def encode_model(model: AdditiveModel, arrays: Arrays) -> dict[str, Any]:
    """Describe a model without its preprocessing, and put its arrays into ``arrays``."""
    terms = model.terms
    return {
        "family": terms.family,
        "terms": encode_terms(terms, arrays),
        "output": _encode_output(model.decision),
        "labels": encode_labels(model.classes, arrays),
        "n_columns": None if model.schema.n_columns is None else int(model.schema.n_columns),
        "allow_nan": bool(model.allow_nan),
        "tie_margin": number(model.tie_margin),
        "dtype": model.dtype.name,
        "folded": bool(model.folded),
    }


def decode_model(section: Section, stock: Stock, preprocessing: bool = False) -> tuple[AdditiveModel, int]:
    """Build the model again, without an estimator; and give the number of features that the terms have.

    With ``preprocessing``, raw rows may have any number of columns.
    """
    known = families()
    family = known[section.choice("family", tuple(known))]
    output = _decode_output(section.section("output"))
    terms = decode_terms(family, section.section("terms"), stock, output.n_outputs)
    n_features = terms.n_features
    n_columns = section.take("n_columns")
    fits = n_columns is None or (type(n_columns) is int and n_columns > 0 and preprocessing)
    require(fits or n_columns == n_features, "header.model.n_columns fits no coefficients")
    model = AdditiveModel(
        estimator=None,
        terms=terms_for(output, terms),
        decision=output,
        preprocessing=None,
        classes=decode_labels(section.choice("labels", ("array", "object")), stock, output.n_answers, False),
        schema=Schema(n_columns),
        allow_nan=section.flag("allow_nan"),
        tie_margin=section.number("tie_margin", 0.0, finite=False),
        dtype=np.dtype(section.choice("dtype", WORKING)),
        folded=section.flag("folded"),
    )
    section.done()
    return model, n_features


def _encode_output(output: Output) -> dict[str, Any]:
    """Describe what is asked of the scores."""
    if not output.name:
        raise ValueError(f"{type(output).__name__} cannot be saved: it has no name for files. Keep it with pickle.")
    return {"name": output.name, **output.encode()}


def _decode_output(section: Section) -> Output:
    known = known_outputs()
    cls = known[section.choice("name", tuple(known))]
    try:
        return cls.decode(section)
    except FileFormatError:
        raise
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{section.where} does not fit together: {error}") from None


# ---- labels ----------------------------------------------------------------------------------------------------------


def encode_labels(classes: NDArray[Any], arrays: Arrays) -> str:
    """Put labels into ``arrays``, and say how they are to be read."""
    if classes.dtype.kind == "O" and all(type(label) is str for label in classes):
        arrays["classes"] = text_array(classes, "classes_")
        return "object"
    if classes.dtype.kind != "U" and classes.dtype.name not in LABELS:
        raise ValueError(
            f"The labels cannot be saved: classes_ has the dtype {classes.dtype}, and a file holds numbers, booleans "
            "and texts. Train the model with such labels, or keep it with pickle or joblib."
        )
    if classes.dtype.kind == "U":
        text_array(classes, "classes_")  # says whether a file can hold them
    arrays["classes"] = classes.astype(classes.dtype.newbyteorder("="))
    return "array"


def decode_labels(form: str, stock: Stock, n_classes: int, ascending: bool = True) -> NDArray[Any]:
    """Labels, which must be distinct, and ascend unless they are those of another library."""
    classes = stock.labels("classes", LABELS, n_classes)
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "the array 'classes' holds NaN or infinity")
    require(classes.dtype.kind == "U" or form == "array", "header.model.labels speaks of texts, which are numbers")
    if ascending:
        require(np.all(classes[:-1] < classes[1:]), "the array 'classes' does not ascend")
    else:
        require(len(np.unique(classes)) == len(classes), "the array 'classes' holds a label twice")
    return classes.astype(object) if form == "object" else classes
