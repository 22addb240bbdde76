"""`wald fit` on pipelines of encoders and numbers, and the commands that read rows for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from commands.running import done, refusal, said

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
import lightgbm
import pandas
import pyarrow
import xgboost
from pyarrow.parquet import read_table, write_table
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

CITIES, CODES, SIZES = ["Cluj", "NA", "x,y", "Großau"], ["007", "1", "12"], [3, 5, 9]


def rows_of(n: int, seed: int, unknown: bool = False) -> Any:
    """Rows with texts that look like numbers and like missing values, integers that are categories, and booleans."""
    r = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "unread": np.arange(n),
            "city": pandas.Series(r.choice([*CITIES, "Nowhere"] if unknown else CITIES, n), dtype="str"),
            "code": pandas.Series(r.choice([*CODES, "7"] if unknown else CODES, n), dtype="str"),
            "size": r.choice([*SIZES, 4] if unknown else SIZES, n),
            "flag": r.random(n) < 0.5,
            "a": np.round(r.normal(size=n), 3),
            "b": r.normal(size=n),
        }
    )
    frame.loc[r.random(n) < 0.1, "city"] = np.nan
    frame.loc[r.random(n) < 0.1, "b"] = np.nan
    return frame


class Shout(TransformerMixin, BaseEstimator):
    """A user's own step, which asks for texts and numbers."""

    def fit(self, X: Any, y: Any = None) -> Shout:
        self.feature_names_in_, self.n_features_in_ = np.array(X.columns, dtype=object), X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return np.column_stack([X["city"].str.len().fillna(-1), X["size"] // 2, X["flag"], X["b"].fillna(0)])


def _columns(encoder: Any, *, sparse: bool = False) -> Any:
    return ColumnTransformer(
        [
            ("texts", encoder, ["city", "code", "size"]),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("as they are", "passthrough", ["flag"]),
        ],
        sparse_threshold=1.0 if sparse else 0.0,
    )


MAKERS = {
    "linear": lambda: make_pipeline(
        _columns(OneHotEncoder(handle_unknown="ignore"), sparse=True), LogisticRegression()
    ),
    "filled": lambda: make_pipeline(
        _columns(make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))),
        LogisticRegression(),
    ),
    "lightgbm": lambda: make_pipeline(
        _columns(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
        lightgbm.LGBMClassifier(n_estimators=15, min_child_samples=3, verbose=-1, n_jobs=1),
    ),
    "xgboost": lambda: make_pipeline(
        _columns(OneHotEncoder(handle_unknown="ignore")), xgboost.XGBClassifier(n_estimators=8, n_jobs=1)
    ),
    "sklearn": lambda: make_pipeline(_columns(TargetEncoder()), HistGradientBoostingClassifier(max_iter=8)),
    "own": lambda: make_pipeline(Shout(), LogisticRegression()),
}


def answers_of(X: Any) -> Any:
    return (X["city"].isin(["Cluj", "x,y"]) ^ (X["code"] == "1") ^ (X["size"] == 5) ^ (X["a"] > 0)).astype(int)


@pytest.fixture(scope="module", params=MAKERS)
def kind(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind: str) -> Any:
    X = rows_of(600, 0)
    return MAKERS[kind]().fit(X, answers_of(X))


@pytest.fixture(scope="module")
def folder(kind: str, model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(kind)
    joblib.dump(model, folder / "m.joblib")
    rows_of(500, 1).to_csv(folder / "fit.csv", index=False)
    words = ("--risk", 0, "--cost", "units", "--trust-pickle")
    done("fit", folder / "m.joblib", folder / "fit.csv", "-o", folder / "m.wald", *words)
    return folder


@pytest.fixture(scope="module")
def frame() -> Any:
    return rows_of(700, 2, unknown=True)


TRUSTED = ("--trust-type", f"{Shout.__module__}.Shout")


def write(frame: Any, path: Path) -> None:
    """Write rows as text, as pandas' Parquet, with dictionaries, or with large strings."""
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
        return
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    for c, field in enumerate(table.schema):
        if pyarrow.types.is_large_string(field.type) or pyarrow.types.is_string(field.type):
            texts = table[c].cast(pyarrow.large_string() if "large" in path.name else pyarrow.string())
            texts = texts.dictionary_encode() if "dictionary" in path.name else texts
            table = table.set_column(c, field.name, texts)
    write_table(table, path, row_group_size=300)


def as_pandas_reads(frame: Any, path: Path) -> Any:
    """The rows for a model that does not say what its columns held."""
    read = {".csv": pandas.read_csv, ".tsv": pandas.read_table}.get(path.suffix)
    return frame if read is None else read(path)


NAMES = ["rows.csv", "rows.tsv", "rows.parquet", "dictionary.parquet", "large.parquet"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
def test_labels_of_files_are_those_of_the_frame(
    folder: Path, kind: str, model: Any, frame: Any, tmp_path: Path, name: str
) -> None:
    write(frame[["b", "size", "flag", "city", "unread", "a", "code"]].assign(more="more"), tmp_path / name)
    words = ("--proba", "--keep", "unread", "--jobs", 2, *TRUSTED)
    told = done("predict", folder / "m.wald", tmp_path / name, "-o", tmp_path / "l.parquet", *words)
    found = pandas.read_parquet(tmp_path / "l.parquet")
    rows = as_pandas_reads(frame, tmp_path / name) if kind == "own" else frame
    assert np.array_equal(found["label"], model.predict(rows))
    assert np.allclose(found[["proba_0", "proba_1"]], model.predict_proba(rows), rtol=1e-6, atol=1e-7)
    assert np.array_equal(found["unread"].astype(int), frame["unread"])
    if kind != "own":
        assert "Left out 1 column that the model does not know: 'more'." in told.stderr


@pytest.mark.parametrize("name", ["rows.csv", "large.parquet"])
def test_a_job_of_many_parts(folder: Path, kind: str, model: Any, frame: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    rows = []
    for part in (0, 1):
        some, path = frame.iloc[part * 350 : part * 350 + 350], tmp_path / "in" / f"{part}-{name}"
        write(some, path)
        rows.append(as_pandas_reads(some, path) if kind == "own" else some)
    frame = pandas.concat(rows)
    (tmp_path / "in" / f"2-{name}").write_text("city\nCluj\n")
    pattern = tmp_path / "in" / f"*{name}"
    words = ("--keep", "city", "--proba", "--skip-bad", *TRUSTED)
    told = said("predict", folder / "m.wald", pattern, "-o", f"{tmp_path / 'out'}/", *words, code=3)
    assert told["n_rows"] == len(frame)
    assert len(told["skipped"]) == 1
    found = pandas.concat([pandas.read_parquet(path) for path in sorted((tmp_path / "out").glob("part-*"))])
    assert np.array_equal(found["label"], model.predict(frame))
    assert np.allclose(found["proba_1"], model.predict_proba(frame)[:, 1], rtol=1e-6, atol=1e-7)
    assert kind == "own" or found["city"].fillna("").tolist() == frame["city"].fillna("").tolist()


def test_the_other_commands_read_the_same_rows(folder: Path, kind: str, model: Any, frame: Any, tmp_path: Path) -> None:
    if kind not in ("linear", "own"):
        pytest.skip("takes long, and is the same")
    write(frame.head(12), tmp_path / "rows.csv")
    wald, rows = folder / "m.wald", tmp_path / "rows.csv"
    shown = said("inspect", wald, "--rows", rows, *TRUSTED)
    assert (shown["model"]["in_front"] is not None) == (kind == "own")
    explained = said("explain", wald, 7, rows, *TRUSTED)
    assert explained["label"] == model.predict(frame.iloc[[7]])[0]
    write(frame.head(3), tmp_path / "few.csv")
    timed = said(
        "bench", wald, tmp_path / "few.csv", "--repeats", 7, "--model", folder / "m.joblib", "--trust-pickle", *TRUSTED
    )
    assert timed["n_different"] == 0
    done("report", wald, rows, "-o", tmp_path / "r.html", "--no-timing", *TRUSTED)
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_a_skops_file_of_encoders_needs_no_more_trust(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    X = rows_of(600, 0)
    model = MAKERS["linear"]().fit(X, answers_of(X))
    skops.dump(model, tmp_path / "m.skops")
    write(rows_of(300, 1), tmp_path / "fit.parquet")
    words = ("--risk", 0, "--cost", "units")
    done("fit", tmp_path / "m.skops", tmp_path / "fit.parquet", "-o", tmp_path / "m.wald", *words)
    done("predict", tmp_path / "m.wald", tmp_path / "fit.parquet", "-o", tmp_path / "l.csv")


# ---- what is in the cells -------------------------------------------------------------------------------------------


def saved(model: Any, X: Any, tmp_path: Path) -> Path:
    """The file that `wald fit` writes."""
    joblib.dump(model, tmp_path / "m.joblib")
    X.to_parquet(tmp_path / "fit.parquet")
    words = ("--risk", 0, "--cost", "units", "--trust-pickle", "--force")
    done("fit", tmp_path / "m.joblib", tmp_path / "fit.parquet", "-o", tmp_path / "m.wald", *words)
    return tmp_path / "m.wald"


def labels(path: Path, rows: Path) -> list[Any]:
    done("predict", path, rows, "-o", rows.with_suffix(".npy"))
    return list(np.load(rows.with_suffix(".npy"), allow_pickle=False))


def encoded(values: Any, y: Any) -> Any:
    """A model that tells apart each category of one column."""
    X = pandas.DataFrame({"c": values, "a": np.zeros(len(y))})
    front = ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), ["c"])], remainder="passthrough")
    return make_pipeline(front, LogisticRegression(C=1e6, tol=1e-8, max_iter=1000)).fit(X, y), X


@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_missing_cell_is_what_fit_saw(tmp_path: Path, missing: Any) -> None:
    """A cell that is no category of the encoder, and that pandas takes for a missing value, is the encoder's own."""
    values = np.array(["x", "y", missing, "NA"] * 20, dtype=object)
    model, X = encoded(values, np.array([0, 1, 2, 3] * 20))
    path = saved(model, X, tmp_path)
    (tmp_path / "r.csv").write_text('a,c\n0,x\n0,\n0,NULL\n0,NA\n0,""\n0, x\n0,y\n')
    nothing = model.predict(pandas.DataFrame({"a": [0.0], "c": [" x"]}))[0]
    assert labels(path, tmp_path / "r.csv") == [0, 2, 2, 3, 2, nothing, 1]
    table = pyarrow.table({"c": pyarrow.array([None, "NULL", "NA", "y"]), "a": [0.0] * 4})
    write_table(table, tmp_path / "r.parquet")
    null = model.predict(pandas.DataFrame({"a": [0.0], "c": ["NULL"]}))[0]
    assert labels(path, tmp_path / "r.parquet") == [2, null, 3, 1]


def test_an_empty_category(tmp_path: Path) -> None:
    model, X = encoded(np.array(["", "x"] * 30, dtype=object), np.array([0, 1] * 30))
    (tmp_path / "r.csv").write_text("a,c\n0,\n0,x\n")
    assert labels(saved(model, X, tmp_path), tmp_path / "r.csv") == [0, 1]
    model, X = encoded(np.array(["", "x", np.nan] * 30, dtype=object), np.array([0, 1, 2] * 30))
    told = refusal("predict", saved(model, X, tmp_path), tmp_path / "r.csv", "-o", tmp_path / "l.csv")
    assert "r.csv, line 2, column 2 ('c'): an empty cell may be missing or the category ''" in told


def test_booleans(tmp_path: Path) -> None:
    model, X = encoded(np.array([True, False] * 30), np.array([1, 0] * 30))
    path = saved(model, X, tmp_path)
    (tmp_path / "r.csv").write_text("a,c\n0,True\n0,false\n0,1\n0,0\n")
    assert labels(path, tmp_path / "r.csv") == [1, 0, 1, 0]
    (tmp_path / "r.csv").write_text("a,c\n0,yes\n")
    told = refusal("predict", path, tmp_path / "r.csv", "-o", tmp_path / "l.csv")
    assert "r.csv, line 2, column 2 ('c'): 'yes' is neither true nor false." in told
    model, X = encoded(np.array([True, False, None] * 30, dtype=object), np.array([1, 0, 2] * 30))
    path = saved(model, X, tmp_path)
    (tmp_path / "r.csv").write_text("a,c\n0,True\n0,FALSE\n0,\n")
    assert labels(path, tmp_path / "r.csv") == [1, 0, 2]
    write_table(pyarrow.table({"c": [False, True, None], "a": [0.0] * 3}), tmp_path / "r.parquet")
    assert labels(path, tmp_path / "r.parquet") == [0, 1, 2]


def test_large_integers_are_not_rounded(tmp_path: Path) -> None:
    large = 2**53
    model, X = encoded(np.array([large, large + 1, 7] * 30), np.array([0, 1, 2] * 30))
    path = saved(model, X, tmp_path)
    (tmp_path / "r.csv").write_text(f"a,c\n0,{large}\n0,{large + 1}\n0,7\n")
    assert labels(path, tmp_path / "r.csv") == [0, 1, 2]
    write_table(pyarrow.table({"c": [large + 1, large], "a": [0.0] * 2}), tmp_path / "r.parquet")
    assert labels(path, tmp_path / "r.parquet") == [1, 0]


def test_float32_columns_are_left_as_they_are(tmp_path: Path) -> None:
    """A scaler computes in float32 where a block is, and pandas reads a file's float32 as float32."""
    r = np.random.default_rng(0)
    X = pandas.DataFrame({"a": r.normal(size=400) * 1e4, "b": r.normal(size=400), "c": r.choice(["x", "y"], 400)})
    front = ColumnTransformer([("s", StandardScaler(), ["a", "b"]), ("c", OneHotEncoder(), ["c"])])
    y = (X["a"] > 0) ^ (X["c"] == "x")
    model = make_pipeline(front, lightgbm.LGBMClassifier(n_estimators=30, min_child_samples=1, verbose=-1, n_jobs=1))
    model.fit(X.astype({"a": "float32", "b": "float32"}), y.astype(int))
    path = saved(model, X, tmp_path)
    for types in ({"a": "float32", "b": "float32"}, {"a": "float32"}, {}):
        X.astype(types).to_parquet(tmp_path / "r.parquet")
        done("predict", path, tmp_path / "r.parquet", "-o", tmp_path / "l.parquet", "--proba")
        found = pandas.read_parquet(tmp_path / "l.parquet")["proba_1"]
        assert np.array_equal(found, model.predict_proba(X.astype(types))[:, 1])


def test_a_column_has_one_type_in_the_whole_file(tmp_path: Path) -> None:
    """Small integers beside float32 make scikit-learn compute in float32, unless one of them is missing."""
    r = np.random.default_rng(0)
    X = pandas.DataFrame({"a": r.normal(size=400).astype("float32"), "b": r.integers(0, 99, 400).astype("int16")})
    X["c"] = r.choice(["x", "y"], 400)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    front = ColumnTransformer([("s", numbers, ["a", "b"]), ("c", OneHotEncoder(), ["c"])])
    y = (X["a"] > 0) ^ (X["c"] == "x")
    model = make_pipeline(front, LogisticRegression())
    model.fit(X, y.astype(int))
    path = saved(model, X, tmp_path)
    for lacks in (False, True):
        table = pyarrow.Table.from_pandas(X)
        if lacks:
            b = pyarrow.array([*X["b"][:399].tolist(), None], "int16")
            table = table.set_column(1, "b", b)
        write_table(table, tmp_path / "r.parquet", row_group_size=100)
        rows = pandas.read_parquet(tmp_path / "r.parquet")
        done("predict", path, tmp_path / "r.parquet", "-o", tmp_path / "l.parquet", "--proba")
        words = ("--proba", "--force")
        done("predict", path, tmp_path / "r.parquet", "-o", f"{tmp_path / 'out'}/", *words)
        for found in (tmp_path / "l.parquet", next((tmp_path / "out").glob("part-*"))):
            own = model.predict_proba(rows)[:, 1]
            assert np.allclose(read_table(found)["proba_1"].to_numpy(), own, rtol=1e-12, atol=0)


def test_columns_that_only_a_users_step_reads_are_typed_by_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wald.commands.rows import delimited

    X = rows_of(300, 0)
    model = make_pipeline(Shout(), LogisticRegression()).fit(X, answers_of(X))
    path = saved(model, X, tmp_path)
    monkeypatch.setattr(delimited, "BLOCK", 1000)
    rows = rows_of(300, 3)
    rows["city"] = ["12"] * 299 + ["x"]  # texts, which the first blocks do not say
    rows.to_csv(tmp_path / "r.csv", index=False)
    done("predict", path, tmp_path / "r.csv", "-o", tmp_path / "l.csv", *TRUSTED)
    assert np.array_equal(pandas.read_csv(tmp_path / "l.csv")["label"], model.predict(rows))


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = rows_of(600, 0)
    return saved(MAKERS["linear"]().fit(X, answers_of(X)), X, tmp_path_factory.mktemp("linear"))


COLUMNS = ["city", "code", "size", "flag", "a", "b"]
GOOD = {"city": ["Cluj"], "code": ["1"], "size": [3], "flag": [True], "a": [0.5], "b": [None]}
TYPES = [
    ("code", pyarrow.array([1]), "the model takes texts in the column 'code', and the file holds int64."),
    ("city", pyarrow.array([b"Cluj"]), "the model takes texts in the column 'city', and the file holds binary."),
    ("size", pyarrow.array(["3"]), "the model takes numbers in the column 'size', and the file holds string."),
    ("a", pyarrow.array([0], "timestamp[ms]"), "takes numbers in the column 'a', and the file holds timestamp[ms]."),
    ("city", pyarrow.array([["Cluj"]]), "the model takes texts in the column 'city', and the file holds list"),
]


@pytest.mark.parametrize("job", [False, True])
@pytest.mark.parametrize(("name", "column", "said"), TYPES)
def test_columns_of_another_type(linear: Path, tmp_path: Path, name: str, column: Any, said: str, job: bool) -> None:
    write_table(pyarrow.table({**GOOD, name: column}), tmp_path / "r.parquet")
    out = f"{tmp_path / 'out'}/" if job else tmp_path / "l.csv"
    told = refusal("predict", linear, tmp_path / "r.parquet", "-o", out)
    assert said in told
    assert "r.parquet: " in told


LINES = [
    (
        "city,code,size,flag,a,b\nCluj,1,3,True,0,1\nCluj,1,big,True,0,1\n",
        "line 3, column 3 ('size'): 'big' is not a number.",
    ),
    ("city,code,size,flag,a,b\nCluj,1,3,True,1_0,1\n", "line 2, column 5 ('a'): '1_0' is not a number."),
    ('city,code,size,flag,a,b\n"Cl\nuj",1,3,True,x,1\n', "line 3, column 5 ('a'): 'x' is not a number."),
    ("city,code,size,flag,a,b\nCluj,1,3,True,0\n", "line 2 has 5 cells; the lines above have 6."),
    ("city,code,size,flag,a,b\nCluj,1,3,True,0,1,2\n", "line 2 has 7 cells; the lines above have 6."),
    ("city,code,size,flag,a\nCluj,1,3,True,0\n", "lacks the column 'b' that the model reads."),
    ("city,code,size,flag,a,b,a\nCluj,1,3,True,0,1,1\n", "has the column 'a' more than once."),
    ("city,code,size,flag,a,b\n", "has column names, and no rows."),
]


@pytest.mark.parametrize(("lines", "said"), LINES)
def test_lines_that_do_not_fit(linear: Path, tmp_path: Path, lines: str, said: str) -> None:
    (tmp_path / "r.csv").write_text(lines)
    told = refusal("predict", linear, tmp_path / "r.csv", "-o", tmp_path / "l.csv")
    assert f"{tmp_path / 'r.csv'}" in told
    assert said in told


def test_columns_of_parquet_that_are_missing_or_doubled(linear: Path, tmp_path: Path) -> None:
    table = pyarrow.table(GOOD)
    for name, changed, words in (
        ("less", table.drop_columns(["b"]), "lacks the column 'b' that the model reads."),
        ("more", table.append_column("a", pyarrow.array([1.0])), "has the column 'a' more than once."),
    ):
        write_table(changed, tmp_path / f"{name}.parquet")
        for out in (tmp_path / "l.csv", f"{tmp_path / name}/"):
            told = refusal("predict", linear, tmp_path / f"{name}.parquet", "-o", out)
            assert f"{name}.parquet {words}" in told


def test_arrays_have_no_names(linear: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "r.npy", np.zeros((3, 6)))
    told = refusal("predict", linear, tmp_path / "r.npy", "-o", tmp_path / "l.csv")
    assert "holds numbers without names, and the model reads columns by name. Write its rows as CSV or Parquet." in told


def test_what_the_pipeline_itself_refuses(tmp_path: Path) -> None:
    X = pandas.DataFrame({"c": ["x", "y"] * 30, "a": np.arange(60.0)})
    front = ColumnTransformer([("c", OneHotEncoder(), ["c"])], remainder="passthrough")
    path = saved(make_pipeline(front, LogisticRegression()).fit(X, [0, 1] * 30), X, tmp_path)
    (tmp_path / "r.csv").write_text("a,c\n0,x\n0,z\n")
    told = refusal("predict", path, tmp_path / "r.csv", "-o", tmp_path / "l.csv")
    assert f"{tmp_path / 'r.csv'}: Found unknown categories" in told
    (tmp_path / "r.csv").write_text("a,c\n0,x\n,y\n")
    assert "contains NaN" in refusal("predict", path, tmp_path / "r.csv", "-o", tmp_path / "l.csv")
    assert not (tmp_path / "l.csv").exists()


def test_the_option_of_texts_is_for_models_of_texts(linear: Path, tmp_path: Path) -> None:
    write_table(pyarrow.table(GOOD), tmp_path / "r.parquet")
    for out in (tmp_path / "l.csv", f"{tmp_path / 'out'}/"):
        told = refusal("predict", linear, tmp_path / "r.parquet", "-o", out, "--text", "city")
        assert "--text names the column of a model whose rows are texts, and this one reads a table." in told
