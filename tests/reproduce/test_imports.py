"""The experiments use wald as its users do, but for a few names; and wald does not know them."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

#: What the experiments need that is not public, and why.
PRIVATE = {
    # a learner that watches what it skipped; and which pixels it would read of a digit, row by row
    "wald.online.problem.Problem",
    "wald.online.rows.learner_rows",
    # policies that share one set of folds
    "wald.structured.policies.crossfit.Fold",
    "wald.structured.policies.crossfit.crossfit",
    # the parts of a certificate, computed on resampled examples; and policies of their own
    "wald.structured.certificate.certify_structures",
    "wald.structured.policies.base.Policy",
    "wald.structured.policies.driver.acquire",
    # what the papers compare with, and their formulas; and the terms of a model
    "wald.models.decompose",
    "wald.stopping.papers.levels.bridge_boundary",
    "wald.structured.HOG",
    "wald.structured.policies.MyopicPolicy",
    "wald.structured.policies.UniformPolicy",
    # one example round by round, and the searches behind pseudo-labels
    "wald.structured.policies.driver.rounds",
    "wald.structured.policies.targets.Objective",
    "wald.structured.policies.targets.parsimonious",
    "wald.structured.policies.targets.trajectory",
}


def imported(folder: Path, package: str) -> Iterator[str]:
    """Full names that the files of a folder import from a package."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name.split(".")[0] == package)
            elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == package:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_private_names_are_those_listed():
    reference = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    public = {
        f"{module}.{name}"
        for _, module, names in reference["SECTIONS"]
        for name in names.split() or reference["_public"](module)
    }
    assert set(imported(ROOT / "reproduce", "wald")) - public == PRIVATE


def test_the_package_does_not_know_them():
    assert list(imported(ROOT / "src" / "wald", "reproduce")) == []
