"""Fixtures of the tests of parsers."""

from __future__ import annotations

import pytest

from wald.datasets import make_trees


@pytest.fixture(scope="session")
def bank():
    return make_trees(400, random_state=0)
