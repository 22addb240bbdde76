"""Self-check of `fit`: some rows answered by the wrapped object and by the engine, which must agree.

A certificate compares early answers with the full evaluation of the terms that were read from the wrapped object. It
says nothing about the reading itself, so the reading is compared with the object: its labels, and its scores or
probabilities where their relation to the terms is known.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from ...models import TreeClassifier
from ...models.protocols import Delegating, Thresholded
from ...sources import ArraySource, RawSource, Source, SparseSource, source_of
from .made_rows import affordable, made_rows, stacked, with_and_without_nan
from .own_answers import Reference, plain, shown
from .predictor import Predictor
from .rows import preprocessed
from .stand_ins import inventing, remembering

#: Numbers of rows that are compared: as given, and answered by the members of a vote with what is made up.
GIVEN_ROWS, INVENTED_ROWS = 16, 48
#: Size from which made rows are sparse, where the model takes such.
LARGEST_ARRAY = 1 << 17


@dataclass(frozen=True)
class Agreement:
    """How many rows were compared, and whether their scores were, too."""

    n_rows: int = 0
    scores: bool = False

    def and_others(self, other: Agreement) -> Agreement:
        """Add what was found on other rows."""
        return Agreement(self.n_rows + other.n_rows, self.scores or other.scores)

    def __str__(self) -> str:
        return self.told("labels and scores" if self.scores else "labels")

    def told(self, same: str) -> str:
        """What was found, in one sentence; `same` names what agrees."""
        return f"checked against the wrapped model on {self.n_rows} rows: {same} agree"


def require_own_answers(predictor: Predictor, source: Source | None = None) -> Agreement:
    """Compare the engine's full answers with the wrapped object's own.

    Nothing is compared for a model that was loaded without its object, whose labels are the engine's.

    Parameters
    ----------
    predictor : Predictor
    source : Source or None, default=None
        Some of these rows are compared, and rows made from them, near a change of the label. None: only rows at the
        thresholds of the model, where it has some, and, for a vote, what it makes of answers that are made up.

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        If a label or a number differs by more than rounding; the message shows the row and both answers. Also if what
        comes before the model does not give each row the same, whatever the other rows are.
    """
    model = predictor.model
    if model.leaf is None or isinstance(model.leaf, TreeClassifier):
        return Agreement()
    with (
        warnings.catch_warnings(),
        sklearn.config_context(transform_output="default"),
        joblib.parallel_config("sequential"),  # for few rows, threads only cost time
    ):
        warnings.resetwarnings()  # scikit-learn sets every filter again for each tree of a forest
        warnings.simplefilter("ignore")  # about names that arrays lack
        by_members = Delegating.of(model.terms) is not None and Thresholded.of(model.terms) is None
        compare = _compare_vote if by_members else _compare
        made = Agreement() if model.texts is None else _compare_texts(predictor, source)
        if source is None or source.n_rows == 0:
            return made.and_others(compare(predictor, None, None, np.empty(0, dtype=np.intp)))
        n = source.n_rows
        chosen = np.unique(np.linspace(0, n - 1, min(n, GIVEN_ROWS)).astype(np.intp))
        given = source.take(chosen)
        Z = preprocessed(model, given)
        predictor.require_rows_alone(given, Z)
        few = slice(affordable(predictor, Z) if compare is _compare else n)
        return made.and_others(compare(predictor, given.take(few), Z.take(few), chosen[few]))


def _compare(predictor: Predictor, given: Source | None, Z: Source | None, chosen: NDArray[np.intp]) -> Agreement:
    """Compare given rows, also preprocessed (`Z`), and made rows, in as few calls of the wrapped object as possible.

    `chosen` numbers the given rows, for messages.
    """
    model = predictor.model
    whole, inner = Reference(predictor, True), Reference(predictor, on_raw_rows=model.preprocessing is None)

    def name(rows: Source, i: int) -> str:
        return f"row {chosen[i]} of X" if i < len(chosen) else shown(rows, i)

    made = made_rows(predictor, Z) if inner.takes_arrays else None
    together = model.preprocessing is None and _are_alike(given, made)
    n_given, scores = len(chosen), False
    if given is not None and Z is not None and not together:
        scores = whole.judge(given, Z, whole.ask(given), name)
    for some in () if made is None else with_and_without_nan(made):
        rows = source_of(stacked([given.rows, some]) if given is not None and together else some)
        try:
            answers = inner.ask(rows)
            predictor.by_engine(some[:1])
        except Exception:  # whatever a library raises for made values that it refuses
            continue
        scores |= inner.judge(rows, rows, answers, name if together else shown)
        return Agreement(some.shape[0] + n_given, scores)
    if given is not None and Z is not None and together:
        scores = whole.judge(given, Z, whole.ask(given), name)
    return Agreement(n_given, scores)


def _compare_texts(predictor: Predictor, source: Source | None) -> Agreement:
    """Compare what the engine and the wrapped object make of given texts and of made ones."""
    model = predictor.model
    assert model.texts is not None
    vectorizer = model.texts.vectorizer
    given = None if source is None else vectorizer.rows_of(source.take(slice(GIVEN_ROWS)))
    texts = [text for text in given or () if vectorizer.takes(text)] + model.texts.made_texts()
    codes, sure = model.texts.codes(texts, model.decision, model.tie_margin, 1)
    rows, whole = RawSource(texts), Reference(predictor, True)

    def name(rows: Source, i: int) -> str:
        return f"the row {repr(texts[i])[:80]}"

    scores = whole.judge(rows, rows, whole.ask(rows), name, (codes, sure, *model.texts.scores(texts)))
    return Agreement(len(texts), scores)


def _compare_vote(predictor: Predictor, given: Source | None, Z: Source | None, chosen: NDArray[np.intp]) -> Agreement:
    """Compare given rows, also preprocessed (`Z`), and what the vote and the engine make of answers that are made up.

    The members are the same for both. What can be misread is which rows they get, which given rows show, and what is
    made of their answers, which needs no calls of them.
    """
    n_rows, scores = len(chosen), False
    if given is not None and Z is not None:
        whole = Reference(remembering(predictor), True)
        scores = whole.judge(given, Z, whole.ask(given), lambda rows, i: f"row {chosen[i]} of X")
    invented = inventing(predictor, INVENTED_ROWS)
    if invented is None:
        return Agreement(n_rows, scores)
    other, members = invented
    vote, shape = Reference(other, True), (INVENTED_ROWS, other.model.terms.n_features)
    wide = np.prod(shape) > LARGEST_ARRAY and other.model.terms.accepts.sparse
    rows = source_of(sparse.csr_matrix(shape) if wide else np.zeros(shape))
    try:
        answers = vote.ask(rows)
    except Exception:  # whatever a vote of one's own asks of its members besides
        return Agreement(n_rows, scores)

    def name(rows: Source, i: int) -> str:
        said = [plain(answers[i]) for member in members[:8] for answers in member.answers.values()]
        return f"members that answer {', '.join(said)}{', ...' if len(members) > 8 else ''}"

    scores |= vote.judge(rows, rows, answers, name)
    return Agreement(n_rows + INVENTED_ROWS, scores)


def _are_alike(given: Source | None, made: Any) -> bool:
    """Whether given and made rows can be one array, or one sparse matrix, without a change of their values."""
    if given is None or made is None or not isinstance(given, ArraySource | SparseSource) or given.names is not None:
        return False
    return given.is_sparse == sparse.issparse(made) and bool(given.rows.dtype == made.dtype)
