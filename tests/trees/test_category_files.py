"""Files of models with categories: they answer as the library does, where the library is not installed."""

from __future__ import annotations

import contextlib
import itertools
import json
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from trees.category_tables import fitted_lightgbm, fitted_xgboost, in_ascii, reordered, table, with_columns, with_unseen

import wald
from wald import EarlyExitClassifier, Planner
from wald.models.readers.lightgbm import columns_of_categories
from wald.persistence import FileFormatError, from_bytes, to_bytes

pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def no_warning_of_a_file_without_its_codes() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The file holds")
        yield


def fitted_histograms(frame: Any, y: np.ndarray) -> Any:
    return HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype").fit(frame, y)


FITTED: dict[str, Callable[..., Any]] = {
    "lightgbm": fitted_lightgbm,
    "xgboost": fitted_xgboost,
    "scikit-learn": fitted_histograms,
}
by_library = pytest.mark.parametrize("library", FITTED)


def made(library: str, risk: float = 0, n_classes: int = 2, seed: int = 0) -> tuple[Any, EarlyExitClassifier, Any]:
    """A model, the classifier around it, and rows that it was not trained on."""
    frame, y = table(seed, 2500)
    frame = in_ascii(frame)
    y = y + (np.arange(len(y)) % 5 == 0) * (n_classes - 2)
    model = FITTED[library](frame, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rare class")
        return model, fast.fit(frame), in_ascii(table(seed + 1, 400)[0])


def own_order(frame: Any) -> Any:
    cities = frame["city"].cat.set_categories(["Trier", "Gera", "Koeln", "Bonn", "Jena", "Ulm"])
    return with_columns(reordered(frame), city=cities)


@pytest.mark.one_in(3)
@pytest.mark.slow
@by_library
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("risk", [0, 0.05])
def test_a_file_holds_the_codes(library: str, n_classes: int, risk: float, tmp_path: Path) -> None:
    model, fast, rows = made(library, risk, n_classes)
    wald.save(fast, tmp_path / "fast.wald")
    loaded = wald.load(tmp_path / "fast.wald")
    frames = {"same": rows, "other order": own_order(rows), "one row": rows[:1]}
    if library != "xgboost":  # which refuses what it has not seen
        frames["unseen"] = with_unseen(rows)
    for name, frame in frames.items():
        for one, other in zip(*(each.predict(frame, return_cost=True) for each in (loaded, fast)), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
        own = model.predict_proba(frame)
        np.testing.assert_array_equal(fast.predict_proba(frame), own, err_msg=name)
        np.testing.assert_array_equal(loaded.predict_proba(frame), own, err_msg=name)
        if risk == 0:
            np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame), err_msg=name)
    again = pickle.loads(pickle.dumps(from_bytes(to_bytes(loaded))))
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    with_model = wald.load(tmp_path / "fast.wald", estimator=model)
    np.testing.assert_array_equal(with_model.predict(rows), fast.predict(rows))


@by_library
def test_a_loaded_model_reads_texts_and_records(library: str) -> None:
    model, fast, rows = made(library)
    loaded, labels = from_bytes(to_bytes(fast)), model.predict(rows)
    texts = with_columns(rows, city=rows["city"].astype(object))
    for dtype in (object, "string"):
        given = with_columns(rows, city=texts["city"].astype(dtype))
        own = labels if library != "scikit-learn" else model.predict(given)
        np.testing.assert_array_equal(loaded.predict(given), own, err_msg=str(dtype))
        np.testing.assert_array_equal(fast.predict(given), own, err_msg=str(dtype))
    if library != "scikit-learn":  # whose encoder takes texts of numbers for categories that it has not seen
        sizes = rows["size"].map(str, na_action="ignore").astype(object)
        np.testing.assert_array_equal(loaded.predict(with_columns(texts, size=sizes)), labels)
    records = texts.astype({"size": object}).to_dict("records")
    np.testing.assert_array_equal(loaded.predict_records(records), labels)
    assert [loaded.predict_one(record) for record in records[:20]] == labels[:20].tolist()


@by_library
@pytest.mark.parametrize("kind", ["categorical", "enum", "text", "arrow"])
def test_a_loaded_model_reads_polars_and_arrow(library: str, kind: str) -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    model, fast, rows = made(library, seed=3)
    if library == "scikit-learn" and kind == "arrow":
        pytest.skip("scikit-learn's encoder takes no Arrow tables")
    texts = [None if isinstance(city, float) else city for city in rows["city"].tolist()]
    sizes = [None if np.isnan(size) else str(int(size)) for size in rows["size"].astype(float)]
    if library == "scikit-learn":
        sizes = rows["size"].astype(float).to_numpy()
    dtypes = {
        "categorical": pl.Categorical,
        "enum": pl.Enum(["Aachen", "Koeln", "Ulm", "Bonn", "Trier", "Jena", "Gera"]),
    }
    columns = {"a": rows["a"].to_numpy(), "city": pl.Series(texts, dtype=dtypes.get(kind, pl.String))}
    frame = pl.DataFrame({**columns, "b": rows["b"].to_numpy(), "size": sizes})
    if kind == "arrow":
        numbers = pa.array([None if size is None else int(size) for size in sizes]).dictionary_encode()
        frame = pa.table({"a": rows["a"], "city": pa.array(texts).dictionary_encode(), "b": rows["b"], "size": numbers})
    loaded = from_bytes(to_bytes(fast))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(rows))


@pytest.mark.slow
@by_library
def test_the_library_need_not_be_installed(library: str, tmp_path: Path) -> None:
    model, fast, rows = made(library, seed=5)
    wald.save(fast, tmp_path / "fast.wald")
    own_order(rows).to_pickle(tmp_path / "rows.pkl")
    np.save(tmp_path / "own.npy", model.predict_proba(rows))
    code = (
        "import sys; sys.modules.update(lightgbm=None, xgboost=None)\n"
        "import numpy as np, pandas as pd, wald\n"
        "fast, rows = wald.load('fast.wald'), pd.read_pickle('rows.pkl')\n"
        "np.testing.assert_array_equal(fast.predict_proba(rows), np.load('own.npy'))\n"
        "np.testing.assert_array_equal(fast.predict(rows), np.load('own.npy').argmax(axis=1))\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True)


def test_ordered_categories_of_lightgbm() -> None:
    """LightGBM reads them as numbers; where they stand follows from what training saw in the columns."""
    frame, y = table(7, 1500, missing=False)
    frame["size"] = frame["size"].cat.as_ordered()
    model = fitted_lightgbm(frame, y)
    loaded = from_bytes(to_bytes(EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()))
    labels, texts = model.predict(frame), frame.astype({"city": object, "size": object})
    np.testing.assert_array_equal(loaded.predict(own_order(in_ascii(frame))[["a", "city", "b", "size"]]).shape, y.shape)
    np.testing.assert_array_equal(loaded.predict(frame), labels)
    np.testing.assert_array_equal(loaded.predict_records(texts.to_dict("records")), labels)


def test_columns_of_categories_by_what_training_saw() -> None:
    assert columns_of_categories(["[-1.5:2]", "1:0:2", "[0:3]"], [3, 4]) == [1, 2]
    assert columns_of_categories(["1:0:2", "[0:1]"], [3]) == []  # both fit
    assert columns_of_categories(["1:0:2", "[0:1]"], [3], listed=True) == [0]
    assert columns_of_categories(["[0:4]", "[-inf:inf]"], [3]) == []  # none fits


@pytest.mark.parametrize("values", [[True, False], [1.5, 2.0], ["yes", 1], ["", "é\0"]], ids=str)
def test_categories_of_every_kind(values: list[Any]) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 900)
    frame = pd.DataFrame({"a": rng.normal(size=900), "c": pd.Categorical.from_codes(codes, values)})
    y = (frame["a"] + codes > 0.5).astype(int)
    model = fitted_lightgbm(frame, y)
    loaded = from_bytes(to_bytes(EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    records = frame.astype({"c": object}).to_dict("records")
    np.testing.assert_array_equal(loaded.predict_records(records), model.predict(frame))


def test_categories_that_no_file_holds() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=900), "b": rng.normal(size=900)})
    binned = frame.assign(b=pd.cut(frame["b"], 4))
    fast = EarlyExitClassifier(FrozenEstimator(fitted_histograms(binned, frame["a"] > 0)), risk=0).fit()
    with pytest.warns(UserWarning, match="neither texts, numbers nor booleans"):
        raw = to_bytes(fast)
    with pytest.raises(ValueError, match=r"wald.load\(path, estimator=...\)"):
        from_bytes(raw)


def test_another_model_is_refused(tmp_path: Path) -> None:
    frame, y = table(22, 3000)
    fast = EarlyExitClassifier(FrozenEstimator(fitted_histograms(frame, y)), risk=0).fit()
    wald.save(fast, tmp_path / "fast.wald")
    renamed = with_columns(frame, city=frame["city"].cat.rename_categories({"Ulm": "Ulm "}))
    with pytest.raises(ValueError, match="saved for another model"):
        wald.load(tmp_path / "fast.wald", estimator=fitted_histograms(renamed, y))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_files_of_the_library_hold_its_codes(library: str, tmp_path: Path) -> None:
    model, _, rows = made(library, seed=9)
    path = tmp_path / ("model.txt" if library == "lightgbm" else "model.ubj")
    booster = model.booster_ if library == "lightgbm" else model.get_booster()
    booster.save_model(path)
    read = wald.read_model(path)
    np.testing.assert_array_equal(read.predict_proba(own_order(rows)), model.predict_proba(rows))
    fast = EarlyExitClassifier(read, risk=0).fit()
    np.testing.assert_array_equal(fast.predict(own_order(rows)), model.predict(rows))
    if library == "lightgbm":
        np.testing.assert_array_equal(EarlyExitClassifier(booster, risk=0).fit().predict(rows), model.predict(rows))


def with_categories(fast: Any, values: Any) -> bytes:
    """A file with other categories, as JSON or as bytes."""
    fields, arrays = taken_apart(to_bytes(fast))
    raw = values if isinstance(values, bytes) else json.dumps(values).encode()
    return put_together(fields, arrays | {VALUES: np.frombuffer(raw, dtype=np.uint8)})


VALUES = "estimator.categories.values"
OTHER: list[Any] = [None, True, -1, 2**53, 10**25, 0.5, np.nan, np.inf, "", "Ulm", "\0", "\ud800", [], {}, [1]]


@pytest.mark.slow
@pytest.mark.parametrize("library", FITTED)
def test_hostile_tables_of_categories(library: str) -> None:
    """Every category is changed in turn: the file is refused, or loads as a model that predicts."""
    _, fast, rows = made(library)
    held = json.loads(taken_apart(to_bytes(fast))[1][VALUES].tobytes())
    for c, known in enumerate(held):
        for at, value in itertools.product(range(len(known)), OTHER):
            changed = [*held[:c], [*known[:at], value, *known[at + 1 :]], *held[c + 1 :]]
            try:
                loaded = from_bytes(with_categories(fast, changed))
            except FileFormatError:
                continue
            with contextlib.suppress(ValueError, TypeError):  # a category that the changed table does not have
                loaded.predict(rows)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("library", FITTED)
@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[]", b"[[]]", b"[1]", b"[" * 9999, b'[["a', b"\xff", b"[[1e999]]"], ids=str
)
def test_what_is_no_table_of_categories(library: str, raw: bytes) -> None:
    with pytest.raises(FileFormatError):
        from_bytes(with_categories(made(library)[1], raw))


@pytest.mark.parametrize(
    "change",
    [
        {"codes": "pickled"},
        {"codes": "encoded"},
        {"n_columns": 3},
        {"dtypes": ["list"]},
        {"columns": [1, 1]},
        {"columns": [-1, 2]},
        {"dtypes": ["object", "M8[s]"]},
        {"by_name": True},
        {"by_name": 1},
        {"more": 1},
    ],
    ids=str,
)
def test_hostile_headers_of_categories(change: dict[str, Any]) -> None:
    _, fast, _ = made("lightgbm")
    fields, arrays = taken_apart(to_bytes(fast))
    fields["estimator"]["categories"] |= change
    if change == {"by_name": True}:
        fields["estimator"]["names"] = False
    with pytest.raises(FileFormatError):
        from_bytes(put_together(fields, arrays))


def test_a_header_that_denies_its_categories() -> None:
    fields, arrays = taken_apart(to_bytes(made("lightgbm")[1]))
    fields["own_steps"] = False
    with pytest.raises(FileFormatError, match="own_steps does not fit the estimator"):
        from_bytes(put_together(fields, arrays))
