"""`wald.dask` on Dask's own schedulers, and on a cluster of two processes of which one is killed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from clusters.cases import LABELS, killer, make_case, require_probabilities, require_same

import wald
from wald.clusters import shipping

pandas = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
frames = pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own


def distributed_rows(case, n=6):
    return frames.from_pandas(case.rows, npartitions=n)


def test_labels_and_costs_are_those_of_one_machine(case):
    rows, certificate = wald.dask.predict(
        distributed_rows(case), case.model, keep=["id"], return_cost=True, return_stage=True
    )
    assert certificate == case.model.certificate_
    found = rows.compute(scheduler="sync")
    require_same(found, case)
    assert found.columns.tolist() == ["id", "label", "cost", "stage"]
    assert found.index.equals(case.rows.index)
    assert found.dtypes.equals(rows.dtypes)


def test_probabilities_are_those_of_one_machine(case):
    rows = wald.dask.predict(distributed_rows(case), case.model, keep=["id"], proba=True).rows
    found = rows.compute(scheduler="sync")
    require_same(found, case)
    assert found.dtypes.equals(rows.dtypes)
    require_probabilities(found, case)


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(kind):
    case = make_case(kind)
    rows = wald.dask.predict(distributed_rows(case), case.model).rows
    found = rows.compute(scheduler="sync")
    require_same(found, case)
    assert found.dtypes.equals(rows.dtypes)


def test_a_file_a_kernel_machine_and_a_budget(kernel_case, tmp_path):
    wald.save(kernel_case.model, tmp_path / "fast.wald")
    given = distributed_rows(kernel_case)
    rows, _ = wald.dask.predict(given, tmp_path / "fast.wald", keep=["id"], return_cost=True)
    require_same(rows.compute(scheduler="sync"), kernel_case)
    budget = float(kernel_case.model.plan_.stage_costs[0])
    rows, certificate = wald.dask.predict(given, kernel_case.model, keep=["id"], budget=budget)
    assert certificate is None
    expected = kernel_case.model.predict(kernel_case.rows.drop(columns="id").to_numpy(), budget=budget)
    assert np.array_equal(rows.compute(scheduler="sync")["label"], expected)


def test_empty_partitions_and_partitions_in_another_order_of_columns(case):
    first, empty, last = case.rows[:900], case.rows[900:900], case.rows[900:]
    parts = [dask.delayed(part) for part in (first, empty, last[last.columns[::-1]])]
    given = frames.from_delayed(parts, meta=case.rows[:0], verify_meta=False)
    rows = wald.dask.predict(given, case.model, return_cost=True).rows
    require_same(rows.compute(scheduler="sync"), case)
    none = wald.dask.predict(given[given["id"] < 0], case.model).rows.compute(scheduler="sync")
    assert len(none) == 0
    assert none["label"].dtype == rows["label"].dtype


def test_missing_columns_and_what_is_no_dask_frame(case):
    with pytest.raises(ValueError, match="lacks the column 'x7'"):
        wald.dask.predict(distributed_rows(case).drop(columns="x7"), case.model)
    with pytest.raises(TypeError, match=r"must be a dask\.dataframe\.DataFrame. Got DataFrame"):
        wald.dask.predict(case.rows, case.model)


def test_the_model_is_one_object_of_the_graph(case):
    rows = wald.dask.predict(distributed_rows(case), case.model).rows
    assert sum("wald-model" in str(key) for key in dict(rows.optimize().dask)) == 1


# ---- two processes ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.long
def test_two_processes_load_the_model_once_each(case, client):
    rows = wald.dask.predict(distributed_rows(case, 12), case.model, return_cost=True).rows
    require_same(rows.compute(), case)
    loaded = client.run(lambda: (os.getpid(), len(shipping._kept)))
    assert len({process for process, _ in loaded.values()} - {os.getpid()}) == 2
    assert {count for _, count in loaded.values()} <= {0, 1}


@pytest.mark.long
def test_a_killed_worker_costs_no_rows(case, client, tmp_path):
    strike = killer(str(tmp_path / "struck"), os.getpid)

    def doomed(part):
        if part["id"].min() > 700:
            strike()
        return part

    given = distributed_rows(case, 12).map_partitions(doomed, meta=case.rows[:0])
    rows = wald.dask.predict(given, case.model, return_cost=True).rows
    require_same(rows.compute(), case)
    assert (tmp_path / "struck").exists()


@pytest.mark.long
def test_a_worker_of_another_version(case, client, monkeypatch):
    monkeypatch.setattr(wald, "__version__", "99.1", raising=False)
    rows = wald.dask.predict(distributed_rows(case), case.model).rows
    with pytest.raises(RuntimeError, match=r"sent by wald 99\.1"):
        rows.compute()
