"""``wald reproduce``: the list of experiments, and the arguments of their calls."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from commands.running import done, refusal, run, said

import wald


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The experiments, replaced by a list of their calls."""
    seen: list[Any] = []

    def reproduced(name: str, folder: Path, *, quick: bool, seeds: int, console: Any) -> Path:
        assert console.stderr
        seen.append((name, folder, quick, seeds))
        if name == "broken":
            raise OSError(28, "No space left on device")
        if name == "unequipped":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return folder / "findings.md"

    module = types.ModuleType("wald.papers")
    vars(module).update(names=lambda: ("paper", "broken", "unequipped"), run=reproduced)
    monkeypatch.setitem(sys.modules, "wald.papers", module)
    monkeypatch.setattr(wald, "papers", module, raising=False)
    return seen


def test_names(calls: list[Any]) -> None:
    assert done("reproduce").stdout.split() == ["paper", "broken", "unequipped"]
    assert said("reproduce") == {"names": ["paper", "broken", "unequipped"]}
    assert calls == []


def test_options_are_handed_on(calls: list[Any], tmp_path: Path) -> None:
    assert done("reproduce", "paper").stdout.strip() == str(Path("paper/findings.md"))
    facts = said("reproduce", "paper", "--quick", "--seeds", 4, "-o", tmp_path)
    assert facts == {"name": "paper", "findings": str(tmp_path / "findings.md")}
    assert calls == [("paper", Path("paper"), False, 10), ("paper", tmp_path, True, 4)]


def test_mistakes(calls: list[Any]) -> None:
    assert "there is no experiment 'papers'; there is paper, broken" in refusal("reproduce", "papers")
    assert "--seeds" in done("reproduce", "paper", "--seeds", 1, code=2).stderr
    assert calls == []
    assert "No space left" in refusal("reproduce", "broken")
    message = refusal("reproduce", "unequipped")
    assert "matplotlib" in message
    assert "pip install '.[cli,plot]'" in message


def test_a_missing_module_of_our_own_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wald.papers", None)
    monkeypatch.delattr(wald, "papers", raising=False)
    assert isinstance(run("reproduce").exception, ImportError)
