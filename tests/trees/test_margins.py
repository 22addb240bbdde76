"""Margins for LightGBM's own early stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from wald.lightgbm import MARGINS, calibrate_margin


def rows(seed: int, n: int, classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("as_booster", [True, False])
def test_the_margin_keeps_the_promise_on_other_rows(classes: int, as_booster: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=60, num_leaves=7, n_jobs=1, verbose=-1).fit(*rows(0, 1500, classes))
    X, T = rows(1, 4000, classes)[0], rows(2, 20_000, classes)[0]
    margin = calibrate_margin(model.booster_ if as_booster else model, X, risk=0.02, freq=5)
    assert margin.certificate.status == "certified"
    assert margin.certificate.verify()
    assert margin.certificate.n_rows == 4000
    assert margin.margin < MARGINS[0]
    early, full = (model.booster_.predict(T, **params) for params in (margin.params(), {}))
    labels, own = (p > 0.5 if p.ndim == 1 else p.argmax(axis=1) for p in (early, full))
    assert 0 < np.mean(labels != own) < 0.025
    # the counts are LightGBM's own
    again, full = (model.booster_.predict(X, **params) for params in (margin.params(), {}))
    labels, own = (p > 0.5 if p.ndim == 1 else p.argmax(axis=1) for p in (again, full))
    assert margin.certificate.n_disagreements == np.count_nonzero(labels != own)
    assert "every 5 iterations: disagreement <= 2 %" in str(margin)


def test_too_few_rows_give_no_margin() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1).fit(*rows(0, 500))
    margin = calibrate_margin(model, rows(1, 100)[0], risk=0.001)
    assert margin.certificate.status == "too few rows"
    assert math.isinf(margin.margin)
    assert margin.params() == {}
    assert str(margin).startswith("no margin: ")


class Stub:
    """A Booster whose early labels differ from the full ones with a probability that grows as the margin falls."""

    __module__ = "lightgbm.basic"

    def __init__(self, rng: np.random.Generator, rate: dict[float, float]) -> None:
        self.rng, self.rate = rng, rate

    def model_to_string(self, num_iteration: int) -> str:
        return "tree\nobjective=binary sigmoid:1\n\nTree=0\n"

    def predict(self, X: Any, pred_early_stop_margin: float | None = None, **params: Any) -> Any:
        if pred_early_stop_margin is None:
            return np.zeros(len(X))
        return (self.rate[pred_early_stop_margin] > X).astype(float)


def test_promises_are_broken_as_rarely_as_they_say() -> None:
    rng = np.random.default_rng(3)
    margins = tuple(range(30, 0, -1))
    rate = {float(m): 0.05 * 0.85**m for m in margins}
    broken = 0
    for _ in range(300):
        margin = calibrate_margin(Stub(rng, rate), rng.random(1500), risk=0.01, confidence=0.9, margins=margins)
        broken += not math.isinf(margin.margin) and rate[margin.margin] > 0.01
    assert broken <= 300 * 0.1 + 3 * math.sqrt(300 * 0.1 * 0.9)
    assert broken > 0


def test_refusals() -> None:
    stub = Stub(np.random.default_rng(0), {})
    with pytest.raises(TypeError, match=r"LightGBM Booster or LGBMClassifier\. Got LogisticRegression"):
        calibrate_margin(LogisticRegression(), [[0.0]])
    for name, value, words in (
        ("risk", 0.0, "risk"),
        ("confidence", 1.0, "confidence"),
        ("freq", 0, "freq must be a whole number"),
        ("margins", (1.0, 2.0), "margins must be"),
        ("margins", (), "margins must be"),
        ("margins", (math.inf,), "margins must be"),
    ):
        with pytest.raises(ValueError, match=words):
            calibrate_margin(stub, np.zeros(5), **{name: value})
    with pytest.raises(ValueError, match="X has no rows"):
        calibrate_margin(stub, np.zeros(0))
    for header, words in (
        ("objective=regression\n", "ignores pred_early_stop for the objective 'regression'"),
        ("objective=binary sigmoid:1\naverage_output\n", "random forest"),
        ("", "objective 'none'"),
    ):
        stub.model_to_string = lambda num_iteration, header=header: f"tree\n{header}\nTree=0\n"  # type: ignore
        with pytest.raises(ValueError, match=words):
            calibrate_margin(stub, np.zeros(5))
