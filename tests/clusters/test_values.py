"""Regressors, rankers and outlier detectors on clusters: values of the model's dtype, also in empty partitions."""

from __future__ import annotations

import numpy as np
import pytest
from persistence.valued import X, made

import wald
from wald.clusters import Job, ship

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

PLAIN = {"columns": None, "keep": ["id"], "return_cost": True, "return_stage": True, "budget": None}
ROWS = pandas.DataFrame(X[:50], columns=list("abcde")).assign(id=np.arange(50))


def names_of(own):
    return ["value"] if own.ndim == 1 else ["value_0", "value_1"]


@pytest.mark.parametrize("name", ["hist", "xgboost", "xgboost several", "lightgbm ranker", "target of trees"])
def test_values_are_those_of_one_machine(name):
    fast, model, _ = made(name)
    shipment, received = ship(fast)
    job, own = Job.of(received, ROWS.columns, **PLAIN), model.predict(X[:50])
    names = names_of(own)
    frame = job.answer_frame(shipment, ROWS)
    assert frame.columns.tolist() == ["id", *names, "cost", "stage"]
    assert [frame[n].dtype for n in names] == [own.dtype] * len(names)
    np.testing.assert_array_equal(frame[names].to_numpy().reshape(own.shape), own)
    table = job.answer_arrow(shipment, pyarrow.Table.from_pandas(ROWS))
    assert table.to_pandas().equals(frame)
    empty = job.answer_frame(shipment, ROWS[:0])
    assert empty.dtypes.equals(frame.dtypes)
    assert job.answer_arrow(shipment, pyarrow.Table.from_pandas(ROWS[:0])).schema.types == table.schema.types


def test_outliers_and_columns():
    fast = made("isolation forest")[0]
    shipment, received = ship(fast.watched(0.5))
    found = Job.of(received, ROWS.columns, **PLAIN).answer_frame(shipment, ROWS)
    assert found["label"].tolist() == fast.predict(X[:50]).tolist()
    fast, model, frame = made("columns of trees")
    shipment, received = ship(fast)
    job = Job.of(received, frame.columns[::-1], **PLAIN | {"keep": []})
    np.testing.assert_array_equal(job.answer_frame(shipment, frame[frame.columns[::-1]])["value"], model.predict(frame))


def test_values_have_no_probabilities():
    with pytest.raises(TypeError, match="proba=True needs a model with probabilities, and this TreeRegressor has none"):
        Job.of(ship(made("hist")[0])[1], ROWS.columns, **PLAIN, proba=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["xgboost", "forest of several"])
def test_dask(name):
    frames = pytest.importorskip("dask.dataframe")
    fast, model, _ = made(name)
    rows, certificate = wald.dask.predict(frames.from_pandas(ROWS, npartitions=3), fast, keep=["id"])
    found, own = rows.compute(scheduler="sync"), model.predict(X[:50])
    assert found.dtypes.equals(rows.dtypes)
    np.testing.assert_array_equal(found[names_of(own)].to_numpy().reshape(own.shape), own)
    assert certificate.status == "full"


def test_types_in_spark():
    from wald.spark import _types

    for name, kind in (
        ("xgboost", pyarrow.float32()),
        ("hist", pyarrow.float64()),
        ("isolation forest", pyarrow.int64()),
    ):
        received = ship(made(name)[0])[1]
        job = Job.of(received, ROWS.columns, **PLAIN)
        assert _types(received, job)[job.answered[0]] == kind
