"""Fitted vectorizers of scikit-learn, read as what they do with a text, and the steps between them and a linear model.

Only what is known to the last token is read. Subclasses, callables, files as input, and patterns that are not listed
in `token_rule` stay in front of a model as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import sklearn.feature_selection
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..sources import Source
from ..sources.texts import refuse_no_texts, texts_of
from .affine import gives_frames, overrides

#: Runs of at least k characters of words, as patterns write them: with or without the flag and the ends.
_WORDS = re.compile(r"(?:\(\?u\))?(\\b)?(?:((?:\\w)*)\\w\+|\\w\{([0-9]{1,3}),\})(\\b)?")
#: Most characters of a word that a pattern may ask for, and most words or characters of an n-gram.
MOST_LETTERS, MOST_GRAMS = 255, 64
#: Most columns of hashed features, of which scikit-learn numbers no more.
MOST_HASHED = 2**31 - 1
#: Dtypes in which words are counted exactly, whatever the text.
COUNTS = tuple(map(np.dtype, (np.int32, np.int64, np.float32, np.float64)))
NORMS = ("l1", "l2", None)
#: Texts in which letters change when they are lowered or lose their accents, and words end in unusual ways.
HARD = (
    "",
    "A b  c_d\te1\nF\u00a0g\x1ch",
    "\u0130stanbul \u039f\u0394\u039f\u03a3 \u03a3 stra\u00dfe caf\u00e9 cafe\u0301 NA\u00cfVE",
    "\u2122 \u00bd \ufb01t \u0939\u093f\u0928\u094d\u0926\u0940 \u4f60\u597d \U0001f600 x\u200by",
)
#: Attributes besides the parameters that transform reads, by type of step.
READ_BY_VECTORIZERS: dict[type, tuple[str, ...]] = {
    CountVectorizer: ("vocabulary_",),
    TfidfVectorizer: ("vocabulary_", "_tfidf"),
    HashingVectorizer: (),
    TfidfTransformer: ("idf_",),
}
SELECTORS: tuple[type, ...] = tuple(
    getattr(sklearn.feature_selection, name)
    for name in (
        *("GenericUnivariateSelect", "RFE", "RFECV", "SelectFdr", "SelectFpr", "SelectFromModel", "SelectFwe"),
        *("SelectKBest", "SelectPercentile", "SequentialFeatureSelector", "VarianceThreshold"),
    )
)


@dataclass(frozen=True, eq=False)
class Vectorizer:
    """From a text to a sparse row, as the fitted vectorizer makes it.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
    token : tuple of str and int
        ``("word", k)``: the longest runs of at least k letters, digits and underscores. ``("space", 1)``: what lies
        between white space.
    lowercase : bool
    strip_accents : {"ascii", "unicode"} or None
    stop_words : tuple of str
    ngram_range : tuple of two int
    n_features : int
    vocabulary : tuple of str or None, default=None
        None: features are hashed.
    ids : int64 ndarray or None, default=None
        The column of each word of the vocabulary.
    alternate_sign : bool, default=True
        Whether the hash decides a sign, too.
    binary, sublinear_tf : bool, default=False
    idf : ndarray of shape (n_features,) or None, default=None
    norm : {"l1", "l2"} or None, default=None
    single : bool, default=False
        Whether rows are float32.
    weight : float, default=1.0
        By which a FeatureUnion multiplies the rows.
    """

    analyzer: str
    token: tuple[str, int]
    lowercase: bool
    strip_accents: str | None
    stop_words: tuple[str, ...]
    ngram_range: tuple[int, int]
    n_features: int
    vocabulary: tuple[str, ...] | None = None
    ids: NDArray[np.int64] | None = None
    alternate_sign: bool = True
    binary: bool = False
    sublinear_tf: bool = False
    idf: NDArray[Any] | None = None
    norm: str | None = None
    single: bool = False
    weight: float = 1.0
    dense: ClassVar[bool] = False
    row_kind: ClassVar[str] = "texts"

    def scorer(self, weights: dict[str, Any]) -> _core.Text:
        """What scores rows, with ``coef``, ``intercept`` and ``coef_bound`` of a linear model."""
        return _core.Text(self.described() | weights)

    def rows_of(self, source: Source) -> list[Any] | None:
        """Rows as a list; None if they are in no form that is known here."""
        return texts_of(source)

    def takes(self, row: Any) -> bool:
        """Whether a row is of the type that is read here."""
        return isinstance(row, str)

    def require(self, X: Any) -> None:
        """Raise an error for what is no column of rows."""
        refuse_no_texts(X)

    def made_rows(self, n_rows: int = 24) -> list[Any]:
        """Texts of the vocabulary's own words, and of characters that are hard to read."""
        rng, known = np.random.default_rng(0), self.vocabulary
        words = [known[i] for i in rng.integers(len(known), size=64)] if known else [f"word{i}" for i in range(64)]
        joined = "" if self.analyzer == "char" else " "
        made = [joined.join(words[i] for i in rng.integers(len(words), size=n)) for n in range(n_rows - len(HARD))]
        return [*HARD, *made]

    def described(self) -> dict[str, Any]:
        """The fields as the extension takes them."""
        own = {name: getattr(self, name) for name in ("analyzer", "token", "lowercase", "strip_accents", "ngram_range")}
        hashed = self.vocabulary is None
        return own | {
            "stop_words": list(self.stop_words),
            "vocabulary": [] if self.vocabulary is None else list(self.vocabulary),
            "ids": np.empty(0, dtype=np.int64) if self.ids is None else self.ids,
            "hashing": {"n_features": self.n_features, "alternate_sign": self.alternate_sign} if hashed else None,
            "binary": self.binary,
            "sublinear_tf": self.sublinear_tf,
            "idf": None if self.idf is None else np.asarray(self.idf, dtype=np.float64),
            "norm": self.norm,
            "weight": self.weight,
            "single": self.single,
        }


def read_vectorizer(steps: Sequence[Any]) -> tuple[Vectorizer, int] | None:
    """Read the first steps of a pipeline.

    Parameters
    ----------
    steps : sequence of transformer
        Fitted.

    Returns
    -------
    vectorizer : Vectorizer
    n_steps : int
        How many steps it stands for.
        None in place of both if the first step is no vectorizer that is known to the last token.
    """
    read = _read_first(steps[0]) if steps else None
    if read is None:
        return None
    if len(steps) > 1 and type(steps[1]) is TfidfTransformer:
        weighted = _weighted(read, steps[1])
        return None if weighted is None else (weighted, 2)
    return read, 1


def token_rule(pattern: Any) -> tuple[str, int] | None:
    r"""What tokens a pattern finds; None if it is none of the usual ones.

    Examples
    --------
    >>> token_rule(r"(?u)\b\w\w+\b"), token_rule(r"\w{3,}"), token_rule(r"\S+"), token_rule("[a-z]+")
    (('word', 2), ('word', 3), ('space', 1), None)
    """
    if not isinstance(pattern, str):
        return None
    if pattern in (r"\S+", r"(?u)\S+"):
        return "space", 1
    found = _WORDS.fullmatch(pattern)
    if found is None:
        return None
    least = int(found[3]) if found[3] is not None else len(found[2] or "") // 2 + 1
    return ("word", least) if 1 <= least <= MOST_LETTERS else None


def selected(step: Any) -> NDArray[np.bool_] | None:
    """The columns that a fitted selector keeps; None if the step is no selector of scikit-learn."""
    if type(step) not in SELECTORS or gives_frames(step) or overrides(step):
        return None
    return np.asarray(step.get_support(), dtype=bool)


def components(step: Any) -> NDArray[Any] | None:
    """The matrix (n_components, n_features) that a fitted TruncatedSVD multiplies rows by; None for other steps."""
    if type(step) is not TruncatedSVD or gives_frames(step) or overrides(step):
        return None
    return np.asarray(step.components_)


def vectorizer_attributes(step: Any) -> list[tuple[Any, str]]:
    """Attributes of a vectorizer that decide its rows, with their owners."""
    if type(step) in SELECTORS:
        parameters = [(step, name) for name in step.get_params(deep=False)]
        inner = vars(step).get("estimator_")
        weights = [name for name in ("coef_", "feature_importances_") if name in getattr(inner, "__dict__", {})]
        return [*parameters, *((inner, name) for name in weights)]
    if type(step) not in READ_BY_VECTORIZERS:
        return []
    found = [(step, name) for name in (*step.get_params(deep=False), *READ_BY_VECTORIZERS[type(step)])]
    inner = vars(step).get("_tfidf")
    return found if inner is None else found + vectorizer_attributes(inner)


def _read_first(step: Any) -> Vectorizer | None:
    kind = type(step)
    if kind not in (CountVectorizer, TfidfVectorizer, HashingVectorizer) or gives_frames(step) or overrides(step):
        return None
    if step.input != "content" or step.preprocessor is not None or step.tokenizer is not None:
        return None
    words = step.analyzer == "word"
    token = token_rule(step.token_pattern) if words else ("word", 1)
    known = step.analyzer in ("word", "char", "char_wb") and step.strip_accents in (None, "ascii", "unicode")
    grams = tuple(step.ngram_range)
    if token is None or not known or len(grams) != 2 or not 1 <= grams[0] <= grams[1] <= MOST_GRAMS:
        return None
    dtype, stop_words = np.dtype(step.dtype), (step.get_stop_words() if words else None) or ()
    if dtype not in COUNTS or not all(type(word) is str for word in stop_words):
        return None
    read = Vectorizer(
        analyzer=step.analyzer,
        token=token,
        lowercase=bool(step.lowercase),
        strip_accents=step.strip_accents,
        stop_words=tuple(sorted(stop_words)),
        ngram_range=(int(grams[0]), int(grams[1])),
        n_features=0,
        binary=bool(step.binary),
        single=dtype == np.float32,
    )
    if kind is HashingVectorizer:
        if dtype.kind != "f" or step.norm not in NORMS:  # normalization would make floats of whole numbers, or fail
            return None
        whole = isinstance(step.n_features, int | np.integer) and not isinstance(step.n_features, bool)
        n = int(step.n_features) if whole else 0
        if not 1 <= n <= MOST_HASHED:
            return None
        return replace(read, n_features=n, norm=step.norm, alternate_sign=bool(step.alternate_sign))
    check_is_fitted(step, "vocabulary_")
    own = step.vocabulary_
    if type(own) is not dict or not own or not all(type(word) is str for word in own):
        return None
    ids = np.fromiter(own.values(), dtype=np.int64, count=len(own))
    if ids.min() < 0:
        return None
    # scikit-learn's rows have as many columns as the vocabulary has words
    counted = replace(read, vocabulary=tuple(own), ids=ids, n_features=len(own))
    if ids.max() >= len(own):
        return None
    return _weighted(counted, step._tfidf) if kind is TfidfVectorizer else counted


def _weighted(read: Vectorizer, step: Any) -> Vectorizer | None:
    """A vectorizer with a TfidfTransformer after it."""
    weighted = read.idf is not None or read.sublinear_tf  # by a TfidfVectorizer
    if read.norm is not None or weighted or gives_frames(step) or overrides(step):
        return None
    signed = read.vocabulary is None and read.alternate_sign and not read.binary
    if step.norm not in NORMS or (step.sublinear_tf and signed):  # no logarithm of signed counts
        return None
    check_is_fitted(step)
    # scikit-learn multiplies by idf_ where there is one, whatever use_idf says
    idf = np.asarray(step.idf_) if hasattr(step, "idf_") else None
    if idf is not None and (idf.shape != (read.n_features,) or idf.dtype.kind != "f" or not np.isfinite(idf).all()):
        return None
    if read.single and idf is not None and idf.dtype != np.float32:  # scikit-learn multiplies in place, in float32
        return None
    return replace(read, sublinear_tf=bool(step.sublinear_tf), idf=idf, norm=step.norm)
