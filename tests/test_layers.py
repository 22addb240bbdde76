"""Each folder of the package imports only the folders that it may import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "wald"

#: Folders of the package that the files of a folder may import, besides their own folder and the extension.
KNOWS = {
    "utils": set(),
    "engine": {"utils"},
    "models": {"engine", "utils", "persistence"},  # `check_terms` writes terms to a file and reads them back
    "stopping": {"utils"},
    "plan": {"engine", "models", "stopping", "utils"},
    "monitoring": {"utils"},
    "early_exit": {"engine", "models", "monitoring", "plan", "stopping", "utils"},
    "online": {"engine", "stopping", "utils"},
    "structured": {"engine", "persistence", "stopping", "utils"},  # spaCy's pipelines are saved with their parser
    "persistence": {
        "early_exit",
        "engine",
        "models",
        "monitoring",
        "online",
        "plan",
        "stopping",
        "structured",
        "utils",
    },
    "serving": {"early_exit", "engine", "models", "persistence", "utils"},
    "datasets": {"structured", "utils"},
    "displays": {"early_exit", "engine", "models", "persistence", "plan", "stopping", "structured", "utils"},
    "clusters": {"early_exit", "engine", "persistence", "stopping", "utils"},
    "jobs": {"early_exit", "engine", "models", "utils"},
    "reporting": {"commands", "displays", "early_exit", "engine", "models", "persistence", "stopping", "utils"},
    "commands": {
        *("demo", "early_exit", "engine", "jobs", "models", "persistence", "plan"),
        *("reporting", "serving", "stopping", "utils"),
    },
    "demo": {"commands", "datasets", "displays", "early_exit", "models", "utils"},
}
#: Parts of these folders that may be imported: plans use the interface of terms and hold the stages of an engine,
#: `check_terms` writes files, and a report has the facts of ``wald inspect`` and the times of ``wald bench``.
KNOWS_OF = {
    ("plan", "engine"): {"Readout", "RunningSums", "Stages", "NO_STAGES", "LEAST_VARIANCE"},
    ("plan", "models"): {"terms", "units"},
    ("models", "persistence"): {"arrays", "header"},
    ("reporting", "commands"): {"alternating", "facts", "promises"},
}


def imported(file: Path) -> Iterator[list[str]]:
    """The imports of a file from the package, as lists of names below it."""
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
        yield from (names[1:] for names in modules if names[0] == "wald" and len(names) > 1)


def test_every_folder_is_listed():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(KNOWS)


def test_imports_are_seen():
    assert {"stopping", "models"} <= {names[0] for names in imported(PACKAGE / "plan" / "boldness.py")}


@pytest.mark.parametrize("folder", KNOWS)
def test_a_folder_knows_no_more_than_it_may(folder):
    files = sorted((PACKAGE / folder).rglob("*.py"))
    assert files
    known = {(file.name, *names) for file in files for names in imported(file)}
    assert not [names for names in sorted(known) if names[1] not in KNOWS[folder] | {folder, "_core"}]
    for (own, other), parts in KNOWS_OF.items():
        if own == folder:
            assert not [names for names in sorted(known) if names[1] == other and names[2] not in parts]


#: A type of terms, or the name of a family.
FAMILY = re.compile(r"\b(Linear|Kernel)Terms\b|\bfamily (==|!=|in)\b|[\"']kind[\"'] ?(==|!=)")


def test_no_folder_tests_for_families():
    """Code outside `models` uses the interface of terms and does not test for families."""
    found = [
        f"{file.relative_to(PACKAGE)}: {line.strip()}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0] != "models"
        for line in file.read_text("utf-8").splitlines()
        if FAMILY.search(line)
    ]
    assert found == []
