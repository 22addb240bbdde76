"""Files with pipelines that read texts: `wald inspect` shows them, commands that read tables refuse them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands.running import done, refusal, said
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

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
