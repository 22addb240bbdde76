"""Files of tree libraries are compared with the libraries themselves, where these are installed."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from scipy import sparse

import wald
from wald.commands.errors import UserError
from wald.commands.libraries import library_model

QUICK = ("--repeats", 7)
NAMES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.utils.alternating.SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr("wald.commands.bench.SINGLE", 3)


def saved(library: str, X: Any, y: Any, folder: Path, kind: str = "json") -> tuple[Any, Path]:
    """A fitted classifier of a library, and the file that the library writes."""
    module = pytest.importorskip(library)
    path = folder / f"{library}.{'txt' if library == 'lightgbm' else kind}"
    if library == "lightgbm":
        model = module.LGBMClassifier(n_estimators=6, verbose=-1, n_jobs=1).fit(X, y)
        model.booster_.save_model(path)
    elif library == "xgboost":
        model = module.XGBClassifier(n_estimators=6, n_jobs=1).fit(X, y)
        model.save_model(path)
    else:
        model = module.CatBoostClassifier(iterations=6, verbose=0, thread_count=1, allow_writing_files=False).fit(X, y)
        model.save_model(str(path), format=kind)
    return model, path


@pytest.mark.parametrize("two", [True, False])
@pytest.mark.parametrize(
    ("library", "kind"),
    [("lightgbm", ""), ("xgboost", "json"), ("xgboost", "ubj"), ("catboost", "json"), ("catboost", "cbm")],
)
def test_labels_are_those_of_the_library(library: str, kind: str, two: bool, tmp_path: Path, digits: Any) -> None:
    y = (digits.y_train > 4).astype(int) if two else digits.y_train
    model, path = saved(library, digits.X_train, y, tmp_path, kind)
    own = library_model(path, wald.read_model(path), 1)
    assert own is not None
    assert own.name == NAMES[library]
    labels = own.predict(own.rows(digits.X_test))
    np.testing.assert_array_equal(labels, np.ravel(model.predict(digits.X_test)))
    np.testing.assert_array_equal(labels, wald.read_model(path).predict(digits.X_test))


@pytest.mark.parametrize("library", NAMES)
def test_sparse_rows(library: str, tmp_path: Path, digits: Any) -> None:
    _, path = saved(library, digits.X_train, digits.y_train, tmp_path)
    own = library_model(path, wald.read_model(path), 1)
    assert own is not None
    rows = sparse.csr_array(digits.X_test)
    expected = wald.read_model(path).predict(rows)
    np.testing.assert_array_equal(own.predict(own.rows(rows)), expected)


def test_a_file_that_the_library_refuses(tmp_path: Path) -> None:
    pytest.importorskip("xgboost")
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(UserError, match=r"odd\.json: XGBoost cannot read it"):
        library_model(tmp_path / "odd.json", SimpleNamespace(library="xgboost", classes_=np.arange(2)), 1)


@pytest.mark.parametrize("library", NAMES)
def test_bench_and_report_time_the_library(library: str, files: Path, tmp_path: Path, digits: Any) -> None:
    _, path = saved(library, digits.X_train, digits.y_train > 4 if library == "catboost" else digits.y_train, tmp_path)
    done("fit", path, "-o", tmp_path / "a.wald", "--risk", 0)
    facts = said("bench", tmp_path / "a.wald", files / "test.npy", "--model", path, *QUICK)
    assert (facts["model"], facts["n_different"]) == (NAMES[library], 0)
    assert said("bench", path, files / "test.npy", *QUICK)["model"] == NAMES[library]
    assert said("bench", path, files / "test.npy", "--model", path, *QUICK)["model"] == NAMES[library]
    for words in ((tmp_path / "a.wald", files / "test.npy", "--model", path), (path, files / "test.npy")):
        done("report", *words, "-o", tmp_path / "page.html", "--force")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert f"{NAMES[library]}, µs per row" in page


def test_without_the_library_the_baseline_is_named(
    files: Path, tmp_path: Path, digits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = saved("lightgbm", digits.X_train, digits.y_train, tmp_path)
    done("fit", path, "-o", tmp_path / "a.wald", "--risk", 0)
    monkeypatch.setitem(importlib.import_module("sys").modules, "lightgbm", None)  # cannot be imported
    out = done("bench", tmp_path / "a.wald", files / "test.npy", "--model", path, *QUICK).stdout
    assert "wald, every tree, µs" in out
    assert "LightGBM is not installed: the times beside wald's are those of wald's own full evaluation" in out
    done("report", tmp_path / "a.wald", files / "test.npy", "--model", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "wald evaluates it without that library" in page
    assert "--model MODEL" in page


def test_other_files_need_the_model(files: Path) -> None:
    assert "--model MODEL" in refusal("bench", files / "svc.wald", files / "test.npy")
