"""One fuzzer in a process of its own; `run` starts it."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import os
import random
import sys
import time
import traceback
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from .target import LONGEST, Finding, Target, check

#: Bytes of address space that inputs may take beside what the process has after its seeds.
ROOM = 1 << 30
#: Inputs that the loop keeps for their new outcomes.
KEPT = 2000


class Counting:
    """Checks inputs, and counts them in a file; an input that crashes the process is left in ``last``."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.counts = {"executions": 0, "taken": 0, "outcomes": 0, "findings": 0}
        self.outcomes: set[str] = set()
        self._last = os.open(folder / "last", os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def __call__(self, data: bytes) -> bool:
        """Check an input; returns whether its outcome is new."""
        os.ftruncate(self._last, len(data))
        os.pwrite(self._last, data, 0)
        self.counts["executions"] += 1
        outcome = check(self.target, data)
        new = outcome not in self.outcomes
        self.outcomes.add(outcome)
        self.counts["outcomes"] = len(self.outcomes)
        self.counts["taken"] += outcome == "taken"
        if self.counts["executions"] % 200 == 0:
            self.save()
        return new

    def found(self, data: bytes) -> None:
        """Keep an input that is a finding."""
        self.counts["findings"] += 1
        (self.folder / f"finding-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)
        self.save()

    def save(self) -> None:
        """Write the counts."""
        (self.folder / "counts.json").write_text(json.dumps(self.counts))


def limit_memory() -> None:
    """Bound the address space; sanitizers reserve much of it, and have bounds of their own."""
    if "san" in os.environ.get("LD_PRELOAD", "") or not sys.platform.startswith("linux"):
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def loop(target: Target, run: Counting, seconds: float, seed: int) -> int:
    """Mutate the corpus, and inputs with new outcomes, for some seconds; return the number of different findings."""
    rng = random.Random(seed)
    places: set[str] = set()
    pool = target.seeds()
    for data in pool:
        run(data)
    limit_memory()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        data = target.mutate(rng.choice(pool), rng)
        try:
            if run(data) and len(pool) < KEPT:
                pool.append(data)
        except Finding as error:
            place = _place(error)
            if place not in places:
                places.add(place)
                run.found(data)
                traceback.print_exc()
    run.save()
    return len(places)


def _place(error: Finding) -> str:
    """Where an exception was raised, which tells findings apart."""
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    return f"{type(cause).__name__} {[(frame.filename, frame.lineno) for frame in frames[-3:]]}"


def guided(atheris: Any, target: Target, run: Counting, seconds: int, seed: int) -> None:
    """Fuzz with atheris, guided by the coverage of wald's Python code, until the first finding."""
    for data in target.seeds():
        run(data)
    limit_memory()

    def one(data: bytes) -> None:
        try:
            run(data)
        except Finding:
            run.found(data)
            raise

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.2:
            with contextlib.suppress(MemoryError):  # the limit of memory holds for atheris, too
                return bytes(atheris.Mutate(data, most))
        return target.mutate(bytes(data), rng)[:most]

    corpus = run.folder / "corpus"  # what a run found is where the next one starts
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(data)
    options = [f"-max_total_time={seconds}", f"-seed={seed + 1}", f"-max_len={LONGEST}", "-timeout=60"]
    options += [f"-artifact_prefix={run.folder}/", "-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=1"]
    atheris.Setup(["fuzz", *options, str(corpus)], one, custom_mutator=mutate)
    atheris.Fuzz()


class _AllButPolars(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, *args: Any) -> ModuleSpec | None:
        return None if fullname == "polars" else super().find_spec(fullname, *args)


def without_polars() -> None:
    """Hide polars under the thread sanitizer, where importing it ends the process."""
    if "tsan" in os.environ.get("LD_PRELOAD", ""):
        sys.meta_path[:] = [_AllButPolars if finder is PathFinder else finder for finder in sys.meta_path]


def main(engine: str, name: str, seconds: int, seed: int, folder: Path) -> int:
    faulthandler.enable()
    without_polars()
    if engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["wald"]):
            from .targets import TARGETS
        guided(atheris, TARGETS[name], Counting(TARGETS[name], folder), seconds, seed)
        return 0
    from .targets import TARGETS

    return 1 if loop(TARGETS[name], Counting(TARGETS[name], folder), seconds, seed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])))
