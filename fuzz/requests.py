"""Targets: bodies of requests to the service, sent through its application."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pyarrow
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald.serving import create_app
from wald.serving.bodies import ARROW, JSON

from .alterations import bytes_altered, document_altered
from .target import Target

NAMES = ("a", "b", "größe")
MAX_ROWS = 50
Answer = tuple[int, bytes]


class Refused(Exception):  # noqa: N818 - as the service says
    """An answer with a status of 400 to 415."""


def _services() -> list[Any]:
    """A model with names and one without."""
    X = np.random.default_rng(0).normal(size=(200, len(NAMES)))
    services = []
    for rows in (X, pandas.DataFrame(X, columns=list(NAMES))):
        model = LogisticRegression().fit(rows, X[:, 0] > 0)
        fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0.2, random_state=0).fit(rows)
        services.append(create_app(fast, max_rows=MAX_ROWS, max_body=1 << 16))
    return services


_SERVICES = _services()
_LOOP = asyncio.new_event_loop()


async def _sent(service: Any, body: bytes, media: str, query: bytes) -> Answer:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", media.encode())]
    scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": query, "headers": headers}
    await service(scope, receive, send)
    start, content = sent
    assert dict(start["headers"])[b"content-length"] == b"%d" % len(content["body"])
    return start["status"], content["body"]


def _asked(media: str) -> Callable[[bytes], list[bytes]]:
    def ask(body: bytes) -> list[bytes]:
        found, refusal = [], ""
        for service in _SERVICES:
            for query in (b"", b"cost=true", b"budget=2"):
                status, content = _LOOP.run_until_complete(_sent(service, body, media, query))
                assert status == 200 or 400 <= status <= 415, f"status {status}"
                if status == 200:
                    found.append(content)
                else:
                    refusal = json.loads(content)["error"]
        if not found:
            raise Refused(re.sub(r"\s+", " ", refusal)[:2000])
        return found

    return ask


def _use_json(answers: list[bytes]) -> None:
    for answer in map(json.loads, answers):
        labels = answer["labels"] if "labels" in answer else [answer["label"]]
        assert len(labels) <= MAX_ROWS
        assert all(label in (True, False) for label in labels)


def _use_arrow(answers: list[bytes]) -> None:
    for answer in answers:
        table = pyarrow.ipc.open_stream(io.BytesIO(answer)).read_all()
        assert table.num_rows <= MAX_ROWS
        assert set(table["label"].to_pylist()) <= {True, False}


_JSON = [b'"row"', b'"rows"', b'"record"', b'"records"', b"NaN", b"-Infinity", b"1e999", b"[" * 2000, b"null", b"\xff"]
TARGETS = [
    Target("http-json", _asked(JSON), _use_json, (Refused,), document_altered(plain=bytes_altered(_JSON))),
    Target("http-arrow", _asked(ARROW), _use_arrow, (Refused,), bytes_altered()),
]
