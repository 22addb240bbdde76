"""Models behind surrogates in files: what the surrogates are, and not the model, which is asked as it is.

Surrogates that wald has learnt are terms, in numbers. Classifiers that wald reads are described as members of a mean
are. Functions, and classifiers that it does not read, are given to `load` again, as is the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codec.header import FileFormatError
from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields
from ..early_exit.estimators import EarlyExit
from ..models import AdditiveModel, decompose, families
from ..models.asked import AskedFunction
from ..models.asking import asked_model, title_of
from ..models.encoding import decode_terms, encode_terms
from ..models.looks import Looks
from ..models.opaque import OpaqueTerms, opaque_model
from ..models.packing import memory
from ..models.reading import of_classes
from ..models.terms import Terms
from ..outputs.labels import MOST_CLASSES
from ..sources import Schema
from ..surrogates import Surrogate, surrogates_of
from ..surrogates.scores import Scores
from ..utils.warn import warn_caller
from .describing import NotRebuildableError, describe_member
from .members import decode_member, encode_member
from .models import decode_labels, encode_labels
from .rebuilding import Reader

#: Limits of what a file may speak of.
MOST_SURROGATES, MOST_NUMBERS = 1000, 1 << 20
#: Families of the terms of which the scores of surrogates are made.
SCORES = ("linear", "kernel", "trees")


def encode_surrogates(owner: EarlyExit, model: AdditiveModel, arrays: Arrays, whole: bool) -> dict[str, Any]:
    """Describe what stands before a model, and warn of what `load` must be given.

    Parameters
    ----------
    owner : EarlyExitClassifier
    model : AdditiveModel
        Of `OpaqueTerms`.
    arrays : dict from name to ndarray
        Receives the arrays.
    whole : bool
        Whether the file holds the model itself.
    """
    looks, terms = model.preprocessing, OpaqueTerms.of(model.terms)
    assert isinstance(looks, Looks)
    assert terms is not None
    each: list[dict[str, Any]] = []
    for i, (surrogate, width, cost) in enumerate(zip(looks.surrogates, terms.widths, terms.costs, strict=True)):
        assert isinstance(surrogate, Surrogate)
        about: dict[str, Any] = {"name": surrogate.title, "width": width, "cost": cost}
        each.append(about | _described(surrogate, arrays, f"behind.surrogates.{i}"))
    given = [about["name"] for about in each if "scores" not in about and "classifier" not in about]
    lacking = ([] if whole else ["estimator=..."]) + (["surrogates=[...]"] if given else [])
    if lacking:
        named = f", nor of the surrogates {', '.join(map(repr, given))}" if given else ""
        what = f"no numbers of {terms.title}, which is asked as it is{named}"
        if whole:
            what = f"no numbers of the surrogates {', '.join(map(repr, given))}"
        warn_caller(f"The file holds {what}: it is loaded by wald.load(path, {', '.join(lacking)}).")
    fields = {
        "title": terms.title,
        "learnt": isinstance(getattr(owner, "surrogates", None), str | None),
        "function": isinstance(model.estimator, AskedFunction),
        "complete": looks.complete,
        "n_columns": model.schema.n_columns,
        "n_classes": len(model.classes),
    }
    return encode_fields(fields | encode_labels(model.classes), arrays, "behind") | {"surrogates": each}


def _described(surrogate: Surrogate, arrays: Arrays, where: str) -> dict[str, Any]:
    """The numbers of a surrogate; nothing where a file cannot hold it."""
    own: Arrays = {}
    if isinstance(surrogate.ask, Scores):
        parts, bound = surrogate.ask.parts
        chain = [
            {"family": t.family, "n_outputs": t.n_outputs, "terms": encode_terms(t, own, f"{where}.scores.{i}.terms")}
            for i, t in enumerate(parts)
        ]
        arrays |= own
        return {"scores": chain, "bound": "inf" if np.isinf(bound) else float(bound)}
    if surrogate.ask is not None or not hasattr(surrogate.model, "predict"):
        return {}
    try:
        read = decompose(surrogate.model)
        section = encode_member(read, own, f"{where}.classifier", describe_member)
        decode_member(Section(section, f"header.{where}.classifier", dict(own)), _rebuild, "classifier")
    except (TypeError, ValueError, NotRebuildableError):  # what wald does not read, or a file does not describe
        return {}
    arrays |= own
    return {"classifier": section}


def _rebuild(member: AdditiveModel, n_columns: int | None, described: Section) -> Any:
    rows = ["", "a text"] if member.schema.n_columns is None else None
    return Reader(member, n_columns).rebuilt(described, rows)


class Before:
    """What a file says of the surrogates before a model, checked.

    Parameters
    ----------
    section : Section

    Attributes
    ----------
    model : AdditiveModel
        Without the estimator and the surrogates, and without names of columns.
    """

    def __init__(self, section: Section) -> None:
        self._title, self._learnt = section.get("title", str), section.get("learnt", bool)
        self._function, self._complete = section.get("function", bool), section.get("complete", bool)
        n_columns, n_classes = section.get("n_columns", int | None), section.integer("n_classes", 2, MOST_CLASSES)
        require(n_columns is None or n_columns > 0, "header.behind.n_columns is no number of columns")
        classes = decode_labels(section, n_classes)
        each = section.take("surrogates")
        listed = isinstance(each, list) and len(each) <= MOST_SURROGATES
        require(listed, "header.behind.surrogates should be a list, and not too long")
        self._first: list[Terms] = []
        self._held = [
            self._surrogate(section.inside(about, f"surrogates.{i}"), n_columns) for i, about in enumerate(each)
        ]
        section.done()
        widths, costs = tuple(held.width for held in self._held), tuple(held.cost for held in self._held)
        section.room.reserve(16 * n_classes * (sum(widths) + n_classes), "answers of surrogates")
        self.model = AdditiveModel(
            estimator=None,
            terms=OpaqueTerms(widths, costs, n_classes, self._title),
            decision=of_classes(n_classes),
            preprocessing=None,
            classes=classes,
            schema=Schema(n_columns),
            allow_nan=False,
        )

    def _surrogate(self, section: Section, n_columns: int | None) -> _Held:
        """A surrogate, with nothing to ask where the file holds only its name."""
        name, width = section.get("name", str), section.integer("width", 1, MOST_NUMBERS)
        cost = section.number("cost", 0.0)
        made: Surrogate | None = None
        if "scores" in section:
            chain, n_before = [], n_columns
            bound = section.number("bound", 0.0, finite=False)
            parts = section.take("scores")
            require(isinstance(parts, list) and 0 < len(parts) <= 2, f"{section.where}.scores should be a list")
            for i, part in enumerate(parts):
                terms = _decode_scores(section.inside(part, f"scores.{i}"))
                require(n_before in (None, terms.n_features), f"{section.where}.scores do not fit together")
                n_before = terms.n_outputs
                chain.append(self._shared(terms) if i == 0 else terms)
            require(n_before == width, f"{section.where}.scores gives another width")
            made = Surrogate(chain[-1], name=name, ask=Scores(*chain, bound=bound))
        elif "classifier" in section:
            made = Surrogate(decode_member(section.section("classifier"), _rebuild, "classifier"), name=name)
        section.done()
        return _Held(name, width, cost, made)

    def _shared(self, terms: Terms) -> Terms:
        """The same terms where an earlier surrogate has them, too, so that they are evaluated once."""
        for known in self._first:
            if type(known) is type(terms) and _fields(known) == _fields(terms):
                return known
        self._first.append(terms)
        return terms

    def assembled(self, estimator: Any, given: Any, where: str) -> tuple[AdditiveModel, Any]:
        """The model behind its surrogates, and what `surrogates` was for the estimator.

        Parameters
        ----------
        estimator : object or None
            The model.
        given : sequence or None
            The surrogates that the file does not hold.
        where : str
            The file, in messages.

        Raises
        ------
        ValueError
            If something is missing, or another than was saved.
        """
        lacking = [held.name for held in self._held if held.made is None]
        if estimator is None:
            more = f", surrogates=[{', '.join(lacking)}]" if lacking else ""
            raise ValueError(
                f"{where} holds the surrogates of {self._title}, and not {self._title} itself, which is asked as it "
                f"is. Pass it: wald.load(path, estimator=...{more})."
            )
        model = asked_model(estimator)
        if isinstance(model, AskedFunction) and not hasattr(model, "classes_"):
            model = AskedFunction(model.function, self.model.classes)
        if title_of(model) != self._title or isinstance(model, AskedFunction) != self._function:
            also = f", for example as Calls(function, name={self._title!r})" if self._function else ""
            raise ValueError(
                f"{where} was saved for {self._title}, and estimator is {title_of(model)}: give the one that was "
                f"wrapped{also}."
            )
        classes = np.asarray(model.classes_)
        if not np.array_equal(classes, self.model.classes):
            raise ValueError(
                f"{where} was saved for a {self._title} with the classes {self.model.classes.tolist()}, and those of "
                f"estimator are {classes.tolist()}."
            )
        others = surrogates_of([] if given is None else given)
        if [each.title for each in others] != lacking:
            needs = f"[{', '.join(lacking)}]" if lacking else "none"
            raise ValueError(
                f"{where} needs as surrogates {needs}, which it does not hold. Got "
                f"[{', '.join(each.title for each in others)}]: give them in this order, with these names, as in fit."
            )
        left = iter(others)
        surrogates = [(next(left) if held.made is None else held.made).costing(held.cost) for held in self._held]
        widths = [held.width for held in self._held]
        n_columns = self.model.schema.n_columns
        made = opaque_model(model, surrogates, widths, n_columns, complete=self._complete)
        return made, None if self._learnt else surrogates


@dataclass(frozen=True, eq=False)
class _Held:
    """A surrogate of a file: its name, how many numbers it gives, its cost, and itself if it is there."""

    name: str
    width: int
    cost: float
    made: Surrogate | None


def _fields(terms: Terms) -> tuple[Any, ...]:
    """All that terms consist of."""
    arrays: Arrays = {}
    fields = encode_terms(terms, arrays, "")
    return fields, {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def _decode_scores(section: Section) -> Terms:
    """Terms that are scores of a surrogate."""
    known = families()
    family = known[section.choice("family", SCORES)]
    terms = decode_terms(family, section.section("terms"), section.integer("n_outputs", 1, MOST_NUMBERS))
    for needed, what in memory(terms, 0, "float64", []):
        section.room.reserve(needed, what)
    section.done()
    return terms


def require_same(made: Any, model: AdditiveModel) -> None:
    """Raise FileFormatError unless what an archive gave is a classifier with the classes of a model."""
    try:
        same = np.array_equal(np.asarray(asked_model(made).classes_), model.classes)
    except Exception as error:  # attributes of a forged estimator may be anything
        raise FileFormatError(f"the model inside is no classifier: {error}") from None
    require(same, "the model inside has other classes than the file")
