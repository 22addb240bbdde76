"""Models and rows for tests on clusters, and a blow that kills a worker once."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald

pandas = pytest.importorskip("pandas")


class Case(NamedTuple):
    """A classifier, rows to serve, and one machine's labels and costs of them."""

    model: wald.EarlyExitClassifier
    rows: pandas.DataFrame
    labels: np.ndarray
    cost: np.ndarray


#: Labels of every kind that a column can hold.
LABELS = {
    "int": np.array([3, 7]),
    "bool": np.array([False, True]),
    "str": np.array(["no", "yes"]),
    "object": np.array(["no", "yes"], dtype=object),
    "float": np.array([-1.0, 1.0]),
    "uint8": np.array([0, 1], dtype=np.uint8),
}


def make_case(labels: str = "str", estimator=None, named: bool = True, dtype=np.float64) -> Case:
    X, y = make_classification(5000, 8, n_informative=6, class_sep=1.5, random_state=0)
    frame = pandas.DataFrame(X.astype(dtype), columns=[f"x{i}" for i in range(8)])
    given = frame if named else frame.to_numpy()
    inner = (estimator or LogisticRegression()).fit(given[:500], LABELS[labels][y[:500]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = wald.EarlyExitClassifier(
            FrozenEstimator(inner), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
        )
        model.fit(given[500:3000])
    rows = frame[3000:].reset_index(drop=True)
    labels_, cost = model.predict(rows if named else rows.to_numpy(), return_cost=True)
    assert len(np.unique(cost)) > 1  # some rows leave early
    return Case(model, rows.assign(id=np.arange(len(rows))), labels_, cost)


def killer(flag: str, victim: Callable[[], int]) -> Callable[[], None]:
    """A call that kills a process with SIGKILL the first time, wherever it is made; ``flag`` is a path."""

    def strike() -> None:
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(victim(), signal.SIGKILL)

    return strike


def require_same(found: pandas.DataFrame, case: Case) -> None:
    """Every row once, with the labels and costs of one machine."""
    found = found.sort_values("id", ignore_index=True)
    assert found["id"].tolist() == case.rows["id"].tolist()
    assert found["label"].tolist() == case.labels.tolist()
    if "cost" in found:
        assert found["cost"].tolist() == case.cost.tolist()


def require_probabilities(found: pandas.DataFrame, case: Case) -> None:
    """The probabilities of one machine; matrix products may round a row otherwise in a smaller partition."""
    found = found.sort_values("id", ignore_index=True)
    own = case.model.predict_proba(case.rows.drop(columns="id"))
    names = [f"proba_{label}" for label in case.model.classes_]
    np.testing.assert_allclose(found[names].to_numpy(np.float64), own, rtol=1e-14)
