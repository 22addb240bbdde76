"""Unions of vectorizers before linear models: labels and scores are those of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from wald import EarlyExitClassifier, load, save
from wald.models import decompose

from .material import texts

TRAIN, TEST = texts(120, seed=1), texts(300, seed=2)


def labels(n_classes):
    return np.random.default_rng(0).integers(n_classes, size=len(TRAIN))


def single():
    return TfidfVectorizer(dtype=np.float32)


UNIONS = {
    "words and characters": lambda: make_union(
        TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))
    ),
    "weights": lambda: FeatureUnion(
        [("a", TfidfVectorizer(sublinear_tf=True)), ("b", CountVectorizer(analyzer="char")), ("c", "drop")],
        transformer_weights={"a": 0.3, "b": 2},
    ),
    "nested": lambda: FeatureUnion(
        [
            ("a", make_pipeline(CountVectorizer(ngram_range=(1, 2)), TfidfTransformer(), SelectKBest(chi2, k=20))),
            ("b", make_pipeline(make_pipeline(CountVectorizer(binary=True)), MaxAbsScaler())),
            ("c", HashingVectorizer(n_features=64, alternate_sign=False)),
        ],
        transformer_weights={"a": 0.7, "b": 1.5},
    ),
    "components": lambda: make_union(
        make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0)), CountVectorizer()
    ),
    "float32": lambda: make_union(single(), TfidfVectorizer(analyzer="char", dtype=np.float32)),
    "float32 and float64": lambda: make_union(single(), TfidfVectorizer(analyzer="char")),
}
EXACT = {"words and characters", "weights"}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("model", [LogisticRegression(C=10, max_iter=2000), LinearSVC(), SGDClassifier(random_state=0)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_those_of_the_pipeline(name, model, n_classes):
    pipeline = make_pipeline(UNIONS[name](), model).fit(TRAIN, labels(n_classes))
    read = decompose(pipeline)
    assert read.texts is not None
    scores, errors = read.texts.scores(TEST)
    own = pipeline.decision_function(TEST).reshape(len(TEST), -1)
    assert np.isfinite(errors).all()
    assert (np.abs(scores - own) <= errors[:, None]).all()
    if name in EXACT:
        assert read.texts.replays
        assert np.array_equal(scores, own)
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(TRAIN)
    want = pipeline.predict(TEST)
    assert np.array_equal(classifier.predict(TEST), want)
    assert [classifier.predict_one(text) for text in TEST[:20]] == want[:20].tolist()
    if hasattr(pipeline, "predict_proba"):
        assert np.array_equal(classifier.predict_proba(TEST), pipeline.predict_proba(TEST))
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict(TEST), want)


def test_ties_are_the_pipelines_own():
    pipeline = make_pipeline(UNIONS["weights"](), LinearSVC()).fit(TRAIN, labels(2))
    pipeline[-1].coef_[:] = np.round(pipeline[-1].coef_)
    pipeline[-1].intercept_[:] = 0
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(TRAIN)
    assert np.array_equal(classifier.predict(TEST), pipeline.predict(TEST))
    assert classifier.predict([""]) == pipeline.predict([""])


@pytest.mark.parametrize("name", ["words and characters", "weights", "nested"])
def test_files_hold_unions(name, tmp_path):
    pipeline = make_pipeline(UNIONS[name](), LogisticRegression(max_iter=1000)).fit(TRAIN, labels(3))
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(TRAIN)
    save(classifier, tmp_path / "model.wald")
    again = load(tmp_path / "model.wald")
    assert again.compiled_plan_.model.texts is not None
    assert np.array_equal(again.predict(TEST), pipeline.predict(TEST))
    assert np.array_equal(again.predict_proba(TEST[:5]), pipeline.predict_proba(TEST[:5]))


def test_no_texts_raise_the_pipelines_own_errors():
    pipeline = make_pipeline(UNIONS["weights"](), LogisticRegression(max_iter=1000)).fit(TRAIN, labels(2))
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(TRAIN)
    with pytest.raises(AttributeError, match="row 1 is None"):
        classifier.predict(["a text", None])
    with pytest.raises(ValueError, match="row 1 is nan"):
        classifier.predict(["a text", np.nan])
    assert classifier.predict([b"a text"]) == pipeline.predict(["a text"])


class Own(TfidfVectorizer):
    pass


@pytest.mark.parametrize("other", [Own(), TfidfVectorizer(tokenizer=str.split, token_pattern=None)])
def test_what_is_not_known_stays_in_front(other):
    pipeline = make_pipeline(make_union(TfidfVectorizer(), other), LogisticRegression(max_iter=1000)).fit(
        TRAIN, labels(2)
    )
    assert decompose(pipeline).texts is None
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(TRAIN)
    assert np.array_equal(classifier.predict(TEST), pipeline.predict(TEST))


def test_a_refitted_vectorizer_is_noticed():
    union = UNIONS["words and characters"]()
    pipeline = make_pipeline(union, LogisticRegression(max_iter=1000)).fit(TRAIN, labels(2))
    before = decompose(pipeline).fingerprint()
    union.transformer_list[0][1].vocabulary_["one"] = 0
    assert decompose(pipeline).fingerprint() != before
