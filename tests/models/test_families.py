"""Naive Bayes, nearest centroids, one-vs-rest and searches give their own labels, within their own rounding."""

from __future__ import annotations

import copy
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kinds.containers import LAYOUTS
from kinds.estimators import LINEAR_IN_DISGUISE
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsRestClassifier, _ConstantPredictor
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from wald import EarlyExitClassifier, Planner, load, save
from wald.models import decompose
from wald.sources import source_of

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::sklearn.exceptions.ConvergenceWarning",
        "ignore:self.within_class_std_dev_:UserWarning",
        "ignore:no early exit",
    ),
    pytest.mark.filterwarnings("ignore:The certificate's risk of:UserWarning"),  # of rare classes, on made data
]

DTYPES = (np.float32, np.float64, np.uint8, np.int64)


def counts(n_classes, n_rows=1500, n_features=9, seed=0, top=4):
    """Small integers: many equal rows and many ties."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
    X = rng.poisson(rng.uniform(0.2, 1.5, (n_classes, n_features))[y])
    X[: min(n_rows, n_classes)] += 1  # no class without a count
    return np.minimum(X, top), y


def own_scores(model, X):
    """Scores that the model itself compares, in float64: one column per class, or one for a decision function."""
    if hasattr(model, "steps"):
        return own_scores(model[-1], model[:-1].transform(X))
    if hasattr(model, "best_estimator_"):
        return own_scores(model.best_estimator_, X)
    if isinstance(model, (MultinomialNB, ComplementNB, BernoulliNB)):
        return model.predict_joint_log_proba(X)
    if isinstance(model, NearestCentroid):
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        products, squares = X @ model.centroids_.T, np.einsum("ij,ij->i", model.centroids_, model.centroids_)
        return -(np.einsum("ij,ij->i", X, X)[:, None] - 2 * products + squares)
    return np.asarray(model.decision_function(X)).reshape(X.shape[0], -1)


def seen_by_terms(read, X):
    return X if read.preprocessing is None else read.preprocessing.transform(source_of(X))


def bound(read, X):
    """The error bound that LinearTerms documents, to first order."""
    sizes = abs(read.terms.values(seen_by_terms(read, X))) @ read.terms.coef_bound.T + read.terms.intercept_bound
    return read.terms.depth * read.working_precision(X.dtype) * sizes


def check_scores(read, own, X):
    ours = read.terms.scores(seen_by_terms(read, X))
    roundings = 4 * 2.0**-53 * (X.shape[1] + 2)  # of the NumPy sum here
    if own.shape[1] == 2:
        error = abs(ours[:, 0] - (own[:, 1] - own[:, 0]))
        np.testing.assert_array_less(error, bound(read, X)[:, 0] * (1 + roundings) + 1e-300)
    elif isinstance(getattr(read.estimator, "steps", [[0, read.estimator]])[-1][1], NearestCentroid):
        gaps = abs((ours - ours[:, :1]) - (own - own[:, :1]))  # |x|^2 is the same for all
        assert (gaps <= 2 * bound(read, X).max(axis=1, keepdims=True)).all()
    else:
        assert (abs(ours - own) <= bound(read, X) + 1e-300).all()


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("form", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LINEAR_IN_DISGUISE)
def test_scores_are_the_models_own_within_the_bound(name, n_classes, dtype, form, check_same_labels):
    X, y = counts(n_classes)
    words = np.array(["d", "c", "b", "a"])
    X = LAYOUTS[form](X.astype(dtype))
    model = copy.deepcopy(LINEAR_IN_DISGUISE[name]).fit(X[:600], words[y[:600]])
    read = check_same_labels(model, X, min_clear=0.9, raw_columns=False)
    check_scores(read, own_scores(model, X), X)
    assert read.decision.kind == ("sign" if n_classes == 2 else "argmax")
    assert read.terms.n_outputs == (1 if n_classes == 2 else 4)
    assert read.working_precision(dtype) <= (2.0**-24 if read.folded or read.dtype == np.float32 else 2.0**-53)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "form"),
    [(np.float32, "C"), (np.float64, "F"), (np.uint8, "C"), (np.uint8, "F"), (np.float32, "CSR"), (np.int64, "CSR")],
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LINEAR_IN_DISGUISE)
def test_labels_of_early_exit_are_the_models_own(name, n_classes, dtype, form):
    X, y = counts(n_classes)
    X = LAYOUTS[form](X.astype(dtype))
    model = copy.deepcopy(LINEAR_IN_DISGUISE[name]).fit(X[:300], y[:300])
    expected = model.predict(X)
    exact = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(cost="units"), random_state=0).fit(
        X[300:]
    )
    np.testing.assert_array_equal(exact.predict(X), expected)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        X[300:]
    )
    labels, cost = fast.predict(X, return_cost=True)
    full = cost >= fast.plan_.full_cost
    np.testing.assert_array_equal(labels[full], expected[full])
    assert np.mean(labels[300:] != expected[300:]) < 0.08  # certified: 0.05 of all rows to come


@pytest.mark.filterwarnings("ignore:overflow encountered in square:RuntimeWarning")  # scores that are all alike
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model", [MultinomialNB(), ComplementNB(), BernoulliNB(), NearestCentroid(), OneVsRestClassifier(RidgeClassifier())]
)
def test_equal_classes_tie_and_the_first_wins(model, n_classes):
    X, _ = counts(1, n_rows=60)
    rows, y = np.tile(X, (n_classes, 1)), np.repeat(np.arange(n_classes), len(X))
    model = copy.deepcopy(model).fit(rows, y)
    read = decompose(model)
    if n_classes == 2 and not isinstance(model, OneVsRestClassifier):
        assert not read.terms.scores(seen_by_terms(read, X)).any()
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, random_state=0).fit(X)
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    if not isinstance(model, OneVsRestClassifier):
        assert set(model.predict(X)) == {0}


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(LINEAR_IN_DISGUISE)),
    n_classes=st.integers(2, 6),
    n_features=st.integers(1, 40),
    top=st.sampled_from([1, 3, 250]),
    seed=st.integers(0, 100),
    dtype=st.sampled_from(DTYPES),
)
def test_sizes(name, n_classes, n_features, top, seed, dtype):
    assume(n_features > 1 or name != "complement with norm")  # its only weight is 0 / 0
    X, y = counts(n_classes, 40 + 10 * n_classes, n_features, seed, top)
    X = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rows for the folds of a search
        try:
            model = copy.deepcopy(LINEAR_IN_DISGUISE[name]).fit(X, y)
        except ValueError:  # all rows alike: scikit-learn refuses
            return
    read = decompose(model)
    check_scores(read, own_scores(model, X), X)
    codes, confidence = (
        read.decision.answers(read.terms.scores(seen_by_terms(read, X))),
        read.decision.distances(read.terms.scores(seen_by_terms(read, X))),
    )
    clear = confidence > 4 * bound(read, X).max(axis=1)
    np.testing.assert_array_equal(read.classes[codes][clear], model.predict(X)[clear])


def exact(coef, intercept, row):
    return Fraction(float(intercept)) + sum(
        Fraction(float(a)) * Fraction(float(v)) for a, v in zip(coef, row, strict=True)
    )


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB(norm=True)], ids=str)
def test_large_log_likelihoods_that_cancel_stay_within_the_bound(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1 << 20, (300, 200)).astype(np.float64)
    model = copy.deepcopy(model).fit(X, np.arange(300) % 2)
    read = decompose(model)
    own = model.predict_joint_log_proba(X)
    prior = model.class_log_prior_ if isinstance(model, MultinomialNB) else np.zeros(2)
    limits = bound(read, X)[:, 0]
    for i in range(20):
        first, second = (exact(model.feature_log_prob_[k], prior[k], X[i]) for k in (0, 1))
        theirs = Fraction(float(own[i, 1])) - Fraction(float(own[i, 0]))
        assert abs(theirs - (second - first)) <= limits[i]
        assert abs(exact(read.terms.coef[0], read.terms.intercept[0], X[i]) - (second - first)) <= limits[i]
        # What the difference alone adds up is much less than what the model adds up.
        assert limits[i] > 20 * read.terms.depth * 2.0**-53 * (abs(read.terms.coef[0]) @ X[i])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rows_far_from_the_origin_round_within_the_bound_of_the_centroids(scale):
    rng = np.random.default_rng(0)
    centroids = np.array([[-1.0, 1, 0.5, 0], [1.0, -1, 0.5, 0]]) * scale
    model = NearestCentroid().fit(np.repeat(centroids, 2, axis=0) + np.eye(4) * scale, [0, 0, 1, 1])
    model.centroids_ = centroids
    read = decompose(model)
    rows = rng.normal(size=(4000, 4)) * scale * 1e7
    rows[:, 1] = rows[:, 0] + rng.normal(size=4000) * scale * 10.0 ** rng.uniform(-6, 3, 4000)
    scores = read.terms.scores(rows)
    codes, confidence = read.decision.answers(scores), read.decision.distances(scores)
    wrong = codes != model.predict(rows)
    assert not wrong[confidence > bound(read, rows)[:, 0]].any()
    # |x|^2, which decides nothing, makes the model round more than its weights tell.
    weights_only = read.terms.depth * 2.0**-53 * (abs(rows) @ abs(read.terms.coef[0]) + read.terms.intercept_bound)
    assert wrong[confidence > weights_only].any()
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, random_state=0).fit(rows)
    one_by_one = np.array([model.predict(row[np.newaxis])[0] for row in rows[:200]])
    np.testing.assert_array_equal(fast.predict(rows)[:200], one_by_one)


def test_one_vs_rest_counts_constant_models():
    X, y = counts(3)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    for code, value in ((1, 0), (1, 1), (0, 1)):
        model.estimators_[code] = _ConstantPredictor().fit(X, np.array([value]))
        read = decompose(model)
        np.testing.assert_array_equal(read.classes[read.decision.answers(read.terms.scores(X))], model.predict(X))


@pytest.mark.parametrize("kind", [RidgeClassifier, lambda: SVC(kernel="linear")])
def test_binary_one_vs_rest_at_zero_is_the_first_class(kind):
    X = np.array([[-1.0], [1.0]] * 10)
    model = OneVsRestClassifier(kind()).fit(X, [0, 1] * 10)
    read = decompose(model)
    assert model.decision_function([[0.0]])[0] == read.terms.scores(np.array([[0.0]]))[0, 0] == 0
    assert (
        read.decision.answers(read.terms.scores(np.array([[0.0]]))).tolist() == model.predict([[0.0]]).tolist() == [0]
    )


def test_one_vs_rest_knows_the_coarsest_precision_and_missing_values(rows, check_same_labels):
    X, y = rows(3)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    inner = model.estimators_[1]
    inner.coef_, inner.intercept_ = np.float32(inner.coef_), np.float32(inner.intercept_)
    assert decompose(model).working_precision(np.float32) == 2.0**-24
    X[::7, 2] = np.nan
    model = OneVsRestClassifier(make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())).fit(X, y)
    read = check_same_labels(model, X)
    assert read.allow_nan
    assert read.folded is not None
    model.estimators_[0][0].statistics_ += 1
    with pytest.raises(TypeError, match="fill in missing values differently"):
        decompose(model)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV])
@pytest.mark.parametrize(
    "around",
    [
        lambda search: search,
        lambda search: make_pipeline(StandardScaler(), search),
        FrozenEstimator,
        lambda search: CalibratedClassifierCV(search, ensemble=False, cv=2),
        lambda search: FixedThresholdClassifier(search, threshold=0.3, response_method="decision_function"),
        lambda search: OneVsRestClassifier(search),
    ],
    ids=["bare", "pipeline", "frozen", "calibrated", "threshold", "one-vs-rest"],
)
def test_searches_are_the_model_that_they_serve(search, around, rows, check_same_labels):
    X, y = rows()
    few = {"n_iter": 2} if search is RandomizedSearchCV else {}
    folds = StratifiedKFold(2, shuffle=True, random_state=0)  # halving draws few rows: each fold needs both classes
    inner = search(make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": [0.1, 1.0]}, cv=folds, **few)
    if "random_state" in inner.get_params():
        inner.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # halving has too few candidates for two rounds
        model = around(inner.fit(X, y)) if around is FrozenEstimator else around(inner).fit(X, y)
    assert check_same_labels(model, X).preprocessing is None


def test_a_search_of_a_search(rows, check_same_labels):
    X, y = rows(3)
    inner = GridSearchCV(SVC(), {"gamma": [0.01, 0.1]}, cv=2)
    check_same_labels(GridSearchCV(inner, {"estimator__C": [1, 2]}, cv=2).fit(X, y), X)


@pytest.mark.parametrize("name", [*LINEAR_IN_DISGUISE, "one-vs-rest, a model exchanged"])
def test_refits_are_noticed(name):
    X, y = counts(3)
    model = copy.deepcopy(LINEAR_IN_DISGUISE[name.split(",")[0]]).fit(X, y)
    read = decompose(model)
    assert read.changed() is None
    copied = pickle.loads(pickle.dumps(read))
    assert copied.changed() is None
    print_before = read.fingerprint()
    if "exchanged" in name:
        model.estimators_[0] = copy.deepcopy(model.estimators_[1])
    else:
        model.fit(X[::2], y[::2])
    assert "after wald read the model" in read.changed()
    assert decompose(model).fingerprint() != print_before


def test_changes_in_place_inside_one_vs_rest_and_of_a_threshold_are_noticed():
    X, y = counts(3)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    read = decompose(model)
    model.estimators_[2].coef_[0, 0] += 1
    assert "coef_ of LogisticRegression was changed in place" in read.changed()
    bits = BernoulliNB().fit(X, y)
    read = decompose(bits)
    bits.binarize = 2.0
    assert "binarize of BernoulliNB was replaced" in read.changed()


def test_binarized_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, y = counts(2)
    frame = pd.DataFrame(X.astype(np.float64), columns=list("abcdefghi"))
    model = BernoulliNB(binarize=0.5).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # about names that do not fit
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, random_state=0).fit(frame)
        np.testing.assert_array_equal(fast.predict(frame), model.predict(frame))


BINARIZED = [name for name in LINEAR_IN_DISGUISE if name.startswith("bernoulli")]


@pytest.mark.filterwarnings("ignore:The file holds the terms of this OneVsRestClassifier")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", sorted(set(LINEAR_IN_DISGUISE) - set(BINARIZED)))
def test_files(name, n_classes, tmp_path):
    X, y = counts(n_classes, 900)
    X = X.astype(np.float64)
    fast = EarlyExitClassifier(
        FrozenEstimator(copy.deepcopy(LINEAR_IN_DISGUISE[name]).fit(X[:300], y[:300])),
        risk=0.1,
        planner=Planner(cost="units"),
        random_state=0,
    ).fit(X[300:])
    save(fast, tmp_path / "model.wald")
    loaded = load(tmp_path / "model.wald")
    for mine, saved in zip(fast.predict(X, return_cost=True), loaded.predict(X, return_cost=True), strict=True):
        np.testing.assert_array_equal(mine, saved)


@pytest.mark.parametrize("name", BINARIZED)
def test_a_file_holds_a_binarizer(name, tmp_path):
    X, y = counts(2, 600)
    fast = EarlyExitClassifier(FrozenEstimator(copy.deepcopy(LINEAR_IN_DISGUISE[name]).fit(X, y)), risk=0).fit(X)
    save(fast, tmp_path / "model.wald")
    np.testing.assert_array_equal(load(tmp_path / "model.wald").predict(X), fast.predict(X))
    bits = (X > 0).astype(np.float64)  # what it says to do
    model = BernoulliNB(binarize=None).fit(bits, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.1, planner=Planner(cost="units"), random_state=0).fit(
        bits
    )
    save(fast, tmp_path / "model.wald")
    np.testing.assert_array_equal(load(tmp_path / "model.wald").predict(bits), fast.predict(bits))
