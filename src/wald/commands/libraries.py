"""Models in files of tree libraries, loaded and evaluated by the libraries themselves, to be compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .answers import reason
from .errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..models.tree_classifier import TreeModel
    from ..reporting.timing import Rival

Predict = Callable[[Any], "NDArray[Any]"]


def library_model(path: Path, model: TreeModel, threads: int) -> Rival | None:
    """Load a model file with the library that wrote it.

    Parameters
    ----------
    path : Path
        A file that `wald.read_model` reads.
    model : TreeClassifier or TreeRegressor
        What it reads.
    threads : int

    Returns
    -------
    Rival or None
        None if the library is not installed.

    Raises
    ------
    UserError
        If the library cannot read the file.
    """
    from ..reporting.timing import Rival

    try:
        return Rival(
            library_name(model),
            _LOADERS[model.library](path, getattr(model, "classes_", None), threads),
            _without_names,
        )
    except ImportError:
        return None
    except Exception as error:  # libraries raise types of their own
        raise UserError(f"{path}: {library_name(model)} cannot read it: {reason(error)}") from error


def library_name(model: TreeModel) -> str:
    """Name of the library that wrote a model's file."""
    return {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}[model.library]


def _without_names(rows: Any) -> Any:
    """Convert rows to the form that a library takes without looking at names: an array, or a CSR matrix."""
    from scipy import sparse

    from ..sources import source_of

    return sparse.csr_matrix(rows) if sparse.issparse(rows) else source_of(rows).array()


def is_library_model(path: Path) -> bool:
    """Whether a file begins as those of the libraries do; False if it cannot be read."""
    from ..models import is_library_file

    try:
        with path.open("rb") as file:
            return is_library_file(file.read(512))
    except OSError:
        return False


def _lightgbm(path: Path, classes: NDArray[Any] | None, threads: int) -> Predict:
    import lightgbm
    import numpy as np

    booster = lightgbm.Booster(model_file=str(path))

    def predict(rows: Any) -> NDArray[Any]:
        found: Any = booster.predict(rows, num_threads=threads)
        if classes is None:
            return np.asarray(found)
        labels: NDArray[Any] = classes.take((found > 0.5).astype(int) if found.ndim == 1 else found.argmax(axis=1))
        return labels

    return predict


def _xgboost(path: Path, classes: NDArray[Any] | None, threads: int) -> Predict:
    import numpy as np
    import xgboost

    if classes is None:
        booster: Any = xgboost.Booster({"nthread": threads}, model_file=bytearray(path.read_bytes()))
        return lambda rows: np.asarray(booster.inplace_predict(rows, missing=math.nan))
    model: Any = xgboost.XGBClassifier(n_jobs=threads)
    model.load_model(bytearray(path.read_bytes()))

    def predict(rows: Any) -> NDArray[Any]:
        labels: NDArray[Any] = classes.take(model.predict(rows).astype(int))
        return labels

    return predict


def _catboost(path: Path, classes: NDArray[Any] | None, threads: int) -> Predict:
    import catboost  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional, untyped
    import numpy as np

    model: Any = catboost.CatBoost() if classes is None else catboost.CatBoostClassifier()
    binary = path.read_bytes().startswith(b"CBM1")
    model.load_model(str(path), format="cbm" if binary else "json")

    def predict(rows: Any) -> NDArray[Any]:
        found: Any = model.predict(rows, thread_count=threads)
        if classes is None:
            return np.asarray(found)
        found = found.ravel()
        if classes.dtype.kind == "b" and found.dtype.kind in "UO":  # written as texts
            found = found == "True"
        labels: NDArray[Any] = found.astype(classes.dtype)
        return labels

    return predict


_LOADERS = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}
