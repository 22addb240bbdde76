"""The estimator that answers like a fitted regressor, many times as fast."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from ..models.reading import Kind
from .exact import ExactEstimator


class EarlyExitRegressor(RegressorMixin, ExactEstimator):
    """Answer like a trained regressor, by wald's engine.

    Every row is evaluated in full: each term moves a value, so that there is no early answer to be sure of. Values of
    trees are those of the library, bit for bit (forests: as with ``n_jobs=1``). Those of linear models and kernel
    machines, which add in another order, are the same within rounding.

    Parameters
    ----------
    estimator : estimator
        A regressor of LightGBM or XGBoost, their boosters, what `wald.read_model` returns, scikit-learn's
        ``HistGradientBoostingRegressor``, ``GradientBoostingRegressor``, ``RandomForestRegressor``,
        ``ExtraTreesRegressor``, ``DecisionTreeRegressor``, or ``BaggingRegressor`` of trees, linear regressors,
        ``SVR``, ``NuSVR`` or ``KernelRidge``, of one value or several; a Pipeline that ends in one, or a
        ``TransformedTargetRegressor`` around it. A fitted one is taken as it is; of another, ``fit`` trains a clone.
    n_jobs : int or None, default=None
        Threads of ``predict``, as in joblib.

    Attributes
    ----------
    compiled_plan_ : CompiledPlan
        Answers rows with their values, stages and status at once.
    estimator_ : estimator
        The fitted regressor.
    schema_ : wald.sources.Schema
        The columns that `predict` reads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns, if the rows given to ``fit`` have names.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from wald import EarlyExitRegressor
    >>> X, y = make_regression(2000, 6, random_state=0)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> fast = EarlyExitRegressor(model).fit()
    >>> bool((fast.predict(X) == model.predict(X)).all()), fast.predict_one(X[0]) == model.predict(X[:1])[0]
    (True, np.True_)
    """

    kind: ClassVar[Kind] = "regressor"

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination of the values, as scikit-learn's regressors give it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_values)
            True values.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        float
        """
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
