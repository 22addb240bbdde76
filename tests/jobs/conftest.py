"""A linear model and a folder of Parquet files for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs.material import Case, save
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald


@pytest.fixture(scope="session")
def case() -> Case:
    pytest.importorskip("pyarrow")
    X, y = make_classification(14_000, 40, n_informative=30, class_sep=2.0, random_state=0)
    linear = LogisticRegression().fit(X[:2000], y[:2000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(linear), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[2000:8000])
    return Case(fast, X[8000:], [f"c{i}" for i in range(40)])


@pytest.fixture
def folder(case: Case, tmp_path: Path) -> Path:
    """Six files of 1000 rows."""
    data = tmp_path / "data"
    data.mkdir()
    for i in range(6):
        save(data / f"f{i}.parquet", case.rows[1000 * i : 1000 * (i + 1)], case.names)
    return data
