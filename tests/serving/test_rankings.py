"""Rankings in the service: rows with the groups that they race in, or those of one group."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from persistence.valued import made
from ranking.lists import K, fast, lists, ranker
from serving.test_app import ask

from wald import EarlyExitRanker
from wald.serving import create_app
from wald.serving.bodies import ARROW

X, _, GROUPS = lists(6, seed=3)
X = X.astype(float)
ORDER = np.random.default_rng(0).permutation(len(X))
ROWS, KEYS = X[ORDER], [f"query {g}" for g in GROUPS[ORDER]]


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app(fast())


def ranks_of(values: Any, keys: Any) -> list[int]:
    keys, found = np.array(keys), np.empty(len(values), dtype=int)
    for key in set(keys.tolist()):
        here = np.flatnonzero(keys == key)
        found[here[np.argsort(-values[here], kind="stable")]] = np.arange(1, len(here) + 1)
    return found.tolist()


def test_rows_and_groups(app: Any) -> None:
    expected = fast().predict(ROWS, groups=KEYS, details=True)
    body = {"rows": ROWS.tolist(), "groups": KEYS}
    answer = ask(app, "POST", "/predict", json=body).json()
    assert answer == {"values": expected.labels.tolist(), "ranks": ranks_of(expected.labels, KEYS)}
    answer = ask(app, "POST", "/predict?cost=1", json=body).json()
    assert answer["costs"] == expected.costs.tolist()
    assert np.mean(answer["costs"]) < 40
    numbers = {"rows": ROWS.tolist(), "groups": GROUPS[ORDER].tolist()}
    assert ask(app, "POST", "/predict", json=numbers).json()["values"] == expected.labels.tolist()
    metrics = ask(app, "GET", "/metrics").text
    assert f"wald_rows_total {3 * len(ROWS)}" in metrics


def test_one_group(app: Any) -> None:
    for size in (1, 3, 40):
        rows = X[:size]
        answer = ask(app, "POST", "/predict", json={"group": rows.tolist()}).json()
        assert answer["values"] == fast().predict(rows, groups=np.zeros(size)).tolist()
        assert np.argsort(answer["ranks"])[:K].tolist() == fast().rank(rows, K).tolist()
    assert ask(app, "POST", "/predict", json={"group": []}).json() == {"values": [], "ranks": []}
    assert ask(app, "POST", "/predict", json={"rows": [], "groups": []}).json() == {"values": [], "ranks": []}


def test_records_and_frames() -> None:
    pandas, lightgbm = pytest.importorskip("pandas"), pytest.importorskip("lightgbm")
    Z, y, groups = lists(50)
    names = list("abcdefgh")
    model = lightgbm.LGBMRanker(n_estimators=40, verbose=-1, n_jobs=1)
    model.fit(pandas.DataFrame(Z, columns=names), y, group=np.bincount(groups))
    Z, _, groups = lists(150, seed=1)
    early = EarlyExitRanker(model, k=K, risk=0.1, random_state=0).fit(pandas.DataFrame(Z, columns=names), groups=groups)
    frame = pandas.DataFrame(ROWS, columns=names)
    expected, app = early.predict(frame, groups=KEYS).tolist(), create_app(early)
    records = frame[names[::-1]].to_dict("records")
    for body in ({"records": records, "groups": KEYS}, {"rows": ROWS.tolist(), "groups": KEYS}):
        assert ask(app, "POST", "/predict", json=body).json()["values"] == expected
    own = early.predict(frame[:40], groups=np.zeros(40)).tolist()
    assert ask(app, "POST", "/predict", json={"group": records[:40]}).json()["values"] == own


def test_arrow(app: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table({f"c{c}": ROWS[:, c] for c in range(8)} | {"query": KEYS}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    how = {"content": sink.getvalue(), "headers": {"content-type": ARROW}}
    answer = ask(app, "POST", "/predict?groups=query&cost=1", **how)
    found, expected = pa.ipc.open_stream(answer.content).read_all(), fast().predict(ROWS, groups=KEYS)
    assert found.column_names == ["value", "rank", "cost"]
    np.testing.assert_array_equal(found["value"].to_numpy(), expected)
    assert found["rank"].to_pylist() == ranks_of(expected, KEYS)
    answer = ask(app, "POST", "/predict?groups=session", **how)
    assert "the table has no column 'session'" in answer.json()["error"]


def test_rankers_without_a_risk_take_groups_too() -> None:
    app, own = create_app(EarlyExitRanker(ranker()).fit()), ranker().predict(ROWS)
    answer = ask(app, "POST", "/predict", json={"rows": ROWS.tolist(), "groups": KEYS}).json()
    assert answer == {"values": own.tolist(), "ranks": ranks_of(own, KEYS)}


def test_the_certificate_is_that_of_the_race(app: Any) -> None:
    facts = ask(app, "GET", "/certificate").json()
    assert facts["text"] == str(fast().certificate_)
    assert facts["holds"] is True
    assert (facts["k"], facts["n_groups"]) == (K, 100)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("", {"rows": X[:3].tolist(), "groups": [0, 1]}, "groups must have one entry for each of the 3 rows. Got 2"),
        ("", {"rows": X[:2].tolist(), "groups": [0, None]}, "groups[1] must be a text or a number. Got a JSON null"),
        ("", {"rows": X[:2].tolist(), "groups": [0, [1]]}, "groups[1] must be a text or a number. Got [1]"),
        ("", {"rows": X[:2].tolist(), "groups": 7}, '"groups" must be a list with one key for each row'),
        ("", {"rows": [], "groups": [1]}, "groups has 1 keys, and there are no rows"),
        ("", {"row": X[0].tolist(), "groups": [1]}, '"groups" stand beside "rows" or "records"'),
        ("", {"group": 7}, '"group" must be a list. Got a JSON number'),
        ("", {"group": [[1.0]]}, "row 0 must have 8 features. Got 1"),
        ("", {"rows": X[:2].tolist(), "keys": [0, 1]}, "The body has the names ['rows', 'keys']"),
        ("?budget=1", {"group": X[:2].tolist()}, "budget"),
        ("?proba=1", {"group": X[:2].tolist()}, "rows that race in groups have no probabilities"),
        ("?groups=a", {"rows": X[:2].tolist()}, "groups names a column of an Arrow body"),
    ],
)
def test_bad_input(app: Any, path: str, body: Any, message: str) -> None:
    answer = ask(app, "POST", f"/predict{path}", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_groups_are_for_rankers() -> None:
    answer = ask(create_app(made("hist")[0]), "POST", "/predict", json={"group": [[1.0] * 5]})
    assert answer.status_code == 400
    assert "groups are for rankings" in answer.json()["error"]


def test_audits_count_groups() -> None:
    app = create_app(fast(), audit_rate=1.0)
    answer = ask(app, "POST", "/predict", json={"rows": ROWS.tolist(), "groups": KEYS}).json()
    assert answer["values"] == fast().predict(ROWS, groups=KEYS).tolist()
    ask(app, "POST", "/predict", json={"group": X[:40].tolist()})
    ask(app, "POST", "/predict", json={"rows": ROWS.tolist()})  # in full, and not counted
    assert app.model.monitor_.n_rows == 7
    assert ask(app, "GET", "/health").json()["monitor"] == "holding"
    assert "wald_monitor_audits" in ask(app, "GET", "/metrics").text


def test_a_budget_is_that_of_a_group(app: Any) -> None:
    expected = fast().predict(ROWS, groups=KEYS, budget=9)
    answer = ask(app, "POST", "/predict?budget=9", json={"rows": ROWS.tolist(), "groups": KEYS}).json()
    assert answer["values"] == expected.tolist()
