"""`answer`: all rows of a data set, as a costly model answers them, with few calls of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_random_state

from ..models import fitted_for_good
from ..models.asked import AskedFunction
from ..models.opaque import answered_codes, answered_labels
from ..sources import Source, source_of
from ..surrogates import Surrogate, learn, surrogate_of
from ..utils.figures import percent, thousands
from .cuts import expected_calls, most_seen

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Share of the rows from which surrogates are learnt, and the smallest and largest number.
LEARN_SHARE, FEWEST, MOST = 0.05, 300, 20_000
#: Parts of these rows: what is said of each part is learnt from the others.
FOLDS = 3
#: Sizes of the sample that shows down to which margin surrogates may answer.
SIZES = (100, 200, 300, 450, 600, 900, 1200, 1800, 2500, 3500, 5000, 7000, 10_000)
#: Strength of the regularization of the readout.
STRENGTH = 0.3
#: Rows of the sample that count as suspects: the surrogates were at least so sure, and the model said otherwise.
SURE = 0.99


@dataclass(frozen=True, eq=False)
class WholeAnswer:
    """The answers to all rows of a data set.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
    asked : bool ndarray of shape (n_rows,)
        Whether a row has the model's own answer.
    n_calls : int
        Number of rows about which the model was asked, each of them once.
    risk, confidence : float
        With this confidence over the draws of rows, at most this share of the data set differs from the model.
    suspects : int ndarray
        Rows that were asked, of which surrogates were sure and the model said otherwise; the surest first.
    surrogates : tuple of str
        What answered the other rows.
    """

    labels: NDArray[Any]
    asked: NDArray[np.bool_]
    n_calls: int
    risk: float
    confidence: float
    suspects: Indices
    surrogates: tuple[str, ...]

    def __str__(self) -> str:
        n = len(self.labels)
        if self.asked.all():
            return f"all {thousands(n)} rows are answered by the model itself"
        return (
            f"of these {thousands(n)} rows at most {percent(self.risk)} differ from the model's answers, with "
            f"{percent(self.confidence)} confidence; it was asked about {thousands(self.n_calls)} "
            f"({percent(self.n_calls / n)})"
        )


def answer(
    rows: Any,
    model: Any,
    *,
    risk: float = 0.01,
    confidence: float = 0.95,
    surrogates: Sequence[Any] | None = None,
    max_calls: int | None = None,
    n_jobs: int = 1,
    random_state: int | np.random.RandomState | None = None,
) -> WholeAnswer:
    """Answer all rows of a data set as a costly model does, and ask it about few of them.

    The model is asked about some rows, drawn at random. Surrogates are learnt from its answers, and order the other
    rows by how sure they are. A second sample, without replacement, says down to which margin they may answer. The rows
    behind are asked. Every row is asked at most once.

    Parameters
    ----------
    rows : {array-like, sparse matrix, data frame, list of str} of shape (n_rows, ...)
    model : fitted classifier, or function from rows to labels
    risk : float, default=0.01
        Largest share of the data set that may differ from the model's answers.
    confidence : float, default=0.95
        Probability over the draws of rows with which that holds.
    surrogates : sequence, default=None
        Fitted classifiers, functions from rows to numbers, or `Surrogate`; besides those that are learnt. They must not
        have seen the model's answers to these rows.
    max_calls : int, default=None
        Rows about which the model may be asked.
    n_jobs : int, default=1
        Threads of wald's engine.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    WholeAnswer
        Printed, it is the promise in one sentence.

    Raises
    ------
    ValueError
        If `max_calls` are too few: the message says how many are expected, before more than those to learn from are
        made. Also for parameters out of range, and for answers that do not fit the rows.

    References
    ----------
    Zeighami, Shankar and Parameswaran, "Cut Costs, Not Accuracy: LLM-Powered Data Processing with Guarantees" (SIGMOD
    2026), promise the same for one given surrogate.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from wald import answer
    >>> X, y = make_classification(20_000, 8, n_informative=6, class_sep=2.0, random_state=0)
    >>> model = KNeighborsClassifier().fit(X[:5000], y[:5000])
    >>> answered = answer(X[5000:], model, risk=0.02, random_state=0)
    >>> bool((answered.labels != model.predict(X[5000:])).mean() <= 0.02), answered.n_calls < 7500
    (True, True)
    """
    _check(risk, confidence, max_calls)
    source, model = source_of(rows), fitted_for_good(model) or model
    n, rng = source.n_rows, np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    caller = _Caller(model, source, max_calls)
    given = [surrogate_of(each) for each in surrogates or ()]
    n_learn = min(MOST, max(FEWEST, round(LEARN_SHARE * n)))
    if n <= 2 * FEWEST or most_seen(n - n_learn, (n - n_learn) // 2, int(risk * n), confidence) < 0:
        caller.require(n, n)
        caller.ask(np.arange(n))
        return caller.answered(risk, confidence, np.empty(0, dtype=np.intp), ())
    shuffled = rng.permutation(n)
    chosen, rest = shuffled[:n_learn], np.sort(shuffled[n_learn:])
    caller.require(n_learn, n_learn)
    caller.ask(chosen)
    look = _Look.learnt(source.take(chosen), caller.codes[chosen], given, rng, n_jobs)
    size, calls = 0, float(len(rest))
    allowed = int(risk * n)
    if look is not None:
        size, calls = expected_calls(look.wrong, len(rest), allowed, confidence, SIZES)
    caller.require(n_learn + round(calls), n_learn)
    if look is None or size == 0:
        caller.ask(rest)
        return caller.answered(risk, confidence, np.empty(0, dtype=np.intp), ())
    codes, margins, sure = look.at(source.take(rest), n_jobs)
    sampled = np.zeros(len(rest), dtype=bool)
    sampled[rng.choice(len(rest), size, replace=False)] = True
    surest = np.argsort(-margins, kind="stable")
    n_left = _walk(caller, rest, codes, surest, sampled, most_seen(len(rest), size, allowed, confidence))
    behind = rest[surest[n_left:]]
    missing = behind[~caller.asked[behind]]
    caller.require(caller.n_calls + len(missing), caller.n_calls)
    caller.ask(missing)
    caller.put(rest, codes)
    asked = caller.asked[rest]
    suspects = np.flatnonzero(asked & (caller.codes[rest] != codes) & (sure >= SURE))
    suspects = suspects[np.argsort(-sure[suspects], kind="stable")]
    return caller.answered(risk, confidence, rest[suspects], look.titles)


def _walk(
    caller: _Caller, rest: Indices, codes: NDArray[np.int32], surest: Indices, sampled: NDArray[np.bool_], most: int
) -> int:
    """Number of rows, the surest first, before the sample shows one wrong row more than it may.

    Rows of the sample are asked in pieces: at most so many at a time as may be wrong still, and one more.
    """
    places = np.flatnonzero(sampled[surest])
    wrong, done = 0, 0
    while done < len(places):
        piece = places[done : done + most - wrong + 1]
        asked = rest[surest[piece]]
        caller.ask(asked)
        differ = np.flatnonzero(caller.codes[asked] != codes[surest[piece]])
        if wrong + len(differ) > most:
            return int(piece[differ[most - wrong]])
        wrong, done = wrong + len(differ), done + len(piece)
    return len(surest)


def _check(risk: Any, confidence: Any, max_calls: Any) -> None:
    for name, value in (("risk", risk), ("confidence", confidence)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise ValueError(f"{name} must be a number above 0 and below 1. Got {value!r} instead.")
    if max_calls is not None and (isinstance(max_calls, bool) or not isinstance(max_calls, int) or max_calls < 1):
        raise ValueError(f"max_calls must be a whole number of at least 1, or None. Got {max_calls!r} instead.")


class _Caller:
    """Asks the model about each row at most once, and counts."""

    def __init__(self, model: Any, source: Source, max_calls: int | None) -> None:
        self._model, self._source, self._most = model, source, max_calls
        self.asked = np.zeros(source.n_rows, dtype=bool)
        self.codes = np.zeros(source.n_rows, dtype=np.int32)
        self._classes = np.asarray(getattr(model, "classes_", []))

    @property
    def n_calls(self) -> int:
        return int(np.count_nonzero(self.asked))

    def require(self, expected: int, so_far: int) -> None:
        """Raise ValueError if more rows are expected than may be asked."""
        if self._most is not None and expected > self._most:
            raise ValueError(
                f"max_calls={self._most} are too few: the promise takes about {thousands(expected)} of "
                f"{thousands(self._source.n_rows)} rows, and {thousands(min(so_far, self.n_calls))} were asked so far. "
                "Allow more calls, or a larger risk."
            )

    def ask(self, rows: Indices) -> None:
        """Ask about rows that were not asked yet."""
        if len(rows) == 0:
            return
        labels = answered_labels(self._model, self._source.take(rows))
        if not len(self._classes):
            self._classes = np.unique(labels)
        if isinstance(self._model, AskedFunction):
            new = np.setdiff1d(labels, self._classes)
            self._classes = np.concatenate([self._classes, new])  # codes of before stay
            self._model = AskedFunction(self._model.function, self._classes)
        self.codes[rows], self.asked[rows] = answered_codes(self._model, labels), True

    def put(self, rows: Indices, codes: NDArray[np.int32]) -> None:
        """Answer those of the rows that were not asked."""
        left = ~self.asked[rows]
        self.codes[rows[left]] = codes[left]

    def answered(self, risk: float, confidence: float, suspects: Indices, surrogates: tuple[str, ...]) -> WholeAnswer:
        labels = self._classes.take(self.codes) if len(self._classes) else np.empty(0)
        return WholeAnswer(labels, self.asked, self.n_calls, risk, confidence, suspects, surrogates)


class _Look:
    """What surrogates say together: answers of rows, and how sure they are.

    Attributes
    ----------
    wrong : bool ndarray
        Whether answers to rows from which nothing was learnt were wrong, the surest first.
    titles : tuple of str
    """

    def __init__(self, surrogates: list[Surrogate], said: Floats, codes: NDArray[np.int32]) -> None:
        self._surrogates, self.titles = surrogates, tuple(each.title for each in surrogates)
        self._centre, spread = said.mean(axis=0), said.std(axis=0)
        self._scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
        readout = LogisticRegression(C=STRENGTH, max_iter=500)
        self._readout = readout.fit((said - self._centre) * self._scale, codes)
        found, margins, _ = self._of(said)
        self.wrong = (found != codes)[np.argsort(-margins, kind="stable")]

    @classmethod
    def learnt(
        cls, source: Source, codes: NDArray[np.int32], given: list[Surrogate], rng: np.random.Generator, n_threads: int
    ) -> _Look | None:
        """Learn from answers; None if they are all alike, or nothing can be learnt."""
        if len(np.unique(codes)) < 2:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of learners that stop early
            seed = int(rng.integers(2**31 - 1))
            learnt = learn(source, codes, np.random.default_rng(seed), n_threads)
            parts: list[tuple[Indices, Floats]] = []
            for before, held in KFold(FOLDS, shuffle=True, random_state=seed).split(codes) if learnt else ():
                same = len(np.unique(codes[before])) == len(np.unique(codes))
                some = learn(source.take(before), codes[before], np.random.default_rng(seed), n_threads) if same else []
                if len(some) != len(learnt):
                    return None
                parts.append((held, _said(some, source.take(held), n_threads)))
            every = [*learnt, *given]
            if not every:
                return None
            said = _said(given, source, n_threads)
            if parts:
                order = np.argsort(np.concatenate([held for held, _ in parts]))
                said = np.hstack([np.concatenate([numbers for _, numbers in parts])[order], said])
            return cls(every, said, codes)

    def at(self, source: Source, n_threads: int) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Codes of rows, margins, and probabilities."""
        return self._of(_said(self._surrogates, source, n_threads))

    def _of(self, said: Floats) -> tuple[NDArray[np.int32], Floats, Floats]:
        probability = self._readout.predict_proba((said - self._centre) * self._scale)
        codes = self._readout.classes_[probability.argmax(axis=1)].astype(np.int32)
        two = np.sort(probability, axis=1)[:, -2:]
        with np.errstate(divide="ignore"):
            margins = np.log(two[:, 1]) - np.log(two[:, 0])
        return codes, margins, two[:, 1]


def _said(surrogates: list[Surrogate], source: Source, n_threads: int) -> Floats:
    """What all of them say of rows."""
    if not surrogates:
        return np.empty((source.n_rows, 0))
    return np.column_stack([each.numbers(source, n_threads) for each in surrogates])
