"""Flights of which weather and aircraft are joined late, from tables of SQLite: rows for which each is fetched."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wald import Calls, EarlyExitClassifier, LazyRows
from wald.datasets import fetch_flights

from .models import kept
from .report import Figure
from .settings import Run

TRAIN, FIT, TEST, TREES = 100_000, 60_000, 30_000, 100
RISKS = (0.002, 0.005, 0.01)
#: Rows of a query; more have more variables than SQLite takes by default in old versions.
BATCH = 500
#: The columns by which a flight finds its weather.
HOUR = ("month", "day", "hour", "origin")
GROUPS = {
    "weather": ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"),
    "aircraft": ("built", "engines", "seats", "type", "manufacturer", "engine"),
}


def joined(how: Run) -> list[Figure]:
    """Measure at some risks for which share of the test rows each table is queried."""
    bunch = fetch_flights()
    order = np.random.default_rng(0).permutation(len(bunch.data))
    train, fit, test = np.split(order[: TRAIN + FIT + TEST], [TRAIN, TRAIN + FIT])
    fit, test = fit[: how.rows(FIT, 10_000)], test[: how.rows(TEST, 5000)]

    def make() -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=TREES, n_jobs=1, verbose=-1).fit(bunch.data[train], bunch.target[train])

    model, base = kept("joined-flights", make, "lightgbm"), Base(bunch.data, bunch.feature_names)
    own, figures = model.predict(bunch.data[test]), []
    for risk in RISKS:
        fast = EarlyExitClassifier(model, risk=risk, n_jobs=2, random_state=0).fit(base.rows(np.sort(fit)))
        rows = base.rows(test)
        differ = float(np.mean(fast.predict(rows) != own))
        for group, count in rows.counts.items():
            note = f"{count.calls} queries for {count.rows} of {len(test)} rows; {100 * differ:.2g} % of labels differ"
            share = 100 * count.rows / len(test)
            figures.append(Figure(f"flights, {100 * risk:g} %: rows with {group} fetched", share, "%", note=note))
    return figures


class Base:
    """The tables of a data base, and rows that are joined from them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Flights with everything.
    names : list of str
    """

    def __init__(self, X: NDArray[Any], names: list[str]) -> None:
        self._X = X
        self._columns = {group: [names.index(name) for name in some] for group, some in GROUPS.items()}
        bought = {c for columns in self._columns.values() for c in columns}
        self._columns = {"schedule": [c for c in range(len(names)) if c not in bought], **self._columns}
        self._base = sqlite3.connect(":memory:")
        hours = X[:, [names.index(name) for name in HOUR]]
        keys = {"weather": hours, "aircraft": X[:, self._columns["aircraft"]]}
        numbers = []
        for group, key in keys.items():
            _, first, number = np.unique(key, axis=0, return_index=True, return_inverse=True)
            columns = X[first][:, self._columns[group]].astype(float).tolist()
            marks = ", ".join("?" * (1 + len(GROUPS[group])))
            self._base.execute(f"CREATE TABLE {group} (number INTEGER PRIMARY KEY, {', '.join(GROUPS[group])})")
            self._base.executemany(
                f"INSERT INTO {group} VALUES ({marks})", [(i, *row) for i, row in enumerate(columns)]
            )
            numbers.append(number.ravel().tolist())
        self._base.execute("CREATE TABLE flights (id INTEGER PRIMARY KEY, weather, aircraft)")
        self._base.executemany("INSERT INTO flights VALUES (?, ?, ?)", zip(range(len(X)), *numbers, strict=True))

    def rows(self, ids: NDArray[np.intp]) -> LazyRows:
        """Flights of which only the schedule is at hand."""

        def of(group: str) -> Calls:
            return Calls(lambda rows: self._query(group, ids[rows]), batch_size=BATCH)

        groups = {"schedule": self._X[ids][:, self._columns["schedule"]]} | {group: of(group) for group in GROUPS}
        costs = dict.fromkeys(GROUPS, 1.0)
        return LazyRows(len(ids), groups, columns=self._columns, costs=costs, dtype=np.float32)

    def _query(self, group: str, ids: NDArray[np.intp]) -> list[tuple[Any, ...]]:
        """One row for each flight, in the order of their numbers."""
        select = ", ".join(f"{group}.{name}" for name in GROUPS[group])
        marks = ", ".join("?" * len(ids))
        joins = f"flights JOIN {group} ON flights.{group} = {group}.number"
        found = self._base.execute(f"SELECT id, {select} FROM {joins} WHERE id IN ({marks})", ids.tolist())
        by_id = {row[0]: row[1:] for row in found}
        return [by_id[i] for i in ids.tolist()]
