"""A model file of a tree library, served as it is."""

from __future__ import annotations

import os

from ..early_exit import EarlyExitClassifier
from ..models import TreeRegressor, is_library_file, read_model


def in_full(path: str | os.PathLike[str], n_jobs: int | None) -> EarlyExitClassifier | None:
    """The model of a tree library's file, which evaluates every row in full; None if the file is of none."""
    with open(path, "rb") as file:
        if not is_library_file(file.read(512)):
            return None
    model = read_model(path)
    if isinstance(model, TreeRegressor):
        raise ValueError(
            f"{path} holds a regressor or ranker, whose answers are values. In Python: "
            "EarlyExitRegressor(wald.read_model(path)).fit(), or EarlyExitRanker."
        )
    return EarlyExitClassifier(model, risk=0, n_jobs=n_jobs).fit()
