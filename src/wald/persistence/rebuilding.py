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
from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.calibration import _CalibratedClassifier
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import VotingRegressor
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from ..codec.header import FileFormatError
from ..codec.reading import BAD_VALUES, Section, require
from ..codec.writing import CSR_PARTS, Arrays, encode, encode_fields, put
from ..models import AdditiveModel
from ..models.protocols import training_rows
from ..models.readers.sum_values import GENERALIZED
from ..models.rules import positive_code, response_method
from ..models.wrappers import peel
from ..steps.affine import gives_frames
from ..steps.columns import names_of
from ..steps.named_values import READ_BY_NAMED
from ..steps.vectorizer_unions import read_rows
from ..steps.vectorizers import READ_BY_VECTORIZERS, selected
from .classes import CLASSES, MEMBERS, SCHEMA, TABLE
from .comparing import members_of
from .encoders import require_encoder
from .functions import FUNCTIONS, decode_function, encode_function, finish_products
from .members import decode_member, encode_member
from .objects import KINDS, NUMBERS, decode_object, encode_object
from .trees import decode_leaf, encode_leaf, is_trees
from .vocabularies import WORDS, decode_vocabulary, encode_vocabulary

#: What stands for an attribute that is that of the model.
SHARED = "the model's"
#: Values of parameters that this scikit-learn does not know, and may ignore.
WITHOUT_EFFECT = (None, False, "auto", "deprecated", "warn")
#: The training rows of machines, which may be those of the model.
VECTORS = ("support_vectors_", "X_fit_")


class NotRebuildableError(Exception):
    """A file cannot describe an estimator; the message says which part of it, and why."""


class _Shared:
    """What an estimator has in common with the model that the file holds, by the names of attributes."""

    def __init__(self, model: AdditiveModel, n_features: int | None) -> None:
        self._model = model
        self.held: dict[str, Any] = {
            **dict.fromkeys(("classes_", "classes"), model.classes),
            **dict.fromkeys(VECTORS, training_rows(model.terms)),
        }
        if n_features is not None:  # the steps behind a vectorizer have different numbers of columns
            self.held |= {"n_features_in_": n_features, "feature_names_in_": model.feature_names_in}

    def must_share(self, name: str) -> bool:
        """Whether an attribute must be that of the model."""
        return name in self.held and name not in VECTORS


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
        if part is self._model.leaf and type(part) not in TABLE:
            trees = encode_leaf(self._model, self._arrays, where) if self._is_bare() else None
            if trees is not None:
                return trees
        part = _plain(part)
        kind = type(part)
        if gives_frames(part):
            raise NotRebuildableError(f"the {kind.__name__} has a set_output of its own")
        if kind not in TABLE:
            raise NotRebuildableError(f"{kind.__module__}.{kind.__qualname__} is no class that a file can describe")
        node: dict[str, Any] = {"class": kind.__name__}
        for name, value in ((name, vars(part)[name]) for name in TABLE[kind] if name in vars(part)):
            place, what = f"{where}.{name}", f"{name} of {kind.__name__}"
            if name in self.held and _same(value, self.held[name]):
                node[name] = SHARED
            elif self.must_share(name) and value is not None:
                own = {"n_features_in_": "columns", "feature_names_in_": "feature names"}.get(name, "labels")
                raise NotRebuildableError(f"the {kind.__name__} has {own} of its own")
            elif isinstance(value, np.ndarray | np.generic) and value.dtype.name in NUMBERS:
                self._put(np.asarray(value), place, what)
            elif name == "vocabulary_":
                try:
                    node[name] = encode_vocabulary(value, self._arrays, place)
                except UnicodeEncodeError:
                    raise NotRebuildableError(f"{what} has a word that is no Unicode") from None
            elif name == MEMBERS:
                each = self._members(part)
                node[name] = [encode_member(m, self._arrays, f"{place}.{i}", _describe) for i, m in enumerate(each)]
            elif name == "transformer_":  # of targets, which have columns of their own
                node[name] = Writer(self._model, None, self._arrays).node(value, place)
            elif sparse.issparse(value):
                node[name] = encode_fields({"csr": value.shape, "rows": sparse.csr_array(value)}, self._arrays, place)
            else:
                node[name] = self._value(value, place, what)
        return node

    def _members(self, part: Any) -> Sequence[AdditiveModel]:
        """The models of the members of a mean, which is that of the whole model."""
        members = members_of(self._model) if hasattr(self._model.leaf, MEMBERS) else ()
        if not members or len(members) > len(getattr(part, MEMBERS)):
            raise NotRebuildableError(f"the {type(part).__name__} is none of members that wald reads")
        return members

    def _is_bare(self) -> bool:
        """Whether the steps before the terms are those of the estimator, and none of the innermost model."""
        before, whole = self._model.preprocessing, self._model.estimator
        inner = whole.regressor_ if isinstance(whole, TransformedTargetRegressor) else whole
        n_steps = (0 if before is None else len(before.steps)) + len(self._model.steps)
        return len(peel(inner).steps) == n_steps

    def _put(self, array: Any, place: str, what: str) -> None:
        if not (array.flags.c_contiguous or array.flags.f_contiguous):  # would be summed in another order
            raise NotRebuildableError(f"{what} is a view with gaps")
        put(array, self._arrays, place)

    def _value(self, value: Any, place: str, what: str) -> Any:
        if isinstance(value, set | frozenset):
            value = sorted(value, key=str)
        if isinstance(value, list | tuple):
            return [self._value(item, f"{place}.{i}", what) for i, item in enumerate(value)]
        if isinstance(value, BaseEstimator | _CalibratedClassifier | Kernel) or value is self._model.leaf:
            return self.node(value, place)
        if isinstance(value, np.dtype | type) and np.dtype(value).name in (*NUMBERS, "object"):
            return {"dtype": np.dtype(value).name}
        function = encode_function(value, self._arrays, place)
        if function is not None:
            return function
        try:
            described = encode_object(value, self._arrays, place, lambda item, at: self._value(item, at, what))
            return encode(value, {}, what) if described is None else described
        except ValueError:
            raise NotRebuildableError(f"{what} is no plain value") from None


def _describe(member: AdditiveModel, n_columns: int | None, arrays: Arrays, where: str) -> dict[str, Any]:
    return Writer(member, n_columns, arrays).node(member.estimator, where)


def _rebuild(member: AdditiveModel, n_columns: int | None, described: Section) -> Any:
    return Reader(member, n_columns).rebuilt(described)


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
    """A selector that keeps the same columns, whatever they were chosen by, and arrays in forms that a file holds."""
    kept = selected(part)
    if kept is not None:
        made = VarianceThreshold()
        made.__dict__ |= {"variances_": kept.astype(np.float64), "n_features_in_": len(kept)}
        return made
    if type(part) is ColumnTransformer:
        made = copy.copy(part)
        names = getattr(part, "feature_names_in_", range(part.n_features_in_))
        made.transformers_ = [
            (name, step, columns if np.isscalar(columns) else names_of(columns, names))
            for name, step, columns in part.transformers_
        ]
        return made
    if type(part) is KBinsDiscretizer:
        made = copy.copy(part)
        made.bin_edges_ = list(part.bin_edges_)
        return made
    if isinstance(part, VotingRegressor):
        made = copy.copy(part)
        made.weights = None if part.weights is None else np.asarray(part._weights_not_none, dtype=np.float64)
        if "feature_names_in_" in vars(part):  # those of its first member, whose library may hold texts of NumPy
            made.feature_names_in_ = np.asarray(part.feature_names_in_, dtype=object)
        return made
    if type(part) is TruncatedSVD:
        made = copy.copy(part)
        made.components_ = np.ascontiguousarray(part.components_)  # sparse rows are summed in the same order
        return made
    return part


def _few_rows(made: Any) -> list[Any]:
    """Rows that a pipeline of texts, of dicts or of lists takes."""
    first: Any = made
    while not hasattr(first, "transform"):
        first = first.steps[0][1] if isinstance(first, Pipeline) else vars(first).get("estimator", None)
        if first is None:
            break
    while isinstance(first, Pipeline):
        first = first.steps[0][1]
    if isinstance(first, DictVectorizer):
        return [{}, {"a": 1.0}]
    if isinstance(first, FeatureHasher):
        forms: dict[str, list[Any]] = {"dict": [{}, {"a": 1.0}], "pair": [[], [("a", 1.0)]], "string": [[], ["a"]]}
        return forms[first.input_type]
    return ["", "a text"]


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

    def rebuilt(self, section: Section, rows: Any = None) -> Any:
        """Rebuild what `Writer.node` described; it must answer for rows, or for a row of zeros if it takes numbers."""
        thin, n = sparse.issparse(self.held["support_vectors_"]), self.held.get("n_features_in_")
        if n is not None:
            rows = sparse.csr_matrix((1, n)) if thin else np.zeros((1, n))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = self.node(section)
                if rows is not None:
                    made.predict(_few_rows(made) if n is None else rows)
        except FileFormatError:
            raise
        except Exception as error:  # attributes of a forged estimator may be anything
            what = f"{type(error).__name__}: {error}"
            raise FileFormatError(f"the estimator that the file describes does not answer: {what}") from None
        return made

    def node(self, section: Section) -> Any:
        """Rebuild an estimator and what is inside it."""
        if is_trees(section):
            return decode_leaf(section, self._model)
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
        for name in {"steps", "transformers_", "transformer_list"} & {*state}:
            state[name] = [tuple(step) for step in state[name]]
        if "transformers_" in state:
            state["transformers"] = state["transformers_"]
        if kind is DictVectorizer:
            state["feature_names_"] = sorted(state["vocabulary_"], key=state["vocabulary_"].__getitem__)
        if MEMBERS in state:
            state["estimator"] = state[MEMBERS][0]
            state["estimators"] = [(f"member {i}", member) for i, member in enumerate(state[MEMBERS])]
        elif "estimator_" in state:
            state["estimator"] = state["estimator_"]
        elif "calibrated_classifiers_" in state:
            state["estimator"] = state["calibrated_classifiers_"][0].estimator
        elif kind in (SVC, NuSVC):
            self._complete(state, len(self.held["classes_"]))
        elif kind in (SVR, NuSVR, OneClassSVM):
            self._complete(state, 0)
        if "ngram_range" in state:
            state["ngram_range"] = tuple(state["ngram_range"])
        if isinstance(made, BaseEstimator):
            made.__setstate__(state | {"_sklearn_version": sklearn.__version__})
        else:
            made.__dict__ |= state
        if kind in READ_BY_VECTORIZERS or kind in READ_BY_NAMED:
            self._require_vectorizer(made)
        elif kind is OneHotEncoder:
            require_encoder(made)
        elif kind is PolynomialFeatures:
            finish_products(made)
        elif kind in GENERALIZED:
            made._base_loss = made._get_loss()
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
            good = read_rows(steps) is not None
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
        if name == "classes_" and section.lacks(name):  # of an encoder of numbers
            return None
        if name == MEMBERS:
            held = section.take(name)
            require(isinstance(held, list) and len(held) > 0, f"{section.where}.{name} should be a list")
            inside = (section.inside(each, f"{name}.{i}") for i, each in enumerate(held))
            return [decode_member(each, _rebuild) for each in inside]
        if name == "transformer_":
            return Reader(self._model, None).node(section.section(name))
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
        found: Any
        if not raw.keys().isdisjoint(FUNCTIONS):
            found = decode_function(inner, name)
        elif not raw.keys().isdisjoint(KINDS):
            found = decode_object(inner, lambda item, at: self._value(item, section, f"{name}.{at}"))
        elif "dtype" in raw:
            found = np.dtype(inner.choice("dtype", (*NUMBERS, "object")))
        else:
            found = sparse.csr_matrix(inner.csr("rows", *inner.get("csr", tuple[int, int])))
        inner.done()
        return found

    def _complete(self, machine: dict[str, Any], n_classes: int) -> None:
        """Check the numbers that libsvm trusts, and add its own copies of coefficients, with its own signs.

        A machine without classes has one score, and counts its vectors first.
        """
        vectors, n_sides = machine["support_vectors_"], n_classes or 2
        n, thin, n_pairs = vectors.shape[0], sparse.issparse(vectors), n_sides * (n_sides - 1) // 2
        shapes = {
            "support_vectors_": (n, self.held["n_features_in_"]),
            "support_": (n,),
            "_n_support": (n_sides,),
            "dual_coef_": (n_sides - 1, n),
            "intercept_": (n_pairs,),
            **({"class_weight_": (n_classes,)} if n_classes else {}),
        }
        shapes |= dict.fromkeys(("_probA", "_probB"), (n_pairs if len(machine["_probA"]) else 0,))
        for name, shape in shapes.items():
            require(machine[name].shape == shape, f"{name} of the machine should have the shape {shape}")
        n_support = machine["_n_support"][: None if n_classes else 1]
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
