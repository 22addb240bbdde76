"""`TreeRegressor`: another library's trees whose answers are values, without that library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from .tree_classifier import TreeModel


@dataclass(eq=False, repr=False)
class TreeRegressor(RegressorMixin, TreeModel):
    """A fitted tree ensemble whose answers are values or scores of a ranking, evaluated by wald.

    `wald.read_model` makes it from a file of another library. It cannot be fitted again, and a clone is the object
    itself.

    Parameters
    ----------
    reading : Reading
        The trees, the function from their sums to values, and names of columns; codes of the categories in data frames
        are its only step.
    library : {"scikit-learn", "lightgbm", "xgboost", "catboost"}, default="scikit-learn"
        Whose rule matches the names of columns; see ``wald.sources.Schema``.

    Attributes
    ----------
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
    ... objective=poisson
    ... feature_names=age income
    ...
    ... Tree=0
    ... num_leaves=2
    ... split_feature=1
    ... threshold=0.5
    ... decision_type=2
    ... left_child=-1
    ... right_child=-2
    ... leaf_value=0 2
    ... '''
    >>> wald.read_model(text.encode()).predict(np.array([[3.0, 0.0], [3.0, 1.0]])).round(3).tolist()
    [1.0, 7.389]
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """Values, with the bits of the library's own.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_values)
        """
        values = self.reading.links.predict
        assert values is not None
        return values(self._scores(X))
