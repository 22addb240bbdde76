"""Messages of `fit` say what was wrong, and no second thing that was not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

from wald import EarlyExitClassifier, Planner
from wald.stopping.core.certifying import one_row_per_group

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = X[:, 0] > 0
FRAME = pd.DataFrame({"a": X[:, 0], "city": pd.Categorical(np.where(X[:, 1] > 0, "Cluj", "Brno"))})


def fitted_to_categories() -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y[:5]}, "y has 5"),
        ({"y": Y, "groups": [1, 2]}, "groups must have one entry for each of the 400 rows. Got 2."),
    ],
)
def test_a_frame_with_texts_is_not_blamed_for_other_mistakes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        EarlyExitClassifier(fitted_to_categories(), risk=0.05).fit(FRAME, **arguments)
    assert "must hold numbers" not in str(caught.value)


def test_a_fitted_model_is_taken_without_a_frame_around_it() -> None:
    model = fitted_to_categories()
    fast = EarlyExitClassifier(model, risk=0.05).fit(FRAME)
    assert fast.estimator_ is model
    np.testing.assert_array_equal(fast.predict(FRAME), model.predict(FRAME))


def test_nor_where_a_frozen_model_is_not_fitted_or_given_weights() -> None:
    for model, more in ((LogisticRegression(), {}), (fitted_to_categories(), {"sample_weight": np.ones(400)})):
        with pytest.raises(ValueError, match=r"not fitted|ignored") as caught:
            EarlyExitClassifier(FrozenEstimator(model), risk=0.05).fit(FRAME, **more)
        assert "must hold numbers" not in str(caught.value)


def test_texts_that_the_estimator_cannot_learn_from_are_still_named() -> None:
    frame = FRAME.assign(city=FRAME.city.astype(str))
    with pytest.raises(ValueError, match=r"column 'city' \(1\) holds '.*', a str, in row 0"):
        EarlyExitClassifier(LogisticRegression(), risk=0.05).fit(frame, Y)


def forest() -> Any:
    return FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, Y))


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_too_few_groups_are_counted_as_groups(n_groups: int) -> None:
    with pytest.raises(ValueError, match=f"too few groups: of {n_groups} that plan and certify"):
        EarlyExitClassifier(forest(), risk=0.1, random_state=0).fit(X, groups=np.arange(400) % n_groups)


def test_one_group_cannot_train_an_estimator_and_certify_it() -> None:
    with pytest.raises(ValueError, match="groups must hold several groups"):
        EarlyExitClassifier(LogisticRegression(), risk=0.1).fit(X, Y, groups=["one"] * 400)


@pytest.mark.parametrize(
    "groups",
    [
        ["a", None] * 200,
        [1.0, float("nan")] * 200,
        ["a", float("nan")] * 200,  # NumPy makes the text 'nan' of it
        np.array(["a", None] * 200, dtype=object),
        pd.Series(["a", None] * 200, dtype="string"),
        pd.Series([1, None] * 200, dtype="Int64"),
        pd.Series(pd.to_datetime(["2026-01-01", None] * 200)),
        pd.Categorical(["a", None] * 200),
    ],
    ids=lambda groups: f"{type(groups).__name__} {getattr(groups, 'dtype', '')}",
)
def test_rows_without_a_group_are_named(groups: Any) -> None:
    with pytest.raises(ValueError, match=r"groups must name the group of every row. Got .* for row 1"):
        EarlyExitClassifier(forest(), risk=0.1, random_state=0).fit(X, groups=groups)
    with pytest.raises(ValueError, match="for row 1"):
        one_row_per_group(groups, np.random.default_rng(0))
    fast = EarlyExitClassifier(forest(), risk=0.1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="for row 1"):
        fast.recertify(X, groups=groups)


def test_groups_of_texts_and_numbers_are_what_they_are() -> None:
    assert len(one_row_per_group([1, "1", 2, "b"] * 3, np.random.default_rng(0))) == 4
    with pytest.raises(ValueError, match="one-dimensional"):
        EarlyExitClassifier(forest(), risk=0.1).fit(X, groups=np.zeros((400, 1)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature_groups": [0, 0]}, r"feature_groups must be a dict .* Got list\."),
        ({"feature_groups": {"lab": 1}}, r"feature_groups\['lab'\] must be a list of columns\. Got 1\."),
        ({"feature_groups": {"lab": "ab"}}, r"feature_groups\['lab'\] must be a list of columns\. Got 'ab'\."),
        ({"feature_groups": {"lab": [None]}}, r"feature_groups\['lab'\] holds None"),
        ({"feature_groups": {"lab": [float("nan")]}}, r"feature_groups\['lab'\] holds nan"),
        ({"feature_costs": ["a", 1]}, r"feature_costs must be numbers, one for each feature.* Got \['a', 1\]\."),
        ({"feature_costs": [[1], [1, 2]]}, "feature_costs must be numbers"),
        ({"planner": Planner(n_splits=10**400)}, "n_splits must be at most 10 000"),
    ],
)
def test_parameters_of_the_wrong_shape_are_named(given: dict[str, Any], message: str) -> None:
    fast = EarlyExitClassifier(LogisticRegression().fit(X, Y), risk=0.05, **given)
    with pytest.raises((TypeError, ValueError), match=message):
        fast.fit(X)


def test_records_in_a_set_are_no_list() -> None:
    exact = EarlyExitClassifier(RandomForestClassifier(2).fit(FRAME[["a"]], Y), risk=0).fit()
    with pytest.raises(TypeError, match=r"records must be a list of dicts\. Got set\."):
        exact.predict_records({1})
    for nothing in (np.array(3), np.float64(3)):
        with pytest.raises(TypeError, match=r"records must be a list of dicts\. Got (ndarray|float64)\."):
            exact.predict_records(nothing)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("door", ["array", "list", "record"])
def test_a_number_in_place_of_a_category_is_named(door: str) -> None:
    exact = EarlyExitClassifier(HistGradientBoostingClassifier(max_iter=2).fit(FRAME, Y), risk=0).fit()
    rows: Any = {"array": np.array([[0.5, 1.0]]), "list": [[0.5, 1.0]], "record": {"a": 0.5, "city": 1}}[door]
    ask = exact.predict_one if door == "record" else exact.predict
    with pytest.raises(TypeError, match=r"categories are texts: column 'city' \(1\) of row 0 is 1"):
        ask(rows)


TIMES = [np.datetime64("2026-01-01"), np.timedelta64(3, "s"), pd.Timestamp("2026-01-01"), pd.Timedelta(3, "s"), pd.NaT]


@pytest.mark.parametrize("time", TIMES, ids=repr)
def test_columns_of_times_are_refused_before_the_wrapped_model_meets_them(time: Any) -> None:
    frame = FRAME[["a"]].assign(b=X[:, 0])
    exact = EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(frame, Y)), risk=0).fit(frame)
    rows = frame[:2].assign(b=time)
    assert rows["b"].dtype.kind in "mM"
    for ask in (exact.predict, exact.decision_function, exact.predict_proba):
        with pytest.raises(ValueError, match=r"^X must hold numbers\. Got (a column|values) of dtype (date|time)"):
            ask(rows)


def test_times_that_are_categories_are_taken_through_every_door() -> None:
    days = list(pd.date_range("2026-01-01", periods=2))
    frame = FRAME[["a"]].assign(day=pd.Categorical([days[i % 2] for i in range(400)]))
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype")
    exact = EarlyExitClassifier(model.fit(frame, Y ^ (frame.day == days[0])), risk=0).fit()
    labels = model.predict(frame[:6])
    records = frame[:6].to_dict("records")
    np.testing.assert_array_equal(exact.predict_records(records), labels)
    np.testing.assert_array_equal([exact.predict_one(record) for record in records], labels)
    np.testing.assert_array_equal(exact.predict(frame[:6].assign(day=frame.day[:6].astype("datetime64[us]"))), labels)


@pytest.mark.parametrize("value", [*TIMES[:4], {}, b"q", [1.0]], ids=repr)
def test_cells_that_transformers_refuse_are_bad_values_of_their_column(value: Any) -> None:
    frame = FRAME[["a"]].assign(b=X[:, 0])
    front = ColumnTransformer([("scale", StandardScaler(), ["a"])], remainder="passthrough")
    model = make_pipeline(front, HistGradientBoostingClassifier(max_iter=2)).fit(frame, Y)
    exact = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)
    with pytest.raises(ValueError, match=r"^[^<]*: column 'b' \(1\) of record 0 is "):
        exact.predict_records([{"a": 0.0, "b": value}])
    with pytest.raises(ValueError, match=r"^[^<]*: column 'b' \(1\) of row 0 is "):
        exact.predict_proba_one({"a": 0.0, "b": value})


def test_texts_before_xgboost_end_in_words_and_not_in_its_stack_trace() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, Y)
    with pytest.raises(ValueError, match=r"^X must hold numbers: column 1 holds 'x', a str, in row 0\.[^\n]*$"):
        EarlyExitClassifier(FrozenEstimator(model), risk=0).fit([[1.0, "x"], [1.0, 2.0]])


def test_a_lazy_frame_is_to_be_collected() -> None:
    polars = pytest.importorskip("polars")
    exact = EarlyExitClassifier(RandomForestClassifier(2).fit(X, Y), risk=0).fit()
    with pytest.raises(ValueError, match=r"Got LazyFrame\. Collect it: X\.collect\(\)\."):
        exact.predict(polars.DataFrame(X).lazy())


@pytest.mark.parametrize(("value", "what"), [(None, "NaN"), (np.nan, "NaN"), (np.inf, "infinity")])
def test_a_cell_of_objects_that_is_not_finite_has_its_place(value: Any, what: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "c": rng.choice(["x", "y"], 300)})
    steps = [("s", StandardScaler(), ["a", "b"]), ("o", OneHotEncoder(handle_unknown="ignore"), ["c"])]
    model = make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(frame, frame["a"] > 0)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)
    rows = frame[:5].astype({"b": object})
    rows.loc[3, "b"] = value
    for door in (fast.predict, fast.predict_proba, fast.decision_function):
        with pytest.raises(ValueError, match=rf"{what}.*row 3, column 'b' \(1\)"):
            door(rows)


def only_small(rows: Any) -> Any:
    if (np.asarray(rows) > 9).any():
        raise KeyError("a number of my own")
    return rows


def test_errors_of_ones_own_steps_are_kept_with_the_first_row_that_they_refuse() -> None:
    model = make_pipeline(FunctionTransformer(only_small), RandomForestClassifier(3)).fit(X, Y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    bad = np.concatenate([X, X])
    bad[[603, 700], 1] = 10.0
    for ask in (fast.predict, fast.predict_proba):
        with pytest.raises(KeyError, match="a number of my own") as caught:
            ask(bad)
        assert caught.value.__notes__ == ["The first row that a step before the model refuses is row 603."]
    with pytest.raises(KeyError) as caught:
        fast.predict(bad + 10)
    assert not hasattr(caught.value, "__notes__")


def test_steps_are_not_run_again_for_errors_of_a_service() -> None:
    calls: list[int] = []

    def step(rows: Any) -> Any:
        calls.append(len(rows))
        if len(rows) == 7:
            raise ConnectionError("the service is down")
        return rows

    model = make_pipeline(FunctionTransformer(step), RandomForestClassifier(3)).fit(X, Y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    calls.clear()
    with pytest.raises(ConnectionError, match="the service is down"):
        fast.predict(X[:7])
    assert calls == [7]


def test_texts_in_arrays_of_objects_have_their_place() -> None:
    model = make_pipeline(PolynomialFeatures(), RandomForestClassifier(3)).fit(X, Y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    rows = [[0.5, 1.5], [0.5, "a"]]
    for given in (rows, np.array(rows, dtype=object)):
        with pytest.raises(ValueError, match="could not convert string to float: 'a': column 1 of row 1 is 'a', a str"):
            fast.predict(given)


def test_lightgbm_with_more_scores_than_classes_is_refused_for_that() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, objective="multiclassova", num_class=3).fit(X, Y)
    with pytest.raises(TypeError, match="num_class=3 for 2 classes is not supported"):
        EarlyExitClassifier(model, risk=0).fit()
