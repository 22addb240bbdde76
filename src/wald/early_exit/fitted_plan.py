"""What every early-exit estimator has fitted: its compiled plan, watched or not, and the stages of rows."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..engine.threads import effective_threads
from ..plan import Plan
from ..stopping import Certificate, StageScores
from .compiled.explaining import Explanation
from .compiled.parameters import Parameters
from .compiled.predictor import Trace
from .held_plan import WatchedPlan


class FittedPlan(Parameters, WatchedPlan):
    """The compiled plan of an estimator, and what it says of rows."""

    @property
    def plan_(self) -> Plan:
        """Order, stages, readouts, thresholds and costs."""
        return self._compiled().plan

    @property
    def certificate_(self) -> Certificate:
        """The promise; printed, it is one sentence. It does not cover calls of ``predict`` with a ``budget``."""
        return self._compiled().certificate

    # ---- watching --------------------------------------------------------------------------------------------------

    def watched(self, audit_rate: float | None, *, on_broken: str = "warn") -> Self:
        """Watch the promise while rows are served.

        Parameters
        ----------
        audit_rate : float or None
            Probability with which a row of a call without ``budget`` and ``deadline`` is audited: the full model
            answers it, too, and the plan still gives the answer. ``monitor_`` says what the audits show. 0: no row is
            audited, and only the stages at which rows leave are watched. None: nothing is watched.
        on_broken : {"warn", "full"}, default="warn"
            What happens once audits refute the promise: a `wald.monitoring.DriftWarning` is given. With "full", every
            row of such calls is also evaluated in full from then on, until ``monitor_.reset()``.

        Returns
        -------
        An estimator of this class
            A new object; this one is unchanged.

        Raises
        ------
        ValueError, TypeError
            For parameters out of range; for values in full, of which there is nothing to watch.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(3000, random_state=0)
        >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X[:1000], y[:1000])
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(X[1000:])
        >>> watched = fast.watched(0.1)
        >>> labels = watched.predict(X)
        >>> watched.monitor_.n_rows
        3000
        """
        other = copy.copy(self)
        other.compiled_plan_ = self._compiled().watched(audit_rate, on_broken)
        return other

    # ---- study -----------------------------------------------------------------------------------------------------

    def stage_scores(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Estimates of rows at every stage of the plan, and the stages at which the rows exit.

        Returns
        -------
        scores : float64 ndarray of shape (n_rows, T + 1)
            The estimate at each of the T early stages and the full score; with several outputs, their margins.
            Where the leaves of trees say how uncertain an estimate is, it is standardized, as in `Trace`.
        stage : int32 ndarray of shape (n_rows,)
            The stage at which the row exits; T stands for full evaluation.
        """
        return self._compiled().stage_scores(X, effective_threads(self.n_jobs))

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
        >>> calibrate(stage_scores, fast.plan_.boundary, delta=0.05, method="pac").q < 10
        True
        """
        return self._compiled().looks(X, effective_threads(self.n_jobs))

    def trace(self, x: Any) -> Trace:
        """Trace one row: score, thresholds and cost at every stage.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), or dict from feature name to value

        Returns
        -------
        Trace
        """
        return self._compiled().trace(x, effective_threads(self.n_jobs))

    def explain(self, x: Any) -> Explanation:
        """Explain the answer to one row: what was read, what each part added to the score, and when that was clear.

        Every part of the row is evaluated for it, also those that `predict` does not read.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), dict from feature name to value, or text

        Returns
        -------
        Explanation
            Its parts are raw columns, tokens of a text, members of a vote, or the trees or support vectors of each
            stage. Printed, it is a table.

        Raises
        ------
        ValueError, TypeError
            If ``x`` is not one row of the model's features; the wrapped model's own for a value that it refuses.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from wald import EarlyExitClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(6000, 3))
        >>> model = LogisticRegression().fit(X[:1000], X[:1000] @ [5.0, 1.0, 0.1] > 0)
        >>> fast = EarlyExitClassifier(model, risk=0.02, random_state=0)
        >>> explained = fast.fit(X[1000:]).explain([2.0, 0.5, -1.0])
        >>> bool(explained.label), explained.parts[0].name
        (True, 'column 0')
        """
        found = self._compiled().explain(x, effective_threads(self.n_jobs))
        return found if self.feature_costs is None else replace(found, cost_unit="feature cost")
