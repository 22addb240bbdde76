"""``wald fit``: the file equals the result of Python's ``fit``, and invalid input is refused."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from commands.running import done, refusal, run, said
from persistence.forge import without_estimator
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import wald

io = pytest.importorskip("skops.io")
UNITS = ("--cost", "units", "--risk", 0.05)


def test_the_file_predicts_as_python_does(files: Path, digits: Any) -> None:
    svc = FrozenEstimator(io.load(files / "svc.skops"))
    fast = wald.EarlyExitClassifier(svc, risk=0.05, planner=wald.Planner(cost="units"), random_state=0).fit(
        digits.X_fit
    )
    loaded = wald.load(files / "svc.wald")
    assert str(loaded.certificate_) == str(fast.certificate_)
    for one, other in zip(
        loaded.predict(digits.X_test, return_cost=True), fast.predict(digits.X_test, return_cost=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_it_prints_the_certificate(files: Path, tmp_path: Path) -> None:
    result = done("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald", *UNITS)
    assert result.stdout == f"{wald.load(tmp_path / 'a.wald').certificate_}\n"
    assert result.stderr == ""
    assert (tmp_path / "a.wald").read_bytes() == (files / "svc.wald").read_bytes()


def test_json(files: Path, tmp_path: Path) -> None:
    facts = said("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald", *UNITS)
    assert facts["n_rows"] == 800
    assert facts["certificate"]["status"] == "certified"
    assert facts["certificate"]["holds"] is True
    assert facts["model"]["classes"] == list(range(10))


def test_options_reach_the_classifier(files: Path, tmp_path: Path) -> None:
    words = ("--risk", "each=0.08", "--confidence", 0.9, "--seed", 3, "--cost", "units", "--jobs", 2)
    done("fit", files / "words.skops", files / "fit.npy", "-o", tmp_path / "a.wald", *words)
    fast = wald.load(tmp_path / "a.wald")
    given = fast.get_params()
    expected = {"risk": {"each": 0.08}, "confidence": 0.9, "random_state": 3, "planner__cost": "units", "n_jobs": 2}
    others = wald.EarlyExitClassifier(None, planner=wald.Planner()).get_params().keys() - {"estimator", "planner"}
    assert {name: given[name] for name in expected} == expected
    assert {name: given[name] for name in others - expected.keys()} == {
        "bands": None,
        "feature_costs": None,
        "reference": "model",
        "feature_groups": None,
        "surrogates": None,
        "tolerance": None,
        "planner__rule": "ladder",
        "planner__order": "greedy",
        "planner__certificate_fraction": "auto",
        "planner__n_splits": "auto",
    }


def test_columns_by_name_and_groups(files: Path, tmp_path: Path, digits: Any) -> None:
    words = ("--drop", "label", "--groups", "writer", *UNITS)
    done("fit", files / "named.skops", files / "fit.csv", "-o", tmp_path / "a.wald", *words)
    fast = wald.load(tmp_path / "a.wald")
    assert fast.certificate_.grouped
    assert fast.certificate_.n_rows == 200
    assert fast.feature_names_in_.tolist() == [f"pixel{i}" for i in range(64)]


def test_a_promise_that_cannot_be_made_is_exit_code_1(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wald"
    words = ("fit", files / "svc.skops", files / "fit.npy", "-o", path, "--cost", "units", "--risk", 0.0001)
    result = done(*words, code=1)
    assert "certificate rows needed" in result.stdout
    assert "evaluates every row" in result.stderr
    assert wald.load(path).plan_.evaluate_all
    assert said(*words, "--force", code=1)["certificate"]["status"] == "too few rows"


def test_risk_0(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wald"
    done("fit", files / "svc.skops", files / "fit.npy", "-o", path, "--risk", 0, "--cost", "units")
    without_estimator(path)
    for words in (("predict", path, files / "test.npy", "-o", tmp_path / "labels.npy"), ("inspect", path)):
        assert "--model MODEL" in refusal(*words)
        done(*words, "--model", files / "svc.skops")
    full = io.load(files / "svc.skops").predict(np.load(files / "test.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), full)


def test_risk_0_without_rows(files: Path, tmp_path: Path, digits: Any) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(digits.X_train, digits.y_train)
    model.booster_.save_model(tmp_path / "model.txt")
    words = ("fit", tmp_path / "model.txt", "-o", tmp_path / "a.wald")
    facts = said(*words, "--risk", 0)
    assert facts["n_rows"] == 0
    assert facts["plan"]["evaluate_all"]
    done("predict", tmp_path / "a.wald", files / "test.npy", "-o", tmp_path / "labels.npy")  # needs no --model
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.predict(digits.X_test))
    assert "--risk 0.001 is certified on rows: name DATA" in refusal(*words, "--force")
    assert "--drop speaks of rows, and there is no DATA" in refusal(*words, "--force", "--risk", 0, "--drop", "label")


def test_models_that_need_rows_at_risk_0(files: Path, tmp_path: Path) -> None:
    message = refusal("fit", files / "svc.skops", "-o", tmp_path / "a.wald", "--risk", 0)
    assert "DATA is missing" in message
    assert not (tmp_path / "a.wald").exists()


def test_training_rows_are_warned_about_in_a_line(files: Path, tmp_path: Path) -> None:
    words = ("fit", files / "svc.skops", files / "train.npy", "-o", tmp_path / "a.wald", *UNITS)
    lines = done(*words).stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("wald fit: warning: ")
    assert "training rows" in lines[0]


def test_classes_have_risks_of_their_own(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wald"
    words = ("fit", files / "words.skops", files / "fit.npy", "-o", path, *UNITS, "--risk", "odd=0.08")
    facts = said(*words, "--risk", "even=0.09")
    fast = wald.load(path)
    assert fast.risk == {"all": 0.05, "odd": 0.08, "even": 0.09}
    assert "bound" not in facts["certificate"]
    assert [s["risk"] for s in facts["certificate"]["strata"]] == [0.05, 0.08, 0.09]
    assert "<= 8 % within class odd" in done("inspect", path).stdout
    early = said(*words, "--force", "--risk", "predicted even=0.1")["certificate"]
    assert [s["name"] for s in early["strata"]] == ["rows", "rows of class odd", "rows of predicted class even"]
    assert wald.load(path).risk == {"all": 0.05, "odd": 0.08, "predicted even": 0.1}
    rows = ("--model", files / "words.skops", "--repeats", 7)
    assert said("bench", path, files / "test.npy", *rows)["broken"] is None


def test_labels_that_are_numbers(files: Path, tmp_path: Path) -> None:
    words = ("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald", "--cost", "units")
    result = done(*words, "--risk", 0.05, "--risk", "8=0.01", code=1)
    assert "299 certificate rows of class 8 needed" in result.stdout
    assert wald.load(tmp_path / "a.wald").risk == {"all": 0.05, 8: 0.01}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.1", "0.2"], "names all twice"),
        (["odd=much"], "odd=much is neither a number nor STRATUM=RISK"),
        (["=0.1"], "=0.1 is neither a number nor STRATUM=RISK"),
        (["odd=0.1", "odd=0.2"], "names odd twice"),
        (["strange=0.1"], "names strange, which is none of the classes even, odd"),
        (["odd=2"], "must be None or a number at least 0 and below 1"),
        (["odd=0.1"], "says nothing of the rows of class 'even'"),
        (["some"], "some is neither a number nor STRATUM=RISK"),
    ],
)
def test_invalid_values_of_risk(words: list[str], message: str, files: Path, tmp_path: Path) -> None:
    options = [part for word in words for part in ("--risk", word)]
    error = refusal("fit", files / "words.skops", files / "fit.npy", "-o", tmp_path / "a.wald", *options)
    assert message in error


# ---- models --------------------------------------------------------------------------------------------------------


def test_pickle_only_when_trusted(files: Path, tmp_path: Path) -> None:
    (tmp_path / "svc.pkl").write_bytes(pickle.dumps(io.load(files / "svc.skops")))
    for path in (tmp_path / "svc.pkl", files / "svc.joblib"):
        words = ("fit", path, files / "fit.npy", "-o", tmp_path / f"{path.name}.wald", *UNITS)
        assert "--trust-pickle" in refusal(*words)
        assert done(*words, "--trust-pickle").stdout.startswith("disagreement")


def test_untrusted_pickles_are_not_opened(tmp_path: Path, files: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "trap.pkl").write_bytes(pickle.dumps(Trap()))
    refusal("fit", tmp_path / "trap.pkl", files / "fit.npy", "-o", tmp_path / "a.wald")
    assert not (tmp_path / "sprung").exists()


def test_unknown_types_in_skops_are_refused_by_name(files: Path, tmp_path: Path, digits: Any) -> None:
    pipeline = make_pipeline(FunctionTransformer(functools.partial(np.multiply, 2)), LogisticRegression(C=0.01))
    io.dump(pipeline.fit(digits.X_train, digits.y_train), tmp_path / "odd.skops")
    unknown = io.get_untrusted_types(file=tmp_path / "odd.skops")
    words = ("fit", tmp_path / "odd.skops", files / "fit.npy", "-o", tmp_path / "a.wald")
    message = refusal(*words)
    assert unknown
    for name in unknown:
        assert f"--trust-type {name}" in message
    trusted = [word for name in unknown for word in ("--trust-type", name)]
    told = done(*words, *trusted, "--risk", 0, "--cost", "units").stderr
    assert "a.wald holds the whole pipeline, by skops, because numbers and texts do not describe it." in told
    assert "--trust-type functools.partial" in refusal("inspect", tmp_path / "a.wald")
    done("predict", tmp_path / "a.wald", files / "test.npy", "-o", tmp_path / "l.npy", *trusted)
    assert np.array_equal(np.load(tmp_path / "l.npy"), pipeline.predict(digits.X_test))


def test_a_file_holds_a_pipeline_that_numbers_do_not_describe(files: Path, tmp_path: Path, digits: Any) -> None:
    model = joblib.load(model_that("projects", digits, tmp_path))
    words = ("-o", tmp_path / "a.wald", "--trust-pickle", "--risk", 0, "--cost", "units")
    done("fit", tmp_path / "model.joblib", files / "fit.npy", *words)
    done("predict", tmp_path / "a.wald", files / "test.npy", "-o", tmp_path / "l.npy")
    assert np.array_equal(np.load(tmp_path / "l.npy"), model.predict(digits.X_test))


def model_that(kind: str, digits: Any, folder: Path) -> Path:
    X, y = digits.X_train, digits.y_train
    model: Any = {
        "is no classifier": lambda: {"not": "a model"},
        "is not fitted": SVC,
        "clusters": lambda: KMeans(2, n_init=1).fit(X),
        "is wrapped already": lambda: wald.EarlyExitClassifier(SVC()),
        "projects": lambda: make_pipeline(PCA(5), SVC()).fit(X, y),
        "reads texts": lambda: make_pipeline(CountVectorizer(), LogisticRegression()).fit(
            ["all my", "words"] * 5, [0, 1] * 5
        ),
    }[kind]()
    joblib.dump(model, folder / "model.joblib")
    return folder / "model.joblib"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("is no classifier", "an object of type dict, which is no model that predicts"),
        ("is not fitted", "not fitted"),
        ("clusters", "KMeans is not supported"),
        ("is wrapped already", "give the model that it wraps"),
        ("reads texts", "holds numbers without names, and the model reads texts"),
    ],
)
def test_models_that_cannot_be_wrapped(kind: str, words: str, tmp_path: Path, files: Path, digits: Any) -> None:
    path = model_that(kind, digits, tmp_path)
    assert words in refusal("fit", path, files / "fit.npy", "-o", tmp_path / "a.wald", "--trust-pickle")
    assert not (tmp_path / "a.wald").exists()


def test_damaged_models(files: Path, tmp_path: Path) -> None:
    for name, content in (
        ("svc.skops", (files / "svc.skops").read_bytes().replace(b"schema.json", b"scheme.json")),
        ("svc.pkl", b"\x80\x04garbage"),
        ("empty.pkl", b""),
    ):
        (tmp_path / name).write_bytes(content)
        words = ("fit", tmp_path / name, files / "fit.npy", "-o", tmp_path / "a.wald", "--trust-pickle")
        assert str(tmp_path / name) in refusal(*words)
    assert "No such file" in refusal("fit", tmp_path / "none.skops", files / "fit.npy", "-o", tmp_path / "a.wald")


def test_no_skops(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.commands.models.find_spec", lambda name: None)
    message = refusal("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald")
    assert "skops" in message
    assert "pip install '.[cli]'" in message


# ---- rows, options, outputs ----------------------------------------------------------------------------------------


def test_rows_that_do_not_fit(files: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "a.wald")
    told = done("fit", files / "named.skops", files / "fit.csv", "-o", tmp_path / "left.wald", "--risk", "0.1")
    assert "Left out 2 columns that the model does not know: 'label', 'writer'." in told.stderr
    assert "has 66 columns of features; the model takes 64" in refusal(
        "fit", files / "svc.skops", files / "fit.csv", *words
    )
    (tmp_path / "bad.csv").write_text("1,2\n3,x\n")
    assert "the model takes 64" in refusal("fit", files / "svc.skops", tmp_path / "bad.csv", *words)
    assert not (tmp_path / "a.wald").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--risk", 2), "risk must be"),
        (("--confidence", 1), "confidence must be"),
        (("--cost", "money"), "cost must be"),
        (("--risk", "positive=0.1"), "needs two classes"),
        (("--jobs", 0), "--jobs: n_jobs must be"),
        (("--seed", -1), "--seed must be"),
        (("--groups", "writer"), "--groups: "),
        (("--drop", 64), "--drop: "),
        (("--drop", "9" * 5000), "--drop: "),
        (("--format", "excel"), "--format must be one of"),
    ],
)
def test_options_out_of_range(words: Any, expected: str, files: Path, tmp_path: Path) -> None:
    message = refusal("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald", *words)
    assert expected in message


def test_options_that_are_no_numbers(files: Path, tmp_path: Path) -> None:
    words = ("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald", "--risk", "low")
    assert "--risk" in done(*words, code=2).stderr


def test_files_are_not_overwritten(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.wald"
    path.write_text("mine")
    words = ("fit", files / "svc.skops", files / "fit.npy", "-o", path, *UNITS)
    assert "--force" in refusal(*words)
    assert path.read_text() == "mine"
    done(*words, "--force")
    assert path.read_bytes() == (files / "svc.wald").read_bytes()


def test_outputs_that_cannot_be(files: Path, tmp_path: Path) -> None:
    words = ("fit", files / "svc.skops", files / "fit.npy", "-o")
    assert "is a folder" in refusal(*words, tmp_path)
    assert "no folder" in refusal(*words, tmp_path / "none" / "a.wald")
    assert "one of the files to be read" in refusal(*words, files / "fit.npy", "--force")


def test_debug_shows_the_traceback(files: Path, tmp_path: Path) -> None:
    result = done("fit", files / "svc.skops", tmp_path / "none.npy", "-o", tmp_path / "a.wald", "--debug", code=2)
    assert "Traceback" in result.stderr
    assert "FileNotFoundError" in result.stderr


def test_our_own_errors_keep_their_traceback(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("wald.commands.fit.read_whole", broken)
    error = run("fit", files / "svc.skops", files / "fit.npy", "-o", tmp_path / "a.wald").exception
    assert isinstance(error, KeyError)


def test_a_file_of_wald_is_no_model_to_plan_for(files: Path, tmp_path: Path) -> None:
    for trust in ((), ("--trust-pickle",)):
        message = refusal("fit", files / "svc.wald", files / "fit.npy", "-o", tmp_path / "a.wald", *trust)
        assert "svc.wald is a file of wald fit or wald.save" in message
        assert "trust" not in message
