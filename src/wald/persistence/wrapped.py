"""The wrapped estimator in a file: described by numbers, as an archive, or left out with a warning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codec.header import FileFormatError
from ..codec.reading import Section
from ..codec.room import NO_END, Room
from ..codec.writing import Arrays, encode_fields
from ..early_exit.estimators import EarlyExit, asks, reading
from ..models import AdditiveModel, decompose
from ..models.encoding import needs_estimator, needs_members
from ..models.opaque import OpaqueTerms
from ..steps import Codes
from ..utils.warn import warn_caller
from . import archives
from .comparing import equal, read_again, reread, same_links
from .describing import NotRebuildableError, Writer
from .models import encode_model, encode_question
from .rebuilding import Reader
from .saved import SavedModel
from .surrogates import require_same
from .trees import encode_trees


def encode_wrapped(owner: EarlyExit, model: AdditiveModel, arrays: Arrays) -> dict[str, Any] | None:
    """Describe the wrapped estimator, so that a file answers by it; None, with a warning, where that cannot be."""
    if isinstance(owner.estimator_, SavedModel):
        return None
    if asks(owner):
        inner = reread(owner.estimator_, model, decompose, question=False)
        node = _described(owner, inner, arrays)
        if node is None:
            return None
        if not equal(inner, model, question=False):  # the terms follow from what is asked
            return node | {"inner": encode_model(inner, arrays, "estimator.inner")}
        return node | {"asked": encode_question(inner, arrays, "estimator.asked")}
    return _described(owner, model, arrays)


def _described(owner: EarlyExit, model: AdditiveModel, arrays: Arrays) -> dict[str, Any] | None:
    """Describe the wrapped estimator, as it was read without another question."""
    alone = encode_trees(model, arrays)
    if alone is not None:
        return alone
    if isinstance(model.preprocessing, Codes):  # the model's own codes of categories are all that comes before
        warn_caller(
            f"The file holds the terms of this {type(owner.estimator_).__name__} and not the codes of its categories, "
            "which are neither texts, numbers nor booleans: it is loaded by wald.load(path, estimator=...) alone.",
        )
        return None
    own: Arrays = {}
    try:
        # the steps of a pipeline have columns of their own
        n_columns = None if model.preprocessing is not None else getattr(owner, "n_features_in_", None)
        node = Writer(model, n_columns, own).node(owner.estimator_)
        section = Section(node, "header.estimator", dict(own))
        read = reread(Reader(model, n_columns).rebuilt(section, _rows_of(model)), model, decompose)
        if not (equal(read, model) and same_links(read, model)):
            raise NotRebuildableError("it reads otherwise when it is rebuilt")
    except (NotRebuildableError, FileFormatError) as error:
        _undescribed(owner, model, str(error))
        return None
    arrays |= own
    return node


def _undescribed(owner: EarlyExit, model: AdditiveModel, why: str) -> None:
    """Warn of a file without the estimator; raise ValueError where its steps would be lost."""
    if model.preprocessing is not None:
        steps = ", ".join(f"{name!r} ({type(step).__name__})" for name, step in model.preprocessing.steps)
        raise ValueError(
            f"The pipeline's steps {steps} cannot be saved: a file holds numbers, and no transformers that are not "
            "folded into the model. wald.save(model, path, pipeline='skops') puts the whole pipeline beside them, by "
            "skops. Or wrap the steps behind them and transform rows before predict, or keep this model with pickle or "
            f"joblib.\nThe file cannot describe them: {why}."
        ) from None
    if needs_members(model.terms):
        raise ValueError(
            f"A {model.terms.description} cannot be saved without its members, and the file cannot describe them: "
            f"{why}. wald.save(model, path, pipeline='skops') puts the estimators beside them, by skops. Or keep this "
            "model with pickle or joblib."
        ) from None
    without = (
        f"It promises the {model.column}s of the estimator (risk=0), and is loaded by wald.load(path, "
        "estimator=...) alone."
        if owner.compiled_plan_.by_proof or model.decision.valued
        else "Loaded without it, rows within rounding of a tie are decided by the terms, and there are no "
        "probabilities; wald.load(path, estimator=...) takes it."
    )
    warn_caller(
        f"The file holds the terms of this {type(owner.estimator_).__name__} and not the estimator itself: {why}. "
        f"{without}"
    )


def archived(owner: EarlyExit, model: AdditiveModel, arrays: Arrays) -> dict[str, Any]:
    """Put the whole pipeline into ``arrays``, as an archive that gives the same terms when it is built."""
    raw = archives.dump(owner.estimator_)
    unknown = archives.untrusted(raw)
    try:
        made = archives.load(raw, unknown, Room(0, NO_END), "this file")
        if OpaqueTerms.of(model.terms) is not None:
            require_same(made, model)
        else:
            rebuilt = read_again(made, reading(owner), model)
            if not (needs_archive(rebuilt) and equal(rebuilt, model) and same_links(rebuilt, model)):
                raise FileFormatError("it reads otherwise when it is built again")
    except FileFormatError as error:
        raise ValueError(f"The {type(owner.estimator_).__name__} cannot be saved: {error}.") from None
    if unknown:
        warn_caller(
            f"The file holds types that skops does not know to be harmless: {', '.join(unknown)}. It is loaded by "
            f"wald.load(path, trusted={unknown!r}).",
        )
    values = {"archive": "skops", "n_features_in": getattr(owner, "n_features_in_", None)}
    return encode_fields(values | {"skops": np.frombuffer(raw, dtype=np.uint8)}, arrays, "estimator")


def _rows_of(model: AdditiveModel) -> list[str] | None:
    """Rows that the estimator of a file must answer; None where its own columns say which."""
    return None if model.schema.n_columns is not None or model.texts is None else ["", "a text"]


def needs_archive(model: AdditiveModel) -> bool:
    """Whether a file must hold the whole estimator, because numbers do not describe it."""
    return model.preprocessing is not None or needs_estimator(model.terms) or needs_members(model.terms)


def require_no_estimators(model: AdditiveModel) -> None:
    """Raise ValueError if terms are estimators, which a file cannot hold."""
    if needs_estimator(model.terms):
        raise ValueError(
            f"A {model.terms.description} cannot be saved without its estimators, and a file holds numbers only. "
            "wald.save(model, path, pipeline='skops') puts the estimators beside them, by skops. Or keep this model "
            "with pickle or joblib."
        )
