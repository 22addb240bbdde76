"""A model and a plan, compiled: what the estimator calls when rows come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..models import AdditiveModel, KernelTerms, LinearTerms
from ..plan import NO_SURROGATES, Plan, Readout, Surrogates

#: What happens to rows that are left after the last stage of a call.
AtEnd = Literal["full", "answer", "pending"]
#: A kernel machine that was trained on sparse rows keeps only the features that its support vectors have, from here on.
SPARSE_FEATURES = 2048
#: Packed support vectors may take this much memory.
PACKED_BYTES = 8 << 30


def block_length(model: AdditiveModel, precision: str) -> int:
    """How many terms the engine evaluates at a time."""
    if isinstance(model.terms, LinearTerms):
        return 1
    return 16 if precision == "float32" else 8


def pack(model: AdditiveModel, terms: NDArray[np.int64], surrogates: Surrogates, precision: str) -> _core.Model:
    """Copy a model's terms into the engine, in the order of a plan.

    Parameters
    ----------
    model : AdditiveModel
    terms : int64 ndarray
        The terms of early stages in their order; surrogates follow the model's own numbers.
    surrogates : Surrogates
    precision : {"float32", "float64"}
        Of the early stages of a kernel machine; linear models always compute in double precision.
    """
    if isinstance(model.terms, LinearTerms):
        return _pack_linear(model.terms, terms)
    return _pack_kernel(model.terms, terms, surrogates, precision == "float32")


def _pack_linear(terms: LinearTerms, order: NDArray[np.int64]) -> _core.Model:
    return _core.Model.linear(
        order=np.ascontiguousarray(order, dtype=np.int32),
        coef=np.ascontiguousarray(terms.coef),
        intercept=np.ascontiguousarray(terms.intercept),
        fill=None if terms.fill is None else np.ascontiguousarray(terms.fill),
        magnitude=np.ascontiguousarray(terms.coef_bound.max(axis=0)),
        bias_magnitude=float(terms.intercept_bound.max()),
        depth=float(terms.depth),
    )


def _pack_kernel(terms: KernelTerms, order: NDArray[np.int64], surrogates: Surrogates, single: bool) -> _core.Model:
    n = terms.n_terms
    used = order[order < n]
    rest = np.setdiff1d(np.arange(n), used)
    order = np.concatenate([order, rest]).astype(np.int64)
    own = order < n
    vectors, kept = terms.support_vectors, None
    n_features = vectors.shape[1]
    if sparse.issparse(vectors) and n_features > SPARSE_FEATURES:
        kept = np.unique(np.append(vectors.indices, 0)).astype(np.int32)
        vectors = vectors[:, kept]
    width = vectors.shape[1]
    if len(order) * width * 12 > PACKED_BYTES:
        raise ValueError(
            f"{n} support vectors of {width} features take {len(order) * width * 12 / 2**30:.0f} GiB packed; at most "
            f"{PACKED_BYTES >> 30} GiB are allowed. Reduce the features, or train with fewer support vectors."
        )
    coef = np.where(own, np.take(terms.coef, np.where(own, order, 0), axis=1), 0.0)
    columns = terms.columns
    has_map = columns is not None and not columns.is_identity
    return _core.Model.kernel(
        kernel=terms.kernel,
        gamma=terms.gamma,
        coef0=terms.coef0,
        degree=terms.degree,
        vectors=np.ascontiguousarray(vectors.toarray() if sparse.issparse(vectors) else vectors),
        landmarks=None if own.all() else np.ascontiguousarray(surrogates.vectors),
        order=order,
        linear=(~own & surrogates.linear).astype(np.uint8),
        coef=coef,
        intercept=np.ascontiguousarray(terms.intercept),
        n_features=n_features,
        kept=kept,
        scale=np.ascontiguousarray(columns.scale) if columns is not None and has_map else None,
        shift=np.ascontiguousarray(columns.shift) if columns is not None and has_map else None,
        swing=float(np.sqrt(np.sum(columns.swing**2))) if columns is not None and has_map else 0.0,
        fill=None if columns is None or columns.fill is None else np.ascontiguousarray(columns.fill),
        single=single,
    )


def engine(
    model: AdditiveModel,
    packed: _core.Model,
    stage_terms: NDArray[np.int64],
    readouts: Sequence[Readout],
    low: NDArray[Any],
    high: NDArray[Any],
) -> _core.Engine:
    """Build an engine on a packed model: stages, readouts, thresholds."""
    decision = model.decision
    return _core.Engine(
        packed,
        decision=decision.kind,
        n_classes=decision.n_classes,
        threshold=decision.threshold,
        tie_positive=decision.tie_positive,
        break_ties=decision.break_ties,
        slack=model.slack,
        terms=np.ascontiguousarray(stage_terms, dtype=np.int64),
        weights=[np.ascontiguousarray(r.weights, dtype=np.float64) for r in readouts],
        bias=[np.ascontiguousarray(r.bias, dtype=np.float64) for r in readouts],
        low=np.ascontiguousarray(low, dtype=np.float64),
        high=np.ascontiguousarray(high, dtype=np.float64),
    )


def watching(
    model: AdditiveModel, packed: _core.Model, stage_terms: NDArray[np.int64], readouts: Sequence[Readout]
) -> _core.Engine:
    """Build an engine that nothing leaves early."""
    never = np.full(len(stage_terms), np.inf)
    return engine(model, packed, stage_terms, readouts, -never, never)


def serving(model: AdditiveModel, plan: Plan, packed: _core.Model | None = None) -> _core.Engine:
    """Build the engine of a plan with its thresholds, on terms that may be packed already."""
    if packed is None:
        packed = pack(model, plan.terms, plan.surrogates, plan.precision)
    low, high = plan.thresholds()
    return engine(model, packed, plan.stage_terms, plan.readouts, low, high)


def natural(model: AdditiveModel, precision: str) -> _core.Model:
    """Copy a model's terms into the engine in their own order, for full scores."""
    return pack(model, np.empty(0, dtype=np.int64), NO_SURROGATES, precision)
