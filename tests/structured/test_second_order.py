"""Parsers that score pairs of arcs, too."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from structured.parser_reference import Reference, is_projective, is_tree
from structured.parsers import SMALL

import wald
from wald import _core
from wald.datasets import make_trees
from wald.structured import BudgetedPredictor, DependencyParser, Treebank
from wald.structured.policies import IteratedPolicy

NEAR = 1.0  # a word may move to a head whose arc scores at most this much less


@pytest.fixture(scope="module", params=["eisner", "chu-liu-edmonds"])
def parser(bank, request):
    """A parser with weights drawn at random, for which pairs matter as much as arcs."""
    found = DependencyParser(**SMALL | {"max_iter": 1}, second_order=True, decoder=request.param).fit(bank[:40])
    state = list(found._model.state())
    state[4] = np.random.default_rng(0).normal(scale=0.1, size=state[4].shape).astype(np.float32)
    found._model = _core.ParserModel(*state)
    return found


def copy(parser, **parameters):
    return pickle.loads(pickle.dumps(parser)).set_params(**parameters)


def trees(found):
    return [[-1, *sentence.heads] for sentence in found]


class Sums:
    """Scores of a sentence's trees, from the parser's own scores of arcs and the reference's of pairs."""

    def __init__(self, parser, bank, i, bought=None):
        arcs = parser.arcs(bank, i)
        bought = np.ones(len(bank[i].heads) + 1, dtype=bool) if bought is None else np.r_[False, bought]
        words = np.where(bought[arcs[:, 1]], parser.arc_scores(bank, i, "words", arcs), 0)
        scores = parser.arc_scores(bank, i, "tags", arcs) + words
        self.arcs = {(h, m): float(s) for (h, m), s in zip(arcs.tolist(), scores, strict=True)}
        self.reference, self.sentence, self.bought = Reference(parser._model), bank[i], bought

    def __call__(self, heads):
        pairs = (self.reference.score_pairs(self.sentence, heads, m) for m in range(1, len(heads)) if self.bought[m])
        return sum(self.arcs[heads[m], m] for m in range(1, len(heads))) + sum(pairs)

    def moves(self, heads, projective):
        """The trees that differ in one head that scores nearly as well, with the same root."""
        for (h, m), score in self.arcs.items():
            if h == 0 or heads[m] in (0, h) or self.arcs[heads[m], m] - score > NEAR:
                continue
            moved = [*heads[:m], h, *heads[m + 1 :]]
            if is_tree(moved) and (not projective or is_projective(moved)):
                yield moved


@pytest.mark.slow
@pytest.mark.parametrize("bought", ["everything", "half"])
def test_no_move_of_a_word_is_better(parser, bank, bought):
    """What is found begins with the best tree by arcs, and is at least as good as all trees one move away."""
    test, projective = bank[200:220], parser.decoder == "eisner"
    session = parser.open(test)
    share = 1.0 if bought == "everything" else 0.5
    state = np.random.default_rng(0).random(session.state().shape) < share
    first = copy(parser, second_order=False).open(test)
    ends = session.offsets[1:-1]
    found, begun = (np.split(s.decode(state), ends) for s in (session, first))
    n_moved = n_moves = 0
    for i, (own, before) in enumerate(zip(found, begun, strict=True)):
        total = Sums(parser, test, i, state[session.offsets[i] : session.offsets[i + 1], 0])
        heads, start = [-1, *own.tolist()], [-1, *before.tolist()]
        assert is_tree(heads)
        assert not projective or is_projective(heads)
        assert heads.count(0) == 1
        assert total(heads) >= total(start) - 1e-3
        n_moved += heads != start
        for moved in total.moves(heads, projective):
            n_moves += 1
            assert total(moved) <= total(heads) + 1e-3
    assert n_moves > 20
    assert n_moved > 5


def test_without_costly_features_there_are_no_pairs(parser, bank):
    session, first = parser.open(bank[:50]), copy(parser, second_order=False).open(bank[:50])
    np.testing.assert_array_equal(session.decode(session.state() & False), first.decode(first.state() & False))


def test_pairs_see_what_arcs_do_not():
    """The last word hangs on a noun or on that noun's noun, as the verb says, which is neither and stands far away."""
    rng = np.random.default_rng(0)

    def sentence():
        verb = str(rng.choice(["eats", "sees"]))
        words = [(verb, "VERB", "VB", 0, "root"), *[("the", "DET", "DT", 4, "det")] * 2, ("n", "NOUN", "NN", 1, "obj")]
        words += [*[("the", "DET", "DT", 7, "det")] * 2, ("k", "NOUN", "NN", 4, "nmod")]
        return [*words, *[("the", "DET", "DT", 10, "det")] * 2, ("a", "ADJ", "JJ", 4 if verb == "eats" else 7, "amod")]

    bank = Treebank.from_words([sentence() for _ in range(150)])
    arcs, pairs = (DependencyParser(**SMALL, second_order=second).fit(bank[:100]) for second in (False, True))
    assert arcs.score(bank[100:]) < 0.98
    assert pairs.score(bank[100:]) == 1


@pytest.mark.parametrize("group_by", ["modifier", "head"])
def test_policies_buy_pairs_with_words(bank, group_by):
    parser = DependencyParser(**SMALL, second_order=True, states="random", group_by=group_by).fit(bank[:150])
    assert parser.score(bank[300:]) > 0.95
    policy = IteratedPolicy(cv="prefit", random_state=0).fit(parser, bank[150:220], bank[150:220])
    fast = BudgetedPredictor(parser, policy, budget=float(parser.group_costs_.sum())).fit(bank[220:300])
    assert len(fast.predict(bank[300:])) == 100


def test_threads_batches_pickles_and_files(parser, bank, tmp_path):
    test = bank[280:320]
    out = parser.predict(test)
    assert copy(parser, n_jobs=2).predict(test).to_bytes() == out.to_bytes()
    assert parser.predict(test[7:8])[0] == out[7]
    wald.save(parser, tmp_path / "parser.wald")
    loaded = wald.load(tmp_path / "parser.wald")
    assert loaded.second_order
    assert loaded.predict(test).to_bytes() == out.to_bytes()


def test_a_pruner_and_several_roots(bank):
    for parameters in ({"arc_margin": 3.0}, {"single_root": False}, {"learner": "perceptron", "step": 1.0}):
        parser = DependencyParser(**SMALL, second_order=True, **parameters).fit(bank[:200])
        assert parser.score(bank[200:]) > 0.95
        assert all(is_tree(heads) for heads in trees(parser.predict(bank[200:])))


def test_tags_alone_have_no_pairs():
    with pytest.raises(ValueError, match="second_order=True needs feature_groups='all'"):
        DependencyParser(**SMALL, second_order=True, feature_groups="tags").fit(make_trees(10, random_state=0))
