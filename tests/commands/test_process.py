"""The command line in a separate process: streams, exit codes, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands.running import done

import wald

COMMAND = [sys.executable, "-m", "wald.cli"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(wald.__file__).parents[1]), "COLUMNS": "40"}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)  # users buffer their output


def process(*words: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False)


@pytest.mark.slow
def test_json_alone_is_on_stdout(files: Path) -> None:
    result = process("inspect", files / "svc.wald", "--json")
    assert result.returncode == 0
    assert result.stderr == ""
    assert json.loads(result.stdout)["certificate"]["holds"] is True


def test_help_names_every_command_and_code() -> None:
    result = done("--help")
    for word in ("fit", "predict", "inspect", "bench", "demo", "Exit codes"):
        assert word in result.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals elsewhere")
def test_progress_is_shown_on_terminals_only(files: Path, tmp_path: Path) -> None:
    words = ["predict", files / "svc.wald", files / "test.npy", "-o", tmp_path / "labels.csv"]
    piped = process(*words)
    assert piped.stderr.startswith("397 rows, ")
    ours, theirs = os.openpty()
    terminal = ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "80"}
    command = [*COMMAND, *map(str, words), "--force"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=terminal) as running:
        os.close(theirs)
        stdout = running.communicate(timeout=120)[0]
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert running.returncode == 0
    assert stdout == b""
    assert "predicting" in shown
    assert "100%" in shown


def test_a_mistake_is_one_line_on_stderr(files: Path, tmp_path: Path) -> None:
    result = process("predict", files / "svc.wald", tmp_path / "none.csv", "-o", tmp_path / "labels.csv")
    assert result.returncode == 2
    assert result.stdout == ""
    path = tmp_path / "none.csv"
    assert result.stderr == f"wald predict: {path}: No such file or directory\n"


def test_figures_are_not_cut_on_a_narrow_terminal(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    result = done("inspect", files / "svc.wald")
    assert "…" not in result.stdout
    assert "rows that get here" in result.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes break otherwise elsewhere")
@pytest.mark.parametrize("command", ["inspect", "predict"])
def test_a_reader_that_goes_away(files: Path, tmp_path: Path, command: str) -> None:
    np.save(tmp_path / "many.npy", np.tile(np.load(files / "test.npy"), (200, 1)))
    words = ["inspect", files / "svc.wald"]
    if command == "predict":
        words = ["predict", files / "svc.wald", tmp_path / "many.npy", "-o", "-"]
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=writer, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as running:
        os.close(writer)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 141
    assert said == ""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise elsewhere")
def test_ctrl_c_is_quiet_and_leaves_nothing(files: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "many.npy", np.tile(np.load(files / "test.npy"), (2000, 1)))
    out = tmp_path / "out"
    out.mkdir()
    words = ["predict", files / "svc.wald", tmp_path / "many.npy", "-o", out / "labels.csv"]
    with subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as running:
        end = time.monotonic() + 60
        while not list(out.iterdir()) and time.monotonic() < end:  # it has begun to write
            time.sleep(0.005)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=120)
    assert running.returncode == 130
    assert stdout == stderr == ""
    assert list(out.iterdir()) == []


@pytest.mark.long
def test_the_extra_is_enough_for_csv_and_parquet(files: Path, tmp_path: Path) -> None:
    """All kinds of tables are read and written with the packages of the extra, without pandas and pyarrow."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    extra = {word.partition(">")[0] for word in project["project"]["optional-dependencies"]["cli"]}
    assert extra == {"typer", "rich", "skops", "polars"}
    code = """
import sys
from importlib.abc import MetaPathFinder
class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyarrow"):
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Without())
import importlib.util
really = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in ("pandas", "pyarrow") else really(name, package)
from wald.cli import main
main()
"""
    pytest.importorskip("polars")

    def alone(*words: object) -> None:
        command = [sys.executable, "-c", code, *map(str, words)]
        result = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False)
        assert result.returncode == 0, result.stderr

    options = ("--drop", "label", "--drop", "writer", "--risk", 0.05, "--cost", "units")
    alone("fit", files / "named.skops", files / "fit.csv", "-o", tmp_path / "a.wald", *options)
    alone("predict", tmp_path / "a.wald", files / "test.csv", "-o", tmp_path / "a.parquet")
    names = ",".join(f"pixel{i}" for i in range(64))
    rows = np.load(files / "test.npy")
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header=names, comments="", fmt="%.17g")
    import polars

    polars.read_csv(tmp_path / "rows.csv", infer_schema_length=None).write_parquet(tmp_path / "rows.parquet")
    alone("predict", tmp_path / "a.wald", tmp_path / "rows.parquet", "-o", tmp_path / "b.parquet")
    labels = [polars.read_parquet(tmp_path / f"{name}.parquet")["label"].to_list() for name in "ab"]
    frame = polars.read_csv(tmp_path / "rows.csv", infer_schema_length=None)
    expected = wald.load(tmp_path / "a.wald").predict(frame).tolist()
    assert labels == [expected, expected]
