"""The estimator that wraps a fitted outlier detector and stops as soon as it is clear that a row is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if

from ..engine.threads import effective_threads
from ..models.reading import Kind
from ..stopping.core.risks import Risk
from ..stopping.core.strata import renamed
from .no_probabilities import NoProbabilities
from .planned import PlannedEstimator, wrapped_has

#: The labels that the words of a risk stand for.
LABELS = {"outlier": -1, "inlier": 1}


class EarlyExitOutlierDetector(NoProbabilities, OutlierMixin, PlannedEstimator):
    """Find outliers like a trained detector, and stop evaluating each row as soon as its label is clear.

    Most rows are inliers, and few trees or support vectors show it. ``fit`` plans on rows without labels after which of
    them a row may leave, and certifies on other rows how often the early label differs from that of full evaluation.

    Parameters
    ----------
    estimator : IsolationForest, OneClassSVM or SGDOneClassSVM, or a Pipeline that ends in one
        A fitted detector is taken as it is. Of another, ``fit`` trains a clone on a random half of the rows, and plans
        and certifies on the rest.
    bands : list of float or None, default=None
        Thresholds of ``decision_function``, in rising order, below 0 for outliers. `predict` then gives the number of
        the band, from 0 on, the oddest rows first; a score that equals a threshold belongs to the upper band. Strata
        of `risk` are then numbers of bands.
    risk : float, None or dict from stratum to float, default=0.001
        As for `EarlyExitClassifier`. Strata are "outlier" and "inlier", the rows that the full model calls so, and
        "all". ``{"outlier": 0.02}`` says that P(early label is inlier | the full model says outlier) <= 0.02; a row
        then leaves early as an inlier only, so that no inlier is called an outlier. ``{"outlier": 0.02, "predicted
        outlier": 0.05}`` lets rows leave on both sides, and of those that are called outliers at most 0.05 are none.
    confidence, feature_costs, feature_groups, planner, n_jobs, random_state
        As for `EarlyExitClassifier`.

    Attributes
    ----------
    compiled_plan_, plan_, certificate_, monitor_, schema_
        As of `EarlyExitClassifier`.
    estimator_ : estimator
        The fitted detector, whose labels are the reference of the promise.
    classes_ : ndarray
        -1 for outliers, and 1 for inliers; with `bands`, their numbers.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    EarlyExitClassifier : For classifiers; its notes on what a promise needs hold here, too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from wald import EarlyExitOutlierDetector
    >>> X = np.random.default_rng(0).normal(size=(9000, 4))
    >>> forest = IsolationForest(contamination=0.02, random_state=0).fit(X[:1000])
    >>> fast = EarlyExitOutlierDetector(forest, risk={"outlier": 0.1}, random_state=0).fit(X[1000:8000])
    >>> labels, full = fast.predict(X[8000:]), forest.predict(X[8000:])
    >>> bool((labels[full == 1] == 1).all())
    True
    """

    kind: ClassVar[Kind] = "outlier detector"

    @property
    def promised_risk(self) -> Risk:
        """The risk by labels: a class that is not named has the bound 0, where no bound holds for all rows."""
        if not isinstance(self.risk, Mapping) or self.bands is not None:
            return self.risk
        named = {renamed(stratum, LABELS): bound for stratum, bound in self.risk.items()}
        if len(named) < len(self.risk):
            raise ValueError(f"risk bounds one class twice: {self.risk!r}.")
        whole = {"all", "each"} & named.keys() or not named.keys() <= set(LABELS.values())
        return named if whole or not named else {label: named.get(label, 0.0) for label in LABELS.values()}

    @property
    def offset_(self) -> Any:
        """The wrapped detector's own: ``decision_function`` is ``score_samples`` less it."""
        return self.estimator_.offset_  # raises the wrapped detector's own AttributeError

    # ---- scores of the wrapped detector ----------------------------------------------------------------------------

    # available_if has no types, here and below
    @available_if(wrapped_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """The wrapped detector's own scores, in full: negative for outliers."""
        return self._compiled().in_full("decision_function", X, effective_threads(self.n_jobs))

    @available_if(wrapped_has("score_samples"))  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> NDArray[Any]:
        """The wrapped detector's own scores without its offset, in full: the lower, the odder."""
        return self._compiled().in_full("score_samples", X, effective_threads(self.n_jobs))
