"""The wrapped model's own label depends on the row alone, not on the call, layout, dtype or other rows."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from early_exit.models import wrap
from kinds.estimators import ONE_A_FAMILY, ONE_A_READING
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC

from wald.stopping import Lossless

N = 3000


def score_card(d=12, classes=2, seed=0):
    """A model with weights in tenths for integer features, and rows of which some are ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (N, d)).astype(np.float64)
    model = LogisticRegression().fit(X, rng.integers(0, classes, N))
    model.coef_ = np.round(rng.normal(size=model.coef_.shape) * 5) / 10
    model.intercept_ = np.round(-(model.coef_ @ X.mean(axis=0)) * 10) / 10
    return model, X


#: With the second, too few rows back a promise: everything is evaluated here, and is the model's own label as well.
EXACT = pytest.mark.parametrize("risk", [0, 1e-9])


def quiet(model, X, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wrap(model, X, **params)


def in_calls(predict, X, size):
    return np.concatenate([predict(X[i : i + size]) for i in range(0, X.shape[0], size)])


def in_large_calls(model, X, copies=64):
    """The label that the model gives each row among many copies of it."""
    return np.array([model.predict(np.repeat(X[i : i + 1], copies, axis=0))[0] for i in range(len(X))])


CARDS = {
    "two classes": score_card(),
    "many columns": score_card(64, seed=1),
    "three classes": score_card(12, 3, seed=2),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("params", [{"risk": 0}, {"risk": 0, "cost": "time"}, {"risk": 0.02}], ids=str)
@pytest.mark.parametrize("name", ["two classes", "many columns", "three classes"])
def test_a_tie_has_one_label_whatever_the_call(name, params):
    model, X = CARDS[name]
    fast = quiet(model, X[:1500], **params)
    labels = fast.predict(X)
    for size in (1, 5, 100, 1000):
        rows = X[:300] if size == 1 else X
        np.testing.assert_array_equal(in_calls(fast.predict, rows, size), labels[: len(rows)])
    assert [fast.predict_one(x) for x in X[:500]] == labels[:500].tolist()
    backwards = X[::-1].copy()[::-1]
    for other in (np.asfortranarray(X), backwards, pd.DataFrame(X), X.astype(np.float32), X.astype(np.uint8)):
        np.testing.assert_array_equal(fast.predict(other), labels)
    if params["risk"] == 0:
        np.testing.assert_array_equal(labels, in_large_calls(model, X))


@pytest.mark.parametrize("risk", [0, 0.02])
def test_a_tie_has_one_label_behind_thresholds_and_scalers(risk):
    model, X = score_card()
    y = model.predict(X)
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    scaled[-1].coef_, scaled[-1].intercept_ = np.round(scaled[-1].coef_), np.round(scaled[-1].intercept_)
    threshold = FixedThresholdClassifier(model, threshold=0.5, response_method="predict_proba").fit(X, y)
    threshold.estimator_ = model
    for each in (scaled, threshold):
        fast = quiet(each, X[:1500], risk=risk)
        labels = fast.predict(X)
        np.testing.assert_array_equal(in_calls(fast.predict, X[:600], 5), labels[:600])
        assert [fast.predict_one(x) for x in X[:100]] == labels[:100].tolist()
        if risk == 0:
            np.testing.assert_array_equal(labels[:1000], in_large_calls(each, X[:1000]))


def test_the_certificate_counts_against_the_own_labels():
    model, X = CARDS["two classes"]
    fast = quiet(model, X[:1500], risk=0.05)
    stage_scores = fast.looks(X[1500:])
    np.testing.assert_array_equal(fast.classes_[stage_scores.full], in_large_calls(model, X[1500:]))


@EXACT
@pytest.mark.parametrize("classes", [2, 3])
def test_bytes_on_weights_of_float32_are_bounded_in_float32(classes, risk):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (2000, 40)).astype(np.uint8)
    model = LogisticRegression().fit(X[:200].astype(np.float32), rng.integers(0, classes, 200))
    model.coef_ = (np.round(rng.normal(size=model.coef_.shape), 1)).astype(np.float32)
    model.intercept_ = np.zeros(len(model.coef_), dtype=np.float32)
    if classes == 2:  # near ties: the last column makes up for the others
        rest = X[:, :-1].astype(np.float64) @ model.coef_[0, :-1].astype(np.float64)
        model.coef_[0, -1] = 0.1
        X[:, -1] = np.clip(np.round(-rest / 0.1), 0, 255)
    fast = quiet(model, X[:1000], risk=risk)
    labels = fast.predict(X)
    for size in (1, 5, 100):
        np.testing.assert_array_equal(in_calls(fast.predict, X[:500], size), labels[:500])
    np.testing.assert_array_equal(labels, in_large_calls(model, X))


@pytest.mark.slow
@EXACT
@pytest.mark.parametrize("scaler", [MaxAbsScaler(), StandardScaler(with_mean=False)], ids=repr)
def test_sparse_rows_behind_a_scale_of_float32_have_the_models_labels(scaler, risk):
    rng = np.random.default_rng(1)
    dense = rng.integers(0, 3, (2000, 30)) * rng.uniform(0.5, 1.5, 30)
    X = sparse.csr_array(dense)
    single = sparse.csr_array(dense.astype(np.float32))
    model = make_pipeline(scaler, RidgeClassifier()).fit(single, rng.integers(0, 2, 2000))
    if isinstance(scaler, MaxAbsScaler):
        assert model[0].scale_.dtype == np.float32
    pivot = np.median(model.decision_function(X))
    near = np.argsort(np.abs(model.decision_function(X) - pivot))[:60]
    for row in near:  # the intercept makes one row after the other a near tie, as the model itself rounds
        model[-1].intercept_ = model[-1].intercept_ - model.decision_function(X[[row]]) + rng.choice([-1e-13, 1e-13])
        fast = quiet(model, X[:500], risk=risk)
        np.testing.assert_array_equal(fast.predict(X[near]), model.predict(X[near]))


@pytest.mark.parametrize("risk", [0, 0.01])
def test_extended_precision_is_answered_as_float64(risk):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    y = X[:, 0] + X[:, 1] > 0
    for model in (make_pipeline(StandardScaler(), LogisticRegression()), make_pipeline(StandardScaler(), SVC())):
        model.fit(X[:500] * 1e-4, y[:500])
        rows = (X * 1e-4).astype(np.longdouble)
        as_double = rows.astype(np.float64)
        fast, same = quiet(model, rows[500:2500], risk=risk), quiet(model, as_double[500:2500], risk=risk)
        np.testing.assert_array_equal(fast.predict(rows), same.predict(as_double))
        np.testing.assert_array_equal(fast.predict(as_double), same.predict(as_double))
        if risk == 0:
            np.testing.assert_array_equal(fast.predict(rows), model.predict(as_double))
        assert (fast.looks(rows).full == same.looks(as_double).full).all()
        np.testing.assert_array_equal(fast.decision_function(rows), model.decision_function(as_double))


@pytest.mark.filterwarnings("ignore:X has feature names", "ignore:X does not have valid feature names")
def test_half_precision_is_refused_behind_steps_that_would_compute_in_it():
    rng = np.random.default_rng(0)
    X = (30 + rng.normal(size=(4000, 10))).astype(np.float16)
    y = X[:, 0].astype(float) + X[:, 1] > 60
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:500].astype(float), y[:500])
    assert (model.predict(X) != model.predict(X.astype(float))).any()  # why no label would be right
    fast = quiet(model, X[500:2500].astype(float), risk=0.01)
    calls = (fast.predict, fast.predict_proba, fast.decision_function, fast.stage_scores, fast.looks, fast.recertify)
    for rows in (X, X[:3], pd.DataFrame(X), pa.table({f"f{c}": values for c, values in enumerate(X.T)})):
        for call in calls:
            with pytest.raises(ValueError, match=r"X is of dtype float16.*numpy\.float32"):
                call(rows)
        with pytest.raises(ValueError, match="X is of dtype float16"):
            quiet(model, rows, risk=0.01)
    with pytest.raises(ValueError, match="X is of dtype float16"):
        fast.predict_one(X[0])
    mixed = pd.DataFrame(X).astype({0: float})  # one array of them is float64
    np.testing.assert_array_equal(fast.predict(mixed), fast.predict(X.astype(float)))


def test_transformers_of_a_users_own_receive_half_precision_as_it_is():
    def seen(X):
        return np.c_[X, np.full(len(X), X.dtype == np.float16)].astype(np.float64)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)).astype(np.float16)
    model = make_pipeline(FunctionTransformer(seen), LogisticRegression()).fit(X[:500], X[:500, 0] > 0)
    model[-1].coef_[0, -1] = 100.0
    fast = quiet(model, X[500:], risk=0)
    assert model.predict(X).all()
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_array_equal(fast.predict_proba(X), model.predict_proba(X))


# ---- ranges that lossless exits rely on ----------------------------------------------------------------------------


def ranged():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (4000, 12))
    model = LogisticRegression().fit(X[:500], X[:500, :3].sum(axis=1) > 1.5)
    return model, X


def test_fit_refuses_rows_outside_of_the_ranges():
    model, X = ranged()
    rule = Lossless(low=0, high=1)
    X[1234, 7] = 1.5
    with pytest.raises(ValueError, match=r"X holds 1.5 in row 1234, column 7, but the rule says .* \[0, 1\]"):
        wrap(model, X, risk=0, rule=rule)
    with pytest.raises(ValueError, match="in row 0, column "):
        wrap(model, sparse.csr_array(X), risk=0, rule=Lossless(low=0.5, high=2))


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, pd.DataFrame, sparse.csr_array, np.float32])
def test_a_row_that_shows_a_value_outside_is_evaluated_in_full(container):
    model, X = ranged()
    fast = wrap(model, X[500:2500], risk=0, rule=Lossless(low=0, high=1))
    inside = fast.predict(X, return_cost=True)[1]
    assert inside.mean() < 11  # rows do leave early
    rng = np.random.default_rng(1)
    wild = X.copy()
    first = fast.plan_.terms[0]
    wild[:, first] += rng.choice([-3.0, 0.0, 3.0], len(X))
    shows = (wild[:, first] < 0) | (wild[:, first] > 1)
    rows = container(wild)
    labels, cost = fast.predict(rows, return_cost=True)
    assert (cost[shows] == fast.plan_.full_cost).all()
    np.testing.assert_array_equal(labels[shows], model.predict(rows)[shows])
    np.testing.assert_array_equal(labels, model.predict(rows))
    if isinstance(rows, np.ndarray):
        assert [fast.predict_one(x) for x in rows[:200]] == labels[:200].tolist()
        np.testing.assert_array_equal(fast.stage_scores(rows)[1] == fast.plan_.n_stages, cost == fast.plan_.full_cost)


# ---- sparse rows ---------------------------------------------------------------------------------------------------


def far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(5, 1, (3000, 8)) * (rng.uniform(size=(3000, 8)) < 0.5)
    return X, X[:, 0] + X[:, 1] > 5


@EXACT
def test_a_robust_scaler_leaves_sparse_rows_uncentred(risk):
    X, y = far_from_zero()
    model = make_pipeline(RobustScaler(), LogisticRegression()).fit(X, y)
    rows = sparse.csr_array(X)
    assert (model.predict(rows) != model.predict(X)).mean() > 0.1  # scikit-learn's own way
    for given in (X, rows):
        fast = quiet(model, given[1000:], risk=risk)
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))
        np.testing.assert_array_equal(in_calls(fast.predict, rows, 100), model.predict(rows))


@pytest.mark.parametrize("last", ONE_A_FAMILY.values(), ids=repr)
def test_a_centring_scaler_refuses_sparse_rows_as_scikit_learn_does(last):
    X, y = far_from_zero()
    model = make_pipeline(StandardScaler(), last).fit(X[:500], y[:500])
    fast = quiet(model, X[1000:], risk=0.05)
    for size in (1, 5, 1000):
        with pytest.raises(ValueError, match=r"[Cc]annot center sparse"):
            fast.predict(sparse.csr_array(X[:size]))
    with pytest.raises(ValueError, match=r"[Cc]annot center sparse"):
        quiet(model, sparse.csr_array(X), risk=0.05)
    with pytest.raises(ValueError, match=r"X is sparse, but the plan was made on dense rows|[Cc]annot center sparse"):
        fast.recertify(sparse.csr_array(X))


# ---- bits and extremes ---------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("model", ONE_A_READING, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_last_column_of_stage_scores_depends_on_the_row_alone(model, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 33))
    model.fit(X[:400], rng.integers(0, classes, 400))
    fast = quiet(model, X[400:], risk=0.2)
    scores = fast.stage_scores(X)[0]
    np.testing.assert_array_equal(np.concatenate([fast.stage_scores(x[None])[0] for x in X[:200]]), scores[:200])


SIZES = [
    *(1e-310, 1e-42, 1e38, 1e300),
    *(pytest.param(size, marks=pytest.mark.long) for size in (1e-300, 1e-200, 1e-150, 1e-38, 1e30, 1e150)),
]


@pytest.mark.one_in(3)
@pytest.mark.slow
@EXACT
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_near_the_ends_of_their_range_keep_the_models_labels(size, dtype, risk):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        y = X[:, 0] > 0
        models = [LogisticRegression().fit(X, y), make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)]
        models[0].coef_ = (rng.normal(size=(1, 6)) * size).astype(dtype)
        models[1][-1].coef_ = (rng.normal(size=(1, 6)) * size).astype(dtype)
        models[0].intercept_ = models[1][-1].intercept_ = np.zeros(1, dtype=dtype)
        for model in models:
            leaf = model[-1] if hasattr(model, "steps") else model
            if not np.isfinite(leaf.coef_).all():
                continue
            for rows in (X, np.ascontiguousarray(X[:, ::-1]), X * dtype(1e-20), X * dtype(1e18)):
                if np.abs(leaf.coef_).max() * np.abs(rows).max() > 1e99:
                    with pytest.raises(ValueError, match="beyond 1e"):
                        quiet(model, rows * dtype(10), risk=risk)
                    continue
                fast = quiet(model, rows, risk=risk)
                np.testing.assert_array_equal(fast.predict(rows[:200]), model.predict(rows)[:200])
                np.testing.assert_array_equal(fast.predict(rows), in_large_calls(model, rows))


@pytest.mark.one_in(3)
@EXACT
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e-3, 1e3, 1e30, 1e140])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_kernel_machines_in_extreme_units_keep_their_labels(unit, kernel, risk):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = X[:, 0] * X[:, 1] > 0
    degree = 2 if abs(np.log10(unit)) < 100 else 1
    model = SVC(kernel=kernel, gamma=0.3 / unit**2, degree=degree, coef0=0.0).fit(X[:200] * unit, y[:200])
    fast = quiet(model, X[200:] * unit, risk=risk)
    np.testing.assert_array_equal(fast.predict(X * unit), model.predict(X * unit))
