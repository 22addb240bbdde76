"""Pipelines of texts in files, as numbers: what comes back, and what is refused."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from text.pipelines import BETWEEN, CLASSIFIERS, pipeline, texts

import wald
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.plan import CostModel

pytestmark = pytest.mark.filterwarnings(
    "ignore:Your stop_words:UserWarning", "ignore:divide by zero", "ignore::sklearn.exceptions.ConvergenceWarning"
)
ROWS, Y = texts(400, 5, 3)


def served(model: Any) -> wald.EarlyExitClassifier:
    return wald.EarlyExitClassifier(model, risk=0).fit()


@pytest.fixture
def comes_back(tmp_path: Path) -> Callable[[Any], wald.EarlyExitClassifier]:
    return lambda model: check_comes_back(model, tmp_path / "texts.wald")


def check_comes_back(model: Any, path: Path) -> wald.EarlyExitClassifier:
    fast = served(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        wald.save(fast, path)
        loaded = wald.load(path)
    assert loaded.certificate_ == fast.certificate_
    np.testing.assert_array_equal(loaded.predict(ROWS), fast.predict(ROWS))
    for method in ("decision_function", "predict_proba"):
        assert hasattr(loaded, method) == hasattr(fast, method)
        if hasattr(fast, method):
            np.testing.assert_array_equal(getattr(loaded, method)(ROWS), getattr(fast, method)(ROWS))
    assert loaded.predict_one(ROWS[0]) == fast.predict_one(ROWS[0])
    with_model = wald.load(path, estimator=model)
    np.testing.assert_array_equal(with_model.predict(ROWS), fast.predict(ROWS))
    again = from_bytes(to_bytes(loaded))
    np.testing.assert_array_equal(again.predict(ROWS), fast.predict(ROWS))
    return loaded


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_pipelines_come_back(seed: int, comes_back: Any) -> None:
    model = pipeline(seed, sorted(set(CLASSIFIERS) - {"bayes"})[seed % 5]).fit(ROWS, Y)
    comes_back(model)


@pytest.mark.parametrize("between", BETWEEN)
def test_steps_between_come_back(between: str, comes_back: Any) -> None:
    loaded = comes_back(make_pipeline(TfidfVectorizer(), *BETWEEN[between](), LogisticRegression()).fit(ROWS, Y))
    assert loaded.compiled_plan_.model.texts is not None


def test_wrappers_come_back(comes_back: Any) -> None:
    inner = make_pipeline(CountVectorizer(stop_words=["alpha", "beta"]), TfidfTransformer(), LogisticRegression())
    inner.fit(ROWS, Y > 0)
    comes_back(inner)
    comes_back(FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.4).fit(ROWS, Y > 0))
    fixed = CountVectorizer(vocabulary=["word0", "word1", "café", "x9"])
    comes_back(make_pipeline(fixed, CLASSIFIERS["bayes"]()).fit(ROWS, Y))


def test_a_file_needs_neither_skops_nor_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    for name in ("loads", "load", "Unpickler"):
        monkeypatch.setattr(pickle, name, None)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(ROWS, Y)
    wald.save(served(model), tmp_path / "texts.wald")
    loaded = wald.load(tmp_path / "texts.wald")
    np.testing.assert_array_equal(loaded.predict_proba(ROWS), model.predict_proba(ROWS))
    _, arrays = taken_apart((tmp_path / "texts.wald").read_bytes())
    words = arrays["estimator.steps.0.1.vocabulary_.utf8"].tobytes().decode()
    assert words == "".join(model[0].vocabulary_)


def test_plans_with_stages_come_back() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    rows = [" ".join(f"w{int(v)}" for v in 50 * rng.random(12) ** (1 + 2 * label)) for label in y]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(rows[:500], y[:500])
    planner = wald.Planner(cost=CostModel.of_units(float(model[-1].n_features_in_)))
    fast = wald.EarlyExitClassifier(model, risk=0.2, planner=planner, random_state=0)
    fast.fit(rows[500:1500])
    assert not fast.plan_.evaluate_all
    loaded = from_bytes(to_bytes(fast))
    for ours, theirs in zip(loaded.predict(rows, return_cost=True), fast.predict(rows, return_cost=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)


class Own(LogisticRegression):
    """A class that no file describes."""


def test_what_a_file_cannot_describe() -> None:
    model = make_pipeline(TfidfVectorizer(), Own()).fit(ROWS, Y)
    with pytest.raises(ValueError, match=r"(?s)'tfidfvectorizer'.*pipeline='skops'.*Own is no class"):
        to_bytes(served(model))
    model = make_pipeline(TfidfVectorizer(analyzer="char", lowercase=False), LogisticRegression())
    model.fit([*ROWS, "\ud800 half"], [*Y, 0])
    with pytest.raises(ValueError, match="a word that is no Unicode"):
        to_bytes(served(model))
    several = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression())).fit(ROWS, Y)
    with pytest.raises(ValueError, match="OneVsRestClassifier is no class"):
        to_bytes(served(several))


def test_another_model_is_refused(tmp_path: Path) -> None:
    model, other = (make_pipeline(TfidfVectorizer(min_df=k), LogisticRegression()).fit(ROWS, Y) for k in (1, 2))
    wald.save(served(model), path := tmp_path / "texts.wald")
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(path, estimator=other)
    other = make_pipeline(TfidfVectorizer(lowercase=False, vocabulary=model[0].vocabulary_), model[-1])
    other[0].fit(ROWS)
    other[0]._tfidf.idf_ = model[0].idf_
    with pytest.raises(ValueError, match="was saved for another model"):
        wald.load(path, estimator=other)


# ---- files that lie --------------------------------------------------------------------------------------------------

WORDS = "estimator.steps.0.1.vocabulary_"
Change = Callable[[dict[str, Any], dict[str, Any]], Any]


def vectorizer(fields: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = fields["estimator"]["steps"][0][1]
    return found


def put(name: str, edit: Callable[[Any], Any]) -> Change:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = edit(arrays[name].copy())

    return change


def entry(at: int, value: Any) -> Callable[[Any], Any]:
    def edit(array: Any) -> Any:
        array[at] = value
        return array

    return edit


def twice(fields: dict[str, Any], arrays: dict[str, Any]) -> None:
    """The first two words become the same."""
    raw, ends = arrays[f"{WORDS}.utf8"].tobytes(), arrays[f"{WORDS}.ends"].copy()
    first, second = raw[: ends[0]], raw[ends[0] : ends[1]]
    ends[1:] += len(first) - len(second)
    arrays[f"{WORDS}.ends"] = ends
    arrays[f"{WORDS}.utf8"] = np.frombuffer(first + first + raw[len(first) + len(second) :], dtype=np.uint8)


NONE = "is none that wald reads"
LIES: dict[str, tuple[Change, str]] = {
    "ends that fall": (put(f"{WORDS}.ends", entry(0, 10**6)), "does not rise to the end"),
    "ends below 0": (put(f"{WORDS}.ends", entry(0, -1)), "does not rise to the end"),
    "ends too early": (put(f"{WORDS}.ends", lambda a: np.minimum(a, a[-1] - 1)), "does not rise to the end"),
    "ends too few": (put(f"{WORDS}.ends", lambda a: a[1:]), "should have the shape"),
    "no UTF-8": (put(f"{WORDS}.utf8", entry(0, 255)), "is no UTF-8 of words"),
    "characters cut in two": (put(f"{WORDS}.utf8", lambda a: np.full_like(a, 0xC3)), "is no UTF-8 of words"),
    "a word twice": (twice, "holds a word twice"),
    "columns beyond the words": (put(f"{WORDS}.columns", entry(0, 10**9)), "numbers outside of 0 to"),
    "columns below 0": (put(f"{WORDS}.columns", entry(0, -1)), "numbers outside of 0 to"),
    "columns of floats": (put(f"{WORDS}.columns", lambda a: a.astype(float)), "should be int64"),
    "no words": (lambda f, a: vectorizer(f)["vocabulary_"].update(words=0), "a whole number from 1"),
    "too many words": (lambda f, a: vectorizer(f)["vocabulary_"].update(words=10**9), "should have the shape"),
    "words without bytes": (lambda f, a: a.pop(f"{WORDS}.utf8"), "is missing"),
    "more than words": (lambda f, a: vectorizer(f)["vocabulary_"].update(more=1), "unknown 'more'"),
    "names of files as input": (lambda f, a: vectorizer(f).update(input="filename"), NONE),
    "a pattern for ever": (lambda f, a: vectorizer(f).update(token_pattern=r"(\w+)+$"), NONE),
    "another pattern": (lambda f, a: vectorizer(f).update(token_pattern="["), NONE),
    "no pattern": (lambda f, a: vectorizer(f).update(token_pattern=None), NONE),
    "an unknown analyzer": (lambda f, a: vectorizer(f).update(analyzer="system"), NONE),
    "unknown accents": (lambda f, a: vectorizer(f).update(strip_accents="system"), NONE),
    "unknown stop words": (lambda f, a: vectorizer(f).update(stop_words="system"), NONE),
    "stop words that are numbers": (lambda f, a: vectorizer(f).update(stop_words=[1, 2]), NONE),
    "an n-gram of everything": (lambda f, a: vectorizer(f).update(ngram_range=[1, 10**6]), NONE),
    "n-grams of nothing": (lambda f, a: vectorizer(f).update(ngram_range=[2, 1]), NONE),
    "one n": (lambda f, a: vectorizer(f).update(ngram_range=[1]), NONE),
    "n that is none": (lambda f, a: vectorizer(f).update(ngram_range=1), "describes|decode|answer|none that wald"),
    "counts that overflow": (lambda f, a: vectorizer(f).update(dtype={"dtype": "uint8"}), NONE),
    "an unknown norm": (lambda f, a: vectorizer(f)["_tfidf"].update(norm="max"), NONE),
    "weights for fewer words": (put("estimator.steps.0.1._tfidf.idf_", lambda a: a[1:]), NONE),
    "infinite weights": (put("estimator.steps.0.1._tfidf.idf_", entry(0, np.inf)), NONE),
    "other weights": (put("estimator.steps.1.1.coef_.T", lambda a: a + 1), "other terms than the file"),
    "another class": (lambda f, a: vectorizer(f).update({"class": "FunctionTransformer"}), "has an unknown"),
    "no vectorizer": (lambda f, a: f["estimator"]["steps"].pop(0), "does not answer|other terms|unknown"),
    "no estimator": (lambda f, a: f.update(estimator=None), "lacks the vectorizer|unknown|no header"),
    "no steps of its own": (lambda f, a: f.update(own_steps=False), "own_steps does not fit|not that of the model"),
}


@pytest.mark.parametrize("name", LIES)
def test_files_that_lie_are_refused(name: str) -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(ROWS, Y)
    fields, arrays = taken_apart(to_bytes(served(model)))
    change, message = LIES[name]
    change(fields, arrays)
    with pytest.raises(FileFormatError, match=message):
        from_bytes(put_together(fields, arrays))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_features": 2**31 - 1}, "does not answer"),
        ({"n_features": -1}, NONE),
        ({"n_features": 0}, NONE),  # scikit-learn divides by it
        ({"encoding": "zlib"}, NONE),
        ({"decode_error": 3}, NONE),
        ({"norm": "max"}, "does not answer|none that wald reads|other terms"),
        ({"dtype": {"dtype": "int64"}}, NONE),
    ],
)
def test_hashes_that_lie_are_refused(change: dict[str, Any], message: str) -> None:
    model = make_pipeline(HashingVectorizer(n_features=64), LogisticRegression()).fit(ROWS, Y)
    fields, arrays = taken_apart(to_bytes(served(model)))
    vectorizer(fields).update(change)
    with pytest.raises(FileFormatError, match=message):
        from_bytes(put_together(fields, arrays))


def test_altered_files_are_refused_or_answer() -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(ROWS, Y)
    fields, arrays = taken_apart(to_bytes(served(model)))
    rng, refused = np.random.default_rng(0), 0
    for name in [name for name in arrays if name.startswith("estimator.steps.0")]:
        for _ in range(8):
            array = np.array(arrays[name])
            raw = array.view(np.uint8).reshape(-1)
            raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
            try:
                from_bytes(put_together(fields, arrays | {name: array})).predict(ROWS[:3])
            except FileFormatError:
                refused += 1
    assert refused
