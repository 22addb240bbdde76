"""A file that wald did not write: the message names what reads it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wald
from wald.persistence import FileFormatError

X = np.random.default_rng(0).normal(size=(200, 3))
Y = X[:, 0] > 0


def message_of(path: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        wald.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message) < 300 + len(str(path))
    return message


def test_models_of_other_libraries_are_read_by_read_model(tmp_path: Path) -> None:
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, Y).booster_.save_model(tmp_path / "model.txt")
    boosted = xgboost.XGBClassifier(n_estimators=3).fit(X, Y)
    boosted.save_model(tmp_path / "model.json")
    boosted.save_model(tmp_path / "model.ubj")
    oblivious = catboost.CatBoostClassifier(3, verbose=0, allow_writing_files=False).fit(X, Y.astype(int))
    oblivious.save_model(str(tmp_path / "model.cbm"))
    oblivious.save_model(str(tmp_path / "catboost.json"), format="json")
    for name in ("model.txt", "model.json", "model.ubj", "model.cbm", "catboost.json"):
        assert "wald.read_model reads it" in message_of(tmp_path / name), name
        wald.read_model(tmp_path / name)  # it does


def test_pickles_archives_and_what_is_no_file(tmp_path: Path) -> None:
    model: Any = LogisticRegression().fit(X, Y)
    for name, write in {
        "a.joblib": lambda path: joblib.dump(model, path),
        "a.pkl": lambda path: path.write_bytes(pickle.dumps(model)),
        "old.pkl": lambda path: path.write_bytes(pickle.dumps(model, protocol=2)),
        "packed.joblib": lambda path: joblib.dump(model, path, compress=3),
    }.items():
        write(tmp_path / name)
        assert "joblib" in message_of(tmp_path / name), name
    (tmp_path / "empty").touch()
    assert message_of(tmp_path / "empty").endswith("it is empty.")
    assert "but a folder" in message_of(tmp_path)
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    assert "skops" in message_of(tmp_path / "a.zip")
    (tmp_path / "a.onnx").write_bytes(b"\x08\x0a\x12\x07skl2onnx" + bytes(40))
    assert "ONNX" in message_of(tmp_path / "a.onnx")
    (tmp_path / "text").write_bytes(b"any other text " * 9)
    assert "no file that wald.save wrote" in message_of(tmp_path / "text")
