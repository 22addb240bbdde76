"""Every source keeps the contract that `check_source` checks, and the checker finds what does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner
from wald.sources import (
    PLAIN,
    ArraySource,
    Block,
    FrameSource,
    RawSource,
    RecordSource,
    Schema,
    SomeColumns,
    Source,
    SparseSource,
    check_source,
    source_of,
)

pd = pytest.importorskip("pandas")

X = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
X[3, 1] = np.nan
WHOLE = np.arange(36).reshape(9, 4)
NAMES = ["a", "b", "c", "d"]
SCHEMA = Schema(4, tuple(NAMES))


def frame(kind):
    if kind == "pandas apart":
        return pd.DataFrame({name: column.copy() for name, column in zip(NAMES, X.T, strict=True)}, copy=False)
    library = pytest.importorskip(kind)
    if kind == "pandas":
        return library.DataFrame(X, columns=NAMES)
    return library.DataFrame(X, schema=NAMES) if kind == "polars" else library.table(dict(zip(NAMES, X.T, strict=True)))


SOURCES = {
    "array": lambda: ArraySource(X),
    "integers": lambda: ArraySource(WHOLE),
    "Fortran": lambda: ArraySource(np.asfortranarray(X)),
    "objects": lambda: ArraySource(X.astype(object)),
    "array with names": lambda: ArraySource(X, NAMES, "pandas"),
    "sparse": lambda: SparseSource(sparse.coo_array(np.nan_to_num(X))),
    **{kind: lambda kind=kind: FrameSource(frame(kind)) for kind in ("pandas", "pandas apart", "polars", "pyarrow")},
    "mixed frame": lambda: FrameSource(frame("pandas").assign(b=WHOLE[:, 1], c=pd.array([1, None] * 4 + [2]))),
    "records": lambda: RecordSource(frame("pandas").to_dict("records"), SCHEMA, "X[{}]".format),
    "row group": lambda: SomeColumns(9, list(X.T), X.dtype, NAMES),
    "texts": lambda: RawSource(["one", "two", "three"]),
    "a Series of texts": lambda: RawSource(pd.Series(["one", "two", "three"], index=[2, 1, 0])),
    "dicts": lambda: RawSource([{"a": 1}, {"b": 2}]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_keeps_the_contract(kind):
    check_source(SOURCES[kind]())


class Array(np.ndarray):
    """Any subclass of arrays."""


class Squares(Source):
    """Rows that exist nowhere: row i is i, i squared, and so on."""

    def __init__(self, rows, n_columns=3):
        self.places, self.n_rows, self.n_columns = np.asarray(rows), len(rows), n_columns

    def take(self, rows):
        return type(self)(self.places[rows], self.n_columns)

    def array(self, conversion=PLAIN):
        return np.power.outer(self.places.astype(float), np.arange(1, self.n_columns + 1))


def test_a_made_up_source_is_predicted():
    check_source(Squares(range(7)))
    rows = np.arange(400) % 40 - 20.0
    model = LogisticRegression().fit(Squares(rows).array(), rows > 3)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.2, planner=Planner(cost="units"), random_state=0).fit(
        Squares(rows)
    )
    np.testing.assert_array_equal(fast.predict(Squares(rows)), fast.predict(Squares(rows).array()))
    with pytest.raises(ValueError, match="X has 2 features"):
        fast.predict(Squares(rows, 2))


class Unsorted(Squares):
    def take(self, rows):
        return super().take(np.sort(np.arange(self.n_rows)[rows]))


class Halves(Squares):
    def blocks(self, conversion=PLAIN, needed=None):
        yield from ArraySource(self.array()[:3]).blocks()


class Late(Squares):
    def blocks(self, conversion=PLAIN, needed=None):
        yield from (Block(block.rows, 1, block.dtype) for block in super().blocks(conversion, needed))


class Other(Squares):
    def blocks(self, conversion=PLAIN, needed=None):
        yield from ArraySource(self.array() + 1).blocks()


class Shifted(Squares):
    def cells(self, column):
        return super().cells((column + 1) % self.n_columns)


class Short(Squares):
    def cells(self, column):
        return ArraySource(self.array()[1:]).cells(column) if column else super().cells(column)


class Odd(Squares):
    def array(self, conversion=PLAIN):
        return super().array().astype(np.float16)


class Narrow(Squares):
    def array(self, conversion=PLAIN):
        return super().array()[:, :2]


class Named(Squares):
    names = ("a",)


class Drifts(Squares):
    n_calls = 0

    def array(self, conversion=PLAIN):
        self.n_calls += 1
        return super().array() + self.n_calls


class Raises(Squares):
    def take(self, rows):
        raise KeyError("a row")


@pytest.mark.parametrize(
    ("made", "clause", "words"),
    [
        (Unsorted, "take", "must have the numbers of these rows"),
        (Halves, "blocks", "must have 7 rows together, and have 3"),
        (Late, "blocks", "must start at row 0"),
        (Other, "blocks", "the engine must read of blocks what array gives"),
        (Shifted, "cells", r"cells\(0\) must have the values of this column"),
        (Short, "cells", r"cells\(1\) must have 7 rows"),
        (Odd, "array", "must be float32, float64 or uint8. Got float16"),
        (Narrow, "array", r"must have the shape \(7, 3\)"),
        (Named, "names", "must have 3 entries, and has 1"),
        (Drifts, "array", "the same numbers again"),
        (Raises, "take", "it raises KeyError"),
    ],
)
def test_the_checker_names_the_clause_that_fails(made, clause, words):
    with pytest.raises(AssertionError, match=rf"\[{clause}\] {made.__name__}: .*{words}"):
        check_source(made(range(7)))


def test_what_is_no_source_is_told_what_to_inherit():
    with pytest.raises(AssertionError, match=r"\[kind\] ndarray: inherit wald.sources.Source"):
        check_source(X)


def test_the_sources_of_what_users_have():
    given = {
        ArraySource: [X, [[1, 2], [3, 4]], X.view(Array)],
        SparseSource: [sparse.csr_array(X), sparse.csc_matrix(X)],
        FrameSource: [frame("pandas"), frame("polars"), frame("pyarrow")],
        RawSource: [["a", "b"], [{"a": 1}], np.array(["a"]), pd.Series(["a"])],
    }
    for kind, containers in given.items():
        assert [type(source_of(rows)) for rows in containers] == [kind] * len(containers)
    assert type(source_of([{"a": 1, "b": 2, "c": 3, "d": 4}], SCHEMA)) is RecordSource
    source = source_of(X)
    assert source_of(source) is source


def test_columns_are_selected_by_names_where_a_library_does_so():
    schema = Schema(2, ("c", "a"), "catboost")
    for kind in ("pandas", "polars", "pyarrow"):
        np.testing.assert_array_equal(source_of(frame(kind), schema).array(), X[:, [2, 0]])
    np.testing.assert_array_equal(source_of(SomeColumns(9, list(X.T), X.dtype, NAMES), schema).array(), X[:, [2, 0]])
    with pytest.raises(ValueError, match="lacks the column 'c'"):
        source_of(frame("pandas")[["a", "b"]], schema)
