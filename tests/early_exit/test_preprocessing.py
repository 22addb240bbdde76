"""Pipelines whose steps are not folded: what plans may save, and records with missing texts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from wald import EarlyExitClassifier, Planner

pytestmark = pytest.mark.filterwarnings("ignore:no early exit")
N_TRAIN, N_FIT = 1000, 3000
KINDS = ["texts", "products", "quantiles", "bins", "splines"]


def numbers(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    return X, X[:, :4].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n) > 0


def columns(n: int) -> tuple[Any, Any]:
    pandas = pytest.importorskip("pandas")
    X, y = numbers(n)
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    return frame.assign(city=np.array(["ulm", "bonn", "kiel"])[np.digitize(X[:, 5], [-0.5, 0.5])]), y


def texts(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    words = np.minimum(rng.zipf(1.4, size=(n, 40)), 3000)
    return [" ".join(f"w{word}" for word in row) for row in words], (words == 7).any(axis=1)


class OwnQuantiles(QuantileTransformer):
    """A subclass, which runs as it is, where wald computes quantiles and constant splines itself."""


def pipeline(kind: str) -> tuple[Any, Any, Any]:
    """An unfitted pipeline, rows and labels."""
    preprocessing: Any = {
        "columns": lambda: make_column_transformer(
            (OneHotEncoder(), ["city"]), (StandardScaler(), [f"x{i}" for i in range(12)])
        ),
        "texts": TfidfVectorizer,
        "products": lambda: PolynomialFeatures(2),
        "quantiles": lambda: OwnQuantiles(n_quantiles=100),
        "bins": lambda: KBinsDiscretizer(8, quantile_method="averaged_inverted_cdf"),
        "splines": lambda: SplineTransformer(extrapolation="linear"),
    }[kind]()
    rows = {"columns": columns, "texts": texts}.get(kind, numbers)
    return make_pipeline(preprocessing, LogisticRegression(max_iter=1000)), *rows(6000)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_evaluated_and_steps_run_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X, y = pipeline(kind)
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.01, planner=Planner(cost="time"), random_state=0)
    fast.fit(X[N_TRAIN : N_TRAIN + N_FIT])
    if not fast.plan_.evaluate_all:
        pytest.skip("a plan that leaves early seemed to pay, by the clock")
    fresh = X[N_TRAIN + N_FIT :]
    np.testing.assert_array_equal(fast.predict(fresh), model.predict(fresh))
    best = {}
    for name, answers in (("model", model), ("wald", fast)):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            answers.predict(fresh)
            times.append(time.perf_counter() - start)
        best[name] = min(times)
    print(f"\n{kind}: {best['model'] / best['wald']:.2f} times the model's speed")  # with -s

    step = type(model[0])
    own, calls = step.transform, []

    def counted(self: Any, rows: Any, *args: Any, **params: Any) -> Any:
        if self is fast.estimator_[0] or self is model[0]:
            calls.append(len(rows))
        return own(self, rows, *args, **params)

    monkeypatch.setattr(step, "transform", counted)
    for n in (1, 5, 100, 2000):
        calls.clear()
        fast.predict(fresh[:n])
        assert calls == ([] if kind in ("texts", "bins") else [n])  # wald reads texts and cuts numbers itself


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("missing", [None, float("nan")], ids=["None", "NaN"])
@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(), make_pipeline(OrdinalEncoder(), StandardScaler())], ids=["one-hot", "ordinal"]
)
@pytest.mark.parametrize("trained", [None, float("nan")], ids=["trained on None", "trained on NaN"])
def test_records_may_lack_a_text(encoder: Any, missing: Any, trained: Any) -> None:
    """A record with a missing text gets the label of its row in a frame, also where all records lack it."""
    frame, y = columns(N_TRAIN + N_FIT + 100)
    frame["city"] = np.where(np.arange(len(frame)) % 3 > 0, frame["city"].to_numpy(dtype=object), trained)
    model = make_pipeline(make_column_transformer((encoder, ["city"]), remainder="passthrough"), LogisticRegression())
    if isinstance(encoder, Pipeline):
        model[0].transformers[0][1].steps[0][1].set_params(encoded_missing_value=-1)
    model.fit(frame[:N_TRAIN], y[:N_TRAIN])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(frame[N_TRAIN:-100])
    records = [
        row if isinstance(row["city"], str) else row | {"city": missing} for row in frame[-100:].to_dict("records")
    ]
    expected = fast.predict(frame[-100:])
    np.testing.assert_array_equal(fast.predict_records(records), expected)
    assert [fast.predict_one(record) for record in records] == expected.tolist()


def test_lists_with_texts() -> None:
    """A pipeline's encoders take them; a model of numbers says where the first text is."""
    rng = np.random.default_rng(0)
    rows = [
        [colour, float(size)]
        for colour, size in zip(rng.choice(["red", "blue", "7"], 300), rng.normal(size=300), strict=True)
    ]
    y = [size > 0 for _, size in rows]
    encoded = ColumnTransformer([("colours", OneHotEncoder(), [0]), ("sizes", StandardScaler(), [1])])
    model = make_pipeline(encoded, RandomForestClassifier(5, random_state=0)).fit(rows, y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    for some in (rows, [["7", 0.5], ["red", None]], [["blue", "0.5"]]):
        np.testing.assert_array_equal(fast.predict_proba(some), model.predict_proba(some))
    plain = EarlyExitClassifier(RandomForestClassifier(5, random_state=0).fit(rng.normal(size=(300, 2)), y), risk=0)
    numbers = [[0.5, 1.5]] * 40_000
    for ask in (plain.fit().predict, plain.predict_proba):
        for n in (1, len(numbers)):  # more than are read at once
            with pytest.raises(ValueError, match=rf"X must hold numbers\. Got the text '7' in row {n}, column 0"):
                ask([*numbers[:n], ["7", 0.5]])


def test_none_is_no_nan_for_encoders_of_lists_even_where_no_text_is_beside_it() -> None:
    rows = [[colour, size] for size in range(30) for colour in ("red", None)]
    encoded = ColumnTransformer([("colours", OneHotEncoder(), [0])], remainder="passthrough")
    model = make_pipeline(encoded, RandomForestClassifier(5, random_state=0)).fit(rows, [size > 9 for _, size in rows])
    fast = EarlyExitClassifier(model, risk=0).fit()
    for some in (rows, rows[1:2], [[None, 12.5]]):
        np.testing.assert_array_equal(fast.predict_proba(some), model.predict_proba(some))
