"""Groups that come one after the other are ranked as each by itself, and are not all held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from wald import EarlyExitRanker

from .lists import K, fast, lists, ranker


def groups(seed: int = 30) -> list[Any]:
    """Groups of many sizes, one of them empty."""
    X, _, _ = lists(20, seed=seed)
    ends = np.cumsum([1, 40, 0, 3, 200, 7, 7, 60, 90])
    return np.split(X[: ends[-1]], ends[:-1])


@pytest.mark.parametrize("n_rows", [1, 50, 10_000])
@pytest.mark.parametrize("k", [3, K, K + 1, None])
def test_each_is_ranked_as_by_itself(k: Any, n_rows: int) -> None:
    given = groups()
    for early in (fast(), EarlyExitRanker(ranker()).fit()):
        found = list(early.rank_each(iter(given), k, n_rows=n_rows))
        assert len(found) == len(given)
        for rows, own in zip(given, found, strict=True):
            np.testing.assert_array_equal(own, early.rank(rows, k))
    assert list(fast().rank_each([])) == []


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_containers_may_differ() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = list("abcdefgh")
    forms = [
        lambda rows: rows,
        lambda rows: rows.astype(np.float64),
        lambda rows: pandas.DataFrame(rows, columns=names),
        lambda rows: pandas.DataFrame(rows.astype(float), columns=names),
        lambda rows: polars.DataFrame(rows, schema=names),
        lambda rows: rows.tolist(),
    ]
    given = [rows for rows in groups() if len(rows)]
    for form in forms:
        found = list(fast().rank_each(map(form, given), K))
        for rows, own in zip(given, found, strict=True):
            np.testing.assert_array_equal(own, fast().rank(rows, K))
    mixed = [forms[i % len(forms)](rows) for i, rows in enumerate(given)]
    for rows, own in zip(given, fast().rank_each(mixed, K), strict=True):
        np.testing.assert_array_equal(own, fast().rank(rows, K))


def test_groups_are_read_as_they_are_wanted() -> None:
    read = 0

    def endless() -> Iterator[Any]:
        nonlocal read
        X, _, _ = lists(1, seed=31)
        while True:
            read += 1
            yield X

    for n_rows, most in ((1, 3), (200, 9)):
        read, stream = 0, fast().rank_each(endless(), 2, n_rows=n_rows)
        for _ in range(2):
            np.testing.assert_array_equal(next(stream), fast().rank(lists(1, seed=31)[0], 2))
        assert read <= most


def test_groups_may_be_read_by_their_numbers() -> None:
    class Dataset:
        def __getitem__(self, number: int) -> Any:
            return groups()[number]

    for own, one in zip(fast().rank_each(Dataset(), K), fast().rank_each(groups(), K), strict=True):
        np.testing.assert_array_equal(own, one)


def test_errors_name_the_group() -> None:
    given = [*groups(), np.zeros((4, 5))]
    stream = fast().rank_each(given, K)
    for _ in groups():
        next(stream)
    with pytest.raises(ValueError, match="5 features") as caught:
        next(stream)
    assert caught.value.__notes__ == ["This is about group 9 of the stream, from 0."]
    with pytest.raises(TypeError, match="groups must be an iterable of tables"):
        next(fast().rank_each(3, K))
    with pytest.raises(ValueError, match=r"k must be a positive whole number or None. Got 0"):
        fast().rank_each(given, 0)
    with pytest.raises(ValueError, match=r"n_rows must be a positive whole number. Got 0"):
        fast().rank_each(given, n_rows=0)
