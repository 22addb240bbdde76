"""A dependency parser that scores arcs and, if wanted, pairs of arcs, with a cheap and a costly group of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..engine.threads import effective_threads
from .attachment import AttachmentScores, attachment_scores
from .conll import Treebank
from .parser_learning import GROUPS, annotated, check, n_groups, settings, treebank_of
from .parser_session import ParserSession
from .protocol import ZeroOneLoss

_TIMED = 300  # sentences that costs are measured on
_LEAST_COST = 1e-9
_LABEL_BITS, _PRUNER_BITS, _PRUNER_RATE = 15, 20, 0.02
_PRUNER_EPOCHS = 3  # more make the pruner no better


@dataclass(kw_only=True, eq=False, repr=False)
class DependencyParser(ZeroOneLoss, BaseEstimator):
    """Graph-based dependency parser.

    The score of a tree is the sum of the scores of its arcs; an arc's score is linear in hashed templates over the
    words' tags (group ``"tags"``) and over word forms, suffixes, shapes, neighbours, what opens a phrase and what lies
    between (group ``"words"``). The best tree is found exactly. Relations are chosen for the arcs of the tree in a
    second step.

    Parameters
    ----------
    feature_groups : {"all", "tags"}, default="all"
        Both groups, or tags alone: three times as fast to train, some two points of UAS less.
    decoder : {"eisner", "chu-liu-edmonds"}, default="eisner"
        Best projective tree, O(n^3), or best tree of any kind, O(n^2).
    single_root : bool, default=True
        Whether exactly one word hangs on the root.
    second_order : bool, default=False
        Score pairs of arcs, too: each arc with the arc to its head, and with the arc to its nearest sibling. From the
        best tree of arcs alone, words move to heads that score nearly as well, as long as the sum rises: a good tree of
        the decoder's kind, not always the best. On EWT, some 0.4 points of UAS more. Pairs belong to the costly group.
    learner : {"mira", "perceptron"}, default="mira"
        How weights are learned; both average over all steps except those of the first of several epochs.
    step : float, default=0.0015
        MIRA's C, the largest step; the perceptron's learning rate. At most 1e12.
    loss_augmented : bool, default=True
        While learning, count 1 for every wrong head in favour of the wrong tree.
    max_iter : int, default=10
        Epochs of `fit`; `partial_fit` runs one.
    states : {"full", "random"}, default="full"
        "full": sentences are learned from with both groups. "random": with the costly group for words at random, so
        that one model serves every mix of groups: a tenth of the sentences has it for no word, a tenth for all words,
        the others each with its own probability from a uniform distribution.
    group_by : {"modifier", "head"}, default="modifier"
        Which arcs belong to a word: those that it is the modifier of, or the head of; arcs from the root belong to
        their modifiers in any case. Matters to random `states` and `open`.
    length_filter : {"slack", "exact", None}, default="slack"
        Arcs longer than any that was seen between two such tags are not scored; with slack, longer than 1.5 times
        that and 2 more.
    arc_margin : float or None, default=None
        Coarse to fine: a small model, the pruner, says how likely each head of a word is; the groups score only arcs
        whose log probability is at most this far below that of the word's likeliest head. If only one arc of a word is
        left, it is taken unscored; other arcs are used only where there is no tree without them. On EWT, 4 costs about
        0.2 points of UAS, and 2.5 about 0.6 at more than three times the speed of all arcs. Fit with any number for a
        parser with a pruner; None: the groups score every arc that the length filter leaves.
    relations : bool, default=True
        Whether to learn and predict relations.
    table_bits : int, default=23
        The hashed weights number ``2**table_bits``, 8 to 28.
    n_jobs : int or None, default=None
        Threads for parsing, as in scikit-learn. Training uses one.
    random_state : int, RandomState or None, default=None
        Order of sentences and random states.

    Attributes
    ----------
    labels_ : list of str
        Relations seen in training.
    group_costs_ : float64 ndarray of shape (n_groups,)
        Seconds that each group takes for a word, measured on the last sentences learned from.
    n_iter_ : int
        Epochs run.
    n_scored_arcs_ : int
        Arcs that the last call of `predict` had scored by all groups.
    seconds_ : dict
        Seconds that the last call of `predict` spent on features, scores (the pruner's, too), decoding and relations,
        over all threads.

    See Also
    --------
    wald.structured.Treebank.read : Read the sentences.
    wald.datasets.fetch_treebank : Published treebanks.

    Notes
    -----
    Templates and MIRA: R. McDonald, K. Crammer and F. Pereira, "Online large-margin training of dependency parsers",
    ACL 2005, table 1 and section 2.3. Averaged perceptron: M. Collins, EMNLP 2002. Decoders: J. Eisner, COLING 1996;
    Y. J. Chu and T. H. Liu, 1965, J. Edmonds, 1967, in the dense form of R. E. Tarjan, 1977. Pairs of arcs: R. McDonald
    and F. Pereira, "Online learning of approximate dependency parsing algorithms", EACL 2006; moves of single words: Y.
    Zhang et al., "Greed is good if randomized: new inference for dependency parsing", EMNLP 2014. Length filter: H. He,
    H. Daume III and J. Eisner, EMNLP 2013, section 5, after A. Rush and S. Petrov, NAACL 2012. Coarse to fine: E.
    Charniak et al., "Multilevel coarse-to-fine PCFG parsing", HLT-NAACL 2006; the pruner is a log-linear choice among a
    word's heads by the tags around both words and those between.

    Some of the words' features are the preposition or conjunction that opens a phrase, and the nearest words beyond
    determiners, adjectives and the like. They are found by the tags of Universal Dependencies in the UPOS column or,
    where that is empty, of the Penn Treebank in the XPOS column. With other tags these features are of little use.

    Memory grows with the arcs that are scored and, for projective trees, with a chart of as many columns as the longest
    arc has words (with a single root; else as the sentence has words). More than 2^25 arcs, and charts of more than
    2 GiB, are refused with a ValueError that names the sentence and what to do.

    The same sentences, parameters and seed give the same weights; a sentence's tree depends neither on the sentences
    around it, nor on the number of threads, nor on the processor's instruction set.

    Examples
    --------
    >>> from wald.datasets import make_trees
    >>> from wald.structured import DependencyParser
    >>> bank = make_trees(300, random_state=0)
    >>> parser = DependencyParser(table_bits=16, max_iter=5, random_state=0).fit(bank[:200])
    >>> parser.score(bank[200:]) > 0.9
    True
    """

    feature_groups: str = "all"
    decoder: str = "eisner"
    single_root: bool = True
    second_order: bool = False
    learner: str = "mira"
    step: float = 0.0015
    loss_augmented: bool = True
    max_iter: int = 10
    states: str = "full"
    group_by: str = "modifier"
    length_filter: str | None = "slack"
    arc_margin: float | None = None
    relations: bool = True
    table_bits: int = 23
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self, X: Treebank | Sequence[Any], y: Any = None, *, inventory: Treebank | Sequence[Any] | None = None
    ) -> DependencyParser:
        """Learn from annotated sentences.

        Parameters
        ----------
        X : Treebank or sequence
            Sentences with a head for every word: a treebank, or lists as `Treebank.from_words` takes them.
        y : None
            The trees are part of the sentences.
        inventory : Treebank or sequence, default=None
            Annotated sentences whose tags get numbers of their own; None: the training sentences. Parsers with the same
            inventory number tags alike, so that their sessions' `part_features` agree.
        """
        check(self)
        bank = annotated(X)
        self._as_lists = not isinstance(X, Treebank)
        self._begin(bank, None if inventory is None else treebank_of(inventory))
        for epoch in range(self.max_iter):
            self._epoch(bank, pruner=epoch < _PRUNER_EPOCHS)
        self._finish(bank)
        del self._learning, self._random  # weights and sums of weights: three times the model
        return self

    def partial_fit(self, X: Treebank | Sequence[Any], y: None = None) -> DependencyParser:
        """Run one epoch over annotated sentences, on top of earlier ones.

        The first call fixes the relations and the tags that get numbers of their own. Later words with another relation
        train heads only. A call after `fit` starts from scratch. Parameters as in `fit`.
        """
        check(self)
        bank = annotated(X)
        if getattr(self, "_learning", None) is None:
            self._as_lists = not isinstance(X, Treebank)
            self._begin(bank)
        else:
            self._learning.see(bank.core)
        self._epoch(bank, pruner=True)
        self._finish(bank)
        return self

    def _begin(self, bank: Treebank, inventory: Treebank | None = None) -> None:
        self._learning = _core.ParserLearner(
            (bank if inventory is None else inventory).core,
            bits=self.table_bits,
            label_bits=_LABEL_BITS if self.relations else 0,
            pruner_bits=0 if self.arc_margin is None else _PRUNER_BITS,
        )
        self._learning.see(bank.core)
        self._random, self.n_iter_ = check_random_state(self.random_state), 0

    def _epoch(self, bank: Treebank, *, pruner: bool) -> None:
        order = self._random.permutation(len(bank)).astype(np.int64)
        seed, rate = int(self._random.randint(2**31)), _PRUNER_RATE if pruner else 0.0
        self._learning.learn(bank.core, order, settings(self), seed, rate)
        self.n_iter_ += 1

    def _finish(self, bank: Treebank) -> None:
        self._model = self._learning.model()
        self.labels_ = self._model.labels
        session = self.open(bank[:_TIMED])
        session.decode(session.state())
        self.group_costs_ = np.maximum(session.seconds / session.offsets[-1], _LEAST_COST)

    def predict(self, X: Treebank | Sequence[Any]) -> Treebank:
        """Give sentences the predicted heads and, if the parser learned them, relations.

        Parameters
        ----------
        X : Treebank or sequence
            Words with their tags: a treebank (its trees are ignored), or lists as `Treebank.from_words` takes them.
        """
        self._ready()
        bank = treebank_of(X)
        heads, relations, times, self.n_scored_arcs_ = self._model.parse(
            bank.core, settings(self), effective_threads(self.n_jobs)
        )
        self.seconds_ = dict(zip(("features", "scores", "decoding", "relations"), times.tolist(), strict=True))
        return bank.with_heads(heads, self.labels_, relations if self.labels_ else None)

    def evaluate(self, X: Treebank | Sequence[Any]) -> AttachmentScores:
        """Parse annotated sentences and compare: see `wald.structured.attachment.attachment_scores`."""
        bank = treebank_of(X)
        return attachment_scores(bank, self.predict(bank))

    def score(self, X: Treebank | Sequence[Any], y: None = None) -> float:
        """Return the fraction of words with the right head (UAS), punctuation included, in annotated sentences."""
        return self.evaluate(X).uas

    @property
    def group_names_(self) -> list[str]:
        """Names of the groups, the cheap one first."""
        return list(GROUPS[: n_groups(self)])

    def open(self, X: Treebank | Sequence[Any]) -> ParserSession:
        """Open sentences for work word by word: parse, buy the costly features of some words, parse again.

        A parser whose trees should be good under any mix of groups needs ``states="random"``. `X` is as for `predict`.
        """
        self._ready()
        bank = treebank_of(X)
        core = _core.ParserSession(self._model, bank.core, settings(self), effective_threads(self.n_jobs))
        return ParserSession(core, bank.offsets, n_groups(self) - 1, self._as_lists)

    def arcs(self, sentences: Treebank, index: int) -> NDArray[np.int32]:
        """Return the arcs of one sentence that all groups score: (n_arcs, 2), heads (0 is the root) and modifiers."""
        self._ready()
        return self._model.arcs(sentences.core, index, settings(self))

    def arc_scores(self, sentences: Treebank, index: int, group: str, arcs: ArrayLike) -> NDArray[np.float32]:
        """Score chosen arcs of one sentence by one group of features: (n_arcs,).

        Parameters
        ----------
        sentences, index
            As in `arcs`.
        group : {"tags", "words", "pruner"}
            An arc's score is the sum of its scores by tags and words. The pruner's, for a parser that has one, are
            logarithms of odds.
        arcs : array-like of int, shape (n_arcs, 2)
            Heads (0 is the root) and modifiers.
        """
        self._ready()
        known = (*GROUPS, "pruner") if self._model.prunes else GROUPS
        if group not in known:
            raise ValueError(f"group must be one of {known}. Got {group!r} instead.")
        pairs = np.ascontiguousarray(arcs, dtype=np.int32)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"arcs must have shape (n_arcs, 2). Got {pairs.shape} instead.")
        return self._model.arc_scores(sentences.core, index, known.index(group), pairs)

    def _ready(self) -> None:
        check_is_fitted(self, "_model")
        check(self)
        if self.arc_margin is not None and not self._model.prunes:
            raise ValueError("arc_margin needs a parser that was fitted with an arc_margin. This one has no pruner.")

    def __getstate__(self) -> dict[str, Any]:
        left = ("_learning", "_random")  # after loading, partial_fit starts from scratch
        state = {name: value for name, value in dict(super().__getstate__()).items() if name not in left}
        if "_model" in state:
            state["_model"] = state["_model"].state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_model" in state:
            state = state | {"_model": _core.ParserModel(*state["_model"])}
        super().__setstate__(state)
