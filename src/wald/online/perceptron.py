"""The attentive perceptron, plain and averaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from ..stopping.core.validation import require_positive
from .classifier import AttentiveClassifier
from .parameters import keeps_parameters, shares_documentation


@shares_documentation
class AttentivePerceptron(AttentiveClassifier):
    """Perceptron that reads only as much of an example as it takes to see that no update is called for.

    An example with label y in {-1, +1} calls for an update when ``y * (w @ x + b) <= 0``; then ``w += eta0 * y * x``
    and ``b += eta0 * y``. With ``attention="full"`` this is Rosenblatt's algorithm, bit for bit. Several classes are
    learnt one against the rest.

    Parameters
    ----------
    eta0 : float, default=1.0
        Length of updates.

    References
    ----------
    R. Pelossof and Z. Ying, "The Attentive Perceptron" (2010): equation (4), and the learner. The conditional
    boundary, and the order of features that goes with it, are this library's.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(4000, 200, n_informative=20, class_sep=2.0, random_state=0)
    >>> model = AttentivePerceptron(max_iter=5, tol=None, random_state=0).fit(X, y)
    >>> bool(model.features_seen_ < 0.8 * 5 * X.size)
    True
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    eta0: float

    @keeps_parameters
    def __init__(
        self,
        *,
        eta0: float = 1.0,
        average: bool | int = True,
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
        pass

    def _rule(self) -> dict[str, Any]:
        require_positive("AttentivePerceptron", "eta0", self.eta0)
        return {"rule": "perceptron", "rate": float(self.eta0)}
