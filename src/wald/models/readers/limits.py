"""Bounds of what a model file may claim, so that no small file takes much memory."""

from __future__ import annotations

MOST_OUTPUTS = 10_000

#: Numbers that any file may claim, and numbers per byte that a larger file may.
ANY_FILE, PER_BYTE = 1 << 20, 8


def most_words(n_bytes: int) -> int:
    """Words of 32 bits that the sets of categories of a file may take."""
    return max(ANY_FILE, PER_BYTE * n_bytes)


def require_sizes(library: str, n_features: int, n_outputs: int, n_trees: int, n_bytes: int) -> None:
    """Raise ValueError if a file has no trees, or claims more features, outputs or trees than fit its size.

    Parameters
    ----------
    library : str
        Name of the library, in messages.
    n_features, n_outputs, n_trees : int
    n_bytes : int
        Size of the file.
    """
    if n_trees == 0:
        raise ValueError(f"This {library} model has no trees. Train it first.")
    most = max(ANY_FILE, PER_BYTE * n_bytes)
    if not (1 <= n_features <= most and 1 <= n_outputs <= MOST_OUTPUTS and n_outputs * n_trees <= most):
        raise ValueError(
            f"This {library} model claims {n_features} features, {n_outputs} outputs and {n_trees} trees, and takes "
            f"{n_bytes} bytes. It is damaged."
        )
