"""Estimators in files: a rebuilt estimator gives the bits of the saved one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as linear
from persistence.cases import dense, rows
from persistence.forge import put_together, taken_apart
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

import wald
from wald.codec.arrays import Stock
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.persistence.rebuilding import NotRebuildableError, Reader, Writer

RNG = np.random.default_rng(0)
#: Small whole numbers, and weights in tenths: of the scores of a card, many are ties that roundings decide.
CARD = RNG.integers(0, 4, size=(3000, 12)).astype(np.float64)
WEIGHTS = np.array([0.1, -0.2, 0.3, -0.1, 0.7, -0.7, 0.2, -0.3, 0.6, -0.6, 0.4, -0.4])


def carded(model: Any, X: Any = CARD, k: int = 2) -> Any:
    """A linear model with the weights of a score card."""
    y = np.arange(len(CARD)) % k
    model.fit(X, y)
    rest = [np.roll(WEIGHTS, 2 * i) for i in range(1, k)]
    model.coef_ = np.array([WEIGHTS] if k == 2 else [WEIGHTS, *rest], dtype=model.coef_.dtype)
    model.intercept_ = np.zeros(len(model.coef_), dtype=model.coef_.dtype)
    return model


def in_pipeline(step: Any, X: Any = CARD) -> Any:
    pipeline = make_pipeline(step, linear.LogisticRegression())
    pipeline.fit(X, np.arange(len(X)) % 2)
    pipeline[-1].coef_ = np.array([WEIGHTS])
    pipeline[-1].intercept_ = -(pipeline[0].transform(X[:1] * 0 + 1.5) @ WEIGHTS)
    return pipeline


LABELS = (CARD @ WEIGHTS > 0.15).astype(int)
FLIPPED = np.where(RNG.random(3000) < 0.1, 1 - LABELS, LABELS)
KINDS = np.digitize(CARD @ WEIGHTS, [-0.9, 0.9])
CARDS: dict[str, Any] = {
    "logistic": lambda: carded(linear.LogisticRegression()),
    "in float32": lambda: carded(linear.LogisticRegression(), CARD.astype(np.float32)),
    "ridge": lambda: carded(linear.RidgeClassifier()),
    "ridge cv": lambda: carded(linear.RidgeClassifierCV()),
    "sgd": lambda: carded(linear.SGDClassifier(loss="log_loss")),
    "modified huber": lambda: carded(linear.SGDClassifier(loss="modified_huber")),
    "perceptron": lambda: carded(linear.Perceptron()),
    "linear svc": lambda: carded(LinearSVC()),
    "discriminant": lambda: carded(LinearDiscriminantAnalysis()),
    "logistic cv": lambda: linear.LogisticRegressionCV(cv=2, Cs=2).fit(CARD, FLIPPED),
    "ridge as fitted": lambda: linear.RidgeClassifier().fit(CARD, FLIPPED),
    "ridge cv as fitted": lambda: linear.RidgeClassifierCV().fit(CARD, FLIPPED),
    "ridge svd": lambda: linear.RidgeClassifier(solver="svd").fit(CARD, FLIPPED.astype(str)),
    "ridge without intercept": lambda: linear.RidgeClassifier(fit_intercept=False).fit(CARD, FLIPPED),
    "ridge on float32": lambda: linear.RidgeClassifier().fit(CARD.astype(np.float32), FLIPPED),
    "ridge behind a scaler": lambda: make_pipeline(StandardScaler(), linear.RidgeClassifier()).fit(CARD, FLIPPED),
    "multiclass": lambda: carded(linear.LogisticRegression(), k=3),
    "multiclass as fitted": lambda: linear.LogisticRegression().fit(CARD, KINDS),
    "multiclass linear svc": lambda: LinearSVC().fit(CARD, KINDS),
    "multiclass ridge": lambda: linear.RidgeClassifier().fit(CARD, KINDS),
    "standardized": lambda: in_pipeline(StandardScaler()),
    "not centred": lambda: in_pipeline(StandardScaler(with_mean=False)),
    "min-max": lambda: in_pipeline(MinMaxScaler((-1, 1))),
    "max-abs": lambda: in_pipeline(MaxAbsScaler()),
    "robust": lambda: in_pipeline(RobustScaler()),
    "imputed": lambda: in_pipeline(SimpleImputer(strategy="median")),
    "imputed by a constant": lambda: in_pipeline(SimpleImputer(strategy="constant", fill_value=1.5)),
    "imputed by whole numbers": lambda: in_pipeline(SimpleImputer(strategy="constant", fill_value=2)),
    "frozen in a pipeline": lambda: make_pipeline("passthrough", FrozenEstimator(in_pipeline(StandardScaler()))),
    "svc linear": lambda: SVC(kernel="linear").fit(CARD[:400], FLIPPED[:400]),
    "svc rbf": lambda: SVC().fit(CARD[:400], FLIPPED[:400]),
    "svc poly": lambda: SVC(kernel="poly", degree=2, coef0=1.0).fit(CARD[:400], FLIPPED[:400]),
    "nu svc": lambda: NuSVC(nu=0.2).fit(CARD[:400], FLIPPED[:400]),
    "svc multiclass": lambda: SVC(decision_function_shape="ovr").fit(CARD[:400], KINDS[:400]),
    "svc pairs": lambda: SVC(decision_function_shape="ovo").fit(CARD[:400], KINDS[:400]),
    "svc break ties": lambda: SVC(break_ties=True).fit(CARD[:400], KINDS[:400]),
    "svc sparse": lambda: SVC().fit(sparse.csr_matrix(CARD[:400]), FLIPPED[:400]),
    "svc sparse multiclass": lambda: SVC(kernel="linear").fit(sparse.csr_matrix(CARD[:400]), KINDS[:400]),
    "scaled svc": lambda: make_pipeline(StandardScaler(), SVC()).fit(CARD[:400], FLIPPED[:400]),
    "threshold": lambda: FixedThresholdClassifier(
        FrozenEstimator(carded(linear.LogisticRegression())), threshold=0.5, pos_label=0
    ).fit(CARD, LABELS),
    "threshold of a score": lambda: FixedThresholdClassifier(
        FrozenEstimator(carded(linear.LogisticRegression())),
        threshold=np.float64(0.3),
        response_method="decision_function",
    ).fit(CARD, LABELS),
    "tuned": lambda: TunedThresholdClassifierCV(linear.LogisticRegression(), cv=2).fit(CARD, FLIPPED),
    "sigmoid": lambda: CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2).fit(CARD, FLIPPED),
    "isotonic": lambda: CalibratedClassifierCV(LinearSVC(), method="isotonic", ensemble=False, cv=2).fit(CARD, FLIPPED),
}
DENSE_ONLY = {"standardized", "robust", "frozen in a pipeline", "scaled svc", "min-max", "ridge behind a scaler"} | {
    name for name in CARDS if "svc" in name and "sparse" not in name and "linear svc" not in name
}
#: scikit-learn refuses to put the constant into whole numbers.
NO_INTEGERS = {"imputed by a constant", "imputed by whole numbers"}


def wrapped(model: Any, **params: Any) -> wald.EarlyExitClassifier:
    params = {"risk": 0.05, "random_state": 0, "cost": "units"} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wald.EarlyExitClassifier(FrozenEstimator(model), **params).fit(CARD[1000:])


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", CARDS)
def test_a_rebuilt_estimator_answers_bit_for_bit(name):
    model = CARDS[name]()
    raw = to_bytes(wrapped(model))
    rebuilt = from_bytes(raw).estimator_
    assert type(rebuilt) is (FixedThresholdClassifier if name == "tuned" else type(model))
    forms = [CARD.astype(np.float32), CARD, np.asfortranarray(CARD)]
    forms += [] if name in NO_INTEGERS else [CARD.astype(np.uint8)]
    forms += [] if name in DENSE_ONLY else [sparse.csr_matrix(CARD)]
    for X in forms:
        for n in (1, 5, 100, 3000):
            for method in ("predict", "decision_function", "predict_proba"):
                assert hasattr(rebuilt, method) == hasattr(model, method)
                if hasattr(model, method):
                    same(getattr(rebuilt, method)(X[:n]), getattr(model, method)(X[:n]))
    assert to_bytes(from_bytes(raw)) == raw


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", CARDS)
def test_labels_are_those_of_before_saving(name):
    fast = wrapped(CARDS[name]())
    loaded = from_bytes(to_bytes(fast))
    forms = [CARD.astype(np.float32), CARD]
    forms += [] if name in NO_INTEGERS else [CARD.astype(np.uint8)]
    forms += [] if name in DENSE_ONLY else [sparse.csr_matrix(CARD)]
    for X in forms:
        for n in (1, 5, 100, 3000):
            same(loaded.predict(X[:n]), fast.predict(X[:n]))


def test_a_score_card_has_ties_that_a_file_without_its_estimator_decides_otherwise():
    fast = wrapped(carded(linear.LogisticRegression()), risk=0.01)
    fields, arrays = taken_apart(to_bytes(fast))
    fields["estimator"] = None
    arrays = {name: array for name, array in arrays.items() if not name.startswith("e.")}
    before = fast.predict(CARD)
    assert (np.abs(CARD @ WEIGHTS) < 1e-9).mean() > 0.01
    assert (from_bytes(put_together(fields, arrays)).predict(CARD) != before).any()
    np.testing.assert_array_equal(from_bytes(to_bytes(fast)).predict(CARD), before)


@pytest.mark.parametrize("name", ["logistic", "ridge as fitted", "standardized", "svc rbf", "multiclass"])
def test_risk_0_loads_without_the_estimator(name):
    fast = wrapped(CARDS[name](), risk=0)
    np.testing.assert_array_equal(from_bytes(to_bytes(fast)).predict(CARD), fast.estimator_.predict(CARD))


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB, NearestCentroid])
def test_classes_of_the_table_that_are_not_read_as_terms(kind):
    model, arrays = kind().fit(CARD, KINDS), {}
    node = Writer(arrays, model.classes_, None, None).node(model)
    stock = Stock(arrays)
    rebuilt = Reader(stock, model.classes_, 12, None, None).node(node)
    stock.done()
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            same(getattr(rebuilt, method)(CARD), getattr(model, method)(CARD))


class Own(linear.LogisticRegression):
    """A subclass that no file describes, though its coefficients determine its answers."""


def test_what_cannot_be_rebuilt_warns_and_is_read_as_terms():
    fast = wrapped(Own().fit(CARD, FLIPPED))
    with pytest.warns(UserWarning, match=r"not the estimator itself: .*Own is no class that a file can describe"):
        raw = to_bytes(fast)
    assert type(from_bytes(raw).estimator_) is wald.persistence.SavedModel
    with pytest.warns(UserWarning, match=r"risk=0\), and is loaded by wald.load\(path, estimator=...\) alone"):
        raw = to_bytes(wrapped(Own().fit(CARD, FLIPPED), risk=0))
    with pytest.raises(ValueError, match="promises the labels of the estimator itself"):
        from_bytes(raw)


def test_a_file_holds_support_vectors_once():
    X, y = rows(2600, 60)
    fast, _ = dense(SVC(C=0.01), X, y)()
    size = fast.estimator_.support_vectors_.nbytes
    _, arrays = taken_apart(to_bytes(fast))
    assert sum(a.nbytes for n, a in arrays.items() if n.startswith("e.")) < 0.05 * size
    loaded = from_bytes(to_bytes(fast))
    assert np.shares_memory(loaded.estimator_.support_vectors_, loaded.compiled_plan_.model.terms.support_vectors)


# ---- files that lie --------------------------------------------------------------------------------------------------


def changed(name: str, change: Any) -> bytes:
    fields, arrays = taken_apart(to_bytes(wrapped(CARDS[name]())))
    change(fields["estimator"], arrays)
    return put_together(fields, arrays)


def put(node: Any, arrays: Any, name: str, array: Any) -> None:
    arrays[node[name]] = array


LIES: dict[str, tuple[str, Any, str]] = {
    "class": ("logistic", lambda e, a: e.update({"class": "FunctionTransformer"}), "class should be one of"),
    "features": ("logistic", lambda e, a: e.update(n_features=13), "n_features fits no coefficients"),
    "coefficients": (
        "logistic",
        lambda e, a: a.update({e["state"]["coef_"]["array"]: np.ones((1, 12))}),
        "other terms than the file",
    ),
    "shape": (
        "logistic",
        lambda e, a: a.update({e["state"]["coef_"]["array"]: np.ones((1, 13))}),
        "should have the shape",
    ),
    "many outputs": (
        "logistic",
        lambda e, a: a.update({e["state"]["coef_"]["array"]: np.ones((9, 12))}),
        "has 9 outputs",
    ),
    "missing": ("logistic", lambda e, a: e["state"].pop("coef_"), "has no 'coef_'"),
    "none": ("logistic", lambda e, a: e["state"].update(coef_=None), "coef_ is missing"),
    "scaler": (
        "standardized",
        lambda e, a: a.update({e["steps"][0][1]["state"]["mean_"]["array"]: np.ones(12)}),
        "other terms than the file",
    ),
    "no steps": ("standardized", lambda e, a: e.update(steps=[]), "no model at its end"),
    "n_support": (
        "svc rbf",
        lambda e, a: put(e, a, "n_support", np.array([2**30, 5], np.int32)),
        "numbers outside|does not add up",
    ),
    "n_support sum": ("svc rbf", lambda e, a: put(e, a, "n_support", np.array([1, 2], np.int32)), "does not add up"),
    "support": ("svc rbf", lambda e, a: put(e, a, "support", np.zeros(3, np.int32)), "numbers outside|does not add up"),
    "dual": ("svc rbf", lambda e, a: put(e, a, "dual_coef", np.ones((1, 3))), "should have the shape"),
    "pairs": ("svc multiclass", lambda e, a: put(e, a, "intercept", np.ones(2)), "should have the shape"),
    "probabilities": ("svc rbf", lambda e, a: put(e, a, "prob_a", np.ones(5)), "should have the shape|no or 1"),
    "vectors": ("svc linear", lambda e, a: put(e, a, "support_vectors", np.ones((2, 12))), "should have the shape"),
    "not shared": ("svc linear", lambda e, a: e.update(shared=True), "support vectors that are not there"),
    "sparse": ("svc rbf", lambda e, a: e.update(sparse=True), "support vectors that are not there"),
    "gamma": ("svc rbf", lambda e, a: e.update(gamma=0.1), "other terms than the file"),
    "knots": (
        "isotonic",
        lambda e, a: put(e, a, "X_thresholds_", a[e["X_thresholds_"]][::-1].copy()),
        "does not ascend",
    ),
    "label": ("threshold", lambda e, a: e.update(pos_label=2), "pos_label is no number of a class"),
}


@pytest.mark.parametrize("lie", LIES)
def test_files_that_lie_about_an_estimator_are_refused(lie):
    name, change, message = LIES[lie]
    with pytest.raises(FileFormatError, match=message):
        from_bytes(changed(name, change))


def test_an_estimator_of_endless_parts_is_refused():
    def nest(e: Any, a: Any) -> None:
        e["steps"] = [["x", None]] * 70_000 + e["steps"]

    with pytest.raises(FileFormatError):
        from_bytes(changed("standardized", nest))


def test_a_pipeline_whose_steps_are_functions_stays_refused():
    model = make_pipeline(FunctionTransformer(), linear.LogisticRegression()).fit(CARD, LABELS)
    with pytest.raises(ValueError, match="cannot be saved"):
        to_bytes(wrapped(model))


def test_what_is_left_out_is_said():
    for model, message in (
        (OneVsRestClassifier(linear.LogisticRegression()).fit(CARD, KINDS), "OneVsRestClassifier is no class that"),
        (carded(linear.LogisticRegression()), r"coef_ of LogisticRegression is an array of the shape \(12,\)"),
    ):
        node = Writer({}, model.classes_, None, None)
        if "shape" in message:
            model.coef_ = model.coef_[0]
        with pytest.raises(NotRebuildableError, match=message):
            node.node(model)


def test_a_vector_of_coefficients_is_for_two_classes():
    fields, arrays = taken_apart(to_bytes(wrapped(CARDS["multiclass ridge"]())))
    node = fields["estimator"]["state"]["coef_"]
    arrays[node["array"]] = np.ascontiguousarray(arrays[node["array"]].ravel()[:12])
    node |= {"flat": True, "by_columns": False}
    with pytest.raises(FileFormatError, match="coef_ is no vector"):
        from_bytes(put_together(fields, arrays))
