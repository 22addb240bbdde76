"""Rows from standard input, compressed files, kept columns and probabilities."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, run
from commands.test_process import ENVIRONMENT
from sklearn.linear_model import LogisticRegression

import wald

polars = pytest.importorskip("polars")


def table(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


def piped(content: bytes, *words: object) -> Any:
    return run(*words, content=content)


@pytest.fixture(scope="module")
def contents(files: Path) -> dict[str, bytes]:
    """The test rows in every format."""
    rows = np.load(files / "test.npy")
    parquet = io.BytesIO()
    polars.DataFrame({f"pixel{i}": column for i, column in enumerate(rows.T)}).write_parquet(parquet)
    plain = ",".join(f"pixel{i}" for i in range(64)) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    return {
        "npy": (files / "test.npy").read_bytes(),
        "svmlight": (files / "test.svm").read_bytes(),
        "parquet": parquet.getvalue(),
        "csv": plain.encode(),
        "tsv": plain.replace(",", "\t").encode(),
    }


def labels(files: Path) -> list[str]:
    return [str(label) for label in wald.load(files / "svc.wald").predict(np.load(files / "test.npy"))]


# ---- stdin and stdout ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["npy", "svmlight", "parquet", "csv", "tsv"])
@pytest.mark.parametrize("given", [True, False])
def test_rows_from_stdin(
    files: Path, contents: Any, kind: str, given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    words = ("predict", files / "svc.wald", "-", "-o", "-", *(("--format", kind) if given else ()))
    result = piped(contents[kind], *words)
    assert result.exit_code == 0, result.output
    assert [row[0] for row in table(result.stdout)[1:]] == labels(files)
    assert list(tmp_path.iterdir()) == []


def test_a_process_in_a_pipeline(files: Path, contents: Any) -> None:
    command = [sys.executable, "-m", "wald", "predict", str(files / "svc.wald"), "-", "-o", "-"]
    packed = gzip.compress(contents["csv"])
    result = subprocess.run(command, input=packed, capture_output=True, env=ENVIRONMENT, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert [row[0] for row in table(result.stdout.decode())[1:]] == labels(files)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_read_once(files: Path, contents: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "rows.npy"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(contents["npy"],))
    writer.start()
    result = done("predict", files / "svc.wald", pipe, "-o", "-")
    writer.join()
    assert [row[0] for row in table(result.stdout)[1:]] == labels(files)


def test_unsupported_formats_on_stdin(files: Path, contents: Any) -> None:
    words = ("predict", files / "svc.wald", "-", "-o", "-")
    for content, expected in (
        (b"", "standard input is empty"),
        (b"\x93NUMPY", "standard input is not an NPY file"),
        (b"PAR1", "standard input cannot be read as Parquet"),
        (gzip.compress(contents["npy"]), "standard input is packed by gzip"),
        (gzip.compress(contents["csv"])[:-2000], "standard input: "),
        (b"a,b\n1,2\n", "standard input has 2 columns"),
        (contents["csv"].replace(b"\n0", b"\nx", 1), "standard input, line 2, column 1 ('pixel0'): 'x"),
    ):
        result = piped(content, *words)
        assert result.exit_code == 2, result.output
        assert len(result.stderr.splitlines()) == 1
        assert expected in result.stderr
        assert "Traceback" not in result.output


def test_fit_and_bench_read_stdin_too(files: Path, tmp_path: Path) -> None:
    options = ("--risk", 0.05, "--cost", "units")
    result = piped(
        (files / "fit.npy").read_bytes(), "fit", files / "svc.skops", "-", "-o", tmp_path / "a.wald", *options
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "a.wald").read_bytes() == (files / "svc.wald").read_bytes()
    assert "name it" in refusal("fit", files / "svc.skops", files / "fit.npy", "-o", "-")


# ---- compressed files ----------------------------------------------------------------------------------------------

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
UNPACKERS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


@pytest.mark.parametrize("suffix", list(PACKERS))
@pytest.mark.parametrize("kind", ["csv", "svmlight", "tsv"])
def test_compressed_files(files: Path, contents: Any, tmp_path: Path, suffix: str, kind: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("wald.commands.rows.delimited.BLOCK", 1 << 13)
    data = tmp_path / f"rows.{kind}{suffix}"
    data.write_bytes(PACKERS[suffix](contents[kind]))
    out = tmp_path / f"labels.{'tsv' if kind == 'tsv' else 'csv'}{suffix}"
    done("predict", files / "svc.wald", data, "-o", out, "--cost")
    lines = UNPACKERS[suffix](out.read_bytes()).decode().splitlines()
    assert lines[0].split("\t" if kind == "tsv" else ",") == ["label", "cost"]
    assert [line.replace("\t", ",").split(",")[0] for line in lines[1:]] == labels(files)
    data.write_bytes(data.read_bytes()[:-40])
    assert str(data) in refusal("predict", files / "svc.wald", data, "-o", "-o.csv")


def test_formats_that_may_not_be_compressed(files: Path, contents: Any, tmp_path: Path) -> None:
    words = ("predict", files / "svc.wald")
    for kind in ("npy", "parquet"):
        data = tmp_path / f"rows.{kind}.gz"
        data.write_bytes(gzip.compress(contents[kind]))
        assert "Unpack it first" in refusal(*words, data, "-o", "-")
    assert "must end in" in refusal(*words, files / "test.npy", "-o", tmp_path / "labels.npy.gz")


# ---- columns that are kept -----------------------------------------------------------------------------------------


@pytest.fixture
def noted(files: Path, tmp_path: Path) -> Any:
    rows = np.load(files / "test.npy")
    notes = ["NA" if i % 5 == 0 else f'a "{i}", b' if i % 2 else "" for i in range(len(rows))]
    frame = polars.DataFrame({f"pixel{i}": column for i, column in enumerate(rows.T)})
    frame = frame.with_columns(polars.Series("id", np.arange(len(rows))), polars.Series("label", notes))
    frame.write_csv(tmp_path / "noted.csv")
    frame.write_parquet(tmp_path / "noted.parquet")
    np.save(tmp_path / "noted.npy", np.column_stack([np.arange(len(rows)), rows]))
    return notes


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_kept_columns(
    files: Path, tmp_path: Path, noted: Any, kind: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    if library == "pandas":
        monkeypatch.setattr("wald.commands.rows.delimited.find_spec", lambda name: name if name == "pandas" else None)
    monkeypatch.setattr("wald.commands.rows.delimited.BLOCK", 1 << 14)
    monkeypatch.setattr("wald.commands.rows.parquet.AT_ONCE", 64 * 50)
    words = ("predict", files / "svc.wald", tmp_path / f"noted.{kind}", "--keep", "id", "--keep", "label", "--cost")
    lines = table(done(*words, "-o", "-").stdout)
    assert lines[0] == ["id", "input_label", "label", "cost"]
    assert [line[0] for line in lines[1:]] == [str(i) for i in range(len(noted))]
    assert [line[1] for line in lines[1:]] == noted
    assert [line[2] for line in lines[1:]] == labels(files)
    done(*words, "-o", tmp_path / "out.parquet")
    frame = polars.read_parquet(tmp_path / "out.parquet")
    assert frame.columns == lines[0]
    assert frame["input_label"].to_list() == noted
    done(*words, "-o", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy")["input_label"].tolist() == noted


def test_kept_columns_by_position(files: Path, tmp_path: Path, noted: Any) -> None:
    lines = table(done("predict", files / "svc.wald", tmp_path / "noted.npy", "--keep", 0, "-o", "-").stdout)
    assert lines[0] == ["0", "label"]
    assert [float(line[0]) for line in lines[1:]] == list(range(len(noted)))
    words = ("predict", files / "svc.wald", files / "test.svm", "--keep", "0", "-o", "-")
    assert "--keep speaks of columns" in refusal(*words)
    words = ("predict", files / "svc.wald", tmp_path / "noted.csv", "--keep", "name", "-o", "-")
    assert "no column 'name'" in refusal(*words)


# ---- probabilities -------------------------------------------------------------------------------------------------


def test_probabilities(files: Path, tmp_path: Path, digits: Any) -> None:
    skops = pytest.importorskip("skops.io")
    model = LogisticRegression(C=0.01).fit(digits.X_train, digits.y_train)
    skops.dump(model, tmp_path / "model.skops")
    options = ("--risk", 0.05, "--cost", "units")
    done("fit", tmp_path / "model.skops", files / "fit.npy", "-o", tmp_path / "a.wald", *options)
    words = ("predict", tmp_path / "a.wald", files / "test.npy", "--proba", "-o")
    lines = table(done(*words, "-", "--model", tmp_path / "model.skops").stdout)
    assert table(done(*words, "-").stdout) == lines  # a file holds what a linear model needs
    assert lines[0] == ["label", *(f"proba_{label}" for label in model.classes_)]
    expected = model.predict_proba(np.load(files / "test.npy"))
    np.testing.assert_array_equal(np.array([line[1:] for line in lines[1:]], dtype=np.float64), expected)
    assert [line[0] for line in lines[1:]] == [
        str(label) for label in wald.load(tmp_path / "a.wald").predict(np.load(files / "test.npy"))
    ]


def test_a_model_without_probabilities(files: Path) -> None:
    words = ("predict", files / "svc.wald", files / "test.npy", "--proba", "-o", "-", "--model", files / "svc.skops")
    message = refusal(*words)
    assert "SVC has no probabilities" in message
    assert "CalibratedClassifierCV" in message


def test_json_still_parses(files: Path, tmp_path: Path, noted: Any) -> None:
    words = ("predict", files / "svc.wald", tmp_path / "noted.csv", "--keep", "id", "--drop", "label", "--json")
    facts = json.loads(done(*words, "-o", tmp_path / "out.csv.gz").stdout)
    assert facts["n_rows"] == len(noted)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_two_columns_of_one_name_are_not_handed_on_as_one(files: Path, tmp_path: Path, suffix: str) -> None:
    cells = [["id", "id", *(f"pixel{i}" for i in range(64))]]
    cells += [[f"a{i}", f"b{i}", *map(str, row)] for i, row in enumerate(np.load(files / "test.npy")[:5].tolist())]
    path = tmp_path / f"twice{suffix}"
    path.write_text("".join(("," if suffix == ".csv" else "\t").join(row) + "\n" for row in cells))
    words = ("predict", files / "svc.wald", path, "-o", "-")
    assert "more than one column called 'id'" in refusal(*words, "--keep", 0, "--keep", 1)
    lines = done(*words, "--keep", 1, "--drop", 0).stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", *(f"b{i}" for i in range(5))]
    assert f"--keep: {path} has 2 columns called 'id'. Say which: 0 or 1." in refusal(*words, "--keep", "id")
    assert done(*words, "--drop", "id").stdout == done(*words, "--drop", 0, "--drop", 1).stdout
