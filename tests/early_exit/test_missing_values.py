"""Missing values of every type that a column or a value may have, at every door."""

import datetime
import decimal
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.svm import SVC

from wald import EarlyExitClassifier

rng = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame({"a": rng.integers(0, 2, N) * 1.0, "b": rng.normal(size=N), "c": rng.normal(size=N)})
Y = (FRAME.a + FRAME.b + FRAME.c > 0.5).astype(int).to_numpy()
FRAME.loc[rng.random(N) < 0.2, "a"] = np.nan
ONES = [None if np.isnan(value) else int(value) for value in FRAME.a]
BOOLS = [None if value is None else bool(value) for value in ONES]
DECIMALS = [None if value is None else decimal.Decimal(value) for value in ONES]

PANDAS = {
    "boolean": lambda: pd.array(BOOLS, dtype="boolean"),
    "bool[pyarrow]": lambda: pd.array(BOOLS, dtype="bool[pyarrow]"),
    "Int64": lambda: pd.array(ONES, dtype="Int64"),
    "UInt8": lambda: pd.array(ONES, dtype="UInt8"),
    "Float32": lambda: pd.array(ONES, dtype="Float32"),
    "int64[pyarrow]": lambda: pd.array(ONES, dtype="int64[pyarrow]"),
    "double[pyarrow]": lambda: pd.array(ONES, dtype="double[pyarrow]"),
    "decimal": lambda: pd.array(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "sparse": lambda: pd.arrays.SparseArray(FRAME.a.to_numpy()),
    "None among objects": lambda: np.array(ONES, dtype=object),
    "NA among objects": lambda: np.array([pd.NA if value is None else value for value in ONES], dtype=object),
    "Decimal": lambda: np.array([decimal.Decimal("NaN") if value is None else value for value in DECIMALS], object),
}
OTHERS = {
    "polars boolean": lambda: pl.DataFrame({"a": BOOLS, "b": FRAME.b.to_numpy(), "c": FRAME.c.to_numpy()}),
    "polars integer": lambda: pl.DataFrame({"a": ONES, "b": FRAME.b.to_numpy(), "c": FRAME.c.to_numpy()}),
    "Arrow boolean": lambda: pa.table({"a": BOOLS, "b": FRAME.b.to_numpy(), "c": FRAME.c.to_numpy()}),
    "Arrow integer": lambda: pa.table({"a": ONES, "b": FRAME.b.to_numpy(), "c": FRAME.c.to_numpy()}),
}
MODELS = {
    "trees": lambda: HistGradientBoostingClassifier(max_iter=10),
    "LightGBM": lambda: LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1),
    "kernel": lambda: make_pipeline(SimpleImputer(), StandardScaler(), SVC()),
    "linear": lambda: make_pipeline(SimpleImputer(), LogisticRegression()),
}


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {name: make().fit(FRAME, Y) for name, make in MODELS.items()}
        return {name: (own, fitted(own, FRAME)) for name, own in made.items()}


def fitted(own, rows):
    return EarlyExitClassifier(FrozenEstimator(own), risk=0).fit(rows)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("column", [*PANDAS, *OTHERS])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings(
    "ignore:no early exit", "ignore:.* support vectors", "ignore:X does not have valid feature names"
)
def test_every_type_of_missing_value_is_one(models, name, column):
    own, fast = models[name]
    rows = FRAME.assign(a=PANDAS[column]()) if column in PANDAS else OTHERS[column]()
    labels = own.predict(FRAME)
    np.testing.assert_array_equal(fast.predict(rows), labels)
    np.testing.assert_array_equal(fast.predict(rows[:5]), labels[:5])
    np.testing.assert_array_equal(fitted(own, rows).predict(rows), labels)
    np.testing.assert_array_equal(fast.recertify(rows).predict(rows), labels)
    for method in ("predict_proba", "decision_function"):
        if hasattr(own, method):
            np.testing.assert_allclose(getattr(fast, method)(rows), getattr(own, method)(FRAME), rtol=1e-12)
    if column in PANDAS:
        missing = np.flatnonzero(FRAME.a.isna())[:3]
        records = rows.iloc[missing].to_dict("records")
        np.testing.assert_array_equal(fast.predict_records(records), labels[missing])
        for i, record in zip(missing, records, strict=True):
            for row in (rows.iloc[i], record, rows.iloc[i].tolist()):
                assert fast.predict_one(row) == labels[i]
            assert fast.trace(record).label == labels[i]


MISSING = [None, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), decimal.Decimal("NaN"), np.float32("nan")]
TIMES = [datetime.date(2020, 1, 1), pd.Timestamp("2020"), np.datetime64("2020"), np.timedelta64(3, "s")]


@pytest.mark.parametrize("value", MISSING)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_missing_value_is_one(models, name, value):
    own, fast = models[name]
    row = FRAME[FRAME.a.isna()].iloc[0]
    label = own.predict(row.to_frame().T)[0]
    record = row.to_dict() | {"a": value}
    assert fast.predict_one(record) == fast.predict_one(list(record.values())) == label
    assert fast.predict_records([record]) == label
    assert fast.predict(pd.DataFrame([list(record.values())], columns=list("abc"), dtype=object)) == label


@pytest.mark.parametrize("column", ["boolean", "double[pyarrow]", "NA among objects"])
@pytest.mark.filterwarnings(
    "ignore:no early exit", "ignore:.* support vectors", "ignore:X does not have valid feature names"
)
def test_a_model_without_missing_values_names_the_first_one(column):
    fast = EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(FRAME.fillna(0), Y)), risk=0)
    fast.fit(FRAME.fillna(0))
    rows, first = FRAME.assign(a=PANDAS[column]()), int(np.flatnonzero(FRAME.a.isna())[0])
    for call in (fast.predict, fast.fit):
        with pytest.raises(ValueError, match=rf"contains NaN in row {first}, column 'a' \(0\)"):
            call(rows)
    with pytest.raises(ValueError, match=r"x\['a'\] is <NA>, and the model takes no missing values"):
        fast.predict_one(FRAME.iloc[0].to_dict() | {"a": pd.NA})


@pytest.mark.parametrize("door", ["pandas", "polars", "records"])
def test_the_first_one_is_named_where_other_columns_may_hold_some(door):
    columns = make_column_transformer((SimpleImputer(), ["a"]), ("passthrough", ["b", "c"]))
    exact = EarlyExitClassifier(make_pipeline(columns, LogisticRegression()).fit(FRAME, Y), risk=0).fit(FRAME)
    rows = FRAME.assign(b=FRAME.b.where(np.arange(N) != 7))
    ask, word = (exact.predict_records, "record") if door == "records" else (exact.predict, "row")
    given = {"pandas": rows, "polars": pl.from_pandas(rows), "records": rows.to_dict("records")}[door]
    missing = "column 'a' (0), column 'b' (1)" if np.isnan(rows.a[7]) else "column 'b' (1)"
    with pytest.raises(ValueError, match=re.escape(f"Input X contains NaN in {word} 7, {missing}.")):
        ask(given)


@pytest.mark.parametrize("value", ["high", [1], 1j, *TIMES, 10**400])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_value_that_is_no_number_is_a_value_error_at_every_door(models, name, value):
    _, fast = models[name]
    record = FRAME.iloc[0].to_dict() | {"b": value}
    values = list(record.values())
    table = np.empty((1, 3), dtype=object)
    table[0] = values
    for call in (
        lambda: fast.predict_one(record),
        lambda: fast.predict_one(values),
        lambda: fast.predict_records([record]),
        lambda: fast.trace(record),
        lambda: fast.predict(table),
        lambda: fast.predict(pd.DataFrame(table, columns=list("abc"))),
    ):
        with pytest.raises(ValueError, match=r"b'|\[1\]|column 1|large|nested|[Cc]omplex"):
            call()


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    "later", [(), (MaxAbsScaler(),), (RobustScaler(with_centering=False),)], ids=["", "scaled", "robust"]
)
def test_forests_behind_sparse_columns_take_no_missing_values(sparse, later):
    """scikit-learn's forests refuse NaN in sparse rows alone, which a ColumnTransformer writes or not."""
    rows = FRAME.assign(city=np.array(list("abcdefghijkl"))[np.arange(N) % 12])
    columns = make_column_transformer(
        (OneHotEncoder(), ["city"]), ("passthrough", ["b", "c"]), sparse_threshold=sparse * 0.3
    )
    model = make_pipeline(columns, *later, RandomForestClassifier(3, random_state=0)).fit(rows, Y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    some = rows[:9].assign(b=[np.nan, *rows.b[1:9]])
    record = some.iloc[0].to_dict()
    asked = [(fast.predict, some), (fast.predict_proba, some), (fast.predict_one, record)]
    if sparse:
        for ask, X in [*asked, (model.predict, some)]:
            with pytest.raises(ValueError, match="Input X contains NaN"):
                ask(X)
    else:
        assert [fast.predict(some)[0], fast.predict_one(record)] == [model.predict(some)[0]] * 2
    np.testing.assert_array_equal(fast.predict_proba(rows), model.predict_proba(rows))
