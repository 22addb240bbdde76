"""Columns of categories: codes, scores and labels are the libraries' own, for known, unknown and missing categories."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from trees.category_tables import (
    CITIES,
    check_early,
    check_frames,
    fitted_lightgbm,
    reordered,
    table,
    with_columns,
    with_unseen,
)

from wald import EarlyExitClassifier
from wald.models import AdditiveModel, decompose
from wald.sources import source_of

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


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


@pytest.mark.parametrize("categories", [["u", "v", "w"], ["1", "2", "30"]], ids=["words", "digits"])
def test_histogram_boosting_of_arrays_with_texts(categories: list[str]) -> None:
    rng = np.random.default_rng(0)
    X = np.empty((400, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = rng.normal(size=400), rng.choice(categories, 400), rng.normal(size=400)
    model = HistGradientBoostingClassifier(max_iter=8, categorical_features=[1])
    model.fit(X, (X[:, 0] > 0) ^ (X[:, 1] == categories[0]))
    fast = EarlyExitClassifier(model, risk=0).fit()
    X[::7, 1], X[::11, 0] = "unknown", None
    own = model.predict_proba(X)
    for rows in (X, X.tolist()):
        np.testing.assert_array_equal(fast.predict_proba(rows), own)
    assert [fast.predict_one(row) for row in X[:20]] == model.predict(X[:20]).tolist()


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
