"""`wald.spark` on a cluster of two executors, of which one is killed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from clusters.cases import killer, make_case, require_probabilities, require_same

import wald

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # the library's own
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"),
]


@pytest.fixture(scope="module")
def spark():
    """Two executors of one core each, as processes of their own; their Python is this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def distributed_rows(spark, case, n=6):
    return spark.createDataFrame(pyarrow.Table.from_pandas(case.rows, preserve_index=False)).repartition(n)


def pandas_of(rows):
    return rows.toArrow().to_pandas()


def test_labels_and_costs_are_those_of_one_machine(case, spark):
    rows, certificate = wald.spark.predict(
        distributed_rows(spark, case), case.model, keep=["id"], return_cost=True, return_stage=True, proba=True
    )
    assert certificate == case.model.certificate_
    assert rows.columns == ["id", "label", "cost", "stage", "proba_no", "proba_yes"]
    found = pandas_of(rows)
    require_same(found, case)
    require_probabilities(found, case)


def test_names_that_spark_would_read_as_paths(case, spark):
    given = distributed_rows(spark, case).withColumnRenamed("id", "my.id").withColumnRenamed("x1", "x.1`")
    found = wald.spark.predict(given, case.model, columns=["x0", "x.1`", *given.columns[2:8]], keep=["my.id"]).rows
    assert found.columns == ["my.id", "label"]
    require_same(pandas_of(found).rename(columns={"my.id": "id"}), case)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bool", "int", "uint8"])
def test_labels_of_other_kinds(kind, spark):
    case = make_case(kind)
    require_same(pandas_of(wald.spark.predict(distributed_rows(spark, case), case.model).rows), case)


@pytest.mark.long
def test_a_file_a_kernel_machine_and_a_budget(kernel_case, spark, tmp_path):
    wald.save(kernel_case.model, tmp_path / "fast.wald")
    given = distributed_rows(spark, kernel_case)
    rows, _ = wald.spark.predict(given, tmp_path / "fast.wald", keep=["id"], return_cost=True)
    require_same(pandas_of(rows), kernel_case)
    budget = float(kernel_case.model.plan_.stage_costs[0])
    rows, certificate = wald.spark.predict(given, kernel_case.model, keep=["id"], budget=budget)
    assert certificate is None
    expected = kernel_case.model.predict(kernel_case.rows.drop(columns="id").to_numpy(), budget=budget)
    assert pandas_of(rows).sort_values("id")["label"].tolist() == expected.tolist()


@pytest.mark.long
def test_empty_partitions_and_another_order_of_columns(case, spark):
    given = distributed_rows(spark, case)
    few = given.filter("id < 3").repartition(8)  # most partitions are left without rows
    found = pandas_of(wald.spark.predict(few, case.model).rows).sort_values("id")
    assert found["label"].tolist() == case.labels[:3].tolist()
    none = wald.spark.predict(given.filter("id < 0"), case.model, return_cost=True).rows
    assert none.count() == 0
    require_same(pandas_of(wald.spark.predict(given.select(given.columns[::-1]), case.model).rows), case)


def test_missing_columns_and_what_is_no_spark_frame(case, spark):
    with pytest.raises(ValueError, match="lacks the column 'x7'"):
        wald.spark.predict(distributed_rows(spark, case).drop("x7"), case.model)
    with pytest.raises(TypeError, match=r"must be a pyspark\.sql\.DataFrame. Got DataFrame"):
        wald.spark.predict(case.rows, case.model)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the executor through /proc")
@pytest.mark.parametrize("whole", [False, True], ids=["python", "executor"])
def test_a_killed_worker_costs_no_rows(case, spark, tmp_path, whole):
    def victim():
        if not whole:
            return os.getpid()
        with open(f"/proc/{os.getppid()}/stat") as stat:  # of the daemon that forked this process
            return int(stat.read().rpartition(")")[2].split()[1])

    strike = killer(str(tmp_path / "struck"), victim)

    def doomed(batches):
        for batch in batches:
            if max(batch["id"].to_pylist()) > 700:
                strike()
            yield batch

    given = distributed_rows(spark, case, 12)
    rows = wald.spark.predict(given.mapInArrow(doomed, given.schema), case.model, return_cost=True).rows
    require_same(pandas_of(rows), case)
    assert (tmp_path / "struck").exists()


@pytest.mark.long
def test_a_worker_of_another_version(case, spark, monkeypatch):
    monkeypatch.setattr(wald, "__version__", "99.1", raising=False)
    rows = wald.spark.predict(distributed_rows(spark, case), case.model).rows
    with pytest.raises(Exception, match=r"sent by wald 99\.1"):
        rows.toArrow()
