"""Labelling the letters of handwritten words, compared with CRFsuite."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pycrfsuite
from numpy.typing import NDArray

from wald.datasets import fetch_ocr
from wald.structured import HOG, ChainClassifier, FeatureGroup
from wald.structured.sequences import Sequences

from .report import Figure
from .settings import OTHER_SPLIT, Run
from .timing import Task, measure

TITLE = "OCR words, pixels and HOG: train on nine folds, test on fold 0 (other split: fold 1)"
SEED = 0
#: Neither side reads feature names: wald reads arrays, CRFsuite `ItemSequence`s that are made before the clock starts.
ARRAYS = "arrays against packed items"
#: CRFsuite's learners and their parameters.
PEERS = {
    "L-BFGS": ("lbfgs", {"c1": 0.0, "c2": 1.0}),
    "averaged perceptron": ("averaged-perceptron", {}),
}


class Words(NamedTuple):
    """Words with pixels, their letters, and the words with pixels and HOG."""

    sequences: Sequences
    labels: list[NDArray[Any]]
    everything: Sequences


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    hog = HOG((16, 8))
    train, test = _words(hog, how)
    groups = [FeatureGroup("pixels"), FeatureGroup("hog", hog)]

    def fit(chosen: list[FeatureGroup] = groups, **parameters: Any) -> ChainClassifier:
        return ChainClassifier(chosen, random_state=SEED, **parameters).fit(train.sequences, train.labels)

    def fit_alike(words: Sequences) -> ChainClassifier:
        return ChainClassifier(random_state=SEED).fit(words, train.labels)

    model, dedicated, svm = fit(), fit(groups[:1]), fit(learner="svm")
    truth = np.concatenate(test.labels)
    nothing = np.zeros((test.sequences.n_parts, 1), dtype=bool)
    full = 100 * model.score(test.sequences, test.labels)
    cheap = 100 * model.score(test.sequences, test.labels, state=nothing)
    alone = 100 * dedicated.score(test.sequences, test.labels)
    figures = [
        Figure("letter accuracy, all groups", full, "%", note=f"{len(truth)} letters"),
        Figure("letter accuracy, the same model on pixels alone", cheap, "%"),
        Figure("letter accuracy lost by it", alone - cheap, "points", "a model of pixels alone", f"{alone:.2f} %"),
        Figure("letter accuracy, structural SVM, all groups", 100 * svm.score(test.sequences, test.labels), "%"),
        Figure(
            "letter accuracy, structural SVM, pixels alone",
            100 * svm.score(test.sequences, test.labels, state=nothing),
            "%",
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, accuracy, ours, words in (
            ("pixels", cheap, train.sequences, test.sequences),
            ("pixels and HOG", full, train.everything, test.everything),
        ):
            figures += _against_crfsuite(
                name, accuracy, fit_alike, (ours, words), (train.labels, test.labels), Path(folder), how
            )
    return figures + _speed(model, test, nothing, how)


def _words(hog: HOG, how: Run) -> tuple[Words, Words]:
    ocr = fetch_ocr()
    tested = ocr.fold == (1 if OTHER_SPLIT in os.environ else 0)
    parts = []
    for chosen in (~tested, tested):
        ids = np.flatnonzero(chosen)[:: how.rows(1, 5)]
        pixels = Sequences.of([ocr.data[i] for i in ids])
        everything = Sequences(np.hstack([pixels.parts, hog(pixels.parts)]), pixels.offsets)
        parts.append(Words(pixels, [ocr.target[i] for i in ids], everything))
    return parts[0], parts[1]


def _dicts(words: Sequences) -> list[list[dict[str, float]]]:
    """The features as CRFsuite reads them: names with values, without zeros, and the features bias, first and last."""
    names = np.array([f"f{j}" for j in range(words.parts.shape[1])], dtype=object)
    parts = [dict(zip(names[row != 0], row[row != 0].tolist(), strict=True)) | {"bias": 1.0} for row in words.parts]
    for a, b in itertools.pairwise(words.offsets):
        parts[a]["first"] = parts[b - 1]["last"] = 1.0
    return [parts[a:b] for a, b in itertools.pairwise(words.offsets)]


def _names(dicts: list[list[dict[str, float]]]) -> list[list[list[str]]]:
    """Convert dicts whose values are all 1 to lists of their names."""
    return [[list(part) for part in word] for word in dicts]


def _items(words: Sequences) -> list[pycrfsuite.ItemSequence]:
    """The features as CRFsuite stores them, so that it need not read dicts again."""
    return [pycrfsuite.ItemSequence(word) for word in _dicts(words)]


def _against_crfsuite(
    name: str,
    ours: float,
    fit: Callable[[Sequences], ChainClassifier],
    words: tuple[Sequences, Sequences],
    labels: tuple[list[NDArray[Any]], list[NDArray[Any]]],
    folder: Path,
    how: Run,
) -> list[Figure]:
    train, test = words
    train_items, test_items, test_dicts = _items(train), _items(test), _dicts(test)
    truth = np.concatenate(labels[1])
    model, of_dicts = fit(train), fit(Sequences.of(_dicts(train)))
    alone = 100 * model.score(test, labels[1])
    learning = {"ours": Task(lambda: fit(train))}
    for peer, (algorithm, parameters) in PEERS.items():
        trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
        for items, target in zip(train_items, labels[0], strict=True):
            trainer.append(items, target.tolist())
        learning[peer] = Task(lambda trainer=trainer, path=str(folder / peer): trainer.train(path))
    learned = measure(learning, 1)
    # Both sides read the same dicts and, where all values are 1, the same lists of names.
    given: dict[str, Any] = {"dicts": test_dicts}
    if all(value == 1.0 for word in test_dicts for part in word for value in part.values()):
        given["strings"] = _names(test_dicts)
    tagging = {
        **{f"ours, {form}": Task(lambda rows=rows: of_dicts.predict(rows)) for form, rows in given.items()},
        f"ours, {ARRAYS}": Task(lambda: model.predict(test)),
    }
    accuracy = {}
    for peer in PEERS:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(folder / peer))
        accuracy[peer] = 100 * float(np.mean(np.concatenate([tagger.tag(items) for items in test_items]) == truth))
        for form, rows in (*given.items(), (ARRAYS, test_items)):
            tagging[f"{peer}, {form}"] = Task(lambda tagger=tagger, rows=rows: [tagger.tag(word) for word in rows])
    tagged = measure(tagging, how.repeats)
    figures = [
        Figure(
            f"{name}: letter accuracy, difference",
            ours - max(accuracy.values()),
            "points",
            "CRFsuite's best",
            f"{ours:.2f} % ({alone:.2f} % by a model of its own); "
            + ", ".join(f"{peer} {value:.2f} %" for peer, value in accuracy.items()),
        )
    ]
    for peer in PEERS:
        seconds, mine = learned[peer].median, learned["ours"].median
        note = f"{mine:.3g} s against {seconds:.3g} s"
        figures.append(Figure(f"{name}: training speed", seconds / mine, "x", f"CRFsuite, {peer}", note))
        for form in (*given, ARRAYS):
            seconds, mine = tagged[f"{peer}, {form}"].median, tagged[f"ours, {form}"].median
            note = f"{1e3 * mine:.3g} ms against {1e3 * seconds:.3g} ms for {test.n_parts} letters"
            figures.append(Figure(f"{name}: prediction speed, {form}", seconds / mine, "x", f"CRFsuite, {peer}", note))
    return figures


def _speed(model: ChainClassifier, test: Words, nothing: NDArray[np.bool_], how: Run) -> list[Figure]:
    """Time the calls of policies, in microseconds a letter, in a session where all features are extracted."""
    session, n = model.open(test.sequences), test.sequences.n_parts
    everything = session.state()
    session.decode(everything)
    hog = HOG((16, 8))
    tasks = {
        "decode, all groups": lambda: session.decode(everything),
        "decode, pixels": lambda: session.decode(nothing),
        "decode one word in ten": lambda: session.decode(everything, examples=range(0, test.sequences.n_sequences, 10)),
        "max-marginals": lambda: session.max_marginals(everything),
        "marginals": lambda: session.marginals(everything),
        "HOG": lambda: hog(test.sequences.parts),
    }
    t = measure({name: Task(call) for name, call in tasks.items()}, how.repeats)
    return [Figure(name, 1e6 * t[name].median / n, "us a letter", note=t[name].spread) for name in tasks]
