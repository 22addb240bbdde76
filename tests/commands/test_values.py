"""Regressors, rankers and outlier detectors on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from persistence.valued import X, Y, made
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest

import wald

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
NAMES = list("abcde")


def saved(name: str, folder: Path) -> tuple[Path, Any, Any]:
    fast, model, rows = made(name)
    path = folder / "model.wald"
    wald.save(fast, path)
    return path, model, rows


def written(rows: Any, path: Path) -> Path:
    """Rows in a file, with all their digits."""
    frame = rows if hasattr(rows, "columns") else pandas.DataFrame(rows, columns=NAMES)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.fixture(scope="module")
def odd_rows() -> Any:
    """Numbers with all their digits, and missing ones."""
    rows = np.random.default_rng(3).normal(size=(60, 5))
    rows[::7, 1] = np.nan
    return rows


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("name", ["hist", "xgboost", "xgboost several"])
def test_values_of_files_are_the_models_own(name: str, suffix: str, tmp_path: Path, odd_rows: Any) -> None:
    path, model, _ = saved(name, tmp_path)
    data, out = written(odd_rows, tmp_path / f"rows{suffix}"), tmp_path / "out.parquet"
    done("predict", path, data, "-o", out)
    found, own = polars.read_parquet(out), model.predict(odd_rows)
    names = ["value"] if own.ndim == 1 else ["value_0", "value_1"]
    assert found.columns == names
    assert set(found.dtypes) == {polars.Float32 if own.dtype == np.float32 else polars.Float64}
    np.testing.assert_array_equal(found.to_numpy().reshape(own.shape), own)


def test_texts_hold_every_digit(tmp_path: Path, odd_rows: Any) -> None:
    for name in ("hist poisson", "xgboost"):
        path, model, _ = saved(name, tmp_path)
        data = written(odd_rows, tmp_path / "rows.csv")
        lines = done("predict", path, data, "-o", "-").stdout.splitlines()
        own = model.predict(odd_rows)
        assert lines[0] == "value"
        np.testing.assert_array_equal(np.array(lines[1:]).astype(own.dtype), own)


def test_columns_in_any_order_and_kept_ones(tmp_path: Path) -> None:
    path, model, frame = saved("columns of trees", tmp_path)
    shuffled = frame[frame.columns[::-1]].assign(value=range(len(frame)))
    data = written(shuffled, tmp_path / "rows.parquet")
    facts = said("predict", path, data, "-o", tmp_path / "out.parquet", "--keep", "value", "--cost")
    assert (facts["labels"], facts["mean_cost"]) == ({}, facts["full_cost"])
    found = polars.read_parquet(tmp_path / "out.parquet")
    assert found.columns == ["input_value", "value", "cost"]
    np.testing.assert_array_equal(found["value"].to_numpy(), model.predict(frame))


@pytest.mark.parametrize("name", ["lightgbm poisson", "lightgbm ranker", "xgboost gamma", "xgboost ranker"])
def test_a_librarys_file(name: str, tmp_path: Path, odd_rows: Any) -> None:
    model = made(name)[1]
    path = tmp_path / ("model.txt" if name.startswith("lightgbm") else "model.json")
    (model.booster_ if name.startswith("lightgbm") else model).save_model(path)
    np.save(tmp_path / "rows.npy", odd_rows)
    done("predict", path, tmp_path / "rows.npy", "-o", tmp_path / "out.npy")
    found, own = np.load(tmp_path / "out.npy"), model.predict(odd_rows)
    assert found.dtype == own.dtype
    np.testing.assert_array_equal(found, own)
    shown = said("inspect", path)
    assert shown["model"]["kind"] == ("ranker" if "ranker" in name else "regressor")


def test_library_files_are_timed_in_their_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.utils.alternating.SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr("wald.commands.bench.SINGLE", 3)
    for name, file in (("lightgbm", "model.txt"), ("xgboost", "model.json")):
        model = made(name)[1]
        (model.booster_ if name == "lightgbm" else model).save_model(tmp_path / file)
        np.save(tmp_path / "rows.npy", X[:150])
        facts = said("bench", tmp_path / file, tmp_path / "rows.npy", "--repeats", 7)
        assert (facts["model"].lower(), facts["n_different"], facts["answer"]) == (name, 0, "value")


def test_inspect(tmp_path: Path) -> None:
    path, _, _ = saved("forest of several", tmp_path)
    shown = done("inspect", path).stdout
    assert "2 values a row, 5 features, 12 trees; every row is evaluated in full" in " ".join(shown.split())
    facts = said("inspect", path)["model"]
    assert (facts["kind"], facts["n_values"], facts["classes"]) == ("regressor", 2, [])
    path, _, _ = saved("isolation forest", tmp_path)
    assert said("inspect", path)["model"]["kind"] == "outlier detector"


def test_what_values_have_none_of(tmp_path: Path) -> None:
    path, _, rows = saved("hist", tmp_path)
    data = written(rows[:9], tmp_path / "rows.csv")
    assert "8 trees" in done("explain", path, "[1, 2, 3, 4, 5]").stdout
    assert "is no classifier, and has no probabilities" in refusal("predict", path, data, "-o", "-", "--proba")
    ranker = saved("lightgbm ranker", tmp_path)[0]
    assert "holds a ranker, whos" in refusal("explain", ranker, "[1, 2, 3, 4, 5]")
    assert "--budget: budget must be at least" in refusal("predict", path, data, "-o", "-", "--budget", 1)


# ---- fit -------------------------------------------------------------------------------------------------------------


def test_fit_of_a_regressor_needs_no_rows(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    model = HistGradientBoostingRegressor(max_iter=4).fit(X, Y)
    skops.dump(model, tmp_path / "model.skops")
    trusted = [
        word for name in skops.get_untrusted_types(file=tmp_path / "model.skops") for word in ("--trust-type", name)
    ]
    np.save(tmp_path / "rows.npy", X)
    for data in ([], [tmp_path / "rows.npy"]):
        out = tmp_path / f"fitted{len(data)}.wald"
        facts = said("fit", tmp_path / "model.skops", *data, "-o", out, *trusted)
        assert facts["certificate"]["status"] == "full"
        np.testing.assert_array_equal(wald.load(out).predict(X), model.predict(X))
    words = refusal("fit", tmp_path / "model.skops", "-o", tmp_path / "no.wald", "--risk", 0.01, *trusted)
    assert "--risk" in words


def test_fit_of_a_library_s_ranker(tmp_path: Path) -> None:
    model = made("lightgbm ranker")[1]
    model.booster_.save_model(tmp_path / "model.txt")
    done("fit", tmp_path / "model.txt", "-o", tmp_path / "ranker.wald")
    fast = wald.load(tmp_path / "ranker.wald")
    assert isinstance(fast, wald.EarlyExitRanker)
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_fit_of_an_outlier_detector(tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    forest = IsolationForest(n_estimators=20, contamination=0.1, random_state=0).fit(X[:200])
    joblib.dump(forest, tmp_path / "forest.joblib")
    np.save(tmp_path / "rows.npy", X[200:])
    out, options = tmp_path / "forest.wald", ("--cost", "units", "--trust-pickle")
    facts = said("fit", tmp_path / "forest.joblib", tmp_path / "rows.npy", "-o", out, "--risk", "outlier=0.2", *options)
    fast = wald.load(out)
    assert isinstance(fast, wald.EarlyExitOutlierDetector)
    assert fast.risk == {"outlier": 0.2}
    assert facts["certificate"]["strata"][0]["risk"] == 0.2
    np.testing.assert_array_equal(fast.score_samples(X), forest.score_samples(X))
    words = refusal(
        "fit", tmp_path / "forest.joblib", tmp_path / "rows.npy", "-o", out, "--risk", "odd=0.2", "--force", *options
    )
    assert "--risk names odd" in words
    shown = said("predict", out, tmp_path / "rows.npy", "-o", tmp_path / "labels.csv")
    assert shown["labels"].keys() == {"-1", "1"}
    assert json.loads(done("explain", out, "[1, 2, 3, 4, 5]", "--json").stdout)["label"] in (-1, 1)


def test_fit_within_a_tolerance_and_into_bands(tmp_path: Path) -> None:
    model = made("lightgbm")[1]
    model.booster_.save_model(tmp_path / "model.txt")
    np.save(tmp_path / "rows.npy", X[300:])
    asked = ("fit", tmp_path / "model.txt", tmp_path / "rows.npy", "--cost", "units", "--risk")
    done(*asked, 0.2, "--tolerance", 0.2, "-o", tmp_path / "near.wald")
    near = wald.load(tmp_path / "near.wald")
    assert (near.tolerance, near.relative, near.bands) == (0.2, False, None)
    done("predict", tmp_path / "near.wald", tmp_path / "rows.npy", "-o", tmp_path / "near.parquet", "--cost")
    found = polars.read_parquet(tmp_path / "near.parquet")
    values, costs = near.predict(X[300:], return_cost=True)
    np.testing.assert_array_equal(found["value"].to_numpy(), values)
    np.testing.assert_array_equal(found["cost"].to_numpy(), costs)
    asking = ("--model", tmp_path / "model.txt", "--repeats", 7)
    timed = ("bench", tmp_path / "near.wald", tmp_path / "rows.npy", *asking)
    off = np.abs(values - made("lightgbm")[1].predict(X[300:]))
    assert said(*timed)["n_different"] == np.count_nonzero(off > 0.2) < np.count_nonzero(off)
    assert "Within the tolerance on" in done(*timed).stdout
    done(*asked, "all=0.2", "--risk", "2=0.5", "--bands", "0.8,1.2", "-o", tmp_path / "bands.wald")
    assert wald.load(tmp_path / "bands.wald").risk == {"all": 0.2, 2: 0.5}
    facts = said("predict", tmp_path / "bands.wald", tmp_path / "rows.npy", "-o", tmp_path / "bands.csv")
    assert facts["labels"].keys() == {"0", "1", "2"}
    assert (tmp_path / "bands.csv").read_text().startswith("band\n")
    falling = refusal(*asked, 0.1, "--bands", "0.5,0.2", "-o", tmp_path / "no.wald")
    assert "--bands 0.5,0.2: bands must rise, and holds 0.5 before 0.2" in falling
    assert "--bands must be numbers with commas" in refusal(*asked, 0.1, "--bands", "1;2", "-o", tmp_path / "no.wald")
    words = refusal(*asked, 0.1, "-o", tmp_path / "no.wald")
    assert "every row of a regressor is evaluated in full here, without --tolerance or --bands" in words


@pytest.mark.parametrize("word", ["True", "true", "TRUE"])
@pytest.mark.parametrize("header", [True, False])
def test_booleans_in_csv_are_numbers_to_models_of_numbers(tmp_path, word, header):
    flags = X[:, 0] > 0
    frame = pandas.DataFrame(X[:, :3], columns=list("abc")).assign(flag=flags)
    model = HistGradientBoostingRegressor(max_iter=3).fit(frame, Y)
    wald.save(wald.EarlyExitRegressor(model).fit(), tmp_path / "model.wald")
    words = {True: word, False: {"True": "False", "true": "false", "TRUE": "FALSE"}[word]}
    rows = frame[:50].assign(flag=[words[flag] for flag in flags[:50].tolist()])
    rows.to_csv(tmp_path / "rows.csv", index=False, header=header)
    done("predict", tmp_path / "model.wald", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    found = [float(line.split(",")[-1]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    np.testing.assert_array_equal(found, model.predict(frame[:50]))
