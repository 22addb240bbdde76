"""Rankings: LambdaMART on queries made of 20 newsgroups, the first ten posts of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wald import EarlyExitRanker
from wald.datasets import fetch_newsgroup_ranking
from wald.ranking import RowGroups
from wald.ranking.measures import missing_shares, ndcg

from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure

TITLE = "LambdaMART of 500 trees, subject lines of 20 newsgroups as queries, up to 200 posts each, k = 10; 1 thread"
TREES, K = 500, 10
#: Queries that train, and those before the test queries, which plan and certify.
TRAIN, FIT = 900, 1750
RISKS = (0.02, 0.05, 0.01)
ONE_GROUPS = 100


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    from lightgbm import LGBMRanker

    X, relevance, query = fetch_newsgroup_ranking(return_X_y=True)
    train, fit, test = query < TRAIN, (query >= TRAIN) & (query < FIT), query >= FIT
    model = LGBMRanker(
        n_estimators=how.rows(TREES, 50), num_leaves=31, learning_rate=0.05, min_child_samples=20, n_jobs=2, verbose=-1
    )
    model.fit(X[train], relevance[train], group=np.unique(query[train], return_counts=True)[1])
    rows, groups = X[test], query[test]
    own = model.booster_.predict(rows, num_threads=1)
    exact = EarlyExitRanker(model, n_jobs=1).fit()
    if not np.array_equal(own, exact.predict(rows)):
        raise RuntimeError("scores differ from the model's")
    figures = [_speed("exact", exact, model, rows, groups, how)]
    for risk in RISKS:
        fast = EarlyExitRanker(model, k=K, risk=risk, n_jobs=1, random_state=0)
        fast.fit(X[fit], relevance[fit], groups=query[fit])
        figures += _first_ten(f"{risk:.0%} missing", fast, model, (rows, groups, relevance[test]), own, how)
    return figures


def _speed(name: str, fast: Any, model: Any, X: NDArray[Any], groups: NDArray[Any], how: Run) -> Figure:
    peer = Task(lambda: model.booster_.predict(X, num_threads=1), 1)
    t = measure({"ours": Task(lambda: fast.predict(X, groups=groups), 1), "peer": peer}, how.repeats)
    each = {who: 1e9 * t[who].median / len(X) for who in t}
    note = f"{each['ours']:.4g} ns a row; peer {each['peer']:.4g} ns; {len(X)} rows"
    return Figure(f"{name}: speed", each["peer"] / each["ours"], "x", "Booster.predict", note)


def _first_ten(name: str, fast: Any, model: Any, test: Any, own: NDArray[Any], how: Run) -> list[Figure]:
    """Speed, trees and what is lost, on test queries."""
    X, query, relevance = test
    groups = RowGroups.of(query, len(query))
    answers = fast.predict(X, groups=query, details=True)
    missing = missing_shares(own, answers.labels, groups, K)
    full, early = (ndcg(relevance.astype(float), scores, groups, K) for scores in (own, answers.labels))
    lists = np.split(X, groups.ends[: ONE_GROUPS + 1])[:ONE_GROUPS]
    one = np.median(each_call(lambda i: fast.rank(lists[i], K), len(lists), how.repeats))
    promised = fast.certificate_
    return [
        _speed(name, fast, model, X, query, how),
        Figure(f"{name}: trees per row", float(answers.costs.mean()), note=f"of {promised.n_trees}"),
        Figure(
            f"{name}: of the first {K}",
            100 * float(missing.mean()),
            "%",
            note=f"{len(groups)} test queries; {100 * promised.missing:.2g} % of {promised.n_groups} to certify",
        ),
        Figure(
            f"{name}: NDCG@{K} lost",
            float(np.mean(full - early)),
            note=f"{full.mean():.4f} in full; {promised.ndcg_lost or 0.0:.2g} on certificate queries",
        ),
        Figure(f"{name}: rank one query", 1e6 * float(one), "us", note=f"{len(X) / len(groups):.0f} posts"),
    ]
