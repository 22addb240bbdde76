"""An early-exit estimator as a header and arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..codec.header import FileFormatError
from ..codec.writing import Arrays, encode, encode_fields, fields_of, text_array
from ..early_exit.compiled.parameters import Parameters, checked_rule
from ..early_exit.compiled.planner import planner_of
from ..early_exit.estimators import EarlyExit, promising, reading
from ..early_exit.ranker import EarlyExitRanker
from ..models import AdditiveModel
from ..models.asked import AskedFunction
from ..models.bought import BoughtTerms
from ..models.encoding import needs_members
from ..models.opaque import OpaqueTerms
from ..outputs import Output
from ..stopping import StageScores
from .comparing import as_planned
from .models import encode_model
from .monitors import monitor_fields
from .parameters import encode_parameters
from .plans import check_promise, encode_plan
from .rankings import encode_ranking
from .saved import SavedModel
from .surrogates import encode_surrogates
from .wrapped import archived, encode_wrapped, needs_archive, require_no_estimators


def encode_early_exit(owner: EarlyExit, arrays: Arrays, pipeline: str | None = None) -> dict[str, Any]:
    """Describe a fitted estimator, and put its numbers into ``arrays``; ``pipeline`` is as for `save`."""
    check_is_fitted(owner, "compiled_plan_")
    served = owner.compiled_plan_
    model, certificate, validation = served.model, served.certificate, served.validation
    if BoughtTerms.of(model.terms) is not None:
        raise TypeError(f"No file of wald holds a {model.terms.description}. Keep the estimator with joblib or pickle.")
    served.require_unchanged()
    behind = OpaqueTerms.of(model.terms) is not None
    if behind and pipeline is not None and isinstance(model.estimator, AskedFunction):
        raise ValueError("A function is in no file: leave pipeline out, and give the function to wald.load again.")
    if pipeline is None:
        require_no_estimators(model)
    own_steps = pipeline is None and model.preprocessing is not None and not behind
    checked_rule(promising(owner))  # raises for parameters that a file cannot hold
    lossless = served.by_proof or served.promise.rule.needs.lossless
    try:
        check_promise(certificate, served.plan, model.decision, served.by_proof, lossless)
    except FileFormatError as error:
        raise ValueError(f"This estimator cannot be saved: {error}. Call fit again.") from None
    whole = pipeline is not None
    if not behind:
        whole = not own_steps and needs_archive(model) and (whole or not needs_members(model.terms))
    rows = validation.one_per_group
    return {
        "fingerprint": model.fingerprint() if behind else _fingerprint(owner, model),
        "by_proof": bool(served.by_proof),
        "parameters": encode_parameters(_as_fitted(owner), arrays),
        **(
            {"behind": encode_surrogates(owner, model, arrays, whole)}
            if behind
            else {"model": encode_model(model, arrays)}
        ),
        "plan": encode_plan(served.plan, arrays),
        "certificate": encode(certificate, arrays, "certificate"),
        "schema": _encode_schema(owner, arrays),
        "estimator": None if behind and not whole else (archived if whole else encode_wrapped)(owner, model, arrays),
        "own_steps": bool(own_steps),
        **({"ranking": encode_ranking(owner, arrays)} if isinstance(owner, EarlyExitRanker) else {}),
        "monitor": served.monitor and encode_fields(monitor_fields(served.monitor), arrays, "monitor"),
        "stage_scores": encode_fields(_given(validation.scores, model.decision), arrays, "stage_scores"),
        **encode_fields({"one_per_group": None if rows is None else rows.astype(np.int64)}, arrays, ""),
    }


def _given(scores: StageScores, output: Output) -> dict[str, Any]:
    """The fields of stage scores that do not follow from others."""
    own = output.valued and output.by_margin
    fields = {name: value for name, value in fields_of(scores).items() if own or name != "losses"}
    return {name: value for name, value in fields.items() if name != "truth" or value is not None}


def _as_fitted(owner: EarlyExit) -> EarlyExit:
    """The estimator with the parameters of its promise, whichever were set after `fit`."""
    if not isinstance(owner, Parameters):
        return owner
    promise, other = owner.compiled_plan_.promise, copy.copy(owner)
    if owner.promised_risk != promise.given_risk:
        other.risk = promise.given_risk
    other.confidence = promise.confidence
    if hasattr(other, "reference"):
        other.reference = promise.reference
    other.planner = copy.copy(planner_of(owner)).set_params(rule=promise.given_rule)
    return other


def _encode_schema(owner: EarlyExit, arrays: Arrays) -> dict[str, Any]:
    """Describe the columns that an estimator reads, and whether the rows of `fit` had their names."""
    schema = owner.schema_
    names = None if schema.names is None else text_array(schema.array, "schema_.names")
    values = {"names": names, "library": schema.library, "of_rows": schema.of_rows}
    return encode_fields(values | {"seen": hasattr(owner, "feature_names_in_")}, arrays, "schema")


def _fingerprint(owner: EarlyExit, model: AdditiveModel) -> str:
    """Compute the fingerprint of the wrapped model, and refuse a model that has changed since ``fit``."""
    if isinstance(owner.estimator_, SavedModel):
        return owner.estimator_.fingerprint
    fingerprint = model.fingerprint()
    read = (as_planned(reading(owner)(owner.estimator_, raw_columns=raw), model) for raw in (True, False))
    if all(now.fingerprint() != fingerprint for now in read):
        raise ValueError("The wrapped model has changed since fit: what would be saved is not what it is. Fit again.")
    return fingerprint
