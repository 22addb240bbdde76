"""scikit-learn's gradient boosting whose first scores come from another estimator, its ``init``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.ensemble._gb import _init_raw_predictions
from sklearn.exceptions import NotFittedError

from ...steps import Chain
from ..reading import Decompose
from ..started import OwnStart, ReadStart, StartedTrees
from ..tree_arrays import Trees
from ..trees import TreeTerms


def terms_of(model: Any, trees: Trees, n_outputs: int, decompose: Decompose) -> TreeTerms | StartedTrees:
    """The terms of a gradient boosting model.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    trees : Trees
    n_outputs : int
    decompose : callable
        Reads the model of ``init``, if wald knows its kind. Any other is called as scikit-learn calls it.
    """
    init, first = model.init_, np.zeros(n_outputs)
    from_rows = not (init is None or isinstance(init, DummyClassifier | DummyRegressor | str))
    if not from_rows:
        row = np.zeros((1, model.n_features_in_), dtype=np.float32)
        first = np.asarray(model._raw_predict_init(row), dtype=np.float64).reshape(n_outputs)
    terms = TreeTerms(trees, first, f32_rows=True, nan=False, infinity=False)
    return StartedTrees(terms, _start(model, init, decompose)) if from_rows else terms


class _Answers:
    """In the place of an estimator: what it answered."""

    def __init__(self, answers: NDArray[Any]) -> None:
        self._answers = answers

    def predict(self, X: Any) -> NDArray[Any]:
        return self._answers

    predict_proba = predict


class _Raw:
    """From answers of the first model to scores, as scikit-learn has them."""

    def __init__(self, loss: Any, probable: bool) -> None:
        self._loss, self._probable = loss, probable

    def __call__(self, answers: NDArray[Any]) -> Any:
        return _init_raw_predictions(None, _Answers(answers), self._loss, self._probable)


def _start(model: Any, init: Any, decompose: Decompose) -> OwnStart | ReadStart:
    probable = isinstance(model, GradientBoostingClassifier)
    own = OwnStart(model, binary=probable and len(model.classes_) == 2)
    try:
        member = decompose(init)
    except (TypeError, ValueError, NotFittedError):
        return own
    answers = member.links.predict_proba if probable else member.links.predict
    readable = isinstance(member.preprocessing, Chain | None) and member.serves_full
    if member.kind != ("classifier" if probable else "regressor") or answers is None or not readable:
        return own
    return ReadStart(member, _Raw(model._loss, probable), probable)
