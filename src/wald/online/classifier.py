"""The base of the online estimators: scikit-learn's way to train compiled learners, one per binary problem."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from .. import _core
from ..utils.label_types import require_one_type
from ..utils.undo import all_or_nothing
from ..utils.warn import warn_caller
from .answers import AttentiveModel
from .attention import ERROR_OF, rule_of, settings
from .degenerate import warn_of_degenerate_boundaries
from .first_rows import Chunk
from .labels import Labels, weights_of_classes, weights_of_rows
from .problem import Problem
from .stop_error import StopError

_WORD = (1 << 64) - 1
#: With shrinking, the first epoch reads every row, and so does every fifth from then on.
_FULL_EPOCH_EVERY = 5
#: A learner is copied before an epoch over at least `MANY_ROWS` rows, and before every epoch if it has at most
#: `FEW_WEIGHTS` weights.
MANY_ROWS, FEW_WEIGHTS = 256, 1024
#: Numbers up to this have squares and sums that are finite in float32.
TAME = 1e15


class AttentiveClassifier(AttentiveModel):
    """Base of the online estimators; see these for the parameters."""

    _problem: type[Problem] = Problem

    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """The update rule's settings, checked."""

    @property
    def _average_from(self) -> int:
        return 0 if isinstance(self.average, (bool, np.bool_)) else int(self.average)

    # -- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, or with ``warm_start=True`` from where the last call left off.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            C-ordered float32 and float64 arrays are read in place, whatever the distance between rows, and so are CSR
            matrices with sorted indices; everything else is copied. Values that are read are checked for NaN and
            infinity, values that are never read are not.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of each row's updates. A row of weight 0 is skipped.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters out of range, labels of one class, or a row with NaN or infinity among what was read.

        Warns
        -----
        DegenerateBoundaryWarning
            With ``attention="constant"``: the boundary of a class ended where its formula has no level.
        """
        self._check_parameters()
        require_one_type(y)
        with all_or_nothing(self, self._undo() if self.warm_start else None):
            X, y = self._validated(X, y, reset=not (self.warm_start and hasattr(self, "problems_")))
            check_classification_targets(y)
            classes = np.unique(y)
            if self.warm_start and hasattr(self, "problems_"):
                self._require_same_average()
                if not np.isin(classes, self.classes_).all():
                    raise ValueError(
                        f"A warm start cannot add classes: the model knows {self.classes_}, y holds {classes}."
                    )
            else:
                if len(classes) < 2:
                    raise ValueError(f"The number of classes must be at least 2. Got 1 class in y: {classes[0]!r}.")
                self._start(classes, X)
            chunk = self._chunk(X, y, sample_weight)
            self.n_iter_, rows = 0, self._rows(X)
            for k, problem in enumerate(self.problems_):
                self.n_iter_ = max(self.n_iter_, self._epochs(problem, k, rows, self._labels(k, chunk)))
            self._publish()
        self._warn()
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more chunk of a stream: one epoch over its rows, in their order.

        Chunks of any size, one after the other, give bit for bit the model of a single epoch over all of them. An empty
        chunk changes nothing. Memory does not grow with the number of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            As in `fit`.
        y : array-like of shape (n_samples,)
            Labels, all among `classes`.
        classes : array-like of shape (n_classes,), default=None
            Every label that can ever occur; required at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        self

        Warns
        -----
        DegenerateBoundaryWarning
            As in `fit`.
        """
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows at once; give partial_fit a dict of weights.")
        first = not hasattr(self, "problems_")
        if not first:
            self._require_same_average()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        require_one_type(y)
        require_one_type(classes, "classes")
        with all_or_nothing(self, None if first or self._cannot_fail(X) else self._undo()):
            X, y = self._validated(X, y, reset=first, ensure_min_samples=0)
            if classes is not None:
                wanted = unique_labels(classes)
                if len(wanted) < 2:
                    raise ValueError(f"The number of classes must be at least 2. Got {wanted!r}.")
                if first:
                    self._start(wanted, X)
                elif not np.array_equal(wanted, self.classes_):
                    raise ValueError(f"classes={wanted!r} differ from those of the first call, {self.classes_!r}.")
            if X.shape[0] == 0:
                self._publish()
                return self
            check_classification_targets(y)
            unseen = np.setdiff1d(y, self.classes_)
            if len(unseen):
                raise ValueError(f"y holds labels that are not among the classes {self.classes_!r}: {unseen!r}.")
            self._one_epoch(self._chunk(X, y, sample_weight))
            self.n_iter_ = 1
            self._publish()
        self._warn()
        return self

    def _warn(self) -> None:
        """Warn the caller of `fit` or `partial_fit` about degenerate boundaries; experiments that try them do not."""
        warn_of_degenerate_boundaries(self)

    def _undo(self) -> Callable[[], None]:
        """Save the state that an epoch changes in place; the returned function restores it."""
        problems = getattr(self, "problems_", [])
        states, epochs = [problem.__getstate__() for problem in problems], list(getattr(self, "_epoch", []))

        def undo() -> None:
            for problem, state in zip(problems, states, strict=True):
                problem.__setstate__(state)
            if problems:
                self._epoch = epochs

        return undo

    def _cannot_fail(self, X: Any) -> bool:
        """Return True if an epoch over X cannot fail and is too short for the engine to check for signals.

        The learners are then not copied, as a copy may take longer than the epoch. Small learners are always copied.
        """
        if len(self.problems_) * self.problems_[0].learner.n_columns <= FEW_WEIGHTS:
            return False
        tame = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and len(X) < MANY_ROWS
        return tame and bool((np.abs(X) < TAME).all())  # False for NaN

    def _validated(self, X: Any, y: Any, reset: bool, ensure_min_samples: int = 1) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=ensure_min_samples,
            reset=reset,
        )
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        return X, y

    def _start(self, classes: NDArray[Any], X: Any) -> None:
        self.classes_ = classes
        self._seed = int(check_random_state(self.random_state).randint(1 << 31))
        self._make_problems(X)

    def _make_problems(self, X: Any) -> None:
        n = 1 if len(self.classes_) == 2 else len(self.classes_)
        common = self._settings(X) | {
            "single": X.dtype == np.float32,
            "intercept": bool(self.fit_intercept),
            "average": self._averages,
            "average_from": self._average_from,
            "watch_all": False,
        }
        common |= self._rule()
        self.problems_ = [self._problem(common | {"seed": (self._seed << 24) + k}) for k in range(n)]
        self._epoch = [0] * n

    def _settings(self, X: Any) -> dict[str, Any]:
        return settings(self, X.shape[1], sparse.issparse(X)) | {"n_features": int(X.shape[1])}

    def _chunk(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> Chunk:
        """Rows with the codes of their classes and the weights of both, checked."""
        weights = weights_of_classes(self.class_weight, self.classes_, y)
        return Chunk(X, np.searchsorted(self.classes_, y), weights_of_rows(sample_weight, X), weights)

    def _one_epoch(self, chunk: Chunk) -> None:
        rows = self._rows(chunk.X)
        for k, problem in enumerate(self.problems_):
            self._train(problem, k, rows, self._labels(k, chunk), None)

    def _labels(self, k: int, chunk: Chunk) -> Labels:
        code, weights = self._code(k), chunk.class_weights
        rest = weights[0] if len(self.problems_) == 1 else 1.0  # one against the rest: as in scikit-learn
        positive = np.equal(chunk.codes, code).astype(np.uint8)
        return Labels(positive, chunk.sample_weight, (float(rest), float(weights[code])))

    def _train(self, problem: Problem, k: int, rows: _core.Rows, labels: Labels, shuffle: int | None) -> float:
        return float(problem.learner.train(rows, *labels.given, shuffle, *labels.shrinking))

    def _epochs(self, problem: Problem, k: int, rows: _core.Rows, labels: Labels) -> int:
        n_rows = len(labels.positive)
        if self.shrinking:
            labels = labels._replace(unchanged=np.zeros(n_rows, dtype=np.uint8))
        best, best_epoch = np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            skips = bool(self.shrinking) and epoch % _FULL_EPOCH_EVERY != 1
            seed = (
                (problem.settings["seed"] * 0x9E3779B97F4A7C15 + 4 * self._epoch[k]) & _WORD if self.shuffle else None
            )
            self._epoch[k] += 1
            loss = self._train(problem, k, rows, labels._replace(skips_unchanged=skips), seed)
            if self.tol is None or skips:  # only losses over all rows can be compared
                continue
            if loss <= best - self.tol * n_rows:
                best_epoch = epoch
            best = min(best, loss)
            if epoch - best_epoch >= self.n_iter_no_change:
                return epoch
        if self.tol is not None:
            warn_caller(
                f"{type(self).__name__} met no stopping criterion in {self.max_iter} epochs; raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self.max_iter

    def _publish(self) -> None:
        answers = [p.learner.answer(self._averages) for p in self.problems_]
        self.coef_ = np.stack([coef for coef, _ in answers])
        self.intercept_ = np.array([intercept for _, intercept in answers])
        learners = [p.learner for p in self.problems_]
        self.t_ = learners[0].n_steps
        self.n_updates_ = sum(learner.n_updates for learner in learners)
        self.features_seen_ = sum(learner.features_seen for learner in learners)
        self.cost_seen_ = float(sum(learner.cost_seen for learner in learners))
        counts = np.sum([learner.audits for learner in learners], axis=(0, 1))
        kind = ERROR_OF[rule_of(self)]
        self.stop_error_ = StopError.from_counts(kind, (int(counts[0]), int(counts[1]), int(counts[2]), int(counts[3])))

    def _require_same_average(self) -> None:
        known = self.problems_[0].settings
        if (self._averages, self._average_from) != (known["average"], known["average_from"]):
            raise ValueError(
                f"The 'average' parameter of {type(self).__name__} cannot change while learning goes on: an average "
                f"starts at the example that was given at first. Got {self.average!r} instead; fit anew."
            )
