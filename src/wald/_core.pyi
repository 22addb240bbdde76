"""The compiled engine: rows as the caller keeps them, models as terms, and the loop over stages."""

from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

HAND_OVER: int
"""Code of a row within rounding of a tie: the wrapped estimator decides."""

NOT_FINITE: int
"""Code of a row that holds NaN or infinity."""

PENDING: int
"""Code of a row that needs a later stage than the call allows."""

def simd_levels() -> list[str]:
    """Instruction sets that this build and this machine both have, ``"baseline"`` first."""

def simd_level() -> str:
    """Return the instruction set in use: the last of `simd_levels`, or what ``WALD_SIMD`` names."""

def get_num_threads() -> int:
    """Return how many threads a call uses at most."""

def set_num_threads(n: int) -> None:
    """Set how many threads a call uses at most, whatever it asks for; less than 1 means 1."""

@final
class Rows:
    """Rows in the caller's memory, which is kept alive and not copied. Do not write into it meanwhile."""

    @staticmethod
    def dense(x: NDArray[Any]) -> Rows:
        """View a 2-D array of float32, float64 or uint8, with any strides."""

    @staticmethod
    def columns(n_rows: int, columns: Sequence[NDArray[Any] | None]) -> Rows:
        """View columns that lie apart, each float32, float64 or uint8; None where nobody will read."""

    @staticmethod
    def csr(
        values: NDArray[Any],
        indices: NDArray[np.int32],
        indptr: NDArray[np.int64],
        n_columns: int,
        ascending: bool = True,
    ) -> Rows:
        """View a CSR matrix, whose indices ascend within every row unless only online learners are to read it."""

    def take(self, ids: NDArray[np.int64]) -> None:
        """Let calls see the rows ``ids`` only, in that order."""

    def __len__(self) -> int: ...

@final
class Model:
    """A model as terms, packed for the engine. Never changes."""

    @staticmethod
    def kernel(
        *,
        kernel: Literal["rbf", "poly", "sigmoid"],
        gamma: float,
        coef0: float,
        degree: int,
        vectors: NDArray[np.float64],
        landmarks: NDArray[np.float64] | None,
        order: NDArray[np.int64],
        linear: NDArray[np.uint8],
        coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
        n_features: int,
        kept: NDArray[np.int32] | None,
        scale: NDArray[np.float64] | None,
        shift: NDArray[np.float64] | None,
        swing: float,
        fill: NDArray[np.float64] | None,
        single: bool,
    ) -> Model:
        """Pack a kernel machine.

        Parameters
        ----------
        kernel : {"rbf", "poly", "sigmoid"}
        gamma, coef0 : float
        degree : int
        vectors : float64 ndarray of shape (n_vectors, n_kept)
        landmarks : float64 ndarray of shape (n_landmarks, n_kept) or None
            Numbered from n_vectors on.
        order : int64 ndarray of shape (n_terms,)
            The vector or landmark of every term, in the plan's order.
        linear : uint8 ndarray of shape (n_terms,)
            1 where the term is the plain dot product.
        coef : float64 ndarray of shape (n_outputs, n_terms)
        intercept : float64 ndarray of shape (n_outputs,)
        n_features : int
            Of a raw row.
        kept : int32 ndarray of shape (n_kept,) or None
            The features that `vectors` has, ascending; None: all.
        scale, shift : float64 ndarray of shape (n_features,) or None
            A raw value becomes ``x * scale + shift`` first.
        swing : float
            Length of what the wrapped model's scaling adds and takes away again; for the error bounds.
        fill : float64 ndarray of shape (n_features,) or None
            Stands in for NaN, after scale and shift.
        single : bool
            Evaluate in float32. What lies within rounding of a tie is evaluated once more in float64.
        """

    @staticmethod
    def linear(
        *,
        order: NDArray[np.int32],
        coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
        fill: NDArray[np.float64] | None,
        magnitude: NDArray[np.float64],
        bias_magnitude: float,
        depth: float,
    ) -> Model:
        """Pack a linear model, which is always evaluated in float64.

        Parameters
        ----------
        order : int32 ndarray
            The columns that early stages read, in the plan's order.
        coef : float64 ndarray of shape (n_outputs, n_features)
            In the features' own order.
        intercept : float64 ndarray of shape (n_outputs,)
        fill : float64 ndarray of shape (n_features,) or None
            Stands in for NaN.
        magnitude : float64 ndarray of shape (n_features,)
            ``|x| @ magnitude + bias_magnitude`` bounds the sizes of all that the wrapped model adds up.
        bias_magnitude : float
        depth : float
            How many roundings of the wrapped model a value goes through at most.
        """

    def scores(
        self, rows: Rows, working: float, n_threads: int, single: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute full scores and their error bounds.

        Parameters
        ----------
        rows : Rows
        working : float
            Unit roundoff of the arithmetic in which the wrapped model computes.
        n_threads : int
        single : bool, default=False
            Compute in float32, for a kernel machine that was packed so.

        Returns
        -------
        scores : float64 ndarray of shape (n_rows, n_outputs)
            NaN where a row is not finite.
        errors : float64 ndarray of shape (n_rows,)
            How far any score may be from the wrapped model's own.
        """

    @property
    def n_features(self) -> int:
        """Features of a raw row."""

    @property
    def n_terms(self) -> int:
        """Terms that early stages can use."""

    @property
    def n_outputs(self) -> int:
        """Scores of a row."""

@final
class Engine:
    """A packed model with stages, readouts and thresholds. Never changes; threads may share it.

    Parameters
    ----------
    model : Model
    decision : {"sign", "argmax", "votes"}
        How full scores become labels.
    n_classes : int
    threshold : float
        Of "sign": the second label above it.
    tie_positive : bool
        Of "sign": the second label at the threshold, too.
    break_ties : bool
        Of "votes": tied votes are handed over.
    slack : float
        Widens the error bound within which rows are handed over.
    terms : int64 ndarray of shape (n_stages,)
        How many terms a stage has seen; must not fall.
    weights : sequence of float64 ndarray of shape (n_outputs, terms)
        The readout of every stage.
    bias : sequence of float64 ndarray of shape (n_outputs,)
    low, high : float64 ndarray of shape (n_stages,)
        One output: a row leaves when its score is below `low` or above `high`. Several: when its confidence
        is above `high`.
    """

    def __init__(
        self,
        model: Model,
        *,
        decision: Literal["sign", "argmax", "votes"],
        n_classes: int,
        threshold: float,
        tie_positive: bool,
        break_ties: bool,
        slack: float,
        terms: NDArray[np.int64],
        weights: Sequence[NDArray[np.float64]],
        bias: Sequence[NDArray[np.float64]],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
    ) -> None: ...
    def predict(
        self,
        rows: Rows,
        n_stages: int,
        at_end: Literal["full", "answer", "pending"],
        working: float,
        n_threads: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Compute codes and stages.

        Parameters
        ----------
        rows : Rows
        n_stages : int
            Early stages that may be used.
        at_end : {"full", "answer", "pending"}
            What happens to rows that none of them answers: the full model, the last stage's own answer, or
            the code `PENDING`.
        working : float
            Unit roundoff of the arithmetic in which the wrapped model computes.
        n_threads : int

        Returns
        -------
        codes : int32 ndarray of shape (n_rows,)
            Indices of labels, or `HAND_OVER`, `NOT_FINITE`, `PENDING`.
        stages : int32 ndarray of shape (n_rows,)
            Where a row left; the number of all early stages when it did not.
        """

    def predict_one(
        self, x: NDArray[Any], n_stages: int, at_end: Literal["full", "answer", "pending"], working: float
    ) -> tuple[int, int]:
        """Compute code and stage of one row, a 1-D array; see `predict`."""

    def look(self, rows: Rows, n_threads: int) -> Any:
        """See every row at every early stage; nobody leaves.

        Returns
        -------
        ndarray of shape (n_rows, n_stages), or a tuple of two
            One output: scores. Several: codes (int32) and confidence. Scores and confidence are float32 if
            `single`, otherwise float64.
        """

    @property
    def n_stages(self) -> int:
        """Number of early stages."""

    @property
    def single(self) -> bool:
        """Whether early stages compute in float32."""

@final
class OnlineLearner:
    """One binary online learner with its boundaries. See `wald.online` for what the settings mean."""

    def __init__(
        self,
        *,
        n_features: int,
        single: bool,
        rule: str,
        rate: float,
        negligible: float,
        intercept: bool,
        average: bool,
        attention: str,
        order: str,
        variance: str,
        error: str,
        width: float,
        target: float,
        audit_rate: float,
        budget: int,
        warm_up: int,
        ring: int,
        unit: int,
        line_offset: int,
        seed: int,
        costs: NDArray[np.float64] | None,
        watch_all: bool,
    ) -> None: ...
    def train(
        self,
        rows: Rows,
        positive: NDArray[np.uint8],
        weights: NDArray[np.float64] | None,
        negative_weight: float,
        positive_weight: float,
        shuffle: int | None,
    ) -> float:
        """Make one pass, in the rows' order or shuffled by a seed, and return the sum of the losses seen."""

    def answer(self, average: bool) -> tuple[NDArray[np.float64], float]:
        """Return weights and intercept, or their average over time."""

    def judge(self, rows: Rows, average: bool, width: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Margins of dense rows of unknown class, each left once its sign is clear, and the features read of each."""

    def state(self) -> dict[str, Any]:
        """Everything that training has changed."""

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state in place; ValueError if it is damaged or another learner's."""

    @property
    def n_columns(self) -> int:
        """Columns that dense rows must have: the features, and zeros up to a register's width."""

    @property
    def n_steps(self) -> int: ...
    @property
    def n_updates(self) -> int: ...
    @property
    def n_fits(self) -> int: ...
    @property
    def features_seen(self) -> int: ...
    @property
    def cost_seen(self) -> float: ...
    @property
    def audits(self) -> NDArray[np.int64]:
        """Audited rows, those stopped, those needed, those stopped although needed; by class: shape (2, 4)."""

    @property
    def truth(self) -> NDArray[np.int64]:
        """The same counts over all rows after the warm-up, if `watch_all` is set."""
