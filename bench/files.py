"""The types of files of this machine, as magika tells them, as a whole data set behind their first bytes and names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wald import answer

from .report import Figure
from .settings import Run

FILES, ROOT, HEAD, ONE_BY_ONE = 8000, "/usr", 256, 4
RISKS = (0.01, 0.05)
#: Draws of the rows that are asked.
DRAWS = 3


def files(how: Run) -> list[Figure]:
    """Count the files about which magika is asked; nothing where it is not installed."""
    try:
        from magika import Magika
    except ModuleNotFoundError:
        return []
    paths, magika = _paths(how.rows(FILES, 700)), Magika()
    found = [each for some in _parts(paths) for each in magika.identify_paths([Path(path) for path in some])]
    types = dict(zip(paths, [str(each.output.label) for each in found], strict=True))
    own, figures = np.array([types[path] for path in paths]), []
    for risk in RISKS:
        answered = [
            answer(
                paths,
                lambda some: [types[path] for path in some],
                risk=risk,
                surrogates=[first_bytes],
                random_state=seed,
            )
            for seed in range(DRAWS)
        ]
        shares = [100 * each.n_calls / len(paths) for each in answered]
        differ = max(float(np.mean(each.labels != own)) for each in answered)
        note = f"mean of {DRAWS} draws, {min(shares):.3g} to {max(shares):.3g} % of {len(paths)} files in {ROOT}"
        note += f", {len(set(own))} types; at most {100 * differ:.2g} % differ"
        figures.append(Figure(f"magika, {100 * risk:g} %: files asked", float(np.mean(shares)), "%", note=note))
    return figures


def _paths(n: int) -> list[str]:
    """So many files, drawn from all that can be read."""
    every = []
    for folder, _, names in os.walk(ROOT):
        every += [path for name in names if _readable(path := os.path.join(folder, name))]
    every.sort()
    return [every[i] for i in np.random.default_rng(0).permutation(len(every))[:n]]


def _readable(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.R_OK)


def _parts(paths: list[str]) -> list[list[str]]:
    return [paths[start : start + 100] for start in range(0, len(paths), 100)]


def first_bytes(paths: list[Any]) -> NDArray[np.float64]:
    """Which values the first bytes of files have, one by one, and how often each is among more of them."""
    first, counts = np.zeros((len(paths), ONE_BY_ONE, 256)), np.zeros((len(paths), 256))
    for i, path in enumerate(paths):
        with open(path, "rb") as file:
            head = np.frombuffer(file.read(HEAD), dtype=np.uint8)
        n = min(ONE_BY_ONE, len(head))
        first[i, np.arange(n), head[:n]] = 1
        counts[i] = np.bincount(head, minlength=256)
    return np.hstack([first.reshape(len(paths), -1), np.sqrt(counts)])
