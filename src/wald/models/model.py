"""A fitted classifier, seen as a sum of terms and a rule that turns sums into labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .columns import READ_BY_TRANSFORM
from .decision import Decision
from .terms import Terms
from .watch import Watch, digest

__all__ = ["AdditiveModel"]

# The dtypes that scikit-learn's scalers and imputers keep; they turn any other into float64. Rows of float16 never
# reach them: see `as_met`.
KEPT_BY_STEPS = (np.float32, np.float64)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """What `decompose` reads from a fitted classifier.

    It owns copies of all numbers; `estimator` and `preprocessing` are shared.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator whose labels are promised. It answers the rows that are handed over.
    terms : Terms
        The score as a sum, for the rows that `preprocessing` gives (raw rows without preprocessing).
    decision : Decision
        From scores to labels.
    preprocessing : Pipeline or None
        Fitted steps that are applied to raw rows first; None when rows meet the terms directly.
    classes : ndarray of shape (n_classes,)
        The labels that codes stand for.
    n_features_in : int or None
        Number of raw columns, where the estimator knows it.
    feature_names_in : ndarray of str or None
        Their names, where it knows them.
    allow_nan : bool
        Whether a NaN among the rows that meet the terms has an answer.
    tie_margin : float, default=0.0
        Absolute. A score within this of the threshold, or at this distance, must be handed to the estimator:
        the rounding of its own threshold on probabilities decides there, not the score.
    dtype : dtype, default=float64
        Dtype of the wrapped model's coefficients.
    folded : bool, default=False
        Whether the terms include steps of a pipeline, which compute in the dtype of the rows.
    steps : tuple of transformers, default=()
        These steps, in their order; empty where only their numbers are there.
    centres : bool, default=False
        Whether a folded step moves zeros, which only dense rows show it.
    leaf : estimator or None, default=None
        The innermost model, behind all steps; None where only its numbers are there.
    ruled : bool, default=False
        Whether a threshold or a calibrator decides, and not the innermost model itself.
    row_by_row : {"always", "sparse", "never"}, default="never"
        For which rows the innermost model's arithmetic for a row knows nothing of the rows beside it.
    by_product : bool, default=False
        Whether the innermost model adds up ``X @ coef_.T + intercept_``.
    dense_only : bool, default=False
        Whether the innermost model refuses sparse rows, which the terms take.
    watch : Watch, default=Watch(())
        The attributes that `changed` compares.
    """

    estimator: Any
    terms: Terms
    decision: Decision
    preprocessing: Any
    classes: NDArray[Any]
    n_features_in: int | None
    feature_names_in: NDArray[Any] | None
    allow_nan: bool
    tie_margin: float = 0.0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    folded: bool = False
    steps: tuple[Any, ...] = ()
    centres: bool = False
    leaf: Any = None
    ruled: bool = False
    row_by_row: Literal["always", "sparse", "never"] = "never"
    by_product: bool = False
    dense_only: bool = False
    watch: Watch = field(default_factory=lambda: Watch(()), repr=False)

    def working_precision(self, dtype: DTypeLike) -> float:
        """Give the unit roundoff in which the wrapped model computes.

        Parameters
        ----------
        dtype : dtype-like
            Dtype of the rows that meet the terms.

        Returns
        -------
        float
            ``eps / 2`` of the coarsest dtype on the way: 2**-24 for float32, 2**-53 for float64.
        """
        rows = np.dtype(dtype)
        if rows.kind not in "biuf":  # scikit-learn reads anything else as float64, or refuses it
            rows = np.dtype(np.float64)
        used = []
        if self.folded:
            rows = rows if rows.type in KEPT_BY_STEPS else np.dtype(np.float64)
            used += [rows, *_learnt_dtypes(self.steps)]  # sparse rows meet the inverse of a scale, in its own dtype
        computed = np.result_type(rows, self.dtype)
        used.append(computed if computed.kind == "f" else np.dtype(np.float64))
        return max(2.0**-53, *(float(np.finfo(each).eps) / 2 for each in used))

    def fingerprint(self) -> str:
        """Hash of every number that decides a label, as it was when the model was read.

        Whether the estimator has changed since, down to the last bit, is told by
        ``decompose(model.estimator).fingerprint()``.

        Returns
        -------
        str
            A SHA-256 in hexadecimal, the same in every process.
        """
        return digest(self.terms, self.decision, self.preprocessing, self.classes, self.allow_nan, self.tie_margin)

    def changed(self) -> str | None:
        """Look whether the estimator is still the one that was read, in microseconds.

        Refits, replaced attributes and changes in place of arrays of up to 16 KiB are noticed. Of larger
        arrays the beginning is compared; `fingerprint` covers the rest.

        Returns
        -------
        str or None
            A sentence that says what changed, or None.
        """
        return self.watch.changed()


def _learnt_dtypes(steps: tuple[Any, ...]) -> list[np.dtype[Any]]:
    """Dtypes of the numbers that folded steps have learnt."""
    learnt = (getattr(step, name) for step in steps for name in READ_BY_TRANSFORM[type(step)])
    return [value.dtype for value in learnt if isinstance(value, np.ndarray) and value.dtype.kind == "f"]
