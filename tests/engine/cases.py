"""Random models, plans and rows, and one matrix in every memory layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from engine.reference import HANDED_OVER as HANDED_OVER
from engine.reference import NOT_FINITE as NOT_FINITE
from engine.reference import PENDING as PENDING
from engine.reference import Decision, Linear, Machine, Plan
from engine.reference import marked as marked
from hypothesis import strategies as st
from scipy import sparse

from wald import _core

KERNELS = ("rbf", "poly", "sigmoid")
WIDTHS = (1, 2, 5, 6, 7, 8, 11, 13, 15, 16, 17, 31, 33, 63, 64, 65, 100, 784)
DECISIONS = (
    Decision("sign"),
    Decision("sign", threshold=0.1, tie_positive=True),
    Decision("argmax", 2),
    Decision("argmax", 5),
    Decision("votes", 3),
    Decision("votes", 7, break_ties=True),
)

seeds = st.integers(0, 2**32 - 1)
n_terms = st.integers(1, 40) | st.just(300)
n_rows = st.sampled_from([0, 1, 2, 13, 70])


def machine(
    rng: np.random.Generator,
    kernel: str = "rbf",
    d: int = 17,
    n: int = 40,
    outputs: int = 1,
    *,
    kept: bool = False,
    mapped: bool = False,
    filled: bool = False,
    surrogates: bool = False,
    exact: bool = False,
) -> Machine:
    """A well scaled kernel machine.

    With ``surrogates`` some terms are dot products that F does not need; with ``exact`` float32 represents
    the vectors that F needs exactly.
    """
    features = np.flatnonzero(rng.random(d) < 0.6).astype(np.int32) if kept else None
    if features is not None and len(features) == 0:
        features = np.array([d - 1], dtype=np.int32)
    width = d if features is None else len(features)
    vectors = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.7)
    linear = (rng.random(n) < (0.3 if surrogates else 0.0)).astype(np.uint8)
    if exact:
        vectors[linear == 0] = vectors[linear == 0].astype(np.float32)
    return Machine(
        kernel=kernel,
        gamma=0.4 / d,
        coef0=0.0 if kernel == "rbf" else 0.3,
        degree=int(rng.integers(1, 5)),
        vectors=vectors,
        linear=linear,
        coef=np.where(linear, 0.0, rng.normal(size=(outputs, n))),
        intercept=0.1 * rng.normal(size=outputs),
        n_features=d,
        kept=features,
        scale=rng.uniform(0.5, 2, d) if mapped else None,
        shift=rng.normal(size=d) if mapped else None,
        fill=rng.normal(size=d) if filled else None,
    )


def linear(
    rng: np.random.Generator, d: int = 17, outputs: int = 1, *, n: int | None = None, filled: bool = False
) -> Linear:
    return Linear(
        order=rng.permutation(d)[:n].astype(np.int32),
        coef=rng.normal(size=(outputs, d)) / np.sqrt(d),
        intercept=0.1 * rng.normal(size=outputs),
        fill=rng.normal(size=d) if filled else None,
    )


def packed(
    rng: np.random.Generator, kind: str, d: int, n: int, outputs: int, **options: Any
) -> tuple[Machine | Linear, _core.Model]:
    """A model of the kind "double", "single" or "linear", and its packed form."""
    if kind == "linear":
        model: Machine | Linear = linear(rng, d, outputs)
    else:
        model = machine(rng, d=d, n=n, outputs=outputs, **options)
    return model, model.pack(kind == "single")


def plan(
    rng: np.random.Generator, model: Machine | Linear, decision: Decision, stages: int = 4, width: float = 0.5
) -> Plan:
    """Random readouts after random numbers of terms; a share of the rows leaves at every stage."""
    terms = np.sort(rng.integers(0, model.n_terms + 1, stages))
    K = decision.n_outputs
    weights = [rng.normal(size=(K, m)) / np.sqrt(max(m, 1)) for m in terms]
    high = width * rng.uniform(0.2, 2, stages)
    return Plan(decision, terms, weights, [0.3 * rng.normal(size=K) for _ in terms], -high, high)


def rows(rng: np.random.Generator, n: int, d: int, dtype: Any = np.float64, nan: float = 0.0) -> np.ndarray:
    """A mixture of dense and sparse rows."""
    density = rng.choice([0.0, 0.1, 0.35, 0.45, 0.8, 1.0], size=(n, 1))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X[rng.random((n, d)) < nan] = np.nan
    return X.astype(dtype)


def csr_rows(X: Any) -> _core.Rows:
    X = X if sparse.issparse(X) else sparse.csr_array(X)
    return _core.Rows.csr(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), X.shape[1])


def column_rows(X: np.ndarray, missing: Any = ()) -> _core.Rows:
    columns = [None if c in set(missing) else X[:, c] for c in range(X.shape[1])]
    return _core.Rows.columns(len(X), columns)


def values_read(rows: _core.Rows, width: int) -> np.ndarray:
    """The values that the engine reads, from a linear model with one output per feature."""
    model = _core.Model.linear(
        order=np.arange(width, dtype=np.int32),
        coef=np.eye(width),
        intercept=np.zeros(width),
        fill=None,
        magnitude=np.ones(width),
        bias_magnitude=0.0,
        depth=0.0,
    )
    return model.scores(rows, 0.0, 1)[0]


def layouts(X: np.ndarray) -> Iterator[tuple[str, _core.Rows]]:
    """The same dense rows in every memory layout."""
    n, d = X.shape
    wide = np.full((n + 3, 2 * d + 3), 77, dtype=X.dtype)
    view = wide[2 : n + 2, 1 : 2 * d + 1 : 2]
    view[...] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "C", _core.Rows.dense(np.ascontiguousarray(X))
    yield "Fortran", _core.Rows.dense(np.asfortranarray(X))
    yield "rows from the last", _core.Rows.dense(X[::-1].copy()[::-1])
    yield "columns from the last", _core.Rows.dense(X[:, ::-1].copy()[:, ::-1])
    yield "view", _core.Rows.dense(view)
    yield "read-only", _core.Rows.dense(frozen)
    yield "columns", column_rows(X)
    mixed = [X[::-1, c].copy()[::-1] if c % 2 else X[:, c].astype(np.float64) for c in range(d)]
    yield "mixed columns", _core.Rows.columns(n, mixed)


def bits(answer: Any) -> list[int]:
    """A hash of the bits of one array, or of each of several."""
    return [hash((a.shape, a.dtype.str, a.tobytes())) for a in as_tuple(answer)]


def as_tuple(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)
