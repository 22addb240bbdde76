"""Labels of several types are refused: as an array they would become texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier
from wald.online import AttentiveBoosting, AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

X = np.random.default_rng(0).normal(size=(200, 3))
LEARNERS = [AttentivePegasos, AttentivePerceptron, AttentivePassiveAggressive, AttentiveBoosting]
MIXED = [("O", 1), ("O", None), (1, None), ("O", b"O"), ("True", True), ("O", float("nan"))]


def labels(a: Any, b: Any) -> list[Any]:
    return [a if x > 0 else b for x in X[:, 0]]


def as_objects(y: list[Any]) -> Any:
    array = np.empty(len(y), dtype=object)
    array[:] = y
    return array


@pytest.mark.parametrize("form", [list, tuple, as_objects])
@pytest.mark.parametrize(("a", "b"), MIXED)
def test_labels_of_several_types_are_refused(a: Any, b: Any, form: Any) -> None:
    y = form(labels(a, b))
    for model in (*(learner() for learner in LEARNERS), EarlyExitClassifier(LogisticRegression(), risk=0.1)):
        with pytest.raises(ValueError, match="y must hold labels of one type"):
            model.fit(X, y)
    for learner in LEARNERS[:3]:
        with pytest.raises(ValueError, match="y must hold labels of one type"):
            learner().partial_fit(X, y, classes=["1", "O"])
        with pytest.raises(ValueError, match="classes must hold labels of one type"):
            learner().partial_fit(X, ["O"] * len(X), classes=[a, b])


@pytest.mark.parametrize(("a", "b"), [("O", "1"), (1, 0), (True, False), (np.str_("a"), "b")])
def test_labels_of_one_type_come_back(a: Any, b: Any) -> None:
    model = AttentivePegasos(random_state=0).fit(X, labels(a, b))
    assert set(model.predict(X).tolist()) == {a, b}
