"""Online learners with attention, compared with scikit-learn's and with the same learners without attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier

from wald.online import AttentivePegasos, AttentivePerceptron

from .models import digits
from .newsgroups import newsgroups
from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "MNIST, each digit against the rest, 5 epochs; newsgroups rec.* and sci.* against the rest, TF-IDF, 18 epochs"
EPOCHS, DIGITS = 5, 10
#: The learners' defaults were chosen on the last 10 000 of the 60 000 training rows; figures are from the test rows.
COMMON = {"max_iter": EPOCHS, "tol": None}
#: The number of epochs after which SGDClassifier's own tolerance stops it.
POSTS_EPOCHS = 18
#: The parameters of both hinge learners, chosen for each by 4-fold cross-validation on the training posts, three times,
#: among alpha = 1.4e-4, 1e-4, 7e-5 and 5e-5, averaged or not, without an intercept. Ties were resolved in favour of the
#: value that both share. Attention within examples is off, because it reads fewer non-zeros but takes longer.
HINGE = {"alpha": 7e-5, "fit_intercept": False, "max_iter": POSTS_EPOCHS, "tol": None}
#: Number of epochs before averaging begins.
NOT_AVERAGED = 14


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    return _digits(how) + _newsgroups(how)


def _digits(how: Run) -> list[Figure]:
    data = digits()
    seeds = how.rows(10, 1)
    errors: dict[str, list[float]] = {"attentive": [], "full": []}
    seen, missed = [], []
    for digit in range(DIGITS):
        y, y_test = data.y == digit, data.y_test == digit
        for seed in range(seeds):
            fast = AttentivePerceptron(random_state=seed, **COMMON).fit(data.X, y)
            full = AttentivePerceptron(attention="full", random_state=seed, **COMMON).fit(data.X, y)
            errors["attentive"].append(100 * (1 - fast.score(data.X_test, y_test)))
            errors["full"].append(100 * (1 - full.score(data.X_test, y_test)))
            seen.append(fast.features_seen_ / (EPOCHS * len(data.X)))
            missed.append(100 * fast.stop_error_.rate)
    gap = np.array(errors["attentive"]) - np.array(errors["full"])
    runs = f"{DIGITS} digits x {seeds} seeds, averaged, the defaults"
    t = _together(
        {
            "attentive": lambda y: AttentivePerceptron(random_state=0, **COMMON).fit(data.X, y),
            "full": lambda y: AttentivePerceptron(attention="full", random_state=0, **COMMON).fit(data.X, y),
            "sklearn": lambda y: Perceptron(random_state=0, **COMMON).fit(data.X, y),
        },
        [data.y == digit for digit in range(DIGITS)],
        how,
    )
    per_row = {name: 1e9 * value / (EPOCHS * len(data.X) * DIGITS) for name, value in t.items()}
    note = ", ".join(f"{name} {value:.4g}" for name, value in per_row.items()) + " ns a row"
    return [
        Figure("features per example, audits included", float(np.mean(seen)), note=f"of 784; {runs}"),
        Figure(
            "test error, difference",
            float(gap.mean()),
            "points",
            "the full learner",
            f"{np.mean(errors['attentive']):.3g} against {np.mean(errors['full']):.3g} %; "
            f"standard error {gap.std() / np.sqrt(len(gap)):.2g}",
        ),
        Figure("audited stop error", float(np.mean(missed)), "%", note="of stopped examples; delta 2 %"),
        Figure("training speed", t["sklearn"] / t["attentive"], "x", "scikit-learn's Perceptron", note),
        Figure("training speed", t["full"] / t["attentive"], "x", "the full learner", note),
        Figure(
            "training time of the full learner, share", t["full"] / t["sklearn"], "", "scikit-learn's Perceptron", note
        ),
    ]


def _newsgroups(how: Run) -> list[Figure]:
    data = newsgroups()
    seeds = how.rows(10, 1)

    def error(make: Callable[[int], Any]) -> float:
        return float(np.mean([100 * (1 - make(seed).score(data.X_test, data.y_test)) for seed in range(seeds)]))

    def ours(seed: int, shrinking: bool = True) -> AttentivePegasos:
        average = NOT_AVERAGED * len(data.y)
        model = AttentivePegasos(attention="full", average=average, shrinking=shrinking, random_state=seed, **HINGE)
        return model.fit(data.X, data.y)

    def theirs(seed: int) -> SGDClassifier:
        return SGDClassifier(loss="hinge", random_state=seed, **HINGE).fit(data.X, data.y)

    ours_error, their_error = error(ours), error(theirs)
    seen = ours(0).features_seen_ / (POSTS_EPOCHS * data.X.nnz)
    tasks = {
        "ours": Task(lambda: ours(0)),
        "without shrinking": Task(lambda: ours(0, shrinking=False)),
        "sklearn": Task(lambda: theirs(0)),
    }
    t = measure(tasks, how.repeats)
    note = ", ".join(f"{name} {1e3 * sample.median / POSTS_EPOCHS:.3g}" for name, sample in t.items()) + " ms an epoch"
    return [
        Figure(
            "training speed of AttentivePegasos",
            t["sklearn"].median / t["ours"].median,
            "x",
            "SGDClassifier(loss='hinge')",
            note,
        ),
        Figure(
            "test error of AttentivePegasos, difference",
            ours_error - their_error,
            "points",
            "SGDClassifier(loss='hinge')",
            f"{ours_error:.3g} against {their_error:.3g} %, {seeds} seeds; "
            f"shrinking reads {100 * seen:.3g} % of the non-zeros",
        ),
    ]


def _together(
    fits: dict[str, Callable[[Any], object]], labels: list[np.ndarray[Any, Any]], how: Run
) -> dict[str, float]:
    """Time each learner, summed over all labels; the learners of one label are timed in the same rounds."""
    totals = dict.fromkeys(fits, 0.0)
    for y in labels[:: how.rows(1, 5)]:
        samples = measure({name: Task(lambda fit=fit, y=y: fit(y)) for name, fit in fits.items()}, how.repeats)
        for name, sample in samples.items():
            totals[name] += sample.median * how.rows(1, 5)
    return totals
