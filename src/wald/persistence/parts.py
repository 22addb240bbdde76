"""The parts of an early-exit estimator as they are read from a file, each checked, and against the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..early_exit.estimators import ESTIMATORS, EarlyExit, promising, reading
from ..early_exit.regressor import EarlyExitRegressor
from ..models import AdditiveModel
from ..models.encoding import needs_estimator, needs_members
from ..models.reading import Kind
from ..outputs import Values
from ..sources import Schema
from ..stopping import Certificate
from ..stopping.core.risks import largest
from . import archives
from .comparing import equal, read_again
from .models import decode_model, decode_question
from .monitors import decode_monitor
from .parameters import check_parameters, decode_parameters
from .plans import check_promise, decode_plan, decode_stage_scores
from .rankings import decode_ranking
from .rebuilding import Reader
from .surrogates import Before
from .trees import LIBRARIES, decode_trees, is_trees
from .wrapped import needs_archive

#: Statuses of certificates whose rows were counted for the promise.
COUNTED = ("certified", "too few rows", "too many disagreements")


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
        resolve(self.asking, self.model)
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
        fits = needs_archive(read) and equal(read, self.model)
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


def resolve(fast: EarlyExit, model: AdditiveModel) -> None:
    """Set the tolerance in the unit of the values, as `fit` found it."""
    if not isinstance(fast, EarlyExitRegressor) or fast.tolerance is None:
        return
    output, fast.tolerance_ = model.decision, fast.tolerance
    if isinstance(fast.relative, str) and isinstance(output, Values):
        fast.tolerance_ = output.tolerances or output.tolerance
