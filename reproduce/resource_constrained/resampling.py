"""Frequency of violated certificates, on examples drawn repeatedly from a population with known gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wald.structured.certificate import certify_structures
from wald.structured.policies.base import Policy
from wald.structured.policies.driver import acquire

from .._common import Record
from .curves import Fitted

#: The promise: at most this share of the letters differs, with this confidence.
RISK, CONFIDENCE = 0.01, 0.95
#: The number of drawings; each has as many words as four of the ten folds.
DRAWINGS, FOLDS = 200, 4
#: Thresholds tested, on the probability that a part is wrong, the most cautious first.
PROBABILITIES = np.geomspace(3e-4, 0.6, 80)
#: The seed of the drawings.
_SEED = 95


class Served(NamedTuple):
    """The losses and costs of words at every threshold.

    Attributes
    ----------
    gaps : float64 ndarray of shape (n_thresholds, n_words)
        Letters that differ from the answer with everything bought.
    bought : int64 ndarray of shape (n_thresholds, n_words)
        Letters with costly features.
    n_parts : int64 ndarray of shape (n_words,)
    longest : int
        Length of the longest word that the policy learned from.
    """

    gaps: NDArray[np.float64]
    bought: NDArray[np.int64]
    n_parts: NDArray[np.int64]
    longest: int


def serve(fitted: Fitted, policy: str = "iterated") -> Served:
    """Predict at every threshold with a policy whose priorities are log probabilities."""
    session = fitted.model.open(fitted.split.X_test)
    offsets = np.asarray(session.offsets)
    everything = session.decode(session.state())
    chosen: Policy = fitted.policies[policy]
    longest = max(len(word) for word in fitted.split.X)
    gaps, bought = [], []
    for probability in PROBABILITIES:
        found = acquire(chosen, session, float(np.log(probability)), max_parts=longest)
        gaps.append(fitted.model.output_.lost("disagreement", found.codes, everything, offsets))
        bought.append(np.add.reduceat(found.state[:, 0], offsets[:-1], dtype=np.int64))
    return Served(np.array(gaps), np.array(bought), np.diff(offsets).astype(np.int64), longest)


def certify_again(served: Sequence[Served], risk: float = RISK, drawings: int = DRAWINGS) -> list[Record]:
    """Draw words with replacement, certify, and compare with the mean over all words.

    The words of all rotations are the population, whose means are known.
    """
    gaps, bought = (np.concatenate([getattr(s, name) for s in served], axis=1) for name in ("gaps", "bought"))
    n_parts = np.concatenate([s.n_parts for s in served])
    longest = max(s.longest for s in served)
    truth, spend = gaps.sum(axis=1) / n_parts.sum(), bought.sum(axis=1) / n_parts.sum()
    fits = truth <= risk
    best = float(spend[fits].min()) if fits.any() else 1.0
    rng = np.random.default_rng(_SEED)
    n_drawn = max(FOLDS * len(n_parts) // 10, 2)
    records: list[Record] = []
    for drawing in range(drawings):
        some = rng.integers(len(n_parts), size=n_drawn)
        certificate = certify_structures(
            gaps[:, some],
            n_parts[some],
            np.log(PROBABILITIES),
            risk=risk,
            confidence=CONFIDENCE,
            max_parts=longest,
        )
        certified = certificate.status == "certified"
        at = int(np.argmin(np.abs(np.log(PROBABILITIES) - certificate.threshold))) if certified else -1
        records.append(
            {
                "drawing": drawing,
                "words": n_drawn,
                "status": certificate.status,
                "loss": float(truth[at]) if certified else 0.0,
                "share": float(spend[at]) if certified else 1.0,
                "best_share": best,
                "violated": int(certified and truth[at] > risk),
            }
        )
    return records
