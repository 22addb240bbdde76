"""``wald predict`` of many files into a folder."""

from __future__ import annotations

import numpy as np
import pytest
from commands.running import done, refusal, said

import wald

pytest.importorskip("pyarrow")
from pyarrow.parquet import read_table, write_table


@pytest.fixture
def data(files, digits, tmp_path):
    import pyarrow

    folder = tmp_path / "data"
    folder.mkdir()
    for i, rows in enumerate(np.array_split(digits.X_test, 3)):
        write_table(pyarrow.table({f"pixel{c}": rows[:, c] for c in range(64)}), folder / f"f{i}.parquet")
    return folder


def labels(out):
    return np.concatenate([read_table(path)["label"].to_numpy() for path in sorted(out.glob("part-*"))])


def test_the_labels_are_those_of_one_file(files, data, tmp_path):
    one = said("predict", files / "svc.wald", files / "test.npy", "-o", tmp_path / "one.npy")
    for i, given in enumerate([[data], [data / "*.parquet"], sorted(data.iterdir())]):
        many = said("predict", files / "svc.wald", *given, "-o", f"{tmp_path}/out{i}/")
        assert np.array_equal(labels(tmp_path / f"out{i}"), np.load(tmp_path / "one.npy"))
        assert {name: many[name] for name in ("n_rows", "labels")} == {n: one[n] for n in ("n_rows", "labels")}
        assert many["parts"] == 3
    again = done("predict", files / "svc.wald", data, "-o", f"{tmp_path}/out0/")
    assert "3 of them done before" in again.stderr


def test_a_watched_model_says_what_its_monitor_saw(files, digits, data, tmp_path):
    wald.save(wald.load(files / "svc.wald").watched(0.5), tmp_path / "watched.wald")
    model = tmp_path / "watched.wald"
    for told in (
        said("predict", model, data, "-o", f"{tmp_path}/out/"),
        said("predict", model, files / "test.npy", "-o", tmp_path / "one.npy"),
    ):
        assert told["monitor"]["rows"] == told["n_rows"] == len(digits.X_test)
        assert told["monitor"]["audits"] > 0
    assert "Monitor: holding" in done("predict", model, data, "-o", f"{tmp_path}/out2/").stderr


def test_csv_and_npy_files(files, digits, tmp_path):
    np.save(tmp_path / "b.npy", digits.X_test[:100])
    np.savetxt(
        tmp_path / "a.csv", digits.X_test[100:], delimiter=",", header=",".join(map(str, range(64))), comments=""
    )
    words = (tmp_path / "b.npy", tmp_path / "a.csv", "--header", "-o", tmp_path / "out/", "--to", "parquet")
    done("predict", files / "svc.wald", *words)
    done("predict", files / "svc.wald", files / "test.npy", "-o", tmp_path / "one.npy")
    assert np.array_equal(labels(tmp_path / "out"), np.load(tmp_path / "one.npy"))


def test_a_bad_file_among_others_is_named(files, digits, tmp_path):
    np.save(tmp_path / "a.npy", digits.X_test[:100])
    np.save(tmp_path / "b.npy", digits.X_test[:100, 1:])
    message = refusal("predict", files / "svc.wald", tmp_path / "a.npy", tmp_path / "b.npy", "-o", tmp_path / "out")
    assert "b.npy has 63 columns" in message
    assert len(list((tmp_path / "out").glob("part-*"))) == 1


def test_refusals(files, data, tmp_path):
    model = files / "svc.wald"
    assert "name one, as out/" in refusal("predict", model, data, "-o", tmp_path / "out.parquet")
    assert "name one, as out/" in refusal("predict", model, data, data, "-o", "-")
    assert "--format is for a single file" in refusal("predict", model, data, "-o", f"{tmp_path}/o/", "--format", "csv")
    assert "--skip-bad is for a job" in refusal("predict", model, data / "f0.parquet", "-o", "x.csv", "--skip-bad")
    assert "--to must be" in refusal("predict", model, data, "-o", f"{tmp_path}/o/", "--to", "xml")
    assert "--to is for a folder" in refusal(
        "predict", model, data / "f0.parquet", "-o", tmp_path / "x.csv", "--to", "csv"
    )
    done("predict", model, data, "-o", f"{tmp_path}/out/")
    assert "another options" in refusal("predict", model, data, "-o", f"{tmp_path}/out/", "--cost")
    done("predict", model, data, "-o", f"{tmp_path}/out/", "--cost", "--force")
