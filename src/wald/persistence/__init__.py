"""Models in files that can be trusted: arrays and a JSON header, no pickle, checked as if the file were hostile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..codec.header import FileFormatError
from ..codec.reading import BAD_VALUES, Section
from ..codec.room import NO_END, Room, mebibytes
from ..codec.writing import Arrays
from ..early_exit.estimators import ANY_EARLY_EXIT, ESTIMATORS
from ..utils.warn import warn_caller
from . import container
from .archives import UntrustedTypesError
from .assembling import assemble
from .early_exit import encode_early_exit
from .parts import Parts
from .saved import SavedModel
from .wrapped import require_no_estimators

__all__ = [
    "FileFormatError",
    "SavedModel",
    "UntrustedTypesError",
    "from_bytes",
    "load",
    "require_no_estimators",
    "save",
    "to_bytes",
]


def save(model: Any, path: str | os.PathLike[str], *, pipeline: str | None = None) -> None:
    """Save a fitted model to one file, without pickle.

    The file holds the parameters and what prediction needs: for an early-exit estimator the plan, the certificate,
    trees, coefficients, support vectors, labels, and how scores become values; for a parser or a chain the averaged
    weights, and what a budget buys by; for an online learner its whole training state, so that `partial_fit` continues
    bit for bit. It is written whole or not at all, replaces what was there, and the same model gives the same bytes.

    Parameters
    ----------
    model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        Fitted; or a DependencyParser, ChainClassifier, WordTagger or TextPipeline, a BudgetedPredictor of one of the
        first three, or an estimator of `wald.online`.
    path : str or path-like
        Path of the file; ``.wald`` is the usual ending.
    pipeline : {"skops"} or None, default=None
        How to save an early-exit estimator around a pipeline whose steps are not folded into its terms, or around a
        vote of estimators. None describes vectorizers, encoders, imputers, scalers and a `ColumnTransformer` of these
        by their own numbers and texts, and refuses other steps, and votes; ``"skops"`` puts the whole wrapped estimator
        into the file, as ``skops.io.dumps`` writes it, and needs skops (the extra ``cli``). So it does with a
        classifier behind surrogates, which a file else does not hold. Ignored for other models.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If it is none of these.
    ValueError
        If a file cannot hold it: transformers that are not folded into the terms, votes, extractors that are functions,
        labels that are neither numbers nor texts, rules from elsewhere, a random state that is no int; or if the
        wrapped model has changed since ``fit``.
    OSError
        If the file cannot be written.

    Warns
    -----
    UserWarning
        If the file cannot describe the wrapped estimator, because it is a `OneVsRestClassifier`, or a part of it is of
        a class of somebody else's or has been changed; the file is written, and needs
        ``wald.load(path, estimator=...)`` to answer as before at ties, and with ``risk=0``, for values, or where the
        estimator codes categories first, to be loaded at all. If a model stands behind surrogates: it is given to
        `load` again, and so are surrogates that are functions. If the file holds types that must be named to `load` as
        ``trusted``. If the model takes more memory than `load` allows a file of its size, so that `load` needs
        ``max_bytes``.

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
    >>> units = wald.Planner(cost="units")
    >>> fast = wald.EarlyExitClassifier(svc, risk=0.02, planner=units, random_state=0).fit(X[500:2500])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wald.save(fast, Path(folder) / "fast.wald")
    ...     loaded = wald.load(Path(folder) / "fast.wald")
    >>> bool((loaded.predict(X) == fast.predict(X)).all()), str(loaded.certificate_) == str(fast.certificate_)
    (True, True)
    """
    container.write(path, *_encode(model, pipeline))


def load(
    path: str | os.PathLike[str],
    *,
    estimator: Any = None,
    surrogates: Any = None,
    trusted: Sequence[str] = (),
    max_bytes: int | None = None,
) -> Any:
    """Load a model that `save` wrote.

    It answers as the one that was saved, bit for bit. The file may come from anywhere: everything in it is checked
    before it is used, and nothing in it is executed. No check can say whether its model is a good one. If
    the file holds a whole pipeline (``pipeline="skops"``), its types are checked before anything is built, and then the
    terms of its last step. The other numbers in its steps are not checked: load such a file only from people you trust.

    An `EarlyExitClassifier` hands rows that lie within rounding of a tie to the wrapped estimator. Files describe the
    classes of scikit-learn that early-exit estimators read, but for `OneVsRestClassifier` and for steps that are not
    folded into the terms, and ``estimator_`` is then rebuilt from the file: it predicts bit for bit as the one that was
    wrapped, with the same scikit-learn on the same machine. Where `save` warned that it could not describe the
    estimator, ``estimator_`` is a `SavedModel`: it decides these rows by its own score in float64, has no probabilities
    and cannot be fitted again; with ``risk=0`` it is refused.

    Parameters
    ----------
    path : str or path-like
        Path of the file.
    estimator : estimator, default=None
        For an `EarlyExitClassifier` only: the fitted estimator that was wrapped, in which case the classifier is the
        one that was saved in all respects. Needed for files with ``risk=0`` that do not describe it, because the
        promise is that estimator's own labels, and for models behind surrogates, unless the file was saved with
        ``pipeline="skops"``: the fitted classifier, or the function.
    surrogates : list, default=None
        For a model behind surrogates: those that the file does not hold, of which `save` warned, in their order and
        with their names.
    trusted : sequence of str, default=()
        Full names of types that a pipeline inside the file may be built of, beside those that skops knows to be
        harmless. What is neither is refused by name, and nothing of the pipeline is built then.
    max_bytes : int or None, default=None
        How much memory loading the file and its first prediction may take, beside its arrays and what the rows need.
        None allows 64 MiB, or 64 times the size of the file where that is more; 512 times where it holds sparse
        support vectors, because the engine keeps these dense.

    Returns
    -------
    EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        Fitted; or a DependencyParser, ChainClassifier, WordTagger or TextPipeline, a BudgetedPredictor of one of the
        first three, or an estimator of `wald.online`.

    Raises
    ------
    FileFormatError
        If the file was cut off or altered, contradicts itself, was written by a later version, is no file of wald's, or
        takes more memory than ``max_bytes``. It is a ValueError.
    ValueError
        If ``estimator`` is not the one that was saved, or is missing for a file with ``risk=0`` or with surrogates; if
        ``surrogates`` are not those that the file lacks; if the file holds types that are not ``trusted``.
    TypeError
        If ``estimator`` or ``surrogates`` are given for a model that has none.
    ImportError
        If the file holds a whole pipeline, and skops is not installed.
    OSError
        If the file cannot be read.

    See Also
    --------
    save : The way there, with an example.

    Notes
    -----
    A kernel machine with sparse support vectors takes more memory than its file: the engine keeps them dense, as after
    ``fit``. What the steps of a pipeline inside the file take when they transform rows is not bounded.
    """
    where, names = os.fspath(path), _checked_names(trusted)
    Room(0, max_bytes)  # checks it
    try:
        room = Room(os.stat(path).st_size, max_bytes)
        return _loaded(*container.read(path), room, estimator, where, names, surrogates)
    except FileFormatError as error:
        raise FileFormatError(f"{where}: {error}.") from None


def to_bytes(model: Any, *, pipeline: str | None = None) -> bytes:
    """Return the content of the file that `save` would write.

    Parameters
    ----------
    model, pipeline : as for `save`

    Returns
    -------
    bytes
    """
    return container.to_bytes(*_encode(model, pipeline))


def from_bytes(raw: bytes, *, trusted: Sequence[str] = (), max_bytes: int | None = None) -> Any:
    """Load a model from what `to_bytes` gave; the errors are those of `load`.

    Parameters
    ----------
    raw : bytes
    trusted, max_bytes : as for `load`

    Returns
    -------
    As for `load`.
    """
    names, room = _checked_names(trusted), Room(len(raw), max_bytes)
    try:
        return _loaded(*container.from_bytes(raw), room, None, "<bytes>", names)
    except FileFormatError as error:
        raise FileFormatError(f"<bytes>: {error}.") from None


def _encode(model: Any, pipeline: str | None) -> tuple[dict[str, Any], Arrays]:
    import wald

    if pipeline not in (None, "skops"):
        raise ValueError(f"pipeline must be 'skops' or None. Got {pipeline!r} instead.")
    arrays: Arrays = {}
    kind = type(model).__name__
    fields: dict[str, Any] = {"library": wald.__version__, "kind": kind}
    if type(model) in ESTIMATORS.values():
        fields |= encode_early_exit(model, arrays, pipeline)
    else:
        from .kinds import KINDS  # loads the models, which other files do without

        if kind not in KINDS or type(model) is not KINDS[kind].type:
            raise TypeError(
                f"save takes a fitted {ANY_EARLY_EXIT}, {', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]}. "
                f"Got {kind} instead."
            )
        fields |= KINDS[kind].encode(model, arrays)
    room = Room(0, NO_END)
    try:  # a model that `load` would refuse is not saved
        _decode(fields, arrays, room)
    except FileFormatError as error:
        raise ValueError(f"This model cannot be saved: {error}.") from None
    _warn_of_memory(room, sum(array.nbytes for array in arrays.values()))
    return fields, arrays


def _warn_of_memory(room: Room, size: int) -> None:
    allowed = room.of_size(size)
    if room.reserved > allowed:
        warn_caller(
            f"This model takes {mebibytes(room.reserved)} of memory, and wald.load allows a file of this size "
            f"{mebibytes(allowed)}, because anybody may have written it. This one is loaded by wald.load(path, "
            f"max_bytes={room.reserved}).",
        )


def _checked_names(trusted: Any) -> tuple[str, ...]:
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        raise TypeError(f"trusted must be a list of names of types. Got {trusted!r} instead.")
    return tuple(trusted)


def _loaded(
    fields: dict[str, Any],
    arrays: Arrays,
    room: Room,
    estimator: Any,
    where: str,
    trusted: Sequence[str],
    surrogates: Any = None,
) -> Any:
    with np.errstate(all="ignore"):  # numbers near the limits of float64 overflow; warnings may be errors
        found = _decode(fields, arrays, room)
        if isinstance(found, Parts):
            return assemble(found, estimator, where, trusted, surrogates)
    if estimator is not None or surrogates is not None:
        raise TypeError(f"{where} holds a {type(found).__name__}, which wraps no estimator.")
    return found


def _decode(fields: dict[str, Any], arrays: Arrays, room: Room) -> Any:
    """Decode a model, or the parts of an early-exit estimator."""
    header = Section(fields, "header", dict(arrays), room)
    header.get("library", str)
    try:
        shells = {shell.__name__: kind for kind, shell in ESTIMATORS.items()}
        name = fields.get("kind")
        if isinstance(name, str) and name in shells:
            header.take("kind")
            found: Any = Parts(header, shells[name])
        else:
            from .kinds import KINDS

            name = header.choice("kind", (*KINDS, *shells))
            found = KINDS[name].decode(header)
        header.end()
        return found
    except FileFormatError:
        raise
    except BAD_VALUES as error:  # from the classes that the parts belong to
        raise FileFormatError(str(error)) from None
