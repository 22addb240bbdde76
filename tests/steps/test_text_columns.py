"""Columns of texts beside others in a ColumnTransformer, in front of linear models: answers are the pipeline's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from wald import EarlyExitClassifier
from wald.early_exit import Status
from wald.models import decompose
from wald.steps import RawColumns
from wald.steps.text_columns import TextColumn

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = (
    *("ball", "game", "team", "win", "orbit", "moon", "launch", "disk", "drive", "driver"),
    *("of", "the", "and", "to", "a", "in", "straße", "İzmir", "café", "good", "bad"),
)


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)

    def texts(longest: int) -> pd.Series[str]:
        words = [" ".join(rng.choice(WORDS, rng.integers(0, longest))) for _ in range(n)]
        return pd.Series(words, dtype=object)

    return pd.DataFrame(
        {
            "title": texts(6),
            "body": texts(40),
            "kind": pd.Series(rng.choice(["a", "b", "c"], n), dtype=object),
            "size": rng.normal(10, 3, n),
            "count": rng.integers(0, 9, n),
        }
    )


def labels(F: pd.DataFrame, n_classes: int) -> Any:
    score = F["body"].str.count("ball|game|team") - F["body"].str.count("moon|orbit|launch") + 0.2 * F["size"]
    score = score + (F["kind"] == "a") + F["title"].str.count("good")
    return np.array(["no", "yes", "zz"])[
        np.searchsorted(np.quantile(score, [0.5, 0.8][: n_classes - 1]), score.to_numpy())
    ]


KIND = ("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"])
SIZE = ("size", StandardScaler(), ["size", "count"])
USUAL = [("title", TfidfVectorizer(), "title"), KIND, SIZE, ("body", TfidfVectorizer(), "body")]

FRONTS: dict[str, Callable[[], ColumnTransformer]] = {
    "usual": lambda: ColumnTransformer(USUAL),
    "sparse": lambda: ColumnTransformer(USUAL, sparse_threshold=1.0),
    "dense": lambda: ColumnTransformer(USUAL, sparse_threshold=0.0),
    "weights": lambda: ColumnTransformer(USUAL, transformer_weights={"body": 3.0, "kind": 0.5, "title": -0.1}),
    "texts alone": lambda: ColumnTransformer([USUAL[0], USUAL[3]]),
    "remainder": lambda: ColumnTransformer(
        [("body", CountVectorizer(ngram_range=(1, 2)), "body"), KIND, ("title", "drop", ["title"])],
        remainder="passthrough",
    ),
    "by number": lambda: ColumnTransformer([("body", CountVectorizer(binary=True), 1), ("size", MaxAbsScaler(), [3])]),
    "hashed": lambda: ColumnTransformer([("body", HashingVectorizer(n_features=64), "body"), KIND, SIZE]),
    "characters": lambda: ColumnTransformer(
        [("title", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), sublinear_tf=True), "title"), SIZE]
    ),
    "in a pipeline": lambda: ColumnTransformer(
        [("body", make_pipeline(CountVectorizer(), TfidfTransformer(), SelectKBest(k=8)), "body"), KIND]
    ),
    "components": lambda: ColumnTransformer(
        [("body", make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0)), "body"), KIND, SIZE]
    ),
    "union": lambda: ColumnTransformer(
        [
            (
                "body",
                FeatureUnion(
                    [("w", TfidfVectorizer()), ("c", TfidfVectorizer(analyzer="char"))], transformer_weights={"c": 2.0}
                ),
                "body",
            ),
            SIZE,
        ]
    ),
}
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "svc": LinearSVC,
    "sgd": lambda: SGDClassifier(random_state=0),
}


def require_texts(model: Any, n: int) -> None:
    step = decompose(model).preprocessing
    assert isinstance(step, RawColumns)
    assert len(step.text_columns) == n


def require_same(model: Any, fast: Any, X: Any) -> Any:
    found = fast.predict(X, details=True)
    np.testing.assert_array_equal(found.labels, model.predict(X))
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(fast, method)(X), getattr(model, method)(X))
    return found.status


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("front", FRONTS)
def test_answers_are_the_pipelines_own(front: str, model: str, n_classes: int) -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS[front](), MODELS[model]()).fit(F, labels(F, n_classes))
    require_texts(pipeline, 2 if front in ("usual", "sparse", "dense", "weights", "texts alone") else 1)
    fast, X = EarlyExitClassifier(pipeline, risk=0).fit(), rows(200, 1)
    X.loc[:3, "kind"] = "unknown"
    status = require_same(pipeline, fast, X)
    assert np.mean(status == Status.FULL) > 0.9
    own = pipeline.predict(X)
    assert [fast.predict_one(row) for row in X.head(20).to_dict("records")] == own[:20].tolist()


LATER: dict[str, list[Any]] = {
    "selector": [SelectKBest(k=10)],
    "selectors and scaler": [VarianceThreshold(), MaxAbsScaler(), SelectKBest(k=20)],
    "scaler": [StandardScaler(with_mean=False)],
    "components": [TruncatedSVD(5, random_state=0)],
}


@pytest.mark.parametrize("later", LATER)
def test_steps_behind(later: str) -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS["usual"](), *LATER[later], LogisticRegression()).fit(F, labels(F, 3))
    require_texts(pipeline, 2)
    assert np.mean(require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), rows(200, 1))) < 2


def containers(F: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    texts = ["title", "body", "kind"]
    lists = F.to_dict("list")
    return {
        "str": lambda: F.astype(dict.fromkeys(texts, "str")),
        "string": lambda: F.astype(dict.fromkeys(texts, "string")),
        "category": lambda: F.astype(dict.fromkeys(texts, "category")),
        "numpy strings": lambda: F.assign(body=[np.str_(text) for text in F["body"]]),
        "shuffled": lambda: F[F.columns[::-1]],
        "sliced": lambda: F.iloc[::-2],
        "polars": lambda: pl.DataFrame(lists),
        "polars categories": lambda: pl.DataFrame(lists).with_columns(pl.col("title").cast(pl.Categorical)),
        "pyarrow": lambda: pa.table(lists),
        "chunks": lambda: pa.concat_tables([pa.table(lists).slice(3, 20), pa.table(lists).slice(40)]),
        "objects": lambda: F.to_numpy(dtype=object),
        "bytes": lambda: F.assign(body=[text.encode() for text in F["body"]]),
        "some bytes": lambda: F.assign(body=[text.encode() if len(text) % 7 == 0 else text for text in F["body"]]),
        "None": lambda: F.assign(body=F["body"].where(F.index != 5, None)),
        "nan": lambda: F.assign(body=F["body"].where(F.index != 5, np.nan)),
        "pd.NA": lambda: F.assign(title=F["title"].where(F.index != 5, pd.NA)),
        "numbers": lambda: F.assign(title=1.0),
        "no column": lambda: F.drop(columns="body"),
        "infinity": lambda: F.assign(size=np.where(F.index == 5, np.inf, F["size"])),
        "half of a surrogate": lambda: F.assign(title=F["title"] + "\ud800 good"),
    }


def outcome(call: Callable[[Any], Any], X: Any) -> Any:
    try:
        return call(X).tolist()
    except Exception as error:
        return type(error)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("front", ["usual", "hashed", "by number"])
@pytest.mark.parametrize("container", containers(rows(0)))
def test_in_every_container(container: str, front: str) -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS[front](), LogisticRegression()).fit(F, labels(F, 2))
    fast, X = EarlyExitClassifier(pipeline, risk=0).fit(F), containers(rows(80, 1))[container]()
    assert outcome(fast.predict, X) == outcome(pipeline.predict, X)


def test_arrays_of_objects() -> None:
    F = rows(300)
    X = F[["body", "size"]].to_numpy(dtype=object)
    front = ColumnTransformer([("body", TfidfVectorizer(), 0), ("size", StandardScaler(), [1])])
    pipeline = make_pipeline(front, LogisticRegression()).fit(X, labels(F, 3))
    require_texts(pipeline, 1)
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(X), X)


def test_columns_of_dicts() -> None:
    F = rows(300)
    F["tags"] = [{"kind": kind, "size": size} for kind, size in zip(F["kind"], F["size"], strict=True)]
    front = ColumnTransformer([("tags", DictVectorizer(), "tags"), ("body", CountVectorizer(), "body")])
    pipeline = make_pipeline(front, LogisticRegression()).fit(F, labels(F, 2))
    require_texts(pipeline, 2)
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), F)


class OwnVectorizer(TfidfVectorizer):
    """A subclass, which may do anything."""


def sentences(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    "vectorizer",
    [OwnVectorizer(), TfidfVectorizer(analyzer=sentences), TfidfVectorizer(preprocessor=str.upper, lowercase=False)],
)
def test_what_is_not_known_stays_as_it_is(vectorizer: Any) -> None:
    F = rows(300)
    front = ColumnTransformer([("title", vectorizer, "title"), KIND, ("body", TfidfVectorizer(), "body")])
    pipeline = make_pipeline(front, LogisticRegression()).fit(F, labels(F, 2))
    require_texts(pipeline, 1)
    require_same(pipeline, EarlyExitClassifier(pipeline, risk=0).fit(F), rows(50, 1))


def test_a_vectorizer_that_gets_a_table_reads_its_names() -> None:
    F = rows(300)
    front = ColumnTransformer([("size", StandardScaler(), ["size"]), KIND])
    pipeline = make_pipeline(front, LogisticRegression()).fit(F, labels(F, 2))
    front.transformers_[1] = ("kind", TfidfVectorizer().fit(F["kind"] + " word"), ["kind"])
    step = decompose(pipeline).preprocessing
    assert not any(isinstance(part, TextColumn) for part in getattr(step, "parts", []))


def test_frames_of_the_transformers_stay_in_front() -> None:
    F = rows(300)
    front = FRONTS["dense"]()
    front.set_params(title=CountVectorizer(), body="drop").fit(F)
    pipeline = make_pipeline(front, LogisticRegression()).fit(F, labels(F, 2))
    require_texts(pipeline, 1)
    front.named_transformers_["title"]._sklearn_output_config = {"transform": "pandas"}
    assert not getattr(decompose(pipeline).preprocessing, "text_columns", [])


@pytest.mark.parametrize("threshold", [0.0, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_at_a_tie_are_the_pipelines_own(n_classes: int, threshold: float) -> None:
    F = rows(300)
    front = FRONTS["usual"]().set_params(sparse_threshold=threshold)
    pipeline = make_pipeline(front, LinearSVC()).fit(F, labels(F, n_classes))
    scores = pipeline.decision_function(F)
    # each score of this row becomes nearly 0
    pipeline[-1].intercept_ = pipeline[-1].intercept_ - scores[7]
    fast = EarlyExitClassifier(pipeline, risk=0).fit()
    found = fast.predict(F, details=True)
    np.testing.assert_array_equal(found.labels, pipeline.predict(F))
    assert found.status[7] == Status.HANDED_OVER
    assert np.count_nonzero(found.status == Status.HANDED_OVER) < 30
    assert fast.predict_one(F.iloc[7].to_dict()) == found.labels[7]


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("single", [False, True])
def test_scores_lie_within_their_bounds(front: str, single: bool) -> None:
    F = rows(300)
    F["size"] = (1e4 * F["size"]).astype(np.float32 if single else np.float64)
    pipeline = make_pipeline(FRONTS[front](), LogisticRegression()).fit(F, labels(F, 3))
    predictor = EarlyExitClassifier(pipeline, risk=0).fit().compiled_plan_._predictor
    scores, errors = predictor.full_scores(predictor.model.preprocessing.transform(predictor_source(F)))
    assert (np.abs(scores - pipeline.decision_function(F)) <= errors[:, None]).all()
    assert errors.max() < (0.01 if single else 1e-9)


def predictor_source(F: Any) -> Any:
    from wald.sources import source_of

    return source_of(F)


def test_the_vectorizers_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS["usual"](), LogisticRegression()).fit(F, labels(F, 2))
    fast, own = EarlyExitClassifier(pipeline, risk=0).fit(F), pipeline.predict(F)

    def fail(self: Any, X: Any) -> Any:
        raise AssertionError("called")

    monkeypatch.setattr(TfidfVectorizer, "transform", fail)
    np.testing.assert_array_equal(fast.predict(F), own)
    assert fast.predict_one(F.iloc[3].to_dict()) == own[3]


def test_texts_are_read_last_and_once_at_a_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    F = rows(3000)
    y = np.where(F["size"] + 0.05 * F["body"].str.count("ball") > 10.5, "yes", "no")
    front = ColumnTransformer([("body", TfidfVectorizer(), "body"), KIND, SIZE])
    pipeline = make_pipeline(front, LogisticRegression()).fit(F, y)
    fast = EarlyExitClassifier(pipeline, risk=0.05, random_state=0).fit(rows(3000, 1))
    X = rows(3000, 2)
    (texts,) = fast.compiled_plan_.model.preprocessing.text_columns
    read = list[int]()
    inner = texts._scorer.scores
    monkeypatch.setattr(
        texts._scorer, "scores", lambda some, n_threads=1: (read.append(len(some)), inner(some, n_threads))[1]
    )
    found = fast.predict(X, details=True)
    assert np.mean(found.labels != pipeline.predict(X)) < 0.08
    assert not fast.compiled_plan_.plan.evaluate_all
    assert 0 < sum(read) < 2000
    again = EarlyExitClassifier(pipeline, risk=0).fit().predict(X)
    np.testing.assert_array_equal(again, pipeline.predict(X))


def test_units_cost_what_the_user_says() -> None:
    F = rows(1500)
    pipeline = make_pipeline(FRONTS["usual"](), LogisticRegression()).fit(F, labels(F, 2))
    costs = {"title": 1.0, "body": 20.0, "kind": 0.1, "size": 0.1, "count": 0.1}
    fast = EarlyExitClassifier(pipeline, risk=0.1, random_state=0, feature_costs=costs).fit(rows(2000, 1))
    assert fast.compiled_plan_.plan.full_cost == pytest.approx(21.3)
    assert np.mean(fast.predict(F) != pipeline.predict(F)) < 0.15


def test_threads_give_the_same_answers() -> None:
    F = rows(500)
    pipeline = make_pipeline(FRONTS["usual"](), LinearSVC()).fit(F, labels(F, 3))
    one, two = (EarlyExitClassifier(pipeline, risk=0, n_jobs=n).fit().predict(F, details=True) for n in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.status, two.status)


def test_an_edited_vocabulary_is_noticed() -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS["usual"](), LogisticRegression()).fit(F, labels(F, 2))
    fast = EarlyExitClassifier(pipeline, risk=0).fit()
    pipeline[0].named_transformers_["body"].vocabulary_["ball"] = 0
    with pytest.raises(ValueError, match="vocabulary_ of TfidfVectorizer was changed"):
        fast.predict(F)


def test_pickles() -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS["union"](), LogisticRegression()).fit(F, labels(F, 2))
    fast = pickle.loads(pickle.dumps(EarlyExitClassifier(pipeline, risk=0).fit()))
    np.testing.assert_array_equal(fast.predict(F), pipeline.predict(F))


def test_a_calibrated_pipeline() -> None:
    F = rows(300)
    y = labels(F, 2)
    inner = make_pipeline(FRONTS["usual"](), LinearSVC()).fit(F, y)
    model = CalibratedClassifierCV(FrozenEstimator(inner), ensemble=False).fit(F, y)
    require_same(model, EarlyExitClassifier(model, risk=0).fit(), rows(100, 1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_text_is_one_part_of_an_explanation(n_classes: int) -> None:
    F = rows(300)
    pipeline = make_pipeline(FRONTS["usual"](), LogisticRegression()).fit(F, labels(F, n_classes))
    explained = EarlyExitClassifier(pipeline, risk=0).fit(F).explain(F.iloc[4].to_dict())
    assert sorted(part.name for part in explained.parts) == ["body", "count", "kind", "size", "title"]
    total = explained.intercept + sum(part.adds for part in explained.parts)
    np.testing.assert_allclose(total, np.ravel(pipeline.decision_function(F.iloc[4:5])))
