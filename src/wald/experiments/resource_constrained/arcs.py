"""How fast a parser is that scores likely arcs only, and what that costs."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ...structured import DependencyParser
from .curves import Tables
from .material import parts_of_tests, right_by_seed

#: How far a head's log probability may lie below the likeliest one's.
MARGINS = (6.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.75, 1.5, 1.0)
#: Treebanks, as `wald.datasets.fetch_treebank` knows them.
TREEBANKS = {"EWT": "ewt", "Penn sample": "ptb-sample"}
_REPEATS = 5


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
        """Of the parser."""
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
        for way in WAYS:
            parser = alone if way == UNFILTERED else fast.set_params(**way.parameters)
            key: dict[str, str | float] = {"data": data, "subset": subset, "filter": way.filter, "margin": way.margin}
            heads = parser.predict(bank).heads
            for seed, (right, words) in right_by_seed(heads == bank.heads, bank.offsets, seeds_of).items():
                tables["parsed"].append({**key, "seed": seed, "words": words, "right": right})
            tables["speeds"].append({**key, **_speed(parser, bank, 1 if subset == "dev" else _REPEATS)})
    return tables


def _speed(parser: DependencyParser, bank: Any, repeats: int) -> dict[str, float]:
    """Of the median of several passes, on one thread."""
    passes = []
    for _ in range(repeats):
        start = time.perf_counter()
        parser.predict(bank)
        passes.append((time.perf_counter() - start, parser.seconds_))
    seconds, steps = sorted(passes, key=lambda p: p[0])[len(passes) // 2]
    each = {name: 1e6 * steps[name] / bank.n_words for name in ("features", "scores", "decoding")}
    return {
        "words_per_second": bank.n_words / seconds,
        "seconds": seconds,
        "arcs": parser.n_scored_arcs_,
        "arcs_per_word": parser.n_scored_arcs_ / bank.n_words,
        **each,
    }
