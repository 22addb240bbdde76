"""What the wrapped object answers for rows, beside the engine's answers: labels, and scores where they are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ...models import AdditiveModel
from ...models.families import family_of
from ...models.protocols import Delegating
from ...models.terms import least_precision
from ...models.wrappers import peel
from ...outputs import Labels
from ...sources import Source
from ...steps import RawColumns
from .full_model import as_met, keeping_rows
from .predictor import Predictor

#: Differences of numbers that are added in the same order, in units of the last place of the largest.
ULPS = 64
#: Tolerated differences relative to the largest number, where the order of additions is not the same.
RELATIVE = {1: 1e-2, 2: 1e-2, 4: 1e-4, 8: 1e-9}

Floats = NDArray[np.float64]
#: Codes, whether the engine settles each, scores and their errors.
Evaluated = tuple[NDArray[np.int32], NDArray[np.bool_], Floats, Floats]


@dataclass(frozen=True, eq=False)
class Compared:
    """Numbers of the same rows by the wrapped object and by the engine, and the difference that rounding explains."""

    method: str
    own: NDArray[Any]
    ours: NDArray[Any]
    tolerance: NDArray[np.float64]


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
        if isinstance(model.preprocessing, RawColumns):  # its columns are not those of the innermost model
            return False
        n_steps = (0 if model.preprocessing is None else len(model.preprocessing.steps)) + len(model.steps)
        return not model.ruled and len(peel(model.estimator).steps) == n_steps  # without steps of the model itself

    @property
    def estimator(self) -> Any:
        """The object whose methods are called."""
        return self._model.estimator if self._raw else self._model.leaf

    def met(self, source: Source) -> Any:
        """Rows as the object gets them."""
        if self._raw:
            return as_met(self._model, source)
        rows = source.rows
        for step in self._model.steps:
            rows = keeping_rows(step).transform(rows)
        return rows

    @cached_property
    def method(self) -> str | None:
        """Name of its method for scores or probabilities whose relation to the terms is known, if there is one."""
        asked, model = self.estimator, self._model
        links = model.links
        if len(model.classes) == 1 or model.decision.valued:
            return None
        if links.decision_function is not None and hasattr(asked, "decision_function"):
            return "decision_function"
        if links.predict_proba is not None and hasattr(asked, "predict_proba"):
            return "predict_proba"
        if links.link is not None and links.link.kind != "none":
            return next((name for name in ("predict_proba", "numbers") if hasattr(asked, name)), None)
        delegating = Delegating.of(model.terms)
        if delegating is not None and not model.ruled:
            scored = delegating.score_method
            return scored if scored is not None and hasattr(asked, scored) else None
        family = family_of(model.leaf)
        decides = family is not None and "decision_function" in family.methods
        if decides and not model.ruled and hasattr(asked, "decision_function"):
            return "decision_function"
        joint = not model.ruled and hasattr(model.leaf, "predict_joint_log_proba")
        return "predict_log_proba" if joint and hasattr(asked, "predict_log_proba") else None

    def ask(self, source: Source) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Its labels, and what its `method` answers; work that both share is done once."""
        rows = self.met(source)
        if self._model.decision.valued:
            return np.asarray(self.estimator.predict(rows)), None
        if self.method is None:
            return np.ravel(self.estimator.predict(rows)), None
        heard: list[Any] = []
        asked = _overheard(self.estimator, self.method, heard)
        labels = np.ravel(asked.predict(rows))
        if len(heard) != 1 or len(heard[0]) != len(labels):
            heard = [getattr(asked, self.method)(rows)]
        return labels, np.asarray(heard[0])

    def judge(
        self,
        rows: Source,
        Z: Source,
        answers: tuple[NDArray[Any], NDArray[Any] | None],
        name: Callable[[Source, int], str],
        found: Evaluated | None = None,
    ) -> bool:
        """Raise ValueError if its answers for rows are not those of the engine for these rows, preprocessed.

        `found` is what the engine gives, if it is known.

        Returns whether scores or probabilities were among the answers.
        """
        model, (own, numbers) = self._model, answers
        if model.decision.valued:
            self._judge_values(rows, own, name, self._predictor.full_scores(Z) if found is None else found[2:])
            return True
        if found is not None:
            codes, sure, *full = found
        elif numbers is None:
            codes, sure = self._predictor.by_engine(Z)
        else:
            codes, sure, *full = self._predictor.in_full(Z)
        settled = np.flatnonzero(sure)  # the others are labelled by the wrapped object
        wrong = settled[model.classes.take(codes[settled]) != own[settled]]
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(_message(model, "predict", name(rows, i), own[i], model.classes[codes[i]]))
        if numbers is None:
            return False
        compared = self._compared(numbers, *full)
        if compared.own.shape != compared.ours.shape:
            return False
        self._require_near(compared, rows, name)
        return True

    def _judge_values(
        self, rows: Source, own: NDArray[Any], name: Callable[[Source, int], str], full: tuple[Floats, Floats]
    ) -> None:
        """Raise ValueError if values of rows, from full scores and their errors, are not the object's own."""
        scores, errors = full
        model, link = self._model, self._model.links.value_link
        if model.serves_full or link is None or link.kind != "identity":
            assert model.links.predict is not None
            compared = _linked(model, "predict", own, model.links.predict, full)
        else:
            compared = _bounded(model, "predict", own, scores, errors)
        self._require_near(compared, rows, name)

    def _require_near(self, compared: Compared, rows: Source, name: Callable[[Source, int], str]) -> None:
        model = self._model
        with np.errstate(invalid="ignore"):
            beyond = np.abs(compared.own.astype(np.float64) - compared.ours) > compared.tolerance
        finite = np.isfinite(compared.own), np.isfinite(compared.ours)
        off = np.asarray(beyond & finite[0] & finite[1])
        if model.decision.valued:  # the model itself answers where the engine has no value
            off |= ~finite[0] & finite[1] & ~np.isnan(compared.own)
        differs = np.flatnonzero(off.reshape(len(off), -1).any(axis=1))
        if len(differs):
            i = int(differs[0])
            raise ValueError(_message(model, compared.method, name(rows, i), compared.own[i], compared.ours[i]))

    def _compared(self, own: NDArray[Any], scores: Floats, errors: Floats) -> Compared:
        """What the `method` answered beside the same numbers by the engine."""
        model, links, method = self._model, self._model.links, self.method
        if method == "decision_function":
            if links.decision_function is not None:
                return _linked(model, method, own, links.decision_function, (scores, errors))
            return _bounded(model, method, own, scores, errors)
        if method == "predict_proba" and links.predict_proba is not None:
            return _linked(model, method, own, links.predict_proba, (scores, errors))
        if method == "predict_proba" and links.link is None:  # of a vote, whose scores they are
            return _bounded(model, method, own, scores, errors)
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


def _linked(
    model: AdditiveModel,
    method: str,
    own: NDArray[Any],
    link: Callable[[Floats], NDArray[Any]],
    full: tuple[Floats, Floats],
) -> Compared:
    """Numbers that a link makes of full scores with these errors."""
    scores, errors = full
    compared = _exact(method, own, link(scores))
    if model.serves_full:
        return compared
    # by how much an exponential moves hangs on the score
    least = RELATIVE[8] * (1.0 + _largest(compared.own))
    moved = _moved(link, scores, _score_tolerance(model, compared.own.dtype, scores, errors))
    return replace(compared, tolerance=least + moved)


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
    tolerance = _score_tolerance(model, own.dtype, own, errors)
    tolerance[unsure] = np.inf
    return Compared(method, own, ours, tolerance if own.ndim == 1 else tolerance[:, None])


def _score_tolerance(model: AdditiveModel, dtype: np.dtype[Any], numbers: NDArray[Any], errors: Floats) -> Floats:
    """Differences of scores that rounding explains, where the library answers with a dtype."""
    relative = RELATIVE[min(8, dtype.itemsize, model.dtype.itemsize)]
    # a number near 0 may be a difference of large ones, which were rounded by their own size
    relative = max(relative, 16 * least_precision(model.terms))
    return np.asarray(4 * errors + relative * _largest(numbers))


def _moved(link: Callable[[Floats], NDArray[Any]], scores: Floats, by: Floats) -> Floats:
    """How far numbers of scores move where the scores move."""
    with np.errstate(all="ignore"):
        high, low = link(scores + by[:, None]), link(scores - by[:, None])
        moved = np.abs(np.asarray(high, dtype=np.float64) - low)
    return np.where(np.isfinite(moved), moved, 0.0)


def _largest(numbers: NDArray[Any]) -> float:
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max(initial=0.0))


def shown(rows: Source, i: int) -> str:
    """A row in a message."""
    row = rows.row(i)
    numbers = ", ".join(f"{value:.17g}" for value in row[:8])
    return f"the row [{numbers}{', ...' if len(row) > 8 else ''}]"


def _message(model: AdditiveModel, method: str, row: str, own: Any, ours: Any) -> str:
    name, library = type(model.leaf).__name__, type(model.leaf).__module__.split(".")[0]
    return (
        f"wald misreads this {name}: its own {method} for {row} gives {plain(own)}, and wald {plain(ours)}, which "
        f"rounding does not explain. Serve the model as it is, and report this with the version of {library}."
    )


def plain(answer: Any) -> str:
    """A label or numbers, for messages."""
    if isinstance(answer, np.ndarray):
        return np.array2string(answer, precision=9, threshold=6, separator=", ")
    return str(answer.item() if isinstance(answer, np.generic) else answer)
