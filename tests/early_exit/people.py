"""Columns by name: random features, and people of whom a model says who buys."""

import numpy as np
import pytest
from early_exit.models import X2
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAMES = [f"f{i}" for i in range(20)]
FRAME = pd.DataFrame(X2, columns=NAMES)
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}

RNG = np.random.default_rng(0)
PEOPLE = {
    "age": RNG.normal(40, 10, 4000),
    "city": RNG.choice(["a", "b", "c"], 4000),
    "weight": RNG.normal(size=4000),
    "number": np.arange(4000),
    "children": RNG.integers(0, 5, 4000),
}
BUYS = PEOPLE["age"] + 10 * PEOPLE["weight"] + 3 * (PEOPLE["city"] == "a") + PEOPLE["children"] > 43


def people(library, rows, names=tuple(PEOPLE)):
    values = {**PEOPLE, "more": PEOPLE["age"]}
    return LIBRARIES[library]({name: values[name][rows] for name in names})


def buyer(library, last):
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        (StandardScaler(), ["weight", "children"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
    )
    return make_pipeline(columns, last).fit(people(library, slice(800)), BUYS[:800])
