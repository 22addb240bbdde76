"""Weak hypotheses: stumps on features, which the compiled learner evaluates itself, and lists of voters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .labels import Labels
from .problem import BoostingProblem
from .rows import learner_rows

_COLUMNS = 4096  # columns of sparse rows that are made dense together to compute quantiles
_PREDICTED = 1024  # rows that are predicted together


class Stumps:
    """Votes of 1 where a feature is above a threshold, and of -1 elsewhere.

    Parameters
    ----------
    features : ndarray of shape (n_stumps,)
        The feature that each stump reads.
    thresholds : ndarray of shape (n_stumps,)
        The value above which each stump votes 1.
    n_features : int
        Features of the rows.
    """

    def __init__(self, features: NDArray[np.int32], thresholds: NDArray[np.float64], n_features: int) -> None:
        self.features = features
        self.thresholds = thresholds
        self.n_features = n_features
        self._compiled = _core.Stumps(features, thresholds, n_features)

    def __len__(self) -> int:
        return len(self.features)

    def __getstate__(self) -> dict[str, Any]:
        return {"features": self.features, "thresholds": self.thresholds, "n_features": self.n_features}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # the stumps are compiled anew

    @classmethod
    def at_quantiles(cls, X: Any, n_thresholds: int, n_rows: int) -> Stumps:
        """Stumps that split evenly spaced rows (`n_rows` at most) at quantiles of each feature.

        A quantile that does not split these rows is left out, and so is one that equals the one before: a feature
        that is constant has no stump. If all features are constant, there is one stump, on the first feature.
        """
        ids = np.arange(X.shape[0])
        if len(ids) > n_rows:
            ids = (np.arange(n_rows) * len(ids)) // n_rows
        X = X[ids]
        if sparse.issparse(X):
            X = X.tocsc()
        levels = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
        features: list[NDArray[np.int32]] = []
        thresholds: list[NDArray[np.float64]] = []
        for start in range(0, X.shape[1] if len(ids) else 0, _COLUMNS):
            values = X[:, start : start + _COLUMNS]
            values = values.toarray() if sparse.issparse(values) else np.asarray(values)
            bad = ~np.isfinite(values).all(axis=1)
            if bad.any():
                raise ValueError(f"row {ids[bad.argmax()]} holds NaN or infinity")
            quantiles = np.quantile(values, levels, axis=0, method="lower").astype(np.float64)
            splits = quantiles < values.max(axis=0)
            splits[1:] &= quantiles[1:] > quantiles[:-1]
            column, k = np.nonzero(splits.T)
            features.append((start + column).astype(np.int32))
            thresholds.append(quantiles[k, column])
        if not sum(map(len, features)):
            return cls(np.zeros(1, np.int32), np.zeros(1), X.shape[1])
        return cls(np.concatenate(features), np.concatenate(thresholds), X.shape[1])

    def rows(self, X: Any, dtype: np.dtype[Any]) -> Any:
        """Rows as `train` and `margins` take them."""
        return learner_rows(X, dtype, 0)

    def train(self, problem: BoostingProblem, code: int, rows: Any, labels: Labels, shuffle: int | None) -> float:
        """Train for one epoch and return the sum of the losses seen."""
        del code  # a stump votes the same in all problems
        return float(problem.learner.train(rows, self._compiled, *labels.given, shuffle, *labels.shrinking))

    def margins(
        self, problems: list[BoostingProblem], codes: list[int], X: Any, average: bool, width: float | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Margins and hypotheses seen, both of shape (n_problems, n_samples)."""
        del codes
        rows = self.rows(X, problems[0].dtype)
        judged = [p.learner.judge(rows, self._compiled, average, width) for p in problems]
        return np.stack([m for m, _ in judged]), np.stack([n for _, n in judged])


class Voters:
    """Fitted classifiers, which vote for the class that they predict, and callables, whose values are votes.

    Parameters
    ----------
    members : sequence
        Classifiers and callables.
    classes : ndarray of shape (n_classes,)
        Labels of the problem.
    rows_ahead : int
        The largest number of rows for which training evaluates a hypothesis in one call.
    """

    def __init__(self, members: Sequence[Any], classes: NDArray[Any], rows_ahead: int) -> None:
        self.members = list(members)
        self.classes = classes
        self.rows_ahead = rows_ahead
        self.predicts = [hasattr(h, "predict") for h in self.members]
        for j, h in enumerate(self.members):
            if not self.predicts[j]:
                if not callable(h):
                    raise TypeError(f"hypotheses[{j}] must be a fitted classifier or a callable. Got {h!r} instead.")
                continue
            try:
                check_is_fitted(h)
                known = h.classes_
            except Exception as error:
                raise ValueError(
                    f"hypotheses[{j}] must be a fitted classifier or a callable. Got {h!r} instead. "
                    "(Cloning unfits it: wrap it in sklearn.frozen.FrozenEstimator.)"
                ) from error
            if not np.isin(list(known), classes).any():
                raise ValueError(f"hypotheses[{j}] knows none of the classes {classes!r}, but {known!r}.")

    def __len__(self) -> int:
        return len(self.members)

    def rows(self, X: Any, dtype: np.dtype[Any]) -> Any:
        """Rows as `train` and `margins` take them."""
        del dtype  # members get the rows as they are
        return X

    def train(self, problem: BoostingProblem, code: int, rows: Any, labels: Labels, shuffle: int | None) -> float:
        """Train for one epoch and return the sum of the losses seen."""
        n, total = rows.shape[0], 0.0
        order = np.arange(n) if shuffle is None else _core.shuffled(n, shuffle)
        for start in range(0, n, self.rows_ahead):
            ids = order[start : start + self.rows_ahead]
            votes, some = _Votes(self, rows[ids], problem, code), labels.take(ids)
            done = 0
            while True:
                done, loss, wanted = problem.learner.advance(*votes.given(), *some.given, done, *some.shrinking)
                total += loss
                if done == len(ids):
                    break
                votes.evaluate(wanted)
            if labels.unchanged is not None and some.unchanged is not None:
                labels.unchanged[ids] = some.unchanged
            problem.evaluated += int(votes.answers.known.sum())
            costs = problem.settings["costs"]
            per_member = votes.answers.known.sum(axis=0)
            problem.paid += float(per_member.sum() if costs is None else per_member @ costs)
        return total

    def margins(
        self, problems: list[BoostingProblem], codes: list[int], X: Any, average: bool, width: float | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Margins and hypotheses seen, both of shape (n_problems, n_samples); evaluates a member once per row."""
        margins = np.empty((len(problems), X.shape[0]))
        seen = np.empty(margins.shape, dtype=np.int64)
        for start in range(0, X.shape[0], _PREDICTED):
            some = slice(start, start + _PREDICTED)
            answers = None
            for k, problem in enumerate(problems):
                votes = _Votes(self, X[some], problem, codes[k], answers)
                answers = votes.answers
                while True:
                    done, margins[k, some], seen[k, some], wanted = problem.learner.judge_votes(
                        *votes.given(), average, width
                    )
                    if done:
                        break
                    votes.evaluate(wanted)
        return margins, seen


class _Answers:
    """Members' answers for some rows: the index of a classifier's class (-1 if unknown), or a callable's value."""

    def __init__(self, voters: Voters, rows: Any) -> None:
        self.voters = voters
        self.rows = rows
        self.values = np.zeros((rows.shape[0], len(voters)))
        self.known = np.zeros(self.values.shape, dtype=bool)

    def get(self, j: int, ids: NDArray[np.intp]) -> NDArray[np.float64]:
        new = ids[~self.known[ids, j]]
        if len(new):
            self.values[new, j] = self._evaluated(j, self.rows[new])
            self.known[new, j] = True
        answers: NDArray[np.float64] = self.values[ids, j]
        return answers

    def _evaluated(self, j: int, rows: Any) -> NDArray[Any]:
        member, classes = self.voters.members[j], self.voters.classes
        if self.voters.predicts[j]:
            predicted = np.asarray(member.predict(rows))
            code = np.minimum(np.searchsorted(classes, predicted), len(classes) - 1)
            return np.where(classes[code] == predicted, code, -1)
        values = np.asarray(member(rows), dtype=np.float64)
        if values.shape != (rows.shape[0],):
            raise ValueError(
                f"hypotheses[{j}] must give one value for each of {rows.shape[0]} rows. "
                f"Got an array of shape {values.shape} instead."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"hypotheses[{j}] gave NaN or infinity.")
        return values


class _Votes:
    """Votes on some rows in one binary problem, as far as they have been evaluated."""

    def __init__(
        self, voters: Voters, rows: Any, problem: BoostingProblem, code: int, answers: _Answers | None = None
    ) -> None:
        self.answers = _Answers(voters, rows) if answers is None else answers
        self.code = code
        self.units = problem.learner.units
        self.table = np.zeros((rows.shape[0], problem.learner.n_columns), dtype=problem.dtype)
        self.known = np.zeros((rows.shape[0], len(self.units) - 1), dtype=np.uint8)

    def given(self) -> tuple[_core.Rows, NDArray[np.uint8]]:
        """Votes, and which units of them are known, as the compiled learner takes them."""
        return _core.Rows.dense(self.table), self.known

    def evaluate(self, wanted: NDArray[np.uint8]) -> None:
        """Evaluate the members of each unit for the rows that want the unit."""
        for u in np.flatnonzero(wanted.any(axis=0)):
            ids = np.flatnonzero(wanted[:, u])
            for j in range(self.units[u], self.units[u + 1]):
                answers = self.answers.get(j, ids)
                predicts = self.answers.voters.predicts[j]
                self.table[ids, j] = np.where(answers == self.code, 1.0, -1.0) if predicts else answers
            self.known[ids, u] = 1


def run_length(n_hypotheses: int) -> int:
    """Return the number of hypotheses of a list that are evaluated together: one, unless there are very many."""
    return math.ceil(n_hypotheses / 128)
