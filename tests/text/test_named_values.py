"""Dicts and hashed names before linear models: labels and scores are those of scikit-learn."""

import pickle
import re

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from wald import EarlyExitClassifier, load, save
from wald.models import decompose


def dicts(n, seed, lists=True):
    """Random dicts of numbers, strings, and lists of strings; the first one is empty."""
    rng = np.random.default_rng(seed)
    made = [{}]
    for _ in range(n - 1):
        row = {}
        for k in rng.permutation(12)[: rng.integers(1, 12)].tolist():
            kind = k % (6 if lists else 5)
            value = [
                float(rng.normal()),
                int(rng.integers(-9, 9)),
                str(rng.choice(["a", "bé", "c" * 20, "d\u4f60"])),
                bool(rng.integers(2)),
                np.float32(rng.normal()) if k == 4 else np.int64(rng.integers(5)),
                [str(v) for v in rng.choice(["x", "y", "z"], rng.integers(3))],
            ][kind]
            row[f"name{k}" if k else "é"] = value
        made.append(row)
    return made


def pairs(n, seed):
    return [list(row.items()) for row in dicts(n, seed, lists=False)]


def strings(n, seed):
    rng = np.random.default_rng(seed)
    return [[f"word{i}" for i in rng.integers(40, size=rng.integers(10))] for _ in range(n)]


def plain(n, seed):
    return dicts(n, seed, lists=False)


STEPS = {
    "dicts": (lambda: [DictVectorizer()], dicts, True),
    "separator": (lambda: [DictVectorizer(separator="::", sort=False)], dicts, True),
    "float32": (lambda: [DictVectorizer(dtype=np.float32)], dicts, None),
    "dense": (lambda: [DictVectorizer(sparse=False)], dicts, False),
    "dense, scaled": (lambda: [DictVectorizer(sparse=False), StandardScaler()], dicts, False),
    "selected": (lambda: [DictVectorizer(), MaxAbsScaler(), VarianceThreshold(0.01)], dicts, False),
    "hashed": (lambda: [FeatureHasher(n_features=1024)], plain, True),
    "hashed to few": (lambda: [FeatureHasher(n_features=4, alternate_sign=False)], plain, True),
    "hashed pairs": (lambda: [FeatureHasher(n_features=64, input_type="pair", dtype=np.float32)], pairs, None),
    "hashed names": (lambda: [FeatureHasher(n_features=16, input_type="string")], strings, True),
}


def fitted(name, model, n_classes=2):
    steps, rows, exact = STEPS[name]
    given = rows(200, 1)
    train = np.empty(len(given), dtype=object)  # lists of lists are tables
    train[:] = given
    y = np.random.default_rng(0).integers(n_classes, size=len(train))
    return make_pipeline(*steps(), model).fit(train, y), train, rows(400, 2), exact


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("model", [LogisticRegression(C=10, max_iter=2000), RidgeClassifier()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_are_those_of_the_pipeline(name, model, n_classes):
    pipeline, train, test, exact = fitted(name, model, n_classes)
    read = decompose(pipeline)
    assert read.texts is not None
    scores, errors = read.texts.scores(test)
    own = pipeline.decision_function(test).reshape(len(test), -1)
    assert np.isfinite(errors).all()
    assert (np.abs(scores - own) <= errors[:, None]).all()
    if exact is not None:
        assert read.texts.replays == exact
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(train)
    want = pipeline.predict(test)
    assert np.array_equal(classifier.predict(test), want)
    assert [classifier.predict_one(row) for row in test[:20]] == want[:20].tolist()
    if hasattr(pipeline, "predict_proba"):
        assert np.array_equal(classifier.predict_proba(test), pipeline.predict_proba(test))
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict(test), want)


@pytest.mark.parametrize("name", ["dicts", "separator", "dense", "hashed", "hashed pairs", "hashed names"])
def test_files_hold_vectorizers(name, tmp_path):
    pipeline, train, test, _ = fitted(name, LogisticRegression(max_iter=2000))
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(train)
    save(classifier, tmp_path / "model.wald")
    again = load(tmp_path / "model.wald")
    assert again.compiled_plan_.model.texts is not None
    assert np.array_equal(again.predict(test), pipeline.predict(test))


BAD = [
    {"name1": object()},
    {"name1": {"a": 1}},
    {"name5": [1, 2]},
    {"name1": float("nan")},
    {"name1": float("inf")},
    {"name1": None},
    {"name1": 10**400},
    None,
    5,
    "name1",
]


@pytest.mark.parametrize("row", BAD, ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", repr(value)))
@pytest.mark.parametrize("name", ["dicts", "hashed"])
def test_bad_values_raise_the_pipelines_own_errors(name, row):
    pipeline, train, test, _ = fitted(name, LogisticRegression(max_iter=2000))
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(train)
    rows = [test[1], row]
    try:
        want = pipeline.predict(rows)
    except Exception as error:
        with pytest.raises(type(error)):
            classifier.predict(rows)
        with pytest.raises(type(error)):
            classifier.predict_one(row)
    else:
        assert np.array_equal(classifier.predict(rows), want)


ODD = [
    {"unseen": float("nan")},
    {1: 2.0, "name1": 1},
    {"name2": "a", "name2=a": 3.5},
    {"name1": 2**60 + 1},
    {"name1": np.float64(1.5), "name8": np.str_("a")},
    {"name1": np.int8(3)},
    {"name2": "\ud800"},
]


@pytest.mark.parametrize("row", ODD, ids=ascii)
def test_unusual_rows_get_the_pipelines_labels(row):
    pipeline, train, _, _ = fitted("dicts", LogisticRegression(max_iter=2000))
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(train)
    assert classifier.predict([row]) == pipeline.predict([row])
    assert classifier.predict_one(row) == pipeline.predict([row])[0]
    assert np.array_equal(classifier.predict_proba([row]), pipeline.predict_proba([row]))


class Own(DictVectorizer):
    pass


@pytest.mark.parametrize("front", [Own(), DictVectorizer(dtype=np.int64)])
def test_what_is_not_known_stays_in_front(front):
    rows = [{"a": k % 3, "b": str(k)} for k in range(60)]
    pipeline = make_pipeline(front, LogisticRegression(max_iter=2000)).fit(rows, np.arange(60) % 2)
    assert decompose(pipeline).texts is None
    classifier = EarlyExitClassifier(FrozenEstimator(pipeline), risk=0).fit(rows)
    assert np.array_equal(classifier.predict(rows), pipeline.predict(rows))
