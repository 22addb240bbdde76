"""An early-exit estimator from the parts of a file, and the wrapped estimator if it is given or inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.frozen import FrozenEstimator

from ..codec.header import FileFormatError
from ..codec.reading import BAD_VALUES
from ..early_exit import CompiledPlan
from ..early_exit.compiled.certification import Promise
from ..early_exit.compiled.compiled_plan import ValidationRows
from ..early_exit.compiled.reader import RowReader
from ..early_exit.estimators import EarlyExit, promising, reading, watched_on
from ..early_exit.ranker import EarlyExitRanker, set_race
from ..models import AdditiveModel
from ..models.asked import AskedFunction
from . import archives
from .comparing import equal, reread
from .parts import Parts, resolve
from .saved import SavedModel
from .surrogates import require_same


def assemble(
    parts: Parts, estimator: Any, where: str, trusted: Sequence[str] = (), surrogates: Any = None
) -> EarlyExit:
    """Compile an estimator, around the estimator if it is there; ``where`` names the file in messages."""
    packed = inner = None
    if parts.behind is not None:
        if parts.archive is not None and estimator is None:
            estimator = archives.load(parts.archive, trusted, parts.room, where)
            require_same(estimator, parts.model)
        inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
        model, parts.parameters["surrogates"] = parts.behind.assembled(inner, surrogates, where)
        inner = model.estimator
    elif surrogates is not None:
        raise TypeError(f"{where} holds a model without surrogates in front of it: leave surrogates out.")
    elif parts.archive is not None:
        if estimator is not None:
            raise ValueError(f"{where} holds its whole pipeline: load it without 'estimator'.")
        model = parts.whole(trusted, where)
    elif estimator is not None:
        inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
        model = _same_model(parts, inner, where)
    elif parts.own_steps and parts.estimator is None:
        raise ValueError(
            f"{where} holds the terms of a model that codes categories first, and not the codes. Pass the model "
            "itself: wald.load(path, estimator=...)."
        )
    elif parts.estimator is not None:
        model = parts.estimator
        # without stages, the estimator's own trees are those of the plan
        packed = None if len(parts.plan.terms) or parts.other_terms else getattr(model.estimator, "packed", None)
    elif parts.by_proof or parts.model.decision.valued:
        raise ValueError(
            f"{where} promises the {parts.model.column}s of the estimator itself (risk=0), which decides "
            "whatever is not proven early. Pass it: wald.load(path, estimator=...)."
        )
    else:
        try:
            saved = SavedModel(parts.model, parts.plan, parts.fingerprint, parts.parameters["n_jobs"])
        except BAD_VALUES as error:  # the engine's own checks
            raise FileFormatError(str(error)) from None
        model, packed = replace(parts.model, estimator=saved), saved.packed
    if model.schema.names is None:  # the estimator alone does not know them
        model = replace(model, schema=parts.model.schema)
    inner = parts.made or model.estimator if inner is None else inner
    frozen = inner if isinstance(inner, AskedFunction) else FrozenEstimator(inner)
    fast: EarlyExit = parts.shell(frozen, **parts.parameters)
    fast.estimator_ = inner
    resolve(fast, model)
    if len(model.classes):
        fast.classes_ = model.classes
    if parts.n_features is not None:
        fast.n_features_in_ = parts.n_features
    if parts.names_seen:
        fast.feature_names_in_ = model.schema.array
    validation = ValidationRows(parts.stage_scores, parts.one_per_group)
    reader = RowReader(model, getattr(fast, "feature_names_in_", None), parts.n_features, None, parts.shell.__name__)
    try:
        promise = Promise.of(promising(fast), grouped=False)
        compiled = CompiledPlan(model, parts.plan, parts.certificate, promise, validation, reader, packed)
    except BAD_VALUES as error:
        raise FileFormatError(str(error)) from None
    fast.compiled_plan_ = compiled
    if parts.ranking is not None:
        assert isinstance(fast, EarlyExitRanker)  # other files have none
        try:
            set_race(fast, *parts.ranking)
        except BAD_VALUES as error:
            raise FileFormatError(f"header.ranking: {error}") from None
    if parts.monitor is None:
        return fast
    try:
        return watched_on(fast, **parts.monitor)
    except ValueError as error:
        raise FileFormatError(f"header.monitor: {error}") from None


def _same_model(parts: Parts, estimator: Any, where: str) -> AdditiveModel:
    """Read an estimator, which must be the one that the file speaks of, number by number."""
    held = parts.model if parts.estimator is None else parts.estimator  # which has the members of a mean
    model = reread(estimator, held, reading(parts.asking))
    same = (model.preprocessing is not None) == parts.own_steps
    if parts.own_steps:  # the codes are not in the file
        same = same and model.fingerprint() == parts.fingerprint
    if not same or not equal(model, held):
        raise ValueError(
            f"{where} was saved for another model: its fingerprint is {parts.fingerprint[:16]}..., and that "
            f"of the {type(estimator).__name__} given as estimator is {model.fingerprint()[:16]}..."
        )
    return model
