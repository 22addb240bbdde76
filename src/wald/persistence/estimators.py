"""Parts common to several estimators' files: parameters that are plain values, and the names of features."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import values
from .arrays import Arrays, Stock, text_array
from .header import Section


def encode_plain(owner: Any, arrays: Arrays, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Describe an estimator's parameters but for some; raises ValueError, naming it, for one that is no plain value."""
    require_plain_seed(owner.random_state)
    names = [name for name in owner.get_params(deep=False) if name not in left_out]
    return {name: values.encode(getattr(owner, name), arrays, name) for name in names}


def decode_plain(
    section: Section, stock: Stock, kind: type, left_out: Sequence[str] = (), later: Sequence[str] = ()
) -> dict[str, Any]:
    """Give these parameters as keyword arguments, each of the kind that the class's constructor says.

    Those that came ``later`` than the first files are left to their defaults where a file lacks them.
    """
    hints = typing.get_type_hints(kind.__init__) | {"random_state": int | None}  # type: ignore[misc]  # of a class
    names = [name for name in hints if name not in (*left_out, "return") and (name in section or name not in later)]
    given = {name: values.decode(section.take(name), stock, name, hints[name]) for name in names}
    section.done()
    return given


def require_plain_seed(random_state: Any) -> None:
    """Refuse a random state that goes on changing."""
    if not (random_state is None or isinstance(random_state, int | np.integer)):
        raise ValueError(
            f"random_state must be an int or None to be saved. Got a {type(random_state).__name__}, which goes on "
            "changing; set_params(random_state=None) leaves it out of the file."
        )


def encode_names(owner: Any, arrays: Arrays) -> bool:
    """Put the names of features into ``arrays``, and say whether there are any."""
    names = getattr(owner, "feature_names_in_", None)
    if names is not None:
        arrays["feature_names"] = text_array(names, "feature_names_in_")
    return names is not None


def decode_names(there: bool, stock: Stock, n_features: int | None) -> NDArray[Any] | None:
    """Names of features, where there are any."""
    return stock.labels("feature_names", (), n_features).astype(object) if there else None
