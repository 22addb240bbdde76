"""Categories of XGBoost: its own codes, scores and labels, also where it cuts names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from trees.category_tables import (
    CITIES,
    SIZES,
    check_early,
    check_frames,
    fitted_xgboost,
    in_ascii,
    reordered,
    table,
    with_columns,
)

from wald import EarlyExitClassifier
from wald.models import decompose
from wald.persistence import from_bytes, to_bytes

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def xgboost_margin(model: Any) -> Any:
    return lambda rows: model.predict(rows, output_margin=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("onehot", [1, 100])
def test_xgboost(n_classes: int, onehot: int) -> None:
    frame, y = table(11, 1500)
    frame = in_ascii(frame)
    y = y + (np.arange(len(y)) % 5 == 0) * (n_classes - 2)
    model = fitted_xgboost(frame, y, max_cat_to_onehot=onehot)
    others = in_ascii(table(12, 600)[0])
    cities = others["city"].cat.set_categories(["Trier", "Gera", "Koeln", "Bonn", "Jena", "Ulm"])
    frames = {
        "same": others,
        "reordered": with_columns(reordered(others), city=cities),
        "fewer": with_columns(
            others, city=others["city"].where(others["city"] != "Ulm").cat.remove_unused_categories()
        ),
        "objects": with_columns(others, city=pd.Categorical(others["city"].astype(object))),
    }
    fast = check_frames(model, frames, xgboost_margin(model), frame)
    codes = np.column_stack([others["a"], others["city"].cat.codes, others["b"], others["size"].cat.codes])
    codes[codes == -1] = np.nan
    np.testing.assert_array_equal(fast.predict(codes), model.predict(codes))  # arrays hold codes


def test_xgboost_of_polars_and_arrow() -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame, y = table(13, 1500)
    frame = in_ascii(frame)
    model = fitted_xgboost(frame[["a", "city", "b"]], y)
    others, _ = table(14, 400)
    texts = [None if isinstance(city, float) else city for city in in_ascii(others)["city"].tolist()]
    numbers = {"a": others["a"].to_numpy(), "b": others["b"].to_numpy()}
    frames = {
        dtype: pl.DataFrame({"a": numbers["a"], "city": pl.Series(texts, dtype=kind), "b": numbers["b"]})
        for dtype, kind in (("categorical", pl.Categorical), ("enum", pl.Enum(["Koeln", *CITIES[::-1]])))
    }
    fast = check_frames(model, frames, xgboost_margin(model), frame[["a", "city", "b"]])
    arrow = frames["categorical"].to_arrow()
    np.testing.assert_array_equal(fast.predict(arrow), model.predict(arrow))


def test_xgboost_refuses_what_the_library_refuses() -> None:
    frame, y = table(15, 1500)
    frame = in_ascii(frame)
    fast = EarlyExitClassifier(FrozenEstimator(fitted_xgboost(frame, y)), risk=0).fit(frame)
    texts = frame["city"].astype(object)
    texts[7] = "Zwickau"
    for wrong, words in (
        (
            with_columns(frame, city=pd.Categorical(texts)),
            r"holds the category 'Zwickau', which the XGBoost model has not seen",
        ),
        (with_columns(frame, city=1.0), "'city' of X must hold categories"),
        (with_columns(frame, a=frame["city"]), "'a' of X must hold numbers"),
        (with_columns(frame, size=pd.Categorical(frame["size"].astype(float))), "'size' are of dtype float64"),
        (with_columns(frame, city=frame["size"]), "'city' are of dtype int64"),
    ):
        with pytest.raises(ValueError, match=words):
            fast.predict(wrong)
        with pytest.raises(Exception, match=r"category|type|numeric|floating"):
            fast.estimator_.predict(wrong)


def test_xgboost_trained_on_codes_refuses_named_categories() -> None:
    frame, y = table(16, 1500)
    codes = np.column_stack([frame["a"], frame["city"].cat.codes.clip(0), frame["b"], frame["size"].cat.codes.clip(0)])
    model = fitted_xgboost(codes, y, feature_types=["q", "c", "q", "c"])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(codes)
    np.testing.assert_array_equal(fast.predict(codes), model.predict(codes))
    with pytest.raises(ValueError, match=r"'city' of X has the dtype .*Give the numbers"):
        fast.predict(frame)


def test_early_exits_of_xgboost() -> None:
    frame, y = table(17, 6000)
    frame = in_ascii(frame)
    rows = with_columns(
        frame[4500:], city=frame[4500:]["city"].cat.set_categories(["Bonn", "Ulm", "Koeln", "Gera", "Jena"])
    )
    check_early(fitted_xgboost(frame[:1500], y[:1500]), frame[1500:4500], rows)


def test_xgboost_names_of_several_bytes() -> None:
    frame, y = table(21, 800)
    model = fitted_xgboost(frame, y)
    check_frames(model, {"same": frame[::-1]}, xgboost_margin(model), frame)


def cut_names(frame: Any, order: list[int]) -> Any:
    """Cities in an order, of whose names XGBoost keeps pieces; the first is ASCII."""
    names = ["Arad", "Brașov", "München", "北京", "yy", "x😀"]
    cities = frame["city"].cat.rename_categories(names).cat.set_categories([names[i] for i in order])
    return with_columns(frame, city=cities)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [0, 5, 4, 3, 2, 1], [4, 0, 3, 5, 1, 2]])
def test_xgboost_names_that_it_cuts_are_matched_by_their_order_only(order: list[int]) -> None:
    frame, y = table(22, 800)
    frame = cut_names(frame, order)
    model = fitted_xgboost(frame, y)
    more = frame["city"].cat.add_categories(["Zürich"])
    fast = check_frames(
        model, {"same": frame[::-1], "more": with_columns(frame, city=more)}, xgboost_margin(model), frame
    )
    texts = frame.assign(city=frame["city"].astype(object), size=frame["size"].astype(object))
    own = model.predict(frame)
    for loaded in (fast, from_bytes(to_bytes(fast))):
        assert isinstance(loaded, EarlyExitClassifier)
        changed = [
            cut_names(frame, order[::-1]),
            with_columns(frame, city=frame["city"].cat.remove_categories("Brașov")),
        ]
        for other in changed:  # XGBoost answers some of them, with one city for another
            with pytest.raises(ValueError, match="'city' for each other"):
                loaded.predict(other)
        certain = set(frame["city"].cat.categories[: order.index(0) + 1]) if order[0] in (0, 4) else set()
        for row, label in zip(texts[:100].to_dict("records"), own, strict=False):
            if row["city"] in certain or isinstance(row["city"], float):
                assert loaded.predict_one(row) == label
                continue
            for call in (loaded.predict_one, loaded.predict_proba_one):
                with pytest.raises(ValueError, match=r"x\['city'\] is the category .* does not hold the names"):
                    call(row)
            with pytest.raises(ValueError, match=r"records\[0\]\['city'\] is the category .* names"):
                loaded.predict_records([row])
        with pytest.raises(ValueError, match="does not hold the names of its categories whole"):
            loaded.predict(texts.assign(size=frame["size"]))


def test_xgboost_names_of_arrow_are_whole() -> None:
    pl = pytest.importorskip("polars")
    frame, y = table(24, 800, missing=False)
    names = ["Arad", "Brașov", "München", "北京", "yy", "x😀"]
    cities = frame["city"].cat.rename_categories(names).tolist()

    def polars(order: list[str]) -> Any:
        numbers = {"a": frame["a"].to_numpy(), "b": frame["b"].to_numpy()}
        return pl.DataFrame({**numbers, "city": pl.Series(cities, dtype=pl.Enum(order))})

    model = fitted_xgboost(polars(names), y)
    frames = {"same": polars(names), "reordered": polars(names[::-1])}
    check_frames(model, frames, xgboost_margin(model), polars(names))


def test_xgboost_categories_that_it_takes_for_the_next_one_are_refused() -> None:
    frame, y = table(25, 800, missing=False)
    frame = in_ascii(frame)
    model = fitted_xgboost(frame, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    other = with_columns(frame, city=frame["city"].cat.rename_categories({"Ulm": "Ull"}))
    np.testing.assert_array_equal(model.predict(other), model.predict(frame))
    with pytest.raises(ValueError, match="refuses or takes for another one"):
        fast.predict(other)


def test_xgboost_names_that_it_cuts_into_equal_ones_are_refused() -> None:
    frame, y = table(23, 800)
    cities = frame["city"].cat.rename_categories(["é", "aé", "a", "b", "c", "d"])
    model = fitted_xgboost(with_columns(frame, city=cities), y)
    with pytest.raises(ValueError, match="Two categories of this XGBoost model have one name"):
        decompose(model)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_xgboost_names_of_every_dtype(dtype: str) -> None:
    frame, y = table(18, 800)
    sizes = frame["size"].cat.rename_categories(np.array(SIZES, dtype=dtype))
    frame = with_columns(frame, size=sizes)
    model = fitted_xgboost(frame, y)
    check_frames(model, {"same": frame[::-1]}, xgboost_margin(model), frame)
