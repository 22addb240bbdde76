"""Predictions with early exits on Dask data frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .clusters import Job, Predictions, Shipment, ship
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
    columns: Sequence[Any] | None = None,
    keep: Sequence[Any] | None = None,
    groups: Any = None,
    return_cost: bool = False,
    return_stage: bool = False,
    proba: bool = False,
    budget: float | None = None,
    n_jobs: int | None = 1,
    pipeline: str | None = None,
    trusted: Sequence[str] = (),
) -> Predictions:
    """Predict the rows of a Dask data frame, partition by partition.

    The model is one object of the graph, as the bytes of its file, and each worker loads it once. Answers and costs are
    those of one machine, bit for bit. Like all of Dask this is lazy: nothing is predicted before ``compute`` or a
    ``to_parquet``, and a partition whose worker dies is predicted again.

    Parameters
    ----------
    dataset : dask.dataframe.DataFrame, or Series of texts

    Returns
    -------
    rows : dask.dataframe.DataFrame
        The kept columns, then ``label`` or ``value``, and ``cost``, ``stage`` and probabilities if requested. Divisions
        and index are kept; with groups, the index alone, by which rows can be sorted again.
    """
    dask, frames = required("dask", "dask"), required("dask.dataframe", "dask")
    if isinstance(dataset, frames.Series):
        dataset = dataset.to_frame("text" if dataset.name is None else dataset.name)
    if not isinstance(dataset, frames.DataFrame):
        raise TypeError(
            f"dataset must be a dask.dataframe.DataFrame. Got {type(dataset).__name__}: dask.dataframe.from_pandas, "
            "read_parquet or from_dask_array make one."
        )
    shipment, received = ship(model, n_jobs=n_jobs, pipeline=pipeline, trusted=trusted)
    job = Job.of(
        received,
        dataset.columns.tolist(),
        columns=columns,
        keep=keep,
        return_cost=return_cost,
        return_stage=return_stage,
        proba=proba,
        budget=budget,
        groups=groups,
    )
    sent = dask.delayed(shipment, name=f"wald-model-{shipment.key}-{n_jobs}", traverse=False)
    meta = job.answer_frame(shipment, dataset._meta)
    if groups is not None:  # all rows of a group into one partition
        dataset = dataset.shuffle(on=groups)
    rows = dataset.map_partitions(_answer, sent, job, meta=meta)
    return predictions(rows, received, job)


def _answer(part: Any, shipment: Shipment, job: Job) -> Any:
    return job.answer_frame(shipment, part)
