"""Pipelines: the steps that are folded into the terms, and those that stay preprocessing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds.estimators import BEHIND_STEPS, ONE_A_FAMILY
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

from wald.models import KernelTerms, LinearTerms, decompose
from wald.sources import source_of
from wald.steps import ColumnMap

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-1, 2)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
    "passthrough",
    None,
    Pipeline([("again", FrozenEstimator(StandardScaler()))]),
]
IMPUTERS = [
    SimpleImputer(),
    SimpleImputer(strategy="median"),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=-3.5),
]


def fit_steps(steps, X, y):
    """Fit a pipeline, including steps inside FrozenEstimator."""
    fitted, seen = [], X
    for name, step in steps[:-1]:
        step = (
            Pipeline([("again", FrozenEstimator(StandardScaler().fit(seen)))]) if isinstance(step, Pipeline) else step
        )
        step = step if step is None or isinstance(step, str) else clone(step).fit(seen)
        seen = seen if step is None or isinstance(step, str) else step.transform(seen)
        fitted.append((name, step))
    return Pipeline([*fitted, (steps[-1][0], clone(steps[-1][1]).fit(seen, y))])


@settings(max_examples=40)
@given(
    before=st.lists(st.sampled_from(SCALERS), max_size=3),
    imputer=st.none() | st.sampled_from(IMPUTERS),
    after=st.lists(st.sampled_from(SCALERS), max_size=2),
    final=st.sampled_from(BEHIND_STEPS),
    n_classes=st.sampled_from([2, 3]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 5),
)
def test_affine_steps_are_folded(rows, check_same_labels, before, imputer, after, final, n_classes, dtype, seed):
    X, y = rows(n_classes, dtype, n_rows=120, seed=seed)
    steps = [*before, *after, final]
    if imputer is not None:
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
        steps.insert(len(before), imputer)
    pipeline = fit_steps([(f"s{i}", step) for i, step in enumerate(steps)], X, y)
    read = check_same_labels(pipeline, X, min_clear=0.9)
    assert read.preprocessing is None
    assert read.allow_nan is (imputer is not None)
    single = dtype is np.float32 and (read.folded or read.dtype == np.float32)
    assert read.working_precision(dtype) == (2.0**-24 if single else 2.0**-53)


@pytest.mark.parametrize("final", ONE_A_FAMILY.values(), ids=str)
def test_nan_meets_the_value_of_the_imputer_wherever_it_stands(final, rows):
    X, y = rows()
    X[::3, 2], X[::5, 0] = np.nan, np.nan
    for steps in ((SimpleImputer(), StandardScaler()), (StandardScaler(), SimpleImputer(strategy="median"))):
        pipeline = make_pipeline(*steps, final).fit(X, y)
        read = decompose(pipeline)
        terms, expected = read.terms, pipeline.decision_function(X)
        seen = X if read.preprocessing is None else read.preprocessing.transform(source_of(X))
        np.testing.assert_allclose(terms.scores(seen)[:, 0], expected, rtol=1e-9, atol=1e-11)
        if terms.accepts.sparse and read.preprocessing is None:
            np.testing.assert_allclose(terms.scores(sparse.csr_array(X))[:, 0], expected, rtol=1e-9, atol=1e-11)
        if isinstance(terms, LinearTerms):
            assert np.isfinite(terms.values(X, [2, 0])).all()


def test_an_imputer_fitted_on_integers_fills_what_it_fills():
    X = np.array([[1, 9], [2, 7], [2, 4], [5, 4]])
    pipeline = make_pipeline(SimpleImputer(strategy="median"), LogisticRegression()).fit(X, [0, 1, 0, 1])
    rows = np.array([[np.nan, 3.0], [2.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_allclose(decompose(pipeline).terms.scores(rows)[:, 0], pipeline.decision_function(rows))


def test_sparse_rows_are_scaled_without_shift(rows, check_same_labels):
    X, y = rows()
    X[np.abs(X) < 2] = 0
    X = sparse.csr_array(X)
    pipeline = make_pipeline(StandardScaler(with_mean=False), MaxAbsScaler(), SGDClassifier(random_state=0))
    read = check_same_labels(pipeline.fit(X, y), X)
    assert read.preprocessing is None
    kernel = make_pipeline(StandardScaler(with_mean=False), SVC()).fit(X, y)
    assert isinstance(check_same_labels(kernel, X).terms, KernelTerms)


@pytest.mark.parametrize(
    ("first", "folded"),
    [
        (PCA(4), False),
        (Normalizer(), False),
        (FunctionTransformer(np.abs), False),
        (MinMaxScaler(clip=True), False),
        (SimpleImputer(add_indicator=True), False),
        (SimpleImputer(missing_values=0.0), False),
        (MinMaxScaler(), True),
    ],
    ids=str,
)
def test_what_cannot_be_folded_stays_preprocessing(first, folded, rows, check_same_labels):
    X, y = rows()
    X[0, 0] = 0
    pipeline = make_pipeline(StandardScaler(), first, StandardScaler(), LogisticRegression()).fit(X, y)
    read = check_same_labels(pipeline, X)
    assert (read.preprocessing is None) is folded
    if not folded:
        assert [type(step) for _, step in read.preprocessing.steps] == [StandardScaler, type(first)]
        assert read.terms.n_terms == pipeline[-1].n_features_in_
        assert read.folded
    assert read.n_features_in == 8


def test_a_subclass_of_a_scaler_stays_preprocessing(rows, check_same_labels):
    class Squarer(StandardScaler):
        def transform(self, X, copy=None):
            return super().transform(X, copy) ** 2

    X, y = rows()
    assert check_same_labels(make_pipeline(Squarer(), LogisticRegression()).fit(X, y), X).preprocessing is not None


def test_a_dropped_column_stays_preprocessing(rows):
    X, y = rows()
    X[:, 3] = np.nan
    with pytest.warns(UserWarning, match="Skipping features"):
        pipeline = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    read = decompose(pipeline)
    assert (read.terms.n_terms, len(read.preprocessing.steps), read.allow_nan) == (7, 1, False)


@pytest.mark.filterwarnings("ignore:This Pipeline instance is not fitted:FutureWarning")  # scikit-learn 1.6
def test_text(check_same_labels):
    texts = [
        "the cat sat",
        "a dog ran off",
        "cats and dogs",
        "the sea is far",
        "ships at sea",
        "far off ships",
    ] * 4
    y = np.array([0, 0, 0, 1, 1, 1] * 4)
    for vectoriser in (TfidfVectorizer(), HashingVectorizer(n_features=64)):
        model = make_pipeline(vectoriser, MaxAbsScaler(), SGDClassifier(random_state=0)).fit(texts, y)
        read = check_same_labels(model, texts)
        assert [type(step) for _, step in read.preprocessing.steps] == [type(vectoriser)]
        assert read.n_features_in is None


def test_nested_pipelines_with_equal_names(rows, check_same_labels):
    X, y = rows()
    inner = Pipeline([("a", PCA(5)), ("b", StandardScaler())])
    model = Pipeline([("a", inner), ("b", Pipeline([("a", PCA(3)), ("b", RidgeClassifier())]))]).fit(X, y)
    read = check_same_labels(model, X)
    assert len(read.preprocessing.steps) == 3
    assert not read.folded


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_between_steps(library, rows, check_same_labels):
    pytest.importorskip(library)
    X, y = rows()
    model = make_pipeline(SimpleImputer(), PCA(4), StandardScaler(), SVC()).set_output(transform=library)
    check_same_labels(model.fit(X, y), X)


def test_column_map():
    first = ColumnMap(np.array([2.0, 0.5]), np.array([1.0, -1.0]))
    second = ColumnMap(np.array([1.0, 4.0]), np.array([0.0, 3.0]), fill=np.array([7.0, 8.0]))
    X = np.array([[1.0, np.nan], [np.nan, 2.0]])
    both = first.then(second).then(first)
    filled = np.where(np.isnan(X), [7.0, 8.0], second.scale * first.transform(source_of(X)) + second.shift)
    expected = first.transform(source_of(filled))
    np.testing.assert_array_equal(both.transform(source_of(X)), expected)
    np.testing.assert_array_equal(both.transform(source_of(sparse.csr_array(X))), expected)
    np.testing.assert_allclose(both.raw_fill() * both.scale + both.shift, both.fill)
    assert first.raw_fill() is None
    assert ColumnMap(np.ones(3), np.zeros(3)).is_identity
    assert not first.is_identity
    assert not ColumnMap(np.ones(1), np.zeros(1), np.zeros(1)).is_identity
    assert both.transform(source_of(X.astype(np.float32))).dtype == np.float64


@settings(max_examples=30)
@given(offset=st.sampled_from([0.0, 1e3, 1e6]), seed=st.integers(0, 9), kernel=st.booleans())
def test_the_error_bound_holds_where_centring_cancels(rows, offset, seed, kernel):
    X, y = rows(dtype=np.float32, seed=seed, n_rows=100)
    X += np.float32(offset)
    final = SVC(kernel="linear", C=0.1) if kernel else LogisticRegression()
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), final).fit(X, y)
    read = decompose(pipeline)
    bound = np.abs(X.astype(float)) @ read.terms.coef_bound.T + read.terms.intercept_bound
    bound *= read.terms.depth * read.working_precision(np.float32)
    assert (np.abs(pipeline.decision_function(X) - read.terms.scores(X)[:, 0]) <= bound[:, 0]).all()
