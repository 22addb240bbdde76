"""One model and one seed: what every predictor costs, how often it errs, and how well it ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import average_precision_score, precision_recall_curve

from .._common import Record
from .material import Material, Rows
from .predictors import LadderPredictor, Outcome, PartialSums, Run

Floats = NDArray[np.floating[Any]]

#: Disagreement at which terms are compared.
RISK = 0.001
#: Mean costs at which predictors are compared, as shares of all terms.
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Further mean costs, at which only the ladder is measured.
LADDER_SHARES = (0.003, 0.005, 0.01)
#: Mean costs at which whole curves of precision and recall are kept.
CURVE_SHARES = (0.1, 0.3, 0.5)
RECALLS = (*(round(0.05 * i, 2) for i in range(1, 20)), 0.98)
#: Where the rejected rows begin, precision is compared this much further in recall.
BEYOND = 0.02
#: Share of the terms after which the ladder's estimate is compared with the full score.
PART = 0.2
#: Plan rows from which the terms' correlations are taken.
_CORRELATED = 2000

#: Tables by name, as lists of records.
Tables = dict[str, list[Record]]


def describe(material: Material) -> Record:
    """The model and the rows that it was trained on."""
    X, sizes = material.rows.X, material.sizes
    nonzeros = X.nnz / X.shape[0] if sparse.issparse(X) else np.count_nonzero(X) / len(X)
    return {
        "data": material.data,
        "model": material.model_name,
        "kernel": "RBF" if material.model.kernel == "rbf" else "linear",
        "train_rows": sizes.train,
        "plan_rows": sizes.plan,
        "certificate_rows": sizes.certificate,
        "test_rows": sizes.test,
        "support_vectors": material.n_terms,
        "features": int(X.shape[1]),
        "nonzeros_per_row": float(nonzeros),
        "positives": float(material.rows.labels.mean()),
        "label_error": float(((material.rows.full == 1) != material.rows.labels).mean()),
    }


def trial(material: Material, seed: int, n_jobs: int | None = None) -> Tables:
    """Compare the predictors on one split, order and plan.

    Settings are chosen on the certificate rows, means come from the plan rows, and every figure is from the test rows.

    Returns
    -------
    dict of str to list of Record
        "curves", "precision_recall", "fall", "at_risk" and "known".
    """
    plan, certificate, test = material.deal(seed)
    sums = PartialSums(material, plan, seed)
    ladder = LadderPredictor(material, plan, certificate, RISK, seed, n_jobs)
    chooser = {"attentive": sums.attentive(certificate), "ladder": ladder.run(certificate)}
    runs = {"attentive": sums.attentive(test, chooser["attentive"]), "ladder": ladder.run(test)}
    tables: Tables = {
        "curves": [],
        "precision_recall": [],
        "fall": [],
        "at_risk": _at_risk(sums, ladder, chooser, runs, certificate, test),
        "known": [_known(material, plan, runs["ladder"])],
    }
    for share in SHARES:
        attentive = runs["attentive"].outcome(chooser["attentive"].setting_at_cost(share * material.n_terms))
        cost = float(attentive.cost.mean())
        k = min(material.n_terms, max(1, round(cost)))
        outcomes = {
            "full": _full(test, material.n_terms),
            "attentive": rejecting(attentive),
            "attentive, ranked by its estimate": attentive,
            "budgeted": sums.budgeted(test, k),
            "budgeted, best threshold": sums.budgeted(test, k, sums.tuned_threshold(certificate, k)),
            "ladder": runs["ladder"].outcome(chooser["ladder"].setting_at_cost(cost)),
        }
        for name, outcome in outcomes.items():
            tables["curves"].append({"share": share, "predictor": name, **_figures(outcome, test, material.n_terms)})
            if share in CURVE_SHARES:
                precision = precision_at(outcome.ranking, test.labels, RECALLS)
                tables["precision_recall"] += [
                    {"share": share, "predictor": name, "recall": r, "precision": p}
                    for r, p in zip(RECALLS, precision, strict=True)
                ]
        tables["fall"].append({"share": share, **_fall(outcomes["attentive"], test)})
    for share in LADDER_SHARES:
        outcome = runs["ladder"].outcome(chooser["ladder"].setting_at_cost(share * material.n_terms))
        tables["curves"].append({"share": share, "predictor": "ladder", **_figures(outcome, test, material.n_terms)})
    key: Record = {"data": material.data, "model": material.model_name, "seed": seed}
    return {name: [{**key, **record} for record in records] for name, records in tables.items()}


def rejecting(outcome: Outcome) -> Outcome:
    """The attentive predictor's outcome as the paper scores it: all rejected rows share the lowest score."""
    ranking = outcome.ranking.copy()
    ranking[outcome.early] = ranking.min() - 1.0
    return outcome._replace(ranking=ranking)


def precision_at(ranking: Floats, labels: NDArray[np.bool_], recalls: tuple[float, ...]) -> list[float]:
    """Precision where recall first reaches each of the given values, from the highest score downwards."""
    precision, recall, _ = precision_recall_curve(labels, ranking)
    place = np.searchsorted(recall[::-1], np.asarray(recalls) - 1e-12)  # recall falls along the curve
    return [float(precision[::-1][i]) for i in place]


def _full(rows: Rows, n_terms: int) -> Outcome:
    n = len(rows.labels)
    return Outcome(np.full(n, float(n_terms)), rows.full, rows.scores, np.zeros(n, dtype=bool))


def _figures(outcome: Outcome, rows: Rows, n_terms: int) -> Record:
    differs = outcome.codes != rows.full
    positive = rows.full == 1
    return {
        "terms": float(outcome.cost.mean()),
        "cost_share": float(outcome.cost.mean() / n_terms),
        "disagreement": float(differs.mean()),
        "positives_missed": float((differs & positive).sum() / max(1, positive.sum())),
        "label_error": float(((outcome.codes == 1) != rows.labels).mean()),
        "average_precision": float(average_precision_score(rows.labels, outcome.ranking)),
        "rejected_negatives": float((outcome.early & ~positive).sum() / max(1, outcome.early.sum())),
    }


def _fall(outcome: Outcome, rows: Rows) -> Record:
    """Precision of the attentive predictor around the recall that the rows not rejected reach, where it falls."""
    kept = ~outcome.early
    recall = float((kept & rows.labels).sum() / rows.labels.sum())
    beyond = (min(1.0, recall + BEYOND),)
    return {
        "recall": recall,
        # scikit-learn defines the precision of no rows as 1
        "precision_before": float(rows.labels[kept].mean()) if kept.any() else 1.0,
        "precision_beyond": precision_at(outcome.ranking, rows.labels, beyond)[0],
        "precision_of_full_beyond": precision_at(rows.scores, rows.labels, beyond)[0],
    }


def _at_risk(
    sums: PartialSums,
    ladder: LadderPredictor,
    chooser: dict[str, Run],
    runs: dict[str, Run],
    certificate: Rows,
    test: Rows,
) -> list[Record]:
    """Terms at a disagreement of `RISK` on the certificate rows."""
    n = len(sums.coef)
    outcomes = {"full": _full(test, n)}
    for name, tuned in (("budgeted", False), ("budgeted, best threshold", True)):
        k = sums.budget_at_risk(certificate, RISK, tuned=tuned)
        outcomes[name] = sums.budgeted(test, k, sums.tuned_threshold(certificate, k) if tuned else 0.0)
    for name, run in runs.items():
        outcomes[name] = run.outcome(chooser[name].setting_at_risk(RISK))
    outcomes["ladder, certified"] = runs["ladder"].outcome(ladder.certified_setting)
    positive = test.full == 1
    return [
        {
            "predictor": name,
            "terms": float(o.cost.mean()),
            "cost_share": float(o.cost.mean() / n),
            "disagreement": float((o.codes != test.full).mean()),
            "terms_of_positives": float(o.cost[positive].mean()),
            "terms_of_negatives": float(o.cost[~positive].mean()),
        }
        for name, o in outcomes.items()
    ]


def _known(material: Material, plan: Rows, ladder: Run) -> Record:
    """Number of terms that the best linear estimate needs to explain the score, and number of independent terms."""
    residual = ladder.estimates - ladder.scores[:, None]
    known = 1.0 - residual.var(axis=0) / ladder.scores.var()
    terms_for = {
        f"terms_for_{level}": float(ladder.costs[:-1][known >= level / 100][0])
        if (known >= level / 100).any()
        else float(material.n_terms)
        for level in (90, 99)
    }
    early = max(0, int(np.searchsorted(ladder.costs, PART * material.n_terms, side="right")) - 1)
    return {
        "support_vectors": material.n_terms,
        **terms_for,
        "open_at_part": float(1.0 - known[early]),
        "wrong_at_part": float(((ladder.estimates[:, early] > 0) != (ladder.stage_scores.full == 1)).mean()),
        "effective_terms": effective_terms(plan.values),
    }


def effective_terms(values: Floats) -> float:
    """Effective number of uncorrelated terms: n^2 / sum of squared correlations."""
    some = values[:_CORRELATED].astype(np.float64)
    some = some - some.mean(axis=0)
    some = some[:, some.std(axis=0) > 0]
    some /= np.sqrt((some**2).sum(axis=0))
    n = some.shape[1]
    # the squared correlation of independent terms is 1 / N in the mean
    squares = float(((some.T @ some) ** 2).sum()) - n * (n - 1) / (len(some) - 1)
    return float(n**2 / max(squares, float(n)))
