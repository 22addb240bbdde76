"""Reference of the engine in plain NumPy: terms, readouts, decisions, and the loop over stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np

from wald import _core

#: What stands for the label of a row that has none, in answers that are `marked`.
HANDED_OVER, PENDING, NOT_FINITE = -_core.HANDED_OVER, -_core.PENDING, -_core.NOT_FINITE


def marked(found: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
    """Codes and stages of an engine's answer, with a negative mark instead of a code where there is no label."""
    codes, stages, _, status = (np.asarray(part) for part in found)
    without = status >= _core.HANDED_OVER
    assert (codes >= 0).all()
    assert not codes[without].any()
    return np.where(without, -status.astype(np.int32), codes), stages


@dataclass(frozen=True, eq=False)
class Machine:
    """A kernel machine: terms are kernel values, or plain dot products where ``linear``."""

    kernel: str
    gamma: float
    coef0: float
    degree: int
    vectors: np.ndarray  # (n_terms, n_kept)
    linear: np.ndarray  # (n_terms,)
    coef: np.ndarray  # (K, n_terms)
    intercept: np.ndarray  # (K,)
    n_features: int
    kept: np.ndarray | None = None
    scale: np.ndarray | None = None
    shift: np.ndarray | None = None
    fill: np.ndarray | None = None

    @property
    def n_terms(self) -> int:
        return len(self.vectors)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def pack(self, single: bool = False, **changes: Any) -> _core.Model:
        arguments: dict[str, Any] = {
            "kernel": self.kernel,
            "gamma": self.gamma,
            "coef0": self.coef0,
            "degree": self.degree,
            "vectors": self.vectors,
            "landmarks": None,
            "order": np.arange(self.n_terms),
            "linear": self.linear,
            "coef": self.coef,
            "intercept": self.intercept,
            "n_features": self.n_features,
            "kept": self.kept,
            "scale": self.scale,
            "shift": self.shift,
            "scaling_magnitude": 0.0 if self.shift is None else float(np.linalg.norm(self.shift)),
            "fill": self.fill,
            "single": single,
        }
        return _core.Model.kernel(arguments | changes)

    def read(self, X: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        X = np.asarray(X).astype(dtype)
        if self.scale is not None:
            X = X * self.scale.astype(dtype) + self.shift.astype(dtype)
        return X if self.fill is None else np.where(np.isnan(X), self.fill.astype(dtype), X)

    def terms(self, X: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        rows = self.read(X, dtype)
        vectors = np.zeros((self.n_terms, self.n_features), dtype=dtype)
        vectors[:, slice(None) if self.kept is None else self.kept] = self.vectors
        dots = rows @ vectors.T
        gamma, coef0 = dtype(self.gamma), dtype(self.coef0)
        if self.kernel == "rbf":
            norms = (rows**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1)
            values = np.exp(-gamma * np.maximum(norms - 2 * dots, 0))
        elif self.kernel == "poly":
            values = (gamma * dots + coef0) ** self.degree
        else:
            values = np.tanh(gamma * dots + coef0)
        return np.where(self.linear > 0, dots, values)

    def sizes(self, X: np.ndarray) -> np.ndarray:
        """Magnitudes that the rounding errors of the terms are proportional to."""
        x = np.linalg.norm(self.read(X), axis=1)[:, None]
        s = np.linalg.norm(self.vectors, axis=1)
        if self.kernel == "poly":
            size = (self.degree + 1) * (self.gamma * x * s + abs(self.coef0) + 1) ** self.degree
        else:
            size = 1 + self.gamma * (x + s) ** 2 + abs(self.coef0)
        return np.where(self.linear > 0, x * s, size)

    def scores(self, X: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        return self.terms(X, dtype) @ self.coef.T.astype(dtype) + self.intercept.astype(dtype)


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear model: terms are the values of the columns in ``order``."""

    order: np.ndarray
    coef: np.ndarray  # (K, d), the columns' own order
    intercept: np.ndarray
    fill: np.ndarray | None = None

    @property
    def n_terms(self) -> int:
        return len(self.order)

    @property
    def n_features(self) -> int:
        return self.coef.shape[1]

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def pack(self, single: bool = False, **changes: Any) -> _core.Model:
        assert not single
        arguments: dict[str, Any] = {
            "order": self.order,
            "coef": self.coef,
            "intercept": self.intercept,
            "fill": self.fill,
            "magnitude": np.abs(self.coef).max(axis=0),
            "bias_magnitude": float(np.abs(self.intercept).max()),
            "depth": float(self.n_features + 2),
        }
        return _core.Model.linear(**(arguments | changes))

    def read(self, X: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        X = np.asarray(X).astype(dtype)
        return X if self.fill is None else np.where(np.isnan(X), self.fill.astype(dtype), X)

    def terms(self, X: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        return self.read(X, dtype)[:, self.order]

    def sizes(self, X: np.ndarray) -> np.ndarray:
        return np.abs(self.terms(X))

    def scores(self, X: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        return self.read(X, dtype) @ self.coef.T.astype(dtype) + self.intercept.astype(dtype)


@dataclass(frozen=True)
class Decision:
    kind: str = "sign"
    n_classes: int = 2
    threshold: float = 0.0
    tie_positive: bool = False
    break_ties: bool = False

    @property
    def n_outputs(self) -> int:
        n = self.n_classes
        return {"sign": 1, "argmax": n, "votes": n * (n - 1) // 2}[self.kind]

    def worth(self, Z: np.ndarray) -> np.ndarray:
        """Margin of each class over its strongest rival (votes), or its score (argmax)."""
        if self.kind == "argmax":
            return Z
        smallest = np.full((len(Z), self.n_classes), np.inf, dtype=Z.dtype)
        for (i, j), z in zip(combinations(range(self.n_classes), 2), Z.T, strict=True):
            smallest[:, i] = np.minimum(smallest[:, i], z)
            smallest[:, j] = np.minimum(smallest[:, j], -z)
        return smallest

    def judge(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes and confidence of estimates of several outputs."""
        worth = self.worth(Z)
        best = worth.max(axis=1)
        if self.kind == "argmax":
            best = best - np.partition(worth, -2, axis=1)[:, -2]
        return worth.argmax(axis=1).astype(np.int32), best

    def codes(self, F: np.ndarray) -> np.ndarray:
        """The wrapped model's labels."""
        if self.kind == "sign":
            f = F[:, 0]
            return ((f > self.threshold) | ((f == self.threshold) & self.tie_positive)).astype(np.int32)
        if self.kind == "argmax":
            return F.argmax(axis=1).astype(np.int32)
        votes = np.zeros((len(F), self.n_classes), dtype=int)
        for (i, j), f in zip(combinations(range(self.n_classes), 2), F.T, strict=True):
            votes[:, i] += f > 0
            votes[:, j] += f <= 0
        return votes.argmax(axis=1).astype(np.int32)

    def clear(self, F: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """Rows whose label stays the same for any change of the scores within ``errors``."""
        if self.kind == "sign":
            return np.abs(F[:, 0] - self.threshold) > errors
        if self.kind == "argmax":
            return self.judge(F)[1] > 2 * errors
        return (np.abs(F) > errors[:, None]).all(axis=1)


@dataclass(frozen=True, eq=False)
class Plan:
    """Stages: numbers of terms, readouts, thresholds."""

    decision: Decision
    terms: Sequence[int]
    weights: Sequence[np.ndarray]  # (K, terms) each
    bias: Sequence[np.ndarray]  # (K,) each
    low: np.ndarray
    high: np.ndarray
    tie_margin: float = 0.0

    def engine(self, model: _core.Model, **changes: Any) -> _core.Engine:
        named: dict[str, Any] = {
            "kind": self.decision.kind,
            "n_classes": self.decision.n_classes,
            "threshold": self.decision.threshold,
            "tie_positive": self.decision.tie_positive,
            "break_ties": self.decision.break_ties,
            "saturation": np.inf,
            "tie_margin": self.tie_margin,
            "terms": np.asarray(self.terms, dtype=np.int64),
            "weights": list(self.weights),
            "bias": list(self.bias),
            "low": np.asarray(self.low, dtype=np.float64),
            "high": np.asarray(self.high, dtype=np.float64),
            "sums": None,
            "spread": None,
            "spread_bias": 1.0,
            "least_variance": 0.2,
            "costs": None,
        }
        named |= changes
        own = {"spread": named["spread"], "spread_bias": named["spread_bias"]}
        pairs = zip(named["weights"], named["bias"])  # noqa: B905
        readouts = [SimpleNamespace(weights=w, bias=b, **own) for w, b in pairs]
        stages = SimpleNamespace(**({"readouts": readouts} | named))
        decided = SimpleNamespace(decision=SimpleNamespace(**named), tie_margin=named["tie_margin"])
        return _core.Engine(model, decided, stages, named["low"], named["high"], named["costs"])

    def estimates(self, values: np.ndarray) -> np.ndarray:
        """Readouts (stages, N, K) of the terms ``values`` (N, n_terms)."""
        rows = [values[:, :m] @ w.T + b for m, w, b in zip(self.terms, self.weights, self.bias, strict=True)]
        return np.array(rows).reshape(len(self.terms), len(values), self.decision.n_outputs)

    def walk(self, seen: Any, full: np.ndarray, n_stages: int, at_end: str) -> tuple[np.ndarray, ...]:
        """Codes, stages and status from ``Engine.trace`` and the `marked` codes of the full model."""
        answers = [self._walk_row(seen, i, full[i], n_stages, at_end) for i in range(len(full))]
        return tuple(np.array(answers, dtype=np.int32).reshape(-1, 3).T)

    def _walk_row(self, seen: Any, i: int, full: int, n_stages: int, at_end: str) -> tuple[int, int, int]:
        one = self.decision.kind == "sign"
        worth = seen[i] if one else seen[1][i]
        if full == NOT_FINITE:
            return full, len(self.terms), _core.NOT_FINITE
        for t in range(n_stages):
            z = worth[t]
            low, high = worth.dtype.type(self.low[t]), worth.dtype.type(self.high[t])
            if not np.isfinite(z):
                return NOT_FINITE, t, _core.NOT_FINITE
            if z > high:
                return (1 if one else seen[0][i, t]), t, _core.EARLY
            if one and z < low:
                return 0, t, _core.EARLY
            if t == n_stages - 1 and at_end == "answer":
                if not one:
                    return seen[0][i, t], t, _core.OUT_OF_BUDGET
                threshold = worth.dtype.type(self.decision.threshold)
                positive = z > threshold or (z == threshold and self.decision.tie_positive)
                return int(positive), t, _core.OUT_OF_BUDGET
        if at_end == "full":
            return full, len(self.terms), _core.FULL if full >= 0 else -full
        return PENDING, len(self.terms), _core.PENDING
