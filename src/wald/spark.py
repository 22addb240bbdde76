"""Predictions with early exits on Spark data frames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from .clusters import Job, Predictions, ship
from .clusters.job import arrow_type, predictions
from .clusters.shipping import required
from .clusters.whole_groups import whole_groups
from .early_exit.compiled.answer_columns import AnswerColumns
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
) -> Predictions:
    """Predict the rows of a Spark data frame by ``mapInArrow``.

    The bytes of the model's file are broadcast, and each Python process of an executor loads them once. Answers and
    costs are those of one machine, bit for bit. Like all of Spark this is lazy, and a task whose executor dies is run
    again.

    Parameters
    ----------
    dataset : pyspark.sql.DataFrame
        Of a session with a SparkContext; Spark Connect has no broadcasts.

    Returns
    -------
    rows : pyspark.sql.DataFrame
        The kept columns, then ``label`` or ``value``, and ``cost``, ``stage`` and probabilities if requested.
    """
    sql = required("pyspark.sql", "spark")
    if not isinstance(dataset, sql.DataFrame):
        raise TypeError(
            f"dataset must be a pyspark.sql.DataFrame. Got {type(dataset).__name__}: spark.createDataFrame or "
            "spark.read make one."
        )
    if type(dataset).__module__.startswith("pyspark.sql.connect"):
        raise TypeError("dataset is of Spark Connect, which has no broadcasts: use a session with a SparkContext.")
    shipment, received = ship(model, n_jobs=n_jobs, pipeline=pipeline, trusted=trusted)
    job = Job.of(
        received,
        dataset.columns,
        columns=columns,
        keep=keep,
        return_cost=return_cost,
        return_stage=return_stage,
        proba=proba,
        budget=budget,
        groups=groups,
    )
    own = _types(received, job)
    types = {name: own[name] for name in job.answered}
    schema, names = _schema(dataset, job, types), list(dataset.columns)
    dataset = dataset.toDF(*(f"column_{i}" for i in range(len(names))))  # mapInArrow finds no names with dots
    broadcast = dataset.sparkSession.sparkContext.broadcast(shipment)

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        tables = (pa.Table.from_batches([batch]).rename_columns(names) for batch in batches)
        for table in tables if groups is None else whole_groups(tables, groups):
            yield from job.answer_arrow(broadcast.value, table, types).to_batches()

    if groups is not None:  # all rows of a group into one partition, side by side
        key = dataset.columns[names.index(groups)]
        dataset = dataset.repartition(key).sortWithinPartitions(key)
    rows = dataset.mapInArrow(answer, schema)
    return predictions(rows, received, job)


def _types(model: EarlyExit, job: Job) -> dict[str, Any]:
    """The Arrow types of wald's columns; Spark has no unsigned numbers."""
    import pyarrow as pa

    columns = AnswerColumns.of(model.compiled_plan_)
    answers = {name: arrow_type(none) for name, none in columns.of_answers(columns.none).items()}
    answers = {name: pa.int64() if pa.types.is_unsigned_integer(own) else own for name, own in answers.items()}
    numbers = dict.fromkeys(job.probabilities, pa.float64())
    return {**answers, "cost": pa.float64(), "stage": pa.int32(), **numbers}


def _schema(dataset: Any, job: Job, types: dict[str, Any]) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    kept = [StructField(new, dataset.schema[name].dataType, dataset.schema[name].nullable) for name, new in job.kept]
    return StructType([*kept, *(StructField(name, from_arrow_type(own)) for name, own in types.items())])
