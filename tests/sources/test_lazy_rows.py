"""`LazyRows`: groups of columns that are fetched for the rows that need them, each at most once."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import scipy.sparse

from wald import CallError, Calls, LazyRows
from wald.sources import Schema, check_source, source_of

X = np.random.default_rng(0).normal(size=(9, 6))
X[3, 1] = np.nan
GROUPS = {"free": [0, 3], "blood": [1, 2], "scan": [4, 5]}


class Provider:
    """Gives some columns of rows, and remembers for which rows it was asked."""

    def __init__(self, columns, form=np.asarray):
        self.columns, self.form, self.batches = columns, form, []

    def __call__(self, rows):
        self.batches.append(rows.tolist())
        return self.form(X[np.ix_(rows, self.columns)])

    async def later(self, rows):
        await asyncio.sleep(0)
        return self(rows)

    @property
    def rows(self):
        return sorted(row for batch in self.batches for row in batch)


def lazy(**given):
    """Rows with two groups that are fetched, and the providers of these."""
    blood, scan = Provider(GROUPS["blood"]), Provider(GROUPS["scan"])
    given = {"columns": GROUPS} | given
    return LazyRows(9, {"free": X[:, [0, 3]], "blood": blood, "scan": scan.later}, **given), blood, scan


def named(order="abcdef", **given):
    """The same with names for the columns, in an order of the groups."""
    groups = {"free": X[:, [0, 3]], "blood": Provider([1, 2]), "scan": Provider([4, 5])}
    return LazyRows(9, groups, columns={g: [order[c] for c in GROUPS[g]] for g in GROUPS}, **given)


@pytest.mark.parametrize("rows", [lambda: lazy()[0], named, lambda: lazy(dtype=np.float32)[0]])
def test_the_contract(rows):
    check_source(rows())
    check_source(rows().take(np.array([8, 0, 3, 3])))
    check_source(rows().select([5, 1]))


def test_nothing_is_fetched_before_it_is_read():
    rows, blood, scan = lazy(costs={"blood": 2.0, "scan": 10.0})
    assert rows.shape == (9, 6)
    assert rows.groups == GROUPS
    assert rows.costs == {"free": 2e-3, "blood": 2.0, "scan": 10.0}
    assert rows.cost_to_fetch() == 108.0
    assert rows.cost_to_fetch([1, 2]) == 24.0
    assert rows.missing() == {"blood": 9, "scan": 9}
    assert rows.n_calls() == {"blood": 1, "scan": 1}
    assert rows.take(slice(2)).names is rows.header.dtype.names is None
    assert blood.batches == scan.batches == []


def test_rows_are_named_by_a_mask():
    rows, mask = lazy(costs={"blood": 2.0, "scan": 10.0})[0].take(np.arange(6, 0, -1)), np.arange(6) < 4
    rows.take(np.array([0])).array()
    for named in (mask, mask.tolist()):
        assert rows.missing(named) == rows.missing(range(4)) == {"blood": 3, "scan": 3}
        assert rows.n_calls(named) == {"blood": 1, "scan": 1}
        assert rows.cost_to_fetch(named) == 36.0
    assert rows.missing(mask & False) == rows.missing([]) == {"blood": 0, "scan": 0}
    with pytest.raises(ValueError, match=r"A mask must have the shape \(6,\), one entry a row. Got \(9,\)"):
        rows.missing(np.ones(9, dtype=bool))


def test_each_group_is_fetched_once_a_row():
    rows, blood, scan = lazy()
    some = rows.take(np.array([7, 2, 7]))
    assert np.array_equal(some.array(), X[[7, 2, 7]], equal_nan=True)
    assert rows.take(np.array([2, 3])).some([1]).columns[1].tolist()[0] == X[2, 1]
    assert np.array_equal(rows.cells(4).objects().astype(float), X[:, 4])
    assert np.array_equal(rows.array(), X, equal_nan=True)
    assert np.array_equal(rows.array(), X, equal_nan=True)
    assert blood.batches == [[2, 7], [3], [0, 1, 4, 5, 6, 8]]
    assert scan.batches == [[2, 7], [0, 1, 3, 4, 5, 6, 8]]
    assert rows.counts["blood"].rows == rows.counts["scan"].rows == 9
    assert rows.cost_to_fetch() == 0.0


def test_blocks_fetch_what_is_needed():
    rows, blood, scan = lazy()
    (block,) = rows.blocks(needed=[0, 1])
    assert not block.whole
    assert scan.batches == []
    block.rest(np.array([4, 1]), range(6))
    assert scan.rows == [1, 4]
    assert blood.rows == list(range(9))


def test_a_group_without_a_column_is_not_fetched():
    rows, blood, scan = lazy()
    some = rows.select([0, 5])
    assert some.groups == {"free": [0], "scan": [1]}
    assert some.costs == {"free": 1e-3, "scan": 1.0}
    assert np.array_equal(some.array(), X[:, [0, 5]])
    assert blood.batches == []
    assert scan.rows == list(range(9))


def test_batches_and_concurrency():
    blood = Provider([1, 2])
    calls = Calls(blood.later, batch_size=2, max_concurrency=3)
    rows = LazyRows(9, {"free": X[:, [0]], "blood": calls}, columns={"free": [0], "blood": [1, 2]})
    assert rows.n_calls() == {"blood": 5}
    assert rows.n_calls([3, 4, 8]) == {"blood": 2}
    assert np.array_equal(rows.array(), X[:, :3], equal_nan=True)
    assert sorted(map(len, blood.batches)) == [1, 2, 2, 2, 2]
    assert calls.total.rows == 9


def test_names_are_found_in_any_order():
    rows = named("dacbfe")
    found = Schema(6, tuple("abcdef")).matched(rows)
    places = [rows.names.index(name) for name in "abcdef"]
    assert found.names == list("abcdef")
    assert np.array_equal(found.array(), rows.array()[:, places], equal_nan=True)
    few = Schema(2, ("c", "a")).matched(named())
    assert few.groups == {"blood": [0], "free": [1]}
    with pytest.raises(ValueError, match="lacks the column 'g'"):
        Schema(2, ("g", "a")).matched(named())


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames(kind):
    library = pytest.importorskip(kind)

    def frame(columns):
        return library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)

    free = frame({"a": X[:, 0], "d": X[:, 3]})
    blood = Provider([1, 2], lambda some: frame({"c": some[:, 1], "b": some[:, 0], "id": some[:, 0]}))
    rows = LazyRows(9, {"free": free, "blood": blood}, columns={"blood": ["b", "c"]})
    assert rows.names == ["a", "d", "b", "c"]
    assert np.array_equal(rows.array(), X[:, [0, 3, 1, 2]], equal_nan=True)
    assert list(source_of(rows.rows).names) == rows.names


def test_a_group_of_one_column_is_called_as_the_group():
    rows = LazyRows(9, {"age": X[:, 0], "sugar": lambda rows: X[rows, 1].tolist()})
    assert rows.names == ["age", "sugar"]
    assert np.array_equal(rows.array(), X[:, :2], equal_nan=True)


def test_a_cache_knows_rows_by_what_they_are_called():
    cache, blood, patients = {}, Provider([1, 2]), [f"patient {i}" for i in range(9)]
    for order in (np.arange(9), np.arange(9)[::-1]):

        def fetch(rows, order=order):
            return blood(order[rows])

        calls = Calls(fetch, name="blood", cache=cache, key=lambda row, order=order: patients[order[row]])
        rows = LazyRows(9, {"blood": calls}, columns={"blood": [0, 1]})
        assert np.array_equal(rows.array(), X[order][:, [1, 2]], equal_nan=True)
    assert blood.rows == list(range(9))
    with pytest.raises(ValueError, match=r"Group 'blood' has a cache.*give key="):
        LazyRows(9, {"blood": Calls(blood, name="blood", cache={})})


def test_what_was_fetched_stays_when_a_call_fails():
    blood, down = Provider([1, 2]), [5]

    def fails(rows):
        if set(down) & set(rows.tolist()):
            raise ConnectionError("no route")
        return blood(rows)

    rows = LazyRows(9, {"blood": Calls(fails, batch_size=2)}, columns={"blood": [0, 1]})
    with pytest.raises(CallError, match=r"'blood' failed for row 5, 6: ConnectionError: no route\.") as found:
        rows.take(np.arange(1, 9)).array()
    assert found.value.unit == "blood"
    assert found.value.rows.tolist() == [5, 6]
    down.clear()
    assert np.array_equal(rows.array(), X[:, [1, 2]], equal_nan=True)
    assert blood.rows == list(range(9))


def test_a_deadline_leaves_rows_without_their_groups():
    blood, hangs = Provider([1, 2]), [1]

    async def slow(rows):
        if set(rows.tolist()) & set(hangs):
            await asyncio.sleep(60)
        return blood(rows)

    rows = LazyRows(9, {"free": X[:, 0], "blood": Calls(slow, batch_size=1)}, columns={"free": [0], "blood": [1, 2]})
    done = rows.fetch(deadline=0.2)
    assert np.flatnonzero(done).tolist() == blood.rows == [0]
    assert rows.fetch([0], deadline=0.0).all()
    hangs.clear()
    assert rows.fetch().all()
    assert blood.rows == list(range(9))


WRONG = {
    "rows": (lambda rows: X[rows[1:], :2], "it gave 8 answers for 9 rows"),
    "columns": (lambda rows: X[rows, :3], r"it gave rows of shape \(3,\), and the group has 2 columns"),
    "one column": (lambda rows: X[rows, 0], r"it gave rows of shape \(\), and the group has 2 columns"),
    "dicts": (lambda rows: [{"b": 1, "c": 2}] * len(rows), "the group has 2 columns. The first is a dict"),
    "empty objects": (
        lambda rows: np.empty((len(rows), 0), dtype=object),
        r"shape \(0,\), and the group has 2 columns",
    ),
    "texts": (lambda rows: [["a", "b"]] * len(rows), "its values must be numbers: "),
    "nothing": (lambda rows: None, "it answered None"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_providers_that_give_something_else(kind):
    function, message = WRONG[kind]
    rows = LazyRows(9, {"blood": function}, columns={"blood": [0, 1]})
    with pytest.raises(CallError, match=f"'blood' failed for row 0, 1, .*{message}"):
        rows.array()


def test_sparse_groups():
    table = scipy.sparse.csr_array(X)
    rows = LazyRows(
        9,
        {"free": table[:, :1], "blood": lambda rows: table[rows][:, 1:3]},
        columns={"free": [0], "blood": [1, 2]},
    )
    np.testing.assert_array_equal(rows.array(), X[:, :3])


def test_a_frame_without_a_column():
    pd = pytest.importorskip("pandas")
    rows = LazyRows(9, {"blood": lambda rows: pd.DataFrame({"b": X[rows, 1]})}, columns={"blood": ["b", "c"]})
    with pytest.raises(CallError, match=r"its frame must have 'c' once\. It has \['b'\]"):
        rows.array()


def nobody(rows):
    raise AssertionError


REFUSED = {
    "no groups": ({"groups": {}}, "groups must be a dict"),
    "no dict": ({"groups": [nobody]}, "groups must be a dict"),
    "no provider": ({"groups": {"blood": None}}, "Group 'blood' has no provider"),
    "columns of no group": (
        {"columns": {"scan": [0]}},
        "columns names 'scan', for which .* groups are 'blood'",
    ),
    "columns of all groups": ({"columns": ["blood"]}, r"columns must be a dict with names of groups. Got \['blood'\]"),
    "one cost": ({"costs": 3}, "costs must be a dict with names of groups. Got 3"),
    "no columns": ({"columns": {"blood": []}}, "Group 'blood' has no columns"),
    "a text": ({"columns": {"blood": "bc"}}, r"columns\['blood'\] must be a list"),
    "a column twice": ({"columns": {"blood": ["b", "b"]}}, "Column 'b' is twice in group 'blood'"),
    "two providers": (
        {"groups": {"blood": nobody, "scan": nobody}, "columns": {"blood": [0, 1], "scan": [1, 2]}},
        "Column 1 is in group 'blood' and in group 'scan'",
    ),
    "a column without a provider": ({"columns": {"blood": [0, 2]}}, "Column 1 has no provider"),
    "names and numbers": (
        {"groups": {"blood": nobody, "scan": nobody}, "columns": {"scan": [0]}},
        "Those of group 'blood' begin with 'blood', and group 'scan' has 0",
    ),
    "a column of another kind": ({"columns": {"blood": [1.5]}}, "group 'blood' has 1.5"),
    "a cost of 0": ({"costs": {"blood": 0}}, r"costs\['blood'\] must be positive and finite. Got 0"),
    "a negative cost": ({"costs": {"blood": -1.0}}, r"costs\['blood'\] must be positive"),
    "a cost of NaN": ({"costs": {"blood": float("nan")}}, r"costs\['blood'\] must be positive"),
    "a cost of no number": ({"costs": {"blood": "dear"}}, r"costs\['blood'\] must be positive"),
    "costs of no group": ({"costs": {"scan": 1.0}}, "costs names 'scan', for which there is no provider"),
    "fewer rows": ({"groups": {"blood": X[:8, 0]}}, "Group 'blood' must have a row for each of 9"),
    "more columns": ({"groups": {"blood": X}}, "is an array of 6 columns, and columns does not list them"),
    "other columns": (
        {"groups": {"blood": X}, "columns": {"blood": [0]}},
        r"is an array of 6 columns, and columns\['blood'\] has 1",
    ),
    "texts": ({"groups": {"blood": np.array(["a"] * 9)}}, "Group 'blood': "),
    "n_rows": ({"n_rows": -1}, "n_rows must be a whole number"),
    "dtype": ({"dtype": np.int64}, "dtype must be float64 or float32"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(kind):
    given, message = REFUSED[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        LazyRows(**{"n_rows": 9, "groups": {"blood": nobody}} | given)
