"""Write the stub of the extension, ``src/wald/_core.pyi``, from the signatures and docstrings of its bindings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from wald import _core

STUB = Path(__file__).parents[1] / "src" / "wald" / "_core.pyi"
HEADER = '"""The compiled engine. Written by `make stub`: edit the bindings in cpp/bindings instead."""\n\n'

#: nanobind describes arrays more exactly than NumPy's own types can.
ARRAY = re.compile(r"Annotated\[NDArray(\[[\w.]+\])?, dict\((?:[^()]|\([^()]*\))*\)\]")


def stub() -> str:
    """Return the stub for the extension that is installed."""
    generator = StubGen(module=_core)
    generator.put(_core)
    text = ARRAY.sub(lambda found: f"NDArray{found[1] or '[Any]'}", generator.get())
    text = text.replace("numpy.typing.NDArray", "NDArray").replace("LIMITS: dict = ...", "LIMITS: dict[str, int]")
    text = re.sub(r"from typing import (.*)", r"from typing import Any, \1", text, count=1)
    for command in ("check --fix-only", "format"):
        ruff = [sys.executable, "-m", "ruff", *command.split(), "--quiet", "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return HEADER + text


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
