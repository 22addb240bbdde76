"""scikit-learn's estimators as a table of attributes, and rebuilt from it: nothing that a file says is executed.

A class that can be rebuilt is one row of `TABLE`: the parameters that its answers depend on, and its fitted arrays.
Support vector machines and what stands around a model are described by functions of their own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from ..models.readers.linear import LINEAR_MODELS
from .arrays import Arrays, Stock, require
from .header import MOST, FileFormatError, Section, number, plain_text

NUMBERS = ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
MOST_STEPS = 64


class NotRebuildableError(Exception):
    """A file cannot describe an estimator; the message says which part of it, and why."""


@dataclass(frozen=True)
class Row:
    """What the answers of one class depend on.

    Parameters
    ----------
    params : tuple of str
        Of its constructor: plain values.
    state : mapping from str to str
        Fitted attributes and their shapes: ``"d"`` one number a feature, ``"k"`` one an output or a number alone,
        ``"kd"`` one for each of both, ``"kd/d"`` this or, for a single output, ``"d"``, ``"dtype"`` a dtype. With a
        question mark, the attribute may be None or missing.
    classes : bool
        Whether it has the labels of the whole.
    finish : callable or None
        Called with the rebuilt object at last.
    """

    params: tuple[str, ...] = ()
    state: Mapping[str, str] = field(default_factory=dict)
    classes: bool = True
    finish: Callable[[Any], None] | None = None


def _binarized(model: Any) -> None:
    """Ridge classifiers keep the labels in their label binarizer."""
    binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(model.__dict__["classes_"])
    binarizer.classes_ = model.__dict__["classes_"]
    model._label_binarizer = binarizer


def _without_indicator(imputer: Any) -> None:
    imputer.indicator_ = None


_LINEAR = {"coef_": "kd", "intercept_": "k"}
#: Ridge classifiers of two classes have a vector of coefficients.
_RIDGE = {"coef_": "kd/d", "intercept_": "k"}
_PARAMS = {
    "LogisticRegression": ("solver", "multi_class"),
    "LogisticRegressionCV": ("solver", "multi_class"),
    "SGDClassifier": ("loss",),
}
_COUNTS = {"feature_log_prob_": "kd", "class_log_prior_": "k"}
_SPREAD = {"class_prior_": "k?", "within_class_std_dev_": "d?"}

#: Every class that a file may name, but for support vector machines and what stands around a model.
TABLE: dict[type, Row] = {
    **{
        kind: Row((), _RIDGE, finish=_binarized)
        if kind.__name__.startswith("Ridge")
        else Row(_PARAMS.get(kind.__name__, ()), _LINEAR)
        for kind in (*LINEAR_MODELS, LinearSVC, LinearDiscriminantAnalysis)
    },
    MultinomialNB: Row((), _COUNTS),
    ComplementNB: Row((), _COUNTS),
    BernoulliNB: Row(("binarize",), _COUNTS),
    NearestCentroid: Row(("metric",), {"centroids_": "kd", **_SPREAD}),
    StandardScaler: Row(("with_mean", "with_std"), {"mean_": "d?", "scale_": "d?"}, classes=False),
    MinMaxScaler: Row(("clip",), {"min_": "d", "scale_": "d"}, classes=False),
    MaxAbsScaler: Row(("clip",), {"scale_": "d"}, classes=False),
    RobustScaler: Row(("with_centering", "with_scaling"), {"center_": "d?", "scale_": "d?"}, classes=False),
    SimpleImputer: Row(
        ("strategy", "keep_empty_features"),
        {"statistics_": "d", "_fit_dtype": "dtype", "_fill_dtype": "dtype?"},
        classes=False,
        finish=_without_indicator,
    ),
}
_SIGMOID, _ISOTONIC = ("a_", "b_"), ("X_thresholds_", "y_thresholds_")
_NAMED = {kind.__name__: kind for kind in TABLE}
_OUTER = ("FixedThresholdClassifier", "CalibratedClassifierCV")
_MACHINES: dict[str, type] = {"SVC": SVC, "NuSVC": NuSVC}
_SVC_PARAMS = ("kernel", "degree", "coef0", "break_ties", "decision_function_shape")


# ---- from an estimator to header and arrays --------------------------------------------------------------------------


class Writer:
    """Describes one estimator.

    Parameters
    ----------
    arrays : dict
        Receives the arrays.
    classes : ndarray
        Labels of the whole.
    names : ndarray or None
        Feature names of the whole.
    vectors : ndarray, CSR array or None
        Support vectors that the file holds already.
    """

    def __init__(self, arrays: Arrays, classes: NDArray[Any], names: Any, vectors: Any) -> None:
        self._arrays, self._classes, self._names, self._vectors = arrays, classes, names, vectors

    def node(self, part: Any) -> dict[str, Any]:
        """Describe an estimator and what is inside it; raises NotRebuildableError."""
        kind = type(part)
        if hasattr(part, "_sklearn_output_config"):
            raise NotRebuildableError(f"the {kind.__name__} has a set_output of its own")
        node: dict[str, Any] = {"class": kind.__name__}
        if isinstance(part, BaseSearchCV):  # which answers as its best estimator does
            return self.node(part.best_estimator_)
        if kind is FrozenEstimator:
            return node | {"estimator": self.node(part.estimator)}
        if kind is Pipeline:
            return node | {"steps": [[name, self._step(step)] for name, step in part.steps]}
        if kind in (FixedThresholdClassifier, TunedThresholdClassifierCV):
            return self._threshold(part)
        if kind is CalibratedClassifierCV:
            return node | self._calibrated(part)
        if kind not in TABLE and kind not in _MACHINES.values():
            raise NotRebuildableError(f"{kind.__module__}.{kind.__qualname__} is no class that a file can describe")
        node |= {"n_features": int(part.n_features_in_), "names": self._has_names(part)}
        if kind in _MACHINES.values():
            return node | self._machine(part)
        row = TABLE[kind]
        if row.classes:
            self._require_classes(part)
        given = part.get_params(deep=False)
        params = {name: self._value(given[name], f"{name} of {kind.__name__}") for name in row.params if name in given}
        state = {name: self._fitted(part, name, shape) for name, shape in row.state.items()}
        return node | {"params": params, "state": state}

    def _step(self, step: Any) -> Any:
        return None if step is None or (isinstance(step, str) and step == "passthrough") else self.node(step)

    def _has_names(self, part: Any) -> bool:
        names = getattr(part, "feature_names_in_", None)
        if names is None:
            return False
        if self._names is None or not np.array_equal(names, self._names):
            raise NotRebuildableError(f"the {type(part).__name__} has feature names of its own")
        return True

    def _require_classes(self, part: Any) -> None:
        classes = np.asarray(part.classes_)
        if classes.dtype != self._classes.dtype or not np.array_equal(classes, self._classes):
            raise NotRebuildableError(f"the {type(part).__name__} has labels of its own")

    def _put(self, array: NDArray[Any]) -> str:
        name = f"e.{len(self._arrays)}"
        self._arrays[name] = array
        return name

    def _value(self, value: Any, what: str) -> Any:
        """A plain value; a number of NumPy keeps its dtype."""
        if value is None or isinstance(value, str) or type(value) in (bool, int):
            if type(value) is int and abs(value) > MOST:
                raise NotRebuildableError(f"{what} is too large")
            return value
        if type(value) is float and not math.isnan(value):
            return {"float": number(value)}
        if isinstance(value, np.generic) and value.dtype.name in NUMBERS:
            return {"number": self._put(np.asarray(value).reshape(1))}
        raise NotRebuildableError(f"{what} is no plain value")

    def _fitted(self, part: Any, name: str, shape: str) -> Any:
        value: Any = getattr(part, name, None)
        what = f"{name} of {type(part).__name__}"
        if value is None and shape.endswith("?"):
            return None
        if shape.startswith("dtype"):
            value = np.dtype(value).name
            if value not in NUMBERS:
                raise NotRebuildableError(f"{what} is {value}")
            return value
        if shape == "k" and np.ndim(value) == 0:
            return self._value(value[()] if isinstance(value, np.ndarray) else value, what)
        if type(value) is np.ndarray and value.dtype == object and all(map(_is_real, value.flat)):
            value = value.astype(np.float64)  # the constants of a SimpleImputer
        if type(value) is not np.ndarray or value.dtype.name not in NUMBERS:
            raise NotRebuildableError(f"{what} is no array of numbers")
        if value.ndim not in map(len, shape.rstrip("?").split("/")):
            raise NotRebuildableError(f"{what} is an array of the shape {value.shape}, which a file cannot describe")
        # products take another way by the order in memory, and round otherwise
        by_columns = value.ndim == 2 and value.strides[1] != value.itemsize and value.strides[0] == value.itemsize
        if not by_columns and value.shape[-1] > 1 and value.strides[-1] != value.itemsize:
            raise NotRebuildableError(f"{what} is a view with gaps")
        flat = {"flat": True} if "/" in shape and value.ndim == 1 else {}
        return {"array": self._put(value.T if by_columns else value), "by_columns": by_columns, **flat}

    def _threshold(self, part: Any) -> dict[str, Any]:
        """A tuned threshold answers as a fixed one of the threshold that it found."""
        from ..models.wrappers import _positive_code, _response_method

        fixed = isinstance(part, FixedThresholdClassifier)
        inner = part.estimator_ if hasattr(part, "estimator_") else part.estimator
        code = None if fixed and part.pos_label is None else _positive_code(part, self._classes)
        return {
            "class": "FixedThresholdClassifier",
            "estimator": self.node(inner),
            "threshold": self._value(part.threshold if fixed else part.best_threshold_, "threshold"),
            "pos_label": code,
            "response_method": part.response_method if fixed else _response_method(part),
            **self._outer(part),
        }

    def _outer(self, part: Any) -> dict[str, Any]:
        """What a wrapper knows of the features; not every one does."""
        n = getattr(part, "n_features_in_", None)
        return {"n_features": None if n is None else int(n), "names": self._has_names(part)}

    def _calibrated(self, part: Any) -> dict[str, Any]:
        self._require_classes(part)
        pair = part.calibrated_classifiers_[0]
        node = {"method": pair.method, "estimator": self.node(pair.estimator), **self._outer(part)}
        for calibrator in pair.calibrators[:1]:
            if isinstance(calibrator, IsotonicRegression):
                for name in _ISOTONIC:
                    node[name] = self._put(getattr(calibrator, name))
            elif hasattr(calibrator, "a_") and hasattr(calibrator, "b_"):
                node |= {name: self._value(getattr(calibrator, name), name) for name in _SIGMOID}
            else:
                raise NotRebuildableError(f"it is calibrated by a {type(calibrator).__name__}")
        return node

    def _machine(self, part: Any) -> dict[str, Any]:
        self._require_classes(part)
        n, dual = len(part.support_), part.dual_coef_
        if sparse.issparse(dual):
            if dual.data.size != dual.shape[0] * n:
                raise NotRebuildableError(f"dual_coef_ of {type(part).__name__} has gaps")
            dual = dual.data.reshape(dual.shape)
        vectors, held = part.support_vectors_, self._vectors
        shared = held is not None and _same_rows(vectors, held)
        node: dict[str, Any] = {
            "params": {name: self._value(getattr(part, name), name) for name in _SVC_PARAMS},
            "sparse": bool(part._sparse),
            "gamma": number(float(part._gamma)),
            "n_fitted": int(part.shape_fit_[0]),
            "support": self._put(part.support_),
            "n_support": self._put(part._n_support),
            "dual_coef": self._put(np.asarray(dual)),
            "intercept": self._put(part.intercept_),
            "prob_a": self._put(part._probA),
            "prob_b": self._put(part._probB),
            "shared": shared,
        }
        if not shared and sparse.issparse(vectors):
            node |= {name: self._put(getattr(vectors, name)) for name in ("data", "indices", "indptr")}
        elif not shared:
            node["vectors"] = self._put(vectors)
        return node


def _is_real(value: Any) -> bool:
    """Whether a number is one of float64."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= MOST
    return whole or isinstance(value, float | np.float32)


def _same_rows(one: Any, other: Any) -> bool:
    if sparse.issparse(one) != sparse.issparse(other) or one.shape != other.shape:
        return False
    if sparse.issparse(one):
        return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("data", "indices", "indptr"))
    return bool(np.array_equal(one, other))


# ---- and back --------------------------------------------------------------------------------------------------------


class Reader:
    """Rebuilds one estimator, and trusts nothing.

    Parameters
    ----------
    stock : Stock
    classes : ndarray
        Labels of the whole.
    n_features : int
        Features of the whole, which the innermost model and all steps have.
    names : ndarray or None
        Feature names of the whole.
    vectors : ndarray, CSR array or None
        Support vectors of the terms.
    """

    def __init__(self, stock: Stock, classes: NDArray[Any], n_features: int, names: Any, vectors: Any) -> None:
        self._stock, self._classes, self._n_features = stock, classes, n_features
        self._names, self._vectors, self._left = names, vectors, MOST_STEPS

    def node(self, raw: Any, where: str = "header.estimator") -> Any:
        """Rebuild a node and what is inside it."""
        section = Section(raw, where)
        self._left -= 1
        require(self._left >= 0, f"{where} has more than {MOST_STEPS} parts")
        kinds = ("FrozenEstimator", "Pipeline", *_OUTER, *_MACHINES, *_NAMED)
        kind = section.choice("class", kinds)
        if kind == "FrozenEstimator":
            made: Any = FrozenEstimator(self.node(section.take("estimator"), where))
        elif kind == "Pipeline":
            made = self._pipeline(section)
        else:
            n, has_names = section.take("n_features"), section.flag("names")
            fits = type(n) is int and n == self._n_features
            require(fits or (n is None and kind in _OUTER), f"{where}.n_features fits no coefficients")
            require(not has_names or self._names is not None, f"{where}.names speaks of names that are not there")
            if kind in _OUTER:
                made = self._threshold(section) if kind == _OUTER[0] else self._calibrated(section)
            else:
                machine = kind in _MACHINES
                made = self._machine(section, _MACHINES[kind]) if machine else self._plain(section, _NAMED[kind])
            if n is not None:
                made.n_features_in_ = n
            if has_names:
                made.feature_names_in_ = self._names
        section.done()
        return made

    def _pipeline(self, section: Section) -> Pipeline:
        steps = []
        for item in section.items("steps"):
            require(isinstance(item, list) and len(item) == 2, f"{section.where}.steps holds pairs")
            name = plain_text(item[0], f"{section.where}.steps")
            steps.append((name, "passthrough" if item[1] is None else self.node(item[1], f"{section.where}.steps")))
        require(steps and not isinstance(steps[-1][1], str), f"{section.where}.steps has no model at its end")
        return Pipeline(steps)

    def _threshold(self, section: Section) -> FixedThresholdClassifier:
        inner = self.node(section.take("estimator"), section.where)
        code = section.take("pos_label")
        good = code is None or (type(code) is int and 0 <= code < len(self._classes))
        require(good, f"{section.where}.pos_label is no number of a class")
        threshold = self._value(section.take("threshold"), section.where)
        real = isinstance(threshold, float | int | np.number) and not isinstance(threshold, bool)
        require(real or threshold == "auto", f"{section.where}.threshold is no number")
        method = section.choice("response_method", ("auto", "predict_proba", "decision_function"))
        label = None if code is None else self._classes[code]
        made = FixedThresholdClassifier(inner, threshold=threshold, pos_label=label, response_method=method)
        made.estimator_ = inner
        return made

    def _calibrated(self, section: Section) -> CalibratedClassifierCV:
        inner = self.node(section.take("estimator"), section.where)
        method = section.choice("method", ("sigmoid", "isotonic"))
        if method == "sigmoid":
            calibrator: Any = _SigmoidCalibration()
            calibrator.a_, calibrator.b_ = (self._value(section.take(name), section.where) for name in _SIGMOID)
            numbers = all(isinstance(v, float | np.floating) for v in (calibrator.a_, calibrator.b_))
            require(numbers, f"{section.where}.a_ or b_ is no number")
        else:
            knots = [self._stock.take(section.text(name), ("float32", "float64"), None) for name in _ISOTONIC]
            good = len(knots[0]) == len(knots[1]) >= 1 and all(np.isfinite(k).all() for k in knots)
            require(good and np.all(knots[0][:-1] <= knots[0][1:]), f"{section.where}.X_thresholds_ does not ascend")
            calibrator = IsotonicRegression(out_of_bounds="clip")
            state = dict(zip(_ISOTONIC, knots, strict=True))
            # builds the interpolation from the knots
            calibrator.__setstate__(
                {
                    **calibrator.__getstate__(),
                    **state,
                    "X_min_": knots[0][0],
                    "X_max_": knots[0][-1],
                    "increasing_": True,
                }
            )
        made = CalibratedClassifierCV(inner, method=method, ensemble=False)
        made.calibrated_classifiers_ = [
            _CalibratedClassifier(inner, [calibrator], classes=self._classes, method=method)
        ]
        made.classes_ = self._classes
        return made

    def _plain(self, section: Section, kind: type) -> Any:
        row = TABLE[kind]
        params, state = section.section("params"), section.section("state")
        given = {name: self._value(params.take(name), params.where) for name in row.params if name in params}
        params.done()
        made = _constructed(kind, given)
        for name, shape in row.state.items():
            value = self._fitted(state.take(name), shape, f"{state.where}.{name}")
            if value is not None or not name.startswith("_"):
                setattr(made, name, value)
        state.done()
        if row.classes:
            made.__dict__["classes_"] = self._classes
        if row.finish is not None:
            row.finish(made)
        return made

    def _value(self, raw: Any, where: str) -> Any:
        if raw is None or type(raw) in (bool, int):
            return raw
        if isinstance(raw, str):
            return plain_text(raw, where)
        section = Section(raw, where)
        if "float" in section:
            value: Any = section.number("float", finite=False)
        else:
            value = self._stock.take(section.text("number"), NUMBERS, 1)[0]
        section.done()
        return value

    def _fitted(self, raw: Any, shape: str, where: str) -> Any:
        if raw is None:
            require(shape.endswith("?"), f"{where} is missing")
            return None
        if shape.startswith("dtype"):
            require(raw in NUMBERS, f"{where} should be one of {', '.join(NUMBERS)}")
            return np.dtype(raw)
        if shape == "k" and not (isinstance(raw, dict) and "array" in raw):
            value = self._value(raw, where)
            require(isinstance(value, int | float | np.number), f"{where} is no number")
            return value
        section = Section(raw, where)
        name, by_columns = section.text("array"), section.flag("by_columns")
        flat = "flat" in section and section.flag("flat")
        section.done()
        shape, _, vector = shape.rstrip("?").partition("/")
        if flat:
            require(vector and len(self._classes) == 2, f"{where} is no vector")
            shape = vector
        sizes = [self._n_features if letter == "d" else None for letter in shape]
        if by_columns:
            require(len(sizes) == 2, f"{where} has no columns")
            return self._stock.take(name, NUMBERS, *sizes[::-1]).T
        array = self._stock.take(name, NUMBERS, *sizes)
        n_classes = len(self._classes)
        most = max(n_classes, n_classes * (n_classes - 1) // 2)
        require("k" not in shape or 1 <= len(array) <= most, f"{where} has {len(array)} outputs")
        return array

    def _machine(self, section: Section, kind: type) -> Any:
        stock, classes, where = self._stock, len(self._classes), section.where
        params = section.section("params")
        kernel = params.choice("kernel", ("linear", "poly", "rbf", "sigmoid"))
        given: dict[str, Any] = {
            "kernel": kernel,
            "degree": self._value(params.take("degree"), where),
            "coef0": self._value(params.take("coef0"), where),
            "break_ties": params.flag("break_ties"),
            "decision_function_shape": params.choice("decision_function_shape", ("ovr", "ovo")),
        }
        params.done()
        require(isinstance(given["degree"], int | float | np.number), f"{where}.params.degree is no number")
        require(isinstance(given["coef0"], int | float | np.number), f"{where}.params.coef0 is no number")
        thin, shared = section.flag("sparse"), section.flag("shared")
        # libsvm trusts these: every one of them is checked against the others
        support = stock.integers(section.text("support"), ("int32",), None, low=0, high=2**31 - 1)
        n = len(support)
        n_support = stock.integers(section.text("n_support"), ("int32",), classes, low=0, high=n + 1)
        require(int(n_support.sum(dtype=np.int64)) == n, f"{where}.n_support does not add up to {n}")
        n_pairs = classes * (classes - 1) // 2
        dual = stock.floats(section.text("dual_coef"), classes - 1, n)
        intercept = stock.floats(section.text("intercept"), n_pairs)
        prob_a = stock.floats(section.text("prob_a"), None)
        prob_b = stock.floats(section.text("prob_b"), len(prob_a))
        require(len(prob_a) in (0, n_pairs), f"{where}.prob_a should have no or {n_pairs} numbers")
        vectors = self._shared(thin, n, where) if shared else self._own_vectors(section, thin, n)
        if len(prob_a):
            given["probability"] = True
        made = _constructed(kind, given)
        used = -1.0 if classes == 2 else 1.0
        made.support_, made._n_support = support, n_support
        made.support_vectors_ = sparse.csr_matrix(vectors) if thin else vectors
        made.dual_coef_ = _full_csr(dual) if thin else dual
        made._dual_coef_ = _full_csr(used * dual) if thin else used * dual
        made.intercept_, made._intercept_ = intercept, used * intercept
        made._probA, made._probB, made._effective_probability = prob_a, prob_b, bool(len(prob_a))
        made._gamma, made._sparse = section.number("gamma", 0.0), thin
        made.shape_fit_ = (section.integer("n_fitted"), self._n_features)
        made.class_weight_, made.fit_status_, made.classes_ = np.ones(classes), 0, self._classes
        return made

    def _shared(self, thin: bool, n: int, where: str) -> Any:
        fits = self._vectors is not None and sparse.issparse(self._vectors) == thin and self._vectors.shape[0] == n
        require(fits, f"{where}.shared speaks of support vectors that are not there")
        return self._vectors

    def _own_vectors(self, section: Section, thin: bool, n: int) -> Any:
        if not thin:
            return self._stock.floats(section.text("vectors"), n, self._n_features)
        names = (section.text("data"), section.text("indices"), section.text("indptr"))
        return self._stock.csr(names, n, self._n_features)


def _full_csr(dense: NDArray[np.float64]) -> Any:
    rows, columns = dense.shape
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    indptr = np.arange(0, rows * columns + 1, max(1, columns), dtype=np.int32)
    return sparse.csr_matrix((dense.ravel(), indices, indptr), shape=dense.shape)


def _constructed(kind: type, given: Mapping[str, Any]) -> Any:
    """An unfitted object; a parameter that this scikit-learn does not have is left out where it says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes on their way out
        made = kind()
    known = made.get_params(deep=False)
    for name, value in given.items():
        if name in known:
            setattr(made, name, value)
        elif value not in (None, False, "auto", "deprecated", "warn") and name != "probability":
            raise FileFormatError(
                f"the {kind.__name__} was fitted with {name}={value!r}, which the scikit-learn installed here does not "
                "have"
            )
    return made
