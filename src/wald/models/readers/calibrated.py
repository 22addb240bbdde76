"""scikit-learn's ``CalibratedClassifierCV`` of several models, or of several classes that are calibrated one by one."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted

from ...sources import source_of
from ...steps import Chain
from ..links import NO_LINKS, Links, Method, as_they_are
from ..members import Member, watch_of
from ..packing import full_scores, pack
from ..planning import Planning, Rest
from ..protocols import Thresholded
from ..reading import Decompose, Family, Reading, column_names
from ..units import Floats
from ..votes import VoteTerms
from ..watch import Watch
from .votes import accepted, voted

if TYPE_CHECKING:
    from ..model import AdditiveModel


@dataclass(frozen=True, eq=False)
class CalibratedVotes(VoteTerms, Thresholded):
    """Probabilities of calibrated models whose scores the engine gives; see `VoteTerms`."""

    family: ClassVar[str] = "calibrated votes"
    planning: ClassVar[Planning] = replace(VoteTerms.planning, rest=Rest.OWN_ENGINE)

    def at_thresholds(self, n_rows: int, rng: np.random.Generator) -> Floats | None:
        """Rows next to thresholds of the first model, if it has such."""
        called = self.members[0].called
        assert isinstance(called, CalibratedByEngine)
        inner = None if called.model.preprocessing is not None else Thresholded.of(called.model.terms)
        return None if inner is None else inner.at_thresholds(n_rows, rng)


def read_calibrated(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``CalibratedClassifierCV`` as a vote: the mean probability of its calibrated models.

    Its members are the models of the folds, each with its calibrators, which are scikit-learn's own. The scores inside
    come from the engine where it gives the model's own bits, and else from the model.

    Raises
    ------
    TypeError
        If it does not say how many columns it takes.
    """
    check_is_fitted(model)
    classes, width = np.asarray(model.classes_), getattr(model, "n_features_in_", None)
    if width is None:
        raise TypeError(
            f"{type(model).__name__} of models that do not say how many columns they take (n_features_in_) is not "
            "supported. Put what reads texts or records in front of it, in one Pipeline."
        )
    members, watches = [], []
    for i, pair in enumerate(model.calibrated_classifiers_):
        member = Member(f"fold {i}", pair, "predict_proba", np.arange(len(classes)), None, column_names(model))
        inside = _inside(pair.estimator, decompose)
        if inside is None:
            watches.append(watch_of(pair.estimator))
        else:
            watches.append(inside.watch)
            member = member.asking(CalibratedByEngine(pair, inside))
        members.append(member)
        watches.append(Watch([(pair, "estimator"), (pair, "calibrators")]))
        watches += [Watch((each, name) for name in vars(each) if name.endswith("_")) for each in pair.calibrators]
    by_engine = all(isinstance(member.called, CalibratedByEngine) for member in members)
    terms = (CalibratedVotes if by_engine else VoteTerms)(
        tuple(members),
        np.ones(len(members)),
        len(classes),
        int(width),
        divisor=float(len(members)),
        exact=all(member.row_by_row for member in members),
        **accepted(model.calibrated_classifiers_[0].estimator),
    )
    links = Links(predict_proba=as_they_are) if by_engine else NO_LINKS
    return replace(voted(terms), links=links, watches=tuple(watches))


def _inside(estimator: Any, decompose: Decompose) -> AdditiveModel | None:
    """A calibrated model as it is read; None if the engine does not give the numbers that are calibrated."""
    try:
        model = decompose(estimator)
    except (TypeError, ValueError):
        return None
    known = model.serves_full and _link(model) is not None and isinstance(model.preprocessing, Chain | None)
    return model if known else None


def _asked(model: AdditiveModel) -> str:
    """The method whose answers scikit-learn calibrates."""
    return "decision_function" if hasattr(model.estimator, "decision_function") else "predict_proba"


def _link(model: AdditiveModel) -> Method | None:
    """From scores to what this method answers."""
    link: Method | None = getattr(model.links, _asked(model))
    return link


class EngineAnswers(ClassifierMixin, BaseEstimator):
    """A fitted classifier with the one method that scikit-learn calibrates, which the engine answers.

    Parameters
    ----------
    model : AdditiveModel
    """

    def __init__(self, model: AdditiveModel) -> None:
        self.model = model
        self._packed = pack(model.terms)
        self.classes_ = model.estimator.classes_

    @staticmethod
    def of(model: AdditiveModel) -> EngineAnswers:
        """Answer the method of a model that scikit-learn calibrates."""
        return (EngineScores if _asked(model) == "decision_function" else EngineProbabilities)(model)

    def _answer(self, X: Any) -> NDArray[Any]:
        model = self.model
        rows = X if model.preprocessing is None else model.preprocessing.transform(source_of(X))
        link = _link(model)
        assert link is not None
        return link(full_scores(self._packed, rows))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return type(self), (self.model,)


class EngineScores(EngineAnswers):
    """It has a decision function."""

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores of rows."""
        return self._answer(X)


class EngineProbabilities(EngineAnswers):
    """It has probabilities alone."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of rows."""
        return self._answer(X)


class CalibratedByEngine:
    """One of the models of a ``CalibratedClassifierCV``, whose scores the engine gives.

    Parameters
    ----------
    pair : sklearn.calibration._CalibratedClassifier
    model : AdditiveModel
        Of its estimator.
    """

    def __init__(self, pair: Any, model: AdditiveModel) -> None:
        self.model, self._pair = model, copy.copy(pair)
        self._pair.calibrators = copy.deepcopy(pair.calibrators)
        self._pair.estimator = EngineAnswers.of(model)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """As scikit-learn's own, which asks for the numbers and calibrates them.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return np.asarray(self._pair.predict_proba(X))


FAMILY = Family(
    (CalibratedClassifierCV,),
    ("predict", "predict_proba"),
    ("calibrated_classifiers_", "classes_"),
    read_calibrated,
    thresholds=False,
)
