"""Containers of texts, and what is no text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from text.pipelines import texts

from wald import EarlyExitClassifier

ROWS, Y = texts(300, 4, 3)

CONTAINERS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "numpy str": np.array,
    "numpy object": lambda t: np.array(t, dtype=object),
    "numpy StringDType": lambda t: np.array(t, dtype=np.dtypes.StringDType()),
    "pandas object, another index": lambda t: pd.Series(t, dtype=object, index=np.arange(len(t))[::-1]),
    "pandas str": lambda t: pd.Series(t, dtype="str"),
    "pandas string": lambda t: pd.Series(t, dtype="string"),
    "pandas Arrow": lambda t: pd.Series(t, dtype="string[pyarrow]"),
    "pandas category": lambda t: pd.Series(t, dtype="category"),
    "pandas index": lambda t: pd.Index(t),
    "a slice of pandas": lambda t: pd.Series(["x", *t, "y"])[1:-1],
    "polars": lambda t: pl.Series(t, dtype=pl.String),
    "polars category": lambda t: pl.Series(t, dtype=pl.Categorical),
    "Arrow": lambda t: pa.array(t, type=pa.string()),
    "Arrow, chunks": lambda t: pa.chunked_array([t[:100], t[100:]], type=pa.large_string()),
    "list of numpy str": lambda t: [np.str_(text) for text in t],
}


@pytest.fixture(scope="module")
def model() -> Pipeline:
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(ROWS, Y)


@pytest.fixture(scope="module")
def fast(model: Pipeline) -> EarlyExitClassifier:
    return EarlyExitClassifier(model, risk=0).fit()


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers(kind: str, model: Pipeline, fast: EarlyExitClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, own, probabilities = CONTAINERS[kind](ROWS), model.predict(ROWS), model.predict_proba(ROWS)
    monkeypatch.setattr(model, "predict", None)  # the engine answers
    np.testing.assert_array_equal(fast.predict(rows), own)
    np.testing.assert_array_equal(fast.predict(rows, check_input=False), own)
    np.testing.assert_array_equal(fast.predict_proba(rows), probabilities)
    assert fast.predict(rows[:0]).shape == (0,)
    monkeypatch.undo()
    given = EarlyExitClassifier(model, risk=0, random_state=0).fit(rows)
    np.testing.assert_array_equal(given.predict(rows), own)


def test_one_text(model: Pipeline, fast: EarlyExitClassifier) -> None:
    for text in ("", "alpha word1", "x" * 100_000, np.str_("beta word2"), "\ud800 word1", b"alpha word1"):
        assert fast.predict_one(text) == model.predict([text])[0]
        np.testing.assert_array_equal(fast.predict_proba_one(text), model.predict_proba([text])[0])
    label, cost = fast.predict_one("alpha word1", return_cost=True)
    assert label == fast.predict_one("alpha word1")
    assert cost == fast.plan_.full_cost
    assert fast.predict_one("alpha word1", details=True).labels.tolist() == [label]


def test_a_watched_classifier(fast: EarlyExitClassifier) -> None:
    watched = fast.watched(1.0)
    np.testing.assert_array_equal(watched.predict(ROWS), fast.predict(ROWS))
    assert watched.predict_one(ROWS[0]) == fast.predict_one(ROWS[0])
    assert watched.monitor_.n_rows == len(ROWS) + 1


def test_bytes_are_decoded_as_the_vectorizer_says() -> None:
    rows = [text.encode() for text in ROWS]
    model = make_pipeline(TfidfVectorizer(decode_error="replace"), LogisticRegression()).fit(ROWS, Y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    mixed = [row if i % 3 else text for i, (row, text) in enumerate(zip(rows, ROWS, strict=True))] + [b"\xff word1"]
    np.testing.assert_array_equal(fast.predict(mixed), model.predict(mixed))
    np.testing.assert_array_equal(fast.predict_proba(mixed), model.predict_proba(mixed))


BAD = {
    "None": (None, "row 2 is None"),
    "NaN": (np.nan, "row 2 is nan"),
    "NA": (pd.NA, "row 2 is <NA>"),
    "a number": (7, "row 2 is 7"),
    "a list": (["alpha"], r"row 2 is \['alpha'\]"),
    "bytes that are no UTF-8": (b"\xff", "can't decode"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("container", [list, lambda t: np.array([*t, None], dtype=object)[:-1], pd.Series])
def test_what_is_no_text(kind: str, container: Any, model: Pipeline, fast: EarlyExitClassifier) -> None:
    value, words = BAD[kind]
    rows = container(["alpha", "beta", value, "word1"])
    with pytest.raises((AttributeError, ValueError, TypeError)) as own:
        model.predict(rows)
    with pytest.raises(own.type, match=words if container is list else None):
        fast.predict(rows)
    with pytest.raises(own.type):
        fast.predict_proba(rows)
    if container is list:
        with pytest.raises((AttributeError, ValueError, TypeError)):
            fast.predict_one(value)


def test_what_is_no_list_of_texts(model: Pipeline, fast: EarlyExitClassifier) -> None:
    for X in ("alpha", b"alpha"):
        with pytest.raises(ValueError, match="for one text use predict_one"):
            fast.predict(X)
        with pytest.raises(ValueError, match="for one text use predict_one"):
            fast.predict_proba(X)
    frame = pd.DataFrame({"text": ROWS})
    for X in (frame, pl.DataFrame({"text": ROWS}), pa.table({"text": ROWS})):
        for method in (fast.predict, fast.predict_proba, fast.decision_function):
            with pytest.raises(TypeError, match="pass the column that holds the texts"):
                method(X)
        with pytest.raises(TypeError, match="pass the column that holds the texts"):
            EarlyExitClassifier(model, risk=0).fit(X)
    for X in (np.array([["alpha"], ["beta"]]), np.array([["alpha"], ["beta"]], dtype=object)):
        with pytest.raises(AttributeError):
            model.predict(X)
        with pytest.raises(AttributeError):
            fast.predict(X)
    with pytest.raises(ValueError, match=r"0 sample"):
        fast.predict_proba([])  # as scikit-learn


@pytest.mark.parametrize("row", [None, 7, ["alpha"], {"a": 1}, pd.NA], ids=repr)
def test_no_texts_are_bad_values_through_every_door(row: Any, fast: EarlyExitClassifier) -> None:
    for ask, X in ((fast.predict, ["alpha", row]), (fast.predict_one, row), (fast.predict_proba_one, row)):
        with pytest.raises(ValueError, match=r"^X must hold texts: row [01] is "):
            ask(X)
    for X in (np.array([["alpha"]]), np.array("alpha"), (text for text in ["alpha"]), 7):
        with pytest.raises((ValueError, TypeError), match=r"^X must (hold texts, as|be) a list or a column\. Got "):
            fast.predict(X)


@pytest.mark.parametrize("row", [None, 7, float("nan")], ids=repr)
def test_a_tokenizer_of_ones_own_gets_no_other_words(row: Any) -> None:
    words = CountVectorizer(tokenizer=str.split, token_pattern=None)
    model = make_pipeline(words, LogisticRegression()).fit(ROWS, Y)
    fast = EarlyExitClassifier(model, risk=0).fit(ROWS)
    for ask in (fast.predict, fast.predict_proba):
        with pytest.raises(ValueError, match=r"^X must hold texts: row 1 is "):
            ask(["alpha", row])
