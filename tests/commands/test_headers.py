"""Header rows and separators of text tables: detected, or refused in case of doubt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")

from commands.running import done, refusal

from wald.commands.errors import UserError
from wald.commands.rows import Reading, RowSchema, read_whole

DOUBT = "may be column names or a row of numbers"


def rows_of(tmp_path: Path, content: str, schema: RowSchema, name: str = "rows.csv", **words: Any) -> Any:
    path = tmp_path / name
    path.write_text(content)
    return read_whole(path, schema, Reading(**words)).rows


@pytest.mark.parametrize(
    ("content", "n_features"),
    [
        ("0,1,2\n0.5,1.5,2.5\n", 3),  # a row would hardly count, and its column has fractions
        ("0,1,2,3,4,5,6,7\n3,1,2,3,4,5,6,7\n", 8),
        (",0,1\n0,3,5\n", 2),  # as pandas writes an index
        ("0,1,label\n3,4,1\n", 2),  # a text above a number
        ("x,y,1\n3,4,1\n", 2),
        ("a,b\n1,2\n", 2),
        ('"a",\n1,2\n', 2),
    ],
)
def test_names_that_are_beyond_doubt(tmp_path: Path, content: str, n_features: int) -> None:
    first = content.split("\n")[0].split(",")
    drop = () if len(first) == n_features else (first[0],) if first[0] == "" else (first[-1],)
    assert rows_of(tmp_path, content, RowSchema(n_features), drop=drop).shape == (1, n_features)


@pytest.mark.parametrize(
    "content",
    [
        "5.1,3.5,1.4\n4.9,3.0,1.4\n",
        "0,0,5\n0,1,2\n",
        "2,1,0\n1,1,1\n",
        "1.5,2.5\n0.5,7\n",
        "7\n1.5\n",
        "-1,0.5,7\n3,2,1\n",
    ],
)
def test_rows_that_are_beyond_doubt(tmp_path: Path, content: str) -> None:
    rows = rows_of(tmp_path, content, RowSchema(content.split("\n")[0].count(",") + 1))
    assert len(rows) == 2


@pytest.mark.parametrize(
    "content",
    [
        "0,1,2\n3,1,2\n",  # counts from 0, and so might a row of whole numbers
        "0,1\n0.5,3\n",
        "0\n1\n",
        "1,2,3\n0.1,0.2,0.3\n",
        "1.0,2.0\n5.5,2.5\n",
        "0.0,1.0,2.0\n5.5,2.5,1\n",
        "400,402.5,405.0\n1,2,0.5\n",  # equal steps, as of wavelengths
        "400,405.3,412,413,420\n1,0.5,3,2,1\n",  # rising, above a line that is not
        "10,40,30\n1.5,2.5,3.5\n",  # whole numbers above fractions
        "0,1,2\n",
        "u1,5.1,3.5\nu2,4.9,3.0\n",  # text above text and numbers above numbers: perhaps an identifier
        "5,?,3,1\n1,2,3,4\n",
    ],
)
def test_both_readings_are_reported_in_case_of_doubt(tmp_path: Path, content: str) -> None:
    first = content.split("\n")[0].split(",")
    d = len(first)
    with pytest.raises(UserError, match=DOUBT) as caught:
        rows_of(tmp_path, content, RowSchema(d))
    assert "--header" in str(caught.value)
    assert "--no-header" in str(caught.value)
    n = content.count("\n")
    if n > 1 and all(cell.replace(".", "").isdigit() for cell in first):
        assert rows_of(tmp_path, content, RowSchema(d), header=True).shape == (n - 1, d)
        assert rows_of(tmp_path, content, RowSchema(d), header=False).shape == (n, d)


def test_the_models_names_or_an_options_make_names_of_numbers(tmp_path: Path) -> None:
    named = RowSchema(2, ("1.0", "2.0"))
    assert rows_of(tmp_path, "2.0,1.0\n5.5,2.5\n", named).to_numpy().tolist() == [[2.5, 5.5]]
    by_place = rows_of(tmp_path, "7,1.0\n5.5,2.5\n", named)  # no names: in the model's order
    assert by_place.to_numpy().tolist() == [[7, 1], [5.5, 2.5]]
    assert rows_of(tmp_path, "id,5.1,3.5\nu2,4.9,3.0\n", RowSchema(2), drop=("id",)).tolist() == [[4.9, 3.0]]


def test_a_wrong_number_of_columns_is_reported_first(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has 3 columns of features; the model takes 4"):
        rows_of(tmp_path, "1,2,3\n4,5,6\n", RowSchema(4))


def test_as_many_labels_as_rows_on_the_command_line(files: Path, tmp_path: Path) -> None:
    rows = np.load(files / "test.npy")
    lines = "".join(",".join(map(repr, map(float, row))) + "\n" for row in rows)
    (tmp_path / "counted.csv").write_text(",".join(map(str, range(64))) + "\n" + lines)
    (tmp_path / "doubt.csv").write_text(",".join(f"{i}.0" for i in range(64)) + "\n" + lines)
    words = ("predict", files / "svc.wald", tmp_path / "doubt.csv", "-o", "-")
    counted = done("predict", files / "svc.wald", tmp_path / "counted.csv", "-o", "-").stdout
    assert counted.count("\n") == 1 + len(rows)
    assert DOUBT in refusal(*words)
    assert done(*words, "--header").stdout == counted
    assert done(*words, "--no-header").stdout.count("\n") == 2 + len(rows)
    for command in (
        ("fit", files / "svc.skops", tmp_path / "doubt.csv", "-o", tmp_path / "a.wald"),
        ("bench", files / "svc.wald", tmp_path / "doubt.csv", "--model", files / "svc.skops"),
    ):
        assert DOUBT in refusal(*command)


# ---- separators ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_the_first_line_determines_the_separator(tmp_path: Path, separator: str) -> None:
    content = "a,b,c\n1,2,3\n4,5,6\n".replace(",", separator)
    for schema in (RowSchema(3), RowSchema(3, ("c", "a", "b"))):
        rows = np.asarray(rows_of(tmp_path, content, schema))
        assert sorted(rows[0]) == [1, 2, 3]
    assert rows_of(tmp_path, content.partition("\n")[2].replace("1", "7"), RowSchema(3)).tolist() == [
        [7, 2, 3],
        [4, 5, 6],
    ]


def test_separators_in_doubt_are_refused(tmp_path: Path) -> None:
    content = "7,5;2,5;9\n1,5;2,5;0\n"  # three numbers with decimal commas, or 7, "5;2", "5;9"
    with pytest.raises(UserError, match="--separator"):
        rows_of(tmp_path, content, RowSchema(3))
    with pytest.raises(UserError, match="'7,5' is not a number"):
        rows_of(tmp_path, content, RowSchema(3), separator=";", header=False)
    text = "id;name,a,b\nx;y,1,2\n"
    assert rows_of(tmp_path, text, RowSchema(2), drop=("id;name",)).tolist() == [[1, 2]]


def test_separators_by_name(tmp_path: Path, files: Path) -> None:
    for word, character in (("tab", "\t"), ("semicolon", ";"), (" ", " "), ("#", "#")):
        content = "a,b\n1,2\n".replace(",", character)
        assert rows_of(tmp_path, content, RowSchema(2), separator=word).tolist() == [[1, 2]]
    words = ("predict", files / "svc.wald", files / "test.npy", "-o", "-", "--separator")
    assert "one character" in refusal(*words, "::")
    assert "one character" in refusal(*words, "7")
    assert "speaks of text tables" in refusal(*words, ";")
