"""The stub of the extension is the one generated from its bindings."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import wald

STUB = Path(wald.__file__).with_name("_core.pyi")
TOOL = Path(__file__).parents[2] / "tools" / "stub.py"


def test_the_stub_is_current() -> None:
    pytest.importorskip("nanobind.stubgen")
    pytest.importorskip("ruff")
    assert STUB.read_text(encoding="utf-8") == runpy.run_path(str(TOOL))["stub"](), "run 'make stub'"
