"""Probabilities of one dict or text: the pipeline's for a frame of this row, to the last bit, without a frame."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from wald import EarlyExitClassifier, Planner
from wald.models.own_links import link_of_one

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "city": pd.Series(RNG.choice([*(f"town {i}" for i in range(30)), "Köln", ""], N), dtype="str"),
        "level": pd.Series(RNG.choice(np.array(["low", "high", None], dtype=object), N), dtype=object),
        "month": RNG.integers(1, 13, N),
        "price": np.exp(RNG.normal(size=N)),
        "gap": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
    }
)
Y = (FRAME["price"] + (FRAME["level"] == "low") + 0.1 * FRAME["month"] + RNG.normal(size=N) > 2.4).to_numpy()
THREE = np.digitize(FRAME["price"] + 0.1 * FRAME["month"], [1.2, 2.2])
RECORDS: list[dict[str, Any]] = FRAME.head(25).to_dict("records")
WORDS = [f"word{i}" for i in range(60)]
POSTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 80))) for _ in range(200)]
TOPICS = np.arange(200) % 3


def front(encoder: Any, **options: Any) -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [("texts", encoder, ["city", "level"]), ("numbers", numbers, ["month", "price", "gap"])]
    return ColumnTransformer(parts, **options)


def one_hot(**options: Any) -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", **options)


def ordinal() -> OrdinalEncoder:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)


def lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=10, min_child_samples=5, verbose=-1, n_jobs=1)


def xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=10, n_jobs=1)


PIPELINES: dict[str, Callable[[], Any]] = {
    "sparse": lambda: make_pipeline(front(one_hot(), sparse_threshold=1), LogisticRegression()),
    "dense": lambda: make_pipeline(front(one_hot(), sparse_threshold=0), LogisticRegression()),
    "selected": lambda: make_pipeline(front(one_hot(), sparse_threshold=1), VarianceThreshold(), LogisticRegression()),
    "scaled": lambda: make_pipeline(front(one_hot(), sparse_threshold=0), MaxAbsScaler(), LogisticRegression()),
    "weights": lambda: make_pipeline(front(one_hot(), transformer_weights={"texts": 0.3}), LogisticRegression()),
    "targets": lambda: make_pipeline(front(TargetEncoder()), LogisticRegression(fit_intercept=False)),
    "stochastic": lambda: make_pipeline(front(one_hot()), SGDClassifier(loss="modified_huber", random_state=0)),
    "lightgbm": lambda: make_pipeline(front(ordinal()), lightgbm()),
    "xgboost": lambda: make_pipeline(front(ordinal()), xgboost()),
    "histograms": lambda: make_pipeline(
        front(one_hot(sparse_output=False)), HistGradientBoostingClassifier(max_iter=10)
    ),
    "sparse, then scaled": lambda: make_pipeline(
        front(one_hot(), sparse_threshold=1), MaxAbsScaler(), LogisticRegression()
    ),
    "forest": lambda: make_pipeline(front(ordinal()), RandomForestClassifier(10, random_state=0)),
}
#: Whose rows become frames.
AS_THEY_ARE = ["selected", "sparse, then scaled"]


def of_one(pipeline: Any, record: dict[str, Any]) -> Any:
    """What a pipeline answers for a frame of one row, which has the dtypes of the rows of fit."""
    row = pd.DataFrame({name: pd.Series([record[name]], dtype=FRAME[name].dtype) for name in FRAME})
    return pipeline.predict_proba(row)[0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_dict_has_the_probabilities_of_its_frame(name: str, y: Any) -> None:
    pipeline = PIPELINES[name]().fit(FRAME, y)
    fast = EarlyExitClassifier(pipeline, risk=0).fit()
    quick = fast.compiled_plan_.proba_one
    unknown = RECORDS[0] | {"city": "elsewhere", "gap": None, "month": 77}
    for record in [*RECORDS, unknown, dict(reversed(RECORDS[1].items()))]:
        expected, found = of_one(pipeline, record), fast.predict_proba_one(record)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        if name not in AS_THEY_ARE:
            np.testing.assert_array_equal(quick(record), expected)  # without a frame


def test_dicts_for_a_pipeline_of_polars() -> None:
    rows = pl.DataFrame(FRAME.to_dict("list"), strict=False)
    pipeline = make_pipeline(front(one_hot()), LogisticRegression()).fit(rows, Y)
    fast = EarlyExitClassifier(pipeline, risk=0).fit(rows)
    for i, record in enumerate(rows.head(20).to_dicts()):
        np.testing.assert_array_equal(fast.compiled_plan_.proba_one(record), pipeline.predict_proba(rows[i])[0])


@pytest.mark.parametrize("y", [TOPICS == 1, TOPICS], ids=["two", "three"])
@pytest.mark.parametrize(
    "vectorizer",
    [
        TfidfVectorizer(),
        TfidfVectorizer(dtype=np.float32),
        CountVectorizer(ngram_range=(1, 2)),
        HashingVectorizer(n_features=256),
    ],
    ids=["words", "single", "pairs", "hashed"],
)
def test_a_text_has_the_probabilities_of_the_pipeline(vectorizer: Any, y: Any) -> None:
    pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(POSTS, y)
    fast = EarlyExitClassifier(pipeline, risk=0).fit()
    for text in [*POSTS[:20], "", "Ünknown wørds ΣΑΣ", "\0", "x" * 10_000]:
        expected, found = pipeline.predict_proba([text])[0], fast.predict_proba_one(text)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        if fast.compiled_plan_.model.texts.replays:
            np.testing.assert_array_equal(fast.compiled_plan_.proba_one(text), expected)


def test_what_is_not_read_here_goes_to_the_pipeline() -> None:
    strict = make_pipeline(front(OneHotEncoder()), LogisticRegression()).fit(FRAME, Y)
    fast = EarlyExitClassifier(FrozenEstimator(strict), risk=0).fit()
    for bad, words in (
        ({"city": "elsewhere"}, "unknown categories"),
        ({"price": math.inf}, "infinity"),
        ({"price": "dear"}, "dear"),
        ({"more": 1}, "'more'"),
    ):
        with pytest.raises(ValueError, match=words):
            fast.predict_proba_one(RECORDS[0] | bad)
    with pytest.raises(ValueError, match="'city'"):
        fast.predict_proba_one({name: value for name, value in RECORDS[0].items() if name != "city"})
    listed = fast.predict_proba_one(list(RECORDS[0].values()))
    np.testing.assert_array_equal(listed, fast.predict_proba_one(RECORDS[0]))


def test_nan_in_a_column_without_an_imputer_is_the_models_to_refuse() -> None:
    parts = [("texts", one_hot(), ["city"]), ("numbers", StandardScaler(), ["price", "month"])]
    rows = FRAME[["city", "price", "month"]]
    fast = EarlyExitClassifier(make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(rows, Y), risk=0).fit()
    row = {"city": "Köln", "price": 1.5, "month": 3}
    assert fast.compiled_plan_.proba_one(row) is not None
    for missing in (None, math.nan):
        assert fast.compiled_plan_.proba_one(row | {"price": missing}) is None
        with pytest.raises(ValueError, match="NaN"):
            fast.predict_proba_one(row | {"price": missing})


def test_copies_answer_alone() -> None:
    pipeline = PIPELINES["sparse"]().fit(FRAME, Y)
    fast = EarlyExitClassifier(pipeline, risk=0).fit()
    expected = fast.predict_proba_one(RECORDS[0])
    for other in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast), fast.watched(0.5).unwatched()):
        np.testing.assert_array_equal(other.predict_proba_one(RECORDS[0]), expected)
    expected[:] = -1  # the caller's own
    assert fast.predict_proba_one(RECORDS[0])[0] >= 0


def test_links_of_models_that_others_have_made() -> None:
    class Own(LogisticRegression):
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X) ** 2

    X = np.random.default_rng(0).normal(size=(90, 3))
    assert link_of_one(Own().fit(X, TOPICS[:90]), 3, np.float64) is None
    huber = SGDClassifier(loss="modified_huber", random_state=0).fit(X, TOPICS[:90])
    scores = huber.decision_function(X)
    link = link_of_one(huber, 3, np.float64)
    assert link is not None
    for i, expected in enumerate(huber.predict_proba(X)):
        np.testing.assert_array_equal(link(scores[i : i + 1]), expected)
    assert link_of_one(SGDClassifier().fit(X, TOPICS[:90]), 3, np.float64) is None


class Text(str):
    """A subclass without an equality of its own."""


#: Values that are unknown categories, or the same as others; and numbers in other clothes.
ODD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"city": b"Ulm"}, {"city": "elsewhere"}),
    ({"city": Text("town 3")}, {"city": "town 3"}),
    ({"city": np.str_("town 3")}, {"city": "town 3"}),
    ({"city": "\ud800"}, {"city": "elsewhere"}),
    ({"city": "x" * 1_000_000}, {"city": "elsewhere"}),
    ({"level": pd.NA}, {"level": None}),
    ({"level": math.nan}, {"level": None}),
    ({"gap": pd.NA}, {"gap": None}),
    ({"month": np.int8(3)}, {"month": 3}),
    ({"month": True}, {"month": 1}),
    ({"month": 3.0}, {"month": 3}),
    ({"month": None}, {"month": math.nan}),
    ({"price": np.float32(1.5)}, {"price": 1.5}),
    ({"price": -0.0}, {"price": 0}),
    ({"price": 2**53 + 1}, {"price": float(2**53)}),
]


@pytest.mark.parametrize("name", ["sparse", "lightgbm"])
def test_odd_values_alone_and_among_others(name: str) -> None:
    fast = EarlyExitClassifier(PIPELINES[name]().fit(FRAME, Y), risk=0).fit()
    for odd, usual in ODD:
        given, expected = RECORDS[0] | odd, fast.predict_proba_one(RECORDS[0] | usual)
        np.testing.assert_array_equal(fast.predict_proba_one(given), expected, err_msg=str(odd)[:60])
        several = fast.predict_proba_records([RECORDS[1], given, RECORDS[2]])
        np.testing.assert_allclose(several[1], expected, rtol=1e-13, err_msg=str(odd)[:60])
        label = fast.predict_one(RECORDS[0] | usual)
        assert fast.predict_one(given) == fast.predict_records([given])[0] == label
        assert fast.predict_one(given, details=True).labels.tolist() == [label]


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_what_stands_in_a_cell_is_named_with_its_place(method: str) -> None:
    fast = EarlyExitClassifier(PIPELINES["sparse"]().fit(FRAME, Y), risk=0).fit()
    one, many = getattr(fast, f"{method}_one"), getattr(fast, f"{method}_records")
    for bad, words in (
        ({"city": ["Ulm"]}, r"'city' \(0\) of {} is \['Ulm'\], a list"),
        ({"city": {"Ulm": 1}}, r"'city' \(0\) of {} is .*, a dict"),
        ({"price": "dear"}, r"'price' \(3\) of {} is 'dear', a str"),
        ({"price": [1.5]}, r"'price' \(3\) of {} is \[1.5\], a list"),
        ({"month": 10**400}, r"'month' \(2\) of {} is 1000.*, a int"),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError), match=words.format("row 0")):
            one(RECORDS[0] | bad)
        with pytest.raises((TypeError, ValueError, OverflowError), match=words.format("record 1")):
            many([RECORDS[0], RECORDS[0] | bad])


def test_what_is_no_text_is_left_to_the_vectorizer() -> None:
    fast = EarlyExitClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(POSTS, TOPICS), risk=0).fit()
    for method in (fast.predict_one, fast.predict_proba_one):
        for value in (None, math.nan, 3, ["word1"]):
            with pytest.raises((AttributeError, TypeError, ValueError), match=r"document|attribute|texts"):
                method(value)
    np.testing.assert_array_equal(fast.predict_proba_one(b"word1 word2"), fast.predict_proba_one("word1 word2"))
    np.testing.assert_array_equal(fast.predict_proba_one("word1 \ud800"), fast.predict_proba_one("word1"))


def test_details_of_one_row_are_those_of_the_table() -> None:
    posts = EarlyExitClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(POSTS, TOPICS), risk=0).fit()
    rows = EarlyExitClassifier(PIPELINES["histograms"]().fit(FRAME, Y), risk=0).fit()
    for fast, given, table in ((posts, POSTS[:9], POSTS[:9]), (rows, RECORDS[:9], FRAME[:9])):
        many, watched = fast.predict(table, details=True), fast.watched(1.0)
        for i, x in enumerate(given):
            one = fast.predict_one(x, details=True)
            for name in ("labels", "costs", "stages", "status"):
                assert getattr(one, name)[0] == getattr(many, name)[i]
            assert watched.predict_one(x) == many.labels[i]
        assert watched.monitor_.n_rows == watched.monitor_.as_dict()["audits"] == 9


def test_early_answers_of_one_dict_or_text_have_the_ledger_of_the_table() -> None:
    rng = np.random.default_rng(1)
    n, planner = 5000, Planner(cost="units")
    rows = pd.DataFrame({"city": pd.Series(rng.choice(["Ulm", "Bonn", "Jena"], n), dtype=object)})
    rows = rows.assign(**{f"x{i}": rng.normal(size=n) for i in range(6)})
    y = (3 * rows["x0"] + rows["x1"] + (rows["city"] == "Ulm") > 0.5).to_numpy()
    parts = [("texts", one_hot(), ["city"]), ("numbers", StandardScaler(), [f"x{i}" for i in range(6)])]
    columns = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(rows[:1000], y[:1000])
    leaning = rng.random(2500) < 0.5
    words = np.array([*(f"good{i}" for i in range(9)), *(f"bad{i}" for i in range(9)), *(f"any{i}" for i in range(99))])
    shares = {lean: np.r_[np.full(9, 2 + 2 * lean), np.full(9, 4 - 2 * lean), np.full(99, 1)] for lean in (0, 1)}
    posts = [" ".join(rng.choice(words, 120, p=shares[int(lean)] / shares[int(lean)].sum())) for lean in leaning]
    texts = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(posts[:1000], leaning[:1000])
    for pipeline, given, table in (
        (columns, rows[4800:].to_dict("records"), rows[4800:]),
        (texts, [*posts[2400:], ""], [*posts[2400:], ""]),
    ):
        fit = rows[1000:4800] if pipeline is columns else posts[1000:2400]
        fast = EarlyExitClassifier(pipeline, risk=0.1, planner=planner, random_state=0).fit(fit)
        many = fast.predict(table, details=True)
        assert len(np.unique(many.stages)) > 2
        for i, x in enumerate(given):
            one = fast.predict_one(x, details=True)
            for name in ("labels", "costs", "stages", "status"):
                assert getattr(one, name)[0] == getattr(many, name)[i]
