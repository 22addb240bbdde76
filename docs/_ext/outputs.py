"""What the code of the pages prints and draws, below each block.

Every page runs once, in a process of its own, while the gallery is built. A page that fails ends the build.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

from blocks import BLOCK
from outside import TAKEN

DOCS = Path(__file__).parents[1]
#: Where pictures lie until Sphinx copies them; `make clean` removes the folder.
FOLDER = DOCS / "api" / "outputs"
RUNS: dict[str, Future[list[dict[str, Any]]]] = {}


def start(app: Any) -> None:
    """Begin to run all pages with code."""
    pool = ThreadPoolExecutor(os.cpu_count())
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        file = DOCS.parent / TAKEN.get(name, f"docs/{name}.md")
        if BLOCK.search(file.read_text("utf-8")):
            RUNS[name] = pool.submit(run, file, FOLDER / name)
    pool.shutdown(wait=False)


def run(file: Path, folder: Path) -> list[dict[str, Any]]:
    """Run a page, and return what its blocks printed and drew."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(Path(__file__).with_name("blocks.py")), str(file), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "agg"})
    if done.returncode:
        raise ExtensionError(f"{file.relative_to(DOCS.parent)} does not run:\n{done.stderr[-2000:]}")
    return json.loads((folder / "outputs.json").read_text("utf-8"))  # type: ignore[no-any-return]


def show(app: Any, docname: str, source: list[str]) -> None:
    """Write the outputs of a page below its blocks."""
    if docname not in RUNS:
        return
    outputs = iter(RUNS[docname].result())
    number = 0

    def with_output(block: Any) -> str:
        nonlocal number
        number += 1
        output = next(outputs, None)
        return block[0] + (below(output, docname, number) if output else "")

    source[0] = BLOCK.sub(with_output, source[0])


def below(output: dict[str, Any], docname: str, number: int) -> str:
    """Return the Markdown of what a block printed and drew."""
    parts = []
    if output["text"]:
        parts.append(f"```text\n{output['text']}\n```")
    for picture in output["pictures"]:
        parts.append(
            f"```{{image}} /api/outputs/{docname}/{picture}\n:alt: What block {number} of this page draws\n```"
        )
    return "\n\n::::{container} output\n" + "\n\n".join(parts) + "\n::::\n" if parts else ""


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", start, priority=100)  # before the gallery, which takes longest
    app.connect("source-read", show, priority=900)  # after the links are rewritten
    return {"parallel_read_safe": False}
