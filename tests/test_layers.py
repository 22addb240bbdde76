"""One direction, no back and forth: each folder of the package knows those that it may know, and no others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "wald"

#: What the files of a folder may import of the package, beside the folder itself and the engine.
KNOWS = {
    "utils": set(),
    "models": {"utils"},
    "stopping": {"utils"},
    "plan": {"stopping", "utils"},
    "online": {"stopping", "engine", "utils"},
    "structured": {"stopping", "persistence", "engine", "utils"},  # spaCy's pipelines are saved with their parser
}


def imported(file: Path) -> Iterator[str]:
    """First names, below the package, of what a file imports of it."""
    package = ["wald", *file.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = above + (node.module.split(".") if node.module else [])
            modules = [[*module, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in modules if name[0] == "wald" and len(name) > 1)


def test_imports_are_seen():
    assert {"plan", "stopping"} <= set(imported(PACKAGE / "plan" / "ladder.py")) | {"plan"}


@pytest.mark.parametrize("folder", KNOWS)
def test_a_folder_knows_no_more_than_it_may(folder):
    files = sorted((PACKAGE / folder).rglob("*.py"))
    assert files
    known = {(file.name, name) for file in files for name in imported(file)}
    assert not [(file, name) for file, name in sorted(known) if name not in KNOWS[folder] | {folder, "_core"}]
