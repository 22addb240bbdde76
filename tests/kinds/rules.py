"""Stopping rules, for tests of every rule. A new rule adds one line to each list."""

from __future__ import annotations

import numpy as np

from wald.stopping import (
    Budget,
    ConstantBoundary,
    CurvedBoundary,
    ErrorSpending,
    Ladder,
    LikelihoodRatio,
    Lossless,
    Margin,
    OptimalBoundary,
    Qwyc,
    VoteBoundary,
)

#: Rules whose tables need moments or bounds of the terms, or nothing.
BY_FORMULA = [
    Ladder(),
    Ladder(readout="partial"),
    Lossless(),
    Lossless(low=np.zeros(3), high=1),
    Budget(12),
    Budget(12, readout="regressed"),
    ConstantBoundary(),
    ConstantBoundary(delta=0.01, sides="negative"),
    ConstantBoundary(kind="bridge_simple", centre="mean"),
    ConstantBoundary(kind="reflection", error="joint"),
    ConstantBoundary(kind="reflection_raw", error="joint", sides="negative"),
    ConstantBoundary(kind="reflection_exact", error="disagreement", sides="positive", centre="none"),
    ConstantBoundary(kind="conditional", delta=1e-250),
    CurvedBoundary(),
    CurvedBoundary(error="conditional", remainder="independent"),
    OptimalBoundary(),
    OptimalBoundary(delta=1e-12, sides="negative"),
    VoteBoundary(),
    VoteBoundary(alpha=0.2, sides="positive"),
]

#: Thresholds that are placed on the plan rows, and LightGBM's.
BY_ROWS = [
    Qwyc(),
    Qwyc(alpha=0, sides="negative"),
    Qwyc(alpha=0.1, sides="positive", readout="regressed"),
    ErrorSpending(),
    ErrorSpending(delta=0),
    ErrorSpending(delta=0.05, spend="front", sides="negative"),
    ErrorSpending(spend="pocock", sides="positive"),
    ErrorSpending(spend="obrien-fleming", readout="regressed"),
    LikelihoodRatio(),
    LikelihoodRatio(alpha=0.1, beta=0.0),
    LikelihoodRatio(density="gaussian", sides="negative"),
    LikelihoodRatio(density="isotonic", readout="regressed"),
    Margin(),
    Margin(value=1.5, every=4, sides="positive"),
]

#: The papers' formulas as they are used on a linear model: one of each kind, with every error once.
OF_THE_PAPERS = [
    ConstantBoundary(),
    ConstantBoundary("bridge_simple", centre="mean"),
    ConstantBoundary("reflection", error="joint"),
    ConstantBoundary("reflection_raw", error="joint"),
    ConstantBoundary("reflection_exact", error="disagreement"),
    ConstantBoundary("conditional", sides="negative"),
    CurvedBoundary(),
    CurvedBoundary(remainder="independent", error="conditional"),
    OptimalBoundary(),
]

#: Rules by rows as they are used on models, with settings at which rows leave and few are wrong.
BY_ROWS_ON_MODELS = [
    Qwyc(alpha=0.01),
    Qwyc(alpha=0.01, readout="regressed"),
    Qwyc(alpha=0.02, sides="negative"),
    ErrorSpending(delta=0.02, spend="front"),
    ErrorSpending(delta=0),
    LikelihoodRatio(alpha=0.02, beta=0.02),
    LikelihoodRatio(alpha=0.02, beta=0.02, density="gaussian", readout="regressed"),
    LikelihoodRatio(alpha=0.05, beta=0, density="isotonic"),
    Margin(value=3.0, every=3),
    Margin(value=1.0, every=2, sides="positive"),
]

#: One of each that a certificate scales, for simulations of its guarantee.
CERTIFIED = [
    Ladder(readout="partial"),
    Qwyc(alpha=0.01),
    ErrorSpending(delta=0.01, spend="front"),
    LikelihoodRatio(alpha=0.02, beta=0.02),
    Margin(value=5.0, every=3),
]
