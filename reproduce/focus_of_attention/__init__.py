"""The experiments of R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659.

``material`` trains the models, ``predictors`` are the contenders, ``tradeoff`` compares them,
``claims``, ``pictures`` and ``findings`` show the results.
"""

from __future__ import annotations

from pathlib import Path

from .._common import Record, progress, write_csv
from .._walks import simulate_costs, simulate_errors
from . import material as data
from .findings import write_findings
from .tradeoff import Tables, describe, trial

__all__ = ["run"]

#: Walks of a simulation: for the error, and for the mean number of terms.
_WALKS = (20_000, 2000)
_QUICK_WALKS = (5000, 500)


def run(folder: Path, *, quick: bool, seeds: int) -> Path:
    """Run everything and return the page of findings; see `reproduce.run`."""
    n_models = sum(n for _, n, _ in data.DATA)
    tables: Tables = {}
    models: list[Record] = []

    def keep(more: Tables) -> None:
        for name, records in more.items():
            tables.setdefault(name, []).extend(records)

    error_walks, cost_walks = _QUICK_WALKS if quick else _WALKS
    step = progress(seeds + n_models * (1 + seeds) + 1)
    for seed in range(seeds):
        step(f"walks, seed {seed}")
        keep({"simulated_errors": simulate_errors(seed, n_walks=error_walks)})
        keep({"simulated_costs": simulate_costs(seed, n_walks=cost_walks)})
    for name, train in data.materials(quick):
        step(f"{name}: training")
        material = train()
        models.append(describe(material))
        for seed in range(seeds):
            step(f"{name}, {material.model_name}: seed {seed}")
            keep(trial(material, seed, n_jobs=-1))
    step("pictures and findings")
    from .pictures import draw_all  # matplotlib is slow to load

    files = [write_csv(folder / f"{name.replace('_', '-')}.csv", records) for name, records in tables.items()]
    files.append(write_csv(folder / "models.csv", models))
    files += draw_all(folder, tables, models)
    return write_findings(folder, tables, models, files, quick=quick)
