"""Inputs that do not fit, damaged files, folders in use: a message that names the file, and no part half written."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pytest
from jobs.material import answers, save, table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

pytest.importorskip("pyarrow")
import pyarrow
from pyarrow.parquet import write_table

from wald.jobs import JobError, Options, run
from wald.jobs.manifest import locked
from wald.jobs.scan import Table

WITH_COST = Options(cost=True)


def refused(case, data, out, match, **how):
    with pytest.raises(JobError, match=match):
        run(case.fast, [str(data)], out, **{"model": "m", "options": WITH_COST, **how})


def test_columns_in_another_order_count_by_position_without_names_and_by_name_with_them(case, folder, tmp_path):
    pandas = pytest.importorskip("pandas")
    import wald

    named = wald.EarlyExitClassifier(case.fast.estimator, risk=0.05, planner=wald.Planner(cost="units"), random_state=0)
    named.fit(pandas.DataFrame(case.rows, columns=case.names))
    save(folder / "f6.parquet", case.rows[:1000, ::-1], case.names[::-1])
    run(named, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    expected = named.predict(pandas.DataFrame(np.vstack([case.rows, case.rows[:1000]]), columns=case.names))
    assert np.array_equal(answers(tmp_path / "out")[0], expected)


def test_a_missing_column(case, folder, tmp_path):
    save(folder / "f9.parquet", case.rows[:, 1:], case.names[1:])
    refused(case, folder, tmp_path / "out", r"f9.parquet has 39 columns of features; the model takes 40")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("column", [["a"] * 10, [[1.0]] * 10, [{"x": 1.0}] * 10], ids=["text", "list", "struct"])
def test_columns_of_another_type(case, folder, tmp_path, column):
    rows = table(case.rows[:10], case.names).set_column(3, "c3", pyarrow.array(column))
    write_table(rows, folder / "f9.parquet")
    refused(case, folder, tmp_path / "out", r"f9.parquet: no numbers in 'c3'")


@pytest.mark.parametrize(
    ("cities", "message"),
    [
        (
            pyarrow.array([b"Brno"] * 10),
            r"takes categories in the column 'city', and the file holds binary\.$",
        ),
        (pyarrow.array(range(10)), r"categories are texts, and the file holds 0\. 0 of 1 parts are whole in "),
    ],
    ids=["bytes", "numbers"],
)
def test_a_column_of_categories_of_another_type(cities, message, tmp_path):
    pandas = pytest.importorskip("pandas")
    from sklearn.ensemble import HistGradientBoostingClassifier

    import wald

    frame = pandas.DataFrame({"age": np.arange(100.0), "city": pandas.Categorical(["Brno", "Cluj"] * 50)})
    model = HistGradientBoostingClassifier(max_iter=2).fit(frame, [0, 1] * 50)
    exact = wald.EarlyExitClassifier(model, risk=0).fit()
    write_table(pyarrow.table({"age": pyarrow.array(np.arange(10.0)), "city": cities}), tmp_path / "f.parquet")
    with pytest.raises(JobError, match=message):
        run(exact, tmp_path / "f.parquet", tmp_path / "out", model="m", options=Options())


def test_a_truncated_file_is_found_before_any_work(case, folder, tmp_path):
    raw = (folder / "f3.parquet").read_bytes()
    (folder / "f3.parquet").write_bytes(raw[: len(raw) // 2])
    refused(case, folder, tmp_path / "out", "f3.parquet cannot be read as Parquet")


def test_a_corrupt_row_group_leaves_what_was_done(case, folder, tmp_path):
    from pyarrow.parquet import ParquetFile

    raw = bytearray((folder / "f3.parquet").read_bytes())
    group = ParquetFile(folder / "f3.parquet").metadata.row_group(1)
    for c in range(40):
        chunk = group.column(c)
        begin = chunk.dictionary_page_offset or chunk.data_page_offset
        raw[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    (folder / "f3.parquet").write_bytes(raw)
    refused(
        case, folder, tmp_path / "out", "f3.parquet, row group 1 cannot be read as Parquet.* 3 of 6 parts are whole"
    )
    assert [p.name for p in sorted((tmp_path / "out").glob("*part*"))] == [
        f"part-0000{i}-f{i}.parquet" for i in range(3)
    ]
    assert not list((tmp_path / "out").glob("*.tmp"))


def test_a_row_group_with_fewer_rows_than_announced(case, folder, tmp_path, monkeypatch):
    blocks = Table.blocks
    monkeypatch.setattr(Table, "blocks", lambda *given, **how: list(blocks(*given, **how))[1:])
    refused(case, folder, tmp_path / "out", r"is damaged: it announces \d+ rows there, and holds 0\.")
    assert not list((tmp_path / "out").glob("part*"))


def test_values_that_are_no_numbers(case, folder, tmp_path):
    rows = case.rows[:1000].copy()
    rows[:] = np.nan
    save(folder / "f3.parquet", rows, case.names)
    refused(case, folder, tmp_path / "out", "f3.parquet, row group 0: .*NaN")


def test_nothing_there(case, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(case, tmp_path / "empty", tmp_path / "out", "there is no Parquet file in this folder")
    refused(case, tmp_path / "*.parquet", tmp_path / "out", "no file has such a name")
    refused(case, tmp_path / "lost.parquet", tmp_path / "out", "No such file")


def test_a_file_given_twice(case, folder, tmp_path):
    with pytest.raises(JobError, match=r"f1.parquet is given twice"):
        run(case.fast, [str(folder), str(folder / "f1.parquet")], tmp_path / "out", model="m", options=WITH_COST)


def test_files_in_folders_that_are_not_for_readers_are_left_out(case, folder, tmp_path):
    before = sum(1 for _ in folder.glob("*.parquet"))
    hidden = ("_temporary/0/f.parquet", ".part/f.parquet", "_SUCCESS", ".x=1.parquet", ".y=1/f.parquet", "_z=2.parquet")
    for name in hidden:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"half a file")
    (folder / "_day=1").mkdir()  # a column
    shutil.copy(folder / "f1.parquet", folder / "_day=1" / "f1.parquet")
    report = run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    assert report.n_rows > len(case.rows)
    assert report.n_parts == before + 1


@pytest.mark.parametrize("wrong", [None, 3, "m.wald", SVC()], ids=["None", "3", "path", "SVC"])
def test_arguments_of_another_kind_are_named(case, folder, tmp_path, wrong):
    with pytest.raises(TypeError, match=rf"^fast must be a fitted .*\. Got {type(wrong).__name__}(\.$|: wrap it)"):
        run(wrong, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    with pytest.raises(TypeError, match=r"^data must be a list of files and folders\. Got (NoneType|int)\."):
        run(case.fast, wrong if wrong is None else 3, tmp_path / "out", model="m", options=WITH_COST)
    with pytest.raises(NotFittedError):
        run(clone(case.fast), [str(folder)], tmp_path / "out", model="m", options=WITH_COST)


def test_two_jobs_in_one_folder(case, folder, tmp_path):
    with locked(tmp_path / "out"):
        refused(case, folder, tmp_path / "out", rf"another job writes into .* \(process {os.getpid()} on ")
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)


def test_a_lock_of_a_dead_process_is_free_and_one_of_another_machine_is_not(case, folder, tmp_path):
    import socket

    (tmp_path / "out").mkdir()
    lock = tmp_path / "out" / ".wald.lock"
    lock.write_text("process 1 on elsewhere")
    refused(case, folder, tmp_path / "out", "on another machine")
    lock.write_text(f"process 999999999 on {socket.gethostname()}")
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)


def test_a_folder_of_another_job_or_of_other_files(case, folder, tmp_path):
    out = tmp_path / "out"
    run(case.fast, [str(folder)], out, model="m", options=WITH_COST)
    refused(case, folder, out, "another model", model="n")
    refused(case, folder, out, "another options", options=Options())
    save(folder / "f6.parquet", case.rows[:10], case.names)
    refused(case, folder, out, "there were 6 parts to make, and there are 7 now")
    (folder / "f6.parquet").unlink()
    save(folder / "f2.parquet", case.rows[:999], case.names)
    refused(case, folder, out, "f2.parquet is not what it was")
    report = run(case.fast, [str(folder)], out, model="n", options=Options(), force=True)
    assert report.n_before == 0
    assert len(list(out.glob("part-*"))) == 6
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x")
    refused(case, folder, tmp_path / "mine", "holds files that are no job of wald")


def test_a_damaged_manifest(case, folder, tmp_path):
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    (tmp_path / "out" / "_wald.json").write_text('{"asked"')
    refused(case, folder, tmp_path / "out", "_wald.json is damaged")
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST, force=True)


def test_output_below_the_input_is_no_input(case, folder):
    for _ in range(2):
        report = run(case.fast, [str(folder)], folder / "out", model="m", options=WITH_COST)
    assert (report.n_parts, report.n_before) == (6, 6)


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid"), reason="folders have modes on POSIX only")
def test_a_path_that_cannot_be_written(case, folder, tmp_path):
    (tmp_path / "file").write_text("x")
    refused(case, folder, tmp_path / "file" / "out", "-o: .*file/out")


def test_a_full_disk_leaves_whole_parts_only(case, folder, tmp_path, monkeypatch):
    real, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    refused(
        case, folder, tmp_path / "out", "No space left on device. 2 of 6 parts are whole in .*; the same command goes"
    )
    assert len(list((tmp_path / "out").glob("part-*"))) == 2
    assert not list((tmp_path / "out").glob("*.tmp"))
    report = run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    assert report.n_before == 2
    shutil.rmtree(tmp_path / "out")
