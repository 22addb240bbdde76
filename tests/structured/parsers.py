"""Parameters of the small parsers that the tests train."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, Any] = {"table_bits": 16, "max_iter": 4, "random_state": 0}
