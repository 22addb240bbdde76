"""The estimator that answers like a fitted regressor: in full, within a tolerance, or with bands of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from ..models import AdditiveModel, fitted_for_good
from ..models.banded import checked_bands
from ..models.reading import Kind
from ..models.tolerances import values_within
from ..stopping.core.risks import Risk, require_risk
from .compiled.parameters import Parameters
from .compiled.planner import Planner
from .exact import fit_in_full
from .no_probabilities import NoProbabilities
from .within import UNITS, WithinTolerance


class EarlyExitRegressor(NoProbabilities, RegressorMixin, WithinTolerance):
    """Answer like a trained regressor, by wald's engine.

    Without `tolerance` and `bands`, every row is evaluated in full, and ``fit`` needs no rows. Values of trees are
    those of the library, bit for bit (forests: as with ``n_jobs=1``). Those of linear models and kernel machines, which
    add in another order, are the same within rounding.

    With a `tolerance`, a row leaves early with an estimate of its value as soon as the estimate is close enough for
    this row. On rows that need no targets, ``fit`` plans, and certifies P(the value is off by more than the tolerance)
    <= `risk`. With `bands`, the answer is the number of the band in which the value lies.

    Parameters
    ----------
    estimator : estimator
        A regressor of LightGBM, XGBoost or CatBoost, their boosters, what `wald.read_model` returns, scikit-learn's
        ``HistGradientBoostingRegressor``, ``GradientBoostingRegressor``, forests, ``DecisionTreeRegressor``, linear
        regressors, ``SVR``, ``NuSVR``, ``KernelRidge`` or ``GaussianProcessRegressor`` (its mean), of one value or
        several; a ``BaggingRegressor`` or ``VotingRegressor`` of these, a Pipeline that ends in one, or a
        ``TransformedTargetRegressor`` around it. A fitted one is taken as it is; of another, ``fit`` trains a clone.
    tolerance : float, list of float or None, default=None
        How far the value of a row that leaves early may be off, in the unit of what `predict` gives. For models of
        several values: of each of them, one number for all or one for each; a row is off if any value is. It needs a
        `risk` above 0. If it is larger than the values differ, all rows leave at the first stage, and ``fit`` warns.
        None: values in full.
    relative : bool, "std" or "quantile", default=False
        What the tolerance is a share of. True: the full value of the row, so that 0.1 stands for a tenth of it.
        ``"std"``: the standard deviation of the model's values; ``"quantile"``: the distance between their quantiles of
        5 % and 95 %. These two are measured on up to 1 000 of the rows given to ``fit`` (and at most a tenth of them),
        which then neither plan nor certify; `tolerance_` is what they give. False: the tolerance is absolute.
    bands : list of float or None, default=None
        Thresholds of the value, in rising order. `predict` then gives the number of the band, from 0 on; a value that
        equals a threshold belongs to the upper band.
    risk : float, None or dict from stratum to float, default=0
        With `tolerance`: bound on the probability that a value is off by more than the tolerance. With `bands`: as for
        `EarlyExitClassifier`, where classes are numbers of bands; 0, without rows: full evaluation. None: promise
        nothing, and report the measured rate.
    confidence, feature_costs, feature_groups, planner
        With `tolerance` or `bands`, as for `EarlyExitClassifier`.
    n_jobs : int or None, default=None
        Threads of ``predict``, as in joblib.
    random_state : int, RandomState instance or None, default=None
        With `tolerance` or `bands`, as for `EarlyExitClassifier`.

    Attributes
    ----------
    compiled_plan_ : CompiledPlan
        Answers rows with their values, stages and status at once.
    plan_, certificate_, monitor_
        As of `EarlyExitClassifier`. Where no plan pays, everything is evaluated, and the certificate says so.
    tolerance_ : float or list of float
        With `tolerance`: in the unit of the values, or with ``relative=True``, as it was given.
    estimator_ : estimator
        The fitted regressor.
    classes_ : ndarray of int of shape (n_bands,)
        Numbers of the bands; only with `bands`.
    schema_ : wald.sources.Schema
        The columns that `predict` reads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns, if the rows given to ``fit`` have names.

    See Also
    --------
    EarlyExitClassifier : Its notes on what a promise needs hold here, too.

    Notes
    -----
    The values of a call with a ``budget`` are estimates, of which nothing is promised. Whatever the function from
    scores to values, the promise is counted on values as `predict` gives them; the function only says how far a score
    may be off.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from wald import EarlyExitRegressor
    >>> X, y = make_regression(6000, 6, random_state=0)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X[:1000], y[:1000])
    >>> fast = EarlyExitRegressor(model).fit()
    >>> bool((fast.predict(X) == model.predict(X)).all()), fast.predict_one(X[0]) == model.predict(X[:1])[0]
    (True, np.True_)
    >>> near = EarlyExitRegressor(model, tolerance=20.0, risk=0.05, random_state=0).fit(X[1000:5000])
    >>> off = abs(near.predict(X[5000:]) - model.predict(X[5000:]))
    >>> bool((off > 20).mean() <= 0.05)
    True
    """

    kind: ClassVar[Kind] = "regressor"
    no_probabilities: ClassVar[str] = (
        "scores and probabilities are those of classes, and a regressor has none; predict gives its values, early "
        "within tolerance= or by bands=. EarlyExitClassifier(model, tolerance=) is for the probabilities of a "
        "classifier."
    )

    def __init__(
        self,
        estimator: Any,
        *,
        tolerance: float | Sequence[float] | None = None,
        relative: bool | Literal["std", "quantile"] = False,
        bands: Sequence[float] | None = None,
        risk: Risk = 0,
        confidence: float = 0.95,
        feature_costs: ArrayLike | Mapping[str, float] | None = None,
        feature_groups: Mapping[str, Sequence[int | str]] | None = None,
        planner: Planner | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        Parameters.__init__(
            self,
            estimator,
            bands=bands,
            risk=risk,
            confidence=confidence,
            feature_costs=feature_costs,
            feature_groups=feature_groups,
            planner=planner,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.tolerance = tolerance
        self.relative = relative

    def fit(self, X: Any = None, y: Any = None, *, groups: ArrayLike | None = None, **params: Any) -> Self:
        """Read the fitted model; with `tolerance` or `bands`, also plan and certify as `EarlyExitClassifier` does.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            With `tolerance` or `bands`, and a risk above 0: rows that the model was not trained on, as for
            `EarlyExitClassifier`. Otherwise, with a fitted model, some of these rows are compared, and their names are
            kept; None: only rows at the thresholds of the model are compared.
        y : array-like of shape (n_rows,) or (n_rows, n_values), default=None
            With a model that is not fitted: what a clone of it is trained on, together with ``X``, or with half of it
            where the other half plans and certifies. A `FrozenEstimator` or a booster is not trained, and does not use
            it.
        groups : array-like of shape (n_rows,), default=None
            As for `EarlyExitClassifier`, where rows plan and certify.
        **params : dict
            For the ``fit`` of a model that is not fitted.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For unsupported models, rows or parameters, and if the engine answers one of the rows otherwise than the
            model.
        """
        self._check_question()
        if self.tolerance is None and self.bands is None:
            if groups is not None:
                raise ValueError("groups are for rows that certify, and without tolerance or bands none do: leave out.")
            self.__dict__.pop("classes_", None)
            fitted: Self = fit_in_full(self, self._read, X, y, params)
            return fitted
        return super().fit(X, y, groups=groups, **params)

    def predict_one(
        self,
        x: Any,
        *,
        budget: float | None = None,
        deadline: float | None = None,
        return_cost: bool = False,
        details: bool = False,
        group: Any = None,
    ) -> Any:
        """Value of one row, in microseconds, or the number of its band.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict from feature name to value
            As for `EarlyExitClassifier.predict_one`.
        budget, deadline, return_cost, details, group
            As for `EarlyExitClassifier.predict_one`.

        Returns
        -------
        value, or (value, cost), or with ``details`` the `Answers` of one row
            For models of several values in full, an ndarray of shape (n_values,).
        """
        compiled = self._compiled()
        in_full = compiled.plan.evaluate_all and compiled.model.decision.valued and compiled.monitor is None
        if in_full and budget is None and deadline is None and not (return_cost or details) and group is None:
            return compiled.value_one(x)
        limits = {"budget": budget, "deadline": deadline}
        return super().predict_one(x, **limits, return_cost=return_cost, details=details, group=group)

    def _check_question(self) -> None:
        """Refuse parameters that do not go together."""
        require_risk(self.risk)
        if not isinstance(self.relative, bool | np.bool_) and self.relative not in UNITS:
            raise ValueError(f"relative must be True, False, 'std' or 'quantile'. Got {self.relative!r} instead.")
        self._check_numbers()
        if self.bands is not None:
            checked_bands(self.bands, self.kind)
        if self.tolerance is None:
            self._check_rest()

    def _check_rest(self) -> None:
        if self.relative is not False:
            raise ValueError(f"relative={self.relative!r} says what tolerance is, and there is none: leave it out.")
        names = ("feature_costs", "feature_groups", "planner")
        given = [name for name in names if getattr(self, name) is not None] if self.bands is None else []
        if self.bands is None and self.risk != 0:
            given.insert(0, f"risk={self.risk!r}")
        if given:
            raise ValueError(
                f"{', '.join(given)}: without tolerance and bands, every row is evaluated in full, so that nothing is "
                "planned or promised. Give tolerance=, the distance from the full value that you allow, or bands=."
            )

    def _read(self, inner: Any, **options: Any) -> AdditiveModel:
        model = super()._read(inner, **options)
        if self.tolerance is None:
            return model
        relative = not isinstance(self.relative, str) and bool(self.relative)
        return values_within(model, self._resolved(), relative)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(fitted_for_good(self.estimator) or self.estimator)
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output and self.bands is None
        return tags

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

        Raises
        ------
        ValueError
            With `bands`, whose numbers are no values.
        """
        if self.bands is not None:
            raise ValueError("score is about values, and with bands there are none: compare the numbers of bands.")
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
