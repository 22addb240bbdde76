"""DictVectorizer in front of trees: columns come straight from dicts, and answers are the pipeline's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from wald import EarlyExitClassifier
from wald.models import decompose
from wald.sources import RawSource
from wald.steps.named_columns import MOST_COLUMNS, NamedColumns

pytestmark = pytest.mark.filterwarnings("ignore")

MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": lambda: RandomForestClassifier(10, max_depth=6, random_state=0),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "lightgbm": lambda: LGBMClassifier(n_estimators=10, num_leaves=7, min_child_samples=5, verbose=-1, n_jobs=1),
    "xgboost": lambda: XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1),
}


def rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    rng, made = np.random.default_rng(seed), list[dict[str, Any]]()
    for _ in range(n):
        row: dict[str, Any] = {
            "city": str(rng.choice(["Ulm", "Köln", "Bonn"])),
            "price": float(np.exp(rng.normal())),
            "age": int(rng.integers(0, 4)),
            "tags": [str(tag) for tag in rng.choice(["a", "b", "c"], int(rng.integers(0, 3)), replace=False)],
            "paid": bool(rng.random() < 0.5),
        }
        for name in list(row):
            if rng.random() < 0.2:
                del row[name]
        made.append(row)
    return made


def labels(given: list[dict[str, Any]], n_classes: int) -> Any:
    score = np.array([np.log(row.get("price", 1.0)) + (row.get("city") == "Ulm") + row.get("age", 0) for row in given])
    return np.searchsorted(np.quantile(score, [0.5, 0.8][: n_classes - 1]), score)


ODD: list[dict[str, Any]] = [
    {},
    {"price": float("nan")},
    {"price": -0.0, "age": 1e300},
    {"city": "nowhere", "more": 4},
    {"tags": ["a", "a", "b"]},
    {"city": "Ulm", "city=Ulm": 0.1, "tags": ["a"]},
    {"price": np.float32(0.1), "age": np.int64(3)},
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_answers_are_the_pipelines_own(model: str, is_sparse: bool, dtype: Any, n_classes: int) -> None:
    train = rows(400)
    try:
        pipeline = make_pipeline(DictVectorizer(sparse=is_sparse, dtype=dtype), MODELS[model]())
        pipeline.fit(train, labels(train, n_classes)).predict(train)
    except (TypeError, ValueError) as error:  # sparse rows, or their indices of 64 bits
        pytest.skip(str(error)[:60])
    step = decompose(pipeline).preprocessing
    assert isinstance(step, NamedColumns) == (model != "xgboost" or not is_sparse)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(train)
    again = pickle.loads(pickle.dumps(fast))
    given = [*rows(200, 1), *(row for row in ODD if model in ("hist", "lightgbm", "xgboost") or "price" not in row)]
    own = pipeline.predict(given)
    for each in (fast, again):
        np.testing.assert_array_equal(each.predict(given), own)
    np.testing.assert_array_equal(fast.predict_proba(given), pipeline.predict_proba(given))
    assert [fast.predict_one(row) for row in given[-20:]] == own[-20:].tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_have_the_bits_of_the_vectorizers(is_sparse: bool, dtype: Any) -> None:
    train = rows(300)
    vectorizer = DictVectorizer(sparse=is_sparse, dtype=dtype)
    pipeline = make_pipeline(vectorizer, MODELS["tree"]()).fit(train, labels(train, 2))
    step, given = decompose(pipeline).preprocessing, [*rows(100, 1), *ODD]
    assert isinstance(step, NamedColumns)
    own, written = vectorizer.transform(given), step.transform(RawSource(given))
    assert written.dtype == own.dtype
    np.testing.assert_array_equal(written, own.toarray() if is_sparse else own)


def test_the_vectorizer_is_asked_about_odd_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    train = rows(300)
    pipeline = make_pipeline(DictVectorizer(), MODELS["forest"]()).fit(train, labels(train, 2))
    fast, own = EarlyExitClassifier(pipeline, risk=0).fit(train), pipeline.predict(train)
    asked, transform = list[int](), DictVectorizer.transform
    monkeypatch.setattr(DictVectorizer, "transform", lambda self, X: (asked.append(len(X)), transform(self, X))[1])
    np.testing.assert_array_equal(fast.predict(train), own)
    assert asked == []
    fast.predict([*train, {"city": "Ulm", "city=Ulm": 0.1}])
    assert asked == [1]


@pytest.mark.parametrize("row", [{"price": [1.0]}, {"price": object()}, None, "price", {1: 2.0}])
def test_bad_rows_raise_the_pipelines_error(row: Any) -> None:
    train = rows(300)
    pipeline = make_pipeline(DictVectorizer(), MODELS["forest"]()).fit(train, labels(train, 2))
    fast, given = EarlyExitClassifier(pipeline, risk=0).fit(train), [*train, row]

    try:
        labels_of_pipeline = pipeline.predict(given).tolist()
    except Exception as error:
        with pytest.raises(type(error)):
            fast.predict(given)
    else:
        assert fast.predict(given).tolist() == labels_of_pipeline


def test_many_columns_stay_as_they_are() -> None:
    train = [{f"x{i}": 1.0, "y": float(i % 2)} for i in range(MOST_COLUMNS + 5)]
    pipeline = make_pipeline(DictVectorizer(), MODELS["tree"]()).fit(train, [i % 2 for i in range(len(train))])
    assert not isinstance(decompose(pipeline).preprocessing, NamedColumns)
