"""Write docs/reference.md: every public name with the first sentence of its docstring and a link to its file."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"

INTRODUCTION = """# Every public name

One line each, from the docstrings, which say the rest: parameters, shapes, errors, sources, and an example that runs.
Names link to the files that hold them. What is not listed may change without notice. `make reference` writes this page.
"""

#: Heading, module and names; an empty text stands for all names of the module.
SECTIONS = (
    (
        "Early exit",
        "wald",
        "EarlyExitClassifier EarlyExitOutlierDetector EarlyExitRanker EarlyExitRegressor Planner Surrogate "
        "CompiledPlan CostModel answer read_model save load report",
    ),
    (
        "How rows were answered",
        "wald.early_exit",
        "Answers Status CallsNeeded Explanation Part Passage PlaceExplanation",
    ),
    ("In production", "wald.monitoring", "Monitor DriftWarning"),
    ("A web service", "wald.serving", "create_app"),
    ("Clusters", "wald.dask", "predict"),
    ("Clusters, with Ray", "wald.ray", "predict"),
    ("Clusters, with Spark", "wald.spark", "predict"),
    ("For LightGBM's own early stop", "wald.lightgbm", "calibrate_margin"),
    ("Many files", "wald.jobs", "run Options"),
    (
        "Stopping rules, for `Planner(rule=...)`",
        "wald.stopping",
        "Ladder Lossless Budget ConstantBoundary CurvedBoundary OptimalBoundary Qwyc ErrorSpending LikelihoodRatio "
        "Margin VoteBoundary",
    ),
    ("Rules of your own", "wald.stopping", "Rule Needs Walk Boundary StageScores check_stopping_rule"),
    ("Certificates", "wald.stopping", "Certificate certify q_grid rows_needed"),
    ("Attentive learning", "wald.online", ""),
    (
        "Structured models and budgets",
        "wald.structured",
        "BudgetedPredictor ChainClassifier DependencyParser FeatureGroup TextPipeline Treebank WordTagger "
        "keep_features",
    ),
    ("Spans", "wald.structured.spans", "Span span_f1 spans_of"),
    ("Promises about any structures", "wald.structured.certified_answers", "certify_answers"),
    ("Extractors", "wald.structured.extractors", ""),
    ("Policies", "wald.structured.policies", "AnytimePolicy IteratedPolicy OneShotPolicy QLearningPolicy"),
    ("Families of models of your own", "wald.models", "Terms Family Reading register check_terms check_units"),
    ("Rows of your own", "wald.sources", "Source check_source"),
    ("Columns and answers that are bought", "wald", "LazyRows Calls CallError PartialAnswer"),
    ("Data sets answered as a whole", "wald.answering", "WholeAnswer calls_needed"),
    ("Steps before a model", "wald.steps", "Step check_step"),
    (
        "What is asked of a model",
        "wald.outputs",
        "Output Bands Labels Values Words check_output Structures Parts Spans",
    ),
    ("Pictures", "wald.displays", ""),
    (
        "Data",
        "wald.datasets",
        "fetch_flights fetch_mnist fetch_newsgroup_ranking fetch_ocr fetch_treebank",
    ),
    ("Files", "wald.persistence", "FileFormatError"),
)
#: Modules whose names must all be listed; other modules list only the names for users.
PARTLY = {
    "wald",
    "wald.answering",
    "wald.datasets",
    "wald.early_exit",
    "wald.jobs",
    "wald.lightgbm",
    "wald.models",
    "wald.outputs",
    "wald.persistence",
    "wald.sources",
    "wald.steps",
    "wald.stopping",
    "wald.structured",
    "wald.structured.certified_answers",
    "wald.structured.policies",
    "wald.structured.spans",
}
COMPLETE = {module for _, module, _ in SECTIONS} - PARTLY


def page() -> str:
    """Return the whole page."""
    return INTRODUCTION + "".join(_section(*section) for section in SECTIONS)


def missing() -> list[str]:
    """Return the public names that no section lists."""
    listed = {(module, name) for _, module, names in SECTIONS for name in names.split() or _public(module)}
    return [f"{module}.{name}" for module in COMPLETE for name in _public(module) if (module, name) not in listed]


def _public(module: str) -> list[str]:
    return [name for name in importlib.import_module(module).__all__ if not name.startswith("_")]


def _section(heading: str, module: str, names: str) -> str:
    entries = "".join(f"{_entry(module, name)}\n" for name in names.split() or _public(module))
    return f"\n## {heading}\n\nIn `{module}`:\n\n{entries}"


def _entry(module: str, name: str) -> str:
    thing: Any = getattr(importlib.import_module(module), name)
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    sentence = re.sub("``(.*?)``", r"`\1`", " ".join(first.split()))
    return f"* [`{name}`]({_file(thing)}): {sentence}"


def _file(thing: Any) -> str:
    """Return the file of an object, as a link from the page."""
    parts = thing.__module__.split(".")
    package = hasattr(importlib.import_module(thing.__module__), "__path__")
    return "/".join(["..", "src", *parts]) + ("/__init__.py" if package else ".py")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
