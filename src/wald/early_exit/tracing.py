"""Scores of rows at every stage of a plan, for study and for the calibrations of `wald.stopping`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.threads import effective_threads
from ..plan import Plan
from ..stopping import StageScores
from .answering import answer_table
from .auditing import unwatched
from .certification import scores_at_stages
from .locating import locate
from .predictor import Predictor, Trace
from .records import as_table
from .rows import Rows
from .validation import validate_rows


class Tracing:
    """Methods of an early-exit estimator that return scores at every stage."""

    plan_: Plan
    n_jobs: int | None

    def stage_scores(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Estimates of rows at every stage of the plan, and the stages at which the rows exit.

        Returns
        -------
        scores : float64 ndarray of shape (n_rows, T + 1)
            The estimate at each of the T early stages and the full score; with several outputs, their confidence.
            Where the leaves of trees say how uncertain an estimate is, it is standardized, as in `Trace`.
        stage : int32 ndarray of shape (n_rows,)
            The stage at which the row exits; T stands for full evaluation.
        """
        return self._stage_scores(X, check_input=True)

    def _stage_scores(self, X: Any, check_input: bool) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """See `stage_scores`; feature names and their number are checked with ``check_input``."""
        predictor = self._ready()
        try:
            if check_input:
                X = validate_rows(self, X)
            return predictor.trace(X, effective_threads(self.n_jobs))
        except (ValueError, TypeError) as error:
            locate(error, X, predictor.model, predictor.model.schema.names)
            raise

    def looks(self, X: Any) -> StageScores:
        """Scores of rows at every stage of the plan, with the full model's answers.

        They are the input of the calibrations of `wald.stopping`, together with ``plan_.boundary``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        StageScores

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn.svm import SVC
        >>> from wald import EarlyExitClassifier
        >>> from wald.stopping import calibrate
        >>> X, y = make_classification(6000, random_state=0)
        >>> fast = EarlyExitClassifier(FrozenEstimator(SVC().fit(X[:500], y[:500])), risk=0.05, random_state=0)
        >>> stage_scores = fast.fit(X[500:4000]).looks(X[4000:])
        >>> calibrate(stage_scores, fast.plan_.boundary, delta=0.05, method="pac", protect="positive").q < 10
        True
        """
        predictor = self._ready()
        return scores_at_stages(predictor.model, predictor.plan, self._read(X), effective_threads(self.n_jobs))

    def trace(self, x: Any) -> Trace:
        """Trace one row: score, thresholds and cost at every stage.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), or dict from feature name to value

        Returns
        -------
        Trace
        """
        row = as_table(self, self._ready().model, x)
        converted = row is not x  # names were checked, and numbers do not have them any more
        scores, stage = self._stage_scores(row, check_input=not converted)
        low, high = self.plan_.thresholds()
        costs, t = self.plan_.stage_costs, int(stage[0])
        answers = answer_table(unwatched(self), row, None, check_input=not converted)
        return Trace(scores[0], low, high, costs, t, answers.labels[0], float(costs[t] - answers.costs[0]))

    def _read(self, X: Any) -> Rows:
        """Validate and preprocess rows; all values must be finite."""
        model = self._ready().model
        try:
            X = validate_rows(self, X)
            return Rows.of(model, X)
        except (ValueError, TypeError) as error:
            locate(error, X, model, model.schema.names)
            raise

    def predict(self, X: Any) -> Any:
        """Labels of rows."""
        raise NotImplementedError

    def _ready(self) -> Predictor:
        """Return the predictor; raise unless the estimator is fitted and the wrapped model unchanged."""
        raise NotImplementedError
