"""One model, one seed: the tables."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce._common import select
from reproduce.focus_of_attention.predictors import Outcome
from reproduce.focus_of_attention.tradeoff import (
    CURVE_SHARES,
    LADDER_SHARES,
    SHARES,
    describe,
    effective_terms,
    precision_at,
    rejecting,
    trial,
)


@pytest.fixture(scope="module")
def tables(rbf):
    return trial(rbf, 0)


def test_predictors_are_compared_at_equal_mean_cost(tables, rbf):
    for share in SHARES:
        cost = {r["predictor"]: r["terms"] for r in select(tables["curves"], share=share)}
        assert abs(cost["budgeted"] - cost["attentive"]) <= 0.5
        assert cost["budgeted"] == cost["budgeted, best threshold"]
        assert cost["full"] == rbf.n_terms
    assert {r["share"] for r in select(tables["curves"], predictor="ladder")} == {*LADDER_SHARES, *SHARES}


def test_the_full_predictor_never_disagrees_with_itself(tables):
    for r in select(tables["curves"], predictor="full"):
        assert (r["disagreement"], r["positives_missed"], r["cost_share"]) == (0, 0, 1)


def test_at_risk_names_every_contender(tables, rbf):
    names = [r["predictor"] for r in tables["at_risk"]]
    assert names == ["full", "budgeted", "budgeted, best threshold", "attentive", "ladder", "ladder, certified"]
    cost = {r["predictor"]: r["terms"] for r in tables["at_risk"]}
    assert cost["ladder"] < cost["attentive"] <= cost["full"] == rbf.n_terms
    assert cost["ladder, certified"] >= rbf.n_terms  # 500 rows prove no 0.1 %; landmarks come on top


def test_a_trial_follows_its_seed(tables, rbf):
    assert trial(rbf, 0) == tables
    assert all({"data", "model", "seed"} <= set(r) for records in tables.values() for r in records)


def test_precision_curves_are_kept_at_some_costs(tables):
    assert {r["share"] for r in tables["precision_recall"]} == set(CURVE_SHARES)
    full = select(tables["precision_recall"], predictor="full", share=CURVE_SHARES[0])
    assert full == [{**r, "share": CURVE_SHARES[0]} for r in select(full, predictor="full")]
    assert all(r["precision"] > 0.8 for r in full if r["recall"] <= 0.9)


def test_precision_at_a_recall():
    labels = np.array([True, False, True, True, False])
    ranking = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    assert precision_at(ranking, labels, (0.1, 1 / 3, 0.5, 1.0)) == pytest.approx([1, 1, 2 / 3, 3 / 4])
    assert precision_at(np.zeros(5), labels, (0.1, 1.0)) == pytest.approx([0.6, 0.6])


def test_rejected_rows_share_the_lowest_score():
    early = np.array([True, False, True])
    outcome = Outcome(np.ones(3), np.zeros(3, dtype=np.int32), np.array([0.3, -2.0, 5.0]), early)
    assert rejecting(outcome).ranking.tolist() == [-3, -2, -3]
    assert outcome.ranking.tolist() == [0.3, -2, 5]


def test_effective_terms():
    rng = np.random.default_rng(0)
    independent = rng.standard_normal((2000, 30))
    assert effective_terms(independent) == pytest.approx(30, rel=0.02)
    assert effective_terms(np.repeat(independent[:, :3], 10, axis=1)) == pytest.approx(3, rel=0.02)
    assert effective_terms(np.column_stack([independent, np.ones(2000)])) == pytest.approx(30, rel=0.02)


def test_description(rbf):
    said = describe(rbf)
    assert (said["train_rows"], said["support_vectors"], said["features"]) == (250, rbf.n_terms, 64)
    assert said["kernel"] == "RBF"
    assert said["label_error"] == pytest.approx((rbf.model.predict(rbf.rows.X) != rbf.rows.labels).mean())
