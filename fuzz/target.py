"""What a fuzzer needs to know of a reader, and the check of one input."""

from __future__ import annotations

import gzip
import os
import random
import re
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).with_name("corpus")

#: Seconds of processor time for an input; a sanitizer's build takes longer.
SECONDS = 2.0 * float(os.environ.get("WALD_FUZZ_SLOWER", "1"))
#: Bytes that reading and using an input may take whatever its size, and for each byte of it.
ANY_INPUT, PER_BYTE = 100 << 20, 200
#: Longest input that is tried.
LONGEST = 100_000

Mutate = Callable[[bytes, random.Random], bytes]


class Finding(Exception):  # noqa: N818 - the word for it
    """An input that a reader did not take as it says it does."""


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    name : str
        Its folder in the corpus has the same name.
    read : callable
        Reads the bytes; raises one of the refusals, or returns what `use` takes.
    use : callable
        Uses what was read. Whatever it raises is a finding: what a reader takes must work.
    refusals : tuple of exception types
        What the reader's documentation allows it to raise.
    mutate : callable
        Alters an input, so that checksums and headers still hold.
    """

    name: str
    read: Callable[[bytes], Any]
    use: Callable[[Any], object]
    refusals: tuple[type[Exception], ...]
    mutate: Mutate

    def seeds(self) -> list[bytes]:
        """The inputs from which mutations start; a file of the corpus whose name ends in .gz is one that was packed."""
        paths = sorted((CORPUS / self.name).iterdir())
        return [gzip.decompress(raw) if path.suffix == ".gz" else raw for path in paths for raw in [path.read_bytes()]]


def check(target: Target, data: bytes, traced: bool = False) -> str:
    """Read and use one input.

    Parameters
    ----------
    target : Target
    data : bytes
    traced : bool, default=False
        Whether to bound the memory that Python and NumPy take. It makes readers several times slower.

    Returns
    -------
    str
        "taken", or the refusal without its numbers and quotations.

    Raises
    ------
    Finding
        If the reader raises another exception, or what it returns cannot be used, or either takes too much time or
        memory.
    """
    if traced:
        tracemalloc.start()
    start = time.process_time()
    try:
        outcome = _outcome(target, data)
    finally:
        seconds = time.process_time() - start
        most = tracemalloc.get_traced_memory()[1] if traced else 0
        if traced:
            tracemalloc.stop()
    if seconds > SECONDS:
        raise Finding(f"{target.name}: {seconds:.1f} s of processor time for {len(data)} bytes ({outcome})")
    if most > ANY_INPUT + PER_BYTE * len(data):
        raise Finding(f"{target.name}: {most >> 20} MiB for {len(data)} bytes ({outcome})")
    return outcome


def _outcome(target: Target, data: bytes) -> str:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = target.read(data)
        except target.refusals as error:
            message = str(error)
            if not message or len(message) > 2000:
                raise Finding(f"{target.name}: a refusal of {len(message)} characters") from error
            return re.sub(r"\S*/|'[^']*'|\"[^\"]*\"|[\d.]+", "_", message)[:60]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise Finding(f"{target.name}: {type(error).__name__} is no documented refusal: {error}") from error
        try:
            target.use(found)
        except Exception as error:
            raise Finding(f"{target.name}: taken, and then {type(error).__name__}: {error}") from error
    return "taken"
