"""The ASGI application: ``/predict`` is answered by hand, in microseconds; Starlette answers the rest."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs

import numpy as np

from ..calls import CallError
from ..early_exit.estimators import ANY_EARLY_EXIT, EarlyExit, watched
from ..early_exit.group_answers import promise_of
from ..persistence import load as load_file
from ..persistence.library import in_full
from ..utils.install import install
from .batching import Batcher
from .bodies import (
    ARROW,
    JSON,
    RequestError,
    decoded,
    json_reader,
    read_arrow,
    read_json,
    require_encoding,
    require_media,
    write_arrow,
    write_json,
)
from .metrics import CONTENT_TYPE, Metrics
from .rows import Limits, Rows

#: Bodies above this size, and rows that take longer than this together, are left to a thread.
LARGE_BODY, LONG = 1 << 15, 0.002
#: Options of a query that are true or false, and those that are numbers.
FLAGS, LIMITS = ("cost", "proba"), ("budget", "deadline")
_LOG = logging.getLogger("wald.serving")


def create_app(
    model: EarlyExit | str | os.PathLike[str] | Callable[[], EarlyExit],
    *,
    n_jobs: int | None = 1,
    max_body: int = 16 << 20,
    max_rows: int = 100_000,
    batch_window: float = 0.001,
    body_timeout: float = 30.0,
    audit_rate: float | None = None,
    on_broken: str = "warn",
) -> Service:
    """Make an ASGI application that serves a model.

    Parameters
    ----------
    model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker, EarlyExitOutlierDetector, path or callable
        A fitted one, or a file of `wald.save`, of ``wald fit`` or of a tree library; or a function without
        arguments that loads one, for files that `wald.load` reads with ``estimator`` or ``trusted``. Files and
        functions are loaded anew by `Service.reload`.
    n_jobs : int or None, default=1
        Threads of a model that is given by its file.
    max_body : int, default=16777216
        Largest body of a request, in bytes.
    max_rows : int, default=100000
        Most rows of a request.
    batch_window : float, default=0.001
        Longest time in seconds that a row waits for rows of other requests, with which it is then predicted. Rows do
        not wait on an idle service, nor where a row takes less than a tenth of it. 0: no row waits.
    body_timeout : float, default=30
        Seconds after which a request whose body does not come is refused.
    audit_rate, on_broken
        As for `EarlyExitClassifier.watched`; None leaves the model as it is. There is nothing to audit where every row
        is evaluated in full.

    Returns
    -------
    Service
        An ASGI application, for uvicorn or another server, or to be mounted in one of Starlette or FastAPI.

    Raises
    ------
    ValueError, TypeError
        For limits out of range, and for a model that is none.
    """
    limits: tuple[tuple[str, Any], ...] = (("max_body", max_body), ("max_rows", max_rows))
    for name, value in limits:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1. Got {value!r}.")
    if not 0 <= batch_window <= 1:
        raise ValueError(f"batch_window must be between 0 and 1 second. Got {batch_window!r}.")
    if not body_timeout > 0:
        raise ValueError(f"body_timeout must be positive. Got {body_timeout!r}.")
    watch = partial(watched, audit_rate=audit_rate, on_broken=on_broken)
    if isinstance(model, str | os.PathLike):
        load: Callable[[], EarlyExit] = partial(read_served, Path(model), n_jobs)
    elif callable(model):
        load = model
    else:
        return Service(watch(model), None, max_body, max_rows, batch_window, body_timeout)

    def read() -> EarlyExit:
        return watch(load())

    return Service(read(), read, max_body, max_rows, batch_window, body_timeout)


def read_served(path: Path, n_jobs: int | None = 1) -> EarlyExit:
    """Read an early-exit estimator from a file of wald or of a tree library, which is then evaluated in full."""
    model: Any = in_full(path, n_jobs) or load_file(path)
    if not isinstance(model, EarlyExit):
        raise TypeError(f"{path} holds a {type(model).__name__}; only an {ANY_EARLY_EXIT} can be served.")
    model.set_params(n_jobs=n_jobs)
    return model


class Service:
    """An ASGI application around a fitted early-exit estimator; `create_app` makes it.

    Attributes
    ----------
    model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        The one that answers now.
    metrics : Metrics
    draining : bool
        Whether connections are closed after their answers, because the service is about to stop.
    """

    def __init__(
        self,
        model: EarlyExit,
        read: Callable[[], EarlyExit] | None,
        max_body: int,
        max_rows: int,
        batch_window: float,
        body_timeout: float,
    ) -> None:
        self._max_body, self._max_rows = max_body, max_rows
        self._window, self._timeout, self._read = batch_window, body_timeout, read
        self._others = _other_endpoints(self)
        self._loads = json_reader()
        self.draining = False
        self.metrics = Metrics()
        self._install(model)

    def _install(self, model: EarlyExit) -> None:
        rows = Rows(model)  # raises if it is none that is fitted
        self.model, self._rows = model, rows
        self._batcher = Batcher(rows.one, rows.many, self._window, self._max_rows, self.metrics.count_batch)
        self.metrics.watch(model.compiled_plan_.plan.n_stages)
        keys = [] if rows.columns.classes is None else rows.columns.classes.tolist()
        self._labels = {key: b'{"%s":%s}' % (rows.columns.name.encode(), write_json(key)) for key in keys}

    async def reload(self) -> None:
        """Load the model anew, in a thread; requests are answered by the old model until the new one is ready.

        Raises
        ------
        ValueError, TypeError, OSError
            If it cannot be loaded; the old model goes on answering. If the service was given a classifier.
        """
        if self._read is None:
            raise ValueError("The service was given a classifier, and neither a file nor a function to load it anew.")
        model = await asyncio.to_thread(self._read)
        self._install(model)
        self.metrics.reloads += 1

    # ---- requests --------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path, root = scope["path"], scope.get("root_path", "")
            if path == "/predict" or (root and path.removeprefix(root) == "/predict"):
                await self._predict(scope, receive, send)
                return
        await self._others(scope, receive, send)

    async def _predict(self, scope: Any, receive: Any, send: Any) -> None:
        status, media = 200, JSON
        try:
            arrow, body = await self._body(scope, receive)
            if body is None:  # the client is gone
                self.metrics.errors["cut off"] += 1
                return
            options = _options(scope["query_string"]) if scope["query_string"] else (False, {}, False, None)
            content = await self._answer(body, arrow, *options)
            media = ARROW if arrow else JSON
        except RequestError as error:
            status, content = error.status, write_json({"error": str(error)})
            self.metrics.errors[error.kind] += 1
        except (ValueError, TypeError, OverflowError) as error:  # of the model, about the rows
            status, content = 400, write_json({"error": str(error)})
            self.metrics.errors["rows"] += 1
        except CallError:
            _LOG.exception("a call that a request takes has failed")
            status, content = 503, b'{"error":"What the service asks did not answer; its log says why."}'
            self.metrics.errors["call"] += 1
        except Exception:
            _LOG.exception("a request could not be answered")
            status, content = 500, b'{"error":"The service failed; its log says why."}'
            self.metrics.errors["internal"] += 1
        self.metrics.requests[status] += 1
        headers = [(b"content-type", media.encode()), (b"content-length", b"%d" % len(content))]
        if self.draining or status in (408, 413):  # what is left of the body is not read
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _body(self, scope: Any, receive: Any) -> tuple[bool, bytes | None]:
        """Whether a request is Arrow, and its body; None if it was cut off."""
        media, encoding = JSON, ""
        for name, value in scope["headers"]:
            if name == b"content-type":
                given, _, parameters = value.decode("latin-1").partition(";")
                media = given.strip().lower()
                require_media(media, parameters)
            elif name == b"content-encoding":
                encoding = value.decode("latin-1").strip().lower()
                require_encoding(encoding)
            elif name == b"content-length" and int(value) > self._max_body:
                raise self._too_large()
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return False, None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._max_body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise RequestError(
                408, "timeout", f"The body did not come within {self._timeout:g} seconds: {size} bytes did."
            ) from None
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if encoding:
            body = await asyncio.to_thread(decoded, body, encoding, self._max_body)
        return media == ARROW, body

    def _too_large(self) -> RequestError:
        return RequestError(413, "too large", f"A body may have {self._max_body} bytes. Send several requests.")

    async def _answer(
        self, body: bytes, arrow: bool, cost: bool, limits: Limits, proba: bool, groups: str | None
    ) -> bytes:
        rows, batcher = self._rows, self._batcher  # a reload does not change them in the middle
        large = len(body) > LARGE_BODY
        if arrow:
            given = await asyncio.to_thread(read_arrow, body, self._max_rows, groups)
        elif groups is not None:
            raise RequestError(400, "query", 'groups names a column of an Arrow body; in JSON, "groups" is a list.')
        elif large:
            given = await asyncio.to_thread(read_json, body, self._loads, self._max_rows)
        else:
            given = read_json(body, self._loads, self._max_rows)
        if given.kind == "row" and not limits and not proba:
            row = rows.read(given.rows)
            labels = self._labels
            label, spent, stage = batcher.one(row) if batcher.at_once() else await batcher.together(row)
            self.metrics.count_row(spent, stage)
            if not cost and labels and label in labels:
                return labels[label]
            return write_json({rows.columns.name: _plain(label), **({"cost": spent} if cost else {})})
        apart = arrow or large or given.n_rows * max(batcher.seconds, 1e-5) > LONG
        if given.groups is not None:
            if proba:
                raise RequestError(400, "query", "proba: rows that race in groups have no probabilities.")
            answers, costs, stages, places = (
                await asyncio.to_thread(rows.ranked, given, limits) if apart else rows.ranked(given, limits)
            )
            self.metrics.count_rows(costs, stages)
            if arrow:
                own = rows.columns.of_answers(answers) | {"rank": places}
                return write_arrow(own, costs if cost else None)
            ranked = {f"{rows.columns.name}s": answers.tolist(), "ranks": places.tolist()}
            return write_json(ranked | ({"costs": costs.tolist()} if cost else {}))
        if apart:
            answers, costs, stages, found = await asyncio.to_thread(rows.answer, given, limits, proba)
        else:
            answers, costs, stages, found = rows.answer(given, limits, proba)
        self.metrics.count_rows(costs, stages)
        if arrow:
            named = {} if found is None else dict(zip(rows.probability_names, found.T, strict=True))
            return write_arrow(rows.columns.of_answers(answers), costs if cost else None, named)
        one, name = given.kind in ("row", "record"), rows.columns.name
        content: dict[str, Any] = {name: _plain(answers[0])} if one else {rows.columns.plural: answers.tolist()}
        if cost:
            content |= {"cost": float(costs[0])} if one else {"costs": costs.tolist()}
        if found is not None:
            content |= {"classes": rows.classes, "proba": (found[0] if one else found).tolist()}
        return write_json(content)


def _plain(answer: Any) -> Any:
    return answer.tolist() if isinstance(answer, np.generic | np.ndarray) else answer


def _options(query: bytes) -> tuple[bool, Limits, bool, str | None]:
    """Whether costs are wanted, budget and deadline, whether probabilities are wanted, and the column of groups."""
    try:
        given = parse_qs(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise RequestError(400, "query", "The query is no text.") from None
    unknown = [name for name in given if name not in (*FLAGS, *LIMITS, "groups")]
    if unknown:
        raise RequestError(
            400, "query", f"The query has {unknown[0]!r}; it may have cost, budget, deadline, proba and groups."
        )
    repeated = [name for name, values in given.items() if len(values) > 1]
    if repeated:
        raise RequestError(400, "query", f"The query has {repeated[0]} {len(given[repeated[0]])} times; give it once.")
    wanted, limits = [], {}
    for name in FLAGS:
        value = given.get(name, ["false"])[0]
        if value.lower() not in ("true", "false", "1", "0"):
            raise RequestError(400, "query", f"{name} must be true or false. Got {value!r}.")
        wanted.append(value.lower() in ("true", "1"))
    for name in LIMITS:
        if name in given:
            try:
                limits[name] = float(given[name][0])
            except ValueError:
                raise RequestError(400, "query", f"{name} must be a number. Got {given[name][0]!r}.") from None
    return wanted[0], cast(Limits, limits), wanted[1], given.get("groups", [None])[0]


def _other_endpoints(service: Service) -> Any:
    """The endpoints that need not be fast, and the answers to what is none."""
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise ImportError(f"The service needs {error.name}, which is not installed: {install('serve')}") from None

    def answer(content: bytes, status: int = 200, media: str = JSON) -> Any:
        service.metrics.requests[status] += 1
        headers = {"connection": "close"} if service.draining else None
        return Response(content, status, media_type=media, headers=headers)

    async def certificate(request: Any) -> Any:
        made = promise_of(service.model)
        facts = {"text": str(made), "holds": made.verify(), **asdict(made)}
        plan = service.model.compiled_plan_.plan
        facts |= {"n_stages": plan.n_stages, "full_cost": plan.full_cost}
        return answer(write_json(json.loads(json.dumps(facts, default=str))))

    async def metrics(request: Any) -> Any:
        text = service.metrics.text(service.model.compiled_plan_.monitor)
        return answer(text.encode(), media=CONTENT_TYPE)

    async def health(request: Any) -> Any:
        monitor = service.model.compiled_plan_.monitor
        state = {} if monitor is None else {"monitor": str(getattr(monitor, "state", "unknown"))}
        return answer(write_json({"status": "stopping" if service.draining else "ok", **state}))

    async def refused(request: Any, error: Any) -> Any:
        if error.status_code == 404:
            words = "There are POST /predict, GET /certificate, GET /metrics and GET /health."
        else:
            words = f"{error.detail}: {request.method} {request.url.path}"
        service.metrics.errors["no endpoint"] += 1
        return answer(write_json({"error": words}), error.status_code)

    async def only_post(request: Any) -> Any:
        raise HTTPException(405)

    return Starlette(
        routes=[
            Route("/certificate", certificate),
            Route("/metrics", metrics),
            Route("/health", health),
            Route("/predict", only_post),
        ],
        exception_handlers={HTTPException: refused},
    )
