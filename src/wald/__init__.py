"""wald: stop computing a prediction as soon as the answer is clear, and certify how rarely that changes anything."""

# Nothing is loaded before it is used: `wald --version` needs neither scikit-learn nor the engine.

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .early_exit import EarlyExitClassifier
    from .persistence import load, save
    from .plan import CostModel
    from .stopping import Certificate

    __version__: str

__all__ = ["Certificate", "CostModel", "EarlyExitClassifier", "__version__", "load", "save"]

_WHERE = {
    "Certificate": ".stopping",
    "CostModel": ".plan",
    "EarlyExitClassifier": ".early_exit",
    "load": ".persistence",
    "save": ".persistence",
}
_PARTS = ("models", "online", "persistence", "plan", "stopping", "structured")


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
