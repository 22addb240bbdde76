"""The race of a ranker in files: its stages, and the certificate by groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode, encode_fields
from ..early_exit.group_answers import ranking_promise
from ..early_exit.ranker import EarlyExitRanker
from ..models import AdditiveModel
from ..models.packing import memory
from ..ranking import RankingCertificate, RankingPlan
from .plans import LONG, decode_stages, encode_stages

WHERE = "ranking"


def encode_ranking(ranker: EarlyExitRanker, arrays: Arrays) -> dict[str, Any] | None:
    """Describe how the rows of a ranker race; None where nothing is promised."""
    certificate = ranking_promise(ranker)
    if certificate is None:
        return None
    plan = ranker.ranking_plan_
    fields = None
    if plan is not None:
        values = {"k": plan.k, "q": plan.q, "terms": plan.terms, "usual": plan.usual.astype(np.float64)}
        fields = encode_fields(values, arrays, f"{WHERE}.plan")
        fields["stages"] = encode_stages(plan.stages, arrays, f"{WHERE}.plan.stages")
    return {"certificate": encode(certificate, arrays, f"{WHERE}.certificate"), "plan": fields}


def decode_ranking(
    section: Section, model: AdditiveModel, parameters: dict[str, Any]
) -> tuple[RankingCertificate, RankingPlan | None]:
    """Read and check what `encode_ranking` wrote of a model."""
    certificate: RankingCertificate = section.get("certificate", RankingCertificate)
    c, where = certificate, f"{section.where}.certificate"
    same = all(getattr(c, name) == parameters[name] for name in ("k", "risk", "confidence"))
    require(same, f"{where} is not that of the parameters")
    shares = 0 <= c.missing <= 1 and 0 <= c.limit <= 1 and 0 <= c.trees <= c.n_trees == model.terms.n_terms
    require(shares and c.n_groups >= 0, f"{where} has a number out of range")
    require(c.in_full or c.limit <= c.risk, f"{where} does not keep its risk")
    plan = None if section.lacks("plan") else _decode_plan(section.section("plan"), model)
    require((plan is None) == c.in_full and (plan is None or plan.k == c.k), f"{section.where}.plan is not certified")
    section.done()
    return certificate, plan


def _decode_plan(section: Section, model: AdditiveModel) -> RankingPlan:
    n_terms = model.terms.n_terms
    terms = section.integers("terms", LONG, None, low=0, high=n_terms)
    require(len(np.unique(terms)) == len(terms), f"the array {section.called('terms')!r} names something twice")
    stages = decode_stages(section.section("stages"), model, len(terms))
    require(np.all(stages.terms[:-1] <= stages.terms[1:]), f"the array {section.called('stages.terms')!r} falls")
    usual = section.floats("usual", len(stages), low=0.0)
    plan = RankingPlan(section.integer("k", 1), section.number("q", 0.0), terms, stages, usual, n_terms)
    section.done()
    for needed, what in memory(model.terms, 0, "float32", stages.terms.tolist()):
        section.room.reserve(needed, what)
    return plan
