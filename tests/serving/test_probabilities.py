"""Probabilities within a tolerance in the service: the answers themselves, in any form of rows."""

from __future__ import annotations

import io

import numpy as np
import pytest
from serving.test_app import ask
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from wald import EarlyExitClassifier, Planner
from wald.serving import create_app
from wald.serving.bodies import ARROW


def test_probabilities_are_the_answers():
    X, y = make_classification(2000, 6, n_informative=4, random_state=0)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[:500], np.array(["no", "yes"])[y[:500]])
    fast = EarlyExitClassifier(model, tolerance=0.15, risk=0.1, planner=Planner(cost="units"), random_state=0)
    app, own = create_app(fast.fit(X[500:])), fast.predict_proba(X[:9])
    assert ask(app, "POST", "/predict", json={"rows": X[:9].tolist()}).json() == {"probabilities": own.tolist()}
    assert ask(app, "POST", "/predict", json={"row": X[0].tolist()}).json() == {"probability": own[0].tolist()}
    asked = ask(app, "POST", "/predict?proba=1&budget=8", json={"rows": X[:9].tolist()}).json()
    assert asked["proba"] == asked["probabilities"]  # of the budget, too
    assert asked["classes"] == ["no", "yes"]
    assert ask(app, "POST", "/predict", json={"rows": []}).json() == {"probabilities": []}
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table({f"c{c}": X[:9, c] for c in range(6)}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    answer = ask(app, "POST", "/predict", content=sink.getvalue(), headers={"content-type": ARROW})
    found = pa.ipc.open_stream(answer.content).read_all()
    assert found.column_names == ["proba_no", "proba_yes"]
    np.testing.assert_array_equal(found["proba_yes"].to_numpy(), own[:, 1])
