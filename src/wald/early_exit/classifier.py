"""The estimator that wraps a fitted classifier and stops each prediction as soon as the label is clear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..engine.threads import effective_threads
from ..models import AdditiveModel, fitted_for_good
from ..models.boosters import unfrozen
from ..models.reading import Kind
from ..models.tolerances import probabilities_within
from ..sources import Source
from ..stopping.core.risks import Risk
from .compiled.answers import Answers
from .compiled.former import takes_former_names
from .compiled.parameters import Parameters
from .compiled.planner import Planner
from .fitting.asked_rows import Asking, calls_needed
from .fitting.bought_parts import BehindGroups, behind_groups
from .fitting.call_budget import CallsNeeded
from .fitting.opaque import is_opaque
from .planned import wrapped_has
from .within import WithinTolerance


class EarlyExitClassifier(ClassifierMixin, WithinTolerance):
    """Answer like a trained classifier, and stop evaluating each row as soon as its answer is clear.

    A linear model or kernel machine is a sum of terms. On rows that need no labels, ``fit`` decides in which order to
    evaluate the terms, after which of them a row may leave, and with which estimates. On other rows it certifies how
    often the early labels differ from those of full evaluation. ``predict`` then evaluates a small part of the terms
    for most rows.

    Parameters
    ----------
    estimator : estimator
        Without ``y``, ``fit`` takes a fitted model as it is. With ``y``, it trains a clone of the estimator on a
        stratified half of the rows, and plans and certifies on the rest. It never trains a ``FrozenEstimator(model)``,
        a ``lightgbm.Booster``, ``xgboost.Booster`` or ``catboost.CatBoost``, or what `wald.read_model` returns.
    bands : list of float or None, default=None
        Thresholds of the probability of ``classes_[1]`` of two, in rising order: ``[0.1, 0.3, 0.6]``. `predict` then
        gives the number of the band in which the probability lies, from 0 on, and these numbers are the classes. A
        probability that equals a threshold belongs to the upper band. They are thresholds of the score, moved there
        exactly; what lies within rounding of one is left to the wrapped model.
    tolerance : float or None, default=None
        How far the probabilities of a row that leaves early may be off, each of them: 0.05 stands for 5 percentage
        points. `predict_proba` then gives such probabilities, and `predict` the label of the largest one; `risk` bounds
        the probability that one is off by more. It needs a `risk` above 0. None: probabilities in full, and `predict`
        gives early labels.
    risk : float, None or dict from stratum to float, default=0.001
        Bound on the probability that a row's label differs from the wrapped model's. 0: no label may differ, by proof;
        rows without a proof go to the wrapped model itself. None: promise nothing, use the rule as published, and
        report the measured rate. A dict promises several bounds, which hold at once with ``confidence``:
        ``{"all": 0.001, "fraud": 0.01}`` says that P(another label) <= 0.001 over all rows, and that
        P(another label | the full model says fraud) <= 0.01. Strata are class labels, "all", and "each" for each class
        that is not named; "positive" and "negative" may stand for ``classes_[1]`` and ``classes_[0]`` of two. Behind
        "predicted ", a stratum is the rows that get this label, early or in full: ``{"predicted fraud": 0.02}`` says
        that P(the full model says otherwise | `predict` says fraud) <= 0.02. Without "all", a row with another label
        must have a bound by its full label or by its early one. Of two classes, one may have the bound 0: rows then
        leave early as this class only, or, behind "predicted ", as the other one only.
    confidence : float, default=0.95
        Probability with which the bound holds, over independent draws of the certificate rows (of all rows given to
        ``fit``, if these are split several times).
    feature_costs : array-like of shape (n_features,) or dict from feature or group name to cost, default=None
        Positive costs, for linear models and trees. Costs are then reported, and budgets given, in their unit. A row
        pays once for a feature that several trees read, when the first of them is evaluated. Plans of trees minimize
        these costs, also with ``cost="time"``.
    feature_groups : dict from name to columns, default=None
        Columns (indices or names) that are evaluated, or bought, together, for linear models and trees.
    surrogates : list, "auto" or None, default=None
        For a model that wald cannot read, such as nearest neighbours, a neural net or a stack: what is asked before it,
        the cheapest first. Each is a fitted classifier, a function from rows to numbers, or a `Surrogate` with its
        cost. "auto" and None: they are learnt from the model's own answers to a third of the rows. Costs are then
        multiples of the model's own cost of a row. Given for a model that wald can read, it is asked as a whole, too.
    reference : {"model", "labels"}, default="model"
        What answers are compared with. "labels": true ones, which `fit` then needs as ``y``. The promise is that the
        share of wrong labels is at most `risk` above that of the wrapped model; an early label that is right where the
        model is wrong counts in favour. Classes in `risk` are then those to which rows truly belong. A label that the
        model does not know is wrong for both. It takes a `risk` above 0, and neither `bands` nor `tolerance`.
    planner : Planner or None, default=None
        How `fit` plans: stopping rule, order, what is minimized, and how rows are split; None: ``Planner()``.
    n_jobs : int or None, default=None
        Threads of ``predict`` and ``fit``, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Splits the rows and draws random orders. With ``cost="time"``, the plan also depends on measured times.

    Attributes
    ----------
    compiled_plan_ : CompiledPlan
        Answers rows with their labels, costs and stages at once.
    plan_ : Plan
        Order, stages, readouts, thresholds and costs.
    certificate_ : Certificate
        The promise; printed, it is one sentence. It does not cover calls of ``predict`` with a ``budget``.
    monitor_ : wald.monitoring.Monitor
        Counts of served rows and what they say of the promise; only after `watched`.
    estimator_ : estimator
        The fitted estimator, whose labels are the reference of the promise.
    classes_ : ndarray of shape (n_classes,)
        Of the wrapped model; with `bands`, their numbers.
    n_calls_ : int
        Rows about which `fit` asked a model behind surrogates, counted twice if it was asked twice; only there.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns, if the rows given to ``fit`` have names.
    schema_ : wald.sources.Schema
        The columns that `predict` reads: their names as the wrapped model knows them, or else as ``fit`` saw them, and
        how given names are matched with them.

    Notes
    -----
    The promise holds when the rows given to ``fit`` and those to be served are independent draws from one source, and
    when the model was not trained on these rows. If rows depend on each other, as those of one user do, ``groups``
    makes a promise about a random row of a random group. A column is checked only for the rows that read it; with
    ``Lossless(low=, high=)``, whose proof needs all columns, for all rows.

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659. A. Angelopoulos, S. Bates, E.
    Candes, M. Jordan and L. Lei, "Learn then Test", Annals of Applied Statistics 19(2), 2025.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> from wald import EarlyExitClassifier, Planner
    >>> X, y = make_classification(6000, n_informative=8, class_sep=1.5, random_state=0)
    >>> svc = SVC().fit(X[:1000], y[:1000])
    >>> fast = EarlyExitClassifier(svc, risk=0.01, planner=Planner(cost="units"), random_state=0)
    >>> labels, cost = fast.fit(X[1000:5000]).predict(X[5000:], return_cost=True)
    >>> bool((labels != svc.predict(X[5000:])).mean() <= 0.01), bool(cost.mean() < len(svc.support_) / 2)
    (True, True)
    """

    kind: ClassVar[Kind] = "classifier"

    @takes_former_names
    def __init__(
        self,
        estimator: Any,
        *,
        bands: Sequence[float] | None = None,
        tolerance: float | None = None,
        risk: Risk = 0.001,
        confidence: float = 0.95,
        feature_costs: ArrayLike | Mapping[str, float] | None = None,
        feature_groups: Mapping[str, Sequence[int | str]] | None = None,
        surrogates: Any = None,
        reference: str = "model",
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
        self.surrogates = surrogates
        self.reference = reference

    def calls_needed(self, n_rows: int) -> CallsNeeded:
        """How many rows `fit` asks a model about that it puts behind surrogates, before it asks any.

        Parameters
        ----------
        n_rows : int
            Rows for `fit`, without groups, of which none trained the model.

        Returns
        -------
        CallsNeeded
            The least that ``max_calls`` may be, what is asked at least without it, and at most. All are 0 for a model
            that wald reads.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from wald import EarlyExitClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> EarlyExitClassifier(KNeighborsClassifier().fit(X, y), risk=0.05).calls_needed(20_000)
        CallsNeeded(fewest=168, least=9664, most=20064)
        """
        if isinstance(n_rows, bool) or not isinstance(n_rows, Integral) or n_rows < 0:
            raise ValueError(f"n_rows must be a whole number of at least 0. Got {n_rows!r} instead.")
        inner = unfrozen(self.estimator)
        check_is_fitted(inner)
        if not self._is_opaque(inner):
            return CallsNeeded(0, 0, 0)
        return calls_needed(int(n_rows), self)

    def _is_opaque(self, inner: Any) -> bool:
        """Whether a fitted classifier is asked as it is: surrogates are given, or wald cannot read it."""
        return is_opaque(inner, self)

    def _behind_groups(
        self,
        inner: Any,
        source: Source,
        rows: NDArray[np.intp],
        groups: Any,
        rng: np.random.Generator,
        asking: Asking,
    ) -> BehindGroups | None:
        if not source.is_lazy:
            return None
        read = None if self._is_opaque(inner) else self._read(inner)
        return behind_groups(self, read, inner, source, rows, groups, rng, asking.require_unused)

    def _read(self, inner: Any, **options: Any) -> AdditiveModel:
        model = super()._read(inner, **options)
        return model if self.tolerance is None else probabilities_within(model, self.tolerance)

    @property
    def _early_probabilities(self) -> bool:
        return self._compiled().model.answers_probabilities

    def _told(self, answers: Answers) -> Answers:
        return answers.labelled(self._told_one(answers.labels)) if self._early_probabilities else answers

    def _told_one(self, answer: Any) -> Any:
        """The label of probabilities, (n_classes,), or the labels of several."""
        return self.classes_.take(np.asarray(answer).argmax(axis=-1)) if self._early_probabilities else answer

    # ---- scores of the wrapped estimator ---------------------------------------------------------------------------

    # available_if has no types, here and below
    @available_if(wrapped_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own scores, in full."""
        return self._compiled().in_full("decision_function", X, effective_threads(self.n_jobs))

    @available_if(wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own probabilities, in full; with `tolerance`, early ones within it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Of `LazyRows`, all groups are fetched for probabilities in full. If a call fails, the rows keep what was
            fetched, and the same call goes on from there.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        if self._early_probabilities:
            return self._compiled().predict(X, n_threads=effective_threads(self.n_jobs, X)).labels
        return self._compiled().in_full("predict_proba", X, effective_threads(self.n_jobs))

    @available_if(wrapped_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own log-probabilities, in full; with `tolerance`, those of `predict_proba`."""
        if self._early_probabilities:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(np.maximum(self.predict_proba(X), 0.0)))
        return self._compiled().in_full("predict_log_proba", X, effective_threads(self.n_jobs))

    @available_if(wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: Any) -> NDArray[Any]:
        """Probabilities of one row, in full, or within `tolerance`; of tree ensembles and texts in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict from feature name to value
            As for `predict_one`.

        Returns
        -------
        ndarray of shape (n_classes,)
            For tree ensembles, and linear models of texts whose rows stay sparse, the row of `predict_proba`, bit for
            bit. Other models evaluate this row alone, and their matrix products may round differently than for many
            rows.

        Raises
        ------
        ValueError, TypeError
            If ``x`` is not one row of the model's features.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(500, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
        >>> row = {"d": X[0, 3], "a": X[0, 0], "b": X[0, 1], "c": X[0, 2]}
        >>> bool((fast.predict_proba_one(row) == model.predict_proba(frame[:1])[0]).all())
        True
        """
        if self._early_probabilities:
            return np.asarray(self._compiled().predict_one(x).labels[0])
        return self._compiled().proba_of_one(x)

    @available_if(wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba_records(self, records: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
        """Probabilities of rows that are given as dicts, in full, or within `tolerance`.

        Parameters
        ----------
        records : sequence of dict
            As for `predict_records`.

        Returns
        -------
        ndarray of shape (n_records, n_classes)

        Raises
        ------
        ValueError, TypeError
            As `predict_records`.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(500, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
        >>> records = frame[:3].to_dict("records")
        >>> bool((fast.predict_proba_records(records) == model.predict_proba(frame[:3])).all())
        True
        """
        if self._early_probabilities:
            return self._compiled().predict_records(records, n_threads=effective_threads(self.n_jobs)).labels
        return self._compiled().proba_of_records(records, effective_threads(self.n_jobs))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of labels that are those of ``y``, as scikit-learn's classifiers give it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            True labels.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        float

        Raises
        ------
        ValueError
            With `bands`, whose numbers are no labels.
        """
        if self.bands is not None:
            raise ValueError("score is about labels, and with bands there are none: compare the numbers of bands.")
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = get_tags(fitted_for_good(self.estimator) or self.estimator).classifier_tags
        return tags
