"""Quick splines beside scikit-learn's own, to the last bit and in the same layout."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner, _core
from wald.steps.quick import quick
from wald.steps.quick_splines import QuickSplines

UNITS = Planner(cost="units")


def samples(n: int = 600, seed: int = 0) -> Any:
    """Columns with and without repeated values, wide and narrow, and constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 1] = rng.integers(0, 5, n)
    X[:, 2] = np.exp(6 * X[:, 2])
    X[:, 3] = np.where(rng.random(n) < 0.7, 0.0, X[:, 3])
    X[:, 4] = 2.5
    X[:, 5] = 1e30 * rng.random(n) ** 9
    return X


def edges(step: Any) -> Any:
    """Knots and their neighbours, and numbers far beyond."""
    t = np.column_stack([spline.t for spline in step.bsplines_])
    far = np.outer([-1e300, 1e300, 0.0, -0.0], np.ones(t.shape[1]))
    return np.concatenate([t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), -t, far])


def require_same(one: Any, other: Any) -> None:
    assert one.dtype == other.dtype
    assert one.strides == other.strides
    assert one.tobytes("A") == other.tobytes("A")


@pytest.mark.parametrize("trained", [np.float32, np.float64])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@pytest.mark.parametrize("knots", ["uniform", "quantile"])
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_bits(degree: int, knots: Any, given: Any, trained: Any) -> None:
    for n_knots, bias in ((2, True), (5, False), (40, True)):
        step = SplineTransformer(n_knots=n_knots, degree=degree, knots=knots, include_bias=bias)
        step.fit(samples().astype(trained))
        fast = quick(step)
        assert isinstance(fast, QuickSplines)
        with np.errstate(all="ignore"):
            for rows in (samples(300, 1), edges(step), samples(1, 2)):
                rows = np.clip(rows, -3e38, 3e38).astype(given)
                for layout in ("C", "F"):
                    laid = np.array(rows, order=layout)
                    require_same(fast.transform(laid), step.transform(laid))
                every_second = rows[::2]
                require_same(fast.transform(every_second), step.transform(every_second))


def test_many_knots_and_columns_take_no_long_comparison() -> None:
    X = np.random.default_rng(0).normal(size=(50, 40))
    step = SplineTransformer(n_knots=400).fit(X)
    tracemalloc.start()
    assert isinstance(quick(step), QuickSplines)
    assert tracemalloc.get_traced_memory()[1] < 60e6  # a whole row has 16 080 numbers
    tracemalloc.stop()
    require_same(quick(step).transform(X), step.transform(X))


def test_missing_values() -> None:
    X = samples()
    X[::7, 0] = np.nan
    step = SplineTransformer(handle_missing="zeros").fit(X)
    assert isinstance(quick(step), QuickSplines)
    require_same(quick(step).transform(X), step.transform(X))
    assert not quick(step).transform(X)[0, :7].any()


def test_other_numbers_and_frames() -> None:
    pd = pytest.importorskip("pandas")
    F = pd.DataFrame(samples(), columns=list("abcdef"))
    step = SplineTransformer().fit(F)
    fast = quick(step)
    require_same(fast.transform(F), step.transform(F))
    whole = F.round().clip(-100, 100)
    for dtype in (np.int64, np.int8, np.uint8, np.float16):
        given = whole.abs().astype(dtype)
        require_same(fast.transform(given), step.transform(given))
    step.set_output(transform="pandas")
    pd.testing.assert_frame_equal(fast.transform(F), step.transform(F))


@pytest.mark.parametrize(
    "options",
    [
        {"extrapolation": "linear"},
        {"extrapolation": "continue"},
        {"extrapolation": "periodic"},
        {"order": "F"},
        {"sparse_output": True},
        {"degree": 0},
        {"degree": 6},
    ],
    ids=str,
)
def test_other_splines_are_scikit_learns(options: Any) -> None:
    step = SplineTransformer(n_knots=8, **options).fit(samples())
    assert quick(step) is step


def test_errors_are_scikit_learns() -> None:
    step = SplineTransformer().fit(samples())
    for rows in (samples()[:, :3], np.full((2, 6), np.nan), np.full((2, 6), np.inf), [["a"] * 6]):
        messages = []
        for each in (step, quick(step)):
            with pytest.raises(ValueError, match=r"\w") as caught:
                each.transform(rows)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_what_is_changed_later_is_seen() -> None:
    X = samples()
    step = SplineTransformer(n_knots=4).fit(X)
    fast = quick(step)
    step.set_params(extrapolation="linear")
    require_same(fast.transform(3 * X), step.transform(3 * X))
    step.set_params(extrapolation="constant", n_knots=6).fit(X[:100])
    require_same(fast.transform(3 * X), step.transform(3 * X))
    step.bsplines_[0].c = 2 * step.bsplines_[0].c
    require_same(fast.transform(X), step.transform(X))
    assert type(pickle.loads(pickle.dumps(step))) is SplineTransformer


def test_other_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    own = _core.splines
    step = SplineTransformer().fit(samples())
    monkeypatch.setattr(_core, "splines", lambda *args: np.nextafter(own(*args), 2))
    assert quick(step) is step


@pytest.mark.parametrize(
    ("values", "knots", "degree", "message"),
    [
        (np.zeros(3), np.zeros((1, 8)), 3, "2-D"),
        (np.zeros((3, 2)), np.zeros((1, 8)), 3, "a row of knots"),
        (np.zeros((3, 1)), np.zeros((1, 7)), 3, "2 \\* degree"),
        (np.zeros((3, 1)), np.arange(8.0)[None, ::-1].copy(), 3, "ascend"),
        (np.zeros((3, 1)), np.full((1, 8), np.nan), 3, "finite"),
        (np.zeros((3, 1)), np.zeros((1, 8)), 6, "degree"),
    ],
)
def test_shapes_are_checked(values: Any, knots: Any, degree: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.splines(values, knots, degree)
    with pytest.raises(TypeError, match="float32 or float64"):
        _core.splines(np.zeros((2, 1), dtype=np.int64), np.arange(8.0)[None], 3)
    assert _core.splines(np.zeros((0, 1)), np.arange(8.0)[None], 3).shape == (0, 4)


@pytest.mark.parametrize("place", ["alone", "before a scaler", "beside an encoder"])
@pytest.mark.parametrize("model", [LogisticRegression(max_iter=200), DecisionTreeClassifier(max_depth=4)], ids=str)
def test_answers(place: str, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = samples()[:, :3], (samples()[:, 0] > 0.3).astype(int)
    beside = ColumnTransformer([("s", SplineTransformer(), [0, 2]), ("e", OneHotEncoder(), [1])])
    steps = {
        "alone": [SplineTransformer()],
        "before a scaler": [SplineTransformer(), StandardScaler()],
        "beside an encoder": [beside],
    }
    own = make_pipeline(*steps[place], model).fit(X, y)
    fast = EarlyExitClassifier(own, risk=0, planner=UNITS, random_state=0).fit(samples(600, 3)[:, :3])
    rows = samples(500, 1)[:, :3]
    expected = own.predict(rows)
    calls, inner = list[int](), _core.splines

    def counted(*args: Any) -> Any:
        calls.append(1)
        return inner(*args)

    monkeypatch.setattr(_core, "splines", counted)
    np.testing.assert_array_equal(fast.predict(rows), expected)
    assert calls
