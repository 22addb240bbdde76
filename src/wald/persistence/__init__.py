"""Models in files that can be trusted: arrays and a JSON header, no pickle, checked as if the file were hostile."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._prediction import Served
from ..additive import AdditiveModel, decompose
from ..early_exit import EarlyExitClassifier
from ..stopping import Certificate
from . import container, values
from .arrays import Arrays, Stock, text_array
from .header import FileFormatError, Section
from .models import decode_model, encode_model
from .parameters import check_parameters, decode_parameters, encode_parameters
from .plans import check_promise, decode_looks, decode_plan, encode_looks, encode_plan
from .saved import SavedModel

__all__ = ["FileFormatError", "SavedModel", "load", "save"]


def save(model: EarlyExitClassifier, path: str | os.PathLike[str]) -> None:
    """Save a fitted classifier to one file, without pickle.

    The file holds the plan, the certificate, the parameters, and what the full model needs to predict: coefficients,
    support vectors, labels. It is written whole or not at all, replaces what was there, and the same model gives the
    same bytes.

    Parameters
    ----------
    model : EarlyExitClassifier
        Fitted.
    path : str or path-like
        Of the file; ``.wald`` is usual.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If it is no `EarlyExitClassifier`.
    ValueError
        If a file cannot hold it: transformers that are not folded into the terms, labels that are neither numbers nor
        texts, rules from elsewhere, a random state that is no int; or if the wrapped model has changed since ``fit``.
    OSError
        If the file cannot be written.

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
    fields, arrays = _encode(model)
    try:  # what could not be loaded is not saved
        _decode(Section(fields, "header"), Stock(arrays))
    except FileFormatError as error:
        raise ValueError(f"This model cannot be saved: {error}.") from None
    container.write(path, fields, arrays)


def load(path: str | os.PathLike[str], *, estimator: Any = None) -> EarlyExitClassifier:
    """Load a classifier that `save` wrote.

    It gives the labels, costs and stages of the one that was saved, bit for bit. Rows that lie within rounding of a tie
    were handed to the wrapped estimator there; without ``estimator`` they are decided by the score in float64, and
    ``estimator_`` is a `SavedModel`, which has no probabilities and cannot be fitted again.

    The file may come from anywhere: everything in it is checked before it is used, and nothing in it is executed. What
    no check can tell is whether its model is a good one.

    Parameters
    ----------
    path : str or path-like
        Of the file.
    estimator : estimator, default=None
        The fitted estimator that was wrapped, in which case the classifier is the one that was saved in all respects.
        Needed for files with ``risk=0``, whose promise is that estimator's own labels.

    Returns
    -------
    EarlyExitClassifier
        Fitted.

    Raises
    ------
    FileFormatError
        If the file was cut off or altered, contradicts itself, was written by a later version, or is no file of wald's.
        It is a ValueError.
    ValueError
        If ``estimator`` is not the one that was saved, or is missing for a file with ``risk=0``.
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
    try:
        header, arrays = container.read(path)
        with np.errstate(all="ignore"):  # of numbers near the end of float64; warnings may be errors
            parts = _decode(header, Stock(arrays))
            return _assembled(parts, estimator, path)
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)}: {error}.") from None


# ---- from a classifier to header and arrays --------------------------------------------------------------------------


def _encode(owner: EarlyExitClassifier) -> tuple[dict[str, Any], Arrays]:
    import wald

    if type(owner) is not EarlyExitClassifier:
        raise TypeError(f"save takes a fitted EarlyExitClassifier. Got {type(owner).__name__} instead.")
    check_is_fitted(owner, "_served")
    served = owner._ready()
    require_no_front(served.model)
    arrays: Arrays = {}
    fields = {
        "library": wald.__version__,
        "fingerprint": _fingerprint(owner, served.model),
        "by_proof": bool(served.by_proof),
        "parameters": encode_parameters(owner, arrays),
        "model": encode_model(served.model, arrays),
        "plan": encode_plan(served.plan, arrays),
        "certificate": values.encode(owner.certificate_, arrays, "certificate"),
        "feature_names": _encode_names(owner, arrays),
    }
    encode_looks(owner._shape, arrays)
    return fields, arrays


def require_no_front(model: AdditiveModel) -> None:
    if model.front is None:
        return
    steps = ", ".join(f"{name!r} ({type(step).__name__})" for name, step in getattr(model.front, "steps", []))
    raise ValueError(
        f"The pipeline's steps {steps} cannot be saved: a file holds numbers, and no transformers that are not folded "
        "into the model. Wrap the steps behind them and transform rows before predict, or keep this model with pickle, "
        "joblib or skops."
    )


def _fingerprint(owner: EarlyExitClassifier, model: AdditiveModel) -> str:
    """Of the wrapped model, which must still be the one that was planned."""
    if isinstance(owner.estimator_, SavedModel):
        return owner.estimator_.fingerprint
    fingerprint = model.fingerprint()
    if decompose(owner.estimator_).fingerprint() != fingerprint:
        raise ValueError("The wrapped model has changed since fit: what would be saved is not what it is. Fit again.")
    return fingerprint


def _encode_names(owner: EarlyExitClassifier, arrays: Arrays) -> bool:
    names = getattr(owner, "feature_names_in_", None)
    if names is not None:
        arrays["feature_names"] = text_array(names, "feature_names_in_")
    return names is not None


# ---- and back --------------------------------------------------------------------------------------------------------


class _Parts:
    """What a file says, checked, and not yet compiled."""

    def __init__(self, header: Section, stock: Stock) -> None:
        self.library = header.text("library")
        self.fingerprint = header.text("fingerprint")
        self.by_proof = header.flag("by_proof")
        self.parameters = decode_parameters(header.section("parameters"), stock)
        self.model, self.n_features = decode_model(header.section("model"), stock)
        self.plan = decode_plan(header.section("plan"), stock, self.model)
        self.certificate: Certificate = values.decode(header.take("certificate"), stock, "certificate", Certificate)
        check_promise(self.certificate, self.plan, self.by_proof)
        self.names = self._names(stock) if header.flag("feature_names") else None
        self.looks = decode_looks(stock, self.model, self.plan)
        header.done()
        stock.done()
        check_parameters(EarlyExitClassifier(None, **self.parameters))

    def _names(self, stock: Stock) -> NDArray[Any]:
        names = stock.labels("feature_names", (), self.n_features)
        return names.astype(object)


def _decode(header: Section, stock: Stock) -> _Parts:
    try:
        return _Parts(header, stock)
    except FileFormatError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:  # from the classes that the parts belong to
        raise FileFormatError(str(error)) from None


def _assembled(parts: _Parts, estimator: Any, path: str | os.PathLike[str]) -> EarlyExitClassifier:
    if estimator is not None:
        inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
        model, packed = _same_model(parts, inner, path), None
    elif parts.by_proof:
        raise ValueError(
            f"{os.fspath(path)} promises the labels of the estimator itself (risk=0), which decides whatever is not "
            "proven early. Pass it: wald.load(path, estimator=...)."
        )
    else:
        try:
            inner = SavedModel.of(parts.model, parts.plan, parts.fingerprint, parts.parameters["n_jobs"])
        except (ValueError, TypeError) as error:  # the engine's own checks
            raise FileFormatError(str(error)) from None
        model, packed = replace(parts.model, estimator=inner), inner.packed
    owner = EarlyExitClassifier(FrozenEstimator(inner), **parts.parameters)
    owner.estimator_ = inner
    owner.classes_ = model.classes
    owner.n_features_in_ = parts.n_features
    if parts.names is not None:
        owner.feature_names_in_ = parts.names
    owner.plan_, owner.certificate_, owner._shape = parts.plan, parts.certificate, parts.looks
    try:
        owner._served = Served(model, parts.plan, parts.by_proof, packed)
    except (ValueError, TypeError) as error:
        raise FileFormatError(str(error)) from None
    return owner


def _same_model(parts: _Parts, estimator: Any, path: str | os.PathLike[str]) -> AdditiveModel:
    """Read an estimator, which must be the one that the file speaks of, number by number."""
    model = decompose(estimator)
    if model.front is not None or not _equal(model, parts.model):
        raise ValueError(
            f"{os.fspath(path)} was saved for another model: its fingerprint is {parts.fingerprint[:16]}..., and that "
            f"of the {type(estimator).__name__} given as estimator is {model.fingerprint()[:16]}..."
        )
    return model


def _equal(one: AdditiveModel, other: AdditiveModel) -> bool:
    first: Arrays = {}
    second: Arrays = {}
    fields = encode_model(one, first), encode_model(other, second)
    same = fields[0] == fields[1] and first.keys() == second.keys()
    return same and all(np.array_equal(first[name], second[name]) for name in first)
