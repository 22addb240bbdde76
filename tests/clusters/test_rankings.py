"""Rankings on clusters: groups that partitions cut are brought together, and answered as on one machine."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from persistence.valued import made
from ranking.lists import K, fast, lists, ranker

import wald
from wald.clusters import Job, ship
from wald.clusters.whole_groups import whole_groups

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

NAMES = list("abcdefgh")
ASKED = {"columns": NAMES, "keep": ["id"], "return_cost": True, "return_stage": True, "budget": None}


@pytest.fixture(scope="module")
def rows() -> Any:
    """Rows whose groups lie apart."""
    X, _, groups = lists(30, seed=4)
    frame = pandas.DataFrame(X, columns=NAMES).assign(query=[f"query {g}" for g in groups])
    return frame.sample(frac=1, random_state=0, ignore_index=True).assign(id=np.arange(len(frame)))


def require_same(found: Any, rows: Any, early: Any = None) -> None:
    """Every row once, with the values and costs of one machine."""
    found, early = found.sort_values("id", ignore_index=True), early or fast()
    expected = early.predict(rows[NAMES].to_numpy(), groups=rows["query"], details=True)
    assert found["id"].tolist() == rows["id"].tolist()
    np.testing.assert_array_equal(found["value"], expected.labels)
    np.testing.assert_array_equal(found["cost"], expected.costs)
    np.testing.assert_array_equal(found["stage"], expected.stages)
    assert expected.costs.mean() < 40


def test_partitions_of_whole_groups(rows: Any) -> None:
    shipment, received = ship(fast())
    job = Job.of(received, rows.columns, **ASKED, groups="query")
    frame = job.answer_frame(shipment, rows)
    require_same(frame, rows)
    assert job.answer_arrow(shipment, pyarrow.Table.from_pandas(rows)).to_pandas().equals(frame)
    assert job.answer_frame(shipment, rows[:0]).dtypes.equals(frame.dtypes)
    with pytest.raises(ValueError, match=r"groups must name the group of every row\. Got \S*nan\S* for row 3"):
        job.answer_frame(shipment, rows.assign(query=np.where(rows.index == 3, np.nan, 1.0)))


def test_a_model_without_names_leaves_the_column_of_groups_out(rows: Any) -> None:
    given = rows[[*NAMES, "query"]]
    shipment, received = ship(fast())
    for keep in (None, ["query"]):
        job = Job.of(received, given.columns, **ASKED | {"columns": None, "keep": keep}, groups="query")
        assert job.columns == tuple(NAMES)
        expected = fast().predict(given[NAMES].to_numpy(), groups=given["query"])
        np.testing.assert_array_equal(job.answer_frame(shipment, given)["value"], expected)


def test_groups_may_be_a_column_that_the_model_reads() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, groups = lists(200, seed=1)
    frame = pandas.DataFrame(X, columns=NAMES).assign(h=groups.astype(float))
    model = lightgbm.LGBMRanker(n_estimators=40, verbose=-1, n_jobs=1).fit(frame, y, group=np.bincount(groups))
    early = wald.EarlyExitRanker(model, k=K, risk=0.2, random_state=0).fit(frame, groups=groups)
    shipment, received = ship(early)
    job = Job.of(received, frame.columns, **ASKED | {"columns": None, "keep": []}, groups="h")
    np.testing.assert_array_equal(job.answer_frame(shipment, frame)["value"], early.predict(frame, groups=groups))


@pytest.mark.parametrize("size", [1, 7, 40, 100, 5000])
def test_batches_are_cut_where_groups_end(size: int) -> None:
    keys = np.repeat(np.arange(60), np.random.default_rng(0).integers(1, 70, 60))
    table = pyarrow.table({"query": keys, "at": np.arange(len(keys))})
    found = list(whole_groups((table[i : i + size] for i in range(0, len(keys) + size, size)), "query"))
    assert pyarrow.concat_tables(found)["at"].to_pylist() == list(range(len(keys)))
    ends = [part["query"][-1].as_py() for part in found]
    assert ends == sorted(set(ends))
    for part, after in pairwise(found):
        assert part["query"][-1] != after["query"][0]
    assert list(whole_groups([], "query")) == []


def test_keys_that_are_missing_come_through() -> None:
    table = pyarrow.table({"query": pyarrow.array([1.0, None, float("nan")], from_pandas=False)})
    assert sum(part.num_rows for part in whole_groups([table, table], "query")) == 6


def test_dask(rows: Any) -> None:
    frames = pytest.importorskip("dask.dataframe")
    given = frames.from_pandas(rows, npartitions=4)
    answers, certificate = wald.dask.predict(
        given, fast(), columns=NAMES, keep=["id"], groups="query", return_cost=True, return_stage=True
    )
    found = answers.compute(scheduler="sync")
    require_same(found, rows)
    assert found.sort_index().index.equals(rows.index)
    assert str(certificate) == str(fast().certificate_)
    answers, certificate = wald.dask.predict(given, fast(), columns=NAMES, keep=["id"])
    own = answers.compute(scheduler="sync")["value"]
    np.testing.assert_array_equal(own, ranker().predict(rows[NAMES].to_numpy()))
    assert certificate.status == "full"


@pytest.mark.slow
def test_ray(rows: Any) -> None:
    ray = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    try:
        parts = [pyarrow.Table.from_pandas(rows[i : i + 250], preserve_index=False) for i in range(0, len(rows), 250)]
        answers, certificate = wald.ray.predict(
            data.from_arrow(parts),
            fast(),
            columns=NAMES,
            keep=["id"],
            groups="query",
            return_cost=True,
            return_stage=True,
            workers=1,
        )
        require_same(answers.to_pandas(), rows)
        assert str(certificate) == str(fast().certificate_)
    finally:
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java")
def test_spark(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pyspark = pytest.importorskip("pyspark")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    session = (
        pyspark.sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "57")
        .getOrCreate()
    )
    try:
        given = session.createDataFrame(pyarrow.Table.from_pandas(rows, preserve_index=False)).repartition(5)
        given = given.withColumnRenamed("query", "the.query")
        answers, certificate = wald.spark.predict(
            given, fast(), columns=NAMES, keep=["id"], groups="the.query", return_cost=True, return_stage=True
        )
        require_same(answers.toArrow().to_pandas(), rows)
        assert str(certificate) == str(fast().certificate_)
    finally:
        session.stop()


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"groups": "session"}, ValueError, r"The data set lacks the column of groups: 'session'\. It has 'a'"),
        ({"groups": "query", "proba": True}, TypeError, "proba=True needs a model with probabilities"),
    ],
)
def test_bad_input(rows: Any, asked: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Job.of(ship(fast())[1], rows.columns, **ASKED | asked)


def test_groups_are_for_rankers(rows: Any) -> None:
    with pytest.raises(TypeError, match="groups are for rankings"):
        Job.of(ship(made("hist")[0])[1], rows.columns, **ASKED | {"columns": NAMES[:5]}, groups="query")
    assert fast().k == K
