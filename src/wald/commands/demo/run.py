"""Run the demo: a table and three pictures from the options of the command line."""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from pathlib import Path

from rich.console import Console
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ...early_exit import EarlyExitClassifier, Planner
from ...utils.install import install
from ...utils.progress import Steps, progress
from .. import options
from ..answers import reason
from ..errors import UserError
from .material import Material, Task, load
from .measure import Exhibit, measure
from .report import report


def run_demo(data: str, output: Path, jobs: int, seed: int, console: Console) -> None:
    """Train, wrap, measure, print and draw.

    Parameters
    ----------
    data : {"digits", "mnist"}
    output : Path
        Folder for the pictures; made if it does not exist.
    jobs : int
        Threads, as scikit-learn's ``n_jobs``.
    seed : int
    console : rich.console.Console
        Console for the progress bar and the table.

    Raises
    ------
    UserError
        For whatever the user can put right.
    """
    threads = options.threads(jobs)
    options.require_seed(seed)
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError(f"the pictures need matplotlib, which is not installed: {install('cli', 'plot')}")
    material = load(data, seed)
    _make_folder(output)
    with progress(console, 3 * len(material.tasks) + 1) as step, threadpool_limits(limits=threads):
        exhibits = [_exhibit(task, material, threads, seed, step) for task in material.tasks]
        from .pictures import draw  # matplotlib is slow to load

        step("drawing")
        pictures = draw(exhibits, material, output)
    report(exhibits, material, threads, pictures, console)


def _exhibit(task: Task, material: Material, threads: int, seed: int, step: Steps) -> Exhibit:
    what = f"{task.name}, {task.question}"
    model = clone(task.model)
    step(f"{what}: training")
    model.fit(material.X_train, material.targets(task))
    planner = Planner(
        cost=task.cost,
        certificate_fraction=material.certificate_fraction,
        n_splits=1,  # material.py assumes one split
    )
    fast = EarlyExitClassifier(model, risk=material.risk, planner=planner, n_jobs=threads, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no early exit")  # the table says it
        # one digit of ten is rare, and the demo's promise is about all rows
        warnings.filterwarnings("ignore", "The certificate's risk of .* a rare class")
        step(f"{what}: planning and certifying")
        fast.fit(material.X_fit)
    step(f"{what}: measuring")
    return measure(task, model, fast, material.X_count)


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output):
            pass
    except OSError as error:
        raise UserError(
            f"cannot write into the folder {output} ({reason(error)}); name another one with --output."
        ) from error
