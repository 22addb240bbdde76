"""Columns of categories and of documents: the answers are the pipeline's own for rows as `fit` saw them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import wald
import wald.dask
from wald.clusters import Job, ship

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

N = 300
RNG = np.random.default_rng(0)
CITY = RNG.choice(np.array(["Ulm", "Köln", "", None], dtype=object), N)
PRICE = RNG.normal(size=N)
Y = np.where(2 * (CITY == "Ulm") - 3 * np.equal(CITY, None) + PRICE > 0, "yes", "no")
SEEN = {
    "objects": pd.DataFrame({"city": pd.Series(CITY, dtype=object), "price": PRICE}),
    "str": pd.DataFrame({"city": pd.Series(CITY, dtype="str"), "price": PRICE}),
    "category": pd.DataFrame({"city": pd.Series(CITY, dtype=object).astype("category"), "price": PRICE}),
}
SERVED = SEEN | {"string": SEEN["objects"].astype({"city": "string"})}
OTHERS = {"handle_unknown": "use_encoded_value", "unknown_value": -2}
POSTS = [" ".join(RNG.choice([f"word{i}" for i in range(40)], 30)) for _ in range(90)]
NOTHING = {"columns": None, "keep": None, "return_cost": True, "return_stage": True, "budget": None}


def model_of(seen: str, linear: bool = True) -> tuple[Any, wald.EarlyExitClassifier]:
    encoder = OneHotEncoder(handle_unknown="ignore") if linear else OrdinalEncoder(**OTHERS)
    front = ColumnTransformer([("texts", encoder, ["city"]), ("numbers", StandardScaler(), ["price"])])
    last = LogisticRegression() if linear else HistGradientBoostingClassifier(max_iter=8, random_state=0)
    pipeline = make_pipeline(front, last).fit(SEEN[seen], Y)
    return pipeline, wald.EarlyExitClassifier(pipeline, risk=0).fit(SEEN[seen])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("linear", [True, False], ids=["linear", "tree"])
@pytest.mark.parametrize("seen", SEEN)
def test_missing_texts_are_those_that_fit_saw(seen: str, linear: bool) -> None:
    pipeline, fast = model_of(seen, linear)
    shipment, received = ship(fast)
    own, shares = pipeline.predict(SEEN[seen]), pipeline.predict_proba(SEEN[seen])
    assert len(np.unique(own[np.equal(CITY, None)])) >= 1
    job = Job.of(received, ["more", "price", "city"], proba=True, **NOTHING)
    for rows in SERVED.values():
        found = job.answer_frame(shipment, rows.assign(more=1))
        assert found["label"].tolist() == own.tolist()
        np.testing.assert_allclose(found[["proba_no", "proba_yes"]], shares, rtol=1e-13)
        assert found["city"].dtype == rows["city"].dtype  # what is kept stays as it was
    texts = pa.array(CITY, pa.string())
    for column in (texts, texts.cast(pa.large_string()), texts.cast(pa.string_view()), texts.dictionary_encode()):
        table = pa.table({"price": PRICE, "city": column, "more": pa.array(range(N))})
        answers = job.answer_arrow(shipment, table)
        assert answers["label"].to_pylist() == own.tolist()
        np.testing.assert_allclose(answers["proba_yes"].to_numpy(), shares[:, 1], rtol=1e-13)
        assert answers["city"].type == column.type


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("converts", [True, False])
@pytest.mark.parametrize("seen", SEEN)
def test_dask_frames_of_categories(seen: str, converts: bool) -> None:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    pipeline, fast = model_of(seen)
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": converts}):
        for rows in SEEN.values():
            found = wald.dask.predict(frames.from_pandas(rows, npartitions=3), fast).rows.compute()
            assert found["label"].tolist() == pipeline.predict(SEEN[seen]).tolist()


def documents() -> tuple[Any, wald.EarlyExitClassifier]:
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(POSTS, np.arange(90) % 3)
    return pipeline, wald.EarlyExitClassifier(pipeline, risk=0).fit()


def test_columns_of_documents() -> None:
    pipeline, fast = documents()
    shipment, received = ship(fast)
    rows = pd.DataFrame({"id": range(90), "post": POSTS})
    own, shares = pipeline.predict(POSTS), pipeline.predict_proba(POSTS)
    job = Job.of(received, rows.columns, proba=True, **NOTHING | {"columns": ["post"]})
    for kind in (object, "str", "string", "category"):
        found = job.answer_frame(shipment, rows.astype({"post": kind}))
        assert found["label"].tolist() == own.tolist()
        np.testing.assert_array_equal(found[["proba_0", "proba_1", "proba_2"]], shares)
        assert job.answer_frame(shipment, rows[:0].astype({"post": kind})).shape == (0, 8)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        table = pa.table({"post": pa.array(POSTS).cast(kind), "id": pa.array(range(90))})
        assert job.answer_arrow(shipment, table)["label"].to_pylist() == own.tolist()
    assert Job.of(received, ["post"], **NOTHING).columns == ("post",)
    assert Job.of(received, ["id", "post"], **NOTHING | {"keep": ["id"]}).columns == ("post",)
    with pytest.raises(ValueError, match="one column of texts, and the data set has 'id', 'post'"):
        Job.of(received, ["id", "post"], **NOTHING)
    with pytest.raises((AttributeError, ValueError), match=r"row 3 is (nan|None)"):
        job.answer_frame(shipment, rows.assign(post=rows["post"].where(rows["id"] != 3)))


def test_dask_series_and_frames_of_documents() -> None:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    pipeline, fast = documents()
    own = pipeline.predict(POSTS).tolist()
    with dask.config.set(scheduler="synchronous"):
        for series in (pd.Series(POSTS), pd.Series(POSTS, name="post", dtype="category")):
            found = wald.dask.predict(frames.from_pandas(series, npartitions=3), fast).rows.compute()
            assert found["label"].tolist() == own
            assert found.columns[0] == (series.name or "text")
        rows = frames.from_pandas(pd.DataFrame({"id": range(90), "post": POSTS}), npartitions=3)
        assert wald.dask.predict(rows, fast, columns=["post"]).rows.compute()["label"].tolist() == own


def test_rows_that_are_dicts_are_no_table() -> None:
    dicts = [{"a": 1.0}, {"b": 2.0}] * 20
    pipeline = make_pipeline(DictVectorizer(), LogisticRegression()).fit(dicts, [0, 1] * 20)
    fast = wald.EarlyExitClassifier(pipeline, risk=0).fit()
    with pytest.raises(TypeError, match="dicts or lists"):
        Job.of(fast, ["a", "b"], **NOTHING)
