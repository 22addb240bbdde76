"""The results that the site's pages are built from: the tables of full runs, in ``reproduce/results``."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from datetime import date, timedelta
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def tables(page: str) -> list[dict[str, Any]]:
    """Return the tables of a page in Markdown: the heading above each, its head and its rows."""
    found: list[dict[str, Any]] = []
    heading = ""
    lines: list[list[str]] = []
    for line in [*page.splitlines(), ""]:
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("|"):
            lines.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
        elif lines:
            head, _, *rows = lines
            found.append({"heading": heading, "head": head, "rows": rows})
            lines = []
    return found


def keep(name: str, page: Path) -> Path:
    """Keep the tables of a page of findings, and return the file that holds them."""
    text = page.read_text("utf-8")
    if "This was a quick run" in text:
        raise ValueError(f"{page} is of a quick run, whose figures are not to be quoted. Run it without --quick.")
    content = {
        "paper": name,
        "command": command(name),
        "date": str(date(1970, 1, 1) + timedelta(seconds=page.stat().st_mtime)),
        "machine": f"{platform.system()} {platform.machine()}",
        "libraries": [f"{library} {importlib.metadata.version(library)}" for library in _LIBRARIES],
        "tables": tables(text),
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def command(name: str) -> str:
    """Write the command whose results are kept."""
    return f'make reproduce ARGS="{name} --write"'
