"""Names of columns: every door answers by them as the model's library does, or refuses them."""

from __future__ import annotations

import asyncio
import itertools
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner, load, save
from wald.models import read_model
from wald.sources import Schema

pd = pytest.importorskip("pandas")

VALUES = np.random.default_rng(0).normal(size=(120, 3))
Y = (VALUES[:, 0] > 0.3 * VALUES[:, 1]).astype(int)
#: Names of three columns, as a user gives them.
NAMED: dict[str, Any] = {
    "texts": ["a", "b", "c"],
    "blanks": ["a 1", "b (cm)", "c"],
    "integers": [0, 1, 2],
    "none": None,
}


#: What refusals of tables with other columns say.
OTHER_COLUMNS = r"feature names should match|must have the columns of the model|lacks the column|expecting 3 features"


def lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=4, min_child_samples=3, verbose=-1, n_jobs=1)


def xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=4, n_jobs=1)


def catboost() -> Any:
    return pytest.importorskip("catboost").CatBoostClassifier(
        iterations=4, verbose=0, allow_writing_files=False, thread_count=1
    )


def vote() -> Any:
    return VotingClassifier([("one", catboost()), ("two", catboost())], voting="soft")


LIBRARIES: dict[str, Callable[[], Any]] = {
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "trees": lambda: HistGradientBoostingClassifier(max_iter=4),
    "linear": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "vote": vote,
}


class Case(NamedTuple):
    """A fitted model, the classifier around it, the rows that it was trained on, and its own labels of them."""

    model: Any
    fast: EarlyExitClassifier
    frame: Any
    labels: Any
    named: bool  # whether the model or the rows of fit have texts, or names that the library turns into texts


def made(library: str, kind: str, wrapped: str) -> Case:
    names = NAMED[kind]
    frame = pd.DataFrame(VALUES, columns=names)
    model = LIBRARIES[library]().fit(VALUES if names is None else frame, Y)
    rows: dict[str, tuple[Any, ...]] = {"nothing": (), "array": (VALUES,), "frame": (frame,)}
    if wrapped == "nothing" and library in ("linear", "pipeline", "vote"):
        pytest.skip("these are fitted on rows")
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(*rows[wrapped])
    spelled = library in ("lightgbm", "xgboost", "catboost", "vote")
    named = kind in ("texts", "blanks") or (kind == "integers" and spelled)
    return Case(model, fast, frame, np.ravel(model.predict(VALUES if names is None else frame)), named)


CASES = [
    pytest.param(*case, id="-".join(case))
    for case in itertools.product(LIBRARIES, NAMED, ("nothing", "array", "frame"))
]


def in_files(case: Case, folder: Path) -> list[EarlyExitClassifier]:
    """The classifier before and after a file; scikit-learn's own trees and votes are loaded with the model."""
    own = isinstance(case.model, HistGradientBoostingClassifier | VotingClassifier)
    if isinstance(case.model, VotingClassifier):
        return [case.fast, pickle.loads(pickle.dumps(case.fast))]  # no file of numbers holds it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a file holds the trees of such a model, and not the model
        save(case.fast, folder / "m.wald")
    return [case.fast, load(folder / "m.wald", estimator=case.model if own else None)]


def tables(fast: EarlyExitClassifier) -> dict[str, Callable[[Any], Any]]:
    """Doors for tables, as functions from a frame to labels."""
    doors: dict[str, Callable[[Any], Any]] = {
        "predict": fast.predict,
        "predict of one row": lambda X: np.concatenate([fast.predict(X[i : i + 1]) for i in range(len(X))]),
        "predict_proba": lambda X: fast.classes_[fast.predict_proba(X).argmax(axis=1)],
    }
    return doors


def records(fast: EarlyExitClassifier) -> dict[str, Callable[[Any], Any]]:
    """Doors for rows with names."""
    return {
        "predict_one of a dict": lambda X: [fast.predict_one(row) for row in X.to_dict("records")],
        "predict_one of a Series": lambda X: [fast.predict_one(X.iloc[i]) for i in range(len(X))],
        "predict_records": lambda X: fast.predict_records(X.to_dict("records")),
        "predict of Series": lambda X: fast.predict([X.iloc[i] for i in range(len(X))]),
    }


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("library", "kind", "wrapped"), CASES)
def test_every_door_answers_by_names_or_refuses(library: str, kind: str, wrapped: str, tmp_path: Path) -> None:
    case = made(library, kind, wrapped)
    frame, own = case.frame, case.labels
    names_known = case.named or (wrapped == "frame" and kind == "texts")
    for fast in in_files(case, tmp_path):
        for door, labels in tables(fast).items():
            assert np.array_equal(labels(frame), own), door
            other = frame.iloc[:, ::-1]
            if case.named:
                try:
                    got = labels(other)
                except ValueError:
                    assert library not in ("catboost", "vote"), door  # CatBoost finds them
                else:
                    assert np.array_equal(got, own), door
                with pytest.raises(ValueError, match=OTHER_COLUMNS):
                    labels(frame.iloc[:, :2])
                with pytest.raises(ValueError, match=OTHER_COLUMNS):
                    labels(frame.set_axis(["p", "q", "r"], axis=1))
            elif not names_known:  # by position, as the model itself
                assert np.array_equal(labels(other), np.ravel(case.model.predict(other))), door
        if names_known:
            for door, labels in records(fast).items():
                assert np.array_equal(labels(frame.iloc[:5, ::-1]), own[:5]), door
                with pytest.raises(ValueError, match=r"lacks|must be one row|X has 2 features"):
                    labels(frame.iloc[:1, :2])


@pytest.mark.parametrize("kind", ["texts", "integers"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost", "trees"])
def test_columns_that_the_model_does_not_know(library: str, kind: str) -> None:
    case = made(library, kind, "nothing")
    if not case.named:
        pytest.skip("scikit-learn knows no names that are numbers")
    wide = case.frame.copy()
    wide.insert(0, "id", 1.0)
    if library == "catboost":
        assert np.array_equal(case.fast.predict(wide), case.labels)
        assert np.array_equal(np.ravel(case.model.predict(wide)), case.labels)
    else:
        with pytest.raises(ValueError, match=OTHER_COLUMNS):
            case.fast.predict(wide)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost", "trees"])
@pytest.mark.parametrize("container", ["polars", "pyarrow"])
def test_frames_of_other_libraries(library: str, container: str) -> None:
    case = made(library, "texts", "nothing")
    there = pytest.importorskip(container)
    columns = {name: case.frame[name].to_numpy() for name in ("c", "a", "b")}
    other = there.DataFrame(columns) if container == "polars" else there.table(columns)
    same = other.select(["a", "b", "c"])
    assert np.array_equal(case.fast.predict(same), case.labels)
    if library == "catboost":
        assert np.array_equal(case.fast.predict(other), case.labels)
    else:
        with pytest.raises(ValueError, match=OTHER_COLUMNS):
            case.fast.predict(other)


def test_numbers_as_names_draw_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    for library in ("lightgbm", "xgboost", "catboost", "trees"):
        case = made(library, "integers", "frame")
        case.fast.predict(case.frame)
        case.fast.predict_proba(case.frame)
    assert [str(each.message) for each in recwarn if "feature names" in str(each.message)] == []


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_files_of_the_libraries_keep_names(library: str, tmp_path: Path) -> None:
    case = made(library, "blanks" if library == "lightgbm" else "texts", "nothing")
    path = saved(library, case.model, tmp_path)
    read = read_model(path)
    fast = EarlyExitClassifier(read, risk=0).fit()
    for each in (read, fast):
        assert np.array_equal(each.predict(case.frame), case.labels)
    other = case.frame.iloc[:, ::-1]
    if library == "catboost":
        assert np.array_equal(read.predict(other), case.labels)
    else:
        with pytest.raises(ValueError, match=OTHER_COLUMNS):
            read.predict(other)
    assert np.array_equal(fast.predict_records(other.to_dict("records")), case.labels)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_boosters_without_the_interface_of_scikit_learn(library: str) -> None:
    kind = "blanks" if library == "lightgbm" else "texts"
    frame = pd.DataFrame(VALUES, columns=NAMED[kind])
    if library == "catboost":
        core = pytest.importorskip("catboost")
        settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "loss_function": "Logloss"}
        booster = core.CatBoost({"iterations": 4, **settings}).fit(frame, Y)
    else:
        model = LIBRARIES[library]().fit(frame, Y)
        booster = model.booster_ if library == "lightgbm" else model.get_booster()
    fast = EarlyExitClassifier(booster, risk=0).fit()
    own = fast.predict(frame)
    assert np.array_equal(own, fast.estimator_.predict(frame))
    assert np.array_equal(fast.predict_records(frame.iloc[:, ::-1].to_dict("records")), own)
    if library == "catboost":
        assert np.array_equal(fast.predict(frame.iloc[:, ::-1]), own)
    else:
        with pytest.raises(ValueError, match=OTHER_COLUMNS):
            fast.predict(frame.iloc[:, ::-1])


def test_the_service_reads_tables_by_name() -> None:
    httpx = pytest.importorskip("httpx")
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("starlette")
    from wald.serving import create_app

    for library, kind in (("lightgbm", "blanks"), ("catboost", "texts"), ("trees", "texts")):
        case = made(library, kind, "nothing")
        table = pa.Table.from_pandas(case.frame.iloc[:, ::-1].assign(id=1), preserve_index=False)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = sink.getvalue().to_pybytes()

        async def ask(fast: EarlyExitClassifier, body: bytes) -> Any:
            transport = httpx.ASGITransport(app=create_app(fast))
            async with httpx.AsyncClient(transport=transport, base_url="http://wald") as client:
                headers = {"content-type": "application/vnd.apache.arrow.stream", "accept": "application/json"}
                return await client.post("/predict", content=body, headers=headers)

        answer = asyncio.run(ask(case.fast, body))
        assert answer.status_code == 200, answer.text
        assert pa.ipc.open_stream(answer.content).read_all()["label"].to_pylist() == case.labels.tolist()


def test_a_schema_tells_what_is_wrong() -> None:
    schema = Schema(2, ("age", "body_mass"), "lightgbm")
    assert schema.columns(["id", "body mass", "age"]) == [2, 1]
    assert schema.columns(["body mass", "age", "body_mass"]) == [1, 2]  # the exact name is meant
    with pytest.raises(ValueError, match=r"a\.csv lacks the column 'age' that the model reads\. It has 'body_mass'"):
        schema.columns(["body_mass"], what="a.csv")
    with pytest.raises(ValueError, match="the column 'age' more than once"):
        schema.columns(["age", "age", "body_mass"])
    with pytest.raises(ValueError, match="has 1 column of features; the model takes 2"):
        Schema(2).columns(["a"])


@pytest.mark.filterwarnings("error:.*feature names")
@pytest.mark.parametrize("risk", [0, 0.05])
def test_a_row_of_a_list_is_read_by_position_and_draws_no_warning(risk: float) -> None:
    rows = np.random.default_rng(0).normal(size=(600, 3))
    X, y = pd.DataFrame(rows, columns=["a", "b", "c"]), (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(int)
    for steps in ((StandardScaler(),), (SimpleImputer(), StandardScaler())):
        for last in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=5), SVC()):
            model = make_pipeline(*steps, last).fit(X[:300], y[:300])
            fast = EarlyExitClassifier(
                FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0
            ).fit(X[300:])
            for row, label in zip(rows[:3].tolist(), fast.predict(X[:3]), strict=True):
                assert fast.predict_one(row) == fast.predict_one(tuple(row)) == fast.trace(row).label == label
                if hasattr(fast, "predict_proba"):
                    fast.predict_proba_one(row)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_equal_names_that_are_written_otherwise_are_others(first: int) -> None:
    orders = [[1, 2, 3], [1.0, 2.0, 3.0], [True, 2, 3]]
    X, y = VALUES[:, :3], (VALUES[:, 0] > np.median(VALUES[:, 0])).astype(int)
    model = LIBRARIES["xgboost"]().fit(pd.DataFrame(X, columns=["1", "2", "3"]), y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    for names in (orders[first], *orders):
        frame = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
        if list(map(str, names)) == ["1", "2", "3"]:
            np.testing.assert_array_equal(fast.predict(frame), model.predict(X))
        else:
            with pytest.raises(ValueError, match=OTHER_COLUMNS):
                fast.predict(frame)


def saved(library: str, model: Any, folder: Path) -> Path:
    """A file of a model in the format of its library that wald reads."""
    path = folder / ("model.txt" if library == "lightgbm" else "model.json")
    if library == "lightgbm":
        model.booster_.save_model(path)
    elif library == "xgboost":
        model.save_model(path)
    else:
        model.save_model(str(path), format="json")
    return path


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_a_file_of_a_library_answers_records(library: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(VALUES, columns=NAMED["texts"])
    if library == "lightgbm":  # whose files know the categories of a frame
        frame["c"] = pd.Categorical(np.where(VALUES[:, 2] > 0, "red", "blue"))
    read = read_model(saved(library, LIBRARIES[library]().fit(frame, Y), tmp_path))
    records = frame.iloc[:, ::-1].to_dict("records")
    for answer in (read.predict, read.predict_proba, read.decision_function):
        np.testing.assert_array_equal(answer(records), answer(frame))
    with pytest.raises(ValueError, match=r"X\[1\] lacks 'a'"):
        read.predict([records[0], {"b": 1.0, "c": records[0]["c"]}])


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_booster_answers_records(library: str) -> None:
    frame = pd.DataFrame(VALUES, columns=NAMED["texts"])
    model = LIBRARIES[library]().fit(frame, Y)
    booster = model.booster_ if library == "lightgbm" else model.get_booster()
    own = EarlyExitClassifier(booster, risk=0).fit().compiled_plan_.model.estimator
    np.testing.assert_array_equal(own.predict(frame.iloc[:, ::-1].to_dict("records")), own.predict(frame))
