"""Mutations of inputs: bytes, numbers and lines of texts, members of JSON documents."""

from __future__ import annotations

import gzip
import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from .target import LONGEST, Mutate

NUMBERS = [b"0", b"1", b"-1", b"2", b"7", b"127", b"255", b"65535", b"2147483647", b"-2147483648", b"4294967296"]
NUMBERS += [b"9223372036854775807", b"1e999", b"-1e308", b"1e-320", b"nan", b"inf", b"-inf", b"0.5", b"", b"9" * 400]
VALUES: list[Any] = [None, True, False, 0, 1, -1, 2, 3, 255, 2**31, -(2**31), 2**53, 2**63, 10**19, 0.5, -0.5, 1e-320]
VALUES += [1e308, -1e308, "", "inf", "nan", "-1", "a" * 300, "\ud800", "\0", [], {}, [[]], [0], [1, 2], [-1], [2**40]]


def bytes_altered(tokens: Sequence[bytes] = ()) -> Mutate:
    """A mutation of bytes that knows some words of the format."""

    def mutate(data: bytes, rng: random.Random) -> bytes:
        some = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            at = rng.randrange(len(some) + 1)
            end = min(len(some), at + rng.choice((1, 2, 4, 16, 64)))
            other = rng.randrange(len(some) + 1)
            match rng.randrange(8 if tokens else 7):
                case 0 if at < len(some):
                    some[at] ^= 1 << rng.randrange(8)
                case 1 if at < len(some):
                    some[at] = rng.choice((0, 1, 9, 10, 13, 32, 34, 127, 128, 255, rng.randrange(256)))
                case 2:
                    del some[at:end]
                case 3:
                    some[other:other] = some[at:end]
                case 4:
                    some[other : other + end - at] = some[at:end]
                case 5:
                    some[at:at] = rng.randbytes(rng.randrange(1, 9))
                case 6 if rng.random() < 0.3:
                    del some[at:]
                case 7:
                    some[at : at if rng.random() < 0.5 else end] = rng.choice(tokens)
        return bytes(some[:LONGEST])

    return mutate


def text_altered(tokens: Sequence[bytes] = ()) -> Mutate:
    """A mutation of a text: its numbers, its lines and cells, or its bytes."""
    plain = bytes_altered(tokens)

    def mutate(data: bytes, rng: random.Random) -> bytes:
        way = rng.random()
        if way < 0.35:
            return plain(data, rng)
        if way < 0.65:
            found = list(re.finditer(rb"-?\d+(\.\d+)?(e[+-]?\d+)?", data))
            for place in sorted(rng.sample(found, min(len(found), rng.randrange(1, 4))), key=lambda m: -m.start()):
                other = rng.choice(found).group() if rng.random() < 0.5 else rng.choice(NUMBERS)
                data = data[: place.start()] + other + data[place.end() :]
            return data[:LONGEST]
        mark = b"\n" if way < 0.9 else rng.choice((b" ", b"\t", b",", b"="))
        parts = data.split(mark)
        at, to = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.randrange(4):
            case 0:
                del parts[at]
            case 1:
                parts.insert(to, parts[at])
            case 2:
                parts[at], parts[to] = parts[to], parts[at]
            case 3:
                parts[at] = rng.choice((b"", parts[to], rng.choice(tokens or (b"x",))))
        return mark.join(parts)[:LONGEST]

    return mutate


def document_altered(
    decode: Callable[[bytes], Any] = json.loads,
    encode: Callable[[Any], bytes] = lambda value: json.dumps(value).encode(),
    plain: Mutate | None = None,
) -> Mutate:
    """A mutation of a document's members; of its bytes now and then, and where it is no document."""
    of_bytes = plain or text_altered([b"{", b"}", b"[", b"]", b"null", b'"', b","])

    def mutate(data: bytes, rng: random.Random) -> bytes:
        if rng.random() < 0.25:
            return of_bytes(data, rng)
        try:
            value = decode(data)
            for _ in range(rng.choice((1, 1, 2, 3))):
                alter_member(value, rng)
            return encode(value)[:LONGEST]
        except (ValueError, TypeError, RecursionError, ArithmeticError, struct.error):
            return of_bytes(data, rng)

    return mutate


def members(value: Any) -> list[tuple[Any, Any]]:
    """Containers and keys of all members of a document."""
    found = []
    stack = [value]
    while stack:
        owner = stack.pop()
        for key, member in owner.items() if isinstance(owner, dict) else enumerate(owner):
            found.append((owner, key))
            if isinstance(member, dict | list):
                stack.append(member)
    return found


def alter_member(value: Any, rng: random.Random) -> None:
    """Replace, remove, add or copy a member of a document."""
    places = members(value)
    if not places:
        return
    owner, key = rng.choice(places)
    way = rng.random()
    if way < 0.1:
        del owner[key]
    elif way < 0.3:
        other, source = rng.choice(places)
        owner[key] = json.loads(json.dumps(other[source]))
    elif way < 0.4 and isinstance(owner, list):
        owner.insert(rng.randrange(len(owner) + 1), json.loads(json.dumps(owner[key])))
    elif way < 0.6 and isinstance(owner[key], int | float):
        owner[key] += rng.choice((-1, 1, 0.5, 2, 100))
    else:
        owner[key] = json.loads(json.dumps(rng.choice(VALUES)))


def packed_altered(plain: Mutate) -> Mutate:
    """A mutation of what a gzip file holds; of the packed bytes now and then."""

    def mutate(data: bytes, rng: random.Random) -> bytes:
        if data[:2] == b"\x1f\x8b" or rng.random() < 0.03:
            packed = data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1, mtime=0)
            return bytes_altered()(packed, rng)
        return plain(data, rng)

    return mutate


def packed(data: bytes) -> bytes:
    """The bytes of a gzip file: packed, if they are not packed yet."""
    return data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1, mtime=0)
