"""scikit-learn's estimators in files: the attributes that their answers depend on, by name, as pickle would keep them.

A file names classes of `TABLE` alone, and for each of them the attributes that stand there. They are put back by
``__setstate__``; nothing in a file is executed. An estimator counts as rebuilt if it reads as the model that the file
holds, and if it answers. What libsvm trusts is checked before.
"""

from __future__ import annotations

import codecs
import copy
import inspect
import warnings
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.decomposition import TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
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

from ..codec.header import MOST, FileFormatError
from ..codec.reading import BAD_VALUES, Section, require
from ..codec.writing import CSR_PARTS, Arrays, encode, encode_fields, put
from ..models import AdditiveModel
from ..models.protocols import training_rows
from ..models.readers.linear import LINEAR_MODELS
from ..models.wrappers import positive_code, response_method
from ..steps.vectorizers import READ_BY_VECTORIZERS, read_vectorizer, selected
from .models import LABELS
from .vocabularies import WORDS, decode_vocabulary, encode_vocabulary

#: Attributes that must be those of the whole model.
SCHEMA = ("n_features_in_", "feature_names_in_")
FITTED = ("classes_", *SCHEMA)
_LINEAR = ("coef_", "intercept_", *FITTED)
_COUNTS = ("feature_log_prob_", "class_log_prior_", *FITTED)
_MACHINE = (
    *("kernel", "degree", "coef0", "break_ties", "decision_function_shape", "probability", "_effective_probability"),
    *("_sparse", "_gamma", "class_weight_", "support_", "support_vectors_", "_n_support"),
    *("dual_coef_", "intercept_", "_probA", "_probB", *FITTED),
)
#: Parameters by which vectorizers read texts, and weigh words.
_READING = (
    *("input", "encoding", "decode_error", "strip_accents", "lowercase", "stop_words", "token_pattern"),
    *("ngram_range", "analyzer", "binary", "dtype"),
)
_WEIGHTS = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
#: Parameters on which the answers of linear models depend, and the labels of ridge classifiers.
_OWN = {
    "LogisticRegression": ("solver", "multi_class"),
    "LogisticRegressionCV": ("solver", "multi_class"),
    "SGDClassifier": ("loss",),
    "RidgeClassifier": ("_label_binarizer",),
    "RidgeClassifierCV": ("_label_binarizer",),
}
#: The classes that a file may name, with the parameters and fitted attributes that their answers depend on.
TABLE: dict[type, tuple[str, ...]] = {
    **{
        kind: (*_OWN.get(kind.__name__, ()), *_LINEAR)
        for kind in (*LINEAR_MODELS, LinearSVC, LinearDiscriminantAnalysis)
    },
    LabelBinarizer: ("neg_label", "pos_label", "y_type_", "sparse_input_", "classes_"),
    SVC: _MACHINE,
    NuSVC: _MACHINE,
    MultinomialNB: _COUNTS,
    ComplementNB: _COUNTS,
    BernoulliNB: ("binarize", *_COUNTS),
    NearestCentroid: ("metric", "centroids_", "class_prior_", "within_class_std_dev_", *FITTED),
    StandardScaler: ("with_mean", "with_std", "mean_", "scale_", *SCHEMA),
    MinMaxScaler: ("clip", "min_", "scale_", *SCHEMA),
    MaxAbsScaler: ("clip", "scale_", *SCHEMA),
    RobustScaler: ("with_centering", "with_scaling", "center_", "scale_", *SCHEMA),
    SimpleImputer: (
        *("strategy", "keep_empty_features", "statistics_", "_fit_dtype", "_fill_dtype", "indicator_", *SCHEMA),
    ),
    CountVectorizer: (*_READING, "vocabulary_", "fixed_vocabulary_"),
    TfidfVectorizer: (*_READING, *_WEIGHTS, "vocabulary_", "fixed_vocabulary_", "_tfidf"),
    HashingVectorizer: (*_READING, "norm", "n_features", "alternate_sign"),
    TfidfTransformer: (*_WEIGHTS, "idf_", *SCHEMA),
    VarianceThreshold: ("threshold", "variances_", *SCHEMA),
    TruncatedSVD: ("components_", *SCHEMA),
    FrozenEstimator: ("estimator",),
    Pipeline: ("steps",),
    FixedThresholdClassifier: ("estimator_", "threshold", "pos_label", "response_method", *SCHEMA),
    CalibratedClassifierCV: ("method", "ensemble", "calibrated_classifiers_", *FITTED),
    _CalibratedClassifier: ("estimator", "calibrators", "method", "classes"),
    _SigmoidCalibration: ("a_", "b_"),
    IsotonicRegression: (*("out_of_bounds", "increasing_", "X_min_", "X_max_", "X_thresholds_", "y_thresholds_"),),
}
CLASSES = {kind.__name__: kind for kind in TABLE}
#: What stands for an attribute that is that of the model.
SHARED = "the model's"
#: Values of parameters that this scikit-learn does not know, and may ignore.
WITHOUT_EFFECT = (None, False, "auto", "deprecated", "warn")
NUMBERS = (*LABELS, "float16")


class NotRebuildableError(Exception):
    """A file cannot describe an estimator; the message says which part of it, and why."""


class _Shared:
    """What an estimator has in common with the model that the file holds, by the names of attributes."""

    def __init__(self, model: AdditiveModel, n_features: int | None) -> None:
        self.held: dict[str, Any] = {
            **dict.fromkeys(("classes_", "classes"), model.classes),
            "support_vectors_": training_rows(model.terms),
        }
        if n_features is not None:  # the steps behind a vectorizer have different numbers of columns
            self.held |= {"n_features_in_": n_features, "feature_names_in_": model.feature_names_in}

    def must_share(self, name: str) -> bool:
        """Whether an attribute must be that of the model."""
        return name in self.held and name != "support_vectors_"


# ---- writing ---------------------------------------------------------------------------------------------------------


class Writer(_Shared):
    """Describes an estimator, which must be that of a model.

    Parameters
    ----------
    model : AdditiveModel
    n_features : int or None
        Number of columns of the whole; None where rows are texts.
    arrays : dict from name to ndarray
        Receives the arrays.
    """

    def __init__(self, model: AdditiveModel, n_features: int | None, arrays: Arrays) -> None:
        super().__init__(model, n_features)
        self._arrays = arrays

    def node(self, part: Any, where: str = "estimator") -> dict[str, Any]:
        """Describe an estimator and what is inside it; raises NotRebuildableError."""
        if isinstance(part, BaseSearchCV):  # predicts with its best estimator
            part = part.best_estimator_
        if type(part) in (FixedThresholdClassifier, TunedThresholdClassifierCV):
            part = _fixed(part, self.held["classes_"])
        part = _plain(part)
        kind = type(part)
        if hasattr(part, "_sklearn_output_config"):
            raise NotRebuildableError(f"the {kind.__name__} has a set_output of its own")
        if kind not in TABLE:
            raise NotRebuildableError(f"{kind.__module__}.{kind.__qualname__} is no class that a file can describe")
        node: dict[str, Any] = {"class": kind.__name__}
        for name, value in ((name, vars(part)[name]) for name in TABLE[kind] if name in vars(part)):
            place, what = f"{where}.{name}", f"{name} of {kind.__name__}"
            if name in self.held and _same(value, self.held[name]):
                node[name] = SHARED
            elif self.must_share(name):
                own = {"n_features_in_": "columns", "feature_names_in_": "feature names"}.get(name, "labels")
                raise NotRebuildableError(f"the {kind.__name__} has {own} of its own")
            elif isinstance(value, np.ndarray | np.generic) and not isinstance(value, str):
                self._put(np.asarray(value), place, what)
            elif name == "vocabulary_":
                try:
                    node[name] = encode_vocabulary(value, self._arrays, place)
                except UnicodeEncodeError:
                    raise NotRebuildableError(f"{what} has a word that is no Unicode") from None
            elif sparse.issparse(value):
                node[name] = encode_fields({"csr": value.shape, "rows": sparse.csr_array(value)}, self._arrays, place)
            else:
                node[name] = self._value(value, place, what)
        return node

    def _put(self, array: Any, place: str, what: str) -> None:
        if array.dtype == object and all(map(_is_real, array.flat)):
            array = array.astype(np.float64)  # the constants of a SimpleImputer
        if array.dtype.name not in NUMBERS:
            raise NotRebuildableError(f"{what} is no array of numbers")
        if not (array.flags.c_contiguous or array.flags.f_contiguous):  # would be summed in another order
            raise NotRebuildableError(f"{what} is a view with gaps")
        put(array, self._arrays, place)

    def _value(self, value: Any, place: str, what: str) -> Any:
        if isinstance(value, set | frozenset):
            value = sorted(value, key=str)
        if isinstance(value, list | tuple):
            return [self._value(item, f"{place}.{i}", what) for i, item in enumerate(value)]
        if isinstance(value, BaseEstimator | _CalibratedClassifier):
            return self.node(value, place)
        if isinstance(value, np.dtype | type) and np.dtype(value).name in NUMBERS:
            return {"dtype": np.dtype(value).name}
        try:
            return encode(value, {}, what)
        except ValueError:
            raise NotRebuildableError(f"{what} is no plain value") from None


def _fixed(outer: Any, classes: NDArray[Any]) -> FixedThresholdClassifier:
    """A threshold classifier around its fitted estimator, with a tuned threshold as it was found."""
    inner = outer.estimator_ if hasattr(outer, "estimator_") else outer.estimator
    if isinstance(outer, TunedThresholdClassifierCV):
        found, label, method = outer.best_threshold_, classes[positive_code(outer, classes)], response_method(outer)
    else:
        found, label, method = outer.threshold, outer.pos_label, outer.response_method
    fixed = FixedThresholdClassifier(inner, threshold=found, pos_label=label, response_method=method)
    fixed.__dict__ |= {"estimator_": inner} | {name: vars(outer)[name] for name in SCHEMA if name in vars(outer)}
    return fixed


def _plain(part: Any) -> Any:
    """A selector that keeps the same columns, whatever they were chosen by, and components as one block of memory."""
    kept = selected(part)
    if kept is not None:
        made = VarianceThreshold()
        made.__dict__ |= {"variances_": kept.astype(np.float64), "n_features_in_": len(kept)}
        return made
    if type(part) is TruncatedSVD:
        made = copy.copy(part)
        made.components_ = np.ascontiguousarray(part.components_)  # sparse rows are summed in the same order
        return made
    return part


def _is_real(value: Any) -> bool:
    """Whether float64 holds a number exactly."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= MOST
    return whole or isinstance(value, float | np.float32)


def _same(one: Any, other: Any) -> bool:
    if sparse.issparse(one) and sparse.issparse(other):
        return one.shape == other.shape and all(_same(getattr(one, part), getattr(other, part)) for part in CSR_PARTS)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return np.ndim(one) == np.ndim(other) == 0 and bool(one == other)


# ---- reading ---------------------------------------------------------------------------------------------------------


class Reader(_Shared):
    """Rebuilds an estimator around the model of a file, and trusts nothing.

    Parameters
    ----------
    model : AdditiveModel
    n_features : int or None
        Number of columns of the whole; None where rows are texts.
    """

    def rebuilt(self, section: Section) -> Any:
        """Rebuild what `Writer.node` described; it must answer for a row of zeros, or for texts."""
        thin, n = sparse.issparse(self.held["support_vectors_"]), self.held.get("n_features_in_")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = self.node(section)
                if n is None:
                    made.predict(["", "a text"])
                else:
                    made.predict(sparse.csr_matrix((1, n)) if thin else np.zeros((1, n)))
        except FileFormatError:
            raise
        except Exception as error:  # attributes of a forged estimator may be anything
            what = f"{type(error).__name__}: {error}"
            raise FileFormatError(f"the estimator that the file describes does not answer: {what}") from None
        return made

    def node(self, section: Section) -> Any:
        """Rebuild an estimator and what is inside it."""
        kind = CLASSES[section.choice("class", tuple(CLASSES))]
        parameters = inspect.signature(kind).parameters.values()
        made: Any = kind(**{each.name: None for each in parameters if each.default is inspect.Parameter.empty})
        state: dict[str, Any] = {}
        for name in TABLE[kind]:
            if name in section:
                state[name] = self._attribute(section, name)
                if name not in vars(made) and name.strip("_") == name and state[name] not in WITHOUT_EFFECT:
                    raise FileFormatError(
                        f"the {kind.__name__} was fitted with {name}={state[name]!r}, which the scikit-learn installed "
                        "here does not have"
                    )
        section.done()
        if "steps" in state:
            state["steps"] = [tuple(step) for step in state["steps"]]
        if "estimator_" in state:
            state["estimator"] = state["estimator_"]
        elif "calibrated_classifiers_" in state:
            state["estimator"] = state["calibrated_classifiers_"][0].estimator
        elif kind in (SVC, NuSVC):
            self._complete(state)
        if "ngram_range" in state:
            state["ngram_range"] = tuple(state["ngram_range"])
        if isinstance(made, BaseEstimator):
            made.__setstate__(state | {"_sklearn_version": sklearn.__version__})
        else:
            made.__dict__ |= state
        if kind in READ_BY_VECTORIZERS:
            self._require_vectorizer(made)
        return made

    @staticmethod
    def _require_vectorizer(made: Any) -> None:
        """Refuse a vectorizer that opens files, or finds words by a pattern that may take for ever, before it runs."""
        steps = [made]
        if isinstance(made, TfidfTransformer):
            idf = getattr(made, "idf_", None)
            n = 1 if idf is None else idf.size
            steps.insert(0, HashingVectorizer(norm=None, alternate_sign=False, n_features=n))
        try:
            good = read_vectorizer(steps) is not None
        except BAD_VALUES:
            good = False
        if good and hasattr(made, "encoding"):
            try:
                codecs.lookup_error(made.decode_error)
                b"a".decode(made.encoding, "replace")
            except (TypeError, LookupError, UnicodeError):
                good = False
        require(good, f"the {type(made).__name__} that the file describes is none that wald reads")

    def _attribute(self, section: Section, name: str) -> Any:
        if self.must_share(name) or section.says(name, SHARED):
            shared = self.held.get(name)
            fits = section.says(name, SHARED) and shared is not None
            require(fits, f"{section.where}.{name} is not that of the model")
            section.take(name)
            return shared
        if section.holds(name):
            array = section.array(name, NUMBERS, ...)
            return array if array.ndim else array[()]
        return self._value(section.take(name), section, name)

    def _value(self, raw: Any, section: Section, name: str) -> Any:
        if isinstance(raw, list):
            return [self._value(item, section, f"{name}.{i}") for i, item in enumerate(raw)]
        if not isinstance(raw, dict):
            return section.decode(raw, None | bool | int | float | str, name)
        inner = section.inside(raw, name)
        if "class" in raw:
            return self.node(inner)
        if WORDS in raw:
            return decode_vocabulary(inner)
        if "dtype" in raw:
            found: Any = np.dtype(inner.choice("dtype", NUMBERS))
        else:
            found = sparse.csr_matrix(inner.csr("rows", *inner.get("csr", tuple[int, int])))
        inner.done()
        return found

    def _complete(self, machine: dict[str, Any]) -> None:
        """Check the numbers that libsvm trusts, and add its own copies of coefficients, with its own signs."""
        vectors, n_classes = machine["support_vectors_"], len(self.held["classes_"])
        n, thin, n_pairs = vectors.shape[0], sparse.issparse(vectors), n_classes * (n_classes - 1) // 2
        shapes = {
            "support_vectors_": (n, self.held["n_features_in_"]),
            "support_": (n,),
            "_n_support": (n_classes,),
            "dual_coef_": (n_classes - 1, n),
            "intercept_": (n_pairs,),
            "class_weight_": (n_classes,),
        }
        shapes |= dict.fromkeys(("_probA", "_probB"), (n_pairs if len(machine["_probA"]) else 0,))
        for name, shape in shapes.items():
            require(machine[name].shape == shape, f"{name} of the machine should have the shape {shape}")
        n_support = machine["_n_support"]
        adds_up = n_support.min() >= 0 and int(n_support.sum(dtype=np.int64)) == n
        require(adds_up, f"_n_support of the machine does not add up to {n}")
        known = machine["kernel"] in ("linear", "poly", "rbf", "sigmoid")
        require(known and machine["_sparse"] is thin, "_sparse or kernel does not fit the support vectors")
        dual = machine["dual_coef_"]
        full = sparse.issparse(dual) == thin and (not thin or dual.nnz == dual.shape[0] * n)
        require(full, "dual_coef_ of the machine does not have a number for each of the support vectors")
        sign = -1.0 if n_classes == 2 else 1.0
        machine |= {"_dual_coef_": sign * dual, "_intercept_": sign * machine["intercept_"]}
        if thin:
            machine["support_vectors_"] = sparse.csr_matrix(vectors)
