"""Estimators in files: a rebuilt estimator gives the bits of the saved one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as linear
from kinds.parameters import nested
from persistence.cases import dense, rows
from persistence.forge import put_together, taken_apart
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC

import wald
from wald.codec.reading import Section
from wald.models import decompose
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.persistence.describing import NotRebuildableError, Writer
from wald.persistence.rebuilding import Reader

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
        return wald.EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(CARD[1000:])


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)


@pytest.mark.one_in(3)
@pytest.mark.slow
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


@pytest.mark.one_in(3)
@pytest.mark.slow
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
    arrays = {name: array for name, array in arrays.items() if not name.startswith("estimator.")}
    before = fast.predict(CARD)
    assert (np.abs(CARD @ WEIGHTS) < 1e-9).mean() > 0.01
    assert (from_bytes(put_together(fields, arrays)).predict(CARD) != before).any()
    np.testing.assert_array_equal(from_bytes(to_bytes(fast)).predict(CARD), before)


@pytest.mark.parametrize("name", ["logistic", "ridge as fitted", "standardized", "svc rbf", "multiclass"])
def test_risk_0_loads_without_the_estimator(name):
    fast = wrapped(CARDS[name](), risk=0)
    np.testing.assert_array_equal(from_bytes(to_bytes(fast)).predict(CARD), fast.estimator_.predict(CARD))


def described(model: Any) -> tuple[Any, Any, Any]:
    """A model as it was read, and what a file holds of the estimator."""
    read, arrays = decompose(model), {}
    return read, Writer(read, 12, arrays).node(model), arrays


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB, NearestCentroid])
def test_classes_of_the_table_without_scores_of_their_own(kind):
    model = kind().fit(CARD, KINDS)
    read, node, arrays = described(model)
    section = Section(node, "header.estimator", arrays)
    rebuilt = Reader(read, 12).rebuilt(section)
    section.end()
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
    assert sum(a.nbytes for n, a in arrays.items() if n.startswith("estimator.")) < 0.05 * size
    loaded = from_bytes(to_bytes(fast))
    assert np.shares_memory(loaded.estimator_.support_vectors_, loaded.compiled_plan_.model.terms.support_vectors)


# ---- files that lie --------------------------------------------------------------------------------------------------


def changed(name: str, change: Any) -> bytes:
    fields, arrays = taken_apart(to_bytes(wrapped(CARDS[name]())))
    change(fields["estimator"], arrays)
    return put_together(fields, arrays)


def put(name: str, array: Any) -> Any:
    def change(node: Any, arrays: Any) -> None:
        assert f"estimator.{name}" in arrays
        arrays[f"estimator.{name}"] = array(arrays[f"estimator.{name}"]) if callable(array) else array

    return change


def gaps(arrays: Any) -> Any:
    """The arrays of a machine without its first coefficient."""
    place = "estimator.dual_coef_.rows"
    parts = {name: arrays[f"{place}.{name}"][1:] for name in ("data", "indices")}
    ends = np.maximum(arrays[f"{place}.indptr"] - 1, 0)
    return {f"{place}.{name}": part for name, part in (parts | {"indptr": ends}).items()}


def dense_dual(arrays: Any) -> Any:
    """Replace sparse coefficients of a machine by dense ones."""
    dual = arrays["estimator.dual_coef_.rows.data"][None]
    for name in ("data", "indices", "indptr"):
        del arrays[f"estimator.dual_coef_.rows.{name}"]
    return {"estimator.dual_coef_": dual}


LIES: dict[str, tuple[str, Any, str]] = {
    "class": ("logistic", lambda e, a: e.update({"class": "RandomForestClassifier"}), "class should be one of"),
    "labels": ("logistic", lambda e, a: e.update(classes_=[0, 1]), "classes_ is not that of the model"),
    "other labels": (
        "logistic",
        lambda e, a: (e.pop("classes_"), a.update({"estimator.classes_": np.arange(2)})),
        "is not that",
    ),
    "features": ("logistic", lambda e, a: e.update(n_features_in_=13), "n_features_in_ is not that of the model"),
    "names": (
        "logistic",
        lambda e, a: e.update(feature_names_in_="the model's"),
        "feature_names_in_ is not that of the model",
    ),
    "coefficients": ("logistic", put("coef_", np.ones((1, 12))), "other terms than the file"),
    "shape": ("logistic", put("coef_", np.ones((1, 13))), "does not answer"),
    "many outputs": ("logistic", put("coef_", np.ones((9, 12))), "no model that wald reads"),
    "missing": ("logistic", lambda e, a: a.pop("estimator.coef_"), "does not answer"),
    "none": ("logistic", lambda e, a: (a.pop("estimator.coef_"), e.update(coef_=None)), "does not answer"),
    "texts": ("logistic", put("coef_", np.array([["a"] * 12])), "'estimator.coef_' should be"),
    "one more": ("logistic", lambda e, a: e.update(predict=None), "unknown 'predict'"),
    "a method": ("logistic", lambda e, a: e.update(solver={"class": "SVC"}), "does not answer"),
    "scaler": ("standardized", put("steps.0.1.mean_", np.ones(12)), "other terms than the file"),
    "no steps": ("standardized", lambda e, a: e.update(steps=[]), "does not answer"),
    "no pairs": ("standardized", lambda e, a: e.update(steps=[1, 2]), "does not answer"),
    "n_support": ("svc rbf", put("_n_support", np.array([2**30, 5], np.int32)), "does not add up"),
    "n_support below 0": ("svc rbf", put("_n_support", lambda n: np.array([-1, n.sum() + 1], np.int32)), "add up"),
    "n_support sum": ("svc rbf", put("_n_support", np.array([1, 2], np.int32)), "does not add up"),
    "n_support in int64": ("svc rbf", put("_n_support", lambda n: n.astype(np.int64)), "does not answer"),
    "support": ("svc rbf", put("support_", np.zeros(3, np.int32)), "support_ of the machine should have the shape"),
    "dual": ("svc rbf", put("dual_coef_", np.ones((1, 3))), "dual_coef_ of the machine should have the shape"),
    "pairs": ("svc multiclass", put("intercept_", np.ones(2)), "intercept_ of the machine should have the shape"),
    "probabilities": ("svc rbf", put("_probA", np.ones(5)), "_probA of the machine should have the shape"),
    "vectors": ("svc linear", put("support_vectors_", np.ones((2, 12))), "should have the shape"),
    "width": ("svc linear", put("support_vectors_", lambda v: v[:, 1:].copy()), "should have the shape"),
    "not shared": (
        "svc linear",
        lambda e, a: (a.pop("estimator.support_vectors_"), e.update(support_vectors_="the model's")),
        "support_vectors_ is not that of the model",
    ),
    "sparse": ("svc rbf", lambda e, a: e.update(_sparse=True), "_sparse or kernel does not fit"),
    "gaps": ("svc sparse", lambda e, a: a.update(gaps(a)), "dual_coef_ of the machine does not have a number"),
    "a dense dual": (
        "svc sparse",
        lambda e, a: (e.pop("dual_coef_"), a.update(dense_dual(a))),
        "dual_coef_ of the machine does not have a number",
    ),
    "precomputed": ("svc rbf", lambda e, a: e.update(kernel="precomputed"), "_sparse or kernel does not fit"),
    "gamma": ("svc rbf", put("_gamma", np.array(0.1)), "other terms than the file"),
    "knots": (
        "isotonic",
        put("calibrated_classifiers_.0.calibrators.0.X_thresholds_", lambda x: np.sort(x) + 1),
        "other terms than the file",
    ),
    "label": ("threshold", lambda e, a: e.update(pos_label=2), "2 is not|pos_label=2"),
}


@pytest.mark.one_in(3)
@pytest.mark.slow
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
    model = make_pipeline(FunctionTransformer(np.nan_to_num), linear.LogisticRegression()).fit(CARD, LABELS)
    with pytest.raises(ValueError, match="cannot be saved"):
        to_bytes(wrapped(model))


def test_what_is_left_out_is_said():
    spread = carded(linear.LogisticRegression())
    spread.coef_ = np.repeat(spread.coef_, 2, axis=1)[:, ::2]
    renamed = make_pipeline(StandardScaler(), carded(linear.LogisticRegression()))
    renamed[0].fit(CARD)
    renamed[-1].feature_names_in_ = np.array(list("abcdefghijkl"), dtype=object)
    odd = linear.SGDClassifier(loss="log_loss").fit(CARD, LABELS).set_params(loss=np.array([["log_loss"]]))
    for model, message in (
        (OneVsRestClassifier(linear.LogisticRegression()).fit(CARD, KINDS), "OneVsRestClassifier is no class that"),
        (spread, r"coef_ of LogisticRegression is a view with gaps"),
        (renamed, "the LogisticRegression has feature names of its own"),
        (odd, "loss of SGDClassifier is no plain value"),
        (StandardScaler().set_output(transform="pandas").fit(CARD), "set_output of its own"),
    ):
        read = decompose(model) if hasattr(model, "predict") and model is not odd else decompose(spread)
        with pytest.raises(NotRebuildableError, match=message):
            Writer(read, 12, {}).node(model)


def test_a_scaler_that_clips_keeps_its_range() -> None:
    """Behind encoders it is put back as it was, and asked: its range is not the default one."""
    rng = np.random.default_rng(0)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": rng.normal(size=300), "kind": rng.choice(["a", "b"], 300)})
    columns = [("size", MinMaxScaler((-1, 2), clip=True), ["size"]), ("kind", OneHotEncoder(), ["kind"])]
    forest = RandomForestClassifier(5, random_state=0)
    model = make_pipeline(ColumnTransformer(columns), forest).fit(table, np.abs(table["size"] - 0.5) > 1)
    loaded = from_bytes(to_bytes(wald.EarlyExitClassifier(model, risk=0).fit()))
    wide = table.assign(size=3 * table["size"])
    np.testing.assert_array_equal(loaded.predict(wide), model.predict(wide))
    np.testing.assert_array_equal(loaded.predict_proba(wide), model.predict_proba(wide))
