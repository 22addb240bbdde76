"""Attentive passive-aggressive learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..stopping.core.validation import require_option, require_positive
from ..utils.documentation import completes_documentation
from .classifier import AttentiveClassifier
from .parameters import AttentionParameters


@completes_documentation(AttentionParameters)
@dataclass(kw_only=True, eq=False, repr=False)
class AttentivePassiveAggressive(AttentiveClassifier):
    """Passive-aggressive classifier that stops reading examples whose margin is clearly large enough.

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

    C: float = 1.0
    variant: str = "PA-I"
    average: bool | int = False

    def _rule(self) -> dict[str, Any]:
        require_positive("AttentivePassiveAggressive", "C", self.C)
        require_option("AttentivePassiveAggressive", "variant", self.variant, ("PA-I", "PA", "PA-II"))
        rule = {"PA": "pa", "PA-I": "pa1", "PA-II": "pa2"}[self.variant]
        return {"rule": rule, "rate": float(self.C)}
