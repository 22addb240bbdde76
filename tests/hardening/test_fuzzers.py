"""Every fuzzer takes its corpus and a few mutations of it, and notices a reader that does not keep its word."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

NAMES = sorted(folder.name for folder in (ROOT / "fuzz" / "corpus").iterdir())
#: Bytes of all files of a target's corpus, and mutations in the fast tests.
MOST_BYTES, MUTATIONS = 60_000, 200


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, str(ROOT))
    yield
    sys.path[:] = before


@pytest.fixture
def targets() -> Any:
    pytest.importorskip("polars")
    return importlib.import_module("fuzz.targets").TARGETS


@pytest.fixture
def target(targets: Any, request: pytest.FixtureRequest) -> Any:
    return targets[request.param]


def test_every_target_has_a_corpus(targets: Any) -> None:
    assert sorted(targets) == NAMES


@pytest.mark.parametrize("target", NAMES, indirect=True)
def test_the_corpus_is_small_and_taken(target: Any) -> None:
    from fuzz.target import CORPUS, check

    assert sum(path.stat().st_size for path in (CORPUS / target.name).iterdir()) < MOST_BYTES
    for path, data in zip(sorted((CORPUS / target.name).iterdir()), target.seeds(), strict=True):
        assert check(target, data, traced=True) == "taken", path


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("target", NAMES, indirect=True)
def test_mutations_are_refused_or_work(target: Any) -> None:
    from fuzz.target import check

    rng, seeds = random.Random(0), target.seeds()
    outcomes = [check(target, target.mutate(rng.choice(seeds), rng)) for _ in range(MUTATIONS)]
    assert 0 < outcomes.count("taken") < MUTATIONS  # mutations reach behind the first check
    assert len(set(outcomes)) > 2


def _breach(**changes: Any) -> Any:
    """A target that refuses nothing but b"no", and may misbehave."""
    from fuzz.target import Target

    def read(data: bytes) -> bytes:
        if data == b"no":
            raise ValueError("this is no file")
        return data

    return Target(
        **{"name": "x", "read": read, "use": len, "refusals": (ValueError,), "mutate": lambda data, _: data} | changes
    )


def _raise(error: BaseException) -> Any:
    def call(_: object) -> None:
        raise error

    return call


def _busy(_: object) -> None:
    until = time.process_time() + 0.6
    while time.process_time() < until:
        pass


def test_what_is_allowed() -> None:
    from fuzz.target import check

    assert check(_breach(), b"yes", traced=True) == "taken"
    assert check(_breach(), b"no") == "this is no file"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"read": _raise(KeyError("x"))}, "KeyError is no documented refusal"),
        ({"read": _raise(MemoryError())}, "MemoryError is no documented refusal"),
        ({"read": _raise(ValueError())}, "a refusal of 0 characters"),
        ({"read": _raise(ValueError("x" * 9999))}, "a refusal of 9999 characters"),
        ({"use": _raise(ValueError("x"))}, "taken, and then ValueError"),
        ({"use": _raise(AssertionError())}, "taken, and then AssertionError"),
        ({"use": lambda _: bytearray(200 << 20)}, "MiB for 3 bytes"),
        ({"use": _busy}, "s of processor time for 3 bytes"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_what_is_a_finding(changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzz import target

    monkeypatch.setattr(target, "SECONDS", 0.5)
    with pytest.raises(target.Finding, match=words):
        target.check(_breach(**changes), b"yes", traced=True)


def test_the_loop_keeps_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzz import child

    monkeypatch.setattr(child, "limit_memory", lambda: None)  # which would bound this process for good
    target = _breach(read=lambda data: data.decode("ascii"), mutate=lambda data, rng: data + rng.randbytes(1))
    monkeypatch.setattr(type(target), "seeds", lambda self: [b"a"])
    target = type(target)(**{**vars(target), "refusals": (TypeError,)})
    run = child.Counting(target, tmp_path)
    assert child.loop(target, run, 0.2, seed=0) == 1
    assert run.counts["findings"] == 1
    assert run.counts["taken"] > 1
    (kept,) = tmp_path.glob("finding-*")
    with pytest.raises(UnicodeDecodeError):
        kept.read_bytes().decode("ascii")


@pytest.mark.slow
def test_the_program() -> None:
    """A second of one fuzzer, as ``make check-deep`` runs it."""
    pytest.importorskip("polars")
    command = [sys.executable, str(ROOT / "fuzz" / "run.py"), "--engine", "loop", "--seconds", "1", "letters"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " executions, " in done.stdout
    wrong = subprocess.run([*command[:2], "nonsense"], capture_output=True, text=True, timeout=60, check=False)
    assert wrong.returncode == 2
    assert "no such target: nonsense" in wrong.stderr
