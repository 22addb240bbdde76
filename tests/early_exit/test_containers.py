"""Rows in every container: frames, sparse matrices, texts, bytes, memory maps."""

import warnings

import numpy as np
import pytest
from early_exit.models import MODELS, make, wrap
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["rbf", "logistic", "logistic multiclass", "scaled logistic"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cost", ["units", "time"])
def test_data_frames_answer_like_arrays(name, library, cost):
    frames = pytest.importorskip(library)
    model, X = MODELS[name]
    names = [f"f{i}" for i in range(X.shape[1])]
    frame = frames.DataFrame({n: X[:, i] for i, n in enumerate(names)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wrapped model never saw names
        fast = wrap(model, frame[1000:5000], cost=cost)
        labels, units = fast.predict(frame, return_cost=True)
        array_labels, array_units = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, array_labels)
    np.testing.assert_array_equal(units, array_units)
    with pytest.raises(ValueError, match="feature names should match"):
        fast.predict(frame.rename(columns={"f0": "g0"}) if library == "pandas" else frame.rename({"f0": "g0"}))


def test_columns_that_the_plan_does_not_need_are_never_touched():
    pandas = pytest.importorskip("pandas")
    X, y = make(d=40)
    model = LogisticRegression().fit(X[:800], y[:800])
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(40)])
    fast = wrap(model, frame[1000:5000])
    assert fast.predict(frame[5000:]).shape == (1000,)
    read = fast.plan_.terms[: fast.plan_.stage_terms[0]]
    poisoned = frame[5000:].copy()
    labels, cost = fast.predict(poisoned, return_cost=True)
    poisoned.iloc[np.flatnonzero(cost == cost.min())[0], [i for i in range(40) if i not in read]] = np.nan
    np.testing.assert_array_equal(fast.predict(poisoned), labels)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["svc", "logistic"])
def test_sparse_rows_answer_like_dense_ones(kind, index):
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 60, 0.2, random_state=0, format="csr").astype(np.float64)
    y = np.asarray(X @ rng.normal(size=60) > 0.1, dtype=int)
    model = (SVC() if kind == "svc" else LogisticRegression()).fit(X[:500], y[:500])
    fast = wrap(model, X[500:2000], risk=0.05)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    labels, cost = fast.predict(X[2000:], return_cost=True)
    dense = fast.predict(X[2000:].toarray(), return_cost=True)
    np.testing.assert_array_equal(labels, dense[0])
    np.testing.assert_array_equal(cost, dense[1])
    assert np.mean(labels != model.predict(X[2000:])) <= 0.06
    for other in (X[2000:].tocsc(), X[2000:].tocoo(), sparse.csr_matrix(X[2000:])):
        np.testing.assert_array_equal(fast.predict(other), labels)


def test_text_goes_through_a_vectorizer():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(50)])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(1500)]
    y = np.array(["w1 " in t or "w2 " in t for t in texts])
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:400], y[:400])
    fast = wrap(model, texts[400:1200], risk=0.05)
    assert np.mean(fast.predict(texts[1200:]) != model.predict(texts[1200:])) <= 0.06


def test_imputed_columns_take_nan():
    X, y = make()
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    for last in (SVC(), LogisticRegression()):
        model = make_pipeline(SimpleImputer(), StandardScaler(), last).fit(X[:800], y[:800])
        fast = wrap(model, X[1000:5000])
        assert np.mean(fast.predict(X[5000:]) != model.predict(X[5000:])) <= 0.03
        assert wrap(model, X[1000:3000], risk=0).predict(X).tolist() == model.predict(X).tolist()


def test_integers_and_bytes_are_read_as_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (3000, 12))
    y = X[:, 0] + X[:, 1] > 255
    model = SVC(gamma=1e-4).fit(X[:500], y[:500])
    fast = wrap(model, X[500:2500].astype(np.uint8), risk=0.05)
    expected = fast.predict(X[2500:].astype(np.float64))
    for dtype in (np.uint8, np.int16, np.int64, np.float32):
        np.testing.assert_array_equal(fast.predict(X[2500:].astype(dtype)), expected)


def test_a_memory_map_is_read_in_place(tmp_path):
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000])
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(fast.predict(mapped), fast.predict(X))
    labels = fast.compiled_plan_.labels_of(np.memmap(tmp_path / "rows", dtype=np.float64, mode="r", shape=X.shape))
    assert type(labels) is np.ndarray  # without a ledger, as labels of any array
    np.testing.assert_array_equal(labels, fast.predict(X))
