"""wald: stop computing a prediction as soon as the answer is clear, and certify how rarely that changes anything."""

# Nothing is loaded before it is used: `wald --version` needs neither scikit-learn nor the engine.

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answering import answer
    from .calls import CallError, Calls, PartialAnswer
    from .early_exit import (
        CompiledPlan,
        EarlyExitClassifier,
        EarlyExitOutlierDetector,
        EarlyExitRanker,
        EarlyExitRegressor,
        Planner,
    )
    from .models import TreeClassifier, read_model
    from .persistence import load, save
    from .plan import CostModel
    from .reporting import report
    from .sources import LazyRows
    from .stopping import Certificate
    from .surrogates import Surrogate

    __version__: str

__all__ = [
    "CallError",
    "Calls",
    "Certificate",
    "CompiledPlan",
    "CostModel",
    "EarlyExitClassifier",
    "EarlyExitOutlierDetector",
    "EarlyExitRanker",
    "EarlyExitRegressor",
    "LazyRows",
    "PartialAnswer",
    "Planner",
    "Surrogate",
    "TreeClassifier",
    "__version__",
    "answer",
    "load",
    "read_model",
    "report",
    "save",
]

_WHERE = {
    "CallError": ".calls",
    "Calls": ".calls",
    "Certificate": ".stopping",
    "CompiledPlan": ".early_exit",
    "CostModel": ".plan",
    "EarlyExitClassifier": ".early_exit",
    "EarlyExitOutlierDetector": ".early_exit",
    "EarlyExitRanker": ".early_exit",
    "EarlyExitRegressor": ".early_exit",
    "LazyRows": ".sources",
    "PartialAnswer": ".calls",
    "Planner": ".early_exit",
    "Surrogate": ".surrogates",
    "TreeClassifier": ".models",
    "answer": ".answering",
    "load": ".persistence",
    "read_model": ".models",
    "report": ".reporting",
    "save": ".persistence",
}
_PARTS = (
    "calls",
    "dask",
    "displays",
    "jobs",
    "lightgbm",
    "models",
    "monitoring",
    "online",
    "persistence",
    "plan",
    "ray",
    "serving",
    "sources",
    "spark",
    "stopping",
    "structured",
)


def _require_main_interpreter() -> None:
    """Raise ImportError in another interpreter of the process: the core loaded twice would crash both."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # Python 3.13 and later; before
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "wald works in the main interpreter of a process only. Use threads or processes; with mod_wsgi, set "
                "WSGIApplicationGroup %{GLOBAL}."
            )
        return


_require_main_interpreter()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _WHERE:
        value = getattr(import_module(_WHERE[name], __name__), name)
    elif name in _PARTS:
        return import_module(f".{name}", __name__)  # which makes it an attribute by itself
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("wald")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0+unknown"
