"""Keep the tables of a full run of `wald reproduce` as data, for the pages of the documentation.

    wald reproduce focus-of-attention -o folder
    python tools/findings.py focus-of-attention folder

writes docs/papers/results/focus-of-attention.json. A quick run is refused: its figures are not to be quoted.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "docs" / "papers" / "results"
LIBRARIES = ("numpy", "scipy", "scikit-learn")


def tables(page: str) -> list[dict[str, Any]]:
    """Return the tables of a page in Markdown: the heading above each, its head and its rows."""
    found: list[dict[str, Any]] = []
    heading, lines = "", []
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


def main(name: str, folder: Path) -> Path:
    """Write the file of a paper, and return its path."""
    source = folder / "findings.md"
    page = source.read_text("utf-8")
    if "This was a quick run" in page:
        raise SystemExit(f"{source} is of a quick run, whose figures are not to be quoted. Run it without --quick.")
    content = {
        "paper": name,
        "command": f"wald reproduce {name}",
        "date": str(date(1970, 1, 1) + timedelta(seconds=source.stat().st_mtime)),
        "machine": f"{platform.system()} {platform.machine()}",
        "libraries": [f"{library} {importlib.metadata.version(library)}" for library in LIBRARIES],
        "tables": tables(page),
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    print(main(sys.argv[1], Path(sys.argv[2])))
