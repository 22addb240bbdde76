"""The compared predictors: the budgeted and the attentive one and our ladder, whose terms are support vectors.

A predictor is fitted on plan rows. Shown other rows it gives a `Run`, which says for every setting of its one number
what each row costs, how it is answered and how it is ranked.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier, Planner
from wald.stopping import Boundary, Budget, StageScores, Walk, q_grid

from .material import Material, Rows

Floats = NDArray[np.floating[Any]]

#: Terms of a stage of the attentive predictor, to save memory; in the paper every term is a stage.
EVERY = 8
#: Settings of the attentive predictor that are tried between the boldest and the most cautious.
N_SETTINGS = 48
#: Scales of the ladder that are tried.
N_SCALES = 200
#: Up to this share of disagreements, every setting that changes an answer is tried as well.
FINE = 0.003
#: Bisections between two scales to reach a mean cost.
N_HALVINGS = 16
#: Share of the plan rows that ``fit`` takes for a certificate, which ``recertify`` replaces on rows of its own.
LEAST_CERTIFICATE = 0.1


class Outcome(NamedTuple):
    """The outcome of every row: terms evaluated, code answered, score to rank by, and whether it exits early."""

    cost: NDArray[np.float64]
    codes: NDArray[np.int32]
    ranking: NDArray[np.float64]
    early: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Run:
    """The stages of a predictor on some rows.

    Attributes
    ----------
    stage_scores : StageScores
        Scores at every early stage, and the full model's codes.
    boundary : Boundary
        The thresholds, up to the setting q.
    costs : ndarray of shape (T + 1,)
        Terms evaluated at each stage; the last is all of them.
    scores : ndarray of shape (N,)
        Full scores.
    settings : ndarray
        Values of q, from cautious to bold.
    estimates : ndarray of shape (N, T)
        Estimate of the full score at each stage.
    """

    stage_scores: StageScores
    boundary: Boundary
    costs: NDArray[np.float64]
    scores: NDArray[np.float64]
    settings: NDArray[np.float64]
    estimates: Floats

    def outcome(self, q: float) -> Outcome:
        """Let the rows exit at setting `q`; a row that exits is ranked by the estimate at its stage."""
        codes, stage = self.stage_scores.leave(*self.boundary.thresholds(q, self.stage_scores.dtype))
        early = stage < self.stage_scores.n_stages
        ranking = self.scores.astype(np.float64)
        ranking[early] = self.estimates[early, stage[early]]
        return Outcome(self.costs[stage], codes, ranking, early)

    def disagreement(self, q: float) -> float:
        """Share of the rows whose answer differs from the full model's."""
        return float((self.outcome(q).codes != self.stage_scores.full).mean())

    @cached_property
    def _mean_costs(self) -> NDArray[np.float64]:
        return np.array([self.outcome(q).cost.mean() for q in self.settings])

    def setting_at_cost(self, mean_cost: float) -> float:
        """The setting of a mean cost on these rows, to within half a term if there is one."""
        i = int(np.argmax(self._mean_costs <= mean_cost))  # costs fall along the settings
        if self._mean_costs[i] > mean_cost:
            return float(self.settings[-1])
        if i == 0:
            return float(self.settings[0])
        cautious, bold = self.settings[i - 1], self.settings[i]
        for _ in range(N_HALVINGS):
            q = 0.5 * (cautious + bold)
            cost = self.outcome(q).cost.mean()
            if abs(cost - mean_cost) <= 0.5:
                return float(q)
            cautious, bold = (q, bold) if cost > mean_cost else (cautious, q)
        return float(bold)

    def setting_at_risk(self, risk: float) -> float:
        """The least cautious setting such that it and all more cautious ones disagree on at most this share of rows."""
        best = np.inf
        for q in self.settings:
            if self.disagreement(q) > risk:
                break
            best = float(q)
        return best


class PartialSums:
    """Support vectors in one random order, and the running sums over them.

    Parameters
    ----------
    material : Material
    plan : Rows
        They give the means of the terms: over all rows, and over those that the full model calls positive.
    seed : int
    every : int, default=EVERY
        Terms of a stage.
    """

    def __init__(self, material: Material, plan: Rows, seed: int, every: int = EVERY) -> None:
        order = np.random.default_rng([seed, 4]).permutation(material.n_terms)
        self.order, self.coef, self.intercept = order, material.coef[order], material.intercept
        n = material.n_terms
        self.stages = np.arange(every, n, every) if n > every else np.arange(1, n)
        self.costs = np.append(self.stages, n).astype(np.float64)
        # mean terms in this order: over all rows, and over the positives
        self._mean = self.coef * plan.values.mean(axis=0, dtype=np.float64)[order]
        positive = plan.full == 1
        self._positive = self.coef * plan.values[positive].mean(axis=0, dtype=np.float64)[order]

    def at_stages(self, rows: Rows) -> NDArray[np.float32]:
        """Sums of the terms seen at every stage (N, T), without the intercept."""
        weighted = rows.values[:, self.order[: self.stages[-1]]] * self.coef[: self.stages[-1]].astype(np.float32)
        starts = np.concatenate([[0], self.stages[:-1]])
        blocks = np.add.reduceat(weighted, starts, axis=1, dtype=np.float64)
        return np.cumsum(blocks, axis=1).astype(np.float32)

    def after(self, rows: Rows, k: int) -> NDArray[np.float64]:
        """Sums of the first `k` terms (N,)."""
        return np.asarray(rows.values[:, self.order[:k]] @ self.coef[:k].astype(np.float32), dtype=np.float64)

    def rest_of_mean(self, k: Any) -> Any:
        """The mean, over all plan rows, of the sum of the terms after the first `k`."""
        seen = np.concatenate([[0.0], np.cumsum(self._mean)])
        return seen[-1] - seen[k]

    @property
    def positive_path(self) -> NDArray[np.float64]:
        """A_t: the mean sums of the full model's positives at every stage."""
        return np.cumsum(self._positive)[self.stages - 1]

    # ---- the budgeted predictor ----------------------------------------------------------------------------------

    def budgeted(self, rows: Rows, k: int, threshold: float = 0.0) -> Outcome:
        """Evaluate the first `k` terms of every row, put the others at their mean, and answer."""
        n = len(self.coef)
        score = self.after(rows, k) + self.rest_of_mean(k) + self.intercept
        costs = np.array([float(k), float(n)])
        walk = Walk(
            full=rows.full,
            full_scores=rows.scores[:, None],
            stages=costs.astype(np.int64),
            stage_costs=costs,
            margins=score[:, None],
            threshold=threshold,
        )
        codes, stage = walk.stage_scores.leave(*Budget(float(k)).boundary(walk).thresholds(1.0, np.float64))
        early = stage == 0
        return Outcome(costs[stage], codes, np.where(early, score, rows.scores), early)

    def tuned_threshold(self, rows: Rows, k: int) -> float:
        """The threshold on the first `k` terms' score with the fewest disagreements on these rows."""
        return best_threshold(self.after(rows, k) + self.rest_of_mean(k) + self.intercept, rows.full == 1)[0]

    def budget_at_risk(self, rows: Rows, risk: float, *, tuned: bool) -> int:
        """The smallest number of terms, among the stages', that disagrees on at most this share of the rows."""
        scores = self.at_stages(rows) + (self.rest_of_mean(self.stages) + self.intercept)
        positive = rows.full == 1
        for t, k in enumerate(self.stages):
            wrong = best_threshold(scores[:, t], positive)[1] if tuned else ((scores[:, t] > 0) != positive).sum()
            if wrong <= risk * len(positive):
                return int(k)
        return len(self.coef)

    # ---- the attentive predictor ---------------------------------------------------------------------------------

    def attentive(self, rows: Rows, like: Run | None = None) -> Run:
        """One-sided, centred on the positives' mean path: a row is rejected when its sum is far enough below it.

        The setting q is tau, plus a constant that keeps it positive: tau is swept over all levels that the rows'
        sums reach, and those are negative for the boldest.

        Parameters
        ----------
        rows : Rows
        like : Run, optional
            On other rows: its boundary and settings are kept, so that its settings mean the same here.
        """
        sums, path = self.at_stages(rows), self.positive_path
        stage_scores = StageScores(full=rows.full, margins=sums)
        estimates = sums + (self.rest_of_mean(self.stages) + self.intercept)
        if like is not None:
            return Run(stage_scores, like.boundary, self.costs, rows.scores, like.settings, estimates)
        centred = sums - path
        shift = float(centred.max())
        nothing = np.zeros(len(path))
        boundary = Boundary(path + shift, nothing + 1.0, nothing + np.inf, nothing)
        level = shift - centred.min(axis=1).astype(np.float64)  # a row exits when q is below its level
        misses = np.sort(level[rows.full == 1])[::-1][: int(FINE * len(level)) + 2]
        swept = np.quantile(level, np.linspace(0, 1, N_SETTINGS))
        margin = 1e-6 * np.abs(level).max()  # thresholds are rounded to single precision
        settings = np.unique(np.concatenate([misses + margin, swept, [level.max() + margin]]))[::-1]
        return Run(stage_scores, boundary, self.costs, rows.scores, np.maximum(settings, 0.0), estimates)


def best_threshold(scores: Floats, positive: NDArray[np.bool_]) -> tuple[float, int]:
    """Threshold (answer positive above it) with the fewest errors, and their number."""
    order = np.argsort(scores, kind="stable")
    ranked, truth = scores[order].astype(np.float64), positive[order]
    # the first i rows are answered negative
    wrong = np.concatenate([[0], np.cumsum(truth)]) + np.concatenate([np.cumsum(~truth[::-1])[::-1], [0]])
    wrong[1:-1][ranked[1:] == ranked[:-1]] = len(wrong)  # no threshold lies between equal scores
    i = int(wrong.argmin())
    if i == 0:
        return float(ranked[0] - 1.0), int(wrong[0])
    return float(ranked[-1] if i == len(ranked) else 0.5 * (ranked[i - 1] + ranked[i])), int(wrong[i])


class LadderPredictor:
    """The library's early-exit classifier with its default rule, around the model.

    Parameters
    ----------
    material : Material
    plan, certificate : Rows
        Rows to plan with; rows to certify with, all of them.
    risk : float
    seed : int
    n_jobs : int or None
    """

    def __init__(
        self, material: Material, plan: Rows, certificate: Rows, risk: float, seed: int, n_jobs: int | None = None
    ) -> None:
        fast = EarlyExitClassifier(
            FrozenEstimator(material.model),
            risk=risk,
            planner=Planner(cost="units", certificate_fraction=LEAST_CERTIFICATE),
            n_jobs=n_jobs,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # too few rows for a certificate: recertify replaces it
            self.fast = fast.fit(plan.X).recertify(certificate.X)

    @property
    def certified_setting(self) -> float:
        """The q of the certificate; infinite where none could be given."""
        return float(self.fast.certificate_.q)

    def run(self, rows: Rows) -> Run:
        """The plan's stages on the rows, computed by the engine."""
        plan = self.fast.plan_
        scores = self.fast.stage_scores(rows.X)[0][:, :-1]
        stage_scores = StageScores(full=rows.full, margins=scores.astype(plan.precision))
        settings = np.append(q_grid(stage_scores, plan.boundary, N_SCALES), 0.0)
        return Run(stage_scores, plan.boundary, plan.stage_costs, rows.scores, settings, scores)
