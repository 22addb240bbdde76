"""Classifiers that wald cannot read, on the command line: fit learns surrogates, and the file holds the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands.running import done, refusal, said
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

import wald

skops = pytest.importorskip("skops.io")
pytest.importorskip("polars")
X, y = make_classification(1500, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)


def test_fit_predict_and_inspect(tmp_path: Path) -> None:
    model = KNeighborsClassifier(5, algorithm="brute").fit(X[:300], y[:300])
    skops.dump(model, tmp_path / "model.skops")
    np.save(tmp_path / "rows.npy", X[300:1200])
    np.save(tmp_path / "new.npy", X[1200:])
    asked = ("fit", tmp_path / "model.skops", tmp_path / "rows.npy", "-o", tmp_path / "fast.wald")
    said_of = done(*asked, "--risk", 0.1).stdout
    assert "10 %" in said_of
    fast = wald.load(tmp_path / "fast.wald")
    assert np.array_equal(fast.predict_proba(X), model.predict_proba(X))
    done("predict", tmp_path / "fast.wald", tmp_path / "new.npy", "-o", tmp_path / "labels.csv")
    labels = np.loadtxt(tmp_path / "labels.csv", skiprows=1, dtype=int)
    assert np.array_equal(labels, fast.predict(X[1200:]))
    assert said("inspect", tmp_path / "fast.wald")["model"]["terms"] > 0
    assert "is not supported" in refusal(*asked, "--force", "--risk", 0)
    # without the model inside
    with pytest.warns(UserWarning, match="no numbers of KNeighborsClassifier"):
        wald.save(fast, tmp_path / "lean.wald")
    words = ("predict", tmp_path / "lean.wald", tmp_path / "new.npy", "-o", tmp_path / "again.csv")
    assert "--model MODEL" in refusal(*words)
    done(*words, "--model", tmp_path / "model.skops")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "labels.csv").read_bytes()
