"""An early-exit estimator as a header and arrays, and back."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ..codec.header import FileFormatError
from ..codec.reading import BAD_VALUES, Section, require
from ..codec.room import NO_END, Room
from ..codec.writing import Arrays, encode, encode_fields, fields_of, text_array
from ..early_exit import CompiledPlan
from ..early_exit.certification import Promise
from ..early_exit.compiled_plan import ValidationRows
from ..early_exit.estimators import ESTIMATORS, EarlyExit, asks, promising, reading
from ..early_exit.parameters import Parameters, checked_rule
from ..early_exit.planner import planner_of
from ..early_exit.reader import RowReader
from ..models import AdditiveModel, decompose
from ..models.asked import AskedFunction
from ..models.bought import BoughtTerms
from ..models.encoding import needs_estimator, needs_members
from ..models.opaque import OpaqueTerms
from ..models.reading import Kind
from ..outputs import Output, Values
from ..sources import Schema
from ..steps import Codes
from ..stopping import Certificate, StageScores
from ..stopping.core.risks import largest
from ..utils.warn import warn_caller
from . import archives
from .comparing import as_planned, equal, read_again, reread, same_links
from .models import decode_model, decode_question, encode_model, encode_question
from .monitors import decode_monitor, monitor_fields
from .parameters import check_parameters, decode_parameters, encode_parameters
from .plans import check_promise, decode_plan, decode_stage_scores, encode_plan
from .rankings import decode_ranking, encode_ranking
from .rebuilding import NotRebuildableError, Reader, Writer
from .saved import SavedModel
from .surrogates import Before, encode_surrogates, require_same
from .trees import LIBRARIES, decode_trees, encode_trees, is_trees

#: Statuses of certificates whose rows were counted for the promise.
COUNTED = ("certified", "too few rows", "too many disagreements")

# ---- from a classifier to header and arrays --------------------------------------------------------------------------


def encode_early_exit(owner: EarlyExit, arrays: Arrays, pipeline: str | None = None) -> dict[str, Any]:
    """Describe a fitted estimator, and put its numbers into ``arrays``; ``pipeline`` is as for `save`."""
    check_is_fitted(owner, "compiled_plan_")
    _refuse_bought(owner.compiled_plan_.model)
    served = owner.compiled_plan_
    served.require_unchanged()
    model, certificate, validation = served.model, served.certificate, served.validation
    behind = OpaqueTerms.of(model.terms) is not None
    if behind and pipeline is not None and isinstance(model.estimator, AskedFunction):
        raise ValueError("A function is in no file: leave pipeline out, and give the function to wald.load again.")
    if pipeline is None:
        require_no_estimators(model)
    own_steps = pipeline is None and model.preprocessing is not None and not behind
    checked_rule(promising(owner))  # raises for parameters that a file cannot hold
    lossless = served.by_proof or served.promise.rule.needs.lossless
    try:
        check_promise(certificate, served.plan, served.model.decision, served.by_proof, lossless)
    except FileFormatError as error:
        raise ValueError(f"This estimator cannot be saved: {error}. Call fit again.") from None
    whole = (
        pipeline is not None
        if behind
        else not own_steps and _needs_archive(model) and (pipeline is not None or not needs_members(model.terms))
    )
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
        "estimator": None
        if behind and not whole
        else (_archived if whole else _encode_estimator)(owner, model, arrays),
        "own_steps": bool(own_steps),
        **({"ranking": encode_ranking(owner, arrays)} if model.kind == "ranker" else {}),
        "monitor": served.monitor and encode_fields(monitor_fields(served.monitor), arrays, "monitor"),
        "stage_scores": encode_fields(_given(validation.scores, model.decision), arrays, "stage_scores"),
        **encode_fields({"one_per_group": None if rows is None else rows.astype(np.int64)}, arrays, ""),
    }


def _refuse_bought(model: AdditiveModel) -> None:
    """Raise TypeError for a model behind surrogates on some of its groups."""
    if BoughtTerms.of(model.terms) is not None:
        raise TypeError(f"No file of wald holds a {model.terms.description}. Keep the estimator with joblib or pickle.")


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


def _encode_estimator(owner: EarlyExit, model: AdditiveModel, arrays: Arrays) -> dict[str, Any] | None:
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
    name = type(owner.estimator_).__name__
    if _codes(model):
        warn_caller(
            f"The file holds the terms of this {name} and not the codes of its categories, which are neither texts, "
            "numbers nor booleans: it is loaded by wald.load(path, estimator=...) alone.",
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
        raise ValueError(f"{_no_steps(model)}\nThe file cannot describe them: {why}.") from None
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


def _archived(owner: EarlyExit, model: AdditiveModel, arrays: Arrays) -> dict[str, Any]:
    """Put the whole pipeline into ``arrays``, as an archive that gives the same terms when it is built."""
    raw = archives.dump(owner.estimator_)
    unknown = archives.untrusted(raw)
    try:
        made = archives.load(raw, unknown, Room(0, NO_END), "this file")
        if OpaqueTerms.of(model.terms) is not None:
            require_same(made, model)
        else:
            rebuilt = read_again(made, reading(owner), model)
            if not (_needs_archive(rebuilt) and equal(rebuilt, model) and same_links(rebuilt, model)):
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


def _codes(model: AdditiveModel) -> bool:
    """Whether all that comes before the terms is the model's own codes of categories."""
    return isinstance(model.preprocessing, Codes)


def _needs_archive(model: AdditiveModel) -> bool:
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


def _no_steps(model: AdditiveModel) -> str:
    """What to say of transformers that a file cannot hold."""
    assert model.preprocessing is not None
    steps = ", ".join(f"{name!r} ({type(step).__name__})" for name, step in model.preprocessing.steps)
    return (
        f"The pipeline's steps {steps} cannot be saved: a file holds numbers, and no transformers that are not folded "
        "into the model. wald.save(model, path, pipeline='skops') puts the whole pipeline beside them, by skops. Or "
        "wrap the steps behind them and transform rows before predict, or keep this model with pickle or joblib."
    )


def _fingerprint(owner: EarlyExit, model: AdditiveModel) -> str:
    """Compute the fingerprint of the wrapped model, and refuse a model that has changed since ``fit``."""
    if isinstance(owner.estimator_, SavedModel):
        return owner.estimator_.fingerprint
    fingerprint = model.fingerprint()
    read = (as_planned(reading(owner)(owner.estimator_, raw_columns=raw), model) for raw in (True, False))
    if all(now.fingerprint() != fingerprint for now in read):
        raise ValueError("The wrapped model has changed since fit: what would be saved is not what it is. Fit again.")
    return fingerprint


# ---- decode ----------------------------------------------------------------------------------------------------------


class Parts:
    """The parts of an estimator as read from a file: checked, and not yet compiled."""

    def __init__(self, header: Section, kind: Kind) -> None:
        self.room, self.shell = header.room, ESTIMATORS[kind]
        self.made: Any = None  # the estimator that the file describes
        self.other_terms = False  # whether that has other terms, because of what is asked of it
        self.fingerprint, self.by_proof = header.get("fingerprint", str), header.get("by_proof", bool)
        self.parameters = decode_parameters(header.section("parameters"), self.shell)
        described = None if header.lacks("estimator") else header.section("estimator")
        self.archive, n_columns = self._archive(described)
        self.asking = self.shell(None, **self.parameters)
        self._read = reading(self.asking)
        whole, self.own_steps = self.archive is not None, header.get("own_steps", bool)
        self.behind = Before(header.section("behind")) if "behind" in header else None
        if self.behind is None:
            self.model, n_features = decode_model(header.section("model"), kind, whole or self.own_steps)
        else:
            require(kind == "classifier" and not self.own_steps, "header.behind is about a classifier")
            self.model, n_features = self.behind.model, 0
        _resolve(self.asking, self.model)
        own_columns = self.model.schema.n_columns
        self.no_table = own_columns is None and not whole and self.behind is None
        self.n_features = n_columns if whole else own_columns if self.own_steps else n_features
        if self.behind is not None:
            self.n_features = own_columns
        require(whole or not needs_estimator(self.model.terms), "the file lacks the estimator that its terms belong to")
        self.plan = decode_plan(header.section("plan"), self.model)
        self.certificate: Certificate = header.get("certificate", Certificate)
        self.model, self.names_seen = self._with_schema(header.section("schema"))
        self.ranking = None
        if kind == "ranker" and not header.lacks("ranking"):
            self.ranking = decode_ranking(header.section("ranking"), self.model, self.parameters)
        promised = kind == "ranker" and bool(self.parameters["risk"])
        require((self.ranking is not None) == promised, "header.ranking does not follow from the risk")
        self.stage_scores = decode_stage_scores(header.section("stage_scores"), self.model, self.plan)
        self.estimator = None if whole or described is None else self._rebuilt(described)
        agree = self.estimator is None or (self.estimator.preprocessing is not None) == self.own_steps
        require(not self.no_table or self.estimator is not None, "the file lacks the vectorizer of its texts")
        apart = needs_members(self.model.terms) and not whole and self.estimator is None
        require(not apart, "the file lacks the members that its terms belong to")
        require(agree, "header.own_steps does not fit the estimator")
        self.monitor = None if header.lacks("monitor") else decode_monitor(header.section("monitor"))
        self.one_per_group: NDArray[np.intp] | None = None
        if not header.lacks("one_per_group"):
            rows = header.integers("one_per_group", ("int64",), None, low=0, high=self.stage_scores.n_rows)
            require(np.all(rows[:-1] < rows[1:]), "the array 'one_per_group' does not rise")
            self.one_per_group = rows.astype(np.intp)
        owner = self.shell(None, **self.parameters)
        rule = check_parameters(owner, self.model.strata)
        lossless = self.by_proof or rule.needs.lossless
        check_promise(self.certificate, self.plan, self.model.decision, self.by_proof, lossless)
        given = promising(owner)
        risk = largest(given.promised_risk)
        require(self.by_proof == (risk == 0), "header.by_proof does not follow from the risk")
        about_truth = getattr(given, "reference", "model") == "labels"
        require((self.stage_scores.truth is not None) == about_truth, "header.stage_scores do not fit the reference")
        if self.certificate.status in COUNTED:
            reference = getattr(given, "reference", "model")
            for name, value in (("risk", risk), ("confidence", given.confidence), ("reference", reference)):
                same = getattr(self.certificate, name) == value
                require(same, f"header.certificate.{name} is not that of the parameters")

    @staticmethod
    def _archive(described: Section | None) -> tuple[bytes | None, int | None]:
        """Take the archive of a whole pipeline if the file holds one, and its columns; nothing of it is built yet."""
        if described is None or "archive" not in described:
            return None, None
        described.choice("archive", ("skops",))
        n = described.get("n_features_in", int | None)
        require(n is None or n > 0, "header.estimator.n_features_in is no number of columns")
        raw = described.array("skops", ("uint8",), None).tobytes()
        described.done()
        return raw, n

    def _with_schema(self, section: Section) -> tuple[AdditiveModel, bool]:
        """Give the model with the columns of the file, and whether the rows of `fit` had their names."""
        names = None if section.lacks("names") else tuple(section.labels("names", (), self.n_features).tolist())
        library, of_rows = section.choice("library", LIBRARIES), section.get("of_rows", bool)
        seen = section.get("seen", bool)
        section.done()
        require(names is not None or not (of_rows or seen), "header.schema speaks of names that are not there")
        return replace(self.model, schema=Schema(self.n_features, names, library, of_rows)), seen

    def whole(self, trusted: Sequence[str], where: str) -> AdditiveModel:
        """Build the pipeline, which must have the terms of the file."""
        assert self.archive is not None
        self.made = archives.load(self.archive, trusted, self.room, where)
        read = read_again(self.made, self._read, self.model)
        n_columns = getattr(read.estimator, "n_features_in_", None)
        fits = _needs_archive(read) and equal(read, self.model)
        require(fits and n_columns in (None, self.n_features), "the pipeline inside has other terms than the file")
        return read

    def _rebuilt(self, described: Section) -> AdditiveModel:
        """The terms of the file around the estimator that it describes, which must have just these terms."""
        n_columns, inner = self.n_features, self.model
        if "asked" in described:
            inner = decode_question(described.section("asked"), inner)
        elif "inner" in described:
            inner, n_features = decode_model(described.section("inner"), self.model.kind, self.own_steps)
            require(n_features == self.model.terms.n_features, "header.estimator.inner has other columns")
            inner, self.other_terms = replace(inner, schema=self.model.schema), True
        if is_trees(described):
            self.made = decode_trees(described, inner)
            read = read_again(self.made, self._read)
            require(read.schema.n_columns == n_columns, "header.model.n_columns fits no trees")
            require(inner is self.model or equal(read, self.model), "the trees are not asked what the file says")
            return read
        rows = ["", "a text"] if self.no_table else None
        self.made = Reader(inner, None if self.own_steps else n_columns).rebuilt(described, rows)
        read = read_again(self.made, self._read, self.model)
        same = (read.preprocessing is not None) == self.own_steps and equal(read, self.model)
        same = same and (not self.own_steps or read.schema.n_columns == n_columns)
        require(same, "the estimator that the file describes has other terms than the file")
        # the terms of the file, whose support vectors the estimator shares; they lack what members say
        return read if needs_members(self.model.terms) else replace(read, terms=self.model.terms)


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
    owner: Any = parts.shell(frozen, **parts.parameters)
    owner.estimator_ = inner
    _resolve(owner, model)
    if len(model.classes):
        owner.classes_ = model.classes
    if parts.n_features is not None:
        owner.n_features_in_ = parts.n_features
    if parts.names_seen:
        owner.feature_names_in_ = model.schema.array
    validation = ValidationRows(parts.stage_scores, parts.one_per_group)
    reader = RowReader(model, getattr(owner, "feature_names_in_", None), parts.n_features, None, parts.shell.__name__)
    try:
        promise = Promise.of(promising(owner), grouped=False)
        compiled = CompiledPlan(model, parts.plan, parts.certificate, promise, validation, reader, packed)
    except BAD_VALUES as error:
        raise FileFormatError(str(error)) from None
    owner.compiled_plan_ = compiled
    if parts.ranking is not None:
        try:
            owner._set_ranking(*parts.ranking)
        except BAD_VALUES as error:
            raise FileFormatError(f"header.ranking: {error}") from None
    if parts.monitor is not None:
        try:
            restored = compiled.restored if parts.ranking is None else owner._restored
            owner.compiled_plan_ = restored(**parts.monitor)
        except ValueError as error:
            raise FileFormatError(f"header.monitor: {error}") from None
    return owner  # type: ignore[no-any-return]  # an instance of `parts.shell`


def _resolve(owner: Any, model: AdditiveModel) -> None:
    """Set the tolerance in the unit of the values, as `fit` found it."""
    output, given = model.decision, getattr(owner, "tolerance", None)
    if given is None or not hasattr(owner, "relative"):
        return
    owner.tolerance_ = given
    if isinstance(owner.relative, str) and isinstance(output, Values):
        owner.tolerance_ = output.tolerances or output.tolerance


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
