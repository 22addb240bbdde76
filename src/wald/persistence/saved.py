"""`SavedModel`: predicts in place of an estimator that the file does not describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..early_exit.compiled.rows import check_finite
from ..engine import Packed
from ..engine.threads import effective_threads
from ..models import AdditiveModel
from ..models.links import as_they_are
from ..models.packing import pack
from ..models.tree_classifier import FittedForGood
from ..plan import Plan
from ..sources import source_of


def _has_scores(saved: Any) -> bool:
    """Whether the terms are scores; those of one class are none, whatever the estimator's own scores are."""
    return len(saved.classes_) > 1


@dataclass(eq=False, repr=False)
class SavedModel(ClassifierMixin, FittedForGood):
    """The full model of a file, without the estimator that it was read from.

    After `load`, ``estimator_`` of a classifier is a `SavedModel` if the file does not describe the estimator, of which
    `save` warned. It evaluates every term in float64 with the engine's own arithmetic, and decides ties by that score,
    where the estimator would decide by its own rounding. A row's answer depends on the row alone. There are no
    probabilities, and there is nothing to fit.

    Parameters
    ----------
    model : AdditiveModel
        The terms, the decision and the columns of the estimator.
    plan : Plan
        Terms are packed in its order, to be shared.
    fingerprint : str
        Fingerprint of the wrapped model when it was saved.
    n_jobs : int or None, default=None
        Number of threads, as in joblib; initially the classifier's.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> import wald
    >>> class Own(LogisticRegression):
    ...     "A class that no file describes."
    >>> X, y = make_classification(2000, random_state=0)
    >>> linear = Own().fit(X[:500], y[:500])
    >>> fast = wald.EarlyExitClassifier(FrozenEstimator(linear), risk=0.05, random_state=0).fit(X[500:])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     raw = wald.persistence.to_bytes(fast)
    >>> saved = wald.persistence.from_bytes(raw).estimator_
    >>> bool((saved.predict(X) == linear.predict(X)).all()), hasattr(saved, "predict_proba")
    (True, False)
    """

    model: AdditiveModel
    plan: Plan
    fingerprint: str
    n_jobs: int | None = None

    refusal = "A saved model cannot be fitted: wrap the estimator that it was made from."

    def __post_init__(self) -> None:
        model, plan = self.model, self.plan
        self.classes_ = model.classes
        if model.schema.n_columns is not None:
            self.n_features_in_ = model.schema.n_columns
        self.packed: Packed = pack(model.terms, plan.terms, plan.surrogates, plan.precision)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"SavedModel({self.model.terms.description}, classes={self.classes_})"

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, from every term.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        labels: NDArray[Any] = self.classes_.take(self.model.decision.answers(self._scores(X)))
        return labels

    @available_if(_has_scores)  # type: ignore[untyped-decorator]  # available_if has no types
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, from every term.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows,), (n_rows, n_classes) or (n_rows, n_classes * (n_classes - 1) / 2)
            Two classes; one score per class; one score per pair of classes, in the order of
            ``SVC(decision_function_shape="ovo")``. They are those of the innermost model, before any threshold or
            calibration.
        """
        return as_they_are(self._scores(X))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        source = source_of(X, self.model.schema)
        n_threads = effective_threads(self.n_jobs)
        scores, _ = self.packed.scores(source, lambda dtype: 0.0, n_threads)
        if np.isnan(scores).any():
            check_finite(self.model, source)
        return scores

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("predict_proba", "predict_log_proba"):
            raise AttributeError(
                f"A saved model has no {name}: probabilities are the estimator's own. Pass it to "
                "wald.load(path, estimator=...)."
            )
        if name == "decision_function":
            raise AttributeError(
                "A saved model of one class has no decision_function: its file holds the label alone. Pass the "
                "estimator to wald.load(path, estimator=...)."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _accepts(self) -> tuple[bool, bool]:
        return self.model.terms.accepts.sparse, self.model.allow_nan
