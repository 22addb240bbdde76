"""Requests with categories, missing values and texts: the answers are the pipeline's own for rows as `fit` saw them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import wald
from wald.serving import create_app
from wald.serving.bodies import ARROW

RNG = np.random.default_rng(0)
N = 400
CITY = RNG.choice(["Ulm", "Köln", "", "nan"], N)
LEVEL = RNG.choice(np.array(["low", "high", None], dtype=object), N)
FRAME = pd.DataFrame(
    {
        "city": pd.Series(CITY, dtype="str"),
        "level": pd.Series(LEVEL, dtype=object),
        "month": RNG.integers(1, 13, N),
        "price": np.where(RNG.random(N) < 0.1, np.nan, np.exp(RNG.normal(size=N))),
    }
)
Y = np.where(2 * (CITY == "Ulm") + (LEVEL == None) + np.nan_to_num(FRAME["price"]) > 1.8, "yes", "no")  # noqa: E711
ROWS = FRAME.head(20)
POSTS = [" ".join(RNG.choice([f"word{i}" for i in range(40)], 30)) for _ in range(90)]
TOPICS = np.array(["a", "b", "c"])[np.arange(90) % 3]
DICTS: list[dict[str, Any]] = [{"a": 1, "b": "x"}, {"b": "y", "c": 2.5}, {"a": 3}] * 20
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


def as_seen(library: str) -> Any:
    """The rows as `fit` sees them: with None, or in pandas' own strings with NaN."""
    if library == "polars":
        return pl.DataFrame(json_records())
    return FRAME if library == "objects" else FRAME.astype({"level": "str" if library == "str" else "category"})


def json_records(frame: pd.DataFrame = FRAME) -> list[dict[str, Any]]:
    return [
        {name: None if value != value else value for name, value in row.items()} for row in frame.to_dict("records")
    ]


def columns(model: Any = None) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [
        ("texts", OneHotEncoder(handle_unknown="ignore"), ["city", "level"]),
        ("numbers", numbers, ["month", "price"]),
    ]
    return make_pipeline(ColumnTransformer(parts), model or LogisticRegression())


def served(pipeline: Any, X: Any = None) -> tuple[wald.EarlyExitClassifier, Any]:
    fast = wald.EarlyExitClassifier(pipeline, risk=0).fit(X)
    return fast, create_app(fast)


def post(app: Any, content: bytes, media: str, query: str = "") -> httpx.Response:
    async def once() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://service") as client:
            return await client.post(f"/predict{query}", content=content, headers={"content-type": media})

    return asyncio.run(once())


def ask(app: Any, body: dict[str, Any], query: str = "") -> Any:
    answer = post(app, json.dumps(body).encode(), "application/json", query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(app: Any, body: dict[str, Any], query: str = "") -> str:
    answer = post(app, json.dumps(body).encode(), "application/json", query)
    assert answer.status_code == 400, answer.text
    return str(answer.json()["error"])


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def ask_arrow(app: Any, table: pa.Table, query: str = "") -> dict[str, list[Any]]:
    answer = post(app, stream(table), ARROW, query)
    assert answer.status_code == 200, answer.text
    found: dict[str, list[Any]] = pa.ipc.open_stream(answer.content).read_all().to_pydict()
    return found


def texts(values: Any, kind: pa.DataType) -> pa.Array:
    plain = pa.array(values, pa.string())
    return plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)


@pytest.mark.parametrize("library", ["objects", "str", "category", "polars"])
def test_rows_in_every_form_have_the_answers_of_the_pipeline(library: str) -> None:
    X = as_seen(library)
    pipeline = columns().fit(X, Y)
    _, app = served(pipeline, X)
    own, shares = pipeline.predict(X[:20]).tolist(), pipeline.predict_proba(X[:20])
    records = json_records(ROWS)
    for body in ({"records": records}, {"rows": [list(record.values()) for record in records]}):
        found = ask(app, body, "?proba=true")
        assert found["labels"] == own
        np.testing.assert_allclose(found["proba"], shares, rtol=1e-13)
    for i, record in enumerate(records[:5]):
        for body in ({"record": record}, {"row": list(record.values())}):
            assert ask(app, body) == {"label": own[i]}
            np.testing.assert_allclose(ask(app, body, "?proba=true")["proba"], shares[i], rtol=1e-13)
    for kind in TEXT_TYPES:
        table = pa.table(
            {
                "more": pa.array(range(20)),
                "price": pa.array([record["price"] for record in records]),
                "level": texts([record["level"] for record in records], kind),
                "city": texts([record["city"] for record in records], kind),
                "month": pa.array([record["month"] for record in records]),
            }
        )
        answers = ask_arrow(app, table, "?proba=true")
        assert answers["label"] == own
        np.testing.assert_allclose(np.column_stack([answers["proba_no"], answers["proba_yes"]]), shares, rtol=1e-13)


def test_columns_of_nulls_alone_and_of_whole_numbers() -> None:
    pipeline = columns().fit(FRAME, Y)
    _, app = served(pipeline, FRAME)
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    empty = table.set_column(1, "level", pa.nulls(20)).set_column(3, "price", pa.nulls(20))
    own = ROWS.assign(level=pd.Series([None] * 20, dtype=object), price=np.nan)
    assert ask_arrow(app, empty)["label"] == pipeline.predict(own).tolist()
    numbers = table.set_column(0, "city", pa.array(range(20)))
    own = ROWS.assign(city=pd.Series(range(20), dtype=object))
    assert ask_arrow(app, numbers)["label"] == pipeline.predict(own).tolist()
    assert ask_arrow(app, table.slice(0, 0))["label"] == []


def test_a_record_is_answered_without_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = columns().fit(FRAME, Y)
    fast = wald.EarlyExitClassifier(pipeline, risk=0).fit(FRAME)
    app, watching = create_app(fast), create_app(fast, audit_rate=0.0)
    record, own = json_records(ROWS)[0], pipeline.predict(ROWS[:1])[0]
    refuse = lambda *_: pytest.fail("a frame is made")  # noqa: E731
    monkeypatch.setattr("wald.early_exit.compiled.reader.frame_of", refuse)
    for each in (app, watching):
        for body in ({"record": record}, {"row": list(record.values())}):
            assert ask(each, body) == {"label": own}
            assert ask(each, body, "?cost=true") == {"label": own, "cost": fast.plan_.full_cost}
            assert each.metrics.stages[fast.plan_.n_stages] == each.metrics.rows
    assert watching.model.monitor_.n_rows == 4


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"more": 1}, "'more'", "Got 5"),
    ({"price": "dear"}, "column 'price'", "column 'price'"),
    ({"price": [1]}, "column 'price'", "column 'price'"),
    ({"city": ["Ulm"]}, "column 'city'", "column 'city'"),
    ({"city": {"name": "Ulm"}}, "column 'city'", "column 'city'"),
    ({"month": 10**400}, "'month'", "'month'"),
]


@pytest.mark.parametrize("query", ["", "?proba=true"])
def test_what_is_wrong_with_a_row_names_the_column(query: str) -> None:
    _, app = served(columns().fit(FRAME, Y), FRAME)
    good = json_records(ROWS)[0]
    for change, in_record, in_row in BAD:
        bad = good | change
        assert in_record in refused(app, {"record": bad}, query)
        words = refused(app, {"records": [good, bad]}, query)
        assert in_record in words
        assert "records[1]" in words or "record 1" in words
        assert in_row in refused(app, {"row": list(bad.values())}, query)
        words = refused(app, {"rows": [list(good.values()), list(bad.values())]}, query)
        assert in_row in words
        assert "row 1" in words
    lacking = {name: value for name, value in good.items() if name != "city"}
    assert refused(app, {"record": lacking}, query).startswith("record lacks 'city'")
    assert refused(app, {"records": [good, lacking]}, query).startswith("records[1] lacks 'city'")
    assert "4 features. Got 3: the columns are 'city'" in refused(app, {"row": list(lacking.values())}, query)
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    for changed, words in (
        (table.drop_columns(["city"]), "'city'"),
        (table.set_column(3, "price", pa.array(["dear"] * 20)), "column 'price'"),
        (table.set_column(0, "city", pa.array([["Ulm"]] * 20)), "column 'city'"),
        (table.set_column(3, "price", pa.array([pd.Timestamp("2026-01-01")] * 20)), "column 'price'"),
    ):
        answer = post(app, stream(changed), ARROW, query)
        assert answer.status_code == 400
        assert words in answer.json()["error"]


def test_texts_in_every_form_have_the_answers_of_the_pipeline() -> None:
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(POSTS, TOPICS)
    _, app = served(pipeline)
    given = [*POSTS[:6], "", "a\0b word1", "ΣΑΣ"]
    own, shares = pipeline.predict(given).tolist(), pipeline.predict_proba(given).tolist()
    assert ask(app, {"rows": given}, "?proba=true") == {"labels": own, "classes": ["a", "b", "c"], "proba": shares}
    for text, label, share in zip(given, own, shares, strict=True):
        assert ask(app, {"row": text}) == {"label": label}
        assert ask(app, {"row": text}, "?proba=true")["proba"] == share
    for kind in TEXT_TYPES:
        answers = ask_arrow(app, pa.table({"text": texts(given, kind)}), "?proba=true")
        assert answers["label"] == own
        assert [answers[f"proba_{label}"] for label in "abc"] == np.transpose(shares).tolist()
    lone = post(app, b'{"rows": ["word1 \\ud800", "word2"]}', "application/json")
    assert lone.json() == {"labels": pipeline.predict(["word1 \ud800", "word2"]).tolist()}


@pytest.mark.parametrize("query", ["", "?proba=true"])
def test_what_is_no_text_is_named(query: str) -> None:
    _, app = served(make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(POSTS, TOPICS))
    for value in (None, 3, ["a"], {"text": "a"}):
        assert refused(app, {"row": value}, query).startswith("row must be a text, a JSON string. Got ")
        assert refused(app, {"rows": ["a", value]}, query).startswith("row 1 must be a text, a JSON string. Got ")
    for body in ({"record": {"text": "a"}}, {"records": [{"text": "a"}]}):
        assert "The model reads texts" in refused(app, body, query)
    for table, words in (
        (pa.table({"a": ["x"], "b": ["y"]}), "one column of texts. The table has 'a', 'b'"),
        (pa.table({"a": [1]}), "column 'a' must hold texts. Got the type int64"),
        (pa.table({"a": ["x", None]}), "column 'a' must hold texts. Row 1 is null"),
    ):
        answer = post(app, stream(table), ARROW, query)
        assert answer.status_code == 400
        assert words in answer.json()["error"]


@pytest.mark.parametrize("vectorizer", [DictVectorizer(), FeatureHasher(32)], ids=["names", "hashes"])
def test_named_values_have_the_answers_of_the_pipeline(vectorizer: Any) -> None:
    pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(DICTS, np.arange(60) % 3 > 0)
    _, app = served(pipeline)
    own, shares = pipeline.predict(DICTS[:6]).tolist(), pipeline.predict_proba(DICTS[:6]).tolist()
    for kind in ("records", "rows"):
        found = ask(app, {kind: DICTS[:6]}, "?proba=true")
        assert (found["labels"], found["proba"]) == (own, shares)
    for kind in ("record", "row"):
        assert ask(app, {kind: DICTS[1]}) == {"label": own[1]}
    table = pa.table({"a": [1.0, None, 3.0], "b": ["x", "y", None], "c": [None, 2.5, None]})
    assert ask_arrow(app, table)["label"] == own[:3]
    assert "records[1] must be an object" in refused(app, {"records": [{"a": 1}, 3]})
    assert "row 1 must be a JSON object" in refused(app, {"rows": [{"a": 1}, "x"]})
    assert "'a'" in refused(app, {"record": {"a": {"b": 1}}})
