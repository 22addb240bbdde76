"""Columns of a job's files: found by name, left out, copied, missing, named by folders; and one schema of all parts."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
import pandas
import pyarrow as pa
from pyarrow.parquet import read_table, write_table
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

import wald
from wald.jobs import JobError, Options, run

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def rows():
    numbers, y = make_classification(400, 4, n_informative=3, n_redundant=0, random_state=0)
    frame = pandas.DataFrame(numbers, columns=NAMES)
    frame.loc[::9, "c"] = np.nan
    return frame, y


@pytest.fixture(scope="module")
def model(rows):
    return HistGradientBoostingClassifier(max_iter=10).fit(*rows)


@pytest.fixture(scope="module")
def fast(model):
    return wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()  # only the wrapped model knows names


def files(folder, *frames):
    folder.mkdir(exist_ok=True)
    for i, frame in enumerate(frames):
        table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame)
        write_table(table, folder / f"{i}.parquet")
    return folder


def parts(out):
    return [read_table(path, partitioning=None) for path in sorted(out.glob("part-*"))]


def labels(out):
    return np.concatenate([part["label"].to_numpy() for part in parts(out)])


def job(fast, data, out, **options):
    return run(fast, data, out, model="m", options=Options(**options))


def test_names_of_the_wrapped_model_find_columns_and_others_are_left_out(rows, model, fast, tmp_path):
    frame, _ = rows
    other = (
        frame[["d", "b", "a", "c"]].assign(z=1).set_index(np.arange(400).astype(str))
    )  # pandas writes its index, too
    report = job(fast, files(tmp_path / "in", frame, other), tmp_path / "out")
    assert np.array_equal(labels(tmp_path / "out"), np.tile(model.predict(frame), 2))
    assert report.left_out == {"z": 1, "__index_level_0__": 1}
    again = job(fast, tmp_path / "in", tmp_path / "out", drop=("z",))  # changes nothing, and need not be in all files
    assert again.n_before == 2
    with pytest.raises(JobError, match="--drop: no file has a column 'zz'"):
        job(fast, tmp_path / "in", tmp_path / "out", drop=("zz",))


def test_columns_that_are_needed_are_asked_for_by_name_and_file(rows, fast, tmp_path):
    frame, _ = rows
    files(tmp_path / "in", frame, frame.drop(columns="b"))
    with pytest.raises(JobError, match=r"1\.parquet lacks the column 'b'"):
        job(fast, tmp_path / "in", tmp_path / "out")
    with pytest.raises(JobError, match=r"--drop: the model reads 'b'"):
        job(fast, tmp_path / "in" / "0.parquet", tmp_path / "out", drop=("b",))
    with pytest.raises(JobError, match=r"--keep: .*1\.parquet has no column 'b'"):
        job(fast, tmp_path / "in" / "1.parquet", tmp_path / "out", keep=("b",))


def test_a_model_without_names_takes_columns_that_only_some_files_have_out_by_drop(rows, tmp_path):
    frame, y = rows
    numbers = frame.to_numpy()
    model = HistGradientBoostingClassifier(max_iter=5).fit(numbers, y)
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    files(tmp_path / "in", frame, frame.assign(z=1))
    with pytest.raises(JobError, match=r"1\.parquet has 5 columns of features; the model takes 4\. It knows no names"):
        job(fast, tmp_path / "in", tmp_path / "out")
    job(fast, tmp_path / "in", tmp_path / "out", drop=("z",), keep=("a",))
    assert np.array_equal(labels(tmp_path / "out"), np.tile(model.predict(numbers), 2))
    assert np.array_equal(parts(tmp_path / "out")[1]["a"].to_numpy(), frame["a"])


def test_features_and_others_are_copied(rows, model, fast, tmp_path):
    frame, _ = rows
    job(fast, files(tmp_path / "in", frame.assign(id=range(400))), tmp_path / "out", keep=("c", "id"))
    (part,) = parts(tmp_path / "out")
    assert part.column_names == ["c", "id", "label"]
    np.testing.assert_array_equal(part["c"].to_pandas(), frame["c"])
    assert np.array_equal(part["label"], model.predict(frame))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_column_of_nulls_is_missing_values(rows, model, fast, tmp_path, form):
    frame, _ = rows
    table = pa.Table.from_pandas(frame.astype("float32")).set_column(2, "c", pa.nulls(400))
    (tmp_path / "in").mkdir()
    if form == "parquet":
        write_table(table, tmp_path / "in" / "0.parquet")
    else:
        with pa.ipc.new_file(str(tmp_path / "in" / "0.arrow"), table.schema) as file:
            file.write_table(table)
    job(fast, tmp_path / "in", tmp_path / "out", keep=("c",))
    assert np.array_equal(labels(tmp_path / "out"), model.predict(frame.astype("float32").assign(c=np.nan)))


def test_folders_are_columns(rows, model, fast, tmp_path):
    frame, _ = rows
    days = ["2026-01-01", "2026-01-02"]
    for i, day in enumerate(days):
        folder = tmp_path / "in" / f"date={day}" / f"d={i}"
        folder.mkdir(parents=True)
        write_table(pa.Table.from_pandas(frame.drop(columns="d")), folder / "rows.parquet")
    report = job(fast, tmp_path / "in", tmp_path / "out", keep=("date", "d"))
    for i, (day, part) in enumerate(zip(days, parts(tmp_path / "out"), strict=True)):
        assert part["date"].to_pylist() == [day] * 400
        assert part["d"].type == pa.int32()
        assert np.array_equal(part["label"], model.predict(frame.assign(d=i)))
    assert report.left_out == {}


def test_all_parts_have_one_schema(rows, fast, tmp_path):
    frame, _ = rows
    ids = np.arange(400)
    texts = ids.astype(str)
    files(tmp_path / "in", frame.assign(id=ids), frame.assign(id=texts))
    with pytest.raises(JobError, match=r"'id' is int64 in .*0\.parquet, and (large_)?string in .*1\.parquet"):
        job(fast, tmp_path / "in", tmp_path / "out", keep=("id",))
    assert not (tmp_path / "out").exists()
    plain = pa.Table.from_pandas(frame, preserve_index=False)
    columns = [pa.nulls(400), pa.array(texts, pa.large_string()), pa.array(texts).dictionary_encode(), pa.array(texts)]
    files(tmp_path / "same", *(plain.append_column("id", column) for column in columns))
    job(fast, tmp_path / "same", tmp_path / "out", keep=("id",))
    assert {str(part.schema.field("id").type) for part in parts(tmp_path / "out")} == {"string"}
    assert parts(tmp_path / "out")[2]["id"].to_pylist() == list(texts)


def test_text_and_paths_are_taken(rows, fast, tmp_path):
    frame, _ = rows
    data = files(tmp_path / "in", frame)
    given = [data, str(data), [data], [str(data / "0.parquet")], data / "0.parquet"]
    for i, (one, out) in enumerate(zip(given, [str, type(tmp_path)] * 3, strict=False)):
        assert job(fast, one, out(tmp_path / f"out{i}"), keep="a").n_rows == 400


def test_the_output_folder_is_not_the_input_folder(rows, fast, tmp_path):
    frame, _ = rows
    data = files(tmp_path / "in", frame)
    with pytest.raises(JobError, match=r"-o: .*in is the output folder"):
        job(fast, data, data)
    with pytest.raises(JobError, match=r"-o: .*in lies inside the output folder"):
        job(fast, data, tmp_path)
    with pytest.raises(JobError, match=r"-o: all files of .*\*.parquet lie inside the output folder"):
        job(fast, str(data / "*.parquet"), data)


def test_probabilities_are_the_models_own(rows, model, fast, tmp_path):
    frame, _ = rows
    data = files(tmp_path / "in", frame, frame[::-1])
    job(fast, data, tmp_path / "out", proba=True)
    expected = fast.predict_proba(frame)
    np.testing.assert_allclose(expected, model.predict_proba(frame), rtol=1e-12)
    part = parts(tmp_path / "out")[0]
    for k, label in enumerate(fast.classes_):
        assert np.array_equal(part[f"proba_{label}"], expected[:, k])
    assert np.array_equal(part["label"], model.predict(frame))
    before = [path.read_bytes() for path in sorted((tmp_path / "out").glob("part-*"))]
    next((tmp_path / "out").glob("part-00001*")).unlink()
    assert job(fast, data, tmp_path / "out", proba=True).n_before == 1
    assert before == [path.read_bytes() for path in sorted((tmp_path / "out").glob("part-*"))]
    with pytest.raises(JobError, match="another options"):
        job(fast, data, tmp_path / "out")


def test_bad_files_are_skipped_and_listed(rows, model, fast, tmp_path):
    frame, _ = rows
    data = files(tmp_path / "in", frame, frame.drop(columns="b"), frame, frame)
    (data / "2.parquet").write_bytes((data / "2.parquet").read_bytes()[:2000])
    report = job(fast, data, tmp_path / "out", skip_bad=True)
    assert [line.split("/")[-1].split(" ")[0] for line in report.skipped] == ["1.parquet", "2.parquet"]
    assert "'b'" in report.skipped[0]
    assert np.array_equal(labels(tmp_path / "out"), np.tile(model.predict(frame), 2))
    files(data, frame, frame)  # 1.parquet is put right; 0.parquet is written again, and was done
    with pytest.raises(JobError, match=r"0\.parquet is not what it was"):
        job(fast, data, tmp_path / "out", skip_bad=True)
    job(fast, data, tmp_path / "new", skip_bad=True)
    write_table(pa.Table.from_pandas(frame), data / "2.parquet")  # a file that was not done may change
    done = job(fast, data, tmp_path / "new")
    assert (done.n_before, done.n_done, done.skipped) == (3, 4, [])
