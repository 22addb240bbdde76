"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wald import _core


@pytest.fixture
def four_threads() -> Iterator[None]:
    """Let the engine use four threads on any machine."""
    before = _core.get_num_threads()
    _core.set_num_threads(4)
    yield
    _core.set_num_threads(before)
