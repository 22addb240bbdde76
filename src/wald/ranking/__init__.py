"""The first k rows of each group, many times as fast: rows race, and most leave early.

In go trees whose scores rank rows (`wald.models.Terms`), preprocessed rows in groups, and their full scores; out come a
`Race`, which gives scores, and a `RankingCertificate`. Half of the groups certify; the others order the trees, fit
estimates of the full score after some of them (estimates.py), and choose the stages (ladder.py). Estimators, pipelines
and the models' own objects are unknown here.
"""

from .certificate import RankingCertificate
from .groups import RowGroups
from .paths import GroupPaths, followed
from .planning import Asked, Ranked, planned
from .race import Limits, Race, RankingPlan

__all__ = [
    "Asked",
    "GroupPaths",
    "Limits",
    "Race",
    "Ranked",
    "RankingCertificate",
    "RankingPlan",
    "RowGroups",
    "followed",
    "planned",
]
