"""Run the Python blocks of a page once, and keep what each prints and draws.

    python docs/_ext/blocks.py PAGE FOLDER

writes FOLDER/outputs.json, a list with an entry per block: its text, and the names of its pictures in FOLDER. The
blocks of a page share their names. Blocks whose packages are not installed are not run, nor are those after them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

#: A block of code; the line before it may name the packages that it needs.
BLOCK = re.compile(r"(?:^<!-- needs ([\w ]+) -->\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: Path, folder: Path) -> list[dict[str, Any]]:
    """Run the blocks of a page in an empty folder, and return what each printed and drew."""
    import matplotlib.pyplot as plt

    from pictures import style

    style()
    text = page.read_text("utf-8")
    script = sys.modules["__main__"] = ModuleType("__main__")  # so that what it defines can be pickled
    outputs: list[dict[str, Any]] = []
    for block in BLOCK.finditer(text):
        if any(importlib.util.find_spec(package) is None for package in (block[1] or "").split()):
            break
        line = text.count("\n", 0, block.start(2))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + block[2], str(page), "exec", dont_inherit=True), script.__dict__)
        pictures = []
        for number in plt.get_fignums():
            pictures.append(f"{page.stem}-{len(outputs) + 1}-{number}.png")
            plt.figure(number).savefig(folder / pictures[-1], dpi=150)
        plt.close("all")
        outputs.append({"text": printed.getvalue().rstrip(), "pictures": pictures})
    return outputs


def main(page: Path, folder: Path) -> None:
    """Write what the blocks of a page printed and drew."""
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        outputs = run(page, folder)
        os.chdir(folder)
    (folder / "outputs.json").write_text(json.dumps(outputs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
