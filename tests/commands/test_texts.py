"""Pipelines whose rows are texts, one column of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

import wald

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 2000)
TEXTS = [" ".join(f"w{int(v)}" for v in 50 * RNG.random(12) ** (1 + 2 * label)) for label in Y]


class Same(TransformerMixin, BaseEstimator):
    """A user-defined step."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("skops")
    folder = tmp_path_factory.mktemp("texts")
    for name, steps in (("texts", [CountVectorizer()]), ("own", [CountVectorizer(), Same()])):
        model = make_pipeline(*steps, LogisticRegression()).fit(TEXTS[:1000], Y[:1000])
        fast = wald.EarlyExitClassifier(
            FrozenEstimator(model), risk=0.1, planner=wald.Planner(cost="units"), random_state=0
        ).fit(TEXTS[1000:])
        with pytest.warns(UserWarning, match="trusted") if name == "own" else pytest.MonkeyPatch.context():
            wald.save(fast, folder / f"{name}.wald", pipeline="skops")
    (folder / "x.csv").write_text("a,b\n1,2\n")
    model = LogisticRegression().fit(RNG.standard_normal((50, 2)), Y[:50])
    import skops.io

    skops.io.dump(model, folder / "other.skops")
    return folder


def test_a_pipeline_of_texts_is_shown(folder: Path) -> None:
    assert "rows that are no table's" in " ".join(done("inspect", folder / "texts.wald").stdout.split())
    assert said("inspect", folder / "texts.wald")["model"]["n_features"] is None


def test_one_column_holds_the_texts(folder: Path, tmp_path: Path) -> None:
    words = ("predict", folder / "texts.wald", folder / "x.csv", "-o", tmp_path / "out.csv")
    assert "x.csv has 2 columns that may hold the model's texts: name one, --text b, of 'a', 'b'." in refusal(*words)
    assert "no column is left that may hold the model's texts." in refusal(*words, "--drop", "a", "--keep", "b")
    assert "--text: " in refusal(*words, "--text", "c")
    assert not (tmp_path / "out.csv").exists()


def test_types_are_trusted_by_the_option_of_the_command_line(folder: Path) -> None:
    name = f"{Same.__module__}.Same"
    message = refusal("inspect", folder / "own.wald")
    assert f"--trust-type {name}" in message
    assert "wald.load" not in message
    assert said("inspect", folder / "own.wald", "--trust-type", name)["model"]["n_features"] is None
    assert f"--trust-type {name}" in refusal("predict", folder / "own.wald", folder / "x.csv", "-o", folder / "y.csv")


# ---- rows of files --------------------------------------------------------------------------------------------------

#: What is hard to read: quotes, line ends, an empty text, and texts that are no missing values here.
HARD = ["", "NA", 'w1 "w2", w3', "w1\nw2;w3", "null", "w1\tw2", " ", "Ünïcödé w1 w1"]
MODELS = {
    "tfidf": lambda: make_pipeline(TfidfVectorizer(), LogisticRegression()),
    "union": lambda: make_pipeline(
        make_union(CountVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 2))), LogisticRegression()
    ),
    "hashed": lambda: make_pipeline(HashingVectorizer(n_features=256), LinearSVC(random_state=0)),
}


@pytest.fixture(scope="module", params=MODELS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The file of `wald fit`, beside the model's own, and the model."""
    skops, pandas = pytest.importorskip("skops.io"), pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp(request.param)
    model = MODELS[request.param]().fit(TEXTS[:500], Y[:500])
    skops.dump(model, folder / "m.skops")
    pandas.DataFrame({"user": np.arange(300) // 2, "post": TEXTS[500:800]}).to_csv(folder / "fit.csv", index=False)
    words = ("--text", "post", "--groups", "user", "--risk", 0, "--cost", "units")
    done("fit", folder / "m.skops", folder / "fit.csv", "-o", folder / "m.wald", *words)
    return folder, model


def write(path: Path, **columns: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=200)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("name", ["one.csv", "one.tsv", "two.csv", "two.tsv", "two.parquet"])
def test_labels_are_those_of_the_texts(made: tuple[Path, Any], tmp_path: Path, name: str) -> None:
    folder, model = made
    texts = [*HARD, *TEXTS[800:1200]]
    more = {} if name.startswith("one") else {"id": np.arange(len(texts))}
    write(tmp_path / name, **more, post=texts)
    options = [] if name.startswith("one") else ["--keep", "id"]
    done("predict", folder / "m.wald", tmp_path / name, "-o", tmp_path / "l.parquet", "--jobs", 2, *options)
    found = pytest.importorskip("pandas").read_parquet(tmp_path / "l.parquet")
    assert np.array_equal(found["label"], model.predict(texts))
    assert "id" not in more or found["id"].astype(int).tolist() == more["id"].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_job_of_texts(made: tuple[Path, Any], tmp_path: Path, suffix: str) -> None:
    pandas = pytest.importorskip("pandas")
    folder, model = made
    texts = [*HARD, *TEXTS[800:1192]]
    for part in (0, 1):
        some = slice(part * 200, part * 200 + 200)
        write(tmp_path / f"{part}.{suffix}", id=np.arange(400)[some], post=texts[some], other=["-"] * 200)
    words = ["predict", folder / "m.wald", tmp_path / f"*.{suffix}", "-o", f"{tmp_path / 'out'}/", "--keep", "id"]
    proba = hasattr(model, "predict_proba")
    told = said(*words, "--text", "post", *(["--proba"] if proba else []))
    assert told["n_rows"] == 400
    found = pandas.concat(map(pandas.read_parquet, sorted((tmp_path / "out").glob("part-*"))))
    assert np.array_equal(found["label"], model.predict(texts))
    assert found["id"].astype(int).tolist() == list(range(400))
    if proba:
        assert np.allclose(found["proba_1"], model.predict_proba(texts)[:, 1], rtol=1e-12)
    again = refusal(*words, "--text", "other", *(["--proba"] if proba else []))
    assert "holds a job with another options" in again


def test_the_other_commands_read_texts(made: tuple[Path, Any], tmp_path: Path) -> None:
    folder, model = made
    write(tmp_path / "rows.csv", id=np.arange(20), post=TEXTS[800:820])
    wald, rows, text = folder / "m.wald", tmp_path / "rows.csv", ("--text", "post")
    done("inspect", wald, "--rows", rows, *text)
    explained = said("explain", wald, 7, rows, *text)
    assert explained["label"] == model.predict(TEXTS[807:808])[0]
    timed = said("bench", wald, rows, "--model", folder / "m.skops", "--repeats", 7, *text)
    assert timed["n_different"] == 0
    done("report", wald, rows, "-o", tmp_path / "r.html", "--no-timing", *text)
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_a_column_without_texts_is_refused(made: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = made
    write(tmp_path / "number.parquet", post=[1, 2])
    write(tmp_path / "missing.parquet", post=[*TEXTS[:250], None])
    words = ("predict", folder / "m.wald")
    for out in (tmp_path / "l.csv", f"{tmp_path / 'one'}/"):
        told = refusal(*words, tmp_path / "number.parquet", "-o", out)
        assert "number.parquet: the model takes texts in the column 'post', and the file holds int64." in told
    told = refusal(*words, tmp_path / "missing.parquet", "-o", tmp_path / "l.csv")
    assert "missing.parquet, row 250 (from 0), column 'post': a missing value is no text." in told
    told = refusal(*words, tmp_path / "missing.parquet", "-o", f"{tmp_path / 'two'}/")
    assert "missing.parquet, row group 1, row 50 of it (from 0), column 'post': a missing value is no text." in told
    np.save(tmp_path / "x.npy", np.zeros((3, 1)))
    told = refusal(*words, tmp_path / "x.npy", "-o", tmp_path / "l.csv")
    assert "which holds numbers without names, and the model reads texts" in told


def test_rows_that_are_dicts_are_no_rows_of_a_file(tmp_path: Path) -> None:
    import joblib

    model = make_pipeline(DictVectorizer(), LogisticRegression()).fit([{"a": 1}, {"b": 2}], [0, 1])
    joblib.dump(model, tmp_path / "m.joblib")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    words = ("fit", tmp_path / "m.joblib", tmp_path / "x.csv", "-o", tmp_path / "m.wald", "--trust-pickle")
    assert "begins with a DictVectorizer, which reads no texts and names no columns of a table" in refusal(*words)
