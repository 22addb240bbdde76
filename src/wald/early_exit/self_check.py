"""Self-check of `fit`: some rows answered by the wrapped object and by the engine, which must agree.

A certificate compares early answers with the full evaluation of the terms that were read from the wrapped object. It
says nothing about the reading itself, so the reading is compared with the object: its labels, and its scores or
probabilities where their relation to the terms is known.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from ..engine.rows import n_rows_of, take, to_array
from ..models import AdditiveModel, TreeClassifier
from ..models.families import family_of
from ..models.wrappers import peel
from .full_model import as_met, keeping_rows, predict_wrapped
from .predictor import Predictor
from .rows import preprocessed

#: Numbers of rows: as given, at thresholds of the model, and segments that are searched for a change of the label.
GIVEN_ROWS, THRESHOLD_ROWS, SEGMENTS = 16, 24, 8
#: Halvings of a segment; both ends after half of them, and after all, are compared.
HALVINGS = 16
#: A call of the wrapped object gets as many rows as it answers in this time, but at least `FEWEST`.
SECONDS, FEWEST = 0.004, 2
#: Differences of numbers that are added in the same order, in units of the last place of the largest.
ULPS = 64
#: Tolerated differences relative to the largest number, where the order of additions is not the same.
RELATIVE = {4: 1e-4, 8: 1e-9}

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Numbers of the same rows by the wrapped object and by the engine, and the difference that rounding explains."""

    method: str
    own: NDArray[Any]
    ours: NDArray[Any]
    tolerance: NDArray[np.float64]


def require_own_answers(predictor: Predictor, X: Any = None) -> None:
    """Compare the engine's full answers with the wrapped object's own.

    Nothing is compared for a model that was loaded without its object, whose labels are the engine's.

    Parameters
    ----------
    predictor : Predictor
    X : rows for the wrapped estimator or None, default=None
        Some of these rows are compared, and rows made from them, near a change of the label. None: only rows at the
        thresholds of the model, where it has some.

    Raises
    ------
    ValueError
        If a label or a number differs by more than rounding; the message shows the row and both answers.
    """
    model = predictor.model
    if model.leaf is None or isinstance(model.leaf, TreeClassifier):
        return
    with warnings.catch_warnings(), sklearn.config_context(transform_output="default"):
        warnings.simplefilter("ignore")  # about names that arrays lack
        if X is not None and n_rows_of(X):
            n = n_rows_of(X)
            chosen = np.unique(np.linspace(0, n - 1, min(n, GIVEN_ROWS)).astype(np.intp))
            whole = Reference(predictor, on_raw_rows=True)
            most = whole.affordable(lambda few: take(X, chosen[few]), len(chosen))
            whole.compare(take(X, chosen[:most]), lambda i: f"row {chosen[i]} of X")
            _compare_made_rows(predictor, take(X, chosen))
        else:
            _compare_made_rows(predictor, None)


def _compare_made_rows(predictor: Predictor, given: Any) -> None:
    """Compare rows at the model's thresholds, and near a change of the label between these and given rows."""
    model = predictor.model
    reference = Reference(predictor, on_raw_rows=model.preprocessing is None)
    if not reference.takes_arrays:
        return
    rng = np.random.default_rng(0)
    ends = None
    if given is not None:
        ends = to_array(preprocessed(model, given), model.terms.conversion)
        if not sparse.issparse(ends):
            ends = np.asarray(ends, dtype=np.float64 if ends.dtype.kind != "f" else ends.dtype)
    made = model.terms.at_thresholds(THRESHOLD_ROWS, rng)
    parts: list[Any] = []
    if made is not None:
        made = made if reference.accepts(made) else np.nan_to_num(made)
        parts.append(made)
        ends = made if ends is None or sparse.issparse(ends) else np.vstack([ends, made])
    if ends is not None:
        parts.append(_near_a_change(predictor, ends))
    for rows in parts:
        if rows is not None and reference.accepts(rows):
            some = rows[: reference.affordable(rows.__getitem__, rows.shape[0])]
            reference.compare(some, partial(_name_of_made, some))


def _near_a_change(predictor: Predictor, ends: Any) -> Any:
    """Rows on both sides of a change of the engine's label, on segments between rows; None if all labels are equal."""
    codes = predictor.full_codes(ends)
    first = np.flatnonzero(codes == codes[0])
    second = np.flatnonzero((codes != codes[0]) & (codes >= 0))
    if codes[0] < 0 or not len(second):
        return None
    n = min(SEGMENTS, max(len(first), len(second)))
    a, b = ends[first[np.arange(n) % len(first)]], ends[second[np.arange(n) % len(second)]]
    low, high = np.zeros(n), np.ones(n)
    kept = []
    deadline = time.perf_counter() + SECONDS
    for k in range(HALVINGS):
        middle = (low + high) / 2
        same = predictor.full_codes(_between(a, b, middle)) == codes[0]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
        if k == HALVINGS // 2:
            kept += [_between(a, b, low), _between(a, b, high)]
        if time.perf_counter() > deadline:
            break
    kept = [_between(a, b, low), _between(a, b, high), *kept]
    return sparse.vstack(kept, format="csr") if sparse.issparse(ends) else np.vstack(kept)


def _between(a: Any, b: Any, t: Floats) -> Any:
    if sparse.issparse(a):
        mixed = (sparse.diags(1 - t) @ a + sparse.diags(t) @ b).tocsr()
        return mixed.astype(a.dtype)
    with np.errstate(invalid="ignore"):
        mixed = a * (1 - t[:, None]) + b * t[:, None]
    return np.ascontiguousarray(mixed, dtype=a.dtype)


class Reference:
    """The wrapped object, asked for labels and scores.

    Parameters
    ----------
    predictor : Predictor
    on_raw_rows : bool
        Whether it gets rows as users give them. If not, it is the innermost model, and gets preprocessed rows.
    """

    def __init__(self, predictor: Predictor, on_raw_rows: bool) -> None:
        self._predictor, self._model, self._raw = predictor, predictor.model, on_raw_rows

    @property
    def takes_arrays(self) -> bool:
        """Whether it can be asked about arrays of numbers that nobody gave."""
        model = self._model
        if self._raw:
            return True
        n_steps = len(model.preprocessing.steps) + len(model.steps)
        return not model.ruled and len(peel(model.estimator).steps) == n_steps  # without steps of the model itself

    @property
    def estimator(self) -> Any:
        """The object whose methods are called."""
        return self._model.estimator if self._raw else self._model.leaf

    def met(self, rows: Any) -> Any:
        """Rows as the object gets them."""
        if self._raw:
            model = self._model
            dense = model.dense_only and sparse.issparse(rows) and model.preprocessing is None and not model.centres
            return rows.toarray() if dense else as_met(model, rows)
        for step in self._model.steps:
            rows = keeping_rows(step).transform(rows)
        return rows

    def labels(self, rows: Any) -> NDArray[Any]:
        """Its labels."""
        if self._raw:
            return np.ravel(predict_wrapped(self._model, rows))
        return np.ravel(self.estimator.predict(self.met(rows)))

    def accepts(self, rows: Any) -> bool:
        """Whether it answers made rows, which may hold values that it refuses."""
        try:
            self.labels(rows[:1])
            self._predictor.full_codes(rows[:1])
        except Exception:  # whatever a library raises for values that it refuses
            return False
        return True

    def affordable(self, some: Callable[[slice], Any], n: int) -> int:
        """Number of rows that it answers in time."""
        few = min(n, FEWEST)
        start = time.perf_counter()
        self.labels(some(slice(few)))
        once = time.perf_counter() - start
        return n if once <= SECONDS else max(few, min(n, int(n * SECONDS / once)))

    def compare(self, rows: Any, name: Callable[[int], str]) -> None:
        """Raise ValueError if labels or scores of rows differ."""
        model = self._model
        Z = preprocessed(model, rows) if self._raw else rows
        codes = self._predictor.full_codes(Z)
        own = self.labels(rows)
        settled = np.flatnonzero(codes >= 0)  # the others are labelled by the wrapped object
        wrong = settled[model.classes.take(codes[settled]) != own[settled]]
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(_message(model, "predict", name(i), own[i], model.classes[codes[i]]))
        answers = _numbers(self, model, rows, Z, self._predictor)
        if answers is None or answers.own.shape != answers.ours.shape:
            return
        with np.errstate(invalid="ignore"):
            beyond = np.abs(answers.own.astype(np.float64) - answers.ours) > answers.tolerance
        off = np.asarray(beyond & np.isfinite(answers.own) & np.isfinite(answers.ours))
        differs = np.flatnonzero(off.reshape(len(off), -1).any(axis=1))
        if len(differs):
            i = int(differs[0])
            raise ValueError(_message(model, answers.method, name(i), answers.own[i], answers.ours[i]))


def _numbers(reference: Reference, model: AdditiveModel, rows: Any, Z: Any, predictor: Predictor) -> Answers | None:
    """Scores or probabilities of rows, where their relation to the terms is known."""
    if len(model.classes) == 1:
        return None
    scores, errors = predictor.full_scores(Z)
    asked, met, links = reference.estimator, reference.met(rows), model.links
    if links.decision_function is not None and hasattr(asked, "decision_function"):
        return _exact("decision_function", asked.decision_function(met), links.decision_function(scores))
    if links.predict_proba is not None and hasattr(asked, "predict_proba"):
        return _exact("predict_proba", asked.predict_proba(met), links.predict_proba(scores))
    if links.link is not None and links.link.kind != "none":
        return _by_link(asked, met, links.link.probabilities(scores))
    family = family_of(model.leaf)
    decides = family is not None and "decision_function" in family.methods
    if decides and not model.ruled and hasattr(asked, "decision_function"):
        return _bounded(model, "decision_function", asked.decision_function(met), scores, errors)
    if not model.ruled and hasattr(model.leaf, "predict_joint_log_proba") and hasattr(asked, "predict_log_proba"):
        own = np.asarray(asked.predict_log_proba(met), dtype=np.float64)
        ours = scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])
        # both are known up to a number for each row
        return _bounded(model, "predict_log_proba", own - own[:, :1], ours - ours[:, :1], errors)
    return None


def _exact(method: str, own: Any, ours: Any) -> Answers:
    """Numbers that are computed in the same order, so that they differ by units in the last place."""
    own, ours = np.asarray(own), np.asarray(ours, dtype=np.float64)
    eps = float(np.finfo(own.dtype).eps) if own.dtype.kind == "f" else 2.0**-52
    return Answers(method, own, ours, np.asarray(ULPS * eps * _largest(own)))


def _by_link(asked: Any, met: Any, ours: NDArray[Any]) -> Answers | None:
    """Probabilities of a library that has an exponential function of its own, or of its booster."""
    if hasattr(asked, "predict_proba"):
        own = np.asarray(asked.predict_proba(met))
    elif hasattr(asked, "numbers"):
        found = asked.numbers(met)
        own = found if found.ndim == 2 and found.shape[1] > 1 else np.column_stack([1 - found.ravel(), found.ravel()])
    else:
        return None
    return Answers("predict_proba", own, np.asarray(ours, dtype=np.float64), np.asarray(2e-6))


def _bounded(model: AdditiveModel, method: str, own: Any, scores: Floats, errors: Floats) -> Answers:
    """Numbers that are computed in another order: within the bound of rounding that the engine gives."""
    own, ours = np.asarray(own), np.asarray(scores)
    if own.ndim == 1:
        ours = ours[:, 0] if ours.shape[1] == 1 else ours
    unsure: NDArray[np.bool_] = np.zeros(len(own), dtype=bool)
    if model.decision.kind == "votes" and own.ndim == 2 and own.shape[1] == model.decision.n_classes:
        unsure = np.asarray((np.abs(scores) <= 4 * errors[:, None]).any(axis=1), dtype=bool)
        if getattr(model.leaf, "decision_function_shape", "ovo") == "ovr":
            ours = model.decision.votes_and_sums(scores)
    relative = RELATIVE[min(8, own.dtype.itemsize, model.dtype.itemsize)]
    tolerance = 4 * errors + relative * _largest(own)
    tolerance[unsure] = np.inf
    return Answers(method, own, ours, tolerance if own.ndim == 1 else tolerance[:, None])


def _largest(numbers: NDArray[Any]) -> float:
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max(initial=0.0))


def _name_of_made(rows: Any, i: int) -> str:
    return f"the row {_shown(rows, i)}"


def _shown(rows: Any, i: int) -> str:
    row = np.ravel(rows[i].toarray() if sparse.issparse(rows) else rows[i])
    numbers = ", ".join(f"{value:.17g}" for value in row[:8].tolist())
    return f"[{numbers}{', ...' if len(row) > 8 else ''}]"


def _message(model: AdditiveModel, method: str, row: str, own: Any, ours: Any) -> str:
    name, library = type(model.leaf).__name__, type(model.leaf).__module__.split(".")[0]
    return (
        f"wald misreads this {name}: its own {method} for {row} gives {_plain(own)}, and wald {_plain(ours)}, which "
        f"rounding does not explain. Serve the model as it is, and report this with the version of {library}."
    )


def _plain(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return np.array2string(answer, precision=9, threshold=6, separator=", ")
    return str(answer.item() if isinstance(answer, np.generic) else answer)
