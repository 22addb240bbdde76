"""`TextScores`: a linear model behind a vectorizer, as one function from texts to scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model._base import LinearClassifierMixin

from .. import _core
from ..outputs import Labels
from ..steps.affine import read_step
from ..steps.named_values import NamedValues
from ..steps.vectorizer_unions import VectorizerUnion, read_rows
from ..steps.vectorizers import Vectorizer, components, selected
from .before import before_step
from .linear import LinearTerms
from .own_links import by_own_method, link_of_one
from .units import Floats

if TYPE_CHECKING:
    from ..outputs import Output

#: Fewer texts than this are scored by one thread.
FEW_TEXTS = 32

Reader = Vectorizer | VectorizerUnion | NamedValues


class Scorer(Protocol):
    """What a vectorizer makes of the weights of a linear model."""

    @property
    def same_bits(self) -> bool:
        """Whether scores may have the bits of scikit-learn's."""

    def scores(self, rows: list[Any], n_threads: int = 1, /) -> tuple[Floats, Floats]:
        """Scores, and bounds of their distance to the wrapped model's own."""


class EarlyStages(NamedTuple):
    """The early stages of a plan, as ``_core.TextPlan`` takes them."""

    looks: NDArray[np.int64]
    block: int
    weights: Floats
    bias: Floats
    low: Floats
    high: Floats

    @classmethod
    def none(cls, n_outputs: int) -> EarlyStages:
        """Of a plan that reads texts whole."""
        empty, weights = np.empty(0), np.empty((0, n_outputs))
        return cls(np.empty(0, dtype=np.int64), 0, weights, weights, empty, empty)


class TextScores:
    """Scores of texts, or of rows of named values, without the sparse rows between.

    Parameters
    ----------
    vectorizer : Vectorizer, VectorizerUnion or NamedValues
    terms : LinearTerms
        The weights of its columns, with the steps between folded in.
    extra : int
        Number of roundings in the wrapped model besides those of a product of a sparse row and the weights.
    own : tuple of estimators, default=()
        The steps and the linear model behind them, if the model's own scores are this product.
    """

    def __init__(self, vectorizer: Reader, terms: LinearTerms, extra: int, own: tuple[Any, ...] = ()) -> None:
        self.vectorizer, self.terms, self._extra, self._own = vectorizer, terms, extra, own

    @classmethod
    def of(cls, steps: Sequence[Any], terms: Any, leaf: Any, *, folded: bool) -> TextScores | None:
        """Read a pipeline that begins with a vectorizer.

        Parameters
        ----------
        steps : sequence of transformer
            The steps before the terms.
        terms : Terms
        leaf : estimator
            The model inside.
        folded : bool
            Whether the terms include further steps.

        Returns
        -------
        TextScores or None
            None if a step is not known exactly, or the model is not linear in the vectorizer's columns.
        """
        if type(terms) is not LinearTerms or terms.fill is not None:
            return None
        found = read_rows(steps)
        if found is None:
            return None
        vectorizer, n_steps = found
        extra, exact = terms.depth - terms.n_terms - 2, not folded and _scores_by_product(leaf)
        for step in reversed(steps[n_steps:]):
            before = _before(step, terms)
            if before is None:
                return None
            terms, further = before
            extra, exact = extra + further, exact and further == 0
        if isinstance(vectorizer, VectorizerUnion):
            whole = _before_union(vectorizer, terms)
            if whole is None:
                return None
            terms, further = whole
            extra, exact = extra + further, exact and further == 0
        if terms.n_terms != vectorizer.n_features:
            return None
        own = (*steps, leaf) if exact else ()
        return cls(vectorizer, terms, max(0, extra), own)

    @cached_property
    def _read(self) -> tuple[Scorer, bool]:
        """The extension's part, and whether its scores have the bits of the wrapped model's own.

        It adds up in the order of scikit-learn's products with sparse rows. Whether these have the same bits depends on
        how SciPy was compiled, so it is tried on some texts.
        """
        terms = self.terms
        if self._own and not self.vectorizer.dense:
            coef, intercept = (np.asarray(own).dtype for own in (self._own[-1].coef_, self._own[-1].intercept_))
            kept = {"coef": _native(terms.coef, coef), "intercept": _native(terms.intercept, intercept)}
            core = self.vectorizer.scorer(kept | {"coef_bound": None})
            if core.same_bits and self._has_bits(core):
                return core, True
        names = ("coef", "intercept", "coef_bound")
        return self.vectorizer.scorer({name: np.ascontiguousarray(getattr(terms, name)) for name in names}), False

    def prepare(self) -> None:
        """Build what the extension needs, which the first scores would build else."""
        self._read  # noqa: B018  # a cached property

    @property
    def _scorer(self) -> Scorer:
        return self._read[0]

    @property
    def _text(self) -> _core.Text:
        """The scorer of one vectorizer of texts, which can be read in parts."""
        scorer = self._scorer
        assert isinstance(scorer, _core.Text)
        return scorer

    @property
    def replays(self) -> bool:
        """Whether `exact` gives the wrapped model's scores bit for bit."""
        return self._read[1]

    @cached_property
    def _bias_error(self) -> float:
        """Bound of the rounding errors that are relative to the intercept."""
        roundoff = 2.0**-24 if self.vectorizer.single else 2.0**-53
        return 4.0 * (self._extra + 16) * roundoff * float(self.terms.intercept_bound.max())

    def _has_bits(self, core: Scorer) -> bool:
        """Whether scores of some texts have the bits of the wrapped model's own."""
        *steps, leaf = self._own
        texts = self.made_texts()
        rows: Any = texts
        with warnings.catch_warnings(), sklearn.config_context(transform_output="default"):
            warnings.simplefilter("ignore")
            try:
                for step in steps:
                    rows = step.transform(rows)
                own = np.asarray(leaf.decision_function(rows))
            except Exception:  # whatever an object raises that was changed
                return False
        return bool(np.array_equal(core.scores(texts)[0].ravel(), own.ravel()))

    def made_texts(self, n_texts: int = 24) -> list[Any]:
        """Rows that are made of what the vectorizer knows, and some that are hard to read."""
        return self.vectorizer.made_rows(n_texts)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_read"}

    # ---- scores ----------------------------------------------------------------------------------------------------

    def scores(self, texts: list[Any], n_threads: int = 1) -> tuple[Floats, Floats]:
        """Scores of texts, and bounds of their distance to the wrapped model's own.

        Parameters
        ----------
        texts : list
            NaN stands for the scores of what is no text.
        n_threads : int, default=1

        Returns
        -------
        scores : float64 ndarray of shape (n_texts, n_outputs)
        errors : float64 ndarray of shape (n_texts,)
        """
        scores, errors = self._scorer.scores(texts, 1 if len(texts) < FEW_TEXTS else n_threads)
        return scores, self._bounds(errors)

    def prefixes(
        self, texts: list[Any], looks: NDArray[np.int64], block: int = 0, n_threads: int = 1
    ) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Scores of parts of texts and of all, their bounds, and numbers of characters.

        See ``_core.Text.prefixes``; the bounds are those of `scores`.
        """
        scores, errors, characters = self._text.prefixes(
            texts, looks, block, 1 if len(texts) < FEW_TEXTS else n_threads
        )
        return scores, self._bounds(errors), characters

    def labelled(
        self, stages: EarlyStages, output: Output, tie_margin: float, labels: tuple[Any, ...], **given: Any
    ) -> _core.TextPlan | None:
        """What labels texts by a plan; None if this is not one vectorizer, or another output than the extension knows.

        Parameters
        ----------
        stages : EarlyStages
        output : Output
        tie_margin : float
        labels : tuple
        **given
            ``n_stages``, ``reach`` and ``cost``, see ``_core.TextPlan``.
        """
        text = self._scorer
        if not (isinstance(text, _core.Text) and has_labels(output)):
            return None
        described = {
            "threshold": float(output.threshold),
            "tie_positive": bool(output.tie_positive),
            "saturation": float(output.saturation),
            "tie_margin": float(tie_margin),
            "error_factor": 1.0 if self.replays else 1.0 + self._extra,
            "error_rest": 0.0 if self.replays else self._bias_error,
            "labels": labels,
        }
        return _core.TextPlan(text, stages._asdict() | described | given)

    def _bounds(self, errors: Floats) -> Floats:
        return errors if self.replays else errors * (1.0 + self._extra) + self._bias_error

    def exact(self, texts: list[Any], n_threads: int = 1) -> Floats | None:
        """Scores with the bits of the wrapped model's own, NaN for what is no text; None if they are not known."""
        if not self.replays:
            return None
        scores, errors = self._scorer.scores(texts, n_threads)
        return None if np.any((errors > 0) & np.isfinite(errors)) else scores

    def codes(
        self, texts: list[Any], decision: Output, tie_margin: float, n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Codes of texts, and whether each is the wrapped model's own for sure."""
        scores, errors = self.scores(texts, n_threads)
        if tie_margin == 0 and not errors.any():  # these are the model's own scores
            return decision.answers(scores), np.ones(len(texts), dtype=bool)
        with np.errstate(invalid="ignore"):
            codes, sure = decision.settled(scores, errors + tie_margin)
        sure &= np.isfinite(errors) & np.isfinite(scores).all(axis=1)
        return codes.astype(np.int32), sure

    def numbers(self, method: str, texts: list[Any], n_threads: int = 1) -> NDArray[Any] | None:
        """What a method of the wrapped model returns for texts, bit for bit; None if that is not known.

        Parameters
        ----------
        method : {"decision_function", "predict_proba", "predict_log_proba"}
        texts : list
        n_threads : int, default=1
        """
        if not self.replays or not hasattr(self._own[-1], method) or not texts:
            return None
        own = getattr(type(self._own[-1]), method)
        scores = self.exact(texts, n_threads)
        if scores is None or not np.isfinite(scores).all() or not own.__module__.startswith("sklearn."):
            return None
        scores = scores.astype(self._own_dtype, copy=False)
        if scores.shape[1] == 1:
            scores = scores.ravel()
        return scores if method == "decision_function" else by_own_method(self._own[-1], method, scores)

    @property
    def _own_dtype(self) -> np.dtype[Any]:
        """Dtype of the wrapped model's scores."""
        leaf, rows = self._own[-1], np.float32 if self.vectorizer.single else np.float64
        return np.result_type(rows, leaf.coef_, leaf.intercept_)

    def proba_of_one(self) -> Callable[[Any], NDArray[Any] | None] | None:
        """The wrapped model's own probabilities of one text, as a function; None if they are not known bit for bit.

        The function returns None for what is no text, or is left to scikit-learn.
        """
        if not self.replays:
            return None
        dtype, n_outputs = self._own_dtype, self.terms.n_outputs
        link, scorer, takes = link_of_one(self._own[-1], n_outputs, dtype), self._scorer, self.vectorizer.takes
        if link is None:
            return None

        def answer(text: Any) -> NDArray[Any] | None:
            if not takes(text):
                return None
            scores, errors = scorer.scores([text])
            return None if errors[0] != 0 or not np.isfinite(scores).all() else link(scores.astype(dtype, copy=False))

        return answer


def has_labels(output: Output) -> TypeGuard[Labels]:
    """Whether what is asked is the sign of a score, or the largest of several."""
    return type(output) is Labels and output.kind in ("sign", "argmax")


def _native(values: Floats, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values in the dtype of a model, in which its sums are, or in float64."""
    return np.ascontiguousarray(values, dtype=np.float32 if dtype == np.float32 else np.float64)


def _scores_by_product(leaf: Any) -> bool:
    """Whether the scores of a model are ``X @ coef_.T + intercept_`` of a dense matrix of weights."""
    inherited = getattr(type(leaf), "decision_function", None) is LinearClassifierMixin.decision_function
    return inherited and isinstance(leaf.coef_, np.ndarray)


def _before_union(union: VectorizerUnion, terms: LinearTerms) -> tuple[LinearTerms, int] | None:
    """Terms for the columns of all vectorizers of a union, and the number of roundings of the steps behind them."""
    if terms.n_terms != union.width:
        return None
    parts, start, most = [], 0, 0
    zeros = np.zeros(terms.n_outputs)
    for part in union.parts:
        some = slice(start, start := start + part.width)
        coef, bound = np.ascontiguousarray(terms.coef[:, some]), np.ascontiguousarray(terms.coef_bound[:, some])
        own, roundings = LinearTerms(coef, zeros, None, bound, zeros), 0
        if part.weight is not None:
            own = LinearTerms(coef * part.weight, zeros, None, bound * abs(part.weight), zeros)
            roundings = 2
        for step in reversed(part.later):
            before = _before(step, own)
            if before is None:
                return None
            own, further = before
            roundings += further
        if own.n_terms != part.vectorizer.n_features:
            return None
        most = max(most, roundings)
        parts.append(own)
    coef, bound = (np.hstack([getattr(part, name) for part in parts]) for name in ("coef", "coef_bound"))
    intercept = terms.intercept + sum(part.intercept for part in parts)
    intercept_bound = terms.intercept_bound + sum(part.intercept_bound for part in parts)
    return LinearTerms(coef, intercept, None, bound, intercept_bound), most


def _before(step: Any, terms: LinearTerms) -> tuple[LinearTerms, int] | None:
    """Terms for the rows before a step, and the number of roundings that it adds; None for steps that are not known."""
    kept, matrix, columns = selected(step), components(step), read_step(step)
    if kept is None and matrix is None and (columns is None or columns.fill is not None):
        return None
    before = before_step(step, terms)
    further = 0 if kept is not None else 4 if matrix is None else 2 * len(matrix) + 4
    return None if before is None else (before, further)
