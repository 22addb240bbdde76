"""From words to tags to trees: a tagger and a parser that learned from its tags, under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..stopping.core.validation import require_integer
from ..utils.undo import all_or_nothing
from .attachment import attachment_scores
from .budget import BudgetedPredictor
from .conll import Treebank
from .parser import DependencyParser
from .parser_averaging import mean_model
from .parser_learning import annotated
from .policies.base import Policy
from .shared_budget import shared_budget
from .tokens import treebank_of_tokens
from .word_tagger import WordTagger

Stage = TypeVar("Stage", WordTagger, DependencyParser)


class TextScores(NamedTuple):
    """Shares of the words that are right.

    Attributes
    ----------
    upos, xpos : float
        Tags.
    uas, las : float
        Heads; heads and relations. Punctuation counts.
    n_words : int
    """

    upos: float
    xpos: float
    uas: float
    las: float
    n_words: int


@dataclass(eq=False, repr=False)
class TextPipeline(BaseEstimator):
    """Tag the words of sentences, and parse the sentences with these tags.

    `fit` learns all of it from a treebank: the tagger from all sentences, the parser from the tags that taggers give
    to sentences that they did not learn from, because it will have to do with such tags.

    Parameters
    ----------
    tagger : WordTagger, default=None
        Not fitted; None: one with the defaults.
    parser : DependencyParser, default=None
        Not fitted; None: one with ``arc_margin=6``, ``table_bits=24`` and ``max_iter=6``. With ``states="random"`` it
        can be put under a budget.
    n_folds : int, default=10
        Taggers that give the parser its tags, each to one of as many pieces of the treebank, in its order: sentences of
        one text stay together. The parser learns from every sentence twice, with these tags and with those of the
        treebank. 0: from the tags of the treebank alone.
    n_runs : int, default=3
        Runs of the parser, each with another order of the sentences; the weights are the mean of theirs.
    n_jobs : int or None, default=None
        Threads of predictions, of both; None: as tagger and parser say.
    random_state : int or None, default=None
        For the tagger and the parser where they have none.

    Attributes
    ----------
    tagger_ : WordTagger
    parser_ : DependencyParser
    stages_ : tuple of two, BudgetedPredictor or None
        After `fit_budget`, what buys costly features for the tagger and for the parser; None: all of them are bought.
    mean_cost_ : float
        After `fit_budget`, mean cost of a word.

    See Also
    --------
    wald.structured.Treebank.read : Read a treebank.

    Examples
    --------
    >>> from wald.datasets import make_trees
    >>> from wald.structured import DependencyParser, TextPipeline
    >>> bank = make_trees(400, random_state=0)
    >>> parser = DependencyParser(table_bits=16, max_iter=5)
    >>> pipeline = TextPipeline(parser=parser, n_folds=3, random_state=0).fit(bank[:300])
    >>> sentence = pipeline.predict([["the", "dog", "sleeps"]])[0]
    >>> sentence.upos, sentence.heads
    (['DET', 'NOUN', 'VERB'], [2, 3, 0])
    >>> pipeline.evaluate(bank[300:]).uas > 0.9
    True
    """

    tagger: WordTagger | None = None
    parser: DependencyParser | None = None
    _: KW_ONLY
    n_folds: int = 10
    n_runs: int = 3
    n_jobs: int | None = None
    random_state: int | None = None

    def fit(self, X: Treebank | Sequence[Any], y: Any = None) -> Self:
        """Learn from sentences with tags and trees.

        Parameters
        ----------
        X : Treebank or sequence
            A treebank, or lists as `Treebank.from_words` takes them.
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a word has no head, no word has a tag, or there are fewer sentences than folds.
        """
        require_integer("TextPipeline", "n_folds", self.n_folds, 0)
        require_integer("TextPipeline", "n_runs", self.n_runs, 1)
        bank = annotated(X)
        if self.n_folds == 1 or self.n_folds > len(bank):
            raise ValueError(
                f"n_folds must be 0, or from 2 to the number of sentences, {len(bank)}. Got {self.n_folds!r}."
            )
        with all_or_nothing(self):
            self.tagger_ = self._made(self.tagger, WordTagger()).fit(bank)
            self.parser_ = self._parser(_both(self._jackknifed(bank), bank) if self.n_folds else bank)
            self.stages_: tuple[BudgetedPredictor | None, BudgetedPredictor | None] = (None, None)
            self.__dict__.pop("mean_cost_", None)
        return self

    def _made(self, given: Stage | None, usual: Stage) -> Stage:
        """A copy of a stage, with the pipeline's seed where it has none."""
        if given is not None and not isinstance(given, type(usual)):
            raise TypeError(f"TextPipeline needs a {type(usual).__name__} here. Got {given!r:.60}.")
        stage: Stage = clone(usual if given is None else given)
        if stage.random_state is None:
            stage.set_params(random_state=self.random_state)
        return stage

    def _parser(self, bank: Treebank) -> DependencyParser:
        """A parser with the mean of the weights of several runs."""
        first = self._made(self.parser, DependencyParser(arc_margin=6.0, table_bits=24, max_iter=6))
        seeds = check_random_state(first.random_state).randint(2**31 - 1, size=self.n_runs).tolist()
        runs = [clone(first).set_params(random_state=seed).fit(bank) for seed in seeds]
        parser: DependencyParser = runs[-1]
        parser._model = mean_model([run._model for run in runs])
        parser.set_params(random_state=first.random_state)
        return parser

    def _jackknifed(self, bank: Treebank) -> Treebank:
        """The sentences with the tags of taggers that did not learn from them."""
        codes = np.empty(bank.n_words, dtype=np.int32)
        cuts = np.linspace(0, len(bank), self.n_folds + 1).astype(np.int64)
        for first, last in pairwise(cuts.tolist()):
            others = np.r_[0:first, last : len(bank)]
            tagger = clone(self.tagger_).set_params(n_runs=1).fit(bank[others], classes=self.tagger_.classes_)
            session = tagger.open(bank[first:last])
            codes[bank.offsets[first] : bank.offsets[last]] = session.decode(session.state())
        tagged: Treebank = self.tagger_.tagged(bank, codes)
        return tagged

    def predict(self, X: Treebank | Sequence[Any]) -> Treebank:
        """Tag and parse sentences.

        Parameters
        ----------
        X : Treebank or sequence
            Sentences: lists of words, or a treebank, whose tags and trees are ignored.

        Returns
        -------
        Treebank
            The same sentences with predicted tags, heads and relations. All else stays; `Treebank.write` writes it.
        """
        check_is_fitted(self, "parser_")
        bank = treebank_of_tokens(X)
        return self._parsed(self._tagged(bank)) if len(bank) else bank

    def _tagged(self, bank: Treebank) -> Treebank:
        tagger: WordTagger = self.tagger_
        tagger.n_jobs, stage = self._n_jobs(self.tagger), self.stages_[0]
        if stage is None:
            return tagger.predict(bank)
        labels = np.concatenate([np.asarray(found) for found in stage.predict(bank)])
        return tagger.tagged(bank, np.searchsorted(tagger.classes_, labels).astype(np.int32))

    def _n_jobs(self, given: WordTagger | DependencyParser | None) -> int | None:
        """Threads of a stage."""
        return given.n_jobs if self.n_jobs is None and given is not None else self.n_jobs

    def _parsed(self, bank: Treebank) -> Treebank:
        parser: DependencyParser = self.parser_
        parser.n_jobs, stage = self._n_jobs(self.parser), self.stages_[1]
        if stage is None:
            return parser.predict(bank)
        heads = np.concatenate([np.asarray(found, dtype=np.int32) for found in stage.predict(bank)])
        if not parser.labels_:
            return bank.with_heads(heads)
        return bank.with_heads(heads, parser.labels_, _core.relations(parser._model, bank.core, heads))

    def evaluate(self, X: Treebank | Sequence[Any]) -> TextScores:
        """Tag and parse annotated sentences, and compare.

        Parameters
        ----------
        X : Treebank or sequence
            Sentences with tags and trees.

        Returns
        -------
        TextScores
        """
        bank = annotated(X, "compare with")
        found = self.predict(bank)
        trees = attachment_scores(bank, found)
        return TextScores(_same(bank, found, "upos"), _same(bank, found, "xpos"), trees.uas, trees.las, bank.n_words)

    def score(self, X: Treebank | Sequence[Any], y: Any = None) -> float:
        """Return the share of words with the right head, from predicted tags (UAS).

        Parameters
        ----------
        X : Treebank or sequence
            Sentences with trees.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return self.evaluate(X).uas

    def fit_budget(
        self,
        X: Treebank | Sequence[Any],
        budget: float | None,
        *,
        policies: tuple[Policy | None, Policy | None] = (None, None),
    ) -> Self:
        """Put both stages under one budget.

        Each stage with a costly group gets a policy. How the budget is shared out among the two is chosen by what is
        right: several shares are tried, and the one with the most right tags and heads is kept.

        Parameters
        ----------
        X : Treebank or sequence
            Annotated sentences that `fit` did not see. Policies learn from the first half, and the second half places
            thresholds and chooses the shares.
        budget : float or None
            Mean cost of a word in all, in the units of the stages' ``group_costs_``: seconds, unless groups have other
            costs. None: everything is bought again.
        policies : tuple of two policies, default=(None, None)
            For the tagger and for the parser, not fitted; None: an `IteratedPolicy`. Only a stage with a costly group
            may have one.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If no stage has a costly group, a policy is given for a stage without one, or the budget is below the cost
            of the cheap groups.
        """
        check_is_fitted(self, "parser_")
        if budget is None:
            self.stages_ = (None, None)
            self.__dict__.pop("mean_cost_", None)
            return self
        bank = annotated(X)
        with all_or_nothing(self):
            self.stages_, self.mean_cost_ = shared_budget(self, bank, float(budget), policies, self.random_state)
        return self


def _both(first: Treebank, second: Treebank) -> Treebank:
    """The sentences of one treebank, then those of the other. A file need not end in an empty line."""
    return Treebank(b"\n\n".join((first.to_bytes(), second.to_bytes())), name="<treebank>", format=first.format)


def _same(truth: Treebank, found: Treebank, column: str) -> float:
    same: NDArray[np.bool_] = np.array(truth.column(column)) == np.array(found.column(column))
    return float(np.mean(same))
