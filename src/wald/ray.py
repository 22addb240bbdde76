"""Predictions with early exits on Ray data sets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .clusters import Job, Predictions, receive, ship
from .clusters.job import predictions
from .clusters.shipping import required
from .early_exit.estimators import EarlyExit
from .utils.documentation import completes_documentation

__all__ = ["predict"]


@completes_documentation(Job.of, ship, outcome=predictions)
def predict(
    dataset: Any,
    model: EarlyExit | str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    groups: str | None = None,
    return_cost: bool = False,
    return_stage: bool = False,
    proba: bool = False,
    budget: float | None = None,
    n_jobs: int | None = 1,
    pipeline: str | None = None,
    trusted: Sequence[str] = (),
    workers: int | tuple[int, int] | None = None,
) -> Predictions:
    """Predict the rows of a Ray data set by actors, each of which loads the model once.

    The bytes of the model's file are put into Ray's object store once. Answers and costs are those of one machine, bit
    for bit. Like all of Ray Data this is lazy, except that names of columns are asked for, which may read one block;
    a batch whose actor dies is predicted again by another.

    Parameters
    ----------
    dataset : ray.data.Dataset
    workers : int or (int, int), default=None
        Number of actors, or the least and the largest; None: from one to as many as the cluster has CPUs. Each takes
        one CPU, so that a number of all CPUs leaves none for the tasks that read.

    Returns
    -------
    rows : ray.data.Dataset
        The kept columns, then ``label`` or ``value``, and ``cost``, ``stage`` and probabilities if requested.
    """
    ray, data = required("ray", "ray"), required("ray.data", "ray")
    if not isinstance(dataset, data.Dataset):
        raise TypeError(
            f"dataset must be a ray.data.Dataset. Got {type(dataset).__name__}: ray.data.from_pandas, from_arrow or "
            "read_parquet make one."
        )
    shipment, received = ship(model, n_jobs=n_jobs, pipeline=pipeline, trusted=trusted)
    job = Job.of(
        received,
        dataset.columns() or (),
        columns=columns,
        keep=keep,
        return_cost=return_cost,
        return_stage=return_stage,
        proba=proba,
        budget=budget,
        groups=groups,
    )
    apart = dataset.map_batches if groups is None else dataset.groupby(groups).map_groups  # one group at a time
    rows = apart(
        _Worker,
        fn_constructor_args=([ray.put(shipment)], job),  # in a list, so that Ray passes the reference itself
        batch_format="pyarrow",
        **({"batch_size": None, "zero_copy_batch": True} if groups is None else {}),
        num_cpus=1,
        compute=_pool(data, workers, int(ray.cluster_resources().get("CPU", 1))),
    )
    return predictions(rows, received, job)


def _pool(data: Any, workers: Any, n_cpus: int) -> Any:
    if workers is None:
        return data.ActorPoolStrategy(min_size=1, max_size=max(1, n_cpus))
    if isinstance(workers, tuple):
        return data.ActorPoolStrategy(min_size=workers[0], max_size=workers[1])
    return data.ActorPoolStrategy(size=workers)


class _Worker:
    """An actor: loads the model when it starts."""

    def __init__(self, sent: list[Any], job: Job) -> None:
        import ray

        self._shipment, self._job = ray.get(sent[0]), job
        receive(self._shipment)

    def __call__(self, part: Any) -> Any:
        if part.num_rows == 0 and part.num_columns == 0:  # a block that nothing is left of has no columns either
            return part
        return self._job.answer_arrow(self._shipment, part)
