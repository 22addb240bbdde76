"""The estimator that ranks like a fitted ranker, many times as fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..engine.threads import effective_threads
from ..models import fitted_for_good
from ..models.boosters import unfrozen
from ..models.reading import Kind
from ..ranking import Asked, Ranked, RankingCertificate, RankingPlan, RowGroups, planned
from ..sources import RawSource
from ..utils.reals import as_float
from .exact import fit_in_full, read_as
from .fitting.data_split import is_fitted
from .fitting.validation import validate_fit_rows
from .group_streams import ranked_each
from .ranked import compiled_race
from .ranked_estimator import RankedEstimator, is_whole
from .ranker_training import trained_by_groups


class EarlyExitRanker(RankedEstimator):
    """Score and rank rows like a trained ranker of trees, by wald's engine.

    Without a ``risk``, every row is evaluated in full. With one, the rows of a group race for its first ``k`` places: a
    row leaves once its estimate lies so far below the k-th best that it will not get there. The rows that stay are
    evaluated in full, so that the first ones come in the model's own order, with its own scores.

    Parameters
    ----------
    estimator : LGBMRanker, XGBRanker or CatBoostRanker, a booster that ranks, or a Pipeline that ends in one
        A fitted one is taken as it is. Another is trained by ``fit(X, y, groups=...)``: with a risk, on half of the
        groups.
    k : int, default=10
        How many first rows of a group are promised. Groups of at most ``k`` rows are evaluated in full.
    risk : float or None, default=None
        Largest share of the first ``k`` rows of the model's own order that may be missing, on average over groups; it
        is certified by groups that ``fit`` sets aside. None or 0: nothing is missing.
    confidence : float, default=0.95
        Of the certificate: the promise fails in at most one in twenty calls of ``fit``.
    n_jobs : int or None, default=None
        Threads of ``predict``, as in joblib; they share groups.
    random_state : int, RandomState or None, default=None
        Chooses the groups that plan, and those that certify.

    Attributes
    ----------
    certificate_ : RankingCertificate
        The promise; printed, it is a few sentences. Only with a risk. It covers `predict` with groups and `rank`, not
        calls with a budget or a deadline.
    ranking_plan_ : RankingPlan or None
        Order, stages and exits; None where every row is evaluated in full. Only with a risk.
    compiled_plan_, estimator_, schema_, n_features_in_, feature_names_in_
        As of `EarlyExitRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMRanker
    >>> from wald import EarlyExitRanker
    >>> X = np.random.default_rng(0).normal(size=(40_000, 4))
    >>> y, group = (X[:, 0] > 0).astype(int), np.repeat(np.arange(400), 100)
    >>> ranker = LGBMRanker(n_estimators=50, n_jobs=1, verbose=-1).fit(X[:5000], y[:5000], group=np.full(50, 100))
    >>> exact = EarlyExitRanker(ranker).fit()
    >>> bool((exact.predict(X) == ranker.predict(X)).all())
    True
    >>> fast = EarlyExitRanker(ranker, k=5, risk=0.05, random_state=0).fit(X[5000:], groups=group[5000:])
    >>> first = fast.rank(X[:100], 5)
    >>> bool((fast.predict(X[:100], groups=group[:100])[first] == ranker.predict(X[:100])[first]).all())
    True
    """

    kind: ClassVar[Kind] = "ranker"

    def __init__(
        self,
        estimator: Any,
        *,
        k: int = 10,
        risk: float | None = None,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimator, n_jobs=n_jobs)
        self.k = k
        self.risk = risk
        self.confidence = confidence
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None, *, groups: ArrayLike | None = None, **params: Any) -> Self:
        """Read the fitted model, compare some of the engine's answers with its own, and with a risk, plan and certify.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            With a risk: rows that the model was not trained on, or with which it is trained. Else as for
            `EarlyExitRegressor.fit`.
        y : array-like of shape (n_rows,), default=None
            Relevance of the rows, on which a model that is not fitted is trained. With a risk, ``certificate_`` tells
            from it the NDCG that is lost; it is then at least 0.
        groups : array-like of shape (n_rows,), default=None
            The key of each row's group, such as its query; rows of a group may lie apart. A model that is not fitted is
            trained on them, with a risk on half of them. Of the others, half plan, and half certify.
        **params : dict
            For the ``fit`` of a model that is not fitted, such as ``sample_weight``; or without a risk, its own form of
            the groups, such as LightGBM's ``group``.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For unsupported models or rows, missing keys or relevance, and if the engine answers one of the rows
            otherwise than the model.
        """
        self._check()
        for name in ("certificate_", "ranking_plan_", "_race"):
            self.__dict__.pop(name, None)
        inner = unfrozen(self.estimator)
        trains = hasattr(inner, "fit") and fitted_for_good(inner) is None and not is_fitted(inner)
        if not self.risk:
            if groups is not None and trains and X is not None:
                source = validate_fit_rows(self, X)
                trained, _ = trained_by_groups(inner, source, y, groups, params, None)
                fit_in_full(self, partial(read_as, self.kind), X, None, {}, trained)
                return self
            if groups is not None:
                raise ValueError(
                    f"groups plan and certify early exit, and with risk={self.risk!r} there is none: every row is "
                    "evaluated in full. Leave groups out, or give a risk such as EarlyExitRanker(model, risk=0.02)."
                )
            super().fit(X, y, **params)
            return self
        if X is None or groups is None:
            raise ValueError(
                f"risk={self.risk:g} is certified on groups of rows: pass X, rows that the model was not trained on, "
                "and groups, the key of each row's group. Without them there is risk=None alone."
            )
        if params and not trains:
            raise ValueError(
                f"{type(inner).__name__} is fitted already, so that {', '.join(sorted(params))} would be ignored: "
                "leave it out."
            )
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        source, n_threads = validate_fit_rows(self, X), effective_threads(self.n_jobs, X)
        side_by_side = RowGroups.of(groups, source.n_rows)
        relevance = None if y is None else _relevance(y, source.n_rows)
        trained = None
        if trains:
            trained, rest = trained_by_groups(inner, source, y, groups, params, rng)
            source, side_by_side = source.take(rest), RowGroups.of(RawSource(groups).take(rest).rows, len(rest))
            X, relevance = source.rows, None if relevance is None else relevance[rest]
        fit_in_full(self, partial(read_as, self.kind), X, None, {}, trained)
        compiled = self._compiled()
        full = np.asarray(compiled.predict(source, n_threads=n_threads).labels, dtype=np.float64)
        rows = Ranked(compiled.read(X).preprocessed, full, side_by_side, relevance)
        core = compiled._predictor.core
        assert core is not None  # rankers are trees
        asked = Asked(int(self.k), float(self.risk), float(self.confidence), n_threads)
        self._race, self.certificate_ = planned(compiled.model.terms, core, rows, asked, rng)
        self.ranking_plan_ = None if self._race is None else self._race.plan
        return self

    def _check(self) -> None:
        if not is_whole(self.k):
            raise ValueError(f"k must be a positive whole number. Got {self.k!r} instead.")
        risk: Any = self.risk
        if risk is not None and not (isinstance(risk, Real) and 0 <= as_float(risk) < 1):
            raise ValueError(f"risk must be None, or a number of at least 0 and below 1. Got {risk!r} instead.")
        if not (isinstance(self.confidence, Real) and 0 < self.confidence < 1):
            raise ValueError(f"confidence must be a number above 0 and below 1. Got {self.confidence!r} instead.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_race"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        plan, compiled = state.get("ranking_plan_"), state.get("compiled_plan_")
        if plan is not None and compiled is not None:  # the engine is compiled here, not at the first prediction
            self._race = compiled_race(compiled, plan)

    def rank_each(
        self, groups: Iterable[Any], k: int | None = None, *, n_rows: int = 10_000
    ) -> Iterator[NDArray[np.intp]]:
        """Rank groups that come one after the other, as `rank` ranks each, without holding them all.

        Parameters
        ----------
        groups : iterable of {array-like, sparse matrix, data frame} of shape (n_rows_of_group, n_features)
            The rows of each group.
        k : int or None, default=None
            As for `rank`.
        n_rows : int, default=10000
            Groups are read ahead up to this number of rows, and answered together, by ``n_jobs`` threads; 1: each
            group is answered before the next one is read.

        Yields
        ------
        intp ndarray of shape (min(k, n_rows_of_group),)
            Numbers of the rows of the group, the best first.

        Raises
        ------
        ValueError
            As `rank`; a note tells the number of the group.

        Examples
        --------
        >>> import numpy as np
        >>> from lightgbm import LGBMRanker
        >>> from wald import EarlyExitRanker
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> ranker = LGBMRanker(n_estimators=5, verbose=-1).fit(X, X[:, 0] > 0, group=[100, 100, 100])
        >>> exact = EarlyExitRanker(ranker).fit()
        >>> queries = (X[start : start + 100] for start in (0, 100, 200))
        >>> [len(best) for best in exact.rank_each(queries, 10)]
        [10, 10, 10]
        """
        if k is not None and not is_whole(k):
            raise ValueError(f"k must be a positive whole number or None. Got {k!r} instead.")
        if not is_whole(n_rows):
            raise ValueError(f"n_rows must be a positive whole number. Got {n_rows!r} instead.")
        race = self._race
        in_full = race is None or (k is not None and k > race.plan.k)
        return ranked_each(
            lambda X, keys: self.predict(X) if in_full else self.predict(X, groups=keys), groups, k, n_rows
        )


def set_race(ranker: EarlyExitRanker, certificate: RankingCertificate, plan: RankingPlan | None) -> None:
    """Set what a file says of the race of a ranker that has its compiled plan.

    Raises
    ------
    ValueError
        If certificate, plan and trees do not fit each other.
    """
    if certificate.left and len(certificate.left) != (1 if plan is None else len(plan.usual) + 1):
        raise ValueError("the certificate has not one number of groups for each stage.")
    if min(certificate.left, default=0) < 0:
        raise ValueError("the certificate has a negative number of groups.")
    ranker.certificate_, ranker.ranking_plan_ = certificate, plan
    if plan is not None:
        ranker._race = compiled_race(ranker.compiled_plan_, plan)


def _relevance(y: Any, n_rows: int) -> NDArray[np.float64]:
    relevance = np.asarray(y, dtype=np.float64)
    if relevance.shape != (n_rows,):
        raise ValueError(f"y must have the relevance of each of the {n_rows} rows. Got shape {relevance.shape}.")
    bad = np.flatnonzero(~(np.isfinite(relevance) & (relevance >= 0)))
    if len(bad):
        raise ValueError(f"Relevance must be finite and at least 0. Got y[{bad[0]}] = {relevance[bad[0]]:g}.")
    return relevance
