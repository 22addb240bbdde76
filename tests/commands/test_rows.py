"""Reading data files: every format gives the same numbers, and errors name the place of the damage."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

pytest.importorskip("typer")
pytest.importorskip("rich")

from wald.commands.errors import UserError
from wald.commands.rows import Reading, RowSchema, delimited, read, read_whole

ROWS = np.random.default_rng(0).normal(size=(40, 3)) * 10.0 ** np.random.default_rng(1).integers(-9, 9, (40, 3))
NAMES = ("a", "b", "c")
BY_PLACE, BY_NAME = RowSchema(3), RowSchema(3, NAMES)
TRANSFORMS = RowSchema(3, NAMES, transforms=True)
HOLES = RowSchema(3, None, allow_nan=True)


def without(*names: str) -> Callable[[str], Any]:
    really = importlib.util.find_spec
    return lambda name: None if name in names else really(name)


@pytest.fixture(params=["polars", "pandas"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the reader of text tables find only one library of data frames; without polars, it parses cell by cell."""
    pytest.importorskip(request.param)
    others = {"polars", "pandas"} - {request.param}
    monkeypatch.setattr("wald.commands.rows.delimited.find_spec", without(*others))
    monkeypatch.setattr("wald.commands.rows.find_spec", without(*others))
    return str(request.param)


needs_frames = pytest.mark.skipif(
    not any(importlib.util.find_spec(name) for name in ("polars", "pandas")), reason="neither polars nor pandas"
)


@pytest.fixture
def text(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "rows.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def csv_of(rows: Any, header: str | None = "a,b,c") -> str:
    lines = [",".join(repr(float(v)) for v in row) for row in rows]
    return "\n".join([*([header] if header else []), *lines]) + "\n"


def refusal(path: Path, schema: RowSchema = BY_PLACE, reading: Reading = Reading()) -> str:  # noqa: B008
    with pytest.raises(UserError) as caught:
        read_whole(path, schema, reading)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["a,b,c", None, "0,1,2"])
def test_csv_gives_the_same_bits(text: Any, library: str, header: str | None) -> None:
    part = read_whole(text(csv_of(ROWS, header)), BY_PLACE, Reading())
    np.testing.assert_array_equal(part.rows, ROWS)
    assert part.rows.dtype == np.float64


NUMBERS = st.floats(-1e300, 1e300).flatmap(
    lambda x: st.sampled_from([repr(x), f"{x:.3e}", f" {x!r} ", f'"{x!r}"', f"{x:+.17g}", "NA", ""])
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_every_way_of_writing_a_number_is_read_as_python_reads_it(text: Any, library: str, cells: Any) -> None:
    path = text("a,b,c\r\n" + "\r\n".join(",".join(row) for row in cells))
    meant = [[float("nan") if cell in ("", "NA") else float(cell.strip('"')) for cell in row] for row in cells]
    np.testing.assert_array_equal(read_whole(path, HOLES, Reading()).rows, meant)


def test_csv_in_blocks(text: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 200)
    parts = list(read(text(csv_of(ROWS)), BY_PLACE, Reading()))
    assert len(parts) > 5
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), ROWS)
    done = [part.done for part in parts]
    assert done == sorted(done)
    assert done[-1] == 1.0


def test_columns_are_matched_by_name(text: Any, library: str) -> None:
    lines = "".join(f'{c!r},"id, {i}",{a!r},{b!r}\r\n' for i, (a, b, c) in enumerate(ROWS.tolist()))
    path = text("\ufeffc,id,a,b\r\n" + lines)
    frame = read_whole(path, BY_NAME, Reading(drop=("id",))).rows
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == list(NAMES)
    np.testing.assert_array_equal(frame.to_numpy(), ROWS)


def test_quoted_cells_may_hold_line_ends(text: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 10)
    lines = "".join(f'"note\n{i}\n",{a!r},{b!r},{c!r}\n' for i, (a, b, c) in enumerate(ROWS.tolist()))
    path = text("note,a,b,c\n" + lines)
    part = read_whole(path, BY_NAME, Reading(drop=("note",)))
    np.testing.assert_array_equal(part.rows.to_numpy(), ROWS)


def test_an_open_quote_is_an_error(text: Any, library: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="line 2: unexpected end of data"):
        read_whole(text(',,\n"'), HOLES, Reading(header=False))
    assert capfd.readouterr().err == ""  # polars would panic, and say so there


def test_groups_are_taken_aside(text: Any, library: str) -> None:
    path = text("user,a,b,c\nNA,1,2,3\nu2,4,5,6\n")
    part = read_whole(path, BY_PLACE, Reading(groups="user"))
    assert part.groups is not None
    assert part.groups.tolist() == ["NA", "u2"]
    np.testing.assert_array_equal(part.rows, [[1, 2, 3], [4, 5, 6]])


def test_missing_cells_where_the_model_has_an_answer(text: Any, library: str) -> None:
    path = text("\n\n1, 2 ,\n\nNA,5,nan\nnull,8,9\n")
    expected = [[1, 2, np.nan], [np.nan, 5, np.nan], [np.nan, 8, 9]]
    np.testing.assert_array_equal(read_whole(path, HOLES, Reading(header=False)).rows, expected)


@pytest.mark.parametrize("short", [False, True])
def test_short_lines_are_no_missing_cells(text: Any, library: str, short: bool) -> None:
    path = text("a,b,c\n1,,3\n4,5,6\n" + "7,8\n" * short)
    if short:  # polars fills such lines
        assert "line 4 has 2 cells; the lines above have 3" in refusal(path, HOLES)
    else:
        np.testing.assert_array_equal(read_whole(path, HOLES, Reading()).rows, [[1, np.nan, 3], [4, 5, 6]])


def test_empty_lines_of_one_column_are_no_rows(text: Any, library: str) -> None:
    rows = read_whole(text("a\n1\n\nNA\n"), RowSchema(1, None, allow_nan=True), Reading(header=True)).rows
    np.testing.assert_array_equal(rows, [[1], [np.nan]])


def test_tabs(text: Any, library: str) -> None:
    path = text("a\tb\tc\n1\t2\t3\n", "rows.tsv")
    np.testing.assert_array_equal(read_whole(path, BY_PLACE, Reading()).rows, [[1, 2, 3]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parquet(tmp_path: Path, dtype: Any) -> None:
    polars = pytest.importorskip("polars")
    path = tmp_path / "rows.parquet"
    rows = ROWS.astype(dtype)
    polars.DataFrame({"c": rows[:, 2], "user": ["u"] * 40, "b": rows[:, 1], "a": rows[:, 0]}).write_parquet(path)
    part = read_whole(path, BY_NAME, Reading(groups="user"))
    np.testing.assert_array_equal(part.rows.to_numpy(), rows)
    assert part.rows.to_numpy().dtype == dtype
    assert part.groups is not None
    assert set(part.groups) == {"u"}


def test_parquet_with_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("wald.commands.rows.parquet.find_spec", without("polars"))
    monkeypatch.setattr("wald.commands.rows.parquet.AT_ONCE", 21)
    path = tmp_path / "rows.parquet"
    table = {"a": ROWS[:, 0], "b": [None, *range(39)], "c": np.arange(40) % 2 == 0, "user": ["u"] * 40}
    parquet.write_table(arrow.table(table), path)
    schema = RowSchema(3, NAMES, allow_nan=True)
    parts = list(read(path, schema, Reading(groups="user")))
    assert len(parts) == 6
    rows = np.concatenate([part.rows.to_numpy() for part in parts])
    np.testing.assert_array_equal(rows, np.column_stack([ROWS[:, 0], [np.nan, *range(39)], np.arange(40) % 2 == 0]))
    assert parts[0].groups is not None
    assert parts[0].groups.tolist() == ["u"] * 7
    path.write_bytes(path.read_bytes()[:-20])
    assert "cannot be read as Parquet" in refusal(path, schema, Reading(groups="user"))


def test_parquet_in_batches_with_holes_and_booleans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr("wald.commands.rows.parquet.AT_ONCE", 6)
    path = tmp_path / "rows.parquet"
    polars.DataFrame({"a": [1, None, 3], "b": [True, False, None], "c": [1.5, 2.5, 3.5]}).write_parquet(path)
    parts = list(read(path, HOLES, Reading()))
    assert [len(part.rows) for part in parts] == [2, 1]
    expected = [[1, 1, 1.5], [np.nan, 0, 2.5], [3, np.nan, 3.5]]
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_npy_is_mapped(tmp_path: Path, dtype: Any, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.asarray(np.clip(ROWS, -9, 9), dtype=dtype, order=order)
    np.save(tmp_path / "rows.npy", rows)
    part = read_whole(tmp_path / "rows.npy", BY_PLACE, Reading())
    assert isinstance(part.rows, np.memmap)
    np.testing.assert_array_equal(part.rows, rows)
    monkeypatch.setattr("wald.commands.rows.arrays.AT_ONCE", 21)
    parts = list(read(tmp_path / "rows.npy", BY_PLACE, Reading()))
    assert [len(part.rows) for part in parts] == [7, 7, 7, 7, 7, 5]
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), rows)


def test_npy_drop_and_groups_by_position(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.column_stack([ROWS[:, 0], np.arange(40), ROWS[:, 1:], np.zeros(40)]))
    part = read_whole(tmp_path / "rows.npy", BY_PLACE, Reading(drop=("4",), groups="1"))
    np.testing.assert_array_equal(part.rows, ROWS)
    np.testing.assert_array_equal(part.groups, np.arange(40))


@needs_frames
def test_rows_without_names_for_a_model_with_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    frame = read_whole(tmp_path / "rows.npy", BY_NAME, Reading()).rows
    assert list(frame.columns) == list(NAMES)
    assert "in the model's order" in capsys.readouterr().err


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_svmlight(tmp_path: Path, zero_based: bool, given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.svm"
    sparse = np.where(np.arange(120).reshape(40, 3) % 2 == 0, ROWS, 0)
    dump_svmlight_file(sparse, np.zeros(40), str(path), zero_based=zero_based)
    monkeypatch.setattr("wald.commands.rows.svmlight.AT_ONCE", 20)
    parts = list(read(path, BY_PLACE, Reading(zero_based=zero_based if given else None)))
    assert len(parts) > 2
    rows = np.concatenate([part.rows.toarray() for part in parts])
    np.testing.assert_allclose(rows, sparse, rtol=1e-14)
    dense = list(read(path, RowSchema(3, sparse=False), Reading(zero_based=zero_based)))
    assert len(dense) > 2
    np.testing.assert_allclose(np.concatenate([part.rows for part in dense]), sparse, rtol=1e-14)
    wide = read_whole(path, RowSchema(7), Reading(zero_based=zero_based)).rows
    assert wide.shape == (40, 7)


@needs_frames
def test_format_overrides_the_suffix(text: Any) -> None:
    path = text(csv_of(ROWS), "rows.txt")
    np.testing.assert_array_equal(read_whole(path, BY_PLACE, Reading(format="csv")).rows, ROWS)


# ---- mistakes ------------------------------------------------------------------------------------------------------

WORDS = (
    ("a,b,c\n1,2,3\n4,x,6\n", BY_PLACE, "line 3, column 2 ('b'): 'x' is not a number"),
    ("a,b,c\n1,2,x\n", TRANSFORMS, "'x' is not a number. The command line takes rows of numbers"),
    ("7,2,3\n4,5,1_0\n", BY_PLACE, "line 2, column 3: '1_0' is not a number"),
    ("a,b,c\n1,2,3\n\n4,,6\n", BY_PLACE, "line 4, column 2 ('b'): no number (NaN)"),
    ("\n\na,b,c\n\n1,2,inf\n", BY_PLACE, "line 5, column 3 ('c'): inf is not finite"),
    ("a,b,c\n1,2,-inf\n", HOLES, "line 2, column 3 ('c'): -inf is not finite"),
    ("a,b,c\n1,2\n", BY_PLACE, "line 2 has 2 cells; the lines above have 3"),
    ("a,b,c\n1,2\n", HOLES, "line 2 has 2 cells; the lines above have 3"),
    ("a,b,c\n1,2,3\n1,2,3,4\n", BY_PLACE, "line 3 has 4 cells; the lines above have 3"),
    ("a,b,c\n1,2,3,4\n1,2,3,4\n", BY_PLACE, "line 2 has 4 cells; the lines above have 3"),
    ("a,b\n1,2\n", BY_PLACE, "has 2 columns of features; the model takes 3"),
    (
        "a,b,c,y\n1,2,3,4\n",
        BY_PLACE,
        "the model takes 3. Leave out what is no feature ('y'?)",
    ),
    ("1,2,3,4\n", BY_PLACE, "has 4 columns of features; the model takes 3"),
    ("a,c,y\n1,2,3\n", BY_NAME, "lacks the column 'b' that the model reads. It has 'a', 'c', 'y'"),
    ("a,b,b,c\n1,2,3,4\n", BY_NAME, "the column 'b' more than once"),
    ("1,2,3\n", BY_NAME, "Say --header if they are names"),
    ("", BY_PLACE, "is empty"),
    ("\n \n\n", BY_PLACE, "is empty"),
    ("a,b,c\n", BY_PLACE, "has column names, and no rows"),
    ("a,b,c\n1,2,3\n".encode("utf-16"), BY_PLACE, "UTF-16"),
    ("a,b,c\n1,2,3\n4,\xe9,6\n".encode("latin-1"), BY_PLACE, "line 3: byte 0xe9 is not UTF-8"),
    ('a,b,c\n1,2,3\n4,"5,6\n', BY_PLACE, "line 3"),
)


@pytest.mark.parametrize(("content", "schema", "words"), WORDS)
def test_errors_in_a_csv_are_reported_with_their_place(
    text: Any, library: str, content: Any, schema: RowSchema, words: str
) -> None:
    path = text(content)
    message = refusal(path, schema)
    assert words in message
    assert str(path) in message


def test_lines_are_counted_across_blocks(text: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK", 100)
    assert "line 42, column 1 ('a')" in refusal(text(csv_of(ROWS) + "oops,2,3\n"))


@needs_frames
@pytest.mark.parametrize("option", ["--drop", "--groups"])
def test_columns_that_are_not_there(text: Any, option: str) -> None:
    reading = Reading(drop=("id",)) if option == "--drop" else Reading(groups="id")
    assert refusal(text(csv_of(ROWS)), BY_PLACE, reading).startswith(f"{option}: ")


def test_text_tables_need_no_library(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("wald.commands.rows.delimited.find_spec", "wald.commands.rows.find_spec"):
        monkeypatch.setattr(where, without("polars", "pandas", "pyarrow"))
    np.testing.assert_array_equal(read_whole(text(csv_of(ROWS)), BY_PLACE, Reading()).rows, ROWS)


def test_no_library_for_parquet(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.commands.rows.parquet.find_spec", without("polars", "pyarrow"))
    assert "polars or pyarrow" in refusal(text("", "rows.parquet"))


def test_no_library_for_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    monkeypatch.setattr("wald.commands.rows.find_spec", without("polars", "pandas"))
    assert "pip install pandas" in refusal(tmp_path / "rows.npy", BY_NAME)


@pytest.mark.parametrize("name", ["", "a"])
def test_parquet_with_a_name_twice(name: str, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    columns = [arrow.array([1.0]), arrow.array([2.0]), arrow.array([3.0])]
    parquet.write_table(arrow.table(columns, names=[name, "b", name]), path)
    assert f"has more than one column called {name!r}, and columns are read by name" in refusal(path)


def test_parquet_mistakes(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    path = tmp_path / "rows.parquet"
    polars.DataFrame({"a": [1.0], "b": ["x"], "c": [1.0]}).write_parquet(path)
    assert "no numbers in 'b' (the first: " in refusal(path)
    assert "--drop COLUMN" in refusal(path)
    assert refusal(path, BY_NAME).endswith("The model takes numbers in these columns.")
    assert "without names of columns; fit it on a data frame" in refusal(path, TRANSFORMS)
    polars.DataFrame({"a": [1.0, 2.0], "b": [1, None], "c": [1.0, 1.0]}).write_parquet(path)
    assert "row 1 (from 0), column 'b': no number (NaN)" in refusal(path)
    polars.DataFrame({"a": [1.0], "b": [1]}).write_parquet(path)
    assert "lacks the column 'c' that the model reads" in refusal(path, BY_NAME)
    polars.DataFrame({"a": [], "b": [], "c": []}, schema=dict.fromkeys("abc", polars.Float64)).write_parquet(path)
    assert "no rows" in refusal(path)
    for content in (b"", b"PAR1 no parquet PAR1"):
        path.write_bytes(content)
        assert "cannot be read as Parquet" in refusal(path)


def test_npy_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    for array, words in (
        (np.array([[1, "x", None]], dtype=object), "Python objects"),
        (np.array([["1", "2", "3"]]), "no real numbers"),
        (np.ones((2, 3)) * 1j, "no real numbers"),
        (np.ones(3), "shape (3,)"),
        (np.ones((0, 3)), "is empty"),
        (np.ones((2, 4)), "has 4 columns of features; the model takes 3"),
        (np.array([[0, 1, 2], [3, np.nan, 5]]), "row 1 (from 0), column 1 (from 0): no number (NaN)"),
        (np.array([[0, 1, np.inf]]), "row 0 (from 0), column 2 (from 0): inf"),
    ):
        np.save(path, array, allow_pickle=True)
        assert words in refusal(path)
    np.save(path, ROWS)
    whole = path.read_bytes()
    for content in (b"", b"\x93NUMPY", b"no numpy file at all", whole[:-9]):
        path.write_bytes(content)
        message = refusal(path)
        assert "not an NPY file" in message or "damaged" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("1 1:0.5 2:x\n", "line 1: '2:x' is not INDEX:VALUE"),
        ("1 1:0.5\n# nothing\n1 2:3 a:1\n", "line 3: 'a:1' is not INDEX:VALUE"),
        ("spam 1:0.5\n", "line 1: the label 'spam' is not a number"),
        ("1 1:1\n1 2:1 1:1\n", "line 2: the index 1 comes after 2"),
        ("1 1:1 5:1\n", "line 1: the index 5 is beyond the model's 3 features"),
        ("1 0:1 3:1\n", "line 1: the index 3 is beyond the model's 3 features"),
        ("1 " + "1" * 5000 + ":1\n", "…' is not INDEX:VALUE"),
        ("1 1:nan\n", "line 1, index 1: no number (NaN)"),
        ("1 1:1\n1 2:inf\n", "line 2, index 2: inf is not finite"),
    ],
)
def test_svmlight_mistakes(text: Any, content: str, words: str) -> None:
    assert words in refusal(text(content, "rows.svm"))


def test_svmlight_has_no_columns_to_drop(text: Any) -> None:
    path = text("1 1:1\n", "rows.svm")
    assert refusal(path, BY_PLACE, Reading(drop=("0",))).startswith("--drop")
    assert refusal(path, BY_PLACE, Reading(groups="0")).startswith("--groups")


def test_files_that_are_none(tmp_path: Path, text: Any) -> None:
    assert "No such file" in refusal(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "directory" in refusal(tmp_path / "folder.csv")
    assert "suffix '.xlsx'" in refusal(text("", "rows.xlsx"))
    assert "--format must be one of" in refusal(text("", "rows.csv"), BY_PLACE, Reading(format="excel"))
