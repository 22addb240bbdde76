"""Jobs give the labels and costs of one call, whatever is read late, and read little where little is needed."""

from __future__ import annotations

import numpy as np
import pytest
from jobs.material import answers, save, table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

import wald

pytest.importorskip("pyarrow")
import pyarrow
import pyarrow.csv
from pyarrow.parquet import read_table, write_table
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald.jobs import JobError, Options, run

WITH_COST = Options(cost=True)


def whole(case, rows=None, **how):
    return case.fast.predict(case.rows if rows is None else rows, return_cost=True, **how)


def same(found, expected):
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_answers_are_those_of_one_call(case, folder, tmp_path):
    report = run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    expected = whole(case)
    same(answers(tmp_path / "out"), expected)
    assert report.n_rows == report.rows_now == len(case.rows)
    assert report.total_cost == pytest.approx(expected[1].sum())
    assert report.counts == {str(c): int((expected[0] == c).sum()) for c in case.fast.classes_}
    assert 0 < report.bytes_decoded <= 1.5 * report.bytes_there


def test_budget(case, folder, tmp_path):
    budget = float(case.fast.plan_.stage_costs[1])
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=Options(cost=True, budget=budget))
    same(answers(tmp_path / "out"), whole(case, budget=budget))


def test_rows_sorted_by_score_are_decided_from_few_columns(case, tmp_path):
    costs = case.fast.predict(case.rows, return_cost=True)[1]
    easy = np.tile(case.rows[costs <= case.fast.plan_.stage_costs[0]], (4, 1))
    assert len(easy) > 500
    save(tmp_path / "easy.parquet", easy, case.names, 100)
    report = run(case.fast, [str(tmp_path / "easy.parquet")], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case, easy))
    first = len(case.fast.compiled_plan_.columns_by_stage()[0]) / 40
    assert first < 0.5
    assert report.bytes_decoded < 1.5 * first * report.bytes_there


def test_row_groups_with_hard_rows_are_read_about_once(case, tmp_path):
    save(tmp_path / "rows.parquet", case.rows, case.names, 100)
    report = run(case.fast, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case))
    assert report.bytes_decoded < 1.1 * report.bytes_there


def test_columns_that_no_term_reads_are_not_decoded(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 20))
    y = X[:, 3] + X[:, 7] > 0
    model = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, num_leaves=4, verbose=-1).fit(X[:3000], y[:3000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.01, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[3000:])
    save(tmp_path / "rows.parquet", X, [f"c{i}" for i in range(20)])
    report = run(fast, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), fast.predict(X, return_cost=True))
    by_stage = fast.compiled_plan_.columns_by_stage()
    assert set(by_stage[-1]) == set(np.flatnonzero(model.booster_.feature_importance()))
    assert report.bytes_decoded < 1.1 * report.bytes_there * len(by_stage[-1]) / 20


@pytest.mark.parametrize("risk", [0, 0.05])
@pytest.mark.parametrize("make", [lambda: SVC(), lambda: make_pipeline(PolynomialFeatures(2), LogisticRegression())])
def test_models_that_read_rows_whole(case, folder, tmp_path, make, risk):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 40))
    model = make().fit(X[:300], X[:300, 0] > 0)
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=risk, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[300:])
    run(fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), fast.predict(case.rows, return_cost=True))


def test_lossless_plans(case, folder, tmp_path):
    linear = case.fast.estimator_
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(linear), risk=0, planner=wald.Planner(cost="units"), random_state=0
    ).fit(case.rows)
    run(fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    assert np.array_equal(answers(tmp_path / "out")[0], linear.predict(case.rows))
    same(answers(tmp_path / "out"), fast.predict(case.rows, return_cost=True))


def test_integers_nulls_and_booleans(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(3000, 3)).astype(float)
    X[:, 2] = X[:, 2] > 4
    y = X.sum(axis=1) > 8
    X[rng.random(X.shape) < 0.1] = np.nan
    model = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(X, y)
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    columns = [pyarrow.array(X[:, c], mask=np.isnan(X[:, c])) for c in range(3)]
    kinds = [pyarrow.int16(), pyarrow.uint8(), pyarrow.bool_()]
    rows = pyarrow.table([c.cast(k) for c, k in zip(columns, kinds, strict=True)], names=list("abc"))
    write_table(rows, tmp_path / "rows.parquet")
    run(fast, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), fast.predict(X, return_cost=True))


@pytest.mark.parametrize("to", ["parquet", "csv", "arrow"])
def test_formats_of_parts(case, folder, tmp_path, to):
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=Options(to=to))
    parts = sorted((tmp_path / "out").glob(f"part-*.{to}"))
    assert len(parts) == 6
    read = {"parquet": read_table, "csv": pyarrow.csv.read_csv, "arrow": lambda p: pyarrow.ipc.open_file(p).read_all()}
    labels = np.concatenate([read[to](path)["label"].to_numpy() for path in parts])
    assert np.array_equal(labels, whole(case)[0])


def test_arrow_files(case, tmp_path):
    rows = table(case.rows, case.names)
    with pyarrow.ipc.new_file(str(tmp_path / "rows.arrow"), rows.schema) as file:
        file.write_table(rows, max_chunksize=700)
    run(case.fast, [str(tmp_path / "rows.arrow")], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case))


def test_kept_columns_are_beside_the_labels(case, tmp_path):
    rows = table(case.rows, case.names)
    keys = [f"k{i}" for i in range(len(case.rows))]
    rows = rows.append_column("key", pyarrow.array(keys)).append_column("label", pyarrow.array(keys))
    write_table(rows, tmp_path / "rows.parquet", row_group_size=900)
    how = Options(cost=True, keep=("key", "label"))
    run(case.fast, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=how)
    part = read_table(next((tmp_path / "out").glob("part-*")))
    assert part.column_names == ["key", "input_label", "label", "cost"]
    assert part["key"].to_pylist() == part["input_label"].to_pylist() == keys
    same(answers(tmp_path / "out"), whole(case))


def test_big_files_become_several_parts(case, tmp_path, monkeypatch):
    monkeypatch.setattr("wald.jobs.parts.PART_ROWS", 1000)
    save(tmp_path / "rows.parquet", case.rows, case.names, 300)
    report = run(case.fast, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=WITH_COST)
    assert report.n_parts == 5
    same(answers(tmp_path / "out"), whole(case))


def test_a_file_without_rows_gives_a_part_without_rows(case, folder, tmp_path):
    save(folder / "f3a.parquet", case.rows[:0], case.names)
    run(case.fast, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case))
    assert read_table(sorted((tmp_path / "out").glob("part-*"))[4]).num_rows == 0


def test_urls(case, folder, tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    run(case.fast, [f"file://{folder}/f*.parquet"], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case))


def test_blocks_of_a_large_row_group(case, tmp_path, monkeypatch):
    monkeypatch.setattr("wald.jobs.scan.AT_ONCE", 1)
    save(tmp_path / "rows.parquet", case.rows, case.names, 6000)
    run(case.fast, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case))


def test_open_rows_that_are_too_many_to_be_held(case, tmp_path, monkeypatch):
    save(tmp_path / "rows.parquet", case.rows, case.names, 1000)
    for most in (0, 2000, 20_000):
        monkeypatch.setattr("wald.jobs.groups.MOST_OPEN", most)
        run(case.fast, [str(tmp_path / "rows.parquet")], tmp_path / f"out{most}", model="m", options=WITH_COST)
        same(answers(tmp_path / f"out{most}"), whole(case))


def test_a_watched_model_counts_all_rows_and_audits_some(case, folder, tmp_path):
    watched = case.fast.watched(0.5)
    run(watched, [str(folder)], tmp_path / "out", model="m", options=WITH_COST)
    same(answers(tmp_path / "out"), whole(case))
    assert watched.monitor_.n_rows == len(case.rows)
    assert 0.4 < watched.monitor_.n_audits / len(case.rows) < 0.6


def test_unknown_format_of_parts():
    with pytest.raises(JobError, match="--to must be one of parquet, csv, arrow"):
        Options(to="xml")
