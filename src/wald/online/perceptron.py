"""The attentive perceptron, plain and averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..stopping.core.validation import require_positive
from ..utils.documentation import completes_documentation
from .classifier import AttentiveClassifier
from .parameters import AttentionParameters


@completes_documentation(AttentionParameters)
@dataclass(kw_only=True, eq=False, repr=False)
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

    eta0: float = 1.0

    def _rule(self) -> dict[str, Any]:
        require_positive("AttentivePerceptron", "eta0", self.eta0)
        return {"rule": "perceptron", "rate": float(self.eta0)}
