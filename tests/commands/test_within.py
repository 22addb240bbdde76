"""Probabilities, and values in a unit of their own, within a tolerance on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands.running import done, refusal, said
from persistence.valued import X, made

import wald

polars = pytest.importorskip("polars")
lightgbm = pytest.importorskip("lightgbm")


def test_probabilities_within_a_tolerance(tmp_path: Path) -> None:
    model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(X[:300], X[:300, 0] > 0)
    model.booster_.save_model(tmp_path / "model.txt")
    np.save(tmp_path / "rows.npy", X[300:])
    asked = ("fit", tmp_path / "model.txt", tmp_path / "rows.npy", "--cost", "units", "--risk")
    out = tmp_path / "near.wald"
    assert "probability off by more than 0.2 <= 20 %" in done(*asked, 0.2, "--tolerance", 0.2, "-o", out).stdout
    near = wald.load(out)
    own = near.predict_proba(X[300:])
    for name, options in (("near.parquet", ()), ("proba.parquet", ("--proba",))):
        done("predict", out, tmp_path / "rows.npy", "-o", tmp_path / name, "--cost", *options)
        found = polars.read_parquet(tmp_path / name)
        assert found.columns == ["proba_0", "proba_1", "cost"]
        np.testing.assert_array_equal(found["proba_1"].to_numpy(), own[:, 1])
    assert said("inspect", out)["model"]["answers"] == "probabilities of 2 classes"
    assert len(json.loads(done("explain", out, "[1, 2, 3, 4, 5]", "--json").stdout)["probability"]) == 2
    for words, message in (
        ((0.1, "--tolerance", "0.7"), "half of the range of probabilities"),
        ((0.1, "--tolerance", "0.1,b"), "--tolerance must be numbers with commas"),
        ((0.1, "--tolerance", "0.1", "--relative"), "--relative asks for what a classifier has not"),
        ((0.0, "--tolerance", "0.1"), "needs a risk above 0"),
    ):
        assert message in refusal(*asked, *words, "-o", tmp_path / "no.wald")


@pytest.mark.slow
def test_bench_counts_what_is_promised(tmp_path: Path) -> None:
    model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(X[:300], X[:300, 0] > 0)
    model.booster_.save_model(tmp_path / "model.txt")
    np.save(tmp_path / "rows.npy", X[300:])
    out = tmp_path / "near.wald"
    done("fit", tmp_path / "model.txt", tmp_path / "rows.npy", "--risk", 0.2, "--tolerance", 0.1, "-o", out)
    off = np.abs(wald.load(out).predict_proba(X[300:]) - model.predict_proba(X[300:])).max(axis=1) > 0.1
    timed = ("bench", out, tmp_path / "rows.npy", "--model", tmp_path / "model.txt", "--repeats", 7)
    assert said(*timed)["n_different"] == np.count_nonzero(off)


def test_a_tolerance_in_the_unit_of_the_values(tmp_path: Path) -> None:
    model = made("lightgbm")[1]
    model.booster_.save_model(tmp_path / "model.txt")
    np.save(tmp_path / "rows.npy", X[300:])
    asked = ("fit", tmp_path / "model.txt", tmp_path / "rows.npy", "--cost", "units", "--risk", 0.2)
    out = tmp_path / "near.wald"
    done(*asked, "--tolerance", 0.5, "--relative-to", "std", "-o", out)
    near = wald.load(out)
    assert (near.tolerance, near.relative) == (0.5, "std")
    assert near.tolerance_ == pytest.approx(0.5 * model.predict(X[300:]).std(), rel=0.3)
    out = tmp_path / "no.wald"
    both = refusal(*asked, "--tolerance", 0.5, "--relative-to", "std", "--relative", "-o", out)
    assert "give one of them" in both
    assert "relative must be" in refusal(*asked, "--tolerance", 0.5, "--relative-to", "mean", "-o", out)
