"""Facts about a fitted early-exit estimator, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..plan import Plan
    from ..plan.moments import Floats
    from ..stopping import Certificate

#: Joint confidence of all intervals that are shown with a plan.
CONFIDENCE = 0.95


def facts_of(fast: Any) -> dict[str, Any]:
    """The wrapped model, the certificate and the plan of a fitted early-exit estimator."""
    from ..early_exit.compiled.parts import columns_by_stage

    compiled = fast.compiled_plan_
    reads = columns_by_stage(compiled.model, compiled.plan)
    return {
        "model": model_facts(fast),
        "certificate": certificate_facts(compiled.certificate),
        "plan": plan_facts(compiled.plan, compiled.validation.scores.n_rows, reads),
    }


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """A certificate: its sentence, whether it follows from its counts, and these counts."""
    alike = ("status", "void", "risk", "confidence", "n_splits", "about", "n_rows", "n_disagreements", "rows_needed")
    return {
        "sentence": str(certificate),
        "holds": certificate.verify(),
        "reason": certificate.reason or None,
        "reference": certificate.reference,
        **{name: getattr(certificate, name) for name in (*alike, "intervals", "q")},
        "tested_confidence": certificate.tested,
        "smallest_risk": certificate.smallest_risk if certificate.strata else None,
        "strata": [
            {
                "name": s.name,
                "n_rows": s.n_rows,
                "n_disagreements": s.n_disagreements,
                **({} if s.n_better is None else {"n_better": s.n_better}),
                "risk": certificate.risk_of(s),
                "rows_needed": certificate.needed_by(s),
            }
            for s in certificate.strata
        ],
        "one_row_per_group": certificate.grouped,
    }


def plan_facts(plan: Plan, n_rows: int, reads: Sequence[Sequence[str]] | None = None) -> dict[str, Any]:
    """A plan: every stage with its thresholds, the share of the validation rows that reached it, and its cost.

    Parameters
    ----------
    plan : Plan
    n_rows : int
        Number of validation rows.
    reads : sequence of sequences of str or None, default=None
        Names of the columns that each stage is the first to read.
    """
    import numpy as np

    below, above = (np.append(limits.astype(np.float64), np.nan) for limits in plan.thresholds())
    low, high = reached_by(plan, n_rows)
    columns = {
        "units": plan.stages,
        "cost": plan.stage_costs,
        "below": below,
        "above": above,
        "reached_by": plan.reached,
        "reached_by_low": low,
        "reached_by_high": high,
    }
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    looks = [dict(zip(columns, row, strict=True)) for row in rows]
    if reads is not None:
        looks = [look | {"reads": list(names)} for look, names in zip(looks, reads, strict=True)]
    return {
        "evaluate_all": plan.evaluate_all,
        "precision": plan.precision,
        "n_surrogates": len(plan.surrogates.vectors),
        "own_errors": plan.early.has_spread,
        "n_rows": n_rows,
        "confidence": CONFIDENCE,
        "expected_cost": expected_cost(plan, plan.reached),
        "expected_cost_low": expected_cost(plan, low, least_costs(plan)),
        "expected_cost_high": expected_cost(plan, high),
        "full_cost": plan.full_cost,
        "looks": looks,
    }


def reached_by(plan: Plan, n_rows: int) -> tuple[Floats, Floats]:
    """Confidence limits of the share of rows that reach each stage, from the number of validation rows that did.

    Clopper-Pearson intervals with joint confidence `CONFIDENCE`, valid if the thresholds do not depend on these rows.

    Parameters
    ----------
    plan : Plan
    n_rows : int
        Number of validation rows.

    Returns
    -------
    low, high : float64 ndarray of shape (T + 1,)
        1 at the first stage, and everywhere if every row is evaluated in full.
    """
    import numpy as np

    from ..stopping.core.binomial import interval, shared_confidence

    low, high = np.ones(plan.n_stages + 1), np.ones(plan.n_stages + 1)
    if not plan.evaluate_all:
        confidence = shared_confidence(CONFIDENCE, max(1, plan.n_stages))
        for i, reached in enumerate(plan.reached[1:], start=1):
            low[i], high[i] = interval(round(reached * n_rows), n_rows, confidence)
    return low, high


def expected_cost(plan: Plan, reached: Floats, costs: Floats | None = None) -> float:
    """Mean cost of a row if these shares of the rows reach the stages, which cost ``plan.stage_costs`` by default."""
    import numpy as np

    if plan.evaluate_all:
        return plan.full_cost
    leaving = reached - np.append(reached[1:], 0.0)
    return float(leaving @ (plan.stage_costs if costs is None else costs))


def least_costs(plan: Plan) -> Floats:
    """The least cost of a row that leaves at each stage: that of the stage at which a class can first be dropped."""
    import numpy as np

    costs: Floats = plan.stage_costs.copy()
    if plan.early.race is not None and np.isfinite(plan.early.race).any():
        drops = int(np.flatnonzero(np.isfinite(plan.early.race))[0])
        costs[drops:-1] = costs[drops]
    return costs


def model_facts(fast: Any) -> dict[str, Any]:
    """The wrapped model: its family, terms, features and answers; of values, the time of one row, too."""
    from ..early_exit.compiled.time_of_one import time_of_one

    compiled = fast.compiled_plan_
    model, agreement = compiled.model, compiled.agreement  # files do not hold the agreement
    valued, checked = model.decision.valued, None
    if agreement is not None and agreement.n_rows:
        checked = agreement.told(model.words.answers + " and scores" * (agreement.scores and not valued))
    return {
        **model.facts(),
        "n_features": getattr(fast, "n_features_in_", None),  # texts have no number of features
        "feature_names": [str(name) for name in getattr(fast, "feature_names_in_", ())] or None,
        "kind": model.kind,
        "classes": model.classes,
        "n_values": model.decision.n_outputs if valued and model.kind != "classifier" else None,
        "answers": _answers(model),
        "seconds_of_one": time_of_one(compiled) if valued else None,
        "binary": model.decision.two_sided,
        "in_front": None if compiled.in_front is None else str(compiled.in_front),
        "time_in_front": None if compiled.in_front is None else compiled.in_front.share,
        "checked": checked,
    }


def _answers(model: Any) -> str:
    """What the model answers, in a few words: "10 classes", "outliers and inliers", "4 bands", "one value a row"."""
    words, output = model.words, model.decision
    if output.valued:
        if model.answers_probabilities:
            return f"probabilities of {len(model.classes)} classes"
        n = output.n_outputs
        return f"one {words.answer} a row" if n == 1 else f"{n} {words.answers} a row"
    if words.names:
        return " and ".join(f"{name}s" for name in words.names_of(model.classes))
    return f"{len(model.classes)} {words.kind if len(model.classes) == 1 else words.kinds}"
