"""All targets by name."""

from __future__ import annotations

from . import models, tables, texts
from .target import Target

TARGETS: dict[str, Target] = {target.name: target for module in (models, texts, tables) for target in module.TARGETS}
