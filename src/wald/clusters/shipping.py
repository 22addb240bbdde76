"""A model on its way to the workers: the bytes of a file, which each process loads once."""

from __future__ import annotations

import copy
import hashlib
import os
import platform
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ..codec.room import NO_END
from ..early_exit.estimators import EarlyExit, require_early_exit, unwatched
from ..persistence import SavedModel, from_bytes, load, to_bytes
from ..utils.install import install

#: Number of models that a process keeps loaded.
MOST_KEPT = 4

_kept: OrderedDict[tuple[str, int | None], EarlyExit] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Shipment:
    """A model as it is sent to workers.

    Attributes
    ----------
    raw : bytes
        What `wald.save` writes.
    key : str
        Hash of these bytes.
    version : str
        Version of wald on the sender's machine.
    trusted : tuple of str
        As for `wald.load`.
    n_jobs : int or None
        Threads of a task.
    """

    raw: bytes = field(repr=False)
    key: str
    version: str
    trusted: tuple[str, ...] = ()
    n_jobs: int | None = 1

    def __dask_tokenize__(self) -> tuple[str, int | None]:
        return self.key, self.n_jobs


def ship(
    model: Any, *, n_jobs: int | None = 1, pipeline: str | None = None, trusted: Sequence[str] = ()
) -> tuple[Shipment, EarlyExit]:
    """Make a model ready to be sent.

    Its monitor stays here, and workers do not audit. If the promise is broken and rows are to be evaluated in full,
    workers do so, too.

    Parameters
    ----------
    model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker, EarlyExitOutlierDetector, str or path-like
        A fitted one, or the path of the file that `wald.save` wrote.
    n_jobs : int or None, default=1
        Threads of a task; the engine runs several tasks at once.
    pipeline : {"skops"} or None, default=None
        As for `wald.save`, for a model around a pipeline that a file holds by skops.
    trusted : sequence of str, default=()
        As for `wald.load`, for such a model.

    Returns
    -------
    shipment : Shipment
    received : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        The model as workers load it.

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If its file does not give the same answers by itself.
    """
    import wald

    if isinstance(model, str | os.PathLike):
        if pipeline is not None:
            raise ValueError(f"pipeline is for a model in memory. {os.fspath(model)} is saved already: leave it out.")
        raw = Path(model).read_bytes()
        received = load(model, trusted=trusted)
    else:
        require_early_exit(model, "model must be", ", or a file's path")
        model = unwatched(model)
        raw = to_bytes(model, pipeline=pipeline)
        received = _as_received(model, raw, trusted)
    require_early_exit(received, f"{model} must hold" if isinstance(model, str | os.PathLike) else "model must be")
    received = copy.copy(unwatched(received))
    received.n_jobs = n_jobs
    return Shipment(raw, hashlib.sha256(raw).hexdigest(), wald.__version__, tuple(trusted), n_jobs), received


def _as_received(model: EarlyExit, raw: bytes, trusted: Sequence[str]) -> EarlyExit:
    why = (
        f"Workers load this model from the bytes of its file, and these alone do not give the answers of the wrapped "
        f"{type(model.estimator_).__name__}"
    )
    try:
        received: EarlyExit = from_bytes(raw, trusted=trusted, max_bytes=NO_END)
    except ValueError as error:
        raise ValueError(f"{why}: {error}") from None
    if isinstance(received.estimator_, SavedModel) and not isinstance(model.estimator_, SavedModel):
        raise ValueError(
            f"{why} at ties. Wrap an estimator that a file describes (see wald.save); or, if ties may be decided by "
            "the terms in float64, save the model and give the path of its file."
        )
    return received


def receive(shipment: Shipment) -> EarlyExit:
    """Load a model on a worker, once per process.

    Parameters
    ----------
    shipment : Shipment

    Returns
    -------
    EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        Shared by the threads of the process.

    Raises
    ------
    RuntimeError
        If the sender has another version of wald.
    """
    import wald

    if shipment.version != wald.__version__:
        raise RuntimeError(
            f"The worker {platform.node()} (process {os.getpid()}) has wald {wald.__version__}, and the model was sent "
            f"by wald {shipment.version}. Answers are the same only with one version: install wald {shipment.version} "
            "on every worker."
        )
    wanted = shipment.key, shipment.n_jobs
    with _lock:  # a second thread waits, and does not load it again
        if wanted not in _kept:
            loaded: EarlyExit = from_bytes(shipment.raw, trusted=shipment.trusted, max_bytes=NO_END)
            model = unwatched(loaded)
            model.n_jobs = shipment.n_jobs
            _kept[wanted] = model
            while len(_kept) > MOST_KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(wanted)
        return _kept[wanted]


def required(module: str, extra: str) -> Any:
    """Import an optional library; raise ImportError with the extra to install if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"wald.{extra} needs {error.name}, which is not installed: {install(extra)}", name=error.name
        ) from error
