"""Booleans among the values of dicts and in the columns of frames: as numbers, and as categories."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner

pd = pytest.importorskip("pandas")

DTYPES = {"city": object, "new": bool, "paid": bool, "sent": bool, "x": float}
ENCODERS = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "drop": lambda: OneHotEncoder(drop="if_binary", sparse_output=False),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}
NUMBERS = {
    "as they are": lambda: "passthrough",
    "scaled": StandardScaler,
    "filled": lambda: make_pipeline(SimpleImputer(), StandardScaler()),
    "most frequent": lambda: SimpleImputer(strategy="most_frequent"),
}
MODELS = {"linear": LogisticRegression, "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0)}


def made(n: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "city": rng.choice(["Paris", "Oslo", "Rome"], n).astype(object),
            "new": rng.random(n) < 0.5,
            "paid": rng.random(n) < 0.7,
            "sent": rng.random(n) < 0.3,
            "x": rng.normal(size=n),
        }
    )
    score = X["x"] + X["new"] - 2 * X["paid"] + X["sent"] + (X["city"] == "Rome")
    return X, (score + rng.normal(size=n) > 0).to_numpy()


def fitted(encoder: str, numbers: str, model: str) -> tuple[Pipeline, EarlyExitClassifier, Any]:
    X, y = made()
    front = ColumnTransformer(
        [("codes", ENCODERS[encoder](), ["city", "new"]), ("numbers", NUMBERS[numbers](), ["paid", "x", "sent"])]
    )
    pipeline = make_pipeline(front, MODELS[model]()).fit(X, y)
    return pipeline, EarlyExitClassifier(pipeline, risk=0, planner=Planner(cost="units")).fit(X), X


def read_by_record(fast: EarlyExitClassifier, row: dict[str, Any]) -> bool:
    return fast._compiled().label_one(row, False) is not None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_dicts_are_rows_of_the_frame(encoder: str, numbers: str, model: str) -> None:
    pipeline, fast, X = fitted(encoder, numbers, model)
    rows = X[:40].to_dict("records")
    assert {type(row["new"]) for row in rows} == {bool}
    own = pipeline.predict_proba(X[:40])
    np.testing.assert_array_equal([fast.predict_one(row) for row in rows], pipeline.predict(X[:40]))
    np.testing.assert_allclose([fast.predict_proba_one(row) for row in rows], own, rtol=1e-12)
    assert all(read_by_record(fast, row) for row in rows) == (numbers != "most frequent")
    np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))


def test_other_values_beside_booleans() -> None:
    pipeline, fast, X = fitted("one-hot", "filled", "linear")
    row = X.iloc[0].to_dict()
    for name, value in (("new", 1), ("new", 0), ("paid", 1), ("paid", 0.5), ("paid", math.nan), ("sent", None)):
        given = row | {name: value}
        frame = pd.DataFrame([given]).astype(DTYPES | {"paid": float, "sent": float})
        assert fast.predict_one(given) == pipeline.predict(frame)[0], (name, value)
    assert not read_by_record(fast, row | {"new": "yes"})
    assert not read_by_record(fast, row | {"new": 7})


def test_a_boolean_among_texts_is_left_to_the_encoder() -> None:
    _, fast, X = fitted("one-hot", "filled", "linear")
    row = X.iloc[0].to_dict() | {"city": True}
    assert not read_by_record(fast, row)


def test_columns_of_objects_hold_other_booleans() -> None:
    """True in a column of objects is no category of a column of booleans to scikit-learn's own check of types."""
    pipeline, fast, X = fitted("ordinal", "scaled", "tree")
    for dtype in (object, "boolean", "category", np.int64, float):
        frame = X.astype({"new": dtype})
        try:
            own = pipeline.predict(frame)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                fast.predict(frame)
        else:
            np.testing.assert_array_equal(fast.predict(frame), own)
