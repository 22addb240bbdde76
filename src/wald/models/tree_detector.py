"""`TreeDetector`: the trees of an isolation forest, without the forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from .links import PathLink
from .tree_classifier import TreeModel
from .units import Floats


@dataclass(eq=False, repr=False)
class TreeDetector(OutlierMixin, TreeModel):
    """A fitted isolation forest, evaluated by wald.

    `wald.load` makes it where a file holds the trees of a forest and not the forest. It cannot be fitted again, and a
    clone is the object itself.

    Parameters
    ----------
    reading : Reading
        The depths of the leaves, their threshold, and the function from sums of depths to scores.
    library : {"scikit-learn"}, default="scikit-learn"
        Whose rule matches the names of columns; see ``wald.sources.Schema``.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the forest knows the names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from wald.models.readers.outliers import read_isolation_forest
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> forest = IsolationForest(n_estimators=20, random_state=0).fit(X)
    >>> detector = TreeDetector(read_isolation_forest(forest, None))
    >>> detector, bool((detector.score_samples(X) == forest.score_samples(X)).all())
    (TreeDetector(20 trees, 4 features), True)
    """

    @property
    def link(self) -> PathLink:
        """The function from sums of depths to scores."""
        link = self.reading.links.path_link
        assert link is not None
        return link

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for outliers, and 1 for inliers.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        int64 ndarray of shape (n_rows,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def decision_function(self, X: Any) -> Floats:
        """The forest's own scores: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows,)
        """
        return self.link.decision_function(self._scores(X))

    def score_samples(self, X: Any) -> Floats:
        """The forest's own scores without its offset: the lower, the odder.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows,)
        """
        return self.link.score_samples(self._scores(X))
