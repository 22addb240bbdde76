"""From full scores to the numbers that a model answers: decision values and probabilities, in its own arithmetic."""

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
from .units import Floats

#: Steps of a power of two in glibc's ``expf``, and the coefficients of 2^(x / EXPF_STEPS) - 1, the highest first.
EXPF_STEPS = 32
EXPF = [
    float.fromhex(digits) / EXPF_STEPS**power
    for digits, power in (("0x1.c6af84b912394p-5", 3), ("0x1.ebfce50fac4f3p-3", 2), ("0x1.62e42ff0c52d6p-1", 1))
]
EXPF_POWERS = 2.0 ** (np.arange(EXPF_STEPS) / EXPF_STEPS)
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
#: Parts of an octave in glibc's ``logf``, where they begin in the bits of a float32, their reciprocals and logarithms,
#: and the coefficients of log(1 + x) - x, the highest first.
LOGF_PARTS, LOGF_START = 16, 0x3F330000
LOGF_RECIPROCALS = np.array(
    [
        *(float.fromhex(f"0x1.{digits}p+0") for digits in ("661ec79f8f3be", "571ed4aaf883d", "49539f0f010b")),
        *(float.fromhex(f"0x1.{digits}p+0") for digits in ("3c995b0b80385", "30d190c8864a5", "25e227b0b8ea")),
        *(float.fromhex(f"0x1.{digits}p+0") for digits in ("1bb4a4a1a343f", "12358f08ae5ba", "0953f419900a7")),
        1.0,
        *(float.fromhex(f"0x1.{digits}p-1") for digits in ("e608cfd9a47ac", "ca4b31f026aa", "b2036576afce6")),
        *(float.fromhex(f"0x1.{digits}p-1") for digits in ("9c2d163a1aa2d", "886e6037841ed", "767dcf5534862")),
    ]
)
LOGF_LOGARITHMS = np.array(
    [
        *(float.fromhex(f"-0x1.{digits}p-2") for digits in ("57bf7808caade", "2bef0a7c06ddb", "01eae7f513a67")),
        *(float.fromhex(f"-0x1.{digits}p-3") for digits in ("b31d8a68224e9", "6574f0ac07758", "1aa2bc79c81")),
        *(float.fromhex(f"-0x1.{digits}p-4") for digits in ("a4e76ce8c0e5e", "1973c5a611ccc")),
        float.fromhex("-0x1.252f438e10c1ep-5"),
        0.0,
        float.fromhex("0x1.aa5aa5df25984p-5"),
        float.fromhex("0x1.c5e53aa362eb4p-4"),
        *(float.fromhex(f"0x1.{digits}p-3") for digits in ("526e57720db08", "bc2860d22477")),
        *(float.fromhex(f"0x1.{digits}p-2") for digits in ("1058bc8a07ee1", "4043057b6ee09")),
    ]
)
LOGF = [float.fromhex(d) for d in ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2")]
#: Smaller numbers have the exponential 0 in float32.
LEAST_EXPF = -120.0
#: Up to this many numbers, lists are faster than arrays.
FEW = 32

Method = Callable[[Floats], NDArray[Any]]


@dataclass(frozen=True)
class Link:
    """The function from scores to probabilities, by its name.

    Parameters
    ----------
    kind : {"sigmoid", "softmax", "sigmoids", "expit", "exp", "exp_rows", "mean", "scipy", "none"}
        ``"sigmoid"``: the probability of class 1 of two. ``"softmax"``: probabilities of all classes. ``"sigmoids"``:
        one probability per class; they need not add up to 1. ``"expit"``, ``"exp"`` and ``"exp_rows"``: sigmoid and
        softmax as scikit-learn computes them, column by column or row by row. ``"mean"``: scores are probabilities.
        ``"scipy"``: softmax as SciPy computes it of float32 scores, which themselves decide the label. ``"none"``:
        there are no probabilities.
    slope : float, default=1.0
        Factor of the scores in a sigmoid.
    single : bool, default=False
        Whether the library computes in float32.
    """

    kind: Literal["sigmoid", "softmax", "sigmoids", "expit", "exp", "exp_rows", "mean", "scipy", "none"]
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
    kind : {"identity", "exp", "numpy exp", "square", "sigmoid", "softplus"}
        ``"numpy exp"``: the exponential with NumPy's rounding, as scikit-learn computes it. ``"square"``: the square
        with the sign of the score. ``"sigmoid"``: ``1 / (1 + exp(-score))``. ``"softplus"``: ``log(1 + exp(score))``.
    single : bool, default=False
        Whether the library computes in float32.
    """

    kind: Literal["identity", "exp", "numpy exp", "square", "sigmoid", "softplus"]
    single: bool = False

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
            single = found.astype(np.float32)
            if self.kind == "exp":
                return _large_float32_exponentials(single)
            return float32_sigmoid(single) if self.kind == "sigmoid" else single
        if self.kind == "exp":
            return exponentials(found)
        if self.kind == "numpy exp":
            return np.exp(found)
        if self.kind == "sigmoid":
            return np.asarray(1.0 / (1.0 + exponentials(-found)))
        if self.kind == "square":
            return np.asarray(np.sign(found) * found * found)
        if self.kind == "softplus":
            return np.asarray(np.vectorize(math.log1p, otypes=[np.float64])(exponentials(found)))
        return found


@dataclass(frozen=True)
class PathLink:
    """The function from sums of depths to the scores of an isolation forest, by its numbers.

    Parameters
    ----------
    usual : float
        Sum of the trees' average path lengths.
    offset : float
        What scores lie above or below.
    """

    usual: float
    offset: float

    def score_samples(self, depths: Floats) -> Floats:
        """What ``score_samples`` answers, as scikit-learn computes it.

        Parameters
        ----------
        depths : float64 ndarray of shape (n_rows, 1)

        Returns
        -------
        float64 ndarray of shape (n_rows,)
        """
        return np.asarray(-(2 ** (-(as_they_are(depths) / self.usual))))

    def decision_function(self, depths: Floats) -> Floats:
        """What ``decision_function`` answers; parameters as for `score_samples`."""
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
        """Probabilities by a link, unless the model computes them in another way.

        Parameters
        ----------
        link : Link or None
        predict_proba, decision_function : callable or None, default=None

        Returns
        -------
        Links
        """
        by_link = None if link is None or link.kind == "none" else link.probabilities
        return cls(decision_function, predict_proba or by_link, link)

    def only(self, inherited: Callable[[str], bool]) -> Links:
        """Keep the links of the methods that a model inherits from its library.

        Parameters
        ----------
        inherited : callable
            From the name of a method to whether it is inherited.

        Returns
        -------
        Links
        """
        methods = ("decision_function", "predict_proba", "score_samples", "predict")
        own = {name: None for name in methods if not inherited(name)}
        return replace(self, **own, link=None if "predict_proba" in own else self.link)


NO_LINKS = Links()


def as_they_are(scores: Floats) -> Floats:
    """Return the scores; one number for each row if there is one output.

    Parameters
    ----------
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    float64 ndarray of shape (n_rows, n_outputs) or (n_rows,)
    """
    return scores[:, 0] if scores.shape[1] == 1 else scores


def by_columns(function: Method, scores: Floats) -> NDArray[Any]:
    """Call a function with scores that lie in memory column by column, which decides the order of its sums.

    Parameters
    ----------
    function : callable
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    ndarray
    """
    return function(np.asfortranarray(scores))


def sigmoids(slope: float, scores: Floats) -> Floats:
    """Compute LightGBM's ``1 / (1 + exp(-slope * score))``; with one output, for both classes.

    Parameters
    ----------
    slope : float
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    float64 ndarray of shape (n_rows, n_classes)
    """
    found: Floats = 1.0 / (1.0 + exponentials(-slope * scores))
    return _pairs(found[:, 0]) if scores.shape[1] == 1 else found


def _pairs(second: Floats) -> Floats:
    """Probabilities of two classes, faster than `column_stack` for one row."""
    pairs = np.empty((len(second), 2))
    np.subtract(1.0, second, out=pairs[:, 0])
    pairs[:, 1] = second
    return pairs


def expit_pairs(scores: Floats) -> Floats:
    """Compute scikit-learn's probabilities of two classes.

    Parameters
    ----------
    scores : float64 ndarray of shape (n_rows, 1)

    Returns
    -------
    float64 ndarray of shape (n_rows, 2)
    """
    return _pairs(special.expit(scores[:, 0]))


def softmax(scores: Floats) -> Floats:
    """Compute LightGBM's softmax, which adds from the first class to the last.

    Parameters
    ----------
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    float64 ndarray of shape (n_rows, n_classes)
    """
    found = exponentials(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / _totals(found))


def _totals(found: NDArray[Any]) -> Floats:
    """Sums of the rows in float64, from the first class to the last, of shape (n, 1)."""
    total = np.zeros((len(found), 1))
    for column in found.T:
        total[:, 0] += column
    return total


def float32_sigmoids(scores: Floats) -> NDArray[np.float32]:
    """Compute XGBoost's probabilities of both classes, in float32.

    Parameters
    ----------
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    float32 ndarray of shape (n_rows, n_classes)
    """
    found = float32_sigmoid(scores[:, 0].astype(np.float32))
    return np.column_stack([np.float32(1) - found, found])


def float32_sigmoid(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute XGBoost's sigmoid, in float32.

    Parameters
    ----------
    scores : float32 ndarray

    Returns
    -------
    float32 ndarray of the same shape
    """
    one = np.float32(1)
    return np.asarray(one / (float32_exponentials(np.minimum(-scores, np.float32(88.7))) + one))


def float32_softmax(scores: Floats) -> NDArray[np.float32]:
    """Compute XGBoost's softmax: float32, but for the sum.

    Parameters
    ----------
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    float32 ndarray of shape (n_rows, n_classes)
    """
    single = scores.astype(np.float32)
    found = float32_exponentials(single - single.max(axis=1, keepdims=True))
    return np.asarray(found / _totals(found).astype(np.float32))


def softmax_of_float32(scores: Floats) -> NDArray[np.float32]:
    """Compute SciPy's softmax of float32 margins, as ``XGBClassifier(objective="multi:softmax")`` does.

    Parameters
    ----------
    scores : float64 ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    float32 ndarray of shape (n_rows, n_classes)
    """
    return np.asarray(special.softmax(scores.astype(np.float32), axis=1))


def exponentials(values: Floats) -> Floats:
    """Compute ``exp`` by the C library; NumPy's own rounds otherwise for some values.

    Parameters
    ----------
    values : float64 ndarray

    Returns
    -------
    float64 ndarray of the same shape
    """
    low, high = -745.2, 709.7
    if values.size <= FEW:
        few = [math.inf if value > high else math.exp(max(value, low)) for value in values.ravel().tolist()]
        return np.array(few, dtype=np.float64).reshape(values.shape)
    flat = np.clip(values.ravel(), low, high).tolist()
    found = np.fromiter(map(math.exp, flat), dtype=np.float64, count=len(flat)).reshape(values.shape)
    return np.where(values > high, np.inf, found)


def float32_exponentials(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute ``expf`` as glibc does, in float64: a power of two from a table, and a polynomial for the rest.

    Parameters
    ----------
    values : float32 ndarray
        At most 88.7.

    Returns
    -------
    float32 ndarray of the same shape
    """
    scaled = np.maximum(values, np.float32(LEAST_EXPF)).astype(np.float64) * (EXPF_STEPS * LOG2_E)
    steps = np.rint(scaled)
    rest, number = scaled - steps, steps.astype(np.int64)
    power = np.ldexp(EXPF_POWERS[number % EXPF_STEPS], number // EXPF_STEPS)
    found = ((EXPF[0] * rest + EXPF[1]) * (rest * rest) + (EXPF[2] * rest + 1.0)) * power
    return np.asarray(found.astype(np.float32))


def _large_float32_exponentials(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """`float32_exponentials` of any numbers; from 88.73 on they are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float32_exponentials(np.minimum(values, np.float32(89.0)))


def float32_logarithms(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute ``logf`` as glibc does, in float64: a logarithm from a table, and a polynomial for the rest.

    Parameters
    ----------
    values : float32 ndarray
        Positive, finite and normal.

    Returns
    -------
    float32 ndarray of the same shape
    """
    bits = values.view(np.int32)
    beyond = bits - np.int32(LOGF_START)
    part, octave = (beyond >> 19) % LOGF_PARTS, beyond >> 23
    fraction = (bits - (octave << 23)).view(np.float32).astype(np.float64)
    rest = fraction * LOGF_RECIPROCALS[part] - 1.0
    known = LOGF_LOGARITHMS[part] + octave * math.log(2.0)
    square = rest * rest
    found = (LOGF[0] * square + (LOGF[1] * rest + LOGF[2])) * square + (known + rest)
    return np.asarray(found.astype(np.float32))
