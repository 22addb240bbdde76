"""The compiled engine. Written by `make stub`: edit the bindings in cpp/bindings instead."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy
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
        Add columns, 1-D arrays or lines of 2-D arrays: dtypes of what was added, and places of what is not read in place.
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
    The known categories of a column; ``plain`` turns other objects into a str, float, int, Ellipsis or None.
    """

    def __init__(self, known: Any, plain: Callable[[Any], Any]) -> None: ...
    def state_of(self, value: object | None) -> int:
        """Number of the category that an object equals, or of what else it is."""

class Lookup:
    """
    The values of the states of a column's cells, chunk by chunk, as `wald.sources.cells` has them.
    """

    def __init__(self, keys: Keys, values: NDArray[Any], refused: NDArray[numpy.bool_], n_rows: int) -> None: ...
    def texts(
        self,
        n: int,
        first: int,
        width: int,
        offsets: object | None,
        data: object | None,
        bits: object | None,
        first_bit: int,
        null: int,
    ) -> None:
        """
        Add n texts, whose offsets of 4 or 8 bytes begin with number ``first``.
        """

    def views(
        self,
        n: int,
        first: int,
        views: object | None,
        data: tuple[Any, ...],
        bits: object | None,
        first_bit: int,
        null: int,
    ) -> None:
        """Add n texts, whose views of 16 bytes begin with number ``first``."""

    def objects(self, values: object) -> None:
        """Add Python's objects, which an array of one axis holds."""

    def wide(self, values: object) -> None:
        """Add the texts of NumPy's array of one axis."""

    def numbers(self, values: NDArray[Any], bits: object | None, first_bit: int, null: int) -> None:
        """Add numbers of bool, integers, float32 or float64."""

    def codes(
        self,
        codes: NDArray[Any],
        entries: NDArray[numpy.int32],
        lowest: int,
        bits: object | None,
        first_bit: int,
        null: int,
    ) -> None:
        """
        Add codes of entries, whose states are given; the first of them is that of the code ``lowest``.
        """

    def result(self, rows: NDArray[numpy.int64] | None = None) -> tuple[Any, int]:
        """
        The values of some cells, or of all, and the place of the first that is refused, or -1.
        """

    def missing(self) -> tuple[bool, bool, bool]:
        """
        Whether None, NaN and pandas.NA were met among the cells that were read.
        """

class LateRows:
    """
    Columns, arrays of numbers or `Lookup`s, whose cells are read when a row needs them.
    """

    def __init__(self, n_rows: int, columns: list[Any]) -> None: ...
    def __len__(self) -> int: ...

def interpolated(
    values: NDArray[Any], quantiles: NDArray[numpy.float64], references: NDArray[numpy.float64]
) -> NDArray[numpy.float64]:
    """
    References of numbers among quantiles: the mean of NumPy's `interp` upwards and downwards.
    """

def splines(values: NDArray[Any], knots: NDArray[numpy.float64], degree: int) -> Any:
    """
    B-splines (n_rows, n_columns * (n_knots - degree - 1)) of each column, with the bits of SciPy's `BSpline`.
    """

class Model:
    """A model as terms, packed for the engine. Never changes."""

    @staticmethod
    def kernel(described: dict[str, Any]) -> Model:
        """
        Pack a kernel machine: fields of KernelMachineSpec and KernelParams in the core, and whether it is `single`.
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
        Pack a linear model, which is always evaluated in float64; see LinearModelSpec in the core.
        """

    def scores(
        self, rows: Rows, working: float, n_threads: int, single: bool = False
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Compute full scores (n_rows, n_outputs), NaN where a row is not finite, and bounds of their errors (n_rows,).
        """

    def scores_of_one(self, x: object | None) -> Any:
        """
        Compute the full scores of one row in a 1-D array; None for what is not read in place, or not finite.
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
        Pack the attributes of a `wald.models.TreeTerms`, with an order of the trees of early stages.
        """

    def reordered(self, order: NDArray[numpy.int64]) -> Model:
        """
        Return the same tree ensemble with another order of its early stages' trees; nothing is packed again.
        """

    def leaves(self, rows: Rows, n_threads: int) -> NDArray[numpy.int32]:
        """
        Find the leaf of each tree (n_rows, n_terms); of leaves with the same value, one may stand for all.
        """

    @staticmethod
    def columns(described: dict[str, Any]) -> Model:
        """
        Pack a sum of functions of raw columns; the entries are the fields of ColumnModelSpec in the core.
        """

class Engine:
    """
    A packed model with stages and thresholds, as `wald.engine` describes them. Threads may share it.
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
        self, rows: Rows, n_stages: int, at_end: str, working: float, n_threads: int
    ) -> tuple[Any, NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Answer rows by at most n_stages: codes or scores, stages, costs and statuses, as `wald.engine.Ledger` has them.
        """

    @overload
    def predict(
        self, rows: LateRows, n_stages: int, at_end: str, working: float, n_threads: int
    ) -> tuple[Any, NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Answer rows in the same way, reading the cells of those that need them.
        """

    def predict_one(self, x: NDArray[Any], n_stages: int, at_end: str, working: float) -> tuple[Any, int, float, int]:
        """
        Answer one row, a 1-D array, as `predict` does: code or score, stage, cost and status.
        """

    def trace(self, rows: Rows, n_threads: int) -> Any:
        """
        Scores of all rows at every early stage, (n_rows, n_stages[, n_outputs]), or codes and confidence; none leaves.
        """

    @overload
    def decide(self, scores: NDArray[numpy.float32], error: float) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint8]]:
        """
        Codes and statuses of the wrapped model's own full scores, each of which may be off by ``error``.
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
    """

    def __init__(
        self, engine: Engine, n_stages: int, at_end: str, working: Sequence[float], labels: tuple[Any, ...]
    ) -> None: ...
    def label(self, x: object | None, with_cost: bool) -> Any:
        """
        Return the label or score of a row in a 1-D array, or this and its cost; None for what is not answered here.
        """

    def decided(self, X: object | None) -> tuple[Any, int, float, int] | None:
        """
        Code, stage, cost and status of the only row of a 2-D array, or None in the same cases.
        """

    def codes(self, X: object | None, n_threads: int) -> tuple[NDArray[numpy.int32], NDArray[numpy.int64]] | None:
        """
        Codes of all rows of a 2-D array, and the numbers of those that are handed over, whose code is 0; None if it does not read the array in place, or refuses a row.
        """

class Record:
    """
    Single rows that are dicts, read as `described` says and answered by an engine. Threads may share it.
    """

    def __init__(self, names: list[str], described: list[dict[str, Any]], width: int, answers: FixedCalls) -> None: ...
    def label(self, x: object | None, with_cost: bool) -> Any:
        """
        Return the label of a row, or a tuple of label and cost; None for what others must read.
        """

    def decided(self, x: object | None) -> tuple[Any, int, float, int] | None:
        """Code, stage, cost and status of a row, or None in the same cases."""

class RecordScores:
    """
    Single rows that are dicts, read as for `Record` and scored in full by a model, or by coef and intercept.
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
    def values(self, x: object | None) -> NDArray[numpy.float64] | None:
        """
        Return the columns of a row, (1, width); None for what others must read.
        """

    def scores(self, x: object | None) -> NDArray[numpy.float64] | None:
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
    """Weights of a linear chain, and inference with them; pickles."""

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
        Parse all sentences: heads, numbers of relations, seconds by work, and the number of arcs that were scored.
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
    """

def part_chances(
    odds: Model,
    known: NDArray[numpy.float32],
    state: NDArray[numpy.bool_],
    alone: NDArray[numpy.float32] | None,
    offsets: NDArray[numpy.int64],
    examples: NDArray[numpy.int64],
) -> NDArray[numpy.float64]:
    """
    Logarithms of the probabilities that log odds give for these rows; -inf for parts that lack no group.
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
    Choose items above the threshold to buy (n_parts, K), and say who buys something, and who still lacks something.
    """

class GroupRace:
    """
    Early exit for the first places of groups of rows; see GroupRace in the core. Threads may share it.
    """

    def __init__(self, model: Model, stages: object, usual: NDArray[numpy.float64]) -> None: ...
    def rank(
        self, rows: Rows, ends: NDArray[numpy.int64], k: int, q: float, n_threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
        """
        Scores and stages of rows, group after group, where the first k of each group are wanted.
        """

    def rank_within(
        self, rows: Rows, ends: NDArray[numpy.int64], k: int, q: float, trees: float, seconds: float, n_threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8]]:
        """
        The same, and 1 for undecided rows, within trees for each row on average, and seconds for each group.
        """

    def trace(self, rows: Rows, n_threads: int) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
        """
        Estimates of every stage, and their usual errors, (n_rows, n_stages); NaN for rows with refused values.
        """

    @property
    def n_stages(self) -> int:
        """Number of early stages."""

class OnlineLearner:
    """A binary online learner of features, with its boundaries."""

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
        Run one epoch, in the rows' order or shuffled by a seed; return the losses' sum. See `online::Labels`.
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
        Run one epoch, in the rows' order or shuffled by a seed; return the losses' sum. See `online::Labels`.
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
    """

    def __init__(self, described: dict[str, Any]) -> None: ...
    def scores(self, texts: list[Any], n_threads: int = 1) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Return scores (n_texts, n_outputs), and bounds of their distance to scikit-learn's; NaN for what it must be asked.
        """

    def prefixes(
        self, texts: list[Any], looks: NDArray[numpy.int64], block: int = 0, n_threads: int = 1
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]:
        """
        Return scores of parts of texts (n_texts, n_looks + 1, n_outputs), bounds of the last, and characters read.
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
    """A plan for a `Text`: from strings to labels. Threads may share it."""

    def __init__(self, text: Text, described: dict[str, Any]) -> None: ...
    def decide(
        self, texts: list[Any], n_stages: int, ends: bool = False, n_threads: int = 1
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Codes, stages, costs and statuses by the first looks, or in full; with ``ends``, texts leave at the last of these.
        """

    def label(self, x: object | None, with_cost: bool) -> Any:
        """
        Return the label of a text, or a tuple of label and cost; None for long texts, and for what is left without.
        """

class TextUnion:
    """
    A linear model behind several vectorizers of the same texts. Threads may share it.
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
    """

    def __init__(self, described: dict[str, Any]) -> None: ...
    def scores(self, rows: list[Any]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Return scores (n_rows, n_outputs), and bounds of their distance to scikit-learn's; NaN for what it must be asked.
        """

    @property
    def same_bits(self) -> bool:
        """
        Whether the scores are scikit-learn's to the last bit wherever the order of additions is known.
        """
