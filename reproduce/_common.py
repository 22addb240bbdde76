"""Tools of all papers' packages: progress, CSV files, means over seeds with intervals."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

#: The confidence of every interval that is reported.
CONFIDENCE = 0.95

#: A line of a table: values by the names of their columns.
Record = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and its 95 % interval by Student's t.

    Examples
    --------
    >>> estimate = over_seeds([1.0, 2.0, 3.0])
    >>> estimate.mean, round(estimate.low, 2), round(estimate.high, 2), estimate.n
    (2.0, -0.48, 4.48, 3)
    """

    mean: float
    low: float
    high: float
    n: int


def over_seeds(values: ArrayLike) -> Estimate:
    """Mean of one figure per seed, with its interval.

    Parameters
    ----------
    values : array-like of shape (n_seeds,)

    Raises
    ------
    ValueError
        If there are fewer than two.
    """
    figures = np.asarray(values, dtype=np.float64)
    if figures.ndim != 1 or len(figures) < 2:
        raise ValueError(f"An interval needs the figures of at least two seeds. Got shape {figures.shape}.")
    mean = float(figures.mean())
    half = float(student.ppf((1 + CONFIDENCE) / 2, len(figures) - 1) * figures.std(ddof=1) / np.sqrt(len(figures)))
    return Estimate(mean, mean - half, mean + half, len(figures))


def select(records: Iterable[Record], **wanted: str | int | float) -> list[Record]:
    """Keep the records that have the given values."""
    return [r for r in records if all(r[name] == value for name, value in wanted.items())]


def per_seed(records: Iterable[Record], column: str) -> list[float]:
    """One figure per seed, in the order of the seeds: the mean of a column over all other records of a seed."""
    figures: dict[int, list[float]] = {}
    for record in records:
        figures.setdefault(int(record["seed"]), []).append(float(record[column]))
    return [float(np.mean(figures[seed])) for seed in sorted(figures)]


def write_csv(path: Path, records: Sequence[Record]) -> Path:
    """Write records that share their columns, numbers with seven significant digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow({k: f"{v:.7g}" if isinstance(v, float) else v for k, v in record.items()})
    return path


def number(value: float, digits: int = 3) -> str:
    """Write a number with the given significant digits, and thousands set apart.

    Examples
    --------
    >>> number(0.04712), number(1234.5), number(12.0)
    ('0.0471', '1 234', '12')
    """
    if abs(value) >= 100:
        return f"{round(value):,}".replace(",", " ")
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def percent(share: float, digits: int = 3) -> str:
    """Write a share in per cent."""
    return f"{number(100 * share, digits)} %"


def progress(n_steps: int) -> Callable[[str], None]:
    """Return a function that says on stderr which step begins, and how many there are."""
    numbers = iter(range(1, n_steps + 1))
    return lambda name: print(f"{next(numbers)}/{n_steps} {name}", file=sys.stderr, flush=True)


class Claim(NamedTuple):
    """A claim of the paper, what was seen here, and the verdict."""

    paper: str
    seen: str
    verdict: str


def interval(estimate: Estimate, form: Callable[[float], str] = number) -> str:
    """Write a mean with its interval."""
    return f"{form(estimate.mean)} ({form(estimate.low)} to {form(estimate.high)})"


def signed(value: float) -> str:
    """Write a number with its sign."""
    return ("+" if value > 0 else "−" if value < 0 else "") + number(abs(value))


def list_of(shares: Sequence[float], compared: Sequence[float]) -> str:
    """Write shares in per cent, neighbours among those compared as a range.

    Examples
    --------
    >>> list_of([0.1, 0.2, 0.5], [0.1, 0.2, 0.3, 0.5])
    '10–20 %, 50 %'
    """
    runs: list[list[float]] = []
    for share in shares:
        if runs and compared.index(share) == compared.index(runs[-1][-1]) + 1:
            runs[-1].append(share)
        else:
            runs.append([share])
    return ", ".join(f"{100 * r[0]:g}–{100 * r[-1]:g} %" if len(r) > 1 else f"{100 * r[0]:g} %" for r in runs)


def table(head: Sequence[object], lines: Sequence[Sequence[object]]) -> str:
    """Write a table in Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows) + "\n"
