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
from wald import EarlyExitClassifier
from wald.persistence import FileFormatError

pytestmark = pytest.mark.filterwarnings("ignore:The file holds the terms")

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module", params=[2, 4], ids=["two classes", "four classes"])
def fitted(request: pytest.FixtureRequest) -> tuple[EarlyExitClassifier, np.ndarray]:
    X, y = make_classification(9000, n_informative=8, n_classes=request.param, random_state=0)
    model = GradientBoostingClassifier(n_estimators=40, max_depth=5, init="zero", random_state=0).fit(
        X[:1500], y[:1500]
    )
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.03, cost="units", random_state=0)
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
    n_leaves = len(arrays["leaves"])
    assert path.stat().st_size < 100_000 + 400 * n_leaves


HOSTILE = {
    "an end beyond the trees": ("sums.ends", lambda a: a + 10_000, "'sums.ends' holds numbers outside"),
    "an end below 0": ("sums.ends", lambda a: -a - 1, "'sums.ends' holds numbers outside"),
    "weights that are missing": ("sums.weights", lambda a: a[1:], "'sums.weights' should have the shape"),
    "a weight that is NaN": ("sums.weights", lambda a: a * np.nan, "'sums.weights' holds NaN"),
    "a weight that is too large": ("sums.weights", lambda a: a + 1e300, "single precision"),
    "a correction is NaN": (
        "sums.corrections",
        lambda a: a * np.float32(np.nan),
        "'sums.corrections' is not finite",
    ),
    "more corrections than leaves": (
        "sums.corrections",
        lambda a: np.resize(a, 10 * len(a)),
        "'sums.first_correction' does not fit",
    ),
    "corrections that fall": ("sums.first_correction", lambda a: a[::-1], "'sums.first_correction' does not fit"),
    "passes that fall": ("passes", lambda a: a[::-1], "'passes' is invalid|'passes' holds"),
    "passes that end early": ("passes", lambda a: np.maximum(a - 1, 1), "'passes' is invalid"),
    "a pass beyond the stages": ("passes", lambda a: a + 1, "'passes' holds numbers outside"),
    "no passes": ("passes", lambda a: a[:0], "'passes' is invalid"),
    "a race that is NaN": ("race", lambda a: a * np.nan, "'race' holds NaN"),
    "a race below 0": ("race", lambda a: -1 - np.minimum(a, 1e6), "'race' holds numbers below"),
    "a race of few stages": ("race", lambda a: a[1:], "'race' should have the shape"),
    "a spread that is NaN": ("readout.spread", lambda a: a * np.nan, "'readout.spread' holds NaN"),
    "a spread of few sums": ("readout.spread", lambda a: a[:, 1:], "'readout.spread' should have the shape"),
    "mixtures of few sums": ("readout.weights", lambda a: a[1:], "'readout.weights' should have the shape"),
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
    n = 4 * len(arrays["leaves"])
    arrays["sums.corrections"] = np.resize(arrays["sums.corrections"], n)
    arrays["sums.first_correction"] = np.full_like(arrays["sums.first_correction"], n)
    arrays["sums.first_correction"][0] = 0
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match="corrections"):
        wald.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"n_sums": 10**6}, "n_sums"), ({"n_sums": 0}, "n_sums"), ({"race": True, "spread": True}, "race|spread")],
    ids=["too many sums", "no sums", "both"],
)
def test_headers_that_do_not_fit_are_refused(change: dict[str, Any], words: str, parts) -> None:
    fields, arrays, path = parts
    fields["plan"]["sums"] |= change
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match=words):
        wald.load(path)
