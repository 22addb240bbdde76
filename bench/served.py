"""A support vector machine for 20 newsgroups behind an HTTP server that fails: posts paid for, and requests."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from wald import CallError, Calls, EarlyExitClassifier, Surrogate

from .models import kept
from .report import Figure
from .settings import Run

TRAIN, FIT, DRAWS = 6000, 5000, 5
#: Posts of a request; requests at once; share of requests that fail; requests after which the server is killed.
BATCH, AT_ONCE, FAILING, KILLED = 10, 4, 0.1, 20
#: Cost of the surrogate, where a post costs 1.
CHEAP = 0.001


def served(how: Run) -> list[Figure]:
    """Count what is asked of the server, over draws of the posts to fit on and to answer."""
    home = os.environ.get("WALD_DATA")
    train, test = (
        fetch_20newsgroups(data_home=None if home is None else os.path.join(home, "sklearn"), subset=subset)
        for subset in ("train", "test")
    )
    few = np.random.default_rng(0).permutation(len(train.data))[: how.rows(TRAIN, 2000)]
    posts, groups = [train.data[i] for i in few], train.target[few]

    def make() -> Any:
        words = TfidfVectorizer(sublinear_tf=True, min_df=2)
        return make_pipeline(words, SVC(kernel="linear", C=10)).fit(posts, groups)

    machine = make() if how.quick else kept("served-svc", make)
    hashing = HashingVectorizer(n_features=1 << 18, alternate_sign=False, norm=None)
    hashed = make_pipeline(hashing, TfidfTransformer(sublinear_tf=True), LinearSVC()).fit(posts, groups)
    every = test.data[: how.rows(len(test.data), 2000)]
    labels, n_fit = machine.predict(every), how.rows(FIT, 1400)
    known = dict(zip(every, labels.tolist(), strict=True))  # so that the server of each draw has only to look up
    found = [_draw(every, labels, known, hashed, n_fit, seed) for seed in range(DRAWS)]
    shares = [100 * each["paid"] / each["rows"] for each in found]
    total = {name: sum(each[name] for each in found) for name in found[0]}
    differ = max(each["differ"] for each in found)
    asked = f"mean of {DRAWS} draws, {min(shares):.3g} to {max(shares):.3g} %"
    asked += f"; at most {100 * differ:.2g} % of labels differ"
    in_fit = f"fit sends {n_fit + total['again'] // DRAWS}, for {n_fit} rows"
    kept_rows = f"of {total['rows']} rows; {total['before']} were answered by the server before it was killed"
    return [
        Figure(
            "newsgroups, 1 %: posts sent to the server",
            float(np.mean(shares)),
            "%",
            note=f"{asked}; {in_fit}",
        ),
        Figure("newsgroups, 1 %: requests", total["requests"], note=f"{total['failed']} of them failed, in all draws"),
        Figure("newsgroups, 1 %: rows lost by failures", total["lost"], note=f"of {total['rows']}"),
        Figure("server killed: rows that are decided", 100 * total["decided"] / total["rows"], "%", note=kept_rows),
        Figure("server killed: posts paid for twice", total["twice"], note="after predict has gone on"),
    ]


def _draw(
    every: list[str], labels: NDArray[Any], known: dict[str, int], hashed: Any, n_fit: int, seed: int
) -> dict[str, Any]:
    """Counts of one draw."""
    mixed = np.random.default_rng(seed).permutation(len(every))
    posts, own = [every[i] for i in mixed], labels[mixed]
    new, truth = posts[n_fit:], own[n_fit:]
    with _server(known, seed) as server:
        calls = Calls(
            lambda texts: _ask(server.current, texts),
            name="server",
            batch_size=BATCH,
            max_concurrency=AT_ONCE,
            retries=8,
            backoff=0.001,
        )
        surrogates = [Surrogate(hashed, cost=CHEAP, name="hashed words")]
        fast = EarlyExitClassifier(calls, risk=0.01, surrogates=surrogates, random_state=0).fit(posts[:n_fit])
        in_fit, requests, failed = server.paid, calls.total.calls, calls.total.failures
        answers = fast.predict(new)
        paid = server.paid - in_fit
        counts = {
            "rows": len(new),
            "paid": paid,
            "again": in_fit - n_fit,
            "requests": calls.total.calls - requests,
            "failed": calls.total.failures - failed,
            "lost": len(new) - len(answers),
            "differ": float(np.mean(answers != truth)),
        }
        server.kill(KILLED)
        try:
            fast.predict(new)
        except CallError as error:
            partial = error.partial
        assert partial is not None
        decided = int(np.count_nonzero(partial.decided))
        before = server.paid
        server.restart()
        if not np.array_equal(fast.predict(new, resume=partial), answers):
            raise RuntimeError("answers differ after the server came back")
        return counts | {"decided": decided, "before": before, "twice": server.paid - paid}


class _Server:
    """A server that can be killed and started again, and counts posts that it has answered."""

    def __init__(self, known: dict[str, int], seed: int) -> None:
        self._known, self._seed, self.paid = known, seed, 0
        self._lock = threading.Lock()
        self.start(None)

    def start(self, requests: int | None) -> None:
        """Listen; after so many requests, none is answered any more."""
        owner, chance = self, np.random.default_rng(self._seed)
        left = np.inf if requests is None else requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                nonlocal left
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with owner._lock:
                    left -= 1
                    killed, fails = left < 0, chance.random() < FAILING
                    owner.paid += 0 if killed or fails else len(texts)
                if killed:
                    return
                if fails:
                    self.send_error(503)
                    return
                body = json.dumps([owner._known[text] for text in texts]).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.current = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.current.serve_forever, args=[0.01], daemon=True).start()

    def stop(self) -> None:
        """Listen no more."""
        self.current.shutdown()
        self.current.server_close()

    def kill(self, requests: int) -> None:
        """Count from 0, and die after so many requests."""
        self.stop()
        self.paid = 0
        self.start(requests)

    def restart(self) -> None:
        """Come back after a kill."""
        self.stop()
        self.start(None)


@contextmanager
def _server(known: dict[str, int], seed: int) -> Iterator[_Server]:
    server = _Server(known, seed)
    try:
        yield server
    finally:
        server.stop()


def _ask(server: ThreadingHTTPServer, texts: list[str]) -> list[int]:
    """What a client does: send texts, and raise what goes wrong."""
    connection = HTTPConnection(str(server.server_address[0]), server.server_port, timeout=30)
    try:
        connection.request("POST", "/", json.dumps(list(texts)))
        with connection.getresponse() as response:
            body = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise ConnectionError(f"{response.status} {response.reason}")
    found: list[int] = json.loads(body)
    return found
