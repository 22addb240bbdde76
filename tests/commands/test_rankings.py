"""Rankings on the command line: certified on groups, and answered by groups as `EarlyExitRanker.predict` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from ranking.lists import K, fast, lists, ranker

import wald

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
NAMES = [f"Column_{c}" for c in range(8)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LightGBM's own file of the ranker."""
    path = tmp_path_factory.mktemp("rankings") / "model.txt"
    ranker().booster_.save_model(path)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rankings") / "ranker.wald"
    wald.save(fast(), path)
    return path


def table(n_groups: int, seed: int, **columns: Any) -> Any:
    X, _, groups = lists(n_groups, seed=seed)
    frame = pandas.DataFrame(X.astype(float), columns=NAMES).assign(query=[f"query {g}" for g in groups])
    return frame.assign(**columns)


def shuffled(n_groups: int = 20, seed: int = 2) -> Any:
    """Rows of groups that lie apart."""
    frame = table(n_groups, seed)
    return frame.assign(id=np.arange(len(frame))).sample(frac=1, random_state=0)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_values_are_those_of_python(file: Path, suffix: str, tmp_path: Path) -> None:
    frame = shuffled()
    data, out = tmp_path / f"rows{suffix}", tmp_path / "out.parquet"
    frame.to_csv(data, index=False) if suffix == ".csv" else frame.to_parquet(data, index=False)
    facts = said("predict", file, data, "-o", out, "--groups", "query", "--keep", "id", "--keep", "query", "--cost")
    found = polars.read_parquet(out)
    answers = fast().predict(frame[NAMES].to_numpy(), groups=frame["query"], details=True)
    assert found.columns == ["id", "query", "value", "cost"]
    np.testing.assert_array_equal(found["value"].to_numpy(), answers.labels)
    np.testing.assert_array_equal(found["cost"].to_numpy(), answers.costs)
    assert found["id"].to_list() == [*map(str, frame["id"])] or found["id"].to_list() == frame["id"].tolist()
    assert facts["mean_cost"] == pytest.approx(answers.costs.mean())
    assert facts["mean_cost"] < 40


def test_npy_and_svmlight(file: Path, tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    X, _, groups = lists(20, seed=3)
    expected = fast().predict(X.astype(float), groups=groups)
    np.save(tmp_path / "rows.npy", np.column_stack([X, groups]))
    done("predict", file, tmp_path / "rows.npy", "-o", tmp_path / "out.npy", "--groups", "8")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    dump_svmlight_file(X.astype(float), groups, str(tmp_path / "rows.svm"), query_id=groups, zero_based=True)
    done("predict", file, tmp_path / "rows.svm", "-o", tmp_path / "out2.npy", "--groups", "qid")
    np.testing.assert_array_equal(np.load(tmp_path / "out2.npy"), expected)
    assert "groups are called qid. Got 'query'" in refusal(
        "predict", file, tmp_path / "rows.svm", "-o", tmp_path / "no.npy", "--groups", "query"
    )
    dump_svmlight_file(X.astype(float), groups, str(tmp_path / "bare.svm"), zero_based=True)
    assert "0 of its 800 rows have a qid" in refusal(
        "predict", file, tmp_path / "bare.svm", "-o", tmp_path / "no.npy", "--groups", "qid"
    )


def test_without_groups_rows_are_evaluated_in_full(file: Path, tmp_path: Path) -> None:
    frame = table(4, 4)
    frame[NAMES].to_parquet(tmp_path / "rows.parquet", index=False)
    result = done("predict", file, tmp_path / "rows.parquet", "-o", tmp_path / "out.npy")
    assert "Without --groups COLUMN" in result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), ranker().predict(frame[NAMES].to_numpy()))


def test_fit_certifies_on_groups_and_inspect_shows_it(model: Path, tmp_path: Path) -> None:
    frame, out = table(200, 1), tmp_path / "out.wald"
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "rows.parquet", index=False)
    facts = said(
        "fit", model, tmp_path / "rows.parquet", "-o", out, "--k", K, "--risk", 0.05, "--groups", "query", "--seed", 3
    )
    again = wald.load(out)
    assert (again.k, again.risk, again.certificate_.n_groups) == (K, 0.05, 100)
    assert facts["ranking"]["certificate"]["sentence"] == str(again.certificate_)
    shown = said("inspect", out)["ranking"]
    assert shown == facts["ranking"]
    assert [look["trees"] for look in shown["plan"]["looks"]] == again.ranking_plan_.stage_costs.tolist()
    words = done("inspect", out).stdout
    assert str(again.certificate_) in " ".join(words.split())
    assert "without groups, every row is evaluated in full" in words
    assert "leaves below the k-th best by" in words


def test_groups_that_cannot_back_the_promise(model: Path, tmp_path: Path) -> None:
    table(12, 1).to_csv(tmp_path / "rows.csv", index=False)
    result = done(
        "fit", model, tmp_path / "rows.csv", "-o", tmp_path / "out.wald", "--risk", 0.05, "--groups", "query", code=1
    )
    assert "12 groups are too few to certify risk=0.05" in result.stdout
    assert wald.load(tmp_path / "out.wald").ranking_plan_ is None
    assert "12 groups are too few" in done("inspect", tmp_path / "out.wald").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k", 5), "--k is about rows that leave early, and without a --risk"),
        (("--groups", "query"), "--groups is about rows that leave early, and without a --risk"),
        (("--risk", 0.05), "--risk 0.05 of a ranker is certified on groups of rows: name DATA"),
        (("--risk", "a=0.05", "--groups", "query"), "--risk of a ranker is one number"),
        (("--risk", 0.05, "--groups", "session"), "has no column 'session'"),
        (("--risk", 0.05, "--groups", "query", "--tolerance", 1), "--tolerance asks for what a ranker has not"),
    ],
)
def test_bad_input_of_fit(model: Path, tmp_path: Path, words: Any, message: str) -> None:
    table(2, 1).to_csv(tmp_path / "rows.csv", index=False)
    assert message in refusal("fit", model, tmp_path / "rows.csv", "-o", tmp_path / "out.wald", *words)
    assert not (tmp_path / "out.wald").exists()


def test_k_is_for_rankers(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = lists(5)
    lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(X, y).booster_.save_model(tmp_path / "model.txt")
    out = tmp_path / "out.wald"
    assert "--k asks for what a regressor has not" in refusal("fit", tmp_path / "model.txt", "-o", out, "--k", 3)
    done("fit", tmp_path / "model.txt", "-o", out)
    table(2, 1).to_csv(tmp_path / "rows.csv", index=False)
    words = refusal("predict", out, tmp_path / "rows.csv", "-o", tmp_path / "out.csv", "--groups", "query")
    assert "--groups query: groups are for rankings" in words
    assert "EarlyExitRegressor" in words


def test_a_budget_is_that_of_groups(file: Path, tmp_path: Path) -> None:
    frame, out = table(10, 5), tmp_path / "out.parquet"
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    (tmp_path / "in").mkdir()
    frame.to_parquet(tmp_path / "in" / "rows.parquet", index=False)
    expected = fast().predict(frame[NAMES].to_numpy(), groups=frame["query"], budget=9)
    assert (expected != fast().predict(frame[NAMES].to_numpy(), groups=frame["query"])).any()
    by = ("--groups", "query", "--budget")
    done("predict", file, tmp_path / "rows.parquet", "-o", out, *by, 9)
    np.testing.assert_array_equal(polars.read_parquet(out)["value"].to_numpy(), expected)
    done("predict", file, tmp_path / "in", "-o", f"{tmp_path}/out/", *by, 9)
    np.testing.assert_array_equal(polars.read_parquet(tmp_path / "out" / "*.parquet")["value"].to_numpy(), expected)
    assert "budget" in refusal("predict", file, tmp_path / "rows.parquet", "-o", out, *by, 1)


def test_bad_input_of_predict(file: Path, tmp_path: Path) -> None:
    frame, out = table(2, 1), tmp_path / "out.csv"
    frame.loc[7, "query"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    for data in ("rows.csv", "rows.parquet"):
        words = refusal("predict", file, tmp_path / data, "-o", out, "--groups", "query")
        assert "row 7 (from 0): --groups names no group there" in words
    holes = np.column_stack([lists(1)[0], np.zeros(40)])
    holes[9, 8] = np.nan
    np.save(tmp_path / "rows.npy", holes)
    assert "row 9 (from 0)" in refusal("predict", file, tmp_path / "rows.npy", "-o", out, "--groups", "8")
    assert "has no column 'qid'" in refusal("predict", file, tmp_path / "rows.csv", "-o", out, "--groups", "qid")
    assert not out.exists()


def test_a_job_completes_groups_across_files(file: Path, tmp_path: Path) -> None:
    frame = table(20, 2)
    (tmp_path / "in").mkdir()
    for i, (start, end) in enumerate([(0, 130), (130, 410), (410, 800)]):
        frame[start:end].to_parquet(tmp_path / "in" / f"{i}.parquet", index=False)
    facts = said("predict", file, tmp_path / "in", "-o", f"{tmp_path}/out/", "--groups", "query", "--keep", "query")
    found = polars.read_parquet(tmp_path / "out" / "part-*.parquet")
    answers = fast().predict(frame[NAMES].to_numpy(), groups=frame["query"], details=True)
    np.testing.assert_array_equal(found["value"].to_numpy(), answers.labels)
    assert found["query"].to_list() == frame["query"].tolist()
    assert facts["mean_cost"] == pytest.approx(answers.costs.mean())
    frame[410:420].to_parquet(tmp_path / "in" / "3.parquet", index=False)
    words = refusal("predict", file, tmp_path / "in", "-o", f"{tmp_path}/other/", "--groups", "query")
    assert "the group 'query 10' lie apart" in words


@pytest.mark.slow
def test_bench_ranks_groups(file: Path, model: Path, tmp_path: Path) -> None:
    frame = shuffled(12)
    frame.drop(columns="id").to_parquet(tmp_path / "rows.parquet", index=False)
    given = ("bench", file, tmp_path / "rows.parquet", "--model", model, "--groups", "query")
    facts = said(*given, "--repeats", 7)
    answers = fast().predict(frame[NAMES].to_numpy(), groups=frame["query"], details=True)
    assert (facts["n_rows"], facts["n_groups"], facts["k"], facts["broken"]) == (480, 12, K, None)
    assert facts["mean_cost"] == pytest.approx(answers.costs.mean())
    assert 0 <= facts["missing"] < 0.2
    assert [case["rows"] for case in facts["cases"]] == ["one group", "all"]
    assert all(case["wald_seconds"] > 0 for case in facts["cases"])
    words = " ".join(done(*given, "--repeats", 7).stdout.split())
    assert "rows of 12 groups" in words
    assert str(fast().certificate_) in words


def test_reports_and_explanations(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    frame = shuffled()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    about = ("--groups", "query", "--drop", "id")
    done("report", file, tmp_path / "rows.csv", "-o", tmp_path / "page.html", "--no-timing", *about)
    assert "Groups that miss" in (tmp_path / "page.html").read_text("utf-8")
    assert "needs groups" in refusal(
        "report", file, tmp_path / "rows.csv", "-o", tmp_path / "no.html", "--drop", "id", "--drop", "query"
    )
    own = frame[frame["query"] == frame["query"].iloc[7]]
    place = int(np.flatnonzero(own.index == frame.index[7])[0])
    expected = fast().explain(own[NAMES].to_numpy(), place).as_dict()
    assert said("explain", file, "7", tmp_path / "rows.csv", *about) == expected
    own[NAMES].to_csv(tmp_path / "one.csv", index=False)
    assert said("explain", file, str(place), tmp_path / "one.csv") == expected
    assert "has 40 rows, whose numbers begin with 0" in refusal("explain", file, "40", tmp_path / "one.csv")
    assert "holds a ranker" in refusal("explain", file, "[1, 2]")
