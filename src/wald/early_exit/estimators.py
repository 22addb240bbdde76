"""The early-exit estimators, by the kind of model that they wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..models import AdditiveModel, decompose
from ..models.reading import Kind
from .classifier import EarlyExitClassifier
from .compiled.parameters import Parameters
from .outlier_detector import EarlyExitOutlierDetector
from .planned import PlannedEstimator
from .ranker import EarlyExitRanker
from .regressor import EarlyExitRegressor

EarlyExit = EarlyExitClassifier | EarlyExitOutlierDetector | EarlyExitRegressor | EarlyExitRanker

ESTIMATORS: dict[Kind, type[EarlyExit]] = {
    shell.kind: shell for shell in (EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker, EarlyExitOutlierDetector)
}
#: How messages name them all.
ANY_EARLY_EXIT = "EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector"


def require_early_exit(given: object, must: str, others: str = "") -> None:
    """Raise an error for anything but a fitted early-exit estimator.

    Parameters
    ----------
    given : object
    must, others : str
        The beginning and the end of the message: what is needed, and what else would do.

    Raises
    ------
    TypeError
        If it is no such estimator.
    NotFittedError
        If it is not fitted.
    """
    if not isinstance(given, EarlyExit):
        hint = ": wrap it in one of these, and fit this" if isinstance(given, BaseEstimator) else ""
        raise TypeError(f"{must} a fitted {ANY_EARLY_EXIT}{others}. Got {type(given).__name__}{hint}.")
    check_is_fitted(given, "compiled_plan_")


def promising(fast: EarlyExit) -> Parameters:
    """The parameters of the promise of an estimator; where it has none, every row is evaluated in full.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
    """
    return fast if isinstance(fast, Parameters) else Parameters(None, risk=0)


def asks(fast: EarlyExit) -> bool:
    """Whether an estimator asks another question than the model that it wraps answers.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
    """
    return any(getattr(fast, name, None) is not None for name in ("bands", "tolerance"))


def reading(fast: EarlyExit) -> Callable[..., AdditiveModel]:
    """What reads a fitted model with the question that an estimator asks, and takes the options of `decompose`.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
    """
    return fast._read if isinstance(fast, PlannedEstimator) else decompose


def unwatched(fast: EarlyExit) -> EarlyExit:
    """The same estimator without a monitor that counts rows.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        Fitted.
    """
    return fast if fast.compiled_plan_.monitor is None else fast.unwatched()


def watched_on(fast: EarlyExit, audit_rate: float, on_broken: str, **counts: Any) -> EarlyExit:
    """The estimator with a monitor that goes on from the counts of an earlier one.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor or EarlyExitRanker
        Fitted.
    audit_rate, on_broken
        As for `EarlyExitClassifier.watched`.
    **counts
        As for `Monitor.restore`.

    Raises
    ------
    ValueError
        If the counts are not those of a monitor of this promise.
    """
    other = watched(fast, audit_rate, on_broken)
    monitor = other.compiled_plan_.monitor
    assert monitor is not None
    monitor.restore(**counts)
    return other


def watched(fast: EarlyExit, audit_rate: float | None, on_broken: str = "warn") -> EarlyExit:
    """The estimator with a monitor, as its own `watched` makes it; itself where nothing is to be watched.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        Fitted.
    audit_rate, on_broken
        As for `EarlyExitClassifier.watched`.

    Raises
    ------
    ValueError
        If there is something to watch, and no row leaves early.
    """
    if audit_rate is None:
        return fast
    if not hasattr(fast, "watched"):
        raise ValueError(
            f"This {type(fast).__name__} evaluates every row in full, so that there is nothing to audit: leave the "
            "audit rate out."
        )
    return fast.watched(audit_rate, on_broken=on_broken)
