"""Pipelines of columns in files, which are built again without skops and pickle."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

import wald
from wald.persistence import FileFormatError, from_bytes, to_bytes

pandas = pytest.importorskip("pandas")

ENCODERS: dict[str, Any] = {
    "rare ones together": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=60),
    "without the first": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "without one of two": OneHotEncoder(drop="if_binary", handle_unknown="warn", max_categories=5),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    "ordinal with NaN": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    "target": TargetEncoder(cv=3),
    "filled": make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=np.nan), OneHotEncoder()),
    "constant": make_pipeline(SimpleImputer(strategy="constant", missing_values=np.nan), OrdinalEncoder()),
}


def frame(n: int = 1500) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(45, 15, n).round()),
            "income": rng.lognormal(10, 0.5, n),
            "city": np.array(["Köln", "Brno", "Graz", None], dtype=object)[rng.integers(0, 4, n)],
            "job": np.array([f"job {i}" for i in range(12)], dtype=object)[(12 * rng.random(n) ** 2).astype(int)],
            "size": rng.integers(1, 4, n),
        }
    )
    score = (X["age"].fillna(45) - 45) / 15 + (X["city"] == "Köln") + rng.normal(size=n)
    return X, np.where(score > 0.5, "yes", "no")


@cache
def made(name: str, trees: bool = False, risk: float = 0.0) -> tuple[Any, Any, Any]:
    X, y = frame()
    numbers = make_pipeline(SimpleImputer(add_indicator=trees), StandardScaler())
    columns = ColumnTransformer(
        [("n", numbers, ["age", "income"]), ("c", ENCODERS[name], ["city", "job"]), ("s", "passthrough", ["size"])],
        sparse_threshold=0,
        transformer_weights={"n": 0.5},
    )
    last: Any = HistGradientBoostingClassifier(max_iter=10) if trees else LogisticRegression(max_iter=1000)
    if name == "ordinal with NaN" and not trees:
        last = make_pipeline(SimpleImputer(), last)
    model = make_pipeline(columns, last).fit(X[:600], y[:600])
    units = wald.Planner(cost="units")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=units, random_state=0).fit(X[600:])
    return model, fast, X[1000:]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.filterwarnings("ignore:Found unknown")
def test_a_pipeline_of_columns_comes_back_without_skops(
    name: str, trees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, fast, X = made(name, trees)
    monkeypatch.setitem(sys.modules, "skops", None)  # imports of it raise
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = from_bytes(to_bytes(fast))
    assert type(back.compiled_plan_.model.preprocessing) is type(fast.compiled_plan_.model.preprocessing)
    for rows in (X, X.astype({"city": "category", "job": "string"}), X[["job", "size", "city", "income", "age"]]):
        try:
            own = model.predict(rows)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                back.predict(rows)
            continue
        np.testing.assert_array_equal(back.predict(rows), own)
        np.testing.assert_array_equal(back.predict_proba(rows), fast.predict_proba(rows))
    row = X.iloc[0].to_dict()
    assert back.predict_one(row) == fast.predict_one(row)


def test_an_unknown_category_raises_the_error_of_the_encoder() -> None:
    model, fast, X = made("filled")
    back, strange = from_bytes(to_bytes(fast)), X.assign(city="Oslo")
    with pytest.raises(ValueError, match=r"unknown categories \['Oslo'\] in column 0"):
        model.predict(strange)
    with pytest.raises(ValueError, match=r"unknown categories \['Oslo'\] in column 0"):
        back.predict(strange)


def test_early_exit_and_its_certificate_come_back() -> None:
    _, fast, X = made("ordinal", risk=0.1)
    back = from_bytes(to_bytes(fast))
    assert str(back.certificate_) == str(fast.certificate_)
    for ours, theirs in zip(back.predict(X, return_cost=True), fast.predict(X, return_cost=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_arrays_without_names_come_back() -> None:
    X, y = frame()
    rows = X.fillna({"city": "?"}).to_numpy(dtype=object)
    columns = ColumnTransformer([("n", SimpleImputer(), [0, 1]), ("c", OrdinalEncoder(), slice(2, 5))])
    model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(rows[:600], y[:600])
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(rows[600:])
    np.testing.assert_array_equal(from_bytes(to_bytes(fast)).predict(rows), model.predict(rows))


def test_a_function_is_named_that_no_file_holds() -> None:
    X, y = frame()
    columns = ColumnTransformer(
        [("n", FunctionTransformer(np.nan_to_num), ["income"]), ("c", OrdinalEncoder(), ["job"])]
    )
    model = make_pipeline(columns, LogisticRegression()).fit(X[:600], y[:600])
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[600:])
    with pytest.raises(ValueError, match="func of FunctionTransformer is no plain value"):
        to_bytes(fast)


def forged(name: str, change: Any) -> bytes:
    fields, arrays = taken_apart(to_bytes(made(name)[1]))
    columns = fields["estimator"]["steps"][0][1]
    encoder = columns["transformers_"][1][1]
    assert encoder["class"] == "OneHotEncoder"
    change(encoder, arrays)
    return put_together(fields, arrays)


def put(ending: str, change: Any) -> Any:
    def altered(encoder: Any, arrays: Any) -> None:
        names = [each for each in arrays if each.endswith(ending)]
        assert names
        for each in names:
            arrays[each] = change(arrays[each])

    return altered


LIES: dict[str, tuple[str, Any]] = {
    "a wider row": ("without the first", lambda e, a: e.update(_n_features_outs=[2, 1])),
    "a category beyond": ("rare ones together", put("_default_to_infrequent_mappings.1.array", lambda m: m + 5)),
    "a negative one": ("rare ones together", put("_default_to_infrequent_mappings.1.array", lambda m: m - 5)),
    "no map": ("rare ones together", lambda e, a: e.update(_infrequent_enabled=False)),
    "another map": ("rare ones together", put("_infrequent_indices.1.array", lambda m: m[:-1])),
    "a shorter map": ("rare ones together", put("_default_to_infrequent_mappings.1.array", lambda m: m[:-1])),
    "no categories": (
        "without the first",
        put("categories_.0.array", lambda a: np.frombuffer(b"[]", dtype=np.uint8)),
    ),
    "no JSON": ("without the first", put("categories_.0.array", lambda a: a[:-3])),
    "a dict among objects": (
        "without the first",
        put("categories_.0.array", lambda a: np.frombuffer(b'["a", {}]', dtype=np.uint8)),
    ),
    "dropped beyond": (
        "without the first",
        put("._drop_idx_after_grouping.array", lambda a: np.frombuffer(b"[0, 99]", dtype=np.uint8)),
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_encoders_that_would_write_outside_of_a_row_are_refused(lie: str) -> None:
    raw = forged(*LIES[lie])
    with pytest.raises(FileFormatError):
        from_bytes(raw)


def test_categories_that_do_not_ascend_are_refused() -> None:
    X, y = frame()
    rows = X[["size", "income"]]
    columns = ColumnTransformer([("s", OneHotEncoder(), ["size"]), ("n", "passthrough", ["income"])])
    model = make_pipeline(columns, LogisticRegression()).fit(rows[:600], y[:600])
    fields, arrays = taken_apart(to_bytes(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(rows[600:])))
    name = next(each for each in arrays if each.endswith("categories_.0.array"))
    arrays[name] = arrays[name][::-1].copy()
    with pytest.raises(FileFormatError, match="does not fit its own categories"):
        from_bytes(put_together(fields, arrays))


def test_altered_files_are_refused_or_answer_as_python_does() -> None:
    fields, arrays = taken_apart(to_bytes(made("rare ones together")[1]))
    rng, outcomes = np.random.default_rng(0), {"refused": 0, "loaded": 0}
    names = [name for name in arrays if name.startswith("estimator.")]
    for _ in range(75):
        changed = {name: array.copy() for name, array in arrays.items()}
        name = names[rng.integers(len(names))]
        raw = changed[name].reshape(-1).view(np.uint8)
        raw[rng.integers(len(raw))] ^= np.uint8(1 << rng.integers(8))
        try:
            back = from_bytes(put_together(fields, changed))
        except FileFormatError:
            outcomes["refused"] += 1
            continue
        outcomes["loaded"] += 1
        assert np.isin(back.predict(made("rare ones together")[2]), back.classes_).all()
    assert outcomes["refused"] > 25, outcomes
