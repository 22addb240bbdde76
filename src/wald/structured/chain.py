"""A linear chain over sequences whose features come in groups with costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from .. import _core
from .._threads import effective_threads
from .features import LazyFeatures
from .groups import FeatureGroup
from .sequences import Sequences, labels_of

State = NDArray[np.bool_]

#: Copies of a sequence under fixed states that the structural SVM learns from: everything, nothing costly, random.
COPIES = 3


class ChainClassifier(BaseEstimator):
    """Label the parts of sequences with a linear chain, from cheap and costly groups of features.

    The score of a labelling adds up a score for every part and one for every pair of neighbours. The first group
    belongs to every part; each other group may be there or not, part by part (a *state*), and one model serves every
    state.

    Parameters
    ----------
    groups : sequence of FeatureGroup, default=None
        At most five, the cheap one first. None: one group, the raw parts.
    learner : {"perceptron", "svm"}, default="perceptron"
        The averaged structured perceptron with a margin, or the structural SVM by block-coordinate Frank-Wolfe.
    max_iter : int, default=60
        Turns over the sequences.
    margin : float, default=4.0
        Perceptron: how much better than a labelling with h wrong labels the truth must score, for each of these h.
    C : float, default=0.1
        SVM: penalty of a sequence's hinge loss; larger fits closer.
    tol : float, default=0.0
        SVM: stop when the duality gap, looked at every ten turns, is below this.
    states : {"random", "full"}, default="random"
        What is seen of a sequence while learning: random states, so that predictions are good under every state; or
        everything.
    own_weights : bool, default=True
        Whether parts of different states have weights of their own, also for groups that both have.
    average : bool, default=True
        Perceptron: average the weights over all steps.
    shuffle : bool, default=True
        Whether sequences come in a new order at every turn.
    n_jobs : int, default=None
        Threads of predictions.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    group_names_ : list of str
        All groups, the first one included.
    group_costs_ : float64 ndarray of shape (n_groups,)
        Cost of a part: as given, or seconds, measured while fitting.
    duality_gap_ : float
        SVM: of the weights that are kept; primal minus dual objective.
    n_iter_ : int

    References
    ----------
    M. Collins, "Discriminative Training Methods for Hidden Markov Models", EMNLP 2002. S. Lacoste-Julien, M. Jaggi, M.
    Schmidt and P. Pletscher, "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs", ICML 2013. T. Bolukbasi,
    K. Chang, J. Wang and V. Saligrama, "Resource Constrained Structured Prediction", arXiv 1602.08761: random states.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import ChainClassifier
    >>> X, y = make_chains(200, random_state=0)
    >>> model = ChainClassifier(max_iter=10, random_state=0).fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.8
    True
    """

    def __init__(
        self,
        groups: Sequence[FeatureGroup] | None = None,
        *,
        learner: str = "perceptron",
        max_iter: int = 60,
        margin: float = 4.0,
        C: float = 0.1,
        tol: float = 0.0,
        states: str = "random",
        own_weights: bool = True,
        average: bool = True,
        shuffle: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.groups = groups
        self.learner = learner
        self.max_iter = max_iter
        self.margin = margin
        self.C = C
        self.tol = tol
        self.states = states
        self.own_weights = own_weights
        self.average = average
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, lengths: ArrayLike | None = None) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : sequences, as `Sequences.of` reads them
        y : sequence of label sequences, or array of shape (n_parts,)
        lengths : array-like of int, default=None
            For one array of all parts.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For parameters out of range, and sequences or labels that do not fit; the message names the sequence.
        ExtractionError
            If an extractor fails; the message names group and parts.
        """
        self._check()
        sequences = Sequences.of(X, lengths)
        labels = labels_of(y, sequences)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        features = LazyFeatures(self._groups(), sequences)
        lesson = self._begin(features, codes.astype(np.int32), rng)
        if self.learner == "svm":
            self._fit_svm(lesson, sequences.n_sequences, rng)
        else:
            self._learner = _core.ChainPerceptron(self._chain, float(self.margin))
            self.n_iter_ = 0
            for _ in range(self.max_iter):
                self._turn(lesson, sequences.n_sequences, rng)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, *, lengths: ArrayLike | None = None
    ) -> Self:
        """Take one perceptron turn over some labelled sequences.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        classes : array-like of shape (n_classes,), default=None
            All labels there are; needed at the first call.

        Returns
        -------
        self

        Notes
        -----
        An object that was pickled goes on from the weights that it predicts with.
        """
        self._check()
        if self.learner != "perceptron":
            raise ValueError(
                "partial_fit needs learner='perceptron': the structural SVM must see all sequences at once."
            )
        sequences = Sequences.of(X, lengths)
        labels = labels_of(y, sequences)
        rng = np.random.default_rng(
            [check_random_state(self.random_state).randint(2**31 - 1), getattr(self, "n_iter_", 0)]
        )
        if not hasattr(self, "classes_"):
            if classes is None:
                raise ValueError("The first call of partial_fit needs classes=, all labels there are.")
            self.classes_ = np.unique(np.asarray(classes))
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(f"y holds {labels[~known][0]!r}, which is none of the classes {self.classes_.tolist()!r}.")
        codes = np.searchsorted(self.classes_, labels).astype(np.int32)
        started = hasattr(self, "_chain")
        features = LazyFeatures(self._groups(), sequences, self._sizes if started else None)
        lesson = self._lesson(features, codes, rng) if started else self._begin(features, codes, rng)
        if not hasattr(self, "_learner"):
            self._learner = _core.ChainPerceptron(self._chain, float(self.margin))
            self.n_iter_ = getattr(self, "n_iter_", 0)
        self._turn(lesson, sequences.n_sequences, rng)
        return self

    def _begin(self, features: LazyFeatures, codes: NDArray[np.int32], rng: np.random.Generator) -> _core.ChainLesson:
        features.buy(np.ones((features.sequences.n_parts, len(features.groups) - 1), dtype=bool))
        self._sizes = features.sizes
        self.group_names_ = [g.name for g in features.groups]
        seconds = features.seconds / np.maximum(1, features.extracted)
        self.group_costs_ = np.array(
            [s if g.cost is None else g.cost for g, s in zip(features.groups, seconds, strict=True)]
        )
        self._chain = _core.Chain(len(self.classes_), self._sizes, bool(self.own_weights))
        self.__dict__.pop("_learner", None)
        return self._lesson(features, codes, rng)

    def _lesson(self, features: LazyFeatures, codes: NDArray[np.int32], rng: np.random.Generator) -> _core.ChainLesson:
        everything = np.ones((features.sequences.n_parts, len(features.groups) - 1), dtype=bool)
        packed = features.packed(everything)
        return _core.ChainLesson(
            self._chain, packed, codes, features.sequences.offsets, self.states, int(rng.integers(2**62))
        )

    def _turn(self, lesson: _core.ChainLesson, n_sequences: int, rng: np.random.Generator) -> None:
        self._learner.epoch(lesson, self._order(n_sequences, rng), self.n_iter_)
        self.n_iter_ += 1
        self._chain = self._learner.averaged() if self.average else self._learner.current()

    def _fit_svm(self, lesson: _core.ChainLesson, n_sequences: int, rng: np.random.Generator) -> None:
        copies = COPIES if self.states == "random" and len(self._sizes) > 1 else 1
        strength = 1.0 / (self.C * n_sequences * copies)
        learner = _core.ChainFrankWolfe(self._chain, strength, n_sequences, copies)
        for turn in range(self.max_iter):
            learner.epoch(lesson, self._order(n_sequences * copies, rng))
            self.n_iter_ = turn + 1
            if self.tol > 0 and self.n_iter_ % 10 == 0 and learner.gap(lesson) < self.tol:
                break
        self.duality_gap_ = learner.gap(lesson)
        self._chain = learner.current()

    def _order(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return (rng.permutation(n) if self.shuffle else np.arange(n)).astype(np.int64)

    # ---- answering -------------------------------------------------------------------------------------------------

    def predict(
        self, X: Any, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> list[NDArray[Any]]:
        """Labels of every sequence, by the best path (Viterbi).

        Parameters
        ----------
        X : sequences, as `Sequences.of` reads them
        state : bool array-like of shape (n_parts, n_groups - 1), default=None
            Which parts have which costly groups; None: all of them. Only these are extracted.
        lengths : array-like of int, default=None

        Returns
        -------
        list of ndarray
            One array of labels per sequence.
        """
        session = self.open(X, lengths=lengths)
        return session.sequences.split(self.classes_[session.decode(session.state(state))])

    def score(self, X: Any, y: Any, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None) -> float:
        """Share of the parts that get their label."""
        sequences = Sequences.of(X, lengths)
        predicted = np.concatenate(self.predict(sequences, state=state))
        return float(np.mean(predicted == labels_of(y, sequences)))

    def max_marginals(
        self, X: Any, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> list[NDArray[np.float32]]:
        """Score of the best labelling through every label at every part: one (length, n_classes) array per sequence."""
        session = self.open(X, lengths=lengths)
        return session.sequences.split(session.max_marginals(session.state(state)))

    def predict_marginals(
        self, X: Any, *, scale: float = 1.0, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> list[NDArray[np.float32]]:
        """Probabilities of labels under ``exp(scale * score)``: one (length, n_classes) array per sequence.

        The learners do not make scores probabilities: choose ``scale`` on held-out sequences.
        """
        session = self.open(X, lengths=lengths)
        return session.sequences.split(session.marginals(session.state(state), scale))

    def best_paths(
        self, X: Any, k: int, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> tuple[list[NDArray[Any]], NDArray[np.float32]]:
        """Find the ``k`` best labellings of every sequence.

        Returns
        -------
        labels : list of ndarray of shape (k, length)
        scores : float32 ndarray of shape (n_sequences, k)
            Best first; -inf, beside labels without meaning, where a sequence has fewer labellings. The margin of the
            answer is the difference of the first two.
        """
        session = self.open(X, lengths=lengths)
        labels, scores = session.best_paths(session.state(state), k)
        return [self.classes_[path] for path in labels], scores

    def loss(self, truth: NDArray[np.int32], answer: NDArray[np.int32]) -> NDArray[np.float64]:
        """Hamming loss of each part, from codes."""
        return np.asarray(np.asarray(truth) != np.asarray(answer), dtype=np.float64)

    def open(self, X: Any, *, lengths: ArrayLike | None = None) -> ChainSession:
        """Look at sequences part by part: buy groups, decode, buy more.

        Returns
        -------
        ChainSession
        """
        check_is_fitted(self, "_chain")
        sequences = Sequences.of(X, lengths)
        features = LazyFeatures(self._groups(), sequences, self._sizes)
        return ChainSession(self._chain, self.classes_, features, effective_threads(self.n_jobs))

    # ---- housekeeping ----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_learner", None)
        if "_chain" in state:
            state["_chain"] = state["_chain"].arrays()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays = state.pop("_chain", None)
        super().__setstate__(state)
        if arrays is not None:
            self._chain = _core.Chain(len(self.classes_), self._sizes, bool(self.own_weights))
            self._chain.fill(*arrays)

    def _groups(self) -> tuple[FeatureGroup, ...]:
        return (FeatureGroup("parts"),) if self.groups is None else tuple(self.groups)

    def _check(self) -> None:
        groups = self._groups()
        if not 1 <= len(groups) <= 5 or not all(isinstance(g, FeatureGroup) for g in groups):
            raise ValueError(f"groups must be one to five FeatureGroups. Got {self.groups!r}.")
        if len({g.name for g in groups}) < len(groups):
            raise ValueError(f"groups must have different names. Got {[g.name for g in groups]}.")
        for name, options in (("learner", ("perceptron", "svm")), ("states", ("random", "full"))):
            if getattr(self, name) not in options:
                raise ValueError(f"{name} must be one of {options}. Got {getattr(self, name)!r}.")
        if self.max_iter < 1 or self.max_iter != int(self.max_iter):
            raise ValueError(f"max_iter must be an integer of at least 1. Got {self.max_iter!r}.")
        for name, least in (("margin", 0.0), ("tol", 0.0)):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= least):
                raise ValueError(f"{name} must be finite and not negative. Got {getattr(self, name)!r}.")
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be finite and positive. Got {self.C!r}.")


class ChainSession:
    """Sequences on their way through a chain: what was bought of them, and what it says.

    Predictions are codes, indices of the model's ``classes_``, one per part.

    Attributes
    ----------
    sequences : Sequences
    features : LazyFeatures
    """

    def __init__(self, chain: _core.Chain, classes: NDArray[Any], features: LazyFeatures, n_threads: int) -> None:
        self._chain, self._classes, self.features, self._n_threads = chain, classes, features, n_threads
        self.sequences = features.sequences

    @property
    def offsets(self) -> NDArray[np.int64]:
        """First part of every sequence, and the end: (n_sequences + 1,)."""
        return self.sequences.offsets

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time that the extraction of each group has taken so far."""
        return self.features.seconds

    @property
    def extracted(self) -> NDArray[np.int64]:
        """Parts that each group was extracted for so far."""
        return self.features.extracted

    def codes(self, y: Any) -> NDArray[np.int32]:
        """Labels as codes (n_parts,); -1 for labels that the model has not met."""
        labels = labels_of(y, self.sequences)
        at = np.minimum(np.searchsorted(self._classes, labels), len(self._classes) - 1)
        return np.where(self._classes[at] == labels, at, -1).astype(np.int32)

    def state(self, state: ArrayLike | None = None) -> State:
        """Check a state (n_parts, n_groups - 1), or make the one that has everything."""
        shape = (self.sequences.n_parts, len(self.features.groups) - 1)
        if state is None:
            return np.ones(shape, dtype=bool)
        array = np.asarray(state)
        if array.dtype != bool or array.shape != shape:
            raise ValueError(f"state must be a boolean array of shape {shape}. Got {array.dtype}, shape {array.shape}.")
        return array

    def decode(self, state: State) -> NDArray[np.int32]:
        """Codes (n_parts,) of the best labelling under a state."""
        return self._chain.predict(self.features.packed(state), self.offsets, self._n_threads)[0]

    def node_scores(self, state: State) -> NDArray[np.float32]:
        """Scores (n_parts, n_classes) of labels, neighbours left aside."""
        return self._chain.scores(self.features.packed(state), self._n_threads)

    def max_marginals(self, state: State) -> NDArray[np.float32]:
        """Score (n_parts, n_classes) of the best labelling through each label."""
        return self._chain.max_marginals(self.node_scores(state), self.offsets, self._n_threads)

    def marginals(self, state: State, scale: float = 1.0) -> NDArray[np.float32]:
        """Probabilities (n_parts, n_classes) under ``exp(scale * score)``."""
        return self._chain.marginals(self.node_scores(state), self.offsets, scale, self._n_threads)

    def confidence(self, state: State) -> NDArray[np.float32]:
        """By how much the best labelling beats the best one with another label at each part: (n_parts,)."""
        scores = self.max_marginals(state)
        if scores.shape[1] == 1:
            return np.zeros(len(scores), dtype=np.float32)
        two = np.partition(scores, -2, axis=1)[:, -2:]
        return np.asarray(two[:, 1] - two[:, 0])

    def best_paths(self, state: State, k: int) -> tuple[list[NDArray[np.int32]], NDArray[np.float32]]:
        """Codes (k, length) of each sequence's best labellings, and their scores (n_sequences, k)."""
        flat, scores = self._chain.best_paths(self.node_scores(state), self.offsets, k, self._n_threads)
        cuts = np.split(flat, self.offsets[1:-1] * k)
        return [path.reshape(k, -1) for path in cuts], scores
