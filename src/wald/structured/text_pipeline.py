"""From words to tags to trees: a tagger and a parser that learned from its tags, under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..stopping.core.validation import require_fraction, require_integer
from ..utils.reals import require_real
from ..utils.undo import all_or_nothing
from .attachment import attachment_scores, same
from .certificate import StructureCertificate
from .conll import Treebank
from .parser import DependencyParser
from .parser_learning import annotated
from .pipeline_learning import SharedBudget, Stages, both_tags, enough_sentences, mean_parser, usual_parser
from .policies.base import Policy
from .word_features import treebank_of_tokens
from .word_tagger import WordTagger

Stage = TypeVar("Stage", WordTagger, DependencyParser)


class TextScores(NamedTuple):
    """Shares of the words with right tags, heads (UAS), and heads and relations (LAS). Punctuation counts."""

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
        Not fitted; None: one with ``arc_margin=6``, ``table_bits=24``, ``max_iter=6`` and
        ``second_order=True``. With ``states="random"`` it can be put under a budget.
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
    certificate_ : StructureCertificate
        After `fit_budget`, the promise that goes with a risk; its threshold is the budget. With a budget, nothing is
        promised.

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
            parser = self._made(self.parser, usual_parser())
            self.parser_ = mean_parser(parser, both_tags(self.tagger_, bank, self.n_folds), self.n_runs)
            self._buy_everything()
        return self

    def _buy_everything(self) -> None:
        self.stages_: Stages = (None, None)
        for name in ("mean_cost_", "certificate_"):
            self.__dict__.pop(name, None)

    def _made(self, given: Stage | None, usual: Stage) -> Stage:
        """A copy of a stage, with the pipeline's seed where it has none."""
        if given is not None and not isinstance(given, type(usual)):
            raise TypeError(f"TextPipeline needs a {type(usual).__name__} here. Got {given!r:.60}.")
        stage: Stage = clone(usual if given is None else given)
        if stage.random_state is None:
            stage.set_params(random_state=self.random_state)
        return stage

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
        upos, xpos = (float(same(bank, found, name).mean()) for name in ("upos", "xpos"))
        return TextScores(upos, xpos, trees.uas, trees.las, bank.n_words)

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
        budget: float | None = None,
        *,
        risk: float | None = None,
        confidence: float = 0.95,
        max_parts: int | None = None,
        policies: tuple[Policy | None, Policy | None] = (None, None),
    ) -> Self:
        """Put both stages under one budget, given or found by a risk.

        Each stage with a costly group gets a policy. How the budget is shared out among the two is chosen by trying
        several shares: the one with the most right tags and heads is kept or, with a risk, the one with the most that
        are those of everything bought.

        Parameters
        ----------
        X : Treebank or sequence
            Annotated sentences that `fit` did not see. Policies learn from one half, and the other half places
            thresholds and chooses the shares. With a risk, these are halves of a random half, and the rest is the
            certificate's: its sentences must be independent draws from those to come.
        budget : float or None, default=None
            Mean cost of a word in all, in the units of the stages' ``group_costs_``: seconds, unless groups have other
            costs. Without budget and risk, everything is bought again.
        risk : float or None, default=None
            Largest share of the words that have another tag, head or relation than with everything bought; strictly
            between 0 and 1. Budgets are tested from the largest one down, by
            `certify_answers`; the last that keeps the risk is taken.
        confidence : float, default=0.95
            Probability, over the draw of the certificate's sentences, with which the risk is kept.
        max_parts : int or None, default=None
            With a risk, everything is bought for sentences of more words. None: the words of the longest sentence that
            places the thresholds.
        policies : tuple of two policies, default=(None, None)
            For the tagger and for the parser, not fitted; None: an `IteratedPolicy`. Only a stage with a costly group
            may have one.

        Raises
        ------
        ValueError, TypeError
            If no stage has a costly group, a policy is given for a stage without one, the budget is below the cost of
            the cheap groups, or both a budget and a risk are given.
        """
        check_is_fitted(self, "parser_")
        if budget is not None and risk is not None:
            raise ValueError(f"fit_budget takes either a budget or a risk. Got {budget!r} and {risk!r}.")
        require_real("budget", budget)
        with all_or_nothing(self):
            self._buy_everything()
            if budget is not None:
                shared = SharedBudget.learn(self, enough_sentences(X, 4), policies, float(budget))
                self.mean_cost_ = shared.best(float(budget))
                self.certificate_ = StructureCertificate.none("a budget was given, not a risk")
            elif risk is not None:
                require_fraction("fit_budget", "risk", risk)
                require_fraction("fit_budget", "confidence", confidence)
                bank = enough_sentences(X, 8)
                order = check_random_state(self.random_state).permutation(len(bank))
                half = len(bank) // 2
                shared = SharedBudget.learn(self, bank[order[:half]], policies, None)
                self.certificate_, self.mean_cost_ = shared.certify(
                    bank[order[half:]], risk=risk, confidence=confidence, max_parts=max_parts
                )
        return self
