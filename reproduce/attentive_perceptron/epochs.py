"""Every contender over the epochs: features seen, updates, seconds, test error; and prediction with what was learnt."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._common import Record
from .choice import CHEAP, WITHIN
from .learners import READINGS, Contender, train
from .material import Task

#: Tables by name, as lists of records.
Tables = dict[str, list[Record]]

#: Our learner with default parameters.
DEFAULT = "as it comes"


def contenders(chosen: Mapping[tuple[str, str], Contender]) -> list[tuple[str, Contender]]:
    """The contenders that train on all training rows, and the rule that chose each."""
    return [
        (DEFAULT, Contender("full")),
        (DEFAULT, Contender("conditional")),
        (WITHIN, chosen["budgeted", WITHIN]),
        *((rule, chosen[reading, rule]) for reading in READINGS for rule in (WITHIN, CHEAP)),
    ]


def race(task: Task, seed: int, chosen: Mapping[tuple[str, str], Contender]) -> Tables:
    """Train each contender on all training rows, one after the other, and test it after every epoch.

    Returns
    -------
    dict of str to list of Record
        "epochs"; for dense rows also "prediction", where the last model of our own learner reads test rows attentively.
    """
    tables: Tables = {"epochs": []}
    for rule, contender in contenders(chosen):
        model, epochs = train(contender, seed, task)
        key: dict[str, str | int | float] = {
            "data": task.data,
            "task": task.name,
            "seed": seed,
            "reading": contender.reading,
            "rule": rule,
            "delta": float(model.delta) if contender.reading in READINGS else 0.0,
        }
        for number, epoch in enumerate(epochs, 1):
            tables["epochs"].append(
                {
                    **key,
                    "epoch": number,
                    "features": epoch.features,
                    "share": epoch.features / task.features,
                    "updates": epoch.updates,
                    "microseconds_per_row": 1e6 * epoch.seconds / len(task.y),
                    "error": epoch.error,
                }
            )
        if contender.reading != "conditional" or task.sparse:
            continue  # the paper's boundaries need the label; prediction reads CSR rows in full
        answers, cost = model.predict(task.X_test, attention="conditional", return_cost=True)
        tables.setdefault("prediction", []).append(
            {
                **key,
                "features": float(np.mean(cost)),
                "share": float(np.mean(cost)) / task.features,
                "error": float(np.mean(answers != task.y_test)),
                "full_error": epochs[-1].error,
            }
        )
    return tables
