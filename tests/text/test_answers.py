"""Texts answered by wald and by scikit-learn's own pipeline, which must agree on every row."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from text import stand_in
from text.pipelines import BETWEEN, CLASSIFIERS, pipeline, steps, texts

from wald import EarlyExitClassifier, Planner, _core
from wald.early_exit import Status
from wald.models import decompose
from wald.steps.vectorizers import Vectorizer

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Your stop_words:UserWarning", "ignore:divide by zero"
)


def check_same(model: Any, rows: Any, given: Any = None) -> EarlyExitClassifier:
    """Compare labels, numbers and single answers; all must come from the engine, unless a row is within rounding."""
    fast = EarlyExitClassifier(model, risk=0).fit(given)
    own = model.predict(rows)
    found = fast.predict(rows, details=True)
    np.testing.assert_array_equal(found.labels, own)
    assert found.labels.dtype == own.dtype
    assert np.isin(found.status, [Status.FULL, Status.HANDED_OVER]).all()
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(fast, method) == hasattr(model, method)
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(fast, method)(rows), getattr(model, method)(rows))
    for i in (0, len(rows) // 2, len(rows) - 1):
        assert fast.predict_one(rows[i]) == own[i]
    return fast


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("seed", range(8))
def test_random_pipelines(seed: int, classifier: str, n_classes: int) -> None:
    rows, y = texts(300, seed, n_classes)
    seed = 100 * sorted(CLASSIFIERS).index(classifier) + 10 * n_classes + seed
    model = pipeline(seed, classifier)
    if classifier == "bayes" and getattr(model[0], "alternate_sign", False):  # it refuses counts below 0
        model[0].alternate_sign = False
    model.fit(rows[:200], y[:200])
    fast = check_same(model, rows)
    assert fast.compiled_plan_.model.texts is not None


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("classifier", ["logistic", "svc"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_steps_between(between: str, classifier: str, n_classes: int) -> None:
    rows, y = texts(400, 1, n_classes)
    model = make_pipeline(TfidfVectorizer(), *BETWEEN[between](), CLASSIFIERS[classifier]()).fit(rows[:300], y[:300])
    fast = check_same(model, rows)
    assert fast.compiled_plan_.model.texts is not None
    scores, errors = fast.compiled_plan_.model.texts.scores(rows)
    own = model.decision_function(rows).reshape(len(rows), -1)
    assert (np.abs(scores - own).max(axis=1) <= errors).all()
    assert errors.max() < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_the_core_is_what_scikit_learn_computes(seed: int) -> None:
    rows, y = texts(200, seed, 3)
    model = make_pipeline(*steps(seed), LogisticRegression()).fit(rows, y)
    read = decompose(model).texts
    assert read is not None
    described = read.vectorizer.described() | {
        "coef": np.ascontiguousarray(read.terms.coef),
        "intercept": read.terms.intercept,
        "coef_bound": np.ascontiguousarray(np.abs(read.terms.coef)),
    }
    core, reference = _core.Text(described), stand_in.Text(described)
    (found, errors), (expected, bounds) = core.scores([*rows, None], 2), reference.scores([*rows, None], 1)
    assert np.isnan(found[-1]).all()
    assert np.isnan(expected[-1]).all()
    assert (np.abs(found - expected)[:-1].max(axis=1) <= errors[:-1] + bounds[:-1]).all()
    assert [core.tokens(text) for text in rows] == [reference.tokens(text) for text in rows]


# ---- wrappers and what is not read -----------------------------------------------------------------------------------


def test_wrappers_around_the_pipeline() -> None:
    rows, y = texts(400)
    inner = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows, y)
    for model in (
        FrozenEstimator(inner),
        GridSearchCV(inner, {"logisticregression__C": [1, 10]}, cv=2).fit(rows, y),
        FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.4).fit(rows, y),
        FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.1, response_method="decision_function").fit(
            rows, y
        ),
        Pipeline([("a", Pipeline([("b", TfidfVectorizer())])), ("c", LinearSVC())]).fit(rows, y),
        make_pipeline(CountVectorizer(), OneVsRestClassifier(LinearSVC())).fit(rows, y),
    ):
        fast = check_same(model, rows)
        assert fast.compiled_plan_.model.texts is not None


class Own(TfidfVectorizer):
    """A subclass, which may do anything."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "front",
    [
        [Own()],
        [TfidfVectorizer(tokenizer=str.split, token_pattern=None)],
        [TfidfVectorizer(preprocessor=str.lower)],
        [TfidfVectorizer(analyzer=str.split)],
        [TfidfVectorizer(strip_accents=str.lower)],
        [TfidfVectorizer(token_pattern="[a-z]+")],
        [TfidfVectorizer(token_pattern=r"(?:\w)\w")],
        [CountVectorizer(dtype=np.uint8)],
        [TfidfVectorizer(), Normalizer()],
        [HashingVectorizer(n_features=32), TfidfTransformer()],
        [TfidfVectorizer(norm=None), TfidfTransformer()],
        [TfidfVectorizer(norm=None), TfidfTransformer(use_idf=False)],
        [CountVectorizer(token_pattern=r"\w{\u0661,}|\w+")],
    ],
    ids=lambda front: str(front[0])[:40],
)
def test_what_is_not_known_stays_in_front(front: list[Any]) -> None:
    rows, y = texts(300)
    model = make_pipeline(*front, LogisticRegression()).fit(rows, y)
    assert decompose(model).texts is None
    with pytest.raises(ValueError, match="fit needs rows"):
        EarlyExitClassifier(model, risk=0).fit()
    fast = EarlyExitClassifier(model, risk=0, random_state=0).fit(rows)
    np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))


# ---- promises --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("risk", [0, 0.01])
@pytest.mark.parametrize("cost", ["time", "units"])
def test_fit_with_rows(risk: float, cost: str) -> None:
    rows, y = texts(3000, 2)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100)).fit(rows[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=risk, planner=Planner(cost=cost), random_state=0).fit(rows[500:2500])
    late = rows[2500:]
    found = fast.predict(late, details=True)
    if risk == 0 or cost == "time":
        assert fast.plan_.evaluate_all
        assert (found.status == Status.FULL).all()
        np.testing.assert_array_equal(found.labels, model.predict(late))
    assert np.mean(found.labels != model.predict(late)) <= 0.03
    np.testing.assert_array_equal(fast.predict_proba(late), model.predict_proba(late))
    scores, _ = fast.stage_scores(late[:20])
    np.testing.assert_allclose(scores[:, -1], model.decision_function(late[:20]), rtol=1e-10)


def test_a_row_answers_alone_whatever_the_threads() -> None:
    rows, y = texts(500, 3, 3)
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC()).fit(rows, y)
    one, two = (EarlyExitClassifier(model, risk=0, n_jobs=n).fit() for n in (1, 2))
    scores = one.decision_function(rows)
    np.testing.assert_array_equal(two.decision_function(rows), scores)
    np.testing.assert_array_equal(two.decision_function(rows[7:8])[0], scores[7])
    np.testing.assert_array_equal(two.predict(rows), one.predict(rows))


def test_rows_at_a_tie_are_the_models_own() -> None:
    rows = ["good bad", "bad good", "good", "bad", "", "unknown"]
    y = np.array(["no", "yes", "yes", "no", "no", "yes"])
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows, y)
    model[-1].coef_ = np.array([[-0.5, 0.5, 0.0]])
    model[-1].intercept_ = np.zeros(1)
    check_same(model, rows)
    for single in (np.float32, np.float64):
        model = make_pipeline(TfidfVectorizer(dtype=single), LinearSVC()).fit(rows, y)
        model[-1].coef_, model[-1].intercept_ = np.array([[-0.5, 0.5, 0.0]], dtype=single), np.zeros(1, dtype=single)
        check_same(model, rows)


def test_pickles_and_clones() -> None:
    rows, y = texts(300)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    other = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))
    assert other.predict_one(rows[0]) == fast.predict_one(rows[0])
    fresh = clone(fast)
    assert not hasattr(fresh, "compiled_plan_")
    np.testing.assert_array_equal(fresh.fit().predict(rows), model.predict(rows))


def test_a_pipeline_is_trained_on_texts() -> None:
    rows, y = texts(1000)
    fast = EarlyExitClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), risk=0, random_state=0)
    fast.fit(rows, y)
    np.testing.assert_array_equal(fast.predict(rows), fast.estimator_.predict(rows))
    assert fast.compiled_plan_.model.texts is not None


def test_a_misread_vectorizer_is_an_error_of_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, y = texts(300)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100)).fit(rows, y)
    assert str(EarlyExitClassifier(model, risk=0).fit().compiled_plan_.agreement).startswith("checked")
    own = Vectorizer.described
    for wrong in ({"lowercase": False}, {"norm": "l1"}, {"idf": None}, {"stop_words": ["word0", "word1"]}):
        monkeypatch.setattr(Vectorizer, "described", lambda self, wrong=wrong: own(self) | wrong)
        for given in (None, rows):
            with pytest.raises(ValueError, match="wald misreads this LogisticRegression"):
                EarlyExitClassifier(model, risk=0).fit(given)


# ---- changes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m[0].vocabulary_.update(new=0),
        lambda m: m[0].vocabulary_.update({next(iter(m[0].vocabulary_)): 0}),
        lambda m: setattr(m[0], "vocabulary_", dict(m[0].vocabulary_)),
        lambda m: setattr(m[0], "idf_", np.ones(len(m[0].vocabulary_))),
        lambda m: m[0]._tfidf.idf_.__setitem__(0, 9.0),
        lambda m: m.set_params(tfidfvectorizer__lowercase=False),
        lambda m: m.set_params(tfidfvectorizer__ngram_range=(1, 2)),
        lambda m: m[0].stop_words.append("word7"),
        lambda m: setattr(m[0]._tfidf, "norm", "l1"),
        lambda m: m[-1].coef_.__setitem__((0, 0), 9.0),
        lambda m: m.fit(["an apple", "a pear"], [0, 1]),
    ],
)
def test_an_edited_model_is_noticed(edit: Any) -> None:
    rows, y = texts(300)
    model = make_pipeline(TfidfVectorizer(stop_words=["alpha"]), LogisticRegression()).fit(rows, y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    edit(model)
    for answers in (fast.predict, fast.predict_proba, fast.decision_function):
        with pytest.raises(ValueError, match="Call fit again"):
            answers(rows)


@pytest.mark.parametrize("name", ["decode", "build_tokenizer", "transform"])
def test_methods_that_were_set_on_a_vectorizer_stay(name: str) -> None:
    rows, y = texts(300)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows, y)
    setattr(model[0], name, getattr(model[0], name))
    assert decompose(model).texts is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda step: step.estimator_.coef_.__setitem__(slice(None), 1.0),
        lambda step: setattr(step.estimator_, "coef_", np.zeros_like(step.estimator_.coef_)),
        lambda step: step.set_params(importance_getter=lambda model: -abs(model.coef_)),
        lambda step: step.set_params(threshold=1e9),
    ],
)
def test_an_edited_selector_is_noticed(edit: Any) -> None:
    rows, y = texts(300)
    selector = SelectFromModel(LinearSVC(), threshold="mean")
    model = make_pipeline(CountVectorizer(), selector, LogisticRegression()).fit(rows, y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    edit(model[1])
    with pytest.raises(ValueError, match="Call fit again"):
        fast.predict(rows)


def test_a_model_of_another_vocabulary_is_not_read() -> None:
    rows, y = texts(300)
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(rows, y)
    model[0].vocabulary_.pop(next(iter(model[0].vocabulary_)))
    assert decompose(model).texts is None


# ---- real data -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif("WALD_DATA" not in os.environ, reason="WALD_DATA names no folder of data")
def test_newsgroups() -> None:
    from sklearn.datasets import fetch_20newsgroups

    home = Path(os.environ["WALD_DATA"]) / "sklearn"
    if not home.exists():
        pytest.skip("20 newsgroups are not there")
    posts = fetch_20newsgroups(data_home=str(home), subset="test", download_if_missing=False)
    rows, y = posts.data[:900], posts.target[:900]
    model = make_pipeline(TfidfVectorizer(), SGDClassifier(loss="log_loss", random_state=0)).fit(rows[:600], y[:600])
    fast = check_same(model, rows)
    assert (fast.predict(rows, details=True).status == Status.FULL).all()


def test_a_calibrated_model() -> None:
    rows, y = texts(400)
    model = CalibratedClassifierCV(make_pipeline(TfidfVectorizer(), LinearSVC()), ensemble=False, cv=2).fit(rows, y)
    check_same(model, rows)
