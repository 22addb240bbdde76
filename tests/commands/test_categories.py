"""Files with categories, unknown and missing ones, on the command line and in jobs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from commands.running import done, refusal

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
import lightgbm
import pandas
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

import wald

CITIES, SIZES = ["Cluj", "Brno", "NA", "007"], [3, 5, 9]


def rows_of(n, seed, unknown=False):
    r = np.random.default_rng(seed)
    city = pandas.Series(r.choice([*CITIES, "Nowhere"] if unknown else CITIES, n), dtype=object)
    size = pandas.Series(r.choice([*SIZES, 4] if unknown else SIZES, n)).astype("Int64")
    city[r.random(n) < 0.1] = None
    size[r.random(n) < 0.1] = pandas.NA
    frame = pandas.DataFrame({"a": r.normal(size=n), "city": city, "size": size, "b": r.normal(size=n)})
    frame.loc[r.random(n) < 0.1, "b"] = np.nan
    cities = [*CITIES, "Nowhere"] if unknown else CITIES
    sizes = [*SIZES, 4] if unknown else SIZES
    numbers = pandas.Categorical(frame["size"].astype(float), categories=[float(s) for s in sizes])
    return frame.assign(
        city=pandas.Categorical(frame["city"], categories=cities),
        size=numbers.rename_categories(pandas.Index(sizes, dtype="int64")),
    )


MAKERS = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=20, min_child_samples=3, verbose=-1, n_jobs=1),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=10, enable_categorical=True, n_jobs=1),
    "sklearn": lambda: HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype"),
}


@pytest.fixture(scope="module", params=MAKERS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind):
    X = rows_of(800, 0)
    y = (X["a"] > 0) ^ X["city"].isin(["Cluj", "007"]) ^ (X["size"] == 5)
    return MAKERS[kind]().fit(X, y.astype(int))


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    wald.save(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), folder / "m.wald")
    joblib.dump(model, folder / "m.joblib")
    return folder


@pytest.fixture(scope="module")
def frame(kind):
    return rows_of(500, 1, unknown=kind != "xgboost")  # XGBoost refuses unknown categories


def write(frame, path, suffix):
    """Write rows as CSV, as Parquet with pandas' categories, or with plain texts and numbers."""
    if suffix == "csv":
        frame.to_csv(path, index=False, na_rep="")
    elif suffix == "plain.parquet":
        frame.assign(city=frame["city"].astype(object), size=frame["size"].astype("Int64")).to_parquet(path)
    else:
        frame.to_parquet(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "plain.parquet"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_labels_of_files_are_those_of_the_frame(folder, model, frame, tmp_path, suffix, wrapped):
    data = tmp_path / f"rows.{suffix}"
    write(frame[["size", "b", "city", "a"]].assign(more=1), data, suffix)
    options = ["--model", folder / "m.joblib", "--trust-pickle"] if wrapped else []
    done("predict", folder / "m.wald", data, "-o", tmp_path / "l.csv", "--proba", "--keep", "a", *options)
    told = pandas.read_csv(tmp_path / "l.csv")
    assert np.array_equal(told["label"], model.predict(frame))
    assert np.allclose(told[["proba_0", "proba_1"]], model.predict_proba(frame), rtol=1e-6, atol=1e-7)
    assert np.allclose(told["a"], frame["a"])


@pytest.mark.parametrize("suffix", ["csv", "plain.parquet"])
def test_fit_reads_categories(folder, model, frame, tmp_path, suffix):
    write(frame, tmp_path / f"rows.{suffix}", suffix)
    words = ("--risk", 0, "--cost", "units", "--trust-pickle")
    done("fit", folder / "m.joblib", tmp_path / f"rows.{suffix}", "-o", tmp_path / "m.wald", *words)
    done("predict", tmp_path / "m.wald", tmp_path / f"rows.{suffix}", "-o", tmp_path / "l.npy")
    assert np.array_equal(np.load(tmp_path / "l.npy"), model.predict(frame))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "plain.parquet", "arrow"])
def test_labels_of_jobs_are_those_of_the_frame(folder, model, frame, tmp_path, suffix):
    (tmp_path / "in").mkdir()
    for part in (0, 1):
        some = frame[["size", "b", "city", "a"]].iloc[part * 250 : part * 250 + 250].assign(more=1)
        path = tmp_path / "in" / f"{part}.{suffix}"
        some.to_feather(path.with_suffix(".arrow")) if suffix == "arrow" else write(some, path, suffix)
    done("predict", folder / "m.wald", tmp_path / "in", "-o", f"{tmp_path / 'out'}/", "--keep", "city")
    parts = [pandas.read_parquet(path) for path in sorted((tmp_path / "out").glob("part-*"))]
    told = pandas.concat(parts, ignore_index=True)
    assert np.array_equal(told["label"], model.predict(frame))
    assert np.array_equal(told["city"].fillna(""), frame["city"].astype(object).fillna(""))


def test_rows_whose_categories_are_all_missing(folder, model, frame, tmp_path):
    nothing = frame.assign(
        city=pandas.Categorical([None] * len(frame), categories=CITIES),
        size=pandas.Categorical.from_codes([-1] * len(frame), pandas.Index(SIZES, dtype="int64")),
    )
    nothing.assign(city=None, size=None).to_parquet(tmp_path / "rows.parquet")
    done("predict", folder / "m.wald", tmp_path / "rows.parquet", "-o", tmp_path / "l.csv")
    assert np.array_equal(pandas.read_csv(tmp_path / "l.csv")["label"], model.predict(nothing))


@pytest.mark.parametrize("job", [False, True])
def test_values_of_another_kind_are_refused(folder, frame, tmp_path, job):
    outs = [f"{tmp_path / name}/" if job else tmp_path / "l.csv" for name in ("first", "second")]
    frame.assign(city=1).to_parquet(tmp_path / "numbers.parquet")
    told = refusal("predict", folder / "m.wald", tmp_path / "numbers.parquet", "-o", outs[0])
    assert "column 'city': the model's categories are texts, and the file holds 1" in told
    frame.assign(size="big").to_parquet(tmp_path / "texts.parquet")
    told = refusal("predict", folder / "m.wald", tmp_path / "texts.parquet", "-o", outs[1])
    assert "column 'size': the model's categories are numbers, and 'big' is none" in told


def test_unknown_categories_of_xgboost_are_refused(kind, folder, frame, tmp_path):
    if kind != "xgboost":
        pytest.skip("the other libraries read them as missing")
    for suffix in ("csv", "parquet"):
        write(rows_of(50, 2, unknown=True), tmp_path / f"rows.{suffix}", suffix)
        told = refusal("predict", folder / "m.wald", tmp_path / f"rows.{suffix}", "-o", tmp_path / "l.csv")
        assert "has not seen the category" in told


@pytest.mark.parametrize("job", [False, True])
def test_a_model_that_is_not_needed_is_not_unpickled(folder, model, frame, tmp_path, job):
    class Payload:
        def __reduce__(self):
            return (open, (str(tmp_path / "unpickled"), "w"))

    joblib.dump(Payload(), tmp_path / "m.joblib")
    frame.to_parquet(tmp_path / "rows.parquet")
    out = f"{tmp_path / 'out'}/" if job else tmp_path / "l.parquet"
    words = ("predict", folder / "m.wald", tmp_path / "rows.parquet", "-o", out, "--model", tmp_path / "m.joblib")
    told = done(*words).stderr
    assert f"m.wald needs no --model: {tmp_path / 'm.joblib'} is not used (it is not trusted).\n" in told
    written = next(Path(out).glob("part-*")) if job else out
    assert np.array_equal(pandas.read_parquet(written)["label"], model.predict(frame))
    assert not (tmp_path / "unpickled").exists()
    missing = (*words[:-1], tmp_path / "none.joblib")
    assert "none.joblib: No such file" in refusal(*missing)


WITHOUT = """
import importlib.util, sys
blocked, sys.argv[1:] = sys.argv[1].split(","), sys.argv[2:]
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Without())
really = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in blocked else really(name, package)
from wald.cli import main
main()
"""


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_frames_are_of_pandas_or_of_polars(folder, model, frame, tmp_path, suffix):
    """The command line needs no pandas, nor the library of the model; without polars, too, it says so."""
    write(frame, tmp_path / f"rows.{suffix}", suffix)

    def without(*packages):
        words = ["predict", folder / "m.wald", tmp_path / f"rows.{suffix}", "-o", tmp_path / "l.csv"]
        command = [sys.executable, "-c", WITHOUT, ",".join(packages), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    refused = without("pandas", "polars")
    assert refused.returncode == 2
    assert "data frames of polars or pandas, and neither is installed: pip install polars" in refused.stderr
    told = without("pandas", "pyarrow", "lightgbm", "xgboost", "skops")
    assert told.returncode == 0, told.stderr
    assert np.array_equal(pandas.read_csv(tmp_path / "l.csv")["label"], model.predict(frame))


def test_arrays_without_names_are_refused(folder, tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((5, 4)))
    told = refusal("predict", folder / "m.wald", tmp_path / "rows.npy", "-o", tmp_path / "l.csv")
    assert "the model reads categories. Write its rows as CSV or Parquet." in told


def test_an_empty_cell_is_not_taken_for_an_empty_category(tmp_path):
    X = pandas.DataFrame({"a": np.arange(100.0), "c": pandas.Categorical(["", "x"] * 50)})
    model = MAKERS["lightgbm"]().fit(X, (X["c"] == "x").astype(int))
    wald.save(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), tmp_path / "m.wald")
    X.to_csv(tmp_path / "rows.csv", index=False)
    told = refusal("predict", tmp_path / "m.wald", tmp_path / "rows.csv", "-o", tmp_path / "l.csv")
    assert "an empty cell may be missing or the category ''" in told
    X.to_parquet(tmp_path / "rows.parquet")
    done("predict", tmp_path / "m.wald", tmp_path / "rows.parquet", "-o", tmp_path / "l.csv")
    assert np.array_equal(pandas.read_csv(tmp_path / "l.csv")["label"], model.predict(X))


def test_names_that_xgboost_cuts_are_refused(tmp_path):
    X = pandas.DataFrame({"a": np.arange(100.0), "c": pandas.Categorical(["éa", "bc"] * 50)})
    model = MAKERS["xgboost"]().fit(X, (X["c"] == "bc").astype(int))
    wald.save(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), tmp_path / "m.wald")
    X.to_parquet(tmp_path / "rows.parquet")
    for out in (tmp_path / "l.csv", f"{tmp_path / 'out'}/"):
        assert "not ASCII" in refusal("predict", tmp_path / "m.wald", tmp_path / "rows.parquet", "-o", out)


def test_booleans_and_fractions(tmp_path):
    r = np.random.default_rng(0)
    X = pandas.DataFrame({"a": r.normal(size=300)})
    X = X.assign(
        yes=pandas.Categorical(r.random(300) < 0.5),
        part=pandas.Categorical(r.choice([0.1, 0.25, 2.0], 300)),
    )
    y = (X["yes"].astype(bool) ^ (X["part"] == 0.1)).astype(int)
    model = MAKERS["lightgbm"]().fit(X, y)
    wald.save(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), tmp_path / "m.wald")
    X.to_parquet(tmp_path / "rows.parquet")
    X.to_csv(tmp_path / "rows.csv", index=False)
    X.assign(yes=X["yes"].astype(str).str.lower()).to_csv(tmp_path / "lower.csv", index=False)
    for name in ("rows.parquet", "rows.csv", "lower.csv"):
        done("predict", tmp_path / "m.wald", tmp_path / name, "-o", tmp_path / "l.csv", "--force")
        assert np.array_equal(pandas.read_csv(tmp_path / "l.csv")["label"], model.predict(X))
