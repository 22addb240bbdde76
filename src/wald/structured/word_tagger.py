"""A tagger of words: a chain over features that the engine reads from the words themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..stopping.core.validation import require_integer
from .chain import ChainClassifier
from .conll import Treebank
from .groups import FeatureGroup, checked_groups
from .protocol import ZeroOneLoss
from .session import ChainSession
from .word_features import WordVocabulary, treebank_of_tokens

_BETWEEN = "\t"  # of the two tags of a label; no tag holds it


@dataclass(eq=False, repr=False)
class WordTagger(ZeroOneLoss, BaseEstimator):
    """Give the words of sentences their tags, UPOS and XPOS together.

    A linear chain over pairs of tags. Its features are the words, their shapes, beginnings and ends, and the words
    around them with the tags that these usually have; all of them are read by the engine.

    Parameters
    ----------
    feature_groups : sequence of FeatureGroup, default=()
        Costly groups beside the word's own features, at most four. Extractors get lists of words, as strings.
    max_iter : int, default=6
        Epochs.
    margin : float, default=8.0
        As in `ChainClassifier`.
    n_runs : int, default=3
        Runs of the perceptron, each with another order of the sentences; the weights are the mean of theirs.
    min_count : int, default=2
        Features that fewer training words have are left out.
    states : {"random", "full"}, default="random"
        As in `ChainClassifier`; matters where there are costly groups.
    n_jobs : int or None, default=None
        Threads of predictions.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    chain_ : ChainClassifier
        Labels are the two tags of a word, with a tab between them.
    vocabulary_ : WordVocabulary
    classes_ : ndarray of str, shape (n_labels,)
    group_names_, group_costs_
        As those of `ChainClassifier`; policies read them.

    See Also
    --------
    wald.structured.TextPipeline : Tags, then trees.

    Examples
    --------
    >>> from wald.datasets import make_trees
    >>> from wald.structured import WordTagger
    >>> bank = make_trees(300, random_state=0)
    >>> tagger = WordTagger(random_state=0).fit(bank[:200])
    >>> tagger.predict([["the", "dog", "sleeps"]])[0].upos
    ['DET', 'NOUN', 'VERB']
    >>> tagger.score(bank[200:]) > 0.9
    True
    """

    feature_groups: Sequence[FeatureGroup] = ()
    _: KW_ONLY
    max_iter: int = 6
    margin: float = 8.0
    n_runs: int = 3
    min_count: int = 2
    states: str = "random"
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Treebank | Sequence[Any], y: Any = None, *, classes: NDArray[Any] | None = None) -> Self:
        """Learn from sentences with tags.

        Parameters
        ----------
        X : Treebank or sequence
            Sentences, as a treebank or as lists of (form, upos, xpos).
        y : None
            The tags are part of the sentences.
        classes : ndarray of str, default=None
            All labels there are, as in ``classes_``; None: those of ``X``.

        Raises
        ------
        ValueError
            If no word has a tag, or parameters are out of range.
        """
        require_integer("WordTagger", "min_count", self.min_count, 1)
        require_integer("WordTagger", "n_runs", self.n_runs, 1)
        groups, bank = checked_groups(self.feature_groups, 0, 4), treebank_of_tokens(X)
        labels = labels_of(bank)
        _require_tags(labels, "learns from")
        found, codes = np.unique(labels, return_inverse=True)
        vocabulary = WordVocabulary.learn(bank, codes, self.min_count)
        sequences = vocabulary.sequences(bank, self._named(bank))
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_runs)
        runs = (
            ChainClassifier(
                [FeatureGroup("words"), *groups],
                max_iter=self.max_iter,
                margin=self.margin,
                states=self.states,
                n_jobs=self.n_jobs,
                random_state=int(seed),
            ).fit(sequences, labels, classes=found if classes is None else classes)
            for seed in seeds
        )
        self.chain_, self.vocabulary_ = _mean(runs), vocabulary
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels: pairs of tags."""
        return np.asarray(self.chain_.classes_)

    @property
    def group_names_(self) -> list[str]:
        """Names of the groups, that of the words first."""
        return self.chain_.group_names_

    @property
    def group_costs_(self) -> NDArray[np.float64]:
        """Cost of each group for a word."""
        return self.chain_.group_costs_

    def predict(self, X: Treebank | Sequence[Any]) -> Treebank:
        """Tag sentences.

        Parameters
        ----------
        X : Treebank or sequence
            Sentences: a treebank (its tags are ignored), or lists of words.

        Returns
        -------
        Treebank
            The same sentences with the predicted tags; all else stays.
        """
        check_is_fitted(self, "chain_")
        bank = treebank_of_tokens(X)
        if not len(bank):
            return bank
        session = self.open(bank)
        return self.tagged(bank, session.decode(session.state()))

    def tagged(self, bank: Treebank, codes: NDArray[np.int32]) -> Treebank:
        """Return the same sentences with the tags of these labels, indices of ``classes_``."""
        pairs = [str(label).split(_BETWEEN) for label in self.classes_]
        return bank.with_tags([upos for upos, _ in pairs], [xpos for _, xpos in pairs], codes)

    def score(self, X: Treebank | Sequence[Any], y: Any = None) -> float:
        """Return the share of the words whose two tags are right.

        Parameters
        ----------
        X : Treebank or sequence
            Sentences with tags.
        y : None
            Ignored.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If no word has a tag.
        """
        bank = treebank_of_tokens(X)
        truth = labels_of(bank)
        _require_tags(truth, "compares with")
        return float(np.mean(labels_of(self.predict(bank)) == truth))

    # ---- as policies use a model ------------------------------------------------------------------------------------

    def open(self, X: Treebank | Sequence[Any]) -> ChainSession:
        """Open sentences for work word by word, as `ChainClassifier.open` does."""
        check_is_fitted(self, "chain_")
        bank = treebank_of_tokens(X)
        self.chain_.n_jobs = self.n_jobs
        return _TaggerSession.of(self.chain_.open(self.vocabulary_.sequences(bank, self._named(bank))))

    def _named(self, bank: Treebank) -> list[str] | None:
        return bank.column("form") if self.feature_groups else None


class _TaggerSession(ChainSession):
    """A chain's session, which takes the truth from a treebank."""

    @classmethod
    def of(cls, session: ChainSession) -> Self:
        made = object.__new__(cls)
        made.__dict__.update(session.__dict__)
        return made

    def codes(self, y: Any) -> NDArray[np.int32]:
        return super().codes(labels_of(y) if isinstance(y, Treebank) else y)


def _mean(chains: Iterator[ChainClassifier]) -> ChainClassifier:
    """The first of some chains, with the mean of the weights of all of them."""
    first = next(chains)
    n_labels, sizes, own, table = first._chain.__getstate__()
    n = 1
    for chain in chains:
        table, n = table + chain._chain.__getstate__()[3], n + 1
    if n > 1:
        first._chain = _core.Chain(n_labels, sizes, own)
        first._chain.fill(table / np.float32(n))
    return first


def _require_tags(labels: NDArray[Any], purpose: str) -> None:
    if set(labels) <= {f"_{_BETWEEN}_"}:
        raise ValueError(
            f"WordTagger {purpose} words with tags, a treebank or lists of (form, upos, xpos), and no word has any: "
            "UPOS and XPOS are all '_'."
        )


def labels_of(bank: Treebank) -> NDArray[Any]:
    """The two tags of every word as one label."""
    pairs = zip(bank.column("upos"), bank.column("xpos"), strict=True)
    return np.array([f"{upos}{_BETWEEN}{xpos}" for upos, xpos in pairs], dtype=str)
