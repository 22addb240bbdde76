"""How a pipeline's parser learns, from tags like those that it will get, and one budget for its two stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .. import _core
from .attachment import same
from .budget import BudgetedPredictor, mean_cost
from .certificate import StructureCertificate
from .certified_answers import certify_answers
from .conll import Treebank
from .parser import DependencyParser
from .parser_learning import annotated
from .per_part import checked_longest
from .policies.base import Policy
from .policies.iterated import IteratedPolicy
from .word_tagger import WordTagger

#: Shares of what is left beyond the cheap groups that the tagger may spend.
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
#: Budgets that a certificate tests, from that of everything to the one that loses `_BEYOND` times the risk on the
#: sentences that place them, which `_HALVINGS` halvings find.
_TESTED, _BEYOND, _HALVINGS = 13, 2.0, 6
#: What a pipeline says of a word, besides its head.
_COLUMNS = ("upos", "xpos", "deprel")

#: Places of a parser's state: the longest arcs by tags, and the weights of groups, relations and pruner.
_LONGEST, _WEIGHTS = 2, (4, 7, 9)

Stages = tuple[BudgetedPredictor | None, BudgetedPredictor | None]


def both_tags(tagger: WordTagger, bank: Treebank, n_folds: int) -> Treebank:
    """Sentences with tags as a tagger will give them, and again with their own.

    The tagger is fitted on these sentences; ``n_folds`` others learn, each from all pieces but one, and tag this one.
    """
    if not n_folds:
        return bank
    codes = np.empty(bank.n_words, dtype=np.int32)
    cuts = np.linspace(0, len(bank), n_folds + 1).astype(np.int64)
    for first, last in pairwise(cuts.tolist()):
        others = np.r_[0:first, last : len(bank)]
        each = clone(tagger).fit(bank[others], classes=tagger.classes_)
        session = each.open(bank[first:last])
        codes[bank.offsets[first] : bank.offsets[last]] = session.decode(session.state())
    tagged = tagger.tagged(bank, codes)
    text = b"\n\n".join((tagged.to_bytes(), bank.to_bytes()))  # a file need not end in an empty line
    return Treebank(text, name="<treebank>", format=tagged.format)


def usual_parser(*, table_bits: int = 24, max_iter: int = 6) -> DependencyParser:
    """The parser of a pipeline for which none is given."""
    return DependencyParser(arc_margin=6.0, table_bits=table_bits, max_iter=max_iter, second_order=True)


def mean_parser(parser: DependencyParser, bank: Treebank, n_runs: int) -> DependencyParser:
    """A parser with the mean of the weights of several runs, each with another order of the sentences."""
    seeds = check_random_state(parser.random_state).randint(2**31 - 1, size=n_runs).tolist()
    runs = [clone(parser).set_params(random_state=seed).fit(bank) for seed in seeds]
    found: DependencyParser = runs[-1]
    found._model = mean_model([run._model for run in runs])
    found.set_params(random_state=parser.random_state)
    return found


def mean_model(models: Sequence[_core.ParserModel]) -> _core.ParserModel:
    """Average weights that several runs learned, with the same tags, relations and numbers of weights.

    An arc's score is then the mean of its scores under the models. The longest arcs are those that any of them knows.
    """
    if len(models) == 1:
        return models[0]
    mean = list(models[0].state())
    for n, model in enumerate(models[1:], 2):
        state = model.state()
        mean[_LONGEST] = np.maximum(mean[_LONGEST], state[_LONGEST])
        for at in _WEIGHTS:
            mean[at] = mean[at] + (state[at] - mean[at]) / np.float32(n)
    return _core.ParserModel(*mean)


# ---- the budget -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SharedBudget:
    """Policies of a pipeline's stages, and sentences that place thresholds and choose the shares."""

    pipeline: Any  # fitted; its stages are changed
    policies: tuple[Policy | None, Policy | None]  # fitted; None for a stage without a costly group
    cheap: tuple[float, float]  # cost of a word's cheap group, for tagger and parser
    costly: tuple[float, float]  # cost of all other groups
    bank: Treebank
    reference: Treebank  # the same sentences with the answers to come close to

    @classmethod
    def learn(cls, pipeline: Any, bank: Treebank, policies: Any, budget: float | None) -> Self:
        """Fit policies on the first half of some sentences; the second half is to place thresholds.

        Shares will be chosen by what is right or, without a budget, by what everything bought would answer.
        """
        models = pipeline.tagger_, pipeline.parser_
        costs = [np.asarray(model.group_costs_, dtype=np.float64) for model in models]
        if all(len(each) == 1 for each in costs):
            raise ValueError("A budget needs a stage with a costly group, and neither tagger nor parser has one.")
        _check(policies, models)
        cheap, costly = zip(*((float(each[0]), float(each[1:].sum())) for each in costs), strict=True)
        if budget is not None and not budget >= sum(cheap):  # also refuses NaN
            raise ValueError(
                f"budget must be at least {sum(cheap):.6g} a word, the cost of the cheap groups of tagger and parser. "
                f"Got {budget!r}."
            )
        first, second = bank[: len(bank) // 2], bank[len(bank) // 2 :]
        seen = (first, models[0].predict(first))
        fitted = [_policy(*each, pipeline.random_state) for each in zip(policies, models, seen, strict=True)]
        pipeline.stages_ = (None, None)
        reference = second if budget is not None else pipeline.predict(second)
        return cls(pipeline, (fitted[0], fitted[1]), cheap, costly, second, reference)

    def best(self, budget: float, longest: int | None = None) -> float:
        """Give the pipeline the stages that come closest to the reference within a budget, and say what a word costs.

        Everything is bought for sentences of more than ``longest`` words.
        """
        if budget >= sum(self.cheap) + sum(self.costly):
            self.pipeline.stages_ = (None, None)
            return sum(self.cheap) + sum(self.costly)
        spare = budget - sum(self.cheap)
        found: tuple[float, Stages, float] | None = None
        for mine in self._shares(spare):
            tagging, tagged = self._under(0, mine, self.bank)
            self.pipeline.stages_ = (tagging, None)
            retagged = self.pipeline._tagged(self.bank)
            parsing, parsed = self._under(1, min(spare - mine, self.costly[1]), retagged)
            self.pipeline.stages_ = (tagging, parsing)
            bank = self.pipeline._parsed(retagged)
            tags = [float(same(self.reference, bank, name).mean()) for name in ("upos", "xpos")]
            close = float(np.mean(tags)) + float(np.mean(bank.heads == self.reference.heads))
            if found is None or close > found[0]:
                found = close, (tagging, parsing), tagged + parsed
        assert found is not None  # there are shares
        for stage in found[1]:
            if stage is not None:
                stage.max_parts_ = longest
        self.pipeline.stages_ = found[1]
        return found[2]

    def certify(
        self, bank: Treebank, *, risk: float, confidence: float, max_parts: int | None
    ) -> tuple[StructureCertificate, float]:
        """Give the pipeline the smallest budget that provably keeps a risk, on sentences that nothing else has used.

        Returns the certificate, whose threshold is the budget, and the mean cost of a word of these sentences.
        """
        longest = checked_longest("fit_budget", np.diff(self.bank.offsets), max_parts)
        self.pipeline.stages_ = (None, None)
        full = _answers(self.pipeline.predict(bank))
        served: dict[float, Stages] = {}

        def answers(budget: float) -> list[Any]:
            self.best(budget, longest)
            served[budget] = self.pipeline.stages_
            return _answers(self.pipeline.predict(bank))

        budgets = self._budgets(risk, longest)
        found = certify_answers(answers, budgets, full, risk=risk, confidence=confidence, max_parts=longest)
        self.pipeline.stages_ = served.get(found.threshold, (None, None))
        return found, self._spent(bank)

    def _budgets(self, risk: float, longest: int) -> list[float]:
        """Budgets to test, the largest first, chosen on other sentences than those that test them."""
        full, low = sum(self.cheap) + sum(self.costly), sum(self.cheap)
        high, end = full, low
        if self._lost(low, longest) > _BEYOND * risk:
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if self._lost(middle, longest) > _BEYOND * risk else (low, middle)
            end = low
        return [full, *np.linspace(full, end, _TESTED).tolist()[1:]]

    def _lost(self, budget: float, longest: int) -> float:
        """Share of the words that are answered otherwise than in the reference."""
        self.best(budget, longest)
        found = self.pipeline.predict(self.bank)
        differ = np.asarray(found.heads != self.reference.heads)
        for name in _COLUMNS:
            differ |= ~same(self.reference, found, name)
        return float(differ.mean())

    def _shares(self, spare: float) -> list[float]:
        """What the tagger may spend beyond its cheap group; what one stage cannot spend, the other may."""
        return sorted({min(max(share * spare, spare - self.costly[1]), self.costly[0]) for share in SHARES})

    def _under(self, i: int, spare: float, bank: Treebank) -> tuple[BudgetedPredictor | None, float]:
        """A stage that may spend so much beyond its cheap group, and what it spends a word."""
        model, policy = (self.pipeline.tagger_, self.pipeline.parser_)[i], self.policies[i]
        full = float(np.sum(model.group_costs_))
        if policy is None:
            return None, full
        stage = BudgetedPredictor(model, policy, budget=min(self.cheap[i] + spare, full)).fit(bank)
        return stage, stage.mean_cost_

    def _spent(self, bank: Treebank) -> float:
        spent = 0.0
        for i, (stage, seen) in enumerate(zip(self.pipeline.stages_, (bank, self.pipeline._tagged(bank)), strict=True)):
            if stage is None:
                spent += self.cheap[i] + self.costly[i]
            else:
                spent += mean_cost(stage, stage.model.open(seen), stage.threshold_)
        return spent


def enough_sentences(X: Any, least: int) -> Treebank:
    """Annotated sentences, if there are enough of them for a budget."""
    bank = annotated(X)
    if len(bank) < least:
        raise ValueError(f"A budget needs at least {least} sentences to learn from. Got {len(bank)}.")
    return bank


def _check(policies: Any, models: tuple[Any, Any]) -> None:
    """Raise unless there are two policies or None, for stages with a costly group."""
    if not isinstance(policies, tuple | list) or len(policies) != 2:
        raise TypeError(f"policies must be two, for tagger and parser, each a policy or None. Got {policies!r:.80}.")
    for name, policy, model in zip(("tagger", "parser"), policies, models, strict=True):
        if policy is None:
            continue
        if not isinstance(policy, Policy):
            raise TypeError(
                f"The {name}'s policy must be one of wald.structured.policies, or None. Got {policy!r:.60}."
            )
        if len(model.group_names_) == 1:
            raise ValueError(f"The {name} has no costly group, and so cannot have a policy. Got {policy!r:.60}.")


def _policy(policy: Policy | None, model: Any, bank: Treebank, random_state: Any) -> Policy | None:
    """A policy fitted on sentences that the model did not learn from; None without a costly group."""
    if len(model.group_names_) == 1:
        return None
    mine = IteratedPolicy(random_state=random_state) if policy is None else clone(policy)
    if "cv" in mine.get_params():
        mine.set_params(cv="prefit")
    return mine.fit(model, bank, bank)


def _answers(bank: Treebank) -> list[Any]:
    """What a pipeline says of each sentence: its words' tags, heads and relations."""
    columns = [np.array(bank.column(name), dtype=object) for name in _COLUMNS]
    columns.append(bank.heads.astype(object))
    return list(zip(*(np.split(column, bank.offsets[1:-1]) for column in columns), strict=True))
