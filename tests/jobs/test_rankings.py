"""Jobs of rankings: groups that span row groups and files are whole, and answered as in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranking.lists import K, fast, lists, ranker

from wald import EarlyExitRanker

pyarrow = pytest.importorskip("pyarrow")  # before the imports below, which need it: E402
from pyarrow import ipc  # noqa: E402
from pyarrow.parquet import read_table, write_table  # noqa: E402

from wald.jobs import JobError, Options, run, whole_groups  # noqa: E402

NAMES = list("abcdefgh")
BY_QUERY = Options(groups="query", cost=True, keep=("query",))


def table(X: Any, keys: Any) -> Any:
    return pyarrow.table({name: X[:, c] for c, name in enumerate(NAMES)} | {"query": keys})


def folder(path: Path, seed: int = 2, keys: Any = None) -> tuple[Any, Any]:
    """Rows in five files, one of them without rows, cut within groups; one group has rows in four files."""
    X, _, groups = lists(20, seed=seed)
    groups = np.where((groups >= 3) & (groups < 9), 3, groups)  # a long one
    keys = np.array([f"query {g:02}" for g in groups]) if keys is None else keys
    whole = table(X, keys)
    path.mkdir()
    for i, (start, end) in enumerate([(0, 130), (130, 200), (200, 200), (200, 300), (300, len(X))]):
        write_table(whole[start:end], path / f"{i}.parquet", row_group_size=37)
    return X, groups


def found(out: Path) -> Any:
    return pyarrow.concat_tables([read_table(path) for path in sorted(out.glob("part-*.parquet"))])


@pytest.mark.parametrize("most", [1, 70, 1 << 20])
def test_groups_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    X, groups = folder(tmp_path / "in")
    monkeypatch.setattr(whole_groups, "LEAST_ROWS", most)
    monkeypatch.setattr(whole_groups, "AT_ONCE", 8)
    report = run(fast(), [str(tmp_path / "in")], tmp_path / "out", model="m", options=BY_QUERY)
    expected, parts = fast().predict(X, groups=groups, details=True), found(tmp_path / "out")
    assert parts.column_names == ["query", "value", "cost"]
    np.testing.assert_array_equal(parts["value"].to_numpy(), expected.labels)
    np.testing.assert_array_equal(parts["cost"].to_numpy(), expected.costs)
    assert parts["query"].to_pylist() == [f"query {g:02}" for g in groups]
    assert (report.n_parts, report.n_rows) == (5, len(X))
    assert report.total_cost == pytest.approx(expected.costs.sum())
    sizes = [read_table(path).num_rows for path in sorted((tmp_path / "out").glob("part-*"))]
    assert sizes == [130, 70, 0, 100, len(X) - 300]


@pytest.mark.parametrize(
    "keys", [np.arange(20), np.arange(20) / 4, np.arange(20).astype("datetime64[D]"), np.arange(20) % 2 == 0]
)
def test_keys_of_other_types(tmp_path: Path, keys: Any) -> None:
    keys = np.repeat(keys, 40) if keys.dtype.kind != "b" else np.arange(800) < 300
    X, _ = folder(tmp_path / "in", keys=keys)
    run(fast(), [str(tmp_path / "in")], tmp_path / "out", model="m", options=Options(groups="query"))
    np.testing.assert_array_equal(found(tmp_path / "out")["value"].to_numpy(), fast().predict(X, groups=keys))


def test_folders_name_groups_and_arrow_files_are_read(tmp_path: Path) -> None:
    X, _, groups = lists(4, seed=3)
    for g in range(4):
        (tmp_path / "in" / f"query={g}").mkdir(parents=True)
        path = tmp_path / "in" / f"query={g}" / "rows.arrow"
        rows = table(X[groups == g], groups[groups == g]).drop_columns("query")
        with ipc.new_file(str(path), rows.schema) as file:
            file.write_table(rows, max_chunksize=11)
    run(fast(), [str(tmp_path / "in")], tmp_path / "out", model="m", options=Options(groups="query"))
    np.testing.assert_array_equal(found(tmp_path / "out")["value"].to_numpy(), fast().predict(X, groups=groups))


def test_a_job_that_was_broken_off_goes_on_and_one_on_other_files_does_not(tmp_path: Path) -> None:
    X, groups = folder(tmp_path / "in")
    again = ([str(tmp_path / "in")], tmp_path / "out")
    run(fast(), *again, model="m", options=BY_QUERY)
    last = sorted((tmp_path / "out").glob("part-*"))[-1]
    raw = last.read_bytes()
    last.unlink()
    report = run(fast(), *again, model="m", options=BY_QUERY)
    assert (report.n_before, report.n_parts, last.read_bytes()) == (4, 5, raw)
    last.unlink()
    write_table(table(X[300:], [f"query {g:02}" for g in groups[300:]])[:40], tmp_path / "in" / "4.parquet")
    with pytest.raises(JobError, match="another files that groups may reach into"):
        run(fast(), *again, model="m", options=BY_QUERY)


@pytest.mark.slow
def test_pipelines_and_rankers_without_a_risk(tmp_path: Path) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pandas, lightgbm = pytest.importorskip("pandas"), pytest.importorskip("lightgbm")
    X, y, groups = lists(50)
    pipeline = make_pipeline(StandardScaler(), lightgbm.LGBMRanker(n_estimators=60, verbose=-1, n_jobs=1))
    pipeline.fit(pandas.DataFrame(X, columns=NAMES), y, lgbmranker__group=np.bincount(groups))
    Z, _, keys = lists(200, seed=1)
    early = EarlyExitRanker(pipeline, k=K, risk=0.1, random_state=0, n_jobs=1)
    early.fit(pandas.DataFrame(Z, columns=NAMES), groups=keys)
    assert early.ranking_plan_ is not None
    Z, keys = folder(tmp_path / "in")
    frame = pandas.DataFrame(Z, columns=NAMES)
    for n, ranking in enumerate([early, EarlyExitRanker(pipeline).fit()]):
        run(ranking, [str(tmp_path / "in")], tmp_path / f"out{n}", model="m", options=Options(groups="query"))
        expected = ranking.predict(frame, groups=keys)
        np.testing.assert_array_equal(found(tmp_path / f"out{n}")["value"].to_numpy(), expected)


def refused(path: Path, message: str, ranking: Any = None, **options: Any) -> None:
    with pytest.raises(JobError, match=message):
        run(ranking or fast(), [str(path)], path / "out", model="m", options=Options(**{"groups": "query"} | options))
    assert not [*(path / "out").glob("part-*")]


def test_groups_that_lie_apart(tmp_path: Path) -> None:
    X, _, groups = lists(6, seed=3)
    (tmp_path / "in").mkdir()
    write_table(table(X[:100], groups[:100]), tmp_path / "in" / "a.parquet", row_group_size=30)
    write_table(table(X[100:], np.where(groups == 5, 1, groups)[100:]), tmp_path / "in" / "b.parquet")
    message = (
        r"the group 1 lie apart: it begins in \S*a.parquet, row 40 \(from 0\), and again in \S*b.parquet, row 100\. "
    )
    refused(tmp_path / "in", message + ".*sort the data by 'query'")


@pytest.mark.parametrize("hole", [None, float("nan")])
def test_rows_without_a_group(tmp_path: Path, hole: Any) -> None:
    X, _, groups = lists(2)
    keys = [hole if i == 57 else float(g) for i, g in enumerate(groups)]
    (tmp_path / "in").mkdir()
    write_table(table(X, pyarrow.array(keys, from_pandas=False)), tmp_path / "in" / "a.parquet", row_group_size=30)
    refused(tmp_path / "in", r"--groups: .*a.parquet, row 57 \(from 0\) names no group")


def test_bad_input(tmp_path: Path) -> None:
    X, _ = folder(tmp_path / "in")
    refused(tmp_path / "in", r"--groups: .*0.parquet has no column 'session'; it has", groups="session")
    refused(tmp_path / "in", "0.parquet: .*budget", budget=1)
    refused(tmp_path / "in", "--skip-bad leaves out files, which would cut groups", skip_bad=True)
    write_table(table(X[:40], np.arange(40)), tmp_path / "in" / "5.parquet")
    refused(tmp_path / "in", r"'query' holds string in .*0.parquet, and numbers in .*5.parquet: write it with one type")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "rows.csv").write_text("a,query\n1,2\n")
    with pytest.raises(JobError, match=r"rows.csv: groups across files are read from Parquet and Arrow IPC"):
        run(fast(), [str(tmp_path / "text")], tmp_path / "no", model="m", options=Options(groups="query"), reader=print)
    from sklearn.tree import DecisionTreeRegressor

    from wald import EarlyExitRegressor

    regressor = EarlyExitRegressor(DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])).fit()
    refused(tmp_path / "in", "--groups: groups are for rankings.*EarlyExitRegressor", regressor)


def test_without_groups_all_rows_are_evaluated_in_full(tmp_path: Path) -> None:
    X, _ = folder(tmp_path / "in")
    run(fast(), [str(tmp_path / "in")], tmp_path / "out", model="m", options=Options(drop=("query",)))
    np.testing.assert_array_equal(found(tmp_path / "out")["value"].to_numpy(), ranker().predict(X))
