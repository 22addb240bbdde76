"""`answer`: all rows of a data set, as a costly model answers them, with few calls of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state

from ..calls import PartialAnswer, logged_answers
from ..engine.threads import effective_threads
from ..models.asking import asked_model
from ..sources import Source, source_of
from ..surrogates import Surrogate, surrogates_of
from .answered import WholeAnswer
from .caller import Caller, Sample
from .cuts import best_sample, cut, fewest_sampled, most_seen
from .learning import FEWEST, learn_in_rounds, n_first
from .needed import least_calls, most_wrong, require_promise

Indices = NDArray[np.intp]

#: Sizes of the sample that shows down to which margin surrogates may answer, beside the smallest that can.
SIZES = (100, 200, 300, 450, 600, 900, 1200, 1800, 2500, 3500, 5000, 7000, 10_000)
#: Rows of the sample that count as suspects: the surrogates were at least so sure, and the model said otherwise.
SURE = 0.99


def answer(
    rows: Any,
    model: Any,
    *,
    risk: float = 0.01,
    confidence: float = 0.95,
    surrogates: Sequence[Any] | None = None,
    answers: Any = None,
    max_calls: int | None = None,
    resume: PartialAnswer | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> WholeAnswer:
    """Answer all rows of a data set as a costly model does, and ask it about few of them.

    The model is asked about some rows, drawn at random. Surrogates are learnt from its answers, and order the other
    rows by how sure they are. The least sure ones are asked, and surrogates are learnt again, for some rounds. Then a
    sample of the rows that are left, drawn without replacement, says down to which margin surrogates may answer. The
    rows behind are asked. Every row is asked at most once.

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
    answers : array-like of shape (n_rows,), dict from row to answer, PartialAnswer or None, default=None
        Answers of this model that are paid for, of any of the rows: these are not asked again, and surrogates learn
        from them. In an array, None, NaN, `pandas.NA` or a masked entry stands where it has not been asked.
    max_calls : int, default=None
        Rows about which the model may be asked; at least `wald.answering.calls_needed`, unless there are ``answers``.
    resume : PartialAnswer, default=None
        The ``partial`` of a `CallError` of this function, to go on with: rows that were answered are not asked again.
        With the same ``random_state`` and ``answers``, the same rows are drawn. Once the sample is drawn, it stays,
        whatever is given here, and ``risk`` and ``confidence`` must be those for which it was drawn. If they are, it
        stays as well if the ``partial`` is given as ``answers``.
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
        If a call fails for good, an answer does not fit, or ``max_calls`` are too few: then the message says how many
        are expected. Its ``partial`` holds the answers so far.

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
    require_promise(risk, confidence, max_calls)
    source, n_threads = source_of(rows), effective_threads(n_jobs)
    n, rng = source.n_rows, np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    given, logged = surrogates_of(surrogates or ()), logged_answers(answers, n)
    caller = Caller(asked_model(model), source, max_calls, resume, logged)
    promise, allowed = (risk, confidence), most_wrong(n, risk)
    caller.go_on(answers, promise)
    sample = caller.sample
    if sample is None:
        sample = _sampled(caller, source, given, promise, allowed, n_first(n, max_calls), rng, n_threads)
    elif sample.promise != promise:
        own_risk, own_confidence = sample.promise
        raise ValueError(
            f"resume has a sample that was drawn for risk={own_risk} and confidence={own_confidence}, and what it "
            "shows cannot be used for another promise: go on with these."
        )
    if sample is None:
        caller.ask(np.flatnonzero(~caller.known))
        return _answered(caller, promise)
    rest, places = sample.of, sample.places
    wrong = caller.ask(rest.rows[places]) != rest.codes[places]
    n_left = cut(places, wrong, most_seen(len(rest.rows), len(places), allowed, confidence), len(rest.rows))
    behind = rest.rows[n_left:]
    caller.require(caller.n_calls + caller.n_new(behind))
    caller.ask(behind)
    caller.finish()
    wrong = caller.known[rest.rows] & (caller.codes[rest.rows] != rest.codes) & (rest.sure >= SURE)
    suspects = np.flatnonzero(wrong)[np.argsort(-rest.sure[wrong], kind="stable")]
    caller.put(rest.rows, rest.codes)
    return _answered(caller, promise, rest.rows[suspects], rest.titles)


def _sampled(
    caller: Caller,
    source: Source,
    given: list[Surrogate],
    promise: tuple[float, float],
    allowed: int,
    first: int,
    rng: np.random.Generator,
    n_threads: int,
) -> Sample | None:
    """Learn, and draw a sample of the rows that are left; None if all of them are to be asked."""
    _, confidence = promise
    unknown = np.flatnonzero(~caller.known)
    caller.require(least_calls(len(unknown), allowed, confidence), "at least")
    first = min(first, len(unknown))
    least = fewest_sampled(len(unknown) - first, allowed, confidence)
    if len(unknown) <= 2 * FEWEST or least >= len(unknown) - first:
        return None
    drawn = np.sort(rng.choice(unknown, first, replace=False))
    rest = learn_in_rounds(caller, source, drawn, given, allowed, 2 * least, rng, n_threads)
    size, calls = 0, float(np.count_nonzero(~caller.known))
    if rest is not None:
        size, calls = best_sample(rest.rates, allowed, confidence, (least, *SIZES))
    caller.require(caller.n_calls + round(calls))
    if rest is None or size == 0:
        return None
    return caller.keep(rest, np.sort(rng.choice(len(rest.rows), size, replace=False)), promise)


def _answered(
    caller: Caller, promise: tuple[float, float], suspects: Indices | None = None, surrogates: tuple[str, ...] = ()
) -> WholeAnswer:
    """What is known of all rows."""
    suspects = np.empty(0, dtype=np.intp) if suspects is None else suspects
    return WholeAnswer(caller.labels, caller.known, caller.n_calls, *promise, suspects, surrogates)
