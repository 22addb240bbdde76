"""Bodies of requests and answers: JSON and Arrow streams."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..utils.objects import RepeatedNameError, with_names_once
from ..utils.plain import plain

#: Codings of bodies that are decoded.
ENCODINGS = ("gzip", "x-gzip", "deflate")
#: First bytes of bodies that are no JSON, and what they are.
STARTS = {
    b"\x1f\x8b": "is compressed by gzip, and its content-encoding does not say so",
    b"\xff\xff\xff\xff": "is an Arrow stream: its content-type is application/vnd.apache.arrow.stream",
    b"ARROW1": "is an Arrow file: send an Arrow stream, as application/vnd.apache.arrow.stream",
    b"PAR1": "is a Parquet file: send an Arrow stream, as application/vnd.apache.arrow.stream",
}

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"

Kind = Literal["row", "record", "rows", "records", "table"]
KINDS: tuple[Kind, ...] = ("row", "record", "rows", "records")
EXPECTED = (
    'Send a JSON object with one of the names "row" (a list of values in the order of the columns, or a text), "rows" '
    '(a list of these), "record" (an object from feature name to value) and "records" (a list of objects). For a '
    'ranker, "rows" or "records" beside "groups" (a list with the key of each row\'s group), or "group" (a list of the '
    "rows or objects of one group)."
)


class RequestError(Exception):
    """A request that cannot be answered.

    Parameters
    ----------
    status : int
        HTTP status.
    kind : str
        Name of the kind of error in the metrics.
    message : str
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@dataclass(frozen=True)
class Body:
    """Rows of one request.

    Attributes
    ----------
    kind : {"row", "record", "rows", "records", "table"}
    rows : object
        A row, several rows, or an Arrow table, according to `kind`.
    n_rows : int
    groups : object or None
        The key of each row's group, where rows are to be ranked.
    """

    kind: Kind
    rows: Any
    n_rows: int
    groups: Any = None


def json_reader() -> Callable[[bytes], Any]:
    """The fastest reader of JSON that is installed; NaN and Infinity, which orjson refuses, are read as numbers."""
    try:
        from orjson import loads
    except ImportError:
        return json.loads

    def read(body: bytes) -> Any:
        try:
            return loads(body)
        except ValueError:
            return json.loads(body)

    return read


def require_media(name: str, parameters: str) -> None:
    """Raise RequestError for a type, or a charset in its parameters, that is not read."""
    if name not in (JSON, ARROW):
        raise RequestError(415, "media type", f"content-type must be {JSON} or {ARROW}. Got {name!r}.")
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if key.strip().lower() == "charset" and name == JSON and charset not in ("utf-8", "utf8", "us-ascii"):
            raise RequestError(
                415, "media type", f"JSON is sent as UTF-8. The content-type has the charset {charset!r}."
            )


def require_encoding(encoding: str) -> None:
    """Raise RequestError for a Content-Encoding that is not decoded."""
    if encoding not in ("", "identity", *ENCODINGS):
        raise RequestError(
            415, "encoding", f"Content-Encoding must be gzip, deflate or identity. Got {encoding[:60]!r}."
        )


def decoded(body: bytes, encoding: str, most: int) -> bytes:
    """The content of a body with a Content-Encoding, of which no more than ``most`` bytes are ever unpacked."""
    if encoding in ("", "identity"):
        return body
    # gzip or zlib, by their own headers; some clients send deflate without one
    raw = encoding == "deflate" and body[:1] != b"\x78"
    parts, left = [], most
    try:
        while True:
            unpacking = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32)
            parts.append(unpacking.decompress(body, left + 1))
            left -= len(parts[-1])
            if left < 0:
                raise RequestError(413, "too large", f"A body may have {most} bytes, unpacked. Send several requests.")
            if not unpacking.eof:
                raise zlib.error("it is cut off")
            body = unpacking.unused_data
            if not body or raw:
                return b"".join(parts)
    except zlib.error as error:
        raise RequestError(400, "encoding", f"The body is not encoded as {encoding}: {error}.") from None


def read_json(body: bytes, read: Callable[[bytes], Any], max_rows: int) -> Body:
    """Read a JSON body; `read` comes from `json_reader`."""
    try:
        content = read(body)
    except (ValueError, RecursionError) as error:
        for start, what in STARTS.items():
            if body.startswith(start):
                raise RequestError(415, "media type", f"The body {what}.") from None
        if isinstance(error, UnicodeDecodeError):
            raise RequestError(
                400,
                "body",
                f"The body is no UTF-8, in which JSON is sent: byte {error.start} is {body[error.start]:#x}.",
            ) from None
        if type(error) is ValueError and "digits" in str(error):  # Python's limit
            raise RequestError(400, "rows", "The body has a number that is too large.") from None
        raise RequestError(400, "body", f"The body is no JSON: {error}. {EXPECTED}") from None
    if not isinstance(content, dict):
        raise RequestError(400, "body", f"The body is a JSON {_name(content)}. {EXPECTED}")
    _require_once(body, content)
    groups = content.pop("groups", None) if len(content) == 2 else None
    if len(content) != 1:
        raise RequestError(400, "body", f"The body has the names {list(content)[:8]}. {EXPECTED}")
    kind, rows = next(iter(content.items()))
    one_group = kind == "group" and groups is None
    if one_group:
        kind = "records" if isinstance(rows, list) and rows and isinstance(rows[0], dict) else "rows"
    if kind not in KINDS:
        raise RequestError(400, "body", f"The body has the name {kind!r}. {EXPECTED}")
    if kind in ("row", "record"):
        if groups is not None:
            raise RequestError(400, "body", f'"groups" stand beside "rows" or "records", and not beside "{kind}".')
        return Body(kind, rows, 1)
    if not isinstance(rows, list):
        named = "group" if one_group else kind
        raise RequestError(400, "body", f'"{named}" must be a list. Got a JSON {_name(rows)}.')
    require_few(len(rows), max_rows)
    if groups is not None:
        _require_keys(groups)
    return Body(kind, rows, len(rows), [0] * len(rows) if one_group else groups)


def _require_once(body: bytes, content: dict[str, Any]) -> None:
    """Raise RequestError for an object that has a name twice, of which readers keep the last."""
    n_names = len(content)
    for value in content.values():
        objects = value if isinstance(value, list) else [value]
        n_names += sum(len(each) for each in objects if isinstance(each, dict))
    if body.count(b":") <= n_names:  # each name has its colon
        return
    try:
        json.loads(body, object_pairs_hook=with_names_once)
    except RepeatedNameError as error:
        raise RequestError(400, "body", f"An object of the body {error}.") from None
    except (ValueError, RecursionError):  # what is nested deeper is refused elsewhere
        return


def _require_keys(groups: Any) -> None:
    """Raise RequestError for keys of groups that are no list of texts and numbers."""
    if not isinstance(groups, list):
        raise RequestError(
            400, "body", f'"groups" must be a list with one key for each row. Got a JSON {_name(groups)}.'
        )
    for row, key in enumerate(groups):
        if not isinstance(key, str | int | float):
            raise RequestError(400, "rows", f"groups[{row}] must be a text or a number. Got {shown(key)}.")


def read_arrow(body: bytes, max_rows: int, groups: str | None = None) -> Body:
    """Read an Arrow stream; ``groups`` is its column that names the group of each row."""
    try:
        import pyarrow as pa
    except ImportError:
        raise RequestError(415, "media type", "Arrow bodies need pyarrow on the server: pip install pyarrow") from None
    batches, n_rows = [], 0
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            for batch in stream:
                n_rows += batch.num_rows
                require_few(n_rows, max_rows)
                batches.append(batch)
            table = pa.Table.from_batches(batches, stream.schema)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        if body.lstrip()[:1] in (b"{", b"["):
            raise RequestError(415, "media type", f"The body is JSON: its content-type is {JSON}.") from None
        raise RequestError(400, "body", f"The body is no Arrow stream: {error}") from None
    if groups is None:
        return Body("table", table, n_rows)
    if table.column_names.count(groups) != 1:
        there = list(table.column_names)[:8]
        raise RequestError(400, "query", f"groups: the table has no column {groups!r}, or two of them; it has {there}.")
    return Body("table", table.drop_columns(groups), n_rows, table.column(groups).to_pylist())


def write_arrow(
    answers: dict[str, NDArray[Any]],
    costs: NDArray[np.float64] | None,
    probabilities: dict[str, NDArray[Any]] | None = None,
) -> bytes:
    """Answers, and costs and probabilities if there are any, as an Arrow stream of columns."""
    import pyarrow as pa

    columns = {name: pa.array(one.tolist() if one.dtype.kind in "OUS" else one) for name, one in answers.items()}
    if costs is not None:
        columns["cost"] = pa.array(costs)
    columns |= {name: pa.array(values) for name, values in (probabilities or {}).items()}
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def write_json(content: Any) -> bytes:
    """JSON; numbers that are not finite become null."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        return json.dumps(plain(content), separators=(",", ":")).encode()


def require_few(n_rows: int, max_rows: int) -> None:
    """Raise RequestError for more rows than a request may have."""
    if n_rows > max_rows:
        raise RequestError(413, "too many rows", f"A request may have {max_rows} rows. Send several requests.")


def numbers(row: Any, n_features: int | None, where: str = "row") -> NDArray[np.float64]:
    """One row of JSON numbers as an array; null is NaN."""
    if not isinstance(row, list):
        raise RequestError(400, "rows", f"{where} must be a list of numbers. Got a JSON {_name(row)}.")
    if n_features is not None and len(row) != n_features:
        raise RequestError(400, "rows", f"{where} must have {n_features} features. Got {len(row)}.")
    try:
        values = np.array(row)
    except ValueError:
        values = np.empty(0, dtype=object)
    if values.dtype.kind in "fbiu" and values.ndim == 1:
        return values.astype(np.float64, copy=False)
    return np.array([_number(value, f"{where}, column {c}") for c, value in enumerate(row)], dtype=np.float64)


def table_of_numbers(rows: list[Any], n_features: int | None) -> NDArray[np.float64]:
    """Rows of JSON numbers as one array."""
    try:
        table = np.array(rows)
    except ValueError:  # rows of different lengths
        table = np.empty(0, dtype=object)
    if table.dtype.kind == "f" and table.ndim == 2 and table.shape[1] == (n_features or table.shape[1]):
        return table
    parts = [numbers(row, n_features, f"row {r}") for r, row in enumerate(rows)]
    return np.array(parts, dtype=np.float64).reshape(len(parts), n_features or (len(parts[0]) if parts else 0))


def _number(value: Any, where: str) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            raise RequestError(400, "rows", f"{where}: the number is too large.") from None
    raise RequestError(400, "rows", f"{where}: must be a number or null. Got {shown(value)}.")


def shown(value: Any) -> str:
    """A JSON value in a message."""
    text = "" if value is None else repr(value)
    return f"{text if len(text) <= 60 else text[:60] + '…'}, a JSON {_name(value)}" if text else "a JSON null"


def _name(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
