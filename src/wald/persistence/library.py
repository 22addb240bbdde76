"""A model file of a tree library, served as it is."""

from __future__ import annotations

import os

from ..early_exit.compiled.parameters import Parameters
from ..early_exit.estimators import ESTIMATORS, EarlyExit
from ..models import is_library_file, read_model


def in_full(path: str | os.PathLike[str], n_jobs: int | None) -> EarlyExit | None:
    """The model of a tree library's file, which evaluates every row in full; None if the file is of none."""
    with open(path, "rb") as file:
        if not is_library_file(file.read(512)):
            return None
    model = read_model(path)
    shell = ESTIMATORS[model.reading.kind]
    fast = shell(model, n_jobs=n_jobs)
    if isinstance(fast, Parameters):
        fast.set_params(risk=0)
    return fast.fit()
