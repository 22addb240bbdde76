"""The rows of `fit` about which a costly model is asked, and what each is for: to learn, to plan, or to certify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...models.opaque import OpaqueTerms
from ...utils.figures import thousands
from ..compiled.parameters import Parameters
from ..compiled.planner import Planner, planner_of
from .call_budget import ASKED_AGAIN, CallsNeeded, Division, require_calls
from .data_split import ORDER_SHARE, Split, by_group, split_rows
from .late_answers import LateAnswers

Indices = NDArray[np.intp]

#: Share of the rows of `fit` from which surrogates are learnt, and the largest number.
LEARN_SHARE, MOST_LEARNT = 0.35, 20_000


@dataclass(frozen=True, eq=False)
class Asking:
    """How `fit` may ask a model.

    Parameters
    ----------
    answers : array-like, dict, PartialAnswer or None
        The log of `fit`.
    max_calls : int or None
    whole : bool
        Whether all rows of the certificate must be asked about: where the promise has strata, to which rows belong by
        their answers, or losses that others make up for.
    planner : Planner
    """

    answers: Any
    max_calls: int | None
    whole: bool
    planner: Planner

    @classmethod
    def of(cls, given: Parameters, answers: Any, max_calls: int | None) -> Asking:
        """Read what `fit` was given; raises ValueError for a number of calls that is none, and for several splits."""
        require_calls(max_calls)
        if max_calls is not None and planner_of(given).n_splits not in (1, "auto"):
            raise ValueError("max_calls takes one split of the rows: leave n_splits of the planner out.")
        risk = given.promised_risk
        strata = isinstance(risk, Mapping) and set(risk) != {"all"}
        whole = strata or getattr(given, "reference", "model") != "model"
        return cls(answers, max_calls, whole, planner_of(given))

    def require_unused(self, why: str) -> None:
        """Raise ValueError if something is given for a model of which `fit` asks no rows one by one, and say why."""
        for name, value in (("max_calls", self.max_calls), ("answers", self.answers)):
            if value is not None:
                raise ValueError(
                    f"{name} is for models that are asked as they are, behind surrogates, and {why}: leave it out."
                )

    def require_fitted(self, fitted: bool) -> None:
        """Raise ValueError if there is a log, of a model that is trained only now."""
        if self.answers is not None and not fitted:
            raise ValueError(
                "answers are those of a model, and fit trains another one on half of the rows: leave them out, or y."
            )

    @property
    def one_split(self) -> bool:
        """Whether the rows are split once, so that rows of the certificate can be asked late."""
        return self.planner.n_splits in (1, "auto")

    @property
    def certificate_share(self) -> float:
        """Share of the rows from which no surrogate is learnt."""
        fraction = self.planner.certificate_fraction
        return OpaqueTerms.planning.certificate_share if isinstance(fraction, str) else float(fraction)


def calls_needed(n_rows: int, given: Parameters) -> CallsNeeded:
    """Numbers of rows about which `fit` asks, for so many without groups, of which none trained the model.

    Parameters
    ----------
    n_rows : int
    given : Parameters
        Of an estimator around a model that is asked as it is.
    """
    asking = Asking.of(given, None, None)
    learnt = getattr(given, "surrogates", None) in (None, "auto")
    rows, rng = np.arange(n_rows), np.random.default_rng(0)
    teach, rest = _split(rows, None, rng) if learnt else (rows[:0], rows)
    split = split_rows(rest, None, asking.certificate_share, rng)
    n_plan = len(split.order) + len(split.validation)
    late = asking.one_split and not asking.whole
    least = len(teach) + n_plan + (0 if late else len(split.certificate))
    about_truth = getattr(given, "reference", "model") == "labels"  # nothing is asked twice
    twice, fewest = 0 if about_truth else min(least, ASKED_AGAIN), Division.of(1, len(teach), n_plan)
    return CallsNeeded(fewest.learn + fewest.plan + fewest.again, least + twice, n_rows + twice)


@dataclass(frozen=True, eq=False)
class AskedRows:
    """What each row of `fit` is for.

    Parameters
    ----------
    teach : ndarray of int
        Rows from whose answers surrogates are learnt.
    split : Split
        Rows that plan, and those that certify.
    again : int
        How many rows are asked twice.
    lazily : bool
        Whether rows of the certificate are asked about only if they would leave early.
    first : ndarray of int
        Rows that are asked whatever is answered.
    """

    teach: Indices
    split: Split
    again: int
    lazily: bool
    first: Indices

    @classmethod
    def drawn(
        cls,
        answers: LateAnswers,
        rows: Indices,
        groups: ArrayLike | None,
        learnt: bool,
        asking: Asking,
        rng: np.random.Generator,
    ) -> AskedRows:
        """Draw what each of some rows is for, within the calls that are allowed.

        Raises
        ------
        ValueError
            For too few rows, or too few calls.
        """
        teach, rest = _split(rows, groups, rng) if learnt else (rows[:0], rows)
        split = split_rows(rest, groups, asking.certificate_share, rng)
        n_plan = len(split.order) + len(split.validation)
        division = Division.of(asking.max_calls, len(teach), n_plan)
        teach, n_order = _within(answers, teach, division.learn, rng), round(ORDER_SHARE * division.plan)
        if asking.max_calls is not None:
            order = _first(answers, split.order, n_order)
            validation = _first(answers, split.validation, division.plan - n_order)
            split = Split(order, validation, split.certificate)
        _require_enough(answers, teach, split, division)
        lazily = asking.one_split and not asking.whole
        now = split.certificate[:0] if lazily or asking.max_calls is not None else split.certificate
        first = np.concatenate([teach, split.order, split.validation, now])
        if len(first) == 0:
            raise ValueError(
                f"fit has n_samples={len(rows)}, too few to learn surrogates and to plan: give more rows; "
                "wald.stopping.rows_needed says how many a promise takes."
            )
        return cls(teach, split, division.again, lazily, first)


def _require_enough(answers: LateAnswers, teach: Indices, split: Split, division: Division) -> None:
    """Raise ValueError if so few calls neither learn surrogates nor make a plan."""
    if answers.max_calls is None:
        return
    learn, plan = (len(answers.unknown(rows)) for rows in (teach, np.concatenate([split.order, split.validation])))
    least = learn + plan + division.again
    if least > answers.max_calls:
        taught = f"{thousands(learn)} from which surrogates are learnt, " if learn else ""
        raise ValueError(
            f"max_calls={answers.max_calls} are too few: fit asks about at least {thousands(least)} rows, {taught}"
            f"{thousands(plan)} that plan, and {division.again} twice. Allow more calls, or give answers= that are "
            "paid for."
        )


def _within(answers: LateAnswers, rows: Indices, most: int, rng: np.random.Generator) -> Indices:
    """So many rows at least, those that are known first; all if they are not more."""
    unknown = answers.unknown(rows)
    n_asked = max(0, most - (len(rows) - len(unknown)))
    if len(unknown) <= n_asked:
        return rows
    return np.sort(np.concatenate([rows[answers.known[rows]], rng.permutation(unknown)[:n_asked]]))


def _first(answers: LateAnswers, rows: Indices, most: int) -> Indices:
    """The first of shuffled rows, of which no more than so many are unknown."""
    return rows[: np.searchsorted(np.cumsum(~answers.known[rows]), most, side="right")]


def _split(rows: Indices, groups: ArrayLike | None, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows to learn from, and the others; groups stay together."""
    share = min(LEARN_SHARE, MOST_LEARNT / max(1, len(rows)))
    if groups is not None:
        return by_group(rows, groups, share, rng)
    shuffled, n = rng.permutation(rows), round(share * len(rows))
    return np.sort(shuffled[:n]), np.sort(shuffled[n:])
