"""Answers of a chain: labels, scores of labels, and what weighs for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..engine.threads import effective_threads
from ..utils.reals import require_real
from .groups import FeatureGroup, checked_groups
from .names import HASHED_COLUMNS, NUMBERS, flattened
from .sequences import raise_for_one, with_empty, without_empty
from .session import ChainSession


class ChainAnswers:
    """What a fitted chain can be asked, all of it at once; a session asks part by part."""

    classes_: NDArray[Any]
    n_jobs: int | None
    own_weights: bool
    feature_groups: Any
    group_names_: list[str]
    _chain: _core.Chain
    _sizes: list[int]
    _had_parts: bool = False  # whether parts were no rows of numbers; files of before do not say
    _as_lists: bool
    _names: dict[bytes, tuple[int, bool]]
    _learner: _core.ChainPerceptron
    open: Callable[..., ChainSession]

    def _groups(self) -> tuple[FeatureGroup, ...]:
        return checked_groups((FeatureGroup("parts"),) if self.feature_groups is None else self.feature_groups)

    def _learned_groups(self) -> tuple[FeatureGroup, ...]:
        """The groups, unless their number is another one than in `fit`."""
        check_is_fitted(self, "_chain")
        groups = self._groups()
        if len(groups) != len(self._sizes):
            names = [group.name for group in groups]
            raise ValueError(f"feature_groups must be those of fit, {self.group_names_}. Got {names}; fit again.")
        return groups

    def predict(self, X: Any, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None) -> list[Any]:
        """Labels of every sequence, by the best path (Viterbi).

        Parameters
        ----------
        X : sequences, as `Sequences.of` reads them; here and below they may be empty, and there may be none
        state : bool array-like of shape (n_parts, n_groups - 1), default=None
            Which parts have which costly groups; None: all of them. Only these are extracted.
        lengths : array-like of int, default=None

        Returns
        -------
        list of list, or of ndarray
            The labels of each sequence, in the form that `fit` was given: lists of Python's own strings and numbers, or
            arrays. An empty sequence has none.
        """
        tagger = self._tagger() if state is None and lengths is None and isinstance(X, list | tuple) else None
        answers = None if tagger is None else tagger.predict(X, effective_threads(self.n_jobs))
        if answers is not None:
            return answers if self._as_lists else [self.classes_[codes] for codes in answers]
        return self._answered(X, lengths, lambda s: s.answers(s.decode(s.state(state))), self._no_labels)

    def predict_one(self, sequence: Any) -> Any:
        """Labels of one sequence: ``predict([sequence])[0]``, quicker for parts that are dicts or lists of strings.

        Examples
        --------
        >>> from wald.structured import ChainClassifier
        >>> X, y = [[{"word": "the"}, {"word": "dog"}]] * 20, [["DET", "NOUN"]] * 20
        >>> model = ChainClassifier(max_iter=5, random_state=0).fit(X, y)
        >>> model.predict_one([{"word": "the"}, {"word": "dog"}])
        ['DET', 'NOUN']
        """
        tagger = self._tagger() if isinstance(sequence, list | tuple) else None
        answer = None if tagger is None else tagger.predict_one(sequence)
        if answer is None:
            try:
                return self.predict([sequence])[0]
            except (TypeError, ValueError) as error:
                raise_for_one(error)
                raise
        return answer if self._as_lists else self.classes_[answer]

    def max_marginals(
        self, X: Any, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> list[NDArray[np.float32]]:
        """Score of the best labelling through every label at every part: one (length, n_classes) array per sequence."""
        return self._answered(X, lengths, lambda s: s.sequences.split(s.max_marginals(s.state(state))), self._no_scores)

    def predict_marginals(
        self, X: Any, *, scale: float = 1.0, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> list[NDArray[np.float32]]:
        """Probabilities of labels under ``exp(scale * score)``: one (length, n_classes) array per sequence.

        The learners do not make scores probabilities: choose ``scale`` on held-out sequences.
        """
        require_real("scale", scale)
        return self._answered(
            X, lengths, lambda s: s.sequences.split(s.marginals(s.state(state), scale)), self._no_scores
        )

    def best_paths(
        self, X: Any, k: int, *, state: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> tuple[list[Any], NDArray[np.float32]]:
        """Find the ``k`` best labellings of every sequence.

        Returns
        -------
        labels : list of ndarray of shape (k, length), or of k lists
            As in `predict`.
        scores : float32 ndarray of shape (n_sequences, k)
            Best first; -inf, beside labels without meaning, where a sequence has fewer labellings. The margin of the
            answer is the difference of the first two.
        """
        asked: Any = k
        if isinstance(asked, bool) or not (isinstance(asked, int | np.integer) and 1 <= asked <= 1000):
            raise ValueError(f"k must be an integer in [1, 1000]. Got {k!r}.")
        X, lengths, present = without_empty(X, lengths)
        found = np.full((len(present), k), -np.inf, dtype=np.float32)
        found[~present, :1] = 0  # an empty sequence has one labelling
        paths: list[Any] = []
        if present.any():
            session = self.open(X, lengths=lengths)
            labels, found[present] = session.best_paths(session.state(state), k)
            paths = [self.classes_[path] for path in labels]
        paths = with_empty(paths, present, lambda: np.empty((k, 0), dtype=self.classes_.dtype))
        return [path.tolist() for path in paths] if self._as_lists else paths, found

    def feature_weights(self) -> dict[str, dict[tuple[Any, Any], float]]:
        """What features weigh for labels, where all groups are there.

        Returns
        -------
        dict of dict
            For each group by name: ``{(feature, label): weight}``, without zeros. A feature of parts that are dicts or
            lists of strings is its name, as in ``"word:the"``, which needs ``keep_names=True``; other features are
            numbers of columns. The few names that share one of the 2^18 columns share its weights, too.

        Raises
        ------
        ValueError
            If the names were not kept.

        Examples
        --------
        >>> from wald.structured import ChainClassifier
        >>> X, y = [[{"word": "the"}, {"word": "dog"}]] * 20, [["DET", "NOUN"]] * 20
        >>> model = ChainClassifier(max_iter=5, keep_names=True, random_state=0).fit(X, y)
        >>> weights = model.feature_weights()["parts"]
        >>> max(weights, key=weights.get)[0] in ("word:the", "word:dog")
        True
        """
        groups = self._learned_groups()
        labels, table, found = self.classes_.tolist(), self._chain.table(), {}
        for g, (group, first) in enumerate(zip(groups, self._first_rows(), strict=True)):
            rows = table[first : first + self._sizes[g]]
            names: list[Any]
            if group.extract is None and self._sizes[g] == HASHED_COLUMNS and self._names:
                names = [name.decode(errors="surrogateescape") for name in self._names]
                columns, negated = (np.array(of) for of in zip(*self._names.values(), strict=True))
                rows = np.where(negated[:, None], -rows[columns], rows[columns])
            elif group.extract is None and self._sizes[g] == HASHED_COLUMNS:
                raise ValueError(
                    f"The names of the features of group {group.name!r} were not kept. Fit with keep_names=True."
                )
            else:
                names = list(range(len(rows)))
            found[group.name] = {
                (names[i], labels[k]): float(rows[i, k]) for i, k in zip(*np.nonzero(rows), strict=True)
            }
        return found

    def transition_weights(self) -> dict[tuple[Any, Any], float]:
        """What a label weighs for the one after it: ``{(label, next label): weight}``."""
        check_is_fitted(self, "_chain")
        labels, first = self.classes_.tolist(), 2 ** (len(self._sizes) - 1) + 2
        steps = self._chain.table()[first : first + len(labels)]
        return {(a, b): float(steps[i, k]) for i, a in enumerate(labels) for k, b in enumerate(labels)}

    def _first_rows(self) -> list[int]:
        """First row of each group's weights in the table, where all groups are there."""
        n_groups, sizes = len(self._sizes), self._sizes
        n_states = 2 ** (n_groups - 1)
        row = n_states + 2 + len(self.classes_)
        blocks: list[int] = []
        for state in range(n_states) if self.own_weights else [n_states - 1]:
            blocks = []
            for g in range(n_groups):
                blocks.append(row)
                row += sizes[g] if g == 0 or state >> (g - 1) & 1 else 0
        return blocks

    def _answered(
        self, X: Any, lengths: Any, answer: Callable[[ChainSession], list[Any]], nothing: Callable[[], Any]
    ) -> list[Any]:
        """Answer the sequences that have parts; ``nothing`` gives the answer of an empty one."""
        X, lengths, present = without_empty(X, lengths)
        answers = answer(self.open(X, lengths=lengths)) if present.any() else []
        return with_empty(answers, present, nothing)

    def _tagger(self) -> _core.ChainTagger | None:
        """What labels parts by name in one call; None if this model reads others, too."""
        tagger: _core.ChainTagger | None
        known, groups, tagger = self.__dict__.get("_named", (None, None, None))
        if known is None or known is not self._chain or groups is not self.feature_groups:
            check_is_fitted(self, "_chain")
            alone = self._sizes == [HASHED_COLUMNS] and self._groups()[0].extract is None
            labels = self.classes_.tolist() if self._as_lists else list(range(len(self.classes_)))
            tagger = _core.ChainTagger(self._chain, labels, NUMBERS, flattened) if alone else None
            self._named = self._chain, self.feature_groups, tagger
        return tagger

    def _no_labels(self) -> Any:
        check_is_fitted(self, "_chain")
        return [] if self._as_lists else self.classes_[:0]

    def _no_scores(self) -> NDArray[np.float32]:
        check_is_fitted(self, "_chain")
        return np.empty((0, len(self.classes_)), dtype=np.float32)
