"""The parameters and attributes that the online estimators share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..stopping.core.validation import require_integer, require_not_negative


@dataclass(kw_only=True, eq=False, repr=False)
class AttentionParameters(BaseEstimator):
    r"""Parameters and attributes that every online estimator has.

    Parameters
    ----------
    average : bool or int, default=True
        Answer with the average of the weights over all steps, which generalises better than the last weights. An
        integer: over the steps from that example on; until then, with the last weights.
    attention : {"conditional", "constant", "budgeted", "full"}, default="conditional"
        When to stop reading an example.

        "conditional": when a regression on the terms seen predicts a full margin that calls for no update, and that
        clears the limit by `delta`'s quantile of the regression's error. The regression is fitted, for each class and
        stage, on audited examples under the current weights, again whenever the number of updates has grown by a sixth.
        "constant": when the sum of the terms seen crosses the paper's constant `boundary`.
        "budgeted": after `budget` features, whatever their values; the others are taken at their expected values.
        "full": never; the classical learner.
    delta : float or "auto", default=0.02
        Stop error that the boundary allows under its model. Which error that is depends on the rule: with
        "conditional" it is the share, among stopped examples, of those that called for an update (at any one stage);
        with "centred" and "printed" it is their share among all examples; with "bridge" it is the share that is stopped
        among the examples that call for an update. "auto": the boundary of each class is moved, audit by audit, until
        that share is `max_stop_error`.
    max_stop_error : float, default=0.02
        Target of the stop error with ``delta="auto"``.
    boundary : {"centred", "printed", "bridge"}, default="centred"
        The boundary of ``attention="constant"``. "centred": equation (4) of the paper for the walk less its expected
        path, which is what the derivation supports. "printed": the same number compared with the raw sum, as
        published. "bridge": the Brownian bridge of the later paper, which is safe for any drift.
    variance : {"auto", "independent", "empirical"}, default="auto"
        With ``attention="constant"``: the variance of the full margin as if features were independent, which follows
        every update, or as measured on audited examples. "auto" is "independent" for dense rows.
    order : {"auto", "selected", "weight", "random", "cost"}, default="auto"
        The order in which runs of features of dense rows are read. "selected": forward selection by how much of the
        margin's variance a run explains. "weight": by \|weight\| times spread. "random": at random. "cost": the
        cheapest first. With `feature_costs` the first two are per cost. "auto" is "weight" for
        ``attention="constant"`` and "selected" otherwise. CSR rows are read as stored.
    run_length : int, default=None
        Features of dense rows that are read together. None: a cache line's worth of float32 (more for very wide rows),
        cut where lines end, so that a skip saves memory traffic.
    budget : int, default=None
        With ``attention="budgeted"``: features to read of each example, except in the warm-up and for audits.
    feature_costs : array-like of shape (n_features,), default=None
        Cost of each feature; `cost_seen_` is then in this unit. None: 1 each.
    audit_rate : float, default=0.01
        Share of the examples that are read in full whatever the boundary says. Only these determine the boundary.
    warm_up : int, default=64
        Examples of each class that are read in full before any of the class is skipped.
    ring_size : int, default=160
        Audited examples of each class that are kept.
    fit_intercept : bool, default=True
        Learn an intercept.
    max_iter : int, default=1000
        Epochs of `fit`, at most.
    tol : float or None, default=1e-3
        `fit` stops when the mean loss (skipped examples have none) has not fallen by this for `n_iter_no_change`
        epochs; None: after `max_iter` epochs.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, default=True
        Whether `fit` takes the rows in another random order in each epoch; CSR rows in runs of eight neighbours.
        `partial_fit` keeps their order.
    shrinking : bool, default=False
        Whether `fit` skips examples that called for no update when they were last read, as solvers of support vector
        machines do. The first epoch reads every example, and so does every fifth from then on; `tol` compares these
        epochs only, and `stop_error_` counts only examples that are read. Shrinking saves time in fits of ten epochs or
        more, and takes a byte of memory for each row. `partial_fit`, which sees its rows once, reads them all.
    class_weight : dict, "balanced" or None, default=None
        Factors of the updates on each class.
    warm_start : bool, default=False
        Whether `fit` goes on from where the last call left off.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows, the audits and random orders of features.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, one row per binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if rows came with names.
    n_iter_ : int
        Epochs of the last `fit`; the most of any binary problem.
    t_ : int
        Examples seen by each binary problem.
    n_updates_ : int
        Examples that changed the model, over all binary problems.
    features_seen_ : int
        Features read to compute margins, audits included, over all binary problems; for CSR rows, non-zeros read.
    cost_seen_ : float
        Cost of these features, in `feature_costs`.
    stop_error_ : StopError
        How often attention stopped an example that called for an update: an unbiased estimate from audits, with an
        interval. It estimates the kind of error that `delta` bounds.
    problems_ : list
        The compiled learners.
    """

    average: bool | int = True
    attention: str = "conditional"
    delta: float | str = 0.02
    max_stop_error: float = 0.02
    boundary: str = "centred"
    variance: str = "auto"
    order: str = "auto"
    run_length: int | None = None
    budget: int | None = None
    feature_costs: ArrayLike | None = None
    audit_rate: float = 0.01
    warm_up: int = 64
    ring_size: int = 160
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    n_iter_no_change: int = 5
    shuffle: bool = True
    shrinking: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    warm_start: bool = False
    random_state: Any = None

    def _check_parameters(self) -> None:
        name = type(self).__name__
        require_integer(name, "max_iter", self.max_iter, 1)
        require_integer(name, "n_iter_no_change", self.n_iter_no_change, 1)
        if not (isinstance(self.average, (bool, np.bool_, Integral)) and 0 <= self.average < 1 << 62):
            raise ValueError(
                f"The 'average' parameter of {name} must be a bool, or the number of the example to begin with. "
                f"Got {self.average!r} instead."
            )
        if not isinstance(self.shrinking, (bool, np.bool_)):
            raise ValueError(f"The 'shrinking' parameter of {name} must be a bool. Got {self.shrinking!r} instead.")
        if self.tol is not None:
            require_not_negative(name, "tol", self.tol)
