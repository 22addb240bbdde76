"""The compiled engine. Written by `make stub`: edit the bindings in cpp/bindings instead."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy
import numpy.typing
from numpy.typing import NDArray

EARLY: int = 0

FULL: int = 1

OUT_OF_BUDGET: int = 2

HANDED_OVER: int = 3

PENDING: int = 4

NOT_FINITE: int = 5

LIMITS: dict[str, int]

def simd_levels() -> list[str]:
    """
    Instruction sets that this build and this machine both have, ``"baseline"`` first.
    """

def simd_level() -> str:
    """
    Return the instruction set in use: the last of `simd_levels`, or what ``WALD_SIMD`` names.
    """

def get_num_threads() -> int:
    """Return how many threads a call uses at most."""

def set_num_threads(n: int) -> None:
    """
    Set the largest number of threads that a call uses; less than 1 means 1.
    """

class Rows:
    """
    Rows in the caller's memory, which is kept alive and not copied. Do not write into it meanwhile.
    """

    @staticmethod
    def dense(x: NDArray[Any]) -> Rows:
        """View a 2-D array of float32, float64 or uint8, with any strides."""

    @staticmethod
    def columns(n_rows: int, columns: Sequence[NDArray[Any] | None]) -> Rows:
        """
        View columns that lie apart, each float32, float64 or uint8; None for a column that no call reads.
        """

    def add(
        self, numbers: Sequence[int], arrays: list[Any], lines: NDArray[numpy.int64] | None = None
    ) -> tuple[list[str], list[int]]:
        """
        Add columns that lie apart.

        Parameters
        ----------
        numbers : sequence of int
            Numbers of the columns.
        arrays : list
            For each column a 1-D array; with `lines`, a 2-D array that has it as a row.
        lines : int64 ndarray, default=None
            Number of the row of each array.

        Returns
        -------
        dtypes : list of str
            Dtypes of the columns that were added.
        others : list of int
            Places in `arrays` of what is no NumPy array, has another dtype, or is not aligned: not added.
        """

    @staticmethod
    def csr(
        values: NDArray[Any],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int64],
        n_columns: int,
        ascending: bool = True,
    ) -> Rows:
        """
        View a CSR matrix. Its indices must ascend within every row, unless only online learners read it.
        """

    def take(self, ids: NDArray[numpy.int64]) -> None:
        """Let calls see the rows ``ids`` only, in that order."""

    def largest_magnitude(self, n_threads: int) -> float:
        """
        Largest absolute value of all rows; infinity or NaN if one is there. Bytes count as 255.
        """

    def __len__(self) -> int: ...

class Ranges:
    """Ranges of the features, with which rows are compared. Never changes."""

    def __init__(self, low: NDArray[numpy.float64], high: NDArray[numpy.float64], allow_nan: bool) -> None:
        """Infinity is always outside, and NaN unless ``allow_nan``."""

    def outside(self, rows: Rows, ids: NDArray[numpy.int64], n_threads: int) -> NDArray[numpy.bool_]:
        """Whether each of the rows ``ids``, which ascend, holds a value outside."""

class Keys:
    """
    The known categories of a column. Threads may share it.

    Parameters
    ----------
    known : list of str, or ndarray of float64 or int64
        Distinct, without NaN.
    plain : callable
        From an object that is neither None nor of the types str, float, int and bool, to one of these that equals it;
        to Ellipsis for pandas.NA, and to None for anything that equals no category.
    """

    def __init__(self, known: list[str] | NDArray[Any], plain: Callable[[Any], Any]) -> None: ...
    def state_of(self, value: Any) -> int:
        """Number of the category that an object equals, or of what else it is."""

class Lookup:
    """
    The values of the states of a column's cells, chunk by chunk, as `wald.sources.cells` has them.

    ``null`` is the state of cells that are missing: those whose bit, counted from ``first_bit``, is not set.

    Parameters
    ----------
    keys : Keys
    values : ndarray of shape (n_states,)
        Value of each state: uint8, int32, float32 or float64.
    refused : ndarray of shape (n_states,)
        Whether a state is refused.
    n_rows : int
        Number of all cells.
    """

    def __init__(self, keys: Keys, values: NDArray[Any], refused: NDArray[numpy.bool_], n_rows: int) -> None: ...
    def texts(
        self, n: int, first: int, width: int, offsets: Any, data: Any, bits: Any, first_bit: int, null: int
    ) -> None:
        """
        Add n texts, whose offsets of 4 or 8 bytes begin with number ``first``.
        """

    def views(
        self, n: int, first: int, views: Any, data: tuple[Any, ...], bits: Any, first_bit: int, null: int
    ) -> None:
        """Add n texts, whose views of 16 bytes begin with number ``first``."""

    def objects(self, values: Any) -> None:
        """Add Python's objects, which an array of one axis holds."""

    def wide(self, values: Any) -> None:
        """Add the texts of NumPy's array of one axis."""

    def numbers(self, values: NDArray[Any], bits: Any, first_bit: int, null: int) -> None:
        """Add numbers of bool, integers, float32 or float64."""

    def codes(
        self, codes: NDArray[Any], entries: NDArray[numpy.int32], lowest: int, bits: Any, first_bit: int, null: int
    ) -> None:
        """
        Add codes of entries, whose states are given; the first of them is that of the code ``lowest``.
        """

    def result(self, rows: NDArray[numpy.int64] | None = None) -> tuple[NDArray[Any], int]:
        """
        The values of some cells, or of all, and the place of the first that is refused, or -1.
        """

    def missing(self) -> tuple[bool, bool, bool]:
        """
        Whether None, NaN and pandas.NA were met among the cells that were read.
        """

class LateRows:
    """
    Columns whose cells are read when a row needs them, if it does.

    Parameters
    ----------
    n_rows : int
    columns : list
        For each column an array of numbers or of booleans, or a `Lookup`; None for a column that no call reads. They are
        kept alive, and not copied. Do not write into them meanwhile.
    """

    def __init__(self, n_rows: int, columns: list[Any]) -> None: ...
    def __len__(self) -> int: ...

def interpolated(
    values: NDArray[Any], quantiles: NDArray[numpy.float64], references: NDArray[numpy.float64]
) -> NDArray[numpy.float64]:
    """
    References of numbers among quantiles: the mean of NumPy's `interp` upwards and downwards.

    Parameters
    ----------
    values : float32 or float64 ndarray of shape (n,)
    quantiles : float64 ndarray of shape (n_quantiles,)
        Ascending, at least three.
    references : float64 ndarray of shape (n_quantiles,)

    Returns
    -------
    float64 ndarray of shape (n,)
        NaN where a value is NaN, or where a slope is no finite number.
    """

def splines(values: NDArray[Any], knots: NDArray[numpy.float64], degree: int) -> NDArray[Any]:
    """
    B-splines of each column, constant beyond its outer knots, with the bits of SciPy's `BSpline`.

    Parameters
    ----------
    values : float32 or float64 ndarray of shape (n_rows, n_columns)
    knots : float64 ndarray of shape (n_columns, n_knots)
        Ascending; with those beyond the first and the last number, `degree` on each side.
    degree : int
        1 to 5.

    Returns
    -------
    ndarray of shape (n_rows, n_columns * (n_knots - degree - 1))
        In the dtype of the values; zeros where a value is NaN.
    """

class Model:
    """A model as terms, packed for the engine. Never changes."""

    @staticmethod
    def kernel(described: dict[str, Any]) -> Model:
        """
        Pack a kernel machine.

        Parameters
        ----------
        described : dict
            With the following entries:

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
                Number of features of a raw row.
            kept : int32 ndarray of shape (n_kept,) or None
                The features that `vectors` has, ascending; None: all.
            scale, shift : float64 ndarray of shape (n_features,) or None
                A raw value becomes ``x * scale + shift`` first.
            scaling_magnitude : float
                Norm of the largest values inside the wrapped model's scaling; they cancel, their rounding errors do not.
            fill : float64 ndarray of shape (n_features,) or None
                Stands in for NaN, after scale and shift.
            single : bool
                Evaluate in float32. Rows within rounding of a tie are evaluated again in float64.
        """

    @staticmethod
    def linear(
        *,
        order: NDArray[numpy.int32],
        coef: NDArray[numpy.float64],
        intercept: NDArray[numpy.float64],
        fill: NDArray[numpy.float64] | None,
        magnitude: NDArray[numpy.float64],
        bias_magnitude: float,
        depth: float,
    ) -> Model:
        """
        Pack a linear model, which is always evaluated in float64.

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
            ``|x| @ magnitude + bias_magnitude`` bounds the magnitudes of all numbers that the wrapped model adds.
        bias_magnitude : float
        depth : float
            Largest number of roundings that a value goes through in the wrapped model.
        """

    def scores(
        self, rows: Rows, working: float, n_threads: int, single: bool = False
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Compute full scores and their error bounds.

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

    def scores_of_one(self, x: Any) -> float | list[float] | None:
        """
        Compute the full scores of one row.

        None stands for everything but a 1-D array of the model's columns that the engine reads in place, and for a row that
        is not finite.
        """

    def values(self, rows: Rows, n_threads: int) -> NDArray[numpy.float64]:
        """
        Compute the values of all terms (n_rows, n_terms), in packed order; NaN for rows that are not finite.
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

    @staticmethod
    def trees(terms: object, order: NDArray[numpy.int64]) -> Model:
        """
        Pack a tree ensemble.

        Parameters
        ----------
        terms : object
            The attributes of `wald.models.TreeTerms`, whose `trees` has those of `wald.models.Trees`.
        order : int64 ndarray
            The trees of early stages, in the plan's order.
        """

    def reordered(self, order: NDArray[numpy.int64]) -> Model:
        """
        Return the same tree ensemble with another order of its early stages' trees; nothing is packed again.
        """

    def leaves(self, rows: Rows, n_threads: int) -> NDArray[numpy.int32]:
        """
        Find the leaf of each tree, in the order of the early stages.

        Returns
        -------
        int32 ndarray of shape (n_rows, n_terms)
            Of leaves with the same value, one may stand for all.
        """

    @staticmethod
    def columns(described: dict[str, Any]) -> Model:
        """
        Pack a sum of functions of raw columns, which is always evaluated in float64.

        Parameters
        ----------
        described : dict
            With the following entries:

            order : int64 ndarray
                The terms that early stages read, in the plan's order: ``column * n_outputs + output``.
            intercept : float64 ndarray of shape (n_outputs,)
            weight, at_nan : float64 ndarray of shape (n_outputs, n_columns)
                A number x adds ``weight * x``, a NaN `at_nan`; a row is refused where `at_nan` is not finite.
            n_states : int64 ndarray of shape (n_columns,)
                Number of states of each column; 0: it holds numbers.
            table : float64 ndarray of shape (n_states.sum(), n_outputs)
                What each state adds; a row is refused where this is not finite.
            magnitude, nan_magnitude : float64 ndarray of shape (n_columns,)
                ``magnitude * |x|``, or `nan_magnitude` at NaN, bounds what the wrapped model adds up for a number.
            table_magnitude : float64 ndarray of shape (n_states.sum(),)
                The same for each state.
            bias_magnitude : float
                The same for what does not depend on the row.
            depth : float
                Largest number of roundings that a value goes through in the wrapped model.
        """

class Engine:
    """
    A packed model with stages, readouts and thresholds. Never changes; threads may share it.

    Parameters
    ----------
    model : Model
    decided : object
        What `wald.engine.Decided` says: `tie_margin`, and `decision` with the attributes of `wald.outputs.Labels`.
    stages : object
        The attributes of `wald.engine.Stages`. Its `passes` and `race` are read where there are `sums`.
    low, high : float64 ndarray of shape (n_stages,)
        The decision ``"sign"``: a row leaves when its score is below `low` or above `high`. All others: when its
        confidence is above `high`.
    costs : float64 ndarray of shape (n_stages + 1,), default=None
        What a row pays that leaves at each stage, and last one that does not; None: nothing.
    """

    def __init__(
        self,
        model: Model,
        decided: object,
        stages: object,
        low: NDArray[numpy.float64],
        high: NDArray[numpy.float64],
        costs: NDArray[numpy.float64] | None = None,
    ) -> None: ...
    def columns_read(self, n_stages: int | None) -> list[int] | None:
        """
        Return the columns that the first stages read, or full evaluation for None; None stands for all columns.
        """

    @overload
    def predict(
        self, rows: Rows, n_stages: int, at_end: Literal["full", "answer", "pending"], working: float, n_threads: int
    ) -> tuple[NDArray[Any], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Answer rows.

        Parameters
        ----------
        rows : Rows
        n_stages : int
            Early stages that may be used.
        at_end : {"full", "answer", "pending"}
            The answer to rows that no stage decides: the full model's, the last stage's own, or
            the status `PENDING`.
        working : float
            Unit roundoff of the arithmetic in which the wrapped model computes.
        n_threads : int

        Returns
        -------
        answers : int32 or float64 ndarray of shape (n_rows,), or (n_rows, n_outputs)
            Indices of labels; 0 for rows without one. Where values have a tolerance, scores: estimates of the rows that
            leave early; NaN for rows without one.
        stages : int32 ndarray of shape (n_rows,)
            Where a row left; the number of all early stages when it did not.
        paid : float64 ndarray of shape (n_rows,)
            The cost of this stage, less 1 for each of its terms that the row did without.
        status : uint8 ndarray of shape (n_rows,)
            `EARLY`, `FULL` or `OUT_OF_BUDGET`; or for rows without a label, `HANDED_OVER`, `PENDING` or `NOT_FINITE`.
        """

    @overload
    def predict(
        self,
        rows: LateRows,
        n_stages: int,
        at_end: Literal["full", "answer", "pending"],
        working: float,
        n_threads: int,
    ) -> tuple[NDArray[Any], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Answer rows in the same way, reading the cells of those that need them.

        Raises
        ------
        ValueError
            If the memory of a column is not what its container says, or holds an object of an unusual type.
        """

    def predict_one(
        self, x: NDArray[Any], n_stages: int, at_end: Literal["full", "answer", "pending"], working: float
    ) -> tuple[Any, int, float, int]:
        """
        Answer one row, a 1-D array, as `predict` does: code or score, stage, cost and status.
        """

    def trace(self, rows: Rows, n_threads: int) -> Any:
        """
        Evaluate every row at every early stage; no row leaves.

        Returns
        -------
        ndarray of shape (n_rows, n_stages) or (n_rows, n_stages, n_outputs), or a tuple of two
            One output, or several with a tolerance: scores. Several others: codes (int32) and confidence. Scores and confidence are float32 if
            `single`, otherwise float64.
        """

    @overload
    def decide(self, scores: NDArray[numpy.float32], error: float) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint8]]:
        """
        Turn the wrapped model's own full scores into codes.

        Parameters
        ----------
        scores : float32 or float64 ndarray of shape (n_rows, n_outputs)
        error : float
            How far each score may be off.

        Returns
        -------
        codes : int32 ndarray of shape (n_rows,)
        status : uint8 ndarray of shape (n_rows,)
            `FULL`; `HANDED_OVER` where scores within the error, or within the engine's tie margin, give another label.
        """

    @overload
    def decide(
        self, scores: NDArray[numpy.float64], error: float
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint8]]: ...
    @property
    def n_stages(self) -> int:
        """Number of early stages."""

    @property
    def single(self) -> bool:
        """Whether early stages compute in float32."""

class FixedCalls:
    """
    An engine whose calls are always the same, for rows in arrays. Threads may share it.

    Parameters
    ----------
    engine : Engine
    n_stages : int
    at_end : {"full", "answer", "pending"}
    working : sequence of three floats
        As for `Engine.predict`, for rows of float32, float64 and uint8.
    labels : tuple
        The label of each code.
    """

    def __init__(
        self, engine: Engine, n_stages: int, at_end: str, working: Sequence[float], labels: tuple[Any, ...]
    ) -> None: ...
    def label(self, x: Any, with_cost: bool) -> Any:
        """
        Return the label of a row, or its score where values have a tolerance; or a tuple of this and its cost.

        None stands for everything but a 1-D array of the model's columns that the engine reads in place, and for a row
        that is left without a label.
        """

    def decided(self, X: Any) -> tuple[int, int, float, int] | None:
        """
        Code, stage, cost and status of the only row of a 2-D array, or None in the same cases.
        """

    def codes(self, X: Any, n_threads: int) -> tuple[NDArray[numpy.int32], NDArray[numpy.int64]] | None:
        """
        Codes of all rows of a 2-D array, and the numbers of those that are handed over, whose code is 0; None if it does not read the array in place, or refuses a row.
        """

class Record:
    """
    Single rows that are dicts, read and answered by an engine. Threads may share it.

    Parameters
    ----------
    names : list of str
        All names that a dict must have.
    described : list of dict
        What is written to the columns of the model, each with the following entries:

        name : int
            Number of the name whose value is read.
        written : int64 ndarray of shape (n_written,)
            Columns that are written.
        keys : Keys or None
            None for numbers.
        edges : float64 ndarray or None
            Ascending; the state of a number is how many of them it exceeds, after the steps. None for other numbers.
        reaches : bool
            Whether a number that equals an edge counts as above it.
        booleans : bool
            Whether True and False are read as 1 and 0; if not, the dict is left to others.
        rows : int64 ndarray of shape (n_states,)
            Row of `values` for each state of the keys; below 0 where the dict is left to others.
        values : float64 ndarray of shape (n_rows, n_written)
        noted : int64 ndarray
            States at which `note` is called.
        note : callable or None
            note(name), with the number of the name.
        steps : list of (str, float)
            What happens to a number: "fill" replaces NaN; "subtract", "divide", "multiply" and "add".
    width : int
        Number of columns of the model.
    answers : FixedCalls
    """

    def __init__(self, names: list[str], described: list[dict[str, Any]], width: int, answers: FixedCalls) -> None: ...
    def label(self, x: Any, with_cost: bool) -> Any:
        """
        Return the label of a row, or a tuple of label and cost; None for what others must read.
        """

    def decided(self, x: Any) -> tuple[int, int, float, int] | None:
        """Code, stage, cost and status of a row, or None in the same cases."""

class RecordScores:
    """
    Single rows that are dicts, read and scored in full. Threads may share it.

    Parameters
    ----------
    names, described, width
        As for `Record`.
    model : Model or None, default=None
        Whose full scores are wanted.
    coef : float64 ndarray of shape (n_outputs, width), or None, default=None
    intercept : float64 ndarray of shape (n_outputs,), or None, default=None
        In place of a model: the products of a row and `coef` are added up in the order of the columns, and then the
        intercept.
    """

    def __init__(
        self,
        names: list[str],
        described: list[dict[str, Any]],
        width: int,
        model: Model | None = None,
        coef: NDArray[numpy.float64] | None = None,
        intercept: NDArray[numpy.float64] | None = None,
    ) -> None: ...
    def values(self, x: Any) -> NDArray[numpy.float64] | None:
        """
        Return the columns of a row, (1, width); None for what others must read.
        """

    def scores(self, x: Any) -> NDArray[numpy.float64] | None:
        """
        Return the full scores of a row, (1, n_outputs); None for what others must read, and if one is not finite.
        """

class ChainGroup:
    """
    Features of one group, added part by part. Arrays are not copied and must not be changed.
    """

    def __init__(self, n_parts: int, n_features: int) -> None: ...
    def add_dense(self, values: NDArray[numpy.float32], parts: NDArray[numpy.int64]) -> int:
        """
        Add rows (n, n_features) in C order for n ascending parts that have none; returns -1 or, without adding any, the first row that is not finite.
        """

    def add_csr(
        self,
        values: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int64],
        parts: NDArray[numpy.int64],
    ) -> int:
        """
        Add CSR rows whose indices ascend within a row; returns the same as `add_dense`.
        """

    @property
    def n_features(self) -> int:
        """Number of features."""

class Chain:
    """
    Weights of a linear chain, and inference with them; pickles.

    Bit k of ``states`` (parts,) tells whether a part has costly group k. ``chosen`` names the sequences to answer for, in
    order. ``cheap`` (all parts, n_labels) may hold the node scores of parts without costly groups, as from `scores`.
    """

    def __init__(self, n_labels: int, sizes: Sequence[int], own: bool) -> None: ...
    def scores(
        self,
        groups: Sequence[ChainGroup],
        states: NDArray[numpy.uint8],
        offsets: NDArray[numpy.int64],
        chosen: NDArray[numpy.int64] | None,
        cheap: NDArray[numpy.float32] | None,
        n_threads: int,
    ) -> NDArray[numpy.float32]:
        """Node scores (parts, n_labels)."""

    def predict(
        self,
        groups: Sequence[ChainGroup],
        states: NDArray[numpy.uint8],
        offsets: NDArray[numpy.int64],
        chosen: NDArray[numpy.int64] | None,
        cheap: NDArray[numpy.float32] | None,
        n_threads: int,
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]:
        """Labels (parts,) and scores (sequences,) of the best paths."""

    def evidence(
        self,
        groups: Sequence[ChainGroup],
        states: NDArray[numpy.uint8],
        offsets: NDArray[numpy.int64],
        chosen: NDArray[numpy.int64] | None,
        cheap: NDArray[numpy.float32] | None,
        scale: float,
        n_threads: int,
    ) -> NDArray[numpy.float32]:
        """Evidence for the answers (parts, 11); see `ChainSession.evidence`."""

    def decode(
        self, node: NDArray[numpy.float32], offsets: NDArray[numpy.int64], n_threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]:
        """
        Labels (parts,) and scores (sequences,) of the best paths, from node scores.
        """

    def max_marginals(
        self, node: NDArray[numpy.float32], offsets: NDArray[numpy.int64], n_threads: int
    ) -> NDArray[numpy.float32]:
        """Score (parts, n_labels) of the best path through each label."""

    def marginals(
        self, node: NDArray[numpy.float32], offsets: NDArray[numpy.int64], scale: float, n_threads: int
    ) -> NDArray[numpy.float32]:
        """Probabilities (parts, n_labels) under exp(scale * score)."""

    def best_paths(
        self, node: NDArray[numpy.float32], offsets: NDArray[numpy.int64], k: int, n_threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]:
        """
        Labels (parts * k,), the k paths of a sequence one after the other, and scores (sequences, k).
        """

    @staticmethod
    def part_features(node: NDArray[numpy.float32], every: bool) -> NDArray[numpy.float32]:
        """
        Evidence from node scores (parts, 2 or 2 + n_labels); see `ChainSession.part_features`.
        """

    def finite(self) -> bool:
        """Whether no weight is NaN or infinite, but for what is ruled out."""

    def rule_out(self, first: NDArray[numpy.uint8], steps: NDArray[numpy.uint8]) -> None:
        """
        Rule out labels (n_labels,) at the beginning of a sequence, and steps (n_labels * n_labels,) from label to label: where an entry is not 0, the weight becomes -infinity.
        """

    def table(self) -> NDArray[numpy.float32]:
        """
        Weights (rows, n_labels): a row for each state, for the first and the last place, for each previous label, and for each feature of each block.
        """

    def fill(self, table: NDArray[numpy.float32]) -> None:
        """Set the weights from such a table."""

    def __getstate__(self) -> tuple[int, list[int], bool, NDArray[numpy.float32]]: ...
    def __setstate__(self, arg: tuple[int, Sequence[int], bool, NDArray[numpy.float32]], /) -> None: ...

class ChainLesson:
    """
    Labelled sequences, and the rule that draws the states under which they are seen.
    """

    def __init__(
        self,
        model: Chain,
        groups: Sequence[ChainGroup],
        labels: NDArray[numpy.int32],
        offsets: NDArray[numpy.int64],
        random: bool,
        seed: int,
    ) -> None: ...

class ChainPerceptron:
    """The structured perceptron."""

    def __init__(self, start: Chain) -> None: ...
    def epoch(self, lesson: ChainLesson, order: NDArray[numpy.int64], epoch: int, margin: float) -> int:
        """
        Run one epoch over the sequences; return the number of labels that were wrong or within the margin.
        """

    def __copy__(self) -> ChainPerceptron:
        """Return an independent copy."""

    def current(self) -> Chain:
        """Return the current weights."""

    def averaged(self) -> Chain:
        """Return the weights, averaged over all steps."""

class ChainFrankWolfe:
    """The structural SVM by block-coordinate Frank-Wolfe."""

    def __init__(self, start: Chain, lesson: ChainLesson, strength: float, copies: int) -> None: ...
    def epoch(self, order: NDArray[numpy.int64]) -> None:
        """Run one epoch over sequence * copies + copy."""

    def gap(self, average: bool) -> float:
        """Return the duality gap of the last weights or of the averaged ones."""

    def current(self) -> Chain:
        """Return the current weights."""

    def averaged(self) -> Chain:
        """Return the weights, averaged over all steps; later steps count more."""

def hash_names(
    sequences: list[list[Any]], n_columns: int, numbers: tuple[type, ...], flatten: Callable[[Any], dict[bytes, float]]
) -> tuple[NDArray[numpy.float32], NDArray[numpy.int32], NDArray[numpy.int64]]:
    """
    Hash the features of all parts of all sequences into a canonical CSR matrix: values, columns and indptr.

    A part is a dict or list of features. The types ``numbers`` count as numbers, in addition to float and int. ``flatten``
    turns a part that holds other types into a dict.
    """

def name_columns(
    sequences: list[list[Any]], n_columns: int, numbers: tuple[type, ...], flatten: Callable[[Any], dict[bytes, float]]
) -> dict[bytes, tuple[int, bool]]:
    """
    Names of all features of these parts, with their columns, and whether values are negated there.
    """

class ChainTagger:
    """
    Labels of sequences of parts by name, in one call. Threads may share it.

    Parameters
    ----------
    chain : Chain
        Of one group, which has the columns that names are hashed to.
    labels : list
        The objects that answers are made of.
    numbers, flatten
        As those of `hash_names`.
    """

    def __init__(
        self, chain: Chain, labels: list[Any], numbers: tuple[type, ...], flatten: Callable[[Any], dict[bytes, float]]
    ) -> None: ...
    def predict(self, sequences: Any, n_threads: int) -> list[list[Any]] | None:
        """
        Labels of every sequence; None for what are no lists of parts by name, or for values that are not finite.
        """

    def predict_one(self, sequence: Any) -> list[Any] | None:
        """Labels of one sequence, or None."""

class Forest:
    """
    Sums of regression trees, for finite rows.

    Parameters
    ----------
    base : float
        The number to which the trees' values are added.
    ends : int64 ndarray of shape (n_trees + 1,)
        Tree t has the nodes ``ends[t]`` to ``ends[t + 1]``, the root first.
    feature, left, right : int32 ndarray of shape (n_nodes,)
        Children are indices within the tree; both are 0 at a leaf.
    threshold, value : float64 ndarray of shape (n_nodes,)
        A row goes left where its feature is at most the threshold.
    n_features : int
    """

    def __init__(
        self,
        *,
        base: float,
        ends: NDArray[numpy.int64],
        feature: NDArray[numpy.int32],
        threshold: NDArray[numpy.float64],
        left: NDArray[numpy.int32],
        right: NDArray[numpy.int32],
        value: NDArray[numpy.float64],
        n_features: int,
    ) -> None: ...
    def __call__(self, rows: NDArray[numpy.float32]) -> NDArray[numpy.float64]:
        """
        Sums (n,) for rows (n, n_features) in C order; the values of the trees are added in their order.
        """

class Treebank:
    """The text of a CoNLL file and the positions of its words."""

    @staticmethod
    def read(text: bytes, name: str, conllx: bool = False) -> Treebank:
        """Read and check a text; errors give `name` and the line."""

    def __len__(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    def heads(self) -> NDArray[numpy.int32]:
        """Heads as in the text, -1 where none is given."""

    def offsets(self) -> NDArray[numpy.int64]:
        """First word of every sentence, and the number of words."""

    def column(self, column: int, first: int, last: int) -> list[str]:
        """One of the ten columns of words first to last."""

    def line(self, sentence: int) -> int:
        """Line of the sentence's first word, counted from 1."""

    def sentence(self, sentence: int) -> bytes:
        """One sentence with its comments and the empty line behind it."""

    def with_tags(self, upos: Sequence[str], xpos: Sequence[str], codes: NDArray[numpy.int32]) -> Treebank:
        """
        The same sentences with other tags, upos[codes[w]] and xpos[codes[w]]; no names leave a column as it is.
        """

    def text(
        self,
        heads: NDArray[numpy.int32] | None = None,
        names: Sequence[str] = [],
        relations: NDArray[numpy.int32] | None = None,
    ) -> bytes:
        """Return the text, with other heads and relations if they are given."""

def decode_tree(
    scores: NDArray[numpy.float32], projective: bool, single_root: bool, sparse: bool = False
) -> NDArray[numpy.int32]:
    """
    Heads of the words of the best tree over a matrix [head, modifier], word 0 the root.
    """

def parser_templates() -> dict[str, list[str]]:
    """
    Return the templates of the parser's features, in the order of their numbers; relations from 4096 on.
    """

class ParserModel:
    """A trained parser. Never changes."""

    def __init__(
        self,
        fine: Sequence[str],
        coarse: Sequence[str],
        longest: NDArray[numpy.uint16],
        bits: int,
        weights: NDArray[numpy.float32],
        labels: Sequence[str],
        label_bits: int,
        label_weights: NDArray[numpy.float32],
        pruner_bits: int,
        pruner: NDArray[numpy.float32],
    ) -> None: ...
    def state(self) -> tuple[Any, ...]:
        """Return what the constructor takes."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def prunes(self) -> bool:
        """Whether there is a pruner."""

    def parse(
        self, treebank: Treebank, settings: dict[str, Any], n_threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64], int]:
        """
        Parse all sentences.

        Returns heads, numbers of relations (none if the parser has not learned any), seconds (features, scores, decoding,
        relations) and the number of arcs that groups scored.
        """

    def arcs(self, treebank: Treebank, sentence: int, settings: dict[str, Any]) -> NDArray[numpy.int32]:
        """Heads and modifiers of the arcs that the groups score."""

    def arc_scores(
        self, treebank: Treebank, sentence: int, group: int, arcs: NDArray[numpy.int32]
    ) -> NDArray[numpy.float32]:
        """Scores of chosen arcs by one group of features, or by the pruner, 2."""

class ParserLearner:
    """A learner of a parser's weights."""

    def __init__(self, treebank: Treebank, *, bits: int, label_bits: int, pruner_bits: int) -> None: ...
    def see(self, treebank: Treebank) -> None:
        """Extend the length filter by the arcs of a treebank."""

    def learn(
        self,
        treebank: Treebank,
        order: NDArray[numpy.int64],
        settings: dict[str, Any],
        seed: int,
        pruner_rate: float = 0.0,
    ) -> None:
        """
        Run one epoch over sentences that were seen; with a rate, for the pruner, too, if there is one.
        """

    def model(self) -> ParserModel:
        """Return the averaged weights."""

class ParserSession:
    """
    Sentences that are parsed repeatedly, under states with one byte for every word.
    """

    def __init__(self, model: ParserModel, treebank: Treebank, settings: dict[str, Any], n_threads: int) -> None: ...
    def decode(self, state: NDArray[numpy.uint8], examples: NDArray[numpy.int64] | None = None) -> NDArray[numpy.int32]:
        """Heads of the words of some sentences, in their order."""

    def evidence(
        self, state: NDArray[numpy.uint8], examples: NDArray[numpy.int64] | None = None
    ) -> NDArray[numpy.float32]:
        """
        Evidence of the scores for every word of some sentences: (n_words, 10).
        """

    def features(self) -> NDArray[numpy.float32]:
        """Features of all words that need no parsing: (n_words, d)."""

    @property
    def seconds(self) -> tuple[float, float]:
        """Seconds by group, over all threads."""

    @property
    def extracted(self) -> int:
        """Words with the costly group."""

def relations(parser: ParserModel, treebank: Treebank, heads: NDArray[numpy.int32]) -> NDArray[numpy.int32]:
    """Numbers of the relations of words whose heads are known."""

WORD_TEMPLATES: int = 49

class WordFeatures:
    """Features of words and their neighbours. Never changes."""

    def __init__(
        self,
        words: NDArray[numpy.uint64],
        classes: NDArray[numpy.int32],
        keys: NDArray[numpy.uint64],
        ends: NDArray[numpy.int64],
    ) -> None: ...
    @property
    def n_features(self) -> int: ...
    def keys(self, treebank: Treebank) -> NDArray[numpy.uint64]:
        """Keys (n_words, WORD_TEMPLATES), known or not."""

    def rows(self, treebank: Treebank) -> tuple[NDArray[numpy.float32], NDArray[numpy.int32], NDArray[numpy.int64]]:
        """Ones, columns and row ends of the known features, as CSR has them."""

    @staticmethod
    def lower(treebank: Treebank) -> NDArray[numpy.uint64]:
        """Hashes of the words in lower case."""

def parts_of(
    offsets: NDArray[numpy.int64], examples: NDArray[numpy.int64]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    The parts of some examples, and the bounds of each example's parts among them.
    """

def part_rows(
    known: NDArray[numpy.float32],
    state: NDArray[numpy.bool_],
    alone: NDArray[numpy.float32] | None,
    offsets: NDArray[numpy.int64],
    examples: NDArray[numpy.int64],
    simple: bool = False,
) -> NDArray[numpy.float32]:
    """
    Features of each part: evidence and state, also of its neighbours and on average, places, and ``alone``.

    ``known``, the evidence, has rows for the parts of these examples; ``state`` and ``alone`` have rows for all parts.
    Simple ones have no averages; then ``known`` has rows for all parts, too.
    """

def part_chances(
    forest: Forest,
    known: NDArray[numpy.float32],
    state: NDArray[numpy.bool_],
    alone: NDArray[numpy.float32] | None,
    offsets: NDArray[numpy.int64],
    examples: NDArray[numpy.int64],
) -> NDArray[numpy.float64]:
    """
    Logarithms of the probabilities that a forest gives for these rows; -inf for parts that lack no group.
    """

def choose(
    priority: NDArray[numpy.float64],
    lacks: NDArray[numpy.bool_],
    ends: NDArray[numpy.int64],
    threshold: float,
    pace: float,
    per_part: float,
    costs: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.bool_], NDArray[numpy.bool_], NDArray[numpy.bool_]]:
    """
    Choose the best share ``pace`` of each example's items above the threshold, rounded up, at least one.

    Of these, the best ones that the example can afford, ``per_part`` for each of its parts: (n_parts, K). And whether
    each example buys something, and whether something is missing then.
    """

class GroupRace:
    """
    Early exit for the first places of groups of rows. Never changes; threads may share it.

    Parameters
    ----------
    model : Model
        A tree ensemble with one output, packed in the order of the stages.
    stages : object
        The attributes of `wald.engine.Stages`, with running sums. Each stage is a pass.
    usual : float64 ndarray of shape (n_stages,)
        Usual error of each stage's estimates. That of a row is this times the root of its variance, at least
        `least_variance`, if the readouts have a spread.
    """

    def __init__(self, model: Model, stages: object, usual: NDArray[numpy.float64]) -> None: ...
    def rank(
        self, rows: Rows, ends: NDArray[numpy.int64], k: int, q: float, n_threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
        """
        Find the first rows of each group.

        Parameters
        ----------
        rows : Rows
            Group after group; `Rows.take` brings them into this order.
        ends : int64 ndarray of shape (n_groups,)
            Number of rows up to the end of each group.
        k : int
        q : float
            A row leaves when its estimate lies more than q of its usual errors below the k-th best of its group.
        n_threads : int

        Returns
        -------
        scores : float64 ndarray of shape (n_rows,)
            Full scores of rows that stay (NaN for refused values); for the others estimates, below those of their group.
        stages : int32 ndarray of shape (n_rows,)
            Where a row left; `n_stages` if it stayed.
        """

    def rank_within(
        self, rows: Rows, ends: NDArray[numpy.int64], k: int, q: float, trees: float, seconds: float, n_threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8]]:
        """
        The same within limits, which may end a race before all is decided.

        Parameters
        ----------
        rows, ends, k, q, n_threads
            As for `rank`.
        trees : float
            Trees that a row of a group may take, on average over the rows of the group. The first stage is always taken.
        seconds : float
            That a group may take.

        Returns
        -------
        scores, stages
            As from `rank`; the best undecided rows are evaluated in full while the limits allow it.
        undecided : uint8 ndarray of shape (n_rows,)
            1 for rows that neither left nor were evaluated in full: they have the last stage that they took, and scores between
            those of the rows that stayed and of those that left.
        """

    def trace(self, rows: Rows, n_threads: int) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
        """
        Estimates of every stage, and their usual errors, (n_rows, n_stages); NaN for rows with refused values.
        """

    @property
    def n_stages(self) -> int:
        """Number of early stages."""

class OnlineLearner:
    """
    A binary online learner of features, with its boundaries.

    Parameters
    ----------
    settings : dict
        With the entries

        n_features, average_from, budget, warm_up, ring, unit, line_offset, seed : int
        rate, width, target, audit_rate : float
        rule, attention, order, variance, error : str
        single, intercept, average, watch_all : bool
        costs : float64 ndarray of shape (n_features,) or None
    """

    def __init__(self, settings: dict[str, Any]) -> None: ...
    def answer(self, average: bool) -> tuple[NDArray[numpy.float64], float]:
        """Return weights and intercept, or their average over time."""

    def state(self) -> dict[str, Any]:
        """Return everything that training has changed."""

    def restore(self, state: dict[str, Any]) -> None:
        """
        Put a state in place; ValueError if it is damaged or another learner's.
        """

    @property
    def n_columns(self) -> int:
        """
        Columns that dense rows must have: the features, and zeros up to a register's width.
        """

    @property
    def n_steps(self) -> int: ...
    @property
    def n_updates(self) -> int: ...
    @property
    def features_seen(self) -> int: ...
    @property
    def cost_seen(self) -> float: ...
    @property
    def audits(self) -> NDArray[numpy.int64]:
        """
        Numbers by class of audited rows, and of those among them that were stopped, needed, or both: (2, 4).
        """

    @property
    def ranges(self) -> tuple[str, str]:
        """
        State of each class's constant boundary: its formula "holds", there is "no spread", or the level was clamped and stops rows "at once" or "seldom".
        """

    @property
    def truth(self) -> NDArray[numpy.int64]:
        """
        The same counts over all rows after the warm-up, if `watch_all` is set.
        """

    def train(
        self,
        rows: Rows,
        positive: NDArray[numpy.uint8],
        weights: NDArray[numpy.float64] | None,
        negative_weight: float,
        positive_weight: float,
        shuffle: int | None,
        unchanged: NDArray[numpy.uint8] | None = None,
        skips_unchanged: bool = False,
    ) -> float:
        """
        Run one epoch, in the rows' order or shuffled by a seed, and return the sum of the losses seen.

        ``unchanged`` receives 1 for each row that needs no update, else 0. With ``skips_unchanged``, rows with a 1 are
        skipped.
        """

    def judge(self, rows: Rows, average: bool, width: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]:
        """
        Margins of dense rows of unknown class, which stop once their sign is clear, and the number of features read of each.
        """

class Stumps:
    """Checked stumps: a feature and a threshold each."""

    def __init__(self, features: NDArray[numpy.int32], thresholds: NDArray[numpy.float64], n_features: int) -> None: ...

class BoostingLearner:
    """
    A binary online learner of the votes of weak hypotheses, with its boundaries.

    Parameters
    ----------
    settings : dict
        With the entries that `OnlineLearner` takes, and `negligible`, a float.
    """

    def __init__(self, settings: dict[str, Any]) -> None: ...
    def answer(self, average: bool) -> tuple[NDArray[numpy.float64], float]:
        """Return weights and intercept, or their average over time."""

    def state(self) -> dict[str, Any]:
        """Return everything that training has changed."""

    def restore(self, state: dict[str, Any]) -> None:
        """
        Put a state in place; ValueError if it is damaged or another learner's.
        """

    @property
    def n_columns(self) -> int:
        """
        Columns that dense rows must have: the features, and zeros up to a register's width.
        """

    @property
    def n_steps(self) -> int: ...
    @property
    def n_updates(self) -> int: ...
    @property
    def features_seen(self) -> int: ...
    @property
    def cost_seen(self) -> float: ...
    @property
    def audits(self) -> NDArray[numpy.int64]:
        """
        Numbers by class of audited rows, and of those among them that were stopped, needed, or both: (2, 4).
        """

    @property
    def ranges(self) -> tuple[str, str]:
        """
        State of each class's constant boundary: its formula "holds", there is "no spread", or the level was clamped and stops rows "at once" or "seldom".
        """

    @property
    def truth(self) -> NDArray[numpy.int64]:
        """
        The same counts over all rows after the warm-up, if `watch_all` is set.
        """

    def train(
        self,
        rows: Rows,
        stumps: Stumps,
        positive: NDArray[numpy.uint8],
        weights: NDArray[numpy.float64] | None,
        negative_weight: float,
        positive_weight: float,
        shuffle: int | None,
        unchanged: NDArray[numpy.uint8] | None = None,
        skips_unchanged: bool = False,
    ) -> float:
        """
        Run one epoch, in the rows' order or shuffled by a seed, and return the sum of the losses seen.

        ``unchanged`` receives 1 for each row that needs no update, else 0. With ``skips_unchanged``, rows with a 1 are
        skipped.
        """

    def judge(
        self, rows: Rows, stumps: Stumps, average: bool, width: float | None
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]:
        """
        Margins of rows of unknown class and the numbers of stumps evaluated; without a width, all stumps.
        """

    def advance(
        self,
        votes: Rows,
        available: NDArray[numpy.uint8],
        positive: NDArray[numpy.uint8],
        weights: NDArray[numpy.float64] | None,
        negative_weight: float,
        positive_weight: float,
        done: int,
        unchanged: NDArray[numpy.uint8] | None = None,
        skips_unchanged: bool = False,
    ) -> tuple[int, float, NDArray[numpy.uint8]]:
        """
        Continue with a table's rows while their votes are available. Return the number of rows done, the sum of their losses, and the units that the other rows need.
        """

    def judge_votes(
        self, votes: Rows, available: NDArray[numpy.uint8], average: bool, width: float | None
    ) -> tuple[bool, NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.uint8]]:
        """
        Return whether all votes that the rows need are available, margins, numbers of hypotheses requested, and requested units.
        """

    @property
    def units(self) -> list[int]:
        """Bounds of the units of hypotheses that are evaluated together."""

def shuffled(n: int, seed: int) -> NDArray[numpy.int64]:
    """
    Return the order in which an epoch that is shuffled by the seed takes n rows.
    """

class Text:
    """
    A linear model behind a vectorizer of texts, from strings to scores. Threads may share it.

    Parameters
    ----------
    described : dict
        analyzer : {"word", "char", "char_wb"}
        lowercase : bool
        strip_accents : {None, "ascii", "unicode"}
        token : tuple
            ``("word", k)``: the longest runs of letters, digits and underscores, of at least k characters; or
            ``("space", 1)``: what is between white space. For words only.
        stop_words : list of str
        ngram_range : tuple of two ints
        vocabulary : list of str, or None
        ids : int64 array, or None
            The column of each string of ``vocabulary``.
        hashing : dict, or None
            ``n_features`` and ``alternate_sign``, in place of a vocabulary.
        binary, sublinear_tf : bool
        idf : float64 array of shape (n_features,), or None
        norm : {None, "l1", "l2"}
        weight : float
            By which all values are multiplied at last.
        single : bool
            Whether the vectorizer's dtype is float32.
        coef : float64 or float32 array of shape (n_outputs, n_features)
        intercept : float64 or float32 array of shape (n_outputs,)
            In the dtypes of the model, which its sums have as well.
        coef_bound : float64 array of the shape of coef, or None
            Bounds of the summands where ``coef`` is not what the model itself multiplies with: scores are then near its
            own, not the same.
    """

    def __init__(self, described: dict[str, Any]) -> None: ...
    def scores(self, texts: list[Any], n_threads: int = 1) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Return scores of shape (n_texts, n_outputs), and bounds of their distance to scikit-learn's, (n_texts,).

        A score is NaN, and its bound infinite, where scikit-learn must be asked: for what is no str, a str with lone
        surrogates, or a text of 2 GB.
        """

    def prefixes(
        self, texts: list[Any], looks: NDArray[numpy.int64], block: int = 0, n_threads: int = 1
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]:
        """
        Return scores of parts of texts, (n_texts, n_looks + 1, n_outputs).

        Look t scores the tokens that end in the first ``looks[t]`` bytes of the text, as it is in lower case, without accents,
        and, for slices of characters, with one blank for several. With a block, in bytes, it scores those of the first
        ``looks[t] / block`` blocks in the order 0, the middle, the quarters, the eighths, ...: of such as begin there, moved to
        the beginnings of words, and no token reaches from one block to the next. The last scores and their bounds, (n_texts,),
        are those of `scores`. The third array, (n_texts, n_looks + 1), has the numbers of characters that were read. It has 0,
        and so have the scores, for looks at the end of a text and behind it.
        """

    @property
    def same_bits(self) -> bool:
        """
        Whether the scores are scikit-learn's to the last bit, so that all bounds are 0.
        """

    def counts(self, text: str) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
        """
        Return the columns that a text has, ascending, and how often (hashing: the sum of the signs).
        """

    def tokens(self, text: str) -> list[str]:
        """
        Return the tokens of a text as ``vectorizer.build_analyzer()`` does, in its order.
        """

class TextPlan:
    """
    A plan for a `Text`: from strings to labels. Threads may share it.

    At look t, the estimates are ``bias[t] + weights[t] * scores``, with the scores of `Text.prefixes`. A text leaves there
    if the single estimate is below ``low[t]`` or above ``high[t]``, or if the best of several lies more than ``high[t]``
    above the second. One that comes to its end is scored in full.

    Parameters
    ----------
    text : Text
    described : dict
        looks : int64 array of shape (n_looks,)
        block : int
            As for `Text.prefixes`.
        weights, bias : float64 arrays of shape (n_looks, n_outputs)
        low, high : float64 arrays of shape (n_looks,)
        n_stages : int
            The stage of texts that no look decides.
        reach : int
            Number of looks at which single texts may leave.
        cost : float or None
            Cost of every text; None: the characters that were read.
        threshold : float
            A single score above it has the label 1; of several, the first of the largest wins.
        tie_positive : bool
        saturation, tie_margin : float
            The wrapped model decides where a score is larger than the one, or as near to another label as the other.
        error_factor, error_rest : float
            Times the one and plus the other, the bounds of `Text.scores` are those of the wrapped model's scores.
        labels : tuple
            The label of each code.
    """

    def __init__(self, text: Text, described: dict[str, Any]) -> None: ...
    def decide(
        self, texts: list[Any], n_stages: int, ends: bool = False, n_threads: int = 1
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Decide texts by the first looks, or in full; with ``ends``, all that reach the last of these leave there.

        Returns
        -------
        codes : int32 array of shape (n_texts,)
        stages : int32 array of shape (n_texts,)
            Where texts left. One that was read whole leaves at the first look at its end or behind that lets its label leave.
        paid : float64 array of shape (n_texts,)
        status : uint8 array of shape (n_texts,)
            `HANDED_OVER` for texts that the wrapped model must label, or that cannot be read; the latter cost 0 characters.
        """

    def label(self, x: Any, with_cost: bool) -> Any:
        """
        Return the label of a text, or a tuple of label and cost.

        None stands for everything but a str of at most 65 536 characters, and for a text that is left without a label.
        """

class TextUnion:
    """
    A linear model behind several vectorizers of the same texts. Threads may share it.

    Parameters
    ----------
    parts : list of Text
        In the order of their columns, each with its own columns' weights. The intercept is that of the last one; it is 0
        in the others.
    """

    def __init__(self, parts: list[Text]) -> None: ...
    def scores(self, texts: list[Any], n_threads: int = 1) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Return scores and bounds of their distance to scikit-learn's, as `Text.scores` does.
        """

    @property
    def same_bits(self) -> bool:
        """
        Whether the scores are scikit-learn's to the last bit, so that all bounds are 0.
        """

class NamedValues:
    """
    A linear model behind a DictVectorizer or a FeatureHasher, from Python's objects to scores. Threads may share it.

    Parameters
    ----------
    described : dict
        form : {"dict", "pair", "string"}
            Whether a row is a dict, or a list of pairs of a name and a value, or a list of names whose values are 1.
        separator : str
            Between a name and a value that is a string: both together are a name of the value 1.
        names : list of str, or None
        ids : int64 array, or None
            The column of each name.
        hashing : dict, or None
            ``n_features`` and ``alternate_sign``, in place of names. Values of one column are summed.
        single : bool
            Whether values are float32.
        coef, intercept, coef_bound
            As those of `Text`.
    """

    def __init__(self, described: dict[str, Any]) -> None: ...
    def scores(self, rows: list[Any]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Return scores of shape (n_rows, n_outputs), and bounds of their distance to scikit-learn's, (n_rows,).

        A score is NaN, and its bound infinite, where scikit-learn must be asked.
        """

    @property
    def same_bits(self) -> bool:
        """
        Whether the scores are scikit-learn's to the last bit wherever the order of additions is known.
        """
