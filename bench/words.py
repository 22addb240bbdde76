"""Tagging words from dicts and lists of strings, compared with CRFsuite."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

import wald
from wald.datasets import fetch_treebank
from wald.structured import ChainClassifier

from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "EWT tags (UPOS) from 13 features a word, the same Python objects for both, one thread"
SEED, EPOCHS = 0, 10
#: CRFsuite's learners and their parameters.
PEERS = {
    "averaged perceptron": ("averaged-perceptron", {"max_iterations": EPOCHS}),
    "L-BFGS": ("lbfgs", {"c1": 0.0, "c2": 1.0, "max_iterations": 200}),
}
#: Words of the sentence that is labelled alone.
SHORT = 7

Sentences = list[list[Any]]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    (X, y), (test, truth) = _read("train", how.rows(1, 20)), _read("test", how.rows(1, 5))
    n_words = sum(map(len, test))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models: list[ChainClassifier] = []

        def fit() -> None:
            models.append(ChainClassifier(max_iter=EPOCHS, random_state=SEED).fit(X, y))

        def train(peer: str) -> Callable[[], None]:
            algorithm, parameters = PEERS[peer]

            def call() -> None:
                trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
                for rows, labels in zip(X, y, strict=True):
                    trainer.append(rows, labels)
                trainer.train(str(folder / peer))

            return call

        learned = measure({"ours": Task(fit), **{peer: Task(train(peer)) for peer in PEERS}}, 1)
        model = models[-1]
        wald.save(model, folder / "ours")
        size = (folder / "ours").stat().st_size
        accuracy = 100 * model.score(test, truth)
        flat = np.concatenate(truth)
        forms = {"dicts": test, "strings": [[_strings(part) for part in sentence] for sentence in test]}
        tagging = {f"ours, {form}": Task(lambda rows=rows: model.predict(rows)) for form, rows in forms.items()}
        one = next(i for i, labels in enumerate(truth) if len(labels) == SHORT)
        for form, rows in forms.items():
            tagging[f"ours, one from {form}"] = Task(lambda row=rows[one]: model.predict_one(row))
        figures = []
        for peer in PEERS:
            tagger = pycrfsuite.Tagger()
            tagger.open(str(folder / peer))
            theirs = 100 * float(np.mean(np.concatenate([tagger.tag(rows) for rows in test]) == flat))
            figures += [
                Figure(
                    "accuracy, difference", accuracy - theirs, "points", peer, f"{accuracy:.2f} against {theirs:.2f} %"
                ),
                _ratio("training speed", learned["ours"].median, learned[peer].median, peer),
                Figure(
                    "size of the file, ours divided by theirs",
                    size / (folder / peer).stat().st_size,
                    "x",
                    f"CRFsuite, {peer}",
                    f"{size / 1e6:.3g} MB",
                ),
            ]
            for form, rows in forms.items():
                tagging[f"{peer}, {form}"] = Task(lambda tagger=tagger, rows=rows: [tagger.tag(row) for row in rows])
                tagging[f"{peer}, one from {form}"] = Task(lambda tagger=tagger, row=rows[one]: tagger.tag(row))
        t = measure(tagging, how.repeats)
        for peer in PEERS:
            for form in forms:
                ours, theirs = t[f"ours, {form}"].median / n_words, t[f"{peer}, {form}"].median / n_words
                figures.append(_ratio(f"labels of {n_words} words from {form}", ours, theirs, peer, "a word"))
                ours, theirs = t[f"ours, one from {form}"].median, t[f"{peer}, one from {form}"].median
                figures.append(_ratio(f"one sentence of {SHORT} words from {form}", ours, theirs, peer))
    return figures


def _ratio(name: str, ours: float, theirs: float, peer: str, each: str = "") -> Figure:
    scale, unit = (1e6, "us") if ours < 1e-3 else (1, "s")
    note = f"{scale * ours:.3g} {unit} against {scale * theirs:.3g} {unit} {each}".strip()
    return Figure(name, theirs / ours, "x", f"CRFsuite, {peer}", note)


def _read(subset: str, step: int) -> tuple[Sentences, list[list[str]]]:
    """Words in dicts, and their tags."""
    sentences = list(fetch_treebank("ewt", subset=subset))[::step]
    dicts = [[_described(list(s.forms), i) for i in range(len(s.forms))] for s in sentences]
    return dicts, [list(s.upos) for s in sentences]


def _described(words: list[str], i: int) -> dict[str, Any]:
    """13 features of a word."""
    word, last = words[i], len(words) - 1
    return {
        "bias": 1.0,
        "word": word.lower(),
        "suffix3": word[-3:],
        "suffix2": word[-2:],
        "prefix3": word[:3],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
        "-1:word": words[i - 1].lower() if i else "<s>",
        "-1:suffix3": words[i - 1][-3:] if i else "<s>",
        "-2:word": words[i - 2].lower() if i > 1 else "<s>",
        "+1:word": words[i + 1].lower() if i < last else "</s>",
        "+1:suffix3": words[i + 1][-3:] if i < last else "</s>",
    }


def _strings(part: dict[str, Any]) -> list[str]:
    """The names of a dict's features that are not 0."""
    return [f"{name}:{value}" if isinstance(value, str) else name for name, value in part.items() if value]
