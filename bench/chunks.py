"""Chunking sentences with labels of spans, compared with CRFsuite, and promises about the spans lost."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pycrfsuite
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher

from wald.datasets import fetch_treebank
from wald.structured import ChainClassifier, FeatureGroup, Treebank
from wald.structured.certificate import first_that_fails
from wald.structured.certified_answers import Family, place_thresholds
from wald.structured.per_part import PartTest
from wald.structured.policies import IteratedPolicy
from wald.structured.spans import span_f1, spans_of

from .chain import PEERS
from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "Noun phrases of EWT as spans of three kinds, 13 features a word in dicts: train on train, test on test"
SEED = 0
#: Relations that keep a word in the phrase of its head, and the kinds of phrases by their heads.
INSIDE = frozenset({"det", "det:predet", "amod", "nummod", "compound", "nmod:poss", "flat", "fixed", "goeswith"})
KINDS = {"NOUN": "NP", "PROPN": "PN", "PRON": "PRO"}
#: Promises: draws of certificates, shares of spans, and the length beyond which everything is bought.
REDRAWS, RISKS, MOST_WORDS = 200, (0.02, 0.05), 40

Dicts = list[list[dict[str, str]]]


class Sentences(NamedTuple):
    """Words as dicts of features, and their labels."""

    words: Dicts
    labels: list[list[str]]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    banks = {subset: fetch_treebank("ewt", subset=subset) for subset in ("train", "dev", "test")}
    train = _sentences(banks["train"][: how.rows(99_999, 2000)])
    held, test = _sentences(banks["dev"]), _sentences(banks["test"])
    return [*_against_crfsuite(train, test, how), *_promises(train, held, test, how)]


def _sentences(bank: Treebank) -> Sentences:
    found = [(_words(sentence.forms), _chunks(sentence)) for sentence in bank]
    return Sentences([words for words, _ in found], [labels for _, labels in found])


def _chunks(sentence: Any) -> list[str]:
    """The noun phrases as labels: a head with the words before and behind it that depend on it directly."""
    heads = []
    for word in range(len(sentence.forms)):
        at = word
        while sentence.deprels[at] in INSIDE and sentence.heads[at] > 0:
            at = sentence.heads[at] - 1
        heads.append(at)
    labels = []
    for word, head in enumerate(heads):
        kind = KINDS.get(sentence.upos[head])
        goes_on = word > 0 and heads[word - 1] == head
        labels.append("O" if kind is None else f"{'I' if goes_on else 'B'}-{kind}")
    return labels


def _words(forms: list[str]) -> list[dict[str, str]]:
    """Features of each word: its own five, and some of the two words before and behind it."""
    own = [
        {
            "word": form.lower(),
            "last 3": form[-3:].lower(),
            "last 2": form[-2:].lower(),
            "first 2": form[:2].lower(),
            "shape": "".join(map(_shape, form))[:5],
        }
        for form in forms
    ]
    words = []
    for t, features in enumerate(own):
        words.append(dict(features))
        for by in (-2, -1, 1, 2):
            if not 0 <= t + by < len(own):
                words[-1][f"{by} end"] = "yes"
                continue
            for name in ("word", "last 3", "shape") if abs(by) == 1 else ("word",):
                words[-1][f"{by} {name}"] = own[t + by][name]
    return words


def _shape(c: str) -> str:
    return "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c


def _against_crfsuite(train: Sentences, test: Sentences, how: Run) -> list[Figure]:
    def fit(constraints: str | None = "bio") -> ChainClassifier:
        return ChainClassifier(max_iter=10, constraints=constraints, random_state=SEED).fit(*train)

    model, free = fit(), fit(None)
    ours, unconstrained = model.predict(test.words), free.predict(test.words)
    begun = sum(labels != _legal(labels) for labels in unconstrained)
    n_words, n_spans = sum(map(len, test.labels)), sum(len(spans_of(labels)) for labels in test.labels)
    f1 = 100 * span_f1(test.labels, ours)
    with tempfile.TemporaryDirectory() as folder:
        learning, tagging, theirs = {"ours": Task(fit)}, {"ours": Task(lambda: model.predict(test.words))}, {}
        for peer, (algorithm, parameters) in PEERS.items():
            trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
            for words, labels in zip(*train, strict=True):
                trainer.append(words, labels)
            learning[peer] = Task(lambda trainer=trainer, path=str(Path(folder) / peer): trainer.train(path))
        learned = measure(learning, 1)
        for peer in PEERS:
            tagger = pycrfsuite.Tagger()
            tagger.open(str(Path(folder) / peer))
            theirs[peer] = 100 * span_f1(test.labels, [tagger.tag(words) for words in test.words])
            tagging[peer] = Task(lambda tagger=tagger: [tagger.tag(words) for words in test.words])
        tagged = measure(tagging, how.repeats)
    each = ", ".join(f"{peer} {value:.2f} %" for peer, value in theirs.items())
    figures = [
        Figure("span F1", f1, "%", note=f"{n_spans} spans in {n_words} words"),
        Figure("span F1, difference", f1 - max(theirs.values()), "points", "CRFsuite's best", each),
        Figure(
            "span F1, difference",
            f1 - 100 * span_f1(test.labels, unconstrained),
            "points",
            "without constraints",
            f"there {begun} sentences hold a label that goes on with no span; with them, none",
        ),
    ]
    for peer in PEERS:
        for what, found in (("training speed", learned), ("prediction speed, dicts", tagged)):
            note = f"{found['ours'].median:.3g} s against {found[peer].median:.3g} s"
            figures.append(Figure(what, found[peer].median / found["ours"].median, "x", f"CRFsuite, {peer}", note))
    return figures


def _legal(labels: list[str]) -> list[str]:
    """Labels whose spans all begin with B."""
    legal = []
    for before, label in zip(["O", *labels], labels, strict=False):
        begins = label.startswith("I-") and before[2:] != label[2:]
        legal.append(f"B-{label[2:]}" if begins else label)
    return legal


def _promises(train: Sentences, held: Sentences, test: Sentences, how: Run) -> list[Figure]:
    """Certificates of draws from a pool of sentences, whose loss is the true one; neighbours' features cost 10."""
    hasher = FeatureHasher(2**16, dtype=np.float32)
    n_kept = len(held.words) // 2
    pool = Sentences(held.words[n_kept:] + test.words, held.labels[n_kept:] + test.labels)
    flat = [word for part in (train, held, test) for words in part.words for word in words]
    own = hasher.transform({k: v for k, v in word.items() if k[0] not in "-12"} for word in flat)
    near = hasher.transform({k: v for k, v in word.items() if k[0] in "-12"} for word in flat)
    groups = [
        FeatureGroup("word", lambda rows: own[rows[:, 0].astype(int)], cost=1.0),
        FeatureGroup("neighbours", lambda rows: near[rows[:, 0].astype(int)], cost=10.0),
    ]
    first = sum(map(len, train.words))
    X, y = _rows(train.words, 0), train.labels
    X_held, y_held = _rows(held.words[:n_kept], first), held.labels[:n_kept]
    X_pool, y_pool = _rows(pool.words, first + sum(map(len, held.words[:n_kept]))), pool.labels
    model = ChainClassifier(groups, max_iter=10, constraints="bio", random_state=SEED).fit(X, y)
    policy = IteratedPolicy("differs", cv=3, random_state=SEED).fit(model, X, y)
    figures = []
    for loss in ("disagreement", "clipped gap"):
        place = Family.open(model, policy, X_held, y_held, loss, MOST_WORDS)
        everyone = Family.open(model, policy, X_pool, y_pool, loss, MOST_WORDS)
        for risk in RISKS:
            steps = [everyone.step(threshold) for threshold in place_thresholds(place, risk).tolist()]
            true = {threshold: lost.sum() / counted.sum() for threshold, lost, counted in steps}
            cost = {t: 1 + 10 * everyone.served(t).state.mean() for t in true}
            rng = np.random.default_rng(SEED)
            broken, spent = 0, []
            for _ in range(how.rows(REDRAWS, 20)):
                drawn = rng.integers(len(X_pool), size=len(X_pool))
                redrawn = ((t, lost[drawn], counted[drawn]) for t, lost, counted in steps)
                found = first_that_fails(redrawn, PartTest(risk, 0.95, MOST_WORDS), loss, "span")
                broken += int(true.get(found.threshold, 0.0) > risk)
                spent.append(cost.get(found.threshold, 11.0))
            figures.append(
                Figure(
                    f"{loss}, {100 * risk:g} % of spans: promises broken",
                    broken,
                    "",
                    note=f"of {len(spent)} draws of {len(X_pool)} sentences, 5 % allowed; mean cost "
                    f"{np.mean(spent):.2f} of 11 a word",
                )
            )
    return figures


def _rows(sentences: Dicts, first: int) -> list[NDArray[np.float64]]:
    """Sentences as indices of their words' features."""
    ends = first + np.cumsum([0, *map(len, sentences)])
    return [np.arange(a, b, dtype=np.float64)[:, None] for a, b in itertools.pairwise(ends)]
