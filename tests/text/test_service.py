"""Texts in the bodies of requests."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from text.pipelines import texts

from wald import EarlyExitClassifier
from wald.early_exit.compiled.compiled_plan import CompiledPlan
from wald.serving import create_app


def ask(app: Any, path: str, body: Any) -> Any:
    async def once() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://service") as asking:
            return await asking.post(path, json=body)

    return asyncio.run(once())


@pytest.mark.parametrize("window", [0.0, 0.002])
def test_texts_are_answered_together(window: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, y = texts(200, n_classes=3)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows, y)
    app = create_app(EarlyExitClassifier(model, risk=0).fit(), batch_window=window)
    own = model.predict(rows).tolist()
    assert ask(app, "/predict", {"row": rows[3]}).json() == {"label": own[3]}
    found = ask(app, "/predict?proba=true", {"rows": rows[:5]}).json()
    assert found["labels"] == own[:5]
    assert found["proba"] == model.predict_proba(rows[:5]).tolist()
    monkeypatch.setattr(CompiledPlan, "predict_one", None)
    assert ask(app, "/predict", {"rows": rows}).json() == {"labels": own}
    assert ask(app, "/predict", {"rows": []}).json() == {"labels": []}


def test_what_is_no_text_is_said() -> None:
    rows, y = texts(200)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows, y)
    app = create_app(EarlyExitClassifier(model, risk=0).fit())
    for body in ({"row": 7}, {"row": None}, {"rows": [rows[0], 7]}, {"rows": [None]}, {"rows": "alpha"}):
        answer = ask(app, "/predict", body)
        assert answer.status_code == 400, answer.text
        assert "text" in answer.text or "list" in answer.text
