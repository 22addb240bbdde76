"""Outputs that cannot be written and inputs that cannot be read: one sentence, exit code 2, and no file left behind."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal
from commands.test_process import COMMAND, ENVIRONMENT

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no full device here")


def long(*values: str) -> list[Any]:
    """Parameters of long tests."""
    return [pytest.param(each, marks=pytest.mark.long) for each in values]


@contextmanager
def powerless() -> Iterator[None]:
    """Drop the privileges of the administrator, so that file permissions apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared(files: Path, tmp_path: Path) -> Path:
    """A folder that every user can search, with the files that the commands read."""
    for path in (tmp_path, *tmp_path.parents):
        if path == Path(tempfile.gettempdir()):
            break
        if path.stat().st_uid == os.geteuid():
            path.chmod(0o755)
    for path in tmp_path.parents:
        if not path.stat().st_mode & 0o001 and os.geteuid() == 0:
            pytest.skip("the temporary folder cannot be searched by others")
    for name in ("svc.wald", "svc.skops", "fit.npy", "test.npy"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    return tmp_path


@pytest.mark.skipif(os.name != "posix", reason="rights are others elsewhere")
@pytest.mark.parametrize("rights", [0o000, 0o500, 0o400, 0o600])
def test_folders_without_rights(shared: Path, rights: int) -> None:
    folder = shared / "locked"
    folder.mkdir()
    folder.chmod(rights)
    commands = (
        ("predict", shared / "svc.wald", shared / "test.npy", "-o", folder / "labels.csv"),
        ("predict", shared / "svc.wald", shared / "test.npy", "-o", folder / "labels.npy", "--force"),
        ("fit", shared / "svc.skops", shared / "fit.npy", "-o", folder / "a.wald"),
    )
    try:
        for command in commands:
            with powerless():
                message = refusal(*command)
            assert "ermission denied" in message
            assert str(folder) in message
    finally:
        folder.chmod(0o700)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="rights are others elsewhere")
def test_inputs_without_rights(shared: Path) -> None:
    for name in ("test.npy", "svc.wald", "svc.skops"):
        (shared / name).chmod(0)
    for command in (
        ("predict", shared / "svc.wald", shared / "test.npy", "-o", "-"),
        ("inspect", shared / "svc.wald"),
        ("fit", shared / "svc.skops", shared / "fit.npy", "-o", shared / "a.wald"),
        ("bench", shared / "svc.wald", shared / "test.npy", "--model", shared / "svc.skops"),
    ):
        with powerless():
            assert "ermission denied" in refusal(*command)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "file/labels.csv"])
def test_names_that_cannot_be(files: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    refusal("predict", files / "svc.wald", files / "test.npy", "-o", str(tmp_path / name))
    refusal("fit", files / "svc.skops", files / "fit.npy", "-o", str(tmp_path / name))
    for words in ((files / "svc.wald", tmp_path / name), (tmp_path / name, files / "test.npy")):
        refusal("predict", *words, "-o", "-")


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".svm", ".parquet"])
def test_inputs_that_are_folders(files: Path, tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"rows{suffix}"
    folder.mkdir()
    assert "directory" in refusal("predict", files / "svc.wald", folder, "-o", "-")
    assert "directory" in refusal("predict", folder, files / "test.npy", "-o", "-")
    assert "directory" in refusal("inspect", folder)
    assert "directory" in refusal("fit", folder, files / "fit.npy", "-o", tmp_path / "a.wald")
    assert "is a folder" in refusal("predict", files / "svc.wald", files / "test.npy", "-o", folder, "--force")


def test_an_input_that_vanishes(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wald.commands import predict

    really = predict.load_served

    def vanishing(*words: Any) -> Any:
        data.unlink()
        return really(*words)

    monkeypatch.setattr(predict, "load_served", vanishing)
    data = tmp_path / "rows.npy"
    data.write_bytes((files / "test.npy").read_bytes())
    assert f"{data}: No such file" in refusal("predict", files / "svc.wald", data, "-o", tmp_path / "labels.csv")
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_vanishes(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wald.commands import predict

    really = predict.load_served

    def vanishing(*words: Any) -> Any:
        (tmp_path / "out").rmdir()
        return really(*words)

    monkeypatch.setattr(predict, "load_served", vanishing)
    for suffix in ("csv", "npy", "csv.gz"):
        (tmp_path / "out").mkdir()
        out = tmp_path / "out" / f"labels.{suffix}"
        assert f"-o: {out}: No such file" in refusal("predict", files / "svc.wald", files / "test.npy", "-o", out)


# ---- full disks ----------------------------------------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize("times", [1, 100])
def test_a_full_device(files: Path, tmp_path: Path, times: int) -> None:
    np.save(tmp_path / "many.npy", np.tile(np.load(files / "test.npy"), (times, 1)))
    assert "No space left" in refusal("predict", files / "svc.wald", tmp_path / "many.npy", "-o", FULL)
    assert "device" in refusal("fit", files / "svc.skops", files / "fit.npy", "-o", FULL, "--force")
    assert FULL.is_char_device()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits are others elsewhere")
@pytest.mark.parametrize("suffix", [".csv", ".parquet", *long(".npy", ".csv.gz")])
def test_a_disk_that_fills_up(files: Path, tmp_path: Path, suffix: str) -> None:
    """A limit on the size of files replaces a full disk."""
    import resource
    import signal

    if suffix == ".parquet":
        pytest.importorskip("polars")
    (tmp_path / "out").mkdir()
    rows = np.tile(np.load(files / "test.npy"), (20, 1))
    np.save(tmp_path / "many.npy", rows)
    words = ["predict", files / "svc.wald", tmp_path / "many.npy", "--cost", "-o", tmp_path / "out" / f"labels{suffix}"]

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    result = subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
        check=False,
        preexec_fn=limited,
    )
    assert result.returncode == 2, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("wald predict: -o: ")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
@needs_full
@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "inspect",
        "predict",
        *long("--version", "inspect --help", "inspect --json"),
    ],
)
def test_a_stdout_that_is_full(files: Path, words: str) -> None:
    command = [*COMMAND, *words.split()]
    if words in ("inspect", "inspect --json"):
        command.append(str(files / "svc.wald"))
    elif words == "predict":
        command += [str(files / "svc.wald"), str(files / "test.npy"), "-o", "-"]
    with FULL.open("w") as full:
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, timeout=120, check=False
        )
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "cannot write to stdout: No space left" in result.stderr


def test_everything_is_well_without_limits(files: Path, tmp_path: Path) -> None:
    """The commands of the tests above succeed without the restrictions."""
    done("predict", files / "svc.wald", files / "test.npy", "--cost", "-o", tmp_path / "labels.csv.gz")
    assert {path.name for path in tmp_path.iterdir()} == {"labels.csv.gz"}
