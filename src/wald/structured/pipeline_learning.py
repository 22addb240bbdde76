"""How a pipeline's parser learns: from the tags of taggers that did not see the sentence, and from the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .. import _core
from .conll import Treebank
from .parser import DependencyParser
from .word_tagger import WordTagger

#: Places of a parser's state: the longest arcs by tags, and the weights of groups, relations and pruner.
_LONGEST, _WEIGHTS = 2, (4, 7, 9)


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
