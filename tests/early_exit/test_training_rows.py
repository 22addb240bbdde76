"""`fit` warns of training rows of trees, by how they fill the leaves."""

from __future__ import annotations

import warnings

import lightgbm
import numpy as np
import pytest
from early_exit.models import make, wrap
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from wald.early_exit.fitting.training_rows import warn_of_leaf_counts
from wald.models import decompose


def xgboost(**params):
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=10, n_jobs=1, **params)


KINDS = {
    "LightGBM": lambda seed: lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1, random_state=seed),
    "XGBoost": lambda seed: xgboost(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(20, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(20, random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(n_estimators=20, random_state=seed),
}
BAGGED = {
    "bagged LightGBM": lambda seed: lightgbm.LGBMClassifier(
        n_estimators=40, subsample=0.5, subsample_freq=1, verbose=-1, n_jobs=1, random_state=seed
    ),
    "bagged XGBoost": lambda seed: xgboost(subsample=0.5, random_state=seed),
}


def warned(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_leaf_counts(decompose(model), X)
    return any("seem to be training rows" in str(w.message) for w in caught)


@pytest.mark.parametrize("kind", KINDS)
def test_the_training_rows_of_a_tree_model_are_noticed_and_fresh_rows_are_not(kind):
    X, y = make(6000)
    model = KINDS[kind](0).fit(X[:2000], y[:2000])
    assert warned(model, X[:2000])
    assert not warned(model, X[2000:])
    assert not warned(model, X[2000:2200])
    assert not warned(model, 1.3 * X[2000:] + 0.2)


@pytest.mark.parametrize("classes", [2, 4])
def test_few_leaves_that_fresh_rows_of_a_stratified_split_fill_alike_are_no_evidence(classes):
    X, y = make_blobs(800, centers=classes, n_features=4, cluster_std=0.3, random_state=0)
    fresh, trained, _, labels = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    tree = DecisionTreeClassifier(random_state=0).fit(trained, labels)
    assert tree.get_n_leaves() == classes
    assert (np.bincount(tree.apply(fresh)) == np.bincount(tree.apply(trained))).all()
    assert not warned(tree, fresh)


@pytest.mark.filterwarnings("ignore:no early exit", "ignore:The certificate's risk of")
@pytest.mark.parametrize("kind", ["LightGBM", "XGBoost"])
def test_fit_and_recertify_warn(kind):
    X, y = make(6000)
    model = KINDS[kind](0).fit(X[:2000], y[:2000])
    with pytest.warns(UserWarning, match="The rows seem to be training rows"):
        fast = wrap(model, X[:2000])
    with pytest.warns(UserWarning, match="The rows seem to be training rows"):
        fast.recertify(X[:2000])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The rows seem")
        fast.recertify(X[2000:])


# ---- XGBoost, which keeps sums of hessians instead of counts ---------------------------------------------------------


def trained(classes=2, rare=1.0, change=lambda X: X, booster=None, fit=None, **params):
    """A model of the first 2000 rows, and all rows. A share `rare` of the positive rows is kept."""
    xgb = pytest.importorskip("xgboost")
    X, y = make(classes=classes)
    kept = (y == 0) | (np.random.default_rng(0).random(len(y)) < rare)
    X, y = change(X[kept]), y[kept]
    others = fit(X, y) if fit else {}
    if booster is None:
        return xgboost(**params).fit(X[:2000], y[:2000], **others), X
    return xgb.train(booster, xgb.DMatrix(X[:2000], y[:2000], **others), 10), X


def uneven(low, high):
    return lambda X, y: {"sample_weight": np.random.default_rng(0).uniform(low, high, 2000)}


def loaded(tmp_path, kind, whole):
    xgb = pytest.importorskip("xgboost")
    model, X = trained()
    file = tmp_path / f"model.{kind}"
    model.get_booster().save_model(file)
    read = xgb.XGBClassifier() if whole else xgb.Booster()
    read.load_model(file)
    return read, X


NOTICED = {
    "several classes": {"classes": 4},
    "base score": {"base_score": 0.2},
    "base scores": {"classes": 3, "base_score": 0.3},
    "rare positives": {"rare": 0.03},
    "base score near one": {"base_score": 0.9999, "min_child_weight": 0},
    "early stopping": {
        "early_stopping_rounds": 1,
        "fit": lambda X, y: {"eval_set": [(X[2000:3000], y[2000:3000])], "verbose": False},
    },
    "deep": {"max_depth": 12, "min_child_weight": 0},
    "trees in parallel": {"num_parallel_tree": 3, "colsample_bynode": 0.5},
    "logitraw": {"booster": {"objective": "binary:logitraw"}},
    "softmax": {"classes": 3, "booster": {"objective": "multi:softmax", "num_class": 3}},
    "softprob of two": {"booster": {"objective": "multi:softprob", "num_class": 2}},
    "missing": {"missing": 0.0, "change": lambda X: np.where(abs(X) < 0.5, 0, X)},
    "sparse": {"change": lambda X: sparse.csr_matrix(np.where(abs(X) < 0.5, 0, X))},
    "codes": {
        "change": lambda X: np.round(X - X.min(axis=0)),
        "feature_types": ["c"] * 20,
        "enable_categorical": True,
    },
}
LEFT_ALONE = {
    "weights": {"fit": uneven(0.5, 1)},
    "small weights": {"fit": uneven(0.05, 0.15), "min_child_weight": 0},
    "large weights": {"fit": uneven(1e7, 1.2e7)},
    "weights of several classes": {"classes": 3, "fit": uneven(0.05, 0.15), "min_child_weight": 0},
    "large positives": {"scale_pos_weight": 1.5},
    "small positives": {"scale_pos_weight": 0.1, "min_child_weight": 0},
    "margins": {
        "booster": {"objective": "binary:logistic", "min_child_weight": 0},
        "fit": lambda X, y: {"base_margin": np.random.default_rng(0).uniform(3, 4, 2000)},
    },
    "hinge": {"booster": {"objective": "binary:hinge"}},
    "DART": {"booster": {"objective": "binary:logistic", "booster": "dart"}},
}


@pytest.mark.parametrize("case", NOTICED)
def test_sums_of_equal_hessians_tell_training_rows_of_xgboost(case):
    model, X = trained(**NOTICED[case])
    assert warned(model, X[:2000])
    assert not warned(model, X[2000:])
    assert not warned(model, X[2000:2300])


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", ["json", "ubj"])
def test_training_rows_of_xgboosts_files_are_noticed(tmp_path, kind, whole):
    model, X = loaded(tmp_path, kind, whole)
    assert warned(model, X[:2000])
    assert not warned(model, X[2000:])


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_sums_of_uneven_hessians_are_left_alone(case):
    model, X = trained(**LEFT_ALONE[case])
    assert not warned(model, X[:2000])
    assert not warned(model, X[2000:])
    assert not warned(model, X[2000:2300])


@pytest.mark.parametrize(
    "params",
    [{"scale_pos_weight": 3}, {"fit": lambda X, y: {"sample_weight": 1 + 4 * (X[:2000, 0] > 0)}}, {"subsample": 0.5}],
)
def test_sums_of_hessians_that_count_other_numbers_of_rows_raise_no_false_alarm(params):
    model, X = trained(**params)
    assert not warned(model, X[2000:])
    assert not warned(model, X[2000:2300])


def test_infinite_values_are_taken():
    model, X = trained()
    X[2000:, 0] = np.inf
    assert warned(model, X[:2000])
    assert not warned(model, X[2000:])


@pytest.mark.filterwarnings("ignore:.*manually specified the `updater`")
def test_leaves_without_rows_are_left_alone():
    xgb = pytest.importorskip("xgboost")
    model, X = trained(base_score=0.5)
    refreshing = {"process_type": "update", "updater": "refresh", "base_score": 0.5, "min_child_weight": 0}
    few = xgb.DMatrix(X[2000:2050], np.ones(50))
    refreshed = xgb.train(refreshing | {"objective": "binary:logistic"}, few, 10, xgb_model=model.get_booster())
    warn_of_leaf_counts(decompose(refreshed), X)  # any warning is an error here


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS | BAGGED)
def test_rates_of_detection_and_of_false_alarms(kind):
    """Measured on 40 models of each kind: no false alarm; all training rows are found for each but one forest and all
    bagged models.

    Half of them are found for 40 models of extra trees, 28 trees, 8 forests, 7 LightGBM, 2 XGBoost and no boosting.
    """
    n = 40
    found = dict.fromkeys(("all", "half", "fresh", "few", "shifted"), 0)
    for seed in range(n):
        X, y = make(6000, 10, seed=seed)
        X = np.round(X) if seed % 3 == 0 else X
        model = (KINDS | BAGGED)[kind](seed).fit(X[:2000], y[:2000])
        for name, rows in {
            "all": X[:2000],
            "half": X[:1000],
            "fresh": X[2000:],
            "few": X[2000:2300],
            "shifted": 1.3 * X[2000:] + 0.2,
        }.items():
            found[name] += warned(model, rows)
    assert found["fresh"] + found["few"] + found["shifted"] == 0, found
    if kind in KINDS:  # half of the rows of the others are not in a bag, so that their counts vary
        assert found["all"] >= 0.9 * n, found
    if kind == "extra trees":
        assert found["half"] >= 0.9 * n, found
