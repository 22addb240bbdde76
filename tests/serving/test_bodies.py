"""Bodies that are compressed, or are not what their headers say; and probabilities in answers."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import zlib

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

import wald
from wald.serving import create_app
from wald.serving.bodies import ARROW

JSON = "application/json"
BODY = json.dumps({"rows": [[0.5] * 8, [-0.5] * 8]}).encode()


def post(app, body, query="", **headers):
    async def once():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as asking:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            return await asking.post(f"/predict{query}", content=body, headers={"content-type": JSON} | given)

    return asyncio.run(once())


def raw_deflate(body):
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(body) + packing.flush()


def arrow_stream(table):
    pa = pytest.importorskip("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


# ---- encodings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("x-gzip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
    ],
)
def test_encoded_bodies_are_answered(fast, encoding, pack):
    app = create_app(fast)
    plain = post(app, BODY)
    assert plain.status_code == 200
    encoded = post(app, pack(BODY), content_encoding=encoding)
    assert (encoded.status_code, encoded.json()) == (200, plain.json())


def test_an_encoded_arrow_stream_is_answered(fast):
    pa = pytest.importorskip("pyarrow")
    stream = arrow_stream(pa.table({f"c{i}": [0.5, -0.5] for i in range(8)}))
    got = post(create_app(fast), gzip.compress(stream), content_type=ARROW, content_encoding="gzip")
    labels = pa.ipc.open_stream(got.content).read_all()["label"].to_pylist()
    assert labels == post(create_app(fast), BODY).json()["labels"]


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, br", "utf-8"])
def test_other_encodings_are_named(fast, encoding):
    got = post(create_app(fast), BODY, content_encoding=encoding)
    assert got.status_code == 415
    assert got.json()["error"] == f"Content-Encoding must be gzip, deflate or identity. Got {encoding!r}."


def test_what_is_not_encoded_as_said(fast):
    app, packed = create_app(fast), gzip.compress(BODY)
    for body, encoding in ((BODY, "gzip"), (packed[:-9], "gzip"), (b"", "gzip"), (BODY, "deflate")):
        got = post(app, body, content_encoding=encoding)
        assert got.status_code == 400
        assert f"not encoded as {encoding}" in got.json()["error"]
    got = post(app, packed)
    assert got.status_code == 415
    assert "compressed by gzip, and its content-encoding does not say so" in got.json()["error"]


def test_no_more_is_unpacked_than_a_body_may_have(fast):
    app = create_app(fast, max_body=10_000)
    for pack in (gzip.compress, zlib.compress, raw_deflate):
        encoding = "gzip" if pack is gzip.compress else "deflate"
        bomb = pack(b" " * 9_000_000)
        assert len(bomb) < 10_000
        got = post(app, bomb, content_encoding=encoding)
        assert got.status_code == 413
        assert "10000 bytes, unpacked" in got.json()["error"]
    many = gzip.compress(b" " * 6_000) * 3  # several members
    assert post(app, many, content_encoding="gzip").status_code == 413


def test_a_body_in_parts_is_answered(fast):
    async def parts():
        for start in range(0, len(BODY), 7):
            yield BODY[start : start + 7]

    assert post(create_app(fast), parts()).json() == post(create_app(fast), BODY).json()


@pytest.mark.parametrize(
    ("body", "media", "status", "words"),
    [
        (BODY, "application/json; charset=latin-1", 415, "has the charset 'latin-1'"),
        (BODY, 'application/json; charset="UTF-8"', 200, ""),
        ('{"record": {"Größe": 1}}'.encode("latin-1"), JSON, 400, "no UTF-8"),
        (BODY, ARROW, 415, "The body is JSON: its content-type is application/json"),
        (b"PAR1" + bytes(40), JSON, 415, "is a Parquet file"),
        (b"ARROW1\0\0" + bytes(40), JSON, 415, "is an Arrow file"),
        (BODY, "text/csv", 415, "Got 'text/csv'"),
    ],
)
def test_bodies_that_are_not_what_the_content_type_says(fast, body, media, status, words):
    pytest.importorskip("pyarrow")
    got = post(create_app(fast), body, content_type=media)
    assert got.status_code == status
    assert words in got.text


@pytest.mark.parametrize("kind", ["row", "rows"])
def test_a_list_in_place_of_a_number_is_refused(fast, kind):
    row = [[0.5]] * 8  # which would have the right number of values
    got = post(create_app(fast), json.dumps({kind: row if kind == "row" else [row]}).encode())
    assert got.status_code == 400
    where = "row" if kind == "row" else "row 0"
    assert got.json()["error"] == f"{where}, column 0: must be a number or null. Got [0.5], a JSON list."


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"row": [1, 2, 3], "row": [3, 2, 1]}', "An object of the body has the name 'row' 2 times."),
        ('{"record": {"a": 1, "b": 2, "a": 3}}', "An object of the body has the name 'a' 2 times."),
        ('{"records": [{"a": 1, "b": 2}, {"b": 2, "a": 1, "b":3}]}', "An object of the body has the name 'b' 2 times."),
        ('{"row": [1, %s]}' % ("9" * 5000), "The body has a number that is too large."),
    ],
)
def test_what_json_readers_take_or_refuse_in_words_of_their_own(fast, body, words):
    answer = post(create_app(fast), body)
    assert (answer.status_code, answer.json()["error"]) == (400, words)


def test_colons_in_texts_are_no_second_names(fast):
    answer = post(create_app(fast), json.dumps({"row": [0.5] * 7 + ["12:30:00"]}))
    assert answer.json()["error"] == "row, column 7: must be a number or null. Got '12:30:00', a JSON string."


def test_nulls_and_decimals_of_arrow_are_numbers(trees, rows):
    pa = pytest.importorskip("pyarrow")
    few = pd.DataFrame(np.round(rows[0][:20], 2), columns=list("abcdefgh"))
    plain = pa.Table.from_pandas(few, preserve_index=False)
    table = plain.set_column(0, "a", plain["a"].cast(pa.decimal128(12, 2))).set_column(1, "b", pa.nulls(20))
    answer = post(create_app(trees), arrow_stream(table), content_type=ARROW)
    assert answer.status_code == 200, answer.text
    labels = pa.ipc.open_stream(answer.content).read_all()["label"].to_pylist()
    assert labels == trees.predict(few.assign(b=np.nan)).tolist()


def test_an_arrow_stream_sent_as_json_is_named(fast):
    pa = pytest.importorskip("pyarrow")
    got = post(create_app(fast), arrow_stream(pa.table({"a": [1.0]})))
    assert got.status_code == 415
    assert f"is an Arrow stream: its content-type is {ARROW}" in got.json()["error"]


# ---- probabilities ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trees(rows):
    frame = pd.DataFrame(rows[0], columns=list("abcdefgh"))
    labels = np.array(["no", "yes", "so"])[rows[1] + (np.arange(len(frame)) % 3 == 0)]
    model = HistGradientBoostingClassifier(max_iter=15).fit(frame[:1000], labels[:1000])
    return wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()


@pytest.mark.filterwarnings("error")
def test_probabilities_in_every_form_are_those_of_predict_proba(trees, rows):
    pa = pytest.importorskip("pyarrow")
    app, frame = create_app(trees), pd.DataFrame(rows[0][5000:5030], columns=list("abcdefgh"))
    own, labels = trees.estimator_.predict_proba(frame), trees.predict(frame).tolist()
    expected = {"labels": labels, "classes": ["no", "so", "yes"], "proba": own.tolist()}
    records = frame.to_dict("records")
    for body in ({"rows": frame.to_numpy().tolist()}, {"records": records}):
        assert post(app, json.dumps(body), "?proba=true").json() == expected
    for i in range(5):
        for body in ({"row": frame.iloc[i].tolist()}, {"record": records[i]}):
            got = post(app, json.dumps(body), "?proba=1&cost=true").json()
            assert got.pop("cost") > 0
            assert got == {"label": labels[i], "classes": expected["classes"], "proba": own[i].tolist()}
    stream = arrow_stream(pa.Table.from_pandas(frame[list("hgfedcba")], preserve_index=False))
    table = pa.ipc.open_stream(io.BytesIO(post(app, stream, "?proba=true", content_type=ARROW).content)).read_all()
    assert table.column_names == ["label", "proba_no", "proba_so", "proba_yes"]
    np.testing.assert_array_equal(np.column_stack(table.columns[1:]), own)
    assert post(app, b'{"rows": []}', "?proba=true").json() == {**expected, "labels": [], "proba": []}
    assert post(app, json.dumps({"records": records}), "?proba=false").json() == {"labels": labels}


@pytest.mark.filterwarnings("error")
def test_linear_models_with_names_have_probabilities(named, rows):
    frame = pd.DataFrame(rows[0][5000:5030], columns=list("abcdefgh"))
    got = post(create_app(named), json.dumps({"rows": frame.to_numpy().tolist()}), "?proba=true").json()
    np.testing.assert_allclose(got["proba"], named.estimator_.predict_proba(frame), rtol=1e-14)


def test_models_without_probabilities_say_so(rows):
    X, y = rows
    model = LinearSVC(random_state=0).fit(X[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[1000:3000])
    got = post(create_app(fast), BODY, "?proba=true")
    assert got.status_code == 400
    assert got.json()["error"] == "proba: the wrapped LinearSVC has no probabilities. Leave it out."
    got = post(create_app(fast), BODY, "?proba=maybe")
    assert got.json()["error"] == "proba must be true or false. Got 'maybe'."
