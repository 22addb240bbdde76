"""`wald.ray` on a cluster of two actors, of which one is killed."""

from __future__ import annotations

import os

import pytest
from clusters.cases import killer, make_case, require_probabilities, require_same

import wald

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
ray = pytest.importorskip("ray")
data = pytest.importorskip("ray.data")
pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


@pytest.fixture(scope="module")
def cluster():
    """Two CPUs for the actors, and one for the tasks that feed them."""
    ray.init(num_cpus=3, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def distributed_rows(case, n=6):
    step = -(-len(case.rows) // n)
    parts = [case.rows[i : i + step] for i in range(0, len(case.rows), step)]
    return data.from_arrow([pyarrow.Table.from_pandas(part, preserve_index=False) for part in parts])


def test_labels_and_costs_are_those_of_one_machine(case, cluster):
    rows, certificate = wald.ray.predict(
        distributed_rows(case), case.model, keep=["id"], return_cost=True, return_stage=True, proba=True, workers=2
    )
    assert certificate == case.model.certificate_
    found = rows.to_pandas()
    require_same(found, case)
    require_probabilities(found, case)
    assert found.columns.tolist() == ["id", "label", "cost", "stage", "proba_no", "proba_yes"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bool", "int", "uint8"])
def test_labels_of_other_kinds(kind, cluster):
    case = make_case(kind)
    require_same(wald.ray.predict(distributed_rows(case), case.model).rows.to_pandas(), case)


@pytest.mark.long
def test_a_file_a_kernel_machine_and_a_budget(kernel_case, cluster, tmp_path):
    wald.save(kernel_case.model, tmp_path / "fast.wald")
    given = distributed_rows(kernel_case)
    rows, _ = wald.ray.predict(given, tmp_path / "fast.wald", keep=["id"], return_cost=True, workers=(1, 2))
    require_same(rows.to_pandas(), kernel_case)
    budget = float(kernel_case.model.plan_.stage_costs[0])
    rows, certificate = wald.ray.predict(given, kernel_case.model, keep=["id"], budget=budget)
    assert certificate is None
    expected = kernel_case.model.predict(kernel_case.rows.drop(columns="id").to_numpy(), budget=budget)
    assert rows.to_pandas().sort_values("id")["label"].tolist() == expected.tolist()


@pytest.mark.long
def test_blocks_without_rows_and_blocks_in_another_order_of_columns(case, cluster):
    first, last = case.rows[:900], case.rows[900:]
    parts = [first, first[:0], last[last.columns[::-1]]]
    given = data.from_arrow([pyarrow.Table.from_pandas(part, preserve_index=False) for part in parts])
    require_same(wald.ray.predict(given, case.model, return_cost=True).rows.to_pandas(), case)
    some = distributed_rows(case).filter(lambda row: row["id"] < 500)  # most blocks are left without rows
    found = wald.ray.predict(some, case.model).rows.to_pandas().sort_values("id")
    assert found["label"].tolist() == case.labels[:500].tolist()


def test_missing_columns_and_what_is_no_ray_data_set(case, cluster):
    with pytest.raises(ValueError, match="lacks the column 'x7'"):
        wald.ray.predict(distributed_rows(case).drop_columns(["x7"]), case.model)
    with pytest.raises(TypeError, match=r"must be a ray\.data\.Dataset. Got DataFrame"):
        wald.ray.predict(case.rows, case.model)


@pytest.mark.long
def test_a_killed_actor_costs_no_rows(case, cluster, tmp_path, monkeypatch):
    strike, own = killer(str(tmp_path / "struck"), os.getpid), wald.ray._Worker

    class Doomed(own):
        def __call__(self, part):
            if part.num_rows and min(part["id"].to_pylist()) > 700:
                strike()
            return super().__call__(part)

    monkeypatch.setattr(wald.ray, "_Worker", Doomed)
    rows = wald.ray.predict(distributed_rows(case, 12), case.model, return_cost=True, workers=2).rows
    require_same(rows.to_pandas(), case)
    assert (tmp_path / "struck").exists()


@pytest.mark.long
def test_a_worker_of_another_version(case, cluster, monkeypatch):
    monkeypatch.setattr(wald, "__version__", "99.1", raising=False)
    rows = wald.ray.predict(distributed_rows(case), case.model).rows
    with pytest.raises(Exception, match=r"sent by wald 99\.1"):
        rows.materialize()
