"""FeatureUnions of transformers of columns, alone and inside a ColumnTransformer: answers are the pipeline's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.models import decompose
from wald.steps import ByColumn, RawColumns

pytestmark = pytest.mark.filterwarnings("ignore")


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "month": rng.integers(1, 7, n),
            "hour": rng.integers(0, 5, n),
            "price": np.exp(rng.normal(size=n)),
            "city": pd.Series(rng.choice(["Ulm", "Köln", "Bonn"], n), dtype=object),
            "note": pd.Series([" ".join(rng.choice(["a b", "good", "bad", "so"], 4)) for _ in range(n)], dtype=object),
        }
    )


def labels(F: pd.DataFrame, n_classes: int) -> Any:
    score = np.log(F["price"]) + 0.5 * (F["month"] % 3) + (F["city"] == "Ulm") + 0.3 * F["hour"]
    return np.searchsorted(np.quantile(score, [0.5, 0.8][: n_classes - 1]), score.to_numpy())


class Cubes(TransformerMixin, BaseEstimator):
    """A transformer of one's own."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return np.tanh(np.asarray(X, dtype=np.float64)) ** 3

    def get_feature_names_out(self, names: Any = None) -> Any:
        return np.array([f"cube{c}" for c in range(self.n_features_in_)])


def one_hot(**options: Any) -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", **options)


UNIONS: dict[str, Callable[[], FeatureUnion]] = {
    "scaled and encoded": lambda: FeatureUnion([("a", StandardScaler()), ("b", one_hot())]),
    "dense": lambda: FeatureUnion([("b", one_hot(sparse_output=False)), ("a", MinMaxScaler())]),
    "made": lambda: make_union(StandardScaler(), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
    "weights": lambda: FeatureUnion([("a", StandardScaler()), ("b", one_hot())], transformer_weights={"b": 0.3}),
    "passed and dropped": lambda: FeatureUnion(
        [("a", "passthrough"), ("c", "drop"), ("b", one_hot(min_frequency=20)), ("d", PolynomialFeatures(2))]
    ),
    "targets": lambda: FeatureUnion([("t", TargetEncoder(random_state=0)), ("k", KBinsDiscretizer(3))]),
    "a pipeline in it": lambda: FeatureUnion(
        [("p", make_pipeline(SimpleImputer(), StandardScaler())), ("b", one_hot()), ("c", Cubes())]
    ),
}
NESTED: dict[str, Callable[[], FeatureUnion]] = {
    "a union in it": lambda: FeatureUnion(
        [
            ("u", FeatureUnion([("a", StandardScaler()), ("v", FeatureUnion([("b", one_hot()), ("c", "drop")]))])),
            ("k", KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")),
        ]
    ),
    "a weighted union in it": lambda: FeatureUnion(
        [("u", FeatureUnion([("a", MinMaxScaler()), ("b", one_hot())])), ("s", StandardScaler())],
        transformer_weights={"u": 0.3, "s": 3.0},
    ),
    "one transformer of its own": lambda: FeatureUnion(
        [("u", FeatureUnion([("b", one_hot(sparse_output=False)), ("c", Cubes())])), ("s", StandardScaler())]
    ),
}
UNITS = Planner(cost="units")
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "machine": SVC,
    "forest": lambda: RandomForestClassifier(10, max_depth=6, random_state=0),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "lightgbm": lambda: LGBMClassifier(n_estimators=10, num_leaves=7, min_child_samples=5, verbose=-1, n_jobs=1),
}


def fitted(front: Any, model: str, F: Any, y: Any) -> Any:
    try:
        return make_pipeline(front, MODELS[model]()).fit(F, y)
    except TypeError as error:  # sparse rows
        pytest.skip(str(error)[:60])


def require_same(pipeline: Any, fast: Any, X: Any) -> None:
    np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))
    if hasattr(pipeline, "predict_proba"):
        np.testing.assert_array_equal(fast.predict_proba(X), pipeline.predict_proba(X))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("union", UNIONS)
def test_on_whole_numbers(union: str, model: str, n_classes: int) -> None:
    F = rows(400)[["month", "hour"]]
    pipeline = fitted(UNIONS[union](), model, F, labels(rows(400), n_classes))
    assert isinstance(decompose(pipeline).preprocessing, RawColumns if model == "logistic" else ByColumn)
    X = rows(200, 1)[["month", "hour"]]
    X.loc[:5, "month"] = 9
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    for each in (X, pl.from_pandas(X), X.astype(float), X.to_numpy(), X.astype(np.float32)):
        require_same(pipeline, fast, each)
    own = pipeline.predict(X)
    assert [fast.predict_one(row) for row in X.head(9).to_dict("records")] == own[:9].tolist()


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "outer"), [(0.0, 2.0), (1.0, None)])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("union", UNIONS)
def test_inside_a_column_transformer(union: str, model: str, threshold: float, outer: float | None) -> None:
    F = rows(400)
    front = ColumnTransformer(
        [("price", StandardScaler(), ["price"]), ("u", UNIONS[union](), ["hour", "month"]), ("c", one_hot(), ["city"])],
        transformer_weights=None if outer is None else {"u": outer},
        sparse_threshold=threshold,
    )
    pipeline = fitted(front, model, F, labels(F, 2))
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    step = fast.compiled_plan_.model.preprocessing
    assert isinstance(step, ByColumn)
    if union == "scaled and encoded" or (union == "weights" and outer is None):
        assert len(step.parts) == 4
        assert fast.compiled_plan_.in_front is None
    X = rows(200, 1)
    X.loc[:5, "month"] = 9
    for each in (X, pl.from_pandas(X), X[X.columns[::-1]]):
        require_same(pipeline, fast, each)
    own = pipeline.predict(X)
    assert [fast.predict_one(row) for row in X.head(9).to_dict("records")] == own[:9].tolist()


def test_a_column_of_texts_in_two_transformers() -> None:
    F = rows(400)
    front = ColumnTransformer(
        [
            ("note", make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char")), "note"),
            ("hours", make_union(StandardScaler(), one_hot()), ["hour"]),
        ]
    )
    pipeline = make_pipeline(front, LogisticRegression()).fit(F, labels(F, 3))
    step = decompose(pipeline).preprocessing
    assert isinstance(step, RawColumns)
    assert [type(part).__name__ for part in step.parts] == ["TextColumn", "Numbers", "Tables"]
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), rows(100, 1))


def test_steps_behind_a_union() -> None:
    F = rows(400)[["month", "hour"]]
    union = FeatureUnion([("a", StandardScaler()), ("b", one_hot(sparse_output=False))])
    pipeline = make_pipeline(union, SelectKBest(k=6), PCA(3), LogisticRegression()).fit(F, labels(rows(400), 2))
    assert isinstance(decompose(pipeline).preprocessing, RawColumns)
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), F)


def test_missing_values() -> None:
    F = rows(400)[["month", "price"]].astype(float)
    F.loc[::7, "price"] = np.nan
    front = make_union(SimpleImputer(), MissingIndicator(), make_pipeline(SimpleImputer(strategy="median"), one_hot()))
    for model in ("logistic", "hist"):
        front.set_params(pipeline__onehotencoder__sparse_output=False)
        pipeline = make_pipeline(front, MODELS[model]()).fit(F, labels(rows(400), 2))
        require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), F.head(90))


@pytest.mark.parametrize("change", ["reordered", "more columns", "renamed"])
def test_columns_that_a_union_refuses(change: str) -> None:
    F = rows(400)[["month", "hour"]]
    pipeline = make_pipeline(UNIONS["dense"](), LogisticRegression()).fit(F, labels(rows(400), 2))
    fast = EarlyExitClassifier(pipeline, risk=0).fit()
    X = {"reordered": F[["hour", "month"]], "more columns": F.assign(x=1.0), "renamed": F.rename(columns={"hour": "h"})}
    for each in (pipeline, fast):
        with pytest.raises(ValueError, match=r"feature names|features"):
            each.predict(X[change])


class OwnUnion(FeatureUnion):
    """A subclass, which may do anything."""


@pytest.mark.parametrize("how", ["subclass", "frames", "in the middle"])
def test_what_stays_as_it_is(how: str) -> None:
    F = rows(400)[["month", "hour"]]
    parts = [("a", StandardScaler()), ("b", one_hot(sparse_output=False))]
    union: Any = OwnUnion(parts) if how == "subclass" else FeatureUnion(parts)
    if how == "frames":
        union.set_output(transform="pandas")
    pipeline = make_pipeline(*([SimpleImputer()] if how == "in the middle" else []), union, LogisticRegression())
    pipeline.fit(F, labels(rows(400), 2))
    assert not isinstance(decompose(pipeline).preprocessing, ByColumn)
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), F)


def test_an_edited_weight_is_noticed() -> None:
    F = rows(400)[["month", "hour"]]
    pipeline = make_pipeline(UNIONS["weights"](), LogisticRegression()).fit(F, labels(rows(400), 2))
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    pipeline[0].transformer_weights["b"] = 7.0
    with pytest.raises(ValueError, match="transformer_weights of FeatureUnion"):
        fast.predict(F)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("model", ["logistic", "hist", "machine"])
@pytest.mark.parametrize("union", NESTED)
def test_unions_in_unions(union: str, model: str) -> None:
    F, y, X = rows(400), labels(rows(400), 2), rows(200, 1)
    X.loc[:5, "month"] = 9
    front = ColumnTransformer([("u", NESTED[union](), ["hour", "month"]), ("c", one_hot(), ["city"])])
    filled = ColumnTransformer(
        [("u", make_pipeline(SimpleImputer(), NESTED[union]()), ["hour", "month"]), ("c", one_hot(), ["city"])]
    )
    numbers = ["month", "hour"]
    for begun, own, given in ((NESTED[union](), F[numbers], X[numbers]), (front, F, X), (filled, F, X)):
        pipeline = fitted(begun, model, own, y)
        step = decompose(pipeline).preprocessing
        if type(begun) is FeatureUnion and model != "logistic" and "own" in union:
            assert not isinstance(step, ByColumn)  # nobody knows whether it gives sparse rows
            continue
        assert isinstance(step, ByColumn)
        assert len(step.parts) >= 3
        fast = EarlyExitClassifier(pipeline, risk=0, planner=UNITS).fit(own)
        for each in (given, pl.from_pandas(given)):
            require_same(pipeline, fast, each)
        assert [fast.predict_one(row) for row in given.head(9).to_dict("records")] == pipeline.predict(
            given[:9]
        ).tolist()


def test_weights_of_weights_are_two_roundings() -> None:
    F = rows(400)
    inner = FeatureUnion([("a", MinMaxScaler()), ("b", one_hot())], transformer_weights={"a": 0.1})
    outer = FeatureUnion([("u", inner), ("s", StandardScaler())], transformer_weights={"u": 0.3})
    front = ColumnTransformer([("u", outer, ["hour", "month"]), ("c", one_hot(), ["city"])])
    pipeline = fitted(front, "logistic", F, labels(F, 2))
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0, planner=UNITS).fit(F), rows(100, 1))


def test_vectorizers_in_unions_of_unions() -> None:
    texts = rows(400)["note"].tolist()
    words = FeatureUnion([("w", TfidfVectorizer()), ("c", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)))])
    weights = [None, {"u": 0.5}]
    for weight in weights:
        union = FeatureUnion([("u", words), ("k", TfidfVectorizer(ngram_range=(1, 2)))], transformer_weights=weight)
        pipeline = make_pipeline(union, LogisticRegression()).fit(texts, labels(rows(400), 2))
        assert decompose(pipeline).texts is not None
        require_same(pipeline, EarlyExitClassifier(pipeline, risk=0, planner=UNITS).fit(texts), texts[:90])
