"""How a pipeline's parser learns: from the tags of taggers that did not see the sentence, and from the right ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .conll import Treebank
from .parser import DependencyParser
from .parser_averaging import mean_model
from .word_tagger import WordTagger


def both_tags(tagger: WordTagger, bank: Treebank, n_folds: int) -> Treebank:
    """Sentences with tags as a tagger will give them, and again with their own.

    Parameters
    ----------
    tagger : WordTagger
        Fitted on these sentences.
    bank : Treebank
    n_folds : int
        Taggers that learn, each from all pieces of the treebank but one, and tag this one. 0: no such tags.

    Returns
    -------
    Treebank
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
