"""`EarlyExitRanker` with a risk: scores, groups, bad input."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from wald import EarlyExitClassifier, EarlyExitRanker, EarlyExitRegressor
from wald.early_exit import Status

from .lists import K, fast, first, lists, ranker


def test_rows_that_stay_have_the_models_own_scores_and_the_others_lie_below():
    X, _, groups = lists(60, seed=2)
    own, answers = ranker().predict(X), fast().predict(X, groups=groups, details=True)
    stays = answers.status == Status.FULL
    assert 0.1 < stays.mean() < 0.6
    np.testing.assert_array_equal(answers.labels[stays], own[stays])
    assert (answers.labels[~stays] != own[~stays]).any()
    for g in range(60):
        here = groups == g
        assert stays[here].sum() >= K
        assert answers.labels[here & ~stays].max() < answers.labels[here & stays].min()
    costs = np.append(fast().ranking_plan_.stages.terms, 60)
    np.testing.assert_array_equal(answers.costs, costs[answers.stages])
    assert answers.costs.mean() < 30


def test_the_promise_holds_on_new_lists():
    X, _, groups = lists(500, seed=3)
    own, early = ranker().predict(X).reshape(500, -1), fast().predict(X, groups=groups).reshape(500, -1)
    missing = [1 - len(np.intersect1d(first(a), first(b))) / K for a, b in zip(own, early, strict=True)]
    assert 0 < np.mean(missing) < 0.05
    certificate = fast().certificate_
    assert certificate.missing < certificate.limit <= 0.05
    assert certificate.n_groups == 100


@pytest.mark.parametrize("risk", [None, 0, 0.0])
def test_without_a_risk_all_scores_are_the_models_own(risk):
    X, _, groups = lists(20, seed=4)
    exact = EarlyExitRanker(ranker(), risk=risk).fit()
    own = ranker().predict(X)
    np.testing.assert_array_equal(exact.predict(X), own)
    np.testing.assert_array_equal(exact.predict(X, groups=groups), own)
    np.testing.assert_array_equal(exact.rank(X[:40], 3), first(own[:40], 3))
    assert not hasattr(exact, "certificate_")


def test_without_groups_all_rows_are_evaluated_in_full():
    X, _, _ = lists(3, seed=5)
    np.testing.assert_array_equal(fast().predict(X), ranker().predict(X))


def test_a_group_is_answered_the_same_whatever_else_is_in_the_call():
    X, _, groups = lists(300, seed=6)
    X, groups = X[:-20], groups[:-20]
    whole = fast().predict(X, groups=groups, details=True)
    for threads in (1, 2):
        other = copy.copy(fast()).set_params(n_jobs=threads)
        np.testing.assert_array_equal(other.predict(X, groups=groups), whole.labels)
    for g in (0, 17, 299):
        here = groups == g
        alone = fast().predict(X[here], groups=groups[here], details=True)
        np.testing.assert_array_equal(alone.labels, whole.labels[here])
        np.testing.assert_array_equal(alone.stages, whole.stages[here])


def test_threads_share_groups_and_change_no_bit():
    sizes = np.concatenate([[100_000, 1], np.random.default_rng(0).permutation(np.repeat([1, 2, K, 60, 900], 60))])
    X, groups = lists(1, int(sizes.sum()), seed=16)[0], np.repeat(np.arange(len(sizes)), sizes)
    for limits in ({}, {"budget": 14}):
        found = []
        for threads in (1, 2, 5):
            other = copy.copy(fast()).set_params(n_jobs=threads)
            found.append(other.predict(X, groups=groups, details=True, **limits))
        for name in ("labels", "stages", "costs", "status"):
            one, *others = (getattr(answers, name) for answers in found)
            assert all(np.array_equal(one, other) for other in others)
        assert len(np.unique(found[0].stages)) > 1


def test_groups_may_lie_apart_and_have_any_keys():
    X, _, groups = lists(30, seed=7)
    expected = fast().predict(X, groups=groups)
    order = np.random.default_rng(0).permutation(len(X))
    names = np.array([f"query {g}" for g in groups])
    for keys in (groups, -groups, names, names.astype(object), groups.astype(float), groups.astype("datetime64[D]")):
        np.testing.assert_array_equal(fast().predict(X[order], groups=keys[order]), expected[order])
    np.testing.assert_array_equal(fast().predict(X, groups=names.tolist()), expected)


@pytest.mark.parametrize("size", [1, 2, K, K + 1, 100, 5000, 100_000])
def test_sizes_of_groups(size):
    X, _, groups = lists(2, size, seed=8)
    own, answers = ranker().predict(X), fast().predict(X, groups=groups, details=True)
    stays = answers.status == Status.FULL
    np.testing.assert_array_equal(answers.labels[stays], own[stays])
    if size <= K:
        assert stays.all()
    for g in (0, 1):
        a, b = own[groups == g], answers.labels[groups == g]
        assert len(np.intersect1d(first(a), first(b))) >= K - 1 if size > K else (first(a) == first(b)).all()
        np.testing.assert_array_equal(fast().rank(X[groups == g], K), first(b))


def test_empty_calls():
    X, _, groups = lists(1)
    assert fast().predict(X[:0], groups=groups[:0]).shape == (0,)
    assert fast().rank(X[:0], 3).shape == (0,)


def test_ties_stay_in_the_order_of_rows():
    X, _, _ = lists(1, seed=9)
    same = np.repeat(X[:4], 30, axis=0)
    np.testing.assert_array_equal(fast().rank(same, K), first(ranker().predict(same)))
    np.testing.assert_array_equal(fast().rank(np.repeat(X[:1], 50, axis=0)), np.arange(50))


def test_rank():
    X, _, _ = lists(1, 200, seed=10)
    own, groups = ranker().predict(X), np.zeros(200)
    np.testing.assert_array_equal(fast().rank(X, 3), first(fast().predict(X, groups=groups), 3))
    np.testing.assert_array_equal(fast().rank(X, K + 1), first(own, K + 1))  # beyond the promise: in full
    everything = fast().rank(X)
    np.testing.assert_array_equal(np.sort(everything), np.arange(200))
    np.testing.assert_array_equal(everything, first(fast().predict(X, groups=groups), 200))


def test_rows_in_other_containers():
    pd = pytest.importorskip("pandas")
    X, _, groups = lists(30, seed=11)
    expected = fast().predict(X, groups=groups)
    np.testing.assert_array_equal(fast().predict(np.asfortranarray(X), groups=groups), expected)
    np.testing.assert_array_equal(fast().predict(X.astype(np.float64), groups=groups), expected)
    np.testing.assert_array_equal(fast().predict(pd.DataFrame(X), groups=pd.Series(groups)), expected)


def test_missing_values_and_infinity():
    X, _, groups = lists(30, seed=12)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[5, 0] = np.inf
    own, answers = ranker().predict(X), fast().predict(X, groups=groups, details=True)
    stays = answers.status == Status.FULL
    assert 0 < stays.mean() < 1
    np.testing.assert_array_equal(answers.labels[stays], own[stays])


def test_certificates_speak():
    text = str(fast().certificate_)
    assert text.startswith(
        f"Of the first {K} rows of new groups like those of fit, at most 5 % are missing, on average over groups, with "
    )
    assert re.search(r"of 60 trees a row, and NDCG@5 (fell|rose) by", text)
    X, _, groups = lists(200, seed=1)
    assert "NDCG" not in str(
        EarlyExitRanker(ranker(), k=K, risk=0.1, random_state=0).fit(X, groups=groups).certificate_
    )


def test_too_few_groups_are_evaluated_in_full():
    X, _, groups = lists(20, seed=13)
    with pytest.warns(UserWarning, match=r"20 groups are too few to certify risk=0.02, which takes at least"):
        careful = EarlyExitRanker(ranker(), k=K, risk=0.02).fit(X, groups=groups)
    np.testing.assert_array_equal(careful.predict(X, groups=groups), ranker().predict(X))
    assert careful.ranking_plan_ is None
    assert careful.certificate_.failed
    assert str(careful.certificate_).startswith("Every row is evaluated in full, so that nothing is missing: 20 groups")


@pytest.mark.parametrize("copied", [copy.copy, lambda early: pickle.loads(pickle.dumps(early))])
def test_copies_rank_alike(copied):
    X, _, groups = lists(30, seed=15)
    np.testing.assert_array_equal(copied(fast()).predict(X, groups=groups), fast().predict(X, groups=groups))
    assert not hasattr(clone(fast()), "ranking_plan_")


def test_lists_shorter_than_k_take_no_race():
    X, _, groups = lists(400, 4, seed=14)
    short = EarlyExitRanker(ranker(), k=K, risk=0.05, random_state=0).fit(X, groups=groups)
    assert str(short.certificate_) == (
        "Every row is evaluated in full, so that nothing is missing: no group has more than 5 rows, so that none of "
        "them can leave."
    )
    assert not short.certificate_.failed
    np.testing.assert_array_equal(short.predict(X, groups=groups), ranker().predict(X))


def test_where_a_race_cannot_pay_the_certificate_says_so():
    X, _, groups = lists(200, K + 1, seed=14)  # one row of each list leaves at best
    short = EarlyExitRanker(ranker(), k=K, risk=0.04, random_state=0).fit(X, groups=groups)
    assert short.ranking_plan_ is None
    assert re.fullmatch(
        r"Every row is evaluated in full, so that nothing is missing: to keep risk=0\.04, rows would still take "
        r"(all|[\d.]+ of) 60 trees on average, and no less time than all trees at once\.",
        str(short.certificate_),
    )
    assert not short.certificate_.failed


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be a positive whole number. Got 0"),
        ({"k": 2.5}, "k must be a positive whole number. Got 2.5"),
        ({"k": True}, "k must be a positive whole number. Got True"),
        ({"risk": -0.1}, "risk must be None, or a number of at least 0 and below 1. Got -0.1"),
        ({"risk": 1}, "below 1. Got 1"),
        ({"risk": float("nan")}, "below 1. Got nan"),
        ({"risk": "low"}, "below 1. Got 'low'"),
        ({"confidence": 1.0}, "confidence must be a number above 0 and below 1. Got 1.0"),
    ],
)
def test_bad_parameters(parameters, message):
    X, _, groups = lists(2)
    with pytest.raises(ValueError, match=message):
        EarlyExitRanker(ranker(), **{"risk": 0.1} | parameters).fit(X, groups=groups)


def test_bad_input_of_fit():
    X, y, groups = lists(2)
    risky = EarlyExitRanker(ranker(), risk=0.1)
    for given in ({}, {"X": X}, {"groups": groups}):
        with pytest.raises(ValueError, match=r"risk=0.1 is certified on groups of rows: pass X"):
            risky.fit(**given)
    with pytest.raises(ValueError, match="with risk=None there is none: every row is evaluated in full"):
        EarlyExitRanker(ranker()).fit(X, groups=groups)
    with pytest.raises(ValueError, match="LGBMRanker is fitted already, so that group would be ignored"):
        risky.fit(X, groups=groups, group=[40, 40])
    with pytest.raises(ValueError, match=r"groups must have one entry for each of the 80 rows. Got 79"):
        risky.fit(X, groups=groups[1:])
    with pytest.raises(ValueError, match=r"y must have the relevance of each of the 80 rows. Got shape"):
        risky.fit(X, y[1:], groups=groups)
    with pytest.raises(ValueError, match=r"Relevance must be finite and at least 0. Got y\[3\] = -1"):
        risky.fit(X, np.where(np.arange(80) == 3, -1, y), groups=groups)


def test_bad_input_of_predict():
    X, _, groups = lists(2)
    missing = groups.astype(float)
    missing[7] = np.nan
    with pytest.raises(ValueError, match=r"groups must name the group of every row. Got .*nan.* for row 7"):
        fast().predict(X, groups=missing)
    with pytest.raises(ValueError, match=r"groups must have one entry for each of the 80 rows. Got 2"):
        fast().predict(X, groups=[40, 40])
    with pytest.raises(ValueError, match="groups must be one-dimensional"):
        fast().predict(X, groups=groups[:, None])
    with pytest.raises(ValueError, match="features"):
        fast().predict(X[:, :5], groups=groups)
    with pytest.raises(ValueError, match=r"k must be a positive whole number or None. Got 0"):
        fast().rank(X, 0)


def test_other_estimators_are_named():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, groups = lists(2)
    with pytest.raises(TypeError, match="LGBMRanker is a ranker: wrap it in EarlyExitRanker"):
        EarlyExitClassifier(ranker(), risk=0).fit()
    with pytest.raises(TypeError, match="LGBMRanker is a ranker: wrap it in EarlyExitRanker"):
        EarlyExitRegressor(ranker()).fit()
    classifier = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y > 0)
    for risk in (None, 0.1):
        with pytest.raises(TypeError, match="LGBMClassifier is a classifier: wrap it in EarlyExitClassifier"):
            EarlyExitRanker(classifier, risk=risk).fit(X, **({"groups": groups} if risk else {}))


def test_other_libraries_and_pipelines():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, groups = lists(50)
    Z, _, keys = lists(200, seed=1)
    other = xgboost.XGBRanker(n_estimators=100, max_depth=5, n_jobs=1).fit(X, y, qid=groups)
    pipeline = make_pipeline(StandardScaler(), lightgbm.LGBMRanker(n_estimators=60, verbose=-1, n_jobs=1))
    pipeline.fit(X, y, lgbmranker__group=np.bincount(groups))
    for model in (other, ranker().booster_, pipeline):
        own = model.predict(Z)
        early = EarlyExitRanker(model, k=K, risk=0.1, random_state=0, n_jobs=1).fit(Z, groups=keys)
        answers = early.predict(Z, groups=keys, details=True)
        stays = answers.status == Status.FULL
        assert stays.mean() < 0.9
        assert answers.labels.dtype == own.dtype
        np.testing.assert_array_equal(answers.labels[stays], own[stays])
        for g in range(5):
            here = keys == g
            assert answers.labels[here & ~stays].max() < answers.labels[here & stays].min()


def test_a_model_that_was_fitted_again_is_refused():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, groups = lists(200, seed=1)
    model = lightgbm.LGBMRanker(n_estimators=20, verbose=-1, n_jobs=1).fit(X, y, group=np.bincount(groups))
    early = EarlyExitRanker(model, k=K, risk=0.1, random_state=0).fit(X, groups=groups)
    model.fit(X[:4000], y[:4000], group=[40] * 100)
    for call in (lambda: early.predict(X, groups=groups), lambda: early.rank(X[:40])):
        with pytest.raises(ValueError, match="The wrapped model is not the one that was planned"):
            call()


def test_sparse_rows_plan_the_same():
    X, _, groups = lists(60, seed=1)
    X = np.where(X > 1, X, 0.0)
    dense, thin = (EarlyExitRanker(ranker(), k=K, risk=0.3, random_state=0, n_jobs=1) for _ in range(2))
    scores = dense.fit(X, groups=groups).predict(X, groups=groups)
    rows = sparse.csr_array(X)
    assert (thin.fit(rows, groups=groups).predict(rows, groups=groups) == scores).all()
