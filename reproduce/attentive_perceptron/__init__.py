"""The experiments of R. Pelossof and Z. Ying, "The Attentive Perceptron", 2010.

``material`` holds the questions, ``learners`` the contenders; ``choice`` chooses delta on held-out rows, ``epochs``
trains on all of them, ``audits`` watches what attention missed, ``eq4_walks`` draws walks, ``pixels`` replays what was
read of an image; ``claims``, ``pictures`` and ``findings`` show the results.
"""

from __future__ import annotations

from pathlib import Path

from .._common import Record, progress, write_csv
from .._walks import simulate_costs
from . import material
from .audits import stop_errors
from .choice import choose
from .epochs import Tables, race
from .eq4_walks import simulate_eq4
from .findings import write_findings
from .pixels import easy_and_hard

__all__ = ["run"]

#: Walks of a simulation.
_WALKS, _QUICK_WALKS = 2000, 300
#: The data set of the picture.
_DRAWN = "MNIST, 2 against 3"


def run(folder: Path, *, quick: bool, seeds: int) -> Path:
    """Run everything and return the page of findings; see `reproduce.run`."""
    tables: Tables = {}
    described: list[Record] = []
    drawn = []

    def keep(name: str, records: list[Record]) -> None:
        tables.setdefault(name, []).extend(records)

    step = progress(seeds + len(material.DATA) * (1 + 3 * seeds) + 1)
    for seed in range(seeds):
        step(f"walks, seed {seed}")
        n_walks = _QUICK_WALKS if quick else _WALKS
        keep("simulated_costs", simulate_costs(seed, n_walks=n_walks))
        keep("simulated_costs", simulate_eq4(seed, n_walks=n_walks))
    for name, load in material.DATA.items():
        step(f"{name}: rows")
        tasks = list(load(quick))
        described += [material.describe(task) for task in tasks]
        for seed in range(seeds):
            step(f"{name}: choosing, seed {seed}")
            chosen, tried = choose(tasks, seed)
            keep("tried", tried)
            step(f"{name}: training, seed {seed}")
            for task in tasks:
                for table, records in race(task, seed, chosen).items():
                    keep(table, records)
            step(f"{name}: stop errors, seed {seed}")
            for task in tasks:
                keep("stop_errors", stop_errors(task, seed))
        if name == _DRAWN:
            drawn = easy_and_hard(tasks[0])
    step("pictures and findings")
    from .pictures import draw_all  # matplotlib is slow to load

    files = [write_csv(folder / f"{name.replace('_', '-')}.csv", records) for name, records in tables.items()]
    files.append(write_csv(folder / "tasks.csv", described))
    files += draw_all(folder, tables, drawn)
    return write_findings(folder, tables, described, files, quick=quick)
