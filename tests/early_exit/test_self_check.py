"""`fit` compares the engine's answers with the wrapped object's own: a misread model is an error."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from early_exit.checked import BOUND, agree, cost_of_agreeing, misread, n_calls, predictor_of
from early_exit.models import MODELS, X2, X3, wrap, y2, y3
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, load, save
from wald.early_exit.compiled.self_check import require_own_answers
from wald.models import decompose
from wald.sources import source_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:no early exit", "ignore:The certificate's risk of", "ignore:X does not have valid feature names"
)
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")


def without_last_tree(model):
    model.estimators_ = model.estimators_[:-1]


def without_last_predictor(model):
    model._predictors = model._predictors[:-1]


def with_another_leaf(model):
    tree = copy.deepcopy(model.estimators_[7])
    leaves = np.flatnonzero(tree.tree_.children_left < 0)
    largest = leaves[tree.tree_.n_node_samples[leaves].argmax()]
    tree.tree_.value[largest, 0] += [0.001, *[0] * (model.n_classes_ - 2), -0.001]
    model.estimators_ = [*model.estimators_[:7], tree, *model.estimators_[8:]]


def with_a_threshold_of_float32(model):
    """The next number of float32 that is not below a threshold, which is one of float64."""
    tree = copy.deepcopy(model.estimators_[7])
    threshold = tree.tree_.threshold[0]
    single = np.float32(threshold)
    tree.tree_.threshold[0] = single if single > threshold else np.nextafter(single, np.float32(np.inf))
    model.estimators_ = [*model.estimators_[:7], tree, *model.estimators_[8:]]


def with_a_threshold_one_bit_off(model):
    predictors = copy.deepcopy(model._predictors)
    node = predictors[7][0].nodes
    node["num_threshold"][0] = np.nextafter(node["num_threshold"][0], np.inf)
    model._predictors = predictors


def without_last_boosting_round(model):
    booster = model.get_booster()
    model._Booster = booster[: booster.num_boosted_rounds() - 1]


def without_last_lightgbm_tree(model):
    text = model._Booster.model_to_string(num_iteration=model._Booster.num_trees() - 1)
    model._Booster = lightgbm.Booster(model_str=text)


def without_last_catboost_tree(model):
    other = model.copy()
    other.shrink(ntree_end=model.tree_count_ - 1)
    model._object = other._object


def with_classes_permuted(model):
    model.coef_, model.intercept_ = np.roll(model.coef_, 1, axis=0), np.roll(model.intercept_, 1)


def with_columns_permuted(model):
    model.coef_ = model.coef_[..., ::-1]


def with_another_width(model):
    model._gamma *= 1.01


def with_another_prior(model):
    model.class_log_prior_ = model.class_log_prior_ + np.array([0.01, 0.0])


def with_other_weights(model):
    model.weights = [1, 1, 5]


XGB = {"n_estimators": 30, "max_depth": 3, "random_state": 0, "n_jobs": 1}
MISREAD = {
    "a forest without a tree": (RandomForestClassifier(30, random_state=0), without_last_tree, 2),
    "extra trees without a tree": (ExtraTreesClassifier(30, random_state=0), without_last_tree, 4),
    "boosting without a tree": (GradientBoostingClassifier(random_state=0), without_last_tree, 2),
    "histogram boosting without a tree": (
        HistGradientBoostingClassifier(max_iter=50, random_state=0),
        without_last_predictor,
        4,
    ),
    "AdaBoost without a tree": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2)), without_last_tree, 2),
    "LightGBM without a tree": (
        lightgbm.LGBMClassifier(n_estimators=60, verbose=-1, n_jobs=1),
        without_last_lightgbm_tree,
        2,
    ),
    "XGBoost without a round": (xgboost.XGBClassifier(**XGB), without_last_boosting_round, 2),
    "XGBoost of several without a round": (xgboost.XGBClassifier(**XGB), without_last_boosting_round, 4),
    "CatBoost without a tree": (
        catboost.CatBoostClassifier(iterations=30, verbose=0, thread_count=1, allow_writing_files=False),
        without_last_catboost_tree,
        2,
    ),
    "a tree with another leaf": (RandomForestClassifier(30, max_depth=4, random_state=0), with_another_leaf, 2),
    "a tree with another leaf, several": (
        ExtraTreesClassifier(100, max_depth=5, random_state=0),
        with_another_leaf,
        4,
    ),
    "a tree with a threshold of float32": (RandomForestClassifier(30, random_state=0), with_a_threshold_of_float32, 2),
    "extra trees, a threshold of float32": (ExtraTreesClassifier(30, random_state=0), with_a_threshold_of_float32, 4),
    "a tree with a threshold one bit off": (
        HistGradientBoostingClassifier(max_iter=30, random_state=0),
        with_a_threshold_one_bit_off,
        2,
    ),
    "permuted classes": (LogisticRegression(), with_classes_permuted, 4),
    "permuted columns": (RidgeClassifier(), with_columns_permuted, 2),
    "another kernel": (SVC(), with_another_width, 2),
    "another kernel, several classes": (SVC(), with_another_width, 4),
    "other weights of voters": (
        VotingClassifier([("a", LogisticRegression()), ("b", MultinomialNB()), ("c", DecisionTreeClassifier())]),
        with_other_weights,
        2,
    ),
    "another prior": (MultinomialNB(), with_another_prior, 2),
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("risk", [0.05, 0])
@pytest.mark.parametrize("name", MISREAD)
def test_a_misread_model_is_an_error_that_shows_the_row_and_both_answers(name, risk):
    kind, tampered, n_classes = MISREAD[name]
    X, y = (X2, y2) if n_classes == 2 else (X3, y3)
    X = np.abs(X) if isinstance(kind, (MultinomialNB, VotingClassifier)) else X
    model = copy.deepcopy(kind).fit(X[:800], y[:800])
    wrap(model, X[800:2400], risk=risk)
    with pytest.raises(ValueError, match=r"misreads this Misread\d+: its own \w+ for .*, and wald .*rounding"):
        wrap(misread(model, tampered), X[800:2400], risk=risk)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [name for name in MISREAD if "tree" in name or "round" in name])
def test_misread_trees_are_caught_without_rows_too(name):
    kind, tampered, n_classes = MISREAD[name]
    X, y = (X2, y2) if n_classes == 2 else (X3, y3)
    model = copy.deepcopy(kind).fit(X[:800], y[:800])
    EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    with pytest.raises(ValueError, match="misreads this"):
        EarlyExitClassifier(FrozenEstimator(misread(model, tampered)), risk=0).fit()
    piped = make_pipeline(StandardScaler().fit(X[:800]), misread(model, tampered))
    with pytest.raises(ValueError, match="misreads this"):
        EarlyExitClassifier(FrozenEstimator(piped), risk=0).fit()


def test_a_best_iteration_that_the_reader_ignores_is_caught():
    model = xgboost.XGBClassifier(**(XGB | {"n_estimators": 200}), early_stopping_rounds=5)
    model.fit(X2[:800], y2[:800], eval_set=[(X2[800:1200], y2[800:1200])], verbose=False)
    assert model.best_iteration < 199

    def all_rounds(other):
        other._Booster = other.get_booster().copy()
        other._Booster.set_attr(best_iteration=None)
        other.early_stopping_rounds = None

    EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    with pytest.raises(ValueError, match="misreads this"):
        EarlyExitClassifier(FrozenEstimator(misread(model, all_rounds)), risk=0).fit()


@pytest.mark.parametrize("around", ["threshold", "calibrator", "pipeline"])
def test_a_misread_model_inside_a_wrapper_is_caught(around):
    inner = misread(LogisticRegression().fit(X2[:800], y2[:800]), with_columns_permuted)
    model = {
        "threshold": lambda: FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.3).fit(X2[:800], y2[:800]),
        "calibrator": lambda: CalibratedClassifierCV(FrozenEstimator(inner), ensemble=False).fit(X2[:800], y2[:800]),
        "pipeline": lambda: make_pipeline(PolynomialFeatures(1, include_bias=False).fit(X2[:800]), inner),
    }[around]()
    with pytest.raises(ValueError, match="misread"):
        wrap(model, X2[800:2400])


def test_a_threshold_that_is_misread_by_a_little_is_caught_near_it():
    model = LogisticRegression().fit(X2[:800], y2[:800])

    class Lower(FixedThresholdClassifier):
        """Its own predict has another threshold than its parameter says."""

        def predict(self, X):
            return self.estimator_.predict_proba(X)[:, 1] >= self.threshold - 0.01

    wrapper = Lower(FrozenEstimator(model), threshold=0.4).fit(X2[:800], y2[:800])
    with pytest.raises(ValueError, match="its own predict for the row"):
        wrap(wrapper, X2[800:2400])


def test_recertify_compares_too():
    model = LogisticRegression().fit(X2[:800], y2[:800])
    fast = wrap(model, X2[800:2400])
    fast.compiled_plan_.model.terms.coef[:] *= 1.5  # what was read is no longer what the model holds
    with pytest.raises(ValueError, match="misreads this LogisticRegression"):
        fast.recertify(X2[2400:])


@pytest.mark.filterwarnings("ignore:The file holds")
def test_a_model_from_a_file_has_nobody_to_ask(tmp_path):
    fast = wrap(RandomForestClassifier(20, random_state=0).fit(X2[:800], y2[:800]), X2[800:2400])
    save(fast, tmp_path / "model.wald")
    assert load(tmp_path / "model.wald").recertify(X2[2400:]).certificate_ is not None


# ---- no false alarms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", [np.float32, np.float64, "sparse", "frame"])
def test_models_of_every_kind_agree(name, form):
    model, X = MODELS[name]
    X = X[800:1400]
    if form == "sparse":
        if name.startswith(("scaled", "behind PCA", "histogram")) or decompose(model).dense_only:
            pytest.skip("takes dense rows")
        X = sparse.csr_matrix(X)
    elif form == "frame":
        X = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    else:
        X = X.astype(form)
    agree(model, X)


SCALES = st.sampled_from([1e-12, 1e-6, 1.0, 1e6, 1e12])


def made(seed, scale, levels, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 5))
    if levels:
        X = np.round(X * levels) / levels  # ties, and equal rows
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=236 + 4 - n_classes)])
    X[:, 0] += y
    return X * scale, y


TREES = [
    lambda: RandomForestClassifier(7, random_state=0),
    lambda: DecisionTreeClassifier(max_depth=1),
    lambda: BaggingClassifier(DecisionTreeClassifier(), 5, random_state=0),
    lambda: AdaBoostClassifier(n_estimators=5),
    lambda: GradientBoostingClassifier(n_estimators=5, learning_rate=1e-9),
    lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
    lambda: lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1),
    lambda: lightgbm.LGBMClassifier(
        n_estimators=5,
        min_child_samples=5,
        verbose=-1,
        n_jobs=1,
        boosting_type="rf",
        bagging_freq=1,
        bagging_fraction=0.5,
    ),
    lambda: xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1),
    lambda: xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, missing=0.0),
    lambda: catboost.CatBoostClassifier(iterations=5, verbose=0, thread_count=1, allow_writing_files=False),
]


@given(
    which=st.integers(0, len(TREES) - 1),
    seed=st.integers(0, 10**6),
    scale=SCALES,
    levels=st.sampled_from([0, 1, 4]),
    n_classes=st.sampled_from([2, 3]),
    holes=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_trees_of_any_units_with_ties_and_missing_values_agree(which, seed, scale, levels, n_classes, holes):
    X, y = made(seed, scale, levels, n_classes)
    model = TREES[which]()
    if holes and not isinstance(model, (AdaBoostClassifier, GradientBoostingClassifier)):
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    try:
        model.fit(X, y)
    except ValueError:  # stumps that are worse than chance, in units below the resolution of float32
        assume(False)
    agree(model, X)


SUMS = [
    lambda: LogisticRegression(),
    lambda: RidgeClassifier(),
    lambda: SVC(gamma="scale", max_iter=500),
    lambda: SVC(kernel="linear", break_ties=True, max_iter=500),
    lambda: make_pipeline(StandardScaler(), SVC(kernel="poly", max_iter=500)),
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
]


@given(
    which=st.integers(0, len(SUMS) - 1),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    levels=st.sampled_from([0, 1, 4]),
    n_classes=st.sampled_from([2, 3]),
    dtype=st.sampled_from([np.float32, float]),
)
@settings(max_examples=25, deadline=None)
def test_sums_of_any_units_and_precision_agree(which, seed, scale, levels, n_classes, dtype):
    X, y = made(seed, scale, levels, n_classes)
    X = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SUMS[which]().fit(X, y)
    agree(model, X)


# ---- what it costs -------------------------------------------------------------------------------------------------

KINDS = {
    "forest": RandomForestClassifier(100, random_state=0),
    "forest of two threads": RandomForestClassifier(100, random_state=0, n_jobs=2),
    "extra trees": ExtraTreesClassifier(100, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=50, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "LightGBM": lightgbm.LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1),
    "XGBoost": xgboost.XGBClassifier(n_estimators=100, n_jobs=1),
    "CatBoost": catboost.CatBoostClassifier(
        iterations=100, verbose=0, thread_count=1, allow_writing_files=False, random_seed=0
    ),
    "kernel": SVC(),
    "logistic": LogisticRegression(),
    "forest behind a scaler and products": make_pipeline(
        StandardScaler(), PolynomialFeatures(2), RandomForestClassifier(100, random_state=0)
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_it_takes_a_small_part_of_fit(name):
    n, spent = cost_of_agreeing(copy.deepcopy(KINDS[name]).fit(X3[:800], y3[:800]), X3[800:])
    assert 16 <= n <= 16 + 48 + 32
    assert spent < BOUND


FOREST = lambda: RandomForestClassifier(30, random_state=0)  # noqa: E731
TREE = (DecisionTreeClassifier, "predict_proba")
CALLS = {
    "a forest": (FOREST, "array", *TREE, 30),
    "a forest of float32 rows": (FOREST, "float32", *TREE, 60),
    "a forest of frames": (FOREST, "frame", *TREE, 60),
    "a forest in a pipeline": (
        lambda: make_pipeline(PolynomialFeatures(2), FOREST()),
        "array",
        DecisionTreeClassifier,
        "predict_proba",
        60,
    ),
    "bagging": (
        lambda: BaggingClassifier(DecisionTreeClassifier(), 10, random_state=0),
        "array",
        DecisionTreeClassifier,
        "predict_proba",
        10,
    ),
    "LightGBM": (
        lambda: lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1),
        "array",
        lightgbm.Booster,
        "predict",
        2,  # labels, and raw scores
    ),
    "logistic": (LogisticRegression, "array", LogisticRegression, "decision_function", 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_few_calls_of_the_wrapped_object_answer_all_rows(name, monkeypatch):
    make, form, owner, method, most = CALLS[name]
    model = make().fit(X3[:800], y3[:800])
    X = {"array": X3, "float32": X3.astype(np.float32), "frame": pd.DataFrame(X3).add_prefix("c")}[form][800:]
    predictor = predictor_of(model)
    assert n_calls(monkeypatch, owner, method, lambda: require_own_answers(predictor, source_of(X))) == most


def test_a_predict_that_is_not_the_argmax_of_probabilities_is_asked_itself():
    """The labels of such a class are its own, and not made from the probabilities that are compared."""

    class Shifted(RandomForestClassifier):
        def predict(self, X):
            return self.classes_.take((super().predict_proba(X).argmax(axis=1) + 1) % self.n_classes_)

    model = RandomForestClassifier(30, random_state=0).fit(X3[:800], y3[:800])
    predictor = predictor_of(model)
    assert require_own_answers(predictor, source_of(X3[800:])).scores
    model.__class__ = Shifted
    with pytest.raises(ValueError, match="its own predict for row 0 of X"):
        require_own_answers(predictor, source_of(X3[800:]))
