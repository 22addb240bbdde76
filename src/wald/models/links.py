"""From full scores to the numbers that a model answers: decision values and probabilities, in its own arithmetic.

Scores are a float64 ndarray of shape (n_rows, n_outputs). Probabilities have the shape (n_rows, n_classes), and are
float32 where the library computes in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils import extmath

from ..outputs import Labels
from .exponentials import exponentials, fast_exponentials, float32_exponentials, large_float32_exponentials
from .units import Floats

Method = Callable[[Floats], NDArray[Any]]


@dataclass(frozen=True)
class Link:
    """The function from scores to probabilities, by its name.

    Parameters
    ----------
    kind : {"sigmoid", "softmax", "sigmoids", "expit", "exp", "exp_rows", "mean", "scipy", "fast", "none"}
        ``"sigmoid"``: the probability of class 1 of two. ``"softmax"``: probabilities of all classes. ``"sigmoids"``:
        one probability per class; they need not add up to 1. ``"expit"``, ``"exp"`` and ``"exp_rows"``: sigmoid and
        softmax as scikit-learn computes them, column by column or row by row. ``"mean"``: scores are probabilities.
        ``"scipy"``: softmax as SciPy computes it of float32 scores, which themselves decide the label. ``"fast"``:
        softmax by the exponential function of CatBoost. ``"none"``: there are no probabilities.
    slope : float, default=1.0
        Factor of the scores in a sigmoid.
    single : bool, default=False
        Whether the library computes in float32.
    """

    kind: Literal["sigmoid", "softmax", "sigmoids", "expit", "exp", "exp_rows", "mean", "scipy", "fast", "none"]
    slope: float = 1.0
    single: bool = False

    def probabilities(self, scores: Floats) -> NDArray[Any]:
        """Compute probabilities.

        Parameters
        ----------
        scores : float64 ndarray of shape (n_rows, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            float32 if the library computes in float32.
        """
        if self.kind == "mean":
            return scores
        if self.kind == "expit":
            return expit_pairs(scores if self.slope == 1 else self.slope * scores)
        if self.kind == "exp_rows":
            return np.asarray(extmath.softmax(np.ascontiguousarray(scores)))
        if self.kind == "exp":
            return np.asarray(by_columns(extmath.softmax, scores))
        if self.kind == "fast":
            return softmax(scores, fast_exponentials)
        if self.kind == "scipy":
            return softmax_of_float32(scores)
        if self.kind == "softmax":
            return float32_softmax(scores) if self.single else softmax(scores)
        return float32_sigmoids(scores) if self.single else sigmoids(self.slope, scores)

    def codes(self, scores: Floats, decision: Labels) -> NDArray[np.int32]:
        """Labels by comparison of probabilities.

        Parameters
        ----------
        scores : float64 ndarray of shape (n_rows, n_outputs)
        decision : Labels
            The rule where probabilities do not decide.

        Returns
        -------
        int32 ndarray of shape (n_rows,)
        """
        if self.kind in ("mean", "scipy", "none"):
            return decision.answers(scores)
        probabilities = self.probabilities(scores)
        codes = probabilities[:, 1] > 0.5 if self.kind in ("sigmoid", "expit") else probabilities.argmax(axis=1)
        return codes.astype(np.int32)


@dataclass(frozen=True)
class ValueLink:
    """The function from scores to the values of a regressor or ranker, by its name.

    Parameters
    ----------
    kind : {"identity", "exp", "numpy exp", "fast_exp", "square", "sigmoid", "softplus", "mean_and_variance"}
        ``"numpy exp"``: the exponential with NumPy's rounding, as scikit-learn computes it. ``"fast_exp"``: the
        exponential function of CatBoost. ``"square"``: the square with the sign of the score. ``"sigmoid"``:
        ``1 / (1 + exp(-score))``. ``"softplus"``: ``log(1 + exp(score))``. ``"mean_and_variance"``: of two scores, the
        first, and CatBoost's exponential of twice the second.
    single : bool, default=False
        Whether the library computes in float32.
    """

    kind: Literal["identity", "exp", "numpy exp", "fast_exp", "square", "sigmoid", "softplus", "mean_and_variance"]
    single: bool = False

    @property
    def number(self) -> type[np.float64 | np.float32] | None:
        """The type of the values where a score is the value itself; else None."""
        return (np.float32 if self.single else np.float64) if self.kind == "identity" else None

    def values(self, scores: Floats) -> NDArray[Any]:
        """Compute values.

        Parameters
        ----------
        scores : float64 ndarray of shape (n_rows, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            float32 if the library computes in float32.
        """
        found = as_they_are(scores)
        if self.single:
            return np.asarray(SINGLE_VALUES.get(self.kind, np.asarray)(found.astype(np.float32)))
        return np.asarray(VALUES[self.kind](found))


#: The score of every row of an isolation forest whose trees were trained on one row each.
ALONE = -0.5


@dataclass(frozen=True)
class PathLink:
    """The function from sums of depths to the scores of an isolation forest, by its numbers.

    Parameters
    ----------
    usual : float
        Sum of the trees' average path lengths; 0 if each was trained on one row.
    offset : float
        What scores lie above or below.
    """

    usual: float
    offset: float

    def score_samples(self, depths: Floats) -> Floats:
        """What ``score_samples`` answers for depths (n_rows, 1), as scikit-learn computes it."""
        if self.usual == 0:  # trees of one row each
            return np.full(len(depths), ALONE)
        return np.asarray(-(2 ** (-(as_they_are(depths) / self.usual))))

    def decision_function(self, depths: Floats) -> Floats:
        """What ``decision_function`` answers for depths (n_rows, 1)."""
        return np.asarray(self.score_samples(depths) - self.offset)


@dataclass(frozen=True, eq=False)
class Links:
    """Functions from exact full scores (n_rows, n_outputs) to what a model's methods return.

    Parameters
    ----------
    decision_function, predict_proba, score_samples, predict : callable or None, default=None
        None: the model itself must be called. `predict` is for models whose answers are values.
    link : Link or None, default=None
        The function to probabilities by its name, as files hold it.
    value_link : ValueLink or None, default=None
        The function to values by its name, as files hold it.
    path_link : PathLink or None, default=None
        The function to the scores of an isolation forest, as files hold it.
    """

    decision_function: Method | None = None
    predict_proba: Method | None = None
    link: Link | None = None
    score_samples: Method | None = None
    predict: Method | None = None
    value_link: ValueLink | None = None
    path_link: PathLink | None = None

    @classmethod
    def of(
        cls, link: Link | None, predict_proba: Method | None = None, decision_function: Method | None = None
    ) -> Links:
        """Probabilities by a link, unless the model computes them in another way."""
        by_link = None if link is None or link.kind == "none" else link.probabilities
        return cls(decision_function, predict_proba or by_link, link)

    def only(self, inherited: Callable[[str], bool]) -> Links:
        """Keep the links of the methods of which `inherited` says, by name, that a model has them from its library."""
        methods = ("decision_function", "predict_proba", "score_samples", "predict")
        own = {name: None for name in methods if not inherited(name)}
        return replace(self, **own, link=None if "predict_proba" in own else self.link)


NO_LINKS = Links()


def as_they_are(scores: Floats) -> Floats:
    """The scores; one number for each row if there is one output."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def by_columns(function: Method, scores: Floats) -> NDArray[Any]:
    """Call a function with scores that lie in memory column by column, which decides the order of its sums."""
    return function(np.asfortranarray(scores))


def sigmoids(slope: float, scores: Floats) -> Floats:
    """Compute LightGBM's ``1 / (1 + exp(-slope * score))``; with one output, for both classes."""
    found: Floats = 1.0 / (1.0 + exponentials(-slope * scores))
    return _pairs(found[:, 0]) if scores.shape[1] == 1 else found


def _pairs(second: Floats) -> Floats:
    """Probabilities of two classes, faster than `column_stack` for one row."""
    pairs = np.empty((len(second), 2))
    np.subtract(1.0, second, out=pairs[:, 0])
    pairs[:, 1] = second
    return pairs


def expit_pairs(scores: Floats) -> Floats:
    """Compute scikit-learn's probabilities of two classes."""
    return _pairs(special.expit(scores[:, 0]))


def softmax(scores: Floats, exponential: Callable[[Floats], Floats] = exponentials) -> Floats:
    """Compute the softmax of LightGBM and CatBoost, which add from the first class to the last."""
    found = exponential(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / _totals(found))


def _totals(found: NDArray[Any]) -> Floats:
    """Sums of the rows in float64, from the first class to the last, of shape (n, 1)."""
    total = np.zeros((len(found), 1))
    for column in found.T:
        total[:, 0] += column
    return total


def float32_sigmoids(scores: Floats) -> NDArray[np.float32]:
    """Compute XGBoost's probabilities of both classes, in float32."""
    found = float32_sigmoid(scores[:, 0].astype(np.float32))
    return np.column_stack([np.float32(1) - found, found])


def float32_sigmoid(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute XGBoost's sigmoid of float32 scores, in float32."""
    one = np.float32(1)
    return np.asarray(one / (float32_exponentials(np.minimum(-scores, np.float32(88.7))) + one))


def float32_softmax(scores: Floats) -> NDArray[np.float32]:
    """Compute XGBoost's softmax: float32, but for the sum."""
    single = scores.astype(np.float32)
    found = float32_exponentials(single - single.max(axis=1, keepdims=True))
    return np.asarray(found / _totals(found).astype(np.float32))


def softmax_of_float32(scores: Floats) -> NDArray[np.float32]:
    """Compute SciPy's softmax of float32 margins, as ``XGBClassifier(objective="multi:softmax")`` does."""
    return np.asarray(special.softmax(scores.astype(np.float32), axis=1))


#: The functions of `ValueLink`, from the scores or the one score of each row, and those of libraries of float32.
VALUES: dict[str, Callable[[Floats], Any]] = {
    "identity": np.asarray,
    "exp": exponentials,
    "numpy exp": np.exp,
    "fast_exp": fast_exponentials,
    "square": lambda scores: np.sign(scores) * scores * scores,
    "sigmoid": lambda scores: 1.0 / (1.0 + exponentials(-scores)),
    "softplus": lambda scores: np.vectorize(math.log1p, otypes=[np.float64])(exponentials(scores)),
    "mean_and_variance": lambda scores: np.column_stack([scores[:, 0], fast_exponentials(2 * scores[:, 1])]),
}
SINGLE_VALUES: dict[str, Callable[[NDArray[np.float32]], Any]] = {
    "exp": large_float32_exponentials,
    "sigmoid": float32_sigmoid,
}
