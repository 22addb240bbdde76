"""One row of every group, for promises about a random row of a random group."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


class Picks:
    """Picks a random row of each group that was not seen before.

    Groups are remembered as hashes of eight bytes. A name counts as it is written, in whatever type it comes: 7, 7.0,
    ``np.int64(7)`` and "7" are one group.

    Parameters
    ----------
    seed : int or None, default=None
        None takes one from the operating system.

    Attributes
    ----------
    seen : set of int
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seen: set[int] = set()
        self._random = np.random.Generator(np.random.Philox(secrets.randbits(64) if seed is None else seed))

    def pick(self, groups: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.intp]:
        """Indices of a random row of each new group, in increasing order.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)
        n_rows : int

        Raises
        ------
        ValueError
            If the groups do not name the group of each row.
        """
        labels = np.asarray(groups)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"groups must name the group of each of the {n_rows} rows. Got an array of shape {labels.shape}."
            )
        labels = _comparable(labels)
        shuffled = self._random.permutation(n_rows)
        try:
            names, first = np.unique(labels[shuffled], return_index=True)
        except TypeError:
            raise ValueError("groups must be numbers or strings, all of one kind, without None.") from None
        if any(name is None or name != name for name in names.tolist()):
            raise ValueError("groups must name the group of every row. Got None or NaN.")
        keys = [_key(name) for name in names.tolist()]
        new = [i for i, key in enumerate(keys) if key not in self.seen]
        self.seen.update(keys)
        return np.sort(shuffled[first[new]])

    def put_back(self, groups: npt.ArrayLike) -> None:
        """Take groups for new again."""
        self.seen.difference_update(map(_key, _comparable(np.asarray(groups)).tolist()))

    def below(self, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """A random whole number from 0 to each of the sizes, which it stays below."""
        return self._random.integers(0, sizes)

    def forget(self, seen: Iterable[int] = ()) -> None:
        """Forget all groups but these."""
        self.seen = set(seen)


def _comparable(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same times, whatever their unit."""
    return labels.astype("datetime64[us]") if labels.dtype.kind == "M" else labels


def _key(name: Any) -> int:
    """A number of 64 bits for a group, the same in every process and for every type of its name."""
    if isinstance(name, bool) or (isinstance(name, float) and name.is_integer()):
        name = int(name)
    return int.from_bytes(hashlib.blake2b(str(name).encode(), digest_size=8).digest(), "little", signed=True)
