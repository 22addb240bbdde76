"""Columns by name on the command line, whoever knows the names; values that the model takes; jobs that end early."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
from commands.running import done, refusal, said

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("lightgbm")
import lightgbm
import pandas
from sklearn.frozen import FrozenEstimator

import wald

NAMES = ["a", "body mass", "c"]


@pytest.fixture(scope="module")
def frame():
    return pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=NAMES)


@pytest.fixture(scope="module")
def model(frame):
    y = frame["a"] + frame["body mass"] > 0
    return lightgbm.LGBMClassifier(n_estimators=4, min_child_samples=3, verbose=-1, n_jobs=1).fit(frame, y)


@pytest.fixture(scope="module", params=["model.txt", "m.wald"])
def file(request, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / request.param
    if request.param == "model.txt":
        model.booster_.save_model(path)
    else:
        wald.save(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), path)
    return path


def written(path):
    return pandas.read_csv(path)["label"].astype(int)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_of_the_library_find_columns(file, model, frame, tmp_path, suffix):
    other = frame[["c", "body mass", "a"]].assign(z=1)
    data = tmp_path / f"rows.{suffix}"
    other.to_csv(data, index=False) if suffix == "csv" else other.to_parquet(data)
    told = done("predict", file, data, "-o", tmp_path / "l.csv", "--keep", "c")
    assert "Left out 1 column that the model does not know: 'z'." in told.stderr
    own = model.predict(frame).astype(int)
    assert np.array_equal(written(tmp_path / "l.csv"), own)
    assert np.array_equal(pandas.read_csv(tmp_path / "l.csv")["c"], frame["c"])
    assert said("predict", file, data, "-o", tmp_path / "l2.csv")["left_out"] == ["z"]
    job = done("predict", file, data, "-o", f"{tmp_path}/out/", "--to", "csv", "--keep", "c")
    assert "'z' (1 file)" in job.stderr
    assert np.array_equal(written(next((tmp_path / "out").glob("part-*"))), own)
    frame.rename(columns={"c": "d"}).to_csv(tmp_path / "other.csv", index=False)
    assert "other.csv lacks the column 'c'" in refusal(
        "predict", file, tmp_path / "other.csv", "-o", tmp_path / "x.csv"
    )


def test_a_file_without_names_is_read_in_the_models_order_which_is_said(file, model, frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False, header=False)
    told = done("predict", file, tmp_path / "rows.csv", "-o", tmp_path / "l.csv")
    assert "has no column names: its columns are taken in the model's order" in told.stderr
    assert np.array_equal(written(tmp_path / "l.csv"), model.predict(frame).astype(int))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_infinity_is_the_models_to_take(file, model, frame, tmp_path, suffix):
    rows = frame.copy()
    rows.iloc[0] = np.inf
    rows.iloc[1] = -np.inf
    data = tmp_path / f"rows.{suffix}"
    {"csv": lambda p: rows.to_csv(p, index=False), "parquet": rows.to_parquet, "npy": lambda p: np.save(p, rows)}[
        suffix
    ](data)
    own = model.predict(rows).astype(int)
    done("predict", file, data, "-o", tmp_path / "one.csv")
    done("predict", file, data, "-o", f"{tmp_path}/out/", "--to", "csv")
    assert np.array_equal(written(tmp_path / "one.csv"), own)
    assert np.array_equal(written(next((tmp_path / "out").glob("part-*"))), own)


def test_a_job_writes_probabilities(file, model, frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    data = (tmp_path / "rows.parquet", tmp_path / "rows.csv")
    done("predict", file, *data, "-o", f"{tmp_path}/out/", "--to", "csv", "--proba")
    for path in sorted((tmp_path / "out").glob("part-*")):
        own = pandas.read_csv(path)[[column for column in pandas.read_csv(path) if column.startswith("proba_")]]
        np.testing.assert_allclose(own, model.predict_proba(frame), rtol=1e-12)


def test_bad_files_are_skipped_with_exit_code_3(file, model, frame, tmp_path):
    (tmp_path / "in").mkdir()
    for i in range(3):
        frame.to_csv(tmp_path / "in" / f"{i}.csv", index=False)
    (tmp_path / "in" / "1.csv").write_text("a,body mass,c\n1,x,2\n")
    told = done("predict", file, tmp_path / "in", "-o", f"{tmp_path}/out/", "--skip-bad", code=3)
    assert "Skipped 1 of 3 parts" in told.stderr
    assert "1.csv, line 2, column 2" in told.stderr
    assert len(list((tmp_path / "out").glob("part-*"))) == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_job_that_is_ended_says_what_is_done(model, frame, tmp_path, number):
    model.booster_.save_model(tmp_path / "model.txt")
    (tmp_path / "in").mkdir()
    pandas.concat([frame] * 500).to_parquet(tmp_path / "in" / "0.parquet")
    for i in range(1, 80):
        (tmp_path / "in" / f"{i}.parquet").hardlink_to(tmp_path / "in" / "0.parquet")
    words = ["predict", tmp_path / "model.txt", tmp_path / "in", "-o", f"{tmp_path}/out/"]
    command = [sys.executable, "-m", "wald", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as job:
        while len(list(tmp_path.glob("out/part-*"))) < 3 and job.poll() is None:
            pass
        job.send_signal(number)
        last = job.communicate()[1].splitlines()[-1]
    assert job.returncode == 128 + number
    assert "of 80 parts are whole in" in last
    assert last.endswith("the same command goes on from there.")
    assert 0 < said(*words)["parts_before"] < 80
