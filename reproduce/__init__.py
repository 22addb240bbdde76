"""The papers' experiments, run again: figures, tables, and a page of claims, measurements and verdicts.

One package per paper; one file in it per figure or table. ``make reproduce`` runs them; ``results`` has the tables of
full runs, which the site shows.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

__all__ = ["names", "run"]

_PACKAGES = {
    "attentive-perceptron": "attentive_perceptron",
    "focus-of-attention": "focus_of_attention",
    "resource-constrained": "resource_constrained",
}
#: Seeds of a quick run, at the most.
_QUICK_SEEDS = 3


def names() -> tuple[str, ...]:
    """Names of the papers whose experiments can be run.

    Examples
    --------
    >>> names()
    ('attentive-perceptron', 'focus-of-attention', 'resource-constrained')
    """
    return tuple(_PACKAGES)


def run(name: str, folder: str | Path, *, quick: bool = False, seeds: int = 10) -> Path:
    """Run the experiments of a paper, and write pictures, tables and a page of findings.

    The page has the paper's claims, what was measured here, and a verdict on each claim.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path-like
        Where everything is written; made if it does not exist.
    quick : bool, default=False
        Smaller models and data, and at most 3 seeds: a minute or two, to see that everything runs. Its figures are not
        to be quoted.
    seeds : int, default=10
        How often every experiment is repeated, at least 2: seeds draw splits and orders. There are ten folds of
        handwritten words: "resource-constrained" takes no more.

    Returns
    -------
    Path
        The page of findings, Markdown.

    Raises
    ------
    ValueError
        If there is no paper of that name, or `seeds` is below 2.
    ModuleNotFoundError
        If matplotlib is missing.
    OSError
        If the folder cannot be written, or data can neither be found nor downloaded.

    Examples
    --------
    >>> from reproduce import run
    >>> run("focus-of-attention", "findings")  # doctest: +SKIP
    PosixPath('findings/findings.md')
    """
    if name not in _PACKAGES:
        raise ValueError(f"name must be one of {', '.join(_PACKAGES)}. Got {name!r}.")
    if seeds < 2:
        raise ValueError(f"seeds must be at least 2, for every figure has an interval. Got {seeds!r}.")
    if importlib.util.find_spec("matplotlib") is None:
        raise ModuleNotFoundError(
            "The pictures need matplotlib, which is not installed: make reproduce installs it.", name="matplotlib"
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    package = importlib.import_module(f"{__name__}.{_PACKAGES[name]}")
    page: Path = package.run(target, quick=quick, seeds=min(seeds, _QUICK_SEEDS) if quick else seeds)
    return page
