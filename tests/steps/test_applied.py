"""Transformers that run for their own columns alone, steps after a ColumnTransformer, and many categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier
from wald.models import decompose
from wald.sources import source_of
from wald.steps import ByColumn, Chain, RawColumns

pytestmark = pytest.mark.filterwarnings("ignore")
NUMBERS = ["delay", "speed"]


def frame(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "carrier": rng.choice(["AA", "Delta", "B6"], n),
            "note": rng.choice(["late again", "on time", "never late", ""], n),
            "delay": rng.normal(size=n),
            "speed": rng.normal(100, 20, n).astype(np.float32),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


def target(F: pd.DataFrame) -> Any:
    return (F["delay"] + (F["carrier"] == "AA") + 0.02 * (F["speed"] - 100) > 0.3).astype(int)


APPLIED: dict[str, tuple[Any, Any]] = {
    "bins": (KBinsDiscretizer(3), NUMBERS),
    "quantiles": (QuantileTransformer(n_quantiles=20), NUMBERS),
    "normal": (PowerTransformer(), NUMBERS),
    "splines": (SplineTransformer(), NUMBERS),
    "binary": (Binarizer(), NUMBERS),
    "indicator": (MissingIndicator(), ["gap"]),
    "function": (FunctionTransformer(np.tanh), NUMBERS),
    "of a frame": (FunctionTransformer(lambda F: F.assign(delay=F["delay"] * 2)), NUMBERS),
    "products": (PolynomialFeatures(), NUMBERS),
    "norm": (Normalizer(), NUMBERS),
    "components": (PCA(1), NUMBERS),
    "words": (TfidfVectorizer(), "note"),
    "hashes": (HashingVectorizer(n_features=16), "note"),
}


def fitted(parts: list[Any], *later: Any, model: Any, **options: Any) -> Any:
    front = ColumnTransformer(
        [("c", OneHotEncoder(handle_unknown="ignore"), ["carrier"]), ("n", StandardScaler(), ["delay"]), *parts],
        **options,
    )
    return make_pipeline(front, *later, model).fit(frame(), target(frame()))


def models() -> dict[str, Any]:
    return {"linear": LogisticRegression(), "tree": DecisionTreeClassifier(max_depth=5, random_state=0)}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("model", models())
@pytest.mark.parametrize("name", APPLIED)
@pytest.mark.parametrize("threshold", [0, 1.0])
def test_what_a_transformer_writes_joins_the_other_columns(name: str, model: str, threshold: float) -> None:
    transformer, columns = APPLIED[name]
    pipeline = fitted([("a", transformer, columns)], model=models()[model], sparse_threshold=threshold)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    assert isinstance(decompose(pipeline).preprocessing, ByColumn)
    given = [frame(200, 1), frame(50, 2).iloc[::2], frame(1, 3)]
    if name != "of a frame":
        given.append(pl.from_pandas(frame(100, 4)))
    for X in given:
        np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))


@pytest.mark.parametrize("model", models())
def test_rows_that_a_transformer_refuses_raise_its_error(model: str) -> None:
    pipeline = fitted([("a", SplineTransformer(), NUMBERS)], model=models()[model])
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    F = frame(30, 1)
    F.loc[7, "speed"] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        pipeline.predict(F)
    with pytest.raises(ValueError, match="NaN"):
        fast.predict(F)


def test_a_transformer_runs_once_for_rows() -> None:
    calls: list[int] = []

    def doubled(X: Any) -> Any:
        calls.append(len(X))
        return 2 * np.asarray(X)

    pipeline = fitted([("a", FunctionTransformer(doubled), NUMBERS)], model=LogisticRegression(), sparse_threshold=1.0)
    assert isinstance(decompose(pipeline).preprocessing, RawColumns)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    calls.clear()
    fast.predict(frame(200, 1))
    assert calls == [200]  # not once for each column that it writes, and not in the model besides


@pytest.mark.parametrize("threshold", [0, 1.0])
@pytest.mark.parametrize("name", ["splines", "products", "norm"])
def test_a_transformer_beside_sparse_columns_writes_arrays(name: str, threshold: float) -> None:
    transformer, columns = APPLIED[name]
    step = decompose(
        fitted([("a", transformer, columns)], model=LogisticRegression(), sparse_threshold=threshold)
    ).preprocessing
    assert isinstance(step, RawColumns)
    assert not step.unanswered(source_of(frame(50, 1))).any()


def test_a_transformer_that_refuses_rows_is_asked_once() -> None:
    calls: list[int] = []

    def picky(X: Any) -> Any:
        calls.append(len(X))
        if len(X) == 7:
            raise RuntimeError("seven rows")
        return 2 * np.asarray(X)

    pipeline = fitted([("a", FunctionTransformer(picky), NUMBERS)], model=LogisticRegression())
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    calls.clear()
    with pytest.raises(RuntimeError, match="seven rows"):
        fast.predict(frame(7, 1))
    assert len(calls) == 2  # once for its columns, and once in the model, whose error it is


def test_what_is_written_together_has_one_price() -> None:
    calls: list[int] = []

    def doubled(X: Any) -> Any:
        calls.append(len(X))
        return 2 * np.asarray(X)

    pipeline = fitted([("a", FunctionTransformer(doubled), NUMBERS)], model=LogisticRegression(), sparse_threshold=1.0)
    step = decompose(pipeline).preprocessing
    assert isinstance(step, RawColumns)
    assert [branch.numbers for branch in step.branches] == [[0], [1], [2, 3]]
    assert [list(branch.reads) for branch in step.branches] == [[0], [2], [2, 3]]
    calls.clear()
    source = source_of(frame(50, 1))
    for _ in range(2):  # each time that it is timed
        written = step.branches[-1].transform(source)
    assert calls == [50, 50]
    np.testing.assert_allclose(written, 2 * frame(50, 1)[NUMBERS])


def test_too_many_columns_stay_in_front() -> None:
    wide = ("a", HashingVectorizer(n_features=5000, preprocessor=str.upper), "note")
    assert type(decompose(fitted([wide], model=LogisticRegression())).preprocessing) is Chain


LATER: dict[str, list[Any]] = {
    "k best": [SelectKBest(k=3)],
    "scaled": [MaxAbsScaler()],
    "scaled and selected": [StandardScaler(with_mean=False), VarianceThreshold(0.1)],
    "components": [TruncatedSVD(2, random_state=0)],
    "centred components": [PCA(2)],
    "white": [PCA(2, whiten=True), StandardScaler()],
    "imputed and selected": [SimpleImputer(), SelectKBest(k=2), MaxAbsScaler()],
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("model", models())
@pytest.mark.parametrize("threshold", [0, 1.0])
@pytest.mark.parametrize("name", LATER)
def test_steps_after_the_column_transformer(name: str, threshold: float, model: str) -> None:
    parts = [("a", SplineTransformer(n_knots=3), NUMBERS)]
    pipeline = fitted(parts, *LATER[name], model=models()[model], sparse_threshold=threshold)
    step = decompose(pipeline).preprocessing
    if model == "linear":
        assert isinstance(step, RawColumns)
    elif not {"components", "centred components", "white"} & {name}:
        assert isinstance(step, ByColumn)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    for X in (frame(200, 1), frame(20, 2).assign(carrier="never seen")):
        np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))


def test_a_selector_that_drops_a_column_still_refuses_its_nan() -> None:
    F = frame()
    front = ColumnTransformer([("c", OrdinalEncoder(), ["carrier"]), ("n", "passthrough", NUMBERS)])
    pipeline = make_pipeline(front, SelectKBest(k=1), DecisionTreeClassifier()).fit(F, target(F))
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    F.loc[3, NUMBERS] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fast.predict(F)


@pytest.mark.long
def test_fifty_thousand_categories() -> None:
    rng, names = np.random.default_rng(0), np.array([f"item {i}" for i in range(50_000)], dtype=object)
    F = pd.DataFrame({"item": rng.permutation(names), "price": rng.normal(size=len(names))})
    front = ColumnTransformer(
        [("i", OneHotEncoder(handle_unknown="ignore"), ["item"]), ("p", StandardScaler(), ["price"])]
    )
    model = LogisticRegression(max_iter=5)
    pipeline = make_pipeline(front, model).fit(F, (F["price"] + rng.normal(size=len(F)) > 0).astype(int))
    assert isinstance(decompose(pipeline).preprocessing, RawColumns)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F[:200])
    X = F[:20_000].copy()
    X.loc[5, "item"] = "unknown"
    np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))
