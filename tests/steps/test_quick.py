"""Quick transformers beside scikit-learn's own, to the last bit, and in every place of a pipeline."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner, _core
from wald.steps import quick as module
from wald.steps.quick import QuickQuantiles, quick

UNITS = Planner(cost="units")
OUTPUTS = ("uniform", "normal")


def samples(n: int = 3000, seed: int = 0) -> Any:
    """Columns with and without repeated values, wide and narrow, constant, and with missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    X[:, 1] = rng.integers(0, 5, n)
    X[:, 2] = np.exp(6 * X[:, 2])
    X[:, 3] = np.where(rng.random(n) < 0.7, 0.0, X[:, 3])
    X[:, 4] = 2.5
    X[:, 5] = 1e300 * rng.random(n) ** 9
    X[rng.random(n) < 0.1, 6] = np.nan
    return X


def edges(step: Any) -> Any:
    """Quantiles and their neighbours."""
    q = step.quantiles_.astype(np.float64)
    return np.concatenate([q, np.nextafter(q, np.inf), np.nextafter(q, -np.inf), -q, np.full((1, q.shape[1]), -0.0)])


@pytest.mark.parametrize("trained", [np.float32, np.float64])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("n_quantiles", [3, 10, 1000])
def test_bits(n_quantiles: int, output: str, given: Any, trained: Any) -> None:
    X = np.clip(samples(), -1e30, 1e30) if trained is np.float32 else samples()
    step = QuantileTransformer(n_quantiles=n_quantiles, output_distribution=output).fit(X.astype(trained))
    fast = quick(step)
    assert isinstance(fast, QuickQuantiles)
    with np.errstate(all="ignore"):
        for rows in (samples(500, 1), edges(step)):
            rows = np.clip(rows, -3e38, 3e38).astype(given)
            for layout in ("C", "F"):
                own, ours = (each.transform(np.array(rows, order=layout)) for each in (step, fast))
                assert own.dtype == ours.dtype
                assert own.tobytes() == ours.tobytes()


def test_few_rows_and_few_quantiles() -> None:
    X = samples(200)
    for n_quantiles in (1, 2):
        step = QuantileTransformer(n_quantiles=n_quantiles).fit(X)
        np.testing.assert_array_equal(quick(step).transform(X), step.transform(X))
    step = QuantileTransformer(n_quantiles=50).fit(X)
    np.testing.assert_array_equal(quick(step).transform(X[:3]), step.transform(X[:3]))
    np.testing.assert_array_equal(quick(step).inverse_transform(X[:90] % 1), step.inverse_transform(X[:90] % 1))


def test_other_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    step = QuantileTransformer(n_quantiles=50).fit(samples(200))
    monkeypatch.setattr(module._core, "interpolated", lambda *args: np.nextafter(_INTERPOLATED(*args), 2))
    assert quick(step) is step


_INTERPOLATED = _core.interpolated


def test_what_is_changed_later_counts() -> None:
    X = samples(300)[:, :2]
    step = QuantileTransformer(n_quantiles=20).fit(X)
    fast = quick(step)
    step.quantiles_ = step.quantiles_ + 1
    np.testing.assert_array_equal(fast.transform(X), step.transform(X))
    step.quantiles_[:] = np.nan  # which the extension refuses
    np.testing.assert_array_equal(fast.transform(X), step.transform(X))


def test_subclasses_and_objects_with_methods_of_their_own_stay() -> None:
    class Own(QuantileTransformer):
        pass

    X = samples(100)
    step = Own(n_quantiles=20).fit(X)
    assert quick(step) is step
    step = QuantileTransformer(n_quantiles=20).fit(X)
    step.transform = lambda X: X
    assert quick(step) is step


def test_nothing_is_kept_of_what_is_gone() -> None:
    gc.collect()
    before = len(module._MADE)
    step = QuantileTransformer(n_quantiles=20).fit(samples(100))
    quick(step)
    assert len(module._MADE) == before + 1
    del step
    gc.collect()
    assert len(module._MADE) == before


@pytest.mark.parametrize(
    ("values", "quantiles", "references", "error"),
    [
        (np.zeros((2, 2)), np.arange(3.0), np.arange(3.0), ValueError),
        (np.zeros(2), np.arange(2.0), np.arange(2.0), ValueError),
        (np.zeros(2), np.arange(3.0), np.arange(4.0), ValueError),
        (np.zeros(2), np.arange(3.0)[::-1].copy(), np.arange(3.0), ValueError),
        (np.zeros(2), np.array([0, np.nan, 1]), np.arange(3.0), ValueError),
        (np.zeros(2), np.arange(3.0), np.array([0, np.inf, 1]), ValueError),
        (np.zeros(2, dtype=np.int64), np.arange(3.0), np.arange(3.0), TypeError),
    ],
)
def test_bad_arguments(values: Any, quantiles: Any, references: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        _core.interpolated(values, quantiles, references)


MODELS = {
    "linear": lambda: LogisticRegression(),
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "kernel": lambda: SVC(),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_in_a_pipeline(output: str, model: str) -> None:
    X, seen = samples()[:, :4], []
    y = (X[:, 0] + X[:, 1] - X[:, 3] > 1).astype(int)
    step = QuantileTransformer(n_quantiles=100, output_distribution=output)
    for front in (step, make_pipeline(StandardScaler(), step), FeatureUnion([("q", step), ("s", StandardScaler())])):
        pipeline = make_pipeline(copy.deepcopy(front), MODELS[model]()).fit(X[:600], y[:600])
        fast = EarlyExitClassifier(pipeline, risk=0, planner=UNITS).fit(X[600:1000])
        np.testing.assert_array_equal(fast.predict(X[1000:]), pipeline.predict(X[1000:]))
        again = pickle.loads(pickle.dumps(fast))
        np.testing.assert_array_equal(again.predict(X[1000:]), pipeline.predict(X[1000:]))
        seen.append(fast)


def test_in_a_column_transformer() -> None:
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(samples()[:, :4], columns=list("abcd")).assign(kind=np.resize(["x", "y", "z"], 3000))
    y = (X["a"] + X["b"] + (X["kind"] == "x") > 2).astype(int).to_numpy()
    step = QuantileTransformer(n_quantiles=100)
    front = ColumnTransformer([("kind", OneHotEncoder(), ["kind"]), ("q", step, ["a", "b", "c", "d"])])
    for model in (LogisticRegression(), DecisionTreeClassifier(max_depth=5)):
        pipeline = make_pipeline(front, model).fit(X[:600], y[:600])
        fast = EarlyExitClassifier(pipeline, risk=0, planner=UNITS).fit(X[600:1000])
        np.testing.assert_array_equal(fast.predict(X[1000:]), pipeline.predict(X[1000:]))
