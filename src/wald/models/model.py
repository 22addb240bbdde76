"""A fitted classifier as a sum of terms and a decision rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..outputs import Output, Values
from ..outputs.words import BANDS, LABELS, OUTLIERS, PROBABILITIES, SCORES, Words, words_within
from ..sources import Schema
from ..steps import Chain, Codes, Folded, RawColumns
from .banded import Banded
from .encoding import facts
from .links import NO_LINKS, Links
from .reading import Kind, Reading
from .terms import Terms, least_precision
from .texts import TextScores
from .watch import Watch, digest

# Dtypes that scikit-learn's scalers and imputers preserve; they convert others to float64. float16 rows are converted
# before, by `as_met`.
KEPT_BY_STEPS = (np.float32, np.float64)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A fitted classifier as `decompose` reads it: its terms, its decision and its preprocessing.

    It owns copies of all numbers; `estimator` and `preprocessing` are shared.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator, whose labels are the reference. It also labels the rows that the engine leaves undecided.
    terms : Terms
        The score as a sum, for rows after `preprocessing`.
    decision : Output
        What is asked of the scores.
    preprocessing : Chain, Codes or None
        The step from raw rows to the columns of the terms; None if the terms take raw rows.
    classes : ndarray of shape (n_classes,)
        Label of each code.
    schema : Schema
        The raw columns, and how given names are matched with them.
    allow_nan : bool
        Whether preprocessed rows may hold NaN.
    tie_margin : float, default=0.0
        Largest absolute distance of a score from the threshold at which the rounding of the estimator's own threshold
        on probabilities may decide. The estimator itself must label such rows.
    dtype : dtype, default=float64
        Dtype of the wrapped model's coefficients.
    folded : Folded or None, default=None
        What the terms include of a pipeline.
    leaf : estimator or None, default=None
        The innermost model, after all steps; None if the model was loaded without it.
    ruled : bool, default=False
        Whether a threshold classifier or a calibrator around the innermost model decides.
    row_by_row : {"always", "sparse", "never"}, default="never"
        For which rows the innermost model's scores are independent of the batch, to the last bit.
    by_product : bool, default=False
        Whether the innermost model's scores are ``X @ coef_.T + intercept_``.
    dense_only : bool, default=False
        Whether the innermost model refuses sparse rows, which the terms accept.
    texts : TextScores or None, default=None
        For rows that are texts: their full scores, without `preprocessing`. None if only `preprocessing` can read them.
    links : Links, default=NO_LINKS
        What the estimator's methods return for full scores that are exact.
    inside : Reading or None, default=None
        The innermost model as it was read, if a threshold classifier or a calibrator around it decides, and a file can
        hold the trees inside without the library.
    watch : Watch, default=Watch(())
        The attributes that `changed` compares.
    kind : {"classifier", "outlier detector", "regressor", "ranker"}, default="classifier"
        What the innermost model is.
    """

    estimator: Any
    terms: Terms
    decision: Output
    preprocessing: Chain | Codes | None
    classes: NDArray[Any]
    schema: Schema
    allow_nan: bool
    tie_margin: float = 0.0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    folded: Folded | None = None
    leaf: Any = None
    ruled: bool = False
    row_by_row: Literal["always", "sparse", "never"] = "never"
    by_product: bool = False
    dense_only: bool = False
    texts: TextScores | None = None
    links: Links = NO_LINKS
    inside: Reading | None = None
    watch: Watch = field(default_factory=lambda: Watch(()), repr=False)
    kind: Kind = "classifier"

    @property
    def words(self) -> Words:
        """What the answers are called: labels, outliers and inliers, bands, or values."""
        if isinstance(self.estimator, Banded):  # of one threshold, bands are decided like two labels
            return BANDS
        if self.kind == "ranker":
            return SCORES
        if self.answers_probabilities:
            return PROBABILITIES if self.tolerance is None else words_within(self.tolerance, PROBABILITIES)
        words = self.decision.words
        return OUTLIERS if self.kind == "outlier detector" and words is LABELS else words

    @property
    def answers_probabilities(self) -> bool:
        """Whether answers are the probabilities of a classifier."""
        return self.kind == "classifier" and self.decision.valued

    @property
    def tolerance(self) -> str | None:
        """In words, how far values or probabilities may be off; None if rows do not leave with such."""
        return self.decision.most if isinstance(self.decision, Values) and self.decision.by_margin else None

    @property
    def strata(self) -> NDArray[Any]:
        """The classes that a promise may name: none where answers are values or probabilities."""
        return self.classes[:0] if self.decision.valued else self.classes

    @property
    def event(self) -> str:
        """Noun for an early answer that loses, in certificates; see `Output.event`."""
        if self.answers_probabilities:
            return f"probability off by more than {self.tolerance}" if self.tolerance else PROBABILITIES.answer
        return BANDS.other if self.words is BANDS else self.decision.event

    @property
    def column(self) -> str:
        """What columns of answers are called; see `Output.column`."""
        if self.answers_probabilities:
            return PROBABILITIES.answer
        return BANDS.answer if self.words is BANDS else self.decision.column

    def working_precision(self, dtype: DTypeLike) -> float:
        """Give the unit roundoff in which the wrapped model computes.

        Parameters
        ----------
        dtype : dtype-like
            Dtype of the preprocessed rows.

        Returns
        -------
        float
            ``eps / 2`` of the least precise dtype in the computation: 2**-24 for float32, 2**-53 for float64.
        """
        rows = np.dtype(dtype)
        if rows.kind not in "biuf":  # scikit-learn converts other kinds to float64, or refuses them
            rows = np.dtype(np.float64)
        used = []
        if self.folded is not None:
            rows = rows if rows.type in KEPT_BY_STEPS else np.dtype(np.float64)
            used += [rows, *self.folded.learnt_dtypes]  # with sparse rows, 1 / scale_ has the dtype of scale_
        computed = np.result_type(rows, self.dtype)
        used.append(computed if computed.kind == "f" else np.dtype(np.float64))
        return max(2.0**-53, least_precision(self.terms), *(float(np.finfo(each).eps) / 2 for each in used))

    @property
    def serves_full(self) -> bool:
        """Whether wald's engine serves the full model, for raw rows."""
        return self.texts is not None or self.terms.planning.rest.serves_full

    @property
    def n_features_in(self) -> int | None:
        """Number of raw columns; None where rows are texts or dicts."""
        return self.schema.n_columns

    @property
    def feature_names_in(self) -> NDArray[Any] | None:
        """Names of the raw columns as the estimator knows them; None if it knows none."""
        return None if self.schema.of_rows else self.schema.array

    @property
    def source_columns(self) -> NDArray[np.int64] | None:
        """Raw column of each column of the terms; None if the terms' columns are computed from several."""
        if self.preprocessing is None:
            return np.arange(self.terms.n_features)
        return self.preprocessing.source_columns if isinstance(self.preprocessing, Codes | RawColumns) else None

    @property
    def steps(self) -> tuple[Any, ...]:
        """The transformers that the terms include, in their order."""
        return () if self.folded is None else self.folded.transformers

    @property
    def centres(self) -> bool:
        """Whether one of them maps zeros to other values, which it does with dense rows only."""
        return self.folded is not None and self.folded.centres

    def facts(self) -> dict[str, Any]:
        """Facts that ``wald inspect`` prints of the terms."""
        return facts(self.terms)

    def fingerprint(self) -> str:
        """Hash of every number that decides a label, as it was when the model was read.

        If the estimator has changed since, even in one bit, ``decompose(model.estimator).fingerprint()`` differs.

        Returns
        -------
        str
            A SHA-256 in hexadecimal, the same in every process.
        """
        before = None if self.preprocessing is None else self.preprocessing.identity
        return digest(self.terms, self.decision, before, self.classes, self.allow_nan, self.tie_margin)

    def changed(self) -> str | None:
        """Check in microseconds whether the estimator has changed since it was read.

        Refits, replaced attributes, other numbers of trees, and changes in place of arrays of up to 16 KiB are
        detected. Of larger arrays only the beginning is compared, of scikit-learn's trees those of the first one, and
        new values of single leaves of a booster (``set_leaf_output``) are not noticed; `fingerprint` covers the rest.

        Returns
        -------
        str or None
            A sentence that says what changed, or None.
        """
        return self.watch.changed()
