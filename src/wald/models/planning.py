"""What planning may assume of a family of models: numbers and choices, with the benchmarks that retune them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

Precision = Literal["float32", "float64"]


class Rest(Enum):
    """Who evaluates a row that no exit decides, and whom a plan must beat.

    Attributes
    ----------
    MODEL
        The wrapped model evaluates rows that no lossless exit decides. A plan must be faster than the model.
    ENGINE
        The engine evaluates the remaining terms. A plan must be faster than the model.
    OWN_ENGINE
        As `ENGINE`; and the engine is so fast without exits that it serves the full model. A plan must beat that, too.
    ENGINE_OR_ONE_CALL
        As `OWN_ENGINE`; but the model labels many rows in one call where a lossless plan has no exits.
    ONE_CALL
        The engine, by a call of the model for all rows of a tile that no exit decides.
    """

    MODEL = "model"
    ENGINE = "engine"
    OWN_ENGINE = "own engine"
    ENGINE_OR_ONE_CALL = "engine, or one call"
    ONE_CALL = "one call"

    @property
    def serves_full(self) -> bool:
        """Whether the engine serves the full model."""
        return self in (Rest.OWN_ENGINE, Rest.ENGINE_OR_ONE_CALL)


@dataclass(frozen=True)
class Planning:
    """What planning may assume of a family of models.

    The defaults suit terms that a Python function computes and kernel machines. Comments name the settings of
    ``make bench`` that retune a number.

    Parameters
    ----------
    rest : Rest, default=Rest.MODEL
        Who evaluates a row that no exit decides.
    precisions : tuple of {"float32", "float64"}, default=("float64",)
        Precisions in which early stages may be evaluated, the fastest first.
    blocks : mapping of precision to int, default={}
        Number of terms that the engine evaluates at a time; 1 for a precision that is not named.
    own_weights : bool, default=False
        Whether orders and readouts shrink towards `coef` where plan rows carry little information. Use it where terms
        hardly cancel each other.
    orders_all_units : bool, default=False
        Whether greedy orders have all units even if units have several terms.
    sparse_rows : bool, default=True
        Whether early exit can save time on sparse rows, of which the wrapped model reads only the non-zeros.
    surrogate_candidates : int, default=0
        Number of best terms that `Comparing.surrogates` receives.
    certificate_share : float, default=0.5
        Share of the rows that ``certificate_fraction="auto"`` keeps for the certificate.
    most_splits : int, default=2
        Largest number of splits that ``n_splits="auto"`` tries.
    most_order_rows : int, default=24000
        Largest number of rows on which orders and readouts are fitted.
    boundary_width, boundary_floor : float, default=0.7, 0.1
        A row of confidence c weighs ``exp(-c^2 / 2 h^2) + boundary_floor`` in fits, where h is `boundary_width` times
        the median confidence: the smaller both are, the more do rows near the decision boundary count.
    timed_rows, timed_repeats : int, default=512, 2
        Number of rows, and of repetitions, with which predictions of the wrapped model are timed.
    """

    rest: Rest = Rest.MODEL
    precisions: tuple[Precision, ...] = ("float64",)
    blocks: Mapping[Precision, int] = field(default_factory=dict)
    own_weights: bool = False
    orders_all_units: bool = False
    sparse_rows: bool = True
    surrogate_candidates: int = 0
    certificate_share: float = 0.5  # svm-binary, svm-multiclass
    most_splits: int = 2  # svm-binary, svm-multiclass: a second split where it is free
    most_order_rows: int = 24_000  # svm-binary, svm-multiclass
    boundary_width: float = 0.7  # linear-units, svm-binary
    boundary_floor: float = 0.1  # linear-units, svm-binary
    timed_rows: int = 512  # never-slower: kernel machines take long enough on few rows
    timed_repeats: int = 2  # never-slower

    def block(self, precision: Precision) -> int:
        """Number of terms that the engine evaluates at a time."""
        return self.blocks.get(precision, 1)
