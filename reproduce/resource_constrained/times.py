"""The time of a prediction by its use: features, policy, and every inference."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from wald.structured import ChainClassifier
from wald.structured.policies.driver import acquire

from .._common import Record
from .contenders import CONTENDERS
from .curves import Fitted
from .neighbours import Neighbours

#: Budgets at which time is measured.
TIMED = (0.1, 0.2, 0.3, 0.5, 0.75)
#: Repetitions; their median is reported.
_REPEATS = 3
#: Above this many microseconds a part, one run suffices: disturbance by other programs is relatively small.
_LONG = 20.0
#: Names of the policies that buy nothing and everything.
NOTHING, EVERYTHING = "nothing", "everything"


class CountingSession:
    """A session that counts the parts that the model has labelled; all other attributes are those of the session."""

    def __init__(self, session: Any) -> None:
        self.session, self.inferred = session, 0
        for name in ("decode", "confidence", "evidence"):
            if hasattr(session, name):
                setattr(self, name, self._counted(getattr(session, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["session"], name)

    def _counted(self, method: Any) -> Any:
        def answer(state: Any, examples: Any = None) -> Any:
            lengths = np.diff(np.asarray(self.session.offsets))
            self.inferred += int(lengths.sum() if examples is None else lengths[np.asarray(examples)].sum())
            return method(state) if examples is None else method(state, examples)

        return answer


def measure(fitted: Fitted) -> list[Record]:
    """Microseconds per part of every contender at every budget, and with nothing and everything bought."""
    _search_always(fitted.model, True)
    try:
        records = [_record(fitted, name, "mean", float(name == EVERYTHING), None) for name in (NOTHING, EVERYTHING)]
        for contender in CONTENDERS[fitted.split.data]:
            for share in TIMED:
                if (contender, share) in fitted.predictors:
                    predictor = fitted.predictors[contender, share]
                    records.append(_record(fitted, contender.policy, contender.spend, share, predictor))
    finally:
        _search_always(fitted.model, False)
    return records


def _record(fitted: Fitted, policy: str, spend: str, share: float, predictor: Any) -> Record:
    runs = []
    for _ in range(_REPEATS):
        runs.append(_run(fitted, share, predictor))
        if runs[-1]["total_us"] > _LONG:
            break
    median = sorted(runs, key=lambda run: run["total_us"])[len(runs) // 2]
    return {"data": fitted.split.data, "policy": policy, "spend": spend, "requested": share, **median}


def _run(fitted: Fitted, share: float, predictor: Any) -> dict[str, float]:
    """One prediction of all test examples from the start, in microseconds a part."""
    session = CountingSession(fitted.model.open(fitted.split.X_test))
    begun = _extraction(session)
    if predictor is None:
        start = time.perf_counter()
        state = session.state() if share else session.state() & False
        session.decode(state)
        features = _extraction(session) - begun
        seconds = {"features": features, "policy": 0.0, "inference": time.perf_counter() - start - features}
    else:
        found = acquire(predictor.policy, session, predictor.threshold_, predictor.allowance_)
        seconds, state = found.seconds, found.state
    n_parts = len(state)
    seconds["features"] += begun  # the cheap group, extracted when the session opened
    each = {f"{name}_us": 1e6 * value / n_parts for name, value in seconds.items()}
    return {
        "share": float(state.mean()),
        **each,
        "total_us": sum(each.values()),
        "inferences": session.inferred / n_parts,
    }


def _extraction(session: Any) -> float:
    """Seconds that extraction took so far, all groups together."""
    return float(np.asarray(session.seconds).sum())


def _search_always(model: Any, always: bool) -> None:
    """Set whether the tagger's second model searches for tokens that it remembers, too."""
    for group in (model.feature_groups or ()) if isinstance(model, ChainClassifier) else ():
        if isinstance(group.extract, Neighbours):
            group.extract.always_searches = always
