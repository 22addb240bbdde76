"""Attentive Pegasos: a linear support vector machine by stochastic subgradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..stopping.core.validation import require_positive
from ..utils.documentation import completes_documentation
from .classifier import AttentiveClassifier
from .parameters import AttentionParameters


@completes_documentation(AttentionParameters)
@dataclass(kw_only=True, eq=False, repr=False)
class AttentivePegasos(AttentiveClassifier):
    """Linear support vector machine, trained by Pegasos, that stops reading examples beyond the margin.

    Step t shrinks the weights by ``1 - 1 / t`` and, if the example's margin is below 1, adds ``y * x / (alpha * t)``.
    The learner stores u, the sum of ``y * x`` over the violations: ``w = u / (alpha * t)``, and the margin test is
    ``y * (u @ x) < alpha * (t - 1)``, so that a skipped example costs nothing and the shrinking is exact. The intercept
    is the weight of one more feature, always 1, and shrinks like the others. There is no projection. Several classes
    are learnt one against the rest. On CSR rows of text ``attention="full"`` is the fastest: attention reads fewer
    non-zeros there, but its checks cost more time than they save.

    Parameters
    ----------
    alpha : float, default=1e-4
        Regularisation, lambda in the paper.
    average : bool or int, default=True
        Answer with the average of the weights over all steps, step t weighing t: the last weights alone are noisy. An
        integer: over the steps from that example on; until then, with the last weights.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter, "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM",
    Mathematical Programming 127 (2011). The average: S. Lacoste-Julien, M. Schmidt and F. Bach, "A simpler approach
    to obtaining an O(1/t) convergence rate for the projected stochastic subgradient method", arXiv 1212.2002.
    Attention: R. Pelossof and Z. Ying, "The Attentive Perceptron" (2010).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1000, 100, class_sep=2.0, random_state=0)
    >>> model = AttentivePegasos(alpha=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    alpha: float = 1e-4

    def _rule(self) -> dict[str, Any]:
        require_positive("AttentivePegasos", "alpha", self.alpha)
        return {"rule": "pegasos", "rate": float(self.alpha)}
