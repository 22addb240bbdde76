"""A wrapped model as numbers: its terms, its decision, its classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..models import AdditiveModel, ColumnMap, Decision, KernelTerms, LinearTerms
from .arrays import Arrays, Stock, require, text_array
from .header import Section, number

#: What the engine takes at most.
MOST_CLASSES, MOST_DEGREE, MOST_FEATURES = 10_000, 1000, 2**31 - 1
#: The engine makes room for so many features of a kernel machine, also where sparse support vectors name few of them.
MOST_KERNEL_FEATURES = 2**25 - 1
LABELS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
INDICES = ("int32", "int64")
#: Dtypes of coefficients.
WORKING = ("float16", "float32", "float64", *LABELS[:9])


def encode_model(model: AdditiveModel, arrays: Arrays) -> dict[str, Any]:
    """Describe a model but for its front, and put its numbers into ``arrays``."""
    terms, decision = model.terms, model.decision
    linear = isinstance(terms, LinearTerms)
    return {
        "kind": "linear" if linear else "kernel",
        "terms": _encode_linear(terms, arrays) if isinstance(terms, LinearTerms) else _encode_kernel(terms, arrays),
        "decision": {
            "kind": decision.kind,
            "n_classes": int(decision.n_classes),
            "threshold": number(decision.threshold),
            "tie_positive": bool(decision.tie_positive),
            "break_ties": bool(decision.break_ties),
        },
        "labels": encode_labels(model.classes, arrays),
        "n_features_in": None if model.n_features_in is None else int(model.n_features_in),
        "allow_nan": bool(model.allow_nan),
        "slack": number(model.slack),
        "dtype": model.dtype.name,
        "folded": bool(model.folded),
    }


def decode_model(section: Section, stock: Stock, front: bool = False) -> tuple[AdditiveModel, int]:
    """Build the model again, without an estimator; and give the number of features that the terms have.

    With a ``front``, raw rows may have any number of columns.
    """
    kind = section.choice("kind", ("linear", "kernel"))
    decision = _decode_decision(section.section("decision"))
    read_terms = _decode_linear if kind == "linear" else _decode_kernel
    terms, n_features = read_terms(section.section("terms"), stock, decision.n_outputs)
    n_features_in = section.take("n_features_in")
    fits = n_features_in is None or (type(n_features_in) is int and n_features_in > 0 and front)
    require(fits or n_features_in == n_features, "header.model.n_features_in fits no coefficients")
    model = AdditiveModel(
        estimator=None,
        terms=terms,
        decision=decision,
        front=None,
        classes=decode_labels(section.choice("labels", ("array", "object")), stock, decision.n_classes),
        n_features_in=n_features_in,
        feature_names_in=None,
        allow_nan=section.flag("allow_nan"),
        slack=section.number("slack", 0.0, finite=False),
        dtype=np.dtype(section.choice("dtype", WORKING)),
        folded=section.flag("folded"),
    )
    section.done()
    return model, n_features


def _decode_decision(section: Section) -> Decision:
    kind = section.choice("kind", ("sign", "argmax", "votes"))
    n_classes = section.integer("n_classes", 3 if kind == "votes" else 2, 2 if kind == "sign" else MOST_CLASSES)
    decision = Decision(
        kind,
        n_classes,
        section.number("threshold", finite=False),
        section.flag("tie_positive"),
        section.flag("break_ties"),
    )
    section.done()
    return decision


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


def decode_labels(form: str, stock: Stock, n_classes: int) -> NDArray[Any]:
    """Labels, which must ascend."""
    classes = stock.labels("classes", LABELS, n_classes)
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "the array 'classes' holds NaN or infinity")
    require(classes.dtype.kind == "U" or form == "array", "header.model.labels speaks of texts, which are numbers")
    require(np.all(classes[:-1] < classes[1:]), "the array 'classes' does not ascend")
    return classes.astype(object) if form == "object" else classes


# ---- terms -----------------------------------------------------------------------------------------------------------


def _encode_linear(terms: LinearTerms, arrays: Arrays) -> dict[str, Any]:
    arrays |= {
        "coef": terms.coef,
        "intercept": terms.intercept,
        "coef_bound": terms.coef_bound,
        "intercept_bound": terms.intercept_bound,
    }
    by_columns = not terms.coef.flags.c_contiguous  # products take another way then, and round otherwise
    if by_columns:
        arrays["coef"] = terms.coef.T
    if terms.fill is not None:
        arrays["fill"] = terms.fill
    return {"depth": int(terms.depth), "fill": terms.fill is not None, "by_columns": by_columns}


def _decode_linear(section: Section, stock: Stock, n_outputs: int) -> tuple[LinearTerms, int]:
    by_columns = section.flag("by_columns")
    coef = stock.floats("coef", None, n_outputs).T if by_columns else stock.floats("coef", n_outputs, None)
    n_features = coef.shape[1]
    require(1 <= n_features <= MOST_FEATURES, "the array 'coef' has no columns, or too many")
    terms = LinearTerms(
        coef=coef,
        intercept=stock.floats("intercept", n_outputs),
        fill=stock.floats("fill", n_features) if section.flag("fill") else None,
        coef_bound=stock.floats("coef_bound", n_outputs, n_features, low=0.0, finite=False),
        intercept_bound=stock.floats("intercept_bound", n_outputs, low=0.0, finite=False),
        depth=section.integer("depth", 1),
    )
    section.done()
    return terms, n_features


def _encode_kernel(terms: KernelTerms, arrays: Arrays) -> dict[str, Any]:
    vectors, columns = terms.support_vectors, terms.columns
    arrays |= {"coef": terms.coef, "intercept": terms.intercept}
    if sparse.issparse(vectors):
        arrays |= {"vectors.data": vectors.data, "vectors.indices": vectors.indices, "vectors.indptr": vectors.indptr}
    else:
        arrays["vectors"] = vectors
    if columns is not None:
        arrays |= {"scale": columns.scale, "shift": columns.shift, "swing": columns.swing}
        if columns.fill is not None:
            arrays["fill"] = columns.fill
    return {
        "kernel": terms.kernel,
        "gamma": float(terms.gamma),
        "coef0": float(terms.coef0),
        "degree": int(terms.degree),
        "n_features": int(vectors.shape[1]),
        "sparse": bool(sparse.issparse(vectors)),
        "columns": columns is not None,
        "fill": columns is not None and columns.fill is not None,
    }


def _decode_kernel(section: Section, stock: Stock, n_outputs: int) -> tuple[KernelTerms, int]:
    n_features = section.integer("n_features", 1, MOST_KERNEL_FEATURES)
    coef = stock.floats("coef", n_outputs, None)
    n_terms = coef.shape[1]
    require(n_terms, "the array 'coef' has no columns")
    if section.flag("sparse"):
        vectors: Any = decode_csr(stock, ("vectors.data", "vectors.indices", "vectors.indptr"), n_terms, n_features)
    else:
        vectors = stock.floats("vectors", n_terms, n_features)
    columns, has_fill = None, section.flag("fill")
    if section.flag("columns"):
        columns = ColumnMap(
            scale=stock.floats("scale", n_features),
            shift=stock.floats("shift", n_features),
            fill=stock.floats("fill", n_features) if has_fill else None,
            swing=stock.floats("swing", n_features, low=0.0),
        )
    require(columns is not None or not has_fill, "header.model.terms.fill stands in for NaN without columns")
    terms = KernelTerms(
        kernel=section.choice("kernel", ("rbf", "poly", "sigmoid")),
        gamma=section.number("gamma", 0.0),
        coef0=section.number("coef0"),
        degree=section.integer("degree", 0, MOST_DEGREE),
        support_vectors=vectors,
        coef=coef,
        intercept=stock.floats("intercept", n_outputs),
        columns=columns,
    )
    section.done()
    return terms, n_features


def decode_csr(stock: Stock, names: tuple[str, str, str], n_rows: int, n_columns: int) -> sparse.csr_array:
    """A canonical CSR array, from the names of its data, indices and indptr."""
    data = stock.floats(names[0], None)
    indices = stock.integers(names[1], INDICES, len(data), low=0, high=n_columns)
    indptr = stock.integers(names[2], INDICES, n_rows + 1, low=0, high=len(data) + 1)
    ends = indptr[0] == 0 and indptr[-1] == len(data)
    require(ends and np.all(indptr[:-1] <= indptr[1:]), f"the array {names[2]!r} does not rise from 0 to the end")
    ascends = indices[:-1] < indices[1:]
    first = indptr[1:-1]
    ascends[first[(first > 0) & (first < len(data))] - 1] = True  # from one row to the next
    require(ascends.all(), f"the array {names[1]!r} does not ascend within every row")
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
