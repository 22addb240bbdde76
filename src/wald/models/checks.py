"""Contract checks of a family of models, on a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..codec.arrays import Stock
from ..codec.header import Section, parse, render
from ..engine.rows import n_rows_of, take, to_array
from ..utils.labels import codes_of_labels
from .terms import Terms

__all__ = ["check_terms"]


def check_terms(terms: Terms, estimator: Any, X: Any) -> None:
    """Check that terms keep the contract of `Terms`, and that they are those of a fitted model.

    Parameters
    ----------
    terms : Terms
    estimator : estimator
        The fitted classifier that they were read from, or a pipeline that ends with it; `decompose` must support it.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        At least two preprocessed rows without NaN.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with its name in brackets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from wald.models import check_terms, decompose
    >>> X, y = load_iris(return_X_y=True)
    >>> logistic = LogisticRegression(max_iter=1000).fit(X, y)
    >>> check_terms(decompose(logistic).terms, logistic, X)
    """
    for name, clause in CLAUSES.items():
        try:
            problems = list(clause(terms, estimator, to_array(X)))
        except AssertionError as error:
            problems = [str(error)]
        except Exception as error:  # any exception of a family fails the check
            problems = [f"it raises {type(error).__name__}: {error}"]
        if problems:
            raise AssertionError(f"[{name}] {type(terms).__name__}: {problems[0]}")


Clause = Callable[[Terms, Any, Any], Iterator[str]]


def _shape(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    for name, shape in (("coef", (terms.n_outputs, terms.n_terms)), ("intercept", (terms.n_outputs,))):
        array: Any = getattr(terms, name)
        if not (isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape):
            yield f"{name} must be a float64 array of shape {shape}"
        elif not np.isfinite(array).all():
            yield f"{name} must be finite"
    if terms.n_features != X.shape[1]:
        yield f"n_features is {terms.n_features}, and X has {X.shape[1]} columns"


def _names(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    for name in ("family", "unit_name", "description"):
        text: Any = getattr(terms, name)
        if not isinstance(text, str) or text == "":
            yield f"{name} must be a text"
    if not terms.precisions or not set(terms.precisions) <= {"float32", "float64"}:
        yield "precisions must name 'float32', 'float64' or both"
    if not 0 < terms.certificate_share < 1:
        yield "certificate_share must lie between 0 and 1"
    if min(terms.most_splits, terms.timed_rows, terms.timed_repeats) < 1:
        yield "most_splits, timed_rows and timed_repeats must be at least 1"


def _values(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    values: Any = terms.values(X)
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64):
        yield "values must be a float64 array"
    if values.shape != (n_rows_of(X), terms.n_terms):
        yield f"values must have shape {(n_rows_of(X), terms.n_terms)}, and has {values.shape}"
    which = np.arange(terms.n_terms)[::-2]
    if terms.values(X, which).shape != (n_rows_of(X), len(which)):
        yield "values(X, which) must have a column for each of 'which'"
    elif not _close(terms.values(X, which), values[:, which]):
        yield "values(X, which) must be the columns 'which' of values(X)"


def _batch_invariance(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    packed = terms.pack(np.arange(terms.n_terms))
    together = _scores(packed, X)
    for i in (0, n_rows_of(X) // 2, n_rows_of(X) - 1):
        if not np.array_equal(_scores(packed, take(X, np.array([i])))[0], together[i], equal_nan=True):
            yield f"the scores of row {i} alone differ from its scores in a batch"
    backwards = np.arange(n_rows_of(X))[::-1]
    if not np.array_equal(_scores(packed, take(X, backwards)), together[backwards], equal_nan=True):
        yield "scores change with the order of the rows"


def _sum(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    scores = terms.values(X) @ terms.coef.T + terms.intercept
    if not _close(terms.scores(X), scores):
        yield "scores must be intercept + values @ coef.T"


def _labels(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    from . import decompose

    model = decompose(estimator)
    if model.preprocessing is not None:
        yield "pass the innermost model: this pipeline has preprocessing that the terms do not include"
        return
    scores, errors = terms.pack(np.empty(0, dtype=np.int64)).scores(X, model.working_precision, 1)
    codes, confidence = model.decision.judge(scores)
    own = codes_of_labels(model.classes, estimator.predict(X))
    wrong = (codes != own) & (np.abs(confidence) > 2 * errors + model.tie_margin)
    if wrong.any():
        yield (
            f"row {np.flatnonzero(wrong)[0]} gets another label than the model's own, and rounding does not explain it"
        )


def _bounds(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    dense = X.toarray() if sparse.issparse(X) else X
    low, high = terms.ranges(dense.min(axis=0).astype(np.float64), dense.max(axis=0).astype(np.float64))
    if low.shape != (terms.n_terms,) or high.shape != (terms.n_terms,):
        yield "ranges must give two arrays with an entry for each term"
        return
    values, tolerance = terms.values(X), 1e-9
    if (values < low - tolerance * (1 + np.abs(low))).any() or (values > high + tolerance * (1 + np.abs(high))).any():
        yield "a value lies outside of the range that 'ranges' gives"
    if not terms.rounding(low, high, 2.0**-53) >= 0:
        yield "rounding must be at least 0, or infinite"


def _columns(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    read = terms.columns_read(np.arange(terms.n_terms))
    if read is None:
        return
    if read.shape != (terms.n_terms,) or read.min() < 0 or read.max() >= terms.n_features:
        yield "columns_read must give a column for each term, or None"
        return
    dense = np.array(X.toarray() if sparse.issparse(X) else X)
    term = terms.n_terms // 2
    dense[:, np.arange(dense.shape[1]) != read[term]] = 0
    if not np.array_equal(terms.values(dense, [term]), terms.values(X, [term])):
        yield f"the value of term {term} changes with columns that it does not read by columns_read"


def _units(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    units = terms.units(None, None, None, 1)
    members = np.sort(np.concatenate(units.members))
    if not np.array_equal(members, np.arange(terms.n_terms)):
        yield "every term must belong to one unit"
    if len(units.costs) != len(units.members) or not (units.costs > 0).all():
        yield "every unit must have a positive cost"


def _integers(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    dense = X.toarray() if sparse.issparse(X) else X
    whole = np.clip(np.round(dense), -(2**20), 2**20).astype(np.int64)
    converted = whole.astype(terms.conversion.integers)
    if not np.array_equal(terms.scores(whole), terms.scores(converted), equal_nan=True):
        yield f"integers must have the scores of their conversion to {terms.conversion.integers}"


def _prices(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    if not terms.shares_features:
        return
    units = terms.units(None, None, np.arange(1.0, terms.n_features + 1), 1)
    if units.buys is None or units.prices is None or len(units.buys) != len(units.members):
        yield "units must say what each unit buys where features have prices"
        return
    if not np.array_equal(units.costs, [units.prices[items].sum() for items in units.buys]):
        yield "the cost of a unit must be the price of what it buys"
    unit = len(units.members) // 2
    dense = np.array(X.toarray() if sparse.issparse(X) else X)
    dense[:, ~np.isin(np.arange(1.0, terms.n_features + 1), units.prices[units.buys[unit]])] = 0
    if not np.array_equal(terms.values(dense, units.members[unit]), terms.values(X, units.members[unit])):
        yield f"the terms of unit {unit} read features that the unit does not buy"


def _file(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    arrays: dict[str, NDArray[Any]] = {}
    facts = parse(render({"terms": terms.encode(arrays)}))["terms"]
    again = type(terms).decode(Section(facts, "header.model.terms"), Stock(arrays), terms.n_outputs)
    if terms.whole_in_files:
        repeated: dict[str, NDArray[Any]] = {}
        same = again.encode(repeated) == terms.encode({}) and repeated.keys() == arrays.keys()
        if not (same and all(np.array_equal(repeated[name], arrays[name]) for name in arrays)):
            yield "terms that went through a file are described otherwise"
    elif not np.array_equal(again.scores(X), terms.scores(X), equal_nan=True):
        yield "terms that went through a file have other scores"


#: Checks by their names in messages.
CLAUSES: dict[str, Clause] = {
    "shape": _shape,
    "names": _names,
    "values": _values,
    "a row alone": _batch_invariance,
    "sum": _sum,
    "labels": _labels,
    "bounds": _bounds,
    "columns": _columns,
    "units": _units,
    "prices": _prices,
    "integers": _integers,
    "file": _file,
}


def _scores(packed: Any, X: Any) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = packed.scores(X, lambda dtype: 0.0, 1)[0]
    return scores


def _close(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(np.allclose(one, other, rtol=1e-7, atol=1e-9 * (1 + float(np.abs(other).max(initial=0.0)))))
