"""``make reproduce``: the arguments of its calls, and its mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reproduce import __main__ as command
from reproduce import names


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The experiments, replaced by a list of their calls; without a folder to write into they fail."""
    seen: list[Any] = []

    def ran(name: str, folder: Path, *, quick: bool, seeds: int) -> Path:
        seen.append((name, folder, quick, seeds))
        if folder.name == "full":
            raise OSError(28, "No space left on device")
        return folder / "findings.md"

    monkeypatch.setattr(command, "run", ran)
    monkeypatch.setattr(command, "keep", lambda name, page: seen.append((name, page)) or Path("kept.json"))
    return seen


def test_options_are_handed_on(calls: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["focus-of-attention"])
    command.main(["focus-of-attention", "--quick", "--seeds", "4", "-o", str(tmp_path)])
    folder = command.FOLDER / "focus-of-attention"
    assert calls == [("focus-of-attention", folder, False, 10), ("focus-of-attention", tmp_path, True, 4)]
    assert capsys.readouterr().out.splitlines() == [str(folder / "findings.md"), str(tmp_path / "findings.md")]


def test_results_are_kept_on_request(calls: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["focus-of-attention", "--write", "-o", str(tmp_path)])
    assert calls[1:] == [("focus-of-attention", tmp_path / "findings.md")]
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "findings.md"), "kept.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "{" + ",".join(names()) + "}"),
        (["papers"], ", ".join(map(repr, names()))),
        (["focus-of-attention", "--seeds", "1"], "--seeds must be at least 2"),
        (["focus-of-attention", "--write", "--quick"], "only the figures of whole runs are kept"),
        (["focus-of-attention", "--write", "--seeds", "3"], "only the figures of whole runs are kept"),
        (["focus-of-attention", "-o", "full"], "No space left"),
    ],
)
def test_mistakes(words: list[str], said: str, calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2
    # newer Pythons quote choices otherwise, and all break usage into lines
    assert said.replace("'", "") in "".join(capsys.readouterr().err.replace("'", "").split("\n"))
    assert len(calls) == ("full" in words)
