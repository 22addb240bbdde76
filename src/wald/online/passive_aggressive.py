"""Attentive passive-aggressive learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from ..stopping.core.validation import require_option, require_positive
from .classifier import AttentiveClassifier


class AttentivePassiveAggressive(AttentiveClassifier):
    r"""Passive-aggressive classifier that stops reading examples whose margin is clearly large enough.

    An example with label y in {-1, +1} and margin ``m = y * (w @ x + b)`` below 1 calls for an update by ``step * y *
    x``, with ``step = (1 - m) / norm2`` for "PA", at most `C` for "PA-I", and ``(1 - m) / (norm2 + 1 / (2 C))`` for
    "PA-II", where ``norm2 = x @ x``; the intercept moves by ``step * y``. Several classes are learnt one against the
    rest.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness of "PA-I" and "PA-II".
    variant : {"PA-I", "PA", "PA-II"}, default="PA-I"
        How far an example may move the weights. scikit-learn calls "PA-I" ``loss="hinge"`` and "PA-II"
        ``loss="squared_hinge"``.
    average : bool or int, default=False
        Answer with the average of the weights over all steps, which generalises better than the last weights. An
        integer: over the steps from that example on; until then, with the last weights.
    attention : {"conditional", "constant", "budgeted", "full"}, default="conditional"
        When to stop reading an example.

        "conditional": when its full margin, as a regression on the terms seen predicts it, clears the margin that
        calls for an update by `delta`'s quantile of the regression's error. The regression is fitted, for each class
        and look, on audited examples under the current weights, again whenever the updates have grown by a sixth.
        "constant": when the sum of the terms seen crosses the paper's constant `boundary`.
        "budgeted": after `budget` features, whatever they say: the rest is taken at its expected value.
        "full": never; the classical learner.
    delta : float or "auto", default=0.02
        Stop error that the boundary allows under its model. Which error that is depends on the rule: with
        "conditional" the share, among stopped examples, of those that called for an update (for any one look); with
        "centred" and "printed" their share among all examples; with "bridge" the share that is stopped of the
        examples that call for an update. "auto": the boundary of each class is moved, audit by audit, until that
        share is `max_stop_error`.
    max_stop_error : float, default=0.02
        Stop error that ``delta="auto"`` holds.
    boundary : {"centred", "printed", "bridge"}, default="centred"
        With ``attention="constant"``: equation (4) of the paper for the walk less its expected path, which is what the
        derivation supports; the same number compared with the raw sum, as printed; or the Brownian bridge of the
        later paper, which is safe for any drift.
    variance : {"auto", "independent", "empirical"}, default="auto"
        With ``attention="constant"``: the variance of the full margin as if features were independent, which follows
        every update, or as measured on audited examples. "auto" is "independent" for dense rows.
    order : {"auto", "selected", "weight", "random", "cost"}, default="auto"
        In which order runs of features of dense rows are read: forward selection by how much of the margin's variance a
        run explains; by \|weight\| times spread; at random; the cheapest first. With `feature_costs` the first two are
        per cost. "auto" is "weight" for ``attention="constant"`` and "selected" otherwise. CSR rows are read as stored.
    run_length : int, default=None
        Features of dense rows that are read together. None: a cache line's worth of float32 (more for very wide rows),
        cut where lines end, so that a skip saves memory traffic.
    budget : int, default=None
        With ``attention="budgeted"``: features to read of every example after the warm-up that is no audit.
    feature_costs : array-like of shape (n_features,), default=None
        What each feature costs; `cost_seen_` is then in this unit. None: 1 each.
    audit_rate : float, default=0.01
        Share of the examples that are read in full whatever the boundary says. They alone feed the boundary.
    warm_up : int, default=64
        Examples of each class that are read in full before any of the class is skipped.
    ring_size : int, default=160
        Audited examples of each class that are kept.
    fit_intercept : bool, default=True
        Learn an intercept.
    max_iter : int, default=1000
        Passes over the rows in `fit`, at most.
    tol : float or None, default=1e-3
        `fit` stops when the mean loss (skipped examples have none) has not fallen by this for `n_iter_no_change`
        passes; None: after `max_iter` passes.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, default=True
        Whether `fit` takes the rows in another random order at each pass; CSR rows in runs of eight neighbours.
        `partial_fit` keeps their order.
    shrinking : bool, default=False
        Whether `fit` passes over examples that called for no update when they were last read, as solvers of support
        vector machines do. The first pass reads every example, and so does every fifth from then on; `tol` goes by
        these, and `stop_error_` by examples that are read. For fits of ten passes or more. Takes a byte of memory for
        each row. `partial_fit`, which meets its rows once, reads them all.
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
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if rows came with names.
    n_iter_ : int
        Passes of the last `fit`; the most of any binary problem.
    t_ : int
        Examples met by each binary problem.
    n_updates_ : int
        Examples that changed the model, over all binary problems.
    features_seen_ : int
        Features read to compute margins, audits included, over all binary problems; of CSR rows, non-zeros.
    cost_seen_ : float
        The same in `feature_costs`.
    stop_error_ : StopError
        How often attention stopped an example that called for an update: an unbiased estimate from audits, with an
        interval. Of the error that `delta` speaks of.
    problems_ : list
        The compiled learners.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online Passive-Aggressive Algorithms", Journal of
    Machine Learning Research 7 (2006). Attention: R. Pelossof and Z. Ying, "The Attentive Perceptron" (2010).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1000, 100, class_sep=2.0, random_state=0)
    >>> model = AttentivePassiveAggressive(C=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: str = "PA-I",
        average: bool | int = False,
        attention: str = "conditional",
        delta: float | str = 0.02,
        max_stop_error: float = 0.02,
        boundary: str = "centred",
        variance: str = "auto",
        order: str = "auto",
        run_length: int | None = None,
        budget: int | None = None,
        feature_costs: ArrayLike | None = None,
        audit_rate: float = 0.01,
        warm_up: int = 64,
        ring_size: int = 160,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        shrinking: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.variant = variant
        self.average = average
        self.attention = attention
        self.delta = delta
        self.max_stop_error = max_stop_error
        self.boundary = boundary
        self.variance = variance
        self.order = order
        self.run_length = run_length
        self.budget = budget
        self.feature_costs = feature_costs
        self.audit_rate = audit_rate
        self.warm_up = warm_up
        self.ring_size = ring_size
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.shrinking = shrinking
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state

    def _rule(self) -> dict[str, Any]:
        require_positive("AttentivePassiveAggressive", "C", self.C)
        require_option("AttentivePassiveAggressive", "variant", self.variant, ("PA-I", "PA", "PA-II"))
        rule = {"PA": "pa", "PA-I": "pa1", "PA-II": "pa2"}[self.variant]
        return {"rule": rule, "rate": float(self.C)}
