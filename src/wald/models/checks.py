"""Contract checks of a family of models, on a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..codec.header import parse, render
from ..codec.reading import Section
from ..sources import source_of
from ..steps import ColumnMap
from ..utils.clauses import require_clauses
from ..utils.labels import codes_of_labels
from .encoding import decode_terms, encode_terms, needs_estimator, needs_members
from .packing import pack
from .planning import Planning, Rest
from .protocols import (
    Bounded,
    Columnwise,
    Comparing,
    Delegating,
    Filed,
    Foldable,
    Owned,
    Packable,
    Priced,
    Sharing,
    Stepped,
    Summed,
)
from .terms import Terms
from .wrappers import peel


def check_terms(terms: Terms, estimator: Any, X: Any) -> None:
    """Check that terms keep the contract of `Terms`, and that they are those of a fitted model.

    The protocols that their family has, such as ``wald.models.protocols.Bounded``, are checked as well.

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
    clauses = {name: clause for name, (protocol, clause) in CLAUSES.items() if isinstance(terms, protocol)}
    require_clauses(clauses, type(terms).__name__, terms, estimator, source_of(X).array())


#: Of terms that have some protocol, the model and its rows.
Clause = Callable[[Any, Any, Any], Iterator[str]]


# ---- what every sum promises -----------------------------------------------------------------------------------------


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


def _protocols(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    for protocol in PROTOCOLS:
        own = protocol.__abstractmethods__ & vars(protocol).keys()
        if not isinstance(terms, protocol) and (found := [name for name in sorted(own) if hasattr(terms, name)]):
            yield f"{found[0]} is never called: inherit wald.models.protocols.{protocol.__name__}, or rename it"


def _planning(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    planning: Any = terms.planning
    if not isinstance(planning, Planning):
        yield f"planning must be a Planning. Got {type(planning).__name__}"
        return
    if not planning.precisions or not set(planning.precisions) <= {"float32", "float64"}:
        yield "precisions must name 'float32', 'float64' or both"
    if not 0 < planning.certificate_share < 1:
        yield "certificate_share must lie between 0 and 1"
    for name in ("most_splits", "most_order_rows", "timed_rows", "timed_repeats"):
        if getattr(planning, name) < 1:
            yield f"{name} must be at least 1"
    if min(planning.boundary_width, planning.boundary_floor) <= 0:
        yield "boundary_width and boundary_floor must be positive"
    if not isinstance(planning.rest, Rest):
        yield f"rest must be a Rest. Got {type(planning.rest).__name__}"


def _values(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    values: Any = terms.values(X)
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64):
        yield "values must be a float64 array"
    if values.shape != (X.shape[0], terms.n_terms):
        yield f"values must have shape {(X.shape[0], terms.n_terms)}, and has {values.shape}"
    which = np.arange(terms.n_terms)[::-2]
    if terms.values(X, which).shape != (X.shape[0], len(which)):
        yield "values(X, which) must have a column for each of 'which'"
    elif not _close(terms.values(X, which), values[:, which]):
        yield "values(X, which) must be the columns 'which' of values(X)"


def _batch_invariance(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    packed = pack(terms, np.arange(terms.n_terms))
    together = _scores(packed, X)
    for i in (0, X.shape[0] // 2, X.shape[0] - 1):
        if not np.array_equal(_scores(packed, X[[i]])[0], together[i], equal_nan=True):
            yield f"the scores of row {i} alone differ from its scores in a batch"
    backwards = np.arange(X.shape[0])[::-1]
    if not np.array_equal(_scores(packed, X[backwards]), together[backwards], equal_nan=True):
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
    scores, errors = pack(terms).scores(X, model.working_precision, 1)
    codes, confidence = model.decision.answers(scores), model.decision.distances(scores)
    own = codes_of_labels(model.classes, estimator.predict(X))
    wrong = (codes != own) & (np.abs(confidence) > 2 * errors + model.tie_margin)
    if wrong.any():
        yield (
            f"row {np.flatnonzero(wrong)[0]} gets another label than the model's own, and rounding does not explain it"
        )


def _integers(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    dense = X.toarray() if sparse.issparse(X) else X
    whole = np.clip(np.round(dense), -(2**20), 2**20).astype(np.int64)
    converted = whole.astype(terms.accepts.conversion.integers)
    if not np.array_equal(terms.scores(whole), terms.scores(converted), equal_nan=True):
        yield f"integers must have the scores of their conversion to {terms.accepts.conversion.integers}"


def _file(terms: Terms, estimator: Any, X: Any) -> Iterator[str]:
    arrays: dict[str, NDArray[Any]] = {}
    facts = parse(render(encode_terms(terms, arrays, "terms")))
    again = decode_terms(type(terms), Section(facts, "terms", dict(arrays)), terms.n_outputs)
    if needs_estimator(terms) or needs_members(terms):
        repeated: dict[str, NDArray[Any]] = {}
        same = encode_terms(again, repeated, "terms") == facts and repeated.keys() == arrays.keys()
        if not (same and all(np.array_equal(repeated[name], arrays[name]) for name in arrays)):
            yield "terms that went through a file are described otherwise"
    elif not np.array_equal(again.scores(X), terms.scores(X), equal_nan=True):
        yield "terms that went through a file have other scores"


# ---- what only some bring --------------------------------------------------------------------------------------------


def _packing(terms: Packable, estimator: Any, X: Any) -> Iterator[str]:
    hash(terms.speed_key)
    order = np.arange(terms.n_terms)
    for precision in terms.planning.precisions:
        if not np.array_equal(_scores(terms.pack(order, precision=precision), X), terms.scores(X), equal_nan=True):
            yield f"full scores must not depend on the order and the precision of early stages, here {precision}"
        if terms.packed_bytes(0, precision) <= 0 or terms.stages_bytes([1, 2]) <= 0:
            yield "packed_bytes and stages_bytes must be positive"
    size: Any = terms.packed_size
    if not isinstance(size, str) or size == "":
        yield "packed_size must be a text"


def _bounds(terms: Bounded, estimator: Any, X: Any) -> Iterator[str]:
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


def _folding(terms: Foldable, estimator: Any, X: Any) -> Iterator[str]:
    n = terms.n_features
    folded, rows = terms.after(ColumnMap(np.full(n, 0.5), np.zeros(n)), 1), X.astype(np.float64)
    if not _close(folded.scores(rows), terms.scores(rows * 0.5)):
        yield "terms after a map of the columns must have the scores of mapped rows"


def _columns(terms: Columnwise, estimator: Any, X: Any) -> Iterator[str]:
    read = terms.columns_read(np.arange(terms.n_terms))
    if read.shape != (terms.n_terms,) or read.min() < 0 or read.max() >= terms.n_features:
        yield "columns_read must give a column for each term"
        return
    dense = np.array(X.toarray() if sparse.issparse(X) else X)
    term = terms.n_terms // 2
    dense[:, np.arange(dense.shape[1]) != read[term]] = 0
    if not np.array_equal(terms.values(dense, [term]), terms.values(X, [term])):
        yield f"the value of term {term} changes with columns that it does not read by columns_read"


def _units(terms: Priced, estimator: Any, X: Any) -> Iterator[str]:
    units = terms.units(None, None, None, 1)
    members = np.sort(np.concatenate(units.members))
    if not np.array_equal(members, np.arange(terms.n_terms)):
        yield "every term must belong to one unit"
    if len(units.costs) != len(units.members) or not (units.costs > 0).all():
        yield "every unit must have a positive cost"


def _prices(terms: Sharing, estimator: Any, X: Any) -> Iterator[str]:
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


def _owners(terms: Owned, estimator: Any, X: Any) -> Iterator[str]:
    owners: Any = terms.owners()
    if owners is None:
        if terms.n_outputs > 1:
            yield "owners must give an output for each term where there are several"
        return
    if owners.shape != (terms.n_terms,) or owners.min() < 0 or owners.max() >= terms.n_outputs:
        yield "owners must give an output for each term"
    elif terms.coef[np.arange(terms.n_outputs)[:, np.newaxis] != owners].any():
        yield "a term weighs in an output that does not own it"


def _sums(terms: Summed, estimator: Any, X: Any) -> Iterator[str]:
    n = terms.n_terms
    work = terms.pass_work(np.arange(n), np.array([n]), False)
    some, every = work(0, -(-n // 2), 1, 1.0), work(0, n, 1, 1.0)
    if not 0 < some <= every < np.inf:
        yield "pass_work must be positive, finite, and not less for more terms"


def _steps(terms: Stepped, estimator: Any, X: Any) -> Iterator[str]:
    made = terms.at_thresholds(8, np.random.default_rng(0))
    if made is not None and made.shape[1] != terms.n_features:
        yield f"at_thresholds must make rows of {terms.n_features} columns"
    counts, order = terms.leaf_counts(), np.arange(terms.n_terms)
    if counts is None:
        return
    leaves, values = terms.leaves(X, order), terms.values(X)
    if counts.shape != (terms.n_terms,) or leaves.shape != values.shape:
        yield "leaf_counts must have an entry for each term, and leaves one for each row and term"
    elif leaves.min() < 0 or (leaves >= counts).any():
        yield "leaves must lie between 0 and leaf_counts"
    elif any(len(np.unique(values[leaves[:, j] == leaf, j])) > 1 for j in order for leaf in np.unique(leaves[:, j])):
        yield "rows in the same leaf must have the same value"


def _vectors(terms: Comparing, estimator: Any, X: Any) -> Iterator[str]:
    n, width = X.shape[0], terms.mapped(X).shape[1]
    if terms.training_rows().shape[1] != width:
        yield "training_rows must have the columns of mapped rows"
    fitted = terms.surrogates(X, terms.scores(X), max(2, terms.n_outputs))
    if fitted is None:
        return
    if terms.planning.surrogate_candidates < 1:
        yield "surrogate_candidates must be at least 1 where there are surrogates"
        return
    made, values = fitted(np.ones(n), np.arange(min(terms.n_terms, terms.planning.surrogate_candidates)))
    if made.vectors.shape[1:] != (width,) or values.shape != (n, len(made.vectors)):
        yield "surrogates must have the columns of mapped rows, and a value for each row and surrogate"


def _stand_ins(terms: Delegating, estimator: Any, X: Any) -> Iterator[str]:
    leaf = peel(estimator).model
    found = terms.with_stand_ins(leaf, lambda member: member.estimator if member.row_by_row else None)
    if found is None:
        yield "with_stand_ins must find the members in the model that the terms were read from"
    elif not _close(found[1].values(X), terms.values(X)):
        yield "with_stand_ins must give the same values where the members stand in for themselves"
    if terms.score_method is not None and not hasattr(leaf, terms.score_method):
        yield f"score_method is {terms.score_method!r}, which the model has not"


#: Protocols by which terms may be asked.
PROTOCOLS = (
    *(Packable, Columnwise, Foldable, Bounded, Priced, Sharing, Owned, Summed, Stepped, Comparing, Delegating),
    Filed,
)
#: Checks by their names in messages, each with the protocol whose terms are checked.
CLAUSES: dict[str, tuple[type[Terms], Clause]] = {
    "shape": (Terms, _shape),
    "names": (Terms, _names),
    "protocols": (Terms, _protocols),
    "planning": (Terms, _planning),
    "values": (Terms, _values),
    "a row alone": (Terms, _batch_invariance),
    "sum": (Terms, _sum),
    "labels": (Terms, _labels),
    "integers": (Terms, _integers),
    "packing": (Packable, _packing),
    "bounds": (Bounded, _bounds),
    "folding": (Foldable, _folding),
    "columns": (Columnwise, _columns),
    "units": (Priced, _units),
    "prices": (Sharing, _prices),
    "owners": (Owned, _owners),
    "sums": (Summed, _sums),
    "steps": (Stepped, _steps),
    "vectors": (Comparing, _vectors),
    "stand-ins": (Delegating, _stand_ins),
    "file": (Terms, _file),
}


def _scores(packed: Any, X: Any) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = packed.scores(X, lambda dtype: 0.0, 1)[0]
    return scores


def _close(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(np.allclose(one, other, rtol=1e-7, atol=1e-9 * (1 + float(np.abs(other).max(initial=0.0)))))
