"""Groups, measures of rankings, ladders and certificates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from wald.ranking import RankingCertificate, RowGroups
from wald.ranking.certificate import boldest, groups_needed, proves
from wald.ranking.ladder import Work, cheapest_ladder, fine_stages, undecided_shares
from wald.ranking.measures import missing_shares, ndcg, places


def test_groups_side_by_side_and_apart():
    together = RowGroups.of(["b", "b", "a"], 3)
    assert (together.rows, together.ends.tolist(), together.members.tolist()) == (None, [2, 3], [0, 0, 1])
    apart = RowGroups.of(np.array([3, 1, 3, 1, 1]), 5)
    assert apart.rows is not None
    assert (apart.rows.tolist(), apart.sizes.tolist()) == ([1, 3, 4, 0, 2], [3, 2])
    rows, groups = apart.rows_of(np.array([1, 0]))
    assert (rows.tolist(), groups.ends.tolist(), groups.rows) == ([0, 2, 1, 3, 4], [2, 5], None)
    for mixed in ([1, "1", 1], np.array([1, "1", 1], dtype=object)):
        assert RowGroups.of(mixed, 3).sizes.tolist() in ([2, 1], [1, 2])
    assert len(RowGroups.of([], 0)) == RowGroups.one(0).n_rows == 0


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT")])
def test_missing_keys(missing):
    with pytest.raises(ValueError, match="groups must name the group of every row"):
        RowGroups.of(np.array([1, missing, 1], dtype=object), 3)


def test_measures_of_groups_are_those_of_each_group_alone():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, 40)
    groups, n = RowGroups(np.cumsum(sizes)), int(sizes.sum())
    full, early = rng.integers(0, 20, n).astype(float), rng.normal(size=n)
    relevance = rng.integers(0, 4, n).astype(float)
    missing, gained = missing_shares(full, early, groups, 7), ndcg(relevance, early, groups, 7)
    for g, (begin, end) in enumerate(zip(groups.starts, groups.ends, strict=True)):
        here = slice(begin, end)
        orders = [np.argsort(-s[here], kind="stable") for s in (full, early)]
        assert places(full, groups)[here][orders[0]].tolist() == list(range(end - begin))
        both = np.intersect1d(orders[0][:7], orders[1][:7])
        assert missing[g] == pytest.approx(1 - len(both) / min(7, end - begin))
        if end - begin > 1 and relevance[here].any():
            own = ndcg_score(2.0 ** relevance[here][None] - 1, early[here][None], k=7)
            assert gained[g] == pytest.approx(own)
    assert ndcg(np.zeros(3), np.arange(3.0), RowGroups.one(3), 2).tolist() == [1.0]
    assert missing_shares(np.zeros(0), np.zeros(0), RowGroups.one(0), 2).shape == (0,)


def test_fine_stages_rise():
    for n in (1, 2, 3, 5, 50, 3000):
        stages = fine_stages(n)
        assert (np.diff(stages) > 0).all()
        assert 1 <= stages[0] <= stages[-1] <= n


def test_the_cheapest_ladder_is_the_best_of_all_subsets():
    rng = np.random.default_rng(0)
    for _ in range(20):
        terms = np.cumsum(rng.integers(1, 20, 5))
        undecided = np.sort(rng.random(5))[::-1]
        work = Work(lambda begin, end, reached: 3.0 + (end - begin), float(rng.uniform(20, 150)))

        def cost(chosen, terms=terms, undecided=undecided, work=work):
            return work.expected(terms[chosen], np.array([1.0, *undecided[chosen]]))

        subsets = [np.flatnonzero([(b >> i) & 1 for i in range(5)]) for b in range(32)]
        assert cost(cheapest_ladder(terms, undecided, work)) == pytest.approx(min(map(cost, subsets)))


def test_undecided_rows():
    estimates, errors = np.array([[3.0], [2.0], [1.0], [9.0]], np.float32), np.ones((4, 1), np.float32)
    assert undecided_shares(estimates, errors, RowGroups(np.array([3, 4])), 1, 1.5).tolist() == [0.75]


def test_certificates_need_groups():
    for risk in (0.01, 0.05, 0.3):
        n = groups_needed(risk, 0.95)
        assert proves(np.zeros(n), risk, 0.95)
        assert not proves(np.zeros(n // 2), risk, 0.95)
    assert boldest(np.array([2.0, 1.0]), lambda q: np.ones(500), 0.1, 0.95) is None


def test_certificates_speak():
    certificate = RankingCertificate(10, 0.02, 0.95, 1200, 0.0112, 0.0189, 61.3, 500, ndcg_lost=0.00061)
    assert str(certificate) == (
        "Of the first 10 rows of new groups like those of fit, at most 2 % are missing, on average over groups, with "
        "95 % confidence. In the 1 200 groups that certify this, 1.1 % were, for 61.3 of 500 trees a row, and NDCG@10 "
        "fell by 0.00061."
    )
    assert str(replace(certificate, ndcg_lost=-0.002)).endswith("trees a row, and NDCG@10 rose by 0.002.")
    assert str(replace(certificate, ndcg_lost=None)).endswith("for 61.3 of 500 trees a row.")
    assert certificate.verify()
    assert not replace(certificate, limit=0.021).verify()


@pytest.mark.long
def test_certified_risks_are_kept():
    """Losses of bold steps lie above the risk: they must seldom be certified, whatever the distribution."""
    rng, risk, wrong = np.random.default_rng(0), 0.05, 0
    sequence = np.linspace(3.0, 0.5, 12)
    means = dict(zip(sequence.tolist(), np.geomspace(0.01, 0.2, 12).tolist(), strict=True))
    for draw in range(400):
        hard = rng.random(300) < 0.1  # groups that lose much, where the others lose little

        def losses(q, hard=hard, draw=draw):
            own = np.random.default_rng((draw, round(1000 * q)))
            share = np.where(hard, 5.0, (1 - 0.5) / 0.9) * means[q]
            return own.binomial(10, np.minimum(share, 1.0), 300) / 10

        q = boldest(sequence, losses, risk, 0.95)
        wrong += q is not None and means[q] > risk
    assert wrong <= 30  # 20 expected at most; 30 is 2.3 standard deviations above


def test_keys_of_groups_may_be_tuples():
    keys = [(1, 2), (1, 2), (2, 1), (1,), (1, 2)]
    groups = RowGroups.of(keys, 5)
    assert groups.ends.tolist() == [1, 4, 5]
    assert groups.rows is not None
    assert groups.rows.tolist() == [3, 0, 1, 4, 2]
