"""Every endpoint, what they answer and what they refuse."""

from __future__ import annotations

import asyncio
import json
import time
from types import SimpleNamespace

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import wald
from wald.serving import create_app
from wald.serving.bodies import ARROW

JSON = {"content-type": "application/json"}


def client(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://service")


def ask(app, method, path, **request):
    async def once():
        async with client(app) as asking:
            return await asking.request(method, path, **request)

    return asyncio.run(once())


def test_rows_in_any_form_get_the_labels_and_costs_of_predict(named, rows):
    X = rows[0][5000:5050]
    app = create_app(named)
    labels, costs = named.predict(pd.DataFrame(X, columns=list("abcdefgh")), return_cost=True)
    records = [dict(zip("abcdefgh", row, strict=True)) for row in X.tolist()]
    for body in ({"rows": X.tolist()}, {"records": records}):
        assert ask(app, "POST", "/predict", json=body).json() == {"labels": labels.tolist()}
        with_costs = ask(app, "POST", "/predict?cost=true", json=body).json()
        assert with_costs == {"labels": labels.tolist(), "costs": costs.tolist()}
    for i, row in enumerate(X.tolist()):
        for body in ({"row": row}, {"record": records[i]}):
            assert ask(app, "POST", "/predict", json=body).json() == {"label": labels[i]}
            expected = {"label": labels[i], "cost": costs[i]}
            assert ask(app, "POST", "/predict?cost=1", json=body).json() == expected


def test_a_budget_is_kept(fast, rows):
    X = rows[0][5000:5050]
    budget = float(fast.plan_.stage_costs[0])
    expected, costs = fast.predict(X, budget=budget, return_cost=True)
    body = {"rows": X.tolist()}
    got = ask(create_app(fast), "POST", f"/predict?cost=true&budget={budget}", json=body).json()
    assert got == {"labels": expected.tolist(), "costs": costs.tolist()}
    got = ask(create_app(fast), "POST", f"/predict?budget={budget}", json={"row": X[0].tolist()}).json()
    assert got == {"label": expected[0]}


def test_arrow_in_and_out(named, rows):
    pa = pytest.importorskip("pyarrow")
    X = rows[0][5000:5100]
    table = pa.table({name: X[:, c] for c, name in reversed(list(enumerate("abcdefgh")))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=30)
    body = bytes(sink.getvalue())
    answer = ask(create_app(named), "POST", "/predict?cost=true", content=body, headers={"content-type": ARROW})
    assert answer.headers["content-type"] == ARROW
    got = pa.ipc.open_stream(answer.content).read_all()
    labels, costs = named.predict(pd.DataFrame(X, columns=list("abcdefgh")), return_cost=True)
    assert got["label"].to_pylist() == labels.tolist()
    assert got["cost"].to_pylist() == costs.tolist()
    headers = {"content-type": ARROW}
    assert ask(create_app(named), "POST", "/predict", content=body[:200], headers=headers).status_code == 400
    assert ask(create_app(named, max_rows=99), "POST", "/predict", content=body, headers=headers).status_code == 413


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no JSON"),
        (b'{"row": [1, 2', "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[[1]]", "is a JSON list"),
        (b"{}", "Send a JSON object"),
        (b'{"row": [1], "rows": []}', "has the names"),
        (b'{"lines": []}', "'lines'"),
        (b'{"row": 1}', "must be a list of numbers"),
        (b'{"row": [1, 2]}', "8 features. Got 2"),
        (b'{"row": [1, 2, "x", 4, 5, 6, 7, 8]}', "row, column 2: must be a number"),
        (b'{"rows": [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, {}, 8]]}', "row 1, column 6"),
        (b'{"rows": [[1, 2, 3, 4, 5, 6, 7, 8], [1]]}', "row 1 must have 8"),
        (b'{"row": [1e999, 1, 1, 1, 1, 1, 1, 1]}', "infinity"),
        (b'{"row": [NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN]}', "NaN"),
        (b'{"row": [null, null, null, null, null, null, null, null]}', "NaN"),
        (b'{"row": [' + b"9" * 400 + b", 1, 1, 1, 1, 1, 1, 1]}", "too large"),
        (b'{"record": {"x": 1}}', "feature names"),
        (b'{"record": [1]}', "must be an object"),
        (b'{"records": 1}', "must be a list"),
    ],
)
def test_bad_bodies_get_400_and_a_reason(fast, body, words):
    answer = ask(create_app(fast), "POST", "/predict", content=body, headers=JSON)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"record": {"a": 1}}, "record lacks 'b'"),
        ({"record": dict.fromkeys("abcdefgh", "?")}, "record['a'] must be a number"),
        ({"record": dict.fromkeys("abcdefgh")}, "record['a'] is None"),
        ({"records": [dict.fromkeys("abcdefgh", "?")]}, "records[0]['a'] must be a number"),
        ({"row": [1, 2]}, "row must have 8 features"),
    ],
)
@pytest.mark.parametrize("query", ["", "?cost=true", "?budget=1000"])
def test_messages_call_the_row_what_the_request_calls_it(named, body, words, query):
    answer = ask(create_app(named), "POST", f"/predict{query}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"row": [1, 2]}, "row must be one row of 8 features"),
        ({"rows": [[1] * 8, [1, 2]]}, "row 1 must be one row of 8 features"),
        (
            {"rows": [[1] * 8, [[], 1, 1, 1, 1, 1, 1, 1]]},
            "setting an array element with a sequence: column 'a' (0) of row 1 is [], a list.",
        ),
        ({"record": {"a": 1}}, "record lacks 'b'"),
    ],
)
@pytest.mark.parametrize("window", [0, 0.5])
def test_rows_of_a_pipeline_are_called_what_the_request_calls_them(rows, body, words, window):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=2000)).fit(frame[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    )
    app = create_app(fast.fit(frame[1000:5000]), batch_window=window)
    app._batcher.seconds = 1.0  # a row is slow, so that it waits for others where it may
    answer = ask(app, "POST", "/predict", json=body)
    assert (answer.status_code, answer.json()["error"].startswith(words)) == (400, True), answer.text


@pytest.mark.parametrize("query", ["cost=maybe", "budget=much", "budget=-1", "budget=nan", "price=1"])
def test_bad_queries_get_400(fast, query):
    body = {"rows": np.zeros((2, 8)).tolist()}
    assert ask(create_app(fast), "POST", f"/predict?{query}", json=body).status_code == 400


@pytest.mark.parametrize("name", ["cost", "proba", "budget", "deadline", "groups"])
def test_options_that_come_twice_are_refused(fast, name):
    body = {"row": np.zeros(fast.n_features_in_).tolist()}
    answer = ask(create_app(fast), "POST", f"/predict?{name}=1&{name}=0", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"] == f"The query has {name} 2 times; give it once."


def test_limits_media_types_and_paths(fast):
    app = create_app(fast, max_rows=3, max_body=1000)
    too_many = ask(app, "POST", "/predict", json={"rows": [[0] * 8] * 4})
    assert (too_many.status_code, "3 rows" in too_many.text) == (413, True)

    async def pieces():
        for _ in range(3):
            yield b" " * 500

    assert ask(app, "POST", "/predict", content=b" " * 1001, headers=JSON).status_code == 413
    assert ask(app, "POST", "/predict", content=pieces(), headers=JSON).status_code == 413
    assert ask(app, "POST", "/predict", content=b"a", headers={"content-type": "text/csv"}).status_code == 415
    assert ask(app, "GET", "/predict").status_code == 405
    missing = ask(app, "GET", "/nowhere")
    assert (missing.status_code, "/predict" in missing.json()["error"]) == (404, True)


def _raw(app, messages):
    """Answers to a request whose body comes as these messages, and then not at all."""
    sent = []

    async def run():
        async def receive():
            if messages:
                return messages.pop(0)
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": []}
        await asyncio.wait_for(app(scope, receive, send), 10)

    asyncio.run(run())
    return sent


def test_a_body_that_is_cut_off_does_not_hang(fast):
    part = {"type": "http.request", "body": b'{"row": [1', "more_body": True}
    app = create_app(fast, body_timeout=0.2)
    assert _raw(app, [part, {"type": "http.disconnect"}]) == []
    assert app.metrics.errors["cut off"] == 1
    assert _raw(app, [part])[0]["status"] == 408


def test_certificate_and_health(fast):
    app = create_app(fast)
    facts = ask(app, "GET", "/certificate").json()
    assert facts["text"] == str(fast.certificate_)
    assert facts["holds"]
    assert facts["strata"][0]["n_rows"] == fast.certificate_.strata[0].n_rows
    assert ask(app, "GET", "/health").json() == {"status": "ok"}


def test_metrics_parse_and_add_up(fast, rows, monkeypatch):
    parser = pytest.importorskip("prometheus_client.parser")
    app = create_app(fast)
    X = rows[0][5000:5020]
    _, costs = fast.predict(X, return_cost=True)
    ask(app, "POST", "/predict", json={"rows": X.tolist()})
    ask(app, "POST", "/predict", json={"row": X[0].tolist()})
    ask(app, "POST", "/predict", content=b"x", headers=JSON)
    monitor = SimpleNamespace(state="doubtful", as_dict=lambda: {"n_audits": 7, "state": "doubtful"})
    monkeypatch.setattr(fast.compiled_plan_, "monitor", monitor)
    text = ask(app, "GET", "/metrics").text
    found = {
        (s.name, *s.labels.values()): s.value for f in parser.text_string_to_metric_families(text) for s in f.samples
    }
    assert found["wald_rows_total",] == 21
    assert found["wald_cost_total",] == pytest.approx(costs.sum() + costs[0])
    assert sum(value for name, value in found.items() if name[0] == "wald_stage_rows_total") == 21
    assert found["wald_errors_total", "body"] == 1
    assert found["wald_requests_total", "200"] == 2
    assert found["wald_monitor_state", "doubtful"] == 1
    assert found["wald_monitor_state", "holding"] == 0
    assert found["wald_monitor_n_audits",] == 7


def figures(app):
    """The figures of /metrics by name and labels."""
    parser = pytest.importorskip("prometheus_client.parser")
    families = parser.text_string_to_metric_families(ask(app, "GET", "/metrics").text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_stages_are_those_at_which_rows_left(rows):
    """Also where classes that are out of the race make rows of a later stage as cheap as those of an earlier one."""
    X, y = make_classification(4000, 8, n_informative=6, n_classes=4, class_sep=2.0, random_state=0)
    trees = HistGradientBoostingClassifier(max_iter=40, early_stopping=False).fit(X[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(trees), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[1000:3500])
    served = X[3500:3700]
    answers = fast.compiled_plan_.predict(served)
    assert (answers.costs != fast.plan_.stage_costs[answers.stages]).any()
    stages = np.bincount(answers.stages, minlength=fast.plan_.n_stages + 1)
    for bodies in ([{"rows": served.tolist()}], [{"row": row} for row in served.tolist()]):
        app = create_app(fast)
        for body in bodies:
            ask(app, "POST", "/predict", json=body)
        found = figures(app)
        assert [found["wald_stage_rows_total", str(stage)] for stage in range(len(stages))] == stages.tolist()


def test_counters_never_fall(fast, named, rows):
    models = iter([fast, named, fast])
    app = create_app(lambda: next(models))
    before = figures(app)

    async def many():
        app._batcher.seconds = 1.0  # rows wait for each other
        async with client(app) as asking:
            bodies = [{"row": row} for row in rows[0][5000:5100].tolist()]
            await asyncio.gather(*(asking.post("/predict", content=json.dumps(b), headers=JSON) for b in bodies))

    for _ in range(2):
        asyncio.run(many())
        ask(app, "POST", "/predict", json={"row": rows[0][0].tolist()})
        after = figures(app)
        assert after["wald_batches_total",] > before["wald_batches_total",]
        asyncio.run(app.reload())
        last = figures(app)
        assert last["wald_batches_total",] == after["wald_batches_total",]
        assert all(last[name] >= value for name, value in after.items() if name[0].endswith("_total"))
        before = last


def test_the_lines_of_the_monitor_are_shown(fast, rows):
    X, y = rows
    model = LogisticRegression().fit(X[:1000], y[:1000])
    early = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk={"all": 0.05, 1: 0.1}, planner=wald.Planner(cost="units"), random_state=0
    )
    app = create_app(early.fit(X[1000:5000]).watched(1.0))
    ask(app, "POST", "/predict", json={"rows": X[5000:5500].tolist()})
    found = figures(app)
    n = int(model.predict(X[5000:5500]).sum())
    assert found["wald_monitor_line_audits", "rows"] == 500
    assert found["wald_monitor_line_audits", "rows of class 1"] == n
    assert found["wald_monitor_line_risk", "rows of class 1"] == 0.1
    assert found["wald_monitor_line_broken", "rows"] == 0
    assert found["wald_monitor_state", "holding"] == 1
    assert found["wald_monitor_state", "unwatched"] == 0
    assert found["wald_monitor_unwatched",] == found["wald_monitor_grouped",] == 0


@pytest.mark.parametrize("seconds", [0.0, 1.0])  # of a row: answered at once, or with others
def test_concurrent_requests_get_the_labels_of_predict(fast, rows, seconds):
    X = rows[0][5000:5200]
    labels, costs = fast.predict(X, return_cost=True)
    app = create_app(fast, batch_window=0.001 if seconds else 1.0)
    app._batcher.seconds = seconds

    async def all_at_once():
        async with client(app) as asking:
            bodies = [{"row": row} for row in X.tolist()] + [{"row": [float("inf")] * 8}]
            posts = (asking.post("/predict?cost=true", content=json.dumps(body), headers=JSON) for body in bodies)
            return await asyncio.gather(*posts)

    *answers, refused = asyncio.run(all_at_once())
    expected = [{"label": a, "cost": b} for a, b in zip(labels.tolist(), costs.tolist(), strict=True)]
    assert [answer.json() for answer in answers] == expected
    assert refused.status_code == 400
    assert (app.metrics.batches > 0) == (seconds > 0)


def test_an_idle_service_answers_at_once(fast, rows):
    app = create_app(fast, batch_window=1.0)
    app._batcher.seconds = 1.0
    start = time.perf_counter()
    assert ask(app, "POST", "/predict", json={"row": rows[0][0].tolist()}).status_code == 200
    assert time.perf_counter() - start < 0.9


@pytest.mark.parametrize("limits", [{"max_rows": 0}, {"max_body": 1.5}, {"batch_window": -1}, {"body_timeout": 0}])
def test_limits_out_of_range_are_refused(fast, limits):
    with pytest.raises(ValueError, match=next(iter(limits))):
        create_app(fast, **limits)


def test_only_fitted_classifiers_are_served(fast):
    for what in (3, lambda: 3):
        with pytest.raises(TypeError, match="EarlyExitClassifier"):
            create_app(what)


def test_a_function_loads_the_model_and_loads_it_anew(fast, saved):
    models = [wald.load(saved), wald.load(saved)]
    given = iter(models)
    app = create_app(lambda: next(given))
    assert app.model is models[0]
    asyncio.run(app.reload())
    assert app.model is models[1]
    watched = create_app(lambda: fast, audit_rate=0.5)
    assert watched.model.monitor_.audit_rate == 0.5
    asyncio.run(watched.reload())
    assert watched.model.monitor_.audit_rate == 0.5


def test_reload_takes_the_new_file_and_keeps_the_old_model_if_it_is_bad(fast, saved, tmp_path):
    path = tmp_path / "model.wald"
    path.write_bytes(saved.read_bytes())
    app = create_app(path)
    old = app.model
    asyncio.run(app.reload())
    assert app.model is not old
    new = app.model
    path.write_bytes(b"no model")
    with pytest.raises(ValueError, match="model"):
        asyncio.run(app.reload())
    assert app.model is new
    with pytest.raises(ValueError, match="neither a file nor a function"):
        asyncio.run(create_app(fast).reload())
