"""Take files apart and put them together again, well-formed, with any content."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

PREFIX = struct.Struct("<8sIIQI4x")
MAGIC = b"\x93WALD\r\n\x1a"
Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def taken_apart(raw: bytes) -> Parts:
    """The header without its list of arrays, and the arrays."""
    length = PREFIX.unpack(raw[:32])[2]
    fields = json.loads(raw[32 : 32 + length])
    start = -(-(32 + length) // 64) * 64
    arrays = {
        name: np.frombuffer(raw, dtype, int(np.prod(shape)), start + offset).reshape(shape).copy()
        for name, dtype, shape, offset in fields.pop("arrays")
    }
    return fields, arrays


def put_together(fields: dict[str, Any] | str, arrays: dict[str, NDArray[Any]], shapes: Any = None) -> bytes:
    """A file with a valid checksum; ``shapes`` may give wrong shapes, and a text may replace the header."""
    table, body = [], b""
    for name, array in arrays.items():
        body += bytes(-len(body) % 64)
        table.append([name, array.dtype.str, list((shapes or {}).get(name, array.shape)), len(body)])
        body += array.tobytes()
    header = fields.encode() if isinstance(fields, str) else json.dumps({**fields, "arrays": table}).encode()
    head = header + bytes(-(32 + len(header)) % 64)
    return sealed(PREFIX.pack(MAGIC, 1, len(header), 0, 0) + head + body)


def sealed(raw: bytes) -> bytes:
    """The same bytes with the correct length and checksum."""
    if len(raw) < 32:
        return raw
    start = raw[:16] + struct.pack("<Q", len(raw))
    return start + struct.pack("<I4x", zlib.crc32(raw[32:], zlib.crc32(start))) + raw[32:]


def without_estimator(path: Any) -> None:
    """Leave the wrapped estimator out of a file, as `save` does where it cannot describe it."""
    fields, arrays = taken_apart(path.read_bytes())
    fields["estimator"] = None
    path.write_bytes(put_together(fields, {n: a for n, a in arrays.items() if not n.startswith("estimator.")}))
