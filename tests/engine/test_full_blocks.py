"""Full evaluation of many rows by a linear model: in blocks, with the bits of each row, and the model's labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from wald import EarlyExitClassifier, EarlyExitRegressor
from wald.early_exit import Status
from wald.sources import source_of

SIZES = [1, 2, 5, 31, 32, 33, 70]


def scores_of(model, X):
    compiled = EarlyExitRegressor(FrozenEstimator(model)).fit(X).compiled_plan_
    return lambda rows: compiled._predictor.scores(source_of(rows), 1)


@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 17, 32, 40, 129, 385])
@pytest.mark.parametrize("n_outputs", [1, 2, 3, 5, 6, 11])
def test_scores_of_a_block_have_the_bits_of_each_row(n_features, n_outputs):
    rng = np.random.default_rng(n_features * n_outputs)
    X = rng.normal(size=(100, n_features))
    scores = scores_of(Ridge().fit(X, rng.normal(size=(100, n_outputs))), X)
    for dtype in (np.float64, np.float32, np.uint8):
        rows = (X * 20).astype(dtype)
        alone = np.concatenate([scores(rows[i : i + 1]) for i in range(len(rows))])
        for n in SIZES:
            np.testing.assert_array_equal(scores(rows[:n]), alone[:n])
        np.testing.assert_array_equal(scores(np.asfortranarray(rows)), alone)
        np.testing.assert_array_equal(scores(np.repeat(rows, 2, axis=1)[:, ::2]), alone)
        np.testing.assert_array_equal(scores(rows[::-3]), alone[::-3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [3, 4, 10, 33])
def test_the_best_of_several_scores_counts_where_it_is_clear(n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % n_classes
    fast = EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(X, y)), risk=0).fit(X)
    decide = fast.compiled_plan_._predictor._cascade.decide
    scores = rng.integers(-9, 10, (101, n_classes)).astype(dtype)  # many ties
    odd = rng.random(scores.shape) < 0.5 / n_classes
    scores[odd] = rng.choice([np.nan, np.inf, -np.inf], np.count_nonzero(odd))
    for error in (0.3, 0.8, np.inf):
        for n in (0, 1, 3, 4, 5, 101):
            codes, status = decide(scores[:n], error)
            for row, code, state in zip(scores[:n].tolist(), codes.tolist(), status.tolist(), strict=True):
                second, best = sorted(row)[-2:]
                clear = not np.isnan(row).any() and best - second > 2 * error
                assert state == (Status.FULL if clear else Status.HANDED_OVER)
                if clear:
                    assert code == int(np.argmax(row))


def test_filled_values_are_those_of_each_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 21))
    X[rng.random(X.shape) < 0.2] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), Ridge()).fit(X, rng.normal(size=(300, 3)))
    scores = scores_of(model, X)
    np.testing.assert_array_equal(scores(X), np.concatenate([scores(row[None]) for row in X]))
    np.testing.assert_allclose(scores(X), model.predict(X))


@pytest.mark.parametrize(
    ("n_features", "n_classes"), [(3, 2), (3, 4), (210, 2), (210, 9), pytest.param(3000, 8, marks=pytest.mark.slow)]
)
def test_labels_of_many_rows_are_the_model_s_own(n_features, n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(2600, n_features))
    y = rng.integers(0, n_classes, len(X))
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    for model in (LogisticRegression(C=0.01, max_iter=1000), scaled):
        model.fit(X[:300], y[:300])
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[:500])
        for n in (127, 129, 499, 501, 2600):
            for dtype in (np.float64, np.float32):
                rows = X[:n].astype(dtype)
                np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
                np.testing.assert_array_equal(fast.predict(np.asfortranarray(rows)), model.predict(rows))


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [MinMaxScaler(), StandardScaler()]])
def test_rows_at_the_threshold_get_the_model_s_own_label(steps):
    """Among many rows, some whose score is a tie up to rounding."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 300))
    model = make_pipeline(*steps, LogisticRegression(C=0.01, max_iter=1000)).fit(X[:500], X[:500, 0] > 0)
    weights = model.decision_function(np.eye(300)) - model.decision_function(np.zeros((1, 300)))
    X[::7] -= model.decision_function(X[::7])[:, None] * weights / (weights @ weights)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[:1000])
    answers = fast.predict(X, details=True)
    ties = np.abs(model.decision_function(X)) < 1e-12
    assert ties.sum() > 500
    np.testing.assert_array_equal(answers.labels[~ties], model.predict(X)[~ties])
    np.testing.assert_array_equal(answers.labels, fast.predict(X))
    np.testing.assert_array_equal(answers.labels[ties], [fast.predict(row[None])[0] for row in X[ties]])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_in_the_model_s_own_precision_and_within_their_error(dtype, n_classes):
    rng = np.random.default_rng(n_classes)
    X = (rng.normal(size=(2000, 300)) + 9).astype(np.float32)
    model = LogisticRegression(C=0.01, max_iter=1000).fit(X[:400], rng.integers(0, n_classes, 400))
    compiled = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X).compiled_plan_
    rows = X.astype(dtype)
    scores, error = compiled._predictor._full._product(rows, 1)
    assert scores.dtype == dtype
    exact = rows.astype(np.longdouble) @ model.coef_.T.astype(np.longdouble) + model.intercept_
    assert 0 < np.abs(scores - exact).max() <= error
    answers = compiled.predict_in_full(rows)
    clear = answers.status == Status.FULL
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(answers.labels[clear], model.predict(rows)[clear])


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_columns_of_other_scales_are_folded_within_rounding(n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    Z = rng.normal(size=(3000, 12))
    X = (Z * 20 + 100).astype(dtype) if dtype == np.uint8 else (Z * np.logspace(-6, 6, 12) + 3).astype(dtype)
    y = (Z @ rng.normal(size=(12, n_classes))).argmax(axis=1)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:1000], y[:1000])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[:1000])
    columns = {f"x{c}": X[:, c].copy() for c in range(12)}
    for rows in (X, np.asfortranarray(X), pd.DataFrame(X), pd.DataFrame(columns), pl.DataFrame(columns)):
        np.testing.assert_array_equal(fast.predict(rows), model.predict(X))


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(
    ("unit", "value", "weight"), [(1e-150, 1e200, 1.0), (1e-6, 1e305, 1.0), (1e-6, 5e302, 1e-9), (1e-6, 5e302, 0.0)]
)
def test_steps_that_overflow_are_left_to_the_model(unit, value, weight):
    X = np.random.default_rng(0).normal(size=(900, 3)) * unit
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, X[:, 0] > 0)
    model[-1].coef_[0, 1] = weight
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X)
    X[7, 1] = value
    for predict in (model.predict, fast.predict, fast.compiled_plan_.predict_in_full):
        for rows in (X, X[:9]):
            with pytest.raises(ValueError, match="contains infinity"):
                predict(rows)


@pytest.mark.parametrize("n_features", [2, 4])
@pytest.mark.parametrize("n_rows", [9, 900])
def test_another_number_of_columns_is_refused_in_the_same_words(n_features, n_rows):
    X = np.random.default_rng(0).normal(size=(900, 4))
    model = LogisticRegression().fit(X[:, :3], X[:, 0] > 0)
    predictor = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[:, :3]).compiled_plan_._predictor
    with pytest.raises(ValueError, match=f"rows have {n_features} columns, the model has 3"):
        predictor.predict(source_of(X[:n_rows, :n_features]), 1, None, full=True)


@pytest.mark.parametrize("n_rows", [9, 900])
def test_labels_of_ties_in_frames_come_without_warnings(n_rows):
    """The model is asked about copies of rows, which have no names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(-2, 3, (900, 3)).astype(float), columns=["a", "b", "c"])
    y = rng.integers(0, 2, 900)
    model = LogisticRegression().fit(X, y)
    model.coef_[:], model.intercept_[:] = [1, 2, -1], 0
    model = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.5).fit(X, y)
    answers = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X).predict(X[:n_rows], details=True)
    assert (answers.status == Status.HANDED_OVER).any()
    np.testing.assert_array_equal(answers.labels, model.predict(X[:n_rows]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_raises_the_model_s_own_error(value):
    X = np.random.default_rng(0).normal(size=(700, 250))
    model = LogisticRegression(C=0.01, max_iter=1000).fit(X, X[:, 0] > 0)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X)
    X[600, 30] = value
    with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
        fast.predict(X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("odd", ["masked rows", "wide intercepts", "a list of intercepts"])
def test_odd_rows_and_weights_are_scored_by_the_model(odd, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    model = LogisticRegression().fit(X, (X @ rng.normal(size=(6, n_classes))).argmax(axis=1))
    if odd == "wide intercepts":
        model.intercept_ = model.intercept_.astype(np.longdouble)
    if odd == "a list of intercepts":
        model.intercept_ = model.intercept_.tolist()
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X)
    rows = np.ma.masked_array(X, mask=False) if odd == "masked rows" else X
    codes, _ = fast.compiled_plan_._predictor._full.by_products(source_of(rows), 1)
    np.testing.assert_array_equal(model.classes_[codes], model.predict(rows))
    np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
