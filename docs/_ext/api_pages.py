"""The API reference: a page for every public name, by the sections of tools/reference.py."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

DOCS = Path(__file__).parents[1]
#: The full names of listed objects, by identity.
PAGES: dict[int, str] = {}
HEAD = """\
.. Written by docs/_ext/api_pages.py from tools/reference.py.

API reference
=============

Every public name, with its parameters, errors and an example that runs. What is not listed may change without notice.
"""


def write(app: Any, config: Any) -> None:
    """Write `api/index.rst`, from which autosummary makes the other pages. A name listed twice has one page."""
    reference = runpy.run_path(str(DOCS.parent / "tools" / "reference.py"))
    for _, module, names in reference["SECTIONS"]:
        for name in names.split() or reference["_public"](module):
            PAGES[id(getattr(importlib.import_module(module), name))] = f"{module}.{name}"
    parts = [HEAD]
    for heading, module, names in reference["SECTIONS"]:
        listed = names.split() or reference["_public"](module)
        heading = heading.replace("`", "``")
        for kind, template in (("", "autosummary/object.rst"), ("functions", "autosummary/function.rst")):
            own = [name for name in listed if _is_function(module, name) == bool(kind)]
            if not own:
                continue
            if not (DOCS / "_templates" / template).exists():  # autosummary would take another one, in silence
                raise ExtensionError(f"docs/_templates has no {template}")
            if heading:
                parts.append(f"{heading}\n{'-' * len(heading)}\n")
                heading = ""
            lines = "\n   ".join(PAGES[id(getattr(importlib.import_module(module), name))] for name in own)
            parts.append(f".. autosummary::\n   :toctree: generated\n   :template: {template}\n\n   {lines}\n")
    page = DOCS / "api" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    text = "\n".join(parts)
    if not page.exists() or page.read_text("utf-8") != text:
        page.write_text(text, encoding="utf-8")


def resolve(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Find the page of an object that a docstring names by another path, such as that of its module."""
    module, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or not module.startswith("wald"):
        return None
    try:
        page = PAGES.get(id(getattr(importlib.import_module(module), name)))
    except (ImportError, AttributeError):
        return None
    return page and env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", page, node, shown)


def skip(app: Any, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator to route metadata, and methods of Python's numbers."""
    inherited = name == "get_metadata_routing" and not thing.__module__.startswith("wald")
    of_int = name in vars(int) and not inspect.isfunction(thing)
    return True if inherited or of_int or re.fullmatch(r"set_\w+_request", name) else None


def _is_function(module: str, name: str) -> bool:
    return inspect.isroutine(getattr(importlib.import_module(module), name))


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write, priority=100)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
