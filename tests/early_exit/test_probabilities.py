"""Probabilities of one row, of records and of frames: the wrapped model's own, by every door."""

from __future__ import annotations

import statistics
import time
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from wald import EarlyExitClassifier

pd = pytest.importorskip("pandas")


def mixed(n: int = 1500, n_classes: int = 2, missing: bool = False) -> tuple[Any, np.ndarray]:
    """A frame of floats, integers and booleans, in blocks of their own."""
    X, y = make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(n=np.arange(n) % 7, new=np.arange(n) % 3 == 0)
    if missing:
        frame.loc[::5, "b"] = np.nan
    return frame, y


def lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=15, verbose=-1, n_jobs=1)


def xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=15, n_jobs=1)


def catboost() -> Any:
    return pytest.importorskip("catboost").CatBoostClassifier(iterations=15, verbose=0, allow_writing_files=False)


TREES: dict[str, Callable[[], Any]] = {
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=15),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=15),
    "forest": lambda: RandomForestClassifier(15, random_state=0),
}


def fitted(model: Any, frame: Any, y: np.ndarray) -> EarlyExitClassifier:
    return EarlyExitClassifier(FrozenEstimator(model.fit(frame, y)), risk=0).fit(frame)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", TREES)
def test_one_row_in_every_form_is_a_row_of_many(name: str, n_classes: int) -> None:
    frame, y = mixed(n_classes=n_classes, missing=name in ("lightgbm", "xgboost", "catboost", "histograms"))
    fast = fitted(TREES[name](), frame, y)
    rows, many = frame[:12], fast.predict_proba(frame)
    if name != "catboost":  # whose own exponential function rounds otherwise in some last places
        np.testing.assert_array_equal(many, fast.estimator_.predict_proba(frame))
    row_type = namedtuple("Row", frame.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i, record in enumerate(rows.to_dict("records")):
            values = rows.iloc[i].to_numpy(dtype=float)
            for x in (record, dict(reversed(record.items())), row_type(**record), values, values.tolist()):
                one = fast.predict_proba_one(x)
                assert one.shape == (n_classes,)
                np.testing.assert_array_equal(one, many[i], err_msg=str(type(x)))
                assert one.dtype == many.dtype
            np.testing.assert_array_equal(fast.predict_proba(frame[i : i + 1])[0], many[i])
        np.testing.assert_array_equal(fast.predict_proba_records(rows.to_dict("records")), many[:12])
    assert fast.predict_proba_records([]).shape == (0, n_classes)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize("n", [1, 40])
def test_other_frames_have_the_same_scores(library: str, n: int) -> None:
    pytest.importorskip(library)
    import narwhals.stable.v2 as nw

    frame, y = mixed()
    fast = fitted(lightgbm(), frame, y)
    given = nw.from_native(frame[:n])
    other = given.to_polars() if library == "polars" else given.to_arrow()
    np.testing.assert_array_equal(fast.predict_proba(other), fast.estimator_.predict_proba(frame[:n]))
    own = fast.estimator_.predict(frame[:n], raw_score=True)
    np.testing.assert_array_equal(fast.decision_function(frame[:n]), own)


def test_other_models_answer_themselves() -> None:
    frame, y = mixed()
    linear = LogisticRegression().fit(frame[:700], y[:700])
    fast = EarlyExitClassifier(FrozenEstimator(linear), risk=0.05, random_state=0).fit(frame[700:])
    texts = frame.assign(city=np.where(frame["n"] > 3, "Cluj", "Brno"))
    encoder = ColumnTransformer([("texts", OneHotEncoder(), ["city"]), ("numbers", StandardScaler(), list("abcdef"))])
    pipeline = make_pipeline(encoder, LogisticRegression()).fit(texts[:700], y[:700])
    piped = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0.05, random_state=0).fit(texts[700:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each, rows in ((fast, frame[:9]), (piped, texts[:9])):
            records = rows.to_dict("records")
            own = each.estimator_.predict_proba(rows)
            np.testing.assert_allclose(each.predict_proba_records(records), own, rtol=1e-14)
            for record, expected in zip(records, own, strict=True):
                np.testing.assert_allclose(each.predict_proba_one(record), expected, rtol=1e-14)


def test_rows_that_the_model_refuses() -> None:
    frame, y = mixed()
    fast = fitted(RandomForestClassifier(5, random_state=0), frame, y)
    record = frame[:1].to_dict("records")[0]
    with pytest.raises(ValueError, match=r"x lacks 'n'\. The features are"):
        fast.predict_proba_one({name: value for name, value in record.items() if name != "n"})
    with pytest.raises(ValueError, match=r"records\[1\] has 'm', which the model does not know"):
        fast.predict_proba_records([record, record | {"m": 1.0}])
    with pytest.raises(TypeError, match="for one record use predict_proba_one"):
        fast.predict_proba_records(record)
    with pytest.raises(TypeError, match="for a data frame use predict_proba"):
        fast.predict_proba_records(frame)
    with pytest.raises(ValueError, match="x must be one row of 8 features"):
        fast.predict_proba_one([1.0, 2.0])
    with pytest.raises(ValueError, match="infinity"):
        fast.predict_proba_one(record | {"a": np.inf})
    svc = fitted_without_probabilities(frame, y)
    assert not hasattr(svc, "predict_proba_one")
    assert not hasattr(svc, "predict_proba_records")


def fitted_without_probabilities(frame: Any, y: np.ndarray) -> EarlyExitClassifier:
    model = LinearSVC(random_state=0).fit(frame[:700], y[:700])
    return EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(frame[700:])


def test_columns_that_no_tree_reads_may_be_anything() -> None:
    frame, y = mixed()
    fast = fitted(lightgbm(), frame.assign(n=0), y)
    times = frame.assign(n=np.arange(len(frame)).astype("M8[s]"))
    np.testing.assert_array_equal(fast.predict_proba(times), fast.predict_proba(frame.assign(n=0)))


def test_records_without_a_proof_go_to_the_model_with_their_names() -> None:
    """At risk 0, a linear model labels undecided rows itself, and warns of rows without names."""
    frame, y = mixed()
    linear = LogisticRegression().fit(frame[:700], y[:700])
    fast = EarlyExitClassifier(FrozenEstimator(linear), risk=0, random_state=0).fit(frame[700:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = [fast.predict_one(record) for record in frame[:60].to_dict("records")]
    assert labels == linear.predict(frame[:60]).tolist()


@pytest.mark.long
def test_one_row_takes_a_fraction_of_the_time_of_lightgbm() -> None:
    """Medians of calls that take turns: measured are 5 for frames, 15 for dicts."""
    frame, y = mixed(6000)
    model = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=300, verbose=-1, n_jobs=1)
    fast = fitted(model, frame, y)
    one, record = frame[50:51], frame[50:51].to_dict("records")[0]
    calls: dict[str, Callable[[], Any]] = {
        "own": lambda: model.predict_proba(one),
        "frame": lambda: fast.predict_proba(one),
        "scores": lambda: fast.decision_function(one),
        "labels": lambda: fast.predict(one),
        "dict": lambda: fast.predict_proba_one(record),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(300):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    median = {name: statistics.median(each) for name, each in times.items()}
    ratios = {name: median["own"] / each for name, each in median.items()}
    assert min(ratios["frame"], ratios["scores"], ratios["labels"]) > 3, ratios
    assert ratios["dict"] > 10, ratios


@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["model", "pipeline"])
@pytest.mark.parametrize("method", ["decision_function", "predict_proba", "predict_log_proba"])
def test_an_invalid_value_is_located(steps: list, method: str) -> None:
    X, y = make_classification(600, 6, random_state=0)
    fast = EarlyExitClassifier(FrozenEstimator(make_pipeline(*steps, LogisticRegression()).fit(X, y)), risk=0).fit(X)
    wrong = X[:9].copy()
    wrong[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN in row 3, column 2\."):
        getattr(fast, method)(wrong)
    with pytest.raises(
        ValueError, match=r"^Complex data not supported: X must hold real numbers\. Got dtype complex128"
    ):
        getattr(fast, method)(X[:9] + 1j)


@pytest.mark.parametrize("model", [LogisticRegression(), GradientBoostingClassifier(n_estimators=3)], ids=str)
def test_an_invalid_value_of_one_row_is_located(model: Any) -> None:
    X, y = make_classification(600, 6, random_state=0)
    fast = EarlyExitClassifier(FrozenEstimator(model.fit(X, y)), risk=0).fit(X)
    wrong = X[0].copy()
    wrong[2] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN in row 0, column 2\."):
        fast.predict_proba_one(wrong)
