"""Labelling handwritten words under a budget: the time that policies themselves take."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wald.datasets import fetch_ocr
from wald.structured import HOG, BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy, OneShotPolicy
from wald.structured.policies.base import Policy
from wald.structured.policies.crossfit import crossfit
from wald.structured.policies.driver import acquire
from wald.structured.sequences import Sequences

from .report import Figure
from .settings import OTHER_SPLIT, Run
from .timing import Task, each_call, measure

TITLE = "OCR words, HOG for 30 % of the letters: train on eight folds, thresholds on fold 1, test on fold 0"
SEED = 0
SHARE = 0.3
SIMPLE, COMPLEX = "one-shot, simple features", "one-shot, complex features"
#: Seconds per letter of the slow extractor.
SLOW = 200e-6
#: Largest number of purchases in a search for pseudo-labels; number of words that are labelled one by one.
T_MAX, WORDS = 12, 200


@dataclass
class Extractor:
    """HOG that takes at least ``least`` seconds per part: it waits if the computation ends earlier."""

    hog: HOG
    least: float = 0.0

    def __call__(self, images: NDArray[Any]) -> NDArray[np.float32]:
        end = time.perf_counter() + self.least * len(images)
        found = self.hog(images)
        while time.perf_counter() < end:
            pass
        return found


class Material(NamedTuple):
    """A model, its costly extractor, fitted predictors, and words to label."""

    model: ChainClassifier
    extractor: Extractor
    predictors: dict[str, BudgetedPredictor]
    words: list[NDArray[Any]]
    labels: list[NDArray[Any]]


#: Seconds of a prediction for features, policy and inference.
Seconds = dict[str, float]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    material = _material(how)
    figures = _batch(material, how, "HOG")
    figures += _one_by_one(material, how)
    material.extractor.least = SLOW
    return figures + _batch(material, how, f"{1e6 * SLOW:.0f} us a letter")


def _material(how: Run) -> Material:
    ocr = fetch_ocr()
    tested, kept = (1, 2) if OTHER_SPLIT in os.environ else (0, 1)

    def subset(chosen: NDArray[np.bool_], step: int) -> tuple[list[Any], list[Any]]:
        ids = np.flatnonzero(chosen)[::step]
        return [ocr.data[i] for i in ids], [ocr.target[i] for i in ids]

    train = subset((ocr.fold != tested) & (ocr.fold != kept), how.rows(1, 5))
    extractor = Extractor(HOG((16, 8)))
    groups = [FeatureGroup("pixels"), FeatureGroup("hog", extractor)]
    model = ChainClassifier(groups, random_state=SEED, n_jobs=1).fit(*train)
    folds = crossfit(model, *train, random_state=SEED)
    policies: dict[str, Policy] = {
        SIMPLE: OneShotPolicy(features="simple", C=10.0, t_max=T_MAX, cv=folds, random_state=SEED),
        COMPLEX: OneShotPolicy(t_max=T_MAX, cv=folds, random_state=SEED),
        "iterated": IteratedPolicy(cv=folds, random_state=SEED),
    }
    thresholds, _ = subset(ocr.fold == kept, 1)
    predictors = {
        name: BudgetedPredictor(model, policy.fit(model, *train), budget=SHARE, feature_costs=[0.0, 1.0]).fit(
            thresholds
        )
        for name, policy in policies.items()
    }
    return Material(model, extractor, predictors, *subset(ocr.fold == tested, 1))


def _constant(model: ChainClassifier, words: Sequences, everything: bool) -> Seconds:
    """Time labelling words with all groups, or with the cheap one."""
    session = model.open(words)
    start = time.perf_counter()
    session.decode(session.state() & everything)
    features = float(session.seconds[1])
    inference = time.perf_counter() - start - features
    return {"features": features + float(session.seconds[0]), "policy": 0.0, "inference": inference}


def _chosen(predictor: BudgetedPredictor, words: Sequences) -> Seconds:
    """Time labelling words with the features that a policy buys."""
    session = predictor.model.open(words)
    before = float(session.seconds[0])
    found = acquire(predictor.policy, session, predictor.threshold_)
    return found.seconds | {"features": found.seconds["features"] + before}


def _batch(material: Material, how: Run, costly: str) -> list[Figure]:
    """Time all test words in one call, in microseconds a letter."""
    words, truth = Sequences.of(material.words), np.concatenate(material.labels)
    calls: dict[str, Callable[[], Seconds]] = {
        "nothing bought": lambda: _constant(material.model, words, False),
        "everything bought": lambda: _constant(material.model, words, True),
    }
    for name, predictor in material.predictors.items():
        calls[name] = lambda predictor=predictor: _chosen(predictor, words)
    runs: dict[str, list[Seconds]] = {name: [] for name in calls}
    measure({name: Task(lambda name=name: runs[name].append(calls[name]())) for name in calls}, how.repeats)
    each = {name: _medians(found, len(truth)) for name, found in runs.items()}
    total = {name: sum(parts.values()) for name, parts in each.items()}
    figures = []
    for name, parts in each.items():
        note = ", ".join(f"{what} {us:.3g}" for what, us in parts.items())
        if name in material.predictors:
            note += f"; {_bought(material.predictors[name], material.words, truth)}"
        figures.append(Figure(f"{costly}: {name}", total[name], "us a letter", note=note))
    whole = total["everything bought"]
    for name in material.predictors:
        note = f"{each[name]['policy']:.3g} of {whole:.3g} us, median of {len(runs[name])} runs"
        share = 100 * each[name]["policy"] / whole
        figures.append(Figure(f"{costly}: the policy's own time, {name}", share, "%", "everything bought", note))
    figures += [
        Figure(f"{costly}: speed, {name}", whole / total[name], "x", "everything bought", "features, policy, inference")
        for name in material.predictors
    ]
    return figures


def _medians(runs: list[Seconds], n: int) -> Seconds:
    """Median microseconds a letter of features, policy and inference."""
    return {what: 1e6 * float(np.median([run[what] for run in runs])) / n for what in runs[0]}


def _bought(predictor: BudgetedPredictor, words: list[NDArray[Any]], truth: NDArray[Any]) -> str:
    answers, state = predictor.predict(words, return_state=True)
    right = np.mean(np.concatenate(answers) == truth)
    full = np.mean(np.concatenate(predictor.model.predict(words)) == truth)
    return (
        f"{100 * state.mean():.3g} % bought, {100 * right:.2f} % of the letters right (everything {100 * full:.2f} %)"
    )


def _one_by_one(material: Material, how: Run) -> list[Figure]:
    """Time one word per call, in microseconds a word."""
    words = [Sequences.of([word]) for word in material.words[:WORDS]]
    figures = []
    for name, predictor in material.predictors.items():
        runs: list[Seconds] = []
        each_call(lambda i, p=predictor, to=runs: to.append(_chosen(p, words[i])), len(words), how.repeats)
        parts = {what: 1e6 * float(np.mean([run[what] for run in runs])) for what in runs[0]}
        note = ", ".join(f"{what} {us:.3g}" for what, us in parts.items())
        figures.append(Figure(f"HOG: one word at a time, {name}", sum(parts.values()), "us a word", note=note))
    return figures
