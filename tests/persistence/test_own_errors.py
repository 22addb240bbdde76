"""Files keep the spread of each row's error of linear models and kernel machines, and refuse one that does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from early_exit.own_errors import FIT, HELD, KINDS, X, Y, near
from persistence.forge import put_together, taken_apart
from sklearn.linear_model import LogisticRegression

import wald
from wald import EarlyExitClassifier, Planner
from wald.inspection.facts import facts_of
from wald.persistence import FileFormatError


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_loaded_plan_leaves_at_the_same_stages(kind: str, tmp_path: Path) -> None:
    fast, path = near(kind), tmp_path / "fast.wald"
    wald.save(fast, path)
    again = wald.load(path)
    for one, other in zip(fast.plan_.early.readouts, again.plan_.early.readouts, strict=True):
        np.testing.assert_array_equal(other.spread, one.spread)
        assert other.spread_bias == one.spread_bias
    for one, other in zip(*(f.predict(X[HELD], return_cost=True) for f in (fast, again)), strict=True):
        np.testing.assert_array_equal(other, one)
    assert facts_of(again)["plan"]["own_errors"]
    assert again.certificate_ == fast.certificate_


HOSTILE = {
    "NaN": (lambda a: a * np.nan, "'plan.early.spread' holds NaN"),
    "too few": (lambda a: a[1:], "'plan.early.spread' should have the shape"),
    "a table": (lambda a: a[None], "'plan.early.spread'"),
    "too large": (lambda a: a + 1e300, "single precision|Infinity|finite"),
}


@pytest.mark.parametrize(("change", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_spread_that_does_not_fit_is_refused(change: Any, words: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "fast.wald"
    wald.save(near(kind), path)
    fields, arrays = taken_apart(path.read_bytes())
    if "single" in words and fields["plan"]["precision"] == "float64":
        return
    arrays["plan.early.spread"] = np.ascontiguousarray(change(arrays["plan.early.spread"]))
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match=words):
        wald.load(path)


def test_labels_have_no_spread(tmp_path: Path) -> None:
    path, planner = tmp_path / "labels.wald", Planner(cost="units")
    model = LogisticRegression().fit(X[:500], Y[:500] > 0)
    wald.save(EarlyExitClassifier(model, risk=0.05, planner=planner, random_state=0).fit(X[FIT]), path)
    fields, arrays = taken_apart(path.read_bytes())
    arrays["plan.early.spread"] = np.zeros(int(arrays["plan.early.terms"].sum()))
    fields["plan"]["early"]["spread"] = True
    path.write_bytes(put_together(fields, arrays))
    with pytest.raises(FileFormatError, match="there is a spread of several outputs, or of no margin"):
        wald.load(path)
