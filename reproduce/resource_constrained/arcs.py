"""Speed and accuracy of a parser that scores likely arcs only."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wald.structured import DependencyParser

from .curves import Tables
from .material import parts_of_tests, right_by_seed

#: How far a head's log probability may lie below the likeliest one's.
MARGINS = (6.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.75, 1.5, 1.0)
#: Treebanks by the names of the page, with their names for `wald.datasets.fetch_treebank`.
TREEBANKS = {"EWT": "ewt", "Penn sample": "ptb-sample"}
_REPEATS = 15


class Way(NamedTuple):
    """A way to parse.

    Attributes
    ----------
    filter : {"none", "exact", "slack"}
        Which arcs are too long.
    margin : float
        As `DependencyParser.arc_margin`; infinite: no arc is left out for being unlikely.
    """

    filter: str
    margin: float = np.inf

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the parser."""
        return {
            "length_filter": None if self.filter == "none" else self.filter,
            "arc_margin": self.margin if np.isfinite(self.margin) else None,
        }


UNFILTERED, FILTERED = Way("none"), Way("slack")
WAYS = (UNFILTERED, Way("exact"), FILTERED, *(Way("slack", margin) for margin in MARGINS))


def parse(data: str, seeds: int, train: Any, dev: Any, test: Any, **size: Any) -> Tables:
    """Words with the right head, words per second and arcs scored, on development and test sentences.

    The parser without a filter learns without it; the others share their weights.
    """
    alone, fast = (
        DependencyParser(relations=False, random_state=0, **way.parameters, **size).fit(train)
        for way in (UNFILTERED, Way("slack", MARGINS[0]))
    )
    tables: Tables = {"parsed": [], "speeds": []}
    for subset, bank in (("dev", dev), ("test", test)):
        if bank is None:
            continue
        seeds_of = parts_of_tests(len(bank), seeds)
        passes: dict[Way, list[dict[str, float]]] = {way: [] for way in WAYS}
        for repeat in range(1 if subset == "dev" else _REPEATS):
            for way in WAYS:  # interleaved, so that a slow minute affects all of them
                parser = alone if way == UNFILTERED else fast.set_params(**way.parameters)
                heads, speed = _timed(parser, bank)
                passes[way].append(speed)
                if repeat:
                    continue
                key: dict[str, str | float] = {"data": data, "subset": subset, "filter": way.filter}
                key["margin"] = way.margin
                for seed, (right, words) in right_by_seed(heads == bank.heads, bank.offsets, seeds_of).items():
                    tables["parsed"].append({**key, "seed": seed, "words": words, "right": right})
        for way, speeds in passes.items():
            middle = sorted(speeds, key=lambda one: one["seconds"])[len(speeds) // 2]
            tables["speeds"].append(
                {"data": data, "subset": subset, "filter": way.filter, "margin": way.margin, **middle}
            )
    return tables


def _timed(parser: DependencyParser, bank: Any) -> tuple[NDArray[np.int32], dict[str, float]]:
    """Heads, and the seconds that they took on one thread."""
    start = time.perf_counter()
    heads = parser.predict(bank).heads
    seconds = time.perf_counter() - start
    each = {name: 1e6 * parser.seconds_[name] / bank.n_words for name in ("features", "scores", "decoding")}
    return heads, {
        "words_per_second": bank.n_words / seconds,
        "seconds": seconds,
        "arcs": parser.n_scored_arcs_,
        "arcs_per_word": parser.n_scored_arcs_ / bank.n_words,
        **each,
    }
