"""What there is to say about a fitted classifier, as plain facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..plan import Plan
    from ..stopping import Certificate


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """A certificate: its sentence, whether it holds up when recomputed, and the counts behind it."""
    return {
        "sentence": str(certificate),
        "status": certificate.status,
        "holds": certificate.verify(),
        "void": certificate.void,
        "risk": certificate.risk,
        "confidence": certificate.confidence,
        "n_splits": certificate.n_splits,
        "tested_confidence": certificate.tested,
        "protect": certificate.protect,
        "bound": certificate.bound,
        "n_rows": certificate.n_rows,
        "n_disagreements": certificate.n_disagreements,
        "rows_needed": certificate.rows_needed,
        "strata": [
            {"name": s.name, "n_rows": s.n_rows, "n_disagreements": s.n_disagreements} for s in certificate.strata
        ],
        "one_row_per_group": certificate.grouped,
        "q": certificate.q,
    }


def plan_facts(plan: Plan) -> dict[str, Any]:
    """A plan: every look with its thresholds, the share of the plan rows that reached it, and what it has cost."""
    import numpy as np

    low, high = (np.append(limits.astype(np.float64), np.nan) for limits in plan.thresholds())
    looks = [
        {
            "units": int(units),
            "cost": float(cost),
            "below": float(below),
            "above": float(above),
            "reached_by": float(live),
        }
        for units, cost, below, above, live in zip(plan.stages, plan.stage_costs, low, high, plan.live, strict=True)
    ]
    return {
        "evaluate_all": plan.evaluate_all,
        "precision": plan.precision,
        "n_surrogates": len(plan.surrogates.vectors),
        "expected_cost": expected_cost(plan),
        "full_cost": plan.full_cost,
        "looks": looks,
    }


def expected_cost(plan: Plan) -> float:
    """What a row costs on average, by the plan rows."""
    import numpy as np

    if plan.evaluate_all:
        return plan.full_cost
    leaving = plan.live - np.append(plan.live[1:], 0.0)
    return float(leaving @ plan.stage_costs)


def model_facts(fast: Any) -> dict[str, Any]:
    """The wrapped model, as wald reads it."""
    from ..additive import KernelTerms

    model = fast._served.model
    kernel = isinstance(model.terms, KernelTerms)
    return {
        "terms": model.terms.n_terms,
        "unit": "support vectors" if kernel else "features",
        "kernel": model.terms.kernel if kernel else None,
        "n_features": int(fast.n_features_in_),
        "feature_names": [str(name) for name in getattr(fast, "feature_names_in_", ())] or None,
        "classes": fast.classes_,
        "binary": model.decision.n_outputs == 1,
    }
