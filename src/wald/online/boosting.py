"""Attentive online boosting: a weighted vote of weak hypotheses, evaluated only until the answer is clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ..stopping.core.validation import require_integer, require_option, require_positive
from ..utils.documentation import completes_documentation
from .attention import settings
from .classifier import AttentiveClassifier
from .first_rows import Chunk, FirstRows
from .hypotheses import Stumps, Voters, run_length
from .labels import Labels
from .parameters import AttentionParameters
from .problem import BoostingProblem

POTENTIALS = ("logistic", "exponential")


@completes_documentation(AttentionParameters)
@dataclass(eq=False, repr=False)
class AttentiveBoosting(AttentiveClassifier):
    r"""Online boosting that stops evaluating hypotheses once an example's importance is clearly negligible.

    The model is a vote, ``w @ h(x) + b``, of hypotheses h that stay as they are while their weights are learnt. An
    example with label y in {-1, +1} and margin ``m = y * (w @ h(x) + b)`` has an importance that falls with m, and
    calls for an update as long as it is at least `negligible`:

    * ``potential="logistic"``: importance ``1 / (1 + exp(m))``, hence while ``m < log((1 - negligible) / negligible)``;
    * ``potential="exponential"``: importance ``exp(-m)``, at most 1, hence while ``m < log(1 / negligible)``.

    Then ``w += rate * importance * y * h(x)`` and ``b += rate * importance * y``, a step down the potential's gradient,
    with ``rate = learning_rate / n_hypotheses``. An example whose margin is surely above the threshold changes nothing,
    and no further hypothesis is evaluated. Several classes are learnt one against the rest.

    Parameters
    ----------
    hypotheses : "stumps" or list, default="stumps"
        The voters. "stumps": ``1 if x[j] > t else -1`` for every feature j at `n_thresholds` of its quantiles; the sign
        of the weight gives a stump its direction. A list holds fitted classifiers, each of which votes for the class
        that it predicts (1 for it, -1 for each other class), and callables, whose values for rows of shape (n_samples,
        n_features) are votes, one for each row, in every binary problem. Cloning unfits classifiers: wrap them in
        `sklearn.frozen.FrozenEstimator`. They get arrays or CSR matrices, not data frames, and decide themselves
        whether features may be NaN.
    n_thresholds : int, default=3
        With stumps: number of quantiles at which each feature is split; 1 is the median, 3 are the quartiles. Quantiles
        that coincide, or that split no rows, are left out; a constant feature has no stump.
    threshold_rows : int, default=1000
        With stumps: number of rows from which the quantiles are computed. `fit` takes evenly spaced rows. `partial_fit`
        takes the first rows of the stream. It keeps them until it has enough, and until then trains from scratch at
        every chunk, so that the model does not depend on how the stream is cut into chunks.
    potential : {"logistic", "exponential"}, default="logistic"
        The potential function, which determines the importance of an example.
    negligible : float, default=0.1
        Examples of lower importance call for no update; in (0, 0.5).
    learning_rate : float, default=1.0
        How far an update moves the margin of an example of importance 1, if all hypotheses vote 1 or -1.
    attention : {"conditional", "constant", "budgeted", "full"}, default="conditional"
        When to stop evaluating hypotheses for an example.

        "conditional": when a regression on the votes seen predicts a full margin that calls for no update, and that
        clears the limit by `delta`'s quantile of the regression's error. The regression is fitted, for each class and
        stage, on audited examples under the current weights, again whenever the number of updates has grown by a sixth.
        "constant": when the sum of the terms seen crosses the paper's constant `boundary`.
        "budgeted": after `budget` hypotheses, whatever their votes; the others are taken at their expected values. Only
        updates evaluate all of them.
        "full": never.
    variance : {"auto", "independent", "empirical"}, default="auto"
        With ``attention="constant"``: the variance of the full margin as if hypotheses were independent, which follows
        every update, or as measured on audited examples. "auto" is "empirical": stumps on one feature, or on features
        that carry the same information, are anything but independent.
    order : {"auto", "selected", "weight", "random", "cost"}, default="auto"
        The order in which runs of hypotheses are evaluated. "selected": forward selection by how much of the margin's
        variance a run explains. "weight": by \|weight\| times spread. "random": at random. "cost": the cheapest first.
        With `feature_costs` the first two are per cost. "auto" is "weight" for ``attention="constant"`` and "selected"
        otherwise.
    run_length : int, default=None
        Hypotheses that are evaluated together. None: 16 stumps (more if there are very many), or one hypothesis of a
        list (more if it has over 128).
    rows_ahead : int, default=64
        With a list: the largest number of rows for which one call evaluates a hypothesis. The model does not depend on
        it. With 1 the fewest votes are computed; with more, each hypothesis is called less often, but some of the votes
        are not needed.
    budget : int, default=None
        With ``attention="budgeted"``: hypotheses to evaluate for each example, except in the warm-up and for audits.
    feature_costs : array-like, default=None
        Cost of evaluation: one number for each hypothesis of a list, or for each feature, as the cost of each of
        its stumps. `cost_seen_` is then in this unit. None: 1 each.
    fit_intercept : bool, default=True
        Learn an intercept, the weight of a hypothesis that always votes 1.
    shuffle : bool, default=True
        Whether `fit` takes the rows in another random order in each epoch. `partial_fit` keeps their order.
    warm_start : bool, default=False
        Whether `fit` goes on from where the last call left off, with the same hypotheses.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows, the audits and random orders of hypotheses.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_hypotheses) or (n_classes, n_hypotheses)
        Weights of the hypotheses, one row per binary problem.
    hypotheses_ : Stumps or Voters
        The hypotheses: stumps with `features` and `thresholds`, or the `members` of the list.
    features_seen_ : int
        Hypotheses evaluated, audits and updates included, over all binary problems.

    References
    ----------
    R. Pelossof and Z. Ying, "The Attentive Perceptron" (2010), and "Focus of Attention for Linear Predictors"
    (arXiv 1212.6659), mention the potential function of online boosting but give no threshold. Here the threshold is
    the smallest margin at which the potential's gradient is negligible. For the weight of boosting, ``exp(-m)``, that
    is ``log(1 / negligible)``. The logistic importance is that of M. Collins, R. E. Schapire and Y. Singer, "Logistic
    Regression, AdaBoost and Bregman Distances", Machine Learning 48 (2002): for a small `negligible` its threshold is
    the same, and the influence of an example is bounded. To bound it, too, the exponential importance is capped at 1,
    as by C. Domingo and O. Watanabe, "MadaBoost: A Modification of AdaBoost", COLT 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(4000, 200, n_informative=20, class_sep=2.0, random_state=0)
    >>> model = AttentiveBoosting(max_iter=5, tol=None, random_state=0).fit(X, y)
    >>> bool(model.features_seen_ < 0.8 * model.t_ * model.coef_.size)
    True
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _problem = BoostingProblem

    hypotheses: str | Sequence[Any] = "stumps"
    _: KW_ONLY
    n_thresholds: int = 3
    threshold_rows: int = 1000
    potential: str = "logistic"
    negligible: float = 0.1
    learning_rate: float = 1.0
    rows_ahead: int = 64

    # -- the parameters ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for parameter in ("n_thresholds", "threshold_rows", "rows_ahead"):
            require_integer("AttentiveBoosting", parameter, getattr(self, parameter), 1)
        if isinstance(self.hypotheses, str):
            require_option("AttentiveBoosting", "hypotheses", self.hypotheses, ("stumps",))
        elif not (isinstance(self.hypotheses, (list, tuple)) and len(self.hypotheses)):
            raise ValueError(
                "The 'hypotheses' parameter of AttentiveBoosting must be 'stumps' or a list of fitted classifiers and "
                f"callables. Got {self.hypotheses!r} instead."
            )

    def _rule(self) -> dict[str, Any]:
        require_option("AttentiveBoosting", "potential", self.potential, POTENTIALS)
        require_positive("AttentiveBoosting", "learning_rate", self.learning_rate)
        require_positive("AttentiveBoosting", "negligible", self.negligible)
        if not self.negligible < 0.5:
            raise ValueError(
                "The 'negligible' parameter of AttentiveBoosting must lie in (0, 0.5). "
                f"Got {self.negligible!r} instead."
            )
        rate = float(self.learning_rate) / len(self.hypotheses_)
        return {"rule": self.potential, "rate": rate, "negligible": float(self.negligible)}

    def _settings(self, X: Any) -> dict[str, Any]:
        self.hypotheses_: Stumps | Voters
        if isinstance(self.hypotheses, str):
            found = settings(self, X.shape[1], False)
            stumps = Stumps.at_quantiles(X, int(self.n_thresholds), int(self.threshold_rows))
            if found["costs"] is not None:
                found["costs"] = found["costs"][stumps.features]
            self.hypotheses_ = stumps
        else:
            self.hypotheses_ = Voters(self.hypotheses, self.classes_, int(self.rows_ahead))
            found = settings(self, len(self.hypotheses_), False)
            found["unit"] = found["unit"] or run_length(len(self.hypotheses_))
        variance = "empirical" if self.variance == "auto" else self.variance
        return found | {"n_features": len(self.hypotheses_), "line_offset": 0, "variance": variance}

    # -- training ------------------------------------------------------------------------------------------------

    def _start(self, classes: NDArray[Any], X: Any) -> None:
        #: The first rows of a stream, until the thresholds are final.
        self._first: FirstRows | None = None
        if isinstance(self.hypotheses, str):
            self._first = FirstRows(int(self.threshold_rows))
        super()._start(classes, X)

    def _undo(self) -> Callable[[], None]:
        undo, first = super()._undo(), copy(getattr(self, "_first", None))

        def undo_all() -> None:
            undo()
            if first is not None:
                self._first = first

        return undo_all

    def _cannot_fail(self, X: Any) -> bool:
        # The first rows of a stream are learnt again at every call, and members of a list may raise.
        return self._first is None and isinstance(self.hypotheses_, Stumps) and super()._cannot_fail(X)

    def _epochs(self, *args: Any, **kwargs: Any) -> int:
        self._first = None  # `fit` has computed the quantiles from its own rows
        return super()._epochs(*args, **kwargs)

    def _one_epoch(self, chunk: Chunk) -> None:
        if self._first is not None:
            chunk = self._first.take(chunk, self.problems_[0].dtype)
            self._make_problems(self._first.rows())
            for block in self._first.chunks:
                super()._one_epoch(block)
            if self._first.lacking == 0:
                self._first = None
        if chunk.X.shape[0]:
            super()._one_epoch(chunk)

    def _rows(self, X: Any) -> Any:
        return self.hypotheses_.rows(X, self.problems_[0].dtype)

    def _train(self, problem: Any, k: int, rows: Any, labels: Labels, shuffle: int | None) -> float:
        return self.hypotheses_.train(problem, self._code(k), rows, labels, shuffle)

    def _publish(self) -> None:
        super()._publish()
        if isinstance(self.hypotheses_, Voters):  # all computed votes count, needed or not
            self.features_seen_ = sum(p.evaluated for p in self.problems_)
            self.cost_seen_ = float(sum(p.paid for p in self.problems_))

    # -- answers -------------------------------------------------------------------------------------------------

    def _margins_and_costs(self, X: Any, width: float | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
        )
        codes = [self._code(k) for k in range(len(self.problems_))]
        return self.hypotheses_.margins(self.problems_, codes, X, self._averages, width)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Full scores: the hypotheses' votes times `coef_`, plus `intercept_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Binary: positive for ``classes_[1]``. Otherwise one score per class, each against the rest.
        """
        margins = self._margins_and_costs(X, None)[0]
        return margins[0] if len(margins) == 1 else margins.T

    def predict(self, X: Any, *, attention: str = "full", return_cost: bool = False) -> Any:
        """Labels, from full scores or from as many hypotheses as it takes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        attention : {"full", "conditional"}, default="full"
            "conditional": stop evaluating once the sign of a score is clear: when the score, as predicted from the
            votes seen, is further from 0 than `delta`'s quantile (`max_stop_error`'s with ``delta="auto"``) of the
            prediction's error on audited examples. No certificate goes with it; `wald.EarlyExitClassifier` gives one. A
            model that kept no audited examples evaluates all.
        return_cost : bool, default=False
            Also return the number of votes used for each row, summed over the binary problems. (A member of a list is
            evaluated once for all problems.)

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two
            Labels, and with ``return_cost`` the costs.
        """
        width = None if self._reads_in_full(attention) else self._prediction_width()
        margins, seen = self._margins_and_costs(X, width)
        labels = self._labels_of(margins)
        return (labels, seen.sum(axis=0)) if return_cost else labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not isinstance(self.hypotheses, str)  # members of a list decide themselves
        return tags
