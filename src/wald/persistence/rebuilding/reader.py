"""Rebuilds an estimator from a header and arrays, which are not trusted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from ...codec.arrays import Stock, require
from ...codec.header import FileFormatError, Section, plain_text
from .kinds import (
    ISOTONIC,
    MACHINES,
    MOST_STEPS,
    NAMED,
    NUMBERS,
    OUTER,
    SIGMOID,
    TABLE,
)


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
        kinds = ("FrozenEstimator", "Pipeline", *OUTER, *MACHINES, *NAMED)
        kind = section.choice("class", kinds)
        if kind == "FrozenEstimator":
            made: Any = FrozenEstimator(self.node(section.take("estimator"), where))
        elif kind == "Pipeline":
            made = self._pipeline(section)
        else:
            n, has_names = section.take("n_features"), section.flag("names")
            fits = type(n) is int and n == self._n_features
            require(fits or (n is None and kind in OUTER), f"{where}.n_features fits no coefficients")
            require(not has_names or self._names is not None, f"{where}.names speaks of names that are not there")
            if kind in OUTER:
                made = self._threshold(section) if kind == OUTER[0] else self._calibrated(section)
            else:
                machine = kind in MACHINES
                made = self._machine(section, MACHINES[kind]) if machine else self._plain(section, NAMED[kind])
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
            calibrator.a_, calibrator.b_ = (self._value(section.take(name), section.where) for name in SIGMOID)
            numbers = all(isinstance(v, float | np.floating) for v in (calibrator.a_, calibrator.b_))
            require(numbers, f"{section.where}.a_ or b_ is no number")
        else:
            knots = [self._stock.take(section.text(name), ("float32", "float64"), None) for name in ISOTONIC]
            good = len(knots[0]) == len(knots[1]) >= 1 and all(np.isfinite(k).all() for k in knots)
            require(good and np.all(knots[0][:-1] <= knots[0][1:]), f"{section.where}.X_thresholds_ does not ascend")
            calibrator = IsotonicRegression(out_of_bounds="clip")
            state = dict(zip(ISOTONIC, knots, strict=True))
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
        name, by_columns, flat = section.text("array"), section.flag("by_columns"), section.flag("flat")
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
            return self._stock.floats(section.text("support_vectors"), n, self._n_features)
        names = (section.text("data"), section.text("indices"), section.text("indptr"))
        return self._stock.csr(names, n, self._n_features)


def _full_csr(dense: NDArray[np.float64]) -> Any:
    rows, columns = dense.shape
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    indptr = np.arange(0, rows * columns + 1, max(1, columns), dtype=np.int32)
    return sparse.csr_matrix((dense.ravel(), indices, indptr), shape=dense.shape)


def _constructed(kind: type, given: Mapping[str, Any]) -> Any:
    """Make an unfitted object. A parameter unknown to this scikit-learn is left out if its value has no effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated classes warn
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
