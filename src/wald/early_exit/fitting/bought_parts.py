"""Models that mix bought groups of columns in their terms: surrogates that know some of the groups stand before them.

A tree reads columns of several groups, a kernel of all, so that stages on the model's own terms need most groups at
once. A surrogate that is learnt on the groups that were bought so far estimates the answer; the others are fetched for
the rows of which it is not sure. The model itself then answers, by wald's engine where wald reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...engine.threads import effective_threads
from ...models import AdditiveModel
from ...models.asked import AskedFunction
from ...models.asking import answered_codes, answered_labels, title_of
from ...models.bought import BoughtTerms
from ...models.opaque import Look, Looks, opaque_model
from ...models.protocols import Columnwise, Sharing
from ...models.reading import of_classes
from ...models.schema_of import schema_of
from ...sources import LazyRows, Source
from ...steps import RawColumns
from ...stopping.core.risks import largest
from ...surrogates import Surrogate, learn_on_columns
from ..compiled.locating import located
from ..compiled.parameters import Parameters, checked_rule
from ..compiled.planner import planner_of
from ..compiled.predictor import Predictor
from ..compiled.rows import Rows
from ..compiled.self_check import require_own_answers
from .bought_sets import Prices, chosen_sets
from .call_budget import ASKED_AGAIN
from .data_split import by_group, warn_of_training_rows
from .planning import plan_without_stages
from .training_rows import warn_of_leaf_counts
from .validation import require_accepted

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]
Sets = tuple[frozenset[str], ...]

#: A model tells groups apart if at most this share of its trees reads several of them.
MIXED_TREES = 0.5
#: Least and largest share of the rows of `fit` from which surrogates are learnt, and the largest number.
LEAST_SHARE, LARGEST_SHARE, MOST_LEARNT = 0.35, 0.6, 80_000
#: The larger share leaves at least this number, divided by the risk, to plan and certify with.
LEFT_OVER_RISK = 100
#: Probabilities of such a model count as at least this, and at most as 1 less this.
LEAST_PROBABILITY = 1e-3
#: More rows than anybody has.
ALL_ROWS = 1 << 62


@dataclass(frozen=True, eq=False)
class BehindGroups:
    """A model behind surrogates on some of its groups, and what both said of the rows that plan and certify.

    Parameters
    ----------
    model : AdditiveModel
    rows : ndarray of int
        The rows from which no surrogate was learnt.
    said : float64 ndarray of shape (n_rows, n_terms)
    """

    model: AdditiveModel
    rows: Indices
    said: Floats


def behind_groups(
    given: Parameters,
    read: AdditiveModel | None,
    inner: Any,
    source: Source,
    rows: Indices,
    groups: ArrayLike | None,
    rng: np.random.Generator,
    require_unused: Callable[[str], None],
) -> BehindGroups | None:
    """Put a model that mixes bought groups behind surrogates; None if stages on its own terms tell groups apart.

    Also None for what needs these terms: bands, tolerances, proofs, an order or prices of the estimator's own; and if
    surrogates are given.

    Parameters
    ----------
    given : Parameters
        The estimator.
    read : AdditiveModel or None
        The fitted classifier as a sum of terms; None if it is asked as it is.
    inner : estimator
        The fitted classifier.
    source : Source
        The rows of `fit`, of which all groups are fetched.
    rows : ndarray of int
        Those that the model was not trained on.
    groups : array-like or None
        Group of each row of the source, whose rows stay together.
    rng : numpy.random.Generator
    require_unused : callable
        Gets why fit asks for everything here, and raises if it was given what limits that.
    """
    if not isinstance(source, LazyRows) or not _is_plain(given):
        return None
    lazy = (schema_of(inner, inner, source.n_columns) if read is None else read.schema).matched(source)
    assert isinstance(lazy, LazyRows)
    prices = Prices.of(lazy.costs)
    if prices is None or (read is not None and not mixes_groups(read, lazy.groups)):
        return None
    require_unused(
        f"fit fetches all groups of all rows for surrogates before {title_of(inner)}, and asks it about them"
    )
    about_truth = getattr(given, "reference", "model") == "labels"
    reference: _Read | _Asked = _Asked(inner, source.n_columns, about_truth) if read is None else _Read(read)
    n_threads, whole = effective_threads(given.n_jobs), lazy.take(rows).whole()
    codes = reference.codes(whole, n_threads)
    learnt, rest = _split(len(rows), given, None if groups is None else np.asarray(groups)[rows], rng)
    sets, surrogates = list[frozenset[str]](), list[Surrogate]()
    if len(np.unique(codes[learnt])) > 1:
        few, own = whole.take(learnt), codes[learnt]
        seen = reference.scores(few, n_threads)
        sets = chosen_sets(prices, lazy.groups, few.array(), own if seen is None else seen, rng)
        for each in sets:
            columns = sorted(c for group in each for c in lazy.groups[group])
            name = " + ".join(group for group in lazy.groups if group in each)
            learnt_on = learn_on_columns(
                few,
                columns,
                own,
                seen,
                name,
                rng,
                smooth=reference.smooth,
                finite=reference.finite,
                n_threads=n_threads,
            )
            surrogates.append(learnt_on)
    few = whole.take(rest)
    said = [each.numbers(few, n_threads) for each in surrogates]
    model = reference.behind(surrogates, tuple(numbers.shape[1] for numbers in said), tuple(sets), prices.of_groups)
    terms = BoughtTerms.of(model.terms)
    assert terms is not None
    return BehindGroups(model, rows[rest], np.column_stack([*said, terms.answered(codes[rest])]))


def _is_plain(given: Parameters) -> bool:
    """Whether nothing is asked that needs the model's own terms."""
    theirs = ("bands", "tolerance", "feature_costs", "feature_groups")
    surrogates = getattr(given, "surrogates", None)
    given_ones = not (surrogates is None or isinstance(surrogates, str))
    if given_ones or largest(given.promised_risk) == 0 or any(getattr(given, name) is not None for name in theirs):
        return False
    order = planner_of(given).order
    return isinstance(order, str) and order == "greedy" and not checked_rule(given).needs.lossless


def mixes_groups(model: AdditiveModel, groups: Mapping[str, Sequence[int]]) -> bool:
    """Whether stages on a model's own terms need several groups at once.

    Parameters
    ----------
    model : AdditiveModel
    groups : dict from name to columns
    """
    step = model.preprocessing
    if step is not None:
        return not isinstance(step, RawColumns) or any(-1 in part.sources for part in step.parts)
    sharing = Sharing.of(model.terms)
    if sharing is None:
        return Columnwise.of(model.terms) is None
    bought = sharing.units(None, {name: list(places) for name, places in groups.items()}, None, 1).buys
    return bought is not None and float(np.mean([len(each) > 1 for each in bought])) > MIXED_TREES


def _split(n: int, given: Parameters, groups: NDArray[Any] | None, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows to learn from, and the others; groups stay together."""
    risk = given.promised_risk
    bounds = risk.values() if isinstance(risk, Mapping) else [risk]
    least = min((each for each in bounds if each), default=np.inf)
    share = min(max(LEAST_SHARE, 1.0 - LEFT_OVER_RISK / least / max(1, n)), LARGEST_SHARE, MOST_LEARNT / max(1, n))
    if groups is not None:
        return by_group(np.arange(n), groups, share, rng)
    shuffled, n_learnt = rng.permutation(n), round(share * n)
    return np.sort(shuffled[:n_learnt]), np.sort(shuffled[n_learnt:])


# ---- the model itself ------------------------------------------------------------------------------------------------


class BoughtLooks(Looks):
    """The step from raw rows to what surrogates and the model say of them.

    Parameters
    ----------
    surrogates, model, terms
        As for `Looks`.
    predictor : Predictor or None, default=None
        Evaluates everything. None: the model is asked.
    """

    rows_at_once = ALL_ROWS  # groups are fetched for all rows at once, in batches that `Calls` make

    def __init__(
        self, surrogates: Sequence[Look], model: Any, terms: BoughtTerms, predictor: Predictor | None = None
    ) -> None:
        super().__init__(surrogates, model, terms)
        self._predictor = predictor

    @property
    def asks(self) -> bool:
        """Whether the model itself answers rows."""
        return self._predictor is None

    @property
    def identity(self) -> Any:
        """What decides what is written, for fingerprints."""
        own = [] if self._predictor is None else [self._predictor.model.fingerprint()]
        return super().identity, own

    def codes(self, source: Source, n_threads: int = 1) -> NDArray[np.int32]:
        """Codes of the model's own labels; all groups that rows lack are fetched at the same time."""
        rows = source.whole() if isinstance(source, LazyRows) else source
        if self._predictor is None:
            return super().codes(rows)
        return np.asarray(self._predictor.predict(rows, n_threads, None).codes, dtype=np.int32)


class _Read:
    """A model that wald reads, and evaluates."""

    def __init__(self, model: AdditiveModel) -> None:
        self._model = model
        self._predictor = Predictor(model, plan_without_stages(model), by_proof=False)
        #: Whether the model refuses rows in which a number is not finite.
        self.finite = model.preprocessing is None and not model.allow_nan
        #: Whether its scores change little between rows that differ little.
        self.smooth = Sharing.of(model.terms) is None

    def codes(self, source: Source, n_threads: int) -> NDArray[np.int32]:
        """Codes of labels; some rows are answered by the wrapped object, too."""
        with located(source, self._model):
            require_accepted(self._model, source)
            rows = Rows.of(self._model, source, None, n_threads)
        warn_of_training_rows(self._model, rows.preprocessed)
        warn_of_leaf_counts(self._model, rows.preprocessed)
        require_own_answers(self._predictor, source)
        return self._predictor.predict(source, n_threads, None).codes.astype(np.int32)

    def scores(self, source: Source, n_threads: int) -> Floats | None:
        """Scores by which the model decides."""
        scores = self._predictor.scores(source, n_threads)
        return scores if np.isfinite(scores).all() else None

    def behind(
        self, surrogates: Sequence[Look], widths: tuple[int, ...], sets: Sets, prices: Mapping[str, float]
    ) -> AdditiveModel:
        """The model behind surrogates."""
        own = self._model
        terms = BoughtTerms(widths, (), len(own.classes), title_of(own.estimator), sets, prices)
        return AdditiveModel(
            estimator=own.estimator,
            terms=terms,
            decision=of_classes(len(own.classes)),
            preprocessing=BoughtLooks(surrogates, own.estimator, terms, self._predictor),
            classes=own.classes,
            schema=own.schema,
            allow_nan=own.allow_nan,
            watch=own.watch,
            kind=own.kind,
        )


class _Asked:
    """A model that is asked as it is."""

    finite, smooth = False, True

    def __init__(self, model: Any, n_columns: int | None, about_truth: bool) -> None:
        self._model, self._n_columns, self._about_truth = model, n_columns, about_truth

    def codes(self, source: Source, n_threads: int) -> NDArray[np.int32]:
        """Codes of labels, of which some are asked for twice if these are what is promised."""
        labels = answered_labels(self._model, source)
        if not hasattr(self._model, "classes_"):
            self._model = AskedFunction(self._model.function, np.unique(labels))
        codes = answered_codes(self._model, labels)
        if self._about_truth:  # its errors count as they come
            return codes
        again = np.unique(np.linspace(0, len(codes) - 1, min(len(codes), ASKED_AGAIN)).astype(np.intp))
        other = answered_codes(self._model, answered_labels(self._model, source.take(again))) != codes[again]
        if other.any():
            raise ValueError(
                f"{title_of(self._model)} answered {other.sum()} of {len(again)} rows otherwise when it was asked "
                "again, so that a promise about its answers means little. Make it repeat itself, for example with a "
                "fixed random state, or with a cache."
            )
        return codes

    def scores(self, source: Source, n_threads: int) -> Floats | None:
        """Log-odds, where the model has probabilities; None: it gives labels alone."""
        if not hasattr(self._model, "predict_proba"):
            return None
        found = np.clip(self._model.predict_proba(source.rows), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        if found.shape != (source.n_rows, len(self._model.classes_)) or not np.isfinite(found).all():
            return None
        logs: Floats = np.log(found)
        return logs[:, 1:] - logs[:, :1] if found.shape[1] == 2 else logs

    def behind(
        self, surrogates: Sequence[Look], widths: tuple[int, ...], sets: Sets, prices: Mapping[str, float]
    ) -> AdditiveModel:
        """The model behind surrogates."""
        terms = BoughtTerms(widths, (), len(self._model.classes_), title_of(self._model), sets, prices)
        model = opaque_model(self._model, [], [], self._n_columns)
        return replace(model, terms=terms, preprocessing=BoughtLooks(surrogates, self._model, terms))
