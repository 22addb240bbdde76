"""Damaged and hostile files: an answer or one sentence, exit codes as documented, and never a traceback."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import refusal, run

polars = pytest.importorskip("polars")

#: Replacements for parts of headers.
WORDS = (
    b"",
    b"0",
    b"-1",
    b"1e9",
    b"9" * 30,
    b"None",
    b"True",
    b"{}",
    b"()",
    b"(",
    b"'",
    b'"',
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"O",
    b"'|O'",
    b"'<c16'",
    b"'V8'",
    b"'<f9'",
    b"'\xc3\xa9'",
    b"__import__('os')",
    b"lambda: 0",
    b"1" * 5000,
    b"[" * 200,
    b"nan",
    b"inf",
    b"1:1",
    b"99999999999:1",
    b"-1:1",
    b"qid:1",
    b"#",
    b";",
    b",",
    b"\t",
    b"1_0",
    b"0x10",
    b"\r",
    b"\\",
)


def mutated(content: bytes, rng: np.random.Generator, head: int) -> bytes:
    """Make a few changes, most of them in the part that describes the format."""
    some = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        end = max(1, min(len(some), head if rng.random() < 0.7 else len(some)))
        at = int(rng.integers(end))
        kind = rng.integers(6)
        if kind == 0:
            some[at : at + 1] = bytes([int(rng.integers(256))])
        elif kind == 1:
            some[at : at + int(rng.integers(1, 12))] = WORDS[rng.integers(len(WORDS))]
        elif kind == 2:
            some[at:at] = WORDS[rng.integers(len(WORDS))]
        elif kind == 3:
            del some[at : at + int(rng.integers(1, 40))]
        elif kind == 4:
            some[at:at] = some[at : at + int(rng.integers(1, 40))]
        else:
            del some[at if rng.random() < 0.5 else int(rng.integers(len(some) + 1)) :]
        if not some:
            break
    return bytes(some)


def npy(rows: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def headers() -> Iterator[bytes]:
    """NPY files with well-formed but invalid headers."""
    for version in ((1, 0), (2, 0), (3, 0), (4, 0), (0, 0), (255, 255)):
        for shape in (
            "(397, 64)",
            "(1, 64)",
            "(-1, 64)",
            "(2**62, 64)",
            "(True, 64)",
            "(64,)",
            "()",
            "64",
            "(1.5, 64)",
            "(1, 10**400)",
            "('a', 64)",
            "[1, 64]",
            "(1, 64, 1)",
            "(0, 64)",
            "(1, -64)",
            "(4611686018427387904, 64)",
        ):
            text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
            yield framed(version, text)
    for descr in (
        "'<f8'",
        "'>f8'",
        "'<f2'",
        "'|b1'",
        "'<M8[s]'",
        "'<U3'",
        "'|S3'",
        "'|V0'",
        "'<f0'",
        "'<U0'",
        "'|O'",
        "'zz'",
        "None",
        "8",
        "[('a', '<f8')]",
        "[('a', '<f8', (2**40,))]",
        "('<f8', (2, 2))",
        "[]",
        "'<f16'",
        "'<i8,<i8'",
        "{}",
        "b'f8'",
        "'f8,f'*9",
        "[('a',)]",
        "'<u1'",
        "'<f4'",
        "'<c8'",
    ):
        for order in ("False", "True", "None", "1"):
            text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': (1, 64), }}"
            yield framed((1, 0), text)
    for text in (
        "",
        "{",
        "[]",
        "{'descr': '<f8'}",
        "1" * 9000,
        "(" * 5000,
        "{'shape': (1, 64), 'descr': '<f8', 'fortran_order': 0, 'x': 1}",
        "\x00",
        "{[]: 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1L, 64L)}",
        "é",
        "'\\ud800'",
    ):
        yield framed((1, 0), text)


def framed(version: tuple[int, int], text: str) -> bytes:
    body = text.encode("utf-8")
    length = len(body).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + body + bytes(64 * 8)


@pytest.mark.slow
def test_headers_of_npy_files(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    codes = set()
    for content in headers():
        path.write_bytes(content)
        codes.add(ends_well(path, "predict", files / "svc.wald", path, "-o", "-"))
    assert codes == {0, 2}


def ends_well(path: Path, *words: object) -> int:
    """Run a command on a file, and check that it ends as documented."""
    result = run(*words)
    shown = path.read_bytes()[:300]
    assert result.exit_code in (0, 1, 2), (shown, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), (shown, result.exception)
    assert "Traceback" not in result.output, shown
    if result.exit_code == 2:
        lines = [line for line in result.stderr.splitlines() if ": warning: " not in line]
        assert lines
        assert lines[-1].startswith(f"wald {words[0]}: "), (shown, lines)
        assert len(lines[-1]) < 2000, shown
    return int(result.exit_code)


KINDS = ("csv", "npy", "svm", "parquet", "wald", "skops", "csv.gz")


def content_of(kind: str, files: Path) -> bytes:
    import gzip

    rows = np.load(files / "test.npy")[:4]
    csv = (
        ",".join(f"pixel{i}" for i in range(64))
        + "\n"
        + "".join(",".join(map(repr, map(float, r))) + "\n" for r in rows)
    )
    if kind == "parquet":
        file = io.BytesIO()
        polars.DataFrame({f"p{i}": column for i, column in enumerate(rows.T)}).write_parquet(file)
        return file.getvalue()
    return {
        "csv": lambda: csv.encode(),
        "csv.gz": lambda: gzip.compress(csv.encode(), mtime=0),
        "npy": lambda: npy(rows),
        "svm": lambda: b"".join((files / "test.svm").read_bytes().splitlines(keepends=True)[:4]),
        "wald": lambda: (files / "svc.wald").read_bytes(),
        "skops": lambda: (files / "svc.skops").read_bytes(),
    }[kind]()


def fuzz(kind: str, files: Path, folder: Path, times: int, seed: int) -> dict[int, int]:
    rng, content = np.random.default_rng(seed), content_of(kind, files)
    path = folder / f"hostile.{kind}"
    words: Callable[[], tuple[object, ...]] = {
        "wald": lambda: ("inspect", path),
        "skops": lambda: (
            "fit",
            path,
            files / "test.npy",
            "-o",
            folder / "a.wald",
            "--risk",
            0.4,
            "--cost",
            "units",
            "--force",
        ),
    }.get(kind, lambda: ("predict", files / "svc.wald", path, "-o", "-", "--cost"))
    codes = dict.fromkeys((0, 1, 2), 0)
    for _ in range(times):
        path.write_bytes(mutated(content, rng, 400))
        codes[ends_well(path, *words())] += 1
    return codes


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind: str, files: Path, tmp_path: Path) -> None:
    codes = fuzz(kind, files, tmp_path, 40, seed=7)
    assert codes[2] > 10


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_mutated_files(kind: str, files: Path, tmp_path: Path) -> None:
    codes = fuzz(kind, files, tmp_path, 150 if kind == "skops" else 1000, seed=11)
    assert codes[2] > 50


def test_cut_off_files(files: Path, tmp_path: Path) -> None:
    for kind in ("npy", "parquet", "csv.gz"):
        content = content_of(kind, files)
        path = tmp_path / f"cut.{kind}"
        for length in {0, 1, 5, 6, 7, 8, 9, 10, 50, 127, 128, 129, len(content) // 2, len(content) - 1}:
            path.write_bytes(content[:length])
            assert str(path) in refusal("predict", files / "svc.wald", path, "-o", tmp_path / "labels.csv")
