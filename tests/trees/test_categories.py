"""Columns of categories: codes, scores and labels are the libraries' own, for known, unknown and missing categories."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier, Planner
from wald.models import AdditiveModel, decompose
from wald.persistence import from_bytes, to_bytes
from wald.sources import source_of

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

CITIES = ["Ulm", "Bonn", "Köln", "Trier", "Jena", "Gera"]
SIZES = [3, 10, 20, 37]


def table(seed: int, n: int, missing: bool = True) -> tuple[Any, np.ndarray]:
    """A frame of numbers and categories, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    city, size = rng.integers(0, len(CITIES), n), rng.integers(0, len(SIZES), n)
    a, b = rng.normal(size=n), rng.normal(size=n)
    score = a + 1.5 * np.isin(city, [0, 3, 4]) - 1.2 * np.isin(size, [1, 3]) + 0.5 * b * (city == 1)
    y = (score + 0.3 * rng.normal(size=n) > 0.2).astype(int)
    if missing:
        city = np.where(rng.random(n) < 0.1, -1, city)
        size = np.where(rng.random(n) < 0.1, -1, size)
        b[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "a": a,
            "city": pd.Categorical.from_codes(city, CITIES),
            "b": b,
            "size": pd.Categorical.from_codes(size, SIZES),
        }
    )
    return frame, y


def in_ascii(frame: Any) -> Any:
    """XGBoost cuts other names of pandas in wrong places."""
    return with_columns(frame, city=frame["city"].cat.rename_categories({"Köln": "Koeln"}))


def with_columns(frame: Any, **columns: Any) -> Any:
    changed = frame.copy()
    for name, values in columns.items():
        changed[name] = values
    return changed


def reordered(frame: Any) -> Any:
    """The same values, with other codes."""
    return with_columns(
        frame,
        city=frame["city"].cat.set_categories(CITIES[::-1]),
        size=frame["size"].cat.set_categories([37, 3, 20, 10]),
    )


def with_unseen(frame: Any) -> Any:
    """Every fourth row holds categories that training did not have."""
    city, size = frame["city"].astype(object), frame["size"].astype(object)
    city[::4], size[1::4] = "Aachen", 99
    return with_columns(frame, city=pd.Categorical(city), size=pd.Categorical(size.astype(float).astype("Int64")))


def check_frames(model: Any, frames: dict[str, Any], own_scores: Any, rows_of_fit: Any) -> EarlyExitClassifier:
    """Scores have the bits of the model's own and labels are its own, in every form and number of rows."""
    read = decompose(model)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, random_state=0).fit(rows_of_fit)
    for name, frame in frames.items():
        scores = read.terms.scores(read.preprocessing.transform(source_of(frame)))
        own = np.asarray(own_scores(frame), dtype=np.float64).reshape(len(frame), -1)
        np.testing.assert_array_equal(scores, own, err_msg=name)
        labels = model.predict(frame)
        np.testing.assert_array_equal(fast.predict(frame), labels, err_msg=name)
        np.testing.assert_array_equal(fast.predict(frame[:1]), labels[:1], err_msg=name)
        np.testing.assert_array_equal(fast.predict(frame[5:20]), labels[5:20], err_msg=name)
    return fast


def check_early(model: Any, fit: Any, frame: Any) -> None:
    """Answers of an early exit are the same for one row and many."""
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        fit
    )
    labels, cost = fast.predict(frame, return_cost=True)
    assert cost.mean() < 0.9 * fast.plan_.full_cost
    for n in (1, 5, 100):
        some, some_cost = fast.predict(frame[:n], return_cost=True)
        np.testing.assert_array_equal(some, labels[:n])
        np.testing.assert_array_equal(some_cost, cost[:n])
    rows = frame[:60].to_dict("records")
    for row, label, spent in zip(rows, labels, cost, strict=False):
        assert fast.predict_one(row, return_cost=True) == (label, spent)
        assert fast.predict_one(pd.Series(row, dtype=object), return_cost=True) == (label, spent)
    for some, expected in zip(fast.predict_records(rows, return_cost=True), (labels, cost), strict=True):
        np.testing.assert_array_equal(some, expected[: len(rows)])


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("categorical", ["from_dtype", ["city", "size"], [1], [True, False, True, True]], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_histogram_boosting(categorical: Any, n_classes: int) -> None:
    frame, y = table(0, 1500)
    y = y + (np.arange(len(y)) % 5 == 0) * (n_classes - 2)
    others, _ = table(1, 600)
    if not isinstance(categorical, str) and len(categorical) != 2:  # a column that is not named holds numbers
        frame, others = (with_columns(each, size=each["size"].astype(float)) for each in (frame, others))
    if categorical == [1]:
        frames = {"same": others}
    elif len(categorical) == 4:
        frame, others = (with_columns(each, b=np.round(each["b"]), city=each["a"]) for each in (frame, others))
        frames = {"same": others}
    else:
        frames = {"same": others, "reordered": reordered(others), "unseen": with_unseen(others)}
    if isinstance(categorical, list) and isinstance(categorical[0], bool):
        categorical = [False, False, True, True]
    model = HistGradientBoostingClassifier(
        max_iter=15, categorical_features=categorical, early_stopping=True, random_state=0
    )
    model.fit(frame, y)
    check_frames(model, frames, model.decision_function, frame)


def test_histogram_boosting_of_codes_in_arrays() -> None:
    """Codes with gaps, unseen and missing codes; categories that the split of early stopping left out."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=1200), rng.integers(0, 40, 1200) * 7, rng.normal(size=1200)])
    X[rng.random(1200) < 0.1, 1] = np.nan
    X[:3, 1] = [1001, 1002, 1003]
    y = (X[:, 0] + (X[:, 1] % 3 == 0) > 0.4).astype(int)
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features=[1], early_stopping=True, random_state=3)
    model.fit(X, y)
    others = np.concatenate([X, X])
    others[:, 0] = rng.normal(size=len(others))
    others[::5, 1] = rng.integers(-5, 1100, len(others[::5]))
    read = decompose(model)
    np.testing.assert_array_equal(
        read.terms.scores(read.preprocessing.transform(source_of(others)))[:, 0], model.decision_function(others)
    )
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X)
    for rows in (others, others.astype(np.float32), np.asfortranarray(others)):
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
    assert [fast.predict_one(row) for row in others[:20]] == model.predict(others[:20]).tolist()


def test_histogram_boosting_of_polars_frames() -> None:
    pl = pytest.importorskip("polars")
    frame, y = table(3, 1500)
    others, _ = table(4, 500)

    def polars(part: Any, categories: list[str] | None = None) -> Any:
        texts = [None if isinstance(city, float) else city for city in part["city"].tolist()]
        dtype = pl.Categorical if categories is None else pl.Enum(categories)
        return pl.DataFrame(
            {"a": part["a"].to_numpy(), "city": pl.Series(texts, dtype=dtype), "b": part["b"].to_numpy()}
        )

    model = HistGradientBoostingClassifier(max_iter=15, categorical_features="from_dtype").fit(polars(frame), y)
    frames = {"same": polars(others), "reordered": polars(others, ["Aachen", *CITIES[::-1]])}
    fast = check_frames(model, frames, model.decision_function, polars(frame))
    rows = others[:10].assign(city=others["city"][:10].astype(object))
    for row, label in zip(rows.to_dict("records"), model.predict(polars(others[:10])), strict=True):
        assert fast.predict_one({name: row[name] for name in ("a", "city", "b")}) == label


def test_early_exits_of_histogram_boosting() -> None:
    frame, y = table(5, 6000)
    model = HistGradientBoostingClassifier(max_iter=60, early_stopping=False).fit(frame[:1500], y[:1500])
    check_early(model, frame[1500:4500], reordered(frame[4500:]))


# ---- LightGBM --------------------------------------------------------------------------------------------------------


def fitted_lightgbm(frame: Any, y: np.ndarray, **options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=30, min_child_samples=5, verbose=-1, n_jobs=1, **options).fit(frame, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ordered", [False, True])
def test_lightgbm(n_classes: int, ordered: bool) -> None:
    frame, y = table(6, 1500)
    y = y + (np.arange(len(y)) % 5 == 0) * (n_classes - 2)
    if ordered:
        frame["size"] = frame["size"].cat.as_ordered()
    model = fitted_lightgbm(frame, y, min_data_per_group=5, cat_smooth=1)
    others, _ = table(7, 600)
    frames = {
        "same": others,
        "reordered": reordered(others),
        "unseen": with_unseen(others),
        "fewer": with_columns(
            others, city=others["city"].where(others["city"] != "Ulm").cat.remove_unused_categories()
        ),
        "float32": others.astype({"a": np.float32, "b": np.float32}),
    }
    fast = check_frames(model, frames, lambda rows: model.predict(rows, raw_score=True), frame)
    codes = np.column_stack([others["a"], others["city"].cat.codes, others["b"], others["size"].cat.codes])
    np.testing.assert_array_equal(fast.predict(codes), model.predict(codes))  # arrays hold codes
    assert [fast.predict_one(row) for row in codes[:20]] == model.predict(codes[:20]).tolist()


def test_lightgbm_refuses_what_the_library_refuses() -> None:
    frame, y = table(8, 1500)
    model = fitted_lightgbm(frame, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)
    for wrong in (with_columns(frame, city=1.0), with_columns(frame, a=frame["city"])):
        with pytest.raises(ValueError, match="do not match"):
            model.predict(wrong)
        with pytest.raises(ValueError, match="columns of dtype category, and the LightGBM model was trained on 2"):
            fast.predict(wrong)
    numbers = frame.assign(city=frame["city"].cat.codes.astype(float), size=frame["size"].astype(float))
    model = fitted_lightgbm(numbers, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(numbers)
    with pytest.raises(ValueError, match=r"'size' of X has the dtype Categorical.*not trained on categories"):
        fast.predict(with_columns(numbers, size=frame["size"]))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, bool])
@pytest.mark.parametrize("unread", ["category", "times"])
def test_columns_that_no_tree_reads_may_be_anything(unread: str, dtype: type) -> None:
    frame, y = table(8, 1500)
    numbers = frame.assign(city=0.0, size=frame["size"].astype(float), b=(frame["b"] > 0).astype(dtype))
    fast = EarlyExitClassifier(FrozenEstimator(fitted_lightgbm(numbers, y)), risk=0).fit(numbers)
    column = frame["city"] if unread == "category" else np.arange(len(frame)).astype("M8[s]")
    np.testing.assert_array_equal(fast.predict(numbers.assign(city=column)), fast.predict(numbers))


def test_early_exits_of_lightgbm() -> None:
    frame, y = table(9, 6000)
    check_early(fitted_lightgbm(frame[:1500], y[:1500]), frame[1500:4500], reordered(frame[4500:]))


def test_lightgbm_records_of_the_wrong_kind() -> None:
    frame, y = table(10, 1500)
    fast = EarlyExitClassifier(FrozenEstimator(fitted_lightgbm(frame, y)), risk=0).fit(frame)
    with pytest.raises(ValueError, match=r"x\['city'\] must be a text, as its categories are. Got 3"):
        fast.predict_one({"a": 0.0, "city": 3, "b": 0.0, "size": 3})
    with pytest.raises(ValueError, match=r"records\[1\]\['a'\] must be a number. Got 'high', a str"):
        fast.predict_records([{"a": a, "city": "Ulm", "b": 0.0, "size": 3} for a in (0.0, "high")])


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_lightgbm_categories_of_other_frames_are_read_by_name(library: str) -> None:
    """LightGBM itself refuses them; all columns of categories must have names, since it takes numbers for codes."""
    pytest.importorskip(library)
    frame, y = table(12, 1500)
    frame = with_columns(frame, city=frame["city"].cat.rename_categories(str), size=frame["size"].astype(float))
    model = fitted_lightgbm(frame, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)
    other = nw.from_native(reordered(frame.astype({"size": "category"})).astype({"size": float}))
    given = other.to_polars() if library == "polars" else other.to_arrow()
    np.testing.assert_array_equal(fast.predict(given), model.predict(frame))
    frame, y = table(12, 1500, missing=False)
    fast = EarlyExitClassifier(FrozenEstimator(fitted_lightgbm(frame, y)), risk=0).fit(frame)
    mixed = nw.from_native(frame.astype({"size": int}))
    with pytest.raises(ValueError, match="X has 1 columns of dtype category, and the LightGBM model was trained on 2"):
        fast.predict(mixed.to_polars() if library == "polars" else mixed.to_arrow())


# ---- XGBoost ---------------------------------------------------------------------------------------------------------


def fitted_xgboost(frame: Any, y: np.ndarray, **options: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", minversion="3.1")
    return xgboost.XGBClassifier(n_estimators=30, enable_categorical=True, n_jobs=1, **options).fit(frame, y)


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


# ---- CatBoost, and numbers ----------------------------------------------------------------------------------------


def test_catboost_refuses_categories() -> None:
    catboost = pytest.importorskip("catboost")
    frame, y = table(19, 800)
    numbers = frame.assign(city=frame["city"].cat.codes, size=frame["size"].astype(float))
    model = catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False).fit(numbers, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(numbers)
    with pytest.raises(ValueError, match="'size' of X has the dtype Categorical"):
        fast.predict(with_columns(numbers, size=frame["size"]))


def test_a_model_of_numbers_has_no_preprocessing() -> None:
    frame, y = table(20, 500)
    numbers = frame[["a", "b"]]
    read: AdditiveModel = decompose(HistGradientBoostingClassifier(max_iter=2).fit(numbers, y))
    assert read.preprocessing is None


@pytest.mark.filterwarnings("error:.*feature names")
def test_tracing_a_record_warns_of_no_names() -> None:
    frame, y = table(11, 1500)
    model = fitted_lightgbm(frame, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)
    assert fast.trace(frame.iloc[0].to_dict()).label == model.predict(frame[:1])[0]
    assert fast.trace(frame.iloc[0]).label == model.predict(frame[:1])[0]
