"""All targets by name."""

from __future__ import annotations

from . import models, requests, tables, texts
from .target import Target

MODULES = (models, texts, tables, requests)
TARGETS: dict[str, Target] = {target.name: target for module in MODULES for target in module.TARGETS}
