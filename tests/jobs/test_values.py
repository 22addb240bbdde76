"""Jobs of regressors, rankers and outlier detectors: columns of the model's own dtype, in every part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from persistence.valued import X, made

import wald

pyarrow = pytest.importorskip("pyarrow")  # before the imports below, which need it: E402
from pyarrow import csv, ipc  # noqa: E402
from pyarrow.parquet import read_table, write_table  # noqa: E402

from wald.jobs import Options, run  # noqa: E402


def folder_of(rows: Any, path: Path, names: Any = "abcde") -> Path:
    """Two files, one of two row groups, and one without rows."""
    path.mkdir()
    columns = {name: rows[:, c] for c, name in enumerate(names)}
    table = pyarrow.table({name: pyarrow.array(column, from_pandas=True) for name, column in columns.items()})
    write_table(table[:30], path / "a.parquet", row_group_size=20)
    write_table(table[30:], path / "b.parquet")
    write_table(table[:0], path / "c.parquet")
    return path


@pytest.fixture(scope="module")
def odd_rows() -> Any:
    rows = np.random.default_rng(5).normal(size=(60, 5))
    rows[::9, 2] = np.nan  # which the files hold as nulls
    return rows


@pytest.mark.parametrize("name", ["hist", "xgboost", "xgboost several", "lightgbm ranker", "forest of several"])
def test_values_are_those_of_one_call(name: str, tmp_path: Path, odd_rows: Any) -> None:
    fast, model, _ = made(name)
    rows = np.nan_to_num(odd_rows) if name == "forest of several" else odd_rows
    report = run(fast, [str(folder_of(rows, tmp_path / "in"))], tmp_path / "out", model="m", options=Options(cost=True))
    own = model.predict(rows)
    names = ["value"] if own.ndim == 1 else ["value_0", "value_1"]
    kind = pyarrow.float32() if own.dtype == np.float32 else pyarrow.float64()
    parts = [read_table(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    for part in parts:  # that of the file without rows, too
        assert part.schema.names == [*names, "cost"]
        assert part.schema.types == [*[kind] * len(names), pyarrow.float64()]
        assert not any(column.null_count for column in part.columns)
    whole = pyarrow.concat_tables(parts)
    np.testing.assert_array_equal(np.column_stack([whole[n].to_numpy() for n in names]), own.reshape(len(own), -1))
    assert (report.n_rows, report.counts) == (60, {})
    assert report.total_cost == 60 * fast.compiled_plan_.plan.full_cost


def test_columns_that_no_tree_reads_are_not_decoded(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeRegressor

    wide = np.random.default_rng(0).normal(size=(60, 26))
    names = [f"c{i}" for i in range(26)]
    model = DecisionTreeRegressor(max_depth=2).fit(wide, wide[:, 3])
    fast = wald.EarlyExitRegressor(model).fit()
    report = run(fast, [str(folder_of(wide, tmp_path / "in", names))], tmp_path / "out", model="m", options=Options())
    found = np.concatenate(
        [read_table(path)["value"].to_numpy() for path in sorted((tmp_path / "out").glob("*.parquet"))]
    )
    np.testing.assert_array_equal(found, model.predict(wide))
    assert report.bytes_decoded < 0.3 * report.bytes_there


@pytest.mark.parametrize("to", ["csv", "arrow"])
def test_other_formats(to: str, tmp_path: Path, odd_rows: Any) -> None:
    fast, model, _ = made("xgboost")
    data = folder_of(odd_rows, tmp_path / "in")
    run(fast, [str(data)], tmp_path / "out", model="m", options=Options(to=to, keep=("a",)))
    paths = sorted((tmp_path / "out").glob(f"*.{to}"))
    tables = [csv.read_csv(path) if to == "csv" else ipc.open_file(path).read_all() for path in paths[:2]]
    found = np.concatenate([np.asarray(table["value"]) for table in tables]).astype(np.float32)
    np.testing.assert_array_equal(found, model.predict(odd_rows))


def test_frames_of_columns_and_categories(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    for name in ("columns of trees", "categories"):
        fast, model, frame = made(name)
        data = tmp_path / f"{name}.parquet"
        write_table(pyarrow.Table.from_pandas(frame[frame.columns[::-1]], preserve_index=False), data)
        run(fast, [str(data)], tmp_path / name, model="m", options=Options())
        (part,) = (tmp_path / name).glob("*.parquet")
        np.testing.assert_array_equal(read_table(part)["value"].to_numpy(), model.predict(frame))


def test_a_broken_job_goes_on(tmp_path: Path, odd_rows: Any) -> None:
    fast, _, _ = made("hist")
    data = folder_of(odd_rows, tmp_path / "in")
    run(fast, [str(data)], tmp_path / "out", model="m", options=Options())
    again = run(fast, [str(data)], tmp_path / "out", model="m", options=Options())
    assert (again.n_before, again.n_rows, again.rows_now) == (3, 60, 0)


def test_outliers_are_counted(tmp_path: Path) -> None:
    fast, _, _ = made("isolation forest")
    report = run(fast, [str(folder_of(X[:60], tmp_path / "in"))], tmp_path / "out", model="m", options=Options())
    labels = fast.predict(X[:60])
    assert report.counts == {str(label): int((labels == label).sum()) for label in (-1, 1)}
