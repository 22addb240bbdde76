"""Online learners, for tests of every learner; clone before fitting."""

from __future__ import annotations

from typing import Any

from wald.online import AttentiveBoosting, AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

#: Every class of learner.
CLASSES: list[type[Any]] = [AttentivePerceptron, AttentivePassiveAggressive, AttentivePegasos, AttentiveBoosting]

#: One of each that learns weights of features.
LINEAR: list[Any] = [AttentivePerceptron(), AttentivePassiveAggressive(), AttentivePegasos(alpha=0.01)]

#: Linear learners under every kind of attention.
ATTENTIVE: list[Any] = [
    AttentivePerceptron(delta="auto", audit_rate=0.05),
    AttentivePerceptron(attention="constant", boundary="centred"),
    AttentivePerceptron(attention="constant", boundary="bridge", variance="empirical"),
    AttentivePerceptron(attention="budgeted", budget=30),
    AttentivePegasos(alpha=0.01, average=True),
    AttentivePassiveAggressive(C=0.01),
]

#: Update rules, each with its name in the reference and its rate.
UPDATES: list[tuple[str, Any, float]] = [
    ("perceptron", AttentivePerceptron(eta0=0.5), 0.5),
    ("PA", AttentivePassiveAggressive(variant="PA", C=0.5), 0.5),
    ("PA-I", AttentivePassiveAggressive(variant="PA-I", C=0.01), 0.01),
    ("pegasos", AttentivePegasos(alpha=0.01), 0.01),
]
