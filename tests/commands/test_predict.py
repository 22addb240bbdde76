"""``wald predict`` gives the labels of Python's ``predict`` in every format, and reads the rows in parts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import wald
from wald.commands.rows import delimited
from wald.commands.rows import parquet as parquet_rows


def expected(files: Path, name: str = "svc", **words: Any) -> Any:
    return wald.load(files / f"{name}.wald").predict(np.load(files / "test.npy"), **words)


def table(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


@pytest.mark.parametrize("data", ["test.npy", "test.svm"])
@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv"])
def test_labels(files: Path, tmp_path: Path, data: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.commands.rows.arrays.AT_ONCE", 64 * 50)
    monkeypatch.setattr("wald.commands.rows.svmlight.AT_ONCE", 64 * 20)
    polars = pytest.importorskip("polars") if suffix == ".parquet" else None
    path = tmp_path / f"labels{suffix}"
    done("predict", files / "svc.wald", files / data, "-o", path)
    labels = expected(files)
    if suffix == ".npy":
        np.testing.assert_array_equal(np.load(path), labels)
    elif suffix == ".csv":
        assert table(path.read_text()) == [["label"], *([str(label)] for label in labels)]
    else:
        assert polars is not None
        np.testing.assert_array_equal(polars.read_parquet(path)["label"].to_numpy(), labels)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv"])
def test_costs_and_words(files: Path, tmp_path: Path, suffix: str) -> None:
    polars = pytest.importorskip("polars") if suffix == ".parquet" else None
    path = tmp_path / f"labels{suffix}"
    done("predict", files / "words.wald", files / "test.npy", "-o", path, "--cost", "--budget", 40)
    labels, costs = expected(files, "words", budget=40, return_cost=True)
    if suffix == ".npy":
        read = np.load(path, allow_pickle=False)
        seen = read["label"].tolist(), read["cost"].tolist()
    elif suffix == ".csv":
        rows = table(path.read_text())
        assert rows[0] == ["label", "cost"]
        seen = [row[0] for row in rows[1:]], [float(row[1]) for row in rows[1:]]
    else:
        assert polars is not None
        frame = polars.read_parquet(path)
        seen = frame["label"].to_list(), frame["cost"].to_list()
    assert seen == (labels.tolist(), costs.tolist())
    assert costs.max() <= 40


def test_parquet_without_polars(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("wald.commands.labels.find_spec", lambda name: name if name == "pyarrow" else None)
    done("predict", files / "svc.wald", files / "test.npy", "-o", tmp_path / "labels.parquet", "--cost")
    labels, costs = expected(files, return_cost=True)
    assert parquet.read_table(tmp_path / "labels.parquet").to_pydict() == {
        "label": labels.tolist(),
        "cost": costs.tolist(),
    }


def test_parquet_that_announces_rows_that_it_does_not_hold(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    rows = np.load(files / "test.npy")
    polars.DataFrame({f"p{i}": column for i, column in enumerate(rows.T)}).write_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr(parquet_rows._Arrow, "batches", lambda *_: iter(()))
    message = refusal("predict", files / "svc.wald", tmp_path / "rows.parquet", "-o", tmp_path / "labels.csv")
    assert f"is damaged: it announces {len(rows)} rows, and holds 0." in message
    assert not (tmp_path / "labels.csv").exists()


def test_csv_by_name_in_parts(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--drop", "label", "--drop", "writer", "--risk", 0.05, "--cost", "units")
    done("fit", files / "named.skops", files / "fit.csv", "-o", tmp_path / "named.wald", *words)
    monkeypatch.setattr(delimited, "BLOCK", 1 << 13)
    result = done("predict", tmp_path / "named.wald", files / "test.csv", "-o", "-")  # its columns are reversed
    assert table(result.stdout)[1:] == [[str(label)] for label in expected(files)]
    assert result.stderr.startswith("397 rows, ")


def wrapped(model: Any, tmp_path: Path, files: Path) -> Any:
    """The classifier that ``wald fit`` makes from a model, and the labels of the model itself."""
    io = pytest.importorskip("skops.io")
    io.dump(model, tmp_path / "model.skops")
    words = ("-o", tmp_path / "model.wald", "--risk", 0.05, "--cost", "units", "--trust-type", "numpy.dtype")
    done("fit", tmp_path / "model.skops", files / "fit.npy", *words)
    return wald.load(tmp_path / "model.wald")


def test_sparse_rows_for_a_model_that_centres(files: Path, tmp_path: Path, digits: Any) -> None:
    model = make_pipeline(StandardScaler(), SVC()).fit(digits.X_train, digits.y_train)
    fast = wrapped(model, tmp_path, files)
    result = done("predict", tmp_path / "model.wald", files / "test.svm", "-o", "-")
    assert table(result.stdout)[1:] == [[str(label)] for label in fast.predict(np.load(files / "test.npy"))]
    risk_0 = ("--risk", 0, "--cost", "units", "--force")
    done("fit", tmp_path / "model.skops", files / "fit.npy", "-o", tmp_path / "model.wald", *risk_0)
    words = ("predict", tmp_path / "model.wald", files / "test.svm", "-o", "-", "--model", tmp_path / "model.skops")
    assert table(done(*words).stdout)[1:] == [[str(label)] for label in model.predict(np.load(files / "test.npy"))]


def test_missing_cells_for_a_model_with_an_imputer(files: Path, tmp_path: Path, digits: Any) -> None:
    pytest.importorskip("polars")
    model = make_pipeline(SimpleImputer(), LogisticRegression(C=0.01)).fit(digits.X_train, digits.y_train)
    fast = wrapped(model, tmp_path, files)
    rows = digits.X_test.copy()
    rows[::3, ::5] = np.nan
    text = "\n".join(",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in rows)
    (tmp_path / "holes.csv").write_text(text + "\n")
    result = done("predict", tmp_path / "model.wald", tmp_path / "holes.csv", "-o", "-", "--no-header")
    assert table(result.stdout)[1:] == [[str(label)] for label in fast.predict(rows)]
    out = tmp_path / "labels.csv"
    message = refusal("predict", files / "svc.wald", tmp_path / "holes.csv", "-o", out, "--no-header")
    assert "line 1, column 1: no number (NaN)" in message


def test_json(files: Path, tmp_path: Path) -> None:
    facts = said("predict", files / "words.wald", files / "test.npy", "-o", tmp_path / "labels.npy")
    labels, costs = expected(files, "words", return_cost=True)
    assert facts["n_rows"] == 397
    assert facts["mean_cost"] == pytest.approx(costs.mean())
    assert facts["labels"] == {name: int((labels == name).sum()) for name in ("even", "odd")}


def test_mistakes(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    file, data = files / "svc.wald", files / "test.npy"
    assert "--json and -o -" in refusal("predict", file, data, "-o", "-", "--json")
    assert "must end in" in refusal("predict", file, data, "-o", tmp_path / "labels.xlsx")
    assert "--budget: budget must be at least" in refusal("predict", file, data, "-o", out, "--budget", 0)
    assert "No such file" in refusal("predict", tmp_path / "none.wald", data, "-o", out)
    assert "test.npy" in refusal("predict", data, data, "-o", out)
    assert "another model" in refusal("predict", file, data, "-o", out, "--model", files / "words.skops")
    (tmp_path / "cut.wald").write_bytes(file.read_bytes()[:-100])
    assert "cut.wald" in refusal("predict", tmp_path / "cut.wald", data, "-o", out)
    assert not out.exists()
    out.write_text("mine")
    assert "none.npy" in refusal("predict", file, tmp_path / "none.npy", "-o", out)
    assert out.read_text() == "mine"  # only a run that succeeds replaces it
    done("predict", file, data, "-o", out)
    labels = out.read_text()
    assert labels.startswith("label\n")
    done("predict", file, data, "-o", out, "--force")
    assert out.read_text() == labels


def test_a_model_that_is_needed_or_not(files: Path, tmp_path: Path, digits: Any) -> None:
    """A model that is not trusted is left out only where the file answers by itself; a library's file always does."""
    lightgbm = pytest.importorskip("lightgbm")
    joblib = pytest.importorskip("joblib")
    rows, out = files / "test.npy", tmp_path / "labels.npy"
    done("predict", files / "svc.wald", rows, "-o", out, "--model", files / "svc.joblib")
    np.testing.assert_array_equal(np.load(out), expected(files, "svc"))
    model = AdaBoostClassifier(n_estimators=2).fit(digits.X_train, digits.y_train)
    joblib.dump(model, tmp_path / "m.joblib")
    done("fit", tmp_path / "m.joblib", files / "fit.npy", "-o", tmp_path / "m.wald", "--risk", 0, "--trust-pickle")
    needed = ("predict", tmp_path / "m.wald", rows, "-o", out, "--model", tmp_path / "m.joblib")
    assert "say --trust-pickle" in refusal(*needed)
    done(*needed, "--trust-pickle")
    assert "say --trust-pickle" in refusal(
        "predict", files / "svc.wald", rows, "-o", out, "--model", files / "svc.joblib", "--proba"
    )
    trees = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(digits.X_train, digits.y_train)
    trees.booster_.save_model(tmp_path / "model.txt")
    words = ("predict", tmp_path / "model.txt", rows, "-o", out, "--model", tmp_path / "m.joblib")
    for more in ((), ("--trust-pickle",)):
        assert "model.txt needs no --model" in done(*words, *more).stderr
        np.testing.assert_array_equal(np.load(out), trees.predict(digits.X_test))


def test_an_input_is_not_replaced(files: Path, tmp_path: Path) -> None:
    rows = np.load(files / "test.npy")
    data = tmp_path / "rows.csv"
    np.savetxt(data, rows, delimiter=",")
    (tmp_path / "link.csv").symlink_to(data)
    (tmp_path / "same.csv").hardlink_to(data)
    before = data.read_bytes()
    for out in ("rows.csv", "link.csv", "same.csv"):
        for more in ((), ("--force",)):
            assert "one of the files to be read" in refusal(
                "predict", files / "svc.wald", data, "-o", tmp_path / out, *more
            )
    assert data.read_bytes() == before


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_a_failure_half_way_leaves_no_file(files: Path, tmp_path: Path, suffix: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("wald.commands.rows.arrays.AT_ONCE", 64 * 50)
    rows = np.load(files / "test.npy")
    rows[-1, 5] = np.nan
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "rows.npy", rows)
    out = tmp_path / f"labels{suffix}"
    out.write_text("mine")
    message = refusal("predict", files / "svc.wald", tmp_path / "in" / "rows.npy", "-o", out)
    assert "row 396 (from 0), column 5 (from 0)" in message
    assert out.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"in", out.name}


def test_a_file_of_skops_reads_texts(tmp_path: Path, digits: Any) -> None:
    pandas, skops = pytest.importorskip("pandas"), pytest.importorskip("skops.io")
    frame = pandas.DataFrame(digits.X_fit[:, 18:24], columns=list("abcdef"))
    frame["kind"] = np.where(digits.X_fit[:, 30] > 8, "hot", "cold")
    steps = make_column_transformer((StandardScaler(), list("abcdef")), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(steps, LogisticRegression()).fit(frame, digits.y_fit > 4)
    skops.dump(model, tmp_path / "pipe.skops")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.2, planner=wald.Planner(cost="units"), random_state=0
    ).fit(frame)
    wald.save(fast, tmp_path / "pipe.wald", pipeline="skops")
    done("predict", tmp_path / "pipe.wald", tmp_path / "rows.csv", "-o", tmp_path / "l.npy")
    assert np.array_equal(np.load(tmp_path / "l.npy"), fast.predict(frame))


def test_a_pipeline_without_names_takes_numbers_alone(tmp_path: Path, digits: Any) -> None:
    skops = pytest.importorskip("skops.io")
    X = digits.X_fit[:, 18:22]
    model = make_pipeline(KBinsDiscretizer(4, strategy="uniform"), LogisticRegression())
    skops.dump(model.fit(X, digits.y_fit > 4), tmp_path / "pipe.skops")
    np.save(tmp_path / "x.npy", X)
    words = ("--risk", 0, "--cost", "units", "--trust-type", "sklearn.preprocessing._discretization.KBinsDiscretizer")
    done("fit", tmp_path / "pipe.skops", tmp_path / "x.npy", "-o", tmp_path / "pipe.wald", *words)
    done("predict", tmp_path / "pipe.wald", tmp_path / "x.npy", "-o", tmp_path / "l.npy")
    assert np.array_equal(np.load(tmp_path / "l.npy"), model.predict(X))
    (tmp_path / "x.csv").write_text("a,b,c,d\n1,2,3,hot\n")
    said = refusal("predict", tmp_path / "pipe.wald", tmp_path / "x.csv", "-o", tmp_path / "l.csv")
    assert "('d'): 'hot' is not a number. The command line takes rows of numbers for a model that was fitted" in said
    assert "--drop" not in said
