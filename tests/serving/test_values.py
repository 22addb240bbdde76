"""Regressors, rankers and outlier detectors in the service: values as numbers, in any form of rows."""

from __future__ import annotations

import io

import numpy as np
import pytest
from persistence.valued import X, made
from serving.test_app import JSON, ask

import wald
from wald.serving import create_app
from wald.serving.bodies import ARROW

ROWS = X[:40]


def stream(rows):
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table({f"c{c}": rows[:, c] for c in range(rows.shape[1])}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    "name", ["hist poisson", "forest of several", "xgboost", "xgboost several", "lightgbm ranker", "target of trees"]
)
def test_values_are_numbers(name):
    fast, model, _ = made(name)
    app, own = create_app(fast), model.predict(ROWS)
    assert ask(app, "POST", "/predict", json={"rows": ROWS.tolist()}).json() == {"values": own.tolist()}
    for row, value in zip(ROWS[:4].tolist(), own.tolist(), strict=False):
        assert ask(app, "POST", "/predict", json={"row": row}).json() == {"value": value}
    full = fast.compiled_plan_.plan.full_cost
    assert ask(app, "POST", "/predict?cost=1", json={"row": row}).json() == {"value": value, "cost": full}
    assert ask(app, "POST", "/predict", json={"rows": []}).json() == {"values": []}


@pytest.mark.parametrize("name", ["xgboost", "forest of several"])
def test_arrow_has_columns_of_the_models_dtype(name):
    pa = pytest.importorskip("pyarrow")
    fast, model, _ = made(name)
    answer = ask(create_app(fast), "POST", "/predict", content=stream(ROWS), headers={"content-type": ARROW})
    table, own = pa.ipc.open_stream(answer.content).read_all(), model.predict(ROWS)
    names = ["value"] if own.ndim == 1 else ["value_0", "value_1"]
    assert table.column_names == names
    assert {str(kind) for kind in table.schema.types} == {"float" if own.dtype == np.float32 else "double"}
    np.testing.assert_array_equal(np.column_stack([table[n].to_numpy() for n in names]), own.reshape(len(own), -1))


def test_records_of_columns_and_texts():
    fast, model, frame = made("columns of trees")
    records, own = frame[:9].to_dict("records"), model.predict(frame[:9])
    app = create_app(fast)
    assert ask(app, "POST", "/predict", json={"records": records}).json() == {"values": own.tolist()}
    shuffled = dict(reversed(records[0].items()))
    assert ask(app, "POST", "/predict", json={"record": shuffled}).json() == {"value": own[0]}
    assert ask(app, "POST", "/predict", json={"row": list(records[1].values())}).json() == {"value": own[1]}
    fast, model, texts = made("texts")
    app, own = create_app(fast), fast.predict(texts[:5])
    assert ask(app, "POST", "/predict", json={"rows": texts[:5].tolist()}).json() == {"values": own.tolist()}
    assert ask(app, "POST", "/predict", json={"row": str(texts[0])}).json() == {"value": own[0]}


def test_values_that_are_no_numbers_are_null():
    fast = made("hist")[0]
    app, odd = create_app(fast), [[None] * 5, [1.0] * 5]
    found = ask(app, "POST", "/predict", json={"rows": odd}).json()["values"]
    assert found == fast.predict(np.array(odd, dtype=float)).tolist()
    linear = made("linear")[0]
    answer = ask(create_app(linear), "POST", "/predict", json={"row": [None] * 5})
    assert answer.status_code == 400
    assert "NaN" in answer.json()["error"]


def test_outliers_have_labels_and_costs():
    fast = made("isolation forest")[0]
    labels, costs = fast.predict(ROWS, return_cost=True)
    got = ask(create_app(fast), "POST", "/predict?cost=1", json={"rows": ROWS.tolist()}).json()
    assert got == {"labels": labels.tolist(), "costs": costs.tolist()}
    watched = create_app(fast, audit_rate=1.0)
    ask(watched, "POST", "/predict", json={"rows": ROWS.tolist()})
    assert watched.model.monitor_.n_rows == len(ROWS)


def test_what_is_asked_of_values_in_vain():
    app = create_app(made("hist")[0])
    answer = ask(app, "POST", "/predict?proba=1", json={"row": ROWS[0].tolist()})
    assert (answer.status_code, "has no probabilities" in answer.text) == (400, True)
    answer = ask(app, "POST", "/predict?budget=1", json={"row": ROWS[0].tolist()})
    assert (answer.status_code, "budget" in answer.text) == (400, True)
    answer = ask(app, "POST", "/predict", content=b'{"row": ["a", 1, 1, 1, 1]}', headers=JSON)
    assert (answer.status_code, "must be a number" in answer.text) == (400, True)
    with pytest.raises(ValueError, match="evaluates every row in full, so that there is nothing to audit"):
        create_app(made("lightgbm ranker")[0], audit_rate=0.1)


def test_other_endpoints_and_files(tmp_path):
    fast, model, _ = made("lightgbm poisson")
    wald.save(fast, tmp_path / "model.wald")
    model.booster_.save_model(tmp_path / "model.txt")
    own = model.predict(ROWS)
    for path in ("model.wald", "model.txt"):
        app = create_app(tmp_path / path)
        assert ask(app, "POST", "/predict", json={"rows": ROWS.tolist()}).json() == {"values": own.tolist()}
        facts = ask(app, "GET", "/certificate").json()
        assert (facts["status"], facts["holds"], facts["n_stages"]) == ("full", True, 0)
        assert "wald_rows_total 40" in ask(app, "GET", "/metrics").text
        assert ask(app, "GET", "/health").json() == {"status": "ok"}
