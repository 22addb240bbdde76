"""Work on sequences with a chain, state by state."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..outputs import Spans
from .features import LazyFeatures
from .given import labels_of, require_alike
from .protocol import State

#: With more labels, `ChainSession.part_features` gives only the margins of the best label, and scores are not kept.
_MOST_LABELS = 64
#: Log odds of a label over one that is ruled out, where margins must be finite; as in the core.
_CERTAIN = 40.0


class ExampleSession:
    """What sessions of all models here share: where examples begin, states, and the form of answers."""

    def __init__(self, offsets: NDArray[np.int64], n_costly: int, as_lists: bool) -> None:
        self.offsets, self._n_costly, self._as_lists = offsets, n_costly, as_lists

    def state(self, state: ArrayLike | None = None) -> State:
        """Check a state (n_parts, n_groups - 1), or make the one that has everything."""
        shape = (int(self.offsets[-1]), self._n_costly)
        if state is None:
            return np.ones(shape, dtype=bool)
        array = np.asarray(state)
        if array.dtype != bool or array.shape != shape:
            raise ValueError(f"state must be a boolean array of shape {shape}. Got {array.dtype}, shape {array.shape}.")
        return array

    def answers(self, codes: NDArray[np.int32]) -> list[Any]:
        """Codes of all parts as the model's own answers: an array or a list per example."""
        answers = self._named(codes)
        values: Any = answers.tolist() if self._as_lists else answers
        return [values[a:b] for a, b in pairwise(self.offsets.tolist())]  # np.split takes six times as long

    def _named(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        return codes

    @staticmethod
    def _bits(state: State) -> NDArray[np.uint8]:
        """A state with one number for each part, a bit for each group."""
        if not state.shape[1]:
            return np.zeros(len(state), dtype=np.uint8)
        return np.packbits(state, axis=1, bitorder="little")[:, 0]

    @staticmethod
    def _chosen(examples: ArrayLike | None) -> NDArray[np.int64] | None:
        """Indices of examples, None for all, or ValueError unless they are 1-D whole numbers."""
        if examples is None:
            return None
        chosen = np.asarray(examples)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise ValueError(f"examples must be a 1-D array of indices. Got {chosen.dtype}, shape {chosen.shape}.")
        return np.ascontiguousarray(chosen, dtype=np.int64)


class ChainSession(ExampleSession):
    """Sequences that a chain works on: the features bought for them, and the answers that these give.

    A state, a boolean array (n_parts, n_groups - 1), says which parts have which costly groups. Computing an answer
    under a state extracts the features that it needs and that are missing. Answers are codes, indices of the model's
    ``classes_``, one per part; with ``examples``, indices of sequences, they are for the parts of these
    sequences only, in this order, and only these are worked on.

    ``scale`` turns scores into approximate logarithms of probabilities, for `evidence`.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.datasets import make_chains
    >>> from wald.structured import ChainClassifier, FeatureGroup
    >>> X, y = make_chains(60, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2]), FeatureGroup("all")]
    >>> session = ChainClassifier(groups, max_iter=5, random_state=0).fit(X, y).open(X)
    >>> state = session.state() & False
    >>> codes = session.decode(state)
    >>> state[session.confidence(state) < 1] = True  # the doubtful parts deserve more
    >>> better = session.decode(state)
    >>> bool(session.extracted[1] == state.sum()), bool(session.extracted[1] < len(state))
    (True, True)
    """

    def __init__(
        self,
        chain: _core.Chain,
        classes: NDArray[Any],
        features: LazyFeatures,
        n_threads: int,
        scale: float = 1.0,
        as_lists: bool = False,
        spans: bool = False,
    ) -> None:
        super().__init__(features.sequences.offsets, len(features.groups) - 1, as_lists)
        self._chain, self._classes, self.features, self._n_threads = chain, classes, features, n_threads
        self._scale, self._spans, self._few = scale, spans, len(classes) <= _MOST_LABELS
        self._cheap: NDArray[np.float32] | None = None  # node scores without costly groups, once computed
        self._part_features: NDArray[np.float32] | None = None
        self.sequences = features.sequences

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time that the extraction of each group has taken so far: (n_groups,)."""
        return self.features.seconds.copy()

    @property
    def extracted(self) -> NDArray[np.int64]:
        """Parts that each group was extracted for so far: (n_groups,)."""
        return self.features.extracted.copy()

    @property
    def seconds_each(self) -> NDArray[np.float64]:
        """Time that the extractor of each group takes for a part, where it was seen: (n_groups,)."""
        return self.features.seconds_each

    @property
    def bought(self) -> State:
        """State (n_parts, n_groups - 1) of the costly groups extracted so far."""
        return self.features.bought

    def codes(self, y: Any) -> NDArray[np.int32]:
        """Labels as codes (n_parts,); negative for labels unknown to the model."""
        labels = labels_of(y, self.sequences)
        require_alike(labels, self._classes)
        at = np.minimum(np.searchsorted(self._classes, labels), len(self._classes) - 1)
        codes = np.where(self._classes[at] == labels, at, -1).astype(np.int32)
        if self._spans and (unknown := codes < 0).any():
            codes[unknown] = Spans(self._classes).codes_of(labels[unknown])
        return codes

    def _named(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        return self._classes[codes]

    def decode(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.int32]:
        """Codes (n_parts,) of the best labelling under a state."""
        return self._chain.predict(*self._bought_for(state, examples), self._n_threads)[0]

    def node_scores(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Scores (n_parts, n_classes) of labels, without those of pairs of neighbours; -inf for what is ruled out."""
        return self._chain.scores(*self._bought_for(state, examples), self._n_threads)

    def max_marginals(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Score (n_parts, n_classes) of the best labelling through each label; -inf where there is none."""
        scores = self.node_scores(state, examples)
        return self._chain.max_marginals(scores, self._ends(examples), self._n_threads)

    def marginals(self, state: ArrayLike, scale: float = 1.0, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Probabilities (n_parts, n_classes) under ``exp(scale * score)``."""
        scores = self.node_scores(state, examples)
        return self._chain.marginals(scores, self._ends(examples), scale, self._n_threads)

    def confidence(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Margin of the best labelling over the best one with another label at each part: (n_parts,).

        Where constraints leave one label, it is that of log odds of 40.
        """
        scores = self.max_marginals(state, examples)
        if scores.shape[1] == 1:
            return np.zeros(len(scores), dtype=np.float32)
        two = np.partition(scores, -2, axis=1)[:, -2:]
        return self._finite(two[:, 1] - two[:, 0])

    def part_features(self) -> NDArray[np.float32]:
        """Features of each part from the cheap group, without neighbours: (n_parts, 2 or 2 + n_classes).

        The margins of the best label over the second and the third; and, where there are at most 64 labels, the
        difference of each label's score from the best one's.
        """
        if self._part_features is None:
            self._part_features = self._finite(self._chain.part_features(self._cheap_scores(), self._few))
        return self._part_features

    def _finite(self, margins: NDArray[np.float32]) -> NDArray[np.float32]:
        """Margins, where those over labels that are ruled out get the log odds of 40."""
        if np.isfinite(margins).all():
            return margins
        most = _CERTAIN / self._scale
        return np.nan_to_num(margins, copy=False, nan=np.nan, posinf=most, neginf=-most)

    def evidence(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Features of the answer under a state: (n_parts, 11).

        The margins of the best labelling over the best ones with the second and the third label of a part; the codes of
        the first two labels; the three largest probabilities of labels, and that of the best labelling's label; and,
        from the part's own scores without neighbours, the margin of the best label, its code, and how much less the
        best labelling's label scores.
        """
        if self._few:
            self._cheap_scores()
        return self._chain.evidence(*self._bought_for(state, examples), self._scale, self._n_threads)

    def _cheap_scores(self) -> NDArray[np.float32]:
        """Node scores of all parts without costly groups, which are kept if they are few."""
        cheap = self.node_scores(self.state() & False) if self._cheap is None else self._cheap
        self._cheap = cheap if self._few else None
        return cheap

    def best_paths(self, state: ArrayLike, k: int) -> tuple[list[NDArray[np.int32]], NDArray[np.float32]]:
        """Codes (k, length) of each sequence's best labellings, and their scores (n_sequences, k)."""
        flat, scores = self._chain.best_paths(self.node_scores(state), self.offsets, k, self._n_threads)
        cuts = np.split(flat, self.offsets[1:-1] * k)
        return [path.reshape(k, -1) for path in cuts], scores

    def _bought_for(
        self, state: ArrayLike, examples: ArrayLike | None
    ) -> tuple[list[_core.ChainGroup], NDArray[np.uint8], NDArray[np.int64], Any, Any]:
        """Buy what a state needs for the requested sequences; return what the engine answers from.

        These are groups, states as bits, offsets, the examples that are chosen, and cheap scores.
        """
        state, chosen = self.state(state), self._chosen_here(examples)
        wanted = state
        if chosen is not None:
            requested = np.zeros(self.sequences.n_sequences, dtype=bool)
            requested[chosen] = True
            wanted = state & np.repeat(requested, np.diff(self.offsets))[:, None]
        self.features.buy(wanted)
        return self.features.stores, self._bits(state), self.offsets, chosen, self._cheap

    def _chosen_here(self, examples: ArrayLike | None) -> NDArray[np.int64] | None:
        chosen = self._chosen(examples)
        if chosen is not None and chosen.size and not (chosen.min() >= 0 and chosen.max() < self.sequences.n_sequences):
            raise ValueError(f"examples must lie in [0, {self.sequences.n_sequences}). Got {chosen}.")
        return chosen

    def _ends(self, examples: ArrayLike | None) -> NDArray[np.int64]:
        chosen = self._chosen_here(examples)
        if chosen is None:
            return self.offsets
        return np.concatenate([[0], np.cumsum(np.diff(self.offsets)[chosen])]).astype(np.int64)
