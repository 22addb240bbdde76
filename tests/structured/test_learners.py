"""Learners equal plain NumPy, step by step; the duality gap follows its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from structured import brute
from structured.test_inference import features, stores

from wald import _core

K, SIZES, LENGTHS = 3, [4, 3], [3, 1, 4, 2, 1, 3]


class Lesson:
    """Some labelled sequences, for the core and for NumPy."""

    def __init__(self, own=True, random=True, sparse_groups=(), sizes=SIZES, lengths=LENGTHS, seed=5, n_labels=K):
        rng = np.random.default_rng(0)
        self.sizes, self.own, self.random, self.seed, self.lengths = sizes, own, random, seed, lengths
        self.ends, self.rows = brute.ends(lengths), brute.Rows(n_labels, sizes, own)
        # multiples of 1/4: sums are exact, so that ties are ties in float32, too
        self.values = [np.round(4 * v).astype(np.float32) / 4 for v in features(rng, sizes, sum(lengths))]
        self.labels = rng.integers(0, n_labels, sum(lengths)).astype(np.int32)
        self.chain = _core.Chain(n_labels, sizes, own)
        groups = stores(self.values, sparse_groups)
        self.core = _core.ChainLesson(self.chain, groups, self.labels, self.ends, random, seed)

    def sequence(self, i):
        cut = slice(self.ends[i], self.ends[i + 1])
        return [v[cut] for v in self.values], self.labels[cut]

    def states(self, i, epoch):
        return states_of(self.seed, epoch, i, self.lengths[i], len(self.sizes)) if self.random else self.full(i)

    def full(self, i):
        return np.full(self.lengths[i], self.rows.n_states - 1)


def mixed(seed, a, b, c):
    mask = 2**64 - 1
    h = seed
    for v in (a, b, c):
        h = (h + 0x9E3779B97F4A7C15 * ((int(v) + 1) & mask)) & mask
        h = ((h ^ h >> 30) * 0xBF58476D1CE4E5B9) & mask
        h = ((h ^ h >> 27) * 0x94D049BB133111EB) & mask
        h ^= h >> 31
    return (h >> 11) * 2.0**-53


def states_of(seed, epoch, sequence, length, n_groups):
    """A tenth of the sequences has no costly group, a tenth has all; others have each part with some probability."""
    kind = mixed(seed, epoch, sequence, 2**64 - 1)
    p = 0 if kind < 0.1 else 1 if kind < 0.2 else mixed(seed, epoch, sequence, 2**64 - 2)
    bits = [[mixed(seed, epoch, sequence, t * n_groups + g) < p for g in range(1, n_groups)] for t in range(length)]
    return np.array([sum(bit << g for g, bit in enumerate(row)) for row in bits])


def augmented_best(rows, table, inputs, labels, margin):
    """Decode with a margin: the best path, with the tie-breaking of the core."""
    node, steps = rows.scores(table, inputs)
    node = node + margin * (np.arange(K) != labels[:, None])
    paths, scores = brute.all_paths(node, steps)
    return np.array(min(paths[scores == scores.max()].tolist(), key=lambda p: p[::-1]))


def test_states_have_the_shares_that_are_documented():
    shares, nothing, everything, n = [], 0, 0, 4000
    for i in range(n):
        states = states_of(9, 3, i, 12, 2)
        shares.append(states.mean())
        nothing += not states.any()
        everything += bool(states.all())
    assert np.mean(shares) == pytest.approx(0.5, abs=0.03)
    # a tenth by rule, and of the others those whose 12 parts agree: 1 in 13
    assert nothing / n == pytest.approx(0.1 + 0.8 / 13, abs=0.02)
    assert everything / n == pytest.approx(0.1 + 0.8 / 13, abs=0.02)


@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize("sizes", [[4], [4, 3], [2, 0, 3]])
def test_perceptron(margin, own, random, sizes):
    lesson = Lesson(own, random, sizes=sizes)
    learner, rows = _core.ChainPerceptron(lesson.chain), lesson.rows
    table, total, n_steps = np.zeros((rows.n, K)), np.zeros((rows.n, K)), 0
    rng = np.random.default_rng(1)
    for epoch in range(4):
        order = rng.permutation(len(LENGTHS))
        wrong = 0
        for i in order:
            values, labels = lesson.sequence(i)
            inputs = rows.inputs(values, lesson.states(i, epoch))
            guess = augmented_best(rows, table, inputs, labels, margin)
            wrong += np.count_nonzero(guess != labels)
            table = table + rows.psi(inputs, labels) - rows.psi(inputs, guess)
            total, n_steps = total + table, n_steps + 1
        assert learner.epoch(lesson.core, order, epoch, margin) == wrong
        np.testing.assert_array_equal(learner.current().table(), table)
        np.testing.assert_allclose(learner.averaged().table(), total / n_steps, atol=1e-5)
    assert n_steps == 4 * len(LENGTHS)
    assert np.abs(table).max() > 0


@pytest.mark.parametrize("sparse_groups", [[0], [1], [0, 1]])
def test_dense_and_sparse_learn_the_same(sparse_groups):
    order = np.arange(len(LENGTHS))
    learned = []
    for some in ([], sparse_groups):
        lesson = Lesson(sparse_groups=some)
        perceptron, svm = (
            _core.ChainPerceptron(lesson.chain),
            _core.ChainFrankWolfe(lesson.chain, lesson.core, 0.1, 3),
        )
        for epoch in range(3):
            perceptron.epoch(lesson.core, order, epoch, 1.0)
            svm.epoch(np.arange(3 * len(LENGTHS)))
        learned.append((perceptron.averaged().table(), svm.averaged().table()))
    np.testing.assert_array_equal(learned[0][0], learned[1][0])
    np.testing.assert_allclose(learned[0][1], learned[1][1], atol=1e-6)


class DualSVM:
    """Block-coordinate Frank-Wolfe over all paths, by definition."""

    def __init__(self, lesson, strength, copies):
        self.lesson, self.strength, self.examples = lesson, strength, []
        for i, copy in itertools.product(range(len(lesson.lengths)), range(copies)):
            values, labels = lesson.sequence(i)
            fixed = {0: lesson.full(i), 1: 0 * lesson.full(i)} if copies > 1 else {}
            inputs = lesson.rows.inputs(values, fixed.get(copy, lesson.states(i, copy)))
            paths = np.array(list(itertools.product(range(lesson.rows.K), repeat=len(labels))))
            truth = lesson.rows.psi(inputs, labels)
            psi = np.array([truth - lesson.rows.psi(inputs, p) for p in paths])
            loss = (paths != labels).sum(axis=1).astype(float)
            self.examples.append((psi, loss, (loss == 0).astype(float)))
        self.n = len(self.examples)
        self.step, self.mean, self.mean_loss = 0, self.weights(), 0.0

    def weights(self):
        return sum(np.tensordot(alpha, psi, 1) for psi, _, alpha in self.examples) / (self.strength * self.n)

    def loss(self):
        return sum(alpha @ loss for _, loss, alpha in self.examples) / self.n

    def primal(self, w):
        hinge = sum((loss - np.tensordot(psi, w, 2)).max() for psi, loss, _ in self.examples)
        return self.strength / 2 * (w**2).sum() + hinge / self.n

    def dual(self, w, loss):
        return loss - self.strength / 2 * (w**2).sum()

    def visit(self, i):
        w, (psi, loss, alpha) = self.weights(), self.examples[i]
        best = (loss - np.tensordot(psi, w, 2)).argmax()
        w_s, w_i = (np.tensordot(a, psi, 1) / (self.strength * self.n) for a in (np.eye(len(loss))[best], alpha))
        gain = self.strength * ((w_i - w_s) * w).sum() + (loss[best] - alpha @ loss) / self.n
        size = self.strength * ((w_i - w_s) ** 2).sum()
        if gain > 0 and size > 0:
            gamma = min(1.0, gain / size)
            alpha *= 1 - gamma
            alpha[best] += gamma
        self.step += 1
        share = 2 / (self.step + 1)
        self.mean = (1 - share) * self.mean + share * self.weights()
        self.mean_loss = (1 - share) * self.mean_loss + share * self.loss()


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("copies", [1, 3])
def test_svm(own, copies):
    """Weights, averages and gaps follow the definition; the gap is primal minus dual, and decreases."""
    lesson = Lesson(own, random=copies > 1, n_labels=2)  # with two labels no first step is a tie
    svm, reference = _core.ChainFrankWolfe(lesson.chain, lesson.core, 0.05, copies), DualSVM(lesson, 0.05, copies)
    rng, gaps = np.random.default_rng(2), []
    for epoch in range(30):
        order = rng.permutation(copies * len(LENGTHS))
        svm.epoch(order)
        for i in order:
            reference.visit(i)
        if epoch == 0:
            np.testing.assert_allclose(svm.current().table(), reference.weights(), atol=1e-4)
            np.testing.assert_allclose(svm.averaged().table(), reference.mean, atol=1e-4)
        w = reference.weights()
        gaps.append((svm.gap(False), svm.gap(True)))
        assert min(gaps[-1]) >= -1e-6
        if epoch == 0:
            assert gaps[-1][0] == pytest.approx(reference.primal(w) - reference.dual(w, reference.loss()), abs=1e-4)
            mean = reference.primal(reference.mean) - reference.dual(reference.mean, reference.mean_loss)
            assert gaps[-1][1] == pytest.approx(mean, abs=1e-4)
    for first, _, later in np.array(gaps)[[0, 5, 29]].T:
        assert later < 0.2 * first
    # where it ends does not depend on how ties were broken on the way
    assert reference.primal(svm.current().table()) == pytest.approx(reference.primal(w), abs=0.02)
    primal = reference.primal(svm.current().table().astype(float))
    assert svm.gap(False) >= primal - reference.primal(w) - 1e-6


HOSTILE = [
    lambda c: c.ChainGroup(-1, 2),
    lambda c: c.ChainGroup(2, -1),
    lambda c: c.ChainGroup(2, 2**31),
    lambda c: c.ChainGroup(2**62, 1),
    lambda c: c.Chain(0, [1], True),
    lambda c: c.Chain(2**17, [1], True),
    lambda c: c.Chain(2, [], True),
    lambda c: c.Chain(2, [1] * 6, True),
    lambda c: c.Chain(2, [-1], True),
    lambda c: c.Chain(2, [2**62], True),
    lambda c: c.Chain(60000, [2**30], True),
]


@pytest.mark.parametrize("call", HOSTILE)
def test_sizes_out_of_range(call):
    with pytest.raises((ValueError, TypeError)):
        call(_core)


floats, longs, ints, bits = (lambda *v, t=t: np.array(v, dtype=t) for t in (np.float32, np.int64, np.int32, np.uint8))
TWO = np.ones((2, 3), dtype=np.float32)


@pytest.mark.parametrize(
    "add",
    [
        lambda g: g.add_dense(TWO, longs(0)),
        lambda g: g.add_dense(TWO, longs(1, 0)),
        lambda g: g.add_dense(TWO, longs(1, 1)),
        lambda g: g.add_dense(TWO, longs(-1, 0)),
        lambda g: g.add_dense(TWO, longs(3, 4)),
        lambda g: g.add_dense(TWO, ints(0, 1)),
        lambda g: g.add_dense(TWO[:, :2].copy(), longs(0, 1)),
        lambda g: g.add_dense(TWO[:, ::-1], longs(0, 1)),
        lambda g: g.add_dense(TWO.astype(float), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0, 3), longs(0, 1, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0, -1), longs(0, 1, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(1, 1), longs(0, 2, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(2, 1), longs(0, 2, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0, 1), longs(0, 3, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0, 1), longs(0, 1, 3), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0), longs(0, 1, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0, 1), longs(-1, 1, 2), longs(0, 1)),
        lambda g: g.add_csr(floats(1, 1), ints(0, 1), longs(), longs()),
        lambda g: g.add_csr(floats(1, 1), ints(0, 1), longs(0, 1, 2), longs(0)),
    ],
)
def test_hostile_features(add):
    group = _core.ChainGroup(4, 3)
    with pytest.raises((ValueError, TypeError)):
        add(group)
    assert group.add_dense(np.ones((4, 3), dtype=np.float32), np.arange(4)) == -1  # nothing was added
    with pytest.raises(ValueError, match="already"):
        group.add_dense(TWO, longs(0, 1))


def test_features_that_are_not_finite_are_named_and_not_added():
    group = _core.ChainGroup(2, 3)
    assert group.add_dense(np.array([[0, 0, 0], [0, np.nan, 0]], dtype=np.float32), longs(0, 1)) == 1
    assert group.add_csr(floats(np.inf, 1), ints(0, 1), longs(0, 1, 2), longs(0, 1)) == 0
    assert group.add_dense(TWO, longs(0, 1)) == -1


NODE, ENDS = np.zeros((3, K), dtype=np.float32), longs(0, 1, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda c, g: c.scores(g, bits(0, 0), longs(0, 2), None, 1),
        lambda c, g: c.scores(g[:1], bits(0, 0, 0), ENDS, None, 1),
        lambda c, g: c.scores([g[0], g[0]], bits(0, 0, 0), ENDS, None, 1),
        lambda c, g: c.scores([g[0], None], bits(0, 0, 0), ENDS, None, 1),
        lambda c, g: c.predict(g, bits(0, 2, 0), ENDS, None, 1),
        lambda c, g: c.predict(g, bits(0, 1, 0), ENDS, None, 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), ENDS, longs(2), 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), ENDS, longs(-1), 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), longs(0, 0, 3), None, 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), longs(0, 2), None, 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), longs(1, 3), None, 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), longs(), None, 1),
        lambda c, g: c.predict(g, bits(0, 0, 0), longs(0, 4, 3), None, 1),
        lambda c, g: c.decode(NODE[:, :2].copy(), ENDS, 1),
        lambda c, g: c.decode(NODE + np.float32(np.nan), ENDS, 1),
        lambda c, g: c.decode(NODE.astype(float), ENDS, 1),
        lambda c, g: c.decode(NODE, longs(0, 2), 1),
        lambda c, g: c.max_marginals(NODE, longs(0, 5), 1),
        lambda c, g: c.marginals(NODE, ENDS, 0.0, 1),
        lambda c, g: c.marginals(NODE, ENDS, np.inf, 1),
        lambda c, g: c.best_paths(NODE, ENDS, 0, 1),
        lambda c, g: c.best_paths(NODE, ENDS, 1001, 1),
        lambda c, g: c.fill(NODE),
        lambda c, g: c.fill(np.full_like(c.table(), np.inf)),
        lambda c, g: _core.Chain.__new__(_core.Chain).__setstate__((K, [4, 3], True, NODE)),
        lambda c, g: _core.Chain.__new__(_core.Chain).__setstate__((0, [4, 3], True, NODE)),
        lambda c, g: _core.ChainLesson(c, g, ints(0, 0, 0), ENDS, True, 0),
        lambda c, g: _core.ChainLesson(c, [1, 2], ints(0, 0, 0), ENDS, True, 0),
    ],
)
def test_hostile_questions(call):
    cheap, costly = _core.ChainGroup(3, 4), _core.ChainGroup(3, 3)
    cheap.add_dense(np.ones((3, 4), dtype=np.float32), np.arange(3))
    costly.add_dense(np.ones((1, 3), dtype=np.float32), longs(0))
    chain = _core.Chain(K, SIZES, True)
    with pytest.raises((ValueError, TypeError)):
        call(chain, [cheap, costly])
    assert chain.predict([cheap, costly], bits(1, 0, 0), ENDS, None, None, 1)[0].shape == (3,)


def test_hostile_lessons():
    lesson = Lesson()
    groups = stores(lesson.values)
    for labels in (lesson.labels - 1, lesson.labels + 1, lesson.labels[1:], lesson.labels.astype(np.int64)):
        with pytest.raises((ValueError, TypeError)):
            _core.ChainLesson(lesson.chain, groups, labels, lesson.ends, True, 0)
    order = np.arange(len(LENGTHS))
    other = _core.ChainPerceptron(_core.Chain(K, [4, 2], True))
    with pytest.raises(ValueError, match="another chain"):
        other.epoch(lesson.core, order, 0, 1.0)
    with pytest.raises(ValueError, match="another chain"):
        _core.ChainFrankWolfe(_core.Chain(K, SIZES, False), lesson.core, 1.0, 1)
    learner = _core.ChainPerceptron(lesson.chain)
    for bad in (order - 1, order + 1, order.astype(np.int32)):
        with pytest.raises((ValueError, TypeError)):
            learner.epoch(lesson.core, bad, 0, 1.0)
    for margin in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="margin"):
            learner.epoch(lesson.core, order, 0, margin)
    for strength, copies in ((0.0, 1), (np.nan, 1), (1.0, 0), (1.0, 65)):
        with pytest.raises(ValueError, match=r"strength|copies"):
            _core.ChainFrankWolfe(lesson.chain, lesson.core, strength, copies)
    svm = _core.ChainFrankWolfe(lesson.chain, lesson.core, 1.0, 1)
    with pytest.raises(ValueError, match="order"):
        svm.epoch(order + 1)


def test_a_lesson_keeps_what_it_reads():
    lesson = Lesson()
    learner, groups = _core.ChainPerceptron(lesson.chain), stores(lesson.values)
    labels, ends = lesson.labels.copy(), lesson.ends.copy()
    held = _core.ChainLesson(lesson.chain, groups, labels, ends, True, 5)
    groups.clear()
    labels[:], ends[:] = 10**6, 10**6
    twin = _core.ChainPerceptron(lesson.chain)
    order = np.arange(len(LENGTHS))
    assert learner.epoch(held, order, 0, 1.0) == twin.epoch(lesson.core, order, 0, 1.0)
    np.testing.assert_array_equal(learner.current().table(), twin.current().table())
