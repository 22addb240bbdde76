"""Pages that live outside of docs/, and links that leave it.

`CONTRIBUTING.md` and others are read by people in the repository, too. A page of the site takes their text, and links
are rewritten to the pages of the site. A link to a file that is no page, such as a source file, becomes its text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
#: Pages of the site whose text is a file of the repository.
TAKEN = {"contributing": "CONTRIBUTING.md", "benchmarks": "bench/README.md", "changes": "CHANGELOG.md"}
#: Files of the repository, and the pages that show them.
SHOWN = {(ROOT / file).resolve(): f"{page}.md" for page, file in TAKEN.items()}
SHOWN |= {(DOCS / "reference.md").resolve(): "api/index.rst", (ROOT / "README.md").resolve(): "index.md"}
#: A line of a table of contents that stands for whatever pages there are.
PATTERN = re.compile(r"^/([\w-]+\*)\n", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)")


def rewritten(text: str, file: Path, page: Path) -> str:
    """Return the text of `file` with its links as they are from `page`."""

    def link(match: re.Match[str]) -> str:
        words, path, anchor = match[1], match[2], match[3] or ""
        target = (file.parent / path).resolve()
        if target in SHOWN:
            target = DOCS / SHOWN[target]
        elif not target.is_relative_to(DOCS):
            return words
        return f"[{words}]({os.path.relpath(target, page.parent).replace(os.sep, '/')}{anchor})"

    return LINK.sub(link, text)


def read(app: Any, docname: str, source: list[str]) -> None:
    """Rewrite a page before it is parsed."""
    page = DOCS / f"{docname}.md"
    if not page.exists():
        return
    if docname in TAKEN:
        file = ROOT / TAKEN[docname]
        app.env.note_dependency(str(file))
        source[0] = rewritten(file.read_text("utf-8"), file, page)
    else:
        text = PATTERN.sub(lambda line: line[0] if any(DOCS.glob(f"{line[1]}.md")) else "", source[0])
        source[0] = rewritten(text, page, page)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
