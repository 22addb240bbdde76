"""Fixtures of the tests on clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

pytest.importorskip("pandas")

from clusters.cases import Case, make_case


@pytest.fixture(scope="package")
def case() -> Case:
    return make_case()


@pytest.fixture(scope="package")
def kernel_case() -> Case:
    """A kernel machine without names, on float32."""
    return make_case("int", SVC(), named=False, dtype=np.float32)
