"""``wald explain`` says why one row got its label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.running import done, refusal, said
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wald

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with a model of named columns, one of texts, and rows."""
    folder = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(4000, 3)), columns=["age", "income", "debt"])
    y = np.where(4 * frame["debt"] + frame["age"] > 0, "no", "yes")
    model = LogisticRegression().fit(frame[:500], y[:500])
    planner = wald.Planner(cost="units")
    wald.save(wald.EarlyExitClassifier(model, risk=0.05, planner=planner).fit(frame[500:3500]), folder / "m.wald")
    frame[3500:].to_csv(folder / "rows.csv", index=False)
    texts = ["the café opened late", "a great evening, thanks", "broken again"] * 20
    reader = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, [0, 1, 0] * 20)
    wald.save(wald.EarlyExitClassifier(reader, risk=0).fit(), folder / "texts.wald")
    return folder, frame[3500:]


def test_a_dict_a_list_and_a_row_of_a_file_are_explained_alike(saved: tuple[Path, Any]) -> None:
    folder, frame = saved
    fast, row = wald.load(folder / "m.wald"), frame.iloc[7]
    given = [
        said("explain", folder / "m.wald", row.to_json(double_precision=15)),
        said("explain", folder / "m.wald", str(row.tolist())),
        said("explain", folder / "m.wald", 7, folder / "rows.csv"),
    ]
    expected = fast.explain(frame[7:8]).as_dict()
    for told in given:
        assert told["label"] == expected["label"] == fast.predict_one(row.to_dict())
        assert [part["name"] for part in told["parts"]] == [part["name"] for part in expected["parts"]]
        assert told["scores"]["score"] == pytest.approx(expected["scores"]["score"])
    shown = done("explain", folder / "m.wald", 7, folder / "rows.csv").stdout
    assert shown.startswith(f"Label {expected['label']}: ")
    assert "debt = " in shown
    assert "score in full" in shown


def test_a_text_is_explained_by_its_words(saved: tuple[Path, Any]) -> None:
    folder, _ = saved
    told = said("explain", folder / "texts.wald", "great evening, but late")
    assert [part["name"] for part in told["parts"]] == ["great", "evening", "late"]
    assert told["label"] == 1
    assert "'great'" in done("explain", folder / "texts.wald", "great evening, but late").stdout


def test_mistakes_are_named(saved: tuple[Path, Any]) -> None:
    folder, _ = saved
    model, rows = folder / "m.wald", folder / "rows.csv"
    assert "ROW must be a JSON object" in refusal("explain", model, "{age: 3}")
    assert refusal("explain", model, '{"a": 3, "b": 1, "a": 4}').endswith("ROW has the name 'a' 2 times.")
    assert "ROW is 7, the number of a row of a file" in refusal("explain", model, "7")
    assert "has 500 rows, whose numbers begin with 0" in refusal("explain", model, "500", rows)
    assert "must be the number of a row" in refusal("explain", model, '{"age": 1}', rows)
    assert "income" in refusal("explain", model, '{"age": 1, "debt": 2}')
    assert "3" in refusal("explain", model, "[1, 2]")
