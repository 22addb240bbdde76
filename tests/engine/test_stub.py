"""The stub of the extension names what the extension has, and nothing else."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import wald
from wald import _core

STUB = Path(wald.__file__).with_name("_core.pyi")


def names_in(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    names: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node
    return names


def stub() -> dict[str, ast.stmt]:
    return names_in(ast.parse(STUB.read_text(encoding="utf-8")).body)


def public(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def classes() -> dict[str, dict[str, ast.stmt]]:
    """The members of every class of the extension, with those of bases that only the stub has."""
    every = {name: node for name, node in stub().items() if isinstance(node, ast.ClassDef)}
    found = {}
    for name, node in every.items():
        members = names_in(node.body)
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in every:
                members = names_in(every[base.id].body) | members
        if not name.startswith("_"):
            found[name] = members
    return found


def arguments(node: ast.FunctionDef) -> list[str]:
    return [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if a.arg != "self"]


def parsed(signature: str) -> ast.FunctionDef:
    """A signature without its types, which need not be Python."""
    signature = re.sub(r"\\\d+", "...", signature)
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", signature)) != signature:
        signature = shorter
    node = ast.parse(signature + ": ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def check_arguments(node: ast.stmt, function: Any, name: str) -> None:
    signatures = [signature for signature, *_ in function.__nb_signature__ if signature]
    known = [arguments(parsed(signature)) for signature in signatures]
    assert isinstance(node, ast.FunctionDef), name
    assert arguments(node) in known, name


def test_the_stub_has_every_name_of_the_extension_and_no_other():
    assert public(stub()) == public(vars(_core))


def test_the_stub_has_every_method_of_every_class_and_no_other():
    assert len(classes()) > 10
    for name, members in classes().items():
        assert public(members) == public(vars(getattr(_core, name))), name


def test_the_stub_tells_classes_from_functions():
    for name in public(stub()):
        node, there = stub()[name], getattr(_core, name)
        assert isinstance(node, ast.ClassDef) == inspect.isclass(there), name
        assert isinstance(node, ast.FunctionDef) == (callable(there) and not inspect.isclass(there)), name


def test_the_stub_names_the_arguments_as_the_extension_does():
    for name in public(stub()):
        if isinstance(stub()[name], ast.FunctionDef):
            check_arguments(stub()[name], getattr(_core, name), name)
    for name, members in classes().items():
        for method in public(members):
            there = getattr(_core, name).__dict__[method]
            if hasattr(there, "__nb_signature__"):
                check_arguments(members[method], there, f"{name}.{method}")
