"""The third paper's experiments: figures from tables, verdicts from figures."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from reproduce import resource_constrained
from reproduce.resource_constrained import arcs, claims, contenders, figures, findings, material, parsing
from reproduce.resource_constrained.contenders import CONTENDERS, NAMES, POLICIES, Contender
from reproduce.resource_constrained.depths import depths_of
from reproduce.resource_constrained.labels import TRADEOFFS
from reproduce.resource_constrained.neighbours import SENTENCE, Neighbours, Tokens, forms_of, one_hot
from reproduce.resource_constrained.pictures import STYLES
from reproduce.resource_constrained.resampling import PROBABILITIES, Served, certify_again
from wald.datasets import make_trees

#: Policies that learn.
LEARNED = ("q-learning", *contenders.ONE_SHOT, "unweighted", "iterated", "label-free")

# ---- made-up tables --------------------------------------------------------------------------------------------------


def made_up(accuracy, data=("OCR",), seeds=3, shares=(0.1, 0.2, 0.3, 0.5)):
    """Curves of every contender: ``accuracy(policy, spend, share)`` of 10 000 parts, 0.8 cheap and 0.9 full."""
    lines = [
        {"data": d, "seed": seed, "policy": c.policy, "spend": c.spend, "requested": share, "parts": 10_000}
        | {"bought": round(10_000 * share), "right": round(10_000 * accuracy(c.policy, c.spend, share)) + seed}
        | {"cheap": 8000 + seed, "full": 9000 + seed}
        for d in data
        for c in CONTENDERS[d]
        for share in shares
        for seed in range(seeds)
    ]
    return {"curves": lines}


def straight(policy, spend, share):
    """Every policy lies on the line from cheap to full, except that learned ones have full accuracy at 30 %."""
    steep = policy in LEARNED or policy == "anytime"
    return 0.8 + 0.1 * min(1.0, share / (0.3 if steep else 1.0))


def test_curves_are_read_between_their_points():
    curve = figures.pooled(made_up(straight), "OCR", "uniform")
    np.testing.assert_allclose(curve.shares, [0, 0.1, 0.2, 0.3, 0.5, 1])
    np.testing.assert_allclose(curve.accuracy, 0.8001 + 0.1 * curve.shares, atol=1e-9)
    assert curve.at(0.4) == pytest.approx(0.8401)
    assert curve.within(0.01) == pytest.approx(0.9)
    assert curve.within(0.2) == 0
    steep = figures.pooled(made_up(straight), "OCR", "one-shot")
    assert steep.within(0.0) == pytest.approx(0.3)


def test_a_curve_that_falls_again_has_not_arrived():
    dips = figures.Curve(np.array([0, 0.2, 0.4, 1]), np.array([0.8, 0.9, 0.89, 0.9]))
    assert dips.within(0.001) == pytest.approx(0.4 + 0.6 * 0.9)


def test_gaps_are_taken_seed_by_seed():
    gap = figures.above(made_up(straight), "OCR", 0.1, "one-shot", "uniform")
    assert gap.mean == pytest.approx(0.1 / 3 - 0.01, abs=1e-4)
    assert gap.high - gap.low < 1e-9
    assert figures.lost(made_up(straight), "OCR", "uniform", 0.5).mean == pytest.approx(0.05)


@pytest.mark.parametrize(("full_from", "verdict"), [(0.45, "holds"), (0.95, "does not hold")])
def test_saving(full_from, verdict):
    def accuracy(policy, spend, share):
        return 0.8 + 0.1 * min(1.0, share / (full_from if policy in LEARNED else 1))

    tables = made_up(accuracy, shares=(0.1, 0.2, 0.3, 0.45, 0.5, 0.95))
    assert claims.saving(tables).verdict == verdict


def test_ahead_of_rivals():
    rivals = ("uniform", "uniform, examples", "myopic", "q-learning")
    ahead = made_up(lambda policy, spend, share: 0.85 - 0.01 * (policy in rivals))
    assert claims.ahead_of_rivals(ahead).verdict == "holds"
    behind = made_up(lambda policy, spend, share: 0.85 + 0.01 * (policy == "myopic"))
    assert claims.ahead_of_rivals(behind).verdict == "does not hold"


@pytest.mark.parametrize(("gain", "verdict"), [(0.6, "holds"), (0.2, "does not hold")])
def test_first_steps(gain, verdict):
    tables = made_up(lambda policy, spend, share: 0.8 + 0.1 * (gain if share <= 0.3 else 0.8))
    assert claims.first_steps(tables).verdict == verdict


@pytest.mark.parametrize(("loss", "verdict"), [(0.001, "holds"), (0.01, "does not hold")])
def test_half_is_enough(loss, verdict):
    tables = made_up(lambda policy, spend, share: 0.9 - loss, data=claims.PARSED)
    assert claims.half_is_enough(tables).verdict == verdict


@pytest.mark.parametrize(
    ("gap", "trajectory", "weights"),
    [(0.01, "holds", "holds"), (-0.01, "does not hold", "does not hold")],
)
def test_variants(gap, trajectory, weights):
    tables = made_up(lambda policy, spend, share: 0.85 + gap * (policy == "one-shot"))
    assert claims.trajectories(tables).verdict == trajectory
    assert claims.importance(tables).verdict == weights


def test_anytime():
    tables = made_up(lambda policy, spend, share: 0.85 - 0.01 * (policy == "anytime"), data=claims.PARSED)
    assert claims.one_shot_above_anytime(tables).verdict == "holds"
    above = made_up(lambda policy, spend, share: 0.85 + 0.01 * (policy == "anytime"), data=claims.PARSED)
    assert claims.one_shot_above_anytime(above).verdict == "does not hold"


@pytest.mark.parametrize(("share", "verdict"), [(0.05, "holds"), (0.2, "does not hold")])
def test_reach(share, verdict):
    lines = [
        {"data": "EWT", "seed": 0, "search": "trajectory", "tradeoff": tradeoff, "share": share - 0.01 * i}
        for i, tradeoff in enumerate(TRADEOFFS)
    ]
    assert claims.reach(lines).verdict == verdict


@pytest.mark.parametrize(
    ("by_head", "by_modifier", "verdict"),
    [(0.6, 0.6, "holds"), (0.6, 0.2, "holds by head"), (0.2, 0.2, "does not hold")],
)
def test_depth(by_head, by_modifier, verdict):
    lines = [
        {"data": data, "seed": seed, "policy": "one-shot", "depth": depth, "words": 1000}
        | {"bought": round(1000 * (at if depth < 2 else 0.3)) + seed}
        for data, at in ((claims.BY_HEAD, by_head), ("EWT", by_modifier))
        for seed in range(3)
        for depth in range(4)
    ]
    assert claims.depth({"depths": lines}).verdict == verdict


def parsed(loss: float, fast: float) -> dict[str, list[dict[str, object]]]:
    """Parsers of likely arcs with a given loss from margin 2 on, and a given speed in words a second."""
    tables: dict[str, list[dict[str, object]]] = {"parsed": [], "speeds": []}
    for data in arcs.TREEBANKS:
        for subset in ("dev", "test") if data == "EWT" else ("test",):
            for way in arcs.WAYS:
                key = {"data": data, "subset": subset, "filter": way.filter, "margin": way.margin}
                right = 9000 - round(10_000 * (loss if way.margin <= 2 else 0))
                tables["parsed"] += [{**key, "seed": s, "words": 10_000, "right": right + s} for s in range(3)]
                words = {"none": 100_000.0}.get(way.filter, 150_000.0 if way.margin == np.inf else fast)
                tables["speeds"].append(
                    {**key, "words_per_second": words, "seconds": 1.0}
                    | {"arcs": 1000 if way.margin == np.inf else int(100 * way.margin), "arcs_per_word": 1.0}
                )
    return tables


def test_margins_are_chosen_on_development_sentences():
    found = parsing.chosen(parsed(0.005, 350_000.0), "Penn sample", claims.NEGLIGIBLE)
    assert found.way.margin == 2.5  # 2 loses half a point on them
    assert found.share == pytest.approx(0.25)
    assert found.speed_up == pytest.approx(3.5)
    assert parsing.chosen(parsed(0.005, 350_000.0), "EWT", parsing.ONE_POINT).way.margin == 1.0
    assert parsing.length_filter(parsed(0.005, 350_000.0)).verdict == "holds"
    assert parsing.length_filter(parsed(0.005, 200_000.0)).verdict == "does not hold"


def test_nothing_likely_enough_leaves_the_filter():
    tables = parsed(0.0, 200_000.0)
    for record in tables["parsed"]:
        if np.isfinite(record["margin"]):
            record["right"] = 5000 + int(record["seed"])
    found = parsing.chosen(tables, "EWT", claims.NEGLIGIBLE)
    assert found.way == arcs.FILTERED
    assert found.share == 1


# ---- parts -----------------------------------------------------------------------------------------------------------


def test_depths():
    heads = np.array([2, 0, 2, 3, 0, 1], dtype=np.int32)
    assert depths_of(heads, np.array([0, 4, 6])).tolist() == [1, 0, 1, 2, 0, 1]


def test_every_policy_is_named_drawn_and_runs():
    assert set(NAMES) == set(POLICIES) == set(STYLES)
    assert {c.policy for run in CONTENDERS.values() for c in run} == set(POLICIES)
    assert set(CONTENDERS) == set(material.SOURCES) == set(resource_constrained._FIRST)
    assert Contender("anytime", "each").name == "anytime, equal share"


def test_test_sentences_are_cut_into_parts_of_one_size():
    of = material.parts_of_tests(25, 10)
    assert sorted(np.bincount(of)) == [2] * 5 + [3] * 5
    counts = material.right_by_seed(np.array([True, False, True]), [0, 1, 3], np.array([1, 0]))
    assert counts == {0: (1, 2), 1: (1, 1)}


def test_a_token_is_not_its_own_neighbour():
    forms = forms_of(make_trees(40, random_state=0), make_trees(5, random_state=1))
    assert forms.spelling[0] == ""
    second = Neighbours(Tokens(forms.sentences[:40], forms.tags[:40]), forms.spelling)
    said = second(forms.sentences[0])
    assert said.shape == (len(forms.sentences[0]), len(np.unique(np.concatenate(forms.tags[:40]))) + 1)
    np.testing.assert_allclose(said[:, :-1].sum(axis=1), 1, rtol=1e-5)
    moved = forms.sentences[0].copy()
    moved[:, SENTENCE] = 10_000  # now its own sentence answers, too
    assert (second(moved)[:, -1] >= said[:, -1]).all()
    assert second(moved)[:, -1].min() > 0.99
    known = Neighbours(Tokens(forms.sentences[:40], forms.tags[:40]), forms.spelling).remember(forms.sentences)
    np.testing.assert_allclose(known(forms.sentences[0]), said, rtol=1e-5)
    known.always_searches = True
    np.testing.assert_allclose(known(forms.sentences[0]), said, rtol=1e-5)
    assert one_hot(forms.sentences[0]).sum() == len(said)


def test_certificates_hold_and_are_near_the_best():
    rng = np.random.default_rng(0)
    n_parts, n = rng.integers(3, 10, 4000), len(PROBABILITIES)
    rate = np.linspace(0, 0.03, n)[:, None] * np.ones(len(n_parts))
    gaps = np.sort(rng.binomial(n_parts, rate), axis=0).astype(float)
    bought = np.round(np.linspace(1, 0.1, n)[:, None] * n_parts).astype(int)
    half = slice(None, 2000), slice(2000, None)
    served = [Served(gaps[:, h], bought[:, h], n_parts[h], 9) for h in half]
    records = certify_again(served, drawings=20)
    assert {r["status"] for r in records} == {"certified"}
    assert sum(int(r["violated"]) for r in records) <= 4
    assert all(r["words"] == 1600 for r in records)
    assert all(r["best_share"] <= r["share"] or r["violated"] for r in records)
    violated = sum(int(r["violated"]) for r in records)
    said = findings.certificates(records)
    assert f"{len(records)} runs were certified, and {violated} of the promises were violated" in " ".join(said.split())
    assert "1 600 words" in said
