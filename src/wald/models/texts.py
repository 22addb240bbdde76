"""`TextScores`: a linear model behind a vectorizer, as one function from texts to scores."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model._base import LinearClassifierMixin

from .. import _core
from ..steps.affine import read_step
from ..steps.vectorizers import Vectorizer, components, read_vectorizer, selected
from .linear import LinearTerms
from .units import Floats

if TYPE_CHECKING:
    from ..outputs import Output

#: Fewer texts than this are scored by one thread.
FEW_TEXTS = 32
#: Texts in which letters change when they are lowered or lose their accents, and words end in unusual ways.
HARD = (
    "",
    "A b  c_d\te1\nF\u00a0g\x1ch",
    "\u0130stanbul \u039f\u0394\u039f\u03a3 \u03a3 stra\u00dfe caf\u00e9 cafe\u0301 NA\u00cfVE",
    "\u2122 \u00bd \ufb01t \u0939\u093f\u0928\u094d\u0926\u0940 \u4f60\u597d \U0001f600 x\u200by",
)


class EarlyStages(NamedTuple):
    """The early stages of a plan, as ``_core.Text.walk`` takes them."""

    looks: NDArray[np.int64]
    weights: Floats
    bias: Floats
    low: Floats
    high: Floats
    ends: bool

    def first(self, n_stages: int, ends: bool) -> EarlyStages:
        """The first stages; with `ends`, nothing is read behind the last of them."""
        return EarlyStages(
            self.looks[:n_stages],
            self.weights[:n_stages],
            self.bias[:n_stages],
            self.low[:n_stages],
            self.high[:n_stages],
            ends,
        )


class Walked(NamedTuple):
    """What ``_core.Text.walk`` found: estimates or full scores, and how far each text was read."""

    scores: Floats
    errors: Floats
    stages: NDArray[np.int32]
    characters: NDArray[np.int64]
    whole: NDArray[np.bool_]


class TextScores:
    """Scores of texts, in one pass over their characters, without the sparse rows between.

    Parameters
    ----------
    vectorizer : Vectorizer
    terms : LinearTerms
        The weights of its columns, with the steps between folded in.
    extra : int
        Number of roundings in the wrapped model besides those of a product of a sparse row and the weights.
    own : tuple of estimators, default=()
        The steps and the linear model behind them, if the model's own scores are this product.
    """

    def __init__(self, vectorizer: Vectorizer, terms: LinearTerms, extra: int, own: tuple[Any, ...] = ()) -> None:
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
        found = read_vectorizer(steps)
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
        if terms.n_terms != vectorizer.n_features:
            return None
        own = (*steps, leaf) if exact else ()
        return cls(vectorizer, terms, max(0, extra), own)

    @cached_property
    def _read(self) -> tuple[_core.Text, bool]:
        """The extension's part, and whether its scores have the bits of the wrapped model's own.

        It adds up in the order of scikit-learn's products with sparse rows. Whether these have the same bits depends on
        how SciPy was compiled, so it is tried on some texts.
        """
        terms = self.terms
        described = self.vectorizer.described()
        if self._own:
            coef, intercept = (np.asarray(own).dtype for own in (self._own[-1].coef_, self._own[-1].intercept_))
            kept = {"coef": _native(terms.coef, coef), "intercept": _native(terms.intercept, intercept)}
            core = _core.Text(described | kept | {"coef_bound": None})
            if core.same_bits and self._has_bits(core):
                return core, True
        names = ("coef", "intercept", "coef_bound")
        return _core.Text(described | {name: np.ascontiguousarray(getattr(terms, name)) for name in names}), False

    def prepare(self) -> None:
        """Build what the extension needs, which the first scores would build else."""
        self._read  # noqa: B018  # a cached property

    @property
    def _scorer(self) -> _core.Text:
        return self._read[0]

    @property
    def replays(self) -> bool:
        """Whether `exact` gives the wrapped model's scores bit for bit."""
        return self._read[1]

    @cached_property
    def _bias_error(self) -> float:
        """Bound of the rounding errors that are relative to the intercept."""
        roundoff = 2.0**-24 if self.vectorizer.single else 2.0**-53
        return 4.0 * (self._extra + 16) * roundoff * float(self.terms.intercept_bound.max())

    def _has_bits(self, core: _core.Text) -> bool:
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
        return bool(np.array_equal(core.exact_scores(texts).ravel(), own.ravel()))

    def made_texts(self, n_texts: int = 24) -> list[str]:
        """Texts of the vocabulary's own words, and of characters that are hard to read."""
        rng, known = np.random.default_rng(0), self.vectorizer.vocabulary
        words = [known[i] for i in rng.integers(len(known), size=64)] if known else [f"word{i}" for i in range(64)]
        joined = "" if self.vectorizer.analyzer == "char" else " "
        made = [joined.join(words[i] for i in rng.integers(len(words), size=n)) for n in range(n_texts - len(HARD))]
        return [*HARD, *made]

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

    def prefixes(self, texts: list[Any], looks: NDArray[np.int64]) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Scores of the beginnings of texts and of all, their bounds, and numbers of characters.

        See ``_core.Text.prefixes``; the bounds are those of `scores`.
        """
        scores, errors, characters = self._scorer.prefixes(texts, looks)
        return scores, self._bounds(errors), characters

    def walk(self, texts: list[Any], stages: EarlyStages, n_threads: int = 1) -> Walked:
        """Read texts until a stage decides them.

        Parameters
        ----------
        texts : list
        stages : EarlyStages
        n_threads : int, default=1
        """
        threads = 1 if len(texts) < FEW_TEXTS else n_threads
        walked = Walked(*self._scorer.walk(texts, *stages, n_threads=threads))
        return walked if self.replays else walked._replace(errors=self._bounds(walked.errors))

    def _bounds(self, errors: Floats) -> Floats:
        return errors if self.replays else errors * (1.0 + self._extra) + self._bias_error

    def exact(self, texts: list[Any], n_threads: int = 1) -> Floats | None:
        """Scores with the bits of the wrapped model's own, NaN for what is no text; None if they are not known."""
        return np.asarray(self._scorer.exact_scores(texts, n_threads)) if self.replays else None

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
        leaf = self._own[-1]
        rows = np.float32 if self.vectorizer.single else np.float64
        scores = scores.astype(np.result_type(rows, leaf.coef_, leaf.intercept_), copy=False)
        if scores.shape[1] == 1:
            scores = scores.ravel()
        if method == "decision_function":
            return scores
        asked = copy.copy(leaf)
        asked.decision_function = lambda X: scores  # all that such a method asks of rows
        try:
            return np.asarray(getattr(asked, method)(texts))
        except (AttributeError, TypeError, ValueError):  # it asks for more in this version of scikit-learn
            return None


def _native(values: Floats, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values in the dtype of a model, in which its sums are, or in float64."""
    return np.ascontiguousarray(values, dtype=np.float32 if dtype == np.float32 else np.float64)


def _scores_by_product(leaf: Any) -> bool:
    """Whether the scores of a model are ``X @ coef_.T + intercept_`` of a dense matrix of weights."""
    inherited = getattr(type(leaf), "decision_function", None) is LinearClassifierMixin.decision_function
    return inherited and isinstance(leaf.coef_, np.ndarray)


def _before(step: Any, terms: LinearTerms) -> tuple[LinearTerms, int] | None:
    """Terms for the rows before a step, and the number of roundings that it adds; None for steps that are not known."""
    kept = selected(step)
    if kept is not None:
        if np.count_nonzero(kept) != terms.n_terms:
            return None
        coef, bound = np.zeros((2, terms.n_outputs, len(kept)))
        coef[:, kept], bound[:, kept] = terms.coef, terms.coef_bound
        return LinearTerms(coef, terms.intercept, None, bound, terms.intercept_bound), 0
    matrix = components(step)
    if matrix is not None:
        if len(matrix) != terms.n_terms:
            return None
        wide = np.asarray(matrix, dtype=np.float64)
        weights, bound = terms.coef @ wide, terms.coef_bound @ np.abs(wide)
        return LinearTerms(weights, terms.intercept, None, bound, terms.intercept_bound), 2 * len(wide) + 4
    columns = read_step(step)
    if columns is None or columns.fill is not None or columns.width != terms.n_terms:
        return None
    return terms.after(columns), 4
