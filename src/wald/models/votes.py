"""Votes of arbitrary fitted estimators: terms are what each member contributes to the scores of a row."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..engine import PythonTerms
from .encoding import decode_columns, encode_columns
from .members import PROBABILITY_ERROR, Member, kinds_of
from .packing import NO_SURROGATES, InPython, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Bounded, Delegating, Filed, Owned, Priced, refuse_prices
from .terms import Accepts
from .units import Costs, Floats, Groups, Ints, Units

if TYPE_CHECKING:
    from ..engine import Packed

#: Unit roundoff of float64.
U = 2.0**-53
#: What the first class is ahead of the second one where counts of votes are equal, and so on for later classes. It is
#: more than all rounding errors and less than a vote, up to the sizes that follow.
TIE = 2.0**-36
MOST_TIED_TERMS, MOST_TIED_WEIGHT, MOST_TIED_CLASSES = 4096, 2.0**16, 64
#: Fields in files, and the largest numbers of columns and classes there.
NUMBERS, FLAGS = ("divisor", "scale", "miss"), ("single", "counted", "exact", "nan", "sparse")
MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class VoteTerms(InPython, Bounded, Priced, Owned, Delegating, Filed):
    """Contributions of an ensemble's members as terms.

    A member's terms are its probabilities of the classes, or one value per class for the class that it chooses and
    another for the rest. Output k is the sum of the members' values for class k, each times the member's weight, in the
    order of the members, times ``scale``, divided by ``divisor``: the arithmetic of the ensemble, to the last bit. With
    a single output, a member's only term is 1 for the second class and -1 for the first.

    Parameters
    ----------
    members : tuple of Member
    weights : float64 ndarray of shape (n_members,)
    n_classes : int
    width : int
        Number of columns.
    divisor : float
    scale : float, default=1.0
    single : bool, default=False
        Whether two classes have one output.
    miss : float, default=0.0
        Value of the classes that a member does not choose; the chosen one has 1.
    counted : bool, default=False
        Whether scores are counts of votes, whose ties go to the first class.
    exact : bool, default=False
        Whether the scores have the bits of the ensemble's own.
    nan, sparse : bool, default=False
        Whether the ensemble accepts NaN, and sparse rows.
    chosen : int or None, default=None
        The class of the only output; None: all classes have one.
    """

    family: ClassVar[str] = "votes"
    unit_name: ClassVar[str] = "members"
    planning: ClassVar[Planning] = Planning(rest=Rest.ENGINE_OR_ONE_CALL, own_weights=True, orders_all_units=True)
    whole_in_files: ClassVar[bool] = True

    members: tuple[Member, ...]
    weights: Floats
    n_classes: int
    width: int
    divisor: float
    scale: float = 1.0
    single: bool = False
    miss: float = 0.0
    counted: bool = False
    exact: bool = False
    nan: bool = False
    sparse: bool = False
    chosen: int | None = None
    coef: Floats = field(init=False, repr=False)
    intercept: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        each = 1 if self.single or self.chosen is not None else self.n_classes
        coef = np.kron(self.weights * self.scale / self.divisor, np.eye(each))
        intercept = np.zeros(each)
        if self.counted and self._ties_can_be_broken():
            intercept = -TIE * (1.0 if self.single else np.arange(each, dtype=np.float64)) + intercept
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "intercept", intercept)

    def _ties_can_be_broken(self) -> bool:
        whole = bool((self.weights == np.round(self.weights)).all())
        small = float(self.weights.sum()) <= MOST_TIED_WEIGHT and self.n_classes <= MOST_TIED_CLASSES
        return whole and small and len(self.weights) * self.n_classes <= MOST_TIED_TERMS

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.width

    @property
    def accepts(self) -> Accepts:
        """What the ensemble accepts."""
        return Accepts(nan=self.nan, sparse=self.sparse, stored_nan=False)  # its members may be trees

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return f"vote of {len(self.members)} members ({kinds_of(member.estimator for member in self.members)})"

    @property
    def speed_key(self) -> Hashable:
        """The members, which are as fast as they are."""
        return self.description, *(id(member.estimator) for member in self.members)

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """What members contribute; each of them is called once."""
        each = self.n_outputs
        terms = np.arange(self.n_terms) if which is None else np.asarray(which, dtype=np.int64)
        values = np.empty((X.shape[0], len(terms)))
        owner = terms // each
        for m in np.unique(owner) if len(values) else ():  # estimators refuse to answer for no rows
            own = np.flatnonzero(owner == m)
            values[:, own] = self._contribution(self.members[m], X)[:, terms[own] % each]
        return values

    def _contribution(self, member: Member, X: Any) -> Floats:
        if member.method == "predict_proba":
            found = member.probabilities(X)
        else:
            codes = member.codes(X)
            if self.single:
                return np.where(codes == 1, 1.0, -1.0)[:, None]
            found = np.where(codes[:, None] == np.arange(self.n_classes), 1.0, self.miss)
        return found if self.chosen is None else found[:, self.chosen : self.chosen + 1]

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the largest value of a vote; 0 and 1 for probabilities."""
        least = np.array(
            [-1.0 if self.single else 0.0 if m.method == "predict_proba" else self.miss for m in self.members]
        )
        return np.repeat(least, self.n_outputs), np.ones(self.n_terms)

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of the rounding of sums, and of the members' own probabilities."""
        if self.divisor == self.scale == 1.0 and self.intercept.any():
            return 0.0  # whole numbers, plus multiples of TIE
        size = float(np.abs(self.coef).sum(axis=1).max())
        error = 4 * (self.n_terms + 8) * U * size
        if any(member.method == "predict_proba" for member in self.members):
            error += 2 * PROBABILITY_ERROR * size
        return error + 2 * self.score_error(0.0, working)

    def score_error(self, most: float, working: float) -> float:
        """Members that round by an unknown amount are trusted with half of their digits."""
        return 0.0 if self.exact else math.sqrt(working) * float(np.abs(self.coef).sum(axis=1).max())

    def units(self, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
        """Members, each with its values for all classes, at cost 1."""
        refuse_prices(self, groups, costs)
        terms = np.arange(self.n_terms).reshape(len(self.members), -1)
        return Units(tuple(terms), np.ones(len(self.members)))

    def owners(self) -> Ints | None:
        """Class of each term."""
        return None if self.n_outputs == 1 else np.tile(np.arange(self.n_outputs), len(self.members))

    @property
    def score_method(self) -> str | None:
        """Method of the ensemble that answers the scores, up to rounding; none answers counts of votes."""
        if self.counted:
            return None
        return "predict_proba" if any(m.method == "predict_proba" for m in self.members) else "decision_function"

    @property
    def gives_probabilities(self) -> bool:
        """Whether the scores are the ensemble's own probabilities of the classes."""
        return not (self.single or self.counted) and self.miss == 0 and self.score_method == "predict_proba"

    def of_output(self, output: int, sign: float) -> VoteTerms:
        """One output alone, or with ``sign=-1.0`` its negative, to the last bit."""
        return replace(self, chosen=output, scale=sign * self.scale)

    def with_stand_ins(self, model: Any, stand_in: Callable[[Member], Any]) -> tuple[Any, Self] | None:
        """Copy the ensemble and the terms, so that both ask other objects in place of the members."""
        held = getattr(model, "estimators_", [])
        by_id = {id(member.estimator): member for member in self.members}
        if not by_id.keys() <= set(map(id, held)):
            return None
        unread = {id(each): replace(self.members[0], estimator=each) for each in held if id(each) not in by_id}
        others = {key: stand_in(member) for key, member in (by_id | unread).items()}
        ensemble = copy.copy(model)
        ensemble.estimators_ = [each if others[id(each)] is None else others[id(each)] for each in held]
        asked = [(member, others[id(member.estimator)]) for member in self.members]
        members = tuple(member if other is None else member.asking(other) for member, other in asked)
        return ensemble, replace(self, members=members, exact=self.exact or None not in others.values())

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Pack for the engine in Python."""
        return PackedVotes(self, order)

    def totals(self, values: Floats) -> Floats:
        """Full scores from all contributions, with the ensemble's own arithmetic."""
        each = self.n_outputs
        sums = np.zeros((len(values), each))
        for m, weight in enumerate(self.weights):
            sums += values[:, m * each : (m + 1) * each] * weight
        return sums * self.scale / self.divisor

    def facts(self) -> dict[str, Any]:
        """Number of members, which have several terms each, and their names."""
        return {"terms": len(self.members), "members": [member.title for member in self.members]}

    def encode(self) -> dict[str, Any]:
        """Describe the vote without its members, which are in the archive of the estimator."""
        return {
            **{name: value for name, value in super().encode().items() if name != "members"},
            "probabilities": np.array([m.method == "predict_proba" for m in self.members], dtype=np.uint8),
            **encode_columns(m.columns for m in self.members),
        }

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Build terms without values from what `encode` returned."""
        n_classes, width = section.integer("n_classes", 2, MOST), section.integer("width", 1, MOST)
        numbers: dict[str, Any] = {name: section.number(name) for name in NUMBERS}
        flags: dict[str, Any] = {name: section.get(name, bool) for name in FLAGS}
        weights = section.floats("weights", None)
        n_members = len(weights)
        chosen = section.get("chosen", int | None) if "chosen" in section else None
        one = flags["single"] or chosen is not None
        fits = n_members > 0 and numbers["divisor"] != 0 and n_outputs == (1 if one else n_classes)
        fits = fits and chosen in (None, *range(n_classes))
        require(fits, "the terms do not fit together")
        section.room.reserve(64 * n_members * n_outputs**2, f"{n_members} members")
        columns = decode_columns(section, n_members, width)
        probable = section.integers("probabilities", ("uint8",), n_members, low=0, high=2)
        members = tuple(
            Member(f"member {m}", None, "predict_proba" if probable[m] else "predict", np.arange(n_classes), columns[m])
            for m in range(n_members)
        )
        return cls(members, weights, n_classes, width, **numbers, **flags, chosen=chosen)


class PackedVotes(PythonTerms):
    """Votes in the engine in Python, with the ensemble's own sums."""

    terms: VoteTerms

    def totals(self, values: Floats, working: float) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and bounds of their distance to the ensemble's own (n,)."""
        return self.terms.totals(values), np.full(len(values), self.terms.score_error(0.0, working))
