"""The model that was read: changes, fingerprints, copies, precision."""

from __future__ import annotations

import copy
import io
import pickle
import timeit

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from wald.models import AdditiveModel, decompose
from wald.models.watch import digest
from wald.sources import source_of


def through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


COPIES = [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), through_joblib]


def make(kind, X, y):
    if kind == "linear":
        return LogisticRegression().fit(X, y)
    if kind == "pipeline":
        return make_pipeline(SimpleImputer(), PCA(5), SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    if kind == "svc":
        return SVC().fit(X, y)
    if kind == "sparse svc":
        return SVC().fit(sparse.csr_array(X), y)
    if kind == "words":
        return LogisticRegression().fit(X, np.array(["no", "yes"], dtype=object)[y])
    frozen = FrozenEstimator(make_pipeline(StandardScaler(), SVC()).fit(X, y))
    method = "sigmoid" if kind == "sigmoid" else "isotonic"
    return FixedThresholdClassifier(CalibratedClassifierCV(frozen, method=method), threshold=0.4).fit(X, y)


KINDS = ["linear", "pipeline", "svc", "sparse svc", "words", "sigmoid", "isotonic"]


@pytest.mark.parametrize("duplicate", COPIES, ids=["deepcopy", "pickle", "joblib"])
@pytest.mark.parametrize("kind", KINDS)
def test_copies(kind, duplicate, rows):
    X, y = rows()
    read = decompose(make(kind, X, y))
    again = duplicate(read)
    assert isinstance(again, AdditiveModel)
    assert (read.changed(), again.changed()) == (None, None)
    assert again.fingerprint() == read.fingerprint() == decompose(again.estimator).fingerprint()
    seen = X if read.preprocessing is None else read.preprocessing.transform(source_of(X))
    np.testing.assert_array_equal(again.terms.scores(seen), read.terms.scores(seen))
    leaf = again.estimator
    while not hasattr(leaf, "intercept_"):
        leaf = leaf[-1] if hasattr(leaf, "steps") else getattr(leaf, "estimator_", getattr(leaf, "estimator", None))
    leaf.intercept_ += 1
    assert "intercept_" in again.changed()
    assert read.changed() is None


def steps_of(model):
    return dict(model.named_steps)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("linear", lambda m: m.coef_.__imul__(2), "coef_ of LogisticRegression was changed in place"),
        (
            "linear",
            lambda m: m.coef_.__setitem__((0, 3), 0.5),
            "coef_ of LogisticRegression was changed in place",
        ),
        ("linear", lambda m: setattr(m, "coef_", m.coef_.copy()), "coef_ of LogisticRegression was replaced"),
        (
            "linear",
            lambda m: setattr(m, "intercept_", m.intercept_ + 1),
            "intercept_ of LogisticRegression was replaced",
        ),
        ("linear", lambda m: delattr(m, "coef_"), "coef_"),
        ("linear", lambda m: m.fit(np.eye(8), np.arange(8) % 2), "replaced"),
        ("pipeline", lambda m: m[-2].mean_.__iadd__(1), "mean_ of StandardScaler was changed in place"),
        ("pipeline", lambda m: m[-2].set_params(with_mean=False), "with_mean of StandardScaler was replaced"),
        ("pipeline", lambda m: m[2].statistics_.__iadd__(1), "statistics_ of SimpleImputer"),
        (
            "pipeline",
            lambda m: m[1].fit(np.random.default_rng(0).normal(size=(20, 8))),
            "of PCA was replaced",
        ),
        ("pipeline", lambda m: m[1].components_.__imul__(2), "components_ of PCA"),
        ("pipeline", lambda m: m.set_params(logisticregression=LogisticRegression()), "steps of Pipeline"),
        ("svc", lambda m: m.fit(np.eye(8), np.arange(8) % 2), "of SVC was replaced"),
        ("svc", lambda m: m._dual_coef_.__imul__(2), "_dual_coef_ of SVC was changed in place"),
        ("svc", lambda m: m.intercept_.__iadd__(2), "intercept_ of SVC was changed in place"),
        ("svc", lambda m: m.support_vectors_.__imul__(2), "support_vectors_ of SVC was changed in place"),
        ("svc", lambda m: m.set_params(kernel="sigmoid"), "kernel of SVC was replaced"),
        ("sparse svc", lambda m: m._dual_coef_.data.__imul__(2), "data of cs"),
        (
            "sigmoid",
            lambda m: m.set_params(threshold=0.5),
            "threshold of FixedThresholdClassifier was replaced",
        ),
        (
            "sigmoid",
            lambda m: setattr(m.estimator_.calibrated_classifiers_[0].calibrators[0], "a_", -1.0),
            "a_ of _SigmoidCalibration was replaced",
        ),
        (
            "isotonic",
            lambda m: m.estimator_.calibrated_classifiers_[0].calibrators[0].y_thresholds_.__imul__(0.5),
            "y_thresholds_ of IsotonicRegression was changed in place",
        ),
    ],
)
def test_changes_are_noticed(kind, change, words, rows):
    X, y = rows()
    model = make(kind, X, y)
    read = decompose(model)
    assert read.changed() is None
    change(model)
    assert words in read.changed()


def test_large_arrays_scaled_in_place_are_noticed(rows):
    X, y = rows()
    model = SGDClassifier(random_state=0).fit(sparse.csr_array(np.hstack([X] * 2000)), y)
    read = decompose(model)
    before = read.fingerprint()
    model.coef_ *= 2
    assert "coef_" in read.changed()
    assert read.fingerprint() == before != decompose(model).fingerprint()


def test_partial_fit_is_noticed(rows):
    X, y = rows(3)
    model = SGDClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    read = decompose(model)
    model.partial_fit(X[:5], y[:5])
    assert read.changed() is not None


def test_a_refitted_vectoriser_is_noticed():
    texts = ["a bird", "the sea", "a ship at sea", "birds"] * 3
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [0, 1] * 6)
    read = decompose(model)
    read.preprocessing.transform(source_of(texts))
    assert read.changed() is None
    before = read.fingerprint()
    assert decompose(pickle.loads(pickle.dumps(model))).fingerprint() == before
    model[0].fit(texts[1:])
    assert "vocabulary_" in read.changed()


@pytest.mark.parametrize(("kind", "limit"), [("linear", 3), ("pipeline", 12), ("svc", 5)])
def test_the_check_for_changes_is_cheap(kind, limit, rows):
    X, y = rows()
    check = decompose(make(kind, X, y)).changed
    microseconds = min(timeit.repeat(check, number=2000, repeat=5)) / 2000 * 1e6
    assert microseconds < 3 * limit  # slow machines too


def test_fingerprints_distinguish_models(rows):
    X, y = rows()
    prints = [decompose(make(kind, X, y)).fingerprint() for kind in KINDS]
    assert len(set(prints)) == len(prints)
    assert prints == [decompose(make(kind, X, y)).fingerprint() for kind in KINDS]
    assert all(len(each) == 64 for each in prints)


def test_digest_counts_content():
    class Thing:
        def __init__(self, **attributes):
            vars(self).update(attributes)

    itself = Thing(a=1)
    itself.me = itself
    parts = [
        1,
        1.0,
        "1",
        b"1",
        None,
        [1],
        (1,),
        [1, 1],
        {1},
        {"a": 1},
        np.arange(3),
        np.arange(3.0),
        np.array(["a", None], dtype=object),
        sparse.csr_array(np.eye(2)),
        sparse.csr_array(np.eye(3)),
        Thing(a=1),
        Thing(a=2),
        itself,
        np.abs,
        len,
        np.random.RandomState(0),
        lambda: None,
    ]
    hashes = [digest(part) for part in parts]
    assert len(set(hashes)) == len(parts)
    assert hashes == [digest(part) for part in parts]
    assert digest({"a", "b", "c"}) == digest({"c", "b", "a"})
    assert digest(np.asfortranarray(np.eye(3)[:2])) == digest(np.eye(3)[:2])


def test_working_precision(rows):
    X, y = rows()
    bare, scaled = decompose(SVC().fit(X, y)), decompose(make_pipeline(StandardScaler(), SVC()).fit(X, y))
    for dtype, plain, folded in [
        (np.float16, 2.0**-53, 2.0**-53),  # such rows are turned into float64 before
        (np.float32, 2.0**-53, 2.0**-24),
        (np.float64, 2.0**-53, 2.0**-53),
        (np.longdouble, 2.0**-53, 2.0**-53),
        (np.int16, 2.0**-53, 2.0**-53),
        (bool, 2.0**-53, 2.0**-53),
        (object, 2.0**-53, 2.0**-53),
    ]:
        assert bare.working_precision(dtype) == plain
        assert scaled.working_precision(dtype) == folded
