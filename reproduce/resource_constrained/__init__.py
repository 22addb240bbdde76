"""The experiments of T. Bolukbasi, K. Chang, J. Wang and V. Saligrama, "Resource Constrained Structured Prediction".

``material`` holds the models and their examples (``neighbours`` the tagger's second model), ``contenders`` the
policies; ``curves`` draws accuracy against costly features, ``times`` where time goes, ``labels`` the budgets
of pseudo-labels, ``depths`` which words of a tree were chosen, ``arcs`` how fast a parser of likely arcs is,
``resampling`` how often a certificate is violated, ``steps`` shows examples; ``figures`` reads the tables, ``claims``,
``parsing``, ``pictures`` and ``findings`` show the results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed

from wald.datasets import fetch_treebank

from .._common import Record, progress, write_csv
from . import arcs, material
from .curves import Fitted, Tables, draw, fit_policies, learn
from .depths import depth_counts
from .findings import write_findings
from .labels import pseudo_label_shares
from .material import SOURCES, describe, splits_of
from .resampling import Served, certify_again, serve
from .steps import walk
from .times import measure

__all__ = ["run"]

#: The number of processes that learn; -1 for all processors.
_JOBS = -1
#: The data set whose answers are certified; those with trees, those shown step by step, those whose labels are counted.
_CERTIFIED = "OCR"
_TREES = ("EWT", "Penn sample", "Penn sample, by head")
_WALKED = ("OCR", "EWT")
_LABELLED = ("OCR", "EWT", "Penn sample")
#: The longest jobs come first, so that all processes are busy to the end.
_FIRST = ("EWT", "Penn sample", "EWT tags", "Penn sample, by head", "OCR, new words", "OCR")


class _Learned(NamedTuple):
    tables: Tables
    fitted: Fitted | None
    served: Served | None


def run(folder: Path, *, quick: bool, seeds: int) -> Path:
    """Run everything and return the page of findings; see `reproduce.run`."""
    seeds = min(seeds, 10)  # there are ten folds of words
    jobs = [(data, seed) for data in sorted(SOURCES, key=_FIRST.index) for seed in splits_of(data, seeds)]
    tables: Tables = {}
    fitted: dict[str, Fitted] = {}
    served: list[Served] = []

    def keep(found: Tables) -> None:
        for name, records in found.items():
            tables.setdefault(name, []).extend(records)

    step = progress(len(jobs) + len(SOURCES) + len(arcs.TREEBANKS) + 2)
    step("learning on every split")
    learned = Parallel(_JOBS, return_as="generator_unordered")(
        delayed(_learned)(data, seed, seeds, quick) for data, seed in jobs
    )
    for n, one in enumerate(learned, 1):
        step(f"learning on every split: {n} of {len(jobs)} done")
        keep(one.tables)
        if one.fitted is not None:
            fitted[one.fitted.split.data] = one.fitted
        served += [one.served] if one.served is not None else []
    _in_order(tables)
    for data in SOURCES:  # no other work runs while time is measured
        step(f"{data}: measuring time")
        keep({"times": measure(fitted[data])})
    for data, treebank in arcs.TREEBANKS.items():
        step(f"{data}: likely arcs")
        keep(_arcs(data, treebank, seeds, quick))
    step("certificates, pictures and findings")
    keep({"certificates": certify_again(served)})
    walks = [walk(fitted[data]) for data in _WALKED]
    from .pictures import draw_all  # matplotlib is slow to load

    files = [write_csv(folder / f"{name.replace('_', '-')}.csv", records) for name, records in tables.items()]
    files += draw_all(folder, tables, walks, fitted["OCR"].model.classes_)
    return write_findings(folder, tables, files, quick=quick)


def _learned(data: str, seed: int, seeds: int, quick: bool) -> _Learned:
    """The part of the work on one split that may run in parallel with others."""
    split = SOURCES[data].load(seed, seeds, quick)
    model, folds = learn(split)
    policies = fit_policies(split, model, folds)
    curves, fitted = draw(split, model, policies, quick)
    tables: Tables = {"examples": [describe(split)], "curves": curves}
    if data in _TREES:
        tables["depths"] = depth_counts(fitted)
    if data in _LABELLED and seed == 0:
        tables["pseudo_labels"] = pseudo_label_shares(data, seed, folds)
    return _Learned(tables, fitted if seed == 0 else None, serve(fitted) if data == _CERTIFIED else None)


def _arcs(data: str, treebank: Any, seeds: int, quick: bool) -> Tables:
    size: dict[str, Any] = {"max_iter": 4, "table_bits": 18} if quick else {}
    train, test = (material.sentences(treebank, subset, quick) for subset in ("train", "test"))
    dev = fetch_treebank(treebank, subset="dev")[: 250 if quick else None] if treebank == "ewt" else None
    return arcs.parse(data, seeds, train, dev, test, **size)


def _in_order(tables: Tables) -> None:
    """Sort the records of several processes by data set and seed; the sort is stable."""
    order = list(SOURCES)

    def place(record: Record) -> tuple[int, int]:
        return order.index(str(record["data"])), int(record["seed"])

    for records in tables.values():
        records.sort(key=place)
