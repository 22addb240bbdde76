"""`TreeClassifier`: a tree ensemble of another library, which answers without that library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from ..engine import Decision
from ..engine.threads import effective_threads
from ..sources import Schema, source_of
from ..sources.schema import Library
from .links import Link
from .terms import Terms
from .trees import TreeTerms
from .units import NO_TERMS, Floats

__all__ = ["TreeClassifier", "require_columns"]


def require_columns(model: Any, X: Any) -> None:
    """Raise ValueError if rows have another number of columns than a model; names are not looked at."""
    if len(X.shape) != 2 or X.shape[1] != model.n_features_in_:
        found = f"{X.shape[1]} features" if len(X.shape) == 2 else f"the shape {X.shape}"
        raise ValueError(
            f"X has {found}, but {type(model).__name__} is expecting {model.n_features_in_} features as input."
        )


def _has_probabilities(self: TreeClassifier) -> bool:
    if self.link.kind == "none":
        raise AttributeError("This model has no probabilities: its objective compares scores.")
    return True


@dataclass(eq=False, repr=False)
class TreeClassifier(ClassifierMixin, BaseEstimator):
    """A fitted tree ensemble, evaluated by wald.

    `wald.read_model` makes it from a file of another library; `wald.load` makes it where a file holds the trees of a
    model and not the model. Labels and scores are those of the library. It cannot be fitted again, and a clone is the
    object itself.

    Parameters
    ----------
    terms : TreeTerms
    decision : Decision
    link : Link
        The function from scores to probabilities.
    classes : ndarray of shape (n_classes,)
    tie_margin : float, default=0.0
        Scores nearer than this have probabilities that may be equal after rounding, and are labelled by these.
    feature_names : sequence of str, default=()
        Names of the columns; empty if the model does not know them.
    dtype : dtype, default=float64
        The precision in which the library adds leaves.
    library : {"scikit-learn", "lightgbm", "xgboost", "catboost"}, default="scikit-learn"
        Whose rule matches the names of columns; see ``wald.sources.Schema``.
    categories : transformer or None, default=None
        Codes of the categories in data frames, as the library learned them; None for a model of numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the model knows the names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> import wald
    >>> text = '''tree
    ... num_tree_per_iteration=1
    ... max_feature_idx=1
    ... objective=binary sigmoid:1
    ... feature_names=age income
    ...
    ... Tree=0
    ... num_leaves=2
    ... split_feature=1
    ... threshold=0.5
    ... decision_type=2
    ... left_child=-1
    ... right_child=-2
    ... leaf_value=-1.5 2
    ... '''
    >>> model = wald.read_model(text.encode())
    >>> model.predict(np.array([[3.0, 0.0], [3.0, 1.0]])), model.feature_names_in_
    (array([0, 1]), array(['age', 'income'], dtype=object))
    """

    terms: TreeTerms
    decision: Decision
    link: Link
    classes: NDArray[Any]
    tie_margin: float = 0.0
    feature_names: Any = ()
    dtype: Any = np.float64
    library: Library = "scikit-learn"
    categories: Any = None

    def __post_init__(self) -> None:
        self.classes_ = np.array(self.classes)
        self.n_features_in_ = self.terms.n_features
        if len(self.feature_names):
            self.feature_names_in_ = np.array(self.feature_names, dtype=object)
        self._schema = Schema(self.terms.n_features, tuple(map(str, self.feature_names)) or None, self.library)
        self.packed = self.terms.pack(NO_TERMS)

    # compiled handles cannot be pickled, and are rebuilt when the object is unpickled
    def __getstate__(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"TreeClassifier({self.terms.n_terms} trees, {self.n_features_in_} features, classes={self.classes_})"

    @staticmethod
    def takes(terms: Terms) -> TypeGuard[TreeTerms]:
        """Whether terms are those of a tree ensemble.

        Parameters
        ----------
        terms : Terms

        Returns
        -------
        bool
        """
        return isinstance(terms, TreeTerms)

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse to fit: the model is fitted, and its library is not here."""
        raise TypeError("A TreeClassifier cannot be fitted: train a model with its own library, and read that.")

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, with the library's own ties.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self._scores(X)
        codes, confidence = self.decision.answers(scores), self.decision.distances(scores)
        near = confidence <= 2 * self.tie_margin if self.tie_margin > 0 else np.zeros(len(codes), dtype=bool)
        near |= np.abs(scores).max(axis=1, initial=0.0) > self.decision.saturation
        if near.any():
            codes[near] = self.link.codes(scores[near], self.decision)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels

    def decision_function(self, X: Any) -> Floats:
        """Raw scores, with the bits of the library's own.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 0] if self.decision.n_outputs == 1 else scores

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Probabilities of the classes; float32 where the library computes in float32.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.link.probabilities(self._scores(X))

    def _scores(self, X: Any) -> Floats:
        if not hasattr(self.categories, "feature_names_in_"):  # such codes find columns by name
            X = source_of(X, self._schema).rows
        if self.categories is not None:
            X = self.categories.transform(X)
        rows = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0
        )
        require_columns(self, rows)
        return self.packed.scores(rows, lambda dtype: 0.0, effective_threads(-1))[0]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.terms.nan
        return tags
