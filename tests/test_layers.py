"""Each folder of the package imports only the folders that it may import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from wald import stopping
from wald.models import families

PACKAGE = Path(__file__).parents[1] / "src" / "wald"

#: Folders of the package that the files of a folder may import, besides their own folder and the extension.
KNOWS = {
    "utils": set(),
    "calls": {"utils"},
    "codec": {"utils"},
    "outputs": {"codec", "utils"},
    "sources": {"calls", "utils"},
    "steps": {"sources", "utils"},
    "engine": {"outputs", "sources", "utils"},
    "models": {"calls", "codec", "engine", "outputs", "sources", "steps", "utils"},
    "stopping": {"outputs", "utils"},
    "plan": {"engine", "models", "stopping", "utils"},
    "monitoring": {"utils"},
    "surrogates": {"models", "sources"},
    "answering": {"calls", "engine", "models", "sources", "surrogates", "utils"},
    "ranking": {"engine", "models", "plan", "sources", "stopping", "utils"},
    "early_exit": {
        "calls",
        *("engine", "models", "monitoring", "outputs", "plan", "ranking", "sources", "steps", "stopping"),
        *("surrogates", "utils"),
    },
    "online": {"sources", "stopping", "utils"},
    "structured": {"calls", "engine", "models", "outputs", "stopping", "utils"},
    "persistence": {
        *("codec", "early_exit", "engine", "models", "monitoring", "online", "outputs", "plan", "ranking", "sources"),
        *("steps", "stopping", "structured", "surrogates", "utils"),
    },
    "spacy": {"persistence", "structured"},
    "serving": {"calls", "early_exit", "engine", "persistence", "utils"},
    "datasets": {"structured", "utils"},
    "displays": {
        "early_exit",
        "models",
        "persistence",
        "plan",
        "ranking",
        "sources",
        "stopping",
        "structured",
        "utils",
    },
    "clusters": {"codec", "early_exit", "engine", "persistence", "stopping", "utils"},
    "jobs": {"early_exit", "engine", "models", "sources", "utils"},
    "inspection": {"early_exit", "outputs", "plan", "ranking", "stopping", "utils"},
    "reporting": {
        *("displays", "early_exit", "engine", "inspection", "models", "outputs", "persistence", "plan", "ranking"),
        *("sources", "stopping", "utils"),
    },
    "commands": {
        *("datasets", "displays", "early_exit", "engine", "inspection", "jobs", "models", "persistence"),
        *("reporting", "serving", "sources", "stopping", "structured", "utils"),
    },
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


def test_no_folder_knows_itself_by_a_detour():
    assert set(TopologicalSorter(KNOWS).static_order()) == set(KNOWS)  # raises CycleError for a cycle


@pytest.mark.parametrize("folder", KNOWS)
def test_a_folder_knows_just_what_the_table_says(folder):
    files = sorted((PACKAGE / folder).rglob("*.py"))
    assert files
    known = {names[0]: (file.name, *names) for file in files for names in imported(file)}
    assert {name: known[name] for name in known.keys() - KNOWS[folder] - {folder, "_core"}} == {}
    assert KNOWS[folder] <= known.keys()


#: Folders inside of `early_exit`, and what they may import from it besides themselves; the estimators know both.
INSIDE = {"compiled": set(), "fitting": {"compiled"}}


@pytest.mark.parametrize("folder", INSIDE)
def test_plans_know_neither_how_they_were_found_nor_their_estimators(folder):
    files = sorted((PACKAGE / "early_exit" / folder).glob("*.py"))
    known = {names[1]: file.name for file in files for names in imported(file) if names[0] == "early_exit"}
    assert files
    assert known.keys() - {folder} == INSIDE[folder], known


def private_names(file: Path) -> tuple[set[str], list[tuple[int, str]]]:
    """Private names that a file defines, and those that it takes from objects other than its own, with their lines."""
    made, taken = set(), []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            made.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, ast.Attribute):
            own = getattr(node.value, "id", "") in ("self", "cls") or ast.unparse(node.value) == "super()"
            if own:
                made.add(node.attr)
            elif node.attr.startswith("_") and not node.attr.endswith("__"):
                taken.append((node.lineno, node.attr))
    return made, taken


def test_no_folder_takes_private_names_of_another_one():
    """Names of other libraries are known by no folder; those of named tuples are public."""
    made: dict[str, set[str]] = {}
    taken = []
    for file in sorted(PACKAGE.rglob("*.py")):
        folder = file.relative_to(PACKAGE).parts[0]
        names, used = private_names(file)
        made.setdefault(folder, set()).update(names)
        taken += [(folder, file.name, line, name) for line, name in used]
    assert len(taken) > 100  # of the own folder, and of other libraries
    other = [
        (file, line, name)
        for folder, file, line, name in taken
        if name not in made[folder] | {"_replace", "_asdict"} and any(name in names for names in made.values())
    ]
    assert other == []


#: What a rule or a family is called, as the package itself knows them.
RULES = {name for name in stopping.__all__ if hasattr(getattr(stopping, name), "needs")} - {"Rule"}
TERMS = {terms.__name__ for terms in families().values() if terms.__module__.startswith("wald.")}
NAMED = re.compile("|".join(sorted(RULES | TERMS)))
#: Comparisons of a family's name, or of the kind of an encoded family.
COMPARED = re.compile(r"\bfamily (==|!=|in)\b|[\"']kind[\"']\]? ?(==|!=)")


def asked(tree: ast.Module) -> Iterator[str]:
    """Classes for which a file tests: by isinstance and issubclass, by comparison, and by match."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            places: list[ast.AST] = node.args[1:]
        elif isinstance(node, ast.Compare):
            places = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchClass):
            places = [node.cls]
        else:
            continue
        for inner in (inner for place in places for inner in ast.walk(place)):
            yield getattr(inner, "id", getattr(inner, "attr", ""))


def test_tests_are_seen():
    tree = ast.parse("isinstance(x, (A, m.B)) or type(x) is C\nmatch x:\n  case D(): pass")
    assert {"A", "B", "C", "D"} <= set(asked(tree))
    assert {"Ladder", "Lossless", "Budget", "Qwyc", "VoteBoundary"} <= RULES
    assert {"LinearTerms", "KernelTerms", "TreeTerms", "VoteTerms"} <= TERMS


def test_only_their_folders_test_for_rules_and_families():
    """Code outside `models` and `stopping` asks terms and rules what they are and need."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        folder, text = file.relative_to(PACKAGE).parts[0], file.read_text("utf-8")
        tree = ast.parse(text if NAMED.search(text) else "")  # most files name none of them
        if folder != "stopping":
            found += [(file.name, name) for name in RULES & set(asked(tree))]
        if folder != "models":
            used = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
            found += [(file.name, name) for name in TERMS & used]
            found += [(file.name, line.strip()) for line in text.splitlines() if COMPARED.search(line)]
    assert found == []
