"""What is called, fetched and paid for: a model behind a server, tables that are joined late, types of files."""

from __future__ import annotations

from .files import files
from .joined import joined
from .report import Figure
from .served import served
from .settings import Run

TITLE = "posts behind a server that fails, flights joined late from SQLite, files behind magika: counts, and no times"


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    return [*served(how), *joined(how), *files(how)]
