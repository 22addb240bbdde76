"""Models in files that can be trusted: arrays and a JSON header, no pickle, checked as if the file were hostile."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..early_exit import EarlyExitClassifier
from . import container
from .arrays import Arrays, Stock
from .early_exit import Parts, assemble, encode_early_exit, require_no_front
from .header import FileFormatError, Section
from .saved import SavedModel

__all__ = ["FileFormatError", "SavedModel", "from_bytes", "load", "require_no_front", "save", "to_bytes"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to one file, without pickle.

    The file holds the parameters and what predicting needs: of a classifier the plan, the certificate, coefficients,
    support vectors and labels; of a parser or a chain the averaged weights; of an online learner everything that goes
    on changing, so that `partial_fit` continues bit for bit. It is written whole or not at all, replaces what was
    there, and the same model gives the same bytes.

    Parameters
    ----------
    model : EarlyExitClassifier, DependencyParser, ChainClassifier, or an estimator of `wald.online`
        Fitted.
    path : str or path-like
        Of the file; ``.wald`` is usual.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If it is none of these.
    ValueError
        If a file cannot hold it: transformers that are not folded into the terms, extractors that are functions,
        labels that are neither numbers nor texts, rules from elsewhere, a random state that is no int; or if the
        wrapped model has changed since ``fit``.
    OSError
        If the file cannot be written.

    Warns
    -----
    UserWarning
        If the file cannot describe the wrapped estimator, because it is of a class of somebody else's; the file is
        written, and needs ``wald.load(path, estimator=...)`` to answer as before at ties.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.svm import SVC
    >>> import wald
    >>> X, y = make_classification(3000, n_informative=8, class_sep=1.5, random_state=0)
    >>> svc = FrozenEstimator(SVC().fit(X[:500], y[:500]))
    >>> fast = wald.EarlyExitClassifier(svc, risk=0.02, cost="units", random_state=0).fit(X[500:2500])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wald.save(fast, Path(folder) / "fast.wald")
    ...     loaded = wald.load(Path(folder) / "fast.wald")
    >>> bool((loaded.predict(X) == fast.predict(X)).all()), str(loaded.certificate_) == str(fast.certificate_)
    (True, True)
    """
    container.write(path, *_encode(model))


def load(path: str | os.PathLike[str], *, estimator: Any = None) -> Any:
    """Load a model that `save` wrote.

    It answers as the one that was saved, bit for bit. The file may come from anywhere: everything in it is checked
    before it is used, and nothing in it is executed. What no check can tell is whether its model is a good one.

    An `EarlyExitClassifier` hands rows that lie within rounding of a tie to the wrapped estimator. Files describe
    scikit-learn's own classes (all that `EarlyExitClassifier` reads), and ``estimator_`` is then rebuilt from the
    file: it predicts bit for bit as the one that was wrapped, with the same scikit-learn on the same machine. Where
    `save` warned that it could not describe the estimator, and in files of format 1, ``estimator_`` is a `SavedModel`:
    it decides these rows by its own score in float64, has no probabilities and cannot be fitted again.

    Parameters
    ----------
    path : str or path-like
        Of the file.
    estimator : estimator, default=None
        For an `EarlyExitClassifier` only: the fitted estimator that was wrapped, in which case the classifier is the
        one that was saved in all respects. Needed for files with ``risk=0`` that do not describe it, because the
        promise is that estimator's own labels.

    Returns
    -------
    EarlyExitClassifier, DependencyParser, ChainClassifier, or an estimator of `wald.online`
        Fitted.

    Raises
    ------
    FileFormatError
        If the file was cut off or altered, contradicts itself, was written by a later version, or is no file of wald's.
        It is a ValueError.
    ValueError
        If ``estimator`` is not the one that was saved, or is missing for a file with ``risk=0``.
    TypeError
        If ``estimator`` is given for a model that wraps none.
    OSError
        If the file cannot be read.

    See Also
    --------
    save : The way there, with an example.

    Notes
    -----
    A kernel machine with sparse support vectors takes more memory than its file: the engine keeps them dense, as after
    ``fit``.
    """
    where = os.fspath(path)
    try:
        return _loaded(*container.read(path), estimator, where)
    except FileFormatError as error:
        raise FileFormatError(f"{where}: {error}.") from None


def to_bytes(model: Any) -> bytes:
    """Give the content of the file that `save` would write.

    Parameters
    ----------
    model : as for `save`

    Returns
    -------
    bytes
    """
    return container.to_bytes(*_encode(model))


def from_bytes(raw: bytes) -> Any:
    """Load a model from what `to_bytes` gave; the errors are those of `load`.

    Parameters
    ----------
    raw : bytes

    Returns
    -------
    As for `load`.
    """
    try:
        return _loaded(*container.from_bytes(raw), None, "<bytes>")
    except FileFormatError as error:
        raise FileFormatError(f"<bytes>: {error}.") from None


def _encode(model: Any) -> tuple[dict[str, Any], Arrays]:
    import wald

    arrays: Arrays = {}
    fields: dict[str, Any] = {"library": wald.__version__}
    if type(model) is EarlyExitClassifier:
        fields |= encode_early_exit(model, arrays)
    else:
        from .kinds import KINDS  # loads the models, which a classifier's file does without

        kind = type(model).__name__
        if kind not in KINDS or type(model) is not KINDS[kind].type:
            raise TypeError(
                f"save takes a fitted EarlyExitClassifier, {', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]}. "
                f"Got {kind} instead."
            )
        fields |= {"kind": kind, **KINDS[kind].encode(model, arrays)}
    try:  # what could not be loaded is not saved
        _decode(Section(fields, "header"), Stock(arrays))
    except FileFormatError as error:
        raise ValueError(f"This model cannot be saved: {error}.") from None
    return fields, arrays


def _loaded(header: Section, arrays: dict[str, NDArray[Any]], estimator: Any, where: str) -> Any:
    with np.errstate(all="ignore"):  # of numbers near the end of float64; warnings may be errors
        found = _decode(header, Stock(arrays))
        if isinstance(found, Parts):
            return assemble(found, estimator, where)
    if estimator is not None:
        raise TypeError(f"{where} holds a {type(found).__name__}, which wraps no estimator.")
    return found


def _decode(header: Section, stock: Stock) -> Any:
    """Give a model, or the parts of an `EarlyExitClassifier`."""
    header.text("library")
    try:
        if "kind" not in header:
            return Parts(header, stock)
        from .kinds import KINDS

        model = KINDS[header.choice("kind", list(KINDS))].decode(header, stock)
        header.done()
        stock.done()
        return model
    except FileFormatError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:  # from the classes that the parts belong to
        raise FileFormatError(str(error)) from None
