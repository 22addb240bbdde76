"""`answer`: all rows of a data set, as a costly model answers them, with few calls of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_random_state

from ..calls import Asked, CallError, PartialAnswer
from ..engine.threads import effective_threads
from ..models.asked import label_check
from ..models.asking import asked_model, calls_of, title_of
from ..sources import Source, source_of
from ..surrogates import Surrogate, learn, log_odds, surrogates_of
from ..utils.figures import percent, thousands
from ..utils.labels import codes_of_labels
from .cuts import cut, expected_calls, most_seen

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
    resume: PartialAnswer | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> WholeAnswer:
    """Answer all rows of a data set as a costly model does, and ask it about few of them.

    The model is asked about some rows, drawn at random. Surrogates are learnt from its answers, and order the other
    rows by how sure they are. A second sample, without replacement, says down to which margin they may answer. The rows
    behind are asked. Every row is asked at most once.

    Parameters
    ----------
    rows : {array-like, sparse matrix, data frame, list of str} of shape (n_rows, ...)
    model : fitted classifier, function from rows to labels, or Calls
    risk : float, default=0.01
        Largest share of the data set that may differ from the model's answers.
    confidence : float, default=0.95
        Probability over the draws of rows with which that holds.
    surrogates : sequence, default=None
        Fitted classifiers, functions from rows to numbers, or `Surrogate`; besides those that are learnt.
    max_calls : int, default=None
        Rows about which the model may be asked.
    resume : PartialAnswer, default=None
        The ``partial`` of a `CallError` of this function, to go on with: rows that were answered are not asked again.
        With the same ``random_state``, the same rows are drawn.
    n_jobs : int or None, default=None
        Threads of wald's engine, as in joblib.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    WholeAnswer
        Printed, it is the promise in one sentence.

    Raises
    ------
    ValueError, TypeError
        For parameters out of range, and a model that gives no labels.
    CallError
        If a call fails for good, an answer does not fit, or `max_calls` are too few: then the message says how many are
        expected. Its ``partial`` holds the answers so far.

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
    source, n_threads = source_of(rows), effective_threads(n_jobs)
    n, rng = source.n_rows, np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    given = surrogates_of(surrogates or ())
    caller = _Caller(asked_model(model), source, max_calls, resume)
    allowed, n_learn = int(risk * n), min(MOST, max(FEWEST, round(LEARN_SHARE * n)))
    if n <= 2 * FEWEST or most_seen(n - n_learn, (n - n_learn) // 2, allowed, confidence) < 0:
        caller.require(n)
        caller.ask(np.arange(n))
        return caller.answered(risk, confidence)
    shuffled = rng.permutation(n)
    chosen, rest = shuffled[:n_learn], np.sort(shuffled[n_learn:])
    caller.require(n_learn)
    look = _Stacked.learnt(source.take(chosen), caller.ask(chosen), given, rng, n_threads)
    size, calls = (0, float(len(rest)))
    if look is not None:
        size, calls = expected_calls(look.wrong, len(rest), allowed, confidence, SIZES)
    caller.require(n_learn + round(calls))
    if look is None or size == 0:
        caller.ask(rest)
        return caller.answered(risk, confidence)
    codes, margins, sure = look.at(source.take(rest), n_threads)
    surest = np.argsort(-margins, kind="stable")
    sampled = np.zeros(len(rest), dtype=bool)
    sampled[rng.choice(len(rest), size, replace=False)] = True
    places = np.flatnonzero(sampled[surest])
    wrong = caller.ask(rest[surest[places]]) != codes[surest[places]]
    n_left = cut(places, wrong, most_seen(len(rest), size, allowed, confidence), len(rest))
    caller.require(int(np.count_nonzero(caller.known) + np.count_nonzero(~caller.known[rest[surest[n_left:]]])))
    caller.ask(rest[surest[n_left:]])
    own = caller.codes[rest]
    suspects = np.flatnonzero(caller.known[rest] & (own != codes) & (sure >= SURE))
    suspects = rest[suspects[np.argsort(-sure[suspects], kind="stable")]]
    caller.put(rest, codes)
    return caller.answered(risk, confidence, suspects, look.titles)


def _check(risk: Any, confidence: Any, max_calls: Any) -> None:
    for name, value in (("risk", risk), ("confidence", confidence)):
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
            raise ValueError(f"{name} must be a number above 0 and below 1. Got {value!r} instead.")
    if max_calls is not None and (isinstance(max_calls, bool) or not isinstance(max_calls, Integral) or max_calls < 1):
        raise ValueError(f"max_calls must be a whole number of at least 1, or None. Got {max_calls!r} instead.")


class _Caller:
    """Asks the model about each row at most once, and counts.

    Attributes
    ----------
    codes : int32 ndarray of shape (n_rows,)
        Places of labels among those that were met.
    known : bool ndarray of shape (n_rows,)
        Whether the model has answered a row.
    """

    def __init__(self, model: Any, source: Source, max_calls: int | None, resume: PartialAnswer | None) -> None:
        self._source, self._most, n = source, max_calls, source.n_rows
        self._asked = Asked(calls_of(model), n, name=title_of(model), max_rows=max_calls, check=label_check(model))
        self.codes, self.known = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=bool)
        self._classes: NDArray[Any] = np.asarray(getattr(model, "classes_", []))
        if resume is not None:
            if not isinstance(resume.state, Asked) or resume.state.n_rows != n:
                raise ValueError(
                    f"resume must be the partial of a CallError of answer, about the same {thousands(n)} rows. Got "
                    f"{resume!r}."
                )
            self._asked = resume.state
            self._asked.max_rows = max_calls
            self.ask(np.flatnonzero(self._asked.answered))

    def require(self, expected: int) -> None:
        """Raise if more rows are expected than may be asked: ValueError before the first call, and CallError later."""
        if self._most is None or expected <= self._most:
            return
        asked = int(np.count_nonzero(self.known))
        text = (
            f"max_calls={self._most} are too few: the promise takes about {thousands(expected)} of "
            f"{thousands(self._source.n_rows)} rows, and {thousands(asked)} were asked so far. Allow more calls, or a "
            "larger risk."
        )
        if asked == 0:
            raise ValueError(text)
        raise CallError(text, self._asked.name, (), self._asked.partial())

    def ask(self, rows: Indices) -> NDArray[np.int32]:
        """Codes of the model's answers for rows; it is asked about those that it has not answered yet."""
        source = self._source
        labels = self._asked.ask(rows, lambda some: source.take(some).rows).values
        new = np.setdiff1d(labels, self._classes)
        self._classes = np.concatenate([self._classes, new]) if len(self._classes) else new  # codes of before stay
        self.codes[rows], self.known[rows] = codes_of_labels(self._classes, labels), True
        return self.codes[rows]

    def put(self, rows: Indices, codes: NDArray[np.int32]) -> None:
        """Answer those of the rows that the model has not answered."""
        left = ~self.known[rows]
        self.codes[rows[left]] = codes[left]

    def answered(
        self, risk: float, confidence: float, suspects: Indices | None = None, surrogates: tuple[str, ...] = ()
    ) -> WholeAnswer:
        """What is known of all rows."""
        labels = self._classes.take(self.codes) if len(self._classes) else np.empty(0)
        none = np.empty(0, dtype=np.intp)
        n_calls = int(np.count_nonzero(self.known))
        return WholeAnswer(
            labels, self.known, n_calls, risk, confidence, none if suspects is None else suspects, surrogates
        )


class _Stacked:
    """What surrogates say together: answers of rows, and how sure they are.

    Attributes
    ----------
    wrong : bool ndarray
        Whether answers to rows from which no surrogate was learnt were wrong, the surest first.
    titles : tuple of str
    """

    def __init__(self, surrogates: list[Surrogate], said: Floats, codes: NDArray[np.int32]) -> None:
        self._surrogates, self.titles = surrogates, tuple(each.title for each in surrogates)
        self._only = int(codes[0]) if len(np.unique(codes)) == 1 else None
        if self._only is None:
            self._weights, self._bias, self._codes = log_odds(said, codes, STRENGTH)
        found, margins, _ = self._of(said)
        self.wrong = (found != codes)[np.argsort(-margins, kind="stable")]

    @classmethod
    def learnt(
        cls, source: Source, codes: NDArray[np.int32], given: list[Surrogate], rng: np.random.Generator, n_threads: int
    ) -> _Stacked | None:
        """Learn from answers; None if nothing can be learnt of such rows, and nothing is given.

        Answers that are rarer than `FOLDS` cannot be learnt; of one answer alone there is nothing to learn.
        """
        counts = np.bincount(codes)
        kept = np.flatnonzero(counts[codes] >= FOLDS)
        if len(kept) == 0:
            return None
        few, own = source.take(kept), codes[kept]
        if len(np.unique(own)) == 1:
            return cls([], np.empty((len(own), 0)), own)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of learners that stop early
            seed = int(rng.integers(2**31 - 1))

            def learn_from(some: Source, answers: NDArray[np.int32]) -> list[Surrogate]:
                return learn(some, answers, np.random.default_rng(seed), n_threads)

            learnt, said = learn_from(few, own), _said(given, few, n_threads)
            if learnt:
                folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(own, own)
                held_out: dict[int, Floats] = {}
                for before, held in folds:
                    some = learn_from(few.take(before), own[before])
                    numbers = _said(some, few.take(held), n_threads)
                    held_out |= dict(zip(held.tolist(), numbers, strict=True))
                said = np.hstack([np.array([held_out[i] for i in range(len(own))]), said])
            every = [*learnt, *given]
            return cls(every, said, own) if every else None

    def at(self, source: Source, n_threads: int) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Codes of rows, margins, and probabilities."""
        return self._of(_said(self._surrogates, source, n_threads))

    def _of(self, said: Floats) -> tuple[NDArray[np.int32], Floats, Floats]:
        if self._only is not None:
            return np.full(len(said), self._only, dtype=np.int32), np.zeros(len(said)), np.zeros(len(said))
        odds = said @ self._weights.T + self._bias
        two = np.sort(odds, axis=1)[:, -2:]
        codes = self._codes[odds.argmax(axis=1)].astype(np.int32)
        return codes, two[:, 1] - two[:, 0], softmax(odds, axis=1).max(axis=1)


def _said(surrogates: list[Surrogate], source: Source, n_threads: int) -> Floats:
    """What all of them say of rows."""
    if not surrogates:
        return np.empty((source.n_rows, 0))
    return np.column_stack([each.numbers(source, n_threads) for each in surrogates])
