"""Tree models that are fitted for good, such as `TreeClassifier`: another library's trees, without that library."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from ..outputs import Labels
from ..sources import Schema
from ..sources.given import table_of
from ..sources.schema import Library
from ..steps.categories import CategoryCodes
from .links import Link, Links, as_they_are
from .packing import full_scores, pack
from .reading import Decompose, Reading
from .terms import Terms
from .trees import TreeTerms
from .units import Floats

if TYPE_CHECKING:
    from ..engine import Packed


#: About a NaN that a sparse row stores, where its trees are scikit-learn's.
STORED_NAN = (
    "X is sparse and stores NaN, which trees of scikit-learn refuse, or send to the right at every split. Give "
    "X.toarray(), where NaN is a missing value."
)


def require_columns(model: Any, X: Any) -> None:
    """Raise ValueError if rows have another number of columns than a model; names are not looked at."""
    if len(X.shape) != 2 or X.shape[1] != model.n_features_in_:
        found = f"{X.shape[1]} features" if len(X.shape) == 2 else f"the shape {X.shape}"
        raise ValueError(
            f"X has {found}, but {type(model).__name__} is expecting {model.n_features_in_} features as input."
        )


class FittedForGood(BaseEstimator):
    """An estimator that cannot be fitted again. A clone is the object itself, and a pickle holds its parameters."""

    refusal: ClassVar[str]

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse to fit."""
        raise TypeError(self.refusal)

    # compiled handles cannot be pickled, and are rebuilt when the object is unpickled
    def __getstate__(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = self._accepts()
        return tags

    def _accepts(self) -> tuple[bool, bool]:
        """Whether rows may be sparse, and hold NaN."""
        return True, True


@dataclass(eq=False, repr=False)
class TreeModel(FittedForGood):
    """A fitted tree ensemble, evaluated by wald.

    Parameters
    ----------
    reading : Reading
    library : {"scikit-learn", "lightgbm", "xgboost", "catboost"}, default="scikit-learn"
    """

    refusal = "A tree model of a file cannot be fitted: train a model with its own library, and read that."

    reading: Reading
    library: Library = "scikit-learn"

    def __post_init__(self) -> None:
        reading = self.reading
        self.n_features_in_ = reading.terms.n_features
        if reading.names:
            self.feature_names_in_ = np.array(reading.names, dtype=object)
        self._schema = Schema(self.n_features_in_, tuple(map(str, reading.names)) or None, self.library)
        self.packed = pack(reading.terms)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{type(self).__name__}({self.reading.terms.n_terms} trees, {self.n_features_in_} features)"

    @staticmethod
    def takes(terms: Terms) -> TypeGuard[TreeTerms]:
        """Whether terms are those of a tree ensemble."""
        return isinstance(terms, TreeTerms)

    def _scores(self, X: Any, packed: Packed | None = None) -> Floats:
        codes = self.reading.steps[0][1] if self.reading.steps else None
        if not hasattr(codes, "feature_names_in_"):  # such codes find columns by name
            X = table_of(X, self._schema, codes if isinstance(codes, CategoryCodes) else None)
        if codes is not None:
            X = codes.transform(X)
        if self.reading.dense_only and sparse.issparse(X):
            raise ValueError("X is sparse, and the model of this file takes dense rows only. Give X.toarray().")
        terms = self.reading.terms
        dtypes: Any = [np.float64, np.float32]
        if isinstance(terms, TreeTerms) and terms.f32_rows and not terms.accepts.infinity:
            dtypes = np.float32  # in which a number may be infinite
        finite: Any = False if terms.accepts.infinity else "allow-nan" if terms.accepts.nan else True
        rows = check_array(X, accept_sparse="csr", dtype=dtypes, ensure_all_finite=finite, ensure_min_samples=0)
        require_columns(self, rows)
        if sparse.issparse(rows) and not terms.accepts.stored_nan and np.isnan(rows.data).any():
            raise ValueError(STORED_NAN)
        return full_scores(packed or self.packed, rows)

    def _accepts(self) -> tuple[bool, bool]:
        return not self.reading.dense_only, self.reading.terms.accepts.nan


def _has_probabilities(self: TreeClassifier) -> bool:
    if self.link.kind == "none":
        raise AttributeError("This model has no probabilities: its objective compares scores.")
    return True


def _has_scores(self: TreeClassifier) -> bool:
    if not self.scored or self.link.kind == "mean":
        raise AttributeError("This model has no decision_function, like that of its library.")
    return True


@dataclass(eq=False, repr=False)
class TreeClassifier(ClassifierMixin, TreeModel):
    """A fitted tree ensemble, evaluated by wald.

    `wald.read_model` makes it from a file of another library; `wald.load` makes it where a file holds the trees of a
    model and not the model. Labels and scores are those of the library. It cannot be fitted again, and a clone is the
    object itself.

    Parameters
    ----------
    reading : Reading
        The trees, their decision, classes and names of columns; codes of the categories in data frames are its only
        step. Scores nearer than its tie margin have probabilities that may be equal after rounding, and are labelled by
        these.
    library : {"scikit-learn", "lightgbm", "xgboost", "catboost"}, default="scikit-learn"
        Whose rule matches the names of columns; see ``wald.sources.Schema``.
    scored : bool, default=True
        Whether it has a `decision_function`, which a calibrator around it then reads in place of probabilities.
    summed : bool, default=False
        Whether that is the sum of the trees whose mean decides, as of a random forest of LightGBM.

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

    scored: bool = True
    summed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        reading = self.reading
        self.classes_ = np.arange(reading.decision.n_answers) if reading.classes is None else np.array(reading.classes)

    @property
    def link(self) -> Link:
        """The function from scores to probabilities."""
        return self.reading.links.link or Link("none")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{super().__repr__()[:-1]}, classes={self.classes_})"

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, with the library's own ties.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores, decision, tie_margin = self._scores(X), self.reading.decision, self.reading.tie_margin
        assert isinstance(decision, Labels)
        codes, confidence = decision.answers(scores), decision.distances(scores)
        near = confidence <= 2 * tie_margin if tie_margin > 0 else np.zeros(len(codes), dtype=bool)
        near |= np.abs(scores).max(axis=1, initial=0.0) > decision.saturation
        if near.any():
            codes[near] = self.link.codes(scores[near], decision)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels

    # available_if has no types, here and below
    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Raw scores, with the bits of the library's own.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return as_they_are(self._scores(X, self._sums if self.summed else None))

    @cached_property
    def _sums(self) -> Packed:
        terms = self.reading.terms
        return pack(replace(terms, divisor=1.0) if isinstance(terms, TreeTerms) else terms)

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


def read_classifier(model: TreeClassifier, decompose: Decompose) -> Reading:
    """The reading that it was made of, with the links of the methods that it has."""
    scores = as_they_are if model.scored and not model.summed and model.link.kind != "mean" else None
    return replace(model.reading, links=Links.of(model.link, decision_function=scores), names=(), classes=None)
