"""Self-check of `fit`: some rows answered by the wrapped object and by the engine, which must agree.

A certificate compares early answers with the full evaluation of the terms that were read from the wrapped object. It
says nothing about the reading itself, so the reading is compared with the object: its labels, and its scores or
probabilities where their relation to the terms is known.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..engine.rows import n_rows_of, take, to_array
from ..models import AdditiveModel, TreeClassifier
from ..models.families import family_of
from ..models.protocols import Stepped
from ..models.wrappers import peel
from ..outputs import Labels
from .full_model import as_met, keeping_rows
from .predictor import Predictor
from .rows import preprocessed

#: Numbers of rows: as given, at thresholds of the model, and segments that are searched for a change of the label.
GIVEN_ROWS, THRESHOLD_ROWS, SEGMENTS = 16, 48, 8
#: Halvings of a segment; both ends after half of them, and after all, are compared. They end after `SECONDS`.
HALVINGS, SECONDS = 16, 0.004
#: As many rows of a kind are compared as the engine evaluates in this time, but at least `FEWEST`.
ENGINE_SECONDS, FEWEST = 0.002, 4
#: Differences of numbers that are added in the same order, in units of the last place of the largest.
ULPS = 64
#: Tolerated differences relative to the largest number, where the order of additions is not the same.
RELATIVE = {4: 1e-4, 8: 1e-9}

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Compared:
    """Numbers of the same rows by the wrapped object and by the engine, and the difference that rounding explains."""

    method: str
    own: NDArray[Any]
    ours: NDArray[Any]
    tolerance: NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """How many rows were compared, and whether their scores were, too."""

    n_rows: int = 0
    scores: bool = False

    def __str__(self) -> str:
        same = "labels and scores" if self.scores else "labels"
        return f"checked against the wrapped model on {self.n_rows} rows: {same} agree"


def require_own_answers(predictor: Predictor, X: Any = None) -> Agreement:
    """Compare the engine's full answers with the wrapped object's own.

    Nothing is compared for a model that was loaded without its object, whose labels are the engine's.

    Parameters
    ----------
    predictor : Predictor
    X : rows for the wrapped estimator or None, default=None
        Some of these rows are compared, and rows made from them, near a change of the label. None: only rows at the
        thresholds of the model, where it has some.

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        If a label or a number differs by more than rounding; the message shows the row and both answers.
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
        n = 0 if X is None else n_rows_of(X)
        chosen = np.unique(np.linspace(0, n - 1, min(n, GIVEN_ROWS)).astype(np.intp))
        if not n:
            return _compare(predictor, None, None, chosen)
        given = take(X, chosen)
        Z = preprocessed(model, given)
        chosen = chosen[: _affordable(predictor, Z)]
        few = np.arange(len(chosen))
        return _compare(predictor, take(given, few), take(Z, few), chosen)


def _affordable(predictor: Predictor, Z: Any) -> int:
    """Number of preprocessed rows that the engine evaluates in time; the wrapped object is slower, but not by much."""
    n = n_rows_of(Z)
    few = take(Z, np.arange(min(n, FEWEST)))
    spent = np.inf
    for _ in range(2):  # the first call may be slow
        start = time.perf_counter()
        predictor.full_codes(few)
        spent = min(spent, time.perf_counter() - start)
    return n if spent * n <= ENGINE_SECONDS * FEWEST else max(min(n, FEWEST), int(FEWEST * ENGINE_SECONDS / spent))


def _compare(predictor: Predictor, given: Any, Z: Any, chosen: NDArray[np.intp]) -> Agreement:
    """Compare given rows, also preprocessed (`Z`), and made rows, in as few calls of the wrapped object as possible.

    `chosen` numbers the given rows, for messages.
    """
    model = predictor.model
    whole, inner = Reference(predictor, True), Reference(predictor, on_raw_rows=model.preprocessing is None)

    def name(rows: Any, i: int) -> str:
        return f"row {chosen[i]} of X" if i < len(chosen) else f"the row {_shown(rows, i)}"

    made = _made_rows(predictor, Z) if inner.takes_arrays else None
    together = model.preprocessing is None and _are_alike(given, made)
    n_given, scores = len(chosen), False
    if n_given and not together:
        scores = whole.judge(given, Z, whole.ask(given), name)
    for some in () if made is None else _with_and_without_nan(made):
        rows = _stacked([given, some]) if together else some
        try:
            answers = inner.ask(rows)
            predictor.full_codes(some[:1])
        except Exception:  # whatever a library raises for made values that it refuses
            continue
        scores |= inner.judge(rows, rows, answers, name if together else lambda rows, i: f"the row {_shown(rows, i)}")
        return Agreement(n_rows_of(some) + n_given, scores)
    if n_given and together:
        scores = whole.judge(given, Z, whole.ask(given), name)
    return Agreement(n_given, scores)


def _made_rows(predictor: Predictor, Z: Any) -> Any:
    """Rows at the model's thresholds, and near a change of the label between these and preprocessed rows; or None."""
    terms = predictor.model.terms
    ends = None
    if Z is not None:
        ends = to_array(Z, terms.accepts.conversion)
        if not sparse.issparse(ends):
            ends = np.asarray(ends, dtype=np.float64 if ends.dtype.kind != "f" else ends.dtype)
    stepped = Stepped.of(terms)
    made = None if stepped is None else stepped.at_thresholds(THRESHOLD_ROWS, np.random.default_rng(0))
    if made is not None:
        made = made[: _affordable(predictor, made)]
        ends = made if ends is None or sparse.issparse(ends) else np.vstack([ends, made])
    near = None if ends is None else _near_a_change(predictor, ends)
    parts = [rows for rows in (made, near) if rows is not None]
    return _stacked(parts) if parts else None


def _with_and_without_nan(rows: Any) -> Iterator[Any]:
    yield rows
    if not sparse.issparse(rows) and np.isnan(rows).any():
        yield np.nan_to_num(rows)


def _are_alike(given: Any, made: Any) -> bool:
    """Whether given and made rows can be one array, or one sparse matrix, without a change of their values."""
    if given is None or made is None or sparse.issparse(given) != sparse.issparse(made):
        return False
    return (sparse.issparse(given) or isinstance(given, np.ndarray)) and bool(given.dtype == made.dtype)


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


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
    return _stacked(kept)


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

    @cached_property
    def method(self) -> str | None:
        """Name of its method for scores or probabilities whose relation to the terms is known, if there is one."""
        asked, model = self.estimator, self._model
        links = model.links
        if len(model.classes) == 1:
            return None
        if links.decision_function is not None and hasattr(asked, "decision_function"):
            return "decision_function"
        if links.predict_proba is not None and hasattr(asked, "predict_proba"):
            return "predict_proba"
        if links.link is not None and links.link.kind != "none":
            return next((name for name in ("predict_proba", "numbers") if hasattr(asked, name)), None)
        family = family_of(model.leaf)
        decides = family is not None and "decision_function" in family.methods
        if decides and not model.ruled and hasattr(asked, "decision_function"):
            return "decision_function"
        joint = not model.ruled and hasattr(model.leaf, "predict_joint_log_proba")
        return "predict_log_proba" if joint and hasattr(asked, "predict_log_proba") else None

    def ask(self, rows: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Its labels, and what its `method` answers; work that both share is done once."""
        rows = self.met(rows)
        if self.method is None:
            return np.ravel(self.estimator.predict(rows)), None
        heard: list[Any] = []
        asked = _overheard(self.estimator, self.method, heard)
        labels = np.ravel(asked.predict(rows))
        if len(heard) != 1 or n_rows_of(heard[0]) != len(labels):
            heard = [getattr(asked, self.method)(rows)]
        return labels, np.asarray(heard[0])

    def judge(
        self,
        rows: Any,
        Z: Any,
        answers: tuple[NDArray[Any], NDArray[Any] | None],
        name: Callable[[Any, int], str],
    ) -> bool:
        """Raise ValueError if its answers for rows are not those of the engine for these rows, preprocessed.

        Returns whether scores or probabilities were among the answers.
        """
        model, (own, numbers) = self._model, answers
        codes = self._predictor.full_codes(Z)
        settled = np.flatnonzero(codes >= 0)  # the others are labelled by the wrapped object
        wrong = settled[model.classes.take(codes[settled]) != own[settled]]
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(_message(model, "predict", name(rows, i), own[i], model.classes[codes[i]]))
        if numbers is None:
            return False
        compared = self._compared(numbers, *self._predictor.full_scores(Z))
        if compared.own.shape != compared.ours.shape:
            return False
        with np.errstate(invalid="ignore"):
            beyond = np.abs(compared.own.astype(np.float64) - compared.ours) > compared.tolerance
        off = np.asarray(beyond & np.isfinite(compared.own) & np.isfinite(compared.ours))
        differs = np.flatnonzero(off.reshape(len(off), -1).any(axis=1))
        if len(differs):
            i = int(differs[0])
            raise ValueError(_message(model, compared.method, name(rows, i), compared.own[i], compared.ours[i]))
        return True

    def _compared(self, own: NDArray[Any], scores: Floats, errors: Floats) -> Compared:
        """What the `method` answered beside the same numbers by the engine."""
        model, links, method = self._model, self._model.links, self.method
        if method == "decision_function":
            if links.decision_function is not None:
                return _exact(method, own, links.decision_function(scores))
            return _bounded(model, method, own, scores, errors)
        if method == "predict_proba" and links.predict_proba is not None:
            return _exact(method, own, links.predict_proba(scores))
        if method == "predict_log_proba":
            own = own.astype(np.float64)
            ours = scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])
            # both are known up to a number for each row
            return _bounded(model, method, own - own[:, :1], ours - ours[:, :1], errors)
        assert links.link is not None
        if method == "numbers" and (own.ndim == 1 or own.shape[1] == 1):
            own = np.column_stack([1 - own.ravel(), own.ravel()])
        # the exponential function is one of the library, or of its booster
        ours = np.asarray(links.link.probabilities(scores), dtype=np.float64)
        return Compared("predict_proba", own, ours, np.asarray(2e-6))


def _overheard(estimator: Any, method: str, heard: list[Any]) -> Any:
    """A copy of an estimator whose `predict` leaves in `heard` what its own `method` answers on the way.

    Objects of other libraries than scikit-learn are returned as they are.
    """
    if type(estimator) is Pipeline:
        other = _shallow(estimator)
        name, last = estimator.steps[-1]
        other.steps = [*estimator.steps[:-1], (name, _overheard(last, method, heard))]
        return other
    own, predict = getattr(estimator, method, None), getattr(type(estimator), "predict", None)
    if own is None or predict is None or not predict.__module__.startswith("sklearn."):
        return estimator

    def answer(*args: Any, **params: Any) -> Any:
        heard.append(own(*args, **params))
        return heard[-1]

    other = _shallow(estimator)
    setattr(other, method, answer)
    return other


def _shallow(estimator: Any) -> Any:
    """A copy with the same attributes, whatever the object leaves out of its pickles."""
    other: Any = object.__new__(type(estimator))
    vars(other).update(vars(estimator))
    return other


def _exact(method: str, own: Any, ours: Any) -> Compared:
    """Numbers that are computed in the same order, so that they differ by units in the last place."""
    own, ours = np.asarray(own), np.asarray(ours, dtype=np.float64)
    eps = float(np.finfo(own.dtype).eps) if own.dtype.kind == "f" else 2.0**-52
    return Compared(method, own, ours, np.asarray(ULPS * eps * _largest(own)))


def _bounded(model: AdditiveModel, method: str, own: Any, scores: Floats, errors: Floats) -> Compared:
    """Numbers that are computed in another order: within the bound of rounding that the engine gives."""
    own, ours = np.asarray(own), np.asarray(scores)
    if own.ndim == 1:
        ours = ours[:, 0] if ours.shape[1] == 1 else ours
    unsure: NDArray[np.bool_] = np.zeros(len(own), dtype=bool)
    output = model.decision
    by_class = own.ndim == 2 and own.shape[1] == output.n_answers
    if isinstance(output, Labels) and output.kind == "votes" and by_class:
        unsure = np.asarray((np.abs(scores) <= 4 * errors[:, None]).any(axis=1), dtype=bool)
        if getattr(model.leaf, "decision_function_shape", "ovo") == "ovr":
            ours = output.votes_and_sums(scores)
    relative = RELATIVE[min(8, own.dtype.itemsize, model.dtype.itemsize)]
    tolerance = 4 * errors + relative * _largest(own)
    tolerance[unsure] = np.inf
    return Compared(method, own, ours, tolerance if own.ndim == 1 else tolerance[:, None])


def _largest(numbers: NDArray[Any]) -> float:
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max(initial=0.0))


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
