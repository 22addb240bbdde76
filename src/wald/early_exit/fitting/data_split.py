"""Split of the rows of `fit`: to train the estimator, to fit order and readouts, to choose stages, and to certify."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted

from ...models import AdditiveModel, fitted_for_good
from ...models.boosters import unfrozen
from ...models.protocols import Comparing
from ...sources import RawSource, Source
from ...utils.figures import thousands
from ...utils.label_types import require_one_type
from ...utils.warn import warn_caller
from ..compiled.locating import locate
from .targets import require_targets

#: `warn_of_training_rows` ignores this number, or this share if it is more, of rows that equal support vectors.
DUPLICATES, DUPLICATE_SHARE = 5, 0.005
#: Share of the plan rows on which order and readouts are fitted; the others choose the stages.
ORDER_SHARE = 0.75

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of the rows for order and readouts, for the choice of stages, and for the certificate."""

    order: Indices
    validation: Indices
    certificate: Indices

    def use_of(self, n: int) -> str:
        """Sentence on the use of the n rows given to `fit`, for warnings that more rows are needed."""
        planned, kept = len(self.order) + len(self.validation), len(self.certificate)
        trained = f", {thousands(n - planned - kept)} trained the estimator" if n > planned + kept else ""
        return f". Of {thousands(n)} rows given to fit, {thousands(kept)} serve the certificate{trained}."


def fitted_estimator(
    wrapper: BaseEstimator,
    source: Source,
    y: Any,
    groups: ArrayLike | None,
    params: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[Any, Indices]:
    """Return the fitted estimator whose answers are promised, and the rows it was not trained on."""
    n = source.n_rows
    everything = np.arange(n)
    estimator = wrapper.estimator
    if is_frozen(estimator) or (y is None and is_fitted(estimator)):
        if params:
            raise ValueError(
                f"A frozen estimator is not fitted again, so that {', '.join(sorted(params))} would be ignored."
            )
        if y is not None and RawSource(y).n_rows != n:
            raise ValueError(f"y must have one entry for each of the {n} rows of X. Got {RawSource(y).n_rows}.")
        inner = unfrozen(estimator)
        check_is_fitted(inner)
        return inner, everything
    if y is None and is_outlier_detector(estimator):
        train, rest = _halves(n, np.zeros(n), groups, rng)
        return clone(estimator).fit(source.take(train).rows, **params), rest
    if y is None:
        raise ValueError(
            f"This {type(wrapper).__name__} estimator requires y to be passed, but the target y is None: "
            f"{type(estimator).__name__} is not fitted yet."
        )
    require_one_type(y)
    if not hasattr(y, "shape"):
        y = np.asarray(y)
    require_targets(y, n, estimator)
    if is_fitted(estimator):
        warn_caller(
            f"{type(estimator).__name__} is fitted already, and with y, a new one is trained on a random half of the "
            "rows: answers and certificate are those of the new one. "
            + (
                "Wrap the fitted one in FrozenEstimator to keep it."
                if getattr(wrapper, "reference", "model") == "labels"
                else "Leave y out to keep the fitted one."
            ),
        )
    train, rest = _halves(n, y, groups, rng)
    routed = process_routing(wrapper, "fit", **params).estimator.fit if _routing() else dict(params)
    sliced = {name: RawSource(v).take(train).rows if _per_row(v, n) else v for name, v in routed.items()}
    labels = RawSource(y).take(train).rows
    weight = sliced.get("sample_weight")
    weighed = None if weight is None or is_regressor(estimator) else np.asarray(labels)[np.asarray(weight) != 0]
    if weighed is not None and len(np.unique(weighed)) == 1:
        raise ValueError(
            "sample_weight leaves one class in the random half of the rows that trains the estimator; it needs two."
        )
    try:
        return clone(estimator).fit(source.take(train).rows, labels, **sliced), rest
    except (ValueError, TypeError) as error:
        if not hasattr(estimator, "steps"):  # the transformers of a pipeline may accept such values
            locate(error, source, None, getattr(wrapper, "feature_names_in_", None))
        raise


def _routing() -> bool:
    import sklearn

    return bool(sklearn.get_config()["enable_metadata_routing"])


def is_frozen(estimator: Any) -> bool:
    """Whether an estimator is never trained: a `FrozenEstimator`, a booster, or what was read from a file."""
    return fitted_for_good(estimator) is not None or isinstance(estimator, FrozenEstimator)


def is_fitted(estimator: Any) -> bool:
    """Whether scikit-learn takes an estimator as fitted."""
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def _per_row(value: Any, n: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == n


def _halves(n: int, y: Any, groups: ArrayLike | None, rng: np.random.Generator) -> tuple[Indices, Indices]:
    everything = np.arange(n)
    if groups is not None:
        if n and len(np.unique(np.asarray(groups))) == 1:
            raise ValueError(
                "groups must hold several groups: some train the estimator, others plan and certify. Got 1."
            )
        first, rest = by_group(everything, groups, 0.5, rng)
        return first, rest
    if n < 2:
        return everything, everything[:0]
    seed = int(rng.integers(2**31 - 1))
    try:
        train, rest = train_test_split(everything, test_size=0.5, stratify=np.asarray(y), random_state=seed)
    except ValueError:  # a class with one row, or y is no class labels; the estimator itself raises for invalid y
        train, rest = train_test_split(everything, test_size=0.5, random_state=seed)
    return np.sort(train), np.sort(rest)


def by_group(rows: Indices, groups: ArrayLike, share: float, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Split rows in two, without splitting a group."""
    _, member = np.unique(np.asarray(groups)[rows], return_inverse=True)
    shuffled = rng.permutation(member.max() + 1 if len(member) else 0)
    first = np.isin(member, shuffled[: _count_of_share(share, len(shuffled))])
    return rows[first], rows[~first]


def split_rows(rows: Indices, groups: ArrayLike | None, certificate_fraction: float, rng: np.random.Generator) -> Split:
    """Shuffle and split; groups stay together."""
    if groups is not None:
        certificate, plan = by_group(rows, groups, certificate_fraction, rng)
        order, validation = by_group(plan, groups, ORDER_SHARE, rng)
        return Split(rng.permutation(order), rng.permutation(validation), rng.permutation(certificate))
    shuffled = rng.permutation(rows)
    n_certificate = _count_of_share(certificate_fraction, len(rows))
    plan = shuffled[n_certificate:]
    n_order = _count_of_share(ORDER_SHARE, len(plan))
    return Split(plan[:n_order], plan[n_order:], shuffled[:n_certificate])


def _count_of_share(share: float, n: int) -> int:
    """Round ``share * n``, but at most to n - 1 if n is at least 2."""
    return min(round(share * n), max(1, n - 1))


def warn_of_training_rows(model: AdditiveModel, Z: Any) -> None:
    """Warn if rows seem to be training rows, because too many of them equal support vectors.

    The model is surer on training rows than on new ones. If features have few distinct values, new rows equal support
    vectors by chance, too. The number of such matches is estimated from the pairs of equal rows among the n given rows:
    if given and training rows are draws from one distribution, pairs of a given and a training row are
    ``2 * n_training / n`` times as frequent. Only a significant excess causes the warning.

    Parameters
    ----------
    model : AdditiveModel
    Z : array or CSR
        Preprocessed rows.
    """
    comparing, n = Comparing.of(model.terms), Z.shape[0]
    if comparing is None or n == 0:
        return
    training = comparing.training_rows()
    known = set(_row_keys(training))
    counts = Counter(_row_keys(comparing.mapped(Z)))
    same = sum(count for key, count in counts.items() if key in known)
    unique_matches = sum(count == 1 and key in known for key, count in counts.items())
    pairs = sum(count == 2 for count in counts.values())
    per_pair = 2.0 * _n_training(model, training.shape[0]) / n
    expected = per_pair * pairs
    # Standard deviation of the expected number, plus that of the observed number.
    deviation = per_pair * pairs**0.5 + expected**0.5
    if unique_matches > expected + 3.0 * deviation + max(DUPLICATES, DUPLICATE_SHARE * n):
        warn_caller(
            f"{thousands(same)} of {thousands(n)} rows equal support vectors of the model, more than equal rows among "
            "themselves explain: they may be training rows, on which the model is surer than on new ones. Then the "
            "certificate does not hold; use rows that the model was not trained on.",
        )


def _n_training(model: AdditiveModel, at_least: int) -> int:
    """Number of training rows according to ``shape_fit_``, or `at_least` without this attribute."""
    known = [shape[0] for shape in (getattr(m, "shape_fit_", None) for m in _nested(model.estimator)) if shape]
    return max([at_least, *map(int, known)])


def _nested(estimator: Any) -> Iterator[Any]:
    """Yield an estimator, the estimator that it wraps, and so on."""
    while estimator is not None:
        yield estimator
        steps = getattr(estimator, "steps", None)
        names = ("best_estimator_", "estimator_", "estimator")
        inner = (getattr(estimator, name, None) for name in names)
        estimator = steps[-1][1] if steps else next((e for e in inner if e is not None), None)


def _row_keys(rows: Any) -> list[int]:
    """Return a hash of each row, with values rounded to float32."""
    step = 4096
    keys: list[int] = []
    for start in range(0, rows.shape[0], step):
        some = rows[start : start + step]
        if sparse.issparse(some):
            some = some.tocsr().sorted_indices()
            values = some.data.astype(np.float32)
            keys.extend(
                hash((some.indices[a:b].tobytes(), values[a:b].tobytes()))
                for a, b in zip(some.indptr[:-1], some.indptr[1:], strict=True)
            )
        else:
            keys.extend(hash(row.tobytes()) for row in np.ascontiguousarray(some, dtype=np.float32) + np.float32(0))
    return keys
