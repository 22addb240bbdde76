"""Estimators whose answers are values: every row is evaluated in full by the engine, faster than by its library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone

from ..engine.threads import effective_threads
from ..models import AdditiveModel, decompose, fitted_for_good
from ..models.boosters import unfrozen
from ..models.reading import Kind
from ..sources import source_of
from .compiled.certification import Promise
from .compiled.parameters import Parameters, require_estimator, require_kind, with_input_tags
from .fitting.data_split import is_fitted, is_frozen
from .fitting.targets import require_targets
from .fitting.validation import validate_fit_rows
from .fitting.without_rows import compiled_without_rows
from .held_plan import HeldPlan
from .no_probabilities import NoProbabilities


class ExactEstimator(NoProbabilities, HeldPlan, MetaEstimatorMixin, BaseEstimator):
    """The methods of an estimator that evaluates every row in full. A subclass says which models it wraps."""

    kind: ClassVar[Kind]

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None, **params: Any) -> Self:
        """Read the fitted model, and compare some of the engine's answers with its own.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            With a fitted model, some of these rows are compared, and their names are kept; None: only rows at the
            thresholds of the model are compared.
        y : array-like of shape (n_rows,) or (n_rows, n_values), default=None
            With a model that is not fitted: what a clone of it is trained on, together with ``X``.
        **params : dict
            For the ``fit`` of a model that is not fitted, such as the groups of a ranker.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For unsupported models or rows, and if the engine answers one of the rows otherwise than the model.
        """
        fitted: Self = fit_in_full(self, partial(read_as, self.kind), X, y, params)
        return fitted

    # ---- values ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, details: bool = False, check_input: bool = True) -> Any:
        """The wrapped model's own values.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        details : bool, default=False
            Whether to return `Answers`: values, and who answered each row.
        check_input : bool, default=True
            Whether feature names and their number are checked.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_values)
            Of the dtype of the wrapped model: float32 for XGBoost.
        answers : Answers
            Instead, with ``details``.

        Raises
        ------
        ValueError
            If rows do not fit the model, or it was fitted again since ``fit``.
        """
        compiled = self._compiled()
        answers = compiled.predict(X, n_threads=effective_threads(self.n_jobs, X), check_input=check_input)
        return answers if details else answers.labels

    def predict_one(self, x: Any) -> Any:
        """The value of one row, in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict from feature name to value
            As for `EarlyExitClassifier.predict_one`.

        Returns
        -------
        float, or ndarray of shape (n_values,)
        """
        return self._compiled().value_one(x)

    def predict_records(self, records: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
        """The values of rows that are given as dicts.

        Parameters
        ----------
        records : sequence of dict
            As for `EarlyExitClassifier.predict_records`.

        Returns
        -------
        ndarray of shape (n_records,) or (n_records, n_values)
        """
        return self._compiled().predict_records(records, n_threads=effective_threads(self.n_jobs)).labels

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "compiled_plan_")

    def __sklearn_tags__(self) -> Any:
        return with_input_tags(super().__sklearn_tags__(), self.estimator)


def read_as(kind: Kind, inner: Any) -> AdditiveModel:
    """Read a fitted estimator, which must be of a kind."""
    model = decompose(inner)
    require_kind(model, kind)
    return model


def fit_in_full(
    shell: Any, read: Callable[[Any], AdditiveModel], X: Any, y: Any, params: Mapping[str, Any], trained: Any = None
) -> Any:
    """`fit` of an estimator that evaluates every row in full, for values; `params` are for a model to be trained.

    A model that was trained already stands in for that of the estimator.
    """
    require_estimator(shell.estimator)
    inner = unfrozen(shell.estimator) if trained is None else trained
    fitted = fitted_for_good(inner) is not None or is_fitted(inner)
    if not fitted:
        if X is None or y is None:
            raise ValueError(
                f"fit needs rows X and y to train {type(inner).__name__}, which is not fitted yet."
                if X is None
                else f"This {type(shell).__name__} estimator requires y to be passed, but the target y is None: "
                f"{type(inner).__name__} is not fitted yet."
            )
        require_targets(y, source_of(X).n_rows, inner)
        inner = clone(inner).fit(X, y, **params)
    elif given := ["y"] * (y is not None and not is_frozen(shell.estimator)) + sorted(params):
        raise ValueError(
            f"{type(inner).__name__} is fitted already, so that {', '.join(given)} would be ignored: leave it out, "
            "or pass a model that is not fitted."
        )
    promise = Promise.of(Parameters(None, risk=0), grouped=False)
    for name in ("n_features_in_", "feature_names_in_"):
        shell.__dict__.pop(name, None)
    source = None if X is None else validate_fit_rows(shell, X)
    compiled, shell.estimator_ = compiled_without_rows(inner, read, promise, {})
    if compiled.schema.n_columns is not None:
        shell.n_features_in_ = compiled.schema.n_columns
    compiled.require_own_answers(None if source is None else compiled.schema.matched(source))
    shell.compiled_plan_ = compiled
    return shell
