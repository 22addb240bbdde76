"""A linear chain over sequences whose features come in groups with costs."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from .. import _core
from ..engine.threads import effective_threads
from ..outputs import Parts, Spans, Structures
from ..utils.undo import all_or_nothing
from .chain_learning import ChainLearning, codes_of
from .features import LazyFeatures
from .given import classes_of, given_as_lists, is_flat, labels_of, require_alike, sequences_for, settled_labels
from .keeping import fingerprint
from .protocol import ZeroOneLoss
from .sequences import without_empty
from .session import ChainSession
from .spans import f1_of


@dataclass(eq=False, repr=False)
class ChainClassifier(ZeroOneLoss, ChainLearning, BaseEstimator):
    """Label the parts of sequences with a linear chain, from cheap and costly groups of features.

    The score of a labelling adds up a score for every part, one for every pair of neighbours, and one for the labels at
    the two ends. The first group belongs to every part; each other group may be there or not, part by part (a *state*),
    and one model serves every state.

    Parameters
    ----------
    feature_groups : sequence of FeatureGroup, default=None
        At most five, the cheap one first. None: one group, the raw parts.
    learner : {"perceptron", "svm"}, default="perceptron"
        The averaged structured perceptron with a margin, or the structural SVM by block-coordinate Frank-Wolfe.
    max_iter : int, default=60
        Epochs.
    margin : float, default=16.0
        Perceptron: how much better than a labelling with h wrong labels the truth must score, for each of these h.
    C : float, default=1.0
        SVM: penalty of a sequence's hinge loss; larger fits closer.
    tol : float, default=0.0
        SVM: stop when the duality gap, computed every ten epochs, is below this. 0: run all epochs.
    states : {"random", "full"}, default="random"
        States of the sequences while learning. "random": random ones, so that predictions are good under every state.
        "full": everything.
    own_weights : bool, default=True
        Whether parts of different states have weights of their own, also for groups that both have.
    average : bool, default=True
        Average the weights over all steps; for the SVM, with weights that rise with the steps.
    keep_names : bool, default=False
        Whether to keep the names of the parts' features, which `feature_weights` needs.
    shuffle : bool, default=True
        Whether sequences come in a new order in every epoch.
    constraints : {"bio"}, default=None
        "bio": labels are those of spans, ``"O"``, ``"B-kind"`` and ``"I-kind"``, where I-kind follows B-kind or I-kind
        only. Other labellings are never an answer, `score` is the F1 of spans, and the certificates of a
        `BudgetedPredictor` count spans.
    n_jobs : int, default=None
        Threads of predictions.
    random_state : int, RandomState instance or None, default=None
        Draws the order of the sequences and their states.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    group_names_ : list of str
        All groups, the first one included.
    group_costs_ : float64 ndarray of shape (n_groups,)
        Cost of a part: as given, or seconds, measured while fitting.
    duality_gap_ : float
        SVM: primal minus dual objective of the weights that are kept.
    n_iter_ : int
        Epochs run.
    n_calls_ : int64 ndarray of shape (n_groups,)
        Parts that each extractor was asked about in `fit`; those that it was asked about before are not among them.
    seconds_ : float64 ndarray of shape (n_groups,)
        Time that this took. Files of `wald.save` hold neither of the two.

    Notes
    -----
    Random states are drawn anew in every epoch: one sequence in ten has nothing costly, one in ten everything, and in
    the others each part has each group with a probability that is itself uniform. The structural SVM, which needs its
    examples fixed, sees every sequence three times: with everything, with nothing costly, and in one random state.

    A policy's `fit` needs the features of the sequences that the model learned from. What extractors gave is kept for
    it: by `FeatureGroup`, part by part, or by `fit`, where plain functions of arrays gave it. `keep_features` says how
    much; what is too large for memory goes to a temporary file. Files of models and pickles have none.

    Features should be of the order of 1: learners do not scale them, and the margin is measured in them.

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

    def fit(self, X: Any, y: Any, *, lengths: ArrayLike | None = None, classes: ArrayLike | None = None) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : sequences, as `Sequences.of` reads them; lists of anything, where every group has an extractor
        y : sequence of label sequences, or array of shape (n_parts,)
        lengths : array-like of int, default=None
            For one array of all parts.
        classes : array-like of shape (n_classes,), default=None
            All labels there are, where ``y`` may lack some.

        Raises
        ------
        ValueError, TypeError
            For parameters out of range, and sequences or labels that do not fit; the message names the sequence.
        ExtractionError
            If an extractor fails; the message names group and part.
        """
        self._check()
        sequences, y = sequences_for(self._groups(), X, lengths), settled_labels(y)
        labels, features = labels_of(y, sequences), LazyFeatures(self._groups(), sequences)
        with all_or_nothing(self):
            for name in ("_learner", "_kept"):
                self.__dict__.pop(name, None)
            self.classes_ = classes_of(labels if classes is None else classes)
            self._as_lists = given_as_lists(y)
            codes = codes_of(labels, self.classes_)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            self._begin(features)
            lesson = self._lesson(features, codes, rng)
            if self.learner == "svm":
                self._keep(self._svm(lesson, sequences.n_sequences, rng), features, {})
            else:
                self._learner = _core.ChainPerceptron(self._chain)
                for _ in range(self.max_iter):
                    self._epoch(lesson, sequences.n_sequences, rng)
                self._keep(self._learner, features, {})
            self.n_calls_, self.seconds_ = features.asked, features.seconds
            self._keep_features(features)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, *, lengths: ArrayLike | None = None
    ) -> Self:
        """Run one perceptron epoch over some labelled sequences.

        Parameters
        ----------
        X, y, classes, lengths
            As in `fit`; the first call needs ``classes``, which stay.

        Notes
        -----
        An object that was pickled goes on from the weights that it predicts with, and averages from there.
        """
        self._check()
        if self.learner != "perceptron":
            raise ValueError(
                "partial_fit needs learner='perceptron': the structural SVM must see all sequences at once."
            )
        started = hasattr(self, "_chain")
        groups = self._learned_groups() if started else self._groups()
        had_parts = started and self._had_parts
        sequences, y = sequences_for(groups, X, lengths, as_before=had_parts), settled_labels(y)
        labels = labels_of(y, sequences)
        if not started and classes is None:
            raise ValueError("The first call of partial_fit needs classes=, all labels there are.")
        known = self.classes_ if classes is None else classes_of(classes)
        if started and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()!r}. Got {classes!r:.200}."
            )
        codes = codes_of(labels, known)
        epoch = self.n_iter_ if started else 0
        rng = np.random.default_rng([check_random_state(self.random_state).randint(2**31 - 1), epoch])
        features = LazyFeatures(groups, sequences, self._sizes if started else None)
        with all_or_nothing(self):
            if not started:
                self.classes_, self._as_lists = known, given_as_lists(y)
                self._begin(features)
            lesson = self._lesson(features, codes, rng)
            learner = getattr(self, "_learner", None)  # of which the epoch changes a copy
            self._learner = _core.ChainPerceptron(self._chain) if learner is None else copy(learner)
            self._epoch(lesson, sequences.n_sequences, rng)
            self._keep(self._learner, features, getattr(self, "_names", {}))
        return self

    def score(self, X: Any, y: Any, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None) -> float:
        """Share of the parts that get their label; with ``constraints="bio"``, the F1 of spans: see `span_f1`."""
        X, lengths, present = without_empty(X, lengths)
        y = settled_labels(y)
        if not present.all() and len(y) == len(present) and not is_flat(y):
            for i, (labels, there) in enumerate(zip(y, present, strict=True)):
                if not there and np.shape(labels) != (0,):
                    raise ValueError(f"Sequence {i} has 0 parts, and labels of shape {np.shape(labels)}.")
            y = [labels for labels, there in zip(y, present, strict=True) if there]
        session = self.open(X, lengths=lengths)
        truth = labels_of(y, session.sequences)
        require_alike(truth, self.classes_)
        found = self.classes_[session.decode(session.state(state))]
        if self.constraints is not None:
            return f1_of(truth, found, session.offsets)
        return float(np.mean(found == truth))

    @property
    def output_(self) -> Structures:
        """What is asked of the model, for certificates: parts with labels or, with constraints, spans."""
        check_is_fitted(self, "_chain")
        return Parts(self.loss) if self.constraints is None else Spans(self.classes_)

    def open(self, X: Any, *, lengths: ArrayLike | None = None) -> ChainSession:
        """Open sequences for work part by part: buy groups, decode, buy more.

        Returns
        -------
        ChainSession
        """
        groups = self._learned_groups()
        sequences = sequences_for(groups, X, lengths, as_before=self._had_parts)
        features = LazyFeatures(groups, sequences, self._sizes)
        threads = effective_threads(self.n_jobs)
        spans = self.constraints is not None
        return ChainSession(self._chain, self.classes_, features, threads, self._scale, self._as_lists, spans)

    def forget_features(self) -> None:
        """Free the features that `fit` and the groups keep; see the notes."""
        self.__dict__.pop("_kept", None)
        for group in self._groups():
            group.forget()

    def _keep_features(self, features: LazyFeatures) -> None:
        given = features.sequences
        if given.extracted is None and given.named is None and any(g.extract is not None for g in features.groups):
            found = features.everything().kept(float(features.seconds.sum()))
            if found is not None:
                self._kept = fingerprint(features.sequences), features.groups, found

    def _extracted(self, X: Any) -> Any:
        """Examples with the features of all groups, extracted once: by `fit`, if it saw the same ones, or now."""
        groups = self._groups()
        if all(group.extract is None for group in groups):
            return X
        check_is_fitted(self, "_chain")
        sequences = sequences_for(groups, X, as_before=self._had_parts)
        if sequences.extracted is not None:
            return sequences
        seen, by, found = getattr(self, "_kept", (None, (), None))
        alike = len(by) == len(groups) and all(a is b for a, b in zip(by, groups, strict=True))
        if found is None or not alike or sequences.named is not None or seen != fingerprint(sequences):
            found = LazyFeatures(groups, sequences, self._sizes).everything()
        return replace(sequences, extracted=found)

    def __getstate__(self) -> dict[str, Any]:
        left = ("_kept", "_named", "_learner")  # a learner is twice as large as the model; only partial_fit needs it
        return {name: value for name, value in dict(super().__getstate__()).items() if name not in left}
