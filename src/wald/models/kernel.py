"""Kernel machines: terms are kernel values between a row and the support vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..codec.reading import Section, require
from ..engine import CompiledTerms
from ..engine.threads import effective_threads
from ..sources import source_of
from ..steps import ColumnMap
from ..utils.bytes import padded, readout_bytes
from .directions import linear_surrogates
from .landmarks import BLOCKS, LEAST_ROWS, rbf_landmarks
from .packing import NO_SURROGATES, Compiled, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Bounded, Comparing, Filed, Foldable
from .terms import FINITE, Accepts
from .units import Floats, Ints

#: Limits of the engine.
MOST_DEGREE: int = _core.LIMITS["degree"]
MOST_FEATURES: int = _core.LIMITS["kernel_features"]
#: Terms that the engine evaluates at a time: the lanes of the widest registers.
LANES: dict[Precision, int] = {"float32": _core.LIMITS["lanes_float32"], "float64": _core.LIMITS["lanes_float64"]}
#: Above this number of features, a machine trained on sparse rows keeps only features of some support vector.
SPARSE_FEATURES = 2048
#: Largest size of packed support vectors.
PACKED_BYTES = 8 << 30
#: Largest number of features for which surrogates are fitted, and largest number of linear surrogates.
SURROGATE_FEATURES, MOST_DIRECTIONS = 4096, 15
_NAMES = {"rbf": "RBF", "poly": "polynomial", "sigmoid": "sigmoid"}


@dataclass(frozen=True, eq=False)
class KernelTerms(Compiled, Foldable, Bounded, Comparing, Filed):
    """Kernel values as terms: output k of a row x is ``K(x, support_vectors) @ coef[k] + intercept[k]``.

    Parameters
    ----------
    kernel : {"rbf", "poly", "sigmoid"}
        ``exp(-gamma |x - s|^2)``, ``(gamma <x, s> + coef0) ** degree`` or ``tanh(gamma <x, s> + coef0)``.
    gamma, coef0 : float
        Kernel parameters; `coef0` is unused by ``"rbf"``.
    degree : int
        Degree of ``"poly"``.
    support_vectors : float64 ndarray or CSR array of shape (n_terms, n_features)
        Support vectors, after `columns`.
    coef : float64 ndarray of shape (n_outputs, n_terms)
        Weight of each support vector in each output.
    intercept : float64 ndarray of shape (n_outputs,)
        Intercepts.
    columns : ColumnMap or None, default=None
        Applied to a raw row first.
    """

    family: ClassVar[str] = "kernel"
    unit_name: ClassVar[str] = "support vectors"
    planning: ClassVar[Planning] = Planning(
        rest=Rest.ENGINE, precisions=("float32", "float64"), blocks=LANES, surrogate_candidates=sum(BLOCKS)
    )

    kernel: Literal["rbf", "poly", "sigmoid"]
    gamma: float
    coef0: float
    degree: int
    support_vectors: Any
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    columns: ColumnMap | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.support_vectors.shape[1])

    @cached_property
    def accepts(self) -> Accepts:
        """NaN, if `columns` replaces it, and sparse rows, if it maps zeros to zeros."""
        if self.columns is None:
            return FINITE
        return Accepts(nan=self.columns.fill is not None, sparse=not bool(np.any(self.columns.shift)))

    @property
    def description(self) -> str:
        """The kernel's name in messages."""
        return f"{_NAMES[self.kernel]} kernel machine"

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Kernel values of rows and support vectors; see `Terms.values`."""
        terms = self
        if which is not None:
            picked = np.asarray(which, dtype=np.intp)
            terms = replace(self, support_vectors=self.support_vectors[picked], coef=self.coef[:, picked])
        if terms.n_terms == 0:
            return np.empty((X.shape[0], 0))
        return terms.pack(np.arange(terms.n_terms)).values(X, effective_threads(-1))

    def after(self, columns: ColumnMap, n_steps: int = 1) -> KernelTerms:
        """Apply a map of the columns before the kernel; see `Foldable.after`."""
        # ColumnMap.magnitude bounds the rounding, however many steps there are.
        return replace(self, columns=columns if self.columns is None else columns.then(self.columns))

    # ---- bounds ----------------------------------------------------------------------------------------------------

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Between 0 and 1 for an RBF kernel, whatever the features."""
        bounded = self.kernel == "rbf"
        n = self.n_terms
        return np.full(n, 0.0 if bounded else -np.inf), np.full(n, 1.0 if bounded else np.inf)

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of the rounding errors of the engine and of the wrapped RBF machine together."""
        # K = exp(-E) errs by K dE, dE <= c u gamma (|x| + |s|)^2 <= c u (8 gamma |s|^2 + 2 E), and E exp(-E) < 1/2.
        u, vectors = 2.0**-53, self.support_vectors
        depth = vectors.shape[1] + self.n_terms + 64
        moved = 0.0 if self.columns is None else float(np.sum(self.columns.magnitude**2))
        each = depth * (u + working) * (8.0 * self.gamma * (float(np.max(_norms(vectors))) + moved) + 4.0)
        total = each * np.abs(self.coef).sum(axis=1).max() + depth * u * np.abs(self.intercept).max()
        return float(4.0 * total)

    # ---- planning --------------------------------------------------------------------------------------------------

    def surrogates(
        self, X: Any, scores: Floats, n_classes: int
    ) -> Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None:
        """Landmarks for RBF kernels, linear directions for others."""
        too_few = X.shape[0] < LEAST_ROWS
        if sparse.issparse(X) or sparse.issparse(self.support_vectors) or X.shape[1] > SURROGATE_FEATURES or too_few:
            return None
        n_directions = 1 if self.n_outputs == 1 else min(n_classes - 1, MOST_DIRECTIONS)

        def surrogates(weights: Floats, best: Ints) -> tuple[Surrogates, Floats]:
            rows = self.mapped(np.asarray(X, dtype=np.float64))
            if self.kernel != "rbf":
                directions = linear_surrogates(rows, scores, weights, n_directions)
                return Surrogates(directions, linear=True), rows @ directions.T
            landmarks = rbf_landmarks(rows, scores, weights, self.support_vectors[best], self.gamma)
            moved = replace(
                self, support_vectors=landmarks, coef=np.zeros((1, len(landmarks))), intercept=np.zeros(1), columns=None
            )
            return Surrogates(landmarks, linear=False), moved.values(rows)

        return surrogates

    def training_rows(self) -> Any:
        """The support vectors."""
        return self.support_vectors

    def mapped(self, X: Any) -> Any:
        """Rows after `columns`."""
        return X if self.columns is None else self.columns.transform(source_of(X))

    # ---- the engine, and files -------------------------------------------------------------------------------------

    def pack(
        self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
    ) -> CompiledTerms:
        """Pack for the compiled engine: first the plan's terms in their order, then all others."""
        n = self.n_terms
        rest = np.setdiff1d(np.arange(n), order[order < n])
        order = np.concatenate([order, rest]).astype(np.int64)
        own = order < n
        kept = self._kept_features()
        vectors = self.support_vectors if kept is None else self.support_vectors[:, kept]
        width = vectors.shape[1]
        if len(order) * width * 12 > PACKED_BYTES:
            raise ValueError(
                f"{n} support vectors of {width} features take {len(order) * width * 12 / 2**30:.0f} GiB packed; at "
                f"most {PACKED_BYTES >> 30} GiB are allowed. Reduce the features, or train with fewer support vectors."
            )
        columns = self.columns
        mapped = None if columns is None or columns.is_identity else columns
        described = {
            "kernel": self.kernel,
            "gamma": self.gamma,
            "coef0": self.coef0,
            "degree": self.degree,
            "vectors": np.ascontiguousarray(vectors.toarray() if sparse.issparse(vectors) else vectors),
            "landmarks": None if own.all() else np.ascontiguousarray(surrogates.vectors),
            "order": order,
            "linear": (~own & surrogates.linear).astype(np.uint8),
            "coef": np.where(own, np.take(self.coef, np.where(own, order, 0), axis=1), 0.0),
            "intercept": np.ascontiguousarray(self.intercept),
            "n_features": self.n_features,
            "kept": kept,
            "scale": None if mapped is None else np.ascontiguousarray(mapped.scale),
            "shift": None if mapped is None else np.ascontiguousarray(mapped.shift),
            "scaling_magnitude": 0.0 if mapped is None else float(np.sqrt(np.sum(mapped.magnitude**2))),
            "fill": None if columns is None or columns.fill is None else np.ascontiguousarray(columns.fill),
            "single": precision == "float32",
        }
        return CompiledTerms(_core.Model.kernel(described))

    def _kept_features(self) -> NDArray[np.int32] | None:
        """Features that are non-zero in some support vector; None if all features are kept."""
        vectors = self.support_vectors
        if not sparse.issparse(vectors) or self.n_features <= SPARSE_FEATURES:
            return None
        return np.unique(np.append(vectors.indices, 0)).astype(np.int32)

    def facts(self) -> dict[str, Any]:
        """The kernel's name."""
        return {"kernel": self.kernel}

    @property
    def packed_size(self) -> str:
        """Number of support vectors and of their kept features."""
        kept = self._kept_features()
        return f"{self.n_terms} support vectors of {self.n_features if kept is None else len(kept)} features"

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory of packed vectors and of the arrays per term, feature and row."""
        n_terms, single = self.n_terms + n_surrogates, precision == "float32"
        is_sparse = sparse.issparse(self.support_vectors)  # sparse vectors are made dense first
        kept = self._kept_features()
        width = self.n_features if kept is None else len(kept)
        lanes = LANES[precision]
        per_kept_feature = 8 * is_sparse * n_terms + 4 * padded(n_terms, LANES["float32"]) * single
        per_kept_feature += 8 * padded(n_terms, LANES["float64"])
        outputs = 1 if self.n_outputs == 1 else padded(self.n_outputs, lanes)
        coefs = padded(n_terms, lanes) * (outputs * 12 + self.n_outputs * 24 + 64)
        # per feature: its kept index and scipy's column selection; per kept feature: a dense and a sparse row, in both
        # precisions (36 bytes)
        per_feature = (20 if is_sparse else 0) + 4 + 8
        buffers = (width + LANES["float32"]) * 36
        return int(width * per_kept_feature + coefs + self.n_features * per_feature + buffers)

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Bound of the memory of readouts."""
        return readout_bytes(stage_terms, self.n_outputs)

    def encode(self) -> dict[str, Any]:
        """The fields, and how wide sparse support vectors are."""
        return super().encode() | {"n_features": self.n_features}

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Read support vectors, coefficients, the kernel and `columns`."""
        n_features = section.integer("n_features", 1, MOST_FEATURES)
        coef = section.floats("coef", n_outputs, None)
        n_terms = coef.shape[1]
        require(n_terms, f"the array {section.called('coef')!r} has no columns")
        if section.holds("support_vectors"):
            vectors: Any = section.floats("support_vectors", n_terms, n_features)
        else:
            vectors = section.csr("support_vectors", n_terms, n_features)
            section.room.holds_sparse()
        columns = None
        if not section.lacks("columns"):
            inner = section.section("columns")
            inner.choice("type", (ColumnMap.__name__,))
            columns = ColumnMap(
                scale=inner.floats("scale", n_features),
                shift=inner.floats("shift", n_features),
                fill=None if inner.lacks("fill") else inner.floats("fill", n_features),
                magnitude=inner.floats("magnitude", n_features, low=0.0),
            )
            inner.done()
        return cls(
            kernel=section.choice("kernel", tuple(_NAMES)),
            gamma=section.number("gamma", 0.0),
            coef0=section.number("coef0"),
            degree=section.integer("degree", 0, MOST_DEGREE),
            support_vectors=vectors,
            coef=coef,
            intercept=section.floats("intercept", n_outputs),
            columns=columns,
        )


def _norms(rows: Any) -> NDArray[np.float64]:
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
