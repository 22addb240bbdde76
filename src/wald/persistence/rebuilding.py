"""scikit-learn's estimators from files: their attributes are put back as pickle would put them.

A file names classes of `TABLE` alone, and for each of them the attributes that stand there. They are put back by
``__setstate__``; nothing in a file is executed. An estimator counts as rebuilt if it reads as the model that the file
holds, and if it answers. What libsvm trusts is checked before.
"""

from __future__ import annotations

import codecs
import inspect
import warnings
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from ..codec.header import FileFormatError
from ..codec.reading import BAD_VALUES, Section, require
from ..models import AdditiveModel
from ..models.readers.sum_values import GENERALIZED
from ..steps.named_values import READ_BY_NAMED
from ..steps.vectorizer_unions import read_rows
from ..steps.vectorizers import READ_BY_VECTORIZERS
from .classes import CLASSES, MEMBERS, TABLE
from .encoders import require_encoder
from .functions import FUNCTIONS, decode_function, finish_products
from .machines import complete_machine
from .members import decode_member
from .objects import KINDS, NUMBERS, decode_object
from .shared import SHARED, must_share, shared_attributes
from .trees import decode_leaf, is_trees
from .vocabularies import WORDS, decode_vocabulary

#: Values of parameters that this scikit-learn does not know, and may ignore.
WITHOUT_EFFECT = (None, False, "auto", "deprecated", "warn")
MACHINES = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)


class Reader:
    """Rebuilds an estimator around the model of a file, and trusts nothing.

    Parameters
    ----------
    model : AdditiveModel
    n_features : int or None
        Number of columns of the whole; None where rows are texts.
    """

    def __init__(self, model: AdditiveModel, n_features: int | None) -> None:
        self._model, self._held = model, shared_attributes(model, n_features)

    def rebuilt(self, section: Section, rows: Any = None) -> Any:
        """Rebuild what `Writer.node` described; it must answer for rows, or for a row of zeros if it takes numbers."""
        thin, n = sparse.issparse(self._held["support_vectors_"]), self._held.get("n_features_in_")
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
        elif kind in MACHINES:
            n_classes = len(self._held["classes_"]) if kind in (SVC, NuSVC) else 0
            complete_machine(state, n_classes, self._held["n_features_in_"])
        if "ngram_range" in state:
            state["ngram_range"] = tuple(state["ngram_range"])
        if isinstance(made, BaseEstimator):
            made.__setstate__(state | {"_sklearn_version": sklearn.__version__})
        else:
            made.__dict__ |= state
        if kind in READ_BY_VECTORIZERS or kind in READ_BY_NAMED:
            _require_vectorizer(made)
        elif kind is OneHotEncoder:
            require_encoder(made)
        elif kind is PolynomialFeatures:
            finish_products(made)
        elif kind in GENERALIZED:
            made._base_loss = made._get_loss()
        return made

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
        if must_share(self._held, name) or section.says(name, SHARED):
            shared = self._held.get(name)
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


def _rebuild(member: AdditiveModel, n_columns: int | None, described: Section) -> Any:
    return Reader(member, n_columns).rebuilt(described)


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
