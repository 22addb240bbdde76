"""Tables and arrays in place of transformers that work column by column: bit for bit what the transformers write."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier
from wald.models import decompose
from wald.sources import source_of
from wald.steps import ByColumn, Chain, check_step

N = 300
TEXTS = ("airport", "carrier", "")
pytestmark = pytest.mark.filterwarnings("ignore")


def frame(n: int = N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "carrier": rng.choice(
                ["AA", "Delta Air Lines", "ü", "B6\0", "", "rare"], n, p=[0.3, 0.3, 0.2, 0.1, 0.09, 0.01]
            ),
            "origin": pd.Series(rng.choice(["JFK", "EWR", None], n), dtype=object),
            "month": rng.integers(1, 6, n),
            "delay": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "speed": rng.normal(100, 20, n).astype(np.float32),
            "weight": rng.integers(0, 1000, n),
        }
    )


CATEGORIES = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "dense one-hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "drop": OneHotEncoder(drop="first"),
    "if binary": OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "rare": OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
    "few": OneHotEncoder(max_categories=3, handle_unknown="ignore"),
    "single": OneHotEncoder(handle_unknown="ignore", dtype=np.float32),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "ordinal with NaN": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=-2
    ),
    "rare ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99, min_frequency=30),
    "target": TargetEncoder(),
    "smooth target": TargetEncoder(smooth=3.0),
    "imputed": make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder()),
    "constant": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none", missing_values=None),
        OneHotEncoder(handle_unknown="ignore"),
    ),
    "scaled": make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), StandardScaler()),
}
NUMBERS = {
    "passthrough": "passthrough",
    "standard": StandardScaler(),
    "min-max": make_pipeline(SimpleImputer(), MinMaxScaler(clip=True)),
    "robust": make_pipeline(SimpleImputer(strategy="median", add_indicator=True), RobustScaler()),
    "max-abs": MaxAbsScaler(),
    "bins": make_pipeline(SimpleImputer(), KBinsDiscretizer(3, encode="ordinal")),
    "splines": make_pipeline(SimpleImputer(), SplineTransformer()),
    "normal": PowerTransformer(),
    "products": make_pipeline(SimpleImputer(), PolynomialFeatures()),
}


def front(categories: Any, numbers: Any, **options: Any) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("numbers", clone(numbers) if numbers != "passthrough" else numbers, ["delay", "speed"]),
            ("texts", clone(categories), ["origin", "carrier"]),
            ("months", OneHotEncoder(handle_unknown="ignore"), ["month"]),
        ],
        **options,
    )


def fitted(*steps: Any, model: Any = None) -> Any:
    F = frame()
    y = (F["carrier"].str.len() + F["month"] + np.nan_to_num(F["delay"]) > 5).astype(int)
    return make_pipeline(*steps, DecisionTreeClassifier(max_depth=4) if model is None else model).fit(F, y)


def by_column(pipeline: Any) -> ByColumn:
    found = decompose(pipeline).preprocessing
    assert isinstance(found, ByColumn)
    found.needed = np.arange(found.width)
    return found


def require_same(step: ByColumn, X: Any) -> None:
    """The tables answer these rows, with the bits that the transformers write."""
    source = source_of(X)
    own = Chain(step.steps).transform(source)
    written = step._written(source)
    assert written is not None
    np.testing.assert_array_equal(written.array(), own.toarray() if hasattr(own, "toarray") else own, strict=False)


UNSEEN = {
    "carrier": pd.Series(["AA", "never seen", "rare"], dtype=object),
    "origin": pd.Series(["LGA", None, "JFK"], dtype=object),
    "month": [3, 77, 1],
}


def containers(F: pd.DataFrame) -> dict[str, Any]:
    texts = {"carrier": "category", "origin": "category"}
    return {
        "pandas": F,
        "categories": F.astype(texts),
        "str": F.astype({"carrier": "str", "origin": "str"}),
        "string": F.assign(origin=F["origin"].fillna("JFK")).astype({"carrier": "string", "origin": "string"}),
        "reordered": F[F.columns[::-1]].assign(more=1),
        "sliced": F.iloc[5:60:3],
        "polars": pl.DataFrame(F.to_dict("list")),
        "polars categories": pl.DataFrame(F.to_dict("list")).with_columns(
            pl.col("carrier", "origin").cast(pl.Categorical)
        ),
        "chunks": pl.concat(
            [pl.DataFrame(F[:40].to_dict("list")), pl.DataFrame(F[40:].to_dict("list"))], rechunk=False
        ),
    }


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", CATEGORIES)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_it_writes_what_the_transformers_write(name: str, numbers: str) -> None:
    step = by_column(fitted(front(CATEGORIES[name], NUMBERS[numbers])))
    require_same(step, frame(seed=1))


@pytest.mark.parametrize("container", containers(frame()))
@pytest.mark.parametrize("name", ["one-hot", "drop", "ordinal", "target"])
def test_in_every_container(name: str, container: str) -> None:
    step = by_column(fitted(front(CATEGORIES[name], "passthrough")))
    X = containers(frame(seed=2))[container]
    try:
        Chain(step.steps).transform(source_of(X))
    except (TypeError, ValueError) as error:  # scikit-learn takes no such rows, and wald says so, too
        with pytest.raises(type(error)):
            step.transform(source_of(X))
    else:
        require_same(step, X)


@pytest.mark.parametrize("name", [name for name in CATEGORIES if name not in ("drop", "imputed")])
def test_values_that_nobody_has_seen(name: str) -> None:
    step = by_column(fitted(front(CATEGORIES[name], "passthrough")))
    F = frame(3).assign(**UNSEEN)
    require_same(step, F)
    require_same(step, pl.DataFrame(F.to_dict("list")))


@pytest.mark.parametrize("name", ["drop", "imputed"])
def test_what_the_encoder_refuses_raises_its_own_error(name: str) -> None:
    pipeline = fitted(front(CATEGORIES[name], "passthrough"))
    F = frame(3).assign(**UNSEEN)
    with pytest.raises(ValueError, match="unknown categories"):
        EarlyExitClassifier(pipeline, risk=0).fit(frame()).predict(F)
    assert by_column(pipeline)._written(source_of(F)) is None


@pytest.mark.parametrize(
    "options",
    [
        {"transformer_weights": {"texts": 0.3, "numbers": 3.0}},
        {"remainder": "passthrough"},
        {"sparse_threshold": 0},
        {"remainder": StandardScaler()},
    ],
    ids=str,
)
def test_options_of_the_column_transformer(options: dict[str, Any]) -> None:
    require_same(by_column(fitted(front(CATEGORIES["one-hot"], "passthrough", **options))), frame(seed=1))


def test_scalers_behind_it() -> None:
    dense = front(CATEGORIES["dense one-hot"], NUMBERS["standard"], sparse_threshold=0)
    require_same(by_column(fitted(dense, SimpleImputer(), MinMaxScaler())), frame(seed=1))


@pytest.mark.parametrize("encoder", ["ordinal", "target", "drop"])
def test_an_encoder_alone(encoder: str) -> None:
    F = frame()[["carrier", "origin"]]
    y = F["carrier"].str.len() > 3
    pipeline = make_pipeline(clone(CATEGORIES[encoder]), DecisionTreeClassifier(max_depth=3)).fit(F, y)
    require_same(by_column(pipeline), frame(seed=1)[["carrier", "origin"]])


@pytest.mark.parametrize("dtype", [object, np.int64, np.float32, "U12"])
def test_arrays(dtype: Any) -> None:
    X = np.random.default_rng(0).integers(0, 4, (200, 3)).astype(dtype)
    y = np.arange(200) % 2
    pipeline = make_pipeline(
        ColumnTransformer([("a", OneHotEncoder(handle_unknown="ignore"), [2, 0]), ("b", OrdinalEncoder(), [1])]),
        DecisionTreeClassifier(max_depth=3),
    ).fit(X, y)
    step = decompose(pipeline).preprocessing
    if dtype is object:  # numbers as objects: 1, 1.0 and True are one category
        assert type(step) is Chain
    else:
        require_same(by_column(pipeline), X)


def test_one_raw_column_in_several_transformers() -> None:
    parts = [
        ("a", OneHotEncoder(handle_unknown="ignore"), ["carrier"]),
        ("b", TargetEncoder(), ["carrier", "month"]),
        ("c", StandardScaler(), ["month"]),
        ("d", "passthrough", ["month"]),
    ]
    require_same(by_column(fitted(ColumnTransformer(parts))), frame(seed=1))


class Louder(OneHotEncoder):
    """An encoder of one's own."""

    def transform(self, X: Any) -> Any:
        return 2 * super().transform(X)


def test_an_encoder_of_ones_own_is_no_table() -> None:
    pipeline = fitted(ColumnTransformer([("o", Louder(), ["carrier"])]))
    assert type(decompose(pipeline).preprocessing) is Chain


def test_an_encoder_that_was_edited_is_noticed() -> None:
    pipeline = fitted(front(CATEGORIES["one-hot"], "passthrough"))
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    pipeline[0].named_transformers_["texts"].categories_ = [np.array(["x"]), np.array(["y"])]
    with pytest.raises(ValueError, match="categories_ of OneHotEncoder was replaced"):
        fast.predict(frame())


@pytest.mark.parametrize(("risk", "model"), [*itertools.product([0, 0.1], [None, LogisticRegression()])])
def test_the_whole_way(risk: float, model: Any) -> None:
    pipeline = fitted(front(CATEGORIES["one-hot"], NUMBERS["min-max"]), model=model)
    fast = EarlyExitClassifier(pipeline, risk=risk, random_state=0).fit(frame(2000, 1))
    for X in (frame(500, 2), pl.DataFrame(frame(500, 2).to_dict("list"))):
        different = np.mean(fast.predict(X) != pipeline.predict(X))
        assert different <= 2 * risk
    one = frame(500, 2).iloc[7]
    assert fast.predict_one(dict(one)) == fast.predict(frame(500, 2))[7]


def test_rows_that_no_table_answers_go_to_the_model_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects that are neither texts nor missing: only the encoder knows what it makes of them."""
    pipeline = fitted(
        front(CATEGORIES["one-hot"], "passthrough", sparse_threshold=0), SimpleImputer(), model=LogisticRegression()
    )
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    F = frame(seed=1)
    F["carrier"] = F["carrier"].astype(object)
    F.loc[[3, 77, 200], "carrier"] = 7
    expected, calls = pipeline.predict(F), []
    own = OneHotEncoder.transform
    monkeypatch.setattr(OneHotEncoder, "transform", lambda self, X: calls.append(len(X)) or own(self, X))
    np.testing.assert_array_equal(fast.predict(F), expected)
    assert set(calls) == {3}


def test_the_transformers_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = EarlyExitClassifier(fitted(front(CATEGORIES["one-hot"], "passthrough")), risk=0).fit(frame())
    expected = fast.predict(frame(seed=1))
    monkeypatch.setattr(OneHotEncoder, "transform", lambda *_: pytest.fail("an encoder was called"))
    np.testing.assert_array_equal(fast.predict(frame(seed=1)), expected)


def test_it_is_a_step() -> None:
    step = by_column(fitted(front(CATEGORIES["one-hot"], "passthrough")))
    check_step(step, source_of(frame(20, 1)))


# ---- what a reviewer found -------------------------------------------------------------------------------------------


def behind(encoder: Any, X: Any, y: Any, *, model: Any = None) -> tuple[EarlyExitClassifier, Any]:
    pipeline = make_pipeline(encoder, DecisionTreeClassifier() if model is None else model).fit(X, y)
    return EarlyExitClassifier(pipeline, risk=0).fit(X), pipeline


@pytest.mark.parametrize("model", [None, LogisticRegression()], ids=["tree", "linear"])
def test_an_unknown_letter_in_a_narrow_array_is_unknown(model: Any) -> None:
    X = np.array(["a", "b", "c"] * 20, dtype="U1")[:, None]
    fast, pipeline = behind(OneHotEncoder(handle_unknown="ignore"), X, np.arange(60) % 3 > 0, model=model)
    Z = np.array([["z"], ["a"], ["c"]], dtype="U1")
    np.testing.assert_array_equal(fast.predict(Z), pipeline.predict(Z))


@pytest.mark.parametrize(
    ("known", "value", "dtype"),
    [([1.0, 2.0, 1e17], 5.0, float), ([1, 2, 2**24], 7, np.float32), ([2**53 + 1, 2, 3], 2**53, np.int64)],
)
@pytest.mark.parametrize("model", [None, LogisticRegression()], ids=["tree", "linear"])
def test_an_unknown_number_is_unknown(known: list[Any], value: Any, dtype: Any, model: Any) -> None:
    X = np.array(known * 20, dtype=np.int64 if isinstance(known[0], int) else float)[:, None]
    fast, pipeline = behind(OneHotEncoder(handle_unknown="ignore"), X, np.arange(60) % 3 > 1, model=model)
    Z = np.array([[value], [known[0]], [known[2]]], dtype=dtype)
    np.testing.assert_array_equal(fast.predict(Z), pipeline.predict(Z))


def test_a_value_that_an_imputer_replaces_is_replaced() -> None:
    F = pd.DataFrame({"a": pd.Series(["a", "b", "?"] * 30, dtype=object)})
    encoder = make_pipeline(
        SimpleImputer(missing_values="?", strategy="constant", fill_value="b"), OneHotEncoder(handle_unknown="ignore")
    )
    fast, pipeline = behind(encoder, F, F["a"] == "a")
    np.testing.assert_array_equal(fast.predict(F), pipeline.predict(F))


def test_a_tree_that_reads_none_of_its_columns_still_refuses_an_unknown_category() -> None:
    F = frame()
    parts = [("a", OneHotEncoder(), ["carrier"]), ("b", "passthrough", ["weight"])]
    pipeline = make_pipeline(ColumnTransformer(parts), DecisionTreeClassifier(max_depth=1)).fit(F, F["weight"] > 500)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    with pytest.raises(ValueError, match="unknown categories"):
        fast.predict(F.assign(carrier="never seen"))
    with pytest.raises(ValueError, match="unknown categories"):
        fast.predict_one({**dict(F.iloc[0]), "carrier": "never seen"})


def test_arrays_are_refused_where_columns_are_selected_by_name() -> None:
    pipeline = fitted(front(CATEGORIES["ordinal"], "passthrough"))
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    with pytest.raises(ValueError, match="only supported for dataframes"):
        fast.predict(frame().to_numpy())


@pytest.mark.parametrize("change", [{"delay": object}, {"weight": "Float64"}, {"speed": np.float16}], ids=str)
def test_linear_models_are_fitted_on_rows_that_tables_do_not_answer(change: dict[str, Any]) -> None:
    pipeline = fitted(front(CATEGORIES["one-hot"], NUMBERS["min-max"]), model=LogisticRegression())
    F = frame(seed=1).astype(change)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(F)
    np.testing.assert_array_equal(fast.predict(F), pipeline.predict(F))


def test_a_dict_with_infinity_is_refused() -> None:
    pipeline = fitted(front(CATEGORIES["ordinal"], NUMBERS["min-max"]), model=LogisticRegression())
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())
    with pytest.raises(ValueError, match="infinity"):
        fast.predict_one({**dict(frame().iloc[0]), "delay": np.inf})


class Emptying(str):
    """A text that empties a dict while it is compared."""

    __slots__ = ()


def test_a_dict_that_changes_while_it_is_read() -> None:
    pipeline = fitted(front(CATEGORIES["ordinal"], "passthrough"))
    fast = EarlyExitClassifier(pipeline, risk=0).fit(frame())

    class Kind(type(Emptying)):  # type: ignore[misc]  # the type of a class
        @property
        def __eq__(cls) -> Any:
            row.clear()
            return str.__eq__

        __hash__ = type.__hash__

    class Text(str, metaclass=Kind):
        __slots__ = ()

    row = dict(frame().iloc[0])
    row = {"carrier": Text("AA"), **{name: value for name, value in row.items() if name != "carrier"}}
    with contextlib.suppress(ValueError, TypeError, KeyError):
        fast.predict_one(row)


def test_methods_set_on_an_encoder_stay() -> None:
    encoder = OrdinalEncoder()
    F = frame()[["carrier"]]
    pipeline = make_pipeline(encoder, DecisionTreeClassifier()).fit(F, F["carrier"] == "AA")
    encoder.transform = lambda X: np.zeros((len(X), 1))  # type: ignore[method-assign]
    assert type(decompose(pipeline).preprocessing) is Chain


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_na_that_a_column_transformer_does_not_pass_is_an_error(dtype):
    X, y = frame(), np.arange(N) % 2
    parts = [("texts", OrdinalEncoder(), ["carrier"]), ("numbers", "passthrough", ["delay", "weight"])]
    model = make_pipeline(ColumnTransformer(parts), DecisionTreeClassifier(max_depth=3)).fit(X, y)
    fast = EarlyExitClassifier(model, risk=0).fit(X)
    missing = X.assign(delay=X["delay"].astype(dtype))
    for answer in (model.predict, fast.predict):
        with pytest.raises(ValueError, match=r"pandas\.NA to represent null values"):
            answer(missing)
    held = missing[missing["delay"].notna()]
    np.testing.assert_array_equal(fast.predict(held), model.predict(held))
