"""Files keep running sums, corrections, spreads, passes and races, and refuse those that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

import wald
from wald import EarlyExitClassifier, Planner
from wald.persistence import FileFormatError

pytestmark = pytest.mark.filterwarnings("ignore:The file holds the terms")

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module", params=[2, 4], ids=["two classes", "four classes"])
def fitted(request: pytest.FixtureRequest) -> tuple[EarlyExitClassifier, np.ndarray]:
    X, y = make_classification(9000, n_informative=8, n_classes=request.param, random_state=0)
    model = GradientBoostingClassifier(n_estimators=80 // request.param, max_depth=5, init="zero", random_state=0).fit(
        X[:1500], y[:1500]
    )
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.03, planner=Planner(cost="units"), random_state=0)
    return fast.fit(X[1500:8000]), X[8000:]


@pytest.fixture
def parts(fitted: tuple[EarlyExitClassifier, np.ndarray], tmp_path: Path) -> tuple[dict[str, Any], Arrays, Path]:
    path = tmp_path / "fast.wald"
    wald.save(fitted[0], path)
    return (*taken_apart(path.read_bytes()), path)


def test_a_loaded_plan_has_the_same_stages(fitted, parts) -> None:
    fast, X = fitted
    early, loaded = fast.plan_.early, wald.load(parts[2])
    again = loaded.plan_.early
    assert any(c is not None for c in early.sums.corrections)
    assert (early.readouts[0].spread is not None) == (early.race is None)  # an error's size, or a race
    for one, other in zip(early.sums.corrections, again.sums.corrections, strict=True):
        assert one is other is None or np.array_equal(one, other)
    for name in ("ends", "weights"):
        np.testing.assert_array_equal(getattr(again.sums, name), getattr(early.sums, name))
    for name in ("terms", "passes", "race"):
        one, other = getattr(early, name), getattr(again, name)
        assert one is other is None or np.array_equal(one, other)
    for one, other in zip(early.readouts, again.readouts, strict=True):
        np.testing.assert_array_equal(other.weights, one.weights)
        assert other.spread_bias == one.spread_bias
        assert one.spread is other.spread is None or np.array_equal(one.spread, other.spread)
    for one, other in zip(fast.predict(X, return_cost=True), loaded.predict(X, return_cost=True), strict=True):
        np.testing.assert_array_equal(other, one)


def test_files_of_plans_are_small(parts) -> None:
    _, arrays, path = parts
    n_leaves = len(arrays["model.terms.trees.leaves"])
    assert path.stat().st_size < 100_000 + 400 * n_leaves


HOSTILE = {
    "an end beyond the trees": (
        "plan.early.sums.ends",
        lambda a: a + 10_000,
        "'plan.early.sums.ends' holds numbers outside",
    ),
    "an end below 0": ("plan.early.sums.ends", lambda a: -a - 1, "'plan.early.sums.ends' holds numbers outside"),
    "too many sums": ("plan.early.sums.ends", lambda a: np.repeat(a, 65), "running sums; 1 to 64 are allowed"),
    "no sums": ("plan.early.sums.ends", lambda a: a[:0], "there are 0 running sums"),
    "weights that are missing": (
        "plan.early.sums.weights",
        lambda a: a[1:],
        "'plan.early.sums.weights' should have the shape",
    ),
    "a weight that is NaN": ("plan.early.sums.weights", lambda a: a * np.nan, "'plan.early.sums.weights' holds NaN"),
    "a weight that is too large": ("plan.early.sums.weights", lambda a: a + 1e300, "single precision"),
    "a correction is NaN": (
        "plan.early.sums.corrections",
        lambda a: a * np.float32(np.nan),
        "'plan.early.sums.corrections' is not finite",
    ),
    "more corrections than leaves": (
        "plan.early.sums.corrections",
        lambda a: np.resize(a, 10 * len(a)),
        "'plan.early.sums.first_correction' does not fit",
    ),
    "corrections that fall": (
        "plan.early.sums.first_correction",
        lambda a: a[::-1],
        "'plan.early.sums.first_correction' does not fit",
    ),
    "passes that fall": (
        "plan.early.passes",
        lambda a: a[::-1],
        "'plan.early.passes' is invalid|'plan.early.passes' holds",
    ),
    "passes that end early": ("plan.early.passes", lambda a: np.maximum(a - 1, 1), "'plan.early.passes' is invalid"),
    "a pass beyond the stages": ("plan.early.passes", lambda a: a + 1, "'plan.early.passes' holds numbers outside"),
    "no passes": ("plan.early.passes", lambda a: a[:0], "'plan.early.passes' is invalid"),
    "a race that is NaN": ("plan.early.race", lambda a: a * np.nan, "'plan.early.race' holds NaN"),
    "a race below 0": ("plan.early.race", lambda a: -1 - np.minimum(a, 1e6), "'plan.early.race' holds numbers below"),
    "a race of few stages": ("plan.early.race", lambda a: a[1:], "'plan.early.race' should have the shape"),
    "a spread that is NaN": ("plan.early.spread", lambda a: a * np.nan, "'plan.early.spread' holds NaN"),
    "a spread of few sums": ("plan.early.spread", lambda a: a[:, 1:], "'plan.early.spread' should have the shape"),
    "mixtures of few sums": ("plan.early.weights", lambda a: a[1:], "'plan.early.weights' should have the shape"),
}


@pytest.mark.parametrize(("name", "change", "words"), HOSTILE.values(), ids=HOSTILE)
def test_arrays_that_do_not_fit_are_refused(name: str, change: Any, words: str, parts) -> None:
    fields, arrays, path = parts
    if name not in arrays:  # a race is for several classes, and a spread for two
        return
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match=words):
        wald.load(path)


def test_more_corrections_than_the_trees_have_leaves_are_refused(parts) -> None:
    fields, arrays, path = parts
    n = 4 * len(arrays["model.terms.trees.leaves"])
    arrays["plan.early.sums.corrections"] = np.resize(arrays["plan.early.sums.corrections"], n)
    arrays["plan.early.sums.first_correction"] = np.full_like(arrays["plan.early.sums.first_correction"], n)
    arrays["plan.early.sums.first_correction"][0] = 0
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match="corrections"):
        wald.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"sums": None}, "should have the shape"), ({"race": True, "spread": True}, "race|spread")],
    ids=["no sums", "both"],
)
def test_headers_that_do_not_fit_are_refused(change: dict[str, Any], words: str, parts) -> None:
    fields, arrays, path = parts
    fields["plan"]["early"] |= change
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match=words):
        wald.load(path)
