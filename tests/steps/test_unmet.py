"""One warning for missing cells that an encoder did not meet in fit."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder
from sklearn.tree import DecisionTreeClassifier

import wald
from wald.steps.unmet import Unmet

MODELS = {"linear": lambda: LogisticRegression(), "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0)}


def frame(n: int = 300, missing: Any = "no") -> Any:
    rng = np.random.default_rng(0)
    city = np.array(["Graz", "Linz", "Wien", missing if missing != "no" else "Graz"], dtype=object)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "city": pd.Series(city[np.arange(n) % 4], dtype=object),
            "job": pd.Series(np.array(["a", "b", "c"], dtype=object)[np.arange(n) % 3], dtype=object),
            "size": (np.arange(n) % 3).astype(float),
        }
    )


def fitted(encoder: Any, rows: Any, model: Any, columns: Any = ("city", "job")) -> Any:
    front = ColumnTransformer([("c", encoder, list(columns)), ("n", "passthrough", ["x"])])
    y = (rows["x"] > 0).astype(int)
    pipeline = make_pipeline(front, model).fit(rows, y)
    units = wald.Planner(cost="units")
    return pipeline, wald.EarlyExitClassifier(FrozenEstimator(pipeline), risk=0, planner=units).fit(rows)


def with_missing(value: Any, column: str = "city") -> Any:
    rows = frame(20)
    rows.loc[rows.index[5], column] = value
    return rows


ENCODERS: dict[str, Any] = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "rare": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=3),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": lambda: TargetEncoder(cv=2),
    "beside an imputer": lambda: make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=np.nan), OneHotEncoder(handle_unknown="ignore")
    ),
}


@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ENCODERS)
def test_a_missing_cell_is_named_once(name: str, model: str) -> None:
    pipeline, fast = fitted(ENCODERS[name](), frame(), MODELS[model]())
    fast.predict(frame(20))  # nothing is missing
    rows = with_missing(None)
    with pytest.warns(UserWarning, match="The column 'city' holds None, and held none of them in fit"):
        found = fast.predict(rows)
    np.testing.assert_array_equal(found, pipeline.predict(rows))
    np.testing.assert_array_equal(fast.predict(rows), found)  # warnings are errors
    fast.predict(with_missing(None, "job"))


def containers() -> dict[str, Any]:
    rows = with_missing(None)
    made = {
        "pandas str": with_missing(np.nan).astype({"city": "str"}),
        "pandas category": with_missing(np.nan).astype({"city": "category"}),
        "polars": pl.from_pandas(rows),
        "Categorical": pl.from_pandas(rows).with_columns(pl.col("city").cast(pl.Categorical)),
        "NaN": with_missing(np.nan),
        "pandas.NA": with_missing(pd.NA),
    }
    return made


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", containers())
def test_in_every_container(name: str, model: str) -> None:
    _, fast = fitted(ENCODERS["one-hot"](), frame(), MODELS[model]())
    with pytest.warns(UserWarning, match="The column 'city' holds (None|NaN|pandas.NA),"):
        fast.predict(containers()[name])


def test_arrays_of_objects() -> None:
    rows, y = frame(), np.arange(300) % 2
    values = rows[["city", "job"]].to_numpy()
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(values, y)
    fast = wald.EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(values)
    values = values.copy()
    values[3, 1] = None
    with pytest.warns(UserWarning, match="The column 1 holds None"):
        fast.predict(values)


@pytest.mark.parametrize("met", [None, np.nan])
def test_what_was_met_in_fit_is_no_surprise(met: Any) -> None:
    other, held = (np.nan, "None") if met is None else (None, "NaN")
    _, fast = fitted(ENCODERS["one-hot"](), frame(missing=met), LogisticRegression())
    fast.predict(with_missing(met))
    with pytest.warns(UserWarning, match=f"The column 'city' holds .*, and held {held} in fit"):
        fast.predict(with_missing(other))


def test_what_is_filled_or_dropped_is_no_surprise() -> None:
    _, fast = fitted(ENCODERS["beside an imputer"](), frame(), LogisticRegression())
    fast.predict(with_missing(np.nan))
    first = OneHotEncoder(handle_unknown="ignore", drop=[None, "a"])  # zeros stand for None, too
    _, fast = fitted(first, frame(missing=None), LogisticRegression())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Found unknown")
        fast.predict(with_missing(None))


def test_numbers() -> None:
    pipeline, fast = fitted(ENCODERS["one-hot"](), frame(), LogisticRegression(), ["size"])
    rows = with_missing(np.nan, "size")
    with pytest.warns(UserWarning, match="The column 'size' holds NaN"):
        np.testing.assert_array_equal(fast.predict(rows), pipeline.predict(rows))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", [None, np.nan])
def test_records(value: Any, model: str) -> None:
    pipeline, fast = fitted(ENCODERS["one-hot"](), frame(), MODELS[model]())
    row = frame(1).iloc[0].to_dict() | {"city": value}
    with pytest.warns(UserWarning, match="The column 'city' holds a missing value, and held none in fit"):
        found = fast.predict_one(row)
    assert found == pipeline.predict(with_missing(value).iloc[[5]].assign(x=row["x"], job=row["job"]))[0]
    assert fast.predict_one(row) == found  # which warns no more
    _, fast = fitted(ENCODERS["one-hot"](), frame(missing=value), MODELS[model]())
    fast.predict_one(row)


def test_a_warning_that_is_an_error_is_raised() -> None:
    _, fast = fitted(ENCODERS["one-hot"](), frame(), LogisticRegression())
    with pytest.raises(UserWarning, match="three categories"):
        fast.predict(with_missing(None))


def test_refused_cells_raise_the_error_of_the_encoder() -> None:
    _, fast = fitted(OneHotEncoder(), frame(), LogisticRegression())
    with pytest.raises(ValueError, match="unknown categories"):
        fast.predict(with_missing(None))


def test_a_copy_in_another_process_warns_anew():
    unmet = Unmet(["a"])
    unmet.noting(0, (True, False, False), "none of them")((True, False, False))
    with pytest.warns(UserWarning, match="The column 'a' holds None"):
        unmet.warn()
    for names in (["a"], None):
        other = pickle.loads(pickle.dumps(unmet if names else Unmet(None)))
        other.noting(0, (True, False, False), "none of them")((True, False, False))
        with pytest.warns(UserWarning, match="holds None"):
            other.warn()


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["NaN", "polars", "pandas category"])
def test_numbers_of_the_wrapped_model_warn_too(name: str, model: str, method: str) -> None:
    pipeline, fast = fitted(ENCODERS["one-hot"](), frame(), MODELS[model]())
    if not hasattr(pipeline, method):
        pytest.skip(f"trees have no {method}")
    rows = containers()[name]
    getattr(fast, method)(frame(20))  # nothing is missing
    with pytest.warns(UserWarning, match="The column 'city' holds (None|NaN),"):
        found = getattr(fast, method)(rows)
    np.testing.assert_array_equal(found, getattr(pipeline, method)(rows))
    getattr(fast, method)(rows)  # warnings are errors


def test_probabilities_of_records_warn_too() -> None:
    _, fast = fitted(ENCODERS["one-hot"](), frame(), LogisticRegression())
    row = frame(1).iloc[0].to_dict()
    fast.predict_proba_one(row)
    with pytest.warns(UserWarning, match="The column 'city' holds a missing value"):
        fast.predict_proba_one(row | {"city": None})


def test_structs_of_polars_are_refused_by_the_encoder() -> None:
    """polars panics, with no Exception, where a struct without fields is made."""
    table = pl.DataFrame({"kind": ["a", "b"] * 50, "size": np.arange(100.0)})
    columns = [("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"]), ("size", "passthrough", ["size"])]
    model = make_pipeline(ColumnTransformer(columns), DecisionTreeClassifier(max_depth=2)).fit(
        table, np.arange(100) > 50
    )
    fast = wald.EarlyExitClassifier(model, risk=0).fit(table)
    with pytest.raises(TypeError, match="column 'kind'"):
        fast.predict(table[:3].with_columns(pl.Series("kind", [{}] * 3)))
