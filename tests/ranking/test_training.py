"""Rankers that are not fitted: some groups train, some plan, some certify."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wald
from wald import EarlyExitRanker
from wald.early_exit import Status
from wald.early_exit.ranker_training import trained_by_groups
from wald.sources import source_of

from .lists import K, lists


def made(library: str) -> Any:
    """An unfitted ranker of a library."""
    module = pytest.importorskip(library.partition(" ")[0])
    if library == "xgboost":
        return module.XGBRanker(n_estimators=60, max_depth=4, n_jobs=1)
    if library == "catboost":
        return module.CatBoostRanker(iterations=40, depth=4, verbose=False, thread_count=1, allow_writing_files=False)
    own = module.LGBMRanker(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)
    return make_pipeline(StandardScaler(), own) if library == "lightgbm pipeline" else own


LIBRARIES = ["lightgbm", "lightgbm pipeline", "xgboost", "catboost"]


def shuffled(n_groups: int, seed: int) -> tuple[Any, Any, Any]:
    """Rows of groups that lie apart."""
    X, y, groups = lists(n_groups, seed=seed)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order], groups[order]


@pytest.mark.parametrize(
    "library", ["lightgbm", *(pytest.param(other, marks=pytest.mark.slow) for other in LIBRARIES[1:])]
)
def test_some_groups_train_and_others_certify(library: str) -> None:
    X, y, groups = shuffled(300, 1)
    model = made(library)
    early = EarlyExitRanker(model, k=K, risk=0.1, random_state=0, n_jobs=1).fit(X, y, groups=groups)
    assert early.estimator is model
    assert not hasattr(model, "booster_")
    assert early.certificate_.n_groups == 75
    assert early.certificate_.ndcg_lost is not None
    Z, _, keys = lists(40, seed=2)
    own, answers = early.estimator_.predict(Z), early.predict(Z, groups=keys, details=True)
    stays = answers.status == Status.FULL
    assert 0 < stays.mean() < 0.95
    np.testing.assert_array_equal(answers.labels[stays], own[stays])
    again = EarlyExitRanker(made(library), k=K, risk=0.1, random_state=0, n_jobs=1).fit(X, y, groups=groups)
    np.testing.assert_array_equal(again.predict(Z, groups=keys), answers.labels)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_model_is_that_of_its_library_on_these_groups(library: str) -> None:
    X, y, groups = shuffled(60, 3)
    trained, rest = trained_by_groups(made(library), source_of(X), y, groups, {}, np.random.default_rng(0))
    mine = np.setdiff1d(np.arange(len(X)), rest)
    assert not set(groups[mine]) & set(groups[rest])
    assert len(set(groups[mine])) == 30
    order = mine[np.argsort(groups[mine], kind="stable")]
    sizes, keys = np.unique(groups[mine], return_counts=True)[1], groups[order]
    told = {"xgboost": {"qid": keys}, "catboost": {"group_id": keys}, "lightgbm": {"group": sizes}}
    how = told.get(library, {"lgbmranker__group": sizes})
    own = made(library).fit(X[order], y[order], **how)
    np.testing.assert_array_equal(trained.predict(X), own.predict(X))


def test_without_a_risk_all_groups_train() -> None:
    X, y, groups = shuffled(50, 4)
    exact = EarlyExitRanker(made("lightgbm")).fit(X, y, groups=groups)
    order = np.argsort(groups, kind="stable")
    own = made("lightgbm").fit(X[order], y[order], group=np.bincount(groups))
    np.testing.assert_array_equal(exact.predict(X), own.predict(X))
    assert not hasattr(exact, "certificate_")


def test_further_arguments_are_split_like_the_rows() -> None:
    X, y, groups = shuffled(200, 5)
    weight = np.random.default_rng(1).random(len(X))
    weighted, plain = (
        EarlyExitRanker(made("lightgbm"), k=K, risk=0.2, random_state=0).fit(X, y, groups=groups, **given)
        for given in ({"sample_weight": weight}, {})
    )
    assert (weighted.predict(X) != plain.predict(X)).any()


def test_frames_and_files() -> None:
    pandas = pytest.importorskip("pandas")
    X, y, groups = shuffled(200, 6)
    frame, names = pandas.DataFrame(X, columns=list("abcdefgh")), pandas.Series([f"query {g}" for g in groups])
    early = EarlyExitRanker(made("lightgbm"), k=K, risk=0.2, random_state=0)
    early.fit(frame, pandas.Series(y), groups=names)
    assert early.feature_names_in_.tolist() == list("abcdefgh")
    again = wald.persistence.from_bytes(wald.persistence.to_bytes(early))
    np.testing.assert_array_equal(again.predict(frame, groups=names), early.predict(frame, groups=names))
    assert str(again.certificate_) == str(early.certificate_)


def test_bad_input() -> None:
    from sklearn.tree import DecisionTreeRegressor

    X, y, groups = lists(4)
    risky = EarlyExitRanker(made("lightgbm"), risk=0.1)
    with pytest.raises(ValueError, match="LGBMRanker is not fitted yet: y must have the relevance of each row"):
        risky.fit(X, groups=groups)
    with pytest.raises(ValueError, match="y must have the relevance of each of the 160 rows"):
        risky.fit(X, y[1:], groups=groups)
    with pytest.raises(ValueError, match=r"groups must have one entry for each of the 160 rows. Got 159"):
        risky.fit(X, y, groups=groups[1:])
    with pytest.raises(ValueError, match=r"groups must hold several groups: .* Got 1"):
        risky.fit(X, y, groups=np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"groups must name the group of every row\. Got .*nan.* for row 5"):
        risky.fit(X, y, groups=np.where(np.arange(len(X)) == 5, np.nan, groups))
    with pytest.raises(ValueError, match="group follows from groups, of which some train the model: leave it out"):
        risky.fit(X, y, groups=groups, group=np.bincount(groups))
    with pytest.raises(ValueError, match=r"risk=0.1 is certified on groups of rows: pass X"):
        risky.fit(X, y)
    with pytest.raises(TypeError, match=r"DecisionTreeRegressor.fit takes no groups"):
        EarlyExitRanker(DecisionTreeRegressor(), risk=0.1).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match="2 groups are too few to certify"):
        few = risky.fit(X, y, groups=groups)
    np.testing.assert_array_equal(few.predict(X, groups=groups), few.estimator_.predict(X))
