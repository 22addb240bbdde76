"""Words to tags to trees on English EWT, one thread, beside a small pipeline of spaCy trained on the same words."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from wald.datasets import fetch_treebank
from wald.structured import TextPipeline, Treebank

from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "From words to tags to trees, EWT with gold words, one thread"

#: Of spaCy: epochs, and sentences in a batch.
EPOCHS, BATCH = 8, 32


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    train, test = fetch_treebank("ewt", subset="train"), fetch_treebank("ewt", subset="test")
    if how.quick:
        train = train[:1500]
    pipeline = TextPipeline(n_folds=3 if how.quick else 10, n_jobs=1, random_state=0)
    fit = measure({"fit": Task(lambda: pipeline.fit(train))}, 1)["fit"]
    scores = pipeline.evaluate(test)
    words = [sentence.forms for sentence in test]
    tasks = {
        "treebank": Task(lambda: pipeline.predict(test)),
        "tags": Task(lambda: pipeline.tagger_.predict(test)),
        "lists": Task(lambda: pipeline.predict(words)),
    }
    nlp, seconds = _spacy(train, how)
    docs = _scored(nlp, test)
    tasks["spacy"] = Task(lambda: list(nlp.pipe(_docs(nlp, test), batch_size=256)))
    times = measure(tasks, how.repeats)
    speed = {what: test.n_words / t.median for what, t in times.items()}
    return list(_figures(scores, docs, speed, times, fit.median, seconds, train))


def _figures(
    scores: Any,
    peer: dict[str, float],
    speed: dict[str, float],
    times: Any,
    fit: float,
    spacy_fit: float,
    train: Treebank,
) -> Iterator[Figure]:
    same = "spaCy's tagger, morphologizer and parser on one tok2vec, trained here on the same sentences"
    for name in ("upos", "xpos", "uas", "las"):
        title = f"{name.upper()} of all words" + ("" if name in ("upos", "xpos") else ", predicted tags")
        yield Figure(title, 100 * getattr(scores, name), "%", f"{100 * peer[name]:.2f} %: {same}")
    yield Figure("training", fit, "s", f"{spacy_fit:.0f} s", f"{train.n_words} words; spaCy: {EPOCHS} epochs")
    yield Figure(
        "words per second in all", speed["treebank"], "", f"spaCy {speed['spacy']:.0f}", times["treebank"].spread
    )
    yield Figure("speed in all", speed["treebank"] / speed["spacy"], "x", "spaCy", times["spacy"].spread)
    yield Figure("words per second from lists of words", speed["lists"], note=times["lists"].spread)
    yield Figure("words per second, tags alone", speed["tags"], note=times["tags"].spread)


# ---- spaCy -----------------------------------------------------------------------------------------------------------


def _docs(nlp: Any, bank: Treebank) -> list[Any]:
    """One document without annotation a sentence."""
    from spacy.tokens import Doc

    return [Doc(nlp.vocab, words=sentence.forms) for sentence in bank]


def _spacy(train: Treebank, how: Run) -> tuple[Any, float]:
    """A small pipeline of spaCy, trained; and the seconds that this took."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.util import fix_random_seed, minibatch

    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    shared = {"model": {"tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": 96}}}
    for name in ("tagger", "morphologizer", "parser"):
        nlp.add_pipe(name, config=shared)
    examples = []
    for s in train:
        heads = [i if head == 0 else head - 1 for i, head in enumerate(s.heads)]
        starts = [i == 0 for i in range(len(s))]
        gold = Doc(nlp.vocab, words=s.forms, tags=s.xpos, pos=s.upos, heads=heads, deps=s.deprels, sent_starts=starts)
        examples.append(Example(Doc(nlp.vocab, words=s.forms), gold))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nlp.initialize(lambda: islice(examples, 2000))
        rng = np.random.default_rng(0)
        for _ in range(1 if how.quick else EPOCHS):
            order = rng.permutation(len(examples))
            for batch in minibatch([examples[i] for i in order], size=BATCH):
                nlp.update(batch, drop=0.1)
    return nlp, time.perf_counter() - start


def _scored(nlp: Any, test: Treebank) -> dict[str, float]:
    """Shares of the words that spaCy's pipeline gets right, with all words of a sentence in one."""
    same: dict[str, list[bool]] = {name: [] for name in ("upos", "xpos", "uas", "las")}
    for doc, s in zip(nlp.pipe(_docs(nlp, test), batch_size=256), test, strict=True):
        for token, upos, xpos, head, deprel in zip(doc, s.upos, s.xpos, s.heads, s.deprels, strict=True):
            right = (0 if token.head == token else token.head.i + 1) == head
            same["upos"].append(token.pos_ == upos)
            same["xpos"].append(token.tag_ == xpos)
            same["uas"].append(right)
            name = "root" if token.head == token else token.dep_
            same["las"].append(right and name.partition(":")[0] == deprel.partition(":")[0])
    return {name: float(np.mean(found)) for name, found in same.items()}
